//! Random commits, transactions, failures and crashes: memory equals a replay of the log, and a
//! naive model agrees on every offset.

use alloc::vec;

use proptest::prelude::*;

use super::tests::{NOW, commit_of, coordinator, in0, the_append, txn};
use super::*;
use crate::batch::Attributes;
use crate::types::TopicId;

#[derive(Clone, Debug)]
enum Step {
    Commit {
        offset: Offset,
    },
    Stage {
        producer: ProducerId,
        offset: Offset,
    },
    /// The oldest append in flight is persisted.
    Persist,
    /// Everything in flight fails, as after a failed write.
    Fail,
    Marker {
        producer: ProducerId,
        decision: Decision,
    },
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let decision = prop_oneof![Just(Decision::Commit), Just(Decision::Abort)];
    prop_oneof![
        3 => (0_i64..1_000).prop_map(|offset| Step::Commit { offset }),
        4 => (1_i64..4, 0_i64..1_000)
            .prop_map(|(producer, offset)| Step::Stage { producer, offset }),
        6 => Just(Step::Persist),
        1 => Just(Step::Fail),
        3 => (1_i64..4, decision)
            .prop_map(|(producer, decision)| Step::Marker { producer, decision }),
        1 => Just(Step::Crash),
    ]
}

/// An append in flight: whose, and its one record.
type Waiting = (AppendId, Option<ProducerId>, (Bytes, Option<Bytes>));

#[derive(Clone, Debug)]
enum Logged {
    Offset { producer: Option<ProducerId>, record: (Bytes, Option<Bytes>) },
    Marker { producer: ProducerId, decision: Decision },
}

fn header(producer: Option<ProducerId>, control: bool) -> BatchHeader {
    let zeros = [0; BatchHeader::LENGTH];
    let mut header = BatchHeader::decode(&zeros).expect("61 bytes are a header");
    header.producer_id = producer.unwrap_or(-1);
    let transactional = if producer.is_some() { Attributes::TRANSACTIONAL } else { 0 };
    let control = if control { Attributes::CONTROL } else { 0 };
    header.attributes = Attributes(transactional | control);
    header
}

fn reload(log: &[Logged]) -> GroupCoordinator {
    let mut groups = GroupCoordinator::new(GroupConfig { partitions: 1, ..Default::default() });
    groups.load(0);
    for (offset, logged) in (0..).zip(log) {
        match logged {
            Logged::Offset { producer, record } => {
                let records = [(offset, Some(record.0.clone()), record.1.clone())];
                let batch = LoadedBatch::Records(&records);
                groups.load_batch(0, &header(*producer, false), batch).unwrap();
            }
            Logged::Marker { producer, decision } => {
                let batch = LoadedBatch::Marker(*decision);
                groups.load_batch(0, &header(Some(*producer), true), batch).unwrap();
            }
        }
    }
    groups.loaded(NOW, 0);
    groups
}

/// The committed offset by the definition: of all plain commits and all staged offsets whose
/// transaction was committed, the last one of each, the one with the largest record offset.
fn by_definition(log: &[Logged]) -> Option<Offset> {
    let mut staged: BTreeMap<ProducerId, (usize, Offset)> = BTreeMap::new();
    let mut committed: Option<(usize, Offset)> = None;
    for (place, logged) in log.iter().enumerate() {
        let taken = match logged {
            Logged::Offset { producer, record } => {
                let value = OffsetValue::decode(record.1.as_ref().unwrap()).unwrap();
                match producer {
                    Some(producer) => {
                        staged.insert(*producer, (place, value.offset));
                        None
                    }
                    None => Some((place, value.offset)),
                }
            }
            Logged::Marker { producer, decision } => {
                staged.remove(producer).filter(|_| *decision == Decision::Commit)
            }
        };
        // `None` is smaller than everything: the newer of the two records stays.
        committed = committed.max(taken);
    }
    committed.map(|(_, offset)| offset)
}

fn fetched(groups: &GroupCoordinator, require_stable: bool) -> FetchedOffset {
    groups.fetch("g", &[(in0(), TopicId(7))], require_stable).unwrap()[0].1.clone()
}

proptest! {
    #[test]
    fn memory_equals_a_replay_of_the_persisted_log(steps in prop::collection::vec(step(), 1..80)) {
        let mut groups = coordinator();
        let mut log: Vec<Logged> = vec![];
        let mut waiting: VecDeque<Waiting> =
            VecDeque::new();
        let mut newest_record = None;
        for step in steps {
            match step {
                Step::Commit { offset } => {
                    groups.commit(NOW, RequestId(1), &commit_of("g", offset));
                }
                Step::Stage { producer, offset } => {
                    let commit = commit_of("g", offset);
                    groups.commit_txn(NOW, RequestId(1), &commit, txn(producer));
                }
                Step::Persist => {
                    if let Some((id, producer, record)) = waiting.pop_front() {
                        groups.appended(NOW, id, Ok(log.len() as Offset));
                        log.push(Logged::Offset { producer, record });
                    }
                }
                Step::Fail => {
                    for (id, ..) in waiting.drain(..) {
                        groups.appended(NOW, id, Err(ErrorCode::KafkaStorageError));
                    }
                }
                Step::Marker { producer, decision } => {
                    // A marker is appended behind what is in flight, so that comes first.
                    for (id, producer, record) in waiting.drain(..) {
                        groups.appended(NOW, id, Ok(log.len() as Offset));
                        log.push(Logged::Offset { producer, record });
                    }
                    groups.marker(0, producer, decision);
                    log.push(Logged::Marker { producer, decision });
                }
                Step::Crash => {
                    waiting.clear();
                    groups = reload(&log);
                }
            }
            while let Some(effect) = groups.poll_effect() {
                if let GroupEffect::Append { id, mut records, txn, .. } = effect {
                    let record = records.pop().expect("each commit here is of one partition");
                    waiting.push_back((id, txn.map(|txn| txn.producer_id), record));
                }
            }
            prop_assert_eq!(&groups.shards, &reload(&log).shards);
            let expected = by_definition(&log);
            match fetched(&groups, false) {
                FetchedOffset::Committed { offset, .. } => prop_assert_eq!(Some(offset), expected),
                FetchedOffset::None => prop_assert_eq!(None, expected),
                FetchedOffset::Unstable => prop_assert!(false, "only with require_stable"),
            }
            let Phase::Active(shard) = &groups.shards[&0] else { panic!("it was loaded") };
            let group = shard.group("g");
            let newest = group.and_then(|g| g.committed.get(&in0())).map(|s| s.record_offset);
            prop_assert!(newest >= newest_record, "a commit went back to an older record");
            newest_record = newest;
            let staged = waiting.iter().any(|(_, producer, _)| producer.is_some());
            let open = group.is_some_and(|group| !group.open.is_empty());
            let unstable = fetched(&groups, true) == FetchedOffset::Unstable;
            prop_assert_eq!(unstable, staged || open);
        }
    }

    #[test]
    fn the_last_reload_is_the_same_coordinator(offsets in prop::collection::vec(0_i64..9, 1..20)) {
        let mut groups = coordinator();
        let mut log = vec![];
        for (place, offset) in (0..).zip(offsets) {
            groups.commit_txn(NOW, RequestId(1), &commit_of("g", offset), txn(offset));
            let before = groups.clone();
            let id = the_append(&mut groups);
            let Some(GroupEffect::Append { records, .. }) = before.effects.front().cloned() else {
                panic!("an append was expected");
            };
            groups.appended(NOW, id, Ok(place));
            groups.effects.clear();
            log.push(Logged::Offset { producer: Some(offset), record: records[0].clone() });
        }
        prop_assert_eq!(&reload(&log).shards, &groups.shards);
    }
}
