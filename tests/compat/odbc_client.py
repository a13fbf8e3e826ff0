"""Microsoft's ODBC Driver 18 (as mssql-python brings it) through pyodbc, and mssql-python itself."""
import glob
import os
import platform
import time

import common
import odbc_cursors
from common import check, refused, same

import pyodbc

common.CLIENT = "msodbcsql18"
pyodbc.pooling = False


def driver():
    """The driver that fits this system, among those in the wheels."""
    found = []
    for package in ("mssql_python", "mssql_python_odbc"):
        module = __import__(package)
        root = os.path.dirname(module.__file__)
        found += glob.glob(os.path.join(root, "**", "libmsodbcsql*.so*"), recursive=True)
    found = [path for path in found if platform.machine() in path or "x86_64" in path]
    preferred = [path for path in found if "debian" in path]
    assert found, "the wheel has no driver for this system"
    return (preferred or found)[0]


def described(extra=""):
    return f"DRIVER={driver()};SERVER={common.HOST},{common.PORT};UID=sa;PWD={common.PASSWORD};DATABASE=master;TrustServerCertificate=yes;{extra}"


def connect(extra="", **more):
    return pyodbc.connect(described(extra), timeout=10, **more)


def with_cursors(body):
    odbc = odbc_cursors.Odbc(described())
    try:
        body(odbc)
    finally:
        odbc.close()


def select_one(extra=""):
    with connect(extra) as connection:
        same([tuple(row) for row in connection.execute("SELECT 1 AS one")], [(1,)])


def many(extra):
    """Several active result sets: statements on one connection, each read a bit."""
    with connect("MARS_Connection=yes;" + extra) as connection:
        first = connection.execute("SELECT TOP (20000) a.object_id, REPLICATE('x', 500) FROM sys.all_columns a CROSS JOIN sys.all_columns b")
        seen = len(first.fetchmany(10))
        second = connection.cursor()
        for number in range(5):
            same(second.execute("SELECT ?", number).fetchval(), number)
            seen += len(first.fetchmany(100))
        third = connection.execute("SELECT TOP (3000) REPLICATE('y', 400) FROM sys.all_columns a CROSS JOIN sys.all_columns b")
        same(len(third.fetchall()), 3000)
        same(seen + len(first.fetchall()), 20000)
        second.execute("IF OBJECT_ID('dbo.compat_mars') IS NOT NULL DROP TABLE dbo.compat_mars; CREATE TABLE dbo.compat_mars (i int)")
        connection.commit()
        reading = connection.execute("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
        for (value,) in reading:
            second.execute("INSERT dbo.compat_mars VALUES (?)", value)
        connection.rollback()
        same(second.execute("SELECT COUNT(*) FROM dbo.compat_mars").fetchval(), 0)
        refused(lambda: second.execute("SELECT 1/0").fetchval(), text="Divide by zero")
        same(connection.execute("SELECT 8").fetchval(), 8)


def many_cancelled(extra):
    with connect("MARS_Connection=yes;" + extra) as connection:
        other = connection.execute("SELECT TOP (20000) REPLICATE('x', 500) FROM sys.all_columns a CROSS JOIN sys.all_columns b")
        other.fetchone()
        connection.timeout = 1
        began = time.monotonic()
        refused(lambda: connection.execute("WAITFOR DELAY '00:00:20'; SELECT 1"))
        assert time.monotonic() - began < 10
        connection.timeout = 0
        same(len(other.fetchall()), 19999)
        same(connection.execute("SELECT 9").fetchval(), 9)


def wrong_password():
    error = refused(lambda: pyodbc.connect(f"DRIVER={driver()};SERVER={common.HOST},{common.PORT};UID=sa;PWD=wrong;TrustServerCertificate=yes", timeout=10), text="Login failed for user 'sa'")
    same(error.args[0], "28000")


def batch():
    with connect() as connection:
        cursor = connection.execute("SET NOCOUNT ON; DECLARE @i int = 1; SELECT @i; SET @i += 1; SELECT @i, N'zwei'")
        same(tuple(cursor.fetchone()), (1,))
        assert cursor.nextset()
        same(tuple(cursor.fetchone()), (2, "zwei"))


def types():
    with connect() as connection:
        cursor = connection.cursor()
        for sql_type, value, want in common.TYPES + common.BINARIES:
            if sql_type == "time(6)":
                want = want.replace(microsecond=0)  # pyodbc binds times without their fraction
            cursor.execute(f"SELECT CAST(? AS {sql_type})", value)
            got = cursor.fetchone()[0]
            if sql_type == "datetime":
                assert abs((got - want).total_seconds()) < 0.004, got
                continue
            same(got, want)
        cursor.execute("SELECT CAST(? AS uniqueidentifier)", common.GUID)
        same(str(cursor.fetchone()[0]).upper(), str(common.GUID).upper())


def errors():
    with connect() as connection:
        error = refused(lambda: connection.execute("SELECT * FROM dbo.does_not_exist"), text="(208)")
        same(error.args[0], "42S02")
        refused(lambda: connection.execute("RAISERROR('own words', 16, 3)"), text="own words (50000)")
        same(connection.execute("SELECT 2").fetchval(), 2)


def transactions():
    with connect() as connection:
        connection.execute("DROP TABLE IF EXISTS dbo.compat_odbc; CREATE TABLE dbo.compat_odbc (id int PRIMARY KEY, t nvarchar(20))")
        connection.commit()
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO dbo.compat_odbc VALUES (?, ?)", [(1, "a"), (2, "b")])
        connection.rollback()
        same(connection.execute("SELECT COUNT(*) FROM dbo.compat_odbc").fetchval(), 0)
        same(cursor.execute("INSERT INTO dbo.compat_odbc VALUES (?, ?)", 1, "ä").rowcount, 1)
        connection.commit()
        error = refused(lambda: cursor.execute("INSERT INTO dbo.compat_odbc VALUES (?, ?)", 1, "ä"), text="(2627)")
        same(error.args[0], "23000")
        connection.rollback()
        same(tuple(connection.execute("SELECT id, t FROM dbo.compat_odbc").fetchone()), (1, "ä"))


def views():
    with connect(autocommit=True) as connection:
        common.views(connection.cursor(), "compat_odbc")


def messages():
    with connect(autocommit=True) as connection:
        common.messages(connection.cursor(), "compat_odbc")


def prepared():
    with connect() as connection:
        cursor = connection.cursor()
        for i in range(5):
            same(cursor.execute("SELECT ? + 1, ?", i, "x" * i).fetchone()[0], i + 1)


def fast_executemany():
    with connect() as connection:
        cursor = connection.cursor()
        cursor.execute("DROP TABLE IF EXISTS dbo.compat_odbc_many; CREATE TABLE dbo.compat_odbc_many (id int, t nvarchar(20))")
        cursor.executemany("INSERT INTO dbo.compat_odbc_many VALUES (?, ?)", [(i, str(i)) for i in range(500)])
        connection.commit()
        same(connection.execute("SELECT COUNT(*), SUM(id) FROM dbo.compat_odbc_many").fetchone()[1], 124750)


def procedure():
    with connect(autocommit=True) as connection:
        connection.execute("CREATE OR ALTER PROCEDURE dbo.compat_odbc_p @in int AS BEGIN SELECT @in * 2 AS doubled; RETURN 7 END")
        same(connection.execute("{CALL dbo.compat_odbc_p (?)}", 21).fetchval(), 42)


def cancel():
    connection = connect()
    connection.timeout = 1
    began = time.monotonic()
    refused(lambda: connection.execute("WAITFOR DELAY '00:00:20'"), text="timeout")
    assert time.monotonic() - began < 5
    connection.timeout = 0
    same(connection.execute("SELECT 2").fetchval(), 2)


def with_mssql_python():
    import mssql_python

    connection = mssql_python.connect(f"SERVER={common.HOST},{common.PORT};UID=sa;PWD={common.PASSWORD};DATABASE=master;TrustServerCertificate=yes;Encrypt=yes")
    cursor = connection.cursor()
    cursor.execute("SELECT ?, ?", 1, "zwei")
    same(tuple(cursor.fetchone()), (1, "zwei"))
    connection.close()


check("connect, encryption by default", select_one)
check("connect Encrypt=no", select_one, "Encrypt=no")
if common.CERTIFICATE:
    check("connect Encrypt=strict", select_one, f"Encrypt=strict;ServerCertificate={common.CERTIFICATE}")
for extra in ("", "Encrypt=no;"):
    check(f"several active result sets {extra}", many, extra)
    check(f"several active result sets, one cancelled {extra}", many_cancelled, extra)
check("wrong password", wrong_password)
check("multi-statement batch", batch)
check("parameters of every type", types)
check("errors with number and state", errors)
check("transactions", transactions)
check("changes through views", views)
check("words of messages", messages)
check("prepared statement", prepared)
check("executemany", fast_executemany)
check("procedure", procedure)
check("time-out cancels", cancel)
check("mssql-python", with_mssql_python)
for name, body in odbc_cursors.CHECKS:
    check(name, with_cursors, body)
common.finish()
