//! Who waits for which request.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::oneshot;
use verdict_core::io::{ConnId, RequestId};
use verdict_core::wire::Response;

use crate::outgoing::Opened;

/// What becomes of a request.
pub(crate) enum Answer {
    /// It is answered; with the files that the answer names.
    Respond(Response, Opened),
    /// It has no answer, by its protocol.
    Silent,
    /// Its connection is to be closed.
    Disconnect(&'static str),
}

/// The requests that the node has, and the ways back.
#[derive(Default)]
pub(crate) struct Routes {
    last_id: u64,
    waiting: BTreeMap<RequestId, (ConnId, oneshot::Sender<Answer>)>,
    by_conn: BTreeSet<(ConnId, RequestId)>,
}

impl Routes {
    /// Gives a request its number.
    pub(crate) fn enter(&mut self, conn: ConnId, answer: oneshot::Sender<Answer>) -> RequestId {
        self.last_id += 1;
        let id = RequestId(self.last_id);
        self.waiting.insert(id, (conn, answer));
        self.by_conn.insert((conn, id));
        id
    }

    /// Sends a request's answer to who waits for it.
    pub(crate) fn answer(&mut self, id: RequestId, answer: Answer) {
        // No entry: the connection closed first, and its answer with it.
        if let Some((conn, waiting)) = self.waiting.remove(&id) {
            self.by_conn.remove(&(conn, id));
            waiting.send(answer).unwrap_or(());
        }
    }

    /// Forgets what a connection waits for.
    pub(crate) fn closed(&mut self, conn: ConnId) {
        let mut rest = self.by_conn.split_off(&(conn, RequestId(0)));
        while rest.first().is_some_and(|(other, _)| *other == conn) {
            if let Some((_, id)) = rest.pop_first() {
                self.waiting.remove(&id);
            }
        }
        self.by_conn.append(&mut rest);
    }
}
