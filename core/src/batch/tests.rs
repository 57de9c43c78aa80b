//! Batches against Kafka's rules, and against a second decoder.

use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use bytes::{Bytes, BytesMut};
use kafka_protocol::records::{RecordBatchDecoder, TimestampType as TheirTimestampType};
use proptest::prelude::*;

use super::*;
use crate::error::ErrorCode;
use crate::types::{Decision, Marker, NO_SEQUENCE};

const VERSION: i16 = 11;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(text: &'static str) -> Option<Bytes> {
    Some(Bytes::from_static(text.as_bytes()))
}

fn batch_of(values: &[&'static str]) -> CheckedBatch {
    let builder = BatchBuilder::new(1_000).producer(7, 0, 0);
    values.iter().fold(builder, |builder, value| builder.record(None, text(value), &[])).build()
}

fn look(bytes: &[u8]) -> Screened {
    screen(Some(Bytes::copy_from_slice(bytes)), VERSION, &ScreenLimits::default())
}

/// The batch's bytes with some changed, and the CRC made to fit.
fn patched(batch: &CheckedBatch, patches: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = batch.bytes().to_vec();
    for (at, with) in patches {
        bytes[*at..at + with.len()].copy_from_slice(with);
    }
    let crc = crc32c::crc32c(&bytes[BatchHeader::CRC_START..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// The batch with its records replaced by packed ones.
fn packed(batch: &CheckedBatch, codec: i16, records: &[u8]) -> Bytes {
    let mut header = *batch.header();
    header.attributes.0 |= codec;
    header.batch_length = (BatchHeader::LENGTH - BatchHeader::LOG_OVERHEAD + records.len()) as i32;
    header.crc = crc_of(&header, records);
    let mut bytes = BytesMut::new();
    header.encode(&mut bytes);
    bytes.extend_from_slice(records);
    bytes.freeze()
}

fn code(screened: &Screened) -> ErrorCode {
    match screened {
        Screened::Batch(_) => ErrorCode::None,
        Screened::Empty => ErrorCode::from(&BatchFault::EMPTY),
        Screened::Fault(fault) => ErrorCode::from(fault),
    }
}

fn fault(screened: Screened) -> BatchFault {
    match screened {
        Screened::Fault(fault) => fault,
        other => panic!("a fault was expected, not {other:?}"),
    }
}

#[test]
fn a_commit_marker_has_kafkas_bytes() {
    let marker = Marker {
        producer_id: 1,
        producer_epoch: 2,
        decision: Decision::Commit,
        coordinator_epoch: 3,
        transaction_version: 2,
    };
    let batch = control_batch(&marker, 0x0102_0304_0506_0708);
    let golden = "0000000000000000\
        00000042\
        ffffffff\
        02\
        665f4398\
        0030\
        00000000\
        0102030405060708\
        0102030405060708\
        0000000000000001\
        0002\
        ffffffff\
        00000001\
        20\
        00\
        00\
        00\
        08\
        00000001\
        0c\
        000000000003\
        00";
    assert_eq!(hex(batch.bytes()), golden);
    assert_eq!(parse_marker(&batch), Some((Decision::Commit, 3)));
    let abort = control_batch(&Marker { decision: Decision::Abort, ..marker }, 0);
    assert_eq!(parse_marker(&abort), Some((Decision::Abort, 3)));
    assert_eq!(batch.header().base_sequence, NO_SEQUENCE);
}

#[test]
fn another_decoder_reads_a_marker() {
    let marker = Marker {
        producer_id: 1,
        producer_epoch: 2,
        decision: Decision::Abort,
        coordinator_epoch: 3,
        transaction_version: 0,
    };
    let mut bytes = control_batch(&marker, 1_000).store_at(5, 9, None).to_bytes();
    let decoded = RecordBatchDecoder::decode(&mut bytes).expect("decodes");
    let record = &decoded.records[0];
    assert!(record.transactional && record.control);
    assert_eq!((record.producer_id, record.producer_epoch, record.sequence), (1, 2, -1));
    assert_eq!((record.offset, record.partition_leader_epoch, record.timestamp), (5, 9, 1_000));
    assert_eq!(record.key.as_deref(), Some(&[0, 0, 0, 0][..]));
    assert_eq!(record.value.as_deref(), Some(&[0, 0, 0, 0, 0, 3][..]));
}

#[test]
fn a_data_batch_is_no_marker() {
    assert_eq!(parse_marker(&batch_of(&["a"])), None);
}

#[test]
fn placing_a_batch_shares_a_large_payload_and_keeps_its_crc() {
    let batch = batch_of(&["a", "b"]);
    let stored = batch.clone().store_at(40, 3, None);
    assert_eq!((stored.base_offset(), stored.last_offset()), (40, 41));
    assert_eq!(stored.header().crc, batch.header().crc);
    assert!(stored.parts()[1].is_empty(), "a small one is copied into one piece");
    let large = BatchBuilder::new(0).record(None, Some(Bytes::from(vec![7; 5_000])), &[]).build();
    assert_eq!(large.clone().store_at(0, 0, None).parts()[1].as_ptr(), large.payload().as_ptr());
    let again = batches(stored.to_bytes()).next().expect("one").expect("its CRC fits");
    assert_eq!(StoredBatch::from(again), stored);
}

#[test]
fn log_append_time_sets_bit_time_and_crc() {
    let stored = batch_of(&["a", "b"]).store_at(0, 3, Some(77));
    assert_eq!(stored.header().timestamp_type(), TimestampType::LogAppendTime);
    let decoded = RecordBatchDecoder::decode(&mut stored.to_bytes()).expect("its CRC fits");
    assert_eq!(decoded.records[1].timestamp_type, TheirTimestampType::LogAppend);
    let times: Vec<_> = records(&stored).map(|record| record.expect("reads").timestamp).collect();
    assert_eq!(times, [77, 77]);
}

#[test]
fn a_largest_timestamp_that_no_record_has_is_corrected() {
    let lie = patched(&batch_of(&["a"]), &[(35, &9_999_i64.to_be_bytes())]);
    let Screened::Batch(batch) = look(&lie) else { panic!("a good batch") };
    let stored = batch.store_at(0, 0, None);
    assert_eq!(stored.header().max_timestamp, 1_000);
    assert!(batches(stored.to_bytes()).next().expect("one").is_ok());
}

#[test]
fn lengths_and_counts_are_answered_as_kafka_answers_them_or_better() {
    let three = batch_of(&["a", "b", "c"]);
    let one = batch_of(&["abc"]);
    let int = i32::to_be_bytes;
    let cases: Vec<(&str, Vec<u8>, ErrorCode)> = vec![
        ("count 4 of 3", patched(&three, &[(57, &int(4))]), ErrorCode::InvalidRecord),
        ("count 2 of 3", patched(&three, &[(57, &int(2))]), ErrorCode::InvalidRecord),
        ("count 0", patched(&three, &[(57, &int(0))]), ErrorCode::InvalidRecord),
        ("count -1", patched(&three, &[(57, &int(-1))]), ErrorCode::InvalidRecord),
        ("delta 3 of 2", patched(&three, &[(23, &int(3))]), ErrorCode::InvalidRecord),
        ("delta -1", patched(&three, &[(23, &int(-1))]), ErrorCode::InvalidRecord),
        ("delta max", patched(&three, &[(23, &int(i32::MAX))]), ErrorCode::InvalidRecord),
        (
            "both too high",
            patched(&three, &[(57, &int(9)), (23, &int(8))]),
            ErrorCode::InvalidRecord,
        ),
        ("base offset 5", patched(&three, &[(0, &5_i64.to_be_bytes())]), ErrorCode::InvalidRecord),
        ("length -1", patched(&one, &[(8, &int(-1))]), ErrorCode::CorruptMessage),
        ("length 0", patched(&one, &[(8, &int(0))]), ErrorCode::CorruptMessage),
        ("length 48", patched(&one, &[(8, &int(48))]), ErrorCode::CorruptMessage),
        ("length 49", patched(&one, &[(8, &int(49))]), ErrorCode::CorruptMessage),
        ("length 2^30", patched(&one, &[(8, &int(1 << 30))]), ErrorCode::InvalidRecord),
        ("length 2^31-1", patched(&one, &[(8, &int(i32::MAX))]), ErrorCode::CorruptMessage),
        ("record length -1", patched(&one, &[(61, &[1])]), ErrorCode::InvalidRecord),
        ("record length 0", patched(&one, &[(61, &[0])]), ErrorCode::InvalidRecord),
        ("record length of two bytes", patched(&one, &[(61, &[200])]), ErrorCode::InvalidRecord),
        ("offset delta 1 of 0", patched(&one, &[(64, &[2])]), ErrorCode::InvalidRecord),
        ("codec 5", patched(&one, &[(22, &[5])]), ErrorCode::UnsupportedCompressionType),
        ("codec 7", patched(&one, &[(22, &[7])]), ErrorCode::UnsupportedCompressionType),
        ("not gzip", patched(&one, &[(22, &[1])]), ErrorCode::InvalidRecord),
        ("reserved bits", patched(&one, &[(21, &[2])]), ErrorCode::None),
        ("control", patched(&one, &[(22, &[0x20])]), ErrorCode::InvalidRecord),
        ("no sequence", patched(&one, &[(53, &int(-1))]), ErrorCode::InvalidRecord),
        ("magic 0", patched(&one, &[(16, &[0])]), ErrorCode::InvalidRecord),
        ("magic 1", patched(&one, &[(16, &[1])]), ErrorCode::InvalidRecord),
        ("magic 3", patched(&one, &[(16, &[3])]), ErrorCode::CorruptMessage),
        ("magic -1", patched(&one, &[(16, &[255])]), ErrorCode::CorruptMessage),
        (
            "producer id -2, no sequence",
            patched(&one, &[(43, &(-2_i64).to_be_bytes()), (53, &int(-1))]),
            ErrorCode::None,
        ),
        ("no records", BatchBuilder::new(0).build().bytes().to_vec(), ErrorCode::InvalidRecord),
        ("two batches", [one.bytes().as_ref(), one.bytes()].concat(), ErrorCode::InvalidRecord),
        ("half behind", [one.bytes(), &one.bytes()[..30]].concat(), ErrorCode::None),
        ("five zeros behind", [one.bytes().as_ref(), &[0; 5]].concat(), ErrorCode::None),
        (
            "thirty zeros behind",
            [one.bytes().as_ref(), &[0; 30]].concat(),
            ErrorCode::CorruptMessage,
        ),
    ];
    for (say, bytes, expected) in cases {
        let screened = look(&bytes);
        assert_eq!(code(&screened), expected, "{say}: {screened:?}");
    }
}

#[test]
fn a_batch_cut_anywhere_is_no_batch() {
    let whole = batch_of(&["abcdef"]);
    for length in 0..whole.size() {
        assert_eq!(look(&whole.bytes()[..length]), Screened::Empty, "{length} bytes");
    }
    assert_eq!(screen(None, VERSION, &ScreenLimits::default()), Screened::Empty);
}

#[test]
fn a_fault_says_when_it_is_answered() {
    let one = BatchBuilder::new(0).producer(7, 0, 0).transactional().record(None, None, &[]);
    let one = one.build();
    let mut bad_crc = one.bytes().to_vec();
    bad_crc[17] ^= 1;
    let found = fault(look(&bad_crc));
    assert_eq!((found.scope(), found.size), (FaultScope::AfterSize, one.size()));
    assert!(found.transactional, "a wrong CRC does not hide the transaction");
    assert_eq!(found.header.map(|header| header.producer_id), Some(7));

    let found = fault(look(&patched(&one, &[(0, &[1])])));
    assert_eq!(found.scope(), FaultScope::BeforeSize);
    let found = fault(look(&patched(&one, &[(8, &[0; 4])])));
    assert_eq!((found.scope(), found.transactional), (FaultScope::Request, false));
    let found = fault(look(&[one.bytes().as_ref(), one.bytes()].concat()));
    assert_eq!((found.scope(), found.transactional), (FaultScope::Shape, true));
    let short = fault(look(&patched(&one, &[(8, &20_i32.to_be_bytes())])[..32]));
    assert_eq!((short.reason, short.transactional), (FaultReason::TooShort(32), true));
}

#[test]
fn zstd_needs_produce_7() {
    let one = batch_of(&["abc"]);
    let records = kacrab_protocol::compression::zstd::compress_with_level(&one.payload(), None);
    let bytes = packed(&one, 4, &records.expect("compresses"));
    let limits = ScreenLimits::default();
    let old = fault(screen(Some(bytes.clone()), 6, &limits));
    assert_eq!(ErrorCode::from(&old), ErrorCode::UnsupportedCompressionType);
    assert!(matches!(screen(Some(bytes), 7, &limits), Screened::Batch(_)));
}

#[test]
fn compressed_records_are_judged_like_plain_ones() {
    let plain = batch_of(&["a", "b"]);
    let gzip = |payload: &[u8]| {
        kacrab_protocol::compression::gzip::compress_with_level(payload, None).expect("compresses")
    };
    let Screened::Batch(good) = look(&packed(&plain, 1, &gzip(&plain.payload()))) else {
        panic!("a good batch")
    };
    let all: Vec<_> = records(&good).collect::<Result<_, _>>().expect("reads");
    assert_eq!(all, records(&plain).collect::<Result<Vec<_>, _>>().expect("reads"));

    let mut trailing = plain.payload().to_vec();
    trailing.push(0);
    let found = fault(look(&packed(&plain, 1, &gzip(&trailing))));
    assert_eq!(found.reason, FaultReason::TrailingBytes(1));
}

#[test]
fn unpacking_stops_at_its_limits() {
    let value = Bytes::from(vec![b'x'; 100_000]);
    let batch = BatchBuilder::new(0).record(None, Some(value), &[]).build();
    let small = kacrab_protocol::compression::gzip::compress_with_level(&batch.payload(), None);
    let bytes = packed(&batch, 1, &small.expect("compresses"));
    let mut limits = ScreenLimits { max_decompressed_batch_bytes: 99_999, ..Default::default() };
    let found = fault(screen(Some(bytes.clone()), VERSION, &limits));
    assert_eq!(found.reason, FaultReason::DecompressedTooLarge);
    limits = ScreenLimits { max_decompressed_record_bytes: 99_999, ..Default::default() };
    let found = fault(screen(Some(bytes), VERSION, &limits));
    assert_eq!(found.reason, FaultReason::RecordTooLarge(0));
}

#[test]
fn batches_end_before_an_incomplete_one_and_after_a_damaged_one() {
    let one = batch_of(&["a"]);
    let two = [one.bytes().as_ref(), one.bytes()].concat();
    let mut cut = batches(Bytes::copy_from_slice(&two[..two.len() - 1]));
    assert_eq!(cut.by_ref().count(), 1);
    assert_eq!(cut.rest().len(), one.size() - 1);
    let mut damaged = two.clone();
    let last = damaged.len() - 2;
    damaged[last] ^= 1;
    let found: Vec<_> = batches(damaged.into()).map(|batch| batch.is_ok()).collect();
    assert_eq!(found, [true, false]);
}

/// Five records "verdict verdict verdict verdict verdict", sent by Kafka's console producer and
/// stored by Apache Kafka 4.4.0.
const WRITTEN_BY_KAFKA: [(Compression, &str); 4] = [
    (
        Compression::Gzip,
        "00000000000000000000006600000000024505144a000100000004000001a22a50076e000001a22a\
        5007760000000000000007000000000000000000051f8b08000000000000ff8b62606060f42b4b2d\
        4ac94c2e512040334431083091a49a8524d56c24a9e6205e350036cd48c8e6000000",
    ),
    (
        Compression::Snappy,
        "000000000000000000000074000000000204a6e234000200000004000001a22a500f59000001a22a\
        500ff300000000000000080000000000000000000582534e41505059000000000100000001000000\
        2fea01345a000000014e76657264696374207a080014005c00b20202ae2f0008b40204b62f000006\
        b62f000008a62f00",
    ),
    (
        Compression::Lz4,
        "000000000000000000000070000000000281ca7cc5000300000004000001a22a50157b000001a22a\
        5015a900000000000000090000000000000000000504224d1860408230000000ef5a000000014e76\
        6572646963742008000c5f005a005c022e001a1f042e001a1f062e001a1f082e0012506469637400\
        00000000",
    ),
    (
        Compression::Zstd,
        "0000000000000000000000650000000002951e5265000400000004000001a22a501b25000001a22a\
        501b74000000000000000a0000000000000000000528b52ffd0058440100c85a000000014e766572\
        6469637420005c009a010204069e01080500013401f306265b2a135e5394010000",
    ),
];

fn unhex(text: &str) -> Bytes {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).expect("a hex digit") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn what_kafka_compressed_is_read_and_passes_the_screen() {
    for (codec, text) in WRITTEN_BY_KAFKA {
        let bytes = unhex(text);
        let batch = batches(bytes.clone()).next().expect("one").expect("its CRC fits");
        assert_eq!(batch.header().compression(), Some(codec));
        let all: Vec<_> = records(&batch).collect::<Result<_, _>>().expect("reads");
        assert_eq!(all.len(), 5, "{codec:?}");
        for record in all {
            assert_eq!(
                record.value.as_deref(),
                Some(&b"verdict verdict verdict verdict verdict"[..])
            );
        }
        assert!(matches!(look(&bytes), Screened::Batch(_)), "{codec:?}");
    }
}

fn any_bytes() -> impl Strategy<Value = Option<Bytes>> {
    prop::option::of(prop::collection::vec(any::<u8>(), 0..200).prop_map(Bytes::from))
}

type AnyRecord = (Option<Bytes>, Option<Bytes>, Vec<(Bytes, Option<Bytes>)>, i64);

fn any_record() -> impl Strategy<Value = AnyRecord> {
    let name = "[a-z]{0,9}".prop_map(Bytes::from);
    let headers = prop::collection::vec((name, any_bytes()), 0..3);
    (any_bytes(), any_bytes(), headers, 0..1_i64 << 40)
}

proptest! {
    #[test]
    fn what_is_built_is_read_by_us_and_by_another_decoder(
        all in prop::collection::vec(any_record(), 1..20),
        sequence in 0..i32::MAX,
    ) {
        let mut builder = BatchBuilder::new(500).producer(7, 3, sequence).transactional();
        for (key, value, headers, time) in &all {
            let headers: Vec<_> = headers
                .iter()
                .map(|(key, value)| RecordHeader { key: key.clone(), value: value.clone() })
                .collect();
            builder = builder.at(*time).record(key.clone(), value.clone(), &headers);
        }
        let batch = builder.build();
        prop_assert_eq!(look(batch.bytes()), Screened::Batch(batch.clone()));
        let ours: Vec<_> = records(&batch).collect::<Result<_, _>>().expect("reads");
        let theirs = RecordBatchDecoder::decode(&mut batch.bytes().clone()).expect("decodes");
        prop_assert_eq!(ours.len(), all.len());
        for ((our, their), (key, value, headers, time)) in
            ours.iter().zip(&theirs.records).zip(&all)
        {
            prop_assert_eq!((&our.key, &our.value, our.timestamp), (key, value, *time));
            prop_assert_eq!(our.headers.len(), headers.len());
            prop_assert_eq!((&their.key, &their.value, their.timestamp), (key, value, *time));
            prop_assert_eq!((their.producer_id, their.producer_epoch), (7, 3));
            prop_assert!(their.transactional && !their.control);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = look(&bytes);
        for batch in batches(bytes.into()).flatten() {
            let _ = records(&batch).count();
        }
    }

    #[test]
    fn arbitrary_changes_never_panic(
        at in 0..200_usize,
        with in any::<u8>(),
        again in 0..200_usize,
    ) {
        let mut bytes = batch_of(&["aaaaaaaaaa", "bbbbbbbbbbbbb", "ccccccccccccccc"]).bytes().to_vec();
        let length = bytes.len();
        bytes[at % length] = with;
        bytes[again % length] ^= with;
        let crc = crc32c::crc32c(&bytes[BatchHeader::CRC_START..]);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
        if let Screened::Batch(batch) = look(&bytes) {
            prop_assert_eq!(records(&batch).filter(Result::is_ok).count(), 3);
        }
    }
}

#[test]
fn a_batch_in_another_codec_has_the_same_records_and_facts() {
    let mut builder = BatchBuilder::new(1_000).producer(7, 1, 5);
    for _ in 0..5 {
        builder.push(Some(b"key"), Some(&[9; 200]), &[]);
    }
    let plain = builder.build();
    let all = |batch: &CheckedBatch| -> Vec<_> { records(batch).map(Result::unwrap).collect() };
    for from in 0..5 {
        let from = Compression::of(from).unwrap();
        let first = recompressed(&plain, from).unwrap();
        for to in 0..5 {
            let to = Compression::of(to).unwrap();
            let second = recompressed(&first, to).unwrap();
            assert_eq!(second.header().compression(), Some(to));
            assert_eq!(all(&second), all(&plain), "{from:?} to {to:?}");
            assert_eq!(second.facts(), plain.facts());
            let found = screen(Some(second.bytes().clone()), 12, &ScreenLimits::default());
            assert!(matches!(found, Screened::Batch(_)), "{from:?} to {to:?}: {found:?}");
        }
    }
}
