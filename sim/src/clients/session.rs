//! One client's connection and the calls it has out: pipelined, in order, retried until a
//! deadline, on a new connection when the old one is gone.

use std::collections::{BTreeMap, VecDeque};

use verdict_core::io::ConnId;
use verdict_core::wire::Request;

use crate::history::ClientId;
use crate::world::Env;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    InFlight { conn: ConnId, corr: u32, since_us: u64 },
    Failed,
}

/// A request and its attempts.
#[derive(Clone, Debug)]
pub(super) struct Call<K> {
    pub(super) kind: K,
    version: i16,
    request: Request,
    state: State,
    pub(super) asked_us: u64,
    deadline_us: u64,
    /// It failed before.
    again: bool,
    /// An attempt was sent and its answer never came, or it arrives twice: it may have been
    /// applied, or may still be.
    pub(super) unsure: bool,
}

/// How patient a client is, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) request_us: u64,
    pub(super) delivery_us: u64,
    pub(super) backoff_us: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { request_us: 1_000_000, delivery_us: 12_000_000, backoff_us: 30_000 }
    }
}

/// A client's calls.
#[derive(Clone, Debug)]
pub(super) struct Session<K> {
    client: ClientId,
    /// The connections it has, by broker.
    conns: BTreeMap<usize, ConnId>,
    calls: VecDeque<Call<K>>,
    most_in_flight: usize,
    next_corr: u32,
    backoff_until_us: u64,
    /// Failures in a row.
    failures: u32,
    patience: Patience,
    /// All requests of a connection that is gone may still arrive, as TCP allows; else only those
    /// that the protocol protects.
    late: bool,
}

impl<K> Session<K> {
    pub(super) fn new(client: ClientId, most_in_flight: usize) -> Self {
        Self {
            client,
            conns: BTreeMap::new(),
            calls: VecDeque::new(),
            most_in_flight,
            next_corr: 0,
            backoff_until_us: 0,
            failures: 0,
            patience: Patience::default(),
            late: false,
        }
    }

    /// Requests of a connection that is gone may arrive, also those that Kafka's protocol does not
    /// protect from it.
    pub(super) fn with_late_arrivals(mut self) -> Self {
        self.late = true;
        self
    }

    /// The same, waiting so many microseconds for an answer.
    pub(super) fn with_request_timeout(mut self, us: u64) -> Self {
        self.wait_for(us);
        self
    }

    /// The same, waiting so many microseconds before it tries again.
    pub(super) fn with_back_off(mut self, us: u64) -> Self {
        self.patience.backoff_us = us;
        self
    }

    /// From here on it waits so many microseconds for an answer.
    pub(super) fn wait_for(&mut self, us: u64) {
        self.patience.request_us = us;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty()
    }

    /// When what is called next goes out at the earliest.
    pub(super) const fn sends_from_us(&self) -> u64 {
        self.backoff_until_us
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call<K>> {
        self.calls.iter()
    }

    /// Sends a request, behind those that wait.
    pub(super) fn call(&mut self, env: &mut Env, kind: K, version: i16, request: Request) {
        self.call_within(env, kind, (version, request), self.patience.delivery_us);
    }

    /// The same, to be given up on after so many microseconds.
    pub(super) fn call_within(
        &mut self,
        env: &mut Env,
        kind: K,
        (version, request): (i16, Request),
        delivery_us: u64,
    ) {
        self.calls.push_back(Call {
            kind,
            version,
            request,
            state: State::Ready,
            asked_us: env.now_us,
            deadline_us: env.now_us + delivery_us,
            again: false,
            unsure: false,
        });
        self.pump(env);
    }

    /// Takes the call that an answer is for, with its place in the queue.
    pub(super) fn take(&mut self, conn: ConnId, corr: u32) -> Option<(usize, Call<K>)> {
        let place = self.calls.iter().position(|call| {
            matches!(call.state, State::InFlight { conn: over, corr: known, .. }
                if over == conn && known == corr)
        })?;
        self.calls.remove(place).map(|call| (place, call))
    }

    /// Puts a call back to its place, to be tried again after the back-off.
    pub(super) fn retry(&mut self, env: &mut Env, place: usize, mut call: Call<K>) {
        // Somebody else may lead by now.
        self.doubt(env, &call);
        call.state = State::Failed;
        call.again = true;
        self.calls.insert(place.min(self.calls.len()), call);
        self.back_off(env);
    }

    /// Whom a call was sent to is not who leads: the next one asks anew.
    pub(super) fn doubt(&self, env: &mut Env, call: &Call<K>) {
        env.doubt_route(self.client, &call.request);
    }

    /// The connection is gone.
    pub(super) fn cut(&mut self, env: &mut Env, conn: ConnId) {
        let Some(broker) = self.conns.iter().find(|(_, of)| **of == conn).map(|(at, _)| *at) else {
            return;
        };
        self.conns.remove(&broker);
        env.forget_routes(self.client, broker);
        if !self.late {
            env.reset(conn);
        }
        for call in &mut self.calls {
            if matches!(call.state, State::InFlight { conn: over, .. } if over == conn) {
                call.state = State::Failed;
                call.again = true;
                call.unsure = true;
            }
        }
        self.back_off(env);
    }

    /// Forgets every call and closes the connection.
    pub(super) fn abandon(&mut self, env: &mut Env) -> Vec<Call<K>> {
        for conn in core::mem::take(&mut self.conns).into_values() {
            env.close(conn);
            if !self.late {
                env.reset(conn);
            }
        }
        let mut calls = core::mem::take(&mut self.calls);
        for call in &mut calls {
            call.unsure |= matches!(call.state, State::InFlight { .. });
        }
        calls.into()
    }

    /// Something may be due: a request that nobody answered, a back-off that is over. Gives back
    /// the call, if any, whose deadline has passed.
    pub(super) fn wake(&mut self, env: &mut Env) -> Option<Call<K>> {
        let late = env.now_us.saturating_sub(self.patience.request_us);
        let timed_out = |call: &Call<K>| match call.state {
            State::InFlight { conn, since_us, .. } if since_us <= late => Some(conn),
            _ => None,
        };
        while let Some(conn) = self.calls.iter().find_map(timed_out) {
            env.close(conn);
            self.cut(env, conn);
        }
        let due = self.calls.iter().position(|call| {
            // What is to be tried once is not given up before, while it is asked whom to send it to.
            let tried = call.again || call.deadline_us > call.asked_us;
            let over = call.deadline_us <= env.now_us && tried;
            over && !matches!(call.state, State::InFlight { .. })
        });
        if let Some(place) = due {
            // The others have to go on.
            env.wake(self.client, env.now_us + 1);
            return self.calls.remove(place);
        }
        self.pump(env);
        None
    }

    fn back_off(&mut self, env: &mut Env) {
        self.backoff_until_us =
            env.now_us + env.more_and_more(self.patience.backoff_us, self.failures);
        self.failures += 1;
        env.wake(self.client, self.backoff_until_us);
    }

    /// Sends what may be sent. After a failure, nothing is sent until everything that is out has
    /// come back; then all of it goes again in the old order, and what is new waits until that is
    /// done: with more than five batches behind one that is repeated, a broker need not know it
    /// any more.
    fn pump(&mut self, env: &mut Env) {
        if env.now_us < self.backoff_until_us {
            return;
        }
        let mut in_flight =
            self.calls.iter().filter(|call| matches!(call.state, State::InFlight { .. })).count();
        if self.calls.iter().any(|call| call.state == State::Failed) {
            if in_flight > 0 {
                return;
            }
            for call in self.calls.iter_mut().filter(|call| call.state == State::Failed) {
                call.state = State::Ready;
            }
        }
        let repeats = self.calls.iter().any(|call| call.again);
        for call in self.calls.iter_mut().filter(|call| call.state == State::Ready) {
            if repeats && !call.again {
                break;
            }
            if in_flight >= self.most_in_flight {
                break;
            }
            // Those behind it wait too: their order counts.
            let Some(broker) = env.route(self.client, &call.request) else { break };
            if !call.again {
                self.failures = 0;
            }
            let conn =
                *self.conns.entry(broker).or_insert_with(|| env.connect(self.client, broker));
            let corr = self.next_corr;
            self.next_corr += 1;
            call.state = State::InFlight { conn, corr, since_us: env.now_us };
            // What arrives a second time may be applied although the first time was refused.
            call.unsure |= env.send(conn, corr, call.version, call.request.clone());
            env.wake(self.client, env.now_us + self.patience.request_us);
            in_flight += 1;
        }
    }
}
