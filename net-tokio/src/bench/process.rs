//! What a process has cost so far, from `/proc`.

use std::fs;
use std::time::Duration;

/// Ticks of `/proc/PID/stat` in a second; Linux has had no other value on any common machine.
const TICKS_PER_SECOND: u64 = 100;
/// Fields of `stat` between the name and the user time.
const UTIME_AFTER_NAME: usize = 11;

/// A moment of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Processor time, user and system, of all its threads.
    pub(super) cpu: Duration,
    /// Resident memory, in KiB.
    pub(super) resident_kib: u64,
}

/// Looks at a process; `None` when there is none, or nothing can be seen of it.
pub(super) fn usage(pid: u32) -> Option<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(Usage { cpu: cpu(&stat)?, resident_kib: resident_kib(&status)? })
}

fn cpu(stat: &str) -> Option<Duration> {
    // The name stands in parentheses and may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(UTIME_AFTER_NAME);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

fn resident_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_a_name_with_blanks() {
        let stat = "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0";
        assert_eq!(cpu(stat), Some(Duration::from_secs(3)));
        assert_eq!(resident_kib("Name:\tx\nVmRSS:\t  123 kB\n"), Some(123));
    }

    #[test]
    fn this_very_process_can_be_seen() {
        let usage = usage(std::process::id()).expect("it lives");
        assert!(usage.resident_kib > 0);
    }
}
