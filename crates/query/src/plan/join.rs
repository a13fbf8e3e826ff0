//! Joins: order of inner joins, and the choice between seeking the inner side, hashing it, or looping over it.

use rustc_hash::FxHashSet;
use types::SqlError;

use super::logical::{JoinKind, Rel};
use super::order::Order;
use super::physical::{HashJoinPlan, NestedLoopPlan, Plan};
use super::{Planned, Planner};
use crate::bind::coerce;
use crate::expr::compile::Layout;
use crate::expr::{ColumnId, CompareOp, Expr, ExprKind};

/// Cost of one index seek, in rows read.
const SEEK_COST: f64 = 3.0;
/// Cost of putting one row into a hash table, in rows read.
const BUILD_COST: f64 = 1.5;
/// More relations than this are joined in the order written.
const MAX_REORDERED: usize = 10;

impl Planner<'_> {
    /// A tree of joins with predicates from above.
    pub(super) fn plan_join_tree(&mut self, rel: &Rel, pushed: Vec<Expr>) -> Result<Planned, SqlError> {
        match rel {
            Rel::Join { kind: JoinKind::Inner, .. } => {
                let mut items = Vec::new();
                let mut conjuncts = pushed;
                flatten(rel, &mut items, &mut conjuncts);
                self.plan_filtered_items(items, conjuncts)
            }
            Rel::Join { kind, left, right, on } => {
                let left_columns: FxHashSet<ColumnId> = left.output().into_iter().collect();
                let right_columns: FxHashSet<ColumnId> = right.output().into_iter().collect();
                let mut on_conjuncts = Vec::new();
                if let Some(on) = on {
                    on.clone().split_conjuncts(&mut on_conjuncts);
                }
                // Above an outer join only predicates on the preserved side may go below it.
                let (below, above): (Vec<Expr>, Vec<Expr>) = pushed.into_iter().partition(|predicate| {
                    *kind != JoinKind::Full
                        && !predicate.uses_any(&right_columns)
                        && predicate.uses_any(&left_columns)
                        && !predicate.has_subquery()
                });
                let left = self.plan(left, below)?;
                let joined = self.join(*kind, left, right, Vec::new(), on_conjuncts)?;
                self.filter(joined, above)
            }
            _ => unreachable!("called for joins only"),
        }
    }

    /// Predicates over one input: subqueries become semi joins where they can.
    pub(super) fn plan_filtered(&mut self, input: &Rel, conjuncts: Vec<Expr>) -> Result<Planned, SqlError> {
        let (semi, plain): (Vec<Expr>, Vec<Expr>) =
            conjuncts.into_iter().partition(super::semi_join::is_candidate);
        if semi.is_empty() {
            return self.plan(input, plain);
        }
        // Predicates with other subqueries stay above the joins; the rest travels down.
        let mut planned = self.plan(input, plain)?;
        let mut kept = Vec::new();
        for predicate in semi {
            let available: FxHashSet<ColumnId> = planned.layout.iter().copied().collect();
            match super::semi_join::decorrelate(&predicate, &available) {
                Some(parts) => {
                    planned = self.join(parts.kind, planned, &parts.right, parts.right_filters, parts.on)?
                }
                None => kept.push(predicate),
            }
        }
        self.filter(planned, kept)
    }

    /// Inner joins over several relations.
    fn plan_filtered_items(&mut self, items: Vec<&Rel>, conjuncts: Vec<Expr>) -> Result<Planned, SqlError> {
        let columns: Vec<FxHashSet<ColumnId>> =
            items.iter().map(|item| item.output().into_iter().collect()).collect();
        let (subqueries, conjuncts): (Vec<Expr>, Vec<Expr>) =
            conjuncts.into_iter().partition(Expr::has_subquery);
        let mut own: Vec<Vec<Expr>> = vec![Vec::new(); items.len()];
        let mut shared: Vec<Expr> = Vec::new();
        for conjunct in conjuncts {
            let used: Vec<usize> =
                (0..items.len()).filter(|index| conjunct.uses_any(&columns[*index])).collect();
            match used.as_slice() {
                [] => own[0].push(conjunct),
                [one] => own[*one].push(conjunct),
                _ => shared.push(conjunct),
            }
        }
        let mut left: Vec<usize> = (0..items.len()).collect();
        let first = self.choose_first(&items, &own, &columns)?;
        left.retain(|index| *index != first);
        let mut planned = self.plan(items[first], own[first].clone())?;
        let mut available = columns[first].clone();
        while !left.is_empty() {
            let next = self.choose_next(&left, &columns, &shared, &available);
            left.retain(|index| *index != next);
            available.extend(columns[next].iter().copied());
            let (on, rest): (Vec<Expr>, Vec<Expr>) = shared.into_iter().partition(|conjunct| {
                let all: FxHashSet<ColumnId> = conjunct.columns();
                // Columns from outside the statement part are parameters and always at hand.
                all.iter().all(|id| available.contains(id) || !columns.iter().any(|set| set.contains(id)))
            });
            shared = rest;
            planned = self.join(JoinKind::Inner, planned, items[next], own[next].clone(), on)?;
        }
        assert!(shared.is_empty(), "every join predicate finds its join");
        if subqueries.is_empty() {
            return Ok(planned);
        }
        let mut kept = Vec::new();
        for predicate in subqueries {
            let available: FxHashSet<ColumnId> = planned.layout.iter().copied().collect();
            match super::semi_join::is_candidate(&predicate)
                .then(|| super::semi_join::decorrelate(&predicate, &available))
                .flatten()
            {
                Some(parts) => {
                    planned = self.join(parts.kind, planned, &parts.right, parts.right_filters, parts.on)?
                }
                None => kept.push(predicate),
            }
        }
        self.filter(planned, kept)
    }

    /// The relation to start from: the one estimated smallest; the first of equals.
    fn choose_first(
        &mut self,
        items: &[&Rel],
        own: &[Vec<Expr>],
        columns: &[FxHashSet<ColumnId>],
    ) -> Result<usize, SqlError> {
        if items.len() > MAX_REORDERED || items.len() == 1 || depends_on_siblings(items, columns) {
            return Ok(0);
        }
        let (mut best, mut best_rows) = (0, f64::INFINITY);
        for (index, item) in items.iter().enumerate() {
            let rows = self.plan(item, own[index].clone())?.rows;
            if rows < best_rows * 0.9 {
                (best, best_rows) = (index, rows);
            }
        }
        Ok(best)
    }

    /// The next relation: the first one linked to those joined already.
    fn choose_next(
        &self,
        left: &[usize],
        columns: &[FxHashSet<ColumnId>],
        shared: &[Expr],
        available: &FxHashSet<ColumnId>,
    ) -> usize {
        let linked = left.iter().find(|index| {
            shared.iter().any(|conjunct| conjunct.uses_any(&columns[**index]) && conjunct.uses_any(available))
        });
        *linked.unwrap_or(&left[0])
    }

    /// Joins a planned left side with a right side. `on` may use both sides; `right_filters` only the right one.
    pub(super) fn join(
        &mut self,
        kind: JoinKind,
        left: Planned,
        right: &Rel,
        right_filters: Vec<Expr>,
        on: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let right_columns: FxHashSet<ColumnId> = right.output().into_iter().collect();
        let left_columns: FxHashSet<ColumnId> = left.layout.iter().copied().collect();
        let mut right_only = right_filters;
        let mut shared = Vec::new();
        for conjunct in on {
            let may_move =
                !conjunct.uses_any(&left_columns) && !conjunct.has_subquery() && kind != JoinKind::Full;
            if may_move { right_only.push(conjunct) } else { shared.push(conjunct) }
        }
        let scanned = self.plan(right, right_only.clone())?;
        let keys = equi_keys(&shared, &left_columns, &right_columns);
        if kind != JoinKind::Full && !shared.is_empty() && !shared.iter().any(Expr::has_subquery) {
            let sought = self.plan(right, right_only.iter().chain(&shared).cloned().collect())?;
            let seek_cost = left.rows * (SEEK_COST + sought.rows);
            let other_cost = if keys.is_empty() {
                left.rows * scanned.rows
            } else {
                left.rows + scanned.rows * BUILD_COST
            };
            if sought.seeks_by_outer && seek_cost <= other_cost {
                return self.dependent_loop(kind, left, sought);
            }
        }
        if keys.is_empty() || scanned.rows <= 1.0 {
            return self.kept_loop(kind, left, scanned, shared);
        }
        self.hash_join(kind, left, scanned, keys, shared)
    }

    /// The right side run again for each left row.
    fn dependent_loop(&mut self, kind: JoinKind, left: Planned, right: Planned) -> Result<Planned, SqlError> {
        let rows = match kind {
            JoinKind::Semi | JoinKind::Anti => left.rows,
            _ => left.rows * right.rows.max(1.0),
        };
        // Everything of the left row may be read inside: unknown ids cost nothing.
        let pass = left.layout.iter().enumerate().map(|(position, id)| (position, *id)).collect();
        let plan = NestedLoopPlan {
            kind,
            on: None,
            pass,
            keep_right: false,
            left_width: left.layout.len(),
            right_width: right.layout.len(),
            left: left.plan,
            right: right.plan,
        };
        let layout = joined_layout(kind, left.layout, right.layout);
        Ok(Planned {
            plan: Plan::NestedLoop(Box::new(plan)),
            layout,
            rows,
            seeks_by_outer: left.seeks_by_outer,
            order: Order::default(),
        })
    }

    /// The right side read once into memory.
    fn kept_loop(
        &mut self,
        kind: JoinKind,
        left: Planned,
        right: Planned,
        shared: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
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
        let seeks_by_outer = left.seeks_by_outer || right.seeks_by_outer;
        let plan = NestedLoopPlan {
            kind,
            on,
            pass: Vec::new(),
            keep_right: true,
            left_width: left.layout.len(),
            right_width: right.layout.len(),
            left: left.plan,
            right: right.plan,
        };
        let layout = joined_layout(kind, left.layout, right.layout);
        Ok(Planned {
            plan: Plan::NestedLoop(Box::new(plan)),
            layout,
            rows,
            seeks_by_outer,
            order: Order::default(),
        })
    }

    fn hash_join(
        &mut self,
        kind: JoinKind,
        mut left: Planned,
        mut right: Planned,
        keys: Vec<EquiKey>,
        shared: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        // The smaller side is built; an inner join may exchange its sides. How many rows a view of the catalog has is a guess: where the
        // guesses are equal the rows come in the order of the view that was joined last, which programs that ask `sys.index_columns`
        // without ORDER BY rely on.
        let is_guess = matches!(right.plan, Plan::System(_)) && left.rows <= right.rows;
        let exchange = kind == JoinKind::Inner && (left.rows < right.rows || is_guess);
        if exchange {
            std::mem::swap(&mut left, &mut right);
        }
        let used: FxHashSet<usize> = keys.iter().map(|key| key.conjunct).collect();
        let residual: Vec<Expr> = shared
            .into_iter()
            .enumerate()
            .filter(|(index, _)| !used.contains(index))
            .map(|(_, expr)| expr)
            .collect();
        let (left_layout, right_layout) = (left.layout(), right.layout());
        let (mut left_keys, mut right_keys, mut collations) = (Vec::new(), Vec::new(), Vec::new());
        for key in keys {
            let (a, b) = if exchange { (key.right, key.left) } else { (key.left, key.right) };
            left_keys.push(self.node(&a, &left_layout)?);
            right_keys.push(self.node(&b, &right_layout)?);
            collations.push(key.collation);
        }
        let mut both = left.layout.clone();
        both.extend(&right.layout);
        let residual = match Expr::all(residual) {
            Some(residual) => Some(self.predicate(&residual, &Layout::new(&both))?),
            None => None,
        };
        let rows = match kind {
            JoinKind::Semi | JoinKind::Anti => left.rows,
            _ => left.rows.max(right.rows),
        };
        let seeks_by_outer = left.seeks_by_outer || right.seeks_by_outer;
        let plan = HashJoinPlan {
            kind,
            left_keys,
            right_keys,
            collations,
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
            seeks_by_outer,
            order: Order::default(),
        })
    }

    /// APPLY: a join whose right side reads the left row.
    pub(super) fn plan_apply(
        &mut self,
        outer: bool,
        left: &Rel,
        right: &Rel,
        pushed: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let left_columns: FxHashSet<ColumnId> = left.output().into_iter().collect();
        let right_columns: FxHashSet<ColumnId> = right.output().into_iter().collect();
        let (below, above): (Vec<Expr>, Vec<Expr>) = pushed.into_iter().partition(|predicate| {
            !predicate.uses_any(&right_columns)
                && predicate.uses_any(&left_columns)
                && !predicate.has_subquery()
        });
        let left_planned = self.plan(left, below)?;
        let kind = if outer { JoinKind::Left } else { JoinKind::Inner };
        let depends = right.free_columns().iter().any(|id| left_columns.contains(id));
        let right_planned = self.plan(right, Vec::new())?;
        let joined = if depends {
            self.dependent_loop(kind, left_planned, right_planned)?
        } else {
            self.kept_loop(kind, left_planned, right_planned, Vec::new())?
        };
        self.filter(joined, above)
    }
}

/// `left = right` with each side from one input.
struct EquiKey {
    left: Expr,
    right: Expr,
    collation: types::Collation,
    conjunct: usize,
}

fn equi_keys(
    conjuncts: &[Expr],
    left_columns: &FxHashSet<ColumnId>,
    right_columns: &FxHashSet<ColumnId>,
) -> Vec<EquiKey> {
    let mut keys = Vec::new();
    for (conjunct, expr) in conjuncts.iter().enumerate() {
        let ExprKind::Compare(CompareOp::Equal, a, b) = &expr.kind else {
            continue;
        };
        if a.has_subquery() || b.has_subquery() {
            continue;
        }
        let sides = |expr: &Expr| (expr.uses_any(left_columns), expr.uses_any(right_columns));
        let (left, right) = match (sides(a), sides(b)) {
            ((true, false), (false, true)) => (a, b),
            ((false, true), (true, false)) => (b, a),
            _ => continue,
        };
        // Keys are compared by their bytes, so both must be of one type.
        let (left, right) = ((**left).clone(), (**right).clone());
        let pair = if left.sql_type == right.sql_type
            || left.sql_type.is_character() && right.sql_type.is_character()
        {
            Some((left, right))
        } else {
            types::arith::comparison_type(&left.sql_type, &right.sql_type, "equal to")
                .ok()
                .and_then(|to| Some((coerce::implicit(left, &to).ok()?, coerce::implicit(right, &to).ok()?)))
        };
        if let Some((left, right)) = pair {
            keys.push(EquiKey { collation: expr.collation, left, right, conjunct });
        }
    }
    keys
}

fn joined_layout(kind: JoinKind, left: Vec<ColumnId>, right: Vec<ColumnId>) -> Vec<ColumnId> {
    if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        return left;
    }
    let mut layout = left;
    layout.extend(right);
    layout
}

/// Inner joins and the filters between them become one list of relations and one of predicates.
fn flatten<'r>(rel: &'r Rel, items: &mut Vec<&'r Rel>, conjuncts: &mut Vec<Expr>) {
    match rel {
        Rel::Join { kind: JoinKind::Inner, left, right, on } => {
            flatten(left, items, conjuncts);
            flatten(right, items, conjuncts);
            if let Some(on) = on {
                on.clone().split_conjuncts(conjuncts);
            }
        }
        Rel::Filter { input, predicate } => {
            predicate.clone().split_conjuncts(conjuncts);
            flatten(input, items, conjuncts);
        }
        other => items.push(other),
    }
}

fn depends_on_siblings(items: &[&Rel], columns: &[FxHashSet<ColumnId>]) -> bool {
    items.iter().any(|item| item.free_columns().iter().any(|id| columns.iter().any(|set| set.contains(id))))
}
