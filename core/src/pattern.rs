//! Regular expressions of clients, bounded: what ListTransactions filters ids with (KIP-1152) and
//! consumer groups subscribe by (KIP-848). Kafka's are RE2's; the crate's syntax is that but for
//! rare escapes, and it matches in time linear in the text.

use alloc::format;

use regex::{Regex, RegexBuilder};

/// The most memory, in bytes, that a client's pattern may take once compiled.
const LIMIT_BYTES: usize = 256 * 1024;
/// The deepest nesting of a client's pattern.
const NEST_LIMIT: u32 = 50;

/// A pattern that is none, or asks for too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the regular expression is not valid")]
pub(crate) struct InvalidPattern;

/// The pattern as a matcher of whole texts.
///
/// # Errors
/// [`InvalidPattern`].
pub(crate) fn whole_match(pattern: &str) -> Result<Regex, InvalidPattern> {
    let build = |text: &str| {
        RegexBuilder::new(text)
            .size_limit(LIMIT_BYTES)
            .dfa_size_limit(LIMIT_BYTES)
            .nest_limit(NEST_LIMIT)
            .build()
            .map_err(|_| InvalidPattern)
    };
    // By itself first: "a)(b" is no pattern, though it becomes one between brackets.
    build(pattern)?;
    build(&format!(r"\A(?:{pattern})\z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_texts_only() {
        let pattern = whole_match("a|b.").expect("it is one");
        assert!(pattern.is_match("a") && pattern.is_match("bc"));
        assert!(!pattern.is_match("ab") && !pattern.is_match("xa"));
    }

    #[test]
    fn what_is_no_pattern_or_too_large_is_refused() {
        for text in ["(", "a)(b", "(?:a{1000}){1000}"] {
            assert_eq!(whole_match(text).err(), Some(InvalidPattern), "{text}");
        }
    }
}
