//! INSERT, UPDATE, DELETE and MERGE over the tables of a world. They are judged by what the table holds afterwards.

use os::Rng;

use super::predicates::{Batch, Reference, Scope, condition};
use super::tables::Table;
use super::values::pick;

/// A change without OPTION.
pub(super) struct Change {
    pub(super) declarations: String,
    pub(super) text: String,
    /// The table that it changes, by its number.
    pub(super) table: usize,
    /// It succeeds and leaves no row.
    pub(super) is_of_all: bool,
}

/// How a table is locked.
const LOCKS: [&str; 9] = [
    "",
    "",
    "",
    " WITH (TABLOCK)",
    " WITH (TABLOCKX)",
    " WITH (ROWLOCK)",
    " WITH (PAGLOCK)",
    " WITH (PAGLOCK, HOLDLOCK)",
    " WITH (ROWLOCK, SERIALIZABLE)",
];

/// Draws a change of one of the tables.
pub(super) fn change(rng: &mut Rng, tables: &[Table], is_large: bool) -> Change {
    // Beside a large table there is none to join it with.
    let tables = if is_large { &tables[..1] } else { tables };
    let at = rng.below(tables.len() as u64) as usize;
    let mut batch = Batch { aliases: 0, depth: u32::from(!is_large), ..Batch::default() };
    let text = match rng.below(10) {
        0..=2 => update(rng, tables, at, &mut batch),
        3 | 4 => delete(rng, tables, at, &mut batch),
        5 => insert(rng, tables, at, &mut batch),
        6 => insert_top(rng, &tables[at]),
        7 | 8 if !is_large => merge(rng, tables, at, &mut batch),
        _ => return delete_all(rng, tables, at),
    };
    Change { declarations: batch.declarations.join(" "), text, table: at, is_of_all: false }
}

/// DELETE of all rows of a table.
pub(super) fn delete_all(rng: &mut Rng, tables: &[Table], at: usize) -> Change {
    let text = format!("DELETE {}{}", tables[at].name, pick(rng, &LOCKS));
    Change { declarations: String::new(), text, table: at, is_of_all: true }
}

fn references(table: &Table, alias: &str) -> Vec<Reference> {
    table.columns.iter().map(|column| Reference::column(alias, column)).collect()
}

/// Conditions on the rows of a table under its alias.
fn filter(rng: &mut Rng, tables: &[Table], table: &Table, alias: &str, batch: &mut Batch) -> String {
    if rng.chance(1, 6) {
        return String::new();
    }
    let scope = Scope { tables, columns: references(table, alias), depth: batch.depth };
    let terms = *pick(rng, &[1, 1, 2, 3]);
    format!(" WHERE {}", condition(rng, &scope, batch, terms))
}

/// Assignments to some columns; of the key, at times.
fn assignments(rng: &mut Rng, table: &Table, alias: &str) -> String {
    let mut all = Vec::new();
    for column in &table.columns[1..] {
        if rng.chance(1, 3) {
            all.push(format!("{} = {}", column.name, column.value(rng)));
        }
    }
    if rng.chance(1, 5) {
        all.push(format!("k = {alias}.k + {}", pick(rng, &[1, 1000])));
    }
    if all.is_empty() {
        all.push(format!("v = {alias}.v + 1"));
    }
    all.join(", ")
}

fn update(rng: &mut Rng, tables: &[Table], at: usize, batch: &mut Batch) -> String {
    let table = &tables[at];
    let output = *pick(rng, &["", "", " OUTPUT inserted.k, deleted.v", " OUTPUT deleted.*"]);
    let (set, lock) = (assignments(rng, table, "a"), *pick(rng, &LOCKS));
    let from = joined(rng, tables, batch.depth);
    let filter = filter(rng, tables, table, "a", batch);
    format!("UPDATE a SET {set}{output} FROM {} AS a{lock}{from}{filter}", table.name)
}

/// A join in which rows may have several partners: what they become does not hang on these.
fn joined(rng: &mut Rng, tables: &[Table], depth: u32) -> String {
    if depth == 0 || rng.chance(1, 2) {
        return String::new();
    }
    let other = pick(rng, tables);
    let (own, column) = (pick(rng, &["k", "v"]), pick(rng, &["k", "v"]));
    format!(" {} {} AS b ON b.{own} = a.{column}", pick(rng, &["JOIN", "LEFT JOIN"]), other.name)
}

fn delete(rng: &mut Rng, tables: &[Table], at: usize, batch: &mut Batch) -> String {
    let table = &tables[at];
    let (output, lock) = (*pick(rng, &["", "", " OUTPUT deleted.*"]), *pick(rng, &LOCKS));
    let from = joined(rng, tables, batch.depth);
    let filter = filter(rng, tables, table, "a", batch);
    format!("DELETE a{output} FROM {} AS a{lock}{from}{filter}", table.name)
}

fn insert(rng: &mut Rng, tables: &[Table], at: usize, batch: &mut Batch) -> String {
    let table = &tables[at];
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let values: Vec<String> = names
        .iter()
        .map(|name| if *name == "k" { "a.k + 1000".to_owned() } else { format!("a.{name}") })
        .collect();
    let filter = filter(rng, tables, table, "a", batch);
    format!(
        "INSERT {}{} ({}) SELECT {} FROM {} AS a{filter}",
        table.name,
        pick(rng, &["", "", " WITH (TABLOCK)"]),
        names.join(", "),
        values.join(", "),
        table.name
    )
}

/// Some rows of those that VALUES has.
fn insert_top(rng: &mut Rng, table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let row = |rng: &mut Rng, number: u64| {
        let others: Vec<String> = table.columns[1..].iter().map(|column| column.value(rng)).collect();
        format!("({}, {})", 200_000 + number, others.join(", "))
    };
    let rows: Vec<String> = (0..1 + rng.below(4)).map(|number| row(rng, number)).collect();
    let percent = *pick(rng, &["", "", " PERCENT"]);
    format!(
        "INSERT TOP ({}){percent} {} ({}) VALUES {}",
        rng.below(5),
        table.name,
        names.join(", "),
        rows.join(", ")
    )
}

fn merge(rng: &mut Rng, tables: &[Table], at: usize, batch: &mut Batch) -> String {
    let (table, source) = (&tables[at], pick(rng, tables));
    let filter = filter(rng, tables, source, "s", batch);
    let shift = *pick(rng, &["s.k", "s.k + 2", "s.k * 2"]);
    let also = |rng: &mut Rng, batch: &mut Batch, alias: &str, of: &Table| {
        if rng.chance(1, 2) {
            return String::new();
        }
        let scope = Scope { tables, columns: references(of, alias), depth: 0 };
        format!(" AND {}", condition(rng, &scope, batch, 1))
    };
    let mut clauses = String::new();
    if rng.chance(3, 4) {
        let condition = also(rng, batch, "a", table);
        let action = match rng.chance(2, 3) {
            true => format!("UPDATE SET {}", assignments(rng, table, "a")),
            false => "DELETE".to_owned(),
        };
        clauses.push_str(&format!(" WHEN MATCHED{condition} THEN {action}"));
    }
    if clauses.is_empty() || rng.chance(1, 2) {
        let values: Vec<String> = table.columns[1..].iter().map(|column| column.value(rng)).collect();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        clauses.push_str(&format!(
            " WHEN NOT MATCHED THEN INSERT ({}) VALUES (u.k + 5000, {})",
            names.join(", "),
            values.join(", ")
        ));
    }
    if rng.chance(1, 3) {
        let condition = also(rng, batch, "a", table);
        clauses.push_str(&format!(" WHEN NOT MATCHED BY SOURCE{condition} THEN DELETE"));
    }
    let output = *pick(rng, &["", " OUTPUT $action, inserted.k, deleted.k"]);
    format!(
        "MERGE {} AS a USING (SELECT s.k, {shift} AS m FROM {} AS s{filter}) AS u ON a.k = u.m{clauses}{output}",
        table.name, source.name
    )
}
