//! Common subexpressions: a subtree that a statement contains more than once (a common table expression, a view or a derived table that is named
//! twice, an equal join under two subqueries) is computed once and kept, where that is cheaper than one computation per place. Groups and windows
//! inside a tree that runs for each outer row are also kept, if they do not depend on that row: they read all input before their first row.
//!
//! Two parts are equal when their trees are equal except for column numbers, which are counted from the start of each part. A tree that planning
//! has made from a part (with more conditions, or with a semi join over it, which has its columns) is no longer that part. A part does not depend on
//! outer columns, returns equal rows each time, and has no rows to be changed. Where a place has conditions of its own, the part
//! is shared only when no expression in it can fail: the conditions might have removed the rows on which it fails.

use std::sync::Arc;

use plan_ir::bound::tree::{Expr, ExprKind, Rel, WindowCall, WindowKind};
use plan_ir::kinds::ColumnId;
use plan_ir::optimizer_rules::OptimizerRule;
use plan_ir::physical::plan::Plan;
use rustc_hash::{FxHashMap, FxHashSet};
use types::{SqlError, Value};

use super::below::cannot_fail;
use super::{Planned, Planner};

/// Cost of keeping one row, in rows read one after the other.
const KEEP_COST: f64 = 1.5;
/// Cost of emitting one kept row.
const GIVE_COST: f64 = 0.7;
/// Assumed number of outer rows for which an inner tree runs.
const RUNS: u32 = 10;

/// The subtrees that a statement contains more than once.
#[derive(Default)]
pub(super) struct SharedParts {
    places: FxHashMap<PartAddress, Occurrence>,
    parts: Vec<Part>,
}

/// The place of a part: its outermost operator, and its columns at that place. Each binding of a query makes columns of its own.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PartAddress {
    operator: std::mem::Discriminant<Rel>,
    output: Vec<ColumnId>,
}

/// The part at a place, and its exact form there, since other trees may have equal columns.
struct Occurrence {
    part: usize,
    exact: Form,
}

struct Part {
    /// The number of its places, or the assumed number of runs of its only place.
    places: u32,
    cannot_fail: bool,
    /// Its plan, once one is made.
    kept: Option<SharedPlan>,
}

/// The form of a part without its column numbers. The text does not distinguish all values.
#[derive(PartialEq)]
struct Form {
    text: String,
    constants: Vec<Value>,
}

/// A part's plan for all of its places.
#[derive(Clone)]
struct SharedPlan {
    plan: Arc<Plan>,
    number: u32,
    /// The columns of its rows, by their positions among the part's.
    layout: Vec<usize>,
    rows: f64,
    cost: f64,
}

impl PartAddress {
    fn of(rel: &Rel) -> PartAddress {
        PartAddress { operator: std::mem::discriminant(rel), output: rel.output() }
    }
}

impl SharedParts {
    /// Finds the shared parts. A column that one place of a part needs is needed in all its places.
    pub(super) fn of(rel: &Rel, wanted: &mut FxHashSet<ColumnId>) -> SharedParts {
        let mut candidates = Vec::new();
        outermost(rel, &mut |rel| {
            candidates.extend(is_candidate(rel).then_some(rel));
            false
        });
        let mut shared = SharedParts::default();
        if !has_alike(&candidates) {
            shared.add_repeated(rel);
            return shared;
        }
        candidates.retain(|candidate| is_shareable(candidate));
        let forms: Vec<Form> = candidates.iter().map(|candidate| Form::of(candidate)).collect();
        let stands_twice = |form: &Form| forms.iter().filter(|other| *other == form).count() > 1;
        let mut found: Vec<(Form, bool, Vec<(PartAddress, Form)>)> = Vec::new();
        outermost(rel, &mut |rel| {
            if !is_candidate(rel) || !is_shareable(rel) {
                return false;
            }
            let form = Form::of(rel);
            if !stands_twice(&form) {
                return false;
            }
            match found.iter_mut().find(|known| known.0 == form) {
                Some(known) => known.2.push((PartAddress::of(rel), Form::exact(rel))),
                None => {
                    let places = vec![(PartAddress::of(rel), Form::exact(rel))];
                    found.push((form, all_of(rel, &cannot_fail), places));
                }
            }
            true
        });
        for (_, cannot_fail, places) in found.into_iter().filter(|found| found.2.len() > 1) {
            let width = places[0].0.output.len();
            assert!(places.iter().all(|place| place.0.output.len() == width), "equal parts are equally wide");
            for at in 0..width {
                if places.iter().any(|place| wanted.contains(&place.0.output[at])) {
                    wanted.extend(places.iter().map(|place| place.0.output[at]));
                }
            }
            let (part, count) = (shared.parts.len(), places.len() as u32);
            shared.parts.push(Part { places: count, cannot_fail, kept: None });
            let standing = |(place, exact)| (place, Occurrence { part, exact });
            shared.places.extend(places.into_iter().map(standing));
        }
        shared.add_repeated(rel);
        shared
    }

    /// Parts with one place that would be computed for each row of another tree.
    fn add_repeated(&mut self, rel: &Rel) {
        let mut found: Vec<&Rel> = Vec::new();
        outermost_repeated(rel, &mut |rel| {
            let is_kept = is_computed_whole(rel) && is_shareable(rel);
            found.extend(is_kept.then_some(rel));
            is_kept
        });
        for rel in found {
            let (place, part) = (PartAddress::of(rel), self.parts.len());
            if self.places.contains_key(&place) {
                continue;
            }
            self.parts.push(Part { places: RUNS, cannot_fail: all_of(rel, &cannot_fail), kept: None });
            self.places.insert(place, Occurrence { part, exact: Form::exact(rel) });
        }
    }

    /// The part at this place.
    fn part_at(&self, rel: &Rel) -> Option<usize> {
        if self.places.is_empty() || !(is_candidate(rel) || is_computed_whole(rel)) {
            return None;
        }
        let standing = self.places.get(&PartAddress::of(rel))?;
        (standing.exact == Form::exact(rel)).then_some(standing.part)
    }
}

impl Planner<'_> {
    /// The plan of a shared part, where its kept rows are cheaper than those of `alone`. The caller has found its number.
    pub(super) fn cheaper_shared(
        &mut self,
        part: usize,
        rel: &Rel,
        pushed: Vec<Expr>,
        alone: Planned,
    ) -> Result<Planned, SqlError> {
        let output = rel.output();
        let Some(kept) = self.kept_part(part, rel, &output)? else { return Ok(alone) };
        let places = f64::from(self.shared.parts[part].places);
        assert!(places >= 1.0, "a part stands somewhere");
        let cost = (kept.cost + kept.rows * KEEP_COST) / places + kept.rows * GIVE_COST;
        if cost >= alone.cost && !self.prefers(OptimizerRule::Spool) {
            return Ok(alone);
        }
        let layout: Vec<ColumnId> = kept.layout.iter().map(|at| output[*at]).collect();
        let plan = Plan::Spool { input: kept.plan, number: kept.number };
        let spool = Planned { cost, ..Planned::leaf(plan, layout, kept.rows) };
        let rows = alone.rows;
        let filtered = self.filter(spool, pushed)?;
        Ok(Planned { rows, ..filtered })
    }

    /// The part at this place, if conditions from above do not change it.
    pub(super) fn shared_part(&self, rel: &Rel, pushed: &[Expr]) -> Option<usize> {
        let part = self.shared.part_at(rel)?;
        let may_be_whole = pushed.is_empty()
            || self.shared.parts[part].cannot_fail && !pushed.iter().any(Expr::has_subquery);
        may_be_whole.then_some(part)
    }

    fn kept_part(
        &mut self,
        part: usize,
        rel: &Rel,
        output: &[ColumnId],
    ) -> Result<Option<SharedPlan>, SqlError> {
        if let Some(kept) = &self.shared.parts[part].kept {
            return Ok(Some(kept.clone()));
        }
        let planned = self.plan_alone(rel, Vec::new(), None, None)?;
        let positions = planned.layout.iter().map(|id| output.iter().position(|own| own == id));
        let Some(layout) = positions.collect::<Option<Vec<usize>>>() else { return Ok(None) };
        assert!(!planned.seeks_by_outer, "a part hangs on nothing outside");
        let number = self.next_subquery();
        let (rows, cost) = (planned.rows, planned.cost);
        let kept = SharedPlan { plan: Arc::new(planned.plan), number, layout, rows, cost };
        self.shared.parts[part].kept = Some(kept.clone());
        Ok(Some(kept))
    }
}

/// Is it worth keeping: a group, distinct rows, a join with its conditions?
fn is_candidate(rel: &Rel) -> bool {
    match rel {
        Rel::Aggregate { .. } | Rel::Distinct { .. } | Rel::Join { .. } => true,
        Rel::Filter { input, .. } => matches!(**input, Rel::Join { .. }),
        _ => false,
    }
}

/// Does it read its whole input before it emits its first row? Row numbers are computed while rows are read, so the reader may stop early.
fn is_computed_whole(rel: &Rel) -> bool {
    let only_numbers =
        |call: &WindowCall| matches!(call.kind, WindowKind::RowNumber) && call.partition.is_empty();
    match rel {
        Rel::Aggregate { .. } => true,
        Rel::Window { calls, .. } => !calls.iter().all(|call| only_numbers(&call.1)),
        _ => false,
    }
}

/// Is it independent of outer columns, and does it return equal rows each time?
fn is_shareable(rel: &Rel) -> bool {
    fn has_same_rows(rel: &Rel) -> bool {
        let is_plain = match rel {
            // The form does not include the arguments of a system view, and work tables change.
            Rel::System(_)
            | Rel::FunctionTable { .. }
            | Rel::WorkTable { .. }
            | Rel::Recursive { .. }
            | Rel::NextValue { .. }
            | Rel::Formatted { .. } => false,
            Rel::Table(scan) => scan.locator.is_none() && !scan.hints.read_past,
            _ => true,
        };
        is_plain && rel.inputs().into_iter().all(has_same_rows)
    }
    let every = |expr: &Expr| match &expr.kind {
        ExprKind::Subquery(subquery) => {
            is_shareable(&subquery.rel) || !subquery.rel.free_columns().is_empty()
        }
        ExprKind::Undeclared(_) => false,
        _ => !expr.is_volatile(),
    };
    has_same_rows(rel) && rel.free_columns().is_empty() && all_of(rel, &every)
}

/// Does a test hold for every expression in a tree, without its subqueries?
fn all_of(rel: &Rel, holds: &dyn Fn(&Expr) -> bool) -> bool {
    fn of_expression(expr: &Expr, holds: &dyn Fn(&Expr) -> bool) -> bool {
        holds(expr) && expr.children().into_iter().all(|child| of_expression(child, holds))
    }
    rel.expressions().into_iter().all(|expr| of_expression(expr, holds))
        && rel.inputs().into_iter().all(|input| all_of(input, holds))
}

/// Visits a tree and its subqueries from the top; the tree below a relation for which `visit` returns true is skipped.
fn outermost<'r>(rel: &'r Rel, visit: &mut dyn FnMut(&'r Rel) -> bool) {
    fn of_expression<'r>(expr: &'r Expr, visit: &mut dyn FnMut(&'r Rel) -> bool) {
        if let ExprKind::Subquery(subquery) = &expr.kind {
            outermost(&subquery.rel, visit);
        }
        expr.children().into_iter().for_each(|child| of_expression(child, visit));
    }
    if visit(rel) {
        return;
    }
    rel.expressions().into_iter().for_each(|expr| of_expression(expr, visit));
    rel.inputs().into_iter().for_each(|input| outermost(input, visit));
}

/// Visits the trees that run for each row of another tree: the right sides of APPLY and subqueries that read columns from outside, from the top.
fn outermost_repeated<'r>(rel: &'r Rel, visit: &mut dyn FnMut(&'r Rel) -> bool) {
    fn of_expression<'r>(expr: &'r Expr, visit: &mut dyn FnMut(&'r Rel) -> bool) {
        match &expr.kind {
            ExprKind::Subquery(subquery) if !subquery.rel.free_columns().is_empty() => {
                outermost(&subquery.rel, visit);
            }
            ExprKind::Subquery(subquery) => outermost_repeated(&subquery.rel, visit),
            _ => {}
        }
        expr.children().into_iter().for_each(|child| of_expression(child, visit));
    }
    rel.expressions().into_iter().for_each(|expr| of_expression(expr, visit));
    match rel {
        Rel::Apply { left, right, .. } if !right.free_columns().is_empty() => {
            outermost_repeated(left, visit);
            outermost(right, visit);
        }
        _ => rel.inputs().into_iter().for_each(|input| outermost_repeated(input, visit)),
    }
}

/// May two parts be equal? A cheap test: one kind of operator over equal tables.
fn has_alike(candidates: &[&Rel]) -> bool {
    fn collect_tables(rel: &Rel, into: &mut Vec<i32>) {
        if let Rel::Table(scan) = rel {
            into.push(scan.source.def.object_id);
        }
        rel.inputs().into_iter().for_each(|input| collect_tables(input, into));
    }
    if candidates.len() < 2 {
        return false;
    }
    let mut seen = FxHashSet::default();
    candidates.iter().any(|candidate| {
        let mut tables = Vec::new();
        collect_tables(candidate, &mut tables);
        !tables.is_empty() && !seen.insert((std::mem::discriminant(*candidate), tables))
    })
}

impl Form {
    fn of(rel: &Rel) -> Form {
        let exact = Form::exact(rel);
        Form { text: without_numbers(&exact.text), ..exact }
    }

    /// With the numbers of its columns.
    fn exact(rel: &Rel) -> Form {
        let mut constants = Vec::new();
        collect_constants(rel, &mut constants);
        Form { text: format!("{rel:?}"), constants }
    }
}

fn collect_constants(rel: &Rel, into: &mut Vec<Value>) {
    fn of_expression(expr: &Expr, into: &mut Vec<Value>) {
        match &expr.kind {
            ExprKind::Constant(value) => into.push(value.clone()),
            ExprKind::Subquery(subquery) => collect_constants(&subquery.rel, into),
            _ => {}
        }
        expr.children().into_iter().for_each(|child| of_expression(child, into));
    }
    rel.expressions().into_iter().for_each(|expr| of_expression(expr, into));
    rel.inputs().into_iter().for_each(|input| collect_constants(input, into));
}

/// A tree's text, with its columns numbered in order of occurrence. Quoted text is unchanged.
fn without_numbers(text: &str) -> String {
    const COLUMN: &str = "ColumnId(";
    let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
    let mut formed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', 'C']) {
        formed.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match rest.strip_prefix(COLUMN) {
            Some(column) => {
                let end = column.find(')').unwrap_or(column.len());
                let count = numbers.len();
                let number = *numbers.entry(&column[..end]).or_insert(count);
                formed.push_str(&format!("{COLUMN}{number}"));
                rest = &column[end..];
                continue;
            }
            None if rest.starts_with('"') => quoted_length(rest),
            None => 1,
        };
        formed.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    formed.push_str(rest);
    formed
}

/// The length of quoted text at the beginning of a text, with its quotes.
fn quoted_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::without_numbers;

    #[test]
    fn columns_are_numbered_anew_outside_of_quotes() {
        let text =
            "Column(ColumnId(41)) = ColumnId(7), Char(\"ColumnId(41) \\\" ColumnId(7)\"), ColumnId(41)";
        let formed =
            "Column(ColumnId(0)) = ColumnId(1), Char(\"ColumnId(41) \\\" ColumnId(7)\"), ColumnId(0)";
        assert_eq!(without_numbers(text), formed);
        assert_eq!(without_numbers("no quote ends \"C"), "no quote ends \"C");
    }
}
