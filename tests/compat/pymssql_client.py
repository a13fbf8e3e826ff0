"""pymssql (DB-Library of FreeTDS): literals in the text, BEGIN TRAN as text, an attention after nearly every result."""
import common
from common import check, refused, same

import pymssql

common.CLIENT = "pymssql"


def connect(**more):
    return pymssql.connect(server=common.HOST, port=str(common.PORT), user="sa", password=common.PASSWORD, database="master", login_timeout=10, **more)


def select_one():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1 AS one")
        same(cursor.fetchall(), [(1,)])


def wrong_password():
    refused(lambda: pymssql.connect(server=common.HOST, port=str(common.PORT), user="sa", password="wrong"), 18456)


def batch():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("DECLARE @i int = 1; SELECT @i; SET @i += 1; SELECT @i, N'zwei'")
        same(cursor.fetchall(), [(1,)])
        assert cursor.nextset()
        same(cursor.fetchall(), [(2, "zwei")])


def types():
    with connect() as connection, connection.cursor() as cursor:
        for sql_type, value, want in common.TYPES:
            if sql_type.startswith(("varchar(max)", "nvarchar(max)")):
                value, want = value[:3000], want[:3000]
            if sql_type in ("time(6)",) or value is True:
                continue  # its quoting makes other types of them
            cursor.execute(f"SELECT CAST(%s AS {sql_type})", (value,))
            got = cursor.fetchone()[0]
            if sql_type.startswith("datetime"):  # its literals have milliseconds
                assert abs((got - want).total_seconds()) < 0.004, got
                continue
            same(got, want)
        for sql_type, value, want in common.BINARIES:
            cursor.execute(f"SELECT CAST(%s AS {sql_type})", (value,))
            same(cursor.fetchone()[0], want)


def errors():
    with connect() as connection, connection.cursor() as cursor:
        refused(lambda: cursor.execute("SELECT * FROM dbo.does_not_exist"), 208)
        refused(lambda: cursor.execute("RAISERROR('own words', 16, 1)"), 50000)
        cursor.execute("SELECT 2")
        same(cursor.fetchone(), (2,))


def transactions():
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS dbo.compat_pymssql; CREATE TABLE dbo.compat_pymssql (id int PRIMARY KEY, t nvarchar(20))")
        connection.commit()
        cursor.executemany("INSERT INTO dbo.compat_pymssql VALUES (%d, %s)", [(1, "a"), (2, "b")])
        connection.rollback()
        cursor.execute("SELECT COUNT(*) FROM dbo.compat_pymssql")
        same(cursor.fetchone(), (0,))
        cursor.execute("INSERT INTO dbo.compat_pymssql VALUES (1, N'ä')")
        same(cursor.rowcount, 1)
        connection.commit()
        refused(lambda: cursor.execute("INSERT INTO dbo.compat_pymssql VALUES (1, N'ä')"), 2627)
        connection.rollback()
        cursor.execute("SELECT id, t FROM dbo.compat_pymssql")
        same(cursor.fetchall(), [(1, "ä")])


def views():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        common.views(cursor, "compat_pymssql")


def messages():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        common.messages(cursor, "compat_pymssql")


def procedure():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE OR ALTER PROCEDURE dbo.compat_pymssql_p @in int, @out int OUTPUT AS BEGIN SET @out = @in * 2; RETURN 7 END")
        result = cursor.callproc("dbo.compat_pymssql_p", (21, pymssql.output(int)))
        same(result[1], 42)


def bulk():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS dbo.compat_pymssql_b; CREATE TABLE dbo.compat_pymssql_b ({common.BULK_COLUMNS})")
        rows = [(i, "zwölf" if i % 2 else None, "x" * (i % 7 * 1000), i / 4) for i in range(3000)]
        connection.bulk_copy("dbo.compat_pymssql_b", rows, column_ids=[1, 2, 3, 7], batch_size=1000, tablock=True, check_constraints=True)
        cursor.execute("SELECT COUNT(*), COUNT(t), MAX(t), SUM(LEN(m)), MAX(f) FROM dbo.compat_pymssql_b")
        same(cursor.fetchall(), [(3000, 1500, "zwölf", sum(i % 7 * 1000 for i in range(3000)), 2999 / 4)])
        refused(lambda: connection.bulk_copy("dbo.compat_pymssql_b", [(1, "again", "", 0)], column_ids=[1, 2, 3, 7]))
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM dbo.compat_pymssql_b")
        same(cursor.fetchone(), (3000,))


def cancel():
    with connect(timeout=1) as connection, connection.cursor() as cursor:
        refused(lambda: cursor.execute("WAITFOR DELAY '00:00:20'"))
    select_one()


def early_close():
    with connect() as connection:
        for _ in range(50):
            cursor = connection.cursor()
            cursor.execute("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
            cursor.fetchone()
            cursor.close()


check("connect and SELECT 1", select_one)
check("wrong password", wrong_password)
check("multi-statement batch", batch)
check("values of every type", types)
check("errors with number", errors)
check("transactions", transactions)
check("changes through views", views)
check("words of messages", messages)
check("procedure with OUTPUT", procedure)
check("bulk copy", bulk)
check("time-out cancels", cancel)
check("results closed early", early_close)
common.finish()
