//! Golden bytes, as Apache Kafka 4.4.0 wrote them, and hostile ones.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn bytes(hex: &str) -> Bytes {
    let digits: Vec<u8> = hex
        .bytes()
        .filter(u8::is_ascii_hexdigit)
        .map(|d| (d as char).to_digit(16))
        .map(|d| u8::try_from(d.expect("a hexadecimal digit")).expect("below 16"))
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>().into()
}

fn metadata(state: TxnState, producer_id: i64, epoch: i16) -> Metadata {
    Metadata {
        previous_producer_id: producer_id,
        producer_epoch: epoch,
        state,
        ..Metadata::new(producer_id, 60_000, 0)
    }
}

#[test]
fn a_key_is_what_kafka_writes() {
    let key = bytes("0000 000a 782d35656131303263 34");
    assert_eq!(encode_key("x-5ea102c4"), key);
    assert_eq!(decode_key(&key).as_deref(), Ok("x-5ea102c4"));
}

#[test]
fn values_of_version_1_are_what_kafka_writes() {
    let topic = |name: &str, partitions: &[i32]| {
        partitions.iter().map(|p| TopicPartition::new(name, *p)).collect::<Vec<_>>()
    };
    let mut empty = metadata(TxnState::Empty, 1, 0);
    empty.last_update_ms = 0x1a2_2a47_99a5;
    let mut ongoing = metadata(TxnState::Ongoing, 1, 0);
    ongoing.partitions.extend(topic("t-619c65fe", &[0]));
    (ongoing.last_update_ms, ongoing.start_ms) = (0x1a2_2a47_99b0, 0x1a2_2a47_99b0);
    let mut complete = metadata(TxnState::CompleteAbort, 4, 1);
    complete.client_version = 2;
    (complete.last_update_ms, complete.start_ms) = (0x1a2_2a47_9b00, 0x1a2_2a47_9afd);
    let mut prepare = metadata(TxnState::PrepareCommit, 6, 1);
    prepare.client_version = 2;
    prepare.partitions.extend(topic("t-6be38b1e", &[0, 2]));
    prepare.partitions.extend(topic("u-6be38b1e", &[0]));
    (prepare.last_update_ms, prepare.start_ms) = (0x1a2_2a47_9bae, 0x1a2_2a47_9bab);
    let golden = [
        (
            empty,
            "0001 0000000000000001 0000 0000ea60 00 00 000001a22a4799a5 ffffffffffffffff
             01 0008 0000000000000001",
        ),
        (
            ongoing,
            "0001 0000000000000001 0000 0000ea60 01 02 0b742d3631396336356665 02 00000000 00
             000001a22a4799b0 000001a22a4799b0 01 0008 0000000000000001",
        ),
        (
            complete,
            "0001 0000000000000004 0001 0000ea60 05 01 000001a22a479b00 000001a22a479afd
             02 0008 0000000000000004 0202 0002",
        ),
        (
            prepare,
            "0001 0000000000000006 0001 0000ea60 02 03
             0b742d3662653338623165 03 00000000 00000002 00 0b752d3662653338623165 02 00000000 00
             000001a22a479bae 000001a22a479bab 02 0008 0000000000000006 0202 0002",
        ),
    ];
    for (metadata, hex) in golden {
        assert_eq!(encode_value(&metadata, 2), bytes(hex), "{metadata:?}");
        assert_eq!(encode_value(&metadata, 1), bytes(hex), "{metadata:?}");
        assert_eq!(decode_value(&bytes(hex)), Ok(metadata));
    }
}

#[test]
fn a_value_that_switches_the_producer_id_carries_the_next_one() {
    let mut prepare = metadata(TxnState::PrepareAbort, 6, i16::MAX);
    prepare.client_version = 2;
    prepare.next_producer_id = 1000;
    let hex = "0001 0000000000000006 7fff 0000ea60 03 01 0000000000000000 ffffffffffffffff
               03 0008 0000000000000006 0108 00000000000003e8 0202 0002";
    assert_eq!(encode_value(&prepare, 2), bytes(hex));
    assert_eq!(decode_value(&bytes(hex)), Ok(prepare));
}

#[test]
fn a_producer_id_to_go_on_with_is_written_at_every_level() {
    let mut decided = metadata(TxnState::PrepareAbort, 6, i16::MAX);
    decided.next_producer_id = 7;
    for level in 0..=2 {
        let read = decode_value(&encode_value(&decided, level)).unwrap();
        assert_eq!(read.next_producer_id, 7, "level {level}");
    }
}

#[test]
fn a_kept_transaction_has_its_owner_in_kafkas_own_tags_at_every_level() {
    let mut kept = metadata(TxnState::Ongoing, 6, 100);
    kept.client_version = 2;
    (kept.next_producer_id, kept.next_producer_epoch) = (6, 101);
    let hex = "0001 0000000000000006 0064 0000ea60 01 01 0000000000000000 ffffffffffffffff
               04 0008 0000000000000006 0108 0000000000000006 0202 0002 0302 0065";
    for level in 0..3 {
        assert_eq!(encode_value(&kept, level), bytes(hex));
    }
    assert_eq!(decode_value(&bytes(hex)), Ok(kept));
}

#[test]
fn what_apache_kafka_forgets_is_in_tags_of_our_own() {
    let mut aborted = metadata(TxnState::CompleteAbort, 6, 1);
    aborted.last_producer_epoch = 0;
    aborted.aborted_by_coordinator = true;
    let hex = "0001 0000000000000006 0001 0000ea60 05 01 0000000000000000 ffffffffffffffff
               03 0008 0000000000000006 e807 02 0000 e907 00";
    assert_eq!(encode_value(&aborted, 2), bytes(hex));
    assert_eq!(decode_value(&bytes(hex)), Ok(aborted));
}

#[test]
fn values_of_version_0_have_no_tags() {
    let mut ongoing = metadata(TxnState::Ongoing, 1, 0);
    ongoing.partitions.insert(TopicPartition::new("t", 7));
    let hex = "0000 0000000000000001 0000 0000ea60 01 00000001 0001 74 00000001 00000007
               0000000000000000 ffffffffffffffff";
    assert_eq!(encode_value(&ongoing, 0), bytes(hex));
    ongoing.previous_producer_id = NO_PRODUCER_ID;
    assert_eq!(decode_value(&bytes(hex)), Ok(ongoing));
    let empty = "0000 0000000000000001 0000 0000ea60 00 ffffffff
                 0000000000000000 ffffffffffffffff";
    assert_eq!(encode_value(&metadata(TxnState::Empty, 1, 0), 0), bytes(empty));
}

#[test]
fn unknown_versions_are_told_apart_from_damage() {
    let value = encode_value(&metadata(TxnState::Empty, 1, 0), 2);
    assert_eq!(decode_value(&bytes("0002 00")), Err(TxnRecordError::UnknownVersion));
    assert_eq!(decode_key(&bytes("0001 0000")), Err(TxnRecordError::UnknownVersion));
    for end in 0..value.len() {
        assert_eq!(decode_value(&value.slice(..end)), Err(TxnRecordError::Damaged), "{end}");
    }
    for pending_only in ["06", "07", "08", "ff"] {
        let hex = alloc::format!("0000 0000000000000001 0000 0000ea60 {pending_only} ffffffff");
        assert_eq!(decode_value(&bytes(&hex)), Err(TxnRecordError::Damaged));
    }
}

#[test]
fn a_later_kafkas_tags_are_read_over() {
    let hex = "0001 0000000000000001 0000 0000ea60 00 00 0000000000000000 ffffffffffffffff
               02 0302 0005 0901 ff";
    let mut wanted = metadata(TxnState::Empty, 1, 0);
    wanted.previous_producer_id = NO_PRODUCER_ID;
    assert_eq!(decode_value(&bytes(hex)), Ok(wanted));
}

proptest! {
    #[test]
    fn whatever_bytes_come_nothing_panics(value in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_value(&Bytes::from(value.clone()));
        let _ = decode_key(&Bytes::from(value));
    }
}
