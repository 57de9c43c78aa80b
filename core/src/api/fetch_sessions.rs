//! Incremental fetch sessions (KIP-227): what a client fetches is kept, so that it names only what
//! changes, and is told only what is new.
//!
//! # Rules
//! * A session is at one epoch; a request of another one is refused, so that no answer is lost
//!   between the two sides.
//! * A client without a session is served as well, only with more bytes: when there is no room, a
//!   new session is not made, or an old one goes (Kafka's `FetchSessionCache`). Sessions outlive
//!   their connections.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::error::ErrorCode;
use crate::mark;
use crate::meta::{IdSource, NAME_BYTES_MAX};
use crate::types::{Offset, TopicId, TopicName};

/// The epoch of a request that wants a new session.
pub(super) const INITIAL_EPOCH: i32 = 0;
/// The epoch of a request that wants none.
pub(super) const FINAL_EPOCH: i32 = -1;
/// Partitions kept over all sessions, at most. Kafka bounds the sessions only.
const PARTITIONS_MAX: usize = 1 << 20;

/// Whether a partition may be kept: a name that no topic can have may be of any length.
fn may_be_kept((name, ..): &Key) -> bool {
    name.as_str().len() <= NAME_BYTES_MAX
}

/// A partition as requests name it: by name, or from v13 on by id and with an empty name.
pub(super) type Key = (TopicName, TopicId, i32);

/// What a client wants of a partition, and what it was last told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cached {
    pub(super) offset: Offset,
    pub(super) leader_epoch: i32,
    pub(super) max_bytes: i32,
    high_watermark: Offset,
    log_start: Offset,
}

impl Cached {
    pub(super) const fn new(offset: Offset, leader_epoch: i32, max_bytes: i32) -> Self {
        Self { offset, leader_epoch, max_bytes, high_watermark: -1, log_start: -1 }
    }
}

/// What an answer says of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) has_records: bool,
    pub(super) failed: bool,
    pub(super) high_watermark: Offset,
    pub(super) log_start: Offset,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Session {
    epoch: i32,
    by_id: bool,
    used_ms: u64,
    made_ms: u64,
    next_place: u64,
    /// In the order in which they are read.
    partitions: BTreeMap<u64, (Key, Cached)>,
    places: BTreeMap<Key, u64>,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Sessions at most.
    pub(super) slots: usize,
    /// How long a session must be unused before any other may take its place (Kafka's
    /// `incrementalFetchSessionEvictionMs`), in ms.
    pub(super) eviction_ms: u64,
}

/// All sessions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FetchSessions {
    sessions: BTreeMap<i32, Session>,
    /// By last use: the first is the next to go.
    by_use: BTreeSet<(u64, i32)>,
    partitions: usize,
    ids: IdSource,
}

impl FetchSessions {
    /// No session yet; ids are drawn from the entropy.
    pub(crate) const fn new(entropy: u128) -> Self {
        Self {
            sessions: BTreeMap::new(),
            by_use: BTreeSet::new(),
            partitions: 0,
            // Apart from the ids of topics, which are drawn from the same entropy.
            ids: IdSource::new(entropy ^ 0x6665_7463_6820_7365_7373),
        }
    }

    /// Ends a session, if there is one of that id.
    pub(super) fn remove(&mut self, id: i32) {
        if let Some(session) = self.sessions.remove(&id) {
            self.by_use.remove(&(session.used_ms, id));
            self.partitions -= session.partitions.len();
        }
    }

    /// Makes a session of what a full fetch asked for and was told; 0 when there is no room.
    pub(super) fn create(
        &mut self,
        now_ms: u64,
        limits: Limits,
        by_id: bool,
        partitions: impl Iterator<Item = (Key, Cached, Told)>,
    ) -> i32 {
        let mut session = Session {
            epoch: 1,
            by_id,
            used_ms: now_ms,
            made_ms: now_ms,
            next_place: 0,
            partitions: BTreeMap::new(),
            places: BTreeMap::new(),
        };
        for (key, mut cached, told) in partitions {
            if !may_be_kept(&key) {
                return 0;
            }
            cached.take(&told);
            session.put(key, cached);
        }
        let size = session.partitions.len();
        if size == 0 || !self.make_room(now_ms, limits, size) {
            return 0;
        }
        let id = self.new_id();
        self.partitions += size;
        self.by_use.insert((now_ms, id));
        self.sessions.insert(id, session);
        id
    }

    /// Kafka's `tryEvict`: a session that is not used any more goes, else one that is old and
    /// smaller than the new one.
    fn make_room(&mut self, now_ms: u64, limits: Limits, size: usize) -> bool {
        let Limits { slots, eviction_ms } = limits;
        if slots == 0 || size > PARTITIONS_MAX {
            return false;
        }
        while self.sessions.len() >= slots || self.partitions + size > PARTITIONS_MAX {
            let Some(&(used_ms, oldest)) = self.by_use.first() else { return false };
            let unused = now_ms.saturating_sub(used_ms) > eviction_ms;
            let smaller = || {
                let old = self
                    .sessions
                    .iter()
                    .filter(|(_, session)| now_ms.saturating_sub(session.made_ms) > eviction_ms);
                let least = old.min_by_key(|(id, session)| (session.partitions.len(), **id));
                least.filter(|(_, session)| session.partitions.len() < size).map(|(id, _)| *id)
            };
            let Some(goes) = (if unused { Some(oldest) } else { smaller() }) else { return false };
            mark!(FetchSessionEvicted);
            self.remove(goes);
        }
        true
    }

    /// Any positive number that is not in use; hard to guess, as sessions are found by it alone.
    fn new_id(&mut self) -> i32 {
        loop {
            let id = (self.ids.next_id().0 & 0x7fff_ffff) as i32;
            if id != 0 && !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    /// Takes the changes of an incremental request. The session's next epoch; `None` when nothing
    /// is left in it, which ends it.
    ///
    /// # Errors
    /// When there is no such session, or it is at another epoch, or names its topics otherwise.
    pub(super) fn update(
        &mut self,
        now_ms: u64,
        id: i32,
        epoch: i32,
        by_id: bool,
        changed: impl Iterator<Item = (Key, Cached)>,
        forgotten: impl Iterator<Item = Key>,
    ) -> Result<Option<i32>, ErrorCode> {
        let room = PARTITIONS_MAX - self.partitions;
        let session = self.sessions.get_mut(&id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.epoch != epoch {
            mark!(FetchSessionEpochRefused);
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.by_id != by_id {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        let before = session.partitions.len();
        let mut fits = true;
        for (key, cached) in changed {
            fits &= may_be_kept(&key);
            if fits {
                session.put(key, cached);
            }
        }
        for key in forgotten {
            if let Some(place) = session.places.remove(&key) {
                session.partitions.remove(&place);
            }
        }
        let after = session.partitions.len();
        self.by_use.remove(&(session.used_ms, id));
        session.used_ms = now_ms;
        session.epoch = next_epoch(epoch);
        let next = session.epoch;
        self.by_use.insert((now_ms, id));
        self.partitions = (self.partitions + after) - before;
        if !fits || after.saturating_sub(before) > room {
            self.remove(id);
            return Err(ErrorCode::FetchSessionIdNotFound);
        }
        if after == 0 {
            self.remove(id);
            return Ok(None);
        }
        Ok(Some(next))
    }

    /// The partitions of a session, in the order in which they are to be read.
    pub(super) fn partitions(&self, id: i32) -> impl Iterator<Item = &(Key, Cached)> {
        self.sessions.get(&id).into_iter().flat_map(|session| session.partitions.values())
    }

    /// Whether the session is there still, and at that epoch.
    pub(super) fn is_at(&self, id: i32, epoch: i32) -> bool {
        self.sessions.get(&id).is_some_and(|session| session.epoch == epoch)
    }

    /// Whether the client has to be told; it then counts as told. What has records goes to the
    /// end of the line, so that the others come first the next time.
    pub(super) fn tell(&mut self, id: i32, key: &Key, told: &Told) -> bool {
        let Some(session) = self.sessions.get_mut(&id) else { return true };
        let Some(place) = session.places.get(key).copied() else { return true };
        let Some((_, cached)) = session.partitions.get_mut(&place) else { return true };
        let news = cached.take(told);
        if told.has_records
            && let Some(entry) = session.partitions.remove(&place)
        {
            session.partitions.insert(session.next_place, entry);
            session.places.insert(key.clone(), session.next_place);
            session.next_place += 1;
        }
        news
    }
}

impl Session {
    fn put(&mut self, key: Key, cached: Cached) {
        if let Some(place) = self.places.get(&key)
            && let Some((_, old)) = self.partitions.get_mut(place)
        {
            let (high_watermark, log_start) = (old.high_watermark, old.log_start);
            *old = Cached { high_watermark, log_start, ..cached };
            return;
        }
        self.places.insert(key.clone(), self.next_place);
        self.partitions.insert(self.next_place, (key, cached));
        self.next_place += 1;
    }
}

impl Cached {
    /// Whether what is told is new (`CachedPartition.maybeUpdateResponseData`).
    fn take(&mut self, told: &Told) -> bool {
        let moved = self.high_watermark != told.high_watermark || self.log_start != told.log_start;
        // After an error the partition is told again when it is well.
        self.high_watermark = if told.failed { -1 } else { told.high_watermark };
        self.log_start = told.log_start;
        moved || told.has_records || told.failed
    }
}

const fn next_epoch(epoch: i32) -> i32 {
    match epoch {
        i32::MAX => 1,
        _ => epoch + 1,
    }
}

#[cfg(test)]
mod tests {
    use core::iter::empty;

    use super::*;

    fn key(index: i32) -> Key {
        (TopicName::from("t"), TopicId::default(), index)
    }

    fn told(high_watermark: Offset) -> Told {
        Told { has_records: false, failed: false, high_watermark, log_start: 0 }
    }

    const EVICTION_MS: u64 = 120_000;

    fn make(sessions: &mut FetchSessions, now_ms: u64, slots: usize, partitions: i32) -> i32 {
        let limits = Limits { slots, eviction_ms: EVICTION_MS };
        let all = (0..partitions).map(|index| (key(index), Cached::new(0, -1, 100), told(5)));
        sessions.create(now_ms, limits, false, all)
    }

    #[test]
    fn only_news_is_told() {
        let mut sessions = FetchSessions::new(7);
        let id = make(&mut sessions, 0, 10, 2);
        assert!(id > 0);
        let table = [
            (told(5), false),
            (told(6), true),
            (told(6), false),
            (Told { log_start: 3, ..told(6) }, true),
            (Told { log_start: 3, has_records: true, ..told(6) }, true),
            (Told { failed: true, ..told(-1) }, true),
            (Told { failed: true, ..told(-1) }, true),
            (Told { log_start: 0, ..told(6) }, true),
        ];
        for (at, (told, news)) in table.into_iter().enumerate() {
            assert_eq!(sessions.tell(id, &key(0), &told), news, "step {at}");
        }
        assert!(sessions.tell(id, &key(9), &told(1)), "what is not kept is told");
    }

    #[test]
    fn names_that_no_topic_can_have_are_not_kept() {
        let mut sessions = FetchSessions::new(7);
        let key = |bytes| (TopicName::from(&*"x".repeat(bytes)), TopicId::default(), 0);
        let limits = Limits { slots: 10, eviction_ms: EVICTION_MS };
        let cached = || Cached::new(0, -1, 100);
        let mut make = |bytes| {
            let all = core::iter::once((key(bytes), cached(), told(5)));
            sessions.create(0, limits, false, all)
        };
        assert_eq!(make(250), 0);
        let id = make(249);
        assert!(id > 0);
        let changed = [(key(9), cached()), (key(30_000), cached())].into_iter();
        let updated = sessions.update(1, id, 1, false, changed, empty());
        assert_eq!(updated, Err(ErrorCode::FetchSessionIdNotFound), "without a session it works");
        assert_eq!(sessions.partitions, 0);
    }

    #[test]
    fn what_had_records_is_read_last_the_next_time() {
        let mut sessions = FetchSessions::new(7);
        let id = make(&mut sessions, 0, 10, 3);
        sessions.tell(id, &key(0), &Told { has_records: true, ..told(5) });
        let order: alloc::vec::Vec<i32> =
            sessions.partitions(id).map(|((_, _, index), _)| *index).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn a_request_is_checked_and_moves_the_epoch() {
        let mut sessions = FetchSessions::new(7);
        let id = make(&mut sessions, 0, 10, 1);
        let mut step = |id, epoch, by_id| sessions.update(1, id, epoch, by_id, empty(), empty());
        assert_eq!(step(id, 1, false), Ok(Some(2)));
        assert_eq!(step(id, 1, false), Err(ErrorCode::InvalidFetchSessionEpoch));
        assert_eq!(step(id, 2, true), Err(ErrorCode::FetchSessionTopicIdError));
        assert_eq!(step(id + 1, 2, false), Err(ErrorCode::FetchSessionIdNotFound));
        assert_eq!(step(id, 2, false), Ok(Some(3)));
    }

    #[test]
    fn a_session_whose_partitions_are_all_forgotten_ends() {
        let mut sessions = FetchSessions::new(7);
        let id = make(&mut sessions, 0, 10, 1);
        let ended = sessions.update(1, id, 1, false, empty(), core::iter::once(key(0)));
        assert_eq!(ended, Ok(None));
        let ids = sessions.ids.clone();
        assert_eq!(sessions, FetchSessions { ids, ..FetchSessions::new(7) });
    }

    #[test]
    fn the_unused_goes_first_then_the_old_and_small_and_nothing_that_is_young() {
        let mut sessions = FetchSessions::new(7);
        let first = make(&mut sessions, 0, 2, 3);
        let second = make(&mut sessions, 10, 2, 1);
        assert_eq!(make(&mut sessions, 20, 2, 9), 0, "both are young");
        assert_eq!(sessions.update(100_000, second, 1, false, empty(), empty()), Ok(Some(2)));
        let third = make(&mut sessions, 120_001, 2, 1);
        assert!(third > 0 && !sessions.is_at(first, 1), "the first was not used for long");
        assert_eq!(make(&mut sessions, 130_000, 2, 1), 0, "no smaller one");
        let fourth = make(&mut sessions, 130_020, 2, 2);
        assert!(fourth > 0 && !sessions.is_at(second, 2), "the second is old and smaller");
        assert_eq!(make(&mut sessions, 0, 0, 1), 0, "no slots");
    }
}
