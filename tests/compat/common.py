"""What the Python clients share: where the server is, how a check is reported, the table of types."""
import datetime as dt
import decimal
import os
import sys
import traceback
import uuid

HOST = os.environ["HARDPAN_HOST"]
PORT = int(os.environ["HARDPAN_PORT"])
PASSWORD = os.environ["HARDPAN_PASSWORD"]
CERTIFICATE = os.environ.get("HARDPAN_CERTIFICATE", "")

D = decimal.Decimal
MOMENT = dt.datetime(2024, 2, 29, 13, 14, 15, 123457)
GUID = uuid.UUID("6F9619FF-8B86-D011-B42D-00C04FC964FF")

# type, value sent, value expected back from CAST
TYPES = [
    ("bit", True, True),
    ("tinyint", 255, 255),
    ("smallint", -32768, -32768),
    ("int", -2147483648, -2147483648),
    ("bigint", 9223372036854775807, 9223372036854775807),
    ("decimal(38,10)", D("1234567890123456789.0123456789"), D("1234567890123456789.0123456789")),
    ("numeric(5,2)", D("-123.45"), D("-123.45")),
    ("money", D("922337203685477.5807"), D("922337203685477.5807")),
    ("smallmoney", D("-214748.3648"), D("-214748.3648")),
    ("real", 1.5, 1.5),
    ("float", 1.25e300, 1.25e300),
    ("char(5)", "ab", "ab   "),
    ("varchar(20)", "naïve", "naïve"),
    ("varchar(max)", "x" * 10000, "x" * 10000),
    ("nchar(3)", "漢", "漢  "),
    ("nvarchar(20)", "漢字€", "漢字€"),
    ("nvarchar(max)", "字" * 5000, "字" * 5000),
    ("date", MOMENT.date(), MOMENT.date()),
    ("time(6)", MOMENT.time(), MOMENT.time()),
    ("datetime2(6)", MOMENT, MOMENT),
    ("datetime", MOMENT.replace(microsecond=123000), MOMENT.replace(microsecond=123000)),
    ("smalldatetime", MOMENT, MOMENT.replace(second=0, microsecond=0)),
    ("int", None, None),
    ("nvarchar(10)", None, None),
]
BINARIES = [("varbinary(10)", b"\x01\x02\xff", b"\x01\x02\xff"), ("varbinary(max)", bytes(9000), bytes(9000)), ("binary(4)", b"\x01", b"\x01\0\0\0")]

BULK_COLUMNS = "i int NOT NULL PRIMARY KEY, t nvarchar(20) NULL, m nvarchar(max) NULL, d decimal(10,2) NULL, b varbinary(max) NULL, w datetime2(3) NULL, f float NULL"

CLIENT = "?"
FAILURES = 0


def check(name, body, *arguments):
    """Runs one check and prints its line."""
    global FAILURES
    try:
        body(*arguments)
    except Exception as error:  # noqa: BLE001 - every failure is a line of the report
        FAILURES += 1
        at = traceback.extract_tb(error.__traceback__)[-1]
        print(f"not ok {CLIENT} {name}: {type(error).__name__}: {str(error)[:300]!r} ({os.path.basename(at.filename)}:{at.lineno})", flush=True)
        return
    print(f"ok {CLIENT} {name}", flush=True)


def same(got, want):
    if isinstance(want, float) and got is not None:
        assert abs(float(got) - want) <= abs(want) * 1e-12, f"got {got!r}, want {want!r}"
        return
    if isinstance(want, D) and isinstance(got, (float, int)):
        got = D(str(got))
    assert got == want, f"got {str(got)[:80]!r}, want {str(want)[:80]!r}"


def refused(body, number=None, text=None):
    """The body must raise; returns the error."""
    try:
        body()
    except Exception as error:  # noqa: BLE001
        shown = str(error)
        assert number is None or str(number) in repr(error.args), f"expected error {number}: {shown}"
        assert text is None or text in shown, f"expected {text!r}: {shown}"
        return error
    raise AssertionError("no error was raised")


def views(cursor, name):
    """Changes through a view and a common table expression, as ORMs and scripts write them: counts, OUTPUT, refusals."""
    cursor.execute(f"DROP VIEW IF EXISTS dbo.{name}_v; DROP TABLE IF EXISTS dbo.{name}_q")
    cursor.execute(f"CREATE TABLE dbo.{name}_q (id int IDENTITY PRIMARY KEY, state varchar(10) NOT NULL DEFAULT 'new', n int)")
    cursor.execute(f"CREATE VIEW dbo.{name}_v AS SELECT id, n AS amount FROM dbo.{name}_q WHERE n < 100 WITH CHECK OPTION")
    cursor.execute(f"INSERT INTO dbo.{name}_v (amount) VALUES (1), (2), (2), (3)")
    same(cursor.rowcount, 4)
    cursor.execute(f"UPDATE dbo.{name}_v SET amount = amount + 1 WHERE amount > 2")
    same(cursor.rowcount, 1)
    refused(lambda: cursor.execute(f"UPDATE dbo.{name}_v SET amount = 100"), text="CHECK OPTION")
    # The head of a queue, and the doubles of a table.
    cursor.execute(f"WITH head AS (SELECT TOP (1) id, state FROM dbo.{name}_q WITH (READPAST, UPDLOCK) ORDER BY id) DELETE FROM head OUTPUT deleted.id, deleted.state")
    same([tuple(row) for row in cursor.fetchall()], [(1, "new")])
    cursor.execute(f"WITH ranked AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY n ORDER BY id) AS place FROM dbo.{name}_q) DELETE ranked WHERE place > 1")
    same(cursor.rowcount, 1)
    refused(lambda: cursor.execute(f"WITH total AS (SELECT SUM(n) AS s FROM dbo.{name}_q) UPDATE total SET s = 1"), text="Cannot update the view or function 'total'")
    cursor.execute(f"SELECT id, n, state FROM dbo.{name}_q ORDER BY id")
    same([tuple(row) for row in cursor.fetchall()], [(2, 2, "new"), (4, 4, "new")])


def messages(cursor, name):
    """Words that ORMs take out of messages: names of columns, keys and indexes stand where they look for them."""
    cursor.execute(f"DROP TABLE IF EXISTS dbo.{name}_m; CREATE TABLE dbo.{name}_m (i int NOT NULL CONSTRAINT {name}_key UNIQUE, j int); CREATE UNIQUE INDEX {name}_index ON dbo.{name}_m (j)")
    cursor.execute(f"INSERT INTO dbo.{name}_m VALUES (1, 1)")
    for statement, text in [
        ("VALUES (1, 2)", f"Violation of UNIQUE KEY constraint '{name}_key'. Cannot insert duplicate key in object 'dbo.{name}_m'. The duplicate key value is (1)."),
        ("VALUES (2, 1)", f"Cannot insert duplicate key row in object 'dbo.{name}_m' with unique index '{name}_index'. The duplicate key value is (1)."),
        ("(j) VALUES (3)", "Cannot insert the value NULL into column 'i', table "),
        ("VALUES (1)", "Column name or number of supplied values does not match table definition."),
    ]:
        refused(lambda: cursor.execute(f"INSERT INTO dbo.{name}_m {statement}"), text=text)


def finish():
    sys.exit(1 if FAILURES else 0)
