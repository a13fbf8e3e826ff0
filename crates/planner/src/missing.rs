//! Missing indexes: an index whose keys are the columns compared with values and which includes all other columns that the statement needs. Its
//! cost is estimated like that of an existing index.

use std::sync::atomic::AtomicBool;

use engine::{MissingIndex, TableDef};
use plan_ir::kinds::CompareOp;
use plan_ir::physical::plan::Missing;

use super::candidate::{Candidate, lookups_cost};
use super::costs::{ENTRY_COST, PAGE_COST, RANGE_COST, ROWS_OF_PAGE, SORT_COST};
use super::known::Estimates;
use super::sargable::Sargable;

/// An index that lessens the cost by less is not worth its changes: that its entries are narrower than rows would be all.
const IMPACT_MIN: f64 = 25.0;
/// Columns of a key, at most.
const KEY_COLUMNS_MAX: usize = 32;

/// The way that is gone instead: its index (none: all rows are read), what it costs, and whether its rows are asked for in an order.
pub(super) struct Way<'c, 'e> {
    pub(super) chosen: Option<&'c Candidate<'e>>,
    pub(super) cost: f64,
    pub(super) is_ordered: bool,
}

/// The index by which the rows would be found for less. `wanted`: the columns that the statement needs; `None` for all.
pub(super) fn missing_index(
    estimates: &Estimates<'_>,
    sargables: &[Sargable<'_>],
    wanted: Option<&[usize]>,
    way: &Way<'_, '_>,
) -> Option<Box<Missing>> {
    let scan = estimates.scan;
    let (table, database) = (&scan.source.def, &scan.source.database);
    if table.is_system || database.is_volatile() || !scan.hints.indexes.is_empty() {
        return None;
    }
    // A table of a page or two is read as fast as an index is gone down; plans take it for larger, since it may grow.
    if (scan.source.table.row_count_estimate() as f64) < 2.0 * ROWS_OF_PAGE {
        return None;
    }
    let usable: Vec<&Sargable<'_>> = sargables.iter().filter(|found| is_usable(found, table)).collect();
    let equality = columns_of(usable.iter().copied().filter(|found| is_equality(found)), &[]);
    let inequality = columns_of(usable.iter().copied().filter(|found| !is_equality(found)), &equality);
    if equality.len() + inequality.len() == 0 || equality.len() + inequality.len() > KEY_COLUMNS_MAX {
        return None;
    }
    if way.chosen.is_some_and(|chosen| serves(chosen, sargables, &equality, &inequality)) {
        return None;
    }
    let with_index = cost_with(estimates, &usable, inequality.first(), way.is_ordered);
    let impact = (way.cost - with_index) / way.cost * 100.0;
    if way.cost - with_index < PAGE_COST || impact < IMPACT_MIN {
        return None;
    }
    let is_in_key = |ordinal: &usize| equality.contains(ordinal) || inequality.contains(ordinal);
    let clustered: Vec<usize> = table.base().key.iter().map(|key| key.ordinal).collect();
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let included: Vec<usize> = wanted
        .unwrap_or(&all)
        .iter()
        .copied()
        .filter(|ordinal| !is_in_key(ordinal) && !clustered.contains(ordinal))
        .collect();
    let numbers = |ordinals: &[usize]| ordinals.iter().map(|at| table.columns[*at].column_id).collect();
    let index = MissingIndex {
        object_id: table.object_id,
        equality: numbers(&equality),
        inequality: numbers(&inequality),
        included: numbers(&included),
    };
    Some(Box::new(Missing { index, cost: way.cost, impact, is_told: AtomicBool::new(false) }))
}

fn is_equality(found: &Sargable<'_>) -> bool {
    found.op == CompareOp::Equal && !found.is_like
}

/// May the column be in a key, and is it compared with values? What it is compared with of another table's rows is sought once for each of these: that
/// is the join's business.
fn is_usable(found: &Sargable<'_>, table: &TableDef) -> bool {
    let column = &table.columns[found.ordinal];
    found.values.iter().all(|value| value.columns().is_empty())
        && column.sql_type.max_length() != -1
        && !column.sql_type.is_large_object()
        && column.computed.is_none()
}

/// The cost of the rows through the index: after the columns with equalities only the first column, `ranged`, bounds the range.
fn cost_with(
    estimates: &Estimates<'_>,
    usable: &[&Sargable<'_>],
    ranged: Option<&usize>,
    is_ordered: bool,
) -> f64 {
    let sought: Vec<Sargable<'_>> = usable
        .iter()
        .filter(|found| is_equality(found) || Some(&found.ordinal) == ranged)
        .map(|found| Sargable { values: found.values.clone(), ..**found })
        .collect();
    let ranges: f64 =
        sought.iter().filter(|found| is_equality(found)).map(|found| found.values.len() as f64).product();
    let found = estimates.rows_left(&sought, &[]);
    // Rows to be changed are read, even if the index covers all needed columns.
    let (scan, hints) = (estimates.scan, &estimates.scan.hints);
    let looks_up = scan.locator.is_some() || hints.update_lock || hints.exclusive_lock;
    let lookups = if looks_up { lookups_cost(estimates, found) } else { 0.0 };
    let sort = if is_ordered { found * SORT_COST } else { 0.0 };
    debug_assert!(ranges >= 1.0 && found >= 0.0, "{ranges} ranges find {found} rows");
    ranges * RANGE_COST + found * ENTRY_COST + lookups + sort
}

/// Does the way find its rows by the columns already: by all that are equal, or else by the first of the others?
fn serves(
    chosen: &Candidate<'_>,
    sargables: &[Sargable<'_>],
    equality: &[usize],
    inequality: &[usize],
) -> bool {
    debug_assert!(!equality.is_empty() || !inequality.is_empty(), "an index that is wished for has a key");
    let matched = &chosen.matched;
    let others = [matched.list, matched.lower, matched.upper, matched.like];
    let used: Vec<usize> = matched
        .equal
        .iter()
        .copied()
        .chain(others.into_iter().flatten())
        .map(|found| sargables[found].ordinal)
        .collect();
    let needed = if equality.is_empty() { &inequality[..1] } else { equality };
    chosen.finds_one_row() || needed.iter().all(|ordinal| used.contains(ordinal))
}

/// The columns, each once, in the order of the table, without `others`.
fn columns_of<'s, 'e: 's>(sargables: impl Iterator<Item = &'s Sargable<'e>>, others: &[usize]) -> Vec<usize> {
    let mut ordinals: Vec<usize> =
        sargables.map(|found| found.ordinal).filter(|ordinal| !others.contains(ordinal)).collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    ordinals
}
