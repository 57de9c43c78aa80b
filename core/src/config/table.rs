//! The table of every setting that is known (those of [`super::PENDING`] do nothing yet): Kafka's names, its 4.4.0 defaults and bounds
//! (as `AbstractKafkaConfig.CONFIG_DEF` has them), and Verdict's own under `verdict.`.
//!
//! One line each: field, type, default, the default as text, name, smallest and largest value.
//! Replication factors are a single node's.

use alloc::string::String;

use super::properties::properties;
use super::value::{
    CleanupPolicy, CompressionType, Durability, MessageTimestampType, MigrationPolicy, Ratio,
};

const MIN: i64 = i64::MIN;
const MAX: i64 = i64::MAX;

properties! {
    /// The node's id, as clients and other nodes see it.
    node_id: i32 = 1, "1", "node.id", [0, MAX];
    /// Partitions of a topic that is created without a number.
    num_partitions: i32 = 1, "1", "num.partitions", [1, MAX];
    /// Whether asking for an unknown topic's metadata creates it.
    auto_create_topics_enable: bool = true, "true", "auto.create.topics.enable", [MIN, MAX];
    /// Whether topics can be deleted.
    delete_topic_enable: bool = true, "true", "delete.topic.enable", [MIN, MAX];
    /// Replicas of a topic that is created without a number.
    default_replication_factor: i32 = 1, "1", "default.replication.factor", [MIN, MAX];
    /// Replicas that must have a record before acks=all is answered (topic: `min.insync.replicas`).
    min_insync_replicas: i32 = 1, "1", "min.insync.replicas", [1, MAX];
    /// Largest record batch, in bytes (topic: `max.message.bytes`).
    message_max_bytes: i32 = 1048588, "1048588", "message.max.bytes", [0, MAX];
    /// Largest record of a compressed batch, in bytes once decompressed.
    max_decompressed_message_bytes: i32 =
        2147483639, "2147483639", "max.decompressed.message.bytes", [1, 2147483639];
    /// The codec of what is stored (topic: `compression.type`).
    compression_type: CompressionType =
        CompressionType::Producer, "producer", "compression.type", [MIN, MAX];
    /// Whose timestamps the log keeps (topic: `message.timestamp.type`).
    log_message_timestamp_type: MessageTimestampType =
        MessageTimestampType::CreateTime, "CreateTime", "log.message.timestamp.type", [MIN, MAX];
    /// How far a record's timestamp may lie before the broker's clock, in ms.
    log_message_timestamp_before_max_ms: i64 =
        i64::MAX, "9223372036854775807", "log.message.timestamp.before.max.ms", [0, MAX];
    /// How far a record's timestamp may lie after the broker's clock, in ms.
    log_message_timestamp_after_max_ms: i64 =
        3600000, "3600000", "log.message.timestamp.after.max.ms", [0, MAX];
    /// What happens to old records (topic: `cleanup.policy`).
    log_cleanup_policy: CleanupPolicy =
        CleanupPolicy::DELETE, "delete", "log.cleanup.policy", [MIN, MAX];
    /// Size at which a segment is closed, in bytes (topic: `segment.bytes`).
    log_segment_bytes: i32 = 1073741824, "1073741824", "log.segment.bytes", [1048576, MAX];
    /// How long a deleted segment's files stay, in ms.
    log_segment_delete_delay_ms: i64 = 60000, "60000", "log.segment.delete.delay.ms", [0, MAX];
    /// Bytes of records between two entries of an index.
    log_index_interval_bytes: i32 = 4096, "4096", "log.index.interval.bytes", [0, MAX];
    /// Size at which an index is full and its segment is closed, in bytes.
    log_index_size_max_bytes: i32 = 10485760, "10485760", "log.index.size.max.bytes", [4, MAX];
    /// Age at which a segment is closed, in hours, when `log.roll.ms` is not set.
    log_roll_hours: i32 = 168, "168", "log.roll.hours", [1, MAX];
    /// Age at which a segment is closed, in ms.
    log_roll_ms: Option<i64> = None, "", "log.roll.ms", [MIN, MAX];
    /// Age at which records may be deleted, in hours, when neither minutes nor ms are set;
    /// -1 keeps them.
    log_retention_hours: i32 = 168, "168", "log.retention.hours", [MIN, MAX];
    /// Age at which records may be deleted, in minutes, when ms is not set; -1 keeps them.
    log_retention_minutes: Option<i32> = None, "", "log.retention.minutes", [MIN, MAX];
    /// Age at which records may be deleted, in ms; -1 keeps them.
    log_retention_ms: Option<i64> = None, "", "log.retention.ms", [MIN, MAX];
    /// Size above which a partition's oldest segments may be deleted, in bytes; -1 for none.
    log_retention_bytes: i64 = -1, "-1", "log.retention.bytes", [MIN, MAX];
    /// How often retention is looked at, in ms.
    log_retention_check_interval_ms: i64 =
        300000, "300000", "log.retention.check.interval.ms", [1, MAX];
    /// Whether compacted topics are compacted at all.
    log_cleaner_enable: bool = true, "true", "log.cleaner.enable", [MIN, MAX];
    /// How often a log to compact is looked for, in ms.
    log_cleaner_backoff_ms: i64 = 15000, "15000", "log.cleaner.backoff.ms", [0, MAX];
    /// Bytes that the keys of one log may take while it is compacted; what does not fit is for the
    /// next time.
    log_cleaner_dedupe_buffer_size: i64 =
        134217728, "134217728", "log.cleaner.dedupe.buffer.size", [MIN, MAX];
    /// Part of a log that must be new before it is compacted (topic: `min.cleanable.dirty.ratio`).
    log_cleaner_min_cleanable_ratio: Ratio =
        Ratio { ppm: 500_000 }, "0.5", "log.cleaner.min.cleanable.ratio", [MIN, MAX];
    /// How long a compacted topic keeps its tombstones, in ms (topic: `delete.retention.ms`).
    log_cleaner_delete_retention_ms: i64 =
        86400000, "86400000", "log.cleaner.delete.retention.ms", [0, MAX];
    /// How long a record is safe from compaction, in ms.
    log_cleaner_min_compaction_lag_ms: i64 = 0, "0", "log.cleaner.min.compaction.lag.ms", [0, MAX];
    /// How long a record may wait for compaction, in ms.
    log_cleaner_max_compaction_lag_ms: i64 =
        i64::MAX, "9223372036854775807", "log.cleaner.max.compaction.lag.ms", [1, MAX];
    /// Longest transaction timeout a client may ask for, in ms.
    transaction_max_timeout_ms: i32 = 900000, "900000", "transaction.max.timeout.ms", [1, MAX];
    /// How long an unused transactional id is remembered, in ms.
    transactional_id_expiration_ms: i32 =
        604800000, "604800000", "transactional.id.expiration.ms", [1, MAX];
    /// How often transactions are looked at for their timeout, in ms.
    transaction_abort_timed_out_transaction_cleanup_interval_ms: i32 =
        10000, "10000", "transaction.abort.timed.out.transaction.cleanup.interval.ms", [1, MAX];
    /// How often transactional ids are looked at for their expiry, in ms.
    transaction_remove_expired_transaction_cleanup_interval_ms: i32 =
        3600000, "3600000", "transaction.remove.expired.transaction.cleanup.interval.ms", [1, MAX];
    /// Whether a client may leave a transaction's end to an outer coordinator (KIP-939).
    transaction_two_phase_commit_enable: bool =
        false, "false", "transaction.two.phase.commit.enable", [MIN, MAX];
    /// Partitions of `__transaction_state`; never to change once it exists.
    transaction_state_log_num_partitions: i32 =
        50, "50", "transaction.state.log.num.partitions", [1, MAX];
    /// Replicas of `__transaction_state`; Kafka's default is 3, a single node's is 1.
    transaction_state_log_replication_factor: i16 =
        1, "1", "transaction.state.log.replication.factor", [1, MAX];
    /// `min.insync.replicas` of `__transaction_state`; Kafka's default is 2, a single node's is 1.
    transaction_state_log_min_isr: i32 = 1, "1", "transaction.state.log.min.isr", [1, MAX];
    /// Size of a segment of `__transaction_state`, in bytes.
    transaction_state_log_segment_bytes: i32 =
        104857600, "104857600", "transaction.state.log.segment.bytes", [1, MAX];
    /// Bytes read at a time when `__transaction_state` is loaded.
    transaction_state_log_load_buffer_size: i32 =
        5242880, "5242880", "transaction.state.log.load.buffer.size", [1, MAX];
    /// Whether a partition asks the coordinator before it takes transactional records (KIP-890).
    transaction_partition_verification_enable: bool =
        true, "true", "transaction.partition.verification.enable", [MIN, MAX];
    /// Pause before a partition asks a busy coordinator again, in ms.
    add_partitions_to_txn_retry_backoff_ms: i32 =
        20, "20", "add.partitions.to.txn.retry.backoff.ms", [1, MAX];
    /// How long a partition goes on asking a busy coordinator, in ms.
    add_partitions_to_txn_retry_backoff_max_ms: i32 =
        100, "100", "add.partitions.to.txn.retry.backoff.max.ms", [0, MAX];
    /// How long a partition remembers a silent producer, in ms.
    producer_id_expiration_ms: i32 = 86400000, "86400000", "producer.id.expiration.ms", [1, MAX];
    /// How often partitions look for producers to forget, in ms.
    producer_id_expiration_check_interval_ms: i32 =
        600000, "600000", "producer.id.expiration.check.interval.ms", [1, MAX];
    /// Partitions of `__consumer_offsets`; never to change once it exists.
    offsets_topic_num_partitions: i32 = 50, "50", "offsets.topic.num.partitions", [1, MAX];
    /// Replicas of `__consumer_offsets`; Kafka's default is 3, a single node's is 1.
    offsets_topic_replication_factor: i16 = 1, "1", "offsets.topic.replication.factor", [1, MAX];
    /// Size of a segment of `__consumer_offsets`, in bytes.
    offsets_topic_segment_bytes: i32 =
        104857600, "104857600", "offsets.topic.segment.bytes", [1, MAX];
    /// Bytes read at a time when `__consumer_offsets` is loaded.
    offsets_load_buffer_size: i32 = 5242880, "5242880", "offsets.load.buffer.size", [1, MAX];
    /// How long an offset commit may wait for durability, in ms.
    offsets_commit_timeout_ms: i32 = 5000, "5000", "offsets.commit.timeout.ms", [1, MAX];
    /// Longest metadata beside a committed offset, in UTF-16 units.
    offset_metadata_max_bytes: i32 = 4096, "4096", "offset.metadata.max.bytes", [MIN, MAX];
    /// How long an unused group's offsets are kept, in minutes.
    offsets_retention_minutes: i32 = 10080, "10080", "offsets.retention.minutes", [1, MAX];
    /// How often offsets are looked at for their expiry, in ms.
    offsets_retention_check_interval_ms: i64 =
        600000, "600000", "offsets.retention.check.interval.ms", [1, MAX];
    /// How long an internal request (a marker, a verification) may take, in ms.
    request_timeout_ms: i32 = 30000, "30000", "request.timeout.ms", [MIN, MAX];
    /// Largest request, in bytes after its size field.
    socket_request_max_bytes: i32 = 104857600, "104857600", "socket.request.max.bytes", [1, MAX];
    /// How long a silent connection is kept, in ms.
    connections_max_idle_ms: i64 = 600000, "600000", "connections.max.idle.ms", [MIN, MAX];
    /// Most connections at a time.
    max_connections: i32 = i32::MAX, "2147483647", "max.connections", [0, MAX];
    /// Most connections at a time from one address.
    max_connections_per_ip: i32 = i32::MAX, "2147483647", "max.connections.per.ip", [0, MAX];
    /// Most requests waiting for the node.
    queued_max_requests: i32 = 500, "500", "queued.max.requests", [1, MAX];
    /// Most bytes of requests waiting for the node; -1 for no bound of its own.
    queued_max_request_bytes: i64 = -1, "-1", "queued.max.request.bytes", [MIN, MAX];
    /// Most bytes of records in one fetch answer.
    fetch_max_bytes: i32 = 57671680, "57671680", "fetch.max.bytes", [1024, MAX];
    /// Most incremental fetch sessions.
    max_incremental_fetch_session_cache_slots: i32 =
        1000, "1000", "max.incremental.fetch.session.cache.slots", [0, MAX];
    /// Most partitions in one answer of DescribeTopicPartitions.
    max_request_partition_size_limit: i32 =
        2000, "2000", "max.request.partition.size.limit", [1, MAX];
    /// How long a follower may lag before it leaves the in-sync set, in ms.
    replica_lag_time_max_ms: i64 = 30000, "30000", "replica.lag.time.max.ms", [MIN, MAX];
    /// Most bytes a follower asks for of one partition.
    replica_fetch_max_bytes: i32 = 1048576, "1048576", "replica.fetch.max.bytes", [0, MAX];
    /// Most bytes a follower asks for at once.
    replica_fetch_response_max_bytes: i32 =
        10485760, "10485760", "replica.fetch.response.max.bytes", [0, MAX];
    /// How long a follower's fetch may wait, in ms.
    replica_fetch_wait_max_ms: i32 = 500, "500", "replica.fetch.wait.max.ms", [MIN, MAX];
    /// Fewest bytes a follower's fetch waits for.
    replica_fetch_min_bytes: i32 = 1, "1", "replica.fetch.min.bytes", [MIN, MAX];
    /// Whether a replica that lacks acknowledged records may lead.
    unclean_leader_election_enable: bool =
        false, "false", "unclean.leader.election.enable", [MIN, MAX];
    /// Whether API versions under development are served.
    unstable_api_versions_enable: bool = false, "false", "unstable.api.versions.enable", [MIN, MAX];
    /// Whether feature levels under development may be finalized.
    unstable_feature_versions_enable: bool =
        false, "false", "unstable.feature.versions.enable", [MIN, MAX];
    /// Shortest session timeout of a classic member, in ms.
    group_min_session_timeout_ms: i32 = 6000, "6000", "group.min.session.timeout.ms", [MIN, MAX];
    /// Longest session timeout of a classic member, in ms.
    group_max_session_timeout_ms: i32 =
        1800000, "1800000", "group.max.session.timeout.ms", [MIN, MAX];
    /// How long a new group waits for more members, in ms.
    group_initial_rebalance_delay_ms: i32 =
        3000, "3000", "group.initial.rebalance.delay.ms", [MIN, MAX];
    /// Most members of a classic group.
    group_max_size: i32 = i32::MAX, "2147483647", "group.max.size", [1, MAX];
    /// Session timeout of a consumer-protocol member, in ms.
    group_consumer_session_timeout_ms: i32 =
        45000, "45000", "group.consumer.session.timeout.ms", [1, MAX];
    /// Smallest such timeout a group may set, in ms.
    group_consumer_min_session_timeout_ms: i32 =
        45000, "45000", "group.consumer.min.session.timeout.ms", [1, MAX];
    /// Largest such timeout a group may set, in ms.
    group_consumer_max_session_timeout_ms: i32 =
        60000, "60000", "group.consumer.max.session.timeout.ms", [1, MAX];
    /// Heartbeat interval of a consumer-protocol member, in ms.
    group_consumer_heartbeat_interval_ms: i32 =
        5000, "5000", "group.consumer.heartbeat.interval.ms", [1, MAX];
    /// Smallest such interval a group may set, in ms.
    group_consumer_min_heartbeat_interval_ms: i32 =
        5000, "5000", "group.consumer.min.heartbeat.interval.ms", [1, MAX];
    /// Largest such interval a group may set, in ms.
    group_consumer_max_heartbeat_interval_ms: i32 =
        15000, "15000", "group.consumer.max.heartbeat.interval.ms", [1, MAX];
    /// Most members of a consumer-protocol group.
    group_consumer_max_size: i32 = i32::MAX, "2147483647", "group.consumer.max.size", [1, MAX];
    /// Which way a group may move between the classic and the consumer protocol.
    group_consumer_migration_policy: MigrationPolicy =
        MigrationPolicy::Bidirectional, "bidirectional", "group.consumer.migration.policy", [MIN, MAX];
    /// How often a group's assignment is computed at most, in ms.
    group_consumer_assignment_interval_ms: i32 =
        1000, "1000", "group.consumer.assignment.interval.ms", [0, 15000];
    /// How long the topics of a regular expression count when no topic is created, in ms.
    group_consumer_regex_refresh_interval_ms: i32 =
        600000, "600000", "group.consumer.regex.refresh.interval.ms", [10000, MAX];
    /// Size of a segment of the metadata log, in bytes.
    metadata_log_segment_bytes: i32 =
        1073741824, "1073741824", "metadata.log.segment.bytes", [8388608, MAX];
    /// What an acknowledgement promises: `fsync` on disk, `os` in the page cache (as Apache Kafka).
    verdict_durability: Durability = Durability::Fsync, "fsync", "verdict.durability", [MIN, MAX];
    /// Size of each of the two journal files, in bytes.
    verdict_journal_bytes: u64 = 67108864, "67108864", "verdict.journal.bytes", [1048576, MAX];
    /// A batch of this many bytes or more goes to its segment at once, and the journal names the
    /// place only; -1 for 65536 with durability `os` and none with `fsync`.
    verdict_place_bytes: i64 = -1, "-1", "verdict.place.bytes", [-1, MAX];
    /// Memory for recent record batches, in bytes.
    verdict_cache_bytes: u64 = 67108864, "67108864", "verdict.cache.bytes", [0, MAX];
    /// Fewest bytes of one partition that go to a consumer straight from the segment file
    /// (`sendfile`).
    verdict_sendfile_min_bytes: u64 = 65536, "65536", "verdict.sendfile.min.bytes", [1, MAX];
    /// How often segments are synced and the journal is recycled, in ms.
    verdict_checkpoint_interval_ms: u64 =
        60000, "60000", "verdict.checkpoint.interval.ms", [1, MAX];
    /// Most bytes of requests between socket and answer, over all connections, and as many of
    /// answers; a larger one goes alone.
    verdict_inflight_bytes: u64 = 268435456, "268435456", "verdict.inflight.bytes", [1, MAX];
    /// How long a fetch session must be unused before any other may take its place, in ms (a
    /// constant in Apache Kafka).
    verdict_fetch_session_eviction_ms: u64 =
        120000, "120000", "verdict.fetch.session.eviction.ms", [1, MAX];
    /// Client logs that are opened with each input after a start.
    verdict_recovery_logs_per_turn: i32 = 64, "64", "verdict.recovery.logs.per.turn", [1, 1000000];
    /// The finalized level of the feature transaction.version.
    transaction_version: i16 = 2, "2", "verdict.feature.transaction.version", [0, 2];
}
