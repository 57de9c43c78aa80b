//! The layout of the responses about groups and their offsets; see [`super::responses`].

use super::Kind::{Array, Blob, Fixed, Str, Struct};
use super::{MAX, Shape, f};

/// OffsetCommitResponse.json, valid 2-10.
pub(super) const OFFSET_COMMIT: Shape = Shape {
    key: 8,
    flexible: 8,
    fields: &[
        f("throttle_time_ms", Fixed(4), 3, MAX),
        f(
            "topics",
            Array(&Struct(&[
                f("name", Str, 0, 9),
                f("topic_id", Fixed(16), 10, MAX),
                f(
                    "partitions",
                    Array(&Struct(&[
                        f("partition_index", Fixed(4), 0, MAX),
                        f("error_code", Fixed(2), 0, MAX),
                    ])),
                    0,
                    MAX,
                ),
            ])),
            0,
            MAX,
        ),
    ],
};

/// OffsetFetchResponse.json, valid 1-10.
pub(super) const OFFSET_FETCH: Shape = Shape {
    key: 9,
    flexible: 6,
    fields: &[
        f("throttle_time_ms", Fixed(4), 3, MAX),
        f(
            "topics",
            Array(&Struct(&[
                f("name", Str, 0, 7),
                f(
                    "partitions",
                    Array(&Struct(&[
                        f("partition_index", Fixed(4), 0, 7),
                        f("committed_offset", Fixed(8), 0, 7),
                        f("committed_leader_epoch", Fixed(4), 5, 7),
                        f("metadata", Str, 0, 7).null(0),
                        f("error_code", Fixed(2), 0, 7),
                    ])),
                    0,
                    7,
                ),
            ])),
            0,
            7,
        ),
        f("error_code", Fixed(2), 2, 7),
        f(
            "groups",
            Array(&Struct(&[
                f("group_id", Str, 8, MAX),
                f(
                    "topics",
                    Array(&Struct(&[
                        f("name", Str, 8, 9),
                        f("topic_id", Fixed(16), 10, MAX),
                        f(
                            "partitions",
                            Array(&Struct(&[
                                f("partition_index", Fixed(4), 8, MAX),
                                f("committed_offset", Fixed(8), 8, MAX),
                                f("committed_leader_epoch", Fixed(4), 8, MAX),
                                f("metadata", Str, 8, MAX).null(8),
                                f("error_code", Fixed(2), 8, MAX),
                            ])),
                            8,
                            MAX,
                        ),
                    ])),
                    8,
                    MAX,
                ),
                f("error_code", Fixed(2), 8, MAX),
            ])),
            8,
            MAX,
        ),
    ],
};

/// TxnOffsetCommitResponse.json, valid 0-6.
pub(super) const TXN_OFFSET_COMMIT: Shape = Shape {
    key: 28,
    flexible: 3,
    fields: &[
        f("throttle_time_ms", Fixed(4), 0, MAX),
        f(
            "topics",
            Array(&Struct(&[
                f("name", Str, 0, 5),
                f("topic_id", Fixed(16), 6, MAX),
                f(
                    "partitions",
                    Array(&Struct(&[
                        f("partition_index", Fixed(4), 0, MAX),
                        f("error_code", Fixed(2), 0, MAX),
                    ])),
                    0,
                    MAX,
                ),
            ])),
            0,
            MAX,
        ),
    ],
};

/// JoinGroupResponse.json, valid 0-9.
pub(super) const JOIN_GROUP: Shape = Shape {
    key: 11,
    flexible: 6,
    fields: &[
        f("throttle_time_ms", Fixed(4), 2, MAX),
        f("error_code", Fixed(2), 0, MAX),
        f("generation_id", Fixed(4), 0, MAX),
        f("protocol_type", Str, 7, MAX).null(7),
        f("protocol_name", Str, 0, MAX).null(7),
        f("leader", Str, 0, MAX),
        f("skip_assignment", Fixed(1), 9, MAX),
        f("member_id", Str, 0, MAX),
        f(
            "members",
            Array(&Struct(&[
                f("member_id", Str, 0, MAX),
                f("group_instance_id", Str, 5, MAX).null(5),
                f("metadata", Blob, 0, MAX),
            ])),
            0,
            MAX,
        ),
    ],
};

/// HeartbeatResponse.json, valid 0-4.
pub(super) const HEARTBEAT: Shape = Shape {
    key: 12,
    flexible: 4,
    fields: &[f("throttle_time_ms", Fixed(4), 1, MAX), f("error_code", Fixed(2), 0, MAX)],
};

/// LeaveGroupResponse.json, valid 0-5.
pub(super) const LEAVE_GROUP: Shape = Shape {
    key: 13,
    flexible: 4,
    fields: &[
        f("throttle_time_ms", Fixed(4), 1, MAX),
        f("error_code", Fixed(2), 0, MAX),
        f(
            "members",
            Array(&Struct(&[
                f("member_id", Str, 3, MAX),
                f("group_instance_id", Str, 3, MAX).null(3),
                f("error_code", Fixed(2), 3, MAX),
            ])),
            3,
            MAX,
        ),
    ],
};

/// SyncGroupResponse.json, valid 0-5.
pub(super) const SYNC_GROUP: Shape = Shape {
    key: 14,
    flexible: 4,
    fields: &[
        f("throttle_time_ms", Fixed(4), 1, MAX),
        f("error_code", Fixed(2), 0, MAX),
        f("protocol_type", Str, 5, MAX).null(5),
        f("protocol_name", Str, 5, MAX).null(5),
        f("assignment", Blob, 0, MAX),
    ],
};

/// DescribeGroupsResponse.json, valid 0-6.
pub(super) const DESCRIBE_GROUPS: Shape = Shape {
    key: 15,
    flexible: 5,
    fields: &[
        f("throttle_time_ms", Fixed(4), 1, MAX),
        f(
            "groups",
            Array(&Struct(&[
                f("error_code", Fixed(2), 0, MAX),
                f("error_message", Str, 6, MAX).null(6),
                f("group_id", Str, 0, MAX),
                f("group_state", Str, 0, MAX),
                f("protocol_type", Str, 0, MAX),
                f("protocol_data", Str, 0, MAX),
                f(
                    "members",
                    Array(&Struct(&[
                        f("member_id", Str, 0, MAX),
                        f("group_instance_id", Str, 4, MAX).null(4),
                        f("client_id", Str, 0, MAX),
                        f("client_host", Str, 0, MAX),
                        f("member_metadata", Blob, 0, MAX),
                        f("member_assignment", Blob, 0, MAX),
                    ])),
                    0,
                    MAX,
                ),
                f("authorized_operations", Fixed(4), 3, MAX),
            ])),
            0,
            MAX,
        ),
    ],
};

/// ListGroupsResponse.json, valid 0-5.
pub(super) const LIST_GROUPS: Shape = Shape {
    key: 16,
    flexible: 3,
    fields: &[
        f("throttle_time_ms", Fixed(4), 1, MAX),
        f("error_code", Fixed(2), 0, MAX),
        f(
            "groups",
            Array(&Struct(&[
                f("group_id", Str, 0, MAX),
                f("protocol_type", Str, 0, MAX),
                f("group_state", Str, 4, MAX),
                f("group_type", Str, 5, MAX),
            ])),
            0,
            MAX,
        ),
    ],
};

/// DeleteGroupsResponse.json, valid 0-3.
pub(super) const DELETE_GROUPS: Shape = Shape {
    key: 42,
    flexible: 2,
    fields: &[
        f("throttle_time_ms", Fixed(4), 0, MAX),
        f(
            "results",
            Array(&Struct(&[
                f("group_id", Str, 0, MAX),
                f("error_code", Fixed(2), 0, MAX),
                f("error_message", Str, 3, MAX).null(3),
            ])),
            0,
            MAX,
        ),
    ],
};

/// The fields of an assignment in a ConsumerGroupDescribeResponse.
const DESCRIBED_PARTITIONS: &[super::Field] = &[f(
    "topic_partitions",
    Array(&Struct(&[
        f("topic_id", Fixed(16), 0, MAX),
        f("topic_name", Str, 0, MAX),
        f("partitions", Array(&Fixed(4)), 0, MAX),
    ])),
    0,
    MAX,
)];

/// ConsumerGroupHeartbeatResponse.json, valid 0-1.
pub(super) const CONSUMER_GROUP_HEARTBEAT: Shape = Shape {
    key: 68,
    flexible: 0,
    fields: &[
        f("throttle_time_ms", Fixed(4), 0, MAX),
        f("error_code", Fixed(2), 0, MAX),
        f("error_message", Str, 0, MAX).null(0),
        f("member_id", Str, 0, MAX).null(0),
        f("member_epoch", Fixed(4), 0, MAX),
        f("heartbeat_interval_ms", Fixed(4), 0, MAX),
        f(
            "assignment",
            Struct(&[f(
                "topic_partitions",
                Array(&Struct(&[
                    f("topic_id", Fixed(16), 0, MAX),
                    f("partitions", Array(&Fixed(4)), 0, MAX),
                ])),
                0,
                MAX,
            )]),
            0,
            MAX,
        )
        .null(0),
    ],
};

/// ConsumerGroupDescribeResponse.json, valid 0-1.
pub(super) const CONSUMER_GROUP_DESCRIBE: Shape = Shape {
    key: 69,
    flexible: 0,
    fields: &[
        f("throttle_time_ms", Fixed(4), 0, MAX),
        f(
            "groups",
            Array(&Struct(&[
                f("error_code", Fixed(2), 0, MAX),
                f("error_message", Str, 0, MAX).null(0),
                f("group_id", Str, 0, MAX),
                f("group_state", Str, 0, MAX),
                f("group_epoch", Fixed(4), 0, MAX),
                f("assignment_epoch", Fixed(4), 0, MAX),
                f("assignor_name", Str, 0, MAX),
                f(
                    "members",
                    Array(&Struct(&[
                        f("member_id", Str, 0, MAX),
                        f("instance_id", Str, 0, MAX).null(0),
                        f("rack_id", Str, 0, MAX).null(0),
                        f("member_epoch", Fixed(4), 0, MAX),
                        f("client_id", Str, 0, MAX),
                        f("client_host", Str, 0, MAX),
                        f("subscribed_topic_names", Array(&Str), 0, MAX),
                        f("subscribed_topic_regex", Str, 0, MAX).null(0),
                        f("assignment", Struct(DESCRIBED_PARTITIONS), 0, MAX),
                        f("target_assignment", Struct(DESCRIBED_PARTITIONS), 0, MAX),
                        f("member_type", Fixed(1), 1, MAX),
                    ])),
                    0,
                    MAX,
                ),
                f("authorized_operations", Fixed(4), 0, MAX),
            ])),
            0,
            MAX,
        ),
    ],
};

/// OffsetDeleteResponse.json, valid 0.
pub(super) const OFFSET_DELETE: Shape = Shape {
    key: 47,
    flexible: MAX,
    fields: &[
        f("error_code", Fixed(2), 0, MAX),
        f("throttle_time_ms", Fixed(4), 0, MAX),
        f(
            "topics",
            Array(&Struct(&[
                f("name", Str, 0, MAX),
                f(
                    "partitions",
                    Array(&Struct(&[
                        f("partition_index", Fixed(4), 0, MAX),
                        f("error_code", Fixed(2), 0, MAX),
                    ])),
                    0,
                    MAX,
                ),
            ])),
            0,
            MAX,
        ),
    ],
};
