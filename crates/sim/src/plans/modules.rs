//! Functions, table variables and triggers: what a module gives is compared with the statement that says the same without it.
//!
//! Scalar functions are compared with twins that are never inlined; table-valued functions and table variables with derived tables; triggers by the
//! contents of the table before and after, and an audit table.

use os::Rng;

use super::changes::{self, Change};
use super::columns::{Column, Kind};
use super::predicates::{Batch, OPERATORS};
use super::tables::Table;
use super::values::{Family, constant, pick};
use super::variants::{self, Variant, option};
use super::{Court, Size, Verdict, rows_as_text};

/// Statements of a world with each.
const SCALAR_CALLS: u64 = 4;
const TABLES_READ: u64 = 3;
const WATCHED_CHANGES: u64 = 2;

/// A scalar function and its twin, whose name ends in `_called`.
struct Scalar {
    name: String,
    /// The column whose type its parameter has; the others take two integers.
    column: Option<(usize, Column)>,
}

/// Something that rows are read from under the alias `a`, with the columns `k` and `v`.
struct Source {
    /// What makes it ready in the batch.
    before: String,
    judged: String,
    /// A derived table that has the same rows.
    naive: String,
    /// Reads a column of `b`.
    is_tied: bool,
}

impl Court {
    /// Judges statements with modules: in every second world of small tables that is not inside a transaction.
    pub(super) fn judge_modules(&mut self, seed: u64, size: Size) {
        let mut rng = Rng::named(seed, "plans with modules");
        if size != Size::Small || self.is_inside || rng.chance(1, 2) {
            return;
        }
        let scalars: Vec<Scalar> = (0..3).map(|number| self.make_scalar(&mut rng, number)).collect();
        for _ in 0..SCALAR_CALLS {
            let scalar = pick(&mut rng, &scalars);
            self.judge_call(&mut rng, scalar);
        }
        for number in 0..TABLES_READ {
            self.judge_source(&mut rng, number);
        }
        self.watch(&mut rng);
        self.replace(&mut rng);
    }

    /// Runs a statement that must succeed; else nothing is made, and that is told.
    fn made(&mut self, text: &str) {
        let answer = self.client.execute(text);
        if !answer.errors.is_empty() {
            self.tell(&format!("{text}: {}", answer.error_text()));
        }
    }

    fn make_scalar(&mut self, rng: &mut Rng, number: u64) -> Scalar {
        let name = format!("f{number}");
        let at = rng.below(self.tables.len() as u64) as usize;
        let fits = |column: &&Column| !matches!(column.kind.family, Family::Moment | Family::Binary);
        let columns: Vec<&Column> = self.tables[at].columns[2..].iter().filter(fits).collect();
        let column = (number == 2 && !columns.is_empty()).then(|| (at, (*pick(rng, &columns)).clone()));
        let (head, body) = match &column {
            Some((_, column)) => of_value(rng, column),
            None => of_integers(rng, &self.tables),
        };
        let strict = rng.chance(1, 3).then_some("RETURNS NULL ON NULL INPUT");
        for (suffix, inline) in [("", None), ("_called", Some("INLINE = OFF"))] {
            let options: Vec<&str> = strict.into_iter().chain(inline).collect();
            let with =
                if options.is_empty() { String::new() } else { format!(" WITH {}", options.join(", ")) };
            self.made(&format!(
                "CREATE OR ALTER FUNCTION dbo.{name}{suffix} {head}{with} AS BEGIN {body} END"
            ));
        }
        Scalar { name, column }
    }

    /// A statement that calls a scalar function: the naive plan calls the twin.
    fn judge_call(&mut self, rng: &mut Rng, scalar: &Scalar) {
        let text = call(rng, &self.tables, scalar);
        let called = format!("dbo.{}(", scalar.name);
        let naively = text.replace(&called, &format!("dbo.{}_called(", scalar.name));
        let told = format!("{text} -- {}", self.text_of(&scalar.name));
        self.judge(rng, ("call", &told), Size::Small, |court, variant| {
            let text = if is_naive(variant) { &naively } else { &text };
            Verdict::of(&court.client.execute(&format!("{text}{}", option(variant))), false)
        });
    }

    fn text_of(&mut self, name: &str) -> String {
        let text = format!("SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('{name}')");
        rows_as_text(&self.client.must(&text), false).join(" ")
    }

    /// A query over what a function or a table variable gives: the naive plan reads a derived table.
    fn judge_source(&mut self, rng: &mut Rng, number: u64) {
        let name = format!("g{number}");
        let (source, module) = source(rng, &self.tables, &name);
        if let Some(module) = &module {
            self.made(module);
        }
        let other = pick(rng, &self.tables).name.clone();
        let query = reading(rng, &source, &other);
        let (judged, naive) = (query.replace("@@", &source.judged), query.replace("@@", &source.naive));
        let told = format!("{}{judged} -- {}", source.before, module.unwrap_or_default());
        self.judge(rng, ("reading", &told), Size::Small, |court, variant| {
            let text = match is_naive(variant) {
                true => format!("{naive}{}", option(variant)),
                false => format!("{}{judged}{}", source.before, option(variant)),
            };
            Verdict::of(&court.client.execute(&text), false)
        });
    }

    /// Changes of a table with AFTER triggers that write down what they see.
    fn watch(&mut self, rng: &mut Rng) {
        let at = rng.below(self.tables.len() as u64) as usize;
        let table = self.tables[at].name.clone();
        self.made("CREATE TABLE audit (kind char(1), what char(1), k int, v int)");
        for (kind, event) in [('I', "INSERT"), ('U', "UPDATE"), ('D', "DELETE")] {
            self.made(&format!(
                "CREATE TRIGGER watch_{event} ON {table} AFTER {event} AS BEGIN SET NOCOUNT ON; \
                 INSERT audit VALUES ('{kind}', 'S', (SELECT COUNT(*) FROM inserted), (SELECT COUNT(*) FROM deleted)); \
                 INSERT audit SELECT '{kind}', 'I', k, v FROM inserted; \
                 INSERT audit SELECT '{kind}', 'D', k, v FROM deleted END"
            ));
        }
        let before = self.read(&format!("SELECT k, v FROM {table}"));
        for _ in 0..WATCHED_CHANGES {
            let change = self.change_of(rng, at, |_| true);
            let text = format!("{} {}", change.declarations, change.text);
            self.judge(rng, ("watched change", &text), Size::Small, |court, variant| {
                court.changed(&change, variant, |court| {
                    let after = court.read(&format!("SELECT k, v FROM {table}"));
                    court.check_audit(&change, &before, after)
                })
            });
        }
        self.made("DROP TRIGGER watch_INSERT, watch_UPDATE, watch_DELETE");
    }

    /// A change whose INSTEAD OF trigger does what the statement would have done.
    fn replace(&mut self, rng: &mut Rng) {
        let at = rng.below(self.tables.len() as u64) as usize;
        let change = self.change_of(rng, at, |text| !text.starts_with("MERGE") && !text.contains("k = a.k"));
        let table = &self.tables[at];
        let event = change.text.split(' ').next().unwrap_or_default().to_owned();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let set: Vec<String> = names[1..].iter().map(|name| format!("{name} = i.{name}")).collect();
        let name = table.name.clone();
        let body = match event.as_str() {
            "INSERT" => format!("INSERT {name} ({0}) SELECT {0} FROM inserted", names.join(", ")),
            "DELETE" => format!("DELETE a FROM {name} AS a JOIN deleted AS d ON d.k = a.k"),
            _ => format!("UPDATE a SET {} FROM {name} AS a JOIN inserted AS i ON i.k = a.k", set.join(", ")),
        };
        let make = format!(
            "CREATE TRIGGER instead ON {name} INSTEAD OF {event} AS BEGIN SET NOCOUNT ON; {body} END"
        );
        let text = format!("{} {} -- {make}", change.declarations, change.text);
        let mut is_made = false;
        self.judge(rng, ("replaced change", &text), Size::Small, |court, variant| {
            if !is_naive(variant) && !is_made {
                court.made(&make);
                is_made = true;
            }
            court.changed(&change, variant, |_| Vec::new())
        });
        if is_made {
            self.made("DROP TRIGGER instead");
        }
    }

    /// A change of this table without OUTPUT, which triggers do not allow.
    fn change_of(&self, rng: &mut Rng, at: usize, is_wanted: impl Fn(&str) -> bool) -> Change {
        loop {
            let change = changes::change(rng, &self.tables, false);
            if change.table == at && !change.text.contains(" OUTPUT ") && is_wanted(&change.text) {
                return change;
            }
        }
    }

    fn read(&mut self, text: &str) -> Vec<String> {
        rows_as_text(&self.client.must(&format!("{text}{}", option(&variants::naive()))), false)
    }

    /// What a change gives and leaves, which is then undone. `seen`: what else is to be the same.
    fn changed(
        &mut self,
        change: &Change,
        variant: &Variant,
        seen: impl FnOnce(&mut Court) -> Vec<String>,
    ) -> Verdict {
        self.client.must("BEGIN TRAN");
        let text = format!("{} {}{}; SELECT @@ROWCOUNT", change.declarations, change.text, option(variant));
        let answer = self.client.execute(&text);
        let mut verdict = Verdict::of(&answer, false);
        if let Verdict::Rows(rows) = &mut verdict {
            let name = self.tables[change.table].name.clone();
            rows.extend(self.read(&format!("SELECT * FROM {name}")));
            rows.extend(seen(self));
        }
        self.client.must("IF @@TRANCOUNT > 0 ROLLBACK");
        verdict
    }

    /// The triggers have fired once for each event of the statement, and have seen what has become of the rows. Gives what they have seen.
    fn check_audit(&mut self, change: &Change, before: &[String], after: Vec<String>) -> Vec<String> {
        let inserted = self.read("SELECT k, v FROM audit WHERE what = 'I'");
        let deleted = self.read("SELECT k, v FROM audit WHERE what = 'D'");
        let mut expected = before.to_vec();
        for gone in &deleted {
            match expected.iter().position(|row| row == gone) {
                Some(at) => drop(expected.swap_remove(at)),
                None => self.tell(&format!("deleted has {gone}, which was not there: {}", change.text)),
            }
        }
        expected.extend(inserted.iter().cloned());
        expected.sort_unstable();
        if expected != after {
            let said = format!("inserted {inserted:?} and deleted {deleted:?}");
            self.tell(&format!("{said} are not what became of {before:?}: {}", change.text));
        }
        let fired = rows_as_text(&self.client.must("SELECT kind FROM audit WHERE what = 'S'"), false);
        let events = events_of(&change.text);
        let is_each_once = fired.len() == events.len()
            && events.iter().all(|event| fired.iter().any(|row| row.contains(&event[..1])));
        if !is_each_once {
            self.tell(&format!("triggers of {fired:?} fired, not of {events:?}: {}", change.text));
        }
        let counts = "SELECT kind, k, v FROM audit WHERE what = 'S' AND (
            k <> (SELECT COUNT(*) FROM audit AS o WHERE o.kind = audit.kind AND o.what = 'I')
            OR v <> (SELECT COUNT(*) FROM audit AS o WHERE o.kind = audit.kind AND o.what = 'D')
            OR kind = 'I' AND v <> 0 OR kind = 'D' AND k <> 0 OR kind = 'U' AND k <> v)";
        let wrong = self.read(counts);
        if !wrong.is_empty() {
            self.tell(&format!("triggers have seen other numbers of rows, {wrong:?}: {}", change.text));
        }
        self.read("SELECT kind, what, k, v FROM audit")
    }
}

/// The events of which a statement fires the triggers, also when it changes no row.
fn events_of(text: &str) -> Vec<&'static str> {
    let all = ["INSERT", "UPDATE", "DELETE"];
    match text.starts_with("MERGE") {
        true => all.into_iter().filter(|event| text.contains(&format!("THEN {event}"))).collect(),
        false => all.into_iter().filter(|event| text.starts_with(event)).collect(),
    }
}

fn is_naive(variant: &Variant) -> bool {
    *variant == variants::naive()
}

/// An integer expression over these variables, which fails for no value.
fn integer(rng: &mut Rng, variables: &[&str]) -> String {
    let one = *pick(rng, variables);
    let other = *pick(rng, variables);
    match rng.below(9) {
        0 => rng.below(4).to_string(),
        1 => "NULL".to_owned(),
        2 | 3 => one.to_owned(),
        4 => format!("{one} + {}", 1 + rng.below(3)),
        5 => format!("{one} - {other}"),
        6 => format!("ISNULL({one}, {})", rng.below(4)),
        7 => format!("CASE WHEN {one} > {other} THEN {one} ELSE {} END", rng.below(3)),
        _ => format!("CASE WHEN {one} <> 0 THEN 10 / {one} ELSE {other} END"),
    }
}

fn test(rng: &mut Rng, variables: &[&str]) -> String {
    let one = *pick(rng, variables);
    match rng.below(4) {
        0 => format!("{one} IS NULL"),
        1 => format!("{one} {} {}", pick(rng, &OPERATORS), pick(rng, variables)),
        _ => format!("{one} {} {}", pick(rng, &OPERATORS), rng.below(5)),
    }
}

/// Assignments, branches and queries over two integers.
fn of_integers(rng: &mut Rng, tables: &[Table]) -> (String, String) {
    const VARIABLES: [&str; 4] = ["@a", "@b", "@x", "@y"];
    let mut body = vec![format!("DECLARE @x int = {}, @y smallint", integer(rng, &["@a", "@b"]))];
    for _ in 0..1 + rng.below(4) {
        let target = *pick(rng, &["@x", "@y", "@x", "@a"]);
        let value = integer(rng, &VARIABLES);
        body.push(match rng.below(9) {
            0 | 1 => format!("SET {target} = {value}"),
            2 | 3 => format!("IF {} SET {target} = {value}", test(rng, &VARIABLES)),
            4 => format!("SELECT @x = {value}, @y = {}", integer(rng, &VARIABLES)),
            5 => format!("IF {} RETURN {value}", test(rng, &VARIABLES)),
            6 => {
                let other = integer(rng, &VARIABLES);
                let condition = test(rng, &VARIABLES);
                format!("IF {condition} BEGIN SET @y = {other}; SET @x = {value} END ELSE SET @x = {other}")
            }
            _ => {
                let aggregate = pick(rng, &["COUNT(*)", "MAX(s.v)", "MIN(s.k)"]);
                let (table, operator) = (&pick(rng, tables).name, pick(rng, &OPERATORS));
                format!(
                    "SELECT @x = {aggregate} FROM dbo.{table} AS s WHERE s.v {operator} {}",
                    pick(rng, &["@a", "@b", "@x"])
                )
            }
        });
    }
    body.push(format!("RETURN {}", integer(rng, &VARIABLES)));
    let returns = pick(rng, &["int", "int", "bigint", "varchar(6)"]);
    (format!("(@a int, @b int) RETURNS {returns}"), body.join("; "))
}

/// Comparisons of a value of any type, which has the collation of the database inside the function.
fn of_value(rng: &mut Rng, column: &Column) -> (String, String) {
    let Kind { declared, family, .. } = *column.kind;
    let value = constant(rng, family, None);
    let other = column.typed(rng);
    let returns = if rng.chance(1, 2) { "int" } else { declared };
    let (set, end) = match returns {
        "int" => ("SET @n = 2".to_owned(), "@n"),
        _ => (format!("SET @a = {other}"), "@a"),
    };
    let body = format!(
        "DECLARE @n int = 1; IF @a {} TRY_CAST({value} AS {declared}) {set}; IF @a {} {other} RETURN NULL; RETURN {end}",
        pick(rng, &OPERATORS),
        pick(rng, &OPERATORS)
    );
    (format!("(@a {declared}) RETURNS {returns}"), body)
}

/// A statement that calls a function in one place or several.
fn call(rng: &mut Rng, tables: &[Table], scalar: &Scalar) -> String {
    let mut batch = Batch::default();
    let alias = batch.alias();
    let (table, arguments) = match &scalar.column {
        Some((at, column)) => (&tables[*at], format!("{alias}.{}", column.name)),
        None => {
            let table = pick(rng, tables);
            let one = |rng: &mut Rng| match rng.below(7) {
                0 => "NULL".to_owned(),
                1 => rng.below(4).to_string(),
                2 => format!("NULLIF({alias}.v, 2)"),
                3 => format!("(SELECT MAX(m.v) FROM {} AS m WHERE m.k = {alias}.v)", table.name),
                4 => format!("{alias}.k"),
                _ => format!("{alias}.v"),
            };
            (table, format!("{}, {}", one(rng), one(rng)))
        }
    };
    let call = format!("dbo.{}({arguments})", scalar.name);
    let is_integer = scalar.column.is_none();
    let from = format!("FROM {} AS {alias}", table.name);
    let test = match is_integer && rng.chance(3, 4) {
        true => format!("{call} {} {}", pick(rng, &OPERATORS), rng.below(5)),
        false => format!("{call} IS {}NULL", pick(rng, &["", "NOT "])),
    };
    let has_subquery = arguments.contains("SELECT");
    match rng.below(7) {
        0 | 1 => format!("SELECT {alias}.k AS x, {call} AS y {from}"),
        2 => format!("SELECT {alias}.k AS x {from} WHERE {test}"),
        3 => {
            format!("SELECT {alias}.k AS x, {call} AS y {from} WHERE {test} AND {alias}.v < {}", rng.below(6))
        }
        4 if is_integer && !has_subquery => {
            format!("SELECT {call} AS g, COUNT(*) AS n {from} GROUP BY {call}")
        }
        5 => {
            let kind = pick(rng, &["JOIN", "LEFT JOIN"]);
            let other = &pick(rng, tables).name;
            format!(
                "SELECT {alias}.k AS x, b.k AS y {from} {kind} {other} AS b ON b.k = {alias}.v AND {test}"
            )
        }
        _ if !has_subquery => {
            format!("SELECT COUNT({call}) AS n, COUNT(*) AS m {from} WHERE {alias}.v > {}", rng.below(3))
        }
        _ => format!("SELECT {alias}.v AS x {from} WHERE NOT ({test})"),
    }
}

/// A table variable, an inline function or one of several statements, and the statement that makes it.
fn source(rng: &mut Rng, tables: &[Table], name: &str) -> (Source, Option<String>) {
    let table = &pick(rng, tables).name;
    let (operator, bound) = (*pick(rng, &OPERATORS), rng.below(5));
    let kind = rng.below(4);
    let is_tied = kind < 3 && rng.chance(1, 2);
    let argument = if is_tied { "b.v".to_owned() } else { bound.to_string() };
    let removed = rng.below(5);
    let more = rng.below(3);
    // What is done to the rows after they are there, and the rows that a derived table has.
    let (then, naive) = match (kind, more) {
        (0, _) | (_, 0) => ("", format!("SELECT s.k, s.v FROM {table} AS s WHERE s.v {operator} {argument}")),
        (_, 1) => (
            "DELETE @r WHERE v = @d; ",
            format!("SELECT s.k, s.v FROM {table} AS s WHERE s.v {operator} {argument} AND s.v <> {removed}"),
        ),
        _ => (
            "UPDATE @r SET v = v + 1 WHERE v > @d; ",
            format!(
                "SELECT s.k, CASE WHEN s.v > {removed} THEN s.v + 1 ELSE s.v END AS v FROM {table} AS s WHERE s.v {operator} {argument}"
            ),
        ),
    };
    let then = then.replace("@d", &removed.to_string());
    let columns = *pick(
        rng,
        &[
            "k int PRIMARY KEY, v int NOT NULL",
            "k int NOT NULL PRIMARY KEY NONCLUSTERED, v int NOT NULL, INDEX i CLUSTERED (v)",
            "k int NOT NULL, v int NOT NULL, INDEX i (v)",
            "k int NOT NULL UNIQUE, v int NOT NULL",
            "k int NOT NULL, v int NOT NULL, UNIQUE CLUSTERED (v, k), INDEX i (k DESC)",
            "k int, v int",
        ],
    );
    let naive = format!("({naive}) AS a");
    let filled = |bound: &str| {
        format!("INSERT @r SELECT s.k, s.v FROM dbo.{table} AS s WHERE s.v {operator} {bound}; {then}")
    };
    match kind {
        0 => {
            let module = format!(
                "CREATE OR ALTER FUNCTION dbo.{name} (@p int) RETURNS TABLE AS RETURN (SELECT s.k, s.v FROM dbo.{table} AS s WHERE s.v {operator} @p)"
            );
            let judged = format!("dbo.{name}({argument}) AS a");
            (Source { before: String::new(), judged, naive, is_tied }, Some(module))
        }
        1 | 2 => {
            let module = format!(
                "CREATE OR ALTER FUNCTION dbo.{name} (@p int) RETURNS @r TABLE ({columns}) AS BEGIN {}RETURN END",
                filled("@p")
            );
            let judged = format!("dbo.{name}({argument}) AS a");
            (Source { before: String::new(), judged, naive, is_tied }, Some(module))
        }
        _ => {
            let before =
                format!("SET NOCOUNT ON; DECLARE @r TABLE ({columns}); {}", filled(&bound.to_string()));
            (Source { before, judged: "@r AS a".to_owned(), naive, is_tied: false }, None)
        }
    }
}

/// A query in which `@@` stands for the source.
fn reading(rng: &mut Rng, source: &Source, other: &str) -> String {
    if source.is_tied {
        let apply = pick(rng, &["CROSS APPLY", "OUTER APPLY"]);
        let few = 2 + rng.below(6);
        return match rng.below(3) {
            0 => format!(
                "SELECT b.k AS x, COUNT(a.k) AS n FROM {other} AS b {apply} @@ WHERE b.k < {few} GROUP BY b.k"
            ),
            1 => format!(
                "SELECT b.k AS x FROM {other} AS b WHERE b.k < {few} AND EXISTS (SELECT 1 FROM @@ WHERE a.k > 2)"
            ),
            _ => {
                format!("SELECT b.k AS x, a.k AS y, a.v AS z FROM {other} AS b {apply} @@ WHERE b.k < {few}")
            }
        };
    }
    let (own, theirs) = (pick(rng, &["a.k", "a.v"]), pick(rng, &["b.k", "b.v"]));
    let (operator, bound) = (pick(rng, &OPERATORS), rng.below(6));
    let kind = pick(rng, &["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
    match rng.below(6) {
        0 => "SELECT a.v AS x, COUNT(*) AS n, MAX(a.k) AS m FROM @@ GROUP BY a.v".to_owned(),
        1 => format!("SELECT a.k AS x, a.v AS y FROM @@ WHERE {own} {operator} {bound}"),
        2 => {
            let not = pick(rng, &["", "NOT "]);
            format!("SELECT b.k AS x FROM {other} AS b WHERE {theirs} {not}IN (SELECT {own} FROM @@)")
        }
        3 => format!("SELECT DISTINCT a.v AS x FROM @@ {kind} {other} AS b ON {theirs} = {own}"),
        _ => format!(
            "SELECT a.k AS x, a.v AS y, b.k AS z FROM @@ {kind} {other} AS b ON {theirs} = {own} WHERE a.v {operator} {bound} OR b.v > 1"
        ),
    }
}
