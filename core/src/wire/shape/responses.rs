//! The layout of every served response, from the schemas of Apache Kafka 4.4.0.
//!
//! Fields that no served version has are kept out. The order is the order on the wire; tagged
//! fields stand where the schema has them and travel at the end of their struct.

use super::Kind::{Array, Blob, Fixed, Str, Struct};
use super::group_responses as groups;
use super::{MAX, Shape, f};

/// One shape per API.
pub(super) const SHAPES: &[Shape] = &[
    // ProduceResponse.json, valid 3-13.
    Shape {
        key: 0,
        flexible: 9,
        fields: &[
            f(
                "responses",
                Array(&Struct(&[
                    f("name", Str, 0, 12),
                    f("topic_id", Fixed(16), 13, MAX),
                    f(
                        "partition_responses",
                        Array(&Struct(&[
                            f("index", Fixed(4), 0, MAX),
                            f("error_code", Fixed(2), 0, MAX),
                            f("base_offset", Fixed(8), 0, MAX),
                            f("log_append_time_ms", Fixed(8), 2, MAX),
                            f("log_start_offset", Fixed(8), 5, MAX),
                            f(
                                "record_errors",
                                Array(&Struct(&[
                                    f("batch_index", Fixed(4), 8, MAX),
                                    f("batch_index_error_message", Str, 8, MAX).null(8),
                                ])),
                                8,
                                MAX,
                            ),
                            f("error_message", Str, 8, MAX).null(8),
                            f(
                                "current_leader",
                                Struct(&[
                                    f("leader_id", Fixed(4), 10, MAX),
                                    f("leader_epoch", Fixed(4), 10, MAX),
                                ]),
                                10,
                                MAX,
                            )
                            .tag(0),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
            f("throttle_time_ms", Fixed(4), 1, MAX),
            f(
                "node_endpoints",
                Array(&Struct(&[
                    f("node_id", Fixed(4), 10, MAX),
                    f("host", Str, 10, MAX),
                    f("port", Fixed(4), 10, MAX),
                    f("rack", Str, 10, MAX).null(10),
                ])),
                10,
                MAX,
            )
            .tag(0),
        ],
    },
    // FetchResponse.json, valid 4-18.
    Shape {
        key: 1,
        flexible: 12,
        fields: &[
            f("throttle_time_ms", Fixed(4), 1, MAX),
            f("error_code", Fixed(2), 7, MAX),
            f("session_id", Fixed(4), 7, MAX),
            f(
                "responses",
                Array(&Struct(&[
                    f("topic", Str, 0, 12),
                    f("topic_id", Fixed(16), 13, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("error_code", Fixed(2), 0, MAX),
                            f("high_watermark", Fixed(8), 0, MAX),
                            f("last_stable_offset", Fixed(8), 4, MAX),
                            f("log_start_offset", Fixed(8), 5, MAX),
                            f(
                                "diverging_epoch",
                                Struct(&[
                                    f("epoch", Fixed(4), 12, MAX),
                                    f("end_offset", Fixed(8), 12, MAX),
                                ]),
                                12,
                                MAX,
                            )
                            .tag(0),
                            f(
                                "current_leader",
                                Struct(&[
                                    f("leader_id", Fixed(4), 12, MAX),
                                    f("leader_epoch", Fixed(4), 12, MAX),
                                ]),
                                12,
                                MAX,
                            )
                            .tag(1),
                            f(
                                "snapshot_id",
                                Struct(&[
                                    f("end_offset", Fixed(8), 0, MAX),
                                    f("epoch", Fixed(4), 0, MAX),
                                ]),
                                12,
                                MAX,
                            )
                            .tag(2),
                            f(
                                "aborted_transactions",
                                Array(&Struct(&[
                                    f("producer_id", Fixed(8), 4, MAX),
                                    f("first_offset", Fixed(8), 4, MAX),
                                ])),
                                4,
                                MAX,
                            )
                            .null(4),
                            f("preferred_read_replica", Fixed(4), 11, MAX),
                            f("records", Blob, 0, MAX).null(0),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                MAX,
            ),
            f(
                "node_endpoints",
                Array(&Struct(&[
                    f("node_id", Fixed(4), 16, MAX),
                    f("host", Str, 16, MAX),
                    f("port", Fixed(4), 16, MAX),
                    f("rack", Str, 16, MAX).null(16),
                ])),
                16,
                MAX,
            )
            .tag(0),
        ],
    },
    // ListOffsetsResponse.json, valid 1-11.
    Shape {
        key: 2,
        flexible: 6,
        fields: &[
            f("throttle_time_ms", Fixed(4), 2, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("error_code", Fixed(2), 0, MAX),
                            f("timestamp", Fixed(8), 1, MAX),
                            f("offset", Fixed(8), 1, MAX),
                            f("leader_epoch", Fixed(4), 4, MAX),
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
    // MetadataResponse.json, valid 0-13.
    Shape {
        key: 3,
        flexible: 9,
        fields: &[
            f("throttle_time_ms", Fixed(4), 3, MAX),
            f(
                "brokers",
                Array(&Struct(&[
                    f("node_id", Fixed(4), 0, MAX),
                    f("host", Str, 0, MAX),
                    f("port", Fixed(4), 0, MAX),
                    f("rack", Str, 1, MAX).null(1),
                ])),
                0,
                MAX,
            ),
            f("cluster_id", Str, 2, MAX).null(2),
            f("controller_id", Fixed(4), 1, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("name", Str, 0, MAX).null(12),
                    f("topic_id", Fixed(16), 10, MAX),
                    f("is_internal", Fixed(1), 1, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("error_code", Fixed(2), 0, MAX),
                            f("partition_index", Fixed(4), 0, MAX),
                            f("leader_id", Fixed(4), 0, MAX),
                            f("leader_epoch", Fixed(4), 7, MAX),
                            f("replica_nodes", Array(&Fixed(4)), 0, MAX),
                            f("isr_nodes", Array(&Fixed(4)), 0, MAX),
                            f("offline_replicas", Array(&Fixed(4)), 5, MAX),
                        ])),
                        0,
                        MAX,
                    ),
                    f("topic_authorized_operations", Fixed(4), 8, MAX),
                ])),
                0,
                MAX,
            ),
            f("cluster_authorized_operations", Fixed(4), 8, 10),
            f("error_code", Fixed(2), 13, MAX),
        ],
    },
    groups::OFFSET_COMMIT,
    groups::OFFSET_FETCH,
    // FindCoordinatorResponse.json, valid 0-6.
    Shape {
        key: 10,
        flexible: 3,
        fields: &[
            f("throttle_time_ms", Fixed(4), 1, MAX),
            f("error_code", Fixed(2), 0, 3),
            f("error_message", Str, 1, 3).null(1),
            f("node_id", Fixed(4), 0, 3),
            f("host", Str, 0, 3),
            f("port", Fixed(4), 0, 3),
            f(
                "coordinators",
                Array(&Struct(&[
                    f("key", Str, 4, MAX),
                    f("node_id", Fixed(4), 4, MAX),
                    f("host", Str, 4, MAX),
                    f("port", Fixed(4), 4, MAX),
                    f("error_code", Fixed(2), 4, MAX),
                    f("error_message", Str, 4, MAX).null(4),
                ])),
                4,
                MAX,
            ),
        ],
    },
    // ApiVersionsResponse.json, valid 0-5.
    Shape {
        key: 18,
        flexible: 3,
        fields: &[
            f("error_code", Fixed(2), 0, MAX),
            f(
                "api_keys",
                Array(&Struct(&[
                    f("api_key", Fixed(2), 0, MAX),
                    f("min_version", Fixed(2), 0, MAX),
                    f("max_version", Fixed(2), 0, MAX),
                ])),
                0,
                MAX,
            ),
            f("throttle_time_ms", Fixed(4), 1, MAX),
            f(
                "supported_features",
                Array(&Struct(&[
                    f("name", Str, 3, MAX),
                    f("min_version", Fixed(2), 3, MAX),
                    f("max_version", Fixed(2), 3, MAX),
                ])),
                3,
                MAX,
            )
            .tag(0),
            f("finalized_features_epoch", Fixed(8), 3, MAX).tag(1),
            f(
                "finalized_features",
                Array(&Struct(&[
                    f("name", Str, 3, MAX),
                    f("max_version_level", Fixed(2), 3, MAX),
                    f("min_version_level", Fixed(2), 3, MAX),
                ])),
                3,
                MAX,
            )
            .tag(2),
            f("zk_migration_ready", Fixed(1), 3, MAX).tag(3),
        ],
    },
    // CreateTopicsResponse.json, valid 2-7.
    Shape {
        key: 19,
        flexible: 5,
        fields: &[
            f("throttle_time_ms", Fixed(4), 2, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f("topic_id", Fixed(16), 7, MAX),
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 1, MAX).null(0),
                    f("topic_config_error_code", Fixed(2), 5, MAX).tag(0),
                    f("num_partitions", Fixed(4), 5, MAX),
                    f("replication_factor", Fixed(2), 5, MAX),
                    f(
                        "configs",
                        Array(&Struct(&[
                            f("name", Str, 5, MAX),
                            f("value", Str, 5, MAX).null(5),
                            f("read_only", Fixed(1), 5, MAX),
                            f("config_source", Fixed(1), 5, MAX),
                            f("is_sensitive", Fixed(1), 5, MAX),
                        ])),
                        5,
                        MAX,
                    )
                    .null(5),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // DeleteTopicsResponse.json, valid 1-6.
    Shape {
        key: 20,
        flexible: 4,
        fields: &[
            f("throttle_time_ms", Fixed(4), 1, MAX),
            f(
                "responses",
                Array(&Struct(&[
                    f("name", Str, 0, MAX).null(6),
                    f("topic_id", Fixed(16), 6, MAX),
                    f("error_code", Fixed(2), 0, MAX),
                    f("error_message", Str, 5, MAX).null(5),
                ])),
                0,
                MAX,
            ),
        ],
    },
    // DeleteRecordsResponse.json, valid 0-2.
    Shape {
        key: 21,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "topics",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "partitions",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("low_watermark", Fixed(8), 0, MAX),
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
    // InitProducerIdResponse.json, valid 0-6.
    Shape {
        key: 22,
        flexible: 2,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("producer_id", Fixed(8), 0, MAX),
            f("producer_epoch", Fixed(2), 0, MAX),
            f("ongoing_txn_producer_id", Fixed(8), 6, MAX),
            f("ongoing_txn_producer_epoch", Fixed(2), 6, MAX),
        ],
    },
    // AddPartitionsToTxnResponse.json, valid 0-5.
    Shape {
        key: 24,
        flexible: 3,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 4, MAX),
            f(
                "results_by_transaction",
                Array(&Struct(&[
                    f("transactional_id", Str, 4, MAX),
                    f(
                        "topic_results",
                        Array(&Struct(&[
                            f("name", Str, 0, MAX),
                            f(
                                "results_by_partition",
                                Array(&Struct(&[
                                    f("partition_index", Fixed(4), 0, MAX),
                                    f("partition_error_code", Fixed(2), 0, MAX),
                                ])),
                                0,
                                MAX,
                            ),
                        ])),
                        4,
                        MAX,
                    ),
                ])),
                4,
                MAX,
            ),
            f(
                "results_by_topic_v3_and_below",
                Array(&Struct(&[
                    f("name", Str, 0, MAX),
                    f(
                        "results_by_partition",
                        Array(&Struct(&[
                            f("partition_index", Fixed(4), 0, MAX),
                            f("partition_error_code", Fixed(2), 0, MAX),
                        ])),
                        0,
                        MAX,
                    ),
                ])),
                0,
                3,
            ),
        ],
    },
    // AddOffsetsToTxnResponse.json, valid 0-4.
    Shape {
        key: 25,
        flexible: 3,
        fields: &[f("throttle_time_ms", Fixed(4), 0, MAX), f("error_code", Fixed(2), 0, MAX)],
    },
    // EndTxnResponse.json, valid 0-5.
    Shape {
        key: 26,
        flexible: 3,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("producer_id", Fixed(8), 5, MAX),
            f("producer_epoch", Fixed(2), 5, MAX),
        ],
    },
    // WriteTxnMarkersResponse.json, valid 1-2.
    Shape {
        key: 27,
        flexible: 1,
        fields: &[f(
            "markers",
            Array(&Struct(&[
                f("producer_id", Fixed(8), 0, MAX),
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
            ])),
            0,
            MAX,
        )],
    },
    groups::TXN_OFFSET_COMMIT,
    // DescribeClusterResponse.json, valid 0-2.
    Shape {
        key: 60,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("error_message", Str, 0, MAX).null(0),
            f("endpoint_type", Fixed(1), 1, MAX),
            f("cluster_id", Str, 0, MAX),
            f("controller_id", Fixed(4), 0, MAX),
            f(
                "brokers",
                Array(&Struct(&[
                    f("broker_id", Fixed(4), 0, MAX),
                    f("host", Str, 0, MAX),
                    f("port", Fixed(4), 0, MAX),
                    f("rack", Str, 0, MAX).null(0),
                    f("is_fenced", Fixed(1), 2, MAX),
                ])),
                0,
                MAX,
            ),
            f("cluster_authorized_operations", Fixed(4), 0, MAX),
        ],
    },
    // DescribeProducersResponse.json, valid 0.
    Shape {
        key: 61,
        flexible: 0,
        fields: &[
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
                            f("error_message", Str, 0, MAX).null(0),
                            f(
                                "active_producers",
                                Array(&Struct(&[
                                    f("producer_id", Fixed(8), 0, MAX),
                                    f("producer_epoch", Fixed(4), 0, MAX),
                                    f("last_sequence", Fixed(4), 0, MAX),
                                    f("last_timestamp", Fixed(8), 0, MAX),
                                    f("coordinator_epoch", Fixed(4), 0, MAX),
                                    f("current_txn_start_offset", Fixed(8), 0, MAX),
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
        ],
    },
    // DescribeTransactionsResponse.json, valid 0.
    Shape {
        key: 65,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f(
                "transaction_states",
                Array(&Struct(&[
                    f("error_code", Fixed(2), 0, MAX),
                    f("transactional_id", Str, 0, MAX),
                    f("transaction_state", Str, 0, MAX),
                    f("transaction_timeout_ms", Fixed(4), 0, MAX),
                    f("transaction_start_time_ms", Fixed(8), 0, MAX),
                    f("producer_id", Fixed(8), 0, MAX),
                    f("producer_epoch", Fixed(2), 0, MAX),
                    f(
                        "topics",
                        Array(&Struct(&[
                            f("topic", Str, 0, MAX),
                            f("partitions", Array(&Fixed(4)), 0, MAX),
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
    // ListTransactionsResponse.json, valid 0-2.
    Shape {
        key: 66,
        flexible: 0,
        fields: &[
            f("throttle_time_ms", Fixed(4), 0, MAX),
            f("error_code", Fixed(2), 0, MAX),
            f("unknown_state_filters", Array(&Str), 0, MAX),
            f(
                "transaction_states",
                Array(&Struct(&[
                    f("transactional_id", Str, 0, MAX),
                    f("producer_id", Fixed(8), 0, MAX),
                    f("transaction_state", Str, 0, MAX),
                ])),
                0,
                MAX,
            ),
        ],
    },
    groups::JOIN_GROUP,
    groups::HEARTBEAT,
    groups::LEAVE_GROUP,
    groups::SYNC_GROUP,
    groups::DESCRIBE_GROUPS,
    groups::LIST_GROUPS,
    groups::DELETE_GROUPS,
    groups::OFFSET_DELETE,
    groups::CONSUMER_GROUP_HEARTBEAT,
    groups::CONSUMER_GROUP_DESCRIBE,
];
