//! Producer epochs near their end, in the log of a coordinator that moves.

use bytes::Bytes;
use verdict_core::batch::batches;
use verdict_core::types::PartitionId;

use super::Cluster;
use crate::choices::{Choices, Label, Source};
use crate::disk::{AgedEpochs, age_epochs_of};
use crate::world::env::Env;

impl Cluster {
    /// The epochs of what has ended move to near their end, as many owners one after the other
    /// would have done.
    fn age_epochs(&mut self, id: PartitionId, choices: &mut Source) -> AgedEpochs {
        let mut aged = AgedEpochs::new();
        for batch in &mut self.logs.entry(id).or_default().batches {
            let mut bytes = batch.to_bytes().to_vec();
            if age_epochs_of(&mut bytes, &mut aged, choices)
                && let Some(Ok(edited)) = batches(Bytes::from(bytes)).next()
            {
                *batch = edited.into();
            }
        }
        aged
    }
}

impl Env {
    /// A coordinator that moves finds its producer epochs near their end, once.
    pub(super) fn maybe_age(&mut self, id: PartitionId) {
        if !self.epochs_to_age
            || !self.coordinates_ids(id)
            || self.choices.below(Label::Move, 2) == 0
        {
            return;
        }
        let Some(cluster) = &mut self.cluster else { return };
        let aged = cluster.age_epochs(id, &mut self.choices);
        if aged.is_empty() {
            return;
        }
        self.epochs_to_age = false;
        if self.trace.wants_lines() {
            let text = format!("{id:?} has its producer epochs near their end");
            self.trace.line(self.now_us, "world", &text);
        }
        self.note_aged(aged);
    }
}
