"""Queries whose answers must agree with each other, on Hardpan alone (random_queries.py --metamorphic): nothing has to mean the same anywhere else.

    TLP      the rows of a query are those where a condition is true, those where it is false and those where it is unknown (Rigger and Su 2020)
    NoREC    as many rows meet a condition as there are rows for which it is counted, without a WHERE that a plan could make use of
    ON       an inner join's rows are those of the cross join under the same condition; an outer join adds those that have no partner
    EXISTS   semi and anti join part the rows, whatever the condition is for them
"""
from changes import Generator
from grammar import OPTIONS, render
from runs import EXCUSED, TOO_SLOW, run_script, settings

TRANSLATIONS = ("tlp", "tlp", "norec", "norec", "on", "exists", "total", "distinct")


class Conditions(Generator):
    """With conditions that SQLite does not know, over few rows: nobody has tried before how many a query gives."""

    ROW_COUNTS = [0, 2, 4, 6, 9, 9]

    def predicate(self, scope, depth=0):
        if not self.chance(0.25):
            return super().predicate(scope, depth)
        number, cents = self.column(scope, "i"), self.column(scope, "n")
        text, day = self.column(scope, "s"), self.column(scope, "d")
        compare = self.one_of("=", "<>", "<", ">=")
        value = self.draw.randint(-3, 9)
        forms = [
            f"{text} like '{self.one_of('[a-b]%', '[^a]%', '%[bc]_%', '_[a-c]', 'a[b]%')}'",
            f"{text} + '  ' {compare} {self.literal('s')}",
            f"cast({number} as float) / 3 {compare} {value} / 3e0",
            f"round({cents}, {self.one_of('0', '1', '-1')}) {compare} {value}",
            f"floor({cents}) {compare} {number}",
            f"{cents} / 3 {compare} {value}.5",
            f"patindex('%[bc]%', {text}) {compare} {value}",
            f"reverse({text}) {compare} {self.literal('s')}",
            f"stuff({text}, 1, 1, 'b') {compare} {self.literal('s')}",
            f"try_cast({text} as int) is {self.one_of('', 'not ')}null",
            f"datepart(weekday, {day}) {compare} {abs(value)}",
            f"dateadd(month, {value}, {day}) {compare} {self.literal('d')}",
            f"eomonth({day}) {compare} '20240229'",
            f"{day} between '2024-02-22' and '20240301'",
            f"cast({number} as varchar(9)) {compare} '{value}'",
            f"{number} {compare} '{value}'",
            f"{number} {compare} {cents} + 0.5",
            f"choose({number}, {number}, 2, null) {compare} {value}",
            f"{number} & 3 {compare} {abs(value) % 4}",
            f"({number} ^ 5) | 2 {compare} {value}",
            f"sign({cents}) {compare} {value % 2}",
            f"{text} collate Latin1_General_BIN2 {compare} '{self.one_of('a', 'A', 'ab', 'b')}'",
            f"concat({text}, {number}) {compare} '{self.one_of('a1', 'b', '1')}'",
            f"({number} is null or {number} {compare} {value})",
            f"nullif({number}, {value}) {compare} {value + 1}",
            f"square({number}) {compare} {value * value}",
        ]
        if self.nesting < 2 and self.chance(0.2):
            inner, table = self.inner()
            kind = self.kind()
            seen = inner + scope if self.chance(0.5) else inner
            forms = [f"{self.column(scope, kind)} {compare} {self.one_of('all', 'any', 'some')} (select {self.column(inner, kind)} from {table} {inner[0][0]} where {super().predicate(seen, 2)})"]
            self.nesting -= 1
        return self.draw.choice(forms)


def unknown(condition):
    return f"case when {condition} then 1 when not ({condition}) then 0 end is null"


def grounds(generator, number):
    """Statements and what must hold: a list of texts, and which of their rows together are the same as which others."""
    form = generator.one_of(*TRANSLATIONS)
    source, scope = generator.joined(1)
    condition = generator.predicate(scope)
    kinds = [generator.kind() for _ in range(generator.draw.randint(1, 3))]
    items = [generator.expression(kind, scope, 1) if generator.chance(0.3) else generator.column(scope, kind) for kind in kinds]
    shown = ", ".join(f"{item} as k{at}" for at, item in enumerate(items))
    parts = [condition, f"not ({condition})", unknown(condition)]
    if form == "norec":
        counted = f"select coalesce(sum(y.m), 0) from (select case when {condition} then 1 else 0 end as m from {source}) y"
        return [f"select count(*) from {source} where {condition}"], [counted]
    if form == "on":
        one, other = generator.source(2), generator.source(2)
        on = generator.predicate(one[1] + other[1]) if generator.chance(0.5) else generator.join_condition(one[1], other[1])
        items = ", ".join(f"{generator.any_column(one[1])[0]} as k{at}" for at in range(2))
        kept = f"select {items}, 1 as m from {one[0]} {{}} {other[0]}"
        without = f"select {items}, 1 as m from {one[0]} where not exists (select 1 from {other[0]} where {on})"
        joins = [kept.format("inner join") + f" on {on}", kept.format("cross join") + f" where {on}"]
        if generator.chance(0.5):
            return joins[:1], joins[1:]
        return [kept.format("left join") + f" on {on}"], [joins[generator.draw.randint(0, 1)], without]
    if form == "exists":
        inner = generator.source(2)
        on = generator.predicate(inner[1] + scope)
        some, none = (f"select {shown} from {source} where {word}exists (select 1 from {inner[0]} where {on})" for word in ("", "not "))
        return [f"select {shown} from {source}"], [some, none]
    if form == "total":
        kind = kinds[0]
        function = generator.one_of("min", "max", "count", *(["sum"] if kind in "in" else []))
        total = {"count": "sum"}.get(function, function)
        # No sub-query may stand in an aggregate.
        counted = f"select {function}(x.m) as m from (select {items[0]} as m from {source}{{}}) x"
        each = " union all ".join(counted.format(f" where {part}") for part in parts)
        plain = counted.format("")
        return [plain], [f"select {total}(y.m) from ({each}) y"]
    if form == "distinct":
        each = " union ".join(f"select {shown} from {source} where {part}" for part in parts)
        return [f"select distinct {shown} from {source}"], [each]
    where = f"{generator.predicate(scope, 1)} and " if generator.chance(0.3) else ""
    base = f"select {shown} from {source}" + (f" where {where[:-5]}" if where else "")
    return [base], [f"select {shown} from {source} where {where}({part})" for part in parts]


def run_seed(arguments, seed):
    """What does not agree, as texts; how many statements there were."""
    generator = Conditions(seed, not arguments.without_indexes)
    script = settings(arguments) + "".join(f"{render(s.text, False)}\ngo\n" for s in generator.schema())
    made, count = [], 0
    for number in range(arguments.statements // 3):
        generator.variables = [] if generator.chance(0.5) else None
        sides = grounds(generator, number)
        declared = f"declare {', '.join(generator.variables)}; " if generator.variables else ""
        made.append([[render(f"{declared}{text}", False) for text in side] for side in sides])
        for side, texts in enumerate(made[-1]):
            for part, text in enumerate(texts):
                if generator.chance(0.3) and " option " not in text:
                    text += f" option ({generator.draw.choice(OPTIONS)})"
                script += f"print '#{number}.{side}.{part}'\ngo\n{text}\ngo\n"
                count += 1
    lines, complaint = run_script(arguments, script)
    differences = []
    for number, sides in enumerate(made):
        rows = [[], []]
        for side, texts in enumerate(sides):
            for part, _ in enumerate(texts):
                have = lines.get(f"{number}.{side}.{part}")
                if have is None and complaint == TOO_SLOW:
                    print(f"seed {seed} statement {number}: {complaint}", flush=True)
                    return differences, count
                if have is None:
                    return differences + [f"seed {seed} statement {number}.{side}.{part}: no answer {complaint[-300:]}"], count
                rows[side] += have
        failed = [line for line in rows[0] + rows[1] if line.startswith("Msg ")]
        if failed:
            if not all(line.startswith(EXCUSED) for line in failed):
                differences.append(f"seed {seed} statement {number}: {failed}\n    " + "\n    ".join(sides[0] + sides[1]))
            continue
        one, other = (sorted(line.lower() for line in side) for side in rows)
        if one != other:
            differences.append(f"seed {seed} statement {number}: {len(one)} rows beside {len(other)}\n    " + "\n    ".join(sides[0] + ["=="] + sides[1]))
    return differences, count
