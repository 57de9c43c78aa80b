//! Followers: fetch all partitions at once in an incremental fetch session (KIP-227), as the
//! consumers of every current client do.
//!
//! A request names only what changed since the one before it, and an answer only what is new. What
//! one side believes and the other does not is found out by two things: an answer lost on the way
//! lets the same request be sent again at an epoch that the node has left, and at the end of the
//! world every follower has to have seen everything there is, in its session.

use verdict_core::io::ConnId;
use verdict_core::wire::Response;

use super::TOPIC;
use super::admin::list_offsets;
use super::codes::{
    FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, NONE, OFFSET_OUT_OF_RANGE,
};
use super::fetching::{fetch_in, read_fetches};
use super::requests::{code_of, listed_offset};
use super::session::Session;
use crate::choices::{Choices, Label};
use crate::history::{ClientId, Event, Part};
use crate::world::Env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fetch,
    /// Records were deleted under the follower: where does the log begin now?
    Earliest(Part),
}

/// One partition, as the follower and, as far as it knows, its session have it.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The next offset to be read.
    next: i64,
    /// What the node's session has; `None` when the partition is not in it.
    told: Option<i64>,
    /// It begins behind `next`.
    lost: bool,
    /// Not fetched for now.
    rests: bool,
}

/// A follower.
#[derive(Clone, Debug)]
pub struct Follower {
    client: ClientId,
    committed: bool,
    session: Session<Kind>,
    places: Vec<Place>,
    id: i32,
    epoch: i32,
    next_us: u64,
    pace_ms: u64,
    /// Fetches in a row that brought nothing.
    in_vain: u32,
    /// The auditor reads: nothing is asked for, and nothing more said of what was.
    held: bool,
    /// Where the auditor found each partition to end.
    ends: Option<Vec<i64>>,
}

impl Follower {
    /// A follower of so many partitions.
    #[must_use]
    pub fn new(client: ClientId, committed: bool, parts: Part, pace_ms: u64) -> Self {
        Self {
            client,
            committed,
            session: Session::new(client, 1),
            places: vec![Place::default(); usize::from(parts)],
            id: 0,
            epoch: 0,
            next_us: 0,
            pace_ms,
            in_vain: 0,
            held: false,
            ends: None,
        }
    }

    /// Others read now.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// It has to reach the ends that others found.
    pub fn catch_up(&mut self, env: &mut Env, ends: &[i64]) {
        self.held = false;
        self.ends = Some(ends.to_vec());
        self.pace_ms = 1;
        self.next_us = env.now_us;
        env.wake(self.client, env.now_us);
    }

    fn behind(&self) -> impl Iterator<Item = (usize, i64)> {
        let ends = self.ends.iter().flatten().copied().enumerate();
        ends.filter(|&(part, end)| self.places[part].next < end)
    }

    pub(super) fn is_done(&self) -> bool {
        self.ends.is_some() && self.behind().next().is_none()
    }

    pub(super) fn waits_for(&self) -> String {
        let behind: Vec<String> = self
            .behind()
            .map(|(part, end)| format!("partition {part} from {} to {end}", self.places[part].next))
            .collect();
        format!("session {} at epoch {}: {}", self.id, self.epoch, behind.join(", "))
    }

    pub(super) fn wake(&mut self, env: &mut Env) {
        // A fetch given up on is simply asked again.
        let _ = self.session.wake(env);
        if self.held || self.is_done() || !self.session.is_idle() || env.now_us < self.next_us {
            return;
        }
        if let Some(part) = self.places.iter().position(|place| place.lost) {
            let part = part as Part;
            return self.session.call(env, Kind::Earliest(part), 7, list_offsets(TOPIC, part, -2));
        }
        self.fetch(env);
    }

    /// Asks for what changed; everything, when the session is to be made.
    fn fetch(&mut self, env: &mut Env) {
        self.rest_or_return(env);
        let is_full = self.epoch == 0;
        let mut wanted = Vec::new();
        let mut forgotten = Vec::new();
        for (part, place) in (0..).zip(&mut self.places) {
            if is_full {
                place.told = None;
            }
            if place.rests {
                forgotten.extend(place.told.take().map(|_| part));
            } else if place.told != Some(place.next) {
                wanted.push((part, place.next));
                place.told = Some(place.next);
            }
        }
        let max = 300 + env.choices.of(self.client).below(Label::Count, 6_000) as i32;
        let at = (self.id, self.epoch);
        let request = fetch_in(at, &wanted, &forgotten, self.committed, 200, max);
        self.session.call(env, Kind::Fetch, 12, request);
    }

    /// Now and then one of several partitions is paused, as an application may, until later.
    fn rest_or_return(&mut self, env: &mut Env) {
        for place in &mut self.places {
            place.rests = false;
        }
        if self.ends.is_none() && self.places.len() > 1 {
            let choices = &mut env.choices.of(self.client);
            if choices.below(Label::Operation, 8) == 7 {
                let part = choices.below(Label::Target, self.places.len() as u32);
                self.places[part as usize].rests = true;
            }
        }
    }

    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        self.session.cut(env, conn);
    }

    pub(super) fn answer(&mut self, env: &mut Env, conn: ConnId, corr: u32, response: Response) {
        let Some((place, call)) = self.session.take(conn, corr) else { return };
        if let Kind::Earliest(part) = call.kind {
            if code_of(&response) != NONE {
                return self.session.retry(env, place, call);
            }
            let place = &mut self.places[usize::from(part)];
            place.next = listed_offset(&response).unwrap_or(0).max(place.next);
            place.lost = false;
            return self.wake(env);
        }
        let Response::Fetch(answer) = &response else { return };
        match answer.data.error_code {
            NONE => self.go_on(answer.data.session_id),
            FETCH_SESSION_ID_NOT_FOUND => (self.id, self.epoch) = (0, 0),
            INVALID_FETCH_SESSION_EPOCH => self.epoch = 0,
            _ => return self.session.retry(env, place, call),
        }
        self.in_vain += 1;
        self.take_in(env, &response, call.asked_us);
        let pace = env.choices.of(self.client).between(Label::Think, 1, self.pace_ms.max(1));
        self.next_us = env.now_us + env.more_and_more(pace * 1_000, self.in_vain);
        env.wake(self.client, self.next_us);
    }

    /// The node answered in this session; 0 says it keeps none.
    fn go_on(&mut self, id: i32) {
        self.epoch = if id == 0 { 0 } else { self.epoch + 1 };
        self.id = id;
    }

    fn take_in(&mut self, env: &mut Env, response: &Response, asked_us: u64) {
        let from = |part: Part| self.places.get(usize::from(part)).map_or(0, |place| place.next);
        for (part, code, fetched) in read_fetches(response, from, self.committed, asked_us) {
            let Some(place) = self.places.get_mut(usize::from(part)) else { continue };
            match (code, fetched) {
                (NONE, Some(fetched)) => {
                    if let Some(last) = fetched.batches.last() {
                        place.next = last.last + 1;
                        self.in_vain = 0;
                    }
                    // A marker may be written yet, of a transaction that timed out empty.
                    let end = self.ends.as_ref().map(|ends| ends[usize::from(part)]);
                    if !self.held && end.is_none_or(|end| fetched.high_watermark <= end) {
                        env.note(self.client, Event::Fetched(Box::new(fetched)));
                    }
                }
                (NONE, None) => {
                    let reason = format!("a fetch of partition {part} is no batches");
                    env.note(self.client, Event::Stuck { reason });
                }
                (code, _) => place.lost |= code == OFFSET_OUT_OF_RANGE,
            }
        }
    }
}
