//! What a checkpoint costs, and what may happen while it is under way.

use alloc::format;

use super::world::{CONFIG, Change, World};
use crate::io::{FileError, FileOp, FilePath};
use crate::store::StoreConfig;
use crate::types::TopicPartition;

const LOGS: u64 = 500;

/// Room for turns of that many logs.
const ROOMY: StoreConfig =
    StoreConfig { journal_bytes: 1 << 20, sync_files_max: 100_000, ..CONFIG };

fn world_with_logs() -> World {
    world_with_logs_and(ROOMY)
}

fn world_with_logs_and(config: StoreConfig) -> World {
    let mut world = World::new(config);
    for number in 0..LOGS {
        let id = world.create(number, &format!("t{number}"));
        world.append(id, 1, b"a");
    }
    world.settle();
    world
}

fn append_to_all(world: &mut World) {
    for number in 0..LOGS {
        world.append(World::id(number), 1, b"b");
    }
    world.settle();
}

#[test]
fn however_many_logs_changed_they_are_synced_at_once() {
    let mut world = world_with_logs();
    for _ in 0..3 {
        append_to_all(&mut world);
        world.synced.clear();
        world.pass(2000);
        world.settle();
        let [
            FileOp::SyncAll { files, folders },
            FileOp::Write { .. },
            FileOp::Write { .. },
            FileOp::SyncFolder { .. },
        ] = &world.synced[..]
        else {
            panic!("{:?}", world.synced)
        };
        let logs = files.iter().filter(|path| path.as_str().ends_with(".log")).count();
        assert_eq!((logs as u64, folders.len() as u64), (LOGS, LOGS + 1));
    }
}

#[test]
fn very_many_files_are_synced_in_pieces() {
    let mut world = world_with_logs_and(StoreConfig { sync_files_max: 200, ..ROOMY });
    append_to_all(&mut world);
    world.synced.clear();
    world.pass(2000);
    world.settle();
    let sizes: alloc::vec::Vec<usize> = world
        .synced
        .iter()
        .filter_map(|op| match op {
            FileOp::SyncAll { files, .. } => Some(files.len()),
            _ => None,
        })
        .collect();
    assert!((5..20).contains(&sizes.len()), "{sizes:?}");
    assert!(sizes.iter().all(|size| *size < 300), "{sizes:?}");
    world.crash(3);
    world.recover();
}

#[test]
fn a_checkpoint_of_many_logs_goes_in_small_steps() {
    let mut world = world_with_logs();
    append_to_all(&mut world);
    world.ops_at_once = 0;
    world.pass(2000);
    world.settle();
    assert!((1..200).contains(&world.ops_at_once), "{} at once", world.ops_at_once);
}

#[test]
fn what_a_log_did_not_change_is_not_written_again() {
    let mut world = world_with_logs();
    world.pass(2000);
    world.settle();
    world.append(World::id(7), 1, b"b");
    world.settle();
    world.synced.clear();
    world.pass(2000);
    world.settle();
    let FileOp::SyncAll { files, .. } = &world.synced[0] else { panic!("{:?}", world.synced) };
    let names: alloc::vec::Vec<&str> = files.iter().map(FilePath::as_str).collect();
    assert_eq!(names, ["t7-0/00000000000000000000.log", "t7-0/00000000000000000002.snapshot"]);
}

/// Starts a checkpoint of all logs and lets it do so many operations.
fn in_the_middle(steps: usize) -> World {
    let mut world = world_with_logs();
    append_to_all(&mut world);
    world.pass(2000);
    for _ in 0..steps {
        assert!(world.step(1, None), "it is under way for longer");
    }
    world
}

#[test]
fn turns_over_logs_on_both_sides_of_a_checkpoint_are_whole_after_a_crash() {
    for steps in [0, 3, 300, 900] {
        let mut world = in_the_middle(steps);
        for round in 0..20 {
            let changes = [0, 1, LOGS / 2, LOGS - 1].map(|number| {
                let id = World::id(number);
                let end = world.memory[&id].end;
                Change::Append(id, crate::store::testing::batch_at(end, 1, b"c", 1000 + round))
            });
            world.turn(changes.to_vec());
        }
        world.settle();
        assert_eq!(world.memory, world.confirmed);
        world.crash(steps as u64);
        world.recover();
    }
}

#[test]
fn logs_deleted_and_made_anew_while_a_checkpoint_is_under_way_stay_so() {
    for (steps, random) in [(0, 1), (5, 2), (300, 3), (900, 4), (1200, 5)] {
        let mut world = in_the_middle(steps);
        for number in [0, LOGS / 2, LOGS - 1] {
            let (old, new) = (World::id(number), World::id(1000 + number));
            let topic = TopicPartition::new(&*format!("t{number}"), 0);
            let mut turn = alloc::vec![Change::Delete(old)];
            if number > 0 {
                turn.push(Change::Create(new, topic));
            }
            world.turn(turn);
            world.flush();
            while world.step(0, None) {}
            if number > 0 {
                world.append(new, 1, b"new");
            }
            for _ in 0..random {
                world.step(1, None);
            }
        }
        world.settle();
        world.crash(random);
        world.recover();
        assert!(!world.confirmed.contains_key(&World::id(0)));
    }
}

#[test]
fn a_failed_write_of_a_checkpoint_is_made_good_by_the_next_one() {
    for steps in [1, 70, 501, 800] {
        let mut world = in_the_middle(steps);
        world.step(1, Some(FileError::NoSpace));
        world.settle();
        assert!(world.faults.is_empty());
        for _ in 0..3 {
            world.pass(2000);
            world.settle();
        }
        world.store.stop();
        world.settle();
        assert!(world.stopped);
        world.crash(5);
        world.recover();
        assert!(world.recovered.iter().all(|log| log.tail.is_empty()), "all is in the checkpoint");
    }
}

/// Removal, write with sync, twice; two renames, sync of the folder. Of a write that is synced the
/// system does not say which of both failed; once one file has its name no other try may follow.
#[test]
fn what_fails_while_the_checkpoint_files_are_put_in_place_ends_appending_where_a_sync_may_have() {
    let of_sync = [false, true, false, true, false, true, true];
    let of_space = [false, false, false, false, false, true, true];
    for (error, table) in [(FileError::Io, of_sync), (FileError::NoSpace, of_space)] {
        for (failing, ends) in table.into_iter().enumerate() {
            let mut world = in_the_middle(0);
            while world.step(0, None) || world.step(1, None) {}
            world.step(2, None);
            for _ in 0..failing {
                assert!((0..3).any(|lane| world.step(lane, None)));
            }
            assert!((0..3).any(|lane| world.step(lane, Some(error))), "operation {failing}");
            world.settle();
            assert_eq!(!world.faults.is_empty(), ends, "operation {failing}: {error}");
        }
    }
}

#[test]
fn a_failed_sync_of_a_checkpoint_ends_all_appending_until_a_restart() {
    let mut world = in_the_middle(0);
    while world.step(0, None) || world.step(1, None) {}
    assert!(world.step(2, Some(FileError::Io)), "the sync of all");
    assert_eq!(world.faults.len(), 1, "{:?}", world.faults);
    world.append(World::id(1), 1, b"c");
    world.settle();
    assert_eq!(world.failures.len(), 1);
    world.crash(8);
    world.recover();
}
