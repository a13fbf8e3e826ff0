"""Random tables, indexes and changes, written for T-SQL and for SQLite at once (random_queries.py); grammar.py says how."""
from grammar import OPTIONS, TYPES, Grammar, both, folded

SQLITE_TYPES = {"i": "int", "n": "int", "s": "text collate nocase", "d": "int"}


class Statement:
    """One statement. `kinds`: of its columns; `ordered`: rows come in a total order; `changes`: the table that it changes, `sqlite`: what SQLite is
    told then, one after the other; the rows of `output` among them are those of T-SQL's OUTPUT."""

    def __init__(self, text, kinds=(), ordered=False, changes=None, sqlite=None, output=None):
        self.text, self.kinds, self.ordered = text, list(kinds), ordered
        self.changes, self.sqlite, self.output = changes, sqlite or [text], output


class Generator(Grammar):
    """Draws a schema and statements from one seed."""

    ROW_COUNTS = [0, 3, 8, 15, 20, 25, 40]

    def __init__(self, seed, has_indexes=True):
        super().__init__(seed)
        self.has_indexes = has_indexes
        self.computed = {}
        self.keys = {}

    # Tables

    def schema(self):
        """Statements that make and fill the tables."""
        made = []
        for table in ("t0", "t1", "t2", "t3"):
            made += self.table(table)
        for view in ("v0", "v1"):
            text, columns = self.select(1)
            while " where " in text and self.chance(0.8):
                text, columns = self.select(1)
            made.append(Statement(f"create view {view} as {text}"))
            self.tables[view] = columns
            self.views.add(view)
        return made

    def table(self, table):
        draw = self.draw
        columns = {c: "i" for c in ["a", "b", "c"][: draw.randint(2, 3)] + ["d"]}
        columns.update({c: kind for c, kind in (("n", "n"), ("s", "s"), ("w", "d")) if self.chance(0.7)})
        key = self.one_of("heap", "clustered", "nonclustered", "index") if self.has_indexes else "heap"
        self.keys[table] = key in ("clustered", "nonclustered")
        lines = []
        for c, kind in columns.items():
            of_type = "int" if c == "a" else draw.choice(TYPES[kind])
            lines.append(f"{c} {both(of_type, SQLITE_TYPES[kind])}{' not null' if c == 'a' and self.keys[table] else ''}")
        if self.chance(0.3):
            text = self.one_of("b + d", "coalesce(b, d)", "d % 3", "b - 2 * d")
            lines.append(both(f"e as ({text}){self.one_of('', ' persisted')}", f"e int generated always as ({text}) virtual"))
            self.computed[table] = ["e"]
        else:
            self.computed[table] = []
        if self.keys[table]:
            lines.append(f"primary key {both(key, '')} (a{both(self.one_of('', ' desc'), '')})")
        self.tables[table] = dict(columns, **{c: "i" for c in self.computed[table]})
        yield Statement(f"create table {table} ({', '.join(lines)})")
        self.indexes[table] = []
        if self.has_indexes:
            yield from self.table_indexes(table, key)
        yield from self.filled(table, columns)

    def table_indexes(self, table, key):
        """Of all kinds; SQLite needs none of them to give the same rows."""
        draw, columns = self.draw, list(self.tables[table])
        listed = lambda of: ", ".join(c + self.one_of("", "", " desc") for c in of)
        if key == "index":
            yield Statement(f"create clustered index cx on {table} ({listed(draw.sample(columns, draw.randint(1, 2)))})", sqlite=["select 1"])
        for number in range(draw.randint(0, 3)):
            of = draw.sample(columns, draw.randint(1, 3))
            rest = [c for c in columns if c not in of and self.chance(0.3)]
            included = f" include ({', '.join(rest)})" if rest else ""
            filtered = ""
            if self.chance(0.2):
                filtered = " where " + self.one_of("d > 2", "b is not null", "d in (1, 2, 3, 5)", "b <= 6", "a > 0 and b is not null", "d = 4")
            else:
                self.indexes[table].append(f"ix{number}")
            yield Statement(f"create index ix{number} on {table} ({listed(of)}){included}{filtered}", sqlite=["select 1"])

    def filled(self, table, columns):
        draw = self.draw
        keys = draw.sample(range(-50, 400), 80)
        empty = 0.6 if self.chance(0.15) else 0.15
        for number in range(draw.choice(self.ROW_COUNTS)):
            values = []
            for c, kind in columns.items():
                value = "null" if self.chance(empty) else self.value(kind)
                values.append(str(keys[number]) if c == "a" and self.keys[table] else value)
            yield Statement(f"insert into {table} ({', '.join(columns)}) values ({', '.join(values)})")

    # Statements

    def statement(self, share_of_changes=0.12):
        self.variables = [] if self.chance(0.5) else None
        statement = self.change() if self.chance(share_of_changes) else self.query()
        if self.variables:
            statement.text = both(f"declare {', '.join(self.variables)}; ", "") + statement.text
        self.variables = None
        return statement

    def query(self):
        query = self.any_query()
        if self.chance(0.2):
            query.text += both(f" option ({self.draw.choice(OPTIONS)})", "")
        return query

    def any_query(self):
        draw, form = self.draw, self.draw.random()
        text, columns = self.select()
        kinds = list(columns.values())
        if form < 0.15:
            for number in range(draw.choice([1, 1, 2])):
                other, _ = self.select(kinds=kinds)
                # T-SQL's INTERSECT binds tighter, SQLite's does not: it is the first or none.
                text = f"{text} {self.one_of('union', 'union all', 'except', *(['intersect'] if number == 0 else []))} {other}"
            return Statement(text, kinds)
        if form < 0.32:
            return self.top(text, columns)
        if form < 0.42:
            return self.shared(text, columns)
        if form < 0.48:
            return self.grouping_sets(text, columns)
        if form < 0.51:
            steps, count = draw.randint(1, 3), draw.randint(0, 12)
            column = self.one_of("count(*)", "max(z.k0)" if columns["k0"] == "i" else "count(z.k0)")
            rest = f"select r.n, {column} as m from r left join ({text}) z on {'z.k0 = r.n' if columns['k0'] == 'i' else 'r.n = 1'} group by r.n"
            return Statement(f"with r(n) as (select 0 union all select n + {steps} from r where n < {count}) {rest}", ["i", "i"])
        return Statement(text, kinds)

    def top(self, text, columns):
        """By all columns: a total order, but for equal rows."""
        draw = self.draw
        named = list(columns)
        draw.shuffle(named)
        order = ", ".join((folded(f"z.{c}") if columns[c] == "s" else f"z.{c}") + self.one_of("", " desc") for c in named)
        count, offset, form = draw.randint(1, 10), draw.randint(0, 5), draw.random()
        kinds = list(columns.values())
        if form < 0.2:
            first = order.split(", ")[0]
            shown = ", ".join(f"z.{c}" for c in columns)
            ranked = f"select {', '.join(columns)} from (select z.*, rank() over (order by {first}) as r from ({text}) z) y where y.r <= {count}"
            return Statement(both(f"select top ({count}) with ties {shown} from ({text}) z order by {first}", ranked), kinds)
        body = f"from ({text}) z order by {order}"
        if form < 0.6:
            return Statement(f"select {both(f'top ({count}) ', '')}z.* {body}{both('', f' limit {count}')}", kinds, ordered=True)
        paged = both(f"offset {offset} rows fetch next {count} rows only", f"limit {count} offset {offset}")
        return Statement(f"select z.* {body} {paged}", kinds, ordered=True)

    def shared(self, text, columns):
        """A common table expression that is used twice."""
        first = next(iter(columns))
        last = self.draw.choice([c for c, kind in columns.items() if kind == columns[first]])
        kind = columns[first]
        fold = folded if kind == "s" else str
        one, other = fold(f"x.{first}"), fold(f"y.{last}")
        rest = self.one_of(
            f"select {one} as k, count(*) as n from c x left join c y on {one} = {other} group by {one}",
            f"select {one} as k, 1 as n from c x where {self.one_of('', 'not ')}exists (select 1 from c y where {one} < {other})",
            f"select {one} as k, (select count(*) from c y where {one} = {other}) as n from c x",
            f"select {one} as k, 1 as n from c x union all select {other} as k, 2 as n from c y",
            f"select {one} as k, 1 as n from c x except select {other} as k, 1 as n from c y",
            f"select {one} as k, 1 as n from c x where {one} {self.one_of('', 'not ')}in (select {other} from c y where {other} is not null)",
        )
        return Statement(f"with c as ({text}) {rest}", [kind, "i"])

    def grouping_sets(self, text, columns):
        """Over at most three keys of a query; SQLite joins the groups of each set with UNION ALL."""
        keys = list(columns)[:3]
        (aggregate, kind), form = self.aggregate([("z", columns)]), self.draw.random()
        if form < 0.35:
            sets = [list(range(n)) for n in range(len(keys), -1, -1)]
        elif form < 0.65:
            sets = [[at for at in range(len(keys)) if bits >> at & 1] for bits in range(1 << len(keys))]
        else:
            sets = [sorted(self.draw.sample(range(len(keys)), self.draw.randint(0, len(keys)))) for _ in range(self.draw.randint(1, 4))]
            sets[0] = sets[0] or [0]
            # Only what is in a set may be shown.
            used = sorted({at for one in sets for at in one})
            keys, sets = [keys[at] for at in used], [[used.index(at) for at in one] for one in sets]
        shown = [folded(f"z.{c}") if columns[c] == "s" else f"z.{c}" for c in keys]
        listed = ", ".join(shown)
        by = f"rollup ({listed})" if form < 0.35 else f"cube ({listed})"
        if form >= 0.65:
            by = f"grouping sets ({', '.join('(' + ', '.join(shown[at] for at in one) + ')' for one in sets)})"
        kinds = [columns[c] for c in keys]
        grouping = self.draw.randrange(len(keys))
        of = shown[grouping]
        tsql = f"select {', '.join(shown)}, {aggregate}, count(*), grouping({of}) from ({text}) z group by {by}"
        parts = []
        for one in sets:
            named = ", ".join(shown[at] if at in one else "null" for at in range(len(keys)))
            part = f"select {named}, {aggregate}, count(*), {int(grouping not in one)} from ({text}) z"
            part += f" group by {', '.join(shown[at] for at in one)}" if one else ""
            parts.append(part)
        return Statement(both(tsql, " union all ".join(parts)), kinds + [kind, "i", "i"])

    # Changes

    def change(self):
        form = self.draw.random()
        table = self.draw.choice([t for t in self.tables if t not in self.views])
        self.nesting, self.hidden_table = 1, table
        hidden_views, names = self.views, self.tables
        # A view may read the table: SQLite would see rows that it has changed already.
        self.tables = {t: columns for t, columns in names.items() if t not in self.views}
        if form < 0.3:
            made = self.update(table)
        elif form < 0.45:
            made = self.update_from(table)
        elif form < 0.6:
            made = self.delete(table)
        elif form < 0.7:
            made = self.delete_from(table)
        elif form < 0.85:
            made = self.insert(table)
        else:
            made = self.merge(table)
        self.tables, self.views = names, hidden_views
        self.nesting, self.hidden_table = 0, None
        return made

    def assigned(self, table, scope):
        """SET items of a few columns, each with a value that fits."""
        columns = self.tables[table]
        free = [c for c in columns if c != "a" and c not in self.computed[table]]
        return [(c, self.fitting(columns[c], scope)) for c in self.draw.sample(free, self.draw.randint(1, min(3, len(free))))]

    def fitting(self, kind, scope):
        """An expression that every column of the kind can take."""
        one = self.expression(kind, scope, 1)
        if kind == "i":
            return f"({one}) % 1000"
        if kind == "s":
            return folded(both(f"left({one}, 8)", f"substr({one}, 1, 8)"))
        return self.column(scope, kind) if kind == "n" else one

    def output(self, table, prefixes):
        """An OUTPUT clause of a few columns, with their kinds and SQLite's names."""
        if not self.chance(0.3):
            return "", [], []
        picked = [(self.draw.choice(prefixes), c) for c in self.draw.sample(list(self.tables[table]), 2)]
        return " output " + ", ".join(f"{prefix}.{c}" for prefix, c in picked), [self.tables[table][c] for _, c in picked], [c for _, c in picked]

    def update(self, table):
        scope = [(table, self.tables[table])]
        sets = ", ".join(f"{c} = {value}" for c, value in self.assigned(table, scope))
        where = self.predicate(scope)
        output, kinds, named = self.output(table, ["deleted", "inserted"][self.draw.randint(0, 1) :][:1])
        tsql = f"update {table} set {sets}{output} where {where}"
        sqlite = f"update {table} set {sets} where {where}"
        if "deleted." in output:
            return Statement(tsql, kinds, changes=table, sqlite=[f"select {', '.join(named)} from {table} where {where}", sqlite], output=0)
        if output:
            # Computed columns are not known to SQLite's RETURNING before they are read again.
            return Statement(tsql, kinds, changes=table, sqlite=[f"{sqlite} returning {', '.join(named)}"], output=0)
        return Statement(tsql, changes=table, sqlite=[sqlite])

    def single(self, table):
        """A source that has each number once: its text, alias and columns."""
        other = self.draw.choice(self.names())
        inner, alias = [(self.alias(), self.tables[other])], self.alias()
        kinds = [self.kind() for _ in range(2)]
        items = [f"{self.one_of('max', 'min')}({self.column(inner, kind)}) as m{at}" for at, kind in enumerate(kinds)]
        key = self.draw.choice(self.columns_of(inner, "i"))
        text = f"(select {key} as k, {', '.join(items)} from {other} {inner[0][0]} where {key} is not null group by {key}) {alias}"
        return text, alias, {"k": "i", **{f"m{at}": kind for at, kind in enumerate(kinds)}}

    def update_from(self, table):
        source, alias, columns = self.single(table)
        scope = [(table, self.tables[table]), (alias, columns)]
        target = self.draw.choice(self.columns_of(scope[:1], "i"))
        sets = ", ".join(f"{c} = {value}" for c, value in self.assigned(table, scope))
        more = f" and {self.predicate(scope, 1)}" if self.chance(0.5) else ""
        output, kinds, named = self.output(table, ["inserted"])
        tsql = f"update {table} set {sets}{output} from {table} inner join {source} on {target} = {alias}.k{more}"
        returning = f" returning {', '.join(named)}" if output else ""
        sqlite = f"update {table} set {sets} from {source} where {target} = {alias}.k{more}{returning}"
        return Statement(tsql, kinds, changes=table, sqlite=[sqlite], output=0 if output else None)

    def delete(self, table):
        scope = [(table, self.tables[table])]
        where = f"{self.predicate(scope)} and {self.draw.choice(self.columns_of(scope, 'i'))} % 3 = {self.draw.randint(0, 2)}"
        output, kinds, named = self.output(table, ["deleted"])
        returning = f" returning {', '.join(named)}" if output else ""
        return Statement(f"delete from {table}{output} where {where}", kinds, changes=table, sqlite=[f"delete from {table} where {where}{returning}"], output=0 if output else None)

    def delete_from(self, table):
        other = self.draw.choice(self.names())
        added = [(self.alias(), self.tables[other])]
        scope = [(table, self.tables[table])]
        on = self.join_condition(scope, added)
        where = f"{self.predicate(scope + added, 1)} and {self.draw.choice(self.columns_of(scope, 'i'))} % 3 = {self.draw.randint(0, 2)}"
        tsql = f"delete {table} from {table} inner join {other} {added[0][0]} on {on} where {where}"
        sqlite = f"delete from {table} where exists (select 1 from {other} {added[0][0]} where {on} and {where})"
        return Statement(tsql, changes=table, sqlite=[sqlite])

    def insert(self, table):
        columns = [c for c in self.tables[table] if c not in self.computed[table]]
        shift = 1000 * self.draw.randint(1, 9)
        from_z = [("z", self.tables[table])]
        items = ", ".join(f"z.a + {shift}" if c == "a" else self.fitting(self.tables[table][c], from_z) for c in columns)
        output, kinds, named = self.output(table, ["inserted"])
        head, tail = f"insert into {table} ({', '.join(columns)})", f" select {items} from {table} z where z.a between 0 and 9"
        returning = f" returning {', '.join(named)}" if output else ""
        return Statement(f"{head}{output}{tail}", kinds, changes=table, sqlite=[f"{head}{tail}{returning}"], output=0 if output else None)

    def merge(self, table):
        """Its source has each key once. SQLite is told the parts one after the other, on a copy of the source."""
        source, alias, columns = self.single(table)
        scope = [(table, self.tables[table]), (alias, columns)]
        target = "a" if self.keys[table] else self.draw.choice([c for c, kind in self.tables[table].items() if kind == "i" and c not in self.computed[table]])
        on = f"{table}.{target} = {alias}.k"
        clauses, parts = [], []
        copy = f"merged {alias}"
        stored = [c for c in self.tables[table] if c not in self.computed[table]]
        if self.chance(0.7):
            values = {c: f"{alias}.k + 5000" if c == "a" else self.fitting(self.tables[table][c], [(alias, columns)]) for c in stored}
            named = ", ".join(stored)
            clauses.append(f"when not matched then insert ({named}) values ({', '.join(values.values())})")
            shown = ", ".join(f"{value} as {c}" for c, value in values.items())
            parts.append(f"create temp table added as select {shown} from {copy} where not exists (select 1 from {table} where {on})")
        matched, orphans = self.one_of(None, "update", "delete"), self.one_of(None, None, "update", "delete")
        if not clauses and not matched and not orphans:
            matched = "update"
        # What is told first must not touch what the next one looks at: orphans have no partner, before and after.
        if orphans:
            plain = self.predicate(scope[:1], 1)
            wanted = f"{plain} and not exists (select 1 from {copy} where {on})"
            sets = ", ".join(f"{c} = {value}" for c, value in self.assigned(table, scope[:1]) if c != target)
            if orphans == "delete" or not sets:
                clauses.append(f"when not matched by source and {plain} then delete")
                parts.append(f"delete from {table} where {wanted}")
            else:
                clauses.append(f"when not matched by source and {plain} then update set {sets}")
                parts.append(f"update {table} set {sets} where {wanted}")
        if matched:
            more = f" and {self.predicate(scope, 1)}" if self.chance(0.5) else ""
            sets = ", ".join(f"{c} = {value}" for c, value in self.assigned(table, scope) if c != target)
            if matched == "delete" or not sets:
                clauses.append(f"when matched{more} then delete")
                parts.append(f"delete from {table} where exists (select 1 from {copy} where {on}{more})")
            else:
                clauses.append(f"when matched{more} then update set {sets}")
                parts.append(f"update {table} set {sets} from {copy} where {on}{more}")
        if parts[0].startswith("create temp table added"):
            named = ", ".join(stored)
            parts.append(f"insert into {table} ({named}) select {named} from added")
            parts.append("drop table added")
        parts = [f"create temp table merged as select * from {source}", *parts, "drop table merged"]
        return Statement(f"merge into {table} using {source} on {on} {' '.join(clauses)};", changes=table, sqlite=parts)
