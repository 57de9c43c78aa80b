//! The databases of two-phase commit: each the coordinator of one transactional id.
//!
//! What a database was told is durable, and outlives the clients that told it. One transaction of
//! it is one call here. It belongs to the newest instance that took it over: an older one, which
//! may not know that it is one, can decide nothing any more. Which producer id and epoch a decision
//! is about is all that it knows of the broker (KIP-939).

use std::collections::BTreeMap;

use crate::history::Txn;

/// A producer id and epoch, as a database keeps it.
pub(super) type Identity = (i64, i16);

/// The databases, by the number of their transactional id.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    databases: BTreeMap<u32, Database>,
}

#[derive(Clone, Debug, Default)]
struct Database {
    instance: u32,
    decided: BTreeMap<Identity, bool>,
    /// The observer's: which transaction an identity was.
    begun: BTreeMap<Identity, Txn>,
}

impl Outside {
    /// A new instance; those before can decide nothing any more.
    pub(super) fn take_over(&mut self, id: u32) -> u32 {
        let database = self.databases.entry(id).or_default();
        database.instance += 1;
        database.instance
    }

    /// Writes down for the history which transaction is begun as whom.
    pub(super) fn begin(&mut self, id: u32, identity: Identity, txn: Txn) {
        self.databases.entry(id).or_default().begun.insert(identity, txn);
    }

    /// The transaction that was begun as a producer, for the history.
    pub(super) fn txn_of(&self, id: u32, identity: Identity) -> Option<Txn> {
        self.databases.get(&id)?.begun.get(&identity).copied()
    }

    /// Decides, durably, unless it is decided: what holds. `None` when the instance was taken over
    /// from.
    pub(super) fn decide(
        &mut self,
        id: u32,
        instance: u32,
        identity: Identity,
        commit: bool,
    ) -> Option<bool> {
        let database = self.databases.get_mut(&id).filter(|of| of.instance == instance)?;
        Some(*database.decided.entry(identity).or_insert(commit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_stands_and_only_the_newest_instance_makes_one() {
        let mut outside = Outside::default();
        let first = outside.take_over(1);
        assert_eq!(outside.decide(1, first, (7, 0), true), Some(true));
        let second = outside.take_over(1);
        assert_eq!(outside.decide(1, first, (7, 1), true), None);
        assert_eq!(outside.decide(1, second, (7, 0), false), Some(true));
        assert_eq!(outside.decide(1, second, (7, 1), false), Some(false));
    }
}
