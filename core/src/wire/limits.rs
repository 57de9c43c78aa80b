//! What one frame may cost.

use super::apis::{ApiRange, INIT_PRODUCER_ID, INIT_PRODUCER_ID_UNSTABLE_MAX};
use crate::batch::ScreenLimits;
use crate::config::BrokerConfig;

/// The limits of decoding. Strings and arrays need none of their own: they are slices of a frame
/// that has arrived.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest frame, in bytes after its size field (`socket.request.max.bytes`).
    pub max_request_bytes: u32,
    /// Most array elements and tagged fields in one message: an element of one byte on the wire
    /// becomes a struct of a hundred in memory.
    pub max_elements: usize,
    /// What screening a record set may cost.
    pub screen: ScreenLimits,
    /// Whether versions under development are served (`unstable.api.versions.enable`).
    pub unstable_versions: bool,
}

impl Limits {
    /// Kafka's default of `socket.request.max.bytes`.
    pub const MAX_REQUEST_BYTES: u32 = 104_857_600;
    /// The default of [`Self::max_elements`].
    pub const MAX_ELEMENTS: usize = 1 << 20;

    /// The last version of an API that is served under these limits.
    #[must_use]
    pub fn last_version(&self, api: &ApiRange) -> i16 {
        if self.unstable_versions && api.key == INIT_PRODUCER_ID {
            INIT_PRODUCER_ID_UNSTABLE_MAX
        } else {
            api.max
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_request_bytes: Self::MAX_REQUEST_BYTES,
            max_elements: Self::MAX_ELEMENTS,
            screen: ScreenLimits::default(),
            unstable_versions: false,
        }
    }
}

impl From<&BrokerConfig> for Limits {
    /// The broker's limits; those that Kafka has no property for stay at their defaults.
    fn from(config: &BrokerConfig) -> Self {
        Self {
            max_request_bytes: config.socket_request_max_bytes.unsigned_abs(),
            screen: ScreenLimits {
                max_decompressed_record_bytes: usize::try_from(
                    config.max_decompressed_message_bytes,
                )
                .unwrap_or(0),
                ..ScreenLimits::default()
            },
            unstable_versions: config.unstable_api_versions_enable,
            ..Self::default()
        }
    }
}
