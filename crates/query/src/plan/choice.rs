//! The choice among the ways to a table's rows: what each costs, and the order that it gives for nothing.

use engine::{IndexDef, IndexKind};
use types::SqlType;

use super::access::Candidate;
use super::order::{Desired, Order, OrderKey};
use crate::bound::tree::TableScan;

/// Cost of sorting one row, in rows read.
pub(super) const SORT_COST: f64 = 2.0;

/// What a table is read through; no candidate: its heap or clustered index from end to end.
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
        // Of equals the first: a seek rather than a scan.
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
    if order.satisfies(&desired.keys) {
        return (order, false, (cost * share).max(1.0));
    }
    let backward = order.reversed();
    if backward.satisfies(&desired.keys) {
        return (backward, true, (cost * share).max(1.0));
    }
    (order, false, cost + rows * SORT_COST)
}

/// The order of an index's entries, when the columns `equal` have one value each.
pub(super) fn base_order(scan: &TableScan, index: &IndexDef, equal: &[usize]) -> Order {
    if index.kind == IndexKind::Heap {
        return Order::default();
    }
    let columns = &scan.source.def.columns;
    // Entries of equal keys come in the order of their locators: the clustered key.
    let base = scan.source.def.base();
    let behind = if index.unique || index.kind == IndexKind::Clustered { &[][..] } else { &base.key[..] };
    let is_ordered = |ordinal: usize| columns[ordinal].sql_type != SqlType::SqlVariant;
    let all = index.key.iter().map(|key| (key.ordinal, key.descending));
    let all = all.chain(behind.iter().map(|key| (key.ordinal, key.descending)));
    let mut order = Order { is_total: index.unique, ..Order::default() };
    for (ordinal, descending) in all {
        let column = scan.columns[ordinal];
        if equal.contains(&ordinal) {
            order.constants.push(column);
        } else if !is_ordered(ordinal) {
            order.is_total = false;
            break;
        } else if order.keys.iter().all(|key| key.column != column) {
            order.keys.push(OrderKey { column, descending });
        }
    }
    order
}
