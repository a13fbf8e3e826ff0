//! Statements about indexes: what their keys and filters find, what their entries have, and the order in which they come.

use os::Rng;

use super::predicates::{
    Batch, OPERATORS, Reference, Scope, bounds, compared, comparison, condition, like, partner, pick_column,
};
use super::queries::{aggregate, chosen, listed};
use super::tables::{Filter, Index, Table};
use super::values::{Family, pick};

/// A table under an alias, and one of its indexes.
struct Way<'t> {
    table: &'t Table,
    index: &'t Index,
    alias: String,
    columns: Vec<Reference>,
}

impl<'t> Way<'t> {
    fn of(table: &'t Table, index: &'t Index, batch: &mut Batch) -> Way<'t> {
        let alias = batch.alias();
        let columns = table.columns.iter().map(|column| Reference::column(&alias, column)).collect();
        Way { table, index, alias, columns }
    }

    /// The columns that the entries of the index have.
    fn stored(&self) -> Vec<Reference> {
        self.index.stored.iter().map(|at| self.columns[*at].clone()).collect()
    }

    fn leading(&self) -> &Reference {
        &self.columns[self.index.leading]
    }

    fn relation(&self) -> String {
        format!("{} AS {}", self.table.name, self.alias)
    }
}

/// Rows of a table by an index: by its first key, and by conditions like its filter. Mostly nothing is asked for but what its entries have.
pub(super) fn by_index(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let table = pick(rng, tables);
    let is_wanted: fn(&&Index, &Table) -> bool = match rng.below(8) {
        0..=3 => |index, _| index.filter.is_some(),
        4 | 5 => |index, table| table.columns[index.leading].kind.family == Family::Text,
        _ => |_, _| true,
    };
    let wanted: Vec<&Index> = table.made.iter().filter(|index| is_wanted(index, table)).collect();
    let index = if wanted.is_empty() { pick(rng, &table.made) } else { *pick(rng, &wanted) };
    let way = Way::of(table, index, batch);
    let shown = if rng.chance(4, 5) { way.stored() } else { way.columns.clone() };
    let mut conditions = Vec::new();
    if let Some(filter) = index.filter.as_ref().filter(|_| rng.chance(5, 6)) {
        conditions.push(around(rng, filter, &way.columns[filter.column], batch));
    }
    let is_text = way.leading().family == Family::Text;
    if conditions.is_empty() || rng.chance(if is_text { 2 } else { 1 }, 3) {
        conditions.push(of_key(rng, way.leading(), batch));
    }
    if rng.chance(1, 4) {
        let scope = Scope { tables, columns: shown.clone(), depth: 0 };
        conditions.push(condition(rng, &scope, batch, 1));
    }
    let items = match rng.below(5) {
        0 => format!("COUNT(*) AS a, {} AS b", aggregate(rng, &shown)),
        _ => listed(&chosen(rng, &shown, 3)),
    };
    format!("SELECT {items} FROM {} WHERE {}", way.relation(), conditions.join(" AND "))
}

/// A condition that may say the same as the filter of an index, more, less, or something else of its column.
fn around(rng: &mut Rng, filter: &Filter, own: &Reference, batch: &mut Batch) -> String {
    let text = &own.text;
    let near = |operator: &str| match operator {
        ">" | ">=" => [">", ">=", "=", "<>"],
        "<" | "<=" => ["<", "<=", "=", "<>"],
        _ => ["=", "<=", ">=", "<>"],
    };
    let other = match &own.column {
        Some(column) if rng.chance(1, 2) => column.favourite(rng),
        Some(column) => column.constant(rng),
        None => "NULL".to_owned(),
    };
    match (&filter.compared, rng.below(8)) {
        (_, 0) => format!("{text}{}", filter.test),
        (Some((operator, constant)), 1..=3) => format!("{text} {} {constant}", pick(rng, &near(operator))),
        (Some((operator, _)), 4 | 5) => format!("{text} {operator} {other}"),
        (Some((operator, _)), 6) => {
            format!("({text}{} OR {text} {} {other})", filter.test, pick(rng, &near(operator)))
        }
        (None, 1 | 2) => format!("({text}{} OR {text} = {other})", filter.test),
        _ => comparison(rng, own, batch),
    }
}

/// A condition on the first key of an index.
fn of_key(rng: &mut Rng, own: &Reference, batch: &mut Batch) -> String {
    match (rng.below(4), &own.column) {
        (0 | 1, _) if own.family == Family::Text => like(rng, own),
        (0, _) => bounds(rng, own),
        (1, Some(column)) => format!("{} {} {}", own.text, pick(rng, &OPERATORS), column.typed(rng)),
        _ => comparison(rng, own, batch),
    }
}

/// Two indexes that begin with columns of one kind, joined by these columns or asked whether they have each other's values. Nothing else is asked for
/// but what their entries have, so that both may come in order.
pub(super) fn along_indexes(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let all: Vec<(&Table, &Index)> =
        tables.iter().flat_map(|table| table.made.iter().map(move |index| (table, index))).collect();
    let first = |(table, index): &(&Table, &Index)| {
        let column = &table.columns[index.leading];
        (column.kind.declared, column.collation, column.is_nullable)
    };
    let nullable: Vec<(&Table, &Index)> = all.iter().copied().filter(|found| first(found).2).collect();
    let one = if nullable.is_empty() || rng.chance(1, 4) { *pick(rng, &all) } else { *pick(rng, &nullable) };
    let (declared, collation, is_nullable) = first(&one);
    let fits = |found: &(&Table, &Index)| {
        let (kind, other, has_nulls) = first(found);
        kind == declared && other == collation && (has_nulls || !is_nullable)
    };
    // It fits itself.
    let fitting: Vec<(&Table, &Index)> = all.iter().copied().filter(fits).collect();
    let other = *pick(rng, &fitting);
    let (left, right) = (Way::of(one.0, one.1, batch), Way::of(other.0, other.1, batch));
    let equal = format!("{} = {}", left.leading().text, right.leading().text);
    match rng.below(6) {
        0..=2 => joined(rng, tables, (&left, &right), equal, batch),
        _ => asked_for(rng, tables, (&left, &right), equal, batch),
    }
}

/// The rows of two indexes joined.
fn joined(
    rng: &mut Rng,
    tables: &[Table],
    (left, right): (&Way<'_>, &Way<'_>),
    equal: String,
    batch: &mut Batch,
) -> String {
    let both = [left.stored(), right.stored()].concat();
    let scope = Scope { tables, columns: both.clone(), depth: 0 };
    let (mut on, mut filter) = (equal, String::new());
    if rng.chance(1, 4) {
        on.push_str(&format!(" AND {}", condition(rng, &scope, batch, 1)));
    }
    if rng.chance(1, 3) {
        filter = format!(" WHERE {}", condition(rng, &scope, batch, 1));
    }
    let kind = pick(rng, &["JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"]);
    let items = listed(&chosen(rng, &both, 4));
    format!("SELECT {items} FROM {} {kind} {} ON {on}{filter}", left.relation(), right.relation())
}

/// Rows that have partners in another table, or none: EXISTS and IN, whose rows are tied by more than an equality at times.
fn asked_for(
    rng: &mut Rng,
    tables: &[Table],
    (left, right): (&Way<'_>, &Way<'_>),
    equal: String,
    batch: &mut Batch,
) -> String {
    let mut conditions = Vec::new();
    let own = pick_column(rng, &left.columns);
    let there = Scope { tables, columns: right.columns.clone(), depth: 0 };
    if let Some(found) = partner(rng, &there, &own).filter(|_| rng.chance(1, 2)) {
        conditions.push(compared(rng, &found, &own));
    }
    if rng.chance(1, 3) {
        conditions.push(condition(rng, &there, batch, 1));
    }
    let not = if rng.chance(1, 2) { "NOT " } else { "" };
    let is_in = rng.chance(1, 2);
    if !is_in {
        conditions.insert(0, equal);
    }
    let filter =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let asked = match is_in {
        true => format!(
            "{} {not}IN (SELECT {} FROM {}{filter})",
            left.leading().text,
            right.leading().text,
            right.relation()
        ),
        false => format!("{not}EXISTS (SELECT * FROM {}{filter})", right.relation()),
    };
    let shown = if rng.chance(1, 2) { left.stored() } else { left.columns.clone() };
    let also = match rng.chance(1, 4) {
        true => {
            let here = Scope { tables, columns: shown.clone(), depth: 0 };
            format!(" AND {}", condition(rng, &here, batch, 1))
        }
        false => String::new(),
    };
    format!("SELECT {} FROM {} WHERE {asked}{also}", listed(&chosen(rng, &shown, 3)), left.relation())
}

/// An order over columns of one side of a join. Nothing but its keys is shown: then rows that are equal in them come in one order, too.
pub(super) fn one_sided(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let (one, other) = (pick(rng, tables), pick(rng, tables));
    let (left, right) = (Way::of(one, &one.made[0], batch), Way::of(other, &other.made[0], batch));
    let both = [left.columns.clone(), right.columns.clone()].concat();
    let side = if rng.chance(3, 4) { &left.columns } else { &right.columns };
    let groupable: Vec<&Reference> = side.iter().filter(|column| column.is_groupable).collect();
    let mut keys: Vec<String> = Vec::new();
    for _ in 0..1 + rng.below(3) {
        let column = *pick(rng, &groupable);
        let text = &column.text;
        let key = match rng.below(6) {
            0 if column.is_integer => format!("{text} % 3"),
            // It fails where the column is zero.
            1 if column.is_integer => format!("10 / {text}"),
            0 | 1 if column.family == Family::Text => format!("LEN({text})"),
            _ => text.clone(),
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let own = pick_column(rng, &left.columns);
    let there = Scope { tables, columns: right.columns.clone(), depth: 0 };
    let on = match partner(rng, &there, &own) {
        Some(found) => compared(rng, &own, &found),
        None => condition(rng, &Scope { tables, columns: both.clone(), depth: 0 }, batch, 1),
    };
    let (from, to) = (left.relation(), right.relation());
    let from = match rng.below(6) {
        0 => format!("{from} CROSS JOIN {to}"),
        1 | 2 => format!("{from} LEFT JOIN {to} ON {on}"),
        3 => format!(
            "{from} CROSS APPLY (SELECT TOP (2) * FROM {to} WHERE {on} ORDER BY {0}.k) AS {0}",
            right.alias
        ),
        _ => format!("{from} JOIN {to} ON {on}"),
    };
    let filter = match rng.chance(1, 3) {
        true => {
            let columns = if rng.chance(1, 2) { both } else { left.columns.clone() };
            format!(" WHERE {}", condition(rng, &Scope { tables, columns, depth: 0 }, batch, 1))
        }
        false => String::new(),
    };
    let items: Vec<String> = keys.iter().enumerate().map(|(at, key)| format!("{key} AS x{at}")).collect();
    let order: Vec<String> =
        keys.iter().map(|key| format!("{key}{}", if rng.chance(1, 2) { " DESC" } else { "" })).collect();
    let (top, offset) = match rng.below(4) {
        0 => (format!("TOP ({}) ", 1 + rng.below(9)), String::new()),
        1 => (
            String::new(),
            format!(" OFFSET {} ROWS FETCH NEXT {} ROWS ONLY", rng.below(3), 1 + rng.below(9)),
        ),
        _ => (String::new(), String::new()),
    };
    format!("SELECT {top}{} FROM {from}{filter} ORDER BY {}{offset}", items.join(", "), order.join(", "))
}
