//! Orders over one side of a join: `ORDER BY a.x` over `a CROSS JOIN b`. A join that reads its left rows one after the other preserves
//! their order. So the side with the sort columns is sorted alone and becomes the left side: fewer rows are sorted than the join
//! emits, and TOP can end the join early.

use plan_ir::bound::tree::{Expr, Rel, SortKey};
use plan_ir::kinds::{ColumnId, JoinKind};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::Plan;
use rustc_hash::FxHashSet;
use types::SqlError;

use super::below::cannot_fail;
use super::costs::SORT_COST;
use super::order::{Desired, Order, OrderKey, plain_key};
use super::{Planned, Planner};

/// Values that rows are ordered by and that are no columns have numbers from here on downwards; `access::ROW_NAME` is the one above.
const FIRST_VALUE: u32 = u32::MAX - 1;

/// A side of a join whose rows come in a desired order, and what it costs to have them.
pub(super) struct Leading {
    pub(super) planned: Planned,
    pub(super) cost: f64,
}

impl Planner<'_> {
    /// Sort keys as columns. Values that are none get numbers of their own; `None` when one is not the same whenever it is asked.
    pub(super) fn order_keys(&mut self, keys: &[SortKey]) -> Option<Vec<OrderKey>> {
        keys.iter().map(|key| self.order_key(key)).collect()
    }

    fn order_key(&mut self, key: &SortKey) -> Option<OrderKey> {
        if let Some(plain) = plain_key(&key.expr, key.descending, self.columns) {
            return Some(plain);
        }
        if key.expr.is_volatile() || key.expr.has_subquery() {
            return None;
        }
        let is_known = |value: &Expr| value.collation == key.expr.collation && value.same_as(&key.expr);
        let at = self.ordered_values.iter().position(is_known).unwrap_or_else(|| {
            self.ordered_values.push(key.expr.clone());
            self.ordered_values.len() - 1
        });
        Some(OrderKey { column: ColumnId(FIRST_VALUE - at as u32), descending: key.descending })
    }

    /// The expression of such a sort key.
    fn ordered_value(&self, key: &OrderKey) -> Expr {
        match self.ordered_values.get((FIRST_VALUE - key.column.0.min(FIRST_VALUE)) as usize) {
            Some(value) => value.clone(),
            None => self.column(key.column),
        }
    }

    /// Is an order about these columns alone, and can its values not fail? A side has rows that the result lacks: the other side may be empty, and
    /// conditions may be tested above the join.
    pub(super) fn is_about(&self, desired: &Desired, columns: &FxHashSet<ColumnId>) -> bool {
        self.has(OptimizerRule::OneSidedSort)
            && !desired.keys.is_empty()
            && !desired.is_grouping
            && desired.keys.iter().all(|key| {
                let value = self.ordered_value(key);
                value.uses_any(columns) && value.uses_only(columns) && cannot_fail(&value)
            })
    }

    /// Plans a side of a join so that its rows come in the order, sorted where they do not otherwise.
    pub(super) fn plan_leading(
        &mut self,
        rel: &Rel,
        predicates: Vec<Expr>,
        desired: &Desired,
    ) -> Result<Leading, SqlError> {
        self.desired = Some(Desired { limit: None, ..desired.clone() });
        let planned = self.plan(rel, predicates)?;
        if desired.is_met_by(&planned.order) {
            let cost = planned.cost;
            return Ok(Leading { planned, cost });
        }
        let key = |key: &OrderKey| SortKey { expr: self.ordered_value(key), descending: key.descending };
        let keys: Vec<SortKey> = desired.keys.iter().map(key).collect();
        let keys = self.sort_nodes(&keys, &planned.layout())?;
        let cost = planned.cost + planned.rows * SORT_COST;
        let order = Order { keys: desired.keys.clone(), ..Order::default() };
        let sorted = planned.map(|input| Plan::Sort { input, keys, limit: None });
        Ok(Leading { planned: Planned { order, cost, ..sorted }, cost })
    }

    /// Chooses between the cheapest plan of a join and the plan with a sorted left side, whose sort cost is given: the one that
    /// emits ordered rows at the lower cost.
    pub(super) fn cheaper_in_order(&self, plain: Planned, led: (Planned, f64), desired: &Desired) -> Planned {
        let (led, first) = led;
        let share = desired.limit.map_or(1.0, |limit| (limit / plain.rows.max(1.0)).min(1.0));
        let led_cost = first + (led.cost - first) * share;
        debug_assert!((0.0..=1.0).contains(&share), "no more rows are read than there are: {share}");
        let is_cheaper = led_cost <= plain.cost + plain.rows * SORT_COST;
        let is_better =
            desired.is_met_by(&led.order) && (is_cheaper || self.prefers(OptimizerRule::OneSidedSort));
        if is_better { Planned { rows: plain.rows, ..led } } else { plain }
    }

    /// An outer, semi or anti join, its left side in the order where that is desired and cheaper.
    pub(super) fn join_led(
        &mut self,
        kind: JoinKind,
        (left, below): (&Rel, Vec<Expr>),
        right: &Rel,
        on: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        let planned = self.plan(left, below.clone())?;
        let joined = self.join(kind, planned, right, Vec::new(), on.clone())?;
        let columns: FxHashSet<ColumnId> = left.output().into_iter().collect();
        let may_lead = |desired: &Desired| kind != JoinKind::Full && self.is_about(desired, &columns);
        match desired.filter(|desired| may_lead(desired) && !desired.is_met_by(&joined.order)) {
            None => Ok(joined),
            Some(desired) => {
                let Leading { planned, cost } = self.plan_leading(left, below, &desired)?;
                let led = self.join(kind, planned, right, Vec::new(), on)?;
                Ok(self.cheaper_in_order(joined, (led, cost), &desired))
            }
        }
    }
}
