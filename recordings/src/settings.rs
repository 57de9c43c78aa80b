//! Whether a running broker has the settings that a recording wants.

use verdict_core::wire::Response;

use crate::format::Recording;
use crate::peer::{Answer, Peer, PeerError};
use crate::verbs::{self, Call};

/// Settings of the recording that the broker has otherwise, as `name=value`.
///
/// # Errors
/// The broker cannot be asked.
pub fn missing(recording: &Recording, peer: &mut dyn Peer) -> Result<Vec<String>, PeerError> {
    let wanted: Vec<(&str, &str)> = recording.settings().collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let nobody = verbs::metadata(crate::names::wire("recordings-ask-who-is-there"));
    let Response::Metadata(cluster) = ask(peer, &nobody)? else { return Err(PeerError::NoAnswer) };
    let broker = cluster.brokers.first().ok_or(PeerError::NoAnswer)?.node_id;
    let keys = wanted.iter().map(|(name, _)| *name);
    let call = verbs::describe_broker(&broker.to_string(), keys);
    let Response::DescribeConfigs(found) = ask(peer, &call)? else {
        return Err(PeerError::NoAnswer);
    };
    // Apache Kafka does not tell its internal settings: such a one is taken for granted.
    let differs = |name: &str, value: &str| {
        found.results.iter().flat_map(|result| &result.configs).any(|config| {
            config.name.as_str() == name
                && config.value.as_ref().is_some_and(|found| found.as_str() != value)
        })
    };
    let differing = wanted.into_iter().filter(|(name, value)| differs(name, value));
    Ok(differing.map(|(name, value)| format!("{name}={value}")).collect())
}

fn ask(peer: &mut dyn Peer, call: &Call) -> Result<Response, PeerError> {
    peer.send("", call.version, &call.request)?;
    match peer.receive("")? {
        Answer::Response(response) => Ok(*response),
        Answer::Silent | Answer::Closed => Err(PeerError::NoAnswer),
    }
}
