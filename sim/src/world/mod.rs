//! The simulated world: virtual time, brokers that die, a network that loses, and clients.
//!
//! One run goes through five phases. *Work*: the clients follow their plans under faults.
//! *Wind down*: faults end, everything restarts, what was begun is finished. *Prove*: every
//! producer, one after the other, has to do one more piece of work. *Audit*: once every
//! transaction is closed everything is read. *Follow*: who reads in a fetch session has to come to
//! the same end; then the oracles judge.

mod asked;
mod broker;
mod cluster;
mod cuts;
mod env;
mod named_files;
mod names;
pub mod pins;
mod plan;
mod plan_group;
mod plan_two_phase;
mod queue;
mod shadow;
mod size;

pub use self::cuts::Cuts;
pub use self::env::Env;
pub use self::plan::{Brokers, Plan, SWEEP_MS, base_properties, broker_config};
pub use self::size::{Seed, Size};

use verdict_core::io::ConnId;
use verdict_core::wire::Response;

use self::broker::Broker;
use self::pins::{Act, Pins};
use self::queue::Happening;
use crate::choices::{Profile, Source};
use crate::clients::{Auditor, Client};
use crate::history::{ClientId, Event, History};
use crate::trace::{Trace, What};

/// What part of a run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Create,
    Work,
    WindDown,
    Prove,
    Audit,
    Follow,
    Over,
}

/// How a run went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What clients saw.
    pub history: History,
    /// The trace, with its hash.
    pub trace: Trace,
    /// The choices that were made, when they were recorded.
    pub choices: Source,
    /// Inputs that nodes were handed.
    pub inputs: u64,
    /// Requests that clients sent.
    pub operations: u64,
    /// How long the run was, in the world's microseconds.
    pub simulated_us: u64,
    /// Lives that nodes had.
    pub lives: u64,
    /// Pinned faults that never struck, in words.
    pub unused_pins: Vec<String>,
}

/// A world.
#[derive(Clone, Debug)]
pub struct World {
    env: Env,
    brokers: Vec<Broker>,
    /// Number 0 is the auditor.
    clients: Vec<Client>,
    phase: Phase,
    phase_began_us: u64,
    proving: usize,
    work_us: u64,
    intensity: u32,
    timeout_ms: i32,
}

/// How long each phase after the work may take, beyond the transactions' timeout.
const SLACK_US: u64 = 60_000_000;

/// No run takes more happenings than this: more means that something goes round in circles.
const MOST_HAPPENINGS: u64 = 3_000_000;

impl World {
    /// A world of a plan.
    ///
    /// # Errors
    ///
    /// When the core does not take the plan's properties.
    pub fn new(plan: Plan, choices: Source, trace: Trace, pins: Pins) -> Result<Self, String> {
        let config = broker_config(&plan.properties)?;
        let forgets_ids = config.transactional_id_expiration_ms < 60_000;
        let auditor = Auditor::new(0, plan.parts, plan.groups)
            .with_pipeline(plan.pipeline)
            .with_late_groups(plan.late_groups);
        let (count, later) = (plan.brokers.count.max(1), plan.later_group_size);
        let mut brokers: Vec<Broker> = (0..count)
            .map(|at| Broker::new(at, config.clone(), count).with_later_group_size(later))
            .collect();
        let cluster = plan.cluster(&config);
        let mut clients = vec![Client::Auditor(auditor)];
        clients.extend(plan.clients);
        if plan.lying_disk {
            brokers[0].disk.lie();
        }
        let mut env = Env::new(choices, plan.profile, trace, pins)
            .with_forgetting(plan.forgets_producers)
            .with_forgotten_ids(forgets_ids)
            .with_groups_to_find(plan.late_groups)
            .with_ids(clients.iter().filter_map(Client::transactional_id))
            .with_old_epochs(plan.ages_epochs)
            .with_rot_beside_holes(plan.holes_rot)
            .with_parts(plan.parts)
            .with_leisure(plan.leisure)
            .with_cluster(cluster);
        env.note_level(config.transaction_version);
        if count > 1 {
            env.history.push(0, 0, Event::Members);
        }
        if let Some(tombstones_expire) = plan.compacts {
            env.history.push(0, 0, Event::Compacts { tombstones_expire });
        }
        Ok(Self {
            env,
            brokers,
            clients,
            phase: Phase::Create,
            phase_began_us: 0,
            proving: 0,
            work_us: plan.work_us,
            intensity: plan.intensity,
            timeout_ms: plan.timeout_ms,
        })
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        crate::marks::install();
        for broker in &mut self.brokers {
            broker.start(&mut self.env);
        }
        for (at_us, act) in self.env.pins.times().collect::<Vec<_>>() {
            self.env.queue.push(at_us, Happening::Pinned { act });
        }
        self.clients[0].start(&mut self.env);
        let mut happenings = 0;
        while self.phase != Phase::Over {
            let Some((at_us, happening)) = self.env.queue.pop() else {
                self.stuck("nothing is left to happen");
                break;
            };
            happenings += 1;
            if happenings > MOST_HAPPENINGS {
                self.stuck("the run goes round in circles");
                break;
            }
            self.env.now_us = self.env.now_us.max(at_us);
            self.happen(happening);
            self.advance();
        }
    }

    /// How the run went, to its end or to the panic that ended it.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        Outcome {
            inputs: self.brokers.iter().map(|broker| broker.inputs).sum(),
            lives: self.brokers.iter().map(|broker| u64::from(broker.life)).sum(),
            operations: self.env.operations(),
            simulated_us: self.env.now_us,
            unused_pins: self.env.pins.unused().map(|at| format!("{at:?}")).collect(),
            history: self.env.history,
            trace: self.env.trace,
            choices: self.env.choices,
        }
    }

    fn happen(&mut self, happening: Happening) {
        if let Some(until_us) = self.held_until(&happening) {
            return self.env.queue.push(until_us, happening);
        }
        let env = &mut self.env;
        match happening {
            Happening::Wake { client } => self.clients[usize::from(client)].wake(env),
            Happening::Cut { conn, .. } if env.was_asking(conn) => {}
            Happening::Cut { client, conn } => self.clients[usize::from(client)].cut(env, conn),
            Happening::Answer { client, conn, corr, api, of_old, response } => {
                if !env.was_told_who_leads(conn, &response) {
                    env.answered_by_old = of_old;
                    self.answered(client, (conn, corr), api, *response);
                }
            }
            Happening::Arrive { conn, corr, version, request } => {
                let broker = env.broker_of(conn);
                self.brokers[broker].arrive(env, conn, corr, version, request);
            }
            Happening::ConnClosed { conn } => {
                let broker = env.broker_of(conn);
                self.brokers[broker].conn_closed(env, conn);
            }
            Happening::Tick { broker, life } => {
                let broker = &mut self.brokers[broker];
                if broker.life == life && broker.node.is_some() {
                    broker.tick(env);
                }
            }
            Happening::FileDone { broker, life, lane } => {
                let broker = &mut self.brokers[broker];
                if broker.life == life && broker.node.is_some() {
                    broker.file_done(env, lane);
                }
            }
            Happening::JobDone { broker, life, ticket, done } => {
                let broker = &mut self.brokers[broker];
                if broker.life == life && broker.node.is_some() {
                    broker.job_done(env, ticket, *done);
                }
            }
            Happening::Restart { broker, life } => {
                let broker = &mut self.brokers[broker];
                if broker.life == life && broker.node.is_none() {
                    broker.start(env);
                }
            }
            Happening::Kill { broker, life } => {
                let broker = &mut self.brokers[broker];
                if broker.life == life {
                    broker.crash(env, 50_000);
                }
            }
            Happening::News { broker, life, input } => {
                let broker = &mut self.brokers[broker];
                if broker.life == life {
                    broker.news(env, *input);
                }
            }
            Happening::Confirm { broker, life, id, changes } => {
                env.commit((broker, life), id, changes);
            }
            Happening::Tell { broker } => self.brokers[broker].tell(env),
            Happening::PeerTimeout { conn } => {
                env.break_peer(conn);
            }
            Happening::Pinned { act } => self.act(act),
        }
    }

    /// An answer reaches a client.
    fn answered(
        &mut self,
        client: ClientId,
        (conn, corr): (ConnId, u32),
        api: &str,
        response: Response,
    ) {
        let env = &mut self.env;
        env.answering = env.broker_of(conn);
        env.trace.event(env.now_us, What::Net, [client.into(), conn.0, corr.into(), 0]);
        env.say(client, || format!("< {api} code {}", crate::clients::code_of(&response)));
        env.note_answer(client, conn, corr, &response);
        self.clients[usize::from(client)].answer(env, conn, corr, response);
        env.answered_by_old = false;
    }

    fn act(&mut self, act: Act) {
        let env = &mut self.env;
        env.pins.time(env.now_us);
        match act {
            Act::Crash(back_us) => self.brokers[0].crash(env, back_us),
            Act::PauseClient(client, us) => env.pause(client, env.now_us + us),
            Act::ClockJump(by_ms) => self.brokers[0].jump(env, by_ms),
            Act::Move(topic, partition, to, late_us) => {
                env.move_named(topic.name(), partition, to, late_us);
            }
            Act::Tear(..) | Act::Drop | Act::Delay(_) | Act::DiskIo | Act::DiskNoSpace => {}
        }
    }

    /// Until when something that concerns somebody who is paused has to wait.
    fn held_until(&self, happening: &Happening) -> Option<u64> {
        let until_us = match happening {
            Happening::Wake { client }
            | Happening::Cut { client, .. }
            | Happening::Answer { client, .. } => *self.env.paused.get(client)?,
            Happening::Arrive { conn, .. } | Happening::ConnClosed { conn } => {
                self.brokers[self.env.broker_of(*conn)].paused_until_us()
            }
            Happening::Tick { broker, .. }
            | Happening::News { broker, .. }
            | Happening::Tell { broker }
            | Happening::JobDone { broker, .. }
            | Happening::FileDone { broker, .. } => self.brokers[*broker].paused_until_us(),
            _ => return None,
        };
        (until_us > self.env.now_us).then_some(until_us)
    }

    /// Whether the phase is over, and what comes next.
    fn advance(&mut self) {
        let now_us = self.env.now_us;
        match self.phase {
            Phase::Create if self.env.topic_is_there => {
                self.enter(Phase::Work);
                self.env.profile.intensify(self.intensity);
                for client in &mut self.clients[1..] {
                    client.start(&mut self.env);
                }
            }
            Phase::Create if now_us > self.work_us + SLACK_US => {
                let why = self.clients[0].waits_for();
                self.stuck(&format!("the topic could not be created: {why}"));
            }
            Phase::Work if now_us > self.work_us || self.producers_done() => self.wind_down(),
            Phase::WindDown if self.producers_done() => {
                self.enter(Phase::Prove);
                self.proving = 0;
                self.prove_next();
            }
            Phase::Prove if self.clients[self.proving].is_done() => self.prove_next(),
            Phase::Audit if self.clients[0].is_done() => self.follow(),
            Phase::Follow if self.clients.iter().all(Client::is_done) => self.enter(Phase::Over),
            Phase::WindDown | Phase::Prove | Phase::Audit | Phase::Follow => {
                let timeout_us = u64::try_from(self.timeout_ms).unwrap_or(0) * 1_000;
                if now_us > self.phase_began_us + timeout_us + SWEEP_MS * 1_000 + SLACK_US {
                    let why = self.why_stuck();
                    self.stuck(&why);
                }
            }
            Phase::Create | Phase::Work | Phase::Over => {}
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.phase_began_us = self.env.now_us;
        let now_us = self.env.now_us;
        self.env.trace.event(now_us, What::Phase, [phase as u64, 0, 0, 0]);
        if self.env.trace.wants_lines() {
            self.env.trace.heading(now_us, "world", &format!("{phase:?}"));
        }
    }

    fn producers_done(&self) -> bool {
        let healed = self.phase > Phase::Work;
        let produces = |client: &Client| match client {
            Client::Producer(_) | Client::TwoPhase(_) => true,
            Client::Admin(admin) => healed && admin.moves_levels(),
            _ => false,
        };
        self.clients.iter().all(|client| !produces(client) || client.is_done())
    }

    fn wind_down(&mut self) {
        self.enter(Phase::WindDown);
        // Who is paused stays so: woken early, it would see what came meanwhile out of order.
        self.env.profile = Profile::dull();
        self.env.heal_cluster();
        self.env.history.push(self.env.now_us, 0, Event::Healed);
        for broker in &mut self.brokers {
            broker.heal(&mut self.env);
        }
        for client in &mut self.clients {
            client.heal(&mut self.env);
        }
    }

    fn prove_next(&mut self) {
        self.phase_began_us = self.env.now_us;
        while self.proving + 1 < self.clients.len() {
            self.proving += 1;
            match &mut self.clients[self.proving] {
                Client::Producer(producer) => return producer.prove_now(&mut self.env),
                Client::TwoPhase(client) => return client.prove_now(&mut self.env),
                Client::Member(member) if member.survives() => {
                    return member.prove_now(&mut self.env);
                }
                _ => {}
            }
        }
        self.enter(Phase::Audit);
        for client in &mut self.clients {
            if let Client::Follower(follower) = client {
                follower.hold();
            }
        }
        if let Client::Auditor(auditor) = &mut self.clients[0] {
            auditor.audit(&mut self.env);
        }
    }

    /// Nothing is written any more: whoever follows in a session has to see all there is.
    fn follow(&mut self) {
        self.enter(Phase::Follow);
        let Client::Auditor(auditor) = &self.clients[0] else { return };
        let ends = auditor.ends().to_vec();
        for client in &mut self.clients {
            if let Client::Follower(follower) = client {
                follower.catch_up(&mut self.env, &ends);
            }
        }
    }

    fn why_stuck(&self) -> String {
        let node = self.brokers.iter().map(|broker| {
            let state = match (&broker.node, &broker.faulted, broker.ready) {
                (None, ..) => "down".to_owned(),
                (_, Some(reason), _) => format!("at fault ({reason})"),
                (_, None, false) => "not ready".to_owned(),
                (_, None, true) => "ready".to_owned(),
            };
            format!("b{} is {state}", broker.index)
        });
        let waiting =
            self.clients.iter().enumerate().filter(|(at, client)| {
                !client.is_done() && (*at == 0) == (self.phase == Phase::Audit)
            });
        let waiting = waiting.map(|(at, client)| format!("c{at}: {}", client.waits_for()));
        let all: Vec<String> = node.chain(waiting).collect();
        format!("{:?} did not end after the faults did; {}", self.phase, all.join("; "))
    }

    fn stuck(&mut self, reason: &str) {
        let client: ClientId = 0;
        self.env.note(client, Event::Stuck { reason: reason.to_owned() });
        self.enter(Phase::Over);
    }
}
