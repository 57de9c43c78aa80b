//! Places of connections: `max.connections` of them, `max.connections.per.ip` for each address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use verdict_core::config::BrokerConfig;

/// All places of a broker.
pub(crate) struct Places {
    taken: Arc<Mutex<Taken>>,
    max: usize,
    max_per_ip: usize,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_ip: BTreeMap<IpAddr, usize>,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    taken: Arc<Mutex<Taken>>,
    peer: IpAddr,
}

impl Places {
    pub(crate) fn new(broker: &BrokerConfig) -> Self {
        let limit = |limit| usize::try_from(limit).unwrap_or(0);
        Self {
            taken: Arc::default(),
            max: limit(broker.max_connections),
            max_per_ip: limit(broker.max_connections_per_ip),
        }
    }

    /// Takes a place, or says which limit is reached.
    pub(crate) fn take(&self, peer: IpAddr) -> Result<Place, &'static str> {
        let mut taken = lock(&self.taken);
        if taken.all >= self.max {
            return Err("max.connections are open");
        }
        let of_peer = taken.by_ip.get(&peer).copied().unwrap_or(0);
        if of_peer >= self.max_per_ip {
            return Err("max.connections.per.ip are open from its address");
        }
        taken.by_ip.insert(peer, of_peer + 1);
        taken.all += 1;
        drop(taken);
        Ok(Place { taken: Arc::clone(&self.taken), peer })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all -= 1;
        if let Some(count) = taken.by_ip.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                taken.by_ip.remove(&self.peer);
            }
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_holds_until_a_place_is_given_back() {
        let broker = BrokerConfig {
            max_connections: 3,
            max_connections_per_ip: 2,
            ..BrokerConfig::default()
        };
        let places = Places::new(&broker);
        let peer = |last| IpAddr::from([10, 0, 0, last]);
        let first = places.take(peer(1)).expect("the first");
        let _second = places.take(peer(1)).expect("the second");
        assert!(places.take(peer(1)).is_err_and(|reason| reason.contains("per.ip")));
        let _third = places.take(peer(2)).expect("another address");
        assert!(places.take(peer(3)).is_err_and(|reason| !reason.contains("per.ip")));
        drop(first);
        assert!(places.take(peer(1)).is_ok());
    }
}
