//! Candidate access paths through the indexes of a table: the rows that each finds, and its cost.

use engine::{IndexDef, IndexKind};
use plan_ir::bound::tree::{Expr, ExprKind, TableScan};
use plan_ir::kinds::CompareOp;
use plan_ir::optimizer_rules::{OptimizerRule, RuleSet};
use plan_ir::physical::plan::{IntKind, SeekRange};
use types::SqlError;

use super::costs::{
    ENTRY_COST, LOOKUP_COST, LOOKUP_COST_OF_MANY, LOOKUPS_SINGLE, PAGE_COST, RANGE_COST, ROWS_OF_PAGE,
};
use super::estimate::KeyMatch;
use super::filter::KnownConditions;
use super::known::Estimates;
use super::order::{Order, base_order};
use super::sargable::Sargable;

/// A smaller table is read through its base rather than through a narrower index: there is nothing to save.
const NARROW_ROWS_MIN: f64 = 2000.0;

/// The requirements on a table besides its conditions.
pub(super) struct Wishes {
    /// An order is desired.
    pub(super) has_order: bool,
    /// The columns that matter are known.
    pub(super) has_columns: bool,
    pub(super) rules: RuleSet,
}

/// A candidate path.
#[derive(Clone)]
pub(super) struct Candidate<'e> {
    pub(super) index: &'e IndexDef,
    /// The columns that have one value.
    constants: Vec<usize>,
    pub(super) matched: KeyMatch,
    pub(super) cost: f64,
    pub(super) rows: f64,
}

impl<'e> Candidate<'e> {
    /// Every column of a unique key has one value.
    pub(super) fn finds_one_row(&self) -> bool {
        self.matched.list.is_none() && self.matched.is_unique(self.index)
    }

    /// Is it the index that the rows themselves lie in?
    pub(super) fn is_of_rows(&self) -> bool {
        self.index.kind == IndexKind::Clustered
    }

    /// The predicates that its one range says whole: a row of it satisfies them. What the range was not made of is not among them, though it may say
    /// something of the same column.
    pub(super) fn sought_exactly(&self, sargables: &[Sargable<'e>], ranges: &[SeekRange]) -> Vec<&'e Expr> {
        let [range] = ranges else { return Vec::new() };
        debug_assert_eq!(
            range.equal.len(),
            self.matched.equal.len() + usize::from(self.matched.list.is_some()),
            "a range has a key for each equality"
        );
        let used = self.matched.equal.iter().map(|at| sargables[*at].predicate);
        let same = used.zip(&range.equal).filter(|(_, key)| key.from == key.to);
        same.map(|(predicate, _)| predicate).filter(|predicate| is_equality_of_integers(predicate)).collect()
    }

    /// The order of what it finds; several ranges have none together.
    pub(super) fn order(&self, scan: &TableScan) -> Order {
        match self.matched.list {
            None => base_order(scan, self.index, &self.constants),
            Some(_) => Order::default(),
        }
    }
}

/// Is it `column = value`, both of one integer type?
fn is_equality_of_integers(predicate: &Expr) -> bool {
    let ExprKind::Compare(CompareOp::Equal, left, right) = &predicate.kind else { return false };
    (left.as_column().is_some() || right.as_column().is_some())
        && left.sql_type == right.sql_type
        && IntKind::of(&left.sql_type).is_some()
}

/// The ways through indexes that hold all rows that are asked for. Error 8622 when a hint names one that does not.
pub(super) fn candidates<'e>(
    scan: &'e TableScan,
    predicates: &[Expr],
    sargables: &[Sargable<'_>],
    estimates: &Estimates<'_>,
    wishes: &Wishes,
    covers: &dyn Fn(&IndexDef) -> bool,
) -> Result<Vec<Candidate<'e>>, SqlError> {
    let (def, rules) = (&scan.source.def, wishes.rules);
    let hinted = scan.hints.hinted(def)?;
    let facts = match def.has_filtered_index() {
        true => KnownConditions::of(predicates, scan),
        false => KnownConditions::default(),
    };
    let has_all_rows = |index: &IndexDef| {
        let is_implied = |filter| rules.has(OptimizerRule::FilteredIndex) && facts.imply(filter, def);
        index.has_unit() && index.filter.as_ref().is_none_or(is_implied)
    };
    let is_without = |id: &i32| def.index(*id).is_some_and(|index| !has_all_rows(index));
    if hinted.iter().any(is_without) {
        return Err(SqlError::new(8622, &[]));
    }
    let usable = def
        .indexes
        .iter()
        .filter(|index| index.kind != IndexKind::Heap)
        .filter(|index| hinted.is_empty() || hinted.contains(&index.index_id))
        .filter(|index| {
            let is_base = index.kind == IndexKind::Clustered;
            is_base || !hinted.is_empty() || rules.has(OptimizerRule::IndexSelection)
        })
        .filter(|index| has_all_rows(index));
    let bounds = if rules.has(OptimizerRule::IndexSeek) { sargables } else { &[] };
    let mut matched: Vec<(&IndexDef, KeyMatch)> =
        usable.map(|index| (index, KeyMatch::of(index, bounds))).collect();
    let is_one = |found: &(&IndexDef, KeyMatch)| found.1.list.is_none() && found.1.is_unique(found.0);
    if matched.iter().any(is_one) {
        // No path is cheaper than one row, so no others need be considered.
        matched.retain(is_one);
    }
    let found = matched.into_iter().filter_map(|(index, matched)| {
        // An index that is asked for, that has only some of the rows, or that has all columns and is narrower, may also be read from end to
        // end.
        let is_covered = covers(index);
        let is_large = estimates.total > NARROW_ROWS_MIN || rules.prefers(OptimizerRule::IndexSelection);
        let is_narrow = wishes.has_columns && is_covered && is_large;
        let is_scanned = index.kind == IndexKind::Nonclustered
            && (index.filter.is_some() || !hinted.is_empty() || wishes.has_order || is_narrow);
        candidate(index, matched, sargables, estimates, is_covered, is_scanned)
    });
    Ok(found.collect())
}

/// How well an index serves the predicates; `None` when not at all. `is_scanned`: without any keys it is read from end to end.
fn candidate<'e>(
    index: &'e IndexDef,
    matched: KeyMatch,
    sargables: &[Sargable<'_>],
    estimates: &Estimates<'_>,
    covers: bool,
    is_scanned: bool,
) -> Option<Candidate<'e>> {
    let has_keys = matched.used().next().is_some();
    if !has_keys && !is_scanned {
        return None;
    }
    let rows = estimates.rows_found(index, &matched, sargables);
    let ranges = matched.list.map_or(1.0, |list| sargables[list].values.len() as f64);
    let is_whole_row = index.kind == IndexKind::Clustered;
    let reading = match (covers, is_whole_row) {
        (true, false) => rows * ENTRY_COST,
        (_, true) => rows,
        (false, false) => {
            let looked_up = rows * estimates.share_of_entries(index, &matched, sargables);
            rows * ENTRY_COST + lookups_cost(estimates, looked_up)
        }
    };
    // Among equals prefer unique and longer matches.
    let equal = matched.equal.len() + usize::from(matched.list.is_some());
    let cost = ranges * RANGE_COST + reading - equal as f64 * 0.01;
    let constants = matched.equal.iter().map(|found| sargables[*found].ordinal).collect();
    debug_assert!(rows >= 0.0 && cost > 0.0, "a way costs something: {rows} rows, {cost}");
    Some(Candidate { index, constants, matched, cost, rows })
}

/// The cost of reading the entries of a candidate's ranges.
pub(super) fn entries_cost(candidate: &Candidate<'_>, sargables: &[Sargable<'_>]) -> f64 {
    let ranges = candidate.matched.list.map_or(1.0, |list| sargables[list].values.len() as f64);
    debug_assert!(ranges >= 1.0, "a candidate has a range");
    ranges * RANGE_COST + candidate.rows * ENTRY_COST
}

/// The cost of looking up so many rows by their entries, without reading the entries.
pub(super) fn lookups_cost(estimates: &Estimates<'_>, rows: f64) -> f64 {
    debug_assert!(rows >= 0.0, "no fewer rows than none are looked up: {rows}");
    let hints = &estimates.scan.hints;
    let locks = estimates.scan.locator.is_some() || hints.update_lock || hints.exclusive_lock;
    let single = if locks { rows } else { rows.min(LOOKUPS_SINGLE) };
    let (many, pages) = (rows - single, (estimates.total / ROWS_OF_PAGE).max(1.0));
    // The expected number of pages with at least one of the rows, if rows are spread at random.
    let met = pages * (1.0 - (-many / pages).exp());
    single * (LOOKUP_COST - ENTRY_COST) + met * PAGE_COST + many * LOOKUP_COST_OF_MANY
}
