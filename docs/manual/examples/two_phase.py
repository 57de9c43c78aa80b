#!/usr/bin/env python3
"""Orders that are in an SQLite database and in a topic of Verdict, or in neither.

    two_phase.py run 5                       five orders
    two_phase.py run 5 --die prepared        the same, and dies in the middle of the fifth: before
                                             the database decides,
    two_phase.py run 5 --die decided         or after, before Verdict hears of it
    two_phase.py recover                     ends what the last instance left open
    two_phase.py check                       compares the database with the topic

Python 3 and nothing else: the few requests that it takes are written out below.
"""
import argparse, os, socket, sqlite3, struct, sys, time

TOPIC, TRANSACTIONAL_ID = "orders", "shop"
# The codes that a client tries again: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE,
# NOT_COORDINATOR, CONCURRENT_TRANSACTIONS, and UNKNOWN_TOPIC_OR_PARTITION of a topic just created.
AGAIN = {3, 14, 15, 16, 51}


# ---- The protocol: flexible versions only, so every length is a varint, one too large.

def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def text(s):
    return varint(len(s.encode()) + 1) + s.encode()


def array(items):
    return varint(len(items) + 1) + b"".join(items)


NO_TAGS = b"\0"


class Answer:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0] if len(values) == 1 else values

    def varint(self):
        n = shift = 0
        while True:
            byte = self.take("B")
            n, shift = n | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return n

    def bytes(self):
        size = max(self.varint() - 1, 0)
        self.at += size
        return self.data[self.at - size : self.at]

    def array(self, read):
        return [read() for _ in range(self.varint() - 1)]

    def tags(self):
        for _ in range(self.varint()):
            self.varint()
            self.at += self.varint()


class Broker:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=30)

    def ask(self, api, version, body):
        head = struct.pack(">hhih", api, version, 1, -1) + NO_TAGS
        self.socket.sendall(struct.pack(">i", len(head + body)) + head + body)
        answer = Answer(self.read(struct.unpack(">i", self.read(4))[0]))
        answer.take("i")
        answer.tags()
        return answer

    def read(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                sys.exit("the connection is gone")
            data += more
        return data

    def insist(self, request):
        """Asks again while the answer says so: the code is the first of what `request` returns."""
        for _ in range(200):
            code, *rest = request()
            if code not in AGAIN:
                return code, *rest
            time.sleep(0.05)
        sys.exit(f"still refused with code {code}")

    def create_topic(self):
        topic = text(TOPIC) + struct.pack(">ih", 1, 1) + array([]) + array([]) + NO_TAGS
        self.ask(19, 7, array([topic]) + struct.pack(">i?", 5000, False) + NO_TAGS)
        find = struct.pack(">b", 1) + array([text(TRANSACTIONAL_ID)]) + NO_TAGS

        def found():
            answer = self.ask(10, 4, find)
            answer.take("i")
            answer.varint(), answer.bytes(), answer.take("i"), answer.bytes(), answer.take("i")
            return (answer.take("h"),)

        self.insist(found)

    def init_producer_id(self):
        """A new instance that keeps what is open: who it is, and whose transaction it found."""
        body = text(TRANSACTIONAL_ID) + struct.pack(">iqh??", 60000, -1, -1, True, True) + NO_TAGS

        def given():
            answer = self.ask(22, 6, body)
            answer.take("i")
            return answer.take("h"), answer.take("qh"), answer.take("qh")

        code, producer, ongoing = self.insist(given)
        code and sys.exit(f"InitProducerId: code {code}")
        return producer, (ongoing if ongoing[0] >= 0 else None)

    def produce(self, producer, sequence, value):
        records = batch(producer, sequence, value)
        part = struct.pack(">i", 0) + varint(len(records) + 1) + records + NO_TAGS
        topic = text(TOPIC) + array([part]) + NO_TAGS
        body = text(TRANSACTIONAL_ID) + struct.pack(">hi", -1, 5000) + array([topic]) + NO_TAGS

        def written():
            answer = self.ask(0, 12, body)
            answer.varint(), answer.bytes(), answer.varint(), answer.take("i")
            return (answer.take("h"),)

        (code,) = self.insist(written)
        code and sys.exit(f"Produce: code {code}")

    def end(self, producer, commit):
        """EndTxn: who the producer is from here on."""
        body = text(TRANSACTIONAL_ID) + struct.pack(">qh?", *producer, commit) + NO_TAGS

        def ended():
            answer = self.ask(26, 5, body)
            answer.take("i")
            return answer.take("h"), answer.take("qh")

        code, producer = self.insist(ended)
        code and sys.exit(f"EndTxn: code {code}")
        return producer

    def committed(self):
        """Every value that read_committed shows, and the last stable offset and the end."""
        values, offset = [], 0
        while True:
            part = struct.pack(">iiqiqi", 0, -1, offset, -1, -1, 1 << 20) + NO_TAGS
            topic = text(TOPIC) + array([part]) + NO_TAGS
            body = struct.pack(">iiiibii", -1, 0, 1, 1 << 20, 1, 0, -1)
            answer = self.ask(1, 12, body + array([topic]) + array([]) + text("") + NO_TAGS)
            answer.take("ihi"), answer.varint(), answer.bytes(), answer.varint()
            _, code, end, stable, _ = answer.take("ihqqq")
            code and sys.exit(f"Fetch: code {code}")
            aborted = answer.array(lambda: (answer.take("qq"), answer.tags())[0])
            answer.take("i")
            last, shown = visible(answer.bytes(), aborted)
            values += [value for at, value in shown if at >= offset]
            if last < offset:
                return values, stable, end
            offset = last + 1


# ---- Record batches, one record each.

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def zigzag(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


def batch(producer, sequence, value):
    record = b"\0" + zigzag(0) + zigzag(0) + zigzag(-1) + zigzag(len(value)) + value + zigzag(0)
    now = int(time.time() * 1000)
    body = struct.pack(">hiqqqhii", 0x10, 0, now, now, *producer, sequence, 1)
    body += zigzag(len(record)) + record
    rest = struct.pack(">ibI", -1, 2, crc32c(body)) + body
    return struct.pack(">qi", 0, len(rest)) + rest


def visible(data, aborted):
    """The last offset of a fetch, and what is left of it without aborted transactions."""
    last, shown, hidden, aborted = -1, [], set(), sorted(aborted, key=lambda it: it[1])
    answer = Answer(data)
    while answer.at + 61 <= len(data):
        base, size = answer.take("qi")
        end = answer.at + size
        if end > len(data):
            break
        answer.take("ibI")
        attributes, delta, _, _, pid, _, _, count = answer.take("hiqqqhii")
        last = base + delta
        while aborted and aborted[0][1] <= last:
            hidden.add(aborted.pop(0)[0])
        if attributes & 0x20:
            hidden.discard(pid)
        elif pid not in hidden:
            for _ in range(count):
                answer.varint(), answer.take("b"), answer.varint()
                at = base + (answer.varint() >> 1)
                answer.varint()
                size = answer.varint() >> 1
                shown.append((at, data[answer.at : answer.at + size].decode()))
                answer.at += size
                answer.varint()
        answer.at = end
    return last, shown


# ---- The application.

def open_database(path):
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE IF NOT EXISTS orders (name TEXT PRIMARY KEY)")
    # The decisions: a row here commits the transaction that this producer began.
    database.execute("CREATE TABLE IF NOT EXISTS commits (pid INT, epoch INT, PRIMARY KEY (pid, epoch))")
    database.execute("CREATE TABLE IF NOT EXISTS owner (instance INT)")
    return database


def take_over(database, broker):
    """The next instance: fences the one before in the database, then in Verdict, and ends what it
    left open. The order matters: from the first step on nothing more can be decided for it."""
    database.execute("BEGIN IMMEDIATE")
    (instance,) = database.execute("SELECT coalesce(max(instance), 0) + 1 FROM owner").fetchone()
    database.execute("INSERT INTO owner VALUES (?)", (instance,))
    database.execute("COMMIT")
    producer, ongoing = broker.init_producer_id()
    if ongoing:
        found = database.execute("SELECT 1 FROM commits WHERE pid = ? AND epoch = ?", ongoing)
        commit = found.fetchone() is not None
        print(f"found {ongoing} open: the database says {'commit' if commit else 'abort'}")
        producer = broker.end(producer, commit)
    return instance, producer


def run(database, broker, count, die):
    instance, producer = take_over(database, broker)
    for number in range(1, count + 1):
        last = number == count
        name = f"order {instance}/{number}"
        # Prepared is what every answer has come for.
        broker.produce(producer, 0, name.encode())
        if last and die == "prepared":
            os._exit(1)
        # The decision: the application's rows and the producer, in one transaction.
        database.execute("BEGIN IMMEDIATE")
        (newest,) = database.execute("SELECT max(instance) FROM owner").fetchone()
        if newest != instance:
            sys.exit("another instance has taken over")
        database.execute("INSERT INTO orders VALUES (?)", (name,))
        database.execute("INSERT INTO commits VALUES (?, ?)", producer)
        database.execute("COMMIT")
        if last and die == "decided":
            os._exit(1)
        producer = broker.end(producer, True)
        print(f"{name} is in both")


def check(database, broker):
    values, stable, end = broker.committed()
    rows = {name for (name,) in database.execute("SELECT name FROM orders")}
    print(f"{len(rows)} orders in the database, {len(values)} in the topic", end="")
    print("" if stable == end else f"; a transaction is open from offset {stable} on")
    if sorted(rows) != sorted(values):
        print("only in the database:", sorted(rows - set(values)))
        print("only in the topic:", sorted(set(values) - rows))
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["run", "recover", "check"])
    parser.add_argument("count", type=int, nargs="?", default=3)
    parser.add_argument("--die", choices=["prepared", "decided"])
    parser.add_argument("--broker", default="127.0.0.1:9092")
    parser.add_argument("--database", default="orders.sqlite")
    given = parser.parse_args()
    database, broker = open_database(given.database), Broker(given.broker)
    broker.create_topic()
    if given.what == "run":
        run(database, broker, given.count, given.die)
    elif given.what == "recover":
        take_over(database, broker)
    else:
        check(database, broker)


main()
