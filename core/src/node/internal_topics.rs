//! Requests that wait for a topic to be created: coordinators' topics on first use, client
//! topics by auto-creation, CreateTopics itself.

use alloc::vec::Vec;

use super::Node;
use crate::api::{self, Context};
use crate::types::TopicName;
use crate::wire::Request;

/// A request to be taken up again when every topic of a list exists, or cannot.
#[derive(Clone, Debug)]
pub(crate) struct AfterCreation {
    pub(crate) context: Context,
    pub(crate) request: Request,
    pub(crate) topics: Vec<TopicName>,
}

impl Node {
    /// Parks a request until the planned creations of `topics` are persisted or failed.
    pub(crate) fn after_creation(
        &mut self,
        context: Context,
        request: Request,
        topics: Vec<TopicName>,
    ) {
        self.after_creation.push(AfterCreation { context, request, topics });
    }

    /// Takes up the requests whose topics are decided.
    pub(super) fn topics_changed(&mut self) {
        let (ready, parked): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.after_creation).into_iter().partition(|waiting| {
                !waiting.topics.iter().any(|topic| self.meta.is_being_created(topic.as_str()))
            });
        self.after_creation = parked;
        for AfterCreation { context, request, .. } in ready {
            api::resume(self, context, request);
        }
    }
}
