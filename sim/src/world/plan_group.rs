//! The group of a world whose members consume, transform and produce: the coordinator's settings,
//! the protocols its members speak, its members.

use super::plan::Drawn;
use crate::choices::{Choices, Label, Source};
use crate::clients::{Client, Member, MemberPlan, ProducerKind, Timeouts};
use crate::history::{ClientId, GroupProtocol, Part};

/// What was drawn of the group before its members are.
#[derive(Clone, Debug)]
pub(super) struct Group {
    members: u32,
    /// To how many members it is limited after the first restart.
    pub(super) later_size: Option<i32>,
    /// The one protocol of its members; `None` for some of each, which change.
    protocol: Option<GroupProtocol>,
    consumer_session_ms: i32,
}

impl Group {
    /// What the coordinator is told, how many members there are, and what they speak.
    pub(super) fn draw(choices: &mut Source, set: &mut impl FnMut(&str, String)) -> Self {
        let members = 2 + choices.below(Label::Size, 3);
        set("group.min.session.timeout.ms", "300".to_owned());
        let delay_ms = [0, 200, 700][choices.below(Label::Property, 3) as usize];
        set("group.initial.rebalance.delay.ms", delay_ms.to_string());
        let mut later_size = None;
        if choices.below(Label::Property, 5) == 4 {
            set("group.max.size", (members - 1).to_string());
        } else {
            later_size = (choices.below(Label::Property, 6) == 5).then_some(1);
        }
        let protocol = match choices.below(Label::Property, 4) {
            0 | 1 => Some(GroupProtocol::Classic),
            2 => Some(GroupProtocol::Consumer),
            _ => None,
        };
        let mut consumer_session_ms = 0;
        if protocol != Some(GroupProtocol::Classic) {
            consumer_session_ms = draw_consumer_settings(choices, members, set);
        }
        Self { members, later_size, protocol, consumer_session_ms }
    }

    /// The members, who read the common partitions; gives back how many more partitions there are
    /// for what they write, from `first` on.
    pub(super) fn draw_members(
        &self,
        choices: &mut Source,
        drawn: &Drawn,
        first: Part,
        clients: &mut Vec<Client>,
    ) -> Part {
        let outputs = 1 + choices.below(Label::Size, 2) as Part;
        let statics = choices.below(Label::ClientKind, 3);
        let mut instances = 0;
        for member in 0..self.members {
            let client = clients.len() as ClientId + 1;
            let choices = &mut choices.of(client);
            let is_static =
                statics == 2 || (statics == 1 && choices.below(Label::ClientKind, 2) == 1);
            if is_static && (instances == 0 || choices.below(Label::ClientKind, 6) != 5) {
                instances += 1;
            }
            let v2 = drawn.version == 2 && choices.below(Label::ClientKind, 3) != 2;
            let rebalance_ms = 400 + choices.below(Label::Size, 2_600) as i32;
            let join_version = [9, 9, 9, 6, 3];
            let plan = MemberPlan {
                group: drawn.groups,
                inputs: drawn.parts,
                outputs: (first, outputs),
                kind: if v2 { ProducerKind::V2 } else { ProducerKind::Classic },
                id: (format!("member-{member}"), 1_000 + member),
                timeout_ms: drawn.timeout_ms,
                instance: is_static.then_some(instances),
                timeouts: Timeouts {
                    session_ms: 400 + choices.below(Label::Size, 2_600) as i32,
                    rebalance_ms,
                },
                join_version: join_version[choices.below(Label::ClientKind, 5) as usize],
                request_us: match choices.below(Label::Size, 2) {
                    0 => rebalance_ms as u64 * 1_000 + 2_000_000,
                    _ => 600_000,
                },
                protocol: self.protocol.unwrap_or_else(|| {
                    match choices.below(Label::ClientKind, 2) {
                        0 => GroupProtocol::Classic,
                        _ => GroupProtocol::Consumer,
                    }
                }),
                switches: self.protocol.is_none(),
                heartbeat_version: i16::from(choices.below(Label::ClientKind, 4) != 3),
                consumer_session_ms: self.consumer_session_ms,
                survives: member == 0,
                script: None,
            };
            clients.push(Client::Member(Box::new(Member::new(client, plan))));
        }
        outputs
    }
}

/// Gives back `group.consumer.session.timeout.ms`.
fn draw_consumer_settings(
    choices: &mut Source,
    members: u32,
    set: &mut impl FnMut(&str, String),
) -> i32 {
    let session_ms = 400 + choices.below(Label::Size, 2_600) as i32;
    let beats = [3, 5, 8][choices.below(Label::Property, 3) as usize];
    set("group.consumer.min.session.timeout.ms", "300".to_owned());
    set("group.consumer.session.timeout.ms", session_ms.to_string());
    set("group.consumer.min.heartbeat.interval.ms", "40".to_owned());
    set("group.consumer.heartbeat.interval.ms", (session_ms / beats).to_string());
    let interval_ms = [0, 200, 1_000][choices.below(Label::Property, 3) as usize];
    set("group.consumer.assignment.interval.ms", interval_ms.to_string());
    if choices.below(Label::Property, 5) == 4 {
        set("group.consumer.max.size", (members - 1).to_string());
    }
    let policy = match choices.below(Label::Property, 8) {
        5 => "upgrade",
        6 => "downgrade",
        7 => "disabled",
        _ => "bidirectional",
    };
    set("group.consumer.migration.policy", policy.to_owned());
    session_ms
}
