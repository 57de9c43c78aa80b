//! Settings over the wire: DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and
//! ListConfigResources. Kafka: `ConfigHelper`, `ConfigAdminManager`, `ConfigurationControlManager`.

mod alter;
mod describe;
mod list;

use alloc::string::String;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;

pub(crate) use self::alter::{alter, incremental_alter};
pub(crate) use self::describe::describe;
pub(crate) use self::list::list;
use super::repeated;
use crate::error::ErrorCode;
use crate::meta::MetaError;
use crate::node::Node;

/// Kafka's `ConfigResource.Type` of topics.
const TOPIC: i8 = 2;
/// Kafka's `ConfigResource.Type` of brokers.
const BROKER: i8 = 4;
/// Kafka's `ConfigResource.Type` of brokers' loggers.
const BROKER_LOGGER: i8 = 8;
/// Kafka's `ConfigResource.Type` of client metrics.
const CLIENT_METRICS: i8 = 16;
/// Kafka's `ConfigResource.Type` of groups.
const GROUP: i8 = 32;

/// Why a resource's part of a request fails.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refused {
    code: ErrorCode,
    message: String,
}

impl Refused {
    fn request(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::InvalidRequest, message: message.into() }
    }
}

impl From<MetaError> for Refused {
    fn from(error: MetaError) -> Self {
        Self { code: (&error).into(), message: alloc::format!("{error}") }
    }
}

/// Kafka's name of a resource type.
const fn type_name(resource_type: i8) -> &'static str {
    match resource_type {
        TOPIC => "TOPIC",
        BROKER => "BROKER",
        BROKER_LOGGER => "BROKER_LOGGER",
        CLIENT_METRICS => "CLIENT_METRICS",
        GROUP => "GROUP",
        _ => "UNKNOWN",
    }
}

/// Checks that a name is this broker's number, or stands for all of them.
fn check_broker(node: &Node, name: &str) -> Result<(), Refused> {
    if name.is_empty() {
        return Ok(());
    }
    let Ok(id) = name.parse::<i32>() else {
        let message = alloc::format!("Broker id must be an integer, but it is: {name}");
        return Err(Refused::request(message));
    };
    let own = node.config.node_id;
    if id != own {
        let message = alloc::format!(
            "Unexpected broker id, expected {own} or empty string, but received {id}"
        );
        return Err(Refused::request(message));
    }
    Ok(())
}

/// Settings of such a thing are not served.
fn unsupported(resource_type: i8) -> Refused {
    let name = type_name(resource_type);
    Refused::request(alloc::format!("Unsupported resource type: {name}"))
}

/// What becomes of each resource of a request. One that is named more than once is refused: each
/// time it is told, a few bytes of a request make some kilobytes of an answer.
fn each<'a, R, T>(
    resources: &'a [R],
    key: impl Fn(&'a R) -> (i8, &'a KafkaString),
    act: impl Fn(&'a R) -> Result<T, Refused>,
) -> Vec<Result<T, Refused>> {
    let repeated = repeated(resources.iter().map(|one| {
        let (resource_type, name) = key(one);
        (resource_type, name.as_str())
    }));
    let outcome = |one| {
        let (resource_type, name) = key(one);
        if repeated.contains(&(resource_type, name.as_str())) {
            return Err(Refused::request("Each resource must appear at most once."));
        }
        act(one)
    };
    resources.iter().map(outcome).collect()
}
