"""What kafka-python sees of a Verdict that was started for it: transactions, fencing, groups."""

import re
import subprocess
import sys

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError

# No check waits longer: a broker that hangs fails them.
PATIENCE_S = 60


def producer(broker, transactional_id):
    client = KafkaProducer(
        bootstrap_servers=broker, transactional_id=transactional_id, transaction_timeout_ms=30_000
    )
    client.init_transactions()
    return client


def send(client, topic, *values):
    for value in values:
        client.send(topic, value.encode(), partition=0).get(PATIENCE_S)


def transact(client, topic, value, commit):
    client.begin_transaction()
    send(client, topic, value)
    client.commit_transaction() if commit else client.abort_transaction()


def read(broker, topic, isolation, count):
    """The first `count` values of partition 0, and where it ends for that isolation."""
    reader = KafkaConsumer(
        bootstrap_servers=broker, isolation_level=isolation, consumer_timeout_ms=PATIENCE_S * 1000
    )
    at = TopicPartition(topic, 0)
    reader.assign([at])
    reader.seek_to_beginning(at)
    values = [next(reader).value.decode() for _ in range(count)]
    end = reader.end_offsets([at])[at]
    reader.close()
    return values, end


def committed_and_aborted_records_are_told_apart(broker):
    client = producer(broker, "isolation")
    transact(client, "isolation", "aborted", commit=False)
    transact(client, "isolation", "committed", commit=True)
    client.close()
    assert read(broker, "isolation", "read_committed", 1)[0] == ["committed"]
    assert read(broker, "isolation", "read_uncommitted", 2)[0] == ["aborted", "committed"]


def an_open_transaction_holds_back_the_end(broker):
    client = producer(broker, "open")
    transact(client, "open", "first", commit=True)
    client.begin_transaction()
    send(client, "open", "second")
    assert read(broker, "open", "read_committed", 1) == (["first"], 2)
    assert read(broker, "open", "read_uncommitted", 2) == (["first", "second"], 3)
    client.commit_transaction()
    client.close()
    assert read(broker, "open", "read_committed", 2) == (["first", "second"], 4)


def a_second_producer_fences_the_first(broker):
    old = producer(broker, "fencing")
    old.begin_transaction()
    send(old, "fencing", "of the zombie")
    heir = producer(broker, "fencing")
    try:
        old.commit_transaction()
        raise AssertionError("a zombie committed")
    except KafkaError:
        pass
    transact(heir, "fencing", "of the heir", commit=True)
    heir.close()
    assert read(broker, "fencing", "read_committed", 1)[0] == ["of the heir"]


def offsets_move_with_the_transaction(broker):
    source = KafkaProducer(bootstrap_servers=broker)
    send(source, "source", "a", "b")
    client = producer(broker, "chain")
    reader = KafkaConsumer(
        "source",
        bootstrap_servers=broker,
        group_id="chain",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=PATIENCE_S * 1000,
    )
    at = TopicPartition("source", 0)
    for commit, expected in [(False, None), (True, 1)]:
        record = next(reader)
        client.begin_transaction()
        send(client, "target", record.value.decode())
        client.send_offsets_to_transaction(
            {at: OffsetAndMetadata(record.offset + 1, "", -1)}, reader.group_metadata()
        )
        client.commit_transaction() if commit else client.abort_transaction()
        assert reader.committed(at) == expected, (commit, reader.committed(at))
        # What was not committed is read again.
        reader.seek(at, 0)
    for one in (reader, client, source):
        one.close()
    assert read(broker, "target", "read_committed", 1)[0] == ["a"]


def main():
    checks = [
        committed_and_aborted_records_are_told_apart,
        an_open_transaction_holds_back_the_end,
        a_second_producer_fences_the_first,
        offsets_move_with_the_transaction,
    ]
    serve = [sys.argv[1], "serve", "--ephemeral", "--listen", "127.0.0.1:0", "--log", "warn"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        try:
            broker = re.search(r"127\.0\.0\.1:\d+", server.stdout.readline())[0]
            admin = KafkaAdminClient(bootstrap_servers=broker)
            names = ["isolation", "open", "fencing", "source", "target"]
            admin.create_topics([NewTopic(name, 1, 1) for name in names])
            admin.close()
            for check in checks:
                check(broker)
                print("ok", check.__name__.replace("_", " "))
        finally:
            server.terminate()
    print(f"kafka-python: {len(checks)} passed")


main()
