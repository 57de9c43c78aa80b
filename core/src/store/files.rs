//! Names and small text files of a partition's folder, as Apache Kafka has them.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use crate::io::FilePath;
use crate::types::{Offset, TopicId, TopicPartition};

/// The two journal files, used in turn.
pub(super) const JOURNAL: [&str; 2] = ["journal-0", "journal-1"];
/// What of the journal is in the segments, and how long those are: twice, because nothing else
/// says so when the bytes of one rot.
pub(super) const CHECKPOINTS: [&str; 2] = ["verdict-checkpoint", "verdict-checkpoint.copy"];
/// Start offsets of leader epochs, in a partition's folder.
pub(super) const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";
/// Below which offset log cleaning may have left holes, in a partition's folder.
pub(super) const CLEANED_TO: &str = "verdict-cleaned";
/// Where the log begins, in a partition's folder: what the checkpoint says too, for the day on
/// which that is lost. Apache Kafka has it in `log-start-offset-checkpoint`.
pub(super) const LOG_START: &str = "verdict-log-start";
/// A partition's topic id, in its folder.
pub(super) const PARTITION_METADATA: &str = "partition.metadata";

/// Behind the names of files that log cleaning writes, until they replace others.
const CLEANED: &str = ".cleaned";

/// A partition's folder.
pub(super) fn folder(topic: &TopicPartition) -> String {
    topic.to_string()
}

/// The partition a folder is of: `<topic>-<partition>`.
pub(super) fn parse_folder(name: &str) -> Option<TopicPartition> {
    let (topic, partition) = name.rsplit_once('-')?;
    let digits = !partition.is_empty() && partition.bytes().all(|b| b.is_ascii_digit());
    if topic.is_empty() || !digits {
        return None;
    }
    Some(TopicPartition::new(topic, partition.parse().ok()?))
}

/// A file in a partition's folder.
pub(super) fn in_folder(folder: &str, name: &str) -> FilePath {
    FilePath::from(format!("{folder}/{name}"))
}

/// The kinds of file that are named by an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Log,
    Index,
    TimeIndex,
    TxnIndex,
    Snapshot,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::Log, Self::Index, Self::TimeIndex, Self::TxnIndex, Self::Snapshot];

    const fn suffix(self) -> &'static str {
        match self {
            Self::Log => ".log",
            Self::Index => ".index",
            Self::TimeIndex => ".timeindex",
            Self::TxnIndex => ".txnindex",
            Self::Snapshot => ".snapshot",
        }
    }

    /// The file of this kind for an offset, twenty digits wide.
    pub(super) fn path(self, folder: &str, offset: Offset) -> FilePath {
        let suffix = self.suffix();
        let mut path = String::with_capacity(folder.len() + 21 + suffix.len());
        path.push_str(folder);
        path.push('/');
        push_digits(&mut path, offset);
        path.push_str(suffix);
        FilePath::from(path)
    }

    /// Where the file of this kind is as long as a cleaning has not put it in its place.
    pub(super) fn cleaned_path(self, folder: &str, offset: Offset) -> FilePath {
        FilePath::from(format!("{folder}/{offset:020}{}{CLEANED}", self.suffix()))
    }

    /// The kind and offset of a [`Kind::cleaned_path`]'s name.
    pub(super) fn parse_cleaned(name: &str) -> Option<(Self, Offset)> {
        Self::parse(name.strip_suffix(CLEANED)?)
    }

    /// The kind and offset of a file's name.
    pub(super) fn parse(name: &str) -> Option<(Self, Offset)> {
        let kind = Self::ALL.into_iter().find(|kind| name.ends_with(kind.suffix()))?;
        let digits = name.strip_suffix(kind.suffix())?;
        if digits.len() != 20 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some((kind, digits.parse().ok()?))
    }
}

/// Twenty digits. Paths are asked for with every file, and formatting would take longer than all
/// the rest.
fn push_digits(text: &mut String, offset: Offset) {
    let mut rest = offset.unsigned_abs();
    let mut digits = [b'0'; 20];
    for digit in digits.iter_mut().rev() {
        if rest == 0 {
            break;
        }
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    text.push_str(core::str::from_utf8(&digits).expect("digits are text"));
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The text of [`PARTITION_METADATA`].
pub(super) fn partition_metadata(id: TopicId) -> String {
    let mut text = String::from("version: 0\ntopic_id: ");
    // 22 characters of 6 bits hold 132 bits: the id, then four zeros (URL alphabet, no padding).
    for i in 0..22_u32 {
        let bits = if i < 21 { id.0 >> (122 - 6 * i) } else { id.0 << 4 };
        text.push(char::from(BASE64[(bits & 63) as usize]));
    }
    text
}

/// The topic id in [`PARTITION_METADATA`].
pub(super) fn parse_partition_metadata(text: &[u8]) -> Option<TopicId> {
    let text = core::str::from_utf8(text).ok()?;
    let mut lines = text.lines();
    if lines.next()?.trim() != "version: 0" {
        return None;
    }
    let encoded = lines.next()?.strip_prefix("topic_id: ")?.trim();
    if encoded.len() != 22 {
        return None;
    }
    let mut id = 0_u128;
    for (i, character) in encoded.bytes().enumerate() {
        let bits = BASE64.iter().position(|b| *b == character)? as u128;
        id = if i < 21 { id << 6 | bits } else { id << 2 | bits >> 4 };
    }
    Some(TopicId(id))
}

/// The text of [`CLEANED_TO`] and [`LOG_START`]: version, offset, and the CRC-32C of both lines.
pub(super) fn one_offset(offset: Offset) -> String {
    let lines = format!("0\n{offset}\n");
    let crc = crc32c::crc32c(lines.as_bytes());
    format!("{lines}{crc:08x}\n")
}

/// The offset in [`CLEANED_TO`] or [`LOG_START`]; `None` when it is damaged.
pub(super) fn parse_one_offset(text: &[u8]) -> Option<Offset> {
    let offset = core::str::from_utf8(text).ok()?.lines().nth(1)?.parse().ok()?;
    (one_offset(offset).as_bytes() == text).then_some(offset)
}

/// The text of [`LEADER_EPOCHS`].
pub(super) fn leader_epochs(epochs: &[(i32, Offset)]) -> String {
    let mut text = format!("0\n{}\n", epochs.len());
    for (epoch, offset) in epochs {
        writeln!(text, "{epoch} {offset}").expect("writing to a string cannot fail");
    }
    text
}

/// The entries of [`LEADER_EPOCHS`]; `None` when it is damaged.
pub(super) fn parse_leader_epochs(text: &[u8]) -> Option<Vec<(i32, Offset)>> {
    let mut lines = core::str::from_utf8(text).ok()?.lines();
    if lines.next()? != "0" {
        return None;
    }
    let count: usize = lines.next()?.parse().ok()?;
    let entries: Vec<_> = lines
        .map(|line| {
            let (epoch, offset) = line.split_once(' ')?;
            Some((epoch.parse().ok()?, offset.parse().ok()?))
        })
        .collect::<Option<_>>()?;
    (entries.len() == count).then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_twenty_digits() {
        for offset in [0, 7, 1_234_567, i64::MAX] {
            let path = Kind::TimeIndex.path("t-0", offset);
            assert_eq!(path.as_str(), format!("t-0/{offset:020}.timeindex"));
        }
    }

    #[test]
    fn file_names_carry_twenty_digits_and_come_back() {
        assert_eq!(Kind::Log.path("t-0", 42).as_str(), "t-0/00000000000000000042.log");
        assert_eq!(Kind::parse("00000000000000000042.timeindex"), Some((Kind::TimeIndex, 42)));
        assert_eq!(
            Kind::Log.cleaned_path("t-0", 42).as_str(),
            "t-0/00000000000000000042.log.cleaned"
        );
        assert_eq!(Kind::parse_cleaned("00000000000000000042.log.cleaned"), Some((Kind::Log, 42)));
        assert_eq!(Kind::parse_cleaned("00000000000000000042.log"), None);
        for other in ["42.log", "0000000000000000004x.log", PARTITION_METADATA, ""] {
            assert_eq!(Kind::parse(other), None, "{other}");
        }
    }

    #[test]
    fn folders_split_at_the_last_dash() {
        assert_eq!(parse_folder("a-b-12"), Some(TopicPartition::new("a-b", 12)));
        for other in ["a", "-1", "a-", "a-x", "a-99999999999", "journal"] {
            assert_eq!(parse_folder(other), None, "{other}");
        }
    }

    #[test]
    fn partition_metadata_is_kafkas() {
        let id = TopicId(1);
        assert_eq!(partition_metadata(id), "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ");
        for id in [id, TopicId(u128::MAX), TopicId(0x0123_4567_89ab_cdef_0011_2233_4455_6677)] {
            assert_eq!(parse_partition_metadata(partition_metadata(id).as_bytes()), Some(id));
        }
        assert_eq!(parse_partition_metadata(b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"), None);
    }

    #[test]
    fn an_offset_in_a_file_is_believed_only_as_it_was_written() {
        let text = one_offset(83);
        assert_eq!(text, "0\n83\n2e27c8af\n");
        assert_eq!(parse_one_offset(text.as_bytes()), Some(83));
        for damaged in ["", "0\n83\n", "0\n93\n2e27c8af\n", "1\n83\n2e27c8af\n"] {
            assert_eq!(parse_one_offset(damaged.as_bytes()), None, "{damaged:?}");
        }
    }

    #[test]
    fn leader_epochs_are_kafkas_text() {
        let epochs = [(0, 0), (3, 17)];
        assert_eq!(leader_epochs(&epochs), "0\n2\n0 0\n3 17\n");
        assert_eq!(parse_leader_epochs(b"0\n2\n0 0\n3 17\n").as_deref(), Some(&epochs[..]));
        for damaged in [&b"1\n0\n"[..], b"0\n2\n0 0\n", b"0\n1\n0 x\n", b"", b"\xff"] {
            assert_eq!(parse_leader_epochs(damaged), None);
        }
    }
}
