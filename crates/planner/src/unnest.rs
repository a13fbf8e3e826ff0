//! Unnesting: correlated subqueries are computed once for all outer rows.
//!
//! - A scalar aggregate: `x < (SELECT AVG(y) FROM t WHERE t.k = outer.k)` joins the outer rows with `SELECT k, AVG(y) FROM t GROUP BY k`, an
//!   outer join, and compares with the result; so does one in a select list. A missing group is NULL, like the aggregate of no rows; COUNT is 0. APPLY is treated alike.
//! - APPLY over a plain query: `CROSS APPLY (SELECT y FROM t WHERE t.k = outer.k)` is the join on that condition.
//!
//! An aggregate is joined where that is cheaper than an evaluation for each row, and where the result is provably equal:
//! correlation by equalities of plain columns, no grouping, no HAVING, no volatile expression, and no expression that may fail on a row that is
//! not needed (a division, a sum that may overflow, a conversion that may not be possible).

use plan_ir::bound::tree::{Expr, ExprKind, Rel, SubqueryExpr, SubqueryKind};
use plan_ir::kinds::{AggregateKind, ColumnId, CompareOp, JoinKind};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::Plan;
use rustc_hash::FxHashSet;
use types::{SqlError, SqlType, Value};

use super::below::{cannot_fail, split_fallible};
use super::costs::{PROBE_COST, RESTART_COST};
use super::join_method::{dependent_loop, far_cost};
use super::semi_join::{DEPTH_MAX, depth_of};
use super::{Planned, Planner};

/// How many rows ask is a guess, and often far too many; what a table costs is known. So many times dearer must an evaluation for each row be.
const DOUBT: f64 = 8.0;

/// An aggregate of the rows that match the current outer row, as a relation to be joined.
struct Unnested {
    grouped: Rel,
    /// The equalities that it was correlated by.
    on: Vec<Expr>,
    /// Its output expressions over the relation's columns.
    items: Vec<(ColumnId, Expr)>,
}

impl Planner<'_> {
    /// Adds conditions as a filter, scalar subqueries joined where that is cheaper.
    pub(super) fn filter_unnested(
        &mut self,
        planned: Planned,
        predicates: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let (mut planned, mut said) = (planned, Vec::with_capacity(predicates.len()));
        for predicate in predicates {
            let (joined, predicate) = self.unnest(planned, predicate)?;
            planned = joined;
            said.push(predicate);
        }
        self.filter(planned, said)
    }

    /// Joins what the scalar subqueries of an expression over `planned` ask for, and says the expression without them.
    pub(super) fn unnest(&mut self, planned: Planned, predicate: Expr) -> Result<(Planned, Expr), SqlError> {
        let (mut planned, mut predicate) = (planned, predicate);
        let mut subqueries = Vec::new();
        collect_scalars(&predicate, &mut subqueries);
        for subquery in subqueries {
            let available: FxHashSet<ColumnId> = planned.layout.iter().copied().collect();
            let Some(unnested) = self.unnested(&subquery.rel, &available) else { continue };
            let found = unnested.items.iter().find(|item| Some(item.0) == subquery.column);
            let Some(value) = found.map(|item| item.1.clone()) else { continue };
            let each = self.plan_subquery(&subquery.rel)?.cost;
            if !self.is_cheaper_once(&unnested, each, planned.rows)? {
                continue;
            }
            planned = self.join(JoinKind::Left, planned, &unnested.grouped, Vec::new(), unnested.on)?;
            predicate.rewrite(&mut |part| match &part.kind {
                ExprKind::Subquery(found) if std::sync::Arc::ptr_eq(&found.rel, &subquery.rel) => {
                    Some(value.clone())
                }
                _ => None,
            });
        }
        Ok((planned, predicate))
    }

    /// APPLY, its right side run for each left row, or computed once for all when that is cheaper.
    pub(super) fn apply_each(
        &mut self,
        kind: JoinKind,
        left: Planned,
        right: &Rel,
        each: Planned,
    ) -> Result<Planned, SqlError> {
        let available: FxHashSet<ColumnId> = left.layout.iter().copied().collect();
        let unnested = self.unnested(right, &available);
        let Some(unnested) = unnested else { return Ok(dependent_loop(kind, left, each)) };
        if !self.is_cheaper_once(&unnested, each.cost, left.rows)? {
            return Ok(dependent_loop(kind, left, each));
        }
        // An aggregate without keys has one row always: CROSS and OUTER APPLY are the same.
        let mut layout = left.layout.clone();
        let joined = self.join(JoinKind::Left, left, &unnested.grouped, Vec::new(), unnested.on)?;
        let positions = joined.layout();
        let passed = layout.iter().map(|id| self.column(*id)).collect::<Vec<_>>();
        let items: Vec<_> = unnested.items.iter().filter(|item| self.is_wanted(item.0)).collect();
        let nodes = self.nodes(passed.iter().chain(items.iter().map(|item| &item.1)), &positions)?;
        layout.extend(items.iter().map(|item| item.0));
        Ok(Planned { layout, ..joined.map(|input| Plan::Project { input, items: nodes }) })
    }

    fn is_cheaper_once(&mut self, unnested: &Unnested, each: f64, rows: f64) -> Result<bool, SqlError> {
        let once = self.plan(&unnested.grouped, Vec::new())?;
        if self.prefers(OptimizerRule::Decorrelation) {
            return Ok(true);
        }
        debug_assert!(each >= 0.0 && rows >= 0.0, "{rows} rows ask for {each} each");
        // As a loop's right side, it is opened again for each row, and what it seeks may lie anywhere.
        let far = unnested.grouped.inputs().into_iter().map(far_cost).fold(0.0, f64::max);
        let each = each + RESTART_COST + far;
        Ok(each * rows > DOUBT * (once.cost + once.rows.max(rows) * PROBE_COST))
    }

    pub(super) fn column(&self, id: ColumnId) -> Expr {
        let info = &self.columns[id.0 as usize];
        Expr::column(id, info.sql_type, info.nullable, info.collation)
    }

    fn unnested(&self, rel: &Rel, available: &FxHashSet<ColumnId>) -> Option<Unnested> {
        let Rel::Project { input, items } = rel else { return None };
        let Rel::Aggregate { input, keys, aggregates } = &**input else { return None };
        let Rel::Filter { input, predicate } = &**input else { return None };
        if !self.has(OptimizerRule::Decorrelation)
            || !keys.is_empty()
            || self.has_volatile(rel)
            || depth_of(rel) >= DEPTH_MAX
        {
            return None;
        }
        let mut computed = aggregates.iter().flat_map(|aggregate| aggregate.1.expressions());
        if items.iter().any(|item| item.1.has_subquery()) || !computed.all(cannot_fail) {
            return None;
        }
        let made: FxHashSet<ColumnId> = input.output().into_iter().collect();
        let mut conjuncts = Vec::new();
        predicate.clone().split_conjuncts(&mut conjuncts);
        let (mut on, mut own, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in conjuncts {
            if conjunct.uses_only(&made) && cannot_fail(&conjunct) {
                own.push(conjunct);
                continue;
            }
            let key = self.correlation(&conjunct, &made, available)?;
            if keys.iter().all(|known: &(ColumnId, Expr)| known.0 != key.0) {
                keys.push(key);
            }
            on.push(conjunct);
        }
        if on.is_empty() {
            return None;
        }
        let input = match Expr::all(own) {
            Some(predicate) => Rel::Filter { input: input.clone(), predicate },
            None => (**input).clone(),
        };
        debug_assert!(!keys.is_empty(), "each equality has a column to group by");
        let counts: FxHashSet<ColumnId> = aggregates
            .iter()
            .filter(|aggregate| matches!(aggregate.1.kind, AggregateKind::Count | AggregateKind::CountRows))
            .map(|aggregate| aggregate.0)
            .collect();
        let grouped = Rel::Aggregate { input: Box::new(input), keys, aggregates: aggregates.clone() };
        if !grouped.free_columns().is_empty() {
            return None;
        }
        let mut items = items.clone();
        for item in &mut items {
            item.1.rewrite(&mut |part| match &part.kind {
                ExprKind::Column(id) if counts.contains(id) => Some(counted_or(part, 0)),
                _ => None,
            });
        }
        Some(Unnested { grouped, on, items })
    }

    /// The column of the subquery that the condition makes equal to something of the outer row. Grouped by it, each outer row finds one group:
    /// it is compared as it is grouped.
    pub(super) fn correlation(
        &self,
        conjunct: &Expr,
        made: &FxHashSet<ColumnId>,
        available: &FxHashSet<ColumnId>,
    ) -> Option<(ColumnId, Expr)> {
        let ExprKind::Compare(CompareOp::Equal, left, right) = &conjunct.kind else { return None };
        let is_outer = |expr: &Expr| {
            !expr.uses_any(made)
                && expr.uses_any(available)
                && expr.uses_only(available)
                && !expr.has_subquery()
        };
        let column = match (&left.kind, &right.kind) {
            (ExprKind::Column(id), _) if made.contains(id) && is_outer(right) => left,
            (_, ExprKind::Column(id)) if made.contains(id) && is_outer(left) => right,
            _ => return None,
        };
        let id = column.as_column()?;
        let info = &self.columns[id.0 as usize];
        let is_own = !info.sql_type.is_character() || conjunct.collation == info.collation;
        (is_own && info.sql_type != SqlType::SqlVariant).then(|| (id, (**column).clone()))
    }

    /// A plain query that reads columns of `outer` in its conditions only: without these conditions, and they. `None` when it reads them
    /// elsewhere.
    pub(super) fn independent(&self, rel: &Rel, outer: &FxHashSet<ColumnId>) -> Option<(Rel, Vec<Expr>)> {
        match rel {
            Rel::Filter { input, predicate } => {
                let (input, mut on) = self.independent(input, outer)?;
                let mut conjuncts = Vec::new();
                predicate.clone().split_conjuncts(&mut conjuncts);
                let (reading, own): (Vec<Expr>, Vec<Expr>) =
                    conjuncts.into_iter().partition(|conjunct| conjunct.uses_any(outer));
                if reading.iter().any(|conjunct| conjunct.has_subquery() || conjunct.is_volatile()) {
                    return None;
                }
                on.extend(reading);
                let own = if on.is_empty() { own } else { left_to_the_join(own, &mut on) };
                let input = Box::new(input);
                Some(match Expr::all(own) {
                    Some(predicate) => (Rel::Filter { input, predicate }, on),
                    None => (*input, on),
                })
            }
            Rel::Project { input, items } => {
                let is_plain = |item: &(ColumnId, Expr)| {
                    matches!(item.1.kind, ExprKind::Column(_) | ExprKind::Constant(_))
                        && !item.1.uses_any(outer)
                };
                let mut items = items.clone();
                items.retain(|item| self.is_wanted(item.0));
                if !items.iter().all(is_plain) {
                    return None;
                }
                let (input, on) = self.independent(input, outer)?;
                // The columns that the join conditions read must be in the output.
                for id in input.output() {
                    let is_read = on.iter().any(|conjunct| conjunct.columns().contains(&id));
                    if is_read && items.iter().all(|item| item.0 != id) {
                        items.push((id, self.column(id)));
                    }
                }
                Some((Rel::Project { input: Box::new(input), items }, on))
            }
            other => {
                let reads = other.free_columns().iter().any(|id| outer.contains(id));
                (!reads).then(|| (other.clone(), Vec::new()))
            }
        }
    }
}

/// Conditions of a query whose correlated conditions a join asks: those that may fail for a row are tolerant below, since the correlated ones may
/// refuse the row, and asked by the join once more. What reads tables stays.
fn left_to_the_join(own: Vec<Expr>, on: &mut Vec<Expr>) -> Vec<Expr> {
    let (movable, mut kept): (Vec<Expr>, Vec<Expr>) =
        own.into_iter().partition(|conjunct| !conjunct.has_subquery() && !conjunct.is_volatile());
    let (now, later) = split_fallible(movable);
    kept.splice(0..0, now);
    on.extend(later);
    kept
}

fn collect_scalars(expr: &Expr, into: &mut Vec<SubqueryExpr>) {
    if let ExprKind::Subquery(subquery) = &expr.kind
        && matches!(subquery.kind, SubqueryKind::Scalar)
    {
        into.push((**subquery).clone());
    }
    expr.children().into_iter().for_each(|child| collect_scalars(child, into));
}

/// A count, and what it is of no rows: what a join does not find is NULL.
pub(super) fn counted_or(count: &Expr, absent: i32) -> Expr {
    debug_assert!(
        matches!(count.sql_type, SqlType::Int | SqlType::BigInt),
        "a count is an integer: {:?}",
        count.sql_type
    );
    let absent = match count.sql_type {
        SqlType::BigInt => Value::BigInt(i64::from(absent)),
        _ => Value::Int(absent),
    };
    let absent = Expr { kind: ExprKind::Constant(absent), nullable: false, ..count.clone() };
    let column = Expr { nullable: true, ..count.clone() };
    Expr { kind: ExprKind::Coalesce(vec![column, absent]), ..count.clone() }
}
