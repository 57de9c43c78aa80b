//! Transactions as their producer and their coordinator see them.

use kacrab_protocol::generated::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kacrab_protocol::generated::{
    AddOffsetsToTxnRequestData, AddPartitionsToTxnRequestData, AddPartitionsToTxnResponseData,
    DescribeTransactionsRequestData, DescribeTransactionsResponseData, EndTxnRequestData,
    EndTxnResponseData, InitProducerIdRequestData, InitProducerIdResponseData,
    ListTransactionsRequestData, ListTransactionsResponseData,
};
use verdict_core::wire::Request;

use super::{Call, code, each, places, result, writer};
use crate::args::{Args, Fault};
use crate::names::{Names, wire};

/// Transactions time out after this when a file does not say otherwise.
const TIMEOUT_MS: i32 = 60_000;

/// `init [TX] [P1/0] [timeout=MS] [2pc] [keep]`: InitProducerId.
pub(super) fn init(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let known = args.find(|word| word.contains('/').then_some(word));
    let (producer_id, producer_epoch) = known.map_or(Ok((-1, -1)), |word| names.writer(word))?;
    let data = InitProducerIdRequestData::default()
        .with_enable2_pc(args.flag("2pc"))
        .with_keep_prepared_txn(args.flag("keep"))
        .with_transactional_id(args.find(Some).map(|id| names.outside(id)))
        .with_transaction_timeout_ms(args.named("timeout")?.unwrap_or(TIMEOUT_MS))
        .with_producer_id(producer_id)
        .with_producer_epoch(producer_epoch);
    Ok(Call::new(args.version(5), Request::InitProducerId(data)))
}

pub(super) fn show_init(
    version: i16,
    data: &InitProducerIdResponseData,
    names: &mut Names,
) -> String {
    result(data.error_code, || {
        let mut shown = format!("{}/{}", names.producer(data.producer_id), data.producer_epoch);
        if version >= 6 {
            let ongoing = names.producer(data.ongoing_txn_producer_id);
            shown += &format!(" ongoing={ongoing}/{}", data.ongoing_txn_producer_epoch);
        }
        shown
    })
}

/// `add TX P1/0 [t-0 …]`: AddPartitionsToTxn as a client sends it, so up to v3.
pub(super) fn add(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let (producer_id, producer_epoch) = writer(args, names)?;
    let topics = if args.flag("nothing") { Vec::new() } else { places(args)? };
    let topics = topics.into_iter().map(|(topic, partitions)| {
        AddPartitionsToTxnTopic::default()
            .with_name(names.outside(&topic))
            .with_partitions(partitions)
    });
    let data = AddPartitionsToTxnRequestData::default()
        .with_v3_and_below_transactional_id(names.outside(args.word("a transactional id")?))
        .with_v3_and_below_producer_id(producer_id)
        .with_v3_and_below_producer_epoch(producer_epoch)
        .with_v3_and_below_topics(topics.collect());
    Ok(Call::new(args.version(3), Request::AddPartitionsToTxn(data)))
}

/// `verify TX P1/0 t-0 … [add]`: AddPartitionsToTxn as a partition's leader sends it: whether the
/// partitions are in the transaction, or to add them.
pub(super) fn verify(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let (producer_id, producer_epoch) = writer(args, names)?;
    let verify_only = !args.flag("add");
    let topics = places(args)?.into_iter().map(|(topic, partitions)| {
        AddPartitionsToTxnTopic::default()
            .with_name(names.outside(&topic))
            .with_partitions(partitions)
    });
    let transaction = AddPartitionsToTxnTransaction::default()
        .with_topics(topics.collect())
        .with_transactional_id(names.outside(args.word("a transactional id")?))
        .with_producer_id(producer_id)
        .with_producer_epoch(producer_epoch)
        .with_verify_only(verify_only);
    let data = AddPartitionsToTxnRequestData::default().with_transactions(vec![transaction]);
    Ok(Call::new(args.version(5), Request::AddPartitionsToTxn(data)))
}

pub(super) fn show_add(
    version: i16,
    data: &AddPartitionsToTxnResponseData,
    names: &Names,
) -> String {
    if version > 3 && data.error_code != 0 {
        return code(data.error_code);
    }
    let verified = data.results_by_transaction.iter().flat_map(|result| &result.topic_results);
    let topics = data.results_by_topic_v3_and_below.iter().chain(verified);
    let results = topics.flat_map(|topic| {
        topic.results_by_partition.iter().map(|partition| {
            let place = format!("{}-{}", names.own(topic.name.as_str()), partition.partition_index);
            (place, code(partition.partition_error_code))
        })
    });
    each(results.collect())
}

/// `offsets-to TX GROUP P1/0`: AddOffsetsToTxn.
pub(super) fn offsets_to(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let (producer_id, producer_epoch) = writer(args, names)?;
    let data = AddOffsetsToTxnRequestData::default()
        .with_transactional_id(names.outside(args.word("a transactional id")?))
        .with_group_id(names.outside(args.word("a group")?))
        .with_producer_id(producer_id)
        .with_producer_epoch(producer_epoch);
    Ok(Call::new(args.version(3), Request::AddOffsetsToTxn(data)))
}

/// `end TX P1/0 commit|abort`: EndTxn.
pub(super) fn end(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let (producer_id, producer_epoch) = writer(args, names)?;
    let commit = args.flag("commit");
    if commit == args.flag("abort") {
        return Err("commit or abort?".to_owned());
    }
    let data = EndTxnRequestData::default()
        .with_transactional_id(names.outside(args.word("a transactional id")?))
        .with_producer_id(producer_id)
        .with_producer_epoch(producer_epoch)
        .with_committed(commit);
    let default = if names.classic { 4 } else { 5 };
    Ok(Call::new(args.version(default), Request::EndTxn(data)))
}

pub(super) fn show_end(version: i16, data: &EndTxnResponseData, names: &mut Names) -> String {
    if version < 5 {
        return code(data.error_code);
    }
    result(data.error_code, || {
        format!("{}/{}", names.producer(data.producer_id), data.producer_epoch)
    })
}

/// `describe-txn TX`: DescribeTransactions.
pub(super) fn describe(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let id = names.outside(args.word("a transactional id")?);
    Ok(Call::new(args.version(0), describe_request(id)))
}

pub(crate) fn describe_request(id: kacrab_protocol::KafkaString) -> Request {
    let data = DescribeTransactionsRequestData::default().with_transactional_ids(vec![id]);
    Request::DescribeTransactions(data)
}

pub(super) fn show_describe(data: &DescribeTransactionsResponseData, names: &mut Names) -> String {
    let results = data.transaction_states.iter().map(|state| {
        let shown = result(state.error_code, || {
            let mut places: Vec<String> = Vec::new();
            for topic in &state.topics {
                let name = names.own(topic.topic.as_str());
                // Which partition a group's offsets go to depends on its name's suffix.
                let is_internal = name.starts_with("__");
                places.extend(topic.partitions.iter().map(|index| match is_internal {
                    true => name.to_owned(),
                    false => format!("{name}-{index}"),
                }));
            }
            places.sort();
            places.dedup();
            let producer = names.producer(state.producer_id);
            let (epoch, timeout) = (state.producer_epoch, state.transaction_timeout_ms);
            let mut words = vec![
                state.transaction_state.to_string(),
                format!("{producer}/{epoch}"),
                format!("timeout={timeout}"),
            ];
            words.extend(places);
            words.join(" ")
        });
        (state.transactional_id.to_string(), shown)
    });
    each(results.collect())
}

/// `list-txns [STATE …] [pid=P1] [longer=MS] [like=REGEX]`: ListTransactions. Those of other runs
/// are left out.
pub(super) fn list(args: &mut Args<'_>, names: &mut Names) -> Result<Call, Fault> {
    let states = std::iter::from_fn(|| args.find(Some)).map(wire).collect();
    let producers = args.named::<String>("pid")?;
    let producers = producers.map(|word| names.producer_id(&word)).transpose()?;
    let data = ListTransactionsRequestData::default()
        .with_state_filters(states)
        .with_producer_id_filters(producers.into_iter().collect())
        .with_duration_filter(args.named("longer")?.unwrap_or(-1))
        .with_transactional_id_pattern(args.named::<String>("like")?.map(|like| wire(&like)));
    Ok(Call::new(args.version(2), Request::ListTransactions(data)))
}

pub(super) fn show_list(data: &ListTransactionsResponseData, names: &mut Names) -> String {
    result(data.error_code, || {
        let mut shown: Vec<String> = Vec::new();
        for state in &data.transaction_states {
            if let Some(id) = names.inside(state.transactional_id.as_str()) {
                let producer = names.producer(state.producer_id);
                shown.push(format!("{id}={}/{producer}", state.transaction_state));
            }
        }
        shown.extend(data.unknown_state_filters.iter().map(|state| format!("unknown={state}")));
        shown.sort();
        if shown.is_empty() { "nothing".to_owned() } else { shown.join(" ") }
    })
}
