"""Server cursors through ODBC itself (ctypes over unixODBC): SQLFetchScroll, SQLSetPos, SQLBulkOperations, positioned statements. pyodbc has none of these."""
import ctypes
from ctypes import byref, c_char_p, c_int, c_short, c_ulong, c_ushort, c_void_p, create_string_buffer, sizeof

from common import same

STATIC, KEYSET, DYNAMIC = 3, 1, 2
READ_ONLY, LOCK, VALUES = 1, 2, 4
NEXT, FIRST, LAST, PRIOR, ABSOLUTE, RELATIVE = 1, 2, 3, 4, 5, 6
REFRESH, UPDATE, DELETE, ADD = 1, 2, 3, 4
NO_DATA = 100
DELETED = 3


class Odbc:
    """One connection."""

    def __init__(self, text):
        self.lib = ctypes.CDLL("libodbc.so.2")
        self.env, self.connection = c_void_p(), c_void_p()
        self.lib.SQLAllocHandle(c_short(1), None, byref(self.env))
        self.lib.SQLSetEnvAttr(self.env, c_int(200), c_void_p(3), c_int(0))
        self.lib.SQLAllocHandle(c_short(2), self.env, byref(self.connection))
        text = text.encode()
        self.told(2, self.connection, self.lib.SQLDriverConnect(self.connection, None, c_char_p(text), c_short(len(text)), None, c_short(0), None, c_ushort(0)))

    def told(self, kind, handle, result):
        """The result; a failure is an error with all diagnostics."""
        result = c_short(result).value
        if result in (0, 1, NO_DATA):
            return result
        messages = []
        for number in range(1, 9):
            state, native, text, length = create_string_buffer(6), c_int(), create_string_buffer(512), c_short()
            if c_short(self.lib.SQLGetDiagRec(c_short(kind), handle, c_short(number), state, byref(native), text, c_short(512), byref(length))).value not in (0, 1):
                break
            messages.append(f"{state.value.decode()} {text.value.decode()} ({native.value})")
        raise RuntimeError("; ".join(messages) or f"result {result}")

    def close(self):
        self.lib.SQLDisconnect(self.connection)
        self.lib.SQLFreeHandle(c_short(2), self.connection)
        self.lib.SQLFreeHandle(c_short(1), self.env)


class Statement:
    """A statement with `size` rows of two columns, an int and a text."""

    def __init__(self, odbc, cursor_type, concurrency, size):
        self.odbc, self.size = odbc, size
        self.handle = c_void_p()
        odbc.told(2, odbc.connection, odbc.lib.SQLAllocHandle(c_short(3), odbc.connection, byref(self.handle)))
        self.status, self.fetched = (c_ushort * size)(), c_ulong()
        for attribute, value in ((6, cursor_type), (7, concurrency), (27, size)):
            self.run("SQLSetStmtAttr", c_int(attribute), c_void_p(value), c_int(0))
        self.run("SQLSetStmtAttr", c_int(25), self.status, c_int(0))
        self.run("SQLSetStmtAttr", c_int(26), byref(self.fetched), c_int(0))
        self.ids, self.texts = (c_int * size)(), create_string_buffer(size * 20)
        self.id_lengths, self.text_lengths = (ctypes.c_long * size)(), (ctypes.c_long * size)()

    def run(self, function, *arguments):
        return self.odbc.told(3, self.handle, getattr(self.odbc.lib, function)(self.handle, *arguments))

    def execute(self, text):
        text = text.encode()
        return self.run("SQLExecDirect", c_char_p(text), c_int(len(text)))

    def query(self, text):
        self.execute(text)
        self.run("SQLBindCol", c_ushort(1), c_short(-16), self.ids, ctypes.c_long(0), self.id_lengths)
        self.run("SQLBindCol", c_ushort(2), c_short(1), self.texts, ctypes.c_long(20), self.text_lengths)

    def fetch(self, orientation, offset=0):
        if self.run("SQLFetchScroll", c_short(orientation), ctypes.c_long(offset)) == NO_DATA:
            return []
        return [self.ids[at] if self.status[at] != DELETED else None for at in range(self.fetched.value)]

    def text(self, at=0):
        return self.texts[at * 20:at * 20 + self.text_lengths[at]].decode()

    def put(self, number, text, at=0):
        self.ids[at], self.id_lengths[at] = number, sizeof(c_int)
        text = text.encode()
        self.texts[at * 20:at * 20 + len(text) + 1] = text + b"\0"
        self.text_lengths[at] = len(text)

    def set_position(self, row, operation):
        self.run("SQLSetPos", ctypes.c_ulong(row), c_ushort(operation), c_ushort(0))

    def close(self):
        self.odbc.lib.SQLFreeHandle(c_short(3), self.handle)


def statement(odbc, text):
    made = Statement(odbc, 0, READ_ONLY, 1)
    made.execute(text)
    made.close()


def table(odbc):
    statement(odbc, "DROP TABLE IF EXISTS dbo.compat_odbc_cursor; CREATE TABLE dbo.compat_odbc_cursor (id int NOT NULL PRIMARY KEY, t varchar(20) NULL)")
    statement(odbc, "WITH d AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM d WHERE i < 20) INSERT dbo.compat_odbc_cursor SELECT i, CONCAT('t', i) FROM d")


QUERY = "SELECT id, t FROM dbo.compat_odbc_cursor ORDER BY id"


def scroll(odbc):
    table(odbc)
    for cursor_type in (STATIC, KEYSET, DYNAMIC):
        s = Statement(odbc, cursor_type, READ_ONLY, 5)
        s.query(QUERY)
        same(s.fetch(NEXT), [1, 2, 3, 4, 5])
        same(s.text(4), "t5")
        same(s.fetch(NEXT), [6, 7, 8, 9, 10])
        same(s.fetch(LAST), [16, 17, 18, 19, 20])
        same(s.fetch(NEXT), [])
        same(s.fetch(PRIOR), [16, 17, 18, 19, 20])
        same(s.fetch(RELATIVE, -3), [13, 14, 15, 16, 17])
        same(s.fetch(FIRST), [1, 2, 3, 4, 5])
        same(s.fetch(PRIOR), [])
        if cursor_type != DYNAMIC:
            same(s.fetch(ABSOLUTE, 19), [19, 20])
            same(s.fetch(ABSOLUTE, -6), [15, 16, 17, 18, 19])
        s.close()


def change(odbc):
    for cursor_type, concurrency in ((KEYSET, VALUES), (KEYSET, LOCK), (DYNAMIC, VALUES)):
        table(odbc)
        s = Statement(odbc, cursor_type, concurrency, 4)
        s.query(QUERY)
        same(s.fetch(NEXT), [1, 2, 3, 4])
        s.put(2, "changed", at=1)
        s.set_position(2, UPDATE)
        s.set_position(3, DELETE)
        s.fetch(FIRST)
        same(s.text(1), "changed")
        s.close()
        same(rows(odbc, "SELECT id, t FROM dbo.compat_odbc_cursor WHERE id < 5 ORDER BY id"), [(1, "t1"), (2, "changed"), (4, "t4")])


def insert(odbc):
    table(odbc)
    s = Statement(odbc, KEYSET, VALUES, 1)
    s.query(QUERY)
    same(s.fetch(NEXT), [1])
    s.put(90, "new")
    s.run("SQLBulkOperations", c_short(ADD))
    same(s.fetch(LAST), [90])
    s.close()
    same(rows(odbc, "SELECT id, t FROM dbo.compat_odbc_cursor WHERE id > 20"), [(90, "new")])


def positioned(odbc):
    """A positioned UPDATE of T-SQL by the name of the cursor."""
    table(odbc)
    s = Statement(odbc, KEYSET, VALUES, 1)
    s.run("SQLSetCursorName", c_char_p(b"mine"), c_short(4))
    s.query(QUERY)
    same(s.fetch(NEXT), [1])
    same(s.fetch(NEXT), [2])
    statement(odbc, "UPDATE dbo.compat_odbc_cursor SET t = 'positioned' WHERE CURRENT OF mine")
    s.close()
    same(rows(odbc, "SELECT id, t FROM dbo.compat_odbc_cursor WHERE t LIKE 'p%'"), [(2, "positioned")])


def rows(odbc, query):
    s, found = Statement(odbc, 0, READ_ONLY, 1), []
    s.query(query)
    while s.fetch(NEXT):
        found.append((s.ids[0], s.text()))
    s.close()
    return found


CHECKS = (("scrolls cursors of each type", scroll), ("SQLSetPos changes rows", change), ("SQLBulkOperations adds a row", insert), ("positioned update", positioned))
