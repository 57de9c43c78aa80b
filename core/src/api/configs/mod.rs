//! Settings over the wire: DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and
//! ListConfigResources. Kafka: `ConfigHelper`, `ConfigAdminManager`, `ConfigurationControlManager`.

mod alter;
mod describe;
mod list;

use alloc::string::String;

pub(crate) use self::alter::{alter, incremental_alter};
pub(crate) use self::describe::describe;
pub(crate) use self::list::list;
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
