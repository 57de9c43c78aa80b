use super::*;

/// One record of each of the epochs 3 and 5.
fn log(epochs: [i32; 2]) -> [Batch; 2] {
    let [first, second] = epochs;
    [
        Batch { leader_epoch: first, ..plain(0, 7, 0, &[1]) },
        Batch { leader_epoch: second, ..plain(1, 7, 1, &[2]) },
    ]
}

fn told(asked: i32, epoch: i32, end: i64) -> Story {
    told_from(0, asked, epoch, end)
}

/// The same, of a log whose start has moved since it was read.
fn told_from(log_start: i64, asked: i32, epoch: i32, end: i64) -> Story {
    let event = Event::LeaderEpochEnded { part: 0, asked, epoch, end, log_start };
    written().read(0, &log([3, 5]), &[]).then(event)
}

fn written() -> Story {
    let first = Story::new().sent(1, 0, None, (7, 0)).acked(1, 0);
    first.sent(2, 0, None, (7, 0)).acked(2, 1)
}

#[test]
fn a_leader_epoch_ends_where_the_next_begins() {
    told(3, 3, 1).silent();
    told(5, 5, 2).silent();
    // More may have come since the log was read.
    told(5, 5, 3).silent();
    told(4, 3, 1).silent();
    told_from(2, 3, 3, 2).silent();
}

#[test]
fn o9_speaks_when_a_leader_epoch_ends_elsewhere() {
    told(3, 3, 0).speaks(9);
    told(3, 3, 2).speaks(9);
    told(3, -1, -1).speaks(9);
    told(5, 5, 1).speaks(9);
}

#[test]
fn o9_speaks_when_leader_epochs_go_back() {
    written().read(0, &log([5, 3]), &[]).speaks(9);
}
