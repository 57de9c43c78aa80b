//! Kafka's `listeners` and what belongs to it, so that a broker's properties file says where to
//! listen here as well.
//!
//! One listener is served: the first that is PLAINTEXT and not the controller's. Others are left
//! out with a warning; if none is left, serving something else than was asked for is refused.

/// The properties that decide where to listen, as they were written; "" when they were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listeners {
    listeners: String,
    advertised: String,
    controllers: String,
    protocols: String,
}

/// A host and a port. An empty host stands for every address of the machine.
pub type HostPort = (String, u16);

/// Where to listen, and what clients are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Where to listen.
    pub listen: HostPort,
    /// What clients are told, when that is something else.
    pub advertise: Option<HostPort>,
    /// Names of the listeners that are not served, the controller's apart.
    pub left_out: Vec<String>,
}

struct Listener<'a> {
    name: &'a str,
    address: HostPort,
}

impl Listeners {
    /// Takes a property; whether it is one of these.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        let field = match name {
            "listeners" => &mut self.listeners,
            "advertised.listeners" => &mut self.advertised,
            "controller.listener.names" => &mut self.controllers,
            "listener.security.protocol.map" => &mut self.protocols,
            _ => return false,
        };
        value.clone_into(field);
        true
    }

    /// Whether a property is one of these.
    #[must_use]
    pub fn is_one(name: &str) -> bool {
        Self::default().set(name, "")
    }

    /// Decides; `None` when no listeners are set.
    ///
    /// # Errors
    /// A value that cannot be read, or nothing that can be served.
    pub fn choose(&self) -> Result<Option<Chosen>, String> {
        if self.listeners.is_empty() && self.advertised.is_empty() {
            return Ok(None);
        }
        let set = if self.listeners.is_empty() { "PLAINTEXT://:9092" } else { &self.listeners };
        let brokers: Vec<Listener<'_>> = read("listeners", set)?
            .into_iter()
            .filter(|listener| !items(&self.controllers).any(|name| name == listener.name))
            .collect();
        let (served, others): (Vec<_>, Vec<_>) =
            brokers.into_iter().partition(|listener| self.protocol(listener.name) == "PLAINTEXT");
        let mut served = served.into_iter();
        let Some(first) = served.next() else {
            return Err(format!("listeners: {set} has no PLAINTEXT listener of a broker"));
        };
        let advertise = read("advertised.listeners", &self.advertised)?
            .into_iter()
            .find(|listener| listener.name == first.name)
            .map(|listener| listener.address);
        let left_out = served.chain(others).map(|listener| listener.name.to_owned()).collect();
        Ok(Some(Chosen { listen: first.address, advertise, left_out }))
    }

    /// A listener's security protocol: by the map, or its own name.
    fn protocol<'a>(&'a self, name: &'a str) -> &'a str {
        let mut pairs = items(&self.protocols).filter_map(|item| item.split_once(':'));
        pairs.find(|(listener, _)| *listener == name).map_or(name, |(_, protocol)| protocol)
    }
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn read<'a>(key: &str, list: &'a str) -> Result<Vec<Listener<'a>>, String> {
    let one = |item: &'a str| {
        let (name, address) =
            item.split_once("://").ok_or(format!("{key}: `{item}` is not NAME://HOST:PORT"))?;
        let address = host_and_port(address).map_err(|error| format!("{key}: {error}"))?;
        Ok(Listener { name, address })
    };
    items(list).map(one).collect()
}

/// Reads `HOST:PORT`; an IPv6 address may stand in brackets.
///
/// # Errors
/// What is wrong with it.
pub fn host_and_port(text: &str) -> Result<HostPort, String> {
    let (host, port) = text.rsplit_once(':').ok_or(format!("`{text}` is not HOST:PORT"))?;
    let port = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
    Ok((host.trim_start_matches('[').trim_end_matches(']').to_owned(), port))
}

/// Writes an address as [`host_and_port`] reads it.
#[must_use]
pub fn address((host, port): &HostPort) -> String {
    match host.as_str() {
        "" => format!("0.0.0.0:{port}"),
        _ if host.contains(':') => format!("[{host}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Properties, where to listen, what clients are told, what is left out.
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, Option<&'a str>, &'a [&'a str]);

    fn chosen(properties: &[(&str, &str)]) -> Result<Option<Chosen>, String> {
        let mut listeners = Listeners::default();
        for (name, value) in properties {
            assert!(listeners.set(name, value), "{name}");
        }
        listeners.choose()
    }

    #[test]
    fn the_plaintext_listener_of_a_broker_is_served() {
        let combined = "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093";
        let controller = ("controller.listener.names", "CONTROLLER");
        let map = ("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,IN:PLAINTEXT,S:SSL");
        let table: [Row<'_>; 5] = [
            (&[("listeners", combined), controller, map], "127.0.0.1:9092", None, &[]),
            (&[("listeners", "PLAINTEXT://:9092")], "0.0.0.0:9092", None, &[]),
            (
                &[
                    ("listeners", "S://h:1, IN://[::1]:2, PLAINTEXT://h:3"),
                    ("advertised.listeners", "PLAINTEXT://x:3,IN://y:4"),
                    map,
                ],
                "[::1]:2",
                Some("y:4"),
                &["PLAINTEXT", "S"],
            ),
            (
                &[("advertised.listeners", "PLAINTEXT://kafka:9092")],
                "0.0.0.0:9092",
                Some("kafka:9092"),
                &[],
            ),
            (
                &[("listeners", "CONTROLLER://c:9093,PLAINTEXT://b:9092"), controller],
                "b:9092",
                None,
                &[],
            ),
        ];
        for (properties, listen, advertise, left_out) in table {
            let chosen = chosen(properties).expect("readable").expect("set");
            assert_eq!(address(&chosen.listen), listen, "{properties:?}");
            assert_eq!(chosen.advertise.as_ref().map(address).as_deref(), advertise);
            assert_eq!(chosen.left_out, left_out);
        }
        assert_eq!(chosen(&[controller, map]), Ok(None));
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        for (listeners, reason) in [
            ("SSL://h:9092", "no PLAINTEXT"),
            ("h:9092", "not NAME://HOST:PORT"),
            ("PLAINTEXT://h", "not HOST:PORT"),
            ("PLAINTEXT://h:x", "not a port"),
        ] {
            let error = chosen(&[("listeners", listeners)]).expect_err(listeners);
            assert!(error.starts_with("listeners: ") && error.contains(reason), "{error}");
        }
    }
}
