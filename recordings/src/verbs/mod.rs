//! What can be asked: from words to requests, and from answers to words.
//!
//! A verb is a row of [`VERBS`] and a function that builds its request; the answer is shown by what
//! it is. One result stands alone, several have the name of what they are for in front.

mod admin;
mod cluster;
mod coordinator;
mod group;
mod markers;
mod offsets;
mod produce;
mod read;
mod transaction;

use kacrab_protocol::generated::ErrorCode;
use verdict_core::wire::{Request, Response};

use crate::args::{Args, Fault};
use crate::names::Names;

pub(crate) use self::admin::create_topic;
pub(crate) use self::cluster::{describe_broker, metadata};
pub(crate) use self::coordinator::{coordinator_of, find_request};
pub(crate) use self::transaction::describe_request;

/// A request in a version.
#[derive(Clone, Debug)]
pub struct Call {
    /// The version.
    pub version: i16,
    /// The request.
    pub request: Request,
}

impl Call {
    const fn new(version: i16, request: Request) -> Self {
        Self { version, request }
    }
}

type Build = fn(&mut Args<'_>, &mut Names) -> Result<Call, Fault>;

/// The verb that reads the answer to what was asked `later`.
pub const ANSWER: &str = "answer";

const VERBS: &[(&str, Build)] = &[
    ("add", transaction::add),
    ("beat", group::beat),
    ("commit", offsets::commit),
    ("committed", offsets::committed),
    ("delete-records", admin::delete_records),
    ("delete-topic", admin::delete_topic),
    ("describe-txn", transaction::describe),
    ("end", transaction::end),
    ("features", cluster::update_features),
    ("finalized", cluster::finalized),
    ("find", coordinator::find),
    ("init", transaction::init),
    ("join", group::join),
    ("leave", group::leave),
    ("list", read::list),
    ("list-txns", transaction::list),
    ("markers", markers::write),
    ("member", group::member_of),
    ("offsets-to", transaction::offsets_to),
    ("produce", produce::produce),
    ("producers", markers::producers),
    ("read", read::fetch),
    ("sync", group::sync),
    ("txn-commit", offsets::txn_commit),
    ("verify", transaction::verify),
];

/// Whether a word is one of the verbs.
#[must_use]
pub fn is_verb(word: &str) -> bool {
    word == ANSWER || VERBS.iter().any(|(verb, _)| *verb == word)
}

/// The request that a verb and its words ask for.
///
/// # Errors
/// The words are not the verb's.
pub fn build<'a>(
    verb: &str,
    words: impl IntoIterator<Item = &'a str>,
    names: &mut Names,
) -> Result<Call, Fault> {
    let row = VERBS.iter().find(|(name, _)| *name == verb);
    let (_, build) = row.ok_or_else(|| format!("nobody knows how to {verb}"))?;
    let mut args = Args::new(words);
    let call = build(&mut args, names)?;
    args.finish()?;
    Ok(call)
}

/// An answer as a file has it.
///
/// # Errors
/// It is none that any verb asks for.
pub fn show(version: i16, response: &Response, names: &mut Names) -> Result<String, Fault> {
    Ok(match response {
        Response::InitProducerId(data) => transaction::show_init(version, data, names),
        Response::AddPartitionsToTxn(data) => transaction::show_add(version, data, names),
        Response::AddOffsetsToTxn(data) => code(data.error_code),
        Response::EndTxn(data) => transaction::show_end(version, data, names),
        Response::DescribeTransactions(data) => transaction::show_describe(data, names),
        Response::ListTransactions(data) => transaction::show_list(data, names),
        Response::Produce(data) => produce::show(data, names),
        Response::Fetch(answer) => read::show_fetch(version, answer, names)?,
        Response::ListOffsets(data) => read::show_list(data, names),
        Response::OffsetCommit(data) => offsets::show_commit(data, names),
        Response::OffsetFetch(data) => offsets::show_committed(version, data, names),
        Response::TxnOffsetCommit(data) => offsets::show_txn_commit(data, names),
        Response::WriteTxnMarkers(data) => markers::show_written(data, names),
        Response::DescribeProducers(data) => markers::show_producers(data, names),
        Response::JoinGroup(data) => group::show_join(data, names),
        Response::SyncGroup(data) => code(data.error_code),
        Response::Heartbeat(data) => code(data.error_code),
        Response::LeaveGroup(data) => group::show_leave(version, data, names),
        Response::ConsumerGroupHeartbeat(data) => group::show_member(data),
        Response::FindCoordinator(data) => coordinator::show(version, data, names),
        Response::DeleteRecords(data) => admin::show_deleted_records(data, names),
        Response::DeleteTopics(data) => admin::show_deleted_topics(data, names),
        Response::UpdateFeatures(data) => cluster::show_updated(version, data),
        Response::ApiVersions(data) => cluster::show_finalized(data),
        Response::ApiVersionsUnsupported(data) => cluster::show_unsupported(data),
        other => return Err(format!("an answer that no verb asks for: {other:?}")),
    })
}

/// Kafka's name of an error.
#[must_use]
pub fn code(code: i16) -> String {
    let mut name = String::new();
    for letter in format!("{:?}", ErrorCode::from(code)).chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// The name of an error, or what came instead of one.
fn result(error_code: i16, found: impl FnOnce() -> String) -> String {
    let name = code(error_code);
    if error_code == 0 { format!("{name} {}", found()) } else { name }
}

/// One result alone, several with what they are for.
fn each(mut results: Vec<(String, String)>) -> String {
    if let [(_, only)] = &results[..] {
        return only.clone();
    }
    results.sort();
    let all: Vec<String> =
        results.iter().map(|(name, result)| format!("{name} {result}")).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// Something of each of some partitions, under their topics.
type ByTopic<T> = Vec<(String, Vec<T>)>;

/// Partitions under their topics, in the order in which they are named.
fn by_topic<T>(places: impl IntoIterator<Item = ((String, i32), T)>) -> ByTopic<(i32, T)> {
    let mut topics: ByTopic<(i32, T)> = Vec::new();
    for ((topic, index), value) in places {
        match topics.iter_mut().find(|(name, _)| *name == topic) {
            Some((_, partitions)) => partitions.push((index, value)),
            None => topics.push((topic, vec![(index, value)])),
        }
    }
    topics
}

/// Takes all partitions that are named, by topic.
fn places(args: &mut Args<'_>) -> Result<ByTopic<i32>, Fault> {
    let places = args.all("a partition", crate::args::place)?;
    let named = places.into_iter().map(|(topic, index)| ((topic.to_owned(), index), ()));
    let topics = by_topic(named);
    let only = |(topic, partitions): (String, Vec<(i32, ())>)| {
        (topic, partitions.into_iter().map(|(index, ())| index).collect())
    };
    Ok(topics.into_iter().map(only).collect())
}

/// Takes `P1/0`.
fn writer(args: &mut Args<'_>, names: &Names) -> Result<(i64, i16), Fault> {
    let word = args.find(|word| word.contains('/').then_some(word));
    names.writer(word.ok_or("a producer is missing")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_kafkas_names() {
        assert_eq!(code(0), "NONE");
        assert_eq!(code(-1), "UNKNOWN_SERVER_ERROR");
        assert_eq!(code(47), "INVALID_PRODUCER_EPOCH");
        assert_eq!(code(120), "TRANSACTION_ABORTABLE");
    }

    #[test]
    fn a_word_that_a_verb_does_not_know_is_a_fault() {
        let mut names = Names::default();
        let fault = build("beat", ["g", "member=M1", "gen=1", "fast"], &mut names);
        assert_eq!(fault.expect_err("M1 was never seen"), "no answer showed M1 so far");
        let fault = build("beat", ["g", "member=x", "gen=1", "fast"], &mut names);
        assert_eq!(fault.expect_err("fast"), "\"fast\" means nothing here");
    }
}
