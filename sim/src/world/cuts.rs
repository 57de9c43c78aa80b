//! What shrinking took out of a plan: clients, and steps of producers.
//!
//! Cuts are made after the plan was drawn, so nothing that is left is drawn differently.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use crate::clients::{Client, Op};
use crate::history::ClientId;

/// What is left out of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Clients that are not there.
    pub clients: BTreeSet<ClientId>,
    /// The disk lies: not left out but put in, for the canary.
    pub lying_disk: bool,
    /// Steps of producers that are not done, by their place in the drawn plan.
    pub steps: BTreeMap<ClientId, BTreeSet<u32>>,
}

impl Cuts {
    /// One text a client: `2 gone`, `3 without 0 4 5-9`.
    #[must_use]
    pub fn to_texts(&self) -> Vec<String> {
        let gone = self.clients.iter().map(|client| format!("{client} gone"));
        let steps = self.steps.iter().filter(|(client, _)| !self.clients.contains(client));
        let steps = steps.map(|(client, places)| format!("{client} without {}", spans(places)));
        let lie = self.lying_disk.then(|| "lying disk".to_owned());
        lie.into_iter().chain(gone).chain(steps).collect()
    }

    /// Reads the texts; `None` when one is none.
    #[must_use]
    pub fn from_texts(texts: &[String]) -> Option<Self> {
        let mut cuts = Self::default();
        for text in texts {
            if text == "lying disk" {
                cuts.lying_disk = true;
                continue;
            }
            let mut words = text.split_whitespace();
            let client = words.next()?.parse().ok()?;
            match words.next()? {
                "gone" => {
                    cuts.clients.insert(client);
                }
                "without" => {
                    let places = cuts.steps.entry(client).or_default();
                    for word in words {
                        let (from, to) = word.split_once('-').unwrap_or((word, word));
                        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
                        // No plan has more steps.
                        places.extend(from..=to.min(100_000));
                    }
                }
                _ => return None,
            }
        }
        Some(cuts)
    }
}

fn spans(places: &BTreeSet<u32>) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &place in places {
        match spans.last_mut() {
            Some((_, to)) if *to + 1 == place => *to = place,
            _ => spans.push((place, place)),
        }
    }
    let text = |(from, to): (u32, u32)| {
        if from == to { from.to_string() } else { format!("{from}-{to}") }
    };
    spans.into_iter().map(text).collect::<Vec<_>>().join(" ")
}

impl Plan {
    /// Leaves out what is cut.
    #[must_use]
    pub fn without(mut self, cuts: &Cuts) -> Self {
        self.lying_disk = cuts.lying_disk;
        for (client, at) in (1..).zip(&mut self.clients) {
            if cuts.clients.contains(&client) {
                *at = Client::Gone;
            } else if let (Client::Producer(producer), Some(places)) = (at, cuts.steps.get(&client))
            {
                producer.leave_out(places);
            }
        }
        self
    }

    /// The steps of the producers, by client.
    pub fn steps(&self) -> impl Iterator<Item = (ClientId, Vec<&Op>)> {
        (1..).zip(&self.clients).filter_map(|(client, at)| match at {
            Client::Producer(producer) => Some((client, producer.ops().collect())),
            _ => None,
        })
    }

    /// The size of what the clients do: every step of a producer is one, and every other client
    /// that takes part in more than reading.
    #[must_use]
    pub fn size(&self) -> usize {
        let size = |client: &Client| match client {
            Client::Producer(producer) => producer.ops().len(),
            Client::Offsets(_) | Client::Admin(_) | Client::Member(_) | Client::TwoPhase(_) => 1,
            Client::Reader(_) | Client::Follower(_) | Client::Auditor(_) | Client::Gone => 0,
        };
        self.clients.iter().map(size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_read_as_they_are_written() {
        let mut cuts = Cuts { lying_disk: true, ..Cuts::default() };
        cuts.clients.insert(2);
        cuts.steps.insert(3, BTreeSet::from([0, 4, 5, 6]));
        let texts = cuts.to_texts();
        assert_eq!(texts, ["lying disk", "2 gone", "3 without 0 4-6"]);
        assert_eq!(Cuts::from_texts(&texts), Some(cuts));
    }

    #[test]
    fn what_is_no_cut_is_refused() {
        for text in ["", "x gone", "1 here", "1 without a"] {
            assert_eq!(Cuts::from_texts(&[text.to_owned()]), None, "{text}");
        }
    }
}
