//! Random members, failures and crashes: generations never go back, one leader leads each, and
//! everybody who waits is answered.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Join { who: usize, changed: bool },
    Restart { who: usize },
    Sync { who: usize },
    Beat { who: usize },
    Leave { who: usize },
    Pass { ms: u64 },
    Persist,
    Fail,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..4_usize;
    prop_oneof![
        6 => (who.clone(), any::<bool>()).prop_map(|(who, changed)| Step::Join { who, changed }),
        1 => who.clone().prop_map(|who| Step::Restart { who }),
        6 => who.clone().prop_map(|who| Step::Sync { who }),
        4 => who.clone().prop_map(|who| Step::Beat { who }),
        2 => who.prop_map(|who| Step::Leave { who }),
        5 => (0..20_000_u64).prop_map(|ms| Step::Pass { ms }),
        6 => Just(Step::Persist),
        1 => Just(Step::Fail),
        1 => Just(Step::Crash),
    ]
}

/// Four clients, the last two static, each with the generation it believes in.
struct Clients {
    world: World,
    clients: Vec<(As, i32)>,
    asked: Vec<(RequestId, usize)>,
    /// The leader of each generation of this life, and the last generation told.
    leaders: BTreeMap<i32, MemberId>,
    newest: i32,
}

impl Clients {
    fn new() -> Self {
        let dynamic = (member(""), -1);
        let statics = [(static_member("", "i"), -1), (static_member("", "j"), -1)];
        let clients = [dynamic.clone(), dynamic].into_iter().chain(statics).collect();
        let mut world = World::new();
        world.persists = false;
        Self { world, clients, asked: vec![], leaders: BTreeMap::new(), newest: 0 }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Join { who, changed } => {
                let protocols: &[_] =
                    if changed { &[("range", "x")] } else { &[("range", "m"), ("sticky", "m")] };
                let to = self.world.join(&As { protocols, ..self.clients[who].0.clone() });
                self.asked.push((to, who));
            }
            Step::Restart { who } => self.clients[who].0.member = Arc::from(""),
            Step::Sync { who } => {
                let (client, generation) = self.clients[who].clone();
                let to = self.world.sync(&client, generation, &[]);
                self.asked.push((to, who));
            }
            Step::Beat { who } => {
                let (client, generation) = self.clients[who].clone();
                let _ = self.world.beat(&client, generation);
            }
            Step::Leave { who } => {
                let to = self.world.leave(&self.clients[who].0.clone());
                self.asked.push((to, who));
            }
            Step::Pass { ms } => self.world.pass_ms(ms),
            Step::Persist if !self.world.waiting.is_empty() => {
                self.world.persist();
                self.world.settle();
            }
            Step::Fail if !self.world.waiting.is_empty() => self.world.fail(),
            Step::Persist | Step::Fail => {}
            Step::Crash => {
                self.world = self.world.clone().crash();
                self.world.persists = false;
                self.asked.clear();
                self.leaders.clear();
                self.newest = 0;
            }
        }
        self.hear();
    }

    fn hear(&mut self) {
        let asked = core::mem::take(&mut self.asked);
        for (to, who) in asked {
            match self.world.answers.remove(&to) {
                None => self.asked.push((to, who)),
                Some(GroupReply::Join(reply)) => self.joined(who, *reply),
                Some(_) => {}
            }
        }
    }

    fn joined(&mut self, who: usize, reply: JoinReply) {
        match reply.result {
            Ok(()) => {
                assert!(reply.generation >= self.newest, "generations never go back");
                self.newest = reply.generation;
                self.clients[who].0.member = reply.member.clone();
                self.clients[who].1 = reply.generation;
                // A static leader under a new id leads the same generation on.
                if !reply.members.is_empty() && self.clients[who].0.instance.is_none() {
                    let leader =
                        self.leaders.entry(reply.generation).or_insert(reply.leader.clone());
                    assert_eq!(*leader, reply.member, "one member leads a generation");
                }
            }
            Err(GroupError::MemberIdRequired) => self.clients[who].0.member = reply.member,
            Err(GroupError::UnknownMember | GroupError::FencedInstance) => {
                self.clients[who].0.member = Arc::from("");
            }
            Err(_) => {}
        }
    }
}

proptest! {
    #[test]
    fn everybody_is_answered(steps in proptest::collection::vec(step(), 1..120)) {
        let mut clients = Clients::new();
        for step in &steps {
            clients.run(step);
        }
        // Nothing fails any more, and time goes on: nobody waits for ever.
        clients.world.persists = true;
        clients.world.settle();
        for _ in 0..8 {
            while !clients.world.waiting.is_empty() {
                clients.world.persist();
                clients.world.settle();
            }
            clients.world.pass_ms(400_000);
        }
        clients.hear();
        prop_assert!(clients.asked.is_empty(), "{:?} wait", clients.asked);
        prop_assert_eq!(clients.world.groups.next_timeout(), None);
    }

    #[test]
    fn a_coordinator_that_starts_again_can_go_on(
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut clients = Clients::new();
        for step in &steps {
            clients.run(step);
        }
        let mut world = clients.world.crash();
        world.persists = true;
        world.pass_ms(100_000);
        let (who, join) = world.enter(&member(""));
        world.pass_ms(100_000);
        let reply = world.joined(join);
        prop_assert_eq!(reply.leader, who.member);
    }
}
