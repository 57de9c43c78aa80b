//! Requests that wait for the metadata log: topics to be created or deleted before they can be
//! answered, or taken up again.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Node;
use crate::api::{self, Context};
use crate::types::{TopicId, TopicName};
use crate::wire::Request;

/// A request that waits for topics.
#[derive(Clone, Debug)]
pub(crate) struct AfterChange {
    context: Context,
    created: Vec<TopicName>,
    /// It waits for a change that is under way.
    change: bool,
    deleted: Vec<TopicId>,
    then: Then,
}

#[derive(Clone, Debug)]
enum Then {
    /// Take the request up again.
    Resume(Box<Request>),
    /// Answer a CreateTopics.
    Created,
    /// Answer a DeleteTopics.
    Deleted,
}

impl Node {
    /// Parks a request until the planned creations of `topics` are persisted or failed.
    pub(crate) fn after_creation(
        &mut self,
        context: Context,
        request: Request,
        topics: Vec<TopicName>,
    ) {
        let then = Then::Resume(Box::new(request));
        let (created, deleted) = (topics, Vec::new());
        self.after_change.push(AfterChange { context, created, change: false, deleted, then });
    }

    /// Parks a request until the change that is under way is persisted or failed.
    pub(crate) fn after_the_change(&mut self, context: Context, request: Request) {
        let then = Then::Resume(Box::new(request));
        let (created, deleted) = (Vec::new(), Vec::new());
        self.after_change.push(AfterChange { context, created, change: true, deleted, then });
    }

    /// Answers a CreateTopics when its topics are decided.
    pub(crate) fn when_created(&mut self, context: Context, topics: Vec<TopicName>) {
        let (created, deleted) = (topics, Vec::new());
        let then = Then::Created;
        self.after_change.push(AfterChange { context, created, change: false, deleted, then });
    }

    /// Answers a DeleteTopics when its topics are decided.
    pub(crate) fn when_deleted(&mut self, context: Context, topics: Vec<TopicId>) {
        let (created, deleted) = (Vec::new(), topics);
        let then = Then::Deleted;
        self.after_change.push(AfterChange { context, created, change: false, deleted, then });
    }

    /// Takes up the requests whose topics are decided.
    pub(super) fn topics_changed(&mut self) {
        let (meta, changing) = (&self.meta, self.changing);
        let is_open = |waiting: &AfterChange| {
            (waiting.change && changing)
                || waiting.created.iter().any(|topic| meta.is_being_created(topic.as_str()))
                || waiting.deleted.iter().any(|topic| meta.is_being_deleted(*topic))
        };
        let (parked, ready): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.after_change).into_iter().partition(is_open);
        self.after_change = parked;
        for AfterChange { mut context, then, .. } in ready {
            context.resumed = true;
            match then {
                Then::Resume(request) => api::resume(self, context, *request),
                Then::Created => api::topics::created(self, &context),
                Then::Deleted => api::topics::deleted(self, &context),
            }
        }
    }
}
