//! What a read says of the file that holds its batches, too.

use super::world::{CONFIG, SEGMENT_BYTES, World};
use crate::io::FileRun;
use crate::store::StoreConfig;
use crate::types::PartitionId;

const ROOMY: StoreConfig = StoreConfig { cache_bytes: 1 << 20, ..CONFIG };
const LOG: &str = "t-0/00000000000000000000.log";

fn world_of(config: StoreConfig, batches: usize) -> (World, PartitionId) {
    let mut world = World::new(config);
    let id = world.create(1, "t");
    for _ in 0..batches {
        world.append(id, 1, &[7; 100]);
        world.settle();
    }
    (world, id)
}

/// The bytes that a read from an offset brings, and the file that holds them. What is in the file
/// is compared by [`World::find`].
fn run_of(world: &mut World, id: PartitionId, offset: i64) -> (u64, Option<FileRun>) {
    let found = world.find(id, offset, i64::MAX, u32::MAX).unwrap();
    let bytes = found.parts.iter().map(|part| part.len() as u64).sum();
    (bytes, found.place.and_then(|place| world.store.file_run(id, place, 1)))
}

#[test]
fn what_is_read_from_memory_is_named_as_far_as_it_is_written() {
    let (mut world, id) = world_of(ROOMY, 1);
    assert_eq!(run_of(&mut world, id, 0).1, None, "nothing is written yet");
    let (mut world, id) = world_of(ROOMY, 5);
    let written = world.disk.file(LOG).unwrap().len() as u64;
    let (bytes, run) = run_of(&mut world, id, 0);
    assert!(written < bytes, "the last batch waits for more");
    let run = run.unwrap();
    assert_eq!((run.path.as_str(), run.position, run.length), (LOG, 0, written));
    let (rest, run) = run_of(&mut world, id, 2);
    let run = run.unwrap();
    assert_eq!((run.position, run.length), (bytes - rest, written - (bytes - rest)));
    assert_eq!(run_of(&mut world, id, 4).1, None, "that batch is not written");
}

#[test]
fn what_is_read_from_a_file_is_named_with_what_follows_it_in_memory() {
    let (mut world, id) = world_of(StoreConfig { cache_bytes: 0, ..CONFIG }, 5);
    let written = world.disk.file(LOG).unwrap().len() as u64;
    let (bytes, run) = run_of(&mut world, id, 2);
    let run = run.unwrap();
    assert!(run.position > 0);
    assert_eq!(run.position + run.length, written);
    assert!(bytes >= run.length);
}

#[test]
fn every_place_of_a_log_of_several_segments_is_in_its_own_file() {
    for config in [ROOMY, StoreConfig { cache_bytes: 0, ..CONFIG }] {
        let (mut world, id) = world_of(config, 40);
        let mut paths = alloc::collections::BTreeSet::new();
        for offset in 0..40 {
            paths.extend(run_of(&mut world, id, offset).1.map(|run| run.path));
        }
        assert!(paths.len() > 40 * 160 / SEGMENT_BYTES as usize, "{paths:?}");
    }
}

#[test]
fn fewer_bytes_than_are_worth_it_are_not_named() {
    let (mut world, id) = world_of(ROOMY, 4);
    let place = world.find(id, 0, i64::MAX, u32::MAX).unwrap().place.unwrap();
    let whole = world.store.file_run(id, place, 1).unwrap().length;
    assert!(world.store.file_run(id, place, whole).is_some());
    assert_eq!(world.store.file_run(id, place, whole + 1), None);
}

#[test]
fn of_a_log_that_was_cleaned_or_is_gone_nothing_is_named() {
    let (mut world, id) = world_of(ROOMY, 40);
    let place = world.find(id, 20, i64::MAX, u32::MAX).unwrap().place.unwrap();
    assert!(world.store.file_run(id, place, 1).is_some());
    world.clean(id);
    world.settle();
    assert_eq!(world.cleanings, (1, 1));
    assert_eq!(world.store.file_run(id, place, 1), None);
    assert_eq!(run_of(&mut world, id, 20).1, None, "nor of what is read now");

    let (mut world, id) = world_of(ROOMY, 5);
    let place = world.find(id, 0, i64::MAX, u32::MAX).unwrap().place.unwrap();
    world.turn(alloc::vec![super::world::Change::Delete(id)]);
    world.settle();
    assert_eq!(world.store.file_run(id, place, 1), None);
}
