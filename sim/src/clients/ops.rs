//! What a producer is told to do: drawn from a seed, or written in a scenario.

use crate::choices::{Choices, Label};
use crate::history::Part;

/// One step of a producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Asks for an identity anew, as a fresh process does: fences every other owner.
    Init,
    /// Begins a transaction.
    Begin,
    /// Sends a batch of records to a partition; does not wait for its answer.
    Send {
        /// The partition.
        part: Part,
        /// How many records.
        count: u32,
    },
    /// Waits for every answer.
    Flush,
    /// Puts a group's offset of a partition into the transaction.
    Offsets {
        /// The group's number.
        group: u16,
        /// The partition.
        part: Part,
    },
    /// Commits.
    Commit,
    /// Aborts.
    Abort,
    /// Does nothing for a while.
    Sleep {
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Does nothing until a point of the world's time.
    Until {
        /// The point, in milliseconds.
        ms: u64,
    },
    /// Dies: the connection is gone, and with it everything the process knew.
    Die,
    /// Asks for the state of the own transactional id.
    Describe,
    /// Commits once more the transaction that was aborted last; only as of old.
    Contradict,
    /// Goes on with the identity at hand under a raised epoch, as a producer of old does after
    /// it lost track of its sequences.
    Bump,
    /// Sends a batch outside of transactions while one is open, which has to be refused.
    Plain {
        /// A partition that has taken a batch of the open transaction.
        part: Part,
    },
    /// Sends a batch to the topic that comes and goes; nobody minds what becomes of it.
    Side {
        /// The partition.
        part: Part,
    },
    /// Adds a partition to the transaction together with one that does not exist: neither is.
    AddBad {
        /// The partition that exists.
        part: Part,
    },
    /// Sends a batch over another connection and gives up on it at once: it races with the end of
    /// the transaction. Only as of old.
    Straggler {
        /// The partition.
        part: Part,
        /// How late it leaves, in microseconds.
        us: u64,
    },
    /// A marker of the last transaction is still under way: its coordinator sent it twice.
    LateMarker {
        /// The partition.
        part: Part,
        /// How late it comes, in milliseconds.
        ms: u64,
        /// Added to the epoch that the transaction's markers carry.
        epoch_delta: i16,
        /// Subtracted from the coordinator epoch last heard of.
        older: i32,
    },
    /// Sends a marker of its own producer id, as a confused coordinator would.
    Marker {
        /// The partition.
        part: Part,
        /// Commit, or else abort.
        commit: bool,
        /// Added to the producer's current epoch.
        epoch_delta: i16,
        /// 2 asks for the strict epoch rule.
        version: i8,
    },
}

/// Why a scenario's operation is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpError(pub String);

impl core::fmt::Display for OpError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "\"{}\" is no operation of a client", self.0)
    }
}

impl core::error::Error for OpError {}

/// Reads an operation as scenarios write it, such as `send p0 3`, `offsets g0 p1`, `commit`,
/// `sleep 500`, `until 2000`, `marker p0 commit +1 v2`.
///
/// # Errors
///
/// When the text is no operation.
pub fn parse_op(text: &str) -> Result<Op, OpError> {
    let error = || OpError(text.to_owned());
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str, prefix: &str| -> Result<u16, OpError> {
        word.strip_prefix(prefix).and_then(|n| n.parse().ok()).ok_or_else(error)
    };
    let decision = |word: &str| match word {
        "commit" => Ok(true),
        "abort" => Ok(false),
        _ => Err(error()),
    };
    Ok(match words.as_slice() {
        ["init"] => Op::Init,
        ["begin"] => Op::Begin,
        ["send", part] => Op::Send { part: number(part, "p")?, count: 1 },
        ["send", part, count] => {
            Op::Send { part: number(part, "p")?, count: count.parse().map_err(|_| error())? }
        }
        ["flush"] => Op::Flush,
        ["offsets", group, part] => {
            Op::Offsets { group: number(group, "g")?, part: number(part, "p")? }
        }
        ["commit"] => Op::Commit,
        ["abort"] => Op::Abort,
        ["sleep", ms] => Op::Sleep { ms: ms.parse().map_err(|_| error())? },
        ["until", ms] => Op::Until { ms: ms.parse().map_err(|_| error())? },
        ["die"] => Op::Die,
        ["describe"] => Op::Describe,
        ["bump"] => Op::Bump,
        ["plain", part] => Op::Plain { part: number(part, "p")? },
        ["contradict"] => Op::Contradict,
        ["add-bad", part] => Op::AddBad { part: number(part, "p")? },
        ["straggler", part, us] => {
            Op::Straggler { part: number(part, "p")?, us: us.parse().map_err(|_| error())? }
        }
        ["side", part] => Op::Side { part: number(part, "p")? },
        ["late-marker", part, ms] => Op::LateMarker {
            part: number(part, "p")?,
            ms: ms.parse().map_err(|_| error())?,
            epoch_delta: 0,
            older: 0,
        },
        ["marker", part, end, delta, version] => Op::Marker {
            part: number(part, "p")?,
            commit: decision(end)?,
            epoch_delta: delta.parse().map_err(|_| error())?,
            version: number(version, "v")? as i8,
        },
        _ => return Err(error()),
    })
}

/// Draws the steps of an idempotent producer, with a partition of its own or without.
pub(crate) fn draw_sends(
    choices: &mut impl Choices,
    parts: Part,
    own: Option<Part>,
    count: u64,
    high: bool,
) -> Vec<Op> {
    let mut ops = Vec::new();
    if high {
        // The second identity begins near the end of its sequences where the first one wrote.
        ops.extend((0..parts).map(|part| Op::Send { part, count: 1 }));
        ops.extend([Op::Flush, Op::Init]);
    }
    if let Some(part) = own {
        ops.extend((0..4).map(|_| Op::Send { part, count: 1 }));
    }
    for _ in 0..count {
        ops.push(match own {
            Some(part) if choices.below(Label::Target, 4) == 3 => Op::Send { part, count: 1 },
            _ => draw_send(choices, parts),
        });
        match choices.below(Label::Operation, 8) {
            5 => ops.push(Op::Flush),
            6 | 7 => ops.push(think(choices)),
            _ => {}
        }
    }
    ops.push(Op::Flush);
    ops
}

/// What transactions are drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    /// Partitions that all write to.
    pub(crate) parts: Part,
    /// Groups whose offsets are committed.
    pub(crate) groups: u16,
    /// How many transactions.
    pub(crate) count: u64,
    /// After one transaction in how many a late marker is sent.
    pub(crate) late_markers: u32,
    /// Several brokers: between them there is time for a marker between the verification of a batch
    /// and its append, so that transactions of old are often of one that races with their end.
    pub(crate) races: bool,
    /// How many batches a long one has: at least so many, and fewer than so many more.
    pub(crate) long: (u32, u32),
    /// Transactions of version 2.
    pub(crate) v2: bool,
    /// A partition of its own.
    pub(crate) own: Option<Part>,
}

/// Draws the steps of a transactional producer.
pub(crate) fn draw_transactions(choices: &mut impl Choices, of: Workload) -> Vec<Op> {
    let Workload { parts, groups, count, late_markers, races, long, v2, own } = of;
    let mut ops = Vec::new();
    if let Some(part) = own {
        ops.push(Op::Begin);
        ops.extend((0..5).map(|_| Op::Send { part, count: 1 }));
        ops.push(Op::Commit);
    }
    if choices.below(Label::Size, 40) == 39 {
        ops.extend(long_transaction(choices, parts, long));
    }
    for _ in 0..count {
        ops.push(Op::Begin);
        for _ in 0..choices.below(Label::Count, 5) + 1 {
            match choices.below(Label::Operation, 14) {
                12 if v2 => {
                    let send = draw_send(choices, parts);
                    if let Op::Send { part, .. } = send {
                        ops.extend([send, Op::Flush, Op::Plain { part }]);
                    }
                }
                13 if !v2 => ops.push(Op::AddBad {
                    part: choices.below(Label::Target, u32::from(parts)) as Part,
                }),
                13 if v2 => ops.push(Op::Side { part: choices.below(Label::Target, 3) as Part }),
                9 if groups > 0 => ops.push(Op::Offsets {
                    group: choices.below(Label::Target, u32::from(groups)) as u16,
                    part: choices.below(Label::Target, u32::from(parts)) as Part,
                }),
                10 => ops.push(think(choices)),
                11 => ops.push(Op::Flush),
                _ => ops.push(draw_send(choices, parts)),
            }
        }
        if !v2 && choices.below(Label::Operation, 6) == 5 {
            ops.extend(draw_straggler(choices, parts));
        }
        ops.push(if choices.below(Label::Decision, 4) == 3 { Op::Abort } else { Op::Commit });
        if !v2 && matches!(ops.last(), Some(Op::Abort)) && choices.below(Label::Operation, 4) == 3 {
            ops.push(Op::Contradict);
        }
        if !v2 && races && choices.below(Label::Operation, 2) == 1 {
            ops.push(Op::Begin);
            ops.extend(draw_straggler(choices, parts));
            ops.push(Op::Abort);
        }
        if v2 && choices.below(Label::Operation, late_markers) + 1 == late_markers {
            ops.push(draw_late_marker(choices, parts));
        }
        match choices.below(Label::Operation, 20) {
            0..=9 => {}
            17 if !v2 => ops.push(Op::Bump),
            18 => ops.push(Op::Describe),
            19 => ops.push(Op::Init),
            _ => ops.push(think(choices)),
        }
    }
    ops
}

/// A batch that is on its way while its transaction ends.
fn draw_straggler(choices: &mut impl Choices, parts: Part) -> [Op; 2] {
    let part = choices.below(Label::Target, u32::from(parts)) as Part;
    let us = choices.between(Label::Think, 0, 1_000);
    [Op::Straggler { part, us }, Op::Sleep { ms: choices.between(Label::Think, 0, 3) }]
}

fn draw_send(choices: &mut impl Choices, parts: Part) -> Op {
    Op::Send {
        part: choices.below(Label::Target, u32::from(parts)) as Part,
        count: 1 + choices.below(Label::Count, 3),
    }
}

/// One of many batches.
fn long_transaction(choices: &mut impl Choices, parts: Part, (least, span): (u32, u32)) -> Vec<Op> {
    let batches = least + choices.below(Label::Count, span);
    let mut ops = vec![Op::Begin];
    ops.extend((0..batches).map(|_| Op::Send {
        part: choices.below(Label::Target, u32::from(parts)) as Part,
        count: 1,
    }));
    ops.push(Op::Commit);
    ops
}

fn draw_late_marker(choices: &mut impl Choices, parts: Part) -> Op {
    Op::LateMarker {
        part: choices.below(Label::Target, u32::from(parts)) as Part,
        ms: choices.between(Label::Think, 0, 60),
        epoch_delta: -i16::from(choices.below(Label::Decision, 5) == 4),
        older: i32::from(choices.below(Label::Decision, 5) == 4),
    }
}

/// Puts a sleep between any two of the steps, but not before a batch outside of transactions: that
/// has to be refused only as long as the transaction is open and its producer not forgotten.
pub(crate) fn put_sleep(choices: &mut impl Choices, ops: &mut Vec<Op>, ms: u64) {
    let at = choices.below(Label::Target, ops.len() as u32 + 1) as usize;
    let mut rest = ops[at..].iter().take_while(|op| !matches!(op, Op::Commit | Op::Abort));
    if !rest.any(|op| matches!(op, Op::Plain { .. })) {
        ops.insert(at, Op::Sleep { ms });
    }
}

fn think(choices: &mut impl Choices) -> Op {
    Op::Sleep { ms: choices.between(Label::Think, 1, 300) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_operation_is_read() {
        let cases = [
            ("init", Op::Init),
            ("send p2 3", Op::Send { part: 2, count: 3 }),
            ("offsets g1 p0", Op::Offsets { group: 1, part: 0 }),
            ("sleep 500", Op::Sleep { ms: 500 }),
            (
                "marker p0 abort -1 v2",
                Op::Marker { part: 0, commit: false, epoch_delta: -1, version: 2 },
            ),
        ];
        for (text, op) in cases {
            assert_eq!(parse_op(text), Ok(op), "{text}");
        }
    }

    #[test]
    fn what_is_no_operation_is_refused() {
        for text in ["", "send", "send q0", "offsets g p0", "marker p0 maybe 0 v2", "commit now"] {
            assert_eq!(parse_op(text), Err(OpError(text.to_owned())));
        }
    }
}
