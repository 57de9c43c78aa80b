//! The layout of every served request, from the schemas of Apache Kafka 4.4.0.
//!
//! Fields that no served version has are kept out. The order is the order on the wire; tagged
//! fields stand where the schema has them and travel at the end of their struct.

use super::Kind::{Array, Blob, Fixed, Str, Struct};
use super::{MAX, Shape, f};

/// One shape per API.
pub(super) const SHAPES: &[Shape] = &[
    // ProduceRequest.json, valid 3-13.
    Shape {
        key: 0,
        flexible: 9,
        fields: &[
            f("transactional_id", Str, 3, MAX).null(3),
            f("acks", Fixed(2), 0, MAX),
            f("timeout_ms", Fixed(4), 0, MAX),
            f(
                "topic_data",
                Array(&Struct(&[
                    f("name", Str, 0, 12),
                    f("topic_id", Fixed(16), 13, MAX),
                    f(
                        "partition_data",
                        Array(&Struct(&[
                            f("index", Fixed(4), 0, MAX),
                            f("records", Blob, 0, MAX).null(0),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // FetchRequest.json, valid 4-18.
    Shape {
        key: 1,
        flexible: 12,
        fields: &[
            f("cluster_id", Str, 12, MAX).null(12).tag(0),
            f("replica_id", Fixed(4), 0, 14),
            f(
                "replica_state",
                Struct(&[
                    f("replica_id", Fixed(4), 15, MAX),
                    f("replica_epoch", Fixed(8), 15, MAX),
                ]),
                15,
                MAX,
            )
            .tag(1),
            f("max_wait_ms", Fixed(4), 0, MAX),
            f("min_bytes", Fixed(4), 0, MAX),
            f("max_bytes", Fixed(4), 3, MAX),
            f("isolation_level", Fixed(1), 4, MAX),
            f("session_id", Fixed(4), 7, MAX),
            f("session_epoch", Fixed(4), 7, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("topic", Str, 0, 12),
                    f("topic_id", Fixed(16), 13, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition", Fixed(4), 0, MAX),
                            f("current_leader_epoch", Fixed(4), 9, MAX),
                            f("fetch_offset", Fixed(8), 0, MAX),
                            f("last_fetched_epoch", Fixed(4), 12, MAX),
                            f("log_start_offset", Fixed(8), 5, MAX),
                            f("partition_max_bytes", Fixed(4), 0, MAX),
                            f("replica_directory_id", Fixed(16), 17, MAX).tag(0),
                            f("high_watermark", Fixed(8), 18, MAX).tag(1),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
            f(
                "forgotten_topics_data",
                Array(&Struct(&[
                    f("topic", Str, 7, 12),
                    f("topic_id", Fixed(16), 13, MAX),
                    f("partitions", Array(&Fixed(4)), 7, MAX),
                ])),
                7,
                MAX,
            ),
            f("rack_id", Str, 11, MAX),
        ],
    },
    // ListOffsetsRequest.json, valid 1-11.
    Shape {
        key: 2,
        flexible: 6,
        fields: &[
            f("replica_id", Fixed(4), 0, MAX),
            f("isolation_level", Fixed(1), 2, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("current_leader_epoch", Fixed(4), 4, MAX),
                            f("timestamp", Fixed(8), 0, MAX),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
            f("timeout_ms", Fixed(4), 10, MAX),
        ],
    },
    // MetadataRequest.json, valid 0-13.
    Shape {
        key: 3,
        flexible: 9,
        fields: &[
            f(
                "topics",
                Array(&Struct(&[
                    f("topic_id", Fixed(16), 10, MAX),
                    f("name", Str, 0, MAX).null(10),
                ])),
                0,
                MAX,
            )
            .null(1),
            f("allow_auto_topic_creation", Fixed(1), 4, MAX),
            f("include_cluster_authorized_operations", Fixed(1), 8, 10),
            f("include_topic_authorized_operations", Fixed(1), 8, MAX),
        ],
    },
    // OffsetCommitRequest.json, valid 2-10.
    Shape {
        key: 8,
        flexible: 8,
        fields: &[
            f("group_id", Str, 0, MAX),
            f("generation_id_or_member_epoch", Fixed(4), 1, MAX),
            f("member_id", Str, 1, MAX),
            f("group_instance_id", Str, 7, MAX).null(7),
            f("retention_time_ms", Fixed(8), 2, 4),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, 9),
                    f("topic_id", Fixed(16), 10, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("committed_offset", Fixed(8), 0, MAX),
                            f("committed_leader_epoch", Fixed(4), 6, MAX),
                            f("committed_metadata", Str, 0, MAX).null(0),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // OffsetFetchRequest.json, valid 1-10.
    Shape {
        key: 9,
        flexible: 6,
        fields: &[
            f("group_id", Str, 0, 7),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, 7),
                    f("partition_indexes", Array(&Fixed(4)), 0, 7),
                ])),
                0,
                7,
            )
            .null(2),
            f(
                "groups",
                Array(&Struct(&[
                    f("group_id", Str, 8, MAX),
                    f("member_id", Str, 9, MAX).null(9),
                    f("member_epoch", Fixed(4), 9, MAX),
                    f(
                        "topics",
                        Array(&Struct(&[
                            f("name", Str, 8, 9),
                            f("topic_id", Fixed(16), 10, MAX),
                            f("partition_indexes", Array(&Fixed(4)), 8, MAX),
                        ])),
                        8,
                        MAX,
                    )
                    .null(8),
                ])),
                8,
                MAX,
            ),
            f("require_stable", Fixed(1), 7, MAX),
        ],
    },
    // FindCoordinatorRequest.json, valid 0-6.
    Shape {
        key: 10,
        flexible: 3,
        fields: &[
            f("key", Str, 0, 3),
            f("key_type", Fixed(1), 1, MAX),
            f("coordinator_keys", Array(&Str), 4, MAX),
        ],
    },
    // ApiVersionsRequest.json, valid 0-5.
    Shape {
        key: 18,
        flexible: 3,
        fields: &[
            f("client_software_name", Str, 3, MAX),
            f("client_software_version", Str, 3, MAX),
            f("cluster_id", Str, 5, MAX).null(5),
            f("node_id", Fixed(4), 5, MAX),
        ],
    },
    // CreateTopicsRequest.json, valid 2-7.
    Shape {
        key: 19,
        flexible: 5,
        fields: &[
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f("num_partitions", Fixed(4), 0, MAX),
                    f("replication_factor", Fixed(2), 0, MAX),
                    f(
                        "assignments",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("broker_ids", Array(&Fixed(4)), 0, MAX),
                        ])),
                        0,
                        MAX,
                    ),
                    f(
                        "configs",
                        Array(&Struct(&[f("name", Str, 0, MAX), f("value", Str, 0, MAX).null(0)])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
            f("timeout_ms", Fixed(4), 0, MAX),
            f("validate_only", Fixed(1), 1, MAX),
        ],
    },
    // DeleteTopicsRequest.json, valid 1-6.
    Shape {
        key: 20,
        flexible: 4,
        fields: &[
            f(
                "topics",
                Array(&Struct(&[f("name", Str, 6, MAX).null(6), f("topic_id", Fixed(16), 6, MAX)])),
                6,
                MAX,
            ),
            f("topic_names", Array(&Str), 0, 5),
            f("timeout_ms", Fixed(4), 0, MAX),
        ],
    },
    // DeleteRecordsRequest.json, valid 0-2.
    Shape {
        key: 21,
        flexible: 2,
        fields: &[
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("offset", Fixed(8), 0, MAX),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
            f("timeout_ms", Fixed(4), 0, MAX),
        ],
    },
    // InitProducerIdRequest.json, valid 0-6.
    Shape {
        key: 22,
        flexible: 2,
        fields: &[
            f("transactional_id", Str, 0, MAX).null(0),
            f("transaction_timeout_ms", Fixed(4), 0, MAX),
            f("producer_id", Fixed(8), 3, MAX),
            f("producer_epoch", Fixed(2), 3, MAX),
            f("enable2_pc", Fixed(1), 6, MAX),
            f("keep_prepared_txn", Fixed(1), 6, MAX),
        ],
    },
    // AddPartitionsToTxnRequest.json, valid 0-5.
    Shape {
        key: 24,
        flexible: 3,
        fields: &[
            f(
                "transactions",
                Array(&Struct(&[
                    f("transactional_id", Str, 4, MAX),
                    f("producer_id", Fixed(8), 4, MAX),
                    f("producer_epoch", Fixed(2), 4, MAX),
                    f("verify_only", Fixed(1), 4, MAX),
                    f(
                        "topics",
                        Array(&Struct(&[
                            f("name", Str, 0, MAX),
                            f("partitions", Array(&Fixed(4)), 0, MAX),
                        ])),
                        4,
                        MAX,
                    ),
                ])),
                4,
                MAX,
            ),
            f("v3_and_below_transactional_id", Str, 0, 3),
            f("v3_and_below_producer_id", Fixed(8), 0, 3),
            f("v3_and_below_producer_epoch", Fixed(2), 0, 3),
            f(
                "v3_and_below_topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f("partitions", Array(&Fixed(4)), 0, MAX),
                ])),
                0,
                3,
            ),
        ],
    },
    // AddOffsetsToTxnRequest.json, valid 0-4.
    Shape {
        key: 25,
        flexible: 3,
        fields: &[
            f("transactional_id", Str, 0, MAX),
            f("producer_id", Fixed(8), 0, MAX),
            f("producer_epoch", Fixed(2), 0, MAX),
            f("group_id", Str, 0, MAX),
        ],
    },
    // EndTxnRequest.json, valid 0-5.
    Shape {
        key: 26,
        flexible: 3,
        fields: &[
            f("transactional_id", Str, 0, MAX),
            f("producer_id", Fixed(8), 0, MAX),
            f("producer_epoch", Fixed(2), 0, MAX),
            f("committed", Fixed(1), 0, MAX),
        ],
    },
    // WriteTxnMarkersRequest.json, valid 1-2.
    Shape {
        key: 27,
        flexible: 1,
        fields: &[f(
            "markers",
            Array(&Struct(&[
                f("producer_id", Fixed(8), 0, MAX),
                f("producer_epoch", Fixed(2), 0, MAX),
                f("transaction_result", Fixed(1), 0, MAX),
                f(
                    "topics",
                    Array(&Struct(&[
                        f("name", Str, 0, MAX),
                        f("partition_indexes", Array(&Fixed(4)), 0, MAX),
                    ])),
                    0,
                    MAX,
                ),
                f("coordinator_epoch", Fixed(4), 0, MAX),
                f("transaction_version", Fixed(1), 2, MAX),
            ])),
            0,
            MAX,
        )],
    },
    // TxnOffsetCommitRequest.json, valid 0-6.
    Shape {
        key: 28,
        flexible: 3,
        fields: &[
            f("transactional_id", Str, 0, MAX),
            f("group_id", Str, 0, MAX),
            f("producer_id", Fixed(8), 0, MAX),
            f("producer_epoch", Fixed(2), 0, MAX),
            f("generation_id_or_member_epoch", Fixed(4), 3, MAX),
            f("member_id", Str, 3, MAX),
            f("group_instance_id", Str, 3, MAX).null(3),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, 5),
                    f("topic_id", Fixed(16), 6, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("committed_offset", Fixed(8), 0, MAX),
                            f("committed_leader_epoch", Fixed(4), 2, MAX),
                            f("committed_metadata", Str, 0, MAX).null(0),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // DescribeClusterRequest.json, valid 0-2.
    Shape {
        key: 60,
        flexible: 0,
        fields: &[
            f("include_cluster_authorized_operations", Fixed(1), 0, MAX),
            f("endpoint_type", Fixed(1), 1, MAX),
            f("include_fenced_brokers", Fixed(1), 2, MAX),
        ],
    },
    // DescribeProducersRequest.json, valid 0.
    Shape {
        key: 61,
        flexible: 0,
        fields: &[f(
            "topics",
            Array(&Struct(&[
                f("name", Str, 0, MAX),
                f("partition_indexes", Array(&Fixed(4)), 0, MAX),
            ])),
            0,
            MAX,
        )],
    },
    // DescribeTransactionsRequest.json, valid 0.
    Shape { key: 65, flexible: 0, fields: &[f("transactional_ids", Array(&Str), 0, MAX)] },
    // ListTransactionsRequest.json, valid 0-2.
    Shape {
        key: 66,
        flexible: 0,
        fields: &[
            f("state_filters", Array(&Str), 0, MAX),
            f("producer_id_filters", Array(&Fixed(8)), 0, MAX),
            f("duration_filter", Fixed(8), 1, MAX),
            f("transactional_id_pattern", Str, 2, MAX).null(2),
        ],
    },
    // JoinGroupRequest.json, valid 0-9.
    Shape {
        key: 11,
        flexible: 6,
        fields: &[
            f("group_id", Str, 0, MAX),
            f("session_timeout_ms", Fixed(4), 0, MAX),
            f("rebalance_timeout_ms", Fixed(4), 1, MAX),
            f("member_id", Str, 0, MAX),
            f("group_instance_id", Str, 5, MAX).null(5),
            f("protocol_type", Str, 0, MAX),
            f(
                "protocols",
                Array(&Struct(&[f("name", Str, 0, MAX), f("metadata", Blob, 0, MAX)])),
                0,
                MAX,
            ),
            f("reason", Str, 8, MAX).null(8),
        ],
    },
    // HeartbeatRequest.json, valid 0-4.
    Shape {
        key: 12,
        flexible: 4,
        fields: &[
            f("group_id", Str, 0, MAX),
            f("generation_id", Fixed(4), 0, MAX),
            f("member_id", Str, 0, MAX),
            f("group_instance_id", Str, 3, MAX).null(3),
        ],
    },
    // LeaveGroupRequest.json, valid 0-5.
    Shape {
        key: 13,
        flexible: 4,
        fields: &[
            f("group_id", Str, 0, MAX),
            f("member_id", Str, 0, 2),
            f(
                "members",
                Array(&Struct(&[
                    f("member_id", Str, 3, MAX),
                    f("group_instance_id", Str, 3, MAX).null(3),
                    f("reason", Str, 5, MAX).null(5),
                ])),
                3,
                MAX,
            ),
        ],
    },
    // SyncGroupRequest.json, valid 0-5.
    Shape {
        key: 14,
        flexible: 4,
        fields: &[
            f("group_id", Str, 0, MAX),
            f("generation_id", Fixed(4), 0, MAX),
            f("member_id", Str, 0, MAX),
            f("group_instance_id", Str, 3, MAX).null(3),
            f("protocol_type", Str, 5, MAX).null(5),
            f("protocol_name", Str, 5, MAX).null(5),
            f(
                "assignments",
                Array(&Struct(&[f("member_id", Str, 0, MAX), f("assignment", Blob, 0, MAX)])),
                0,
                MAX,
            ),
        ],
    },
    // DescribeGroupsRequest.json, valid 0-6.
    Shape {
        key: 15,
        flexible: 5,
        fields: &[
            f("groups", Array(&Str), 0, MAX),
            f("include_authorized_operations", Fixed(1), 3, MAX),
        ],
    },
    // ListGroupsRequest.json, valid 0-5.
    Shape {
        key: 16,
        flexible: 3,
        fields: &[f("states_filter", Array(&Str), 4, MAX), f("types_filter", Array(&Str), 5, MAX)],
    },
    // DeleteGroupsRequest.json, valid 0-3.
    Shape { key: 42, flexible: 2, fields: &[f("groups_names", Array(&Str), 0, MAX)] },
    // OffsetDeleteRequest.json, valid 0.
    Shape {
        key: 47,
        flexible: MAX,
        fields: &[
            f("group_id", Str, 0, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[f("partition_index", Fixed(4), 0, MAX)])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // ConsumerGroupHeartbeatRequest.json, valid 0-1.
    Shape {
        key: 68,
        flexible: 0,
        fields: &[
            f("group_id", Str, 0, MAX),
            f("member_id", Str, 0, MAX),
            f("member_epoch", Fixed(4), 0, MAX),
            f("instance_id", Str, 0, MAX).null(0),
            f("rack_id", Str, 0, MAX).null(0),
            f("rebalance_timeout_ms", Fixed(4), 0, MAX),
            f("subscribed_topic_names", Array(&Str), 0, MAX).null(0),
            f("subscribed_topic_regex", Str, 1, MAX).null(1),
            f("server_assignor", Str, 0, MAX).null(0),
            f(
                "topic_partitions",
                Array(&Struct(&[
                    f("topic_id", Fixed(16), 0, MAX),
                    f("partitions", Array(&Fixed(4)), 0, MAX),
                ])),
                0,
                MAX,
            )
            .null(0),
        ],
    },
    // ConsumerGroupDescribeRequest.json, valid 0-1.
    Shape {
        key: 69,
        flexible: 0,
        fields: &[
            f("group_ids", Array(&Str), 0, MAX),
            f("include_authorized_operations", Fixed(1), 0, MAX),
        ],
    },
];
