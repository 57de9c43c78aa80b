//! What may fail while a cleaning puts its files in place of others.

use alloc::vec::Vec;

use super::world::{CONFIG, World};
use crate::io::{FileError, FileOp};
use crate::store::StoreConfig;
use crate::types::PartitionId;

const BATCHES: usize = 60;

/// Sixty batches in several segments, all written, and their cleaning begun.
fn cleaning() -> (World, PartitionId) {
    let mut world = World::new(StoreConfig { cache_bytes: 0, ..CONFIG });
    let id = world.create(1, "t");
    for _ in 0..BATCHES {
        world.append(id, 1, &[1; 60]);
        world.settle();
    }
    world.store.stop();
    world.settle();
    world.begin_life();
    world.recover();
    world.clean(id);
    (world, id)
}

/// What an operation is to the cleaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Work on files that nothing speaks of yet.
    Aside,
    Rename,
    /// The sync of the folder that makes the renames last.
    SyncOfRenames,
    Other,
}

fn step_of(op: &FileOp, renamed: bool) -> Step {
    let is_aside = |path: &str| path.ends_with(".cleaned");
    match op {
        FileOp::Rename { source, .. } if is_aside(source.as_str()) => Step::Rename,
        FileOp::Write { path, .. } if is_aside(path.as_str()) => Step::Aside,
        FileOp::SyncFolder { folder } if renamed && folder.as_str() == "t-0" => Step::SyncOfRenames,
        _ => Step::Other,
    }
}

/// Performs a cleaning and lets its operation number `failing` fail; what that was.
fn fail(world: &mut World, failing: usize) -> Option<Step> {
    let mut renamed = false;
    for at in 0.. {
        let lane = (0..3).rev().find(|lane| world.next_op(*lane).is_some())?;
        let step = step_of(world.next_op(lane)?, renamed);
        renamed |= step == Step::Rename;
        world.step(lane, (at == failing).then_some(FileError::Io));
        if at == failing {
            return Some(step);
        }
    }
    None
}

#[test]
fn a_failed_rename_of_a_cleaning_is_tried_again_and_a_failed_sync_of_them_ends_appending() {
    let mut seen = Vec::new();
    for failing in 0.. {
        let (mut world, id) = cleaning();
        let Some(step) = fail(&mut world, failing) else { break };
        for _ in 0..20 {
            world.settle();
            world.pass(200);
        }
        world.settle();
        let (installed, done) = world.cleanings;
        match step {
            Step::Aside => {
                assert_eq!((world.faults.len(), installed, done), (0, 0, 0), "it is abandoned");
            }
            Step::Rename => assert_eq!((world.faults.len(), installed, done), (0, 1, 1)),
            Step::SyncOfRenames => assert_eq!(world.faults.len(), 1, "the renames may be lost"),
            Step::Other => {}
        }
        assert_eq!(world.read_all(id).unwrap().len(), BATCHES, "{step:?} {failing}");
        world.crash(failing as u64);
        world.recover();
        assert_eq!(world.read_all(id).unwrap().len(), BATCHES, "{step:?} {failing}");
        if !seen.contains(&step) {
            seen.push(step);
        }
    }
    for step in [Step::Aside, Step::Rename, Step::SyncOfRenames] {
        assert!(seen.contains(&step), "{step:?}");
    }
}
