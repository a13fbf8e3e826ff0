//! The tables of a world: heaps and trees with indexes of every kind, filled with values that come several times.

use os::Rng;

use super::columns::{Column, Kind};
use super::values::{Family, pick};

/// A nonclustered index that a table may have: one that its columns do not allow is refused.
pub(super) struct Index {
    /// Its first key, by the position of the column.
    pub(super) leading: usize,
    /// All columns that its entries have: keys and included ones.
    pub(super) stored: Vec<usize>,
    pub(super) filter: Option<Filter>,
}

/// The filter of an index.
pub(super) struct Filter {
    /// The position of its column.
    pub(super) column: usize,
    /// What is said of the column: ` IS NOT NULL`.
    pub(super) test: String,
    /// The operator and the constant of a comparison.
    pub(super) compared: Option<(&'static str, String)>,
}

/// A table, and the statements that make it.
pub(super) struct Table {
    pub(super) name: String,
    /// `k` is unique, `v` any integer; the others are of any kind.
    pub(super) columns: Vec<Column>,
    /// CREATE TABLE and the rows, which must succeed.
    pub(super) making: Vec<String>,
    /// Statements that make indexes; one that its columns do not allow is left out.
    pub(super) indexes: Vec<String>,
    /// The nonclustered ones of these.
    pub(super) made: Vec<Index>,
}

impl Table {
    /// One of so many rows.
    pub(super) fn draw(rng: &mut Rng, number: u64, rows: u64, pool: &[&'static Kind]) -> Table {
        let name = format!("t{number}");
        let mut columns = vec![Column::integer("k"), Column::integer("v")];
        columns.extend((0..2 + rng.below(4) as usize).map(|number| Column::draw(rng, number, pool)));
        if rng.chance(1, 3) {
            columns.push(columns[2].twin(rng, columns.len() - 2));
        }
        let (key, first) = keys(rng, &name, &mut columns);
        let definitions: Vec<String> = columns.iter().map(Column::definition).collect();
        let mut making = vec![format!("CREATE TABLE {name} ({}{key})", definitions.join(", "))];
        let mut indexes: Vec<String> = first.into_iter().collect();
        let mut made = Vec::new();
        for number in 0..1 + rng.below(5) {
            let (index, text) = index(rng, &name, &mut columns, number);
            made.push(index);
            indexes.push(text);
        }
        making.extend(inserts(rng, &name, &columns, rows));
        Table { name, columns, making, indexes, made }
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

/// An index of one to three columns, with what an index may have, and the statement that makes it.
fn index(rng: &mut Rng, table: &str, columns: &mut [Column], number: u64) -> (Index, String) {
    let leading = rng.below(columns.len() as u64) as usize;
    columns[leading].is_sought = true;
    let mut others: Vec<usize> = (0..columns.len()).collect();
    let (mut stored, mut keys) = (Vec::new(), Vec::new());
    for key in 0..1 + rng.below(3) {
        let at = if key == 0 { leading } else { rng.below(others.len() as u64) as usize };
        stored.push(others.remove(at));
        let descending = if rng.chance(1, 4) { " DESC" } else { "" };
        keys.push(format!("{}{descending}", columns[stored[stored.len() - 1]].name));
    }
    let unique = if stored.contains(&0) { "UNIQUE " } else { "" };
    others.retain(|_| rng.chance(1, 4));
    let included: Vec<&str> = others.iter().map(|at| columns[*at].name.as_str()).collect();
    let include =
        if included.is_empty() { String::new() } else { format!(" INCLUDE ({})", included.join(", ")) };
    stored.extend(others);
    let filter = rng.chance(2, 5).then(|| filter(rng, columns, &stored));
    let said = filter.as_ref().map(|filter| format!(" WHERE {}{}", columns[filter.column].name, filter.test));
    let text = format!(
        "CREATE {unique}INDEX i{number} ON {table} ({}){include}{}",
        keys.join(", "),
        said.unwrap_or_default()
    );
    (Index { leading, stored, filter }, text)
}

/// The filter of an index, mostly about a column that it stores.
fn filter(rng: &mut Rng, columns: &[Column], stored: &[usize]) -> Filter {
    let any = rng.below(columns.len() as u64) as usize;
    let column = if rng.chance(1, 4) { any } else { *pick(rng, stored) };
    let own = &columns[column];
    let compared = match rng.below(6) {
        0 => Some(("=", own.favourite(rng))),
        1..=3 => Some((*pick(rng, &[">", ">=", "<", "<="]), own.favourite(rng))),
        _ => None,
    };
    let test = match &compared {
        Some((operator, constant)) => format!(" {operator} {constant}"),
        None if rng.chance(1, 2) => " IS NOT NULL".to_owned(),
        None => format!(" IN ({}, {})", own.constant(rng), own.favourite(rng)),
    };
    Filter { column, test, compared }
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
