//! Standard output. Whoever reads it may stop, as `head` does: that ends the program quietly, with
//! the exit code of what was found until then.

use std::fmt::Arguments;
use std::io::{Error, ErrorKind, Write};
use std::process::exit;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::nightly::worst;

/// The exit code of the worst that was found.
static FOUND: AtomicU8 = AtomicU8::new(0);

/// Something with this exit code was found; 0 says that nothing was.
pub fn found(code: u8) {
    let worse = |known: u8| Some(worst([known, code].into_iter()));
    // It never declines.
    let _ = FOUND.fetch_update(Ordering::Relaxed, Ordering::Relaxed, worse);
}

/// Writes a line.
pub fn line(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_fmt(text).and_then(|()| out.write_all(b"\n")) {
        drop(out);
        end(&error);
    }
}

/// Nothing can be written any more.
fn end(error: &Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        exit(FOUND.load(Ordering::Relaxed).into());
    }
    eprintln!("standard output: {error}");
    exit(1);
}

/// Writes a line, as `println!` does, and ends the program quietly when nobody reads it.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {
        $crate::out::line(format_args!($($text)*))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_the_worst_of_it() {
        for (code, then) in [(0, 0), (128, 128), (129, 129), (128, 129), (0, 129), (127, 127)] {
            found(code);
            assert_eq!(FOUND.load(Ordering::Relaxed), then, "after {code}");
        }
    }
}
