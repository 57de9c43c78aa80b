//! The lines of a Java properties file.

use alloc::string::String;
use alloc::vec::Vec;

/// One setting of a properties file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line it begins on, counted from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Its value, "" when there is none.
    pub value: String,
}

/// The settings of a text, in order. `#` and `!` begin comments; name and value are parted
/// by `=`, `:` or white space; a line that ends in an odd number of backslashes goes on in the
/// next one. Other escapes are kept as they are.
#[must_use]
pub fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((first, line)) = lines.next() {
        let first = first.trim();
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = String::from(first);
        while goes_on(&logical) {
            logical.pop();
            match lines.next() {
                Some((next, _)) => logical.push_str(next.trim()),
                None => break,
            }
        }
        let (name, value) = split(&logical);
        entries.push(Entry { line, name: name.into(), value: value.into() });
    }
    entries
}

fn goes_on(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Splits `name=value`, with the separators a properties file has.
#[must_use]
pub fn split(line: &str) -> (&str, &str) {
    let end = line.find(|c: char| c == '=' || c == ':' || c.is_whitespace());
    let Some((name, rest)) = end.and_then(|end| line.split_at_checked(end)) else {
        return (line, "");
    };
    let rest = rest.trim_start();
    (name, rest.strip_prefix(['=', ':']).unwrap_or(rest).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_setting_is_read() {
        let table = [
            ("a=1", "a", "1"),
            ("a = 1 ", "a", "1"),
            ("a: 1", "a", "1"),
            ("a 1", "a", "1"),
            ("a", "a", ""),
            ("a=b=c", "a", "b=c"),
            ("  a=x y", "a", "x y"),
            ("a=1,\\\n   2", "a", "1,2"),
            ("a=c:\\\\", "a", "c:\\\\"),
        ];
        for (text, name, value) in table {
            let expected = Entry { line: 1, name: name.into(), value: value.into() };
            assert_eq!(entries(text), [expected], "{text:?}");
        }
    }

    #[test]
    fn lines_are_counted_through_comments_and_joins() {
        let text = "# broker\n\n! old\na=1\\\n2\nb=3\n";
        let lines: Vec<usize> = entries(text).iter().map(|entry| entry.line).collect();
        assert_eq!(lines, [4, 6]);
    }
}
