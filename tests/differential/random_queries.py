"""Random queries and changes on Hardpan and on SQLite side by side: the two must give the same rows.

    python3 random_queries.py --binary target/release/hardpan --seeds 10 [--first 1] [--statements 150]      (pysqlite3, or Python's own sqlite3)

Each seed draws four tables of nullable columns with keys and indexes of all kinds and two views, then statements: joins of every kind, sub-queries in
every position, APPLY, VALUES, groups and sets of groups, set operations, CTEs, windows, TOP and OFFSET, variables, now and then UPDATE, DELETE, INSERT
... SELECT and MERGE, also with joins and OUTPUT. Both engines are told the same, each in its words (grammar.py, changes.py); after a change the whole
table is compared. A difference prints seed, number and text of the statement: the same seed makes it again.

    --without-indexes         heaps alone
    --without-statistics      AUTO_CREATE_STATISTICS and AUTO_UPDATE_STATISTICS are off
    --rows-in-memory N        operators put what is more on disk
    --versioned               a server in which another session has changed every row and not committed: READ_COMMITTED_SNAPSHOT and, in half of the
                              statements, SNAPSHOT read what was there before; no changes of its own
    --metamorphic             TLP and NoREC, on Hardpan alone: a query's rows are those where a condition is true, false and unknown; as many rows have
                              it as rows for which it is counted

Not drawn, because the peers mean different things: texts with blanks at their ends or signs, division by a drawn number, AVG of decimals, an update that
reads the table it changes (SQLite sees rows that it has changed already), ON conditions without a column (SQLite 3.40 loses the outer rows of some).
"""
import argparse
import datetime
import decimal
import sys

import metamorphic
from changes import Generator
from grammar import FIRST_DAY, render
from runs import EXCUSED, TOO_SLOW, Server, run_script, run_versioned, settings

try:
    # A newer SQLite than Python's own, with fewer mistakes in its outer joins (pip install pysqlite3-binary).
    import pysqlite3 as sqlite3
except ImportError:
    import sqlite3

ROWS_MAX = 1_000
# SQLite's own limits.
LEFT_OUT = ("interrupted", "ON clause references tables to its right")
# SQLite counts its steps; a statement that takes more is left out.
STEPS_MAX = 12

# Known mistakes, made in the text that Hardpan alone is told: each must be found, or a clean run means nothing (--self-test).
PLANTED = {
    "an outer join loses its outer rows": (" left join ", " inner join "),
    "a full join is a right join": (" full join ", " right join "),
    "duplicates stay": ("select distinct ", "select "),
    "UNION ALL drops duplicates": (" union all ", " union "),
    "NOT EXISTS is EXISTS": ("not exists ", "exists "),
    "descending is ascending": (" desc", ""),
    "HAVING is not looked at": (" having count(*) > 1", ""),
    "an update forgets its WHERE": ("update t1 set d = ", "update t1 set d = 1 + "),
    "a frame ends elsewhere": ("and current row)", "and 1 following)"),
    "APPLY takes a row more": ("apply (select top (1)", "apply (select top (2)"),
    "ROLLUP is CUBE": ("rollup (", "cube ("),
    "an OUTPUT shows what was": ("output inserted.", "output deleted."),
}
PLANTED_VERSIONED = {
    "what is not committed is seen": ("level snapshot", "level read uncommitted"),
    "a new snapshot for each statement": ("print '#3'\n", "print '#3'\ncommit\nset transaction isolation level read committed\n"),
}


def shown(value, kind):
    """A value of SQLite, in the form of both."""
    if value is None:
        return "NULL"
    if kind == "s":
        return str(value).lower()
    return str(value)


def seen(text, kind):
    """The same of what Hardpan prints."""
    if text == "NULL":
        return text
    if kind == "n":
        cents = decimal.Decimal(text) * 100
        return str(int(cents)) if cents == int(cents) else text
    if kind == "d":
        day, rest = text[:10], text[10:]
        return str((datetime.date.fromisoformat(day) - FIRST_DAY).days) if not rest.strip(" 0:.") else text
    return text.lower() if kind == "s" else text


class Peer:
    """SQLite in memory."""

    def __init__(self, schema):
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.steps = 0
        self.database.set_progress_handler(self.step, 100_000)
        for statement in schema:
            for text in statement.sqlite:
                self.database.execute(render(text, True))

    def step(self):
        self.steps += 1
        return self.steps > STEPS_MAX

    def run(self, statement):
        """Rows, "table" rows (of a changed table) or an error; None when it takes too long."""
        self.steps = 0
        self.database.execute("savepoint s")
        rows = []
        try:
            for at, text in enumerate(statement.sqlite):
                found = self.database.execute(render(text, True))
                if not statement.changes or statement.output == at:
                    rows = found.fetchmany(ROWS_MAX + 1)
        except sqlite3.Error as error:
            self.database.execute("rollback to s")
            self.database.execute("release s")
            return None if str(error) in LEFT_OUT else error
        self.database.execute("release s")
        return None if len(rows) > ROWS_MAX and not statement.changes else rows

    def table(self, name):
        return self.database.execute(f"select * from {name}").fetchall()


def run_seed(arguments, seed, count, mistake=None):
    """What differs, as texts; how many statements were compared."""
    generator = Generator(seed, not arguments.without_indexes)
    schema = list(generator.schema())
    peer = Peer(schema)
    share = 0 if arguments.versioned else 0.12
    made, script = [], ""
    for number in range(count):
        statement = generator.statement(share)
        rows = peer.run(statement)
        if rows is None:
            continue
        table = peer.table(statement.changes) if statement.changes else None
        made.append((number, statement, rows, table))
        text = render(statement.text, False)
        if arguments.versioned and seed % 2 == 0:
            script += f"set transaction isolation level {'snapshot' if number % 2 else 'read committed'}\ngo\n"
        # A batch of its own: what cannot be bound prints nothing.
        script += f"print '#{number}'\ngo\n{text}\ngo\n"
        if statement.changes:
            script += f"print '#{number}t'\ngo\nselect * from {statement.changes}\ngo\n"
    if mistake:
        script = script.replace(*mistake)
    before = settings(arguments) + "".join(f"{render(s.text, False)}\ngo\n" for s in schema)
    if arguments.versioned:
        lines, complaint = run_versioned(arguments, seed, before, changes_of_others(generator), script)
    else:
        lines, complaint = run_script(arguments, before + script)
    differences = []
    for number, statement, rows, table in made:
        have = lines.get(str(number))
        if have is None and complaint == TOO_SLOW:
            print(f"seed {seed} statement {number}: {complaint}", flush=True)
            return differences, number
        if have is None:
            return differences + [f"seed {seed} statement {number}: no answer {complaint[-300:]}"], len(made)
        verdict = compare(generator, statement, rows, table, have, lines.get(f"{number}t", []))
        if verdict not in (None, "excused"):
            differences.append(f"seed {seed} statement {number}: {verdict}\n    {render(statement.text, False)}")
            if arguments.verbose:
                differences[-1] += "\n    " + ";\n    ".join(render(text, True) for text in statement.sqlite)
        if verdict is not None and statement.changes:
            # The tables are not the same any more: nothing that follows can be compared.
            break
    return differences, len(made)


def changes_of_others(generator):
    """What another session does to every table."""
    text = ""
    for table in ("t0", "t1", "t2", "t3"):
        columns = [c for c in generator.tables[table] if c not in generator.computed[table]]
        others = ", ".join(columns[1:])
        for shift in (500, 700):
            sets = ", ".join(f"{c} = {generator.value(generator.tables[table][c])}" for c in generator.draw.sample(columns[1:], 2))
            text += f"update {table} set {sets}\ngo\n" if generator.chance(0.7) else ""
            text += f"delete from {table} where (a + coalesce(d, 0)) % 3 = 1 or a is null\ngo\n"
            text += f"insert into {table} (a, {others}) select a + {shift}, {others} from {table}\ngo\n"
    return text


def compare(generator, statement, rows, table, have, have_table):
    """None when both agree, "excused" when Hardpan alone failed for its numbers, else what differs."""
    failed = next((line for line in have if line.startswith("Msg ")), None)
    if isinstance(rows, sqlite3.Error):
        return None if failed else f"SQLite alone fails: {rows}"
    if failed:
        return "excused" if failed.startswith(EXCUSED) else f"Hardpan alone fails: {have}"
    if table is not None:
        kinds = list(generator.tables[statement.changes].values())
        verdict = differ(table, have_table, kinds, False)
        if verdict:
            return f"the table: {verdict}"
    return differ(rows, have, statement.kinds, statement.ordered)


def differ(rows, have, kinds, is_ordered):
    """None when the rows are the same, else which are not."""
    want = [tuple(shown(value, kind) for value, kind in zip(row, kinds)) for row in rows]
    try:
        got = [tuple(seen(part.strip(), kind) for part, kind in zip(line.split("|"), kinds, strict=True)) for line in have]
    except ValueError:
        return f"other columns: {have[:2]}"
    if not is_ordered:
        want, got = sorted(want), sorted(got)
    if want == got:
        return None
    extra = [row for row in got if row not in want][:2]
    missing = [row for row in want if row not in got][:2]
    return f"{len(got)} rows, SQLite has {len(want)}; only here {extra}, only there {missing}"


def self_test(arguments):
    """Seeds until each planted mistake is found, at most 20."""
    missed = []
    for name, mistake in (PLANTED_VERSIONED if arguments.versioned else PLANTED).items():
        found = next((seed for seed in range(1, 21) if run_seed(arguments, seed, arguments.statements, mistake)[0]), None)
        print(f"planted: {name}: {f'found at seed {found}' if found else 'NOT FOUND'}", flush=True)
        missed += [] if found else [name]
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--statements", type=int, default=150)
    parser.add_argument("--self-test", action="store_true", help="first find every planted mistake")
    parser.add_argument("--verbose", action="store_true", help="print SQLite's text, too")
    parser.add_argument("--without-indexes", action="store_true")
    parser.add_argument("--without-statistics", action="store_true")
    parser.add_argument("--rows-in-memory", type=int, metavar="N")
    parser.add_argument("--versioned", action="store_true")
    parser.add_argument("--metamorphic", action="store_true")
    arguments = parser.parse_args()
    if sqlite3.sqlite_version_info < (3, 39):
        sys.exit(f"SQLite {sqlite3.sqlite_version} knows no full joins")
    try:
        sys.exit(run(arguments))
    finally:
        if Server.running:
            Server.running.stop()


def run(arguments):
    """The exit status."""
    if arguments.self_test and self_test(arguments):
        print("a planted mistake was not found")
        return 1
    found, compared = 0, 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        differences, count = metamorphic.run_seed(arguments, seed) if arguments.metamorphic else run_seed(arguments, seed, arguments.statements)
        found, compared = found + len(differences), compared + count
        if differences:
            print("\n".join(differences), flush=True)
    print(f"{arguments.seeds} seeds, {compared} statements, {found} differences")
    return 1 if found else 0


if __name__ == "__main__":
    main()
