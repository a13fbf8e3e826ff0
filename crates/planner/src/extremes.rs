//! MIN and MAX of all rows of a table, where indexes order its rows by the columns: the first row with a value is the result. Each
//! extreme is found by a seek of its own, and the single rows are joined.

use rustc_hash::FxHashSet;
use types::{SqlError, Value};

use super::order::{Desired, OrderKey, is_one_table, plain_key};
use super::{Planned, Planner};
use plan_ir::bound::tree::{AggregateCall, Expr, ExprKind, Rel, SortKey};
use plan_ir::kinds::{AggregateKind, ColumnId, JoinKind};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::{AggregatePlan, JoinKeyKind, NestedLoopPlan, Node, Plan};

/// Aggregates of one column that the first row of one order answers.
struct Extreme<'c> {
    key: OrderKey,
    argument: &'c Expr,
    calls: Vec<&'c (ColumnId, AggregateCall)>,
}

impl Planner<'_> {
    /// A grouping of a table without keys, by first rows, where every aggregate is such a MIN or MAX and the first rows together are cheaper than
    /// all rows.
    pub(super) fn plan_extremes(
        &mut self,
        input: &Rel,
        keys: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateCall)],
        below: &[Expr],
    ) -> Result<Option<Planned>, SqlError> {
        if !keys.is_empty() || !self.has(OptimizerRule::FirstRowAggregate) || !is_one_table(input) {
            return Ok(None);
        }
        let Some(extremes) = self.extremes(aggregates) else { return Ok(None) };
        // The input is read once per extreme: its rows must be equal each time, and a subquery is planned once for all readers.
        if extremes.len() > 1 && (below.iter().any(is_own_answer) || has_own_answers(input)) {
            return Ok(None);
        }
        let mut sides = Vec::with_capacity(extremes.len());
        for extreme in &extremes {
            let Some(first) = self.plan_extreme(input, extreme, below)? else { return Ok(None) };
            sides.push(first);
        }
        if sides.len() > 1 && !self.prefers(OptimizerRule::FirstRowAggregate) {
            let all = self.plan(input, below.to_vec())?;
            if sides.iter().map(|side| side.cost).sum::<f64>() >= all.cost + all.rows {
                return Ok(None);
            }
        }
        Ok(sides.into_iter().reduce(side_by_side))
    }

    /// Aggregates by the orders that answer them; `None` when one of them is not answered by any.
    fn extremes<'c>(&self, aggregates: &'c [(ColumnId, AggregateCall)]) -> Option<Vec<Extreme<'c>>> {
        let mut extremes: Vec<Extreme<'c>> = Vec::new();
        for call in aggregates {
            let descending = match call.1.kind {
                AggregateKind::Minimum => false,
                AggregateKind::Maximum => true,
                _ => return None,
            };
            let argument = call.1.argument.as_ref()?;
            let key = plain_key(argument, descending, self.columns)?;
            match extremes.iter_mut().find(|known| known.key == key) {
                Some(known) => known.calls.push(call),
                None => extremes.push(Extreme { key, argument, calls: vec![call] }),
            }
        }
        Some(extremes)
    }

    /// One row: the aggregates of the first row that has a value; `None` when no index has the order, or another way is cheaper.
    fn plan_extreme(
        &mut self,
        input: &Rel,
        extreme: &Extreme<'_>,
        below: &[Expr],
    ) -> Result<Option<Planned>, SqlError> {
        let key = extreme.key;
        let mut predicates = below.to_vec();
        if self.columns[key.column.0 as usize].nullable {
            let is_null = Expr::predicate(ExprKind::IsNull(Box::new(extreme.argument.clone())));
            predicates.push(Expr::predicate(ExprKind::Not(Box::new(is_null))));
        }
        let wanted = self.wanted_for(input, extreme, below);
        self.desired = Some(Desired { keys: vec![key], limit: Some(1.0), is_grouping: false });
        let planned = self.plan(input, predicates);
        self.wanted = wanted;
        let planned = planned?;
        if !planned.order.satisfies(&[key]) {
            return Ok(None);
        }
        let sorted_by = SortKey { expr: extreme.argument.clone(), descending: key.descending };
        let planned = self.ordered(planned, &[sorted_by])?;
        let count = Node::Constant(Value::BigInt(1));
        let first = planned.map(|input| Plan::Top { input, count, percent: false, ties: Vec::new() });
        self.aggregated(Planned { rows: 1.0, ..first }, &extreme.calls).map(Some)
    }

    /// Narrows the columns that are wanted to those of one order; gives those that were wanted before.
    fn wanted_for(
        &mut self,
        input: &Rel,
        extreme: &Extreme<'_>,
        below: &[Expr],
    ) -> Option<FxHashSet<ColumnId>> {
        let before = self.wanted.clone()?;
        let mut read = FxHashSet::default();
        below.iter().chain([extreme.argument]).for_each(|expr| expr.collect_read(&mut read));
        input.collect_read(&mut read);
        read.retain(|column| before.contains(column));
        self.wanted.replace(read)
    }

    /// A grouping without keys.
    fn aggregated(
        &mut self,
        planned: Planned,
        calls: &[&(ColumnId, AggregateCall)],
    ) -> Result<Planned, SqlError> {
        let layout = planned.layout();
        let aggregates: Result<_, _> =
            calls.iter().map(|call| self.aggregate_node(&call.1, &layout)).collect();
        let plan = AggregatePlan {
            is_in_order: false,
            keys: Vec::new(),
            collations: Vec::new(),
            key_kind: JoinKeyKind::of(&[]),
            aggregates: aggregates?,
            input: planned.plan,
        };
        Ok(Planned {
            cost: planned.cost + planned.rows,
            seeks_by_outer: planned.seeks_by_outer,
            ..Planned::leaf(Plan::Aggregate(Box::new(plan)), calls.iter().map(|call| call.0).collect(), 1.0)
        })
    }
}

/// Two plans of one row each as one.
fn side_by_side(left: Planned, right: Planned) -> Planned {
    assert!(left.rows <= 1.0 && right.rows <= 1.0, "each is one row");
    let plan = NestedLoopPlan {
        kind: JoinKind::Inner,
        on: None,
        pass: Vec::new(),
        keep_right: false,
        left_width: left.layout.len(),
        right_width: right.layout.len(),
        left: left.plan,
        right: right.plan,
    };
    let (cost, seeks_by_outer) = (left.cost + right.cost, left.seeks_by_outer || right.seeks_by_outer);
    let layout = left.layout.into_iter().chain(right.layout).collect();
    Planned { cost, seeks_by_outer, ..Planned::leaf(Plan::NestedLoop(Box::new(plan)), layout, 1.0) }
}

/// May an expression give another result each time it is evaluated, or has it a subquery?
fn is_own_answer(expr: &Expr) -> bool {
    expr.is_volatile() || expr.has_subquery()
}

fn has_own_answers(rel: &Rel) -> bool {
    rel.expressions().into_iter().any(is_own_answer) || rel.inputs().into_iter().any(has_own_answers)
}
