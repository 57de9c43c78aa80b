//! Readers: fetch the partitions in turn, each from where it was left, in one isolation.

use verdict_core::io::ConnId;
use verdict_core::wire::Response;

use super::TOPIC;
use super::admin::{list_end, list_offsets};
use super::codes::{NONE, OFFSET_OUT_OF_RANGE};
use super::fetching::{fetch, read_fetch};
use super::requests::{code_of, listed_offset};
use super::session::Session;
use crate::choices::{Choices, Label};
use crate::history::{ClientId, Event, Part};
use crate::world::Env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fetch(Part),
    /// Records were deleted under the reader: where does the log begin now?
    Earliest(Part),
    /// Where it ends.
    Latest(Part),
}

/// A reader.
#[derive(Clone, Debug)]
pub struct Reader {
    client: ClientId,
    committed: bool,
    session: Session<Kind>,
    positions: Vec<i64>,
    part: usize,
    next_us: u64,
    pace_ms: u64,
    /// Fetches in a row that brought nothing.
    in_vain: u32,
    done: bool,
}

impl Reader {
    /// A reader of so many partitions.
    #[must_use]
    pub fn new(client: ClientId, committed: bool, parts: Part, pace_ms: u64) -> Self {
        Self {
            client,
            committed,
            session: Session::new(client, 1),
            positions: vec![0; usize::from(parts)],
            part: 0,
            next_us: 0,
            pace_ms,
            in_vain: 0,
            done: false,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn heal(&mut self) {
        self.done = true;
    }

    pub(super) fn wake(&mut self, env: &mut Env) {
        // A fetch given up on is simply asked again.
        let _ = self.session.wake(env);
        if self.done || !self.session.is_idle() || env.now_us < self.next_us {
            return;
        }
        self.part = (self.part + 1) % self.positions.len();
        let part = self.part as Part;
        if env.choices.of(self.client).below(Label::Operation, 6) == 5 {
            let request = list_end(TOPIC, part, self.committed);
            return self.session.call(env, Kind::Latest(part), 7, request);
        }
        let max = 200 + env.choices.of(self.client).below(Label::Count, 4_000) as i32;
        let request = fetch(part, self.positions[self.part], self.committed, 200, max);
        self.session.call(env, Kind::Fetch(part), 12, request);
    }

    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        self.session.cut(env, conn);
    }

    pub(super) fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        let Some((place, call)) = self.session.take(conn, corr) else { return };
        let (Kind::Fetch(part) | Kind::Earliest(part) | Kind::Latest(part)) = call.kind;
        let at = usize::from(part);
        match code_of(&response) {
            NONE => {}
            OFFSET_OUT_OF_RANGE => {
                let request = list_offsets(TOPIC, part, -2);
                return self.session.call(env, Kind::Earliest(part), 7, request);
            }
            _ => return self.session.retry(env, place, call),
        }
        if let Kind::Earliest(_) = call.kind {
            self.positions[at] = listed_offset(&response).unwrap_or(0).max(self.positions[at]);
            return self.wake(env);
        }
        if let Kind::Latest(_) = call.kind {
            // One of several may not know yet that another leads.
            if let Some(offset) = listed_offset(&response)
                && !env.is_answered_by_old()
            {
                let (committed, asked_us) = (self.committed, call.asked_us);
                env.note(self.client, Event::Listed { part, committed, offset, asked_us });
            }
            return self.rest(env);
        }
        let key = (part, self.positions[at], self.committed);
        match read_fetch(&response, key, call.asked_us) {
            Ok(Some(fetched)) => {
                self.in_vain += 1;
                if let Some(last) = fetched.batches.last() {
                    self.positions[at] = last.last + 1;
                    self.in_vain = 0;
                }
                env.note(self.client, Event::Fetched(Box::new(fetched)));
            }
            Ok(None) => {}
            Err(()) => env.note(
                self.client,
                Event::Stuck { reason: format!("a fetch of partition {at} is no batches") },
            ),
        }
        self.rest(env);
    }

    fn rest(&mut self, env: &mut Env) {
        let pace = env.choices.of(self.client).between(Label::Think, 1, self.pace_ms.max(1));
        self.next_us = env.now_us + env.more_and_more(pace * 1_000, self.in_vain);
        env.wake(self.client, self.next_us);
    }
}
