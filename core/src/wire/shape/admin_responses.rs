//! The layout of the responses about configuration and the cluster; see [`super::responses`].

use super::Kind::{Array, Fixed, Str, Struct};
use super::{MAX, Shape, f};

/// One shape per API.
pub(super) const SHAPES: &[Shape] = &[
    // OffsetForLeaderEpochResponse.json, valid 2-4.
    Shape {
        key: 23,
        flexible: 4,
        fields: &[
            f("throttle_time_ms", Fixed(4), 2, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("topic", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("error_code", Fixed(2), 0, MAX),
                            f("partition", Fixed(4), 0, MAX),
                            f("leader_epoch", Fixed(4), 1, MAX),
                            f("end_offset", Fixed(8), 0, MAX),
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
    // DescribeAclsResponse.json, valid 1-3.
    Shape {
        key: 29,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("error_message", Str, 0, MAX).null(0),
            f(
                "resources",
                Array(&Struct(&[
                    f("resource_type", Fixed(1), 0, MAX),
                    f("resource_name", Str, 0, MAX),
                    f("pattern_type", Fixed(1), 1, MAX),
                    f(
                        "acls",
                        Array(&Struct(&[
                            f("principal", Str, 0, MAX),
                            f("host", Str, 0, MAX),
                            f("operation", Fixed(1), 0, MAX),
                            f("permission_type", Fixed(1), 0, MAX),
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
    // CreateAclsResponse.json, valid 1-3.
    Shape {
        key: 30,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "results",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 0, MAX).null(0),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // DeleteAclsResponse.json, valid 1-3.
    Shape {
        key: 31,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "filter_results",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 0, MAX).null(0),
                    f(
                        "matching_acls",
                        Array(&Struct(&[
                            f("error_code", Fixed(2), 0, MAX),
                            f("error_message", Str, 0, MAX).null(0),
                            f("resource_type", Fixed(1), 0, MAX),
                            f("resource_name", Str, 0, MAX),
                            f("pattern_type", Fixed(1), 1, MAX),
                            f("principal", Str, 0, MAX),
                            f("host", Str, 0, MAX),
                            f("operation", Fixed(1), 0, MAX),
                            f("permission_type", Fixed(1), 0, MAX),
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
    // DescribeConfigsResponse.json, valid 1-4.
    Shape {
        key: 32,
        flexible: 4,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "results",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 0, MAX).null(0),
                    f("resource_type", Fixed(1), 0, MAX),
                    f("resource_name", Str, 0, MAX),
                    f(
                        "configs",
                        Array(&Struct(&[
                            f("name", Str, 0, MAX),
                            f("value", Str, 0, MAX).null(0),
                            f("read_only", Fixed(1), 0, MAX),
                            f("config_source", Fixed(1), 1, MAX),
                            f("is_sensitive", Fixed(1), 0, MAX),
                            f(
                                "synonyms",
                                Array(&Struct(&[
                                    f("name", Str, 1, MAX),
                                    f("value", Str, 1, MAX).null(0),
                                    f("source", Fixed(1), 1, MAX),
                                ])),
                                1,
                                MAX,
                            ),
                            f("config_type", Fixed(1), 3, MAX),
                            f("documentation", Str, 3, MAX).null(0),
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
    // AlterConfigsResponse.json, valid 0-2.
    Shape {
        key: 33,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "responses",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 0, MAX).null(0),
                    f("resource_type", Fixed(1), 0, MAX),
                    f("resource_name", Str, 0, MAX),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // AlterReplicaLogDirsResponse.json, valid 1-2.
    Shape {
        key: 34,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "results",
                Array(&Struct(&[
                    f("topic_name", Str, 0, MAX),
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
    },
    // DescribeLogDirsResponse.json, valid 1-5.
    Shape {
        key: 35,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 3, MAX),
            f(
                "results",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("log_dir", Str, 0, MAX),
                    f(
                        "topics",
                        Array(&Struct(&[
                            f("name", Str, 0, MAX),
                            f(
                                "partitions",
                                Array(&Struct(&[
                                    f("partition_index", Fixed(4), 0, MAX),
                                    f("partition_size", Fixed(8), 0, MAX),
                                    f("offset_lag", Fixed(8), 0, MAX),
                                    f("is_future_key", Fixed(1), 0, MAX),
                                ])),
                                0,
                                MAX,
                            ),
                        ])),
                        0,
                        MAX,
                    ),
                    f("total_bytes", Fixed(8), 4, MAX),
                    f("usable_bytes", Fixed(8), 4, MAX),
                    f("is_cordoned", Fixed(1), 5, MAX),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // CreatePartitionsResponse.json, valid 0-3.
    Shape {
        key: 37,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "results",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 0, MAX).null(0),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // ElectLeadersResponse.json, valid 0-2.
    Shape {
        key: 43,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 1, MAX),
            f(
                "replica_election_results",
                Array(&Struct(&[
                    f("topic", Str, 0, MAX),
                    f(
                        "partition_result",
                        Array(&Struct(&[
                            f("partition_id", Fixed(4), 0, MAX),
                            f("error_code", Fixed(2), 0, MAX),
                            f("error_message", Str, 0, MAX).null(0),
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
    // IncrementalAlterConfigsResponse.json, valid 0-1.
    Shape {
        key: 44,
        flexible: 1,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "responses",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 0, MAX).null(0),
                    f("resource_type", Fixed(1), 0, MAX),
                    f("resource_name", Str, 0, MAX),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // AlterPartitionReassignmentsResponse.json, valid 0-1.
    Shape {
        key: 45,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("allow_replication_factor_change", Fixed(1), 1, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("error_message", Str, 0, MAX).null(0),
            f(
                "responses",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("error_code", Fixed(2), 0, MAX),
                            f("error_message", Str, 0, MAX).null(0),
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
    // ListPartitionReassignmentsResponse.json, valid 0.
    Shape {
        key: 46,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("error_message", Str, 0, MAX).null(0),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("replicas", Array(&Fixed(4)), 0, MAX),
                            f("adding_replicas", Array(&Fixed(4)), 0, MAX),
                            f("removing_replicas", Array(&Fixed(4)), 0, MAX),
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
    // DescribeClientQuotasResponse.json, valid 0-1.
    Shape {
        key: 48,
        flexible: 1,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("error_message", Str, 0, MAX).null(0),
            f(
                "entries",
                Array(&Struct(&[
                    f(
                        "entity",
                        Array(&Struct(&[
                            f("entity_type", Str, 0, MAX),
                            f("entity_name", Str, 0, MAX).null(0),
                        ])),
                        0,
                        MAX,
                    ),
                    f(
                        "values",
                        Array(&Struct(&[f("key", Str, 0, MAX), f("value", Fixed(8), 0, MAX)])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            )
            .null(0),
        ],
    },
    // DescribeUserScramCredentialsResponse.json, valid 0.
    Shape {
        key: 50,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("error_message", Str, 0, MAX).null(0),
            f(
                "results",
                Array(&Struct(&[
                    f("user", Str, 0, MAX),
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 0, MAX).null(0),
                    f(
                        "credential_infos",
                        Array(&Struct(&[
                            f("mechanism", Fixed(1), 0, MAX),
                            f("iterations", Fixed(4), 0, MAX),
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
    // DescribeQuorumResponse.json, valid 0-2.
    Shape {
        key: 55,
        flexible: 0,
        fields: &[
            f("error_code", Fixed(2), 0, MAX),
            f("error_message", Str, 2, MAX).null(2),
            f(
                "topics",
                Array(&Struct(&[
                    f("topic_name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("error_code", Fixed(2), 0, MAX),
                            f("error_message", Str, 2, MAX).null(2),
                            f("leader_id", Fixed(4), 0, MAX),
                            f("leader_epoch", Fixed(4), 0, MAX),
                            f("high_watermark", Fixed(8), 0, MAX),
                            f(
                                "current_voters",
                                Array(&Struct(&[
                                    f("replica_id", Fixed(4), 0, MAX),
                                    f("replica_directory_id", Fixed(16), 2, MAX),
                                    f("log_end_offset", Fixed(8), 0, MAX),
                                    f("last_fetch_timestamp", Fixed(8), 1, MAX),
                                    f("last_caught_up_timestamp", Fixed(8), 1, MAX),
                                ])),
                                0,
                                MAX,
                            ),
                            f(
                                "observers",
                                Array(&Struct(&[
                                    f("replica_id", Fixed(4), 0, MAX),
                                    f("replica_directory_id", Fixed(16), 2, MAX),
                                    f("log_end_offset", Fixed(8), 0, MAX),
                                    f("last_fetch_timestamp", Fixed(8), 1, MAX),
                                    f("last_caught_up_timestamp", Fixed(8), 1, MAX),
                                ])),
                                0,
                                MAX,
                            ),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
            f(
                "nodes",
                Array(&Struct(&[
                    f("node_id", Fixed(4), 2, MAX),
                    f(
                        "listeners",
                        Array(&Struct(&[
                            f("name", Str, 2, MAX),
                            f("host", Str, 2, MAX),
                            f("port", Fixed(2), 2, MAX),
                        ])),
                        2,
                        MAX,
                    ),
                ])),
                2,
                MAX,
            ),
        ],
    },
    // UpdateFeaturesResponse.json, valid 0-2.
    Shape {
        key: 57,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("error_message", Str, 0, MAX).null(0),
            f(
                "results",
                Array(&Struct(&[
                    f("feature", Str, 0, MAX),
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 0, MAX).null(0),
                ])),
                0,
                1,
            ),
        ],
    },
    // ListConfigResourcesResponse.json, valid 0-1.
    Shape {
        key: 74,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f(
                "config_resources",
                Array(&Struct(&[
                    f("resource_name", Str, 0, MAX),
                    f("resource_type", Fixed(1), 1, MAX),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // DescribeTopicPartitionsResponse.json, valid 0.
    Shape {
        key: 75,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("name", Str, 0, MAX).null(0),
                    f("topic_id", Fixed(16), 0, MAX),
                    f("is_internal", Fixed(1), 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("error_code", Fixed(2), 0, MAX),
                            f("partition_index", Fixed(4), 0, MAX),
                            f("leader_id", Fixed(4), 0, MAX),
                            f("leader_epoch", Fixed(4), 0, MAX),
                            f("replica_nodes", Array(&Fixed(4)), 0, MAX),
                            f("isr_nodes", Array(&Fixed(4)), 0, MAX),
                            f("eligible_leader_replicas", Array(&Fixed(4)), 0, MAX).null(0),
                            f("last_known_elr", Array(&Fixed(4)), 0, MAX).null(0),
                            f("offline_replicas", Array(&Fixed(4)), 0, MAX),
                        ])),
                        0,
                        MAX,
                    ),
                    f("topic_authorized_operations", Fixed(4), 0, MAX),
                ])),
                0,
                MAX,
            ),
            f(
                "next_cursor",
                Struct(&[f("topic_name", Str, 0, MAX), f("partition_index", Fixed(4), 0, MAX)]),
                0,
                MAX,
            )
            .null(0),
        ],
    },
];
