//! What a topic's settings demand of single records (spec 2.1, row 19; `LogValidator`).
//!
//! Whether anything is wrong is decided by what screening found; the records are walked again
//! only to name the wrong ones.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::config::{LogConfig, TimestampType};
use super::error::{AppendError, RecordError};
use crate::batch::{CheckedBatch, records};
use crate::mark;
use crate::types::TopicPartition;

const NO_TIMESTAMP: i64 = -1;

/// Judges the keys and timestamps of a client's batch.
pub(super) fn judge(
    config: &LogConfig,
    topic: &TopicPartition,
    now_ms: i64,
    batch: &CheckedBatch,
) -> Result<(), AppendError> {
    let facts = batch.facts();
    let claims_append_time = batch.header().timestamp_type() == TimestampType::LogAppendTime;
    let keys_fine = !config.compacted || !facts.has_null_key;
    let times_fine = !claims_append_time
        && (config.timestamp_type == TimestampType::LogAppendTime
            || is_in_range(config, now_ms, facts.min_timestamp)
                && is_in_range(config, now_ms, facts.max_timestamp));
    if keys_fine && times_fine {
        return Ok(());
    }
    let mut errors = Vec::new();
    let mut timestamp = false;
    for (index, record) in records(batch).flatten().enumerate() {
        let message = if config.compacted && record.key.is_none() {
            format!("Compacted topic cannot accept message without key in topic partition {topic}.")
        } else if is_time_wrong(config, now_ms, record.timestamp, claims_append_time) {
            timestamp = true;
            time_message(config, now_ms, record.timestamp, index)
        } else {
            continue;
        };
        errors.push(RecordError { index: i32::try_from(index).unwrap_or(i32::MAX), message });
    }
    if errors.is_empty() {
        return Ok(());
    }
    mark!(RecordsRefused);
    Err(AppendError::InvalidRecords { timestamp, errors })
}

fn is_time_wrong(
    config: &LogConfig,
    now_ms: i64,
    timestamp: i64,
    claims_append_time: bool,
) -> bool {
    if config.timestamp_type == TimestampType::CreateTime && timestamp != NO_TIMESTAMP {
        !is_in_range(config, now_ms, timestamp)
    } else {
        claims_append_time
    }
}

fn time_message(config: &LogConfig, now_ms: i64, timestamp: i64, offset: usize) -> String {
    if config.timestamp_type == TimestampType::LogAppendTime || timestamp == NO_TIMESTAMP {
        return format!(
            "Invalid timestamp type in message with offset {offset}. Producer should not set \
             timestamp type to LogAppendTime."
        );
    }
    let earliest = now_ms.saturating_sub(config.timestamp_before_max_ms);
    let latest = now_ms.saturating_add(config.timestamp_after_max_ms);
    format!(
        "Timestamp {timestamp} of message with offset {offset} is out of range. The timestamp \
         should be within [{earliest}, {latest}]"
    )
}

/// A record without a timestamp is never out of range.
fn is_in_range(config: &LogConfig, now_ms: i64, timestamp: i64) -> bool {
    timestamp == NO_TIMESTAMP
        || now_ms.saturating_sub(timestamp) <= config.timestamp_before_max_ms
            && timestamp.saturating_sub(now_ms) <= config.timestamp_after_max_ms
}
