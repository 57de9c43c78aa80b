//! Anything in any order, crashes at any operation: what is recovered is a prefix of the turns
//! that holds every persisted one, byte for byte.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::world::{CONFIG, Change, State, World, apply, essences};
use crate::io::{FileError, FileOp};
use crate::store::StoreConfig;
use crate::store::testing::{batch_at, marker};
use crate::types::TopicPartition;

#[derive(Clone, Debug)]
enum Action {
    Append { log: usize, records: u8, bytes: u16, logs: u8 },
    Create { name: u8 },
    Delete { log: usize },
    MoveStart { log: usize, part: u8 },
    Clean { log: usize },
    Steps { lane: u8, count: u8 },
    Fail { lane: u8, io: bool },
    Pass { ms: u16 },
    Read { log: usize, part: u8, max: u16 },
    Crash { random: u64, during: u8 },
}

fn action() -> impl Strategy<Value = Action> {
    let log = 0..4_usize;
    prop_oneof![
        12 => (log.clone(), 1..4_u8, 0..900_u16, 1..4_u8)
            .prop_map(|(log, records, bytes, logs)| Action::Append { log, records, bytes, logs }),
        2 => (0..3_u8).prop_map(|name| Action::Create { name }),
        1 => log.clone().prop_map(|log| Action::Delete { log }),
        1 => (log.clone(), any::<u8>()).prop_map(|(log, part)| Action::MoveStart { log, part }),
        3 => log.clone().prop_map(|log| Action::Clean { log }),
        14 => (0..4_u8, 1..12_u8).prop_map(|(lane, count)| Action::Steps { lane, count }),
        2 => (0..3_u8, prop::bool::weighted(0.1)).prop_map(|(lane, io)| Action::Fail { lane, io }),
        2 => (0..1500_u16).prop_map(|ms| Action::Pass { ms }),
        3 => (log, any::<u8>(), 0..2000_u16)
            .prop_map(|(log, part, max)| Action::Read { log, part, max }),
        2 => (any::<u64>(), 0..60_u8).prop_map(|(random, during)| Action::Crash { random, during }),
    ]
}

/// With batches of some size placed, with all of them, and with none.
fn config() -> impl Strategy<Value = StoreConfig> {
    prop_oneof![Just(u64::MAX), Just(300), Just(0)]
        .prop_map(|place_bytes_min| StoreConfig { place_bytes_min, ..CONFIG })
}

struct Run {
    world: World,
    next_id: u64,
}

impl Run {
    fn log(&self, log: usize) -> Option<crate::types::PartitionId> {
        let logs: Vec<_> = self.world.memory.keys().copied().collect();
        (!logs.is_empty()).then(|| logs[log % logs.len()])
    }

    fn append(&mut self, log: usize, records: u8, bytes: u16, logs: u8) {
        let mut state: State = self.world.memory.clone();
        let mut turn = Vec::new();
        for i in 0..usize::from(logs) {
            let Some(id) = self.log(log + i) else { return };
            let value = alloc::vec![i as u8; usize::from(bytes) / (i + 1)];
            let end = state[&id].end;
            let block = if bytes.is_multiple_of(7) {
                marker(end, bytes.is_multiple_of(2), 3)
            } else {
                batch_at(end, i32::from(records), &value, 1000 + end)
            };
            let change = Change::Append(id, block);
            apply(&mut state, core::slice::from_ref(&change));
            turn.push(change);
        }
        self.world.turn(turn);
    }

    fn take(&mut self, action: &Action) {
        let world = &mut self.world;
        match *action {
            Action::Append { log, records, bytes, logs } => self.append(log, records, bytes, logs),
            Action::Create { name } => {
                let topic = TopicPartition::new(&*alloc::format!("t{name}"), 0);
                if world.memory.values().all(|log| log.topic != alloc::format!("{topic}")) {
                    self.next_id += 1;
                    world.turn(alloc::vec![Change::Create(World::id(self.next_id), topic)]);
                }
            }
            Action::Delete { log } => {
                if let Some(id) = self.log(log) {
                    self.world.turn(alloc::vec![Change::Delete(id)]);
                }
            }
            Action::MoveStart { log, part } => {
                if let Some(id) = self.log(log) {
                    let Some(end) = self.world.confirmed.get(&id).map(|log| log.end) else {
                        return;
                    };
                    let offset = end * i64::from(part) / 255;
                    self.world.turn(alloc::vec![Change::MoveStart(id, offset)]);
                }
            }
            Action::Clean { log } => {
                if let Some(id) = self.log(log) {
                    self.world.clean(id);
                }
            }
            Action::Steps { lane, count } => {
                world.flush();
                for i in 0..count {
                    let lane = if lane == 3 { usize::from(i % 3) } else { usize::from(lane) };
                    world.step(lane, None);
                }
            }
            Action::Fail { lane, io } => {
                world.flush();
                let lane = usize::from(lane);
                let harmless = matches!(world.next_op(lane), Some(FileOp::Write { .. }));
                if world.ready && (harmless || io) {
                    let error = if io { FileError::Io } else { FileError::NoSpace };
                    world.step(lane, Some(error));
                }
            }
            Action::Pass { ms } => world.pass(u64::from(ms)),
            Action::Read { log, part, max } => self.read(log, part, max),
            Action::Crash { random, during } => {
                world.crash(random);
                for _ in 0..during {
                    let _ = world.step(1, None) || world.step(2, None);
                }
                if during % 2 == 1 {
                    world.crash(random.rotate_left(17));
                }
                world.recover();
            }
        }
    }

    fn read(&mut self, log: usize, part: u8, max: u16) {
        let Some(id) = self.log(log) else { return };
        let Some(log) = self.world.confirmed.get(&id).cloned() else { return };
        let offset = log.start + (log.end - log.start) * i64::from(part) / 255;
        let Ok(parts) = self.world.read(id, offset, log.end, u32::from(max)) else {
            assert!(!self.world.faults.is_empty() || !self.world.confirmed.contains_key(&id));
            return;
        };
        let got = essences(&parts);
        let want: Vec<_> = log.batches.iter().filter(|(end, _)| *end > offset).cloned().collect();
        assert!(want.starts_with(&got), "a read gives what was appended");
        assert_eq!(got.is_empty(), want.is_empty(), "and at least one batch");
    }
}

/// A life after a crash that took the checkpoints along. What they alone know is not done: which
/// logs were deleted, and how far a cleaning came.
fn without_checkpoints(config: StoreConfig, actions: &[Action], random: u64) -> World {
    let mut run = Run { world: World::new(config), next_id: 0 };
    let told_by_them =
        |action: &&Action| matches!(action, Action::Delete { .. } | Action::Clean { .. });
    for action in actions.iter().filter(|action| !told_by_them(action)) {
        run.take(action);
    }
    run.world.crash(random);
    run.world.lose_checkpoints();
    run.world.begin_life();
    run.world.settle();
    run.world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn recovery_gives_a_prefix_of_the_turns_with_every_persisted_one(
        actions in prop::collection::vec(action(), 1..120),
        random in any::<u64>(),
        config in config(),
    ) {
        let mut run = Run { world: World::new(config), next_id: 0 };
        for action in &actions {
            run.take(action);
        }
        run.world.crash(random);
        run.world.recover();
    }

    #[test]
    fn without_the_checkpoint_file_recovery_gives_the_same(
        actions in prop::collection::vec(action(), 1..120),
        random in any::<u64>(),
    ) {
        let mut world = without_checkpoints(CONFIG, &actions, random);
        world.recover();
    }

    #[test]
    fn without_the_checkpoint_file_what_was_placed_is_there(
        actions in prop::collection::vec(action(), 1..120),
        random in any::<u64>(),
        config in config(),
    ) {
        let mut world = without_checkpoints(config, &actions, random);
        // A batch whose turn was under way may be there without the rest of that turn, or be taken
        // for damage; nothing that is persisted is missing where a log is served.
        let whole = world.faults.is_empty();
        prop_assert!(!whole || world.recovered.len() >= world.confirmed.len());
        for (id, log) in world.everything() {
            // Its start may be on its way up.
            let want = world.confirmed.get(&id).map(|want| want.batches.iter());
            let want = want.into_iter().flatten().filter(|(end, _)| *end > log.start);
            let there = log.batches.iter().take(want.clone().count());
            prop_assert!(there.eq(want), "{:?} from {} to {}", id, log.start, log.end);
        }
    }

    #[test]
    fn once_the_disk_is_well_every_turn_ends_and_a_clean_stop_leaves_nothing_to_replay(
        actions in prop::collection::vec(action(), 1..80),
        config in config(),
    ) {
        let mut run = Run { world: World::new(config), next_id: 0 };
        for action in &actions {
            run.take(action);
        }
        if run.world.faults.is_empty() {
            for _ in 0..6 {
                run.world.settle();
                run.world.pass(200);
            }
            run.world.store.stop();
            run.world.settle();
            prop_assert!(run.world.stopped, "a stop ends");
            prop_assert_eq!(&run.world.memory, &run.world.confirmed);
            run.world.crash(0);
            run.world.recover();
            for log in &run.world.recovered {
                // A turn whose write failed may be on disk nevertheless.
                let all = log.tail.is_empty() || !run.world.failures.is_empty();
                prop_assert!(all, "everything is in the checkpoint");
            }
        }
    }
}
