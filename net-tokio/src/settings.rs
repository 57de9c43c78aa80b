//! What a server is told: the adapter's own settings, and the core's under Kafka's names.

use std::net::SocketAddr;
use std::time::Duration;

use verdict_core::config::BrokerConfig;
use verdict_core::wire::Limits;

/// Kafka's default of `socket.request.max.bytes`.
const REQUEST_MAX_BYTES: usize = 104_857_600;
/// Default of `verdict.inflight.bytes`: five of the largest requests.
const INFLIGHT_BYTES: usize = 512 * 1024 * 1024;
/// Kafka's default of `connections.max.idle.ms`.
const MAX_IDLE_MS: u64 = 600_000;
/// Default of `max.connections`. Kafka's is no limit; ours keeps clear of the usual limit of
/// file descriptors.
const MAX_CONNECTIONS: usize = 10_000;

/// Everything a server needs to know before it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `HOST:PORT` to listen on; port 0 asks for a free one.
    pub listen: String,
    /// Host and port that clients are told; `None` stands for where the server listens.
    pub advertise: Option<(String, u16)>,
    /// `socket.request.max.bytes`: largest frame.
    pub request_max_bytes: usize,
    /// `verdict.inflight.bytes`: bytes of all requests being worked on, and of all answers being
    /// written.
    pub inflight_bytes: usize,
    /// `max.connections`.
    pub max_connections: usize,
    /// `connections.max.idle.ms`.
    pub max_idle: Duration,
    /// The core's settings. Address and entropy are filled in at the start of a life.
    pub broker: BrokerConfig,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:9092".to_owned(),
            advertise: None,
            request_max_bytes: REQUEST_MAX_BYTES,
            inflight_bytes: INFLIGHT_BYTES,
            max_connections: MAX_CONNECTIONS,
            max_idle: Duration::from_millis(MAX_IDLE_MS),
            broker: BrokerConfig::default(),
        }
    }
}

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct SettingError {
    /// The key.
    pub key: String,
    /// What is wrong, without the key.
    pub reason: String,
}

impl Settings {
    /// Sets one property by its name.
    ///
    /// # Errors
    /// An unknown key or an unfit value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
        let refuse = |reason: String| SettingError { key: key.to_owned(), reason };
        match key {
            "socket.request.max.bytes" => {
                self.request_max_bytes =
                    number(value, 1, i32::MAX as u64).map_err(refuse)? as usize;
            }
            "verdict.inflight.bytes" => {
                self.inflight_bytes = number(value, 1, 1 << 40).map_err(refuse)? as usize;
            }
            "max.connections" => {
                self.max_connections = number(value, 1, i32::MAX as u64).map_err(refuse)? as usize;
            }
            "connections.max.idle.ms" => {
                // Kafka: a negative value switches the limit off.
                let ms = if value.trim().starts_with('-') {
                    i64::MAX as u64 / 1_000
                } else {
                    number(value, 0, i64::MAX as u64 / 1_000).map_err(refuse)?
                };
                self.max_idle = Duration::from_millis(ms);
            }
            _ => self.broker.set(key, value).map_err(|error| refuse(error.to_string()))?,
        }
        Ok(())
    }

    /// The core's settings for one life.
    #[must_use]
    pub fn broker_config(&self, local: SocketAddr, entropy: u128) -> BrokerConfig {
        let mut broker = self.broker.clone();
        let (host, port) = match &self.advertise {
            Some((host, 0)) => (host.clone(), local.port()),
            Some((host, port)) => (host.clone(), *port),
            None => (self.reachable_host(local), local.port()),
        };
        broker.advertised_host = host;
        broker.advertised_port = i32::from(port);
        broker.entropy = entropy;
        broker
    }

    /// The host of [`Self::listen`]; a wildcard is nothing a client can connect to, and becomes
    /// the loopback address.
    fn reachable_host(&self, local: SocketAddr) -> String {
        let host = self.listen.rsplit_once(':').map_or("", |(host, _)| host);
        if local.ip().is_unspecified() || host.is_empty() {
            return "127.0.0.1".to_owned();
        }
        host.trim_start_matches('[').trim_end_matches(']').to_owned()
    }

    /// What decoding a frame may cost.
    #[must_use]
    pub fn wire_limits(&self, _broker: &BrokerConfig) -> Limits {
        Limits {
            max_request_bytes: u32::try_from(self.request_max_bytes).unwrap_or(u32::MAX),
            ..Limits::default()
        }
    }
}

fn number(value: &str, least: u64, most: u64) -> Result<u64, String> {
    match value.trim().parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("`{value}` is not a number from {least} to {most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_an_address_they_can_reach() {
        let table = [
            ("127.0.0.1:9092", "127.0.0.1:9092", None, ("127.0.0.1", 9092)),
            ("0.0.0.0:0", "0.0.0.0:4711", None, ("127.0.0.1", 4711)),
            ("localhost:0", "127.0.0.1:4711", None, ("localhost", 4711)),
            ("[::1]:9092", "[::1]:9092", None, ("::1", 9092)),
            ("0.0.0.0:9092", "0.0.0.0:9092", Some(("kafka", 19092)), ("kafka", 19092)),
            ("0.0.0.0:0", "0.0.0.0:4711", Some(("kafka", 0)), ("kafka", 4711)),
        ];
        for (listen, local, advertise, (host, port)) in table {
            let settings = Settings {
                listen: listen.to_owned(),
                advertise: advertise.map(|(host, port)| (host.to_owned(), port)),
                ..Settings::default()
            };
            let local = local.parse().expect("an address");
            let broker = settings.broker_config(local, 7);
            assert_eq!(broker.advertised_host, host, "{listen}");
            assert_eq!(broker.advertised_port, port, "{listen}");
            assert_eq!(broker.entropy, 7);
        }
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_key() {
        for (key, value) in [
            ("socket.request.max.bytes", "0"),
            ("socket.request.max.bytes", "3000000000"),
            ("max.connections", "many"),
            ("verdict.inflight.bytes", "-1"),
        ] {
            let error = Settings::default().set(key, value).expect_err(value);
            assert!(error.to_string().starts_with(key), "{error}");
        }
    }
}
