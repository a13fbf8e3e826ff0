//! Index union: an OR whose branches each find their rows through an index of their own. The branches run in turn; rows that an earlier branch
//! emitted are dropped by their locators. So each row is emitted exactly once, even if another transaction changes it between two
//! branches.
//!
//! Only for rows that are read, not for rows to be changed: a row that is found again while the statement runs must not be changed twice.

use plan_ir::bound::tree::{Expr, ExprKind, TableScan};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::Plan;
use types::{Collation, SqlError};

use super::access::ROW_NAME;
use super::below::fails_by_row;
use super::costs::SORT_COST;
use super::infer::branches_of;
use super::order::{Desired, Order};
use super::{Planned, Planner, in_order};

/// An OR with more branches than these is not taken apart.
const BRANCHES_MAX: usize = 8;
/// A table that is read for less is read in one way.
const COST_MIN: f64 = 50.0;

impl Planner<'_> {
    /// The union of the branches of an OR among the predicates where that is cheaper than `one`, the best single way.
    pub(super) fn cheaper_union(
        &mut self,
        scan: &TableScan,
        predicates: &[Expr],
        desired: Option<&Desired>,
        one: Planned,
    ) -> Result<Planned, SqlError> {
        let has_any = predicates.iter().any(|predicate| matches!(predicate.kind, ExprKind::Or(..)));
        let hints = &scan.hints;
        let is_bound = hints.update_lock || hints.exclusive_lock || !hints.indexes.is_empty();
        let limit = desired.and_then(|desired| desired.limit);
        let is_preferred = self.prefers(OptimizerRule::IndexUnion);
        let is_cheap = one.cost < COST_MIN && limit.is_none() && !is_preferred;
        if !has_any || !self.has(OptimizerRule::IndexUnion) || is_cheap || scan.locator.is_some() || is_bound
        {
            return Ok(one);
        }
        let mut best = one;
        for (at, predicate) in predicates.iter().enumerate() {
            let branches = match predicate.kind {
                ExprKind::Or(..) if !predicate.has_subquery() && !predicate.is_volatile() => {
                    branches_of(predicate)
                }
                _ => continue,
            };
            // A branch is asked of rows that an earlier one would have settled.
            if branches.len() > BRANCHES_MAX || branches.iter().flatten().any(fails_by_row) {
                continue;
            }
            let others = (&predicates[..at], &predicates[at + 1..]);
            if let Some(found) = self.union(scan, &branches, others)? {
                let sort = if desired.is_some() { best.rows.min(found.rows) * SORT_COST } else { 0.0 };
                // What the branches find is better known than the selectivity of the OR: with fewer rows, a search for the first rows takes longer.
                let longer = if limit.is_some() { (best.rows / found.rows).max(1.0) } else { 1.0 };
                let least = (best.cost * longer).min(best.cost.max(scan.source.row_estimate()));
                if found.cost + sort < least || is_preferred {
                    best = Planned { rows: best.rows.min(found.rows), ..found };
                }
            }
        }
        Ok(best)
    }

    /// The rows of each branch in turn, between the conditions before and behind the OR, which may fail for rows that no branch finds; `None` when one
    /// branch has no index to be sought.
    fn union(
        &mut self,
        scan: &TableScan,
        branches: &[Vec<Expr>],
        (before, behind): (&[Expr], &[Expr]),
    ) -> Result<Option<Planned>, SqlError> {
        debug_assert!(branches.len() > 1, "an OR has several branches");
        debug_assert!(scan.locator.is_none(), "rows that are changed are found in one way");
        let named = TableScan { names_rows: true, ..scan.clone() };
        let mut all: Option<Planned> = None;
        for branch in branches {
            let own = before.iter().chain(branch).chain(behind).cloned().collect();
            let sought = self.plan_one_way(&named, own, None)?;
            if !matches!(&sought.plan, Plan::Scan(scan) if scan.path.is_seek()) {
                return Ok(None);
            }
            all = Some(match all {
                None => sought,
                Some(before) => {
                    let (rows, cost) = (before.rows + sought.rows, before.cost + sought.cost);
                    let seeks_by_outer = before.seeks_by_outer || sought.seeks_by_outer;
                    let layout = before.layout.clone();
                    let plan = Plan::Concat(Box::new(before.plan), Box::new(in_order(sought, &layout)));
                    Planned { plan, layout, rows, cost, seeks_by_outer, order: Order::default() }
                }
            });
        }
        let Some(mut all) = all else { return Ok(None) };
        let name = all.layout.pop();
        assert_eq!(name, Some(ROW_NAME), "the locator follows the columns");
        let collations = vec![Collation::default()];
        Ok(Some(all.map(|input| Plan::Distinct { input, collations, by_locator: true })))
    }
}
