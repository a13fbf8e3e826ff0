"""Random queries and changes on Hardpan and on SQLite side by side: the two must give the same rows.

    python3 random_queries.py --binary target/release/hardpan --seeds 10 [--first 1] [--statements 150]      (Python's own sqlite3)

Each seed draws four tables of nullable ints with keys and indexes of all kinds, then statements: joins of every kind, sub-queries in every position,
groups, set operations, CTEs, ROW_NUMBER, TOP and OFFSET, now and then UPDATE, DELETE and INSERT ... SELECT. Both engines are told the same text, but
for TOP and OFFSET; after a change the whole table is compared. A difference prints seed, number and text of the statement: the same seed makes it again.

Not drawn, because the peers mean different things: text (collations), division by a drawn number, AVG, an update that reads the table it changes
(SQLite sees rows that it has changed already), ON conditions without a column (SQLite 3.40 loses the outer rows of some).
"""
import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

OVERFLOW, DIVISION = "Msg 8115", "Msg 8134"

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
}


class Statement:
    """One statement in both languages. `changes`: the table that it changes; `ordered`: rows come in a total order."""

    def __init__(self, tsql, sqlite=None, ordered=False, changes=None):
        self.tsql, self.sqlite = tsql, sqlite or tsql
        self.ordered, self.changes = ordered, changes


class Generator:
    """Draws everything from one seed."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.tables = {}
        self.aliases = 0
        self.nesting = 0
        self.hidden_table = None

    # Tables

    def schema(self):
        """Statements that make and fill the tables; SQLite needs no indexes to give the same rows."""
        made = []
        for table in ("t0", "t1", "t2", "t3"):
            columns = ["a", "b", "c"][: self.draw.randint(2, 3)] + ["d"]
            self.tables[table] = columns
            made += self.table(table, columns)
        return made

    def table(self, table, columns):
        draw = self.draw
        key = draw.choice(["heap", "clustered", "nonclustered", "index"])
        has_key = key in ("clustered", "nonclustered")
        shown = ", ".join(f"{c} int" + (" not null" if c == "a" and has_key else "") for c in columns)
        yield Statement(
            f"create table {table} ({shown}{f', primary key {key} (a)' if has_key else ''})",
            f"create table {table} ({shown}{', primary key (a)' if has_key else ''})",
        )
        if key == "index":
            yield Statement(f"create clustered index cx on {table} ({', '.join(draw.sample(columns, draw.randint(1, 2)))})", "select 1")
        for number in range(draw.randint(0, 2)):
            of = draw.sample(columns, draw.randint(1, 2))
            rest = [c for c in columns if c not in of and draw.random() < 0.3]
            included = f" include ({', '.join(rest)})" if rest else ""
            yield Statement(f"create index ix{number} on {table} ({', '.join(of)}){included}", "select 1")
        keys = draw.sample(range(-50, 400), 25)
        for number in range(draw.choice([0, 1, 3, 8, 15, 25])):
            values = [str(keys[number]) if c == "a" and has_key else self.value() for c in columns]
            yield Statement(f"insert into {table} ({', '.join(columns)}) values ({', '.join(values)})")

    def value(self):
        if self.draw.random() < 0.15:
            return "null"
        return str(self.draw.randint(-3, 12) if self.draw.random() < 0.8 else self.draw.randint(-50, 300))

    # Expressions. A scope is a list of (alias, columns).

    def names(self):
        return [table for table in self.tables if table != self.hidden_table]

    def alias(self):
        self.aliases += 1
        return f"x{self.aliases}"

    def column(self, scope):
        alias, columns = self.draw.choice(scope)
        return f"{alias}.{self.draw.choice(columns)}"

    def number(self, scope, depth=0):
        draw, kind = self.draw, self.draw.random()
        if kind < 0.55 or depth > 2:
            return self.column(scope) if draw.random() < 0.8 else str(draw.randint(-3, 15))
        if kind < 0.7:
            return f"({self.number(scope, depth + 1)} {draw.choice('+-*')} {self.number(scope, depth + 1)})"
        if kind < 0.76:
            return f"({self.number(scope, depth + 1)} {draw.choice('/%')} {draw.choice(['2', '3', '-2', '7'])})"
        if kind < 0.84:
            return f"case when {self.predicate(scope, depth + 1)} then {self.number(scope, depth + 1)} else {self.number(scope, depth + 1)} end"
        if kind < 0.93:
            return f"{draw.choice(['coalesce', 'nullif'])}({self.column(scope)}, {self.number(scope, depth + 1)})"
        if kind < 0.95:
            return f"abs({self.number(scope, depth + 1)})"
        return self.scalar_query(scope) if self.nesting < 2 else f"-({self.column(scope)})"

    def scalar_query(self, scope):
        inner, table = self.inner()
        aggregate = self.draw.choice(["max", "min", "sum", "count"])
        text = f"(select {aggregate}({self.column(inner)}) from {table} {inner[0][0]} where {self.predicate(inner + scope, 1)})"
        self.nesting -= 1
        return text

    def inner(self):
        self.nesting += 1
        table = self.draw.choice(self.names())
        return [(self.alias(), self.tables[table])], table

    def predicate(self, scope, depth=0):
        draw, kind = self.draw, self.draw.random()
        if depth < 2 and kind < 0.2:
            return f"({self.predicate(scope, depth + 1)} {draw.choice(['and', 'or'])} {self.predicate(scope, depth + 1)})"
        if depth < 2 and kind < 0.25:
            return f"not ({self.predicate(scope, depth + 1)})"
        negation = draw.choice(["", "not "])
        if kind < 0.6:
            return f"{self.number(scope, depth + 1)} {draw.choice(['=', '=', '<>', '<', '>', '<=', '>='])} {self.number(scope, depth + 1)}"
        if kind < 0.67:
            return f"{self.column(scope)} is {negation}null"
        if kind < 0.74:
            listed = [draw.choice([str(draw.randint(-3, 12))] * 6 + ["null"]) for _ in range(draw.randint(1, 4))]
            return f"{self.number(scope, depth + 1)} {negation}in ({', '.join(listed)})"
        if kind < 0.8 or self.nesting >= 2:
            return f"{self.column(scope)} {negation}between {self.number(scope, depth + 2)} and {self.number(scope, depth + 2)}"
        inner, table = self.inner()
        if kind < 0.9:
            text = f"{negation}exists (select 1 from {table} {inner[0][0]} where {self.predicate(inner + scope, 1)})"
        else:
            seen = inner + scope if draw.random() < 0.5 else inner
            text = f"{self.column(scope)} {negation}in (select {self.column(inner)} from {table} {inner[0][0]} where {self.predicate(seen, 1)})"
        self.nesting -= 1
        return text

    # Queries

    def source(self, depth):
        if self.draw.random() < 0.2 and depth < 2 and self.nesting < 2:
            self.nesting += 1
            text, columns = self.select(depth + 1)
            self.nesting -= 1
            alias = self.alias()
            return f"({text}) {alias}", [(alias, columns)]
        table, alias = self.draw.choice(self.names()), self.alias()
        return f"{table} {alias}", [(alias, self.tables[table])]

    def joined(self, depth):
        draw = self.draw
        text, scope = self.source(depth)
        for _ in range(draw.choice([0, 0, 1, 1, 1, 2, 2])):
            other, added = self.source(depth)
            kind = draw.choice(["inner", "inner", "left", "right", "full", "cross"])
            on = f"{self.column(scope)} {draw.choice(['=', '=', '=', '=', '<', '<>'])} {self.column(added)}"
            if draw.random() < 0.25:
                on = f"{on} and {self.column(scope + added)} {draw.choice(['>', '<=', '<>'])} {draw.randint(-3, 12)}"
            text = f"{text} {kind} join {other}" + ("" if kind == "cross" else f" on {on}")
            scope = scope + added
        return text, scope

    def select(self, depth=0):
        """Text and column names of a query."""
        draw = self.draw
        source, scope = self.joined(depth)
        where = f" where {self.predicate(scope)}" if draw.random() < 0.65 else ""
        kind = draw.random()
        if kind < 0.35:
            return self.grouped(source, scope, where)
        if kind < 0.42 and depth == 0:
            order = ", ".join(self.column(scope) for _ in range(2))
            return f"select row_number() over (partition by {self.column(scope)} order by {order}) as rn from {source}{where}", ["rn"]
        items = [self.number(scope, 1) if draw.random() < 0.5 else self.column(scope) for _ in range(draw.randint(1, 4))]
        columns, shown = self.named(items)
        return f"select {'distinct ' if draw.random() < 0.2 else ''}{shown} from {source}{where}", columns

    def grouped(self, source, scope, where):
        draw = self.draw
        keys = list(dict.fromkeys(self.column(scope) for _ in range(draw.randint(0, 2))))
        distinct = "distinct " if draw.random() < 0.15 else ""
        aggregates = [f"{draw.choice(['count', 'sum', 'min', 'max'])}({distinct}{self.column(scope)})" for _ in range(draw.randint(1, 3))]
        if draw.random() < 0.3:
            aggregates.append("count(*)")
        columns, shown = self.named(keys + aggregates)
        by = f" group by {', '.join(keys)}" if keys else ""
        having = draw.choice(["count(*) > 1", "count(*) < 5", f"min({self.column(scope)}) > 0"])
        return f"select {shown} from {source}{where}{by}{f' having {having}' if draw.random() < 0.25 else ''}", columns

    @staticmethod
    def named(items):
        columns = [f"k{at}" for at in range(len(items))]
        return columns, ", ".join(f"{item} as {column}" for item, column in zip(items, columns))

    def query(self):
        draw, kind = self.draw, self.draw.random()
        text, columns = self.select()
        if kind < 0.15:
            for _ in range(20):
                other, others = self.select()
                if len(others) == len(columns):
                    return Statement(f"{text} {draw.choice(['union', 'union all', 'intersect', 'except'])} {other}")
        if kind < 0.3:
            # By all columns: a total order, but for equal rows.
            order = ", ".join(column + draw.choice(["", " desc"]) for column in columns)
            count, offset = draw.randint(1, 10), draw.randint(0, 5)
            lite = f"select * from ({text}) z order by {order} limit {count}"
            if draw.random() < 0.5:
                return Statement(f"select top ({count}) * from ({text}) z order by {order}", lite, True)
            paged = f"select * from ({text}) z order by {order} offset {offset} rows fetch next {count} rows only"
            return Statement(paged, f"{lite} offset {offset}", True)
        if kind < 0.38:
            first, last = columns[0], columns[-1]
            rest = f"select x.{first}, count(*) as n from c x left join c y on x.{first} = y.{last} group by x.{first}"
            return Statement(f"with c as ({text}) {rest}")
        return Statement(text)

    def change(self):
        draw, kind = self.draw, self.draw.random()
        table = draw.choice(self.names())
        columns = self.tables[table]
        scope, free = [(table, columns)], [c for c in columns if c != "a"]
        self.nesting, self.hidden_table = 1, table
        if kind < 0.5:
            sets = ", ".join(f"{c} = {self.number(scope, 1)}" for c in draw.sample(free, draw.randint(1, len(free))))
            text = f"update {table} set {sets} where {self.predicate(scope)}"
        elif kind < 0.8:
            text = f"delete from {table} where {self.predicate(scope)} and {table}.{draw.choice(columns)} % 3 = {draw.randint(0, 2)}"
        else:
            from_z = [("z", columns)]
            items = ", ".join(f"z.a + {1000 * draw.randint(1, 9)}" if c == "a" else self.number(from_z, 2) for c in columns)
            text = f"insert into {table} ({', '.join(columns)}) select {items} from {table} z where z.a between 0 and 9"
        self.nesting, self.hidden_table = 0, None
        return Statement(text, changes=table)


def cell(value):
    return "NULL" if value is None else str(value)


def run_hardpan(binary, script):
    """Output lines by statement: each is announced by PRINT."""
    data = tempfile.mkdtemp(prefix="hardpan-differential-")
    path = os.path.join(data, "script.sql")
    with open(path, "w") as file:
        file.write(script)
    try:
        command = [binary, "sql", "--data", os.path.join(data, "data"), "-i", path, "-W", "-h", "-1", "-s", "|"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    finally:
        shutil.rmtree(data)
    lines, current = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            current = lines.setdefault(line[1:], [])
        elif current is not None and line and not line.startswith("Warning"):
            current.append(line)
    return lines, done.stderr


def run_seed(binary, seed, count, mistake=None):
    """What differs, as texts."""
    generator = Generator(seed)
    schema = generator.schema()
    statements = [generator.change() if generator.draw.random() < 0.12 else generator.query() for _ in range(count)]
    script = "set nocount on\ncreate database d\ngo\nuse d\ngo\n" + "".join(f"{s.tsql}\ngo\n" for s in schema)
    for number, statement in enumerate(statements):
        script += f"print '#{number}';\n{statement.tsql}\ngo\n"
        if statement.changes:
            script += f"print '#{number}t';\nselect * from {statement.changes}\ngo\n"
    if mistake:
        script = script.replace(*mistake)
    lines, complaint = run_hardpan(binary, script)
    database = sqlite3.connect(":memory:")
    for statement in schema:
        database.execute(statement.sqlite)
    differences = []
    for number, statement in enumerate(statements):
        have = lines.get(str(number))
        if have is None:
            return differences + [f"seed {seed} statement {number}: no answer {complaint[-300:]}"]
        verdict = compare(database, statement, have, lines.get(f"{number}t", []))
        if verdict not in (None, "stop"):
            differences.append(f"seed {seed} statement {number}: {verdict}\n    {statement.tsql}")
        if verdict is not None and statement.changes:
            # The tables are not the same any more: nothing that follows can be compared.
            break
    return differences


def compare(database, statement, have, have_table):
    """None when both agree, "stop" when a change failed on both or for its numbers, else what differs."""
    failed = next((line for line in have if line.startswith("Msg ")), None)
    try:
        want = [tuple(cell(value) for value in row) for row in database.execute(statement.sqlite)]
    except sqlite3.Error as error:
        return "stop" if failed else f"SQLite alone fails: {error}"
    if failed:
        return "stop" if failed.startswith((OVERFLOW, DIVISION)) else f"Hardpan alone fails: {have}"
    if statement.changes:
        want = [tuple(cell(value) for value in row) for row in database.execute(f"select * from {statement.changes}")]
        have = have_table
    rows = [tuple(part.strip() for part in line.split("|")) for line in have]
    if statement.ordered:
        same = rows == want
    else:
        same = sorted(rows) == sorted(want)
    return None if same else f"{len(rows)} rows, SQLite has {len(want)}"


def self_test(binary, statements):
    """Seeds until each planted mistake is found, at most 20."""
    missed = []
    for name, mistake in PLANTED.items():
        found = next((seed for seed in range(1, 21) if run_seed(binary, seed, statements, mistake)), None)
        print(f"planted: {name}: {f'found at seed {found}' if found else 'NOT FOUND'}")
        missed += [] if found else [name]
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--statements", type=int, default=150)
    parser.add_argument("--self-test", action="store_true", help="first find every planted mistake")
    arguments = parser.parse_args()
    if sqlite3.sqlite_version_info < (3, 39):
        sys.exit(f"SQLite {sqlite3.sqlite_version} knows no full joins")
    if arguments.self_test and self_test(arguments.binary, arguments.statements):
        sys.exit("a planted mistake was not found")
    found = []
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        found += run_seed(arguments.binary, seed, arguments.statements)
    print("\n".join(found))
    print(f"{arguments.seeds} seeds of {arguments.statements} statements, {len(found)} differences")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
