//! An OR whose branches each find their rows through an index of their own: the rows of each branch in turn. No row comes twice: each branch leaves
//! out those of which an earlier one is TRUE, so that no locators need be kept and compared.
//!
//! Only for rows that are read, not for those to be changed: a row that is found anew while the statement runs must not be changed twice.

use types::{SqlError, SqlType, Value};

use super::choice::SORT_COST;
use super::infer::branches_of;
use super::order::{Desired, Order};
use super::{Planned, Planner, in_order};
use crate::bound::tree::{Expr, ExprKind, TableScan};
use crate::kinds::CompareOp;
use crate::physical::plan::Plan;

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
        if !has_any || one.cost < COST_MIN && limit.is_none() || scan.locator.is_some() || is_bound {
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
            if branches.len() > BRANCHES_MAX {
                continue;
            }
            let others =
                predicates.iter().enumerate().filter(|other| other.0 != at).map(|other| other.1.clone());
            if let Some(found) = self.union(scan, &branches, &others.collect::<Vec<_>>())? {
                let sort = if desired.is_some() { best.rows.min(found.rows) * SORT_COST } else { 0.0 };
                // What the branches find is better known than what the OR leaves: whoever looks for the first rows looks longer for fewer.
                let longer = if limit.is_some() { (best.rows / found.rows).max(1.0) } else { 1.0 };
                if found.cost + sort < (best.cost * longer).min(best.cost.max(scan.source.row_estimate())) {
                    best = Planned { rows: best.rows.min(found.rows), ..found };
                }
            }
        }
        Ok(best)
    }

    /// The rows of each branch in turn; `None` when one of them has no index to be sought.
    fn union(
        &mut self,
        scan: &TableScan,
        branches: &[Vec<Expr>],
        others: &[Expr],
    ) -> Result<Option<Planned>, SqlError> {
        let mut all: Option<Planned> = None;
        let mut earlier: Vec<Expr> = Vec::new();
        for branch in branches {
            let own = others.iter().chain(branch).chain(&earlier).cloned().collect();
            let sought = self.plan_one_way(scan, own, None)?;
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
            earlier.extend(Expr::all(branch.iter().cloned()).map(is_not_true));
        }
        Ok(all)
    }
}

/// FALSE or unknown.
fn is_not_true(condition: Expr) -> Expr {
    let flag = |value: i32| Expr::constant(Value::Int(value), SqlType::Int);
    let case = ExprKind::Case(vec![(condition, flag(0))], Some(Box::new(flag(1))));
    let case = Expr::new(case, SqlType::Int, false);
    Expr::predicate(ExprKind::Compare(CompareOp::Equal, Box::new(case), Box::new(flag(1))))
}
