//! Queries over the tables of a world, and queries in FROM of them.

use os::Rng;

use super::predicates::{Batch, Reference, Scope, compared, condition, partner, pick_column, telling};
use super::tables::Table;
use super::values::pick;

/// A query without ORDER BY, and its columns under their names.
pub(super) struct Query {
    pub(super) text: String,
    /// Their `text` is the name alone.
    pub(super) columns: Vec<Reference>,
}

/// What stands in FROM.
struct From {
    text: String,
    columns: Vec<Reference>,
    /// The unique columns of its tables.
    keys: Vec<String>,
    /// They tell every two rows apart.
    is_total: bool,
}

pub(super) fn query(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> Query {
    match rng.below(if depth == 0 { 5 } else { 11 }) {
        0 | 1 => plain(rng, tables, batch, depth),
        2 | 3 => grouped(rng, tables, batch, depth),
        4 => distinct(rng, tables, batch, depth),
        5 | 6 => outside(rng, tables, batch, depth),
        7 | 8 => set_operation(rng, tables, batch),
        9 => windows(rng, tables, batch, depth),
        _ => applied(rng, tables, batch),
    }
}

/// One to three relations, joined in any way.
fn from(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> From {
    let mut all = relation(rng, tables, batch, depth);
    let joins = *pick(rng, &[0, 0, 0, 1, 1, 2]);
    for _ in 0..joins {
        let next = relation(rng, tables, batch, 0);
        let (is_cross, mut ons) = (rng.chance(1, 12), Vec::new());
        let both = Scope { tables, columns: [all.columns.clone(), next.columns.clone()].concat(), depth: 0 };
        let right = Scope { tables, columns: next.columns.clone(), depth: 0 };
        let own = pick_column(rng, &all.columns);
        if let Some(other) = partner(rng, &right, &own) {
            let collate = own.collate_joined(rng, &other);
            match rng.chance(5, 6) {
                true => ons.push(format!("{}{collate} = {}", own.text, other.text)),
                false => ons.push(compared(rng, &own, &other)),
            }
        }
        if ons.is_empty() || rng.chance(1, 3) {
            ons.push(condition(rng, &both, batch, 1));
        }
        let kind = *pick(rng, &["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        all.text = match is_cross {
            true => format!("{} CROSS JOIN {}", all.text, next.text),
            false => format!("{} {kind} {} ON {}", all.text, next.text, ons.join(" AND ")),
        };
        all.columns.extend(next.columns);
        all.keys.extend(next.keys);
        all.is_total &= next.is_total;
    }
    all
}

/// A table, or a query in its place.
fn relation(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> From {
    let (table, alias) = (pick(rng, tables), batch.alias());
    if depth > 0 && rng.chance(1, 6) {
        let inner = plain(rng, tables, batch, 0);
        let columns = inner.columns.iter().map(|column| column.named(&alias, &column.text)).collect();
        return From {
            text: format!("({}) AS {alias}", inner.text),
            columns,
            keys: Vec::new(),
            is_total: false,
        };
    }
    let columns = table.columns.iter().map(|column| Reference::column(&alias, column)).collect();
    From {
        text: format!("{} AS {alias}", table.name),
        columns,
        keys: vec![format!("{alias}.k")],
        is_total: true,
    }
}

fn filtered(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> (From, String) {
    let from = from(rng, tables, batch, depth);
    let scope = Scope { tables, columns: from.columns.clone(), depth: depth.min(1) };
    let filter = match rng.chance(1, 8) {
        true => String::new(),
        false => {
            let terms = *pick(rng, &[1, 1, 1, 2, 2, 3]);
            format!(" WHERE {}", condition(rng, &scope, batch, terms))
        }
    };
    let text = format!("FROM {}{filter}", from.text);
    (from, text)
}

/// So many of the columns under names of their own.
pub(super) fn chosen(rng: &mut Rng, columns: &[Reference], most: u64) -> Vec<(Reference, String)> {
    let count = 1 + rng.below(most.min(columns.len() as u64));
    (0..count).map(|number| (pick(rng, columns).clone(), format!("x{number}"))).collect()
}

/// What may be grouped by; a constant where nothing may.
pub(super) fn groupable(columns: &[Reference]) -> Vec<Reference> {
    let found: Vec<Reference> = columns.iter().filter(|column| column.is_groupable).cloned().collect();
    match found.is_empty() {
        true => vec![Reference::integer(format!("LEN({})", columns[0].text))],
        false => found,
    }
}

pub(super) fn listed(items: &[(Reference, String)]) -> String {
    let items: Vec<String> =
        items.iter().map(|(column, name)| format!("{} AS {name}", column.text)).collect();
    items.join(", ")
}

fn renamed(items: &[(Reference, String)]) -> Vec<Reference> {
    items.iter().map(|(column, name)| Reference { text: name.clone(), ..column.clone() }).collect()
}

pub(super) fn plain(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> Query {
    let (from, rest) = filtered(rng, tables, batch, depth);
    let items = chosen(rng, &from.columns, 4);
    Query { text: format!("SELECT {} {rest}", listed(&items)), columns: renamed(&items) }
}

pub(super) fn distinct(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> Query {
    let (from, rest) = filtered(rng, tables, batch, depth);
    let items = chosen(rng, &groupable(&from.columns), 2);
    Query { text: format!("SELECT DISTINCT {} {rest}", listed(&items)), columns: renamed(&items) }
}

pub(super) fn grouped(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> Query {
    let (from, rest) = filtered(rng, tables, batch, depth);
    let mut items = chosen(rng, &groupable(&from.columns), 2);
    let keys: Vec<String> = items.iter().map(|item| item.0.text.clone()).collect();
    let having = match rng.chance(1, 3) {
        true => {
            let mut columns: Vec<Reference> = items.iter().map(|item| item.0.clone()).collect();
            columns.push(Reference::integer("COUNT(*)".to_owned()));
            let scope = Scope { tables, columns, depth: 0 };
            let terms = 1 + rng.below(2);
            format!(" HAVING {}", condition(rng, &scope, batch, terms))
        }
        false => String::new(),
    };
    if rng.chance(3, 4) {
        let all = aggregates(rng, &from.columns).into_iter().enumerate();
        items.extend(all.map(|(at, aggregate)| (Reference::integer(aggregate), format!("a{at}"))));
    }
    let text = format!("SELECT {} {rest} GROUP BY {}{having}", listed(&items), keys.join(", "));
    Query { text, columns: renamed(&items) }
}

/// One to three aggregates; in one case of five of the different values of one column alone.
pub(super) fn aggregates(rng: &mut Rng, columns: &[Reference]) -> Vec<String> {
    let own = pick_column(rng, columns);
    match rng.below(5) {
        0 if own.is_integer => {
            let number = format!("DISTINCT CAST({} AS bigint)", own.text);
            vec![format!("COUNT({number})"), format!("SUM({number})")]
        }
        0 => vec![format!("COUNT(DISTINCT {})", own.text)],
        _ => (0..1 + rng.below(3)).map(|_| aggregate(rng, columns)).collect(),
    }
}

/// An aggregate that gives a whole number, whatever order the rows come in.
pub(super) fn aggregate(rng: &mut Rng, columns: &[Reference]) -> String {
    let integers: Vec<&Reference> = columns.iter().filter(|column| column.is_integer).collect();
    let any = pick(rng, columns).text.clone();
    if integers.is_empty() {
        return "COUNT(*)".to_owned();
    }
    let integer = &pick(rng, &integers).text;
    match rng.below(8) {
        0 => "COUNT(*)".to_owned(),
        1 => format!("COUNT({any})"),
        2 => format!("COUNT(DISTINCT {any})"),
        3 => format!("SUM(CAST({integer} AS bigint))"),
        4 => format!("MIN({integer})"),
        5 => format!("MAX({integer})"),
        6 => format!("SUM(DISTINCT CAST({integer} AS bigint))"),
        _ => format!("AVG(CAST({integer} AS bigint))"),
    }
}

/// Aggregates of all rows: of MIN and MAX alone indexes may have the first rows.
pub(super) fn aggregate_alone(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let (from, rest) = match rng.chance(1, 3) {
        true => {
            let from = relation(rng, tables, batch, 0);
            let rest = format!("FROM {}", from.text);
            (from, rest)
        }
        false => filtered(rng, tables, batch, 1),
    };
    let all = match rng.chance(1, 2) {
        true => extremes(rng, &from.columns),
        false => aggregates(rng, &from.columns),
    };
    let all: Vec<String> = all.into_iter().enumerate().map(|(at, text)| format!("{text} AS a{at}")).collect();
    format!("SELECT {} {rest}", all.join(", "))
}

/// One to four MIN and MAX. There is none of bits.
fn extremes(rng: &mut Rng, columns: &[Reference]) -> Vec<String> {
    let is_bit = |column: &Reference| column.column.as_ref().is_some_and(|own| own.kind.declared == "bit");
    let ordered: Vec<Reference> = columns.iter().filter(|column| !is_bit(column)).cloned().collect();
    let ordered = groupable(if ordered.is_empty() { columns } else { &ordered });
    let count = *pick(rng, &[1, 1, 2, 2, 3, 4]);
    let extreme = |_| format!("{}({})", pick(rng, &["MIN", "MAX"]), pick_column(rng, &ordered).text);
    (0..count).map(extreme).collect()
}

/// A query in FROM, with conditions on what it gives.
fn outside(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> Query {
    let inner = match rng.below(8) {
        0 => windows(rng, tables, batch, depth),
        1 => set_operation(rng, tables, batch),
        2 => grouped(rng, tables, batch, depth - 1),
        3 => distinct(rng, tables, batch, depth - 1),
        _ => query(rng, tables, batch, depth - 1),
    };
    let alias = batch.alias();
    let columns: Vec<Reference> =
        inner.columns.iter().map(|column| column.named(&alias, &column.text)).collect();
    let scope = Scope { tables, columns: columns.clone(), depth: 0 };
    let terms = 1 + rng.below(2);
    let filter = match rng.chance(1, 4) {
        true => telling(rng, &columns),
        false => condition(rng, &scope, batch, terms),
    };
    let items: Vec<(Reference, String)> =
        columns.iter().enumerate().map(|(at, column)| (column.clone(), format!("y{at}"))).collect();
    let text = format!("SELECT {} FROM ({}) AS {alias} WHERE {filter}", listed(&items), inner.text);
    Query { text, columns: renamed(&items) }
}

fn set_operation(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> Query {
    let (left, left_rest) = filtered(rng, tables, batch, 0);
    let (right, right_rest) = filtered(rng, tables, batch, 0);
    let operation = *pick(rng, &["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let right_scope = Scope { tables, columns: right.columns.clone(), depth: 0 };
    for number in 0..1 + rng.below(2) {
        let own = pick(rng, &left.columns).clone();
        let has_one_form = own.column.as_ref().is_some_and(|column| column.kind.has_one_form);
        // What UNION keeps of two spellings is open, and EXCEPT and INTERSECT keep the left one.
        let fits = match operation {
            "UNION" => has_one_form,
            "UNION ALL" => true,
            _ => own.is_groupable,
        };
        let own = if fits { own } else { left.columns[0].clone() };
        let Some(partner) = partner(rng, &right_scope, &own)
            .filter(|partner| partner.collation == own.collation)
            .filter(|partner| {
                operation != "UNION" || partner.column.as_ref().is_some_and(|c| c.kind.has_one_form)
            })
        else {
            continue;
        };
        one.push((own, format!("x{number}")));
        other.push((partner, format!("x{number}")));
    }
    if one.is_empty() {
        one.push((left.columns[0].clone(), "x0".to_owned()));
        other.push((right.columns[0].clone(), "x0".to_owned()));
    }
    let text =
        format!("SELECT {} {left_rest} {operation} SELECT {} {right_rest}", listed(&one), listed(&other));
    // Both sides have one type then, and rows of either.
    let is_groupable = |column: &Reference| column.column.as_ref().is_some_and(|c| c.kind.has_one_form);
    let columns = renamed(&one).into_iter().map(|column| Reference {
        is_groupable: is_groupable(&column),
        is_integer: false,
        ..column
    });
    Query { text, columns: columns.collect() }
}

pub(super) fn windows(rng: &mut Rng, tables: &[Table], batch: &mut Batch, depth: u32) -> Query {
    let (from, rest) = filtered(rng, tables, batch, depth - 1);
    let mut items = chosen(rng, &from.columns, 2);
    let keys = from.keys.join(", ");
    let (shared, led) = (pick(rng, &from.columns).text.clone(), pick(rng, &from.columns).text.clone());
    let backward: Vec<String> = from.keys.iter().map(|key| format!("{key} DESC")).collect();
    for number in 0..1 + rng.below(3) {
        let partition = if rng.chance(2, 3) { shared.clone() } else { pick(rng, &from.columns).text.clone() };
        let over = format!("PARTITION BY {partition}");
        let by = if rng.chance(1, 2) { backward.join(", ") } else { keys.clone() };
        let ordered = format!("{over} ORDER BY {by}");
        let ranked = if rng.chance(1, 2) { led.clone() } else { pick(rng, &from.columns).text.clone() };
        let direction = if rng.chance(1, 2) { " DESC" } else { "" };
        let call = match rng.below(if from.is_total { 7 } else { 2 }) {
            0 => format!("COUNT(*) OVER ({over})"),
            1 => format!("RANK() OVER ({over} ORDER BY {ranked}{direction})"),
            2 => format!("ROW_NUMBER() OVER ({ordered})"),
            3 => format!("ROW_NUMBER() OVER (ORDER BY {by})"),
            4 => format!("LAG({}) OVER ({ordered})", from.keys[0]),
            5 => format!("SUM(CAST({} AS bigint)) OVER ({ordered})", from.keys[0]),
            _ => format!("MAX({}) OVER ({over})", from.keys[0]),
        };
        items.push((Reference::integer(call), format!("w{number}")));
    }
    Query { text: format!("SELECT {} {rest}", listed(&items)), columns: renamed(&items) }
}

fn applied(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> Query {
    let from = from(rng, tables, batch, 0);
    let (table, inner, alias) = (pick(rng, tables), batch.alias(), batch.alias());
    let own: Vec<Reference> = table.columns.iter().map(|column| Reference::column(&inner, column)).collect();
    let here = Scope { tables, columns: own.clone(), depth: 0 };
    let outer = pick(rng, &from.columns).clone();
    let mut conditions = Vec::new();
    if let Some(other) = partner(rng, &here, &outer) {
        let collate = other.collate_beside(&outer);
        conditions.push(format!("{}{collate} = {}", other.text, outer.text));
    }
    if conditions.is_empty() || rng.chance(1, 2) {
        conditions.push(condition(rng, &here, batch, 1));
    }
    let body = format!("FROM {} AS {inner} WHERE {}", table.name, conditions.join(" AND "));
    let chosen_column = pick(rng, &own).clone();
    let (text, column) = match rng.below(4) {
        0 => (format!("SELECT TOP (2) {} AS z {body} ORDER BY {inner}.k", chosen_column.text), chosen_column),
        1 => (format!("SELECT {} AS z {body}", chosen_column.text), chosen_column),
        2 => (format!("SELECT COUNT(*) AS z {body}"), Reference::integer(String::new())),
        _ => (format!("SELECT MAX({inner}.v) AS z {body}"), Reference::integer(String::new())),
    };
    let kind = pick(rng, &["CROSS", "OUTER"]);
    let found = column.named(&alias, "z");
    let mut columns = from.columns.clone();
    columns.push(found.clone());
    let scope = Scope { tables, columns, depth: 0 };
    let filter = condition(rng, &scope, batch, 1);
    let mut items = chosen(rng, &from.columns, 2);
    items.push((found, "z".to_owned()));
    let text = format!(
        "SELECT {} FROM {} {kind} APPLY ({text}) AS {alias} WHERE {filter}",
        listed(&items),
        from.text
    );
    Query { text, columns: renamed(&items) }
}

/// ORDER BY down to a key, with TOP or OFFSET or neither.
pub(super) fn ordered(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let (from, rest) = filtered(rng, tables, batch, 0);
    let items = chosen(rng, &from.columns, 3);
    let mut keys: Vec<String> = Vec::new();
    let leading: Vec<String> = (0..rng.below(3)).map(|_| pick(rng, &from.columns).text.clone()).collect();
    for column in leading.into_iter().chain(from.keys.iter().cloned()) {
        let is_new = keys.iter().all(|key| key.split(' ').next() != Some(column.as_str()));
        if is_new {
            keys.push(format!("{column}{}", if rng.chance(1, 3) { " DESC" } else { "" }));
        }
    }
    let (top, offset) = match rng.below(4) {
        0 => (format!("TOP ({}) ", rng.below(9)), String::new()),
        1 => (
            String::new(),
            format!(" OFFSET {} ROWS FETCH NEXT {} ROWS ONLY", rng.below(4), 1 + rng.below(9)),
        ),
        2 => ("TOP (30) PERCENT ".to_owned(), String::new()),
        _ => (String::new(), String::new()),
    };
    format!("SELECT {top}{} {rest} ORDER BY {}{offset}", listed(&items), keys.join(", "))
}
