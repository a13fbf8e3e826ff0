//! Access paths: which index a table is read through, from the predicates that reach it.

use std::sync::Arc;

use engine::{IndexDef, IndexKind};
use plan_ir::bound::tree::{Expr, ExprKind, SystemScan, TableScan};
use plan_ir::context::UserFunction;
use plan_ir::kinds::{ColumnId, CompareOp};
use plan_ir::optimizer_rules::{OptimizerRule, RuleSet};
use plan_ir::physical::plan::{
    AccessPath, BoolNode, FunctionTable, Node, OtherIndex, Plan, ScanPlan, SeekKey, SeekRange, SystemPlan,
};
use plan_ir::table::TableSource;
use plan_ir::view::stream::BoundKind;
use rustc_hash::FxHashSet;
use types::SqlError;

use super::candidate::{Candidate, Wishes, candidates};
use super::choice::{Choice, cheapest_pair, choose};
use super::compile::Layout;
use super::infer::has_contradiction;
use super::known::Estimates;
use super::missing::{Way, missing_index};
use super::order::{Desired, Order};
use super::sargable::{Sargable, sargables_and_others, seekable_column};
use super::{Asked, Planned, Planner};

/// The pseudo column of rows' locators in the branches of an index union, which drops it: no column of the statement has this number.
pub(super) const ROW_NAME: ColumnId = ColumnId(u32::MAX);

/// The rows that a multi-statement table-valued function is expected to return (documentation: "Table variables", fixed estimate since 2014).
const FUNCTION_TABLE_ROWS: f64 = 100.0;

/// How the rows of a table are read.
struct Sought<'e> {
    path: AccessPath,
    seeks_by_outer: bool,
    is_covered: bool,
    is_one_row: bool,
    locks_for_change: bool,
    /// The predicates that the ranges decide completely, and whether the rows are read in the index that is sought.
    exact: (Vec<&'e Expr>, bool),
}

impl Planner<'_> {
    /// Plans the reading of a table with the predicates that concern it. A row's locator is there behind the scan: what is said of it is
    /// tested there.
    pub(super) fn plan_table(
        &mut self,
        scan: &TableScan,
        predicates: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        if !scan.computed.is_empty() {
            return self.plan_computing(scan, predicates, desired);
        }
        self.note_scan(scan);
        if self.has(OptimizerRule::PredicateInference) && has_contradiction(&predicates, self.columns) {
            let layout = scan.columns.iter().copied().chain(scan.locator).collect();
            return Ok(Planned::leaf(Plan::Empty, layout, 0.0));
        }
        let Some(locator) = scan.locator else {
            let one = self.plan_one_way(scan, predicates.clone(), desired.clone())?;
            return self.cheaper_union(scan, &predicates, desired.as_ref(), one);
        };
        let (above, below): (Vec<Expr>, Vec<Expr>) =
            predicates.into_iter().partition(|predicate| predicate.columns().contains(&locator));
        let planned = self.plan_one_way(scan, below, desired)?;
        self.filter(planned, above)
    }

    /// A table with columns that are computed when they are read: conditions use their expressions, and its rows get their values.
    fn plan_computing(
        &mut self,
        scan: &TableScan,
        mut predicates: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        let definition = |id: ColumnId| {
            let found = scan.computed.iter().find(|computed| scan.columns[computed.0] == id);
            found.map(|computed| &computed.1)
        };
        for predicate in &mut predicates {
            predicate.rewrite_deep(&mut |part| match &part.kind {
                ExprKind::Column(id) => definition(*id).cloned(),
                _ => None,
            });
        }
        let plain = TableScan { computed: Vec::new(), ..scan.clone() };
        let planned = self.plan_table(&plain, predicates, desired)?;
        let layout = planned.layout();
        let item = |(position, id): (usize, &ColumnId)| match definition(*id) {
            Some(value) => self.node(value, &layout),
            None => Ok(Node::Column(position)),
        };
        let items = planned.layout.iter().enumerate().map(item).collect::<Result<Vec<_>, _>>()?;
        Ok(planned.map(|input| Plan::Project { input, items }))
    }

    /// One range or several of one index, or all of the table.
    pub(super) fn plan_one_way(
        &mut self,
        scan: &TableScan,
        predicates: Vec<Expr>,
        desired: Option<Desired>,
    ) -> Result<Planned, SqlError> {
        let source = scan.source.clone();
        let total = source.row_estimate();
        let own: FxHashSet<ColumnId> = scan.columns.iter().copied().chain(scan.locator).collect();
        let wanted = self.wanted_of(scan);
        let locks_rows = scan.hints.update_lock || scan.hints.exclusive_lock;
        let columns = super::scan_columns::scan_columns(scan, wanted.as_deref(), &predicates);
        let mut layout = super::scan_columns::ids(&columns, scan);
        layout.extend(scan.locator.or(scan.names_rows.then_some(ROW_NAME)));
        let covers = |index: &IndexDef| match &wanted {
            // Rows to be changed are always read.
            Some(wanted) if !locks_rows && scan.locator.is_none() => {
                source.table.is_covered_by(index.index_id, wanted)
            }
            _ => false,
        };
        let (sargables, others) = sargables_and_others(&predicates, scan, &own);
        let estimates = Estimates::new(scan, total, &predicates, &self.columns.ranges);
        let wishes =
            Wishes { has_order: desired.is_some(), has_columns: wanted.is_some(), rules: self.columns.rules };
        let candidates = candidates(scan, &predicates, &sargables, &estimates, &wishes, &covers)?;
        let rows = rows_left(&source, &estimates, &others, &sargables, &candidates);
        let (Choice { candidate, order, backward, cost }, second) =
            choose_way(candidates, &sargables, &estimates, rows, (desired.as_ref(), self.columns.rules));
        let way = Way { chosen: candidate.as_ref(), cost, is_ordered: desired.is_some() };
        let missing = missing_index(&estimates, &sargables, wanted.as_deref(), &way);
        let Sought { path, seeks_by_outer, is_covered, is_one_row, locks_for_change, exact } =
            self.sought(scan, candidate, &sargables, (predicates.len(), &covers))?;
        debug_assert!(
            !scan.names_rows || scan.locator.is_none(),
            "rows that are changed are found in one way"
        );
        let positions = Layout::new(&layout);
        let is_left = |predicate: &&Expr| !(is_one_row && exact.1 && is_among(&exact.0, predicate));
        let (filter, asked) = self.filter_of(predicates.iter().filter(is_left), &positions)?;
        let cost = cost + asked.once + rows * asked.each;
        let other_index = second.map(|second| self.other_index(&second, &sargables, &source)).transpose()?;
        let pushed = match is_one_row || !self.has(OptimizerRule::ScanPredicate) {
            true => None,
            false => self.pushed_filter(scan, &predicates, &own, &positions, (&exact.0, exact.1))?,
        };
        let plan = ScanPlan {
            source,
            columns,
            pushed,
            hints: scan.hints.clone(),
            path,
            filter,
            locator: scan.locator.is_some(),
            names_rows: scan.names_rows,
            locks_for_change,
            is_covered,
            other_index,
            backward,
            rows,
            missing,
        };
        Ok(Planned { plan: Plan::Scan(Box::new(plan)), layout, rows, cost, seeks_by_outer, order })
    }

    /// How the rows are got by the way that has been chosen; of so many conditions.
    fn sought<'e>(
        &mut self,
        scan: &TableScan,
        candidate: Option<Candidate<'e>>,
        sargables: &[Sargable<'e>],
        (conditions, covers): (usize, &dyn Fn(&IndexDef) -> bool),
    ) -> Result<Sought<'e>, SqlError> {
        let Some(best) = candidate else {
            return Ok(Sought {
                path: AccessPath::Scan,
                seeks_by_outer: false,
                is_covered: false,
                is_one_row: false,
                locks_for_change: false,
                exact: (Vec::new(), true),
            });
        };
        let is_covered = best.index.kind == IndexKind::Nonclustered && covers(best.index);
        let is_in_place = is_covered || best.is_of_rows();
        let is_one_row = best.finds_one_row();
        let (ranges, seeks_by_outer) = self.ranges(&best, sargables, &scan.source)?;
        debug_assert!(
            ranges.iter().all(|range| range.fits(best.index.key.len())),
            "the keys of a range are columns of the index"
        );
        // A row that is looked up may say something else than the entry that has led to it.
        let exact = (best.sought_exactly(sargables, &ranges), is_in_place);
        let is_key_alone = best.is_of_rows() && conditions == best.index.key.len();
        let locks_for_change = scan.locator.is_some() && is_one_row && is_key_alone && !seeks_by_outer;
        let path = AccessPath::Seek { index_id: best.index.index_id, ranges };
        Ok(Sought { path, seeks_by_outer, is_covered, is_one_row, locks_for_change, exact })
    }

    fn other_index(
        &mut self,
        second: &Candidate<'_>,
        sargables: &[Sargable<'_>],
        source: &TableSource,
    ) -> Result<OtherIndex, SqlError> {
        let (ranges, by_outer) = self.ranges(second, sargables, source)?;
        assert!(!by_outer, "names are gathered once");
        Ok(OtherIndex { index_id: second.index.index_id, ranges, rows: second.rows })
    }

    fn filter_of<'e>(
        &mut self,
        predicates: impl Iterator<Item = &'e Expr>,
        layout: &Layout,
    ) -> Result<(Option<BoolNode>, Asked), SqlError> {
        let Some(all) = Expr::all(predicates.cloned()) else { return Ok((None, Asked::default())) };
        let (filter, asked) = self.predicate_with_cost(&all, layout)?;
        Ok((Some(filter), asked))
    }

    /// The ordinals of a table whose values are needed; `None`: all.
    pub(super) fn wanted_of(&self, scan: &TableScan) -> Option<Vec<usize>> {
        let wanted = self.wanted.as_ref()?;
        Some((0..scan.columns.len()).filter(|at| wanted.contains(&scan.columns[*at])).collect())
    }

    /// Plans the reading of a system view.
    pub(super) fn plan_system(
        &mut self,
        scan: &SystemScan,
        predicates: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let arguments = self.nodes(scan.arguments.iter(), &Layout::default())?;
        let mut bounds = Vec::new();
        if let Some(stream) = &scan.view.stream {
            for predicate in &predicates {
                self.system_bounds(scan, stream.bounded, predicate, &mut bounds)?;
            }
        }
        let is_wanted = |wanted: &FxHashSet<ColumnId>| {
            (0..scan.columns.len()).filter(|at| wanted.contains(&scan.columns[*at])).collect::<Vec<_>>()
        };
        let wanted = self.wanted.as_ref().map(is_wanted);
        let filter = match Expr::all(predicates) {
            Some(predicate) => Some(self.predicate(&predicate, &Layout::new(&scan.columns))?),
            None => None,
        };
        self.catalog_order.note_view(&scan.columns, scan.view.key());
        let (database, reading) = (scan.database.clone(), scan.reading);
        let plan = SystemPlan { view: scan.view, database, arguments, filter, reading, bounds, wanted };
        Ok(Planned {
            plan: Plan::System(Box::new(plan)),
            layout: scan.columns.clone(),
            rows: 100.0,
            cost: 100.0,
            seeks_by_outer: false,
            order: Order::default(),
        })
    }

    /// Plans the run of a multi-statement table-valued function.
    pub(super) fn plan_function_table(
        &mut self,
        (function, arguments, columns): (&Arc<UserFunction>, &[Expr], &[ColumnId]),
        predicates: Vec<Expr>,
    ) -> Result<Planned, SqlError> {
        let arguments = self.nodes(arguments.iter(), &Layout::default())?;
        let filter = match Expr::all(predicates) {
            Some(predicate) => Some(self.predicate(&predicate, &Layout::new(columns))?),
            None => None,
        };
        let plan = FunctionTable { function: function.clone(), arguments, filter };
        let plan = Plan::FunctionTable(Box::new(plan));
        Ok(Planned::leaf(plan, columns.to_vec(), FUNCTION_TABLE_ROWS))
    }

    /// The bounds in a predicate on columns for which the function accepts bounds.
    fn system_bounds(
        &mut self,
        scan: &SystemScan,
        bounded: &[&str],
        predicate: &Expr,
        bounds: &mut Vec<(usize, BoundKind, Node)>,
    ) -> Result<(), SqlError> {
        if let ExprKind::And(left, right) = &predicate.kind {
            self.system_bounds(scan, bounded, left, bounds)?;
            return self.system_bounds(scan, bounded, right, bounds);
        }
        let ExprKind::Compare(op, left, right) = &predicate.kind else { return Ok(()) };
        let own: FxHashSet<ColumnId> = scan.columns.iter().copied().collect();
        let column_of = |expr: &Expr| match seekable_column(expr)? {
            (id, true) => scan.columns.iter().position(|own| *own == id),
            _ => None,
        };
        let independent = |expr: &Expr| !expr.uses_any(&own) && !expr.is_volatile();
        let (column, op, value) = match (column_of(left), column_of(right)) {
            (Some(column), _) if independent(right) => (column, *op, right),
            (_, Some(column)) if independent(left) => (column, op.flipped(), left),
            _ => return Ok(()),
        };
        let declared = &scan.view.columns()[column];
        let kind = match op {
            CompareOp::Equal => BoundKind::Equal,
            CompareOp::Greater | CompareOp::GreaterOrEqual => BoundKind::Lower,
            CompareOp::Less | CompareOp::LessOrEqual => BoundKind::Upper,
            CompareOp::NotEqual => return Ok(()),
        };
        if bounded.contains(&declared.name.as_str()) && value.sql_type.is_character() {
            bounds.push((column, kind, self.node(value, &Layout::default())?));
        }
        Ok(())
    }

    fn ranges(
        &mut self,
        best: &Candidate<'_>,
        sargables: &[Sargable<'_>],
        source: &TableSource,
    ) -> Result<(Vec<SeekRange>, bool), SqlError> {
        let empty = Layout::default();
        let mut by_outer = false;
        let mut key = |planner: &mut Self, expr: &Expr, ordinal: usize| -> Result<SeekKey, SqlError> {
            by_outer |= !expr.columns().is_empty();
            let column = &source.def.columns[ordinal];
            Ok(SeekKey {
                node: planner.node(expr, &empty)?,
                from: expr.sql_type,
                to: column.sql_type,
                collation: column.collation,
            })
        };
        let best = &best.matched;
        let lists = best.list.map_or(1, |list| sargables[list].values.len());
        let mut ranges = Vec::with_capacity(lists);
        for position in 0..lists {
            let mut equal = Vec::new();
            for index in &best.equal {
                let found = &sargables[*index];
                equal.push(key(self, found.values[0], found.ordinal)?);
            }
            if let Some(list) = best.list {
                equal.push(key(self, sargables[list].values[position], sargables[list].ordinal)?);
            }
            let mut bound =
                |planner: &mut Self, index: Option<usize>| -> Result<Option<(SeekKey, bool)>, SqlError> {
                    let Some(found) = index.map(|index| &sargables[index]) else {
                        return Ok(None);
                    };
                    let inclusive = matches!(found.op, CompareOp::GreaterOrEqual | CompareOp::LessOrEqual);
                    Ok(Some((key(planner, found.values[0], found.ordinal)?, inclusive)))
                };
            let lower = bound(self, best.lower)?;
            let upper = bound(self, best.upper)?;
            let like = match best.like.map(|index| &sargables[index]) {
                Some(found) => Some(key(self, found.values[0], found.ordinal)?),
                None => None,
            };
            ranges.push(SeekRange { equal, lower, upper, like });
        }
        Ok((ranges, by_outer))
    }
}

/// Is it one of them, itself?
pub(super) fn is_among(those: &[&Expr], predicate: &Expr) -> bool {
    those.iter().any(|one| std::ptr::eq(*one, predicate))
}

/// The cheapest access path, and the second index of an index intersection.
fn choose_way<'e>(
    candidates: Vec<Candidate<'e>>,
    sargables: &[Sargable<'e>],
    estimates: &Estimates<'e>,
    rows: f64,
    (desired, rules): (Option<&Desired>, RuleSet),
) -> (Choice<'e>, Option<Candidate<'e>>) {
    let all = candidates.clone();
    let choice = choose(estimates.scan, candidates, estimates.total, rows, desired);
    // With a desired order, the cost of a sort is already included.
    let pair = match desired {
        None if rules.has(OptimizerRule::IndexIntersection) => {
            let is_preferred = rules.prefers(OptimizerRule::IndexIntersection);
            let least = if is_preferred { f64::INFINITY } else { choice.cost };
            cheapest_pair(&all, sargables, estimates, (rows, least))
        }
        _ => None,
    };
    let Some(pair) = pair else { return (choice, None) };
    let (sought, second) = (all[pair.sought].clone(), all[pair.other].clone());
    let order = sought.order(estimates.scan);
    (Choice { candidate: Some(sought), order, backward: false, cost: pair.cost }, Some(second))
}

/// The cardinality after all predicates: from their single selectivities, and at most the rows that the best index finds.
fn rows_left(
    source: &TableSource,
    estimates: &Estimates<'_>,
    others: &[&Expr],
    sargables: &[Sargable<'_>],
    candidates: &[Candidate<'_>],
) -> f64 {
    if candidates.iter().any(Candidate::finds_one_row) {
        return 1.0;
    }
    source.note_planned();
    let left = estimates.rows_left(sargables, others);
    debug_assert!(left >= 0.0, "conditions leave no fewer rows than none: {left}");
    candidates.iter().map(|candidate| candidate.rows).fold(left, f64::min)
}
