//! Any requests, timeouts, failures and crashes, in any order.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Act {
    Init {
        resume: bool,
        offset: i16,
    },
    Keep {
        two_phase: bool,
    },
    Add {
        partition: i32,
        client_version: i16,
        offset: i16,
    },
    End {
        commit: bool,
        v5: bool,
        offset: i16,
    },
    Persist,
    FailAppend(u8),
    WriteMarker,
    RetryMarker,
    Pass(u64),
    Crash,
    Level(i16),
    LastEpoch,
    /// The topic of all partitions is created again.
    Recreate,
}

fn act() -> impl Strategy<Value = Act> {
    let offset = prop_oneof![6 => Just(0_i16), 2 => Just(-1_i16), 1 => Just(1_i16)];
    prop_oneof![
        2 => (any::<bool>(), offset.clone()).prop_map(|(resume, offset)| Act::Init { resume, offset }),
        2 => any::<bool>().prop_map(|two_phase| Act::Keep { two_phase }),
        4 => (0..3, prop_oneof![Just(0_i16), Just(2)], offset.clone())
            .prop_map(|(partition, client_version, offset)| Act::Add { partition, client_version, offset }),
        4 => (any::<bool>(), any::<bool>(), offset)
            .prop_map(|(commit, v5, offset)| Act::End { commit, v5, offset }),
        8 => Just(Act::Persist),
        1 => (0..4_u8).prop_map(Act::FailAppend),
        6 => Just(Act::WriteMarker),
        1 => Just(Act::RetryMarker),
        2 => prop_oneof![Just(500_u64), Just(61_000), Just(10_000_000)].prop_map(Act::Pass),
        1 => Just(Act::Crash),
        1 => (0..3_i16).prop_map(Act::Level),
        1 => Just(Act::LastEpoch),
        1 => Just(Act::Recreate),
    ]
}

fn perform(world: &mut World, act: Act) {
    let (pid, epoch) =
        world.txn.shards[&0].get(ID).map_or((1000, 0), |entry| entry.metadata.client());
    match act {
        Act::Init { resume, offset } => {
            let producer = resume.then_some((pid, epoch.saturating_add(offset).max(0)));
            world.send_init(producer, 60_000);
        }
        Act::Keep { two_phase } => {
            world.send_init_as(InitProducerId {
                enable_2pc: two_phase,
                keep_prepared: true,
                ..plain_init()
            });
        }
        Act::Add { partition, client_version, offset } => {
            world.send_add((pid, epoch.saturating_add(offset)), &[partition], client_version);
        }
        Act::End { commit, v5, offset } => {
            let decision = if commit { Decision::Commit } else { Decision::Abort };
            world.send_end((pid, epoch.saturating_add(offset)), decision, v5);
        }
        Act::Persist => {
            world.persist();
        }
        Act::FailAppend(which) => {
            if !world.appends.is_empty() {
                world.fail_append(match which {
                    0 => LogAppendError::Storage,
                    1 => LogAppendError::NotLeader,
                    2 => LogAppendError::TooLarge,
                    _ => LogAppendError::NotAvailable,
                });
            }
        }
        Act::WriteMarker => {
            world.write_marker();
        }
        Act::RetryMarker => {
            if !world.markers.is_empty() {
                world.fail_marker(ErrorCode::NotLeaderOrFollower);
            }
        }
        Act::Pass(ms) => world.pass(ms),
        Act::Crash => world.crash(),
        Act::Recreate => {
            world.txn.forget_partitions(&"t".into());
            world.drain();
        }
        Act::Level(level) => world.txn.set_transaction_version(level),
        Act::LastEpoch => {
            let idle = world.txn.shards[&0].get(ID).is_some_and(|entry| entry.pending.is_none());
            // What is on its way would come behind it in the log, and be older.
            let idle = idle && world.appends.is_empty();
            if idle && !world.state().is_prepared() && epoch < 32_760 {
                world.preset(|metadata| match metadata.is_kept() {
                    true => metadata.next_producer_epoch = 32_765,
                    false => metadata.producer_epoch = 32_765,
                });
            }
        }
    }
}

/// What must hold of the log whatever was done.
fn check_log(log: &Records) {
    let mut last: Option<Metadata> = None;
    for (_, value) in log {
        let Some(value) = value else {
            last = None;
            continue;
        };
        let next = records::decode_value(value).expect("our own value");
        // Written once more, without the partitions of a topic that is gone.
        let is_again = |last: &Metadata| {
            let what =
                |of: &Metadata| (of.state, of.client(), of.producer_epoch, of.last_update_ms);
            next.partitions.is_subset(&last.partitions) && what(&next) == what(last)
        };
        if let Some(last) = last.as_ref().filter(|last| !is_again(last)) {
            if next.producer_id == last.producer_id {
                assert!(next.producer_epoch >= last.producer_epoch, "an epoch went back");
            } else {
                assert!(next.producer_id > last.producer_id, "a producer id came back");
                assert!(next.producer_epoch == 0 || last.is_kept());
            }
            if last.is_kept() && next.is_kept() {
                assert!(next.client() > last.client(), "an owner was not fenced");
                assert!(next.partitions.is_subset(&last.partitions), "what is kept does not grow");
            }
            if last.is_kept() && next.state.expires() {
                assert_eq!((next.producer_id, next.producer_epoch), last.client());
            }
            match last.state {
                TxnState::PrepareCommit => assert_eq!(next.state, TxnState::CompleteCommit),
                TxnState::PrepareAbort => assert_eq!(next.state, TxnState::CompleteAbort),
                // Here the test's own preset may repeat a state.
                _ => assert!(
                    next.state == last.state
                        || next.state.legal_predecessors().contains(&last.state),
                    "{:?} -> {:?}",
                    last.state,
                    next.state
                ),
            }
        }
        last = Some(next);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn memory_is_what_the_log_says_and_decisions_stand(
        acts in proptest::collection::vec(act(), 1..80),
    ) {
        let mut world = World::new(TxnConfig { two_phase_commit: true, ..test_config() });
        for act in acts {
            perform(&mut world, act);
            let only_open_ones_are_kept = world.txn.shards[&0].entries().all(|(_, entry)| {
                let state = entry.metadata.state;
                !entry.metadata.is_kept() || state == TxnState::Ongoing || state.is_prepared()
            });
            prop_assert!(only_open_ones_are_kept);
        }
        // Nobody will decide what waits for a decision: an administrator gives up on it.
        world.settle();
        if world.txn.shards[&0].get(ID).is_some_and(|entry| entry.metadata.is_two_phase()) {
            world.send_init(None, 60_000);
        }
        // Faults stop: whatever is open ends within its timeout and one sweep.
        for _ in 0..4 {
            world.settle();
            world.pass(61_000);
        }
        world.settle();
        check_log(&world.log);
        prop_assert_eq!(world.replayed(), world.in_force());
        let shard = &world.txn.shards[&0];
        prop_assert!(shard.entries().all(|(_, entry)| entry.pending.is_none()));
        prop_assert!(shard.entries().all(|(_, entry)| entry.metadata.state.expires()));
        prop_assert!(world.txn.appends.is_empty() && world.txn.markers.is_empty());
        prop_assert!(world.txn.timers.is_empty());
        prop_assert!(world.init().is_ok(), "everyone can work again");
        // Every request was answered once.
        let answered: BTreeSet<_> = world.replies.iter().map(|(to, _)| *to).collect();
        prop_assert_eq!(answered.len(), world.replies.len());
    }
}
