//! One join of two sides: the choice of the join algorithm, and the plans of hash joins and nested loops.

use plan_ir::bound::tree::{Expr, Rel};
use plan_ir::kinds::{ColumnId, JoinKind};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::{BoolNode, HashJoinPlan, IntKind, JoinKeyKind, NestedLoopPlan, Plan};
use rustc_hash::FxHashSet;
use types::SqlError;

use super::below::{fails_by_row, split_fallible, tolerant};
use super::catalog_order::joins_catalog_views;
use super::compile::Layout;
use super::costs::{
    FAR_COST, FAR_ROWS, NEAR_ROWS, ROWS_OF_PAGE, ReadOnce, hash_cost, read_once_cost, restarts_cost,
};
use super::equi_keys::{EquiKey, equi_keys};
use super::order::Order;
use super::{Planned, Planner, are_distinct, has_width};

/// The least selectivity of a semi join if there are no statistics of its columns, however few rows its right side has;
/// also the least selectivity of an anti join.
const SEMI_SHARE_MIN: f64 = 0.1;

/// The right side of a join: its conditions, and its plan with these when that has been made.
pub(super) struct Right<'r> {
    pub(super) rel: &'r Rel,
    pub(super) filters: Vec<Expr>,
    pub(super) planned: Option<Planned>,
}

/// The conditions of a join: those on the right side alone, those on both sides, and the equalities among the latter.
struct JoinConditions {
    right_only: Vec<Expr>,
    shared: Vec<Expr>,
    keys: Vec<EquiKey>,
}

/// What nested loops do with the right side.
enum InnerSide {
    /// Execute it again for each left row.
    Restarted,
    /// Execute it once and keep its rows in memory; `on` is evaluated on each pair of rows.
    Kept { on: Option<BoolNode> },
}

impl Planner<'_> {
    /// Joins a planned left side with a right side. `on` may use both sides; `right_filters` only the right one.
    pub(super) fn join(
        &mut self,
        kind: JoinKind,
        left: Planned,
        right: &Rel,
        right_filters: Vec<Expr>,
        on: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        self.join_to(kind, left, Right { rel: right, filters: right_filters, planned: None }, on)
    }

    /// Joins it with a right side that may have been planned.
    pub(super) fn join_to(
        &mut self,
        kind: JoinKind,
        left: Planned,
        right: Right<'_>,
        on: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let Right { rel: right, filters: right_filters, planned } = right;
        let right_columns: FxHashSet<ColumnId> = right.output().into_iter().collect();
        let left_columns: FxHashSet<ColumnId> = left.layout.iter().copied().collect();
        let own_count = right_filters.len();
        let (mut right_only, mut shared) = match kind {
            // Without a left row no predicate is evaluated on right rows.
            JoinKind::Semi | JoinKind::Anti => split_fallible(right_filters),
            _ => (right_filters, Vec::new()),
        };
        for conjunct in on {
            let may_move =
                !conjunct.uses_any(&left_columns) && !conjunct.has_subquery() && kind != JoinKind::Full;
            match may_move {
                true if fails_by_row(&conjunct) => {
                    right_only.extend(tolerant(&conjunct));
                    shared.push(conjunct);
                }
                true => right_only.push(conjunct),
                false => shared.push(conjunct),
            }
        }
        let scanned = match planned {
            Some(planned) if right_only.len() == own_count => planned,
            _ => self.plan(right, right_only.clone())?,
        };
        let keys = equi_keys(&shared, &left_columns, &right_columns);
        let semi_rows = self.semi_rows(kind, left.rows, scanned.rows, &keys);
        let joined =
            self.join_by_cost(kind, left, right, scanned, JoinConditions { right_only, shared, keys })?;
        Ok(Planned { rows: semi_rows.unwrap_or(joined.rows), ..joined })
    }

    /// Joins in the cheapest way: seeking the right side for each row of the left one, hashing it, or looping over it.
    fn join_by_cost(
        &mut self,
        kind: JoinKind,
        left: Planned,
        right: &Rel,
        scanned: Planned,
        conditions: JoinConditions,
    ) -> Result<Planned, SqlError> {
        let JoinConditions { right_only, shared, keys } = conditions;
        let may_seek = self.has(OptimizerRule::IndexNestedLoops) && kind != JoinKind::Full;
        if may_seek && !shared.is_empty() && !shared.iter().any(Expr::has_subquery) {
            let sought = self.plan(right, right_only.iter().chain(&shared).cloned().collect())?;
            let is_in_order = !self.order_of_right(&left.order, &keys).is_empty();
            let far = far_cost(right) * if is_in_order { share_of_steps(right, left.rows) } else { 1.0 };
            let seek_cost = restarts_cost(left.rows, far, sought.cost);
            let once = ReadOnce { rows: scanned.rows, cost: scanned.cost };
            let other_cost = read_once_cost(kind, left.rows, once, !keys.is_empty());
            let is_preferred = self.prefers(OptimizerRule::IndexNestedLoops);
            if sought.seeks_by_outer && (seek_cost <= other_cost || is_preferred) {
                let cost = left.cost + seek_cost;
                return Ok(Planned { cost, ..dependent_loop(kind, left, sought) });
            }
        }
        if keys.is_empty() || scanned.rows <= 1.0 && !self.prefers(OptimizerRule::HashJoin) {
            return self.kept_loop(kind, left, scanned, shared);
        }
        let (scanned, order) = self.right_in_order(kind, &left, (right, scanned), &right_only, &keys)?;
        if !order.is_empty() {
            return self.merge_join(kind, left, (scanned, order), &keys, shared);
        }
        if !self.has(OptimizerRule::HashJoin) {
            return self.kept_loop(kind, left, scanned, shared);
        }
        self.hash_join(kind, left, scanned, keys, shared)
    }

    /// The rows of a semi or anti join: the share of distinct values that the right side's conditions leave. `None` for other
    /// joins.
    fn semi_rows(&self, kind: JoinKind, left: f64, right: f64, keys: &[EquiKey]) -> Option<f64> {
        let share_of = |key: &EquiKey| {
            let (left, own) = (key.left.as_column()?, key.right.as_column()?);
            let (there, here) = (self.distinct_of(left)?, self.distinct_of(own)?);
            Some((right.min(here) / there.max(here).max(1.0)).min(1.0))
        };
        let known = keys.iter().filter_map(share_of).reduce(f64::min);
        let share = known.unwrap_or_else(|| (right / left.max(1.0)).clamp(SEMI_SHARE_MIN, 1.0));
        debug_assert!((0.0..=1.0).contains(&share), "no more rows find one than there are: {share}");
        let rows = match kind {
            JoinKind::Semi => left * share,
            JoinKind::Anti if known.is_some() => left * (1.0 - share).max(SEMI_SHARE_MIN),
            JoinKind::Anti => left,
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => return None,
        };
        Some(rows.max(1.0))
    }

    /// The right side read once into memory.
    pub(super) fn kept_loop(
        &mut self,
        kind: JoinKind,
        left: Planned,
        right: Planned,
        shared: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        debug_assert!(has_width(&right.plan, right.layout.len()), "what is kept has the columns of its side");
        let mut both = left.layout.clone();
        both.extend(&right.layout);
        let selectivity = if shared.is_empty() { 1.0 } else { 0.3 };
        let on = match Expr::all(shared) {
            Some(on) => Some(self.predicate(&on, &Layout::new(&both))?),
            None => None,
        };
        let rows = match kind {
            JoinKind::Semi | JoinKind::Anti => left.rows,
            _ => (left.rows * right.rows * selectivity).max(1.0),
        };
        let once = ReadOnce { rows: right.rows, cost: right.cost };
        let cost = left.cost + read_once_cost(kind, left.rows, once, false);
        Ok(nested_loops(kind, left, right, InnerSide::Kept { on }, (rows, cost)))
    }

    fn hash_join(
        &mut self,
        kind: JoinKind,
        mut left: Planned,
        mut right: Planned,
        keys: Vec<EquiKey>,
        shared: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        assert!(!keys.is_empty(), "rows are looked up by a key");
        let cost = left.cost + right.cost + hash_cost(kind, left.rows, right.rows, 1.0);
        // The smaller side is the build side; an inner join may exchange its sides. The cardinality of a catalog view is a guess and always small:
        // there the order of the rows takes precedence.
        let are_of_catalog = joins_catalog_views(&left.plan) && joins_catalog_views(&right.plan);
        let is_led_by_right = if are_of_catalog {
            let equal = keys.iter().filter_map(|key| Some((key.left.as_column()?, key.right.as_column()?)));
            self.catalog_order.is_led_by_right(&left.layout, &right.layout, equal)
        } else {
            left.rows < right.rows
        };
        let exchange = kind == JoinKind::Inner && is_led_by_right;
        if exchange {
            std::mem::swap(&mut left, &mut right);
        }
        let used: FxHashSet<usize> = keys.iter().map(|key| key.conjunct).collect();
        let others = shared.into_iter().enumerate().filter(|(index, _)| !used.contains(index));
        let residual = Expr::all(others.map(|(_, expr)| expr));
        let (left_layout, right_layout) = (left.layout(), right.layout());
        let (mut left_keys, mut right_keys, mut collations) = (Vec::new(), Vec::new(), Vec::new());
        let mut types = Vec::new();
        for key in keys {
            let is_integer = IntKind::of(&key.right.sql_type).is_some();
            types.push(if is_integer { key.left.sql_type } else { key.right.sql_type });
            let (a, b) = if exchange { (key.right, key.left) } else { (key.left, key.right) };
            left_keys.push(self.node(&a, &left_layout)?);
            right_keys.push(self.node(&b, &right_layout)?);
            collations.push(key.collation);
        }
        let mut both = left.layout.clone();
        both.extend(&right.layout);
        let residual = residual.map(|residual| self.predicate(&residual, &Layout::new(&both))).transpose()?;
        let rows = left.rows.max(right.rows);
        let seeks_by_outer = left.seeks_by_outer || right.seeks_by_outer;
        let plan = HashJoinPlan {
            kind,
            left_keys,
            right_keys,
            collations,
            key_kind: JoinKeyKind::of(&types),
            has_runtime_filter: self.has(OptimizerRule::RuntimeFilter),
            residual,
            left_width: left.layout.len(),
            right_width: right.layout.len(),
            left: left.plan,
            right: right.plan,
        };
        let layout = joined_layout(kind, left.layout, right.layout);
        Ok(Planned {
            plan: Plan::HashJoin(Box::new(plan)),
            layout,
            rows,
            cost,
            seeks_by_outer,
            order: Order::default(),
        })
    }
}

/// Nested loops that execute the right side again for each left row.
pub(super) fn dependent_loop(kind: JoinKind, left: Planned, right: Planned) -> Planned {
    let rows = match kind {
        JoinKind::Semi | JoinKind::Anti => left.rows,
        _ => left.rows * right.rows.max(1.0),
    };
    debug_assert!(kind != JoinKind::Full, "right rows are read for a left one");
    let cost = left.cost + restarts_cost(left.rows, 0.0, right.cost);
    nested_loops(kind, left, right, InnerSide::Restarted, (rows, cost))
}

/// Nested loops, with their cardinality and cost.
fn nested_loops(
    kind: JoinKind,
    left: Planned,
    right: Planned,
    inner: InnerSide,
    (rows, cost): (f64, f64),
) -> Planned {
    let (on, pass, keep_right) = match inner {
        // Everything of the left row may be read inside: unknown ids cost nothing.
        InnerSide::Restarted => (None, left.layout.iter().copied().enumerate().collect(), false),
        InnerSide::Kept { on } => (on, Vec::new(), true),
    };
    let plan = NestedLoopPlan {
        kind,
        on,
        pass,
        keep_right,
        left_width: left.layout.len(),
        right_width: right.layout.len(),
        left: left.plan,
        right: right.plan,
    };
    Planned {
        plan: Plan::NestedLoop(Box::new(plan)),
        layout: joined_layout(kind, left.layout, right.layout),
        rows,
        cost,
        // A side that is restarted seeks by the left row.
        seeks_by_outer: left.seeks_by_outer || keep_right && right.seeks_by_outer,
        order: left.order.with_matches(kind),
    }
}

/// The additional cost of a seek in a large table if each seek ends at another page and the processor's caches do not hold all pages.
pub(super) fn far_cost(rel: &Rel) -> f64 {
    match rel {
        Rel::Table(scan) => FAR_COST * ((scan.source.row_estimate() - NEAR_ROWS) / FAR_ROWS).clamp(0.0, 1.0),
        Rel::Filter { input, .. } | Rel::Project { input, .. } => far_cost(input),
        _ => 0.0,
    }
}

/// The share of seeks, in the order of the table, that end at another page than the seek before.
fn share_of_steps(rel: &Rel, ways: f64) -> f64 {
    match rel {
        Rel::Table(scan) => (scan.source.row_estimate() / ROWS_OF_PAGE / ways.max(1.0)).min(1.0),
        Rel::Filter { input, .. } | Rel::Project { input, .. } => share_of_steps(input, ways),
        _ => 0.0,
    }
}

pub(super) fn joined_layout(kind: JoinKind, left: Vec<ColumnId>, right: Vec<ColumnId>) -> Vec<ColumnId> {
    if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        return left;
    }
    let mut layout = left;
    layout.extend(right);
    debug_assert!(are_distinct(&layout), "the sides of a join have columns of their own");
    layout
}
