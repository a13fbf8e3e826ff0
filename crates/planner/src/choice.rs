//! The choice of an access path: the cost of each candidate and the row order that it provides. Also index intersection for an AND of
//! conditions, where it is cheaper than the lookups of the better index.

use engine::IndexKind;
use plan_ir::bound::tree::TableScan;

use super::candidate::{Candidate, entries_cost, lookups_cost};
use super::costs::SORT_COST;
use super::known::Estimates;
use super::order::{Desired, Order, base_order};
use super::sargable::Sargable;

/// The cost of storing a row name, and of looking one up, in rows read.
const NAME_COST: f64 = 0.5;
/// Estimates of an index intersection are less certain than those of one index: it must be cheaper by this factor.
const MARGIN: f64 = 0.7;
/// More entries are not kept.
const NAMES_MAX: f64 = 200_000.0;

/// The chosen access path of a table; no candidate: a scan of its heap or clustered index.
pub(super) struct Choice<'e> {
    pub(super) candidate: Option<Candidate<'e>>,
    pub(super) order: Order,
    pub(super) backward: bool,
    /// With what a sort would cost, if one is needed.
    pub(super) cost: f64,
}

/// The cheapest way, with what a sort would cost where an order is desired: a way that has it pays none, and is left when there are rows
/// enough. `rows`: those that are left behind all predicates.
pub(super) fn choose<'e>(
    scan: &TableScan,
    candidates: Vec<Candidate<'e>>,
    total: f64,
    rows: f64,
    desired: Option<&Desired>,
) -> Choice<'e> {
    debug_assert!(total >= 0.0 && rows >= 0.0, "a table has {total} rows, of which {rows} are left");
    let is_hinted = !scan.hints.indexes.is_empty();
    let base = scan.source.def.base();
    let scanned = (None, base_order(scan, base, &[]), total);
    let sought = candidates.into_iter().map(|candidate| {
        let (order, cost) = (candidate.order(scan), candidate.cost);
        (Some(candidate), order, cost)
    });
    let mut best: Option<(f64, Choice<'e>)> = None;
    for (candidate, order, cost) in sought.chain((!is_hinted).then_some(scanned)) {
        let (order, backward, cost) = with_order(order, cost, rows.max(1.0), desired);
        // The first of equally cheap paths: a seek rather than a scan.
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, Choice { candidate, order, backward, cost }));
        }
    }
    let scan_all =
        || Choice { candidate: None, order: base_order(scan, base, &[]), backward: false, cost: total };
    best.map_or_else(scan_all, |(_, choice)| choice)
}

/// The order in which rows come when a way is gone forward or backward, and what it costs to have them in the desired one.
fn with_order(order: Order, cost: f64, rows: f64, desired: Option<&Desired>) -> (Order, bool, f64) {
    let Some(desired) = desired else { return (order, false, cost) };
    let share = desired.limit.map_or(1.0, |limit| (limit / rows).min(1.0));
    debug_assert!((0.0..=1.0).contains(&share), "no more rows are read than there are: {share}");
    if desired.is_met_by(&order) {
        return (order, false, (cost * share).max(1.0));
    }
    let backward = order.reversed();
    if desired.is_met_by(&backward) {
        return (backward, true, (cost * share).max(1.0));
    }
    (order, false, cost + rows * SORT_COST)
}

/// An index intersection: the index whose rows are looked up, and the index that selects them.
pub(super) struct Pair {
    pub(super) sought: usize,
    pub(super) other: usize,
    pub(super) cost: f64,
}

/// The cheapest pair of indexes, if it is cheaper than `least`. Only for rows that are read and neither locked nor changed.
pub(super) fn cheapest_pair(
    candidates: &[Candidate<'_>],
    sargables: &[Sargable<'_>],
    estimates: &Estimates<'_>,
    (left, least): (f64, f64),
) -> Option<Pair> {
    debug_assert!(left >= 0.0 && least >= 0.0, "{left} rows are left, {least} is the least cost");
    let (scan, hints) = (estimates.scan, &estimates.scan.hints);
    if scan.locator.is_some() || hints.update_lock || hints.exclusive_lock || !hints.indexes.is_empty() {
        return None;
    }
    let is_usable = |candidate: &&Candidate<'_>| {
        candidate.index.kind == IndexKind::Nonclustered && candidate.matched.used().next().is_some()
    };
    let mut best: Option<Pair> = None;
    for (sought, one) in candidates.iter().enumerate().filter(|(_, candidate)| is_usable(candidate)) {
        for (other, second) in candidates.iter().enumerate().filter(|(_, candidate)| is_usable(candidate)) {
            let columns = |candidate: &Candidate<'_>| -> Vec<usize> {
                candidate.matched.used().map(|used| sargables[used].ordinal).collect()
            };
            let is_apart = columns(one).iter().all(|column| !columns(second).contains(column));
            // Values that come from outside change with each row there: names would be gathered each time.
            let uses = one.matched.used().chain(second.matched.used());
            let is_fixed =
                uses.flat_map(|used| &sargables[used].values).all(|value| value.columns().is_empty());
            if sought == other || !is_apart || !is_fixed {
                continue;
            }
            if second.rows > NAMES_MAX {
                continue;
            }
            // As independent as conditions are taken to be.
            let both = (one.rows * second.rows / estimates.total).max(left).min(one.rows);
            let cost = entries_cost(one, sargables)
                + entries_cost(second, sargables)
                + (one.rows + second.rows) * NAME_COST
                + lookups_cost(estimates, both);
            if cost < least * MARGIN && best.as_ref().is_none_or(|best| cost < best.cost) {
                best = Some(Pair { sought, other, cost });
            }
        }
    }
    best
}
