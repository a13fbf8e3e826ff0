//! The tables of a world: heaps and trees with indexes of every kind, filled with values that come several times.

use os::Rng;

use super::columns::{Column, Kind};
use super::values::{Family, pick};

/// A table, and the statements that make it.
pub(super) struct Table {
    pub(super) name: String,
    /// `k` is unique, `v` any integer; the others are of any kind.
    pub(super) columns: Vec<Column>,
    /// CREATE TABLE and the rows, which must succeed.
    pub(super) making: Vec<String>,
    /// Indexes; one that its columns do not allow is left out.
    pub(super) indexes: Vec<String>,
}

impl Table {
    /// One of so many rows.
    pub(super) fn draw(rng: &mut Rng, number: u64, rows: u64, pool: &[&'static Kind]) -> Table {
        let name = format!("t{number}");
        let mut columns = vec![Column::integer("k"), Column::integer("v")];
        columns.extend((0..2 + rng.below(4) as usize).map(|number| Column::draw(rng, number, pool)));
        let (key, first) = keys(rng, &name, &mut columns);
        let definitions: Vec<String> = columns.iter().map(Column::definition).collect();
        let mut making = vec![format!("CREATE TABLE {name} ({}{key})", definitions.join(", "))];
        let mut indexes: Vec<String> = first.into_iter().collect();
        indexes.extend((0..1 + rng.below(5)).map(|number| index(rng, &name, &mut columns, number)));
        making.extend(inserts(rng, &name, &columns, rows));
        Table { name, columns, making, indexes }
    }
}

/// The constraint of a table's key, and a clustered index that is none.
fn keys(rng: &mut Rng, name: &str, columns: &mut [Column]) -> (&'static str, Option<String>) {
    let at = 2 + rng.below(columns.len() as u64 - 2) as usize;
    let column = columns[at].name.clone();
    let kind = rng.below(8);
    columns[0].is_sought = kind <= 5;
    columns[at].is_sought = (5..=6).contains(&kind);
    match kind {
        0..=2 => (", PRIMARY KEY CLUSTERED (k)", None),
        3 => (", PRIMARY KEY NONCLUSTERED (k)", None),
        4 => (", UNIQUE CLUSTERED (k DESC)", None),
        5 => (", UNIQUE (k)", Some(format!("CREATE CLUSTERED INDEX base ON {name} ({column})"))),
        6 => ("", Some(format!("CREATE UNIQUE CLUSTERED INDEX base ON {name} ({column} DESC, k)"))),
        _ => ("", None),
    }
}

/// An index of one to three columns, with what an index may have.
fn index(rng: &mut Rng, table: &str, columns: &mut [Column], number: u64) -> String {
    let first = rng.below(columns.len() as u64) as usize;
    columns[first].is_sought = true;
    let mut others: Vec<&Column> = columns.iter().collect();
    let mut keys = Vec::new();
    for key in 0..1 + rng.below(3) {
        let at = if key == 0 { first } else { rng.below(others.len() as u64) as usize };
        let column = others.remove(at);
        keys.push(format!("{}{}", column.name, if rng.chance(1, 4) { " DESC" } else { "" }));
    }
    let unique = if keys.iter().any(|key| key.starts_with('k')) { "UNIQUE " } else { "" };
    let included: Vec<&str> =
        others.iter().filter(|_| rng.chance(1, 4)).map(|column| column.name.as_str()).collect();
    let include =
        if included.is_empty() { String::new() } else { format!(" INCLUDE ({})", included.join(", ")) };
    let filter = if rng.chance(1, 4) { format!(" WHERE {}", filter(rng, columns)) } else { String::new() };
    format!("CREATE {unique}INDEX i{number} ON {table} ({}){include}{filter}", keys.join(", "))
}

fn filter(rng: &mut Rng, columns: &[Column]) -> String {
    let column = pick(rng, columns);
    match rng.below(6) {
        0 | 1 => format!("{} IS NOT NULL", column.name),
        2 => format!("{} = {}", column.name, column.favourite(rng)),
        3 | 4 => format!("{} {} {}", column.name, pick(rng, &[">", ">=", "<", "<="]), column.favourite(rng)),
        _ => format!("{} IN ({}, {})", column.name, column.constant(rng), column.favourite(rng)),
    }
}

/// So many rows. Many rows come from a few, so that values are frequent.
fn inserts(rng: &mut Rng, name: &str, columns: &[Column], rows: u64) -> Vec<String> {
    const LITERAL_ROWS: u64 = 40;
    let literal = rows.min(LITERAL_ROWS);
    if literal == 0 {
        return Vec::new();
    }
    let values = |rng: &mut Rng, k: u64| {
        let others: Vec<String> = columns[1..].iter().map(|column| column.value(rng)).collect();
        format!("({k}, {})", others.join(", "))
    };
    let all: Vec<String> = (0..literal).map(|k| values(rng, k)).collect();
    let mut texts = vec![format!("INSERT {name} VALUES {}", all.join(", "))];
    if rows > literal {
        let names: Vec<&str> = columns[1..].iter().map(|column| column.name.as_str()).collect();
        texts.push(format!(
            "INSERT {name} SELECT s.value, {} FROM GENERATE_SERIES({literal}, {}) AS s JOIN {name} AS o ON o.k = s.value % {literal}",
            names.join(", "),
            rows - 1
        ));
    }
    texts
}

/// May columns be compared as they are, and grouped with one answer?
pub(super) fn is_groupable(column: &Column) -> bool {
    // A float has a sign of zero; nothing here makes one.
    column.kind.family != Family::Binary && !column.is_mixed
}
