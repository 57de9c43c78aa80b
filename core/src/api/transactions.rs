//! What a transactional client asks of the coordinator: InitProducerId, AddOffsetsToTxn, EndTxn.

use kacrab_protocol::generated::{
    AddOffsetsToTxnRequestData, AddOffsetsToTxnResponseData, EndTxnRequestData, EndTxnResponseData,
    InitProducerIdRequestData, InitProducerIdResponseData,
};

use super::waiting::Pending;
use super::{Context, add_partitions};
use crate::error::ErrorCode;
use crate::io::RequestId;
use crate::node::Node;
use crate::txn::{InitProducerId, Initialized, TxnReply, TxnReplyTo};
use crate::types::{
    CONSUMER_OFFSETS_TOPIC, Decision, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition,
    partition_for,
};
use crate::wire::Response;

/// A request whose whole answer is the coordinator's word.
#[derive(Clone, Debug)]
pub(crate) struct PendingTransaction {
    context: Context,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Init,
    AddOffsets,
    End,
}

fn wait(node: &mut Node, context: Context, kind: Kind) -> RequestId {
    let (conn, id) = (context.conn, context.id);
    node.waiting.insert(conn, id, Pending::Transaction(PendingTransaction { context, kind }));
    id
}

pub(crate) fn init_producer_id(
    node: &mut Node,
    context: Context,
    request: InitProducerIdRequestData,
) {
    let halves = (request.producer_id == NO_PRODUCER_ID, request.producer_epoch < 0);
    if halves.0 != halves.1 {
        let error = init_response(Err(ErrorCode::InvalidRequest), context.version);
        return node.respond(context.id, error);
    }
    let id = wait(node, context, Kind::Init);
    let now = node.now;
    node.txn.init_producer_id(
        now,
        id,
        InitProducerId {
            transactional_id: request.transactional_id.map(|id| id.as_str().into()),
            timeout_ms: request.transaction_timeout_ms,
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            enable_2pc: request.enable2_pc,
            keep_prepared: request.keep_prepared_txn,
        },
    );
}

pub(crate) fn add_offsets(node: &mut Node, context: Context, request: AddOffsetsToTxnRequestData) {
    let partitions = node.config.offsets_topic_num_partitions;
    let to = TopicPartition::new(
        CONSUMER_OFFSETS_TOPIC,
        partition_for(request.group_id.as_str(), partitions),
    );
    let id = wait(node, context, Kind::AddOffsets);
    let now = node.now;
    node.txn.add_partitions(
        now,
        TxnReplyTo::Client(id),
        request.transactional_id.as_str(),
        request.producer_id,
        request.producer_epoch,
        alloc::vec![to],
        0,
    );
}

pub(crate) fn end_txn(node: &mut Node, context: Context, request: EndTxnRequestData) {
    let decision = if request.committed { Decision::Commit } else { Decision::Abort };
    let v5 = context.version >= 5;
    let id = wait(node, context, Kind::End);
    let now = node.now;
    node.txn.end_txn(
        now,
        id,
        request.transactional_id.as_str(),
        request.producer_id,
        request.producer_epoch,
        decision,
        v5,
    );
}

/// The coordinator's word for a client.
pub(crate) fn reply(node: &mut Node, id: RequestId, reply: TxnReply) {
    match node.waiting.take(id) {
        Some(Pending::Transaction(pending)) => {
            let response = response(&pending, reply);
            node.respond(id, response);
        }
        Some(other @ Pending::AddPartitions(_)) => {
            let conn = match &other {
                Pending::AddPartitions(pending) => pending.connection(),
                _ => return,
            };
            node.waiting.insert(conn, id, other);
            add_partitions::reply(node, id, &reply);
        }
        _ => {}
    }
}

fn response(pending: &PendingTransaction, reply: TxnReply) -> Response {
    let version = pending.context.version;
    let code = |result: &Result<(), ErrorCode>| result.err_code();
    match (pending.kind, reply) {
        (Kind::Init, TxnReply::InitProducerId(result)) => {
            init_response(result.map_err(|error| ErrorCode::from(&error)), version)
        }
        (Kind::AddOffsets, TxnReply::AddPartitions(result)) => {
            let result = result.map_err(|error| before(2, version, ErrorCode::from(&error)));
            Response::AddOffsetsToTxn(AddOffsetsToTxnResponseData {
                error_code: code(&result).code(),
                ..Default::default()
            })
        }
        (Kind::End, TxnReply::EndTxn(result)) => {
            let result = result.map_err(|error| before(2, version, ErrorCode::from(&error)));
            let (producer_id, producer_epoch) =
                result.unwrap_or((NO_PRODUCER_ID, NO_PRODUCER_EPOCH));
            Response::EndTxn(EndTxnResponseData {
                error_code: result.err().unwrap_or(ErrorCode::None).code(),
                producer_id: if version >= 5 { producer_id } else { NO_PRODUCER_ID },
                producer_epoch: if version >= 5 { producer_epoch } else { NO_PRODUCER_EPOCH },
                ..Default::default()
            })
        }
        (Kind::Init, _) => init_response(Err(ErrorCode::UnknownServerError), version),
        (Kind::AddOffsets, _) => Response::AddOffsetsToTxn(AddOffsetsToTxnResponseData {
            error_code: ErrorCode::UnknownServerError.code(),
            ..Default::default()
        }),
        (Kind::End, _) => Response::EndTxn(EndTxnResponseData {
            error_code: ErrorCode::UnknownServerError.code(),
            producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            ..Default::default()
        }),
    }
}

fn init_response(result: Result<Initialized, ErrorCode>, version: i16) -> Response {
    let result = result.map_err(|code| before(4, version, code));
    let nobody = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH);
    let (producer_id, producer_epoch) =
        result.map_or(nobody, |given| (given.producer_id, given.producer_epoch));
    let (ongoing_txn_producer_id, ongoing_txn_producer_epoch) =
        result.map_or(nobody, |given| given.ongoing.unwrap_or(nobody));
    Response::InitProducerId(InitProducerIdResponseData {
        error_code: result.err().unwrap_or(ErrorCode::None).code(),
        producer_id,
        producer_epoch,
        ongoing_txn_producer_id,
        ongoing_txn_producer_epoch,
        ..Default::default()
    })
}

/// Clients below version `since` do not know PRODUCER_FENCED (KIP-588).
pub(super) fn before(since: i16, version: i16, code: ErrorCode) -> ErrorCode {
    if version < since && code == ErrorCode::ProducerFenced {
        ErrorCode::InvalidProducerEpoch
    } else {
        code
    }
}

/// The code of a result.
pub(super) trait CodeOf {
    fn err_code(&self) -> ErrorCode;
}

impl<T> CodeOf for Result<T, ErrorCode> {
    fn err_code(&self) -> ErrorCode {
        self.as_ref().err().copied().unwrap_or(ErrorCode::None)
    }
}
