//! Topics: Metadata (with auto-creation), CreateTopics, CreatePartitions, DeleteTopics,
//! DescribeTopicPartitions.

mod create;
mod delete;
mod describe;
mod metadata;
mod partitions;

pub(crate) use self::create::{PendingCreateTopics, create, created};
pub(crate) use self::delete::{PendingDeleteTopics, delete, deleted};
pub(crate) use self::describe::describe_partitions;
pub(crate) use self::metadata::metadata;
pub(crate) use self::partitions::create_partitions;
