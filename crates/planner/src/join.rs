//! Joins: order of inner joins, and the choice between seeking the inner side, hashing it, or looping over it.

use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::{ColumnId, CompareOp, JoinKind};
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::{HashJoinPlan, IntKind, JoinKeyKind, NestedLoopPlan, Plan};
use rustc_hash::FxHashSet;
use types::SqlError;

use super::below::{fails_by_row, fails_inside, split_fallible, tolerant};
use super::catalog_order::joins_catalog_views;
use super::compile::Layout;
use super::costs::{
    BUILD_COST, FAR_COST, FAR_ROWS, NEAR_ROWS, PROBE_COST, RESTART_COST, ROW_COST, ROWS_OF_PAGE,
};
use super::equi_keys::{EquiKey, equi_keys};
use super::infer::{Classes, equal_columns, infer, rejects_nulls};
use super::join_order::Relation;
use super::one_side::Leading;
use super::order::{Desired, Order};
use super::{Planned, Planner, are_distinct, has_width, semi_join};

/// The least selectivity of a semi join if there are no statistics of its columns, however few rows its right side has;
/// also the least selectivity of an anti join.
const SEMI_SHARE_MIN: f64 = 0.1;
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

/// The right side of a join: its conditions, and its plan with these when that has been made.
struct Right<'r> {
    rel: &'r Rel,
    filters: Vec<Expr>,
    planned: Option<Planned>,
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
        let is_whole = shared.is_empty();
        let leads = |at: &usize| self.is_about(desired, &columns[*at], is_whole);
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

    fn join_to(
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
            let restart_cost = RESTART_COST + far;
            let seek_cost = left.rows * (restart_cost + sought.cost);
            let other_cost = match keys.is_empty() {
                true => scanned.cost + left.rows * scanned.rows * ROW_COST,
                false => scanned.cost + hash_cost(kind, &left, &scanned),
            };
            let is_preferred = self.prefers(OptimizerRule::IndexNestedLoops);
            if sought.seeks_by_outer && (seek_cost <= other_cost || is_preferred) {
                let cost = left.cost + seek_cost;
                let looped = self.dependent_loop(kind, left, sought)?;
                return Ok(Planned { cost, ..looped });
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

    /// The right side run again for each left row.
    pub(super) fn dependent_loop(
        &mut self,
        kind: JoinKind,
        left: Planned,
        right: Planned,
    ) -> Result<Planned, SqlError> {
        let rows = match kind {
            JoinKind::Semi | JoinKind::Anti => left.rows,
            _ => left.rows * right.rows.max(1.0),
        };
        debug_assert!(kind != JoinKind::Full, "right rows are read for a left one");
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
        let order = left.order.with_matches(kind);
        Ok(Planned {
            plan: Plan::NestedLoop(Box::new(plan)),
            layout,
            rows,
            cost: left.cost + left.rows * (RESTART_COST + right.cost),
            seeks_by_outer: left.seeks_by_outer,
            order,
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
        let order = left.order.with_matches(kind);
        Ok(Planned {
            plan: Plan::NestedLoop(Box::new(plan)),
            layout,
            rows,
            cost: left.cost + right.cost + left.rows * right.rows * ROW_COST,
            seeks_by_outer,
            order,
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
        assert!(!keys.is_empty(), "rows are looked up by a key");
        let cost = left.cost + right.cost + hash_cost(kind, &left, &right);
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
        let leads = |desired: &Desired| {
            self.is_about(desired, &left_columns, outer) && !desired.is_met_by(&joined.order)
        };
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

/// The conditions of a join: those on the right side alone, those on both sides, and the equalities among the latter.
struct JoinConditions {
    right_only: Vec<Expr>,
    shared: Vec<Expr>,
    keys: Vec<EquiKey>,
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

/// The additional cost of a seek in a large table if each seek ends at another page and the processor's caches do not hold all pages.
fn far_cost(rel: &Rel) -> f64 {
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

/// The cost of a hash join without its sides: the build side of an inner join is the smaller side, of other joins the right side.
fn hash_cost(kind: JoinKind, left: &Planned, right: &Planned) -> f64 {
    let (probed, built) = match kind {
        JoinKind::Inner => (left.rows.max(right.rows), left.rows.min(right.rows)),
        _ => (left.rows, right.rows),
    };
    built * BUILD_COST + probed * PROBE_COST
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

pub(super) fn joined_layout(kind: JoinKind, left: Vec<ColumnId>, right: Vec<ColumnId>) -> Vec<ColumnId> {
    if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        return left;
    }
    let mut layout = left;
    layout.extend(right);
    debug_assert!(are_distinct(&layout), "the sides of a join have columns of their own");
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
