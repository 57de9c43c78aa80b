//! A member whose comings and goings are written down, as those of a scenario are: it is there
//! from a point of time on, until it leaves or dies; then the next process comes, if one does.

use super::{Member, Stage};
use crate::clients::ops::OpError;
use crate::world::Env;

/// How a member goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Going {
    /// It leaves the group in order.
    Leaves,
    /// It is gone, with all it knew.
    Dies,
}

/// A time that it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stay {
    from_us: u64,
    until: Option<(u64, Going)>,
}

/// The times that a member is there, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script(Vec<Stay>);

impl Script {
    /// Reads `from 500`, `leave 3000`, `die 3000`, in ms; one that begins without `from` is there
    /// from the beginning.
    ///
    /// # Errors
    ///
    /// When a line is none of these, or goes where nobody is.
    pub fn parse(lines: &[String]) -> Result<Self, OpError> {
        let mut stays: Vec<Stay> = Vec::new();
        for line in lines {
            let error = || OpError(line.clone());
            let (word, ms) = line.split_once(' ').ok_or_else(error)?;
            let us = ms.parse::<u64>().map_err(|_| error())? * 1_000;
            let going = match word {
                "from" if stays.last().is_none_or(|stay| stay.until.is_some()) => {
                    stays.push(Stay { from_us: us, until: None });
                    continue;
                }
                "leave" => Going::Leaves,
                "die" => Going::Dies,
                _ => return Err(error()),
            };
            if stays.is_empty() {
                stays.push(Stay { from_us: 0, until: None });
            }
            let stay = stays.last_mut().filter(|stay| stay.until.is_none());
            stay.ok_or_else(error)?.until = Some((us, going));
        }
        if stays.is_empty() {
            stays.push(Stay { from_us: 0, until: None });
        }
        Ok(Self(stays))
    }
}

impl Member {
    /// Does what its script says; whether it is away now.
    pub(super) fn follow_script(&mut self, env: &mut Env) -> bool {
        let Some(script) = &mut self.plan.script else { return false };
        let Some(stay) = script.0.first().copied() else { return true };
        if env.now_us < stay.from_us {
            env.wake(self.client, stay.from_us);
            return true;
        }
        let Some((until_us, going)) = stay.until else { return false };
        if env.now_us < until_us {
            env.wake(self.client, until_us);
            return false;
        }
        script.0.remove(0);
        let was_last = script.0.is_empty();
        match going {
            Going::Leaves if self.stage == Stage::Member && self.coordinator.is_idle() => {
                self.leave(env);
            }
            Going::Leaves | Going::Dies => self.die(env),
        }
        self.done |= was_last && !self.plan.survives;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(lines: &[&str]) -> Result<Script, OpError> {
        Script::parse(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_member_comes_and_goes_in_turn() {
        let stays = |script: Script| script.0.len();
        assert_eq!(parsed(&[]).map(stays), Ok(1));
        assert_eq!(parsed(&["from 500"]).map(stays), Ok(1));
        assert_eq!(parsed(&["leave 500", "from 900", "die 1000"]).map(stays), Ok(2));
        for wrong in [&["leave 1", "die 2"][..], &["from 1", "from 2"], &["stay 1"], &["die"]] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }
}
