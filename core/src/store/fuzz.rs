//! Bodies of fuzz targets (`fuzz/`), compiled with every build and run by tests.

use alloc::vec::Vec;

use super::checkpoint_file::Image;
use super::files::{
    leader_epochs, parse_folder, parse_leader_epochs, parse_partition_metadata, partition_metadata,
};
use super::frame::{HEADER_BYTES, Place, Scan, Scanned, encode, seal};

/// Scans a journal file that holds the bytes as they are, and one whose first frame has them as
/// its body. A frame that was taken is written as it was.
pub fn scan_any_journal(data: &[u8]) {
    let mut scan = Scan::default();
    // In pieces, as a file is read.
    for piece in data.chunks(61) {
        scan.push(piece.to_vec().into());
        while let Scanned::Frame(_) = scan.next() {}
    }
    let place = Place { generation: 1, sequence: 1, previous: 0 };
    let fitting = [&seal(place, &[data.to_vec().into()])[..], data].concat();
    let mut scan = Scan::default();
    scan.push(fitting.clone().into());
    if let Scanned::Frame(frame) = scan.next() {
        let mut again = Vec::new();
        encode(frame.place, &frame.entries, &mut again);
        assert_eq!(again.concat().len(), fitting.len(), "{HEADER_BYTES} bytes and the body");
        assert_eq!(again.concat(), fitting, "a frame changes when it is written again");
    }
}

/// Reads a checkpoint: the bytes as they are, and behind a header whose CRC fits. What was read is
/// written as it was.
pub fn read_any_checkpoint(data: &[u8]) {
    let _ = Image::decode(data);
    let mut fitting = Image::default().encode()[..6].to_vec();
    fitting.extend_from_slice(&crc32c::crc32c(data).to_be_bytes());
    fitting.extend_from_slice(data);
    if let Some(image) = Image::decode(&fitting) {
        let again = Image::decode(&image.encode());
        assert_eq!(again, Some(image), "a checkpoint changes when it is written again");
    }
}

/// Reads the names and the small text files of a partition's folder.
pub fn read_any_folder(data: &[u8]) {
    if let Some(id) = parse_partition_metadata(data) {
        assert_eq!(parse_partition_metadata(partition_metadata(id).as_bytes()), Some(id));
    }
    if let Some(epochs) = parse_leader_epochs(data) {
        let again = parse_leader_epochs(leader_epochs(&epochs).as_bytes());
        assert_eq!(again, Some(epochs), "leader epochs change when they are written again");
    }
    if let Some(folder) = core::str::from_utf8(data).ok().and_then(parse_folder) {
        assert!(!folder.topic.as_str().is_empty(), "a folder names a topic");
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::noise;

    #[test]
    fn thousands_of_random_inputs_pass() {
        noise(4_000, super::scan_any_journal);
        noise(4_000, super::read_any_checkpoint);
        noise(4_000, super::read_any_folder);
    }
}
