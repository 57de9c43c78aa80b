//! What may be gone of a compacted topic, and what not. Records 1, 8 and 22 have one key; so have
//! 26 and 5, a tombstone.

use super::*;

fn compacted(tombstones_expire: bool) -> Story {
    Story::new().then(Event::Compacts { tombstones_expire })
}

/// Records without a transaction that were acknowledged at 0, 1, 2 and so on.
fn written(mut story: Story, apps: &[u64]) -> Story {
    for (offset, &app) in (0..).zip(apps) {
        story = story.sent(app, 0, None, (7, 0)).acked(app, offset);
    }
    story
}

/// A batch from offset 0 to `last` with these records left.
fn left(last: i64, records: &[(i64, u64)]) -> Batch {
    let apps: Vec<u64> = records.iter().map(|&(_, app)| app).collect();
    let deltas = records.iter().map(|&(at, _)| at).collect();
    Batch { last, deltas, ..plain(0, 7, 0, &apps) }
}

fn early(committed: bool, batches: Vec<Batch>) -> Fetch {
    let end = batches.last().map_or(0, |batch| batch.last + 1);
    Fetch {
        part: 0,
        committed,
        from: 0,
        asked_us: 0,
        high_watermark: end,
        last_stable: end,
        log_start: 0,
        aborted: Vec::new(),
        batches,
        is_final: false,
        broker: 0,
    }
}

#[test]
fn an_older_record_of_a_key_may_go_and_the_newest_may_not() {
    let apps = [1, 2, 8];
    written(compacted(false), &apps).read(0, &[left(2, &[(1, 2), (2, 8)])], &[]).silent();
    written(compacted(false), &apps).read(0, &[left(2, &[(0, 1), (1, 2)])], &[]).speaks(1);
    written(compacted(false), &apps).read(0, &[left(2, &[(2, 8)])], &[]).speaks(1);
    written(Story::new(), &apps).read(0, &[left(2, &[(1, 2), (2, 8)])], &[]).speaks(1);
}

#[test]
fn an_aborted_record_may_go_and_supersedes_nothing() {
    let aborted =
        || written(compacted(false), &[1]).sent(8, 0, Some(1), (9, 0)).acked(8, 1).aborted(1);
    aborted().read(0, &[plain(0, 7, 0, &[1])], &[]).silent();
    aborted().read(0, &[], &[]).speaks(1);
}

#[test]
fn a_tombstone_stays_as_long_as_it_has_to() {
    let apps = [26, 5, 2];
    let gone = left(2, &[(2, 2)]);
    written(compacted(true), &apps).read(0, std::slice::from_ref(&gone), &[]).silent();
    written(compacted(false), &apps).read(0, &[gone], &[]).speaks(1);
}

#[test]
fn what_is_left_stays_where_it_was() {
    let seen = || {
        written(compacted(false), &[1, 2, 8]).fetched(early(true, vec![plain(0, 7, 0, &[1, 2, 8])]))
    };
    seen().read(0, &[left(2, &[(1, 2), (2, 8)])], &[]).silent();
    seen().read(0, &[left(2, &[(0, 2), (2, 8)])], &[]).speaks(1);
    seen().read(0, &[Batch { pid: 9, ..left(2, &[(1, 2), (2, 8)]) }], &[]).speaks(1);
}

#[test]
fn a_record_that_was_shown_as_committed_does_not_go_though_nobody_acknowledged_it() {
    let seen = || {
        compacted(false)
            .sent(1, 0, None, (7, 0))
            .sent(2, 0, None, (7, 0))
            .fetched(early(true, vec![plain(0, 7, 0, &[1, 2])]))
    };
    seen().read(0, &[left(1, &[(0, 1), (1, 2)])], &[]).silent();
    seen().read(0, &[left(1, &[(1, 2)])], &[]).speaks(1);
}

#[test]
fn a_marker_does_not_go_before_what_it_decided() {
    let seen = |log: &[Batch]| {
        compacted(true)
            .then(Event::Begun { txn: 1, id: 1 })
            .sent(1, 0, Some(1), (7, 0))
            .acked(1, 0)
            .committed(1)
            .fetched(early(false, vec![data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)]))
            .read(0, log, &[])
    };
    seen(&[data(0, 7, 0, 0, &[1]), marker(1, 7, 1, true)]).silent();
    seen(&[data(0, 7, 0, 0, &[1]), plain(1, -1, -1, &[])]).speaks(1);
}

#[test]
fn o12_speaks_when_a_recovery_lacks_what_cleaning_must_leave() {
    let recovered = |batches| Event::Recovered { part: 0, log_start: 0, batches };
    let told = || {
        written(compacted(false), &[1, 2, 8]).fetched(early(true, vec![plain(0, 7, 0, &[1, 2, 8])]))
    };
    told().then(recovered(vec![left(2, &[(1, 2), (2, 8)])])).silent();
    told().then(recovered(vec![left(2, &[(0, 1), (1, 2)])])).speaks(12);
    told().then(recovered(Vec::new())).speaks(12);
}
