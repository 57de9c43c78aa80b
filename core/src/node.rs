//! The broker without clocks, sockets and files (being built).

use alloc::collections::VecDeque;

use crate::config::BrokerConfig;
use crate::io::{Input, Output};
use crate::time::{Now, Timestamp};

/// A broker.
#[derive(Clone, Debug)]
pub struct Node {
    outputs: VecDeque<Output>,
}

impl Node {
    /// A node that has read nothing yet; [`Input::Start`] begins its life.
    #[must_use]
    pub fn new(_config: BrokerConfig) -> Self {
        Self { outputs: VecDeque::new() }
    }

    /// Takes one input. All outputs of the previous one must have been polled.
    pub fn handle(&mut self, _now: Now, _input: Input) {}

    /// The next output; `None` when the input, and every message it led to, is worked off.
    pub fn poll_output(&mut self, _now: Now) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When a [`Input::Tick`] is wanted, if at all.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Timestamp> {
        None
    }
}
