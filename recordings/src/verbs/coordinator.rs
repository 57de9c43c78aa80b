//! Who coordinates what.

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::{FindCoordinatorRequestData, FindCoordinatorResponseData};
use verdict_core::wire::Request;

use super::{Call, code, each};
use crate::args::{Args, Fault};
use crate::names::Names;

/// From this version on several keys are asked for.
const SEVERAL: i16 = 4;
/// The key type of a group.
const GROUP: i8 = 0;
/// The key type of a transactional id.
const TRANSACTION: i8 = 1;

/// `find group|txn KEY …`: FindCoordinator.
pub(super) fn find(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let key_type = match args.word("group or txn")? {
        "group" => GROUP,
        "txn" => TRANSACTION,
        other => other.parse().map_err(|_| format!("group or txn, not {other}"))?,
    };
    let keys: Vec<KafkaString> = args.all("a key", |key| Some(names.outside(key)))?;
    let version = args.version(6);
    if version >= SEVERAL {
        return Ok(Call::new(version, find_request(key_type, keys)));
    }
    let [key] = <[KafkaString; 1]>::try_from(keys).map_err(|_| "one key, before v4")?;
    let data = FindCoordinatorRequestData::default().with_key_type(key_type).with_key(key);
    Ok(Call::new(version, Request::FindCoordinator(data)))
}

pub(crate) fn find_request(key_type: i8, keys: Vec<KafkaString>) -> Request {
    Request::FindCoordinator(
        FindCoordinatorRequestData::default().with_key_type(key_type).with_coordinator_keys(keys),
    )
}

pub(super) fn show(version: i16, data: &FindCoordinatorResponseData, names: &Names) -> String {
    if version < SEVERAL {
        return code(data.error_code);
    }
    let results = data
        .coordinators
        .iter()
        .map(|found| (names.own(found.key.as_str()).to_owned(), code(found.error_code)));
    each(results.collect())
}

/// What a request needs the coordinator of.
pub(crate) fn coordinator_of(request: &Request) -> Vec<(i8, KafkaString)> {
    let found = match request {
        Request::InitProducerId(data) => {
            data.transactional_id.iter().map(|id| (TRANSACTION, id.clone())).collect()
        }
        Request::AddPartitionsToTxn(data) => {
            vec![(TRANSACTION, data.v3_and_below_transactional_id.clone())]
        }
        Request::AddOffsetsToTxn(data) => {
            vec![(TRANSACTION, data.transactional_id.clone()), (GROUP, data.group_id.clone())]
        }
        Request::EndTxn(data) => vec![(TRANSACTION, data.transactional_id.clone())],
        Request::TxnOffsetCommit(data) => {
            vec![(TRANSACTION, data.transactional_id.clone()), (GROUP, data.group_id.clone())]
        }
        Request::OffsetCommit(data) => vec![(GROUP, data.group_id.clone())],
        Request::OffsetFetch(data) => {
            let groups = data.groups.iter().map(|group| &group.group_id).chain([&data.group_id]);
            groups.map(|group| (GROUP, group.clone())).collect()
        }
        Request::ConsumerGroupHeartbeat(data) => vec![(GROUP, data.group_id.clone())],
        Request::JoinGroup(data) => vec![(GROUP, data.group_id.clone())],
        Request::DescribeTransactions(data) => {
            data.transactional_ids.iter().map(|id| (TRANSACTION, id.clone())).collect()
        }
        _ => Vec::new(),
    };
    found.into_iter().filter(|(_, key): &(i8, KafkaString)| !key.as_str().is_empty()).collect()
}
