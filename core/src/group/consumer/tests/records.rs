//! Records have Kafka's bytes, as Apache Kafka 4.4.0's own classes write them.

use alloc::string::String;

use proptest::prelude::*;

use super::*;
use crate::group::consumer::member::{About, ClassicMember, Holding, MemberState};
use crate::group::consumer::record::Resolved;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| alloc::format!("{byte:02x}")).collect()
}

fn id() -> MemberId {
    Arc::from("m")
}

fn epochs(topic: u128, partitions: &[(i32, i32)]) -> Epochs {
    Epochs::from([(TopicId(topic), partitions.iter().copied().collect())])
}

#[test]
fn every_key_has_kafkas_bytes() {
    let table = [
        (ConsumerKey::Group, "0003000167"),
        (ConsumerKey::Topics, "0004000167"),
        (ConsumerKey::Member(id()), "000500016700016d"),
        (ConsumerKey::TargetEpoch, "0006000167"),
        (ConsumerKey::Target(id()), "000700016700016d"),
        (ConsumerKey::Current(id()), "000800016700016d"),
        (ConsumerKey::Regex(id()), "001000016700016d"),
    ];
    for (what, golden) in table {
        let key = GroupKey::Consumer { group: Arc::from("g"), what };
        assert_eq!(hex(&key.encode()), golden, "{key:?}");
        assert_eq!(GroupKey::decode(&key.encode()), Ok(key));
    }
}

fn about() -> About {
    About {
        instance: Some(Arc::from("i")),
        client_id: Arc::from("c"),
        client_host: Arc::from("/h"),
        topics: BTreeSet::from([TopicName::from("in")]),
        regex: Some(Arc::from("x.*")),
        rebalance_timeout_ms: 7,
        assignor: Some(Arc::from("range")),
        ..About::default()
    }
}

fn about_classic() -> About {
    let protocol = Protocol { name: Arc::from("range"), metadata: Bytes::from_static(&[1, 2]) };
    About {
        rack: Some(Arc::from("r")),
        client_id: Arc::from("c"),
        client_host: Arc::from("/h"),
        rebalance_timeout_ms: 7,
        classic: Some(ClassicMember { session_timeout_ms: 6, protocols: vec![protocol] }),
        ..About::default()
    }
}

#[test]
fn every_value_has_kafkas_bytes() {
    let holding = Holding {
        epoch: 4,
        previous_epoch: 3,
        state: MemberState::Unrevoked,
        assigned: epochs(15, &[(0, 3), (1, 4)]),
        revoking: epochs(15, &[(2, 4)]),
    };
    let topics = BTreeSet::from([TopicName::from("in")]);
    let target = Partitions::from([(TopicId(15), BTreeSet::from([0, 1]))]);
    let group = |topics_hash| ConsumerRecord::Group { epoch: 3, topics_hash };
    let resolved = Resolved { topics, version: 5, at_ms: 9 };
    let member = |about| (ConsumerKey::Member(id()), ConsumerRecord::Member(Arc::new(about)));
    let table = [
        ((ConsumerKey::Group, group(9)), "0000000000030100080000000000000009"),
        ((ConsumerKey::Group, group(0)), "00000000000300"),
        (
            (ConsumerKey::TargetEpoch, ConsumerRecord::TargetEpoch { epoch: 3, at_ms: 9 }),
            "0000000000030100080000000000000009",
        ),
        (member(about()), "00000269000263032f680203696e04782e2a000000070672616e676500"),
        (
            member(about_classic()),
            "00000002720263032f68010100000007000100110100000006020672616e67650301020000",
        ),
        (
            (ConsumerKey::Target(id()), ConsumerRecord::Target(Arc::new(target))),
            "0000020000000000000000000000000000000f0300000000000000010000",
        ),
        (
            (ConsumerKey::Current(id()), ConsumerRecord::Current(Arc::new(holding))),
            concat!(
                "000000000004000000030102",
                "0000000000000000000000000000000f030000000000000001",
                "010009030000000300000004",
                "020000000000000000000000000000000f0200000002",
                "010005020000000400",
            ),
        ),
        (
            (ConsumerKey::Regex(id()), ConsumerRecord::Regex(Arc::new(resolved))),
            "00000203696e0000000000000005000000000000000900",
        ),
    ];
    for ((key, value), golden) in table {
        assert_eq!(hex(&value.encode()), golden, "{key:?}");
        assert_eq!(ConsumerRecord::decode(&key, &value.encode()), Ok(value));
    }
}

#[test]
fn partitions_without_epochs_were_given_in_the_members() {
    let bytes = concat!(
        "0000000000040000000301",
        "020000000000000000000000000000000f020000000000",
        "020000000000000000000000000000000f02000000020000",
    );
    let bytes: Vec<u8> = (0..bytes.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&bytes[at..at + 2], 16).unwrap())
        .collect();
    let Ok(ConsumerRecord::Current(holding)) =
        ConsumerRecord::decode(&ConsumerKey::Current(id()), &bytes)
    else {
        panic!("it is a record")
    };
    assert_eq!(holding.assigned, epochs(15, &[(0, 4)]));
    assert_eq!(holding.revoking, epochs(15, &[(2, 4)]));
}

#[test]
fn a_newer_version_is_refused() {
    let read = ConsumerRecord::decode(&ConsumerKey::Group, &[0, 1, 0, 0, 0, 1, 0]);
    assert_eq!(read, Err(crate::codec::RecordFault::UnknownVersion(1)));
}

proptest! {
    #[test]
    fn no_bytes_panic_the_readers(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let mut key = bytes.clone();
        for kind in [3, 4, 5, 6, 7, 8, 16] {
            key.splice(0..2.min(key.len()), [0, kind]);
            let _ = GroupKey::decode(&key);
        }
        let mut value = bytes;
        value.splice(0..2.min(value.len()), [0, 0]);
        for what in [
            ConsumerKey::Group, ConsumerKey::Topics, ConsumerKey::Member(id()),
            ConsumerKey::TargetEpoch, ConsumerKey::Target(id()), ConsumerKey::Current(id()),
            ConsumerKey::Regex(id()),
        ] {
            if let Ok(read) = ConsumerRecord::decode(&what, &value) {
                prop_assert_eq!(ConsumerRecord::decode(&what, &read.encode()), Ok(read));
            }
        }
    }
}
