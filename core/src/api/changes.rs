//! Answers that wait for a change of the metadata: of settings, or of the number of partitions.

use super::Context;
use super::waiting::Pending;
use crate::io::RequestId;
use crate::node::Node;
use crate::wire::Response;

/// The answers to a change: one for each end it may have.
#[derive(Clone, Debug)]
pub(crate) struct PendingChange {
    /// It is persisted.
    pub(crate) persisted: Response,
    /// It could not be written.
    pub(crate) failed: Response,
}

/// Lets a request wait for its change.
pub(crate) fn wait(node: &mut Node, context: &Context, pending: PendingChange) {
    node.waiting.insert(context.conn, context.id, Pending::Change(pending.into()));
}

/// The change is persisted or has failed. Whoever asked may be gone.
pub(crate) fn decided(node: &mut Node, id: RequestId, persisted: bool) {
    if let Some(Pending::Change(pending)) = node.waiting.take(id) {
        respond(node, id, *pending, persisted);
    }
}

pub(crate) fn respond(node: &mut Node, id: RequestId, pending: PendingChange, persisted: bool) {
    let response = if persisted { pending.persisted } else { pending.failed };
    node.respond(id, response);
}
