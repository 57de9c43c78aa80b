//! What a client may do, as masks of `AclOperation` codes. Without an authorizer everybody may do
//! whatever there is to do (`AuthHelper.authorizedOperations`, `AclEntry.supportedOperations`).

/// Nobody asked for them.
pub(super) const NOT_ASKED: i32 = i32::MIN;

/// READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.
pub(super) const OF_TOPICS: i32 = mask(&[3, 4, 5, 6, 7, 8, 10, 11]);
/// READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS.
pub(super) const OF_GROUPS: i32 = mask(&[3, 6, 8, 10, 11]);
/// CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE.
pub(super) const OF_CLUSTERS: i32 = mask(&[5, 7, 8, 9, 10, 11, 12]);

const fn mask(operations: &[u8]) -> i32 {
    let (mut mask, mut at) = (0, 0);
    while at < operations.len() {
        mask |= 1 << operations[at];
        at += 1;
    }
    mask
}

/// A mask for those who asked.
pub(super) const fn if_asked(asked: bool, operations: i32) -> i32 {
    if asked { operations } else { NOT_ASKED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_those_of_apache_kafka_without_an_authorizer() {
        assert_eq!((OF_TOPICS, OF_GROUPS, OF_CLUSTERS), (3_576, 3_400, 8_096));
    }
}
