//! What clients did and saw, and the judge of it.
//!
//! A transaction ends `Committed` or `Aborted` when the client knows, `Maybe` when the answer to
//! its commit was lost. The judge reads back with read_committed and demands: every acknowledged
//! commit whole (O1, O5), nothing twice (O2), each producer's records in its order in every
//! partition (O3), nothing aborted visible (O4), and a `Maybe` whole or not at all (O5).

use std::collections::BTreeMap;
use std::fmt;

/// How a transaction ended, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The commit was acknowledged.
    Committed,
    /// It was aborted, or its commit was never asked for.
    Aborted,
    /// Its commit was asked for and the answer was lost.
    Maybe,
}

/// One transaction of one client.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The transactional id.
    pub producer: String,
    /// The place among this producer's transactions, from 0.
    pub number: u64,
    /// Partition and value of each record that was sent. A value is sent once in a whole history.
    pub records: Vec<(i32, String)>,
    /// How it ended.
    pub outcome: Outcome,
}

/// One record that a read_committed reader saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// Its value.
    pub value: String,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A record of an acknowledged commit is missing.
    Lost {
        /// The producer and its transaction.
        transaction: (String, u64),
        /// The record.
        value: String,
    },
    /// A record is there more than once.
    Twice {
        /// The record.
        value: String,
    },
    /// A record of an aborted transaction is visible.
    AbortedVisible {
        /// The producer and its transaction.
        transaction: (String, u64),
        /// The record.
        value: String,
    },
    /// Some records of a transaction of unknown outcome are visible and some are not.
    Torn {
        /// The producer and its transaction.
        transaction: (String, u64),
        /// How many of its records are there.
        seen: usize,
        /// How many it has.
        of: usize,
    },
    /// A record is in another partition than it was sent to, or nobody sent it.
    Foreign {
        /// The record.
        value: String,
    },
    /// Two records of a producer are in the wrong order in a partition.
    OutOfOrder {
        /// The partition.
        partition: i32,
        /// The record that comes too late.
        value: String,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { transaction: (producer, number), value } => {
                write!(f, "lost: {value} of committed transaction {number} of {producer}")
            }
            Self::Twice { value } => write!(f, "twice: {value}"),
            Self::AbortedVisible { transaction: (producer, number), value } => {
                write!(f, "visible: {value} of aborted transaction {number} of {producer}")
            }
            Self::Torn { transaction: (producer, number), seen, of } => {
                write!(f, "torn: {seen} of {of} records of transaction {number} of {producer}")
            }
            Self::Foreign { value } => write!(f, "foreign: {value} was not sent here"),
            Self::OutOfOrder { partition, value } => {
                write!(f, "out of order: {value} in partition {partition}")
            }
        }
    }
}

/// What was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Acknowledged commits.
    pub committed: usize,
    /// Aborts.
    pub aborted: usize,
    /// Lost answers.
    pub maybe: usize,
    /// Records seen.
    pub records: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { committed, aborted, maybe, records } = self;
        write!(f, "{committed} committed, {aborted} aborted, {maybe} unknown, {records} records")
    }
}

/// Judges what was seen against what was done.
///
/// # Errors
/// Every rule that was broken.
pub fn judge(history: &[Transaction], seen: &[Seen]) -> Result<Summary, Vec<Violation>> {
    let mut violations = Vec::new();
    let mut count: BTreeMap<(i32, &str), usize> = BTreeMap::new();
    for record in seen {
        *count.entry((record.partition, &record.value)).or_default() += 1;
    }
    let mut sent = BTreeMap::new();
    for transaction in history {
        for (place, (partition, value)) in transaction.records.iter().enumerate() {
            let order = (transaction.producer.as_str(), transaction.number, place);
            sent.insert((*partition, value.as_str()), order);
        }
        judge_transaction(transaction, &count, &mut violations);
    }
    for ((_, value), times) in &count {
        if *times > 1 {
            violations.push(Violation::Twice { value: (*value).to_owned() });
        }
    }
    judge_order(seen, &sent, &mut violations);
    if violations.is_empty() { Ok(summary(history, seen)) } else { Err(violations) }
}

fn judge_transaction(
    transaction: &Transaction,
    count: &BTreeMap<(i32, &str), usize>,
    violations: &mut Vec<Violation>,
) {
    let name = || (transaction.producer.clone(), transaction.number);
    let is_seen = |(partition, value): &(i32, String)| count.contains_key(&(*partition, value));
    let records = &transaction.records;
    match transaction.outcome {
        Outcome::Committed => {
            violations.extend(
                records
                    .iter()
                    .filter(|record| !is_seen(record))
                    .map(|record| Violation::Lost { transaction: name(), value: record.1.clone() }),
            );
        }
        Outcome::Aborted => {
            violations.extend(records.iter().filter(|record| is_seen(record)).map(|record| {
                Violation::AbortedVisible { transaction: name(), value: record.1.clone() }
            }));
        }
        Outcome::Maybe => {
            let seen = records.iter().filter(|record| is_seen(record)).count();
            if seen != 0 && seen != records.len() {
                violations.push(Violation::Torn { transaction: name(), seen, of: records.len() });
            }
        }
    }
}

fn judge_order(
    seen: &[Seen],
    sent: &BTreeMap<(i32, &str), (&str, u64, usize)>,
    violations: &mut Vec<Violation>,
) {
    let mut by_offset: Vec<&Seen> = seen.iter().collect();
    by_offset.sort_by_key(|record| (record.partition, record.offset));
    let mut last: BTreeMap<(i32, &str), (u64, usize)> = BTreeMap::new();
    for Seen { partition, value, .. } in by_offset {
        let Some((producer, number, place)) = sent.get(&(*partition, value.as_str())) else {
            violations.push(Violation::Foreign { value: value.clone() });
            continue;
        };
        let before = last.insert((*partition, producer), (*number, *place));
        if before.is_some_and(|before| before > (*number, *place)) {
            let value = value.clone();
            violations.push(Violation::OutOfOrder { partition: *partition, value });
        }
    }
}

fn summary(history: &[Transaction], seen: &[Seen]) -> Summary {
    let count = |outcome| history.iter().filter(|txn| txn.outcome == outcome).count();
    Summary {
        committed: count(Outcome::Committed),
        aborted: count(Outcome::Aborted),
        maybe: count(Outcome::Maybe),
        records: seen.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(number: u64, outcome: Outcome) -> Transaction {
        let records = vec![(0, format!("{number}a")), (1, format!("{number}b"))];
        Transaction { producer: "p".into(), number, records, outcome }
    }

    fn seen(records: &[(i32, i64, &str)]) -> Vec<Seen> {
        let seen = |&(partition, offset, value): &(i32, i64, &str)| Seen {
            partition,
            offset,
            value: value.to_owned(),
        };
        records.iter().map(seen).collect()
    }

    #[test]
    fn a_faultless_history_is_summed_up() {
        let history = [
            transaction(0, Outcome::Committed),
            transaction(1, Outcome::Aborted),
            transaction(2, Outcome::Maybe),
            transaction(3, Outcome::Maybe),
        ];
        let read = seen(&[(0, 0, "0a"), (1, 0, "0b"), (0, 9, "3a"), (1, 9, "3b")]);
        let summary = Summary { committed: 1, aborted: 1, maybe: 2, records: 4 };
        assert_eq!(judge(&history, &read), Ok(summary));
    }

    #[test]
    fn each_broken_rule_is_named() {
        use Outcome::{Aborted, Committed, Maybe};
        type Row<'a> = (&'a [Outcome], &'a [(i32, i64, &'a str)], &'a str);
        let table: [Row<'_>; 6] = [
            (&[Committed], &[(0, 0, "0a")], "lost"),
            (&[Aborted], &[(0, 0, "0a")], "visible"),
            (&[Maybe], &[(0, 0, "0a")], "torn"),
            (&[Committed], &[(0, 0, "0a"), (1, 0, "0b"), (0, 5, "0a")], "twice"),
            (&[Committed], &[(0, 0, "0a"), (1, 0, "0b"), (1, 1, "0a")], "foreign"),
            (
                &[Committed, Committed],
                &[(0, 4, "0a"), (0, 1, "1a"), (1, 0, "0b"), (1, 1, "1b")],
                "out of order",
            ),
        ];
        for (outcomes, read, rule) in table {
            let history: Vec<Transaction> =
                outcomes.iter().zip(0..).map(|(outcome, n)| transaction(n, *outcome)).collect();
            let violations = judge(&history, &seen(read)).expect_err(rule);
            assert!(violations[0].to_string().starts_with(rule), "{violations:?}");
        }
    }
}
