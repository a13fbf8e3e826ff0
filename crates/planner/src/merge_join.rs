//! Merge joins: where both sides come in the order of the join columns, each side is read once without lookups.

use plan_ir::bound::tree::{Expr, Rel};
use plan_ir::kinds::JoinKind;
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::{IntKind, MergeJoinPlan, MergeKey, Plan};
use types::SqlError;
use types::sql_type::TypeFamily;

use super::compile::Layout;
use super::costs::hash_cost;
use super::equi_keys::EquiKey;
use super::join_method::joined_layout;
use super::order::{Desired, Order, OrderKey, is_one_table, plain_key};
use super::{Planned, Planner};

/// Cost of a row of either side, in rows read.
const MERGE_COST: f64 = 0.8;
/// The remaining share of the probe cost if a runtime filter drops rows without a match in the scan.
const PASSED_OVER: f64 = 0.15;
/// A side with no more rows than these is looked up in a table that the processor's caches hold.
const ROWS_MIN: f64 = 1000.0;

/// Which of the equalities between two sides their rows are ordered by, and whether they descend, in this order; none: there is no such order.
type MergeOrder = Vec<(usize, bool)>;

impl Planner<'_> {
    /// The right side of a join, and what it may be merged by where that is cheaper than a hash table: as it comes, or by an index of its one table that
    /// has the left side's order.
    pub(super) fn right_in_order(
        &mut self,
        kind: JoinKind,
        left: &Planned,
        (right, scanned): (&Rel, Planned),
        right_only: &[Expr],
        keys: &[EquiKey],
    ) -> Result<(Planned, MergeOrder), SqlError> {
        let hashed = scanned.cost + self.hash_cost_among(kind, left, &scanned, keys);
        let merged = |right: &Planned| right.cost + (left.rows + right.rows) * MERGE_COST;
        let is_preferred = self.prefers(OptimizerRule::MergeJoin);
        let is_dearer = left.rows.min(scanned.rows) <= ROWS_MIN || merged(&scanned) >= hashed;
        if kind == JoinKind::Full || !self.has(OptimizerRule::MergeJoin) || is_dearer && !is_preferred {
            return Ok((scanned, Vec::new()));
        }
        let found = self.merge_order(&left.order, &scanned.order, keys);
        let wanted = self.order_of_right(&left.order, keys);
        if !found.is_empty() || wanted.is_empty() || !is_one_table(right) {
            return Ok((scanned, found));
        }
        self.desired = Some(Desired { keys: wanted, limit: None, is_grouping: false });
        let ordered = self.plan(right, right_only.to_vec())?;
        let found = self.merge_order(&left.order, &ordered.order, keys);
        let is_better = !found.is_empty() && (merged(&ordered) < hashed || is_preferred);
        Ok(if is_better { (ordered, found) } else { (scanned, Vec::new()) })
    }

    /// The cost of a hash join without its sides, with a runtime filter on the probe side.
    fn hash_cost_among(&self, kind: JoinKind, left: &Planned, right: &Planned, keys: &[EquiKey]) -> f64 {
        let is_exchanged = kind == JoinKind::Inner && left.rows < right.rows;
        let built = if is_exchanged { left } else { right };
        let share_of = |key: &EquiKey| {
            let own = if is_exchanged { &key.right } else { &key.left };
            IntKind::of(&own.sql_type)?;
            Some((built.rows / self.distinct_of(own.as_column()?)?.max(1.0)).min(1.0))
        };
        let passes = match kind {
            JoinKind::Inner | JoinKind::Semi => keys.iter().filter_map(share_of).fold(1.0, f64::min),
            _ => 1.0,
        };
        hash_cost(kind, left.rows, right.rows, f64::max(passes, PASSED_OVER))
    }

    /// The equalities between columns that both sides are sorted by first, in this order.
    fn merge_order(&self, left: &Order, right: &Order, keys: &[EquiKey]) -> MergeOrder {
        let mut found = MergeOrder::new();
        for (own, other) in left.keys.iter().zip(&right.keys) {
            let is_pair = |at: &usize| self.merge_columns(&keys[*at]) == Some((own.column, other.column));
            let Some(at) = (0..keys.len()).find(is_pair).filter(|_| own.descending == other.descending)
            else {
                break;
            };
            debug_assert!(found.iter().all(|(known, _)| *known != at), "an equality is merged by once");
            found.push((at, own.descending));
        }
        found
    }

    /// The order that the right side would have to have.
    pub(super) fn order_of_right(&self, left: &Order, keys: &[EquiKey]) -> Vec<OrderKey> {
        let partner = |own: &OrderKey| {
            let columns = keys.iter().filter_map(|key| self.merge_columns(key));
            let column = columns.into_iter().find(|columns| columns.0 == own.column)?.1;
            Some(OrderKey { column, descending: own.descending })
        };
        left.keys.iter().map_while(partner).collect()
    }

    /// The columns of an equality, if the order of one side's index is that of the other's and of their comparison.
    fn merge_columns(&self, key: &EquiKey) -> Option<(plan_ir::kinds::ColumnId, plan_ir::kinds::ColumnId)> {
        let (left, right) =
            (plain_key(&key.left, false, self.columns)?, plain_key(&key.right, false, self.columns)?);
        let is_text = matches!(key.left.sql_type.family(), TypeFamily::Char | TypeFamily::NChar);
        let is_alike = match is_text {
            true => {
                key.left.sql_type.family() == key.right.sql_type.family()
                    && key.left.collation == key.collation
                    && key.right.collation == key.collation
            }
            false => key.left.sql_type == key.right.sql_type,
        };
        is_alike.then_some((left.column, right.column))
    }

    /// Joins sides that come in one order.
    pub(super) fn merge_join(
        &mut self,
        kind: JoinKind,
        left: Planned,
        (right, found): (Planned, MergeOrder),
        keys: &[EquiKey],
        shared: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        assert!(!found.is_empty() && kind != JoinKind::Full, "what is merged has keys");
        let cost = left.cost + right.cost + (left.rows + right.rows) * MERGE_COST;
        let (left_layout, right_layout) = (left.layout(), right.layout());
        let mut merged = Vec::with_capacity(found.len());
        let mut used = Vec::with_capacity(found.len());
        for (at, descending) in found {
            let key = &keys[at];
            let columns = self.merge_columns(key).expect("found as columns");
            let position = |layout: &Layout, column| layout.position(column).expect("a side has its columns");
            merged.push(MergeKey {
                left: position(&left_layout, columns.0),
                right: position(&right_layout, columns.1),
                descending,
                collation: key.collation,
            });
            used.push(key.conjunct);
        }
        let others = shared.into_iter().enumerate().filter(|(at, _)| !used.contains(at));
        let residual = Expr::all(others.map(|(_, expr)| expr));
        let both: Vec<_> = left.layout.iter().chain(&right.layout).copied().collect();
        let residual = residual.map(|residual| self.predicate(&residual, &Layout::new(&both))).transpose()?;
        let has_unique_left = left.order.is_total && merged.len() == left.order.keys.len();
        let order = left.order.with_matches(kind);
        let rows = left.rows.max(right.rows);
        let plan = MergeJoinPlan {
            kind,
            keys: merged,
            has_unique_left,
            residual,
            left_width: left.layout.len(),
            right_width: right.layout.len(),
            left: left.plan,
            right: right.plan,
        };
        Ok(Planned {
            plan: Plan::MergeJoin(Box::new(plan)),
            layout: joined_layout(kind, left.layout, right.layout),
            rows,
            cost,
            seeks_by_outer: left.seeks_by_outer || right.seeks_by_outer,
            order,
        })
    }
}
