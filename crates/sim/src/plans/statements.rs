//! SELECT statements: queries of any shape, and those shapes that single rules look for.

use os::Rng;

use super::constants::{each_time, separated, with_constants};
use super::indexed::{along_indexes, by_index, one_sided};
use super::predicates::{Batch, Reference, Scope, condition, like, partner, pick_column, telling};
use super::queries::{
    aggregate, aggregate_alone, chosen, distinct, grouped, listed, ordered, plain, query, windows,
};
use super::tables::Table;
use super::values::{Family, pick};

/// A SELECT statement without OPTION.
pub(super) struct Select {
    pub(super) declarations: String,
    pub(super) text: String,
    /// Its rows come in one order.
    pub(super) is_ordered: bool,
    /// A query whose rows any right answer has some of: which spelling stands for a group is open.
    pub(super) within: Option<String>,
}

/// Draws a statement.
pub(super) fn select(rng: &mut Rng, tables: &[Table], is_large: bool) -> Select {
    let mut batch = Batch::default();
    let mut within = None;
    let (text, is_ordered) = match rng.below(42) {
        // Nested loops over a large table take too long.
        28..=31 if is_large => (by_index(rng, &tables[..1], &mut batch), false),
        _ if is_large => (large(rng, tables, &mut batch), false),
        0..=2 => (ordered(rng, tables, &mut batch), true),
        3 => (twice(rng, tables, &mut batch), false),
        4 | 5 => (aggregate_alone(rng, tables, &mut batch), false),
        6 | 7 => (counted_groups(rng, tables, &mut batch, &mut within), false),
        8 => (nearly_twice(rng, tables, &mut batch), false),
        9 | 10 => (told_apart(rng, tables, &mut batch, &mut within), false),
        11 | 20 => (counted_partners(rng, tables, &mut batch), false),
        12 | 13 => (without_partner(rng, tables, &mut batch), false),
        14..=17 => (sought(rng, tables, &mut batch), false),
        18 | 19 => (ranked(rng, tables, &mut batch), false),
        28..=31 => (by_index(rng, tables, &mut batch), false),
        32..=34 => (along_indexes(rng, tables, &mut batch), false),
        35 | 36 => (one_sided(rng, tables, &mut batch), true),
        37 | 38 => (separated(rng, tables, &mut batch), false),
        39 | 40 => (with_constants(rng, tables, &mut batch), false),
        41 => (each_time(rng, tables, &mut batch), false),
        _ => (query(rng, tables, &mut batch, 2).text, false),
    };
    Select { declarations: batch.declarations.join(" "), text, is_ordered, within }
}

/// The condition of an IF, and its declarations: whether tables have rows, what they count or compute, which fails at times.
pub(super) fn branching(rng: &mut Rng, tables: &[Table]) -> (String, String) {
    let mut batch = Batch::default();
    let mut one = |rng: &mut Rng| {
        let (table, alias) = (pick(rng, tables), batch.alias());
        let columns: Vec<Reference> =
            table.columns.iter().map(|column| Reference::column(&alias, column)).collect();
        let own = pick_column(rng, &columns);
        let scope = Scope { tables, columns, depth: 1 };
        let terms = 1 + rng.below(2);
        let body =
            format!("FROM {} AS {alias} WHERE {}", table.name, condition(rng, &scope, &mut batch, terms));
        let (operator, not) = (pick(rng, &["=", "<", ">"]), if rng.chance(1, 2) { "NOT " } else { "" });
        match (rng.below(6), &own.column) {
            (0, _) => format!("(SELECT COUNT(*) {body}) {operator} {}", rng.below(4)),
            (1, _) => format!("(SELECT SUM(10 / {alias}.v) {body}) {operator} {}", rng.below(20)),
            (2, Some(column)) => {
                format!("{} {not}IN (SELECT {} {body})", column.typed(rng), own.text)
            }
            _ => format!("{not}EXISTS (SELECT {} {body})", pick(rng, &["1", "*"])),
        }
    };
    let text = match rng.below(4) {
        0 => format!("{} AND {}", one(rng), one(rng)),
        1 => format!("{} OR {}", one(rng), one(rng)),
        _ => one(rng),
    };
    (batch.declarations.join(" "), text)
}

/// A query of the first table alone.
fn large(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let alias = batch.alias();
    let columns: Vec<Reference> =
        tables[0].columns.iter().map(|column| Reference::column(&alias, column)).collect();
    let scope = Scope { tables, columns: columns.clone(), depth: 0 };
    let terms = 1 + rng.below(3);
    let filter = condition(rng, &scope, batch, terms);
    let from = format!("FROM {} AS {alias} WHERE {filter}", tables[0].name);
    let groupable: Vec<Reference> = columns.iter().filter(|column| column.is_groupable).cloned().collect();
    match rng.below(3) {
        0 => format!("SELECT {} {from}", listed(&chosen(rng, &columns, 3))),
        1 => {
            let key = pick(rng, &groupable).text.clone();
            format!("SELECT {key}, {} AS a {from} GROUP BY {key}", aggregate(rng, &columns))
        }
        _ => format!("SELECT {} AS a, {} AS b {from}", aggregate(rng, &columns), aggregate(rng, &columns)),
    }
}

/// Groups of columns that are spelled in several ways, of which only counts are told; conditions on what stands for a group, at times.
fn counted_groups(rng: &mut Rng, tables: &[Table], batch: &mut Batch, within: &mut Option<String>) -> String {
    let (table, alias) = (pick(rng, tables), batch.alias());
    let columns: Vec<Reference> =
        table.columns.iter().map(|column| Reference::column(&alias, column)).collect();
    let mixed = |column: &&Reference| column.column.as_ref().is_some_and(|own| own.is_mixed);
    let mut keys: Vec<Reference> = columns.iter().filter(mixed).cloned().collect();
    if keys.is_empty() || rng.chance(1, 4) {
        keys.push(pick(rng, &columns).clone());
    }
    keys.truncate(2);
    let scope = Scope { tables, columns, depth: 0 };
    let filter = match rng.chance(1, 2) {
        true => format!(" WHERE {}", condition(rng, &scope, batch, 1)),
        false => String::new(),
    };
    let listed: Vec<&str> = keys.iter().map(|key| key.text.as_str()).collect();
    let grouped = format!(
        "SELECT COUNT(*) AS n, MIN({alias}.k) AS a, MAX({alias}.k) AS b FROM {} AS {alias}{filter} GROUP BY {}",
        table.name,
        listed.join(", ")
    );
    if rng.chance(1, 3) {
        return grouped;
    }
    let scope = Scope { tables, columns: keys, depth: 0 };
    let having = match rng.chance(1, 2) {
        true => telling(rng, &scope.columns),
        false => condition(rng, &scope, batch, 1),
    };
    *within = Some(grouped.clone());
    format!("{grouped} HAVING {having}")
}

/// Two groupings that differ in a constant, joined.
fn nearly_twice(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let (table, alias) = (pick(rng, tables), batch.alias());
    let column = pick(rng, &table.columns);
    let operator = pick(rng, &["=", "<", ">=", "<>"]);
    let mut part = || {
        format!(
            "SELECT {alias}.v AS g, COUNT(*) AS n FROM {} AS {alias} WHERE {alias}.{} {operator} {} GROUP BY {alias}.v",
            table.name,
            column.name,
            column.constant(rng)
        )
    };
    let (one, other) = (part(), part());
    let kind = pick(rng, &["JOIN", "LEFT JOIN", "FULL JOIN"]);
    format!("SELECT a.g, a.n, b.n AS m FROM ({one}) AS a {kind} ({other}) AS b ON a.g = b.g")
}

/// A difference of values of which many are equal without being the same, with a condition that tells these apart: any answer has some of the rows
/// without it.
fn told_apart(rng: &mut Rng, tables: &[Table], batch: &mut Batch, within: &mut Option<String>) -> String {
    let mixed = |table: &&Table| table.columns.iter().any(|column| column.is_mixed);
    let several: Vec<&Table> = tables.iter().filter(mixed).collect();
    let table = if several.is_empty() { pick(rng, tables) } else { *pick(rng, &several) };
    let (one, other) = (batch.alias(), batch.alias());
    let references = |alias: &str| -> Vec<Reference> {
        table.columns.iter().map(|column| Reference::column(alias, column)).collect()
    };
    let (left, right) = (references(&one), references(&other));
    let several: Vec<usize> = (0..left.len()).filter(|at| table.columns[*at].is_mixed).collect();
    let at = if several.is_empty() { rng.below(left.len() as u64) as usize } else { *pick(rng, &several) };
    let mut side = |columns: &[Reference], alias: &str| {
        let scope = Scope { tables, columns: columns.to_vec(), depth: 0 };
        let filter = condition(rng, &scope, batch, 1);
        format!("SELECT {} AS x0 FROM {} AS {alias} WHERE {filter}", columns[at].text, table.name)
    };
    let text = format!("{} EXCEPT {}", side(&left, &one), side(&right, &other));
    let whole = format!("SELECT 1 AS x FROM ({text}) AS d");
    let condition = telling(rng, &[left[at].named("d", "x0")]);
    *within = Some(whole.clone());
    format!("{whole} WHERE {condition}")
}

/// Rows of a table by columns that its indexes begin with.
fn sought(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let (table, alias) = (pick(rng, tables), batch.alias());
    let columns: Vec<Reference> =
        table.columns.iter().map(|column| Reference::column(&alias, column)).collect();
    let own = pick_column(rng, &columns);
    let mut filter = match (rng.below(5), &own.column) {
        (0 | 1, Some(column)) => {
            let operator = pick(rng, &["<", "<", "<=", ">", ">=", "="]);
            format!("{} {operator} {}", own.text, column.beside(rng))
        }
        (2, _) if own.family == Family::Text => like(rng, &own),
        _ => condition(rng, &Scope { tables, columns: vec![own], depth: 0 }, batch, 1),
    };
    if rng.chance(1, 3) {
        let scope = Scope { tables, columns: columns.clone(), depth: 0 };
        let operator = pick(rng, &["AND", "AND", "OR"]);
        filter = format!("({filter}) {operator} {}", condition(rng, &scope, batch, 1));
    }
    format!("SELECT {} FROM {} AS {alias} WHERE {filter}", listed(&chosen(rng, &columns, 3)), table.name)
}

/// Window functions below conditions.
fn ranked(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let inner = windows(rng, tables, batch, 1);
    let columns: Vec<Reference> =
        inner.columns.iter().map(|column| column.named("d", &column.text)).collect();
    let names: Vec<&str> = columns.iter().map(|column| column.text.as_str()).collect();
    let names = names.join(", ");
    let scope = Scope { tables, columns, depth: 0 };
    format!("SELECT {names} FROM ({}) AS d WHERE {}", inner.text, condition(rng, &scope, batch, 1))
}

/// What the rows of one table find in another one, counted.
fn counted_partners(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let Pair { from, left, right } = pair(rng, tables, batch);
    let keys: Vec<Reference> = left.iter().filter(|column| column.is_groupable).cloned().collect();
    let key = pick_column(rng, &keys).text;
    let any = &pick(rng, &right).text;
    let all = [
        format!("COUNT({any}) AS a"),
        "COUNT(*) AS b".to_owned(),
        format!("{} AS c", aggregate(rng, &right)),
    ];
    let count = 1 + rng.below(3) as usize;
    let first = rng.below(4 - count as u64) as usize;
    format!("SELECT {key} AS g, {} {from} GROUP BY {key}", all[first..first + count].join(", "))
}

/// Rows that find nothing in another table, and some others.
fn without_partner(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let Pair { from, left, right } = pair(rng, tables, batch);
    let tested = match rng.chance(1, 2) {
        true => right[0].clone(),
        false => pick(rng, &right).clone(),
    };
    let both = [left, right].concat();
    let items = listed(&chosen(rng, &both, 3));
    let scope = Scope { tables, columns: both, depth: 0 };
    let other = condition(rng, &scope, batch, 1);
    let filter = match rng.below(4) {
        0 => format!("{} IS NULL", tested.text),
        1 => format!("{} IS NULL AND {other}", tested.text),
        2 => format!("({} IS NULL OR {other})", tested.text),
        _ => other,
    };
    format!("SELECT {items} {from} WHERE {filter}")
}

/// Two tables that are joined by an equality.
struct Pair {
    from: String,
    left: Vec<Reference>,
    right: Vec<Reference>,
}

fn pair(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> Pair {
    let (one, other) = (pick(rng, tables), pick(rng, tables));
    let (a, b) = (batch.alias(), batch.alias());
    let references = |table: &Table, alias: &str| -> Vec<Reference> {
        table.columns.iter().map(|column| Reference::column(alias, column)).collect()
    };
    let (left, right) = (references(one, &a), references(other, &b));
    let own = pick_column(rng, &left);
    let scope = Scope { tables, columns: right.clone(), depth: 0 };
    let (own, found) = match partner(rng, &scope, &own) {
        Some(found) => (own, found),
        None => (left[0].clone(), right[1].clone()),
    };
    let collate = own.collate_joined(rng, &found);
    let also = match rng.chance(1, 3) {
        true => {
            let scope = Scope { tables, columns: [left.clone(), right.clone()].concat(), depth: 0 };
            format!(" AND {}", condition(rng, &scope, batch, 1))
        }
        false => String::new(),
    };
    let kind = pick(rng, &["JOIN", "LEFT JOIN", "LEFT JOIN", "FULL JOIN"]);
    let from = format!(
        "FROM {} AS {a} {kind} {} AS {b} ON {}{collate} = {}{also}",
        one.name, other.name, own.text, found.text
    );
    Pair { from, left, right }
}

/// A common table expression that stands in a query twice.
fn twice(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let inner = match rng.below(3) {
        0 => distinct(rng, tables, batch, 0),
        1 => plain(rng, tables, batch, 0),
        _ => grouped(rng, tables, batch, 0),
    };
    let column = pick(rng, &inner.columns).clone();
    let name = &column.text;
    let own: Vec<Reference> = inner.columns.iter().map(|column| column.named("a", &column.text)).collect();
    let scope = Scope { tables, columns: own, depth: 0 };
    let filter = condition(rng, &scope, batch, 1);
    let body = match rng.below(3) {
        0 => format!("SELECT COUNT(*) AS n FROM c AS a JOIN c AS b ON a.{name} = b.{name} WHERE {filter}"),
        1 => format!(
            "SELECT a.{name} AS x FROM c AS a WHERE EXISTS (SELECT 1 FROM c AS b WHERE b.{name} = a.{name}) AND {filter}"
        ),
        _ => format!("SELECT a.{name} AS x FROM c AS a WHERE {filter} UNION ALL SELECT b.{name} FROM c AS b"),
    };
    format!("WITH c AS ({}) {body}", inner.text)
}
