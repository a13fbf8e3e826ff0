//! Trees of joins: where their predicates go, subqueries as joins, inner joins one after the other in a cheap order, and APPLY.

use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::{ColumnId, CompareOp, JoinKind};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::Plan;
use rustc_hash::FxHashSet;
use types::SqlError;

use super::below::{fails_inside, split_fallible};
use super::infer::{Classes, equal_columns, infer, rejects_nulls};
use super::join_method::{Right, far_cost};
use super::join_order::Relation;
use super::one_side::Leading;
use super::order::Desired;
use super::{Planned, Planner, semi_join};

/// More relations than this are joined in the order written.
const RELATIONS_MAX: usize = 64;

/// Relations to be joined, with their conditions.
struct Parts<'r> {
    items: Vec<&'r Rel>,
    /// The columns of each.
    columns: Vec<FxHashSet<ColumnId>>,
    /// Conditions of each alone.
    own: Vec<Vec<Expr>>,
    /// Conditions over several.
    shared: Vec<Expr>,
    classes: Classes,
}

/// Joined relations, and the rows of each after its own conditions.
struct Joined {
    planned: Planned,
    rows_alone: Vec<f64>,
}

impl Planner<'_> {
    /// A tree of joins with predicates from above.
    pub(super) fn plan_join_tree(
        &mut self,
        rel: &Rel,
        pushed: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        match rel {
            Rel::Join { kind: JoinKind::Inner, .. } if self.has(OptimizerRule::PredicatePushdown) => {
                let mut items = Vec::new();
                let mut conjuncts = pushed;
                flatten(rel, &mut items, &mut conjuncts);
                self.plan_filtered_items(items, conjuncts, desired)
            }
            Rel::Join { kind: JoinKind::Left, right, .. }
                if self.has(OptimizerRule::OuterJoinSimplification) && is_as_inner(right, &pushed) =>
            {
                self.plan_filtered_items(vec![rel], pushed, desired)
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
                let (below, again) = split_fallible(below);
                let joined = self.join_led(*kind, (left, below), right, on_conjuncts, desired)?;
                let joined = self.filter(joined, above)?;
                self.filter_again(joined, again)
            }
            _ => unreachable!("called for joins only"),
        }
    }

    /// Predicates over one input: subqueries become joins where they can. Predicates without a subquery are pushed down first: fewer rows remain.
    pub(super) fn plan_filtered(&mut self, input: &Rel, conjuncts: Vec<Expr>) -> Result<Planned, SqlError> {
        if matches!(input, Rel::Join { kind: JoinKind::Inner, .. }) {
            return self.plan(input, conjuncts);
        }
        // Rows that are to be changed are tested where they are locked, so that those that do not qualify do not stay locked.
        let is_target = matches!(input, Rel::Table(scan) if scan.locator.is_some());
        let columns: FxHashSet<ColumnId> = input.output().into_iter().collect();
        let waits = |predicate: &Expr| match is_target {
            true => semi_join::is_candidate(predicate) && !semi_join::is_not_in(predicate),
            false => semi_join::is_candidate(predicate) || predicate.asks_for_each_of(&columns),
        };
        let (waiting, plain): (Vec<Expr>, Vec<Expr>) = conjuncts.into_iter().partition(waits);
        if waiting.is_empty() {
            return self.plan(input, plain);
        }
        let (plain, again) = split_fallible(plain);
        let planned = self.plan(input, plain)?;
        let mut never_null = FxHashSet::default();
        semi_join::collect_never_null(input, &mut never_null);
        let planned = self.filter_by_subqueries(planned, waiting, &never_null)?;
        self.filter_again(planned, again)
    }

    /// Adds predicates with subqueries: joins first, then predicates that are evaluated for each remaining row.
    fn filter_by_subqueries(
        &mut self,
        planned: Planned,
        predicates: Vec<Expr>,
        never_null: &FxHashSet<ColumnId>,
    ) -> Result<Planned, SqlError> {
        if !self.has(OptimizerRule::SemiJoin) {
            return self.filter_unnested(planned, predicates);
        }
        // Predicates that may fail are evaluated last, on the rows that pass all others, in the order written.
        let (last, first): (Vec<Expr>, Vec<Expr>) = predicates.into_iter().partition(fails_inside);
        let (mut planned, mut kept) = (planned, Vec::new());
        for predicate in first {
            match self.semi_join(planned, &predicate, never_null)? {
                (joined, true) => planned = joined,
                (same, false) => {
                    planned = same;
                    kept.push(predicate);
                }
            }
        }
        planned = self.filter_unnested(planned, kept)?;
        for predicate in last {
            let (joined, is_joined) = self.semi_join(planned, &predicate, never_null)?;
            planned = if is_joined { joined } else { self.filter_unnested(joined, vec![predicate])? };
        }
        Ok(planned)
    }

    /// Adds the semi or anti join of a predicate; false when it is not one.
    fn semi_join(
        &mut self,
        planned: Planned,
        predicate: &Expr,
        never_null: &FxHashSet<ColumnId>,
    ) -> Result<(Planned, bool), SqlError> {
        let available: FxHashSet<ColumnId> = planned.layout.iter().copied().collect();
        match semi_join::decorrelate(predicate, &available, never_null) {
            Some(parts) => {
                let joined = self.join(parts.kind, planned, &parts.right, parts.right_filters, parts.on)?;
                Ok((joined, true))
            }
            None => Ok((planned, false)),
        }
    }

    /// Inner joins over several relations.
    fn plan_filtered_items(
        &mut self,
        items: Vec<&Rel>,
        conjuncts: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        let (mut items, mut conjuncts) = (items, conjuncts);
        if self.has(OptimizerRule::OuterJoinSimplification) {
            unwrap_outer_joins(&mut items, &mut conjuncts);
        }
        let columns: Vec<FxHashSet<ColumnId>> =
            items.iter().map(|item| item.output().into_iter().collect()).collect();
        let (subqueries, plain): (Vec<Expr>, Vec<Expr>) = conjuncts.into_iter().partition(Expr::has_subquery);
        let (conjuncts, classes) = match self.has(OptimizerRule::PredicateInference) {
            true => infer(plain.clone(), &columns, self.columns),
            false => (plain.clone(), Classes::default()),
        };
        if conjuncts.iter().any(super::is_never_true) {
            let layout = items.iter().flat_map(|item| item.output()).collect();
            return Ok(Planned::leaf(Plan::Empty, layout, 0.0));
        }
        let is_alone = items.len() == 1 && subqueries.is_empty();
        let (conjuncts, again) = match is_alone {
            true => (conjuncts, Vec::new()),
            false => split_fallible_inside(conjuncts, &columns),
        };
        let mut own: Vec<Vec<Expr>> = vec![Vec::new(); items.len()];
        let (mut shared, mut startup): (Vec<Expr>, Vec<Expr>) = (Vec::new(), Vec::new());
        for conjunct in conjuncts {
            let used: Vec<usize> =
                (0..items.len()).filter(|index| conjunct.uses_any(&columns[*index])).collect();
            match used.as_slice() {
                [] if conjunct.is_volatile() || !self.has(OptimizerRule::StartupFilter) => {
                    own[0].push(conjunct)
                }
                [] => startup.push(conjunct),
                [one] => own[*one].push(conjunct),
                _ => shared.push(conjunct),
            }
        }
        let parts = Parts { items: items.clone(), columns, own, shared, classes };
        let Joined { planned, rows_alone } = self.join_all(parts, desired.as_ref())?;
        let mut never_null = FxHashSet::default();
        items.iter().for_each(|item| semi_join::collect_never_null(item, &mut never_null));
        let may_reduce = self.has(OptimizerRule::SemiJoin);
        let reduced = subqueries.iter().enumerate().filter(|_| may_reduce).find_map(|(at, predicate)| {
            let rows = planned.rows;
            reduced_item(&items, predicate, &never_null, |item| rows_alone[item] < rows)
                .map(|found| (at, found))
        });
        if let Some((at, (item, rel))) = reduced {
            items[item] = &rel;
            let others = subqueries.into_iter().enumerate().filter(|other| other.0 != at);
            let conjuncts = plain.into_iter().chain(others.map(|other| other.1)).collect();
            return self.plan_filtered_items(items, conjuncts, desired);
        }
        let planned = self.start_if(planned, startup)?;
        let planned = self.filter_by_subqueries(planned, subqueries, &never_null)?;
        self.filter_again(planned, again)
    }

    /// Joins relations in the cheapest order.
    fn join_all(&mut self, parts: Parts<'_>, desired: Option<&Desired>) -> Result<Joined, SqlError> {
        let Parts { items, columns, own, shared, classes } = &parts;
        let mut alone = Vec::with_capacity(items.len());
        for (item, own) in items.iter().zip(own) {
            alone.push(Some(self.plan(item, own.clone())?));
        }
        let rows_alone = alone.iter().flatten().map(|planned| planned.rows).collect();
        let is_as_written = !self.has(OptimizerRule::JoinReordering)
            || items.len() > RELATIONS_MAX
            || depends_on_siblings(items, columns);
        let steps: Vec<(usize, Option<f64>)> = match is_as_written {
            true => (0..items.len()).map(|at| (at, None)).collect(),
            false => {
                let relation = |at: usize| {
                    let planned: &Planned = alone[at].as_ref().expect("planned above");
                    let bound = own[at].iter().filter_map(|conjunct| bound_column(conjunct, &columns[at]));
                    let (rows, cost) = (planned.rows, planned.cost);
                    Relation {
                        rel: items[at],
                        columns: columns[at].clone(),
                        rows,
                        cost,
                        far: far_cost(items[at]),
                        wanted: match items[at] {
                            Rel::Table(scan) => self.wanted_of(scan),
                            _ => None,
                        },
                        bound: bound.collect(),
                    }
                };
                let relations: Vec<Relation<'_>> = (0..items.len()).map(relation).collect();
                let steps = super::join_order::order(&relations, shared, classes, self.columns);
                steps.into_iter().map(|(at, rows)| (at, Some(rows))).collect()
            }
        };
        assert_eq!(steps.len(), items.len(), "each relation is joined once");
        let first = alone[steps[0].0].take().expect("planned above");
        let planned = self.join_in_steps(&parts, first, &steps, alone)?;
        let planned = match desired.filter(|_| !is_as_written) {
            Some(desired) => self.join_all_led(&parts, planned, &steps, desired)?,
            None => planned,
        };
        Ok(Joined { planned, rows_alone })
    }

    /// Joins with the relation of the desired order as the first one, where that is cheaper than a sort of the joined rows.
    fn join_all_led(
        &mut self,
        parts: &Parts<'_>,
        joined: Planned,
        steps: &[(usize, Option<f64>)],
        desired: &Desired,
    ) -> Result<Planned, SqlError> {
        let Parts { items, columns, own, shared, .. } = parts;
        // Equalities lead to hash tables, which do not preserve order, unless few rows are needed.
        let are_tied =
            shared.iter().any(|conjunct| matches!(conjunct.kind, ExprKind::Compare(CompareOp::Equal, ..)));
        if desired.is_met_by(&joined.order) || are_tied && desired.limit.is_none() {
            return Ok(joined);
        }
        let leads = |at: &usize| self.is_about(desired, &columns[*at]);
        let Some(leader) = (0..items.len()).find(leads) else { return Ok(joined) };
        let Leading { planned, cost } = self.plan_leading(items[leader], own[leader].clone(), desired)?;
        let others = steps.iter().filter(|step| step.0 != leader).map(|step| (step.0, None));
        let steps: Vec<_> = std::iter::once((leader, None)).chain(others).collect();
        debug_assert_eq!(steps.len(), items.len(), "the leader is one of the relations");
        let alone = items.iter().map(|_| None).collect();
        let led = self.join_in_steps(parts, planned, &steps, alone)?;
        Ok(self.cheaper_in_order(joined, (led, cost), desired))
    }

    /// Joins one relation after the other to the first of the steps, which is planned; `alone` are plans of others by themselves.
    fn join_in_steps(
        &mut self,
        parts: &Parts<'_>,
        first: Planned,
        steps: &[(usize, Option<f64>)],
        mut alone: Vec<Option<Planned>>,
    ) -> Result<Planned, SqlError> {
        let Parts { items, columns, own, shared, classes } = parts;
        let mut shared = shared.clone();
        let mut planned = first;
        let mut available = columns[steps[0].0].clone();
        for (next, rows) in steps[1..].iter().copied() {
            available.extend(columns[next].iter().copied());
            let (mut on, rest): (Vec<Expr>, Vec<Expr>) = shared.into_iter().partition(|conjunct| {
                let all: FxHashSet<ColumnId> = conjunct.columns();
                // Columns from outside the statement part are parameters and always available.
                all.iter().all(|id| available.contains(id) || !columns.iter().any(|set| set.contains(id)))
            });
            shared = rest;
            self.drop_repeated(&mut on, &columns[next], classes);
            let right = Right { rel: items[next], filters: own[next].clone(), planned: alone[next].take() };
            planned = self.join_to(JoinKind::Inner, planned, right, on)?;
            planned.rows = rows.unwrap_or(planned.rows);
        }
        assert!(shared.is_empty(), "every join predicate finds its join");
        Ok(planned)
    }

    /// Drops redundant equalities between a relation and those before it: one per column of an equivalence class is enough, since the
    /// columns of the class in the relations before are equal.
    fn drop_repeated(&self, on: &mut Vec<Expr>, right: &FxHashSet<ColumnId>, classes: &Classes) {
        let mut said: FxHashSet<ColumnId> = FxHashSet::default();
        on.retain(|conjunct| {
            let Some((a, b)) = equal_columns(conjunct, self.columns) else { return true };
            let own = if right.contains(&a) { a } else { b };
            classes.find_complete(own).is_none() || said.insert(own)
        });
    }

    /// APPLY: a join whose right side reads the left row.
    pub(super) fn plan_apply(
        &mut self,
        (outer, left, right): (bool, &Rel, &Rel),
        pushed: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        let left_columns: FxHashSet<ColumnId> = left.output().into_iter().collect();
        let may_join = self.has(OptimizerRule::Decorrelation);
        let independent = self.independent(right, &left_columns).filter(|_| may_join);
        if let Some((right, on)) = independent.filter(|found| !found.1.is_empty()) {
            let kind = if outer { JoinKind::Left } else { JoinKind::Inner };
            let (left, right, on) = (Box::new(left.clone()), Box::new(right), Expr::all(on));
            self.desired = desired;
            return self.plan(&Rel::Join { kind, left, right, on }, pushed);
        }
        let right_columns: FxHashSet<ColumnId> = right.output().into_iter().collect();
        let (below, above): (Vec<Expr>, Vec<Expr>) = pushed.into_iter().partition(|predicate| {
            !predicate.uses_any(&right_columns)
                && predicate.uses_any(&left_columns)
                && !predicate.has_subquery()
        });
        let kind = if outer { JoinKind::Left } else { JoinKind::Inner };
        let (below, again) = split_fallible(below);
        let planned = self.plan(left, below.clone())?;
        let mut joined = self.apply(kind, planned, (right, &left_columns))?;
        let leads =
            |desired: &Desired| self.is_about(desired, &left_columns) && !desired.is_met_by(&joined.order);
        if let Some(desired) = desired.filter(leads) {
            let Leading { planned, cost } = self.plan_leading(left, below, &desired)?;
            let led = self.apply(kind, planned, (right, &left_columns))?;
            joined = self.cheaper_in_order(joined, (led, cost), &desired);
        }
        let joined = self.filter(joined, above)?;
        self.filter_again(joined, again)
    }

    fn apply(
        &mut self,
        kind: JoinKind,
        left: Planned,
        (right, left_columns): (&Rel, &FxHashSet<ColumnId>),
    ) -> Result<Planned, SqlError> {
        let depends = right.free_columns().iter().any(|id| left_columns.contains(id));
        let planned = self.plan(right, Vec::new())?;
        match depends {
            true => self.apply_each(kind, left, right, planned),
            false => self.kept_loop(kind, left, planned, Vec::new()),
        }
    }
}

/// Conditions of joined relations: those evaluated in the joins, and those evaluated again above the joins. A comparison of two relations stays
/// their join condition: an index seek may use it.
fn split_fallible_inside(conjuncts: Vec<Expr>, columns: &[FxHashSet<ColumnId>]) -> (Vec<Expr>, Vec<Expr>) {
    let joins = |expr: &Expr| {
        matches!(expr.kind, ExprKind::Compare(..))
            && columns.iter().filter(|own| expr.uses_any(own)).count() > 1
    };
    let (mut now, mut again) = (Vec::with_capacity(conjuncts.len()), Vec::new());
    for conjunct in conjuncts {
        if joins(&conjunct) {
            now.push(conjunct);
        } else {
            let (tolerated, later) = split_fallible(vec![conjunct]);
            now.extend(tolerated);
            again.extend(later);
        }
    }
    (now, again)
}

/// The column of a relation that one of its own conditions binds to a value.
fn bound_column(conjunct: &Expr, own: &FxHashSet<ColumnId>) -> Option<ColumnId> {
    let ExprKind::Compare(CompareOp::Equal, left, right) = &conjunct.kind else { return None };
    match (&left.kind, &right.kind) {
        (ExprKind::Column(id), _) if own.contains(id) && !right.uses_any(own) => Some(*id),
        (_, ExprKind::Column(id)) if own.contains(id) && !left.uses_any(own) => Some(*id),
        _ => None,
    }
}

/// Do conditions above an outer join reject all NULL-extended rows?
fn is_as_inner(right: &Rel, above: &[Expr]) -> bool {
    let columns: FxHashSet<ColumnId> = right.output().into_iter().collect();
    above.iter().any(|conjunct| rejects_nulls(conjunct, &columns))
}

/// For a predicate that becomes a join and reads one relation only, where `is_smaller` says that this relation has fewer rows than the whole join:
/// that relation with the join.
fn reduced_item(
    items: &[&Rel],
    predicate: &Expr,
    never_null: &FxHashSet<ColumnId>,
    is_smaller: impl Fn(usize) -> bool,
) -> Option<(usize, Rel)> {
    // All is planned once more with it: not where that would happen again further down.
    if items.iter().any(|item| semi_join::depth_of(item) > 0) {
        return None;
    }
    let used = predicate.columns();
    let is_about = |item: &&Rel| item.output().iter().any(|id| used.contains(id));
    let mut about = items.iter().enumerate().filter(|(_, item)| is_about(item));
    let (Some((at, item)), None) = (about.next(), about.next()) else { return None };
    let available = item.output().into_iter().collect();
    let parts =
        is_smaller(at).then(|| semi_join::decorrelate(predicate, &available, never_null)).flatten()?;
    Some((at, parts.over(Rel::clone(item))))
}

/// Left joins become inner joins if the conditions reject all their NULL-extended rows.
fn unwrap_outer_joins(items: &mut Vec<&Rel>, conjuncts: &mut Vec<Expr>) {
    let inner_like = |item: &&Rel, conjuncts: &[Expr]| match item {
        Rel::Join { kind: JoinKind::Left, right, .. } => is_as_inner(right, conjuncts),
        _ => false,
    };
    while let Some(at) = items.iter().position(|item| inner_like(item, conjuncts)) {
        let Rel::Join { left, right, on, .. } = items[at] else { unreachable!("found as a join") };
        let mut inside = Vec::new();
        flatten(left, &mut inside, conjuncts);
        flatten(right, &mut inside, conjuncts);
        if let Some(on) = on {
            on.clone().split_conjuncts(conjuncts);
        }
        items.splice(at..=at, inside);
    }
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
