//! The planner: from the bound tree to physical operators. It pushes predicates down, chooses an access path for each table, and orders inner
//! joins by cost (`join_order`), with inferred predicates (`infer`). A join is nested loops with a seek, a hash join, a merge join, or
//! plain loops, by the lowest estimated cost.

mod access;
mod aggregate;
mod below;
mod candidate;
pub mod catalog;
mod catalog_order;
pub mod change;
mod choice;
pub mod compile;
mod costs;
mod early_groups;
mod equi_keys;
mod estimate;
mod extremes;
pub mod filter;
mod infer;
mod join;
mod join_method;
mod join_order;
mod known;
mod merge_join;
mod missing;
mod one_side;
mod order;
mod pushed_predicate;
mod sargable;
mod scan_columns;
mod semi_join;
mod shared;
mod statistics;
mod union;
mod unnest;

use plan_ir::bound::columns::Columns;
use plan_ir::bound::tree::{Expr, ExprKind, Rel, SetOpKind, SortKey, TableScan, TopSpec};
use plan_ir::kinds::ColumnId;
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::{BoolNode, Plan, SortNode};
use rustc_hash::{FxHashMap, FxHashSet};
use types::{Collation, SqlError, Value};

use crate::below::may_pass;
use crate::catalog_order::CatalogOrder;
use crate::compile::Layout;
use crate::order::{Desired, Order};
use crate::shared::SharedParts;

/// A planned operator tree.
#[derive(Debug)]
pub struct Planned {
    /// The tree.
    pub plan: Plan,
    /// Columns of its rows, in order.
    pub layout: Vec<ColumnId>,
    /// Estimated rows.
    pub(crate) rows: f64,
    /// The cost of all its rows, in rows read sequentially.
    pub(crate) cost: f64,
    /// An index seek inside uses columns from outside.
    pub(crate) seeks_by_outer: bool,
    /// The order in which its rows come.
    pub(crate) order: Order,
}

/// Plans one statement.
pub struct Planner<'a> {
    pub(crate) columns: &'a Columns,
    /// The columns whose values are needed; `None`: all.
    wanted: Option<FxHashSet<ColumnId>>,
    /// For the tree that is planned next: the desired order, and how many rows are needed. The code that plans the tree takes both first.
    desired: Option<Desired>,
    limit: Option<f64>,
    /// Subtrees that the tree contains more than once.
    shared: SharedParts,
    /// The cost of the subqueries that have been compiled into the current expression.
    asked: Asked,
    /// The tables that have been planned: where columns come from.
    scans: Vec<TableScan>,
    catalog_order: CatalogOrder,
    /// Sort expressions that are not columns: `one_side.rs` numbers them.
    ordered_values: Vec<Expr>,
    /// Groupings around the current tree that are planned in two ways: `early_groups.rs` bounds them.
    two_ways: u32,
}

/// Cost of the subqueries of an expression.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// Of uncorrelated subqueries, which run once.
    once: f64,
    /// Of correlated subqueries, which run for each row.
    each: f64,
}

impl Planned {
    fn leaf(plan: Plan, layout: Vec<ColumnId>, rows: f64) -> Planned {
        Planned { plan, layout, rows, cost: rows, seeks_by_outer: false, order: Order::default() }
    }

    /// The same, of which holds what holds of every plan.
    fn checked(self) -> Planned {
        debug_assert!(self.rows >= 0.0, "a plan gives no fewer rows than none: {}", self.rows);
        debug_assert!(self.cost >= 0.0, "a plan costs no less than nothing: {}", self.cost);
        debug_assert!(are_distinct(&self.layout), "a column stands at one place of a row");
        debug_assert!(has_width(&self.plan, self.layout.len()), "rows have a value for each column");
        self
    }

    /// The same rows through another operator.
    fn map(self, make: impl FnOnce(Box<Plan>) -> Plan) -> Planned {
        Planned { plan: make(Box::new(self.plan)), ..self }
    }

    /// Where each column stands in its rows.
    pub fn layout(&self) -> Layout {
        Layout::new(&self.layout)
    }
}

impl<'a> Planner<'a> {
    /// A planner over the statement's columns.
    pub fn new(columns: &'a Columns) -> Planner<'a> {
        Planner {
            columns,
            wanted: None,
            desired: None,
            limit: None,
            shared: SharedParts::default(),
            asked: Asked::default(),
            scans: Vec::new(),
            catalog_order: CatalogOrder::default(),
            ordered_values: Vec::new(),
            two_ways: 0,
        }
    }

    /// May the statement be planned by a rule?
    pub(crate) fn has(&self, rule: OptimizerRule) -> bool {
        self.columns.rules.has(rule)
    }

    /// Must a rule be applied wherever possible, whatever it costs?
    pub(crate) fn prefers(&self, rule: OptimizerRule) -> bool {
        self.columns.rules.prefers(rule)
    }

    /// Only the columns `outside` of the tree that is planned next are read outside of it: an index with all needed columns of a table
    /// replaces the table.
    pub fn wanting(mut self, rel: &Rel, outside: impl IntoIterator<Item = ColumnId>) -> Planner<'a> {
        let mut wanted: FxHashSet<ColumnId> = outside.into_iter().collect();
        rel.collect_read(&mut wanted);
        if self.has(OptimizerRule::Spool) {
            self.shared = SharedParts::of(rel, &mut wanted);
        }
        // A column that one place needs is computed for all places.
        rel.collect_read(&mut wanted);
        self.pruned_to(wanted)
    }

    fn pruned_to(mut self, wanted: FxHashSet<ColumnId>) -> Planner<'a> {
        self.wanted = self.has(OptimizerRule::ColumnPruning).then_some(wanted);
        self
    }

    /// Is the value of a column needed? Other columns are not computed.
    pub(crate) fn is_wanted(&self, id: ColumnId) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&id))
    }

    /// Only the columns that an expression reads are needed.
    pub fn wanting_value(self, expr: &Expr) -> Planner<'a> {
        let mut wanted = FxHashSet::default();
        expr.collect_read(&mut wanted);
        self.pruned_to(wanted)
    }

    /// Number of a subquery whose result is kept.
    pub(crate) fn next_subquery(&mut self) -> u32 {
        self.columns.next_subquery()
    }

    /// Plans the tree of a subquery.
    pub(crate) fn plan_subquery(&mut self, rel: &Rel) -> Result<Planned, SqlError> {
        self.plan(rel, Vec::new())
    }

    /// Does anything inside give a new value at each call?
    pub(crate) fn has_volatile(&self, rel: &Rel) -> bool {
        rel.expressions().iter().any(|expr| expr.is_volatile())
            || rel.inputs().iter().any(|input| self.has_volatile(input))
    }

    fn collations(&self, columns: &[ColumnId]) -> Vec<Collation> {
        columns.iter().map(|id| self.columns[id.0 as usize].collation).collect()
    }

    /// Plans `rel` with predicates from above: conjuncts over its output and over columns from outside.
    pub fn plan(&mut self, rel: &Rel, pushed: Vec<Expr>) -> Result<Planned, SqlError> {
        let (desired, limit) = (self.desired.take(), self.limit.take());
        if !pushed.is_empty() && !self.has(OptimizerRule::PredicatePushdown) {
            let planned = self.plan(rel, Vec::new())?;
            return Ok(self.filter(planned, pushed)?.checked());
        }
        if !self.has(OptimizerRule::OrderInference) {
            let planned = self.plan_ordered(rel, pushed, None, limit)?;
            return Ok(Planned { order: Order::default(), ..planned }.checked());
        }
        Ok(self.plan_ordered(rel, pushed, desired, limit)?.checked())
    }

    /// Plans a tree with a desired order.
    fn plan_ordered(
        &mut self,
        rel: &Rel,
        pushed: Vec<Expr>,
        desired: Option<Desired>,
        limit: Option<f64>,
    ) -> Result<Planned, SqlError> {
        if self.has(OptimizerRule::PredicateInference) && pushed.iter().any(is_never_true) {
            return Ok(Planned::leaf(Plan::Empty, rel.output(), 0.0));
        }
        let (startup, pushed) = match self.has(OptimizerRule::StartupFilter) {
            true => split_startup(pushed, rel),
            false => (Vec::new(), pushed),
        };
        if startup.is_empty() {
            return self.plan_started(rel, pushed, desired, limit);
        }
        let planned = self.plan_started(rel, pushed, desired, limit)?;
        self.start_if(planned, startup)
    }

    /// Plans a tree whose predicates each read a column of it (there are no startup predicates).
    fn plan_started(
        &mut self,
        rel: &Rel,
        pushed: Vec<Expr>,
        desired: Option<Desired>,
        limit: Option<f64>,
    ) -> Result<Planned, SqlError> {
        match self.shared_part(rel, &pushed) {
            Some(part) => {
                let alone = self.plan_alone(rel, pushed.clone(), desired, limit)?;
                self.cheaper_shared(part, rel, pushed, alone)
            }
            None => self.plan_alone(rel, pushed, desired, limit),
        }
    }

    /// Plans a tree without sharing, even if it occurs elsewhere, too.
    fn plan_alone(
        &mut self,
        rel: &Rel,
        mut pushed: Vec<Expr>,
        desired: Option<Desired>,
        limit: Option<f64>,
    ) -> Result<Planned, SqlError> {
        match rel {
            Rel::Filter { input, predicate } if !self.has(OptimizerRule::PredicatePushdown) => {
                let planned = self.plan(input, Vec::new())?;
                self.filter(planned, vec![predicate.clone()])
            }
            Rel::Filter { input, predicate } => {
                // Predicates from above that may fail are evaluated only on rows that the query below lets through.
                let mut conjuncts = Vec::new();
                predicate.clone().split_conjuncts(&mut conjuncts);
                conjuncts.append(&mut pushed);
                (self.desired, self.limit) = (desired, limit);
                self.plan_filtered(input, conjuncts)
            }
            Rel::Table(scan) => self.plan_table(scan, pushed, desired),
            Rel::Project { input, items } => {
                (self.desired, self.limit) = (desired.and_then(|desired| desired.below(items)), limit);
                self.plan_project(input, items, pushed)
            }
            Rel::Join { .. } => self.plan_join_tree(rel, pushed, desired),
            Rel::Apply { outer, left, right } => self.plan_apply((*outer, left, right), pushed, desired),
            Rel::Aggregate { input, keys, aggregates } => {
                let below = self.take_pushable_keys(keys, &mut pushed);
                let planned = self.plan_aggregate(input, keys, aggregates, below)?;
                self.filter(planned, pushed)
            }
            Rel::Window { input, calls } => {
                let planned = self.plan_window(input, calls, limit)?;
                self.filter(planned, pushed)
            }
            Rel::Distinct { input } => {
                let own = rel.output();
                let (below, above): (Vec<Expr>, Vec<Expr>) =
                    pushed.into_iter().partition(|predicate| may_pass(predicate, &own, self.columns));
                let planned = self.plan(input, below)?;
                let collations = self.collations(&planned.layout);
                let distinct = planned.map(|input| Plan::Distinct { input, collations, by_locator: false });
                self.filter(Planned { order: Order::default(), ..distinct }, above)
            }
            Rel::Sort { input, keys } => {
                let plain = self.order_keys(keys);
                self.desired = plain.clone().map(|keys| Desired { keys, limit, is_grouping: false });
                let planned = self.plan(input, pushed)?;
                if plain.as_ref().is_some_and(|keys| planned.order.satisfies(keys)) {
                    return self.ordered(planned, keys);
                }
                let keys = self.sort_nodes(keys, &planned.layout())?;
                let order = Order { keys: plain.unwrap_or_default(), ..Order::default() };
                let sorted = planned.map(|input| Plan::Sort { input, keys, limit: None });
                Ok(Planned { order, ..sorted })
            }
            Rel::SetOp { kind, left, right, columns } => {
                self.plan_set_op(*kind, left, right, columns, pushed)
            }
            Rel::System(scan) => self.plan_system(scan, pushed),
            Rel::FunctionTable { function, arguments, columns } => {
                self.plan_function_table((function, arguments, columns), pushed)
            }
            other => {
                let planned = self.plan_barrier(other)?;
                self.filter(planned, pushed)
            }
        }
    }

    /// Operators below which no predicate may be pushed.
    fn plan_barrier(&mut self, rel: &Rel) -> Result<Planned, SqlError> {
        match rel {
            Rel::OneRow => Ok(Planned::leaf(Plan::OneRow, Vec::new(), 1.0)),
            Rel::Values { columns, rows } => {
                debug_assert!(rows.iter().all(|row| row.len() == columns.len()), "a row has each column");
                let layout = Layout::default();
                let wanted: Vec<usize> =
                    (0..columns.len()).filter(|at| self.is_wanted(columns[*at])).collect();
                let compiled = rows
                    .iter()
                    .map(|row| self.nodes(wanted.iter().map(|at| &row[*at]), &layout))
                    .collect::<Result<Vec<_>, _>>()?;
                let columns = wanted.iter().map(|at| columns[*at]).collect();
                Ok(Planned::leaf(Plan::Values(compiled), columns, rows.len() as f64))
            }
            Rel::Top { input, top } => self.plan_top(input, top),
            Rel::NextValue { input, sequence } => {
                let planned = self.plan(input, Vec::new())?;
                let mut drawn = planned.map(|input| Plan::NextValue { input, sequence: sequence.1.clone() });
                drawn.layout.push(sequence.0);
                Ok(drawn)
            }
            Rel::Formatted { input, format, read, column } => {
                let planned = self.plan(input, Vec::new())?;
                let (cost, seeks_by_outer) = (planned.cost, planned.seeks_by_outer);
                let input = Box::new(in_order(planned, read));
                let plan = Plan::Formatted { input, format: format.clone() };
                Ok(Planned { cost, seeks_by_outer, ..Planned::leaf(plan, vec![*column], 1.0) })
            }
            Rel::Offset { input, offset, fetch } => {
                let fetched = fetch.as_ref().map(rows_asked);
                self.limit = fetched.map(|fetched| fetched + rows_asked(offset));
                let planned = self.plan(input, Vec::new())?;
                let offset = self.node(offset, &Layout::default())?;
                let fetch = fetch.as_ref().map(|fetch| self.node(fetch, &Layout::default())).transpose()?;
                Ok(planned.map(|input| Plan::Offset { input, offset, fetch }))
            }
            Rel::Recursive { anchor, step, columns, work } => {
                let anchor = self.plan(anchor, Vec::new())?;
                let step = self.plan(step, Vec::new())?;
                let width = columns.len();
                debug_assert!(has_width(&anchor.plan, width), "an anchor has the columns of the whole");
                debug_assert!(has_width(&step.plan, width), "a step has the columns of the whole");
                let rows = anchor.rows * 10.0;
                let plan =
                    Plan::Recursive { anchor: Box::new(anchor.plan), step: Box::new(step.plan), work: *work };
                Ok(Planned::leaf(plan, columns.clone(), rows))
            }
            Rel::WorkTable { work, columns } => {
                Ok(Planned::leaf(Plan::WorkTable(*work), columns.clone(), 10.0))
            }
            _ => unreachable!("planned before"),
        }
    }

    /// Adds the remaining predicates as a filter.
    pub(crate) fn filter(&mut self, planned: Planned, predicates: Vec<Expr>) -> Result<Planned, SqlError> {
        let count = predicates.len() as i32;
        let Some(predicate) = Expr::all(predicates) else {
            return Ok(planned);
        };
        let (predicate, asked) = self.predicate_with_cost(&predicate, &planned.layout())?;
        let rows = (planned.rows * 0.3f64.powi(count)).max(1.0);
        let cost = planned.cost + asked.once + planned.rows * asked.each;
        let filtered = planned.map(|input| Plan::Filter { input, predicate });
        Ok(Planned { rows, cost, ..filtered })
    }

    /// Evaluates tolerant predicates again in their strict form: this removes few rows.
    pub(crate) fn filter_again(
        &mut self,
        planned: Planned,
        predicates: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let rows = planned.rows;
        Ok(Planned { rows, ..self.filter(planned, predicates)? })
    }

    /// Adds startup predicates, which read no column of the rows, before the start of the tree.
    pub(crate) fn start_if(&mut self, planned: Planned, predicates: Vec<Expr>) -> Result<Planned, SqlError> {
        let count = predicates.len() as i32;
        let Some(predicate) = Expr::all(predicates) else {
            return Ok(planned);
        };
        let predicate = self.predicate(&predicate, &Layout::default())?;
        let rows = (planned.rows * 0.3f64.powi(count)).max(1.0);
        Ok(Planned { rows, ..planned.map(|input| Plan::Startup { input, predicate }) })
    }

    /// Compiles a predicate, and returns the cost of its subqueries.
    fn predicate_with_cost(
        &mut self,
        predicate: &Expr,
        layout: &Layout,
    ) -> Result<(BoolNode, Asked), SqlError> {
        let outside = std::mem::take(&mut self.asked);
        let compiled = self.predicate(predicate, layout);
        let asked = std::mem::replace(&mut self.asked, outside);
        Ok((compiled?, asked))
    }

    fn plan_project(
        &mut self,
        input: &Rel,
        items: &[(ColumnId, Expr)],
        pushed: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let by_id: FxHashMap<ColumnId, &Expr> = items.iter().map(|item| (item.0, &item.1)).collect();
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for mut predicate in pushed {
            let own: Vec<ColumnId> =
                predicate.columns().into_iter().filter(|id| by_id.contains_key(id)).collect();
            let movable = own.iter().all(|id| !by_id[id].is_volatile() && !by_id[id].has_subquery())
                && !predicate.has_subquery();
            if !movable {
                above.push(predicate);
                continue;
            }
            predicate.rewrite(&mut |expr| match &expr.kind {
                ExprKind::Column(id) => by_id.get(id).map(|replacement| Expr::clone(replacement)),
                _ => None,
            });
            below.push(predicate);
        }
        // Few rows look up what they ask for.
        let needs_all = self.limit.is_none();
        let mut planned = self.plan(input, below)?;
        let (mut layout, mut computed) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for (id, expr) in items {
            if !self.is_wanted(*id) {
                continue;
            }
            let mut expr = expr.clone();
            if needs_all && expr.has_subquery() {
                (planned, expr) = self.unnest(planned, expr)?;
            }
            layout.push(*id);
            computed.push(expr);
        }
        let nodes = self.nodes(computed.iter(), &planned.layout())?;
        let projected = Planned {
            layout,
            order: planned.order.behind(items),
            ..planned.map(|input| Plan::Project { input, items: nodes })
        };
        self.filter(projected, above)
    }

    fn plan_top(&mut self, input: &Rel, top: &TopSpec) -> Result<Planned, SqlError> {
        let count = self.node(&top.count, &Layout::default())?;
        let limit = if !top.percent && top.ties.is_empty() && self.has(OptimizerRule::TopSort) {
            Some(self.node(&top.count, &Layout::default())?)
        } else {
            None
        };
        self.limit = (!top.percent).then(|| rows_asked(&top.count));
        let mut planned = self.plan(input, Vec::new())?;
        if let Some(limit) = limit {
            planned = push_limit(planned, limit);
        }
        let ties = self.sort_nodes(&top.ties, &planned.layout())?;
        if let ExprKind::Constant(value) = &top.count.kind
            && let Some(rows) = value.as_i64()
        {
            planned.rows = planned.rows.min(rows.max(0) as f64);
        }
        let percent = top.percent;
        Ok(planned.map(|input| Plan::Top { input, count, percent, ties }))
    }

    fn plan_set_op(
        &mut self,
        kind: SetOpKind,
        left: &Rel,
        right: &Rel,
        columns: &[ColumnId],
        pushed: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let (left_columns, right_columns) = (left.output(), right.output());
        assert!(
            left_columns.len() == columns.len() && right_columns.len() == columns.len(),
            "set operations have sides of equal width"
        );
        let (movable, above): (Vec<Expr>, Vec<Expr>) = pushed.into_iter().partition(|predicate| match kind {
            SetOpKind::UnionAll => !predicate.has_subquery(),
            _ => may_pass(predicate, columns, self.columns),
        });
        let renamed = |to: &[ColumnId]| -> Vec<Expr> {
            let map: FxHashMap<ColumnId, ColumnId> =
                columns.iter().copied().zip(to.iter().copied()).collect();
            movable.iter().cloned().map(|predicate| rename(predicate, &map)).collect()
        };
        let left = self.plan(left, renamed(&left_columns))?;
        let right = self.plan(right, renamed(&right_columns))?;
        let rows = left.rows + right.rows;
        // The others compare whole rows.
        let is_given = |at: &usize| kind != SetOpKind::UnionAll || self.is_wanted(columns[*at]);
        let given: Vec<usize> = (0..columns.len()).filter(is_given).collect();
        let of = |all: &[ColumnId]| given.iter().map(|at| all[*at]).collect::<Vec<ColumnId>>();
        let left = Box::new(in_order(left, &of(&left_columns)));
        let right = Box::new(in_order(right, &of(&right_columns)));
        debug_assert!(
            has_width(&left, given.len()) && has_width(&right, given.len()),
            "both sides give the columns of the operation"
        );
        let plan = match kind {
            SetOpKind::UnionAll => Plan::Concat(left, right),
            other => {
                let intersect = other == SetOpKind::Intersect;
                Plan::SetOp { intersect, left, right, collations: self.collations(columns) }
            }
        };
        self.filter(Planned::leaf(plan, of(columns), rows), above)
    }

    /// Compiles sort keys.
    pub(crate) fn sort_nodes(
        &mut self,
        keys: &[SortKey],
        layout: &Layout,
    ) -> Result<Vec<SortNode>, SqlError> {
        keys.iter()
            .map(|key| {
                Ok(SortNode {
                    node: self.node(&key.expr, layout)?,
                    descending: key.descending,
                    collation: key.expr.collation,
                })
            })
            .collect()
    }

    /// Rows that come sorted by some keys as they are: the plan says so, as far as the keys are columns of theirs.
    pub(crate) fn ordered(&mut self, planned: Planned, keys: &[SortKey]) -> Result<Planned, SqlError> {
        let layout = planned.layout();
        let is_own = |key: &&SortKey| key.expr.as_column().is_some_and(|id| layout.position(id).is_some());
        let own: Vec<SortKey> = keys.iter().take_while(is_own).cloned().collect();
        if own.is_empty() {
            return Ok(planned);
        }
        let keys = self.sort_nodes(&own, &layout)?;
        Ok(planned.map(|input| Plan::Ordered { input, keys }))
    }

    /// Predicates on grouping keys only may filter before grouping, where they have one answer for a group.
    fn take_pushable_keys(&mut self, keys: &[(ColumnId, Expr)], pushed: &mut Vec<Expr>) -> Vec<Expr> {
        let ids: FxHashSet<ColumnId> = keys.iter().map(|key| key.0).collect();
        if ids.is_empty() {
            return Vec::new();
        }
        let own: Vec<ColumnId> = keys.iter().map(|key| key.0).collect();
        let (below, above): (Vec<Expr>, Vec<Expr>) = pushed
            .drain(..)
            .partition(|predicate| predicate.uses_only(&ids) && may_pass(predicate, &own, self.columns));
        *pushed = above;
        below
            .into_iter()
            .map(|mut predicate| {
                predicate.rewrite(&mut |expr| match &expr.kind {
                    ExprKind::Column(id) => keys.iter().find(|key| key.0 == *id).map(|key| key.1.clone()),
                    _ => None,
                });
                predicate
            })
            .collect()
    }
}

/// Has each row of a plan so many values, as far as the plan tells?
pub(crate) fn has_width(plan: &Plan, width: usize) -> bool {
    plan.width().is_none_or(|own| own == width)
}

/// Is no column among them twice?
pub(crate) fn are_distinct(columns: &[ColumnId]) -> bool {
    let mut seen = FxHashSet::default();
    columns.iter().all(|column| seen.insert(*column))
}

/// Replaces column ids.
fn rename(mut expr: Expr, map: &FxHashMap<ColumnId, ColumnId>) -> Expr {
    expr.rewrite(&mut |part| match &part.kind {
        ExprKind::Column(id) => map.get(id).map(|to| Expr { kind: ExprKind::Column(*to), ..part.clone() }),
        _ => None,
    });
    expr
}

/// A plan whose rows have the columns in the given order.
pub fn in_order(planned: Planned, columns: &[ColumnId]) -> Plan {
    if planned.layout == columns {
        return planned.plan;
    }
    let layout = planned.layout();
    let items = columns
        .iter()
        .map(|id| {
            plan_ir::physical::plan::Node::Column(
                layout.position(*id).expect("an input gives all columns of the operation"),
            )
        })
        .collect();
    Plan::Project { input: Box::new(planned.plan), items }
}

/// Lets a sort directly below (through projections) keep only what TOP takes.
fn push_limit(planned: Planned, limit: plan_ir::physical::plan::Node) -> Planned {
    fn find_sort(plan: &mut Plan) -> Option<&mut Option<plan_ir::physical::plan::Node>> {
        match plan {
            Plan::Sort { limit, .. } => Some(limit),
            Plan::Project { input, .. } | Plan::Ordered { input, .. } => find_sort(input),
            _ => None,
        }
    }
    let mut planned = planned;
    if let Some(place) = find_sort(&mut planned.plan) {
        *place = Some(limit);
    }
    planned
}

/// Splits predicates over a tree's rows into startup predicates (one value for all rows) and the others.
fn split_startup(predicates: Vec<Expr>, rel: &Rel) -> (Vec<Expr>, Vec<Expr>) {
    if predicates.is_empty() {
        return (Vec::new(), predicates);
    }
    let columns: FxHashSet<ColumnId> = rel.output().into_iter().collect();
    predicates.into_iter().partition(|predicate| is_startup(predicate, &columns))
}

/// Has a predicate one value for all rows with these columns? A subquery might cost more than the rows, if there are none.
pub(crate) fn is_startup(predicate: &Expr, columns: &FxHashSet<ColumnId>) -> bool {
    !predicate.uses_any(columns) && !predicate.has_subquery() && !predicate.is_volatile()
}

fn is_never_true(predicate: &Expr) -> bool {
    matches!(predicate.kind, ExprKind::Constant(Value::Bit(false) | Value::Null))
}

/// Assumed row count of a TOP, OFFSET or FETCH without a constant.
const ROWS_ASKED: f64 = 100.0;

/// The row count of a TOP, OFFSET or FETCH expression.
pub(crate) fn rows_asked(count: &Expr) -> f64 {
    match &count.kind {
        plan_ir::bound::tree::ExprKind::Constant(value) => {
            value.as_i64().map_or(ROWS_ASKED, |rows| rows.max(0) as f64)
        }
        _ => ROWS_ASKED,
    }
}
