//! Large batches in their segments, and what the journal says of them.

use alloc::vec::Vec;

use super::world::{CONFIG, Change, World};
use crate::io::{FileError, FileOp};
use crate::store::testing::batch_at;
use crate::store::{Durability, StoreConfig};
use crate::types::PartitionId;

const LARGE: StoreConfig = StoreConfig { place_bytes_min: 300, ..CONFIG };

/// A log that a durable checkpoint knows.
fn known_log(config: StoreConfig) -> (World, PartitionId) {
    let mut world = World::new(config);
    let id = world.create(1, "t");
    world.settle();
    world.pass(2000);
    world.settle();
    assert_eq!(world.checkpoints, 2);
    (world, id)
}

/// Paths and lengths of the writes in front of the next turn's end, one after the other.
fn writes(world: &mut World) -> Vec<(alloc::string::String, usize)> {
    let mut writes = Vec::new();
    world.flush();
    while let Some(op) = world.next_op(0).cloned() {
        if let FileOp::Write { path, data, .. } = op {
            let bytes = data.iter().map(bytes::Bytes::len).sum();
            writes.push((alloc::format!("{path}"), bytes));
        }
        world.step(0, None);
        world.step(2, None);
    }
    writes
}

#[test]
fn a_large_batch_is_written_once_and_the_journal_names_its_place() {
    let (mut world, id) = known_log(LARGE);
    world.append(id, 1, &[7; 1000]);
    let writes = writes(&mut world);
    let [(segment, bytes), (journal, frame)] = &writes[..] else { panic!("{writes:?}") };
    assert_eq!((&segment[..], *bytes), ("t-0/00000000000000000000.log", 1078));
    assert!(journal.starts_with("journal-") && *frame < 150, "{journal}: {frame}");
    assert_eq!(world.confirmed[&id].end, 1);
}

#[test]
fn a_small_batch_behind_a_placed_one_is_placed_until_a_checkpoint_has_both() {
    let (mut world, id) = known_log(LARGE);
    for (value, placed) in [(10, false), (1000, true), (10, true)] {
        world.append(id, 1, &alloc::vec![7; value]);
        assert_eq!(writes(&mut world).len(), 1 + usize::from(placed), "{value}");
    }
    world.pass(2000);
    world.settle();
    world.append(id, 1, &[7; 10]);
    assert_eq!(writes(&mut world).len(), 1, "the checkpoint has the others");
}

#[test]
fn what_the_log_has_not_written_yet_goes_along() {
    let (mut world, id) = known_log(LARGE);
    world.append(id, 1, &[7; 100]);
    writes(&mut world);
    world.append(id, 1, &[7; 1000]);
    assert_eq!(writes(&mut world)[0].1, 178 + 1078, "from the file's start");
    world.crash(u64::MAX);
    world.recover();
    assert_eq!(world.confirmed[&id].end, 2);
}

#[test]
fn a_log_that_no_checkpoint_knows_keeps_to_the_journal_and_asks_for_one() {
    let mut world = World::new(LARGE);
    let id = world.create(1, "t");
    world.settle();
    world.append(id, 1, &[7; 600]);
    assert_eq!(writes(&mut world).len(), 1);
    world.append(id, 1, &[7; 600]);
    world.settle();
    assert_eq!(world.checkpoints, 2, "a sixteenth of the journal is used");
    world.append(id, 1, &[7; 600]);
    assert_eq!(writes(&mut world).len(), 2);
}

#[test]
fn a_failed_write_of_a_segment_fails_the_turns_that_wait_for_it() {
    let (mut world, id) = known_log(LARGE);
    world.append(id, 1, &[7; 1000]);
    world.flush();
    world.step(0, Some(FileError::NoSpace));
    assert_eq!(world.failures.len(), 1);
    assert_eq!(world.memory[&id].end, 0);
    world.pass(200);
    world.append(id, 1, &[8; 900]);
    world.settle();
    assert_eq!(world.confirmed[&id].end, 1);
}

#[test]
fn frames_of_a_failed_write_are_gone_before_their_places_are_written_again() {
    let (mut world, id) = known_log(LARGE);
    world.append(id, 1, &[7; 1000]);
    world.flush();
    world.step(0, None);
    world.step(2, None);
    // All of it is written, and the disk says it is full.
    let Some(FileOp::Write { path, position, data, lane, .. }) = world.next_op(0).cloned() else {
        panic!("the journal's write is next");
    };
    let sync = true;
    world.disk.perform(&FileOp::Write { path, position, data, sync, lane }).unwrap();
    world.step(0, Some(FileError::NoSpace));
    world.append(id, 1, &[8; 900]);
    world.flush();
    // The frame that covers it, then the segment, and the machine stops.
    world.step(0, None);
    world.step(0, None);
    world.crash(u64::MAX);
    world.recover();
    assert_eq!(world.confirmed[&id].end, 0);
}

#[test]
fn a_start_takes_placed_batches_over_a_rolled_segment_for_what_they_are() {
    let (mut world, id) = known_log(LARGE);
    for value in [1000, 900, 800, 700] {
        world.append(id, 1, &alloc::vec![7; value]);
        writes(&mut world);
    }
    for _ in 0..2 {
        world.crash(0);
        world.recover();
        assert_eq!(world.confirmed[&id].end, 4);
        assert_eq!(world.read_all(id).unwrap().len(), 4);
    }
}

#[test]
fn a_place_that_lost_its_batch_is_damage_with_fsync_and_the_journals_end_without() {
    for durability in [Durability::Fsync, Durability::Os] {
        let (mut world, id) = known_log(StoreConfig { durability, ..LARGE });
        let other = world.create(2, "u");
        for (id, value) in [(id, 1000), (id, 800), (other, 10)] {
            world.append(id, 1, &alloc::vec![7; value]);
            writes(&mut world);
        }
        world.disk.damage("t-0/00000000000000000000.log", |bytes| bytes[1500] ^= 1);
        world.begin_life();
        world.settle();
        let ends: Vec<_> = world.recovered.iter().map(|log| (log.id, log.log_end)).collect();
        if durability == Durability::Fsync {
            assert_eq!(ends, [(other, 1)], "the log is not served");
            assert_eq!(world.faults.len(), 1);
        } else {
            assert_eq!(ends, [(id, 1), (other, 0)], "turns up to the one that is not whole");
            assert!(world.faults.is_empty());
        }
    }
}

#[test]
fn a_place_in_a_log_that_was_deleted_since_need_not_be_there() {
    let (mut world, id) = known_log(LARGE);
    world.append(id, 1, &[7; 1000]);
    writes(&mut world);
    world.turn(alloc::vec![Change::Delete(id)]);
    world.settle();
    world.begin_life();
    world.recover();
    assert!(world.confirmed.is_empty());
}

#[test]
fn a_turn_with_large_batches_for_two_logs_is_there_whole_or_not_at_all() {
    for stop in 0..4 {
        let (mut world, a) = known_log(LARGE);
        let b = world.create(2, "u");
        world.settle();
        world.pass(2000);
        world.settle();
        let block = || batch_at(0, 1, &[7; 500], 1000);
        world.turn(alloc::vec![Change::Append(a, block()), Change::Append(b, block())]);
        world.flush();
        for _ in 0..stop {
            let _ = world.step(0, None) || world.step(2, None);
        }
        world.crash(u64::MAX);
        world.recover();
        assert_eq!(world.confirmed[&a].end, world.confirmed[&b].end, "after {stop} operations");
    }
}

#[test]
fn without_a_checkpoint_the_journals_batch_counts_and_not_what_a_failed_turn_left_in_its_place() {
    let (mut world, id) = known_log(LARGE);
    world.append(id, 3, &[7; 1000]);
    world.flush();
    world.step(0, None);
    world.step(2, None);
    world.step(0, Some(FileError::NoSpace));
    world.append(id, 1, &[8; 10]);
    world.settle();
    assert_eq!(world.confirmed[&id].end, 1, "it is in the journal");
    world.lose_checkpoints();
    world.begin_life();
    world.recover();
    assert_eq!(world.confirmed[&id].end, 1);
}
