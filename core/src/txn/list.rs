//! ListTransactions and its filters (spec 8.7, KIP-664, KIP-994, KIP-1152).

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::shard::Shard;
use super::{TxnCoordinator, TxnError, TxnState};
use crate::pattern::whole_match;
use crate::types::ProducerId;

/// What to list; all filters must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListFilters {
    /// Exact names of states; empty for any.
    pub states: Vec<String>,
    /// Producer ids; empty for any.
    pub producer_ids: Vec<ProducerId>,
    /// Only transactions that run longer than this many milliseconds; `None` for any.
    pub duration_ms: Option<i64>,
    /// A regular expression for the whole transactional id; empty for any.
    pub transactional_id_pattern: String,
}

/// One transactional id in a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListedTxn {
    /// The transactional id.
    pub transactional_id: Arc<str>,
    /// Its producer id.
    pub producer_id: ProducerId,
    /// Its state.
    pub state: TxnState,
}

/// The answer to ListTransactions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TxnListing {
    /// Names in the state filter that are no states.
    pub unknown_states: Vec<String>,
    /// What matches, by partition and id.
    pub transactions: Vec<ListedTxn>,
}

impl TxnCoordinator {
    /// Lists the transactional ids of the partitions led here. `now_ms` is the wall clock.
    ///
    /// # Errors
    ///
    /// [`TxnError::LoadInProgress`] while any partition loads;
    /// [`TxnError::InvalidRegularExpression`] for a pattern that is none or too big.
    pub fn list(&self, now_ms: i64, filters: &ListFilters) -> Result<TxnListing, TxnError> {
        if self.shards.values().any(|shard| shard.loading) {
            return Err(TxnError::LoadInProgress);
        }
        let pattern = match &*filters.transactional_id_pattern {
            "" => None,
            pattern => Some(whole_match(pattern)?),
        };
        let mut listing = TxnListing::default();
        let mut states = BTreeSet::new();
        for name in &filters.states {
            match TxnState::from_name(name) {
                Some(state) => {
                    states.insert(state);
                }
                None => listing.unknown_states.push(name.clone()),
            }
        }
        for (id, entry) in self.shards.values().flat_map(Shard::entries) {
            let metadata = &entry.metadata;
            let matches = (filters.states.is_empty() || states.contains(&metadata.state))
                && (filters.producer_ids.is_empty()
                    || filters.producer_ids.contains(&metadata.producer_id))
                && filters
                    .duration_ms
                    .is_none_or(|bound| now_ms.saturating_sub(metadata.start_ms) > bound)
                && pattern.as_ref().is_none_or(|pattern| pattern.is_match(id));
            if matches {
                listing.transactions.push(ListedTxn {
                    transactional_id: id.clone(),
                    producer_id: metadata.producer_id,
                    state: metadata.state,
                });
            }
        }
        Ok(listing)
    }
}
