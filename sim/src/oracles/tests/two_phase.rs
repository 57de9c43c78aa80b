//! O15: what the database decided is what the log shows.

use super::*;

fn begun(story: Story) -> Story {
    story
        .then(Event::Begun { txn: 1, id: 9 })
        .sent(1, 0, Some(1), (7, 0))
        .acked(1, 0)
        .sent(2, 1, Some(1), (7, 0))
        .acked(2, 0)
}

fn decided(commit: bool) -> Event {
    Event::Decided { txn: 1, commit }
}

fn kept(txn: Option<u32>) -> Event {
    Event::Kept { id: 9, pid: 7, epoch: 0, txn, asked_us: u64::MAX }
}

/// Both partitions end with this marker.
fn read_with(story: Story, commit: bool) -> Story {
    let aborted: &[(i64, i64)] = if commit { &[] } else { &[(7, 0)] };
    let log = |app| [data(0, 7, 0, 0, &[app]), marker(1, 7, 1, commit)];
    story.read(0, &log(1), aborted).read(1, &log(2), aborted)
}

#[test]
fn what_was_decided_and_done_is_no_news() {
    for commit in [true, false] {
        let story = begun(Story::new()).then(decided(commit));
        let story = story.then(Event::EndAsked { txn: 1, commit });
        read_with(story, commit).silent();
    }
    let recovered = begun(Story::new()).then(decided(true)).then(kept(Some(1)));
    read_with(recovered.then(decided(true)).committed(1), true).silent();
}

#[test]
fn a_commit_of_the_database_that_the_log_aborted_is_half_a_transaction() {
    let story = begun(Story::new()).then(decided(true));
    read_with(story.then(Event::EndAsked { txn: 1, commit: true }), false).speaks(15);
}

#[test]
fn a_commit_of_the_log_that_the_database_aborted_or_never_decided_is_one_too() {
    let story = begun(Story::new()).then(decided(false));
    read_with(story.then(Event::EndAsked { txn: 1, commit: true }), true).speaks(15);
    let story = begun(Story::new()).then(kept(Some(1)));
    read_with(story.then(Event::EndAsked { txn: 1, commit: true }), true).speaks(15);
}

#[test]
fn nobody_is_told_to_keep_what_was_not_begun_or_has_ended() {
    Story::new().then(kept(None)).speaks(15);
    let ended = begun(Story::new()).then(decided(true)).committed(1);
    ended.then(kept(Some(1))).speaks(15);
    // An answer that was long under way tells of what was.
    let late = Event::Kept { id: 9, pid: 7, epoch: 0, txn: Some(1), asked_us: 0 };
    begun(Story::new()).then(decided(true)).committed(1).then(late).silent();
}

#[test]
fn of_a_disk_that_was_destroyed_nothing_is_asked() {
    let story = begun(Story::new()).then(decided(true)).then(Event::Damaged { records: true });
    read_with(story.then(Event::EndAsked { txn: 1, commit: true }), false).silent();
}
