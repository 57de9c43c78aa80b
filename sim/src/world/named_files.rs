//! What an answer says of a file has to be so.
//!
//! A Fetch names files that hold its records, too, and a driver may send those bytes instead
//! (`sendfile`). It opens the files before the node does anything else, so this is the moment at
//! which they are looked at. What counts is what a read finds, which need not be durable.

use verdict_core::io::FileRun;
use verdict_core::wire::Response;

use crate::disk::SimDisk;

/// What is wrong with the files that an answer names.
pub(super) fn misnamed(response: &Response, disk: &SimDisk) -> Option<String> {
    let Response::Fetch(fetch) = response else { return None };
    fetch.files.iter().find_map(|(number, run)| {
        let records = fetch.records.iter().flatten().nth(*number)?.concat();
        let fits = is_beginning(run, &records, disk.as_read(&run.path, run.position, run.length));
        (!fits).then(|| {
            let FileRun { path, position, length } = run;
            format!(
                "an answer says that the first {length} of its {} bytes are at {position} of {path}",
                records.len()
            )
        })
    })
}

/// Whether what is in the file is what the records begin with.
fn is_beginning(run: &FileRun, records: &[u8], there: Option<&[u8]>) -> bool {
    let length = usize::try_from(run.length).unwrap_or(usize::MAX);
    length > 0 && records.get(..length).is_some_and(|bytes| there == Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_what_an_answer_begins_with_or_it_is_misnamed() {
        let run = |length| FileRun { path: "a/0.log".into(), position: 0, length };
        assert!(is_beginning(&run(3), b"abc", Some(b"abc")));
        assert!(is_beginning(&run(2), b"abc", Some(b"ab")));
        for (length, there) in [
            (3, Some(&b"abd"[..])),
            (3, Some(b"ab")),
            (3, None),
            (4, Some(b"abcd")),
            (0, Some(b"")),
        ] {
            assert!(!is_beginning(&run(length), b"abc", there), "{length} of {there:?}");
        }
    }
}
