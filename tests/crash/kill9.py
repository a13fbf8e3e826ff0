"""The real binary under kill -9: eight sessions write in mixed durability, the server dies at a random moment, starts again on the same
data directory, and every acknowledged commit is looked for.

    python3 kill9.py --binary target/release/hardpan --rounds 100     (needs python-tds)

Every transaction writes two rows, (client, number, 0) and (client, number, 1), in two statements. Wrong are: a fully durable transaction
that was acknowledged and is gone (LOST); one of its rows without the other (TORN); one that nobody began (PHANTOM); a delayed one that is gone
although a fully durable one, begun after its acknowledgement, was acknowledged (LOSTD).

    python3 kill9.py --binary target/release/hardpan --rounds 100 --delayed

All commits are delayed, nothing drains by itself (FLUSH = SUSPENDED), and the log cache outlives the process: every one that is gone is wrong
(LOSTD). With --log-cache OFF this must fail.

    python3 kill9.py --binary target/release/hardpan --rounds 100 --buffer /dev/shm

The database has a persisted log buffer in that file system of memory, and no log cache that outlives the process: no commit at all may be gone.

    python3 kill9.py --binary target/release/hardpan --rounds 100 --bounds 20 128

All commits are delayed (FORCED, FLUSH = SUSPENDED), and the log cache dies with the process: what is gone was acknowledged within 20 ms and has no
more than 128 KB of log (BOUND), or a bound was not kept.

With --sequences three more sessions draw values of sequences with and without a cache, in a transaction that never ends, identity values of committed
rows and rowversions of rows that are rolled back: none may come a second time, in any round (REPEAT). With --growth the files begin small and must
have grown by the end (GROWTH).
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytds

PASSWORD = "Kill-9-kill-9"
CLIENTS = 8


class Ledger:
    """What the clients know, in the order in which they knew it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.clock = 0
        self.begun, self.acknowledged, self.delayed = {}, {}, set()
        self.bytes, self.begun_at, self.told_at = {}, {}, {}
        self.values, self.repeats = {}, []

    def begin(self, key, delayed, bytes=0):
        with self.lock:
            self.clock += 1
            self.begun[key] = self.clock
            self.bytes[key], self.begun_at[key] = bytes, time.monotonic()
            if delayed:
                self.delayed.add(key)

    def acknowledge(self, key):
        with self.lock:
            self.clock += 1
            self.acknowledged[key] = self.clock
            self.told_at[key] = time.monotonic()

    def hand_out(self, name, value):
        """A session was told this value, of a counter that must never give it again."""
        with self.lock:
            if value in self.values.setdefault(name, set()):
                self.repeats.append(f"REPEAT {name} {value}")
            self.values[name].add(value)


def start(binary, data, log_cache, buffer=None):
    environment = dict(os.environ, HARDPAN_SA_PASSWORD=PASSWORD)
    server = subprocess.Popen([binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--log-cache", log_cache]
                              + (["--persistent-memory-test", "--allow-path", buffer] if buffer else []), env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        if "listening on" in line:
            return server, int(line.strip().rsplit(":", 1)[1])
    raise SystemExit("the server did not start")


def use_crash(cursor):
    """The server answers while databases are recovered: 922 until this one is."""
    for _ in range(600):
        try:
            cursor.execute("USE crash")
            return
        except pytds.Error as error:
            if "being recovered" not in str(error):
                raise
            time.sleep(0.1)
    raise RuntimeError("database crash is not recovered after a minute")


def connect(port):
    return pytds.connect(server="127.0.0.1", port=port, database="master", user="sa", password=PASSWORD, autocommit=True, login_timeout=10,
                         timeout=20)


# What the sessions of --sequences do, again and again, and what they begin with.
DRAWN = {
    "cached": ("BEGIN TRAN", "SELECT NEXT VALUE FOR cached"),
    "uncached": ("BEGIN TRAN", "SELECT NEXT VALUE FOR uncached"),
    "identity": ("", "INSERT numbered(c) OUTPUT inserted.id VALUES(1)"),
    "rowversion": ("", "BEGIN TRAN INSERT numbered(c) OUTPUT CAST(inserted.v AS bigint) VALUES(1) ROLLBACK"),
}


def draw(port, name, ledger):
    first, text = DRAWN[name]
    try:
        with connect(port) as connection, connection.cursor() as cursor:
            use_crash(cursor)
            if first:
                cursor.execute(first)
            while True:
                cursor.execute(text)
                ledger.hand_out(name, cursor.fetchall()[0][0])
    except Exception:  # the server is gone
        return


def work(port, client, first, ledger, seed, all_delayed, padding_max):
    choose = random.Random(seed)
    number = first
    try:
        with connect(port) as connection, connection.cursor() as cursor:
            use_crash(cursor)
            while True:
                number += 1
                delayed = all_delayed or choose.random() < 0.5
                padding = "x" * choose.randint(1, padding_max)
                option = " WITH (DELAYED_DURABILITY = ON)" if delayed else ""
                ledger.begin((client, number), delayed, 2 * len(padding))
                cursor.execute(f"SET NOCOUNT ON BEGIN TRAN INSERT t VALUES({client}, {number}, 0, '{padding}') "
                               f"INSERT t VALUES({client}, {number}, 1, '{padding}') COMMIT{option}")
                ledger.acknowledge((client, number))
    except Exception:  # the server is gone
        return


def judge(rows, ledger, none_may_go=False):
    have = {}
    for client, number, half in rows:
        have.setdefault((client, number), []).append(half)
    wrong = [f"TORN {key} has {halves}" for key, halves in have.items() if sorted(halves) != [0, 1]]
    wrong += [f"PHANTOM {key}" for key in have if key not in ledger.begun]
    gone = [key for key in ledger.acknowledged if key not in have]
    wrong += [f"LOST {key}" for key in gone if key not in ledger.delayed]
    barrier = max((ledger.begun[key] for key in ledger.acknowledged if key not in ledger.delayed), default=-1)
    wrong += [f"LOSTD {key}" for key in gone if key in ledger.delayed and (none_may_go or ledger.acknowledged[key] < barrier)]
    return wrong, len(gone)


def judge_bounds(rows, ledger, delay_ms, loss_kb):
    """What is gone of what was acknowledged: not acknowledged too long before the last of it, not too much."""
    have = {(client, number) for client, number, _ in rows}
    gone = [key for key in ledger.acknowledged if key not in have]
    if not gone:
        return [], 0, 0.0
    size = sum(ledger.bytes[key] for key in gone)
    span_ms = 1000 * (max(ledger.begun_at[key] for key in gone) - min(ledger.told_at[key] for key in gone))
    wrong = [f"BOUND {size} bytes of {len(gone)} are gone"] if size > loss_kb * 1024 else []
    wrong += [f"BOUND {span_ms:.1f} ms are gone"] if span_ms > delay_ms else []
    return wrong, size, max(span_ms, 0.0)


def judge_growth(before, after):
    return [] if after > 2 * before else [f"GROWTH: {before} pages at first, {after} at last"]


def check_judge():
    """The judge must find each fault before its word counts."""
    ledger = Ledger()
    ledger.begin((1, 1), True)
    ledger.acknowledge((1, 1))
    ledger.begin((1, 2), False)
    ledger.acknowledge((1, 2))
    good = [(1, 1, 0), (1, 1, 1), (1, 2, 0), (1, 2, 1)]
    assert judge(good, ledger)[0] == []
    assert judge(good[:2], ledger)[0] == ["LOST (1, 2)"]
    assert judge(good[:3], ledger)[0][0].startswith("TORN")
    assert judge(good[2:], ledger)[0] == ["LOSTD (1, 1)"]
    assert judge(good[:2], Ledger()) != ([], 0)
    ledger.delayed.add((1, 2))
    assert judge(good[:2], ledger) == ([], 1)
    assert judge(good[:2], ledger, none_may_go=True)[0] == ["LOSTD (1, 2)"]
    ledger.delayed.remove((1, 2))
    ledger.bytes = {(1, 1): 3000, (1, 2): 3000}
    ledger.begun_at, ledger.told_at = {(1, 1): 1.0, (1, 2): 1.9}, {(1, 1): 1.5, (1, 2): 2.0}
    assert judge_bounds(good, ledger, 0, 0)[0] == []
    assert judge_bounds([], ledger, 500, 6)[0] == []
    assert judge_bounds([], ledger, 500, 5)[0] == ["BOUND 6000 bytes of 2 are gone"]
    assert judge_bounds([], ledger, 300, 6)[0] == ["BOUND 400.0 ms are gone"]
    ledger.hand_out("a", 1)
    ledger.hand_out("b", 1)
    assert ledger.repeats == []
    ledger.hand_out("a", 1)
    assert ledger.repeats == ["REPEAT a 1"]
    assert judge_growth(10, 21) == [] and judge_growth(10, 20) != []
    assert judge(good + [(9, 9, 0), (9, 9, 1)], ledger)[0] == ["PHANTOM (9, 9)"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delayed", action="store_true", help="all commits are delayed, and none may be gone")
    parser.add_argument("--log-cache", default="/dev/shm", help="where the cache lies that outlives the process, or OFF")
    parser.add_argument("--buffer", help="a folder of tmpfs for a persisted log buffer; none of all commits may be gone")
    parser.add_argument("--bounds", nargs=2, type=int, metavar=("MS", "KB"), help="all commits are delayed, MAX_DELAY and MAX_LOSS bound what may be gone")
    parser.add_argument("--sequences", action="store_true", help="values of sequences, identities and rowversions never come again")
    parser.add_argument("--growth", action="store_true", help="files begin small and grow")
    arguments = parser.parse_args()
    if arguments.buffer or arguments.bounds:
        arguments.log_cache = "OFF"
    check_judge()
    data = tempfile.mkdtemp(prefix="hardpan-kill9-")
    shutil.rmtree(data)
    ledger, choose, failures = Ledger(), random.Random(arguments.seed), 0
    server, port = start(arguments.binary, data, arguments.log_cache, arguments.buffer)
    with connect(port) as connection, connection.cursor() as cursor:
        small = " ON (NAME = d, FILENAME = 'crash.mdf', SIZE = 2 MB, FILEGROWTH = 256 KB) LOG ON (NAME = l, FILENAME = 'crash.ldf', SIZE = 1 MB, FILEGROWTH = 512 KB)"
        cursor.execute("CREATE DATABASE crash" + (small if arguments.growth else ""))
        if arguments.buffer:
            cursor.execute(f"ALTER DATABASE crash SET PERSISTENT_LOG_BUFFER = ON (DIRECTORY_NAME = '{arguments.buffer}')")
        mode = "ALLOWED (FLUSH = SUSPENDED)" if arguments.delayed else "ALLOWED"
        if arguments.bounds:
            mode = "FORCED (FLUSH = SUSPENDED, MAX_DELAY = {} MS, MAX_LOSS = {} KB)".format(*arguments.bounds)
        cursor.execute(f"ALTER DATABASE crash SET DELAYED_DURABILITY = {mode}")
        cursor.execute("USE crash CREATE TABLE t(c int, n int, h int, pad varchar(2000), PRIMARY KEY(c, n, h)) "
                       "CREATE TABLE numbered(id int IDENTITY, v rowversion, c int)")
        cursor.execute("CREATE SEQUENCE cached AS bigint START WITH 1 CACHE 50")
        cursor.execute("CREATE SEQUENCE uncached AS bigint START WITH 1 NO CACHE")
        pages = "SELECT SUM(size) FROM sys.database_files"
        cursor.execute(pages)
        pages_before = cursor.fetchall()[0][0]
    all_delayed = arguments.delayed or bool(arguments.bounds)
    # The identity of a row that a crash takes may come again.
    drawn = [name for name in DRAWN if name != "identity" or not arguments.bounds] if arguments.sequences else []
    largest_kb, longest_ms = 0, 0.0
    for number in range(arguments.rounds):
        first = number * 1_000_000
        # Small transactions do not fill a log block within the delay: then it is MAX_DELAY that counts.
        padding_max = 20 if arguments.bounds and number % 2 else 1500
        threads = [threading.Thread(target=work, args=(port, client, first, ledger, choose.random(), all_delayed, padding_max)) for client in range(CLIENTS)]
        threads += [threading.Thread(target=draw, args=(port, name, ledger)) for name in drawn]
        for thread in threads:
            thread.start()
        time.sleep(choose.uniform(0.05, 1.2))
        server.send_signal(signal.SIGKILL)
        server.wait()
        for thread in threads:
            thread.join()
        before = time.monotonic()
        server, port = start(arguments.binary, data, arguments.log_cache, arguments.buffer)
        with connect(port) as connection, connection.cursor() as cursor:
            use_crash(cursor)
            cursor.execute("SELECT TOP 1 c FROM crash.dbo.t")
            cursor.fetchall()
            answered_s = time.monotonic() - before
            cursor.execute("SELECT c, n, h FROM crash.dbo.t")
            rows = cursor.fetchall()
        wrong, gone = judge(rows, ledger, arguments.delayed or bool(arguments.buffer))
        if arguments.bounds:
            beyond, size, span_ms = judge_bounds(rows, ledger, *arguments.bounds)
            wrong += beyond
            largest_kb, longest_ms = max(largest_kb, size // 1024), max(longest_ms, span_ms)
        wrong += ledger.repeats
        ledger.repeats = []
        failures += bool(wrong)
        print(f"round {number + 1}: {len(rows) // 2} transactions, {gone} delayed ones gone in all, first answer after "
              f"{answered_s:.2f} s{': ' + '; '.join(wrong[:5]) if wrong else ''}", flush=True)
        # What a crash took stays gone; it is not to be looked for again.
        present = {(c, n) for c, n, _ in rows}
        for key in list(ledger.acknowledged):
            if key not in present:
                del ledger.acknowledged[key]
    with connect(port) as connection, connection.cursor() as cursor:
        if arguments.growth:
            use_crash(cursor)
            cursor.execute(pages)
            wrong = judge_growth(pages_before, cursor.fetchall()[0][0])
            print("; ".join(wrong), end="\n" if wrong else "")
            failures += len(wrong)
            cursor.execute("USE master")
        if arguments.buffer:
            cursor.execute("DROP DATABASE crash")
    identity = os.stat(data)
    server.terminate()
    server.wait()
    if arguments.log_cache != "OFF":
        folder = os.path.join(arguments.log_cache, f"hardpan-data-{identity.st_dev:x}-{identity.st_ino:x}")
        if os.path.lexists(folder):
            failures += 1
            print(f"LEFT {folder}: a clean stop leaves no caches")
    shutil.rmtree(data, ignore_errors=True)
    if arguments.bounds:
        print(f"at most {largest_kb} KB and {longest_ms:.1f} ms of acknowledged commits were gone after a round")
    if drawn:
        print("handed out: " + ", ".join(f"{len(ledger.values.get(name, ()))} {name}" for name in drawn))
    print(f"{arguments.rounds - failures} passed, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
