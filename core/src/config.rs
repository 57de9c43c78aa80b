//! The broker's settings under Kafka's own property names (being built).

/// Every setting the core reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerConfig {
    /// The node's id.
    pub node_id: i32,
    /// Host that clients are told to connect to.
    pub advertised_host: alloc::string::String,
    /// Port that clients are told to connect to.
    pub advertised_port: i32,
    /// 128 bits of entropy from the driver for topic ids and the cluster id; differs in each life.
    pub entropy: u128,
}
