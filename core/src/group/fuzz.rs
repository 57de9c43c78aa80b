//! Body of a fuzz target (`fuzz/`), compiled with every build and run by a test.

use super::consumer::ConsumerRecord;
use super::metadata_record::GroupMetadata;
use super::records::{GroupKey, OffsetValue};

/// Reads a key and a value of `__consumer_offsets`. What was read is the same when it is written
/// and read again.
pub fn read_any_record(data: &[u8]) {
    if let Ok(key) = GroupKey::decode(data) {
        assert_eq!(GroupKey::decode(&key.encode()), Ok(key), "a key changes");
    }
    if let Ok(value) = OffsetValue::decode(data) {
        let again = OffsetValue::decode(&value.encode());
        assert_eq!(again, Ok(value.as_written()), "a value changes");
    }
    if let Ok(GroupKey::Consumer { what, .. }) = GroupKey::decode(data) {
        // The rest of the bytes once more, as the value.
        if let Ok(record) = ConsumerRecord::decode(&what, data.get(2..).unwrap_or_default()) {
            let again = ConsumerRecord::decode(&what, &record.encode());
            assert_eq!(again, Ok(record), "a record of a consumer group changes");
        }
    }
    if let Ok(group) = GroupMetadata::decode(data) {
        let again = GroupMetadata::decode(&group.encode());
        assert_eq!(again, Ok(group), "a group changes");
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::noise;

    #[test]
    fn thousands_of_random_inputs_pass() {
        noise(4_000, super::read_any_record);
    }
}
