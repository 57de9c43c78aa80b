//! Bytes that were durable and are not what was written: found, and never served.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::world::{CONFIG, Change, World};
use crate::io::{FileError, FileOp, FilePath, Lane};
use crate::store::files::{CLEANED_TO, LEADER_EPOCHS, one_offset};
use crate::store::{StorageError, StoreConfig};
use crate::types::PartitionId;

/// Sixty batches in several segments, all in a checkpoint.
fn stopped(cache_bytes: u64) -> (World, PartitionId) {
    let mut world = World::new(StoreConfig { cache_bytes, ..CONFIG });
    let id = world.create(1, "t");
    for _ in 0..60 {
        world.append(id, 1, &[1; 60]);
        world.settle();
    }
    world.store.stop();
    world.settle();
    assert!(world.stopped);
    (world, id)
}

/// The same, and 40 more batches behind a checkpoint: their segments are not synced.
fn written_on() -> (World, PartitionId) {
    let (mut world, id) = stopped(0);
    world.begin_life();
    world.recover();
    world.pass(1000);
    world.settle();
    for _ in 0..40 {
        world.append(id, 1, &[1; 60]);
        world.settle();
    }
    (world, id)
}

fn find(world: &World, suffix: &str) -> String {
    world.disk.paths().find(|path| path.ends_with(suffix)).unwrap().clone()
}

fn segments(world: &World) -> Vec<String> {
    world.disk.paths().filter(|path| path.ends_with(".log")).cloned().collect()
}

#[test]
fn a_missing_short_or_damaged_snapshot_means_reading_the_log() {
    let damages: [fn(&mut Vec<u8>); 3] = [Vec::clear, |b| b.truncate(5), |b| b[3] ^= 1];
    for damage in damages {
        let (mut world, id) = stopped(0);
        let path = world.disk.paths().filter(|path| path.ends_with(".snapshot")).last();
        let path = path.unwrap().clone();
        world.disk.damage(&path, damage);
        world.begin_life();
        world.recover();
        assert_eq!(world.recovered[0].snapshot, None);
        assert_eq!(world.recovered[0].tail.len(), 60);
        assert_eq!(world.recovered[0].id, id);
    }
}

#[test]
fn a_damaged_index_is_rebuilt_from_the_segment() {
    for suffix in [".index", ".timeindex"] {
        let (mut world, _) = stopped(0);
        let path = find(&world, suffix);
        let good = world.disk.file(&path).unwrap().to_vec();
        world.disk.damage(&path, |bytes| bytes[1] ^= 1);
        world.begin_life();
        world.recover();
        assert!(world.recovered[0].snapshot.is_some(), "the snapshot is still good");
        assert_eq!(world.disk.file(&path), Some(&good[..]), "{suffix} is as it was");
    }
}

#[test]
fn a_damaged_checkpoint_file_has_a_copy() {
    for name in ["verdict-checkpoint", "verdict-checkpoint.copy"] {
        for damage in [Vec::clear, |bytes: &mut Vec<u8>| bytes[20] ^= 1] {
            let (mut world, _) = stopped(0);
            world.disk.damage(name, damage);
            world.begin_life();
            while world.disk.file(name).is_some() {
                assert!(world.step(1, None) || world.step(2, None), "the damaged one goes");
            }
            world.recover();
            assert!(world.disk.file(name).is_some_and(|bytes| bytes.len() > 20));
            assert_eq!(world.recovered[0].tail, []);
            assert!(world.recovered[0].snapshot.is_some());
        }
    }
}

#[test]
fn without_a_checkpoint_file_every_log_is_read() {
    let (mut world, _) = stopped(0);
    world.lose_checkpoints();
    world.begin_life();
    world.recover();
    assert_eq!(world.recovered[0].tail.len(), 60);
}

#[test]
fn without_a_checkpoint_file_every_log_begins_where_it_did() {
    // In the middle of a segment, and behind all of them.
    for start in [20, 60] {
        let mut world = World::new(CONFIG);
        let id = world.create(1, "t");
        for _ in 0..60 {
            world.append(id, 1, &[1; 60]);
            world.settle();
        }
        world.turn(alloc::vec![Change::MoveStart(id, start)]);
        world.settle();
        world.store.stop();
        world.settle();
        world.lose_checkpoints();
        world.lose_journal();
        world.begin_life();
        world.recover();
        assert_eq!(world.store.log_range(id), Some((start, 60)));
    }
}

#[test]
fn without_a_checkpoint_leader_epochs_are_those_of_the_batches() {
    let (mut world, _) = stopped(0);
    let path = find(&world, LEADER_EPOCHS);
    world.disk.damage(&path, |bytes| *bytes = b"0\n2\n7 0\n9 31\n".to_vec());
    world.lose_checkpoints();
    world.begin_life();
    world.recover();
    assert_eq!(world.recovered[0].leader_epochs, [(0, 0)]);
}

#[test]
fn without_a_checkpoint_a_torn_last_segment_is_cut_but_not_below_a_snapshot() {
    for has_snapshots in [true, false] {
        let (mut world, _) = stopped(0);
        world.lose_checkpoints();
        world.lose_journal();
        let paths: Vec<String> = world.disk.paths().cloned().collect();
        let last = paths.iter().rfind(|path| path.ends_with(".log")).unwrap();
        world.disk.damage(last, |bytes| bytes.truncate(bytes.len() - 3));
        for path in paths.iter().filter(|path| path.ends_with(".snapshot") && !has_snapshots) {
            let path = FilePath::from(path.as_str());
            world.disk.perform(&FileOp::Remove { path }).unwrap();
        }
        world.begin_life();
        world.settle();
        if has_snapshots {
            assert!(world.faults[0].contains("a snapshot of 60"), "{:?}", world.faults);
            assert!(world.recovered.is_empty());
        } else {
            assert!(world.faults.is_empty());
            assert_eq!(world.recovered[0].log_end, 59);
        }
    }
}

#[test]
fn without_a_checkpoint_a_lost_segment_is_refilled_from_the_journal() {
    for left in [0, 100] {
        let (mut world, id) = written_on();
        // Not synced yet: a crash may take one, or part of it, and leave those behind it.
        let logs = segments(&world);
        world.disk.damage(&logs[logs.len() - 2], |bytes| bytes.truncate(left));
        world.lose_checkpoints();
        world.begin_life();
        world.recover();
        assert_eq!(world.read_all(id).unwrap().len(), 100);
    }
}

#[test]
fn without_a_checkpoint_a_segment_lost_where_a_cleaning_had_begun_is_refilled_from_the_journal() {
    let (mut world, id) = written_on();
    // A cleaning of the whole log said where it was to leave holes, and came no further.
    let data = alloc::vec![Bytes::from(one_offset(100))];
    let path = FilePath::from(alloc::format!("t-0/{CLEANED_TO}").as_str());
    let noted = FileOp::Write { path, position: 0, data, sync: true, lane: Lane::Data };
    world.disk.perform(&noted).unwrap();
    let logs = segments(&world);
    let path = FilePath::from(logs[logs.len() - 2].as_str());
    world.disk.perform(&FileOp::Remove { path }).unwrap();
    world.lose_checkpoints();
    world.begin_life();
    world.recover();
    assert_eq!(world.read_all(id).unwrap().len(), 100);
}

/// Steps until the folder is about to be synced after files went that a cleaning has replaced.
fn clean_up_to_the_last_sync(world: &mut World, id: PartitionId) {
    world.clean(id);
    let mut removed = false;
    loop {
        for op in (0..3).filter_map(|lane| world.next_op(lane)) {
            match op {
                FileOp::Remove { path } => removed |= path.name().ends_with(".log"),
                FileOp::SyncFolder { .. } if removed => return,
                _ => {}
            }
        }
        assert!((0..3).rev().any(|lane| world.step(lane, None)), "the cleaning goes on");
    }
}

#[test]
fn without_a_checkpoint_no_file_is_missing_whose_place_a_cleaned_one_was_to_take() {
    let mut served = 0;
    for random in 0..64 {
        let (mut world, id) = stopped(0);
        world.begin_life();
        world.recover();
        clean_up_to_the_last_sync(&mut world, id);
        // Of the renames and removals that were not synced a crash takes back any.
        world.crash(random << 40);
        world.lose_checkpoints();
        world.settle();
        if world.faults.is_empty() {
            assert_eq!(world.read_all(id).unwrap().len(), 60);
            served += 1;
        }
    }
    assert!(served > 0);
}

#[test]
fn without_a_checkpoint_a_hole_that_the_journal_cannot_fill_is_not_served() {
    for lost in [1, 2] {
        let (mut world, id) = stopped(0);
        let logs = segments(&world);
        world.lose_checkpoints();
        world.lose_journal();
        world.disk.damage(&logs[logs.len() - 1 - lost], Vec::clear);
        world.begin_life();
        world.settle();
        assert_eq!(world.faults.len(), 1, "{:?}", world.faults);
        assert_eq!(world.read_all(id), Err(StorageError::UnknownLog));
    }
}

#[test]
fn rot_in_a_segment_is_an_error_and_never_an_answer() {
    // In a record, and in the base offset, which is not in the CRC.
    for (at, bit) in [(100, 1), (7, 1), (6, 0x80), (0, 0x80)] {
        let (mut world, id) = stopped(0);
        let path = find(&world, ".log");
        world.disk.damage(&path, |bytes| bytes[at] ^= bit);
        world.begin_life();
        world.settle();
        assert_eq!(world.read_all(id), Err(StorageError::Corrupt), "byte {at}");
    }
}

#[test]
fn a_segment_that_lost_durable_bytes_takes_its_log_offline() {
    let (mut world, id) = stopped(0);
    let path = find(&world, ".log");
    world.disk.damage(&path, |bytes| bytes.truncate(200));
    for _ in 0..2 {
        world.begin_life();
        world.settle();
        assert_eq!(world.faults.len(), 1, "{:?}", world.faults);
        assert!(world.recovered.is_empty() && world.ready);
        assert_eq!(world.read_all(id), Err(StorageError::Corrupt));
    }
}

#[test]
fn a_journal_that_lost_turns_before_others_is_not_served() {
    let mut world = World::new(CONFIG);
    let id = world.create(1, "t");
    world.settle();
    // Fills the first file and goes on in the second, without a checkpoint between.
    for _ in 0..20 {
        world.append(id, 1, &[1; 500]);
        world.flush();
        while world.step(0, None) {}
    }
    let generations = ["journal-0", "journal-1"].map(|name| world.disk.file(name).unwrap()[19]);
    let older = if generations[0] < generations[1] { "journal-0" } else { "journal-1" };
    world.disk.damage(older, |bytes| bytes[2000] ^= 1);
    world.begin_life();
    world.settle();
    assert!(!world.ready);
    assert!(world.faults[0].contains("the journal lacks turns"), "{:?}", world.faults);
}

#[test]
fn a_log_recreated_while_the_deletion_of_its_namesake_had_failed_keeps_its_folder() {
    let mut world = World::new(CONFIG);
    let old = world.create(1, "t");
    world.append(old, 1, &[1; 60]);
    world.settle();
    world.turn(alloc::vec![Change::Delete(old)]);
    world.flush();
    world.step(0, Some(FileError::NoSpace));
    let new = world.create(2, "t");
    world.append(new, 1, &[2; 60]);
    world.settle();
    assert!(!world.store.holds(old), "a folder belongs to the newest log of its name");
    // The node finds the old log no more in its metadata, and deletes it again.
    world.store.delete_log(old);
    let _ = world.store.end_turn();
    world.settle();
    world.append(new, 1, &[3; 60]);
    world.settle();
    world.store.stop();
    world.settle();
    world.begin_life();
    world.settle();
    assert!(world.ready && world.faults.is_empty(), "{:?}", world.faults);
    assert_eq!(world.store.log_range(new), Some((0, 2)));
    assert_eq!(world.store.log_range(old), None);
}
