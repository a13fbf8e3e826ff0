"""The first article's experiment on the real server, from a stock client: how often the log is flushed by many small and by one large
transaction, fully and delayed durable, in a user database and in tempdb, and by sequences of different caches. Prints two Markdown tables, the
article's numbers beside ours.

Each measurement is one batch of the article's template: options, a new table, the counter and the clock, the loop, the counter and the clock
again. Run it by run.sh.
"""
import argparse
import mmap
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PASSWORD = "Article-000-flushes"
USER_DATABASE = "PerformanceV3"

# name, database, option, COMMIT's own option, one transaction?, the article's flushes and seconds (for 1,000,000 rows)
EXPERIMENTS = [
    ("full small", USER_DATABASE, "Disabled", "", False, "1,000,036", "193"),
    ("full large", USER_DATABASE, "Disabled", "", True, "1,758", "7"),
    ("delayed small", USER_DATABASE, "Forced", "", False, "95,407", "22"),
    ("delayed large", USER_DATABASE, "Forced", "", True, "1,759", "8"),
    ("asked small", USER_DATABASE, "Allowed", " WITH (DELAYED_DURABILITY = ON)", False, "(as Forced)", ""),
    ("asked large", USER_DATABASE, "Allowed", " WITH (DELAYED_DURABILITY = ON)", True, "(as Forced)", ""),
    ("tempdb full small", "tempdb", "Disabled", "", False, "5,095", "19"),
    ("tempdb full large", "tempdb", "Disabled", "", True, "1,228", "9"),
    ("tempdb delayed small", "tempdb", "Forced", "", False, "5,091", "18"),
    ("tempdb delayed large", "tempdb", "Forced", "", True, "1,226", "9"),
]

# database, option, cache, the article's flushes and seconds (for 1,000,000 rows)
SEQUENCES = [
    (USER_DATABASE, "Disabled", "NO CACHE", "1,000,047", "171"),
    (USER_DATABASE, "Disabled", "CACHE 50", "20,008", "4"),
    (USER_DATABASE, "Disabled", "CACHE 10000", "339", "< 1"),
    ("tempdb", "Disabled", "NO CACHE", "96", "4"),
    ("tempdb", "Disabled", "CACHE 50", "74", "1"),
    ("tempdb", "Disabled", "CACHE 10000", "8", "< 1"),
    (USER_DATABASE, "Forced", "NO CACHE", "1,000,045", "166"),
    (USER_DATABASE, "Forced", "CACHE 50", "20,011", "4"),
    (USER_DATABASE, "Forced", "CACHE 10000", "334", "< 1"),
    ("tempdb", "Forced", "NO CACHE", "91", "4"),
    ("tempdb", "Forced", "CACHE 50", "74", "1"),
    ("tempdb", "Forced", "CACHE 10000", "8", "< 1"),
]
# Not the article's: the next range hardened while this one is used, and what it is measured against.
AHEAD = [
    (USER_DATABASE, "Disabled", "CACHE 1000000", "", ""),
    (USER_DATABASE, "Disabled", "CACHE 50 WITH (HARDEN_AHEAD = OFF)", "", ""),
    (USER_DATABASE, "Disabled", "CACHE 50 WITH (HARDEN_AHEAD = ON)", "", ""),
]

# A stand-in for the article's function: so many rows, numbered, without a table.
GET_NUMS = """CREATE FUNCTION dbo.GetNums(@low AS BIGINT, @high AS BIGINT) RETURNS TABLE AS RETURN
  SELECT TOP (@high - @low + 1) a.number AS n
  FROM master..spt_values AS a CROSS JOIN master..spt_values AS b CROSS JOIN master..spt_values AS c"""

# Around the work of either experiment.
COUNT_FROM = """SET @logflushes = ( SELECT cntr_value FROM sys.dm_os_performance_counters
                    WHERE counter_name = 'Log Flushes/sec'
                      AND instance_name = @db );
SET @starttime = SYSDATETIME();
"""
COUNT_TO = """
SET @duration = DATEDIFF(second, @starttime, SYSDATETIME());
SET @logflushes = ( SELECT cntr_value FROM sys.dm_os_performance_counters
                    WHERE counter_name = 'Log Flushes/sec'
                      AND instance_name = @db ) - @logflushes;
SELECT
  @duration AS durationinseconds,
  @logflushes AS logflushes;"""

SEQUENCE_BATCH = """SET NOCOUNT ON;
USE {database}; -- try PerformanceV3, tempdb

ALTER DATABASE {database}         -- try PerformanceV3, tempdb
  SET DELAYED_DURABILITY = {option}; -- try Disabled, Forced

DROP TABLE IF EXISTS dbo.T1;

DROP SEQUENCE IF EXISTS dbo.Seq1;

CREATE SEQUENCE dbo.Seq1 AS BIGINT MINVALUE 1 {cache}; -- try NO CACHE, CACHE 50, CACHE 10000

DECLARE @db AS sysname = N'{database}';
DECLARE @logflushes AS INT, @starttime AS DATETIME2, @duration AS INT, @n AS BIGINT;
""" + COUNT_FROM + """{work}""" + COUNT_TO

INTO = """SELECT
  -- n -- to test without seq
  NEXT VALUE FOR dbo.Seq1 AS n -- to test sequence
INTO dbo.T1
FROM PerformanceV3.dbo.GetNums(1, {rows}) AS N;"""
# Nothing is stored: what is flushed is the sequence's alone.
ASSIGNED = "SELECT @n = NEXT VALUE FOR dbo.Seq1 FROM PerformanceV3.dbo.GetNums(1, {rows}) AS N;"

BATCH = """SET NOCOUNT ON;
USE {database};
ALTER DATABASE {database} SET DELAYED_DURABILITY = {option};
DROP TABLE IF EXISTS dbo.T1;
CREATE TABLE dbo.T1(col1 INT NOT NULL);
DECLARE @db AS sysname = N'{database}';
DECLARE @logflushes AS INT, @starttime AS DATETIME2, @duration AS INT;
""" + COUNT_FROM + """{before}
DECLARE @i AS INT = 1;
WHILE @i <= {rows}
BEGIN
  {begin}
    INSERT INTO dbo.T1(col1) VALUES(@i);
  {commit}
  SET @i += 1;
END;
{after}""" + COUNT_TO


def batch(database, option, asked, large, rows):
    begin, commit = "BEGIN TRAN", f"COMMIT TRAN{asked};"
    parts = dict(before=f"{begin};" if large else "", after=commit if large else "", begin="" if large else begin, commit="" if large else commit)
    return BATCH.format(database=database, option=option, rows=rows, **parts)


def start(binary, data, *options):
    environment = dict(os.environ, HARDPAN_SA_PASSWORD=PASSWORD)
    server = subprocess.Popen([binary, "serve", "--data", data, "--listen", "127.0.0.1:0", *options], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        if "listening on" in line:
            return server, int(line.strip().rsplit(":", 1)[1])
    raise SystemExit("the server did not start")


def connect(client, port):
    if client == "pymssql":
        import pymssql
        return pymssql.connect(server="127.0.0.1", port=str(port), user="sa", password=PASSWORD, database="master", autocommit=True)
    import pytds
    return pytds.connect(server="127.0.0.1", port=port, database="master", user="sa", password=PASSWORD, autocommit=True, login_timeout=10)


def log_counters(cursor, database):
    """Flushes and bytes flushed so far, in one look."""
    cursor.execute("SELECT SUM(CASE counter_name WHEN 'Log Flushes/sec' THEN cntr_value END), SUM(CASE counter_name WHEN 'Log Bytes Flushed/sec' THEN "
                   f"cntr_value END) FROM sys.dm_os_performance_counters WHERE instance_name = N'{database}'")
    return cursor.fetchone()


def raw_writes_per_second(folder, seconds=2.0):
    """512-byte writes, each durable before the next, on the disk of the data directory."""
    path = os.path.join(folder, "raw")
    block = mmap.mmap(-1, 512)
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DSYNC | getattr(os, "O_DIRECT", 0), 0o600)
    try:
        os.posix_fallocate(file, 0, 16 << 20)
        for at in range(0, 16 << 20, 512 * 2048):
            os.pwrite(file, mmap.mmap(-1, 512 * 2048), at)
        count, began = 0, time.monotonic()
        while time.monotonic() - began < seconds:
            os.pwrite(file, block, (count % 32_768) * 512)
            count += 1
        return int(count / (time.monotonic() - began))
    except OSError:
        return None
    finally:
        os.close(file)
        os.unlink(path)


def measure_sequence(cursor, database, option, cache, work, rows):
    """Flushes and seconds; the values are 1 to the number of rows, each once."""
    text = SEQUENCE_BATCH.format(database=database, option=option, cache=cache, work=work.format(rows=rows))
    began = time.monotonic()
    cursor.execute(text)
    while cursor.description is None:
        assert cursor.nextset(), f"{cache}: no result"
    flushes = cursor.fetchall()[0][1]
    seconds = time.monotonic() - began
    if work is INTO:
        cursor.execute(f"SELECT COUNT(*), MIN(n), MAX(n) FROM {database}.dbo.T1")
        assert cursor.fetchone() == (rows, 1, rows), f"{cache}: other values than 1 to {rows}"
    cursor.execute("SELECT current_value FROM sys.sequences WHERE name = 'Seq1'")
    assert cursor.fetchone()[0] == rows, f"{cache}: not {rows} values"
    return flushes, seconds


def sequences(cursor, arguments):
    """The article's twelve rows, each with its variant whose result is assigned to a variable."""
    cursor.execute(f"USE {USER_DATABASE}")
    cursor.execute(GET_NUMS)
    print("\n| database | option | sequence | rows | flushes, SELECT INTO | seconds | flushes, assigned | seconds | the article: flushes, seconds |\n"
          "|---|---|---|---|---|---|---|---|---|", flush=True)
    for database, option, cache, article_flushes, article_seconds in SEQUENCES + AHEAD:
        waits_each = cache == "NO CACHE" and database == USER_DATABASE
        rows = arguments.durable_rows if waits_each and arguments.durable_rows else arguments.rows
        into = measure_sequence(cursor, database, option, cache, INTO, rows)
        assigned = measure_sequence(cursor, database, option, cache, ASSIGNED, rows)
        article = f"{article_flushes}, {article_seconds}" if article_flushes else "(not there)"
        print(f"| {database} | {option} | {cache} | {rows:,} | {into[0]:,} | {into[1]:.1f} | {assigned[0]:,} | {assigned[1]:.1f} | {article} |", flush=True)


def measure(cursor, experiment, rows):
    name, database, option, asked, large, _, _ = experiment
    flushes_before, bytes_before = log_counters(cursor, database)
    began = time.monotonic()
    cursor.execute(batch(database, option, asked, large, rows))
    while cursor.description is None:
        assert cursor.nextset(), f"{name}: no result"
    names = [column[0] for column in cursor.description]
    found = cursor.fetchall()
    seconds = time.monotonic() - began
    assert names == ["durationinseconds", "logflushes"] and len(found) == 1, f"{name}: {names} {found}"
    flushes = found[0][1]
    flushes_after, bytes_after = log_counters(cursor, database)
    # Taken around the whole batch: what drains just behind the loop belongs to the mean, too.
    mean_bytes = (bytes_after - bytes_before) // max(1, flushes_after - flushes_before)
    cursor.execute(f"SELECT COUNT(*) FROM {database}.dbo.T1")
    assert cursor.fetchone()[0] == rows, f"{name}: rows are missing"
    return flushes, seconds, mean_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--durable-rows", type=int, help="rows of the one experiment that waits for the device once a row; all of --rows otherwise")
    parser.add_argument("--client", choices=["pytds", "pymssql"], default="pytds")
    parser.add_argument("--data", help="folder for the data directory; the system's temporary folder otherwise")
    parser.add_argument("--only", help="only experiments whose name contains this; sequences: those of the sequence cache")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hardpan-article-", dir=arguments.data)
    raw_before = raw_writes_per_second(folder)
    server, port = start(arguments.binary, os.path.join(folder, "data"))
    try:
        connection = connect(arguments.client, port)
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE {USER_DATABASE}")
        print(f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, client {arguments.client}, {arguments.rows:,} rows, "
              f"raw durable 512-byte writes a second before: {raw_before}\n")
        print("| database | option | transactions | flushes | seconds | bytes a flush | the article: flushes, seconds |\n|---|---|---|---|---|---|---|", flush=True)
        for experiment in EXPERIMENTS:
            name, database, option, asked, large, article_flushes, article_seconds = experiment
            if arguments.only and arguments.only not in name:
                continue
            rows = arguments.durable_rows if name == "full small" and arguments.durable_rows else arguments.rows
            flushes, seconds, mean_bytes = measure(cursor, experiment, rows)
            transactions = f"1 of {rows:,} rows" if large else f"{rows:,} of one row"
            print(f"| {database} | {option}{', asked' if asked else ''} | {transactions} | {flushes:,} | {seconds:.1f} | {mean_bytes:,} | "
                  f"{article_flushes}{', ' + article_seconds if article_seconds else ''} |", flush=True)
        if not arguments.only or arguments.only in "sequences":
            sequences(cursor, arguments)
        connection.close()
        print(f"\nraw durable 512-byte writes a second after: {raw_writes_per_second(folder)}")
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
