//! The lines of a Java properties file.

use alloc::string::String;
use alloc::vec::Vec;

/// The keys and values of a text, in order. `#` and `!` begin comments; key and value are parted
/// by `=`, `:` or white space; a line that ends in an odd number of backslashes goes on in the
/// next one.
pub(super) fn entries(text: &str) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = String::from(line);
        while goes_on(&logical) {
            logical.pop();
            match lines.next() {
                Some(next) => logical.push_str(next.trim()),
                None => break,
            }
        }
        let (key, value) = split(&logical);
        entries.push((String::from(key), String::from(value)));
    }
    entries
}

fn goes_on(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn split(line: &str) -> (&str, &str) {
    let end = line.find(|c: char| c == '=' || c == ':' || c.is_whitespace());
    let Some((key, rest)) = end.and_then(|end| line.split_at_checked(end)) else {
        return (line, "");
    };
    let rest = rest.trim_start();
    (key, rest.strip_prefix(['=', ':']).unwrap_or(rest).trim())
}
