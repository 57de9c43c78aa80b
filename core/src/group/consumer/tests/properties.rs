//! Whatever members do, and however often the coordinator fails and starts again: no partition is
//! with two of them, epochs do not go back, and the log has the whole group.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Join { member: usize, topics: Vec<&'static str>, range: bool },
    Keep { member: usize },
    Confirm { member: usize },
    Leave { member: usize },
    Grow { topic: &'static str },
    Later { ms: u64 },
    Persist,
    Fail { all_but: usize },
    Restart,
}

const MEMBERS: [&str; 4] = ["m0", "m1", "m2", "m3"];

fn step() -> impl Strategy<Value = Step> {
    let topics = prop::sample::subsequence(vec!["a", "b", "c"], 0..3);
    prop_oneof![
        4 => (0_usize..4, topics, any::<bool>())
            .prop_map(|(member, topics, range)| Step::Join { member, topics, range }),
        6 => (0_usize..4).prop_map(|member| Step::Keep { member }),
        6 => (0_usize..4).prop_map(|member| Step::Confirm { member }),
        1 => (0_usize..4).prop_map(|member| Step::Leave { member }),
        1 => prop::sample::select(vec!["a", "b", "c"]).prop_map(|topic| Step::Grow { topic }),
        2 => (0_u64..20_000).prop_map(|ms| Step::Later { ms }),
        8 => Just(Step::Persist),
        2 => (0_usize..3).prop_map(|all_but| Step::Fail { all_but }),
        1 => Just(Step::Restart),
    ]
}

/// What a member takes itself to have: what it was told, less what it was told to let go of.
#[derive(Clone, Debug, Default)]
struct Client {
    epoch: i32,
    has: Partitions,
}

fn at_once(has: &Partitions) -> impl Iterator<Item = (TopicId, i32)> {
    has.iter().flat_map(|(topic, all)| all.iter().map(|at| (*topic, *at)))
}

fn told(clients: &mut [Client; 4], member: usize, answer: Result<ConsumerBeat, GroupError>) {
    match answer {
        Ok(beat) if beat.epoch < 0 => clients[member] = Client::default(),
        Ok(beat) => {
            clients[member].epoch = beat.epoch;
            if let Some(assignment) = beat.assignment {
                clients[member].has = assignment;
            }
        }
        Err(GroupError::Log(_)) => {}
        // Fenced or unknown: it lets go of everything.
        Err(_) => clients[member] = Client::default(),
    }
}

proptest! {
    #[test]
    fn no_partition_is_with_two_members(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new();
        world.persists = false;
        let mut clients: [Client; 4] = Default::default();
        let mut open: Vec<(usize, RequestId)> = vec![];
        let mut epoch = 0;
        for step in steps {
            let is_busy = |member: &usize| open.iter().any(|(who, _)| who == member);
            match step {
                Step::Join { member, topics, range } if !is_busy(&member) => {
                    clients[member] = Client::default();
                    let assignor = range.then(|| Arc::from("range"));
                    let beat = ConsumerHeartbeat { assignor, ..joining(MEMBERS[member], &topics) };
                    open.push((member, world.start(&beat)));
                }
                Step::Keep { member } if !is_busy(&member) && clients[member].epoch > 0 => {
                    let beat = beating(MEMBERS[member], clients[member].epoch);
                    open.push((member, world.start(&beat)));
                }
                Step::Confirm { member } if !is_busy(&member) && clients[member].epoch > 0 => {
                    let has = clients[member].has.iter();
                    let owned = has.map(|(topic, all)| (*topic, all.iter().copied().collect()));
                    let beat = ConsumerHeartbeat {
                        owned: Some(owned.collect()),
                        ..beating(MEMBERS[member], clients[member].epoch)
                    };
                    open.push((member, world.start(&beat)));
                }
                Step::Leave { member } if !is_busy(&member) && clients[member].epoch > 0 => {
                    open.push((member, world.start(&beating(MEMBERS[member], -1))));
                    clients[member] = Client::default();
                }
                Step::Grow { topic } => {
                    let partitions = world.topics.get(topic).copied().unwrap_or(0);
                    world.topic(topic, partitions + 1);
                }
                Step::Later { ms } => world.later(ms),
                Step::Persist => {
                    world.persist();
                    world.settle();
                    world.check_recovery();
                }
                Step::Fail { all_but } => world.fail_from(all_but),
                Step::Restart => {
                    // Clients lose their answers, and begin anew when they are not known.
                    open.clear();
                    world.restart();
                }
                _ => {}
            }
            let mut still_open = vec![];
            for (member, to) in open {
                match world.answer(to) {
                    Some(answer) => told(&mut clients, member, answer),
                    None => still_open.push((member, to)),
                }
            }
            open = still_open;
            // Members that are out have no right to anything, whatever they still believe.
            let persisted = World::consumer_of(&world.reloaded());
            let mut with: BTreeMap<(TopicId, i32), usize> = BTreeMap::new();
            for (index, client) in clients.iter().enumerate() {
                let known = persisted.as_ref().and_then(|group| group.members.get(MEMBERS[index]));
                if known.is_none_or(|member| member.holding.epoch < client.epoch) {
                    continue;
                }
                let is_current = known.is_some_and(|member| {
                    let holding = &member.holding;
                    [holding.epoch, holding.previous_epoch].contains(&client.epoch)
                });
                for at in at_once(&client.has).filter(|_| is_current) {
                    let other = with.insert(at, index);
                    prop_assert!(other.is_none(), "{:?} is with {:?} and {}", at, other, index);
                }
            }
            let now = persisted.map_or(0, |group| group.epoch);
            prop_assert!(now == 0 || now >= epoch, "the epoch went back");
            epoch = now.max(epoch);
        }
    }
}
