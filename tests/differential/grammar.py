"""Random expressions and queries over columns of numbers, decimals, texts and dates, written for T-SQL and for SQLite at once (random_queries.py).

SQLite has neither decimals nor dates nor APPLY: where the two differ a text holds both forms, `both(tsql, sqlite)`, and `render` takes one of them. A
decimal(.., 2) is a number of hundredths there, a date a number of days, a text compares by NOCASE. Each select item is known by its kind, so that the
answers can be brought to one form:

    i  int, smallint, bigint       n  decimal of scale 2       s  varchar, nvarchar (letters only, upper case equals lower)       d  date, datetime2, datetime
"""
import datetime
import random
import re

OPEN, MIDDLE, CLOSE = "\x01", "\x02", "\x03"
MARKS = re.compile(f"([{OPEN}{MIDDLE}{CLOSE}])")
FIRST_DAY = datetime.date(1970, 1, 1)
SOME_DAY = (datetime.date(2024, 2, 20) - FIRST_DAY).days
COMPARISONS = ["=", "=", "<>", "<", ">", "<=", ">="]
WORDS = ["a", "b", "A", "ab", "Ab", "abc", "ba", "c", "C", "cab", "bca", "d", "aa", "dab"]
OPTIONS = ["hash join", "merge join", "loop join", "hash group", "order group", "force order", "recompile", "hash join, loop join", "fast 3", "concat union", "hash union", "merge union"]
TYPES = {"i": ["int", "int", "int", "smallint", "bigint"], "n": ["decimal(9, 2)", "numeric(12, 2)"], "s": ["varchar(12)", "nvarchar(14)"], "d": ["date", "datetime2(0)", "datetime", "smalldatetime"]}


def both(tsql, sqlite):
    return f"{OPEN}{tsql}{MIDDLE}{sqlite}{CLOSE}"


def render(text, is_sqlite):
    """One of the two languages."""
    shown, parts = [], []
    for piece in MARKS.split(text):
        if piece == OPEN:
            parts.append(not is_sqlite)
        elif piece == MIDDLE:
            parts[-1] = is_sqlite
        elif piece == CLOSE:
            parts.pop()
        elif all(parts):
            shown.append(piece)
    return "".join(shown)


def folded(text):
    """A text that compares as Hardpan's does, wherever it stands."""
    return both(text, f"({text} collate nocase)")


class Grammar:
    """Draws expressions and queries from one seed. A scope is a list of (alias, {column: kind})."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.tables = {}
        self.indexes = {}
        self.views = set()
        self.aliases = 0
        self.nesting = 0
        self.hidden_table = None
        # Variables of the statement: declarations; None where there can be none.
        self.variables = None

    def one_of(self, *choices):
        return self.draw.choice(choices)

    def chance(self, share):
        return self.draw.random() < share

    # Values

    def day(self, day):
        shown = (FIRST_DAY + datetime.timedelta(days=day)).isoformat()
        return both(f"cast('{shown}' as date)", str(day))

    def value(self, kind):
        """A literal."""
        draw = self.draw
        if kind == "i":
            return str(draw.randint(-3, 12) if self.chance(0.8) else draw.randint(-50, 300))
        if kind == "n":
            cents = draw.randint(-3, 12) * 100 if self.chance(0.5) else draw.randint(-500, 1500)
            return both(f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}", str(cents))
        if kind == "s":
            return folded(f"'{draw.choice(WORDS)}'")
        return self.day(SOME_DAY + draw.randint(0, 20))

    def literal(self, kind):
        """A literal or a variable with its value."""
        value = self.value(kind)
        if self.variables is None or not self.chance(0.2):
            return value
        if self.chance(0.05):
            value = "null"
        name = f"@p{len(self.variables)}"
        self.variables.append(f"{name} {self.draw.choice(TYPES[kind])} = {value}")
        return both(name, value)

    # Columns

    def names(self):
        return [table for table in self.tables if table != self.hidden_table]

    def alias(self):
        self.aliases += 1
        return f"x{self.aliases}"

    def columns_of(self, scope, kind):
        found = [f"{alias}.{name}" for alias, columns in scope for name, of in columns.items() if of == kind]
        return [folded(column) for column in found] if kind == "s" else found

    def column(self, scope, kind):
        """A column of the kind; where there is none, a value."""
        found = self.columns_of(scope, kind)
        return self.draw.choice(found) if found else self.literal(kind)

    def any_column(self, scope):
        """A column of any kind, and its kind."""
        alias, columns = self.draw.choice(scope)
        name = self.draw.choice(list(columns))
        text = f"{alias}.{name}"
        return (folded(text) if columns[name] == "s" else text), columns[name]

    def total_order(self, scope):
        """Every column: what ties is equal."""
        columns = [column for kind in "insd" for column in self.columns_of(scope, kind)]
        self.draw.shuffle(columns)
        return ", ".join(column + self.one_of("", " desc") for column in columns)

    # Expressions

    def expression(self, kind, scope, depth=0):
        if depth > 2 or self.chance(0.5):
            return self.column(scope, kind) if self.chance(0.8) else self.literal(kind)
        if self.chance(0.3):
            return self.chosen(kind, scope, depth + 1)
        if self.nesting < 2 and self.chance(0.12):
            return self.scalar_query(kind, scope)
        return {"i": self.number, "n": self.decimal, "s": self.text, "d": self.date}[kind](scope, depth + 1)

    def chosen(self, kind, scope, depth):
        """What every kind has: CASE, COALESCE, NULLIF, IIF, ISNULL."""
        one, other = self.expression(kind, scope, depth), self.expression(kind, scope, depth)
        form = self.draw.random()
        if form < 0.3:
            text = f"case when {self.predicate(scope, depth)} then {one} else {other} end"
        elif form < 0.4:
            text = f"case when {self.predicate(scope, depth)} then {one} when {self.predicate(scope, depth)} then {other} end"
        elif form < 0.5:
            text = f"iif({self.predicate(scope, depth)}, {one}, {other})"
        elif form < 0.6 and kind == "i":
            text = f"case {one} when {self.literal(kind)} then {other} else {self.column(scope, kind)} end"
        elif form < 0.7 and kind in "id":
            text = f"{both('isnull', 'ifnull')}({self.column(scope, kind)}, {one})"
        else:
            column = self.column(scope, kind)
            # A variable or literal alone would make the text hold no column: both peers take that.
            text = f"{self.one_of('coalesce', 'nullif')}({column}, {other})"
        return folded(text) if kind == "s" else text

    def number(self, scope, depth):
        form = self.draw.random()
        one = self.expression("i", scope, depth)
        if form < 0.4:
            return f"({one} {self.draw.choice('+-*')} {self.expression('i', scope, depth)})"
        if form < 0.5:
            return f"({one} {self.draw.choice('/%')} {self.one_of('2', '3', '-2', '7')})"
        if form < 0.56:
            return f"abs({one})"
        if form < 0.62:
            return f"-({one})"
        if form < 0.68:
            return both(f"cast({(n := self.expression('n', scope, depth))} as int)", f"({n} / 100)")
        if form < 0.78:
            return f"{both('len', 'length')}({self.expression('s', scope, depth)})"
        if form < 0.84:
            text = self.expression("s", scope, depth)
            letter = self.one_of("a", "b", "AB")
            return both(f"charindex('{letter}', {text})", f"instr(lower({text}), lower('{letter}'))")
        one = self.expression("d", scope, depth)
        if form < 0.92:
            other = self.expression("d", scope, depth)
            return both(f"datediff(day, {one}, {other})", f"({other} - {one})")
        part, letter = self.one_of(("day", "d"), ("month", "m"), ("year", "Y"))
        return both(f"{part}({one})", f"cast(strftime('%{letter}', {one} * 86400, 'unixepoch') as int)")

    def decimal(self, scope, depth):
        form = self.draw.random()
        if form < 0.4:
            return f"({self.expression('n', scope, depth)} {self.draw.choice('+-')} {self.expression('n', scope, depth)})"
        if form < 0.6:
            return f"({self.column(scope, 'i')} * {self.column(scope, 'n')})"
        if form < 0.8:
            one = self.expression("i", scope, depth)
            return both(f"cast({one} as decimal(14, 2))", f"(({one}) * 100)")
        return f"{self.one_of('abs', '-')}({self.expression('n', scope, depth)})"

    def text(self, scope, depth):
        form = self.draw.random()
        one = self.expression("s", scope, depth)
        if form < 0.3:
            other = self.expression("s", scope, depth)
            return folded(f"({one} {both('+', '||')} {other})")
        if form < 0.45:
            return folded(f"{self.one_of('upper', 'lower')}({one})")
        if form < 0.6:
            start, count = self.draw.randint(1, 3), self.draw.randint(1, 3)
            return folded(f"nullif({both('substring', 'substr')}({one}, {start}, {count}), '')")
        if form < 0.75:
            count = self.draw.randint(1, 3)
            return folded(self.one_of(both(f"left({one}, {count})", f"substr({one}, 1, {count})"), both(f"right({one}, {count})", f"substr({one}, -{count})")))
        if form < 0.85:
            return folded(f"nullif(replace(lower({one}), '{self.one_of('a', 'b', 'ab')}', '{self.one_of('', 'c', 'bb')}'), '')")
        # The place of a hyphen is the collation's own.
        number = f"abs({self.expression('i', scope, depth)})"
        return folded(both(f"cast({number} as varchar(20))", f"cast({number} as text)"))

    def date(self, scope, depth):
        days = self.draw.randint(-9, 9)
        one = self.expression("d", scope, depth)
        return both(f"dateadd(day, {days}, {one})", f"({one} + {days})")

    def scalar_query(self, kind, scope):
        inner, table = self.inner()
        aggregate = self.one_of("max", "min")
        item = f"{aggregate}({self.column(inner, kind)})"
        if kind == "i" and self.chance(0.5):
            item = self.one_of("count(*)", f"count({self.column(inner, 'i')})", f"sum({self.column(inner, 'i')})")
        where = f" where {self.predicate(inner + scope, 1)}" if self.chance(0.9) else ""
        if self.chance(0.15):
            where += f" group by {self.any_column(inner)[0]} having count(*) > 1000"
        self.nesting -= 1
        text = f"(select {item} from {table} {inner[0][0]}{where})"
        return folded(text) if kind == "s" else text

    def inner(self):
        self.nesting += 1
        table = self.draw.choice(self.names())
        return [(self.alias(), self.tables[table])], table

    # Conditions

    def predicate(self, scope, depth=0):
        form = self.draw.random()
        if depth < 2 and form < 0.2:
            return f"({self.predicate(scope, depth + 1)} {self.one_of('and', 'or')} {self.predicate(scope, depth + 1)})"
        if depth < 2 and form < 0.25:
            return f"not ({self.predicate(scope, depth + 1)})"
        kind, negation = self.kind(), self.one_of("", "not ")
        if form < 0.55:
            return f"{self.expression(kind, scope, depth + 1)} {self.draw.choice(COMPARISONS)} {self.expression(kind, scope, depth + 1)}"
        if form < 0.58:
            # Between two kinds of numbers.
            return f"{both(number := self.column(scope, 'i'), f'{number} * 100')} {self.draw.choice(COMPARISONS)} {self.column(scope, 'n')}"
        if form < 0.65:
            return f"{self.any_column(scope)[0]} is {negation}null"
        if form < 0.73:
            listed = ["null" if self.chance(0.07) else self.literal(kind) for _ in range(self.draw.choice([1, 2, 3, 4, 9]))]
            return f"{self.expression(kind, scope, depth + 1)} {negation}in ({', '.join(listed)})"
        if form < 0.78:
            pattern = self.one_of("a%", "%b", "%a%", "_b%", "ab", "%", "A_", "c%b%", "%ab%")
            return f"{self.expression('s', scope, depth + 1)} {negation}like '{pattern}'"
        if form < 0.82 or self.nesting >= 2:
            return f"{self.column(scope, kind)} {negation}between {self.expression(kind, scope, depth + 2)} and {self.expression(kind, scope, depth + 2)}"
        return self.sub_query(scope, negation)

    def sub_query(self, scope, negation):
        inner, table = self.inner()
        source = f"{table} {inner[0][0]}"
        if self.chance(0.25):
            other = self.draw.choice(self.names())
            added = [(self.alias(), self.tables[other])]
            source += f" {self.one_of('inner', 'left')} join {other} {added[0][0]} on {self.join_condition(inner, added)}"
            inner = inner + added
        if self.chance(0.5):
            text = f"{negation}exists (select {self.one_of('1', '*')} from {source} where {self.predicate(inner + scope, 1)})"
        else:
            kind = self.kind()
            seen = inner + scope if self.chance(0.5) else inner
            shape = self.draw.random()
            tail = f" where {self.predicate(seen, 1)}" if shape < 0.85 else ""
            if shape > 0.75:
                item = f"{self.one_of('max', 'min')}({self.column(inner, kind)})"
                tail += f" group by {self.any_column(inner)[0]}"
            else:
                item = ("distinct " if self.chance(0.1) else "") + self.column(inner, kind)
            text = f"{self.expression(kind, scope, 2)} {negation}in (select {item} from {source}{tail})"
        self.nesting -= 1
        return text

    def kind(self):
        return self.draw.choice("iiiinssdd")

    def join_condition(self, scope, added):
        kind = self.kind()
        # Each side has a column: SQLite 3.40 loses outer rows otherwise.
        if not self.columns_of(scope, kind) or not self.columns_of(added, kind):
            kind = "i"
        if self.chance(0.06) and self.columns_of(scope, "i") and self.columns_of(added, "n"):
            number = self.column(scope, "i")
            return f"{both(number, f'{number} * 100')} = {self.column(added, 'n')}"
        if not self.columns_of(scope, kind) or not self.columns_of(added, kind):
            one, other = self.any_column(scope)[0], self.any_column(added)[0]
            return f"({one} is null or {other} is not null)"
        on = f"{self.column(scope, kind)} {self.one_of('=', '=', '=', '=', '=', '<', '<>')} {self.column(added, kind)}"
        if self.chance(0.25):
            kind = self.kind()
            on = f"{on} and {self.column(scope + added, kind)} {self.one_of('>', '<=', '<>', '=')} {self.expression(kind, scope + added, 2)}"
        return on

    # Queries

    def hint(self, table):
        """Now and then an index that the table has, for T-SQL alone."""
        indexes = self.indexes.get(table)
        return both(f" with (index({self.draw.choice(indexes)}))", "") if indexes and self.chance(0.08) else ""

    def source(self, depth):
        form = self.draw.random()
        if form < 0.2 and depth < 2 and self.nesting < 2:
            self.nesting += 1
            text, columns = self.select(depth + 1)
            self.nesting -= 1
            alias = self.alias()
            return f"({text}) {alias}", [(alias, columns)]
        if form < 0.24:
            return self.listed()
        table, alias = self.draw.choice(self.names()), self.alias()
        return f"{table} {alias}{self.hint(table)}", [(alias, self.tables[table])]

    def listed(self):
        """VALUES as a table."""
        alias, kinds = self.alias(), [self.kind() for _ in range(self.draw.randint(1, 3))]
        columns = {f"k{at}": kind for at, kind in enumerate(kinds)}
        rows = [[self.value(kind) if at == 0 or not self.chance(0.15) else "null" for kind in kinds] for at in range(self.draw.randint(1, 5))]
        tsql = ", ".join(f"({', '.join(row)})" for row in rows)
        named = [", ".join(f"{value} as {name}" for value, name in zip(row, columns)) for row in rows]
        return both(f"(values {tsql}) {alias}({', '.join(columns)})", f"({' union all '.join(f'select {row}' for row in named)}) {alias}"), [(alias, columns)]

    def joined(self, depth):
        text, scope = self.source(depth)
        if depth < 2 and self.chance(0.08):
            text, scope = self.applied()
        for _ in range(self.draw.choice([0, 0, 1, 1, 1, 2, 2, 3])):
            other, added = self.source(depth)
            kind = self.one_of("inner", "inner", "left", "left", "right", "full", "cross")
            on = "" if kind == "cross" else f" on {self.join_condition(scope, added)}"
            text = f"{text} {kind} join {other}{on}"
            scope = scope + added
        return text, scope

    def applied(self):
        """A table and what APPLY makes of each of its rows."""
        table, alias, number = self.draw.choice(self.names()), self.alias(), self.aliases
        left = [(alias, self.tables[table])]
        inner, other = self.inner()
        of = inner[0][0]
        where = self.predicate(inner + left, 1)
        if self.chance(0.5) and other not in self.views:
            # The first rows for each: rows of SQLite's table by their number.
            kind, count, order = self.one_of("cross", "outer"), self.draw.randint(1, 3), self.total_order(inner)
            name = self.alias()
            shown = ", ".join(f"{of}.{c}" for c in self.tables[other])
            tsql = f"{table} {alias} {kind} apply (select top ({count}) {shown} from {other} {of} where {where} order by {order}) {name}"
            join = {"cross": "inner", "outer": "left"}[kind]
            sqlite = f"{table} {alias} {join} join {other} {name} on {name}.rowid in (select {of}.rowid from {other} {of} where {where} order by {order} limit {count})"
            self.nesting -= 1
            return both(tsql, sqlite), left + [(name, self.tables[other])]
        name = self.alias()
        kinds = [self.kind() for _ in range(2)]
        items = [f"{self.one_of('max', 'min')}({self.column(inner, kind)})" for kind in kinds] + ["count(*)"]
        columns = {f"q{number}_{at}": kind for at, kind in enumerate(kinds + ["i"])}
        shown = ", ".join(f"{item} as {c}" for item, c in zip(items, columns))
        tsql = f"{table} {alias} {self.one_of('cross', 'outer')} apply (select {shown} from {other} {of} where {where}) {name}"
        single = ", ".join(f"(select {item} from {other} {of} where {where}) as {c}" for item, c in zip(items, columns))
        sqlite = f"(select {alias}.*, {single} from {table} {alias}) {alias}"
        self.nesting -= 1
        return both(tsql, sqlite), left + [(both(name, alias), columns)]

    def select(self, depth=0, kinds=None):
        """Text and columns of a query; of these kinds, if they are given."""
        source, scope = self.joined(depth)
        where = f" where {self.predicate(scope)}" if self.chance(0.5) else ""
        form = self.draw.random()
        if form < 0.3 and kinds is None:
            return self.grouped(source, scope, where)
        if form < 0.42 and kinds is None and depth < 2:
            return self.windowed(source, scope, where)
        kinds = kinds or [self.kind() for _ in range(self.draw.randint(1, 4))]
        items = [self.expression(kind, scope, 1) if self.chance(0.5) else self.column(scope, kind) for kind in kinds]
        columns, shown = self.named(items, kinds)
        return f"select {'distinct ' if self.chance(0.2) else ''}{shown} from {source}{where}", columns

    def aggregate(self, scope):
        kind = self.kind()
        column = self.column(scope, kind)
        if self.chance(0.2) and kind in "in":
            column = f"({column} + {self.value(kind)})"
        distinct = "distinct " if self.chance(0.2) else ""
        function = self.one_of("count", "min", "max", "sum", "sum", "avg")
        if function == "count" or (function in ("sum", "avg") and kind in "sd"):
            return f"count({distinct}{column})", "i"
        if function == "avg" and kind == "i":
            return both(f"avg({distinct}{column})", f"(sum({distinct}{column}) / count({distinct}{column}))"), "i"
        if function == "avg":
            function = "sum"
        text = f"{function}({distinct}{column})"
        return (folded(text) if kind == "s" else text), kind

    def grouped(self, source, scope, where):
        keys = list(dict.fromkeys(self.any_column(scope) for _ in range(self.draw.randint(0, 2))))
        if self.chance(0.15) and self.columns_of(scope, "i"):
            keys.append((f"({self.draw.choice(self.columns_of(scope, 'i'))} {self.one_of('+', '%', '/')} 3)", "i"))
        aggregates = [self.aggregate(scope) for _ in range(self.draw.randint(1, 3))]
        if self.chance(0.3):
            aggregates.append(("count(*)", "i"))
        items = keys + aggregates
        columns, shown = self.named([text for text, _ in items], [kind for _, kind in items])
        by = f" group by {', '.join(text for text, _ in keys)}" if keys else ""
        having = self.one_of("count(*) > 1", "count(*) < 5", f"min({self.column(scope, 'i')}) > 0", f"{self.aggregate(scope)[0]} is not null")
        return f"select {shown} from {source}{where}{by}{f' having {having}' if self.chance(0.25) else ''}", columns

    def windowed(self, source, scope, where):
        """Window functions over a total order: what ties is equal in everything."""
        items, kinds = [], []
        for _ in range(self.draw.randint(1, 3)):
            partition = self.one_of("", f"partition by {self.any_column(scope)[0]} ")
            order = f"order by {self.total_order(scope)}"
            kind, form = self.kind(), self.draw.random()
            column = self.column(scope, kind)
            if form < 0.25:
                text, kind = f"{self.one_of('row_number()', 'rank()', 'dense_rank()', 'ntile(3)')} over ({partition}{order})", "i"
            elif form < 0.45:
                default = self.one_of("", f", {self.draw.randint(0, 3)}", f", {self.draw.randint(0, 3)}, {self.value(kind)}")
                text = f"{self.one_of('lag', 'lead')}({column}{default if kind != 's' else ''}) over ({partition}{order})"
            elif form < 0.6:
                of, kind = self.one_of((f"count({column})", "i"), (f"min({column})", kind), (f"max({column})", kind), (f"sum({self.column(scope, 'i')})", "i"))
                text = f"{of} over ({partition})"
            elif form < 0.9:
                of, kind = self.one_of((f"count({column})", "i"), (f"min({column})", kind), (f"max({column})", kind), (f"sum({self.column(scope, 'i')})", "i"), (f"first_value({column})", kind), (f"last_value({column})", kind))
                low, high = self.one_of("unbounded preceding", "2 preceding", "current row", "1 following"), self.one_of("unbounded following", "2 following", "current row")
                if low == "1 following" and high == "current row":
                    low = "1 preceding"
                text = f"{of} over ({partition}{order} rows between {low} and {high})"
            else:
                # Ties are peers: by one column, with the frame that is meant where none is given.
                by = self.any_column(scope)[0]
                of, kind = self.one_of(("rank()", "i"), ("dense_rank()", "i"), (f"count({column})", "i"), (f"sum({self.column(scope, 'i')})", "i"), (f"max({column})", kind))
                text = f"{of} over ({partition}order by {by}{self.one_of('', ' desc')})"
            items.append(folded(text) if kind == "s" else text)
            kinds.append(kind)
        if self.chance(0.5):
            kinds.append(kind := self.kind())
            items.append(self.column(scope, kind))
        columns, shown = self.named(items, kinds)
        return f"select {shown} from {source}{where}", columns

    @staticmethod
    def named(items, kinds):
        columns = {f"k{at}": kind for at, kind in enumerate(kinds)}
        return columns, ", ".join(f"{item} as {column}" for item, column in zip(items, columns))
