//! Statements with lists of constants and values that are equal without being the same: set operations, joins, what fails for some values only.

use os::Rng;

use super::columns::Column;
use super::predicates::{Batch, OPERATORS, Reference, Scope, condition, partner, pick_column, telling};
use super::queries::groupable;
use super::tables::Table;
use super::values::{Family, pick};

fn references(table: &Table, alias: &str) -> Vec<Reference> {
    table.columns.iter().map(|column| Reference::column(alias, column)).collect()
}

/// EXCEPT, INTERSECT or groups, under a condition that tells apart what is equal to them, or that fails for values which they do not have.
pub(super) fn separated(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let (table, alias) = (pick(rng, tables), batch.alias());
    let columns = references(table, &alias);
    let all = groupable(&columns);
    let texts: Vec<&Reference> = all.iter().filter(|column| column.family == Family::Text).collect();
    let own = if texts.is_empty() || rng.chance(1, 3) { pick(rng, &all) } else { *pick(rng, &texts) };
    let scope = Scope { tables, columns: columns.clone(), depth: 0 };
    let filter = match rng.chance(1, 3) {
        true => format!(" WHERE {}", condition(rng, &scope, batch, 1)),
        false => String::new(),
    };
    let from = format!("FROM {} AS {alias}{filter}", table.name);
    if rng.chance(1, 6) {
        let (operator, count) = (pick(rng, &OPERATORS), rng.below(4));
        let having = fallible(rng, own);
        return format!(
            "SELECT {0} AS x0, COUNT(*) AS n {from} GROUP BY {0} HAVING COUNT(*) {operator} {count} AND {having}",
            own.text
        );
    }
    let operation = pick(rng, &["EXCEPT", "INTERSECT"]);
    let right = other_side(rng, tables, own, batch);
    let given = own.named("d", "x0");
    let above = if rng.chance(1, 3) { fallible(rng, &given) } else { telling(rng, &[given]) };
    format!(
        "SELECT d.x0 AS y0 FROM (SELECT {} AS x0 {from} {operation} {right}) AS d WHERE {above}",
        own.text
    )
}

/// The right side of a set operation: constants, or a column of any collation.
fn other_side(rng: &mut Rng, tables: &[Table], own: &Reference, batch: &mut Batch) -> String {
    let (table, alias) = (pick(rng, tables), batch.alias());
    let columns = references(table, &alias);
    let found = partner(rng, &Scope { tables, columns: columns.clone(), depth: 0 }, own);
    match (&own.column, found) {
        (_, Some(found)) if rng.chance(1, 2) => {
            let collate = match (own.family, own.collation) {
                (Family::Text, "") => " COLLATE DATABASE_DEFAULT".to_owned(),
                (Family::Text, collation) => format!(" COLLATE {collation}"),
                _ => String::new(),
            };
            format!("SELECT {}{collate} FROM {} AS {alias}", found.text, table.name)
        }
        (Some(column), _) => format!("SELECT v.x FROM (VALUES {}) AS v(x)", respelled(rng, column)),
        (None, _) => format!("SELECT {alias}.v FROM {} AS {alias}", table.name),
    }
}

/// Rows of one column: values that are equal to those of a column under some collation.
fn respelled(rng: &mut Rng, column: &Column) -> String {
    let rows: Vec<String> =
        (0..*pick(rng, &[1, 3, 8, 16])).map(|_| format!("({})", column.respelled(rng))).collect();
    rows.join(", ")
}

/// A condition that fails for some values.
fn fallible(rng: &mut Rng, own: &Reference) -> String {
    let (text, operator) = (&own.text, pick(rng, &OPERATORS));
    match own.family {
        Family::Number => format!("10 / {text} {operator} 2"),
        Family::Text => format!("CAST({text} AS int) {operator} 1"),
        Family::Moment => format!("CAST({text} AS smalldatetime) {operator} '2020-01-01'"),
        Family::Binary | Family::Time | Family::Guid => telling(rng, std::slice::from_ref(own)),
    }
}

/// Rows of a table joined with constants of its type.
pub(super) fn with_constants(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let (table, alias) = (pick(rng, tables), batch.alias());
    let columns = references(table, &alias);
    let mut own = pick_column(rng, &columns);
    let texts: Vec<&Reference> = columns.iter().filter(|column| !column.collation.is_empty()).collect();
    if !texts.is_empty() && rng.chance(1, 2) {
        own = (*pick(rng, &texts)).clone();
    }
    let Some(column) = own.column.clone() else { return format!("SELECT 1 AS x FROM {}", table.name) };
    let constant = Reference { collation: "", is_coercible: true, ..own.named("v", "x") };
    let kind = pick(rng, &["JOIN", "JOIN", "LEFT JOIN"]);
    let filter = match rng.below(4) {
        0 => condition(rng, &Scope { tables, columns: vec![own.clone(), constant], depth: 0 }, batch, 1),
        1 => format!("{} {} {}", own.text, pick(rng, &OPERATORS), column.respelled(rng)),
        _ => format!("v.x {} {}", pick(rng, &OPERATORS), column.respelled(rng)),
    };
    format!(
        "SELECT {alias}.k AS x0, v.x AS x1 FROM {} AS {alias} {kind} (VALUES {}) AS v(x) ON {} = v.x WHERE {filter}",
        table.name,
        respelled(rng, &column),
        own.text
    )
}

/// What gives another value each time it is asked, in statements whose rows do not hang on the values: it is asked once where it stands once.
pub(super) fn each_time(rng: &mut Rng, tables: &[Table], batch: &mut Batch) -> String {
    let (table, other) = (pick(rng, tables), pick(rng, tables));
    let (a, b) = (batch.alias(), batch.alias());
    let columns = references(table, &a);
    let scope = Scope { tables, columns: columns.clone(), depth: 0 };
    let filter = condition(rng, &scope, batch, 1);
    let (name, inner) = (&table.name, &other.name);
    match rng.below(5) {
        0 => {
            let same =
                pick(rng, &["d.g = d.g", "d.g IN (d.g)", "d.g >= d.g AND d.g <= d.g", "NOT d.g <> d.g"]);
            format!(
                "SELECT d.k AS x0 FROM (SELECT {a}.k, NEWID() AS g FROM {name} AS {a} WHERE {filter}) AS d WHERE {same}"
            )
        }
        1 => format!(
            "WITH c AS (SELECT DISTINCT {a}.v, NEWID() AS g FROM {name} AS {a} WHERE {filter}) SELECT COUNT(*) AS n FROM c AS d JOIN c AS e ON d.g = e.g"
        ),
        2 => format!(
            "SELECT COUNT(DISTINCT d.g) AS n FROM {name} AS {a} CROSS APPLY (SELECT MAX(CAST(NEWID() AS varchar(40))) AS g FROM {inner} AS {b} WHERE {b}.v = {a}.{}) AS d WHERE {filter}",
            pick(rng, &["k", "v"])
        ),
        3 => format!(
            "SELECT {a}.k AS x0 FROM {name} AS {a} WHERE {a}.v = 1 AND ABS(CHECKSUM(NEWID()) % 2) IN (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, {a}.v)"
        ),
        // That of 200 all or none are even is not seen.
        _ => "SELECT IIF(COUNT(*) BETWEEN 1 AND 199, 1, 0) AS x0 FROM GENERATE_SERIES(1, 200) AS s WHERE CHECKSUM(NEWID()) % 2 = 0"
            .to_owned(),
    }
}
