//! Every oracle can be satisfied, and every oracle can speak.

use super::*;
use crate::history::{
    Batch, BatchKind, ClientId, Event, Fetch, GroupProtocol, Outcome, is_tombstone, key_of,
};

mod cleaning;
mod leader_epochs;
mod two_phase;

const MS: u64 = 1_000;

fn data(base: i64, pid: i64, epoch: i16, sequence: i32, apps: &[u64]) -> Batch {
    Batch {
        base,
        last: base + apps.len() as i64 - 1,
        leader_epoch: -1,
        pid,
        epoch,
        sequence,
        kind: BatchKind::Transactional,
        coordinator_epoch: -1,
        apps: apps.to_vec(),
        deltas: Vec::new(),
    }
}

fn plain(base: i64, pid: i64, sequence: i32, apps: &[u64]) -> Batch {
    Batch { kind: BatchKind::Plain, ..data(base, pid, 0, sequence, apps) }
}

fn marker(base: i64, pid: i64, epoch: i16, commit: bool) -> Batch {
    let kind = if commit { BatchKind::CommitMarker } else { BatchKind::AbortMarker };
    Batch {
        kind,
        sequence: -1,
        coordinator_epoch: 1,
        last: base,
        ..data(base, pid, epoch, -1, &[])
    }
}

/// A history in the making.
struct Story {
    history: History,
    at_us: u64,
}

impl Story {
    fn new() -> Self {
        Self { history: History::default(), at_us: 0 }
    }

    fn then(self, event: Event) -> Self {
        self.by(1, event)
    }

    fn by(mut self, client: ClientId, event: Event) -> Self {
        self.at_us += MS;
        self.history.push(self.at_us, client, event);
        self
    }

    fn sent(self, app: u64, part: u16, txn: Option<u32>, (pid, epoch): (i64, i16)) -> Self {
        self.then(Event::Sent { app, part, txn, pid, epoch, sequence: 0 })
    }

    fn acked(self, app: u64, offset: i64) -> Self {
        self.then(Event::SendEnded { app, outcome: Outcome::Ok, offset: Some(offset) })
    }

    fn committed(self, txn: u32) -> Self {
        self.then(Event::EndAsked { txn, commit: true }).then(Event::Ended {
            txn,
            commit: true,
            outcome: Outcome::Ok,
        })
    }

    fn aborted(self, txn: u32) -> Self {
        self.then(Event::EndAsked { txn, commit: false }).then(Event::Ended {
            txn,
            commit: false,
            outcome: Outcome::Ok,
        })
    }

    /// The reading at the end of one partition, as a correct broker would answer.
    fn read(self, part: u16, log: &[Batch], aborted: &[(i64, i64)]) -> Self {
        let end = log.last().map_or(0, |batch| batch.last + 1);
        let fetch = |committed: bool| Fetch {
            broker: 0,
            part,
            committed,
            from: 0,
            asked_us: 0,
            high_watermark: end,
            last_stable: end,
            log_start: 0,
            aborted: aborted.to_vec(),
            batches: log.to_vec(),
            is_final: true,
        };
        self.then(Event::Fetched(Box::new(fetch(false))))
            .then(Event::Fetched(Box::new(fetch(true))))
    }

    fn fetched(self, fetch: Fetch) -> Self {
        self.then(Event::Fetched(Box::new(fetch)))
    }

    fn spoken(&self) -> Vec<u8> {
        let mut oracles: Vec<u8> = judge(&self.history).iter().map(|found| found.oracle).collect();
        oracles.dedup();
        oracles
    }

    #[track_caller]
    fn silent(&self) {
        assert_eq!(judge(&self.history), []);
    }

    #[track_caller]
    fn speaks(&self, oracle: u8) {
        assert!(self.spoken().contains(&oracle), "O{oracle} is not in {:?}", judge(&self.history));
    }
}

/// One transaction over two partitions, committed, as it should be.
fn good() -> Story {
    Story::new()
        .then(Event::Begun { txn: 1, id: 1 })
        .sent(1, 0, Some(1), (7, 0))
        .sent(2, 1, Some(1), (7, 0))
        .acked(1, 0)
        .acked(2, 0)
        .committed(1)
}

#[test]
fn a_committed_transaction_in_two_partitions_is_fine() {
    good()
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)], &[])
        .read(1, &[data(0, 7, 0, 0, &[2]), marker(1, 7, 1, true)], &[])
        .silent();
}

#[test]
fn an_aborted_transaction_that_is_hidden_is_fine() {
    Story::new()
        .sent(1, 0, Some(1), (7, 0))
        .acked(1, 0)
        .aborted(1)
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, false)], &[(7, 0)])
        .silent();
}

#[test]
fn o1_speaks_when_an_acknowledged_record_is_gone() {
    Story::new().sent(1, 0, None, (7, 0)).acked(1, 0).read(0, &[], &[]).speaks(1);
}

#[test]
fn o1_speaks_when_a_committed_record_is_not_visible() {
    good()
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)], &[])
        .read(1, &[], &[])
        .speaks(1);
}

#[test]
fn o1_speaks_at_a_hole_in_a_fetch() {
    Story::new()
        .sent(1, 0, None, (7, 0))
        .sent(2, 0, None, (7, 0))
        .read(0, &[plain(0, 7, 0, &[1]), plain(5, 7, 1, &[2])], &[])
        .speaks(1);
}

#[test]
fn o1_speaks_when_what_was_seen_is_gone_even_unacknowledged() {
    let early = Fetch {
        broker: 0,
        part: 0,
        committed: false,
        from: 0,
        asked_us: 0,
        high_watermark: 1,
        last_stable: 1,
        log_start: 0,
        aborted: Vec::new(),
        batches: vec![plain(0, 7, 0, &[1])],
        is_final: false,
    };
    let seen = || Story::new().sent(1, 0, None, (7, 0)).fetched(early.clone());
    seen().read(0, &[plain(0, 7, 0, &[1])], &[]).silent();
    seen().sent(2, 0, None, (8, 0)).read(0, &[plain(0, 8, 0, &[2])], &[]).speaks(1);
}

#[test]
fn a_record_whose_answer_was_lost_may_be_there_or_not() {
    Story::new().sent(1, 0, None, (7, 0)).read(0, &[], &[]).silent();
    Story::new().sent(1, 0, None, (7, 0)).read(0, &[plain(0, 7, 0, &[1])], &[]).silent();
}

#[test]
fn o2_speaks_when_a_sequence_is_there_twice() {
    Story::new()
        .sent(1, 0, None, (7, 0))
        .read(0, &[plain(0, 7, 0, &[1]), plain(1, 7, 0, &[1])], &[])
        .speaks(2);
}

#[test]
fn o3_speaks_when_a_sequence_is_skipped() {
    Story::new()
        .sent(1, 0, None, (7, 0))
        .sent(2, 0, None, (7, 0))
        .read(0, &[plain(0, 7, 1, &[2])], &[])
        .speaks(3);
}

#[test]
fn o4_speaks_when_a_record_is_shown_that_nobody_committed() {
    Story::new()
        .sent(1, 0, Some(1), (7, 0))
        .acked(1, 0)
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)], &[])
        .speaks(4);
}

#[test]
fn o4_speaks_when_an_open_transaction_is_shown() {
    let early = Fetch {
        broker: 0,
        part: 0,
        committed: true,
        from: 0,
        asked_us: 0,
        high_watermark: 1,
        last_stable: 1,
        log_start: 0,
        aborted: Vec::new(),
        batches: vec![data(0, 7, 0, 0, &[1])],
        is_final: false,
    };
    good()
        .fetched(early)
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)], &[])
        .read(1, &[data(0, 7, 0, 0, &[2]), marker(1, 7, 1, true)], &[])
        .speaks(4);
}

#[test]
fn o5_speaks_when_a_transaction_is_torn() {
    good()
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)], &[])
        .read(1, &[data(0, 7, 0, 0, &[2]), marker(1, 7, 1, false)], &[(7, 0)])
        .speaks(5);
}

#[test]
fn o6_speaks_when_the_lso_passes_an_open_transaction() {
    let early = Fetch {
        broker: 0,
        part: 0,
        committed: false,
        from: 0,
        asked_us: 0,
        high_watermark: 1,
        last_stable: 1,
        log_start: 0,
        aborted: Vec::new(),
        batches: vec![data(0, 7, 0, 0, &[1])],
        is_final: false,
    };
    good().fetched(early).read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)], &[]).speaks(6);
}

#[test]
fn o6_speaks_when_a_watermark_goes_back() {
    let at = |high_watermark: i64, asked_us: u64| Fetch {
        broker: 0,
        part: 0,
        committed: false,
        from: 0,
        asked_us,
        high_watermark,
        last_stable: high_watermark,
        log_start: 0,
        aborted: Vec::new(),
        batches: Vec::new(),
        is_final: false,
    };
    Story::new().fetched(at(5, 0)).fetched(at(4, 2 * MS)).speaks(6);
    // Rot in the last segment is found by the checkpoint, else it looks like a torn end.
    let damaged = |records| Event::Damaged { records };
    let story = || Story::new().fetched(at(5, 0)).then(damaged(true));
    story().fetched(at(4, 3 * MS)).speaks(6);
    story().then(damaged(false)).fetched(at(4, 3 * MS)).silent();
    // Two that were under way together may come in either order.
    Story::new().fetched(at(5, 0)).fetched(at(4, 0)).silent();
}

#[test]
fn o7_speaks_when_the_aborted_list_lacks_a_transaction() {
    Story::new()
        .sent(1, 0, Some(1), (7, 0))
        .aborted(1)
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, false)], &[])
        .speaks(7);
}

#[test]
fn o7_speaks_when_the_aborted_list_hides_a_committed_transaction() {
    good()
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)], &[(7, 0)])
        .read(1, &[data(0, 7, 0, 0, &[2]), marker(1, 7, 1, true)], &[])
        .speaks(7);
}

#[test]
fn o8_speaks_when_a_decision_flips() {
    good()
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, false)], &[(7, 0)])
        .read(1, &[data(0, 7, 0, 0, &[2]), marker(1, 7, 1, false)], &[(7, 0)])
        .speaks(8);
}

#[test]
fn o9_speaks_when_an_epoch_goes_back() {
    Story::new()
        .sent(1, 0, Some(1), (7, 1))
        .sent(2, 0, Some(2), (7, 0))
        .aborted(1)
        .aborted(2)
        .read(
            0,
            &[
                data(0, 7, 1, 0, &[1]),
                marker(1, 7, 2, false),
                data(2, 7, 0, 0, &[2]),
                marker(3, 7, 2, false),
            ],
            &[(7, 0), (7, 2)],
        )
        .speaks(9);
}

#[test]
fn o9_speaks_when_a_transaction_gets_two_different_markers() {
    good()
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true), marker(2, 7, 1, false)], &[])
        .read(1, &[data(0, 7, 0, 0, &[2]), marker(1, 7, 1, true)], &[])
        .speaks(9);
}

#[test]
fn o9_takes_a_marker_that_was_written_again() {
    good()
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true), marker(2, 7, 1, true)], &[])
        .read(1, &[data(0, 7, 0, 0, &[2]), marker(1, 7, 1, true)], &[])
        .silent();
}

#[test]
fn o10_speaks_when_a_fenced_owner_is_still_served() {
    Story::new()
        .then(Event::Initialized { id: 1, pid: 7, epoch: 0 })
        .then(Event::Initialized { id: 1, pid: 7, epoch: 1 })
        .sent(1, 0, Some(1), (7, 0))
        .acked(1, 0)
        .aborted(1)
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 2, false)], &[(7, 0)])
        .speaks(10);
}

fn offsets(txn: Option<u32>, outcome: Outcome) -> Story {
    Story::new()
        .then(Event::OffsetAsked { group: 0, part: 0, offset: 5, txn, owner: None })
        .then(Event::OffsetEnded { group: 0, part: 0, offset: 5, outcome })
}

fn seen(offset: i64) -> Event {
    Event::OffsetSeen { group: 0, part: 0, offset, asked_us: 1_000 * MS, is_final: true }
}

#[test]
fn o11_speaks_when_an_acknowledged_offset_is_lost() {
    offsets(None, Outcome::Ok).then(seen(-1)).speaks(11);
    offsets(None, Outcome::Ok).then(seen(5)).silent();
    offsets(None, Outcome::Maybe).then(seen(-1)).silent();
}

#[test]
fn o11_speaks_when_an_offset_of_an_aborted_transaction_is_there() {
    offsets(Some(1), Outcome::Ok).aborted(1).then(seen(5)).speaks(11);
    offsets(Some(1), Outcome::Ok).committed(1).then(seen(5)).silent();
    offsets(Some(1), Outcome::Ok).committed(1).then(seen(-1)).speaks(11);
}

#[test]
fn o12_speaks_when_a_recovery_lacks_what_was_told() {
    let recovered =
        |batches: &[Batch]| Event::Recovered { part: 0, log_start: 0, batches: batches.to_vec() };
    let whole = [plain(0, 7, 0, &[1])];
    let story = || Story::new().sent(1, 0, None, (7, 0)).then(recovered(&[])).acked(1, 0);
    story().then(recovered(&whole)).read(0, &whole, &[]).silent();
    story().then(recovered(&[])).read(0, &whole, &[]).speaks(12);
    Story::new().then(Event::Unrecovered { reason: "no".to_owned() }).speaks(12);
}

#[test]
fn o16_speaks_when_a_file_does_not_hold_what_an_answer_said() {
    Story::new().silent();
    Story::new().then(Event::Misnamed { what: "no".to_owned() }).speaks(16);
}

fn assigned(generation: i32, owner: u32, parts: &[u16]) -> Event {
    Event::Assigned { group: 0, generation, owner, parts: parts.to_vec(), asked_us: 0 }
}

#[test]
fn o11_speaks_when_a_partition_has_two_owners_in_a_generation() {
    Story::new().then(assigned(1, 1, &[0])).then(assigned(1, 2, &[1])).silent();
    Story::new().then(assigned(1, 1, &[0])).then(assigned(2, 2, &[0])).silent();
    Story::new().then(assigned(1, 1, &[0])).then(assigned(1, 2, &[0])).speaks(11);
}

#[test]
fn o11_speaks_when_a_generation_goes_back() {
    let late =
        Event::Assigned { group: 0, generation: 1, owner: 2, parts: vec![], asked_us: 5_000 };
    Story::new().then(assigned(2, 1, &[0])).then(late).speaks(11);
    // Both were under way together.
    Story::new().then(assigned(2, 1, &[0])).then(assigned(1, 2, &[1])).silent();
}

#[test]
fn o11_speaks_when_the_offset_of_a_group_with_members_goes_back() {
    let committed =
        |offset: i64| Event::OffsetAsked { group: 0, part: 0, offset, txn: None, owner: None };
    let seen = |offset: i64, asked_us: u64| Event::OffsetSeen {
        group: 0,
        part: 0,
        offset,
        asked_us,
        is_final: false,
    };
    let story = || Story::new().then(assigned(1, 1, &[0])).then(committed(3)).then(committed(5));
    story().then(seen(5, 2_500)).then(seen(3, 9_000)).speaks(11);
    story().then(seen(3, 2_500)).then(seen(5, 9_000)).silent();
}

/// Member `owner` is told that it has partition 0 for certain until `until_us`.
fn held(owner: u32, epoch: i32, asked_us: u64, until_us: u64) -> Event {
    Event::Held { group: 0, owner, epoch, parts: vec![0], asked_us, until_us }
}

fn let_go(owner: u32) -> Event {
    Event::LetGo { group: 0, owner, kept: vec![], protocol: GroupProtocol::Consumer }
}

const LONG_US: u64 = 1_000_000;

#[test]
fn o11_speaks_when_a_partition_is_given_to_a_second_member() {
    let story = || Story::new().then(held(1, 1, 0, LONG_US));
    story().then(held(2, 2, 500_000, LONG_US)).speaks(11);
    story().then(let_go(1)).then(held(2, 2, 500_000, LONG_US)).silent();
    // Which of both was decided first is not known.
    story().then(held(2, 2, 0, LONG_US)).silent();
    // The coordinator may have given up on the first.
    Story::new().then(held(1, 1, 0, 1)).then(held(2, 2, 500_000, LONG_US)).silent();
}

#[test]
fn o11_is_silent_when_another_client_may_have_taken_over_the_instance_id() {
    let joins = Event::LetGo { group: 0, owner: 1, kept: vec![], protocol: GroupProtocol::Classic };
    let story = |client| Story::new().by(client, joins.clone()).then(held(1, 1, 0, LONG_US));
    story(5).then(held(2, 2, 500_000, LONG_US)).silent();
    story(1).then(held(2, 2, 500_000, LONG_US)).speaks(11);
}

#[test]
fn o11_speaks_when_a_member_epoch_goes_back() {
    let story = || Story::new().then(held(1, 4, 0, LONG_US));
    story().then(held(1, 3, 500_000, LONG_US)).speaks(11);
    story().then(let_go(1)).then(held(1, 3, 500_000, LONG_US)).silent();
}

#[test]
fn o11_speaks_when_a_member_commits_for_a_partition_of_another() {
    let asked = Event::OffsetAsked { group: 0, part: 0, offset: 3, txn: None, owner: Some(2) };
    let ended = |outcome| Event::OffsetEnded { group: 0, part: 0, offset: 3, outcome };
    let story = |until_us| Story::new().then(held(1, 4, 0, until_us)).then(asked.clone());
    story(LONG_US).then(ended(Outcome::Ok)).speaks(11);
    story(LONG_US).then(ended(Outcome::Failed)).silent();
    story(1).then(ended(Outcome::Ok)).silent();
}

/// Record 1 of no transaction was made into record 2 in transaction 9, and the group's offset of
/// partition 0 is `offset` at the end.
fn pipeline(offset: i64) -> Story {
    let derived = |app: u64| Event::Derived { app, group: 0, from: 1 };
    Story::new()
        .sent(1, 0, None, (3, 0))
        .acked(1, 0)
        .then(derived(2))
        .sent(2, 1, Some(9), (7, 0))
        .acked(2, 0)
        .then(Event::OffsetAsked { group: 0, part: 0, offset: 1, txn: Some(9), owner: None })
        .then(Event::OffsetEnded { group: 0, part: 0, offset: 1, outcome: Outcome::Maybe })
        .then(Event::EndAsked { txn: 9, commit: true })
        .then(Event::OffsetAsked { group: 0, part: 0, offset: 0, txn: None, owner: None })
        .then(seen(offset))
        .read(0, &[plain(0, 3, 0, &[1])], &[])
}

#[test]
fn o11_speaks_when_a_consumed_record_was_not_made_into_one() {
    let whole = [data(0, 7, 0, 0, &[2]), marker(1, 7, 1, true)];
    let aborted = [data(0, 7, 0, 0, &[2]), marker(1, 7, 1, false)];
    pipeline(1).read(1, &whole, &[]).silent();
    pipeline(0).read(1, &aborted, &[(7, 0)]).silent();
    pipeline(1).read(1, &aborted, &[(7, 0)]).speaks(11);
    pipeline(0).read(1, &whole, &[]).speaks(11);
}

#[test]
fn o11_is_silent_when_a_cleaned_record_that_nobody_consumed_comes_back() {
    let same_key = |app: &u64| key_of(*app) == key_of(1) && !is_tombstone(*app);
    let newer = (2..).find(same_key).expect("keys repeat");
    let story = |begin: Story| {
        begin
            .sent(1, 0, None, (3, 0))
            .sent(newer, 0, None, (3, 0))
            .then(Event::Derived { app: 3, group: 0, from: newer })
            .sent(3, 1, None, (7, 0))
            .then(Event::OffsetAsked { group: 0, part: 0, offset: 2, txn: None, owner: None })
            .then(seen(2))
            .read(0, &[plain(0, 3, 0, &[1]), plain(1, 3, 1, &[newer])], &[])
            .read(1, &[plain(0, 7, 0, &[3])], &[])
    };
    story(Story::new()).speaks(11);
    story(Story::new().then(Event::Compacts { tombstones_expire: false })).silent();
}

#[test]
fn o2_speaks_when_a_consumed_record_was_made_into_two() {
    let twice = [data(0, 7, 0, 0, &[2]), marker(1, 7, 1, true), plain(2, 8, 0, &[5])];
    pipeline(1)
        .then(Event::Derived { app: 5, group: 0, from: 1 })
        .sent(5, 1, None, (8, 0))
        .read(1, &twice, &[])
        .speaks(2);
}

#[test]
fn o14_speaks_when_a_transaction_is_open_at_the_end() {
    Story::new().sent(1, 0, Some(1), (7, 0)).read(0, &[data(0, 7, 0, 0, &[1])], &[]).speaks(14);
}

#[test]
fn o14_speaks_when_the_driver_says_that_something_is_stuck() {
    Story::new().then(Event::Stuck { reason: "c1 waits".to_owned() }).speaks(14);
}

/// Two batches; the second one is refused for its sequence.
fn refused(first_is_acknowledged: bool) -> Story {
    let story = Story::new().sent(1, 0, None, (7, 0));
    let story = if first_is_acknowledged { story.acked(1, 0) } else { story };
    let batch = Some((2, 0));
    story
        .sent(2, 0, None, (7, 0))
        .then(Event::Refused { code: 45, id: None, pid: 7, epoch: 0, batch })
        .read(0, &[plain(0, 7, 0, &[1])], &[])
}

#[test]
fn o13_speaks_when_the_next_batch_is_refused_for_its_sequence() {
    refused(true).speaks(13);
    refused(false).silent();
}

#[test]
fn o13_speaks_when_the_only_owner_of_an_id_is_unknown() {
    let unknown = Event::Refused { code: 49, id: Some(1), pid: 7, epoch: 0, batch: None };
    let given = Event::Initialized { id: 1, pid: 7, epoch: 0 };
    Story::new().then(given.clone()).then(unknown.clone()).read(0, &[], &[]).speaks(13);
    let mut shared = Story::new().then(given.clone()).then(unknown);
    shared.history.push(10 * MS, 2, Event::Initialized { id: 1, pid: 8, epoch: 0 });
    shared.at_us = 10 * MS;
    shared.read(0, &[], &[]).silent();
}

#[test]
fn o13_lets_an_id_change_whose_epochs_were_moved_to_their_end() {
    let moved = |pid| Event::EpochMoved { id: 1, pid, epoch: 32_766 };
    let story = |event| {
        let unknown = Event::Refused { code: 49, id: Some(1), pid: 7, epoch: 0, batch: None };
        let given = Event::Initialized { id: 1, pid: 7, epoch: 0 };
        Story::new().then(given).then(event).then(unknown).read(0, &[], &[])
    };
    story(moved(7)).silent();
    story(moved(6)).speaks(13);
}

/// A transaction of one record at offset 0, and a question for the end before its commit.
fn listed(committed: bool, offset: i64) -> Story {
    Story::new()
        .then(Event::Begun { txn: 1, id: 1 })
        .sent(1, 0, Some(1), (7, 0))
        .acked(1, 0)
        .then(Event::Listed { part: 0, committed, offset, asked_us: 4 * MS })
        .committed(1)
        .read(0, &[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)], &[])
}

#[test]
fn o6_speaks_when_committed_records_are_said_to_end_behind_an_open_transaction() {
    listed(true, 0).silent();
    listed(true, 1).speaks(6);
    listed(false, 1).silent();
}

#[test]
fn o1_speaks_when_a_log_is_said_to_end_before_what_was_acknowledged() {
    listed(false, 0).speaks(1);
}
