//! The layout of the requests about configuration and the cluster; see [`super::requests`].

use super::Kind::{Array, Fixed, Str, Struct};
use super::{MAX, Shape, f};

/// One shape per API.
pub(super) const SHAPES: &[Shape] = &[
    // OffsetForLeaderEpochRequest.json, valid 2-4.
    Shape {
        key: 23,
        flexible: 4,
        fields: &[
            f("replica_id", Fixed(4), 3, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("topic", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition", Fixed(4), 0, MAX),
                            f("current_leader_epoch", Fixed(4), 2, MAX),
                            f("leader_epoch", Fixed(4), 0, MAX),
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
    // DescribeAclsRequest.json, valid 1-3.
    Shape {
        key: 29,
        flexible: 2,
        fields: &[
            f("resource_type_filter", Fixed(1), 0, MAX),
            f("resource_name_filter", Str, 0, MAX).null(0),
            f("pattern_type_filter", Fixed(1), 1, MAX),
            f("principal_filter", Str, 0, MAX).null(0),
            f("host_filter", Str, 0, MAX).null(0),
            f("operation", Fixed(1), 0, MAX),
            f("permission_type", Fixed(1), 0, MAX),
        ],
    },
    // CreateAclsRequest.json, valid 1-3.
    Shape {
        key: 30,
        flexible: 2,
        fields: &[f(
            "creations",
            Array(&Struct(&[
                f("resource_type", Fixed(1), 0, MAX),
                f("resource_name", Str, 0, MAX),
                f("resource_pattern_type", Fixed(1), 1, MAX),
                f("principal", Str, 0, MAX),
                f("host", Str, 0, MAX),
                f("operation", Fixed(1), 0, MAX),
                f("permission_type", Fixed(1), 0, MAX),
            ])),
            0,
            MAX,
        )],
    },
    // DeleteAclsRequest.json, valid 1-3.
    Shape {
        key: 31,
        flexible: 2,
        fields: &[f(
            "filters",
            Array(&Struct(&[
                f("resource_type_filter", Fixed(1), 0, MAX),
                f("resource_name_filter", Str, 0, MAX).null(0),
                f("pattern_type_filter", Fixed(1), 1, MAX),
                f("principal_filter", Str, 0, MAX).null(0),
                f("host_filter", Str, 0, MAX).null(0),
                f("operation", Fixed(1), 0, MAX),
                f("permission_type", Fixed(1), 0, MAX),
            ])),
            0,
            MAX,
        )],
    },
    // DescribeConfigsRequest.json, valid 1-4.
    Shape {
        key: 32,
        flexible: 4,
        fields: &[
            f(
                "resources",
                Array(&Struct(&[
                    f("resource_type", Fixed(1), 0, MAX),
                    f("resource_name", Str, 0, MAX),
                    f("configuration_keys", Array(&Str), 0, MAX).null(0),
                ])),
                0,
                MAX,
            ),
            f("include_synonyms", Fixed(1), 1, MAX),
            f("include_documentation", Fixed(1), 3, MAX),
        ],
    },
    // AlterConfigsRequest.json, valid 0-2.
    Shape {
        key: 33,
        flexible: 2,
        fields: &[
            f(
                "resources",
                Array(&Struct(&[
                    f("resource_type", Fixed(1), 0, MAX),
                    f("resource_name", Str, 0, MAX),
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
            f("validate_only", Fixed(1), 0, MAX),
        ],
    },
    // AlterReplicaLogDirsRequest.json, valid 1-2.
    Shape {
        key: 34,
        flexible: 2,
        fields: &[f(
            "dirs",
            Array(&Struct(&[
                f("path", Str, 0, MAX),
                f(
                    "topics",
                    Array(&Struct(&[
                        f("name", Str, 0, MAX),
                        f("partitions", Array(&Fixed(4)), 0, MAX),
                    ])),
                    0,
                    MAX,
                ),
            ])),
            0,
            MAX,
        )],
    },
    // DescribeLogDirsRequest.json, valid 1-5.
    Shape {
        key: 35,
        flexible: 2,
        fields: &[f(
            "topics",
            Array(&Struct(&[f("topic", Str, 0, MAX), f("partitions", Array(&Fixed(4)), 0, MAX)])),
            0,
            MAX,
        )
        .null(0)],
    },
    // CreatePartitionsRequest.json, valid 0-3.
    Shape {
        key: 37,
        flexible: 2,
        fields: &[
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f("count", Fixed(4), 0, MAX),
                    f(
                        "assignments",
                        Array(&Struct(&[f("broker_ids", Array(&Fixed(4)), 0, MAX)])),
                        0,
                        MAX,
                    )
                    .null(0),
                ])),
                0,
                MAX,
            ),
            f("timeout_ms", Fixed(4), 0, MAX),
            f("validate_only", Fixed(1), 0, MAX),
        ],
    },
    // ElectLeadersRequest.json, valid 0-2.
    Shape {
        key: 43,
        flexible: 2,
        fields: &[
            f("election_type", Fixed(1), 1, MAX),
            f(
                "topic_partitions",
                Array(&Struct(&[
                    f("topic", Str, 0, MAX),
                    f("partitions", Array(&Fixed(4)), 0, MAX),
                ])),
                0,
                MAX,
            )
            .null(0),
            f("timeout_ms", Fixed(4), 0, MAX),
        ],
    },
    // IncrementalAlterConfigsRequest.json, valid 0-1.
    Shape {
        key: 44,
        flexible: 1,
        fields: &[
            f(
                "resources",
                Array(&Struct(&[
                    f("resource_type", Fixed(1), 0, MAX),
                    f("resource_name", Str, 0, MAX),
                    f(
                        "configs",
                        Array(&Struct(&[
                            f("name", Str, 0, MAX),
                            f("config_operation", Fixed(1), 0, MAX),
                            f("value", Str, 0, MAX).null(0),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
            f("validate_only", Fixed(1), 0, MAX),
        ],
    },
    // AlterPartitionReassignmentsRequest.json, valid 0-1.
    Shape {
        key: 45,
        flexible: 0,
        fields: &[
            f("timeout_ms", Fixed(4), 0, MAX),
            f("allow_replication_factor_change", Fixed(1), 1, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("replicas", Array(&Fixed(4)), 0, MAX).null(0),
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
    // ListPartitionReassignmentsRequest.json, valid 0.
    Shape {
        key: 46,
        flexible: 0,
        fields: &[
            f("timeout_ms", Fixed(4), 0, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f("partition_indexes", Array(&Fixed(4)), 0, MAX),
                ])),
                0,
                MAX,
            )
            .null(0),
        ],
    },
    // DescribeClientQuotasRequest.json, valid 0-1.
    Shape {
        key: 48,
        flexible: 1,
        fields: &[
            f(
                "components",
                Array(&Struct(&[
                    f("entity_type", Str, 0, MAX),
                    f("match_type", Fixed(1), 0, MAX),
                    f("match", Str, 0, MAX).null(0),
                ])),
                0,
                MAX,
            ),
            f("strict", Fixed(1), 0, MAX),
        ],
    },
    // DescribeUserScramCredentialsRequest.json, valid 0.
    Shape {
        key: 50,
        flexible: 0,
        fields: &[f("users", Array(&Struct(&[f("name", Str, 0, MAX)])), 0, MAX).null(0)],
    },
    // DescribeQuorumRequest.json, valid 0-2.
    Shape {
        key: 55,
        flexible: 0,
        fields: &[f(
            "topics",
            Array(&Struct(&[
                f("topic_name", Str, 0, MAX),
                f("partitions", Array(&Struct(&[f("partition_index", Fixed(4), 0, MAX)])), 0, MAX),
            ])),
            0,
            MAX,
        )],
    },
    // UpdateFeaturesRequest.json, valid 0-2.
    Shape {
        key: 57,
        flexible: 0,
        fields: &[
            f("timeout_ms", Fixed(4), 0, MAX),
            f(
                "feature_updates",
                Array(&Struct(&[
                    f("feature", Str, 0, MAX),
                    f("max_version_level", Fixed(2), 0, MAX),
                    f("allow_downgrade", Fixed(1), 0, 0),
                    f("upgrade_type", Fixed(1), 1, MAX),
                ])),
                0,
                MAX,
            ),
            f("validate_only", Fixed(1), 1, MAX),
        ],
    },
    // ListConfigResourcesRequest.json, valid 0-1.
    Shape { key: 74, flexible: 0, fields: &[f("resource_types", Array(&Fixed(1)), 1, MAX)] },
    // DescribeTopicPartitionsRequest.json, valid 0.
    Shape {
        key: 75,
        flexible: 0,
        fields: &[
            f("topics", Array(&Struct(&[f("name", Str, 0, MAX)])), 0, MAX),
            f("response_partition_limit", Fixed(4), 0, MAX),
            f(
                "cursor",
                Struct(&[f("topic_name", Str, 0, MAX), f("partition_index", Fixed(4), 0, MAX)]),
                0,
                MAX,
            )
            .null(0),
        ],
    },
];
