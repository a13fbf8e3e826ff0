//! Grouping below a join: `SELECT a.k, COUNT(b.x) FROM a LEFT JOIN b ON b.k = a.k GROUP BY a.k` groups `b` by its column first and joins the
//! groups, where that is cheaper: fewer rows are joined, and none is grouped afterwards.
//!
//! The result is equal where each group is one row of the left table: the grouping columns include a unique key of it. The aggregates read the
//! right side alone, which equalities of its plain columns correlate, and no expression is computed that may fail on a row without a match. Such a
//! row counts, too: the groups below do not see a value that is not NULL for it (a constant, `ISNULL(b.x, 0)`).

use plan_ir::bound::tree::{AggregateCall, Expr, ExprKind, Rel, TableScan};
use plan_ir::kinds::{AggregateKind, ColumnId, JoinKind};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::Plan;
use rustc_hash::FxHashSet;
use types::SqlError;

use super::below::cannot_fail;
use super::unnest::counted_or;
use super::{Planned, Planner};

/// A grouping that can be made early is planned in both ways and so is all below it, but not in more than this many inside each other.
const TWO_WAYS_MAX: u32 = 2;

/// A join whose right side is grouped, and the aggregates in its terms.
pub(super) struct Grouped {
    joined: Rel,
    values: Vec<Expr>,
}

impl Planner<'_> {
    /// Plans the grouping of a join by rows of its left side, made below the join.
    pub(super) fn plan_grouped_early(
        &mut self,
        Grouped { joined, values }: Grouped,
        keys: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateCall)],
        below: &[Expr],
    ) -> Result<Planned, SqlError> {
        let planned = self.plan(&joined, below.to_vec())?;
        let items = keys.iter().map(|key| &key.1).chain(&values);
        let items = self.nodes(items, &planned.layout())?;
        let layout =
            keys.iter().map(|key| key.0).chain(aggregates.iter().map(|aggregate| aggregate.0)).collect();
        let projected = planned.map(|input| Plan::Project { input, items });
        Ok(Planned { layout, order: Default::default(), ..projected })
    }

    /// The plan with early grouping; `None` where it is not possible, or where enough of them surround it.
    pub(super) fn grouped_early(
        &self,
        input: &Rel,
        keys: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateCall)],
    ) -> Option<Grouped> {
        if self.two_ways == TWO_WAYS_MAX || !self.has(OptimizerRule::EarlyAggregation) {
            return None;
        }
        let Rel::Join { kind: kind @ (JoinKind::Inner | JoinKind::Left), left, right, on: Some(on) } = input
        else {
            return None;
        };
        let Rel::Table(scan) = &**left else { return None };
        if !is_one_row_each(scan, keys) || self.has_volatile(input) {
            return None;
        }
        let made: FxHashSet<ColumnId> = right.output().into_iter().collect();
        let available: FxHashSet<ColumnId> = left.output().into_iter().collect();
        let is_movable = |(_, call): &(ColumnId, AggregateCall)| {
            call.kind != AggregateKind::ChecksumAgg
                && call.expressions().into_iter().all(|expr| expr.uses_only(&made) && cannot_fail(expr))
                && (*kind == JoinKind::Inner
                    || call.argument.as_ref().is_none_or(|argument| is_null_alone(argument, &made)))
        };
        if !aggregates.iter().all(is_movable) {
            return None;
        }
        let mut conjuncts = Vec::new();
        on.clone().split_conjuncts(&mut conjuncts);
        let (mut on, mut own, mut own_keys) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in conjuncts {
            if conjunct.uses_only(&made) {
                if !cannot_fail(&conjunct) {
                    return None;
                }
                own.push(conjunct);
                continue;
            }
            let key = self.correlation(&conjunct, &made, &available)?;
            if own_keys.iter().all(|known: &(ColumnId, Expr)| known.0 != key.0) {
                own_keys.push(key);
            }
            on.push(conjunct);
        }
        let on = Expr::all(on)?;
        let input = match Expr::all(own) {
            Some(predicate) => Box::new(Rel::Filter { input: right.clone(), predicate }),
            None => right.clone(),
        };
        debug_assert!(!own_keys.is_empty(), "each equality has a column to group by");
        let grouped = Rel::Aggregate { input, keys: own_keys, aggregates: aggregates.to_vec() };
        let values = aggregates.iter().map(|(id, call)| {
            let value = self.column(*id);
            match (call.kind, kind) {
                (_, JoinKind::Inner) => value,
                // The row without a partner is there once, and has no values.
                (AggregateKind::CountRows, _) => counted_or(&value, 1),
                (AggregateKind::Count, _) => counted_or(&value, 0),
                _ => value,
            }
        });
        let values = values.collect();
        let joined = Rel::Join { kind: *kind, left: left.clone(), right: Box::new(grouped), on: Some(on) };
        Some(Grouped { joined, values })
    }
}

/// Is it NULL for a row in which all these columns are? Texts that are joined may not be (SET CONCAT_NULL_YIELDS_NULL OFF).
fn is_null_alone(expr: &Expr, columns: &FxHashSet<ColumnId>) -> bool {
    match &expr.kind {
        ExprKind::Column(id) => columns.contains(id),
        ExprKind::Retype(inner) | ExprKind::Unary(_, inner) | ExprKind::Convert(inner, _) => {
            is_null_alone(inner, columns)
        }
        ExprKind::Binary(_, left, right) => {
            !expr.sql_type.is_character() && (is_null_alone(left, columns) || is_null_alone(right, columns))
        }
        _ => false,
    }
}

/// Do the grouping columns have a unique key of the table among them?
fn is_one_row_each(scan: &TableScan, keys: &[(ColumnId, Expr)]) -> bool {
    let groups: Option<Vec<ColumnId>> = keys.iter().map(|key| key.1.as_column()).collect();
    let Some(groups) = groups else { return false };
    let is_own = |key: &(ColumnId, Expr)| {
        let column = scan.columns.iter().position(|id| key.1.as_column() == Some(*id));
        // Grouped under another collation several rows may be one group.
        column.is_some_and(|at| key.1.collation == scan.source.def.columns[at].collation)
    };
    let mut indexes = scan.source.def.indexes.iter();
    scan.locator.is_none()
        && keys.iter().all(is_own)
        && indexes.any(|index| {
            index.unique
                && index.is_whole()
                && index.has_unit()
                && !index.key.is_empty()
                && index.key.iter().all(|key| groups.contains(&scan.columns[key.ordinal]))
        })
}
