//! Topics: Metadata (with auto-creation), CreateTopics, DeleteTopics.

mod create;
mod delete;
mod metadata;

pub(crate) use self::create::{PendingCreateTopics, create, created};
pub(crate) use self::delete::{PendingDeleteTopics, delete, deleted};
pub(crate) use self::metadata::metadata;
