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


def finish():
    sys.exit(1 if FAILURES else 0)
