//! Which index a table's reader would wish for: one by the columns that are compared with values, with all others that the statement needs. It is
//! reckoned with what its entries would cost, as those of an index that is there.

use std::sync::atomic::AtomicBool;

use engine::MissingIndex;

use super::candidate::{Candidate, lookups_cost};
use super::costs::{ENTRY_COST, PAGE_COST, RANGE_COST};
use super::known::Estimates;
use super::sargable::Sargable;
use crate::kinds::CompareOp;
use crate::physical::plan::Missing;

/// An index that lessens the cost by less is not worth its changes: that its entries are narrower than rows would be all.
const IMPACT_MIN: f64 = 25.0;
/// Columns of a key, at most.
const KEY_COLUMNS_MAX: usize = 32;

/// The index by which the rows would be found for less than `cost`, that of the `chosen` way (none: all rows are read). `wanted`: the columns that the
/// statement needs; `None` for all.
pub(super) fn missing_index(
    estimates: &Estimates<'_>,
    sargables: &[Sargable<'_>],
    wanted: Option<&[usize]>,
    (chosen, cost): (Option<&Candidate<'_>>, f64),
) -> Option<Box<Missing>> {
    let scan = estimates.scan;
    let (table, database) = (&scan.source.def, &scan.source.database);
    if table.is_system || database.is_volatile() || !scan.hints.indexes.is_empty() {
        return None;
    }
    // What another table's rows are compared with is sought once for each of these: that is the join's business.
    let is_usable = |found: &&Sargable<'_>| {
        let column = &table.columns[found.ordinal];
        found.values.iter().all(|value| value.columns().is_empty())
            && column.sql_type.max_length() != -1
            && !column.sql_type.is_large_object()
            && column.computed.is_none()
    };
    let is_equality = |found: &&Sargable<'_>| found.op == CompareOp::Equal && !found.is_like;
    let usable: Vec<&Sargable<'_>> = sargables.iter().filter(is_usable).collect();
    let equality = columns_of(usable.iter().copied().filter(|found| is_equality(found)), &[]);
    let inequality = columns_of(usable.iter().copied().filter(|found| !is_equality(found)), &equality);
    if equality.len() + inequality.len() == 0 || equality.len() + inequality.len() > KEY_COLUMNS_MAX {
        return None;
    }
    if chosen.is_some_and(|chosen| serves(chosen, sargables, &equality, &inequality)) {
        return None;
    }
    // Only the first of the columns behind those that are equal bounds the range.
    let ranged = inequality.first();
    let sought: Vec<Sargable<'_>> = usable
        .iter()
        .filter(|found| is_equality(found) || Some(&found.ordinal) == ranged)
        .map(|found| Sargable { values: found.values.clone(), ..**found })
        .collect();
    let ranges: f64 = usable
        .iter()
        .copied()
        .filter(|found| is_equality(found))
        .map(|found| found.values.len() as f64)
        .product();
    let found = estimates.rows_left(&sought, &[]);
    // Rows that are to be changed are looked at, whatever the index has.
    let hints = &scan.hints;
    let looks_up = scan.locator.is_some() || hints.update_lock || hints.exclusive_lock;
    let lookups = if looks_up { lookups_cost(estimates, found) } else { 0.0 };
    let with_index = ranges * RANGE_COST + found * ENTRY_COST + lookups;
    let impact = (cost - with_index) / cost * 100.0;
    // A table of a page or so is read as fast as an index is gone down.
    if cost - with_index < PAGE_COST || impact < IMPACT_MIN {
        return None;
    }
    let is_in_key = |ordinal: &usize| equality.contains(ordinal) || inequality.contains(ordinal);
    let clustered: Vec<usize> = table.base().key.iter().map(|key| key.ordinal).collect();
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let included =
        wanted.unwrap_or(&all).iter().filter(|ordinal| !is_in_key(ordinal) && !clustered.contains(ordinal));
    let numbers = |ordinals: &mut dyn Iterator<Item = usize>| -> Vec<i32> {
        ordinals.map(|ordinal| table.columns[ordinal].column_id).collect()
    };
    let index = MissingIndex {
        object_id: table.object_id,
        equality: numbers(&mut equality.iter().copied()),
        inequality: numbers(&mut inequality.iter().copied()),
        included: numbers(&mut included.copied()),
    };
    Some(Box::new(Missing { index, cost, impact, is_told: AtomicBool::new(false) }))
}

/// Does the way find its rows by the columns already: by all that are equal, or else by the first of the others?
fn serves(
    chosen: &Candidate<'_>,
    sargables: &[Sargable<'_>],
    equality: &[usize],
    inequality: &[usize],
) -> bool {
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
