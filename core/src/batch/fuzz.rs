//! Body of a fuzz target (`fuzz/`), compiled with every build and run by a test.

use bytes::Bytes;

use super::{BatchHeader, batches, records};

/// Walks batches and their records: the bytes as they are, and once more as one batch whose
/// length, magic and CRC fit, since random bytes rarely pass those.
pub fn walk_any_records(data: &[u8]) {
    walk(Bytes::copy_from_slice(data));
    let mut fitting = data.to_vec();
    fitting.resize(data.len().max(BatchHeader::LENGTH), 0);
    fit(&mut fitting);
    walk(fitting.into());
}

fn fit(batch: &mut [u8]) {
    let length = u32::try_from(batch.len() - 12).unwrap_or(u32::MAX);
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    batch[16] = 2;
    let crc = crc32c::crc32c(&batch[BatchHeader::CRC_START..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
}

fn walk(bytes: Bytes) {
    for batch in batches(bytes).flatten() {
        let count = usize::try_from(batch.header().record_count).unwrap_or(0);
        let whole = records(&batch).take_while(Result::is_ok).count();
        assert!(whole <= count, "a batch has no more records than its header says");
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::noise;

    #[test]
    fn thousands_of_random_inputs_pass() {
        noise(4_000, super::walk_any_records);
    }
}
