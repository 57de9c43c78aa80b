//! Single behaviours over the whole of the storage.

use alloc::string::String;
use alloc::vec::Vec;

use super::world::{CONFIG, Change, World};
use crate::io::FileError;
use crate::store::{AbortedTxn, StorageError, StoreConfig, StoreEvent};
use crate::types::TopicPartition;

fn world_with_log(config: StoreConfig) -> (World, crate::types::PartitionId) {
    let mut world = World::new(config);
    let id = world.create(1, "t");
    world.settle();
    (world, id)
}

#[test]
fn a_fresh_folder_becomes_ready_with_a_checkpoint() {
    let world = World::new(CONFIG);
    assert!(world.ready);
    assert_eq!(world.checkpoints, 1);
    let paths: Vec<&String> = world.disk.paths().collect();
    assert_eq!(paths, ["journal-0", "journal-1", "verdict-checkpoint", "verdict-checkpoint.copy"]);
}

#[test]
fn a_folder_has_kafkas_files() {
    let (mut world, id) = world_with_log(CONFIG);
    for _ in 0..40 {
        world.append(id, 2, &[7; 40]);
        world.settle();
    }
    let aborted =
        AbortedTxn { producer_id: 1, first_offset: 0, last_offset: 79, last_stable_offset: 80 };
    world.store.record_aborted(id, &aborted);
    world.pass(2000);
    world.settle();
    let names: Vec<&str> =
        world.disk.paths().filter_map(|path| path.strip_prefix("t-0/")).collect();
    assert!(names.contains(&"00000000000000000000.log"), "{names:?}");
    for suffix in [".index", ".timeindex", ".txnindex", ".snapshot"] {
        assert!(names.iter().any(|name| name.ends_with(suffix)), "{suffix} in {names:?}");
    }
    assert_eq!(world.disk.file("t-0/leader-epoch-checkpoint"), Some(&b"0\n1\n0 0\n"[..]));
    assert!(world.disk.file("t-0/partition.metadata").is_some());
    assert!(names.iter().filter(|name| name.ends_with(".snapshot")).count() <= 2);
}

#[test]
fn a_log_that_was_created_and_never_appended_to_comes_back() {
    let (mut world, id) = world_with_log(CONFIG);
    world.crash(1);
    world.recover();
    assert!(world.confirmed.contains_key(&id));
}

#[test]
fn a_turn_over_several_logs_is_there_whole_or_not_at_all() {
    let (mut world, a) = world_with_log(CONFIG);
    let b = world.create(2, "u");
    world.settle();
    let turn = [a, b].map(|id| Change::Append(id, crate::store::testing::batch(0, 1, b"x")));
    world.turn(turn.to_vec());
    world.flush();
    world.step(0, Some(FileError::NoSpace));
    assert_eq!(world.failures, [StorageError::NoSpace]);
    world.crash(u64::MAX);
    world.recover();
    let ends: Vec<i64> = world.confirmed.values().map(|log| log.end).collect();
    assert_eq!(ends, [0, 0], "half a frame is no frame");
}

#[test]
fn a_failed_write_is_followed_by_the_next_turn_at_the_same_place() {
    let (mut world, id) = world_with_log(CONFIG);
    world.append(id, 1, &[1; 600]);
    world.append(id, 1, &[2; 600]);
    world.flush();
    world.step(0, Some(FileError::NoSpace));
    world.append(id, 1, &[3; 600]);
    world.settle();
    assert_eq!(world.confirmed[&id].batches.len(), 1);
    world.crash(3);
    world.recover();
    assert_eq!(world.confirmed[&id].batches.len(), 1, "turn 2 does not follow turn 3");
}

#[test]
fn a_failed_sync_of_the_journal_ends_all_appending_until_a_restart() {
    let (mut world, id) = world_with_log(CONFIG);
    world.append(id, 1, b"a");
    world.flush();
    world.step(0, Some(FileError::Io));
    assert_eq!(world.faults.len(), 1);
    world.append(id, 1, b"b");
    world.settle();
    assert_eq!(world.failures, [StorageError::Faulted, StorageError::Faulted]);
    world.crash(9);
    world.recover();
    world.append(id, 1, b"c");
    world.settle();
    assert!(!world.confirmed[&id].batches.is_empty());
}

#[test]
fn a_failed_segment_write_is_tried_again_and_its_batches_stay_readable() {
    let (mut world, id) = world_with_log(CONFIG);
    world.append(id, 1, &[7; CONFIG.write_behind_bytes as usize]);
    world.flush();
    world.step(0, None);
    world.step(1, Some(FileError::NoSpace));
    world.settle();
    assert!(world.disk.file("t-0/00000000000000000000.log").map_or(0, <[u8]>::len) < 400);
    assert_eq!(world.read_all(id).unwrap().len(), 1);
    world.pass(CONFIG.retry_ms);
    world.settle();
    let bytes = world.confirmed[&id].batches[0].1.clone();
    assert_eq!(world.disk.file("t-0/00000000000000000000.log"), Some(&bytes[..]));
}

#[test]
fn small_batches_gather_until_there_is_enough_of_them_for_a_write() {
    let (mut world, id) = world_with_log(CONFIG);
    let written =
        |world: &World| world.disk.file("t-0/00000000000000000000.log").map_or(0, <[u8]>::len);
    let mut writes = 0;
    for _ in 0..12 {
        let before = written(&world);
        world.append(id, 1, b"a");
        world.settle();
        writes += u32::from(written(&world) > before);
    }
    assert_eq!(writes, 2, "six batches of 69 bytes a time");
    assert_eq!(world.read_all(id).unwrap().len(), 12, "the rest is read from memory");
}

#[test]
fn while_segments_cannot_be_written_a_full_journal_fails_appends_and_recovers() {
    let (mut world, id) = world_with_log(CONFIG);
    for _ in 0..40 {
        world.append(id, 1, &[5; 700]);
        world.flush();
        world.step(0, None);
        while world.step(1, Some(FileError::NoSpace)) {}
    }
    assert!(world.failures.contains(&StorageError::NoSpace), "{:?}", world.failures);
    assert!(world.faults.is_empty());
    for _ in 0..5 {
        world.pass(CONFIG.retry_ms);
        world.settle();
    }
    world.append(id, 1, b"again");
    world.settle();
    assert_eq!(world.memory, world.confirmed);
    world.crash(4);
    world.recover();
}

#[test]
fn a_turn_larger_than_a_journal_file_fails_and_changes_nothing() {
    let (mut world, id) = world_with_log(CONFIG);
    world.append(id, 1, &[0; 9000]);
    assert_eq!(world.failures, [StorageError::TurnTooLarge]);
    world.append(id, 1, b"fits");
    world.settle();
    assert_eq!(world.confirmed[&id].batches.len(), 1);
}

#[test]
fn recreating_a_topic_never_shows_what_the_old_one_held() {
    let (mut world, old) = world_with_log(CONFIG);
    world.append(old, 1, b"old");
    world.settle();
    world.pass(2000);
    world.settle();
    for random in 0..20 {
        let new = World::id(50 + random);
        let id = *world.memory.keys().next().unwrap();
        world.turn(alloc::vec![
            Change::Delete(id),
            Change::Create(new, TopicPartition::new("t", 0))
        ]);
        world.append(new, 1, b"new");
        world.flush();
        for _ in 0..random % 7 {
            world.step((random % 2) as usize, None);
        }
        world.crash(random);
        world.recover();
    }
}

#[test]
fn a_place_is_free_when_no_log_and_no_removal_and_no_checkpoint_is_in_the_way() {
    let (mut world, old) = world_with_log(CONFIG);
    let other = world.create(2, "other");
    let (new, topic) = (World::id(50), TopicPartition::new("t", 0));
    let is_free = |world: &World, id| world.store.is_free(id, &topic);
    let free_beside = |world: &World| world.store.is_free(new, &TopicPartition::new("new", 0));
    world.append(old, 1, b"old");
    world.settle();
    assert!(!is_free(&world, old), "it is held");
    world.append(other, 1, b"on its way to the journal");
    world.flush();
    assert!(free_beside(&world), "a write of another log is in nobody's way");
    world.turn(alloc::vec![Change::Delete(old)]);
    world.flush();
    while world.step(0, None) {}
    assert!(!is_free(&world, old) && !is_free(&world, new), "its files are still there");
    world.settle();
    world.pass(2000);
    assert!(!free_beside(&world), "a checkpoint may name what it began with");
    world.settle();
    assert!(is_free(&world, old) && is_free(&world, new) && free_beside(&world));
}

#[test]
fn the_newest_batches_are_kept_in_memory_as_far_as_they_fit() {
    let (mut world, old) = world_with_log(CONFIG);
    let other = world.create(2, "other");
    let cached = |world: &World, id| {
        let cached = &world.store.logs[&id].cached;
        let bytes: u64 = cached.iter().map(|one| one.block.size() + 512).sum();
        let newest = cached.back().map(|one| one.block.header.base_offset);
        (bytes, newest, cached.len())
    };
    for number in 0..20 {
        world.append(old, 1, &[number; 200]);
        world.settle();
    }
    world.pass(2000);
    world.settle();
    let (bytes, newest, count) = cached(&world, old);
    assert!(bytes <= CONFIG.cache_bytes && newest == Some(19) && count > 1, "{bytes} {newest:?}");
    for number in 0..2 {
        world.append(other, 1, &[number; 200]);
        world.settle();
        world.pass(2000);
        world.settle();
    }
    assert_eq!(cached(&world, other).2, 2, "older ones went");
    world.turn(alloc::vec![Change::Delete(old)]);
    world.settle();
    world.append(other, 1, &[2; 200]);
    world.settle();
    assert_eq!(cached(&world, other).2, 3, "what went with its log takes no place");
}

#[test]
fn reads_are_cut_at_batches_bounds_and_segments() {
    let (mut world, id) = world_with_log(StoreConfig { cache_bytes: 0, ..CONFIG });
    for _ in 0..60 {
        world.append(id, 3, &[1; 30]);
        world.settle();
    }
    let size = world.confirmed[&id].batches[0].1.len() as u32;
    let mut read = |offset, bound, max| {
        let parts = world.read(id, offset, bound, max).unwrap();
        parts.concat().len() as u32 / size
    };
    assert_eq!(read(1, 180, 1), 1, "one batch whatever its size");
    assert_eq!(read(0, 180, 2 * size + 1), 2);
    assert_eq!(read(0, 3, 100 * size), 1, "none above the bound");
    assert!(read(0, 180, 100 * size) < 60, "one segment");
    assert_eq!(read(179, 180, 100), 1);
}

#[test]
fn a_timestamp_is_found_by_reading_from_the_offset_given() {
    let (mut world, id) = world_with_log(CONFIG);
    for _ in 0..60 {
        world.append(id, 1, &[1; 60]);
        world.settle();
    }
    for timestamp in [0, 1000, 1001, 1030, 1059] {
        let offset = world.store.offset_for_timestamp(id, timestamp).unwrap();
        assert!(offset <= (timestamp - 1000).max(0), "{timestamp} from {offset}");
    }
    assert_eq!(world.store.offset_for_timestamp(id, 1060), None);
    assert_eq!(world.store.max_timestamp(id), Some((1059, 59)));
}

#[test]
fn a_stop_ends_with_a_checkpoint_and_nothing_to_replay() {
    let (mut world, id) = world_with_log(CONFIG);
    world.append(id, 1, b"a");
    world.store.stop();
    world.settle();
    assert!(world.stopped);
    world.begin_life();
    world.recover();
    let log = &world.recovered[0];
    assert_eq!((log.log_end, log.tail.len()), (1, 0));
    assert!(log.snapshot.is_some());
    assert!(!matches!(world.store.poll_event(), Some(StoreEvent::Fault(_))));
}
