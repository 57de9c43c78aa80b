//! The clients of a world that commit together with a database, and the administrator that moves the
//! level of `transaction.version` under everybody.

use super::plan::Drawn;
use crate::choices::{Choices, Label, Source};
use crate::clients::{Admin, Client, TwoPhase};
use crate::history::ClientId;

/// The number of the first transactional id, far from the producers' and the members'.
const FIRST_ID: u32 = 2_000;

/// In one world of four there is one or two of them, who may share an id and a database. Drawn last,
/// so that the other worlds are as they were.
pub(super) fn draw_two_phase(
    choices: &mut Source,
    drawn: &Drawn,
    properties: &mut Vec<(String, String)>,
    clients: &mut Vec<Client>,
) {
    if drawn.version < 2 || choices.below(Label::ClientKind, 4) < 3 {
        return;
    }
    properties.push(("transaction.two.phase.commit.enable".to_owned(), "true".to_owned()));
    let shared = choices.below(Label::ClientKind, 2) == 1;
    for index in 0..1 + choices.below(Label::Size, 2) {
        let client = clients.len() as ClientId + 1;
        let choices = &mut choices.of(client);
        let count = 3 + choices.below(Label::Count, 10);
        let wishes = (0..count).map(|_| choices.below(Label::Decision, 5) != 4).collect();
        let number = FIRST_ID + if shared { 0 } else { index };
        let id = (format!("two-phase-{number}"), number);
        let client = TwoPhase::new(client, id, drawn.parts, wishes);
        clients.push(Client::TwoPhase(Box::new(client)));
    }
}

/// In one world of eight an administrator moves the level, with every transaction in whatever state.
pub(super) fn draw_levels(choices: &mut Source, drawn: &Drawn, clients: &mut Vec<Client>) {
    let may = drawn.alone && drawn.group.is_none();
    if !may || choices.below(Label::Property, 8) < 7 {
        return;
    }
    let client = clients.len() as ClientId + 1;
    let admin = Admin::new(client, drawn.parts, false).moving_levels(drawn.version);
    clients.push(Client::Admin(admin));
}
