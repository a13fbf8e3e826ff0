"""python-tds: no encryption by default, nvarchar(max) PLP parameters, chained transaction manager requests."""
import datetime
import time

import common
from common import check, refused, same

import pytds

common.CLIENT = "pytds"


def connect(**more):
    options = dict(server=common.HOST, port=common.PORT, database="master", user="sa", password=common.PASSWORD, login_timeout=10, timeout=20)
    return pytds.connect(**{**options, **more})


def select_one(**more):
    with connect(**more) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1 AS one")
        same(cursor.fetchall(), [(1,)])


def many():
    """Several active result sets (MARS)."""
    with connect(use_mars=True) as connection:
        first, second = connection.cursor(), connection.cursor()
        first.execute("SELECT TOP (5000) a.object_id, REPLICATE('x', 500) FROM sys.all_columns a CROSS JOIN sys.all_columns b")
        seen = len(first.fetchmany(3))
        for number in range(5):
            second.execute("SELECT %s", (number,))
            same(second.fetchall(), [(number,)])
            seen += len(first.fetchmany(100))
        same(seen + len(first.fetchall()), 5000)
        error = refused(lambda: (second.execute("SELECT 1/0"), second.fetchall()))
        same(error.number, 8134)
        first.close()
        second.execute("SELECT 6")
        same(second.fetchall(), [(6,)])


def wrong_password():
    refused(lambda: connect(password="wrong"), text="Login failed for user 'sa'")


def batch():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("DECLARE @i int = 1; SELECT @i; SET @i += 1; SELECT @i, N'zwei'; PRINT 'done'")
        same(cursor.fetchall(), [(1,)])
        assert cursor.nextset()
        same(cursor.fetchall(), [(2, "zwei")])


def types():
    with connect() as connection, connection.cursor() as cursor:
        for sql_type, value, want in common.TYPES + common.BINARIES + [("uniqueidentifier", common.GUID, common.GUID)]:
            value = pytds.Binary(value) if isinstance(value, bytes) else value
            cursor.execute(f"SELECT CAST(%s AS {sql_type})", (value,))
            got = cursor.fetchone()[0]
            if sql_type == "datetime":
                assert abs((got - want).total_seconds()) < 0.004, got
                continue
            same(got, want)


def errors():
    with connect() as connection, connection.cursor() as cursor:
        error = refused(lambda: cursor.execute("\n\nSELECT * FROM dbo.does_not_exist"))
        same((error.number, error.severity), (208, 16))
        error = refused(lambda: cursor.execute("RAISERROR('own words', 16, 3)"))
        same((error.number, error.state), (50000, 3))
        cursor.execute("SELECT 2")
        same(cursor.fetchone(), (2,))


def transactions():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS dbo.compat_pytds; CREATE TABLE dbo.compat_pytds (id int PRIMARY KEY, t nvarchar(20))")
        connection.commit()
        cursor.executemany("INSERT INTO dbo.compat_pytds VALUES (%s, %s)", [(1, "a"), (2, "b")])
        connection.rollback()
        cursor.execute("SELECT COUNT(*) FROM dbo.compat_pytds")
        same(cursor.fetchone(), (0,))
        cursor.execute("INSERT INTO dbo.compat_pytds VALUES (%s, %s)", (1, "ä"))
        same(cursor.rowcount, 1)
        connection.commit()
        refused(lambda: cursor.execute("INSERT INTO dbo.compat_pytds VALUES (1, N'ä')"), text="PRIMARY KEY")
        connection.rollback()
        cursor.execute("SELECT id, t FROM dbo.compat_pytds")
        same(cursor.fetchall(), [(1, "ä")])


def views():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        common.views(cursor, "compat_pytds")


def messages():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        common.messages(cursor, "compat_pytds")


def procedure():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE OR ALTER PROCEDURE dbo.compat_pytds_p @in int, @out int OUTPUT AS BEGIN SET @out = @in * 2; RETURN 7 END")
        result = cursor.callproc("dbo.compat_pytds_p", (21, pytds.output(value=0, param_type="int")))
        same(result[1], 42)
        same(cursor.get_proc_return_status(), 7)


def table_parameters():
    """A table to a procedure and to a text; no rows, NULLs, 5,001 rows."""
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP PROCEDURE IF EXISTS dbo.compat_pytds_total; DROP TYPE IF EXISTS dbo.compat_pytds_lines")
        cursor.execute("CREATE TYPE dbo.compat_pytds_lines AS TABLE (i int NOT NULL PRIMARY KEY, t nvarchar(max) NULL, d date NULL)")
        cursor.execute("CREATE PROCEDURE dbo.compat_pytds_total @lines dbo.compat_pytds_lines READONLY AS SELECT COUNT(*), SUM(i), MAX(t), MAX(d) FROM @lines")
        day = datetime.date(2024, 2, 29)
        for count in (1, 2, 5001):
            rows = [(i, f"t\u00e4{i % 7}" if i % 2 else None, day) for i in range(1, count + 1)]
            columns = [pytds.Column(type=t) for t in (pytds.tds_types.IntType(), pytds.tds_types.NVarCharMaxType(), pytds.tds_types.DateType())]
            table = lambda: pytds.TableValuedParam(type_name="dbo.compat_pytds_lines", columns=columns, rows=iter(rows))
            want = (count, sum(range(1, count + 1)), max(row[1] for row in rows if row[1]), day)
            cursor.callproc("dbo.compat_pytds_total", (table(),))
            same(cursor.fetchall(), [want])
            cursor.execute("SELECT COUNT(*), SUM(i), MAX(t), MAX(d) FROM %s", (table(),))
            same(cursor.fetchall(), [want])
        refused(lambda: cursor.callproc("dbo.compat_pytds_total", (1,)))
        cursor.execute("SELECT 3")
        same(cursor.fetchall(), [(3,)])


def bulk():
    import pytds.tds_base as types
    from pytds import tds_types
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS dbo.compat_pytds_b; CREATE TABLE dbo.compat_pytds_b ({common.BULK_COLUMNS})")
        moment = common.MOMENT.replace(microsecond=123000)
        columns = [
            types.Column("i", type=tds_types.IntType()),
            types.Column("t", type=tds_types.NVarCharType(size=20)),
            types.Column("m", type=tds_types.NVarCharMaxType()),
            types.Column("d", type=tds_types.DecimalType(precision=10, scale=2)),
            types.Column("b", type=tds_types.VarBinaryMaxType()),
            types.Column("w", type=tds_types.DateTime2Type(precision=3)),
        ]
        def rows():
            return ((i, "漢字" if i % 2 else None, "x" * (i % 7 * 1000), common.D(i) / 4, b"\x01" * (i % 5), moment) for i in range(3000))
        cursor.copy_to(data=rows(), table_or_view="compat_pytds_b", schema="dbo", columns=columns, tablock=True, check_constraints=True)
        cursor.execute("SELECT COUNT(*), COUNT(t), MAX(t), SUM(LEN(m)), SUM(d), SUM(DATALENGTH(b)), MAX(w) FROM dbo.compat_pytds_b")
        want = (3000, 1500, "漢字", sum(i % 7 * 1000 for i in range(3000)), common.D("1124625.00"), 6000, moment)
        same(cursor.fetchall(), [want])
        refused(lambda: cursor.copy_to(data=rows(), table_or_view="compat_pytds_b", schema="dbo", columns=columns), text="PRIMARY KEY")
        cursor.execute("SELECT COUNT(*) FROM dbo.compat_pytds_b")
        same(cursor.fetchone(), (3000,))


def cancel():
    connection = connect(timeout=1)
    began = time.monotonic()
    refused(lambda: connection.cursor().execute("WAITFOR DELAY '00:00:20'"))
    assert time.monotonic() - began < 5
    select_one()


def early_close():
    with connect() as connection:
        for _ in range(50):
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
                cursor.fetchone()


check("connect without encryption", select_one)
if common.CERTIFICATE:
    check("connect with encryption", lambda: select_one(cafile=common.CERTIFICATE, validate_host=False))
    check("connect with login-only encryption", lambda: select_one(cafile=common.CERTIFICATE, validate_host=False, enc_login_only=True))
check("several active result sets", many)
check("wrong password", wrong_password)
check("multi-statement batch", batch)
check("parameters of every type", types)
check("errors with number and state", errors)
check("transactions", transactions)
check("changes through views", views)
check("words of messages", messages)
check("procedure with OUTPUT", procedure)
check("table-valued parameters", table_parameters)
check("bulk copy", bulk)
check("time-out cancels", cancel)
check("results closed early", early_close)
common.finish()
