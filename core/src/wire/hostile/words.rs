//! What fields hold: mostly what the broker knows or what stands at an edge, by the field's name.

use alloc::format;
use alloc::vec::Vec;

use super::Known;
use super::records;
use crate::wire::shape::Kind;
use crate::wire::shape::generate::{Random, Values};

/// Numbers at which code goes wrong.
const EDGES: [i64; 14] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    127,
    32_767,
    65_536,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
];
const CONFIGS: [&str; 8] = [
    "cleanup.policy",
    "retention.ms",
    "segment.bytes",
    "max.message.bytes",
    "compression.type",
    "message.timestamp.type",
    "min.insync.replicas",
    "no.such.config",
];
const CONFIG_VALUES: [&str; 10] = [
    "compact",
    "delete",
    "-1",
    "0",
    "1048576",
    "zstd",
    "LogAppendTime",
    "true",
    "",
    "9999999999999",
];
const PATTERNS: [&str; 6] = ["t.*", "(", "(a*)*b", "[", ".{0,1000}{0,1000}", ""];
const NAMES: [&str; 10] = [
    "range",
    "uniform",
    "consumer",
    "User:ANONYMOUS",
    "*",
    "0",
    "metadata.version",
    "__consumer_offsets",
    "__transaction_state",
    "..",
];

/// The words of one request.
pub(super) struct Words<'a> {
    pub(super) random: &'a mut Random,
    pub(super) known: &'a Known,
}

impl Words<'_> {
    fn pick<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        if of.is_empty() { None } else { of.get(self.random.index(of.len())).cloned() }
    }

    fn pick_text(&mut self, of: &[&str]) -> Vec<u8> {
        self.pick(of).unwrap_or_default().as_bytes().to_vec()
    }

    fn number(&mut self, name: &str) -> i64 {
        let small = self.random.below(4) as i64;
        let known = self.known;
        if self.random.one_in(6) {
            return self.pick(&EDGES).unwrap_or_default();
        }
        if self.random.one_in(40) {
            return self.random.next() as i64;
        }
        match name {
            "producer_id" | "producer_id_filters" | "v3_and_below_producer_id" => {
                self.pick(&known.producer_ids).unwrap_or(-1)
            }
            "acks" | "current_leader_epoch" | "replica_id" => -1,
            "timeout_ms" | "max_wait_ms" => 10 * small,
            "session_timeout_ms" | "rebalance_timeout_ms" | "transaction_timeout_ms" => 10_000,
            "timestamp" => self.known.now_ms - small,
            "max_bytes" | "partition_max_bytes" => 1 << 20,
            "replication_factor" => 1,
            "committed_offset" | "fetch_offset" | "offset" => small * small,
            _ => small - 1,
        }
    }

    fn letters(&mut self) -> Vec<u8> {
        let length = match self.random.below(30) {
            0 => 250,
            1 => 3_000,
            _ => self.random.below(9) as usize,
        };
        let letter = b'a' + self.random.below(3) as u8;
        core::iter::repeat_n(letter, length).collect()
    }

    fn topic(&mut self) -> Vec<u8> {
        let known = self.known;
        self.pick(&known.topics).unwrap_or_default().into_bytes()
    }

    /// A consumer's subscription or assignment, as its protocol has it inside the bytes of a
    /// group's.
    fn consumer_bytes(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&(self.random.below(5) as i16).to_be_bytes());
        let topics = self.random.below(3) as i32;
        out.extend_from_slice(&topics.to_be_bytes());
        for _ in 0..topics {
            let topic = self.topic();
            out.extend_from_slice(&(topic.len() as i16).to_be_bytes());
            out.extend_from_slice(&topic);
        }
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        out.extend_from_slice(&0_i32.to_be_bytes());
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        if self.random.one_in(3) {
            let at = self.random.index(out.len());
            out[at] = self.random.next() as u8;
        }
        out
    }
}

impl Values for Words<'_> {
    fn random(&mut self) -> &mut Random {
        self.random
    }

    fn fixed(&mut self, name: &'static str, size: usize, _tagged: bool) -> [u8; 16] {
        let mut bytes = [0; 16];
        if size == 16 {
            let known = self.known;
            match self.random.below(8) {
                0 => bytes[..8].copy_from_slice(&self.random.next().to_be_bytes()),
                1 => {}
                _ => bytes = self.pick(&known.topic_ids).unwrap_or_default(),
            }
            return bytes;
        }
        let number = self.number(name).to_be_bytes();
        bytes[..size].copy_from_slice(&number[number.len() - size..]);
        bytes
    }

    fn text(&mut self, name: &'static str, tagged: bool) -> Vec<u8> {
        let known = self.known;
        let text = match name {
            _ if self.random.one_in(12) => self.letters(),
            "group_id" | "groups" | "group_ids" | "groups_names" => {
                self.pick(&known.groups).unwrap_or_default().into_bytes()
            }
            "transactional_id" | "transactional_ids" | "v3_and_below_transactional_id" => {
                self.pick(&known.transactional_ids).unwrap_or_default().into_bytes()
            }
            "key" | "coordinator_keys" => match self.random.below(3) {
                0 => self.pick(&known.groups).unwrap_or_default().into_bytes(),
                1 => format!("{}:AAAAAAAAAAAAAAAAAAAAAA:0", "g0").into_bytes(),
                _ => self.pick(&known.transactional_ids).unwrap_or_default().into_bytes(),
            },
            "member_id" => self.pick(&known.members).unwrap_or_default().into_bytes(),
            "group_instance_id" | "instance_id" => b"static".to_vec(),
            "configuration_keys" => self.pick_text(&CONFIGS),
            "value" => self.pick_text(&CONFIG_VALUES),
            "subscribed_topic_regex" | "transactional_id_pattern" => self.pick_text(&PATTERNS),
            "protocol_type" => b"consumer".to_vec(),
            "protocol_name" => b"range".to_vec(),
            "server_assignor" => b"uniform".to_vec(),
            "name"
            | "topic"
            | "topics"
            | "topic_name"
            | "topic_names"
            | "resource_name"
            | "subscribed_topic_names" => match self.random.below(6) {
                0 => self.pick_text(&CONFIGS),
                1 => self.pick_text(&NAMES),
                _ => self.topic(),
            },
            _ => self.pick_text(&NAMES),
        };
        if tagged && text.is_empty() { b"x".to_vec() } else { text }
    }

    fn blob(&mut self, name: &'static str) -> Vec<u8> {
        match name {
            "records" => records::any_set(self.random, self.known),
            _ if self.random.one_in(4) => self.letters(),
            _ => self.consumer_bytes(),
        }
    }

    fn count(&mut self, _name: &'static str) -> usize {
        match self.random.below(20) {
            0 => 0,
            1..=12 => 1,
            13..=18 => self.random.below(4) as usize,
            _ => 20,
        }
    }

    fn is_null(&mut self, kind: &'static Kind) -> bool {
        let chances = if matches!(kind, Kind::Blob) { 12 } else { 3 };
        self.random.one_in(chances)
    }
}
