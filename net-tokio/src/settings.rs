//! What a server is told: the core's settings under Kafka's names, and where to listen.
//!
//! A property has one owner: [`BrokerConfig`] has all but those of [`Listeners`].

use std::net::SocketAddr;
use std::time::Duration;

use verdict_core::config::{BrokerConfig, ConfigError, FileError, entries};

use crate::listeners::{self, HostPort, Listeners};

/// Everything a server needs to know before it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `HOST:PORT` to listen on; port 0 asks for a free one.
    pub listen: String,
    /// Host and port that clients are told; `None` stands for where the server listens.
    pub advertise: Option<HostPort>,
    /// The core's settings. Address and entropy are filled in at the start of a life.
    pub broker: BrokerConfig,
    /// The properties that decide where to listen; [`Self::finish`] turns them into the first two.
    pub listeners: Listeners,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:9092".to_owned(),
            advertise: None,
            broker: BrokerConfig::default(),
            listeners: Listeners::default(),
        }
    }
}

/// Why settings are refused. Each names its culprit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A property, or two that do not go together.
    #[error(transparent)]
    Property(#[from] ConfigError),
    /// A line of a settings file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Where to listen.
    #[error("{0}")]
    Listeners(String),
}

impl Settings {
    /// Sets one property by its name.
    ///
    /// # Errors
    /// An unknown name or an unfit value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        if self.listeners.set(name, value) { Ok(()) } else { self.broker.set(name, value) }
    }

    /// Sets what a properties file says, all of it or nothing; what deserves a warning.
    ///
    /// # Errors
    /// The first line that is refused, or two values that do not go together.
    pub fn apply_properties(&mut self, text: &str) -> Result<Vec<String>, FileError> {
        let ignored = self.broker.apply_properties(text)?;
        for entry in entries(text) {
            self.listeners.set(&entry.name, &entry.value);
        }
        let warnings = ignored.iter().filter(|warning| !Listeners::is_one(&warning.name));
        Ok(warnings.map(ToString::to_string).collect())
    }

    /// Checks the whole once everything is set, and decides where to listen; what deserves a
    /// warning.
    ///
    /// # Errors
    /// Values that do not go together, or listeners that cannot be served.
    pub fn finish(&mut self) -> Result<Vec<String>, SettingError> {
        self.broker.validate()?;
        let Some(chosen) = self.listeners.choose().map_err(SettingError::Listeners)? else {
            return Ok(Vec::new());
        };
        self.listen = listeners::address(&chosen.listen);
        self.advertise = chosen.advertise;
        let served = &self.listen;
        let left_out = chosen.left_out.into_iter();
        Ok(left_out.map(|name| format!("listener {name} is not served, only {served}")).collect())
    }

    /// How long a silent connection is kept; `None` when for good.
    #[must_use]
    pub fn max_idle(&self) -> Option<Duration> {
        u64::try_from(self.broker.connections_max_idle_ms).ok().map(Duration::from_millis)
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
        match listeners::host_and_port(&self.listen) {
            Ok((host, _)) if !local.ip().is_unspecified() && !host.is_empty() => host,
            _ => "127.0.0.1".to_owned(),
        }
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
    fn values_out_of_range_are_refused_with_the_name() {
        for (name, value) in [
            ("socket.request.max.bytes", "0"),
            ("socket.request.max.bytes", "3000000000"),
            ("max.connections", "many"),
            ("verdict.inflight.bytes", "-1"),
        ] {
            let error = Settings::default().set(name, value).expect_err(value);
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }

    #[test]
    fn a_properties_file_of_apache_kafka_is_usable() {
        let mut settings = Settings::default();
        let text = "process.roles=broker,controller\nnode.id=3\n\
            controller.quorum.voters=3@127.0.0.1:19093\n\
            listeners=PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093,SSL://:19094\n\
            advertised.listeners=PLAINTEXT://kafka:19092\n\
            controller.listener.names=CONTROLLER\ninter.broker.listener.name=PLAINTEXT\n\
            listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
            log.dirs=/tmp/kraft-combined-logs\nsocket.request.max.bytes=2147483647\n\
            connections.max.idle.ms=-1\n";
        let warnings = settings.apply_properties(text).expect("readable");
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        let warnings = settings.finish().expect("usable");
        assert_eq!(warnings, ["listener SSL is not served, only 127.0.0.1:19092"]);
        assert_eq!(settings.broker.node_id, 3);
        assert_eq!(settings.listen, "127.0.0.1:19092");
        assert_eq!(settings.advertise, Some(("kafka".to_owned(), 19092)));
        assert_eq!(settings.max_idle(), None);
    }
}
