//! Java's properties files, as far as broker settings need them.
//!
//! `key=value`, `key: value` or `key value`; `#` and `!` begin comments; a backslash at the end
//! of a line joins it with the next. Escapes inside a value are kept as they are.

/// One setting and the line it began on, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The line.
    pub line: usize,
    /// The key.
    pub key: String,
    /// The value, "" when there is none.
    pub value: String,
}

/// The settings of a file, in its order.
#[must_use]
pub fn parse(text: &str) -> Vec<Property> {
    let mut properties = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, first)) = lines.next() {
        let first = first.trim_start();
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = first.to_owned();
        while ends_in_continuation(&logical) {
            logical.pop();
            let Some((_, next)) = lines.next() else { break };
            logical.push_str(next.trim_start());
        }
        let (key, value) = split(&logical);
        properties.push(Property { line: index + 1, key: key.into(), value: value.into() });
    }
    properties
}

/// Splits `key=value`, with the separators a properties file has.
#[must_use]
pub fn split(line: &str) -> (&str, &str) {
    let end = line.find(|c: char| c == '=' || c == ':' || c.is_whitespace()).unwrap_or(line.len());
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim())
}

/// An odd number of backslashes: an even number is so many escaped ones.
fn ends_in_continuation(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
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
        for (text, key, value) in table {
            let expected = Property { line: 1, key: key.into(), value: value.into() };
            assert_eq!(parse(text), [expected], "{text:?}");
        }
    }

    #[test]
    fn lines_are_counted_through_comments_and_joins() {
        let text = "# broker\n\n! old\na=1\\\n2\nb=3\n";
        let lines: Vec<usize> = parse(text).iter().map(|property| property.line).collect();
        assert_eq!(lines, [4, 6]);
    }
}
