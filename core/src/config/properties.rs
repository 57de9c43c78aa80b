//! Turns the table of settings into a struct, its defaults, and a setter by name.

/// One setting, for documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// The name in a properties file.
    pub name: &'static str,
    /// The type, in Kafka's words.
    pub kind: &'static str,
    /// The default as it would be written; "" for "not set".
    pub default: &'static str,
    /// The smallest allowed number.
    pub min: Option<i64>,
    /// The largest allowed number.
    pub max: Option<i64>,
    /// What it is for.
    pub doc: &'static str,
}

impl Property {
    /// Kafka's number of its type (`ConfigDef.Type` as DescribeConfigs tells it).
    #[must_use]
    pub fn type_id(&self) -> i8 {
        match self.kind {
            "boolean" => 1,
            "int" => 3,
            "short" => 4,
            "long" => 5,
            _ if self.is_list() => 7,
            _ => 2,
        }
    }

    /// Whether its value is a list, to which words can be added.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.kind.starts_with("list")
    }

    /// Whether it can be changed while the broker runs.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        super::is_dynamic(self.name)
    }
}

macro_rules! properties {
    ($($(#[doc = $doc:literal])+
       $field:ident: $type:ty = $default:expr, $text:literal, $name:literal, [$min:expr, $max:expr];)*
    ) => {
        /// Every setting the core and its drivers read. A field is named after its property, dots
        /// as underscores; units are in the names or in the text.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct BrokerConfig {
            /// Host that clients are told to connect to.
            pub advertised_host: String,
            /// Port that clients are told to connect to.
            pub advertised_port: i32,
            /// The folder of the logs, as operators know it.
            pub log_dir: String,
            /// 128 bits from the driver for topic ids and the cluster id; differ in each life.
            pub entropy: u128,
            /// Bytes of a segment at most, whatever a topic says; 0 for no such bound. For
            /// simulators, whose worlds are short.
            pub segment_bytes_max: u32,
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl Default for BrokerConfig {
            fn default() -> Self {
                Self {
                    advertised_host: String::from("localhost"),
                    advertised_port: 9092,
                    log_dir: String::from("verdict-data"),
                    entropy: 0,
                    segment_bytes_max: 0,
                    $($field: $default,)*
                }
            }
        }

        /// Every setting that is known; those of [`super::PENDING`] do nothing yet.
        pub const PROPERTIES: &[super::Property] = &[$(super::Property {
            name: $name,
            kind: <$type as super::value::Value>::KIND,
            default: $text,
            min: if $min == i64::MIN { None } else { Some($min) },
            max: if $max == i64::MAX { None } else { Some($max) },
            doc: concat!($($doc),+),
        },)*];

        impl BrokerConfig {
            /// Sets the field of a property; `None` when there is no such property.
            pub(super) fn set_field(
                &mut self,
                name: &str,
                text: &str,
            ) -> Option<Result<(), super::value::Refused>> {
                match name {
                    $($name => Some(
                        super::value::parse_bounded(text, $min, $max).map(|v| self.$field = v)
                    ),)*
                    _ => None,
                }
            }

            /// The properties that are not as in `other`, with their values as they would be
            /// written.
            #[must_use]
            pub fn differing(&self, other: &Self) -> alloc::vec::Vec<(&'static str, String)> {
                let values = [$(
                    (self.$field != other.$field)
                        .then(|| ($name, super::value::Value::to_text(&self.$field))),
                )*];
                values.into_iter().flatten().collect()
            }

            /// A property's value as it would be written; `None` when there is no such property,
            /// "" when it is not set.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $($name => Some(super::value::Value::to_text(&self.$field)),)*
                    _ => None,
                }
            }
        }
    };
}
pub(super) use properties;
