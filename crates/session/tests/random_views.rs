//! Random views over views as targets of changes: each change has the effect of the same change on the base table, and WITH CHECK OPTION
//! refuses exactly the rows that the view would not show.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::random::Random;
use crate::common::{Seen, World, numbers, run};
use hardpan_session::Session;

const VIEWS: usize = 120;
const CHANGES_PER_VIEW: usize = 6;
/// One table is changed through the view, the other one directly.
const TABLES: [&str; 2] = ["through", "direct"];

/// A column of the uppermost query.
#[derive(Clone)]
struct Column {
    name: String,
    /// The base table's column.
    base: Option<&'static str>,
}

/// A stack of queries, each in a view; `{T}` stands for the base table and the ends of the views' names.
struct Stack {
    level: usize,
    columns: Vec<Column>,
    texts: Vec<String>,
    is_joined: bool,
    is_limited: bool,
    /// Levels WITH CHECK OPTION.
    checked: Vec<usize>,
    /// The name of the key in each level.
    keys: Vec<String>,
}

impl Stack {
    fn new() -> Stack {
        let column = |name: &'static str| Column { name: name.to_string(), base: Some(name) };
        Stack {
            level: 0,
            columns: ["id", "a", "b", "c"].map(column).to_vec(),
            texts: Vec::new(),
            is_joined: false,
            is_limited: false,
            checked: Vec::new(),
            keys: Vec::new(),
        }
    }

    fn source(&self) -> String {
        if self.level == 0 { "{T}".into() } else { format!("view{}_{{T}}", self.level) }
    }

    fn id(&self) -> String {
        let id = self.columns.iter().find(|column| column.base == Some("id"));
        id.unwrap().name.clone()
    }

    fn grow(&mut self, random: &mut Random) {
        let (source, id) = (self.source(), self.id());
        self.level += 1;
        let level = self.level;
        let mut items = Vec::new();
        let mut columns = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            // The key stays; others may be left out.
            if column.base == Some("id") || random.below(6) > 0 {
                let name = if random.below(2) == 0 { column.name.clone() } else { format!("c{level}_{at}") };
                items.push(format!("q.{} AS {name}", column.name));
                columns.push(Column { name, base: column.base });
            }
        }
        let any = format!("q.{}", random.one_of(&self.columns).name);
        let mut derived = |items: &mut Vec<String>, text: String| {
            items.push(format!("{text} AS d{level}"));
            columns.push(Column { name: format!("d{level}"), base: None });
        };
        let (mut top, mut rest, mut is_limit) = (String::new(), String::new(), false);
        match random.below(7) {
            0 | 1 => rest = format!(" WHERE {}", condition(random, &self.columns, "q.")),
            2 => {
                top = format!("TOP ({}) ", 3 + random.below(6));
                let direction = random.one_of(&["", " DESC"]);
                rest = format!(" ORDER BY q.{id}{direction}");
                is_limit = true;
            }
            3 => {
                derived(&mut items, format!("ROW_NUMBER() OVER (PARTITION BY {any} ORDER BY q.{id})"));
                is_limit = true;
            }
            4 => derived(&mut items, format!("{any} * 2 + 1")),
            5 => {
                derived(&mut items, "s.w".into());
                let kind = random.one_of(&["JOIN", "LEFT JOIN"]);
                rest = format!(" {kind} side s ON s.id = q.{id}");
                self.is_joined = true;
            }
            _ => rest = format!(" WHERE EXISTS (SELECT * FROM side s WHERE s.w = {any} OR s.id = q.{id})"),
        }
        self.is_limited |= is_limit;
        let check = if !self.is_limited && random.below(4) == 0 { " WITH CHECK OPTION" } else { "" };
        if !check.is_empty() {
            self.checked.push(level);
        }
        let items = items.join(", ");
        self.texts.push(format!(
            "CREATE VIEW view{level}_{{T}} AS SELECT {top}{items} FROM {source} q{rest}{check}"
        ));
        self.columns = columns;
        self.keys.push(self.id());
    }

    /// Columns that can be given values.
    fn changeable(&self) -> Vec<Column> {
        let is = |column: &&Column| column.base.is_some_and(|base| base != "id");
        self.columns.iter().filter(is).cloned().collect()
    }
}

fn condition(random: &mut Random, columns: &[Column], prefix: &str) -> String {
    let column = |random: &mut Random| format!("{prefix}{}", random.one_of(columns).name);
    let left = column(random);
    match random.below(5) {
        0 => format!("{left} < {}", random.below(12)),
        1 => format!("{left} <> {}", random.below(6)),
        2 => format!("{left} >= {}", column(random)),
        3 => format!("({left} IS NULL OR {left} > {})", random.below(5)),
        _ => format!("{left} IN ({}, {}, {})", random.below(8), random.below(8), random.below(8)),
    }
}

fn value(random: &mut Random, columns: &[Column]) -> String {
    match random.below(4) {
        0 => "NULL".into(),
        1 => random.below(12).to_string(),
        2 => random.one_of(columns).name.clone(),
        _ => format!("{} + {}", random.one_of(columns).name, random.below(4)),
    }
}

fn on(text: &str, table: &str) -> String {
    text.replace("{T}", table)
}

fn content(session: &mut Session, table: &str) -> Vec<Vec<String>> {
    run(session, &format!("SELECT id, a, b, c FROM {table} ORDER BY id")).sets[0].1.clone()
}

/// The result of a batch: its only number, or its error.
fn outcome(seen: &Seen) -> Result<String, i32> {
    match numbers(seen).first() {
        Some(number) => Err(*number),
        None => Ok(seen.sets.last().unwrap().1[0][0].clone()),
    }
}

/// A change: the statement on the view, and the one on the table itself. The second stores the keys of the changed rows in `#changed`.
fn change(random: &mut Random, stack: &Stack) -> (String, String) {
    let (view, id) = (stack.source(), stack.id());
    let changeable = stack.changeable();
    let filter = match random.below(3) {
        0 => String::new(),
        _ => format!(" WHERE {}", condition(random, &stack.columns, "")),
    };
    match random.below(4) {
        0 => (
            format!("DELETE {view}{filter}"),
            format!(
                "DELETE {{T}} OUTPUT deleted.id INTO #changed WHERE id IN (SELECT {id} FROM {view}{filter})"
            ),
        ),
        1 if !changeable.is_empty() => {
            let column = random.one_of(&changeable).clone();
            let (given, new) = (random.below(9), 1000 + random.below(1_000_000));
            let base = column.base.unwrap();
            (
                format!("INSERT {view}({}, {id}) VALUES({given}, {new})", column.name),
                format!("INSERT {{T}}(id, {base}) OUTPUT inserted.id INTO #changed VALUES({new}, {given})"),
            )
        }
        _ if !changeable.is_empty() => {
            let column = random.one_of(&changeable).clone();
            let new = value(random, &stack.columns);
            let base = column.base.unwrap();
            let through = match random.below(3) {
                0 => format!("UPDATE {view} SET {} = {new}{filter}", column.name),
                1 => {
                    let inner = format!("SELECT * FROM {view}");
                    format!("WITH cte AS ({inner}) UPDATE cte SET {} = {new}{filter}", column.name)
                }
                _ => format!("UPDATE x SET {} = {new} FROM (SELECT * FROM {view}) x{filter}", column.name),
            };
            let direct = format!(
                "UPDATE {{T}} SET {base} = n.v OUTPUT inserted.id INTO #changed FROM {{T}} \
                 JOIN (SELECT {id} AS k, {new} AS v FROM {view}{filter}) n ON n.k = {{T}}.id"
            );
            (through, direct)
        }
        _ => (
            format!("DELETE FROM {view}{filter}"),
            format!("DELETE {{T}} WHERE id IN (SELECT {id} FROM {view}{filter})"),
        ),
    }
}

/// Tries one change both ways; returns whether rows were changed, and whether the view refused them.
fn try_change(session: &mut Session, random: &mut Random, stack: &Stack) -> (bool, bool) {
    let (through, direct) = change(random, stack);
    let through = on(&through, "through");
    let is_deletion = through.starts_with("DELETE");
    let before = content(session, "through");
    run(session, "BEGIN TRAN; CREATE TABLE #changed(id int)");
    let wanted = outcome(&run(session, &format!("{}; SELECT @@ROWCOUNT", on(&direct, "direct"))));
    // Rows that a view WITH CHECK OPTION does not show.
    let is_refused = !is_deletion
        && stack.checked.iter().any(|level| {
            let key = &stack.keys[*level - 1];
            let shown = format!("SELECT {key} FROM view{level}_direct");
            let text = format!("SELECT COUNT(*) FROM #changed WHERE id NOT IN ({shown})");
            run(session, &text).sets[0].1[0][0] != "0"
        });
    let seen = outcome(&run(session, &format!("{through}; SELECT @@ROWCOUNT")));
    let text = format!("{through}\n{}", stack.texts.join("\n"));
    if is_deletion && stack.is_joined {
        assert_eq!(seen, Err(4405), "{text}");
    } else if is_refused {
        assert_eq!(seen, Err(550), "{text}");
    } else {
        assert_eq!(seen, wanted, "{text}");
        assert_eq!(content(session, "through"), content(session, "direct"), "{text}");
    }
    let is_changed = seen.as_ref().is_ok_and(|count| count != "0");
    if !is_changed {
        assert_eq!(content(session, "through"), before, "{text}");
    }
    run(session, "ROLLBACK");
    (is_changed, is_refused)
}

fn prepare(session: &mut Session, random: &mut Random) {
    run(session, "CREATE TABLE side(id int PRIMARY KEY, w int)");
    for id in (0..30).step_by(2) {
        run(session, &format!("INSERT side VALUES({id}, {})", random.below(9)));
    }
    run(session, "CREATE TABLE through(id int PRIMARY KEY, a int INDEX ia, b int, c int DEFAULT 3)");
    for id in 0..20 {
        let mut value = || match random.below(6) {
            0 => "NULL".to_string(),
            _ => random.below(12).to_string(),
        };
        let values = format!("{id}, {}, {}, {}", value(), value(), value());
        run(session, &format!("INSERT through VALUES({values})"));
    }
    run(
        session,
        "CREATE TABLE direct(id int, a int, b int, c int DEFAULT 3); INSERT direct SELECT * FROM through",
    );
}

#[test]
fn changes_through_views_are_changes_of_the_base_table() {
    let world = World::new("random-views");
    let mut session = world.session();
    let seed = crate::common::random::seed(21);
    let mut random = Random::new(seed);
    prepare(&mut session, &mut random);
    let (mut changed, mut refused) = (0, 0);
    for _ in 0..VIEWS {
        let mut stack = Stack::new();
        for _ in 0..1 + random.below(4) {
            stack.grow(&mut random);
        }
        for (text, table) in stack.texts.iter().flat_map(|text| TABLES.map(|table| (text, table))) {
            let text = on(text, table);
            assert!(numbers(&run(&mut session, &text)).is_empty(), "{text}");
        }
        for _ in 0..CHANGES_PER_VIEW {
            let (is_changed, is_refused) = try_change(&mut session, &mut random, &stack);
            changed += usize::from(is_changed);
            refused += usize::from(is_refused);
        }
        for level in (1..=stack.level).rev() {
            run(&mut session, &format!("DROP VIEW view{level}_through, view{level}_direct"));
        }
    }
    assert!(changed > VIEWS && refused > VIEWS / 10, "seed {seed}: {changed} changes, {refused} refusals");
}
