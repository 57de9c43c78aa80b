//! Body of a fuzz target (`fuzz/`), compiled with every build and run by a test.

use super::records::MetaRecord;

/// Reads a record of the metadata log: the bytes as they are, and behind a frame that fits (the
/// first byte picks the kind). What was read is the same when it is written and read again.
pub fn read_any_record(data: &[u8]) {
    read(data);
    let Some((kind, rest)) = data.split_first() else { return };
    let (kind, version) =
        [(0, 4), (2, 0), (3, 2), (4, 0), (9, 0), (12, 0), (15, 0)][usize::from(*kind) % 7];
    let mut fitting = alloc::vec![1, kind, version];
    fitting.extend_from_slice(rest);
    read(&fitting);
}

fn read(bytes: &[u8]) {
    match MetaRecord::decode(bytes) {
        Err(_) | Ok(MetaRecord::Other(_)) => {}
        Ok(record) => {
            let again = MetaRecord::decode(&record.encode());
            assert_eq!(again, Ok(record), "a record changes when it is written again");
        }
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
