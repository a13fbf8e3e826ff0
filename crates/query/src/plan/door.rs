//! What a scan asks of the door to its rows: the columns that are wanted, and the conditions that are judged on a row's bytes before it is
//! copied. What only values can tell (`rest`) is tested above, on the columns that it reads, before the others are decoded.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use types::SqlError;

use super::Planner;
use super::compile::{Layout, known_pattern};
use crate::bound::tree::{Expr, ExprKind, TableScan, comparison_collation};
use crate::kinds::{ColumnId, CompareOp};
use crate::physical::plan::{DoorCondition, DoorFilter, DoorKind, IntKind, ScanColumns};

/// Longer lists are looked up behind the door.
const LIST_MAX: usize = 64;

impl ScanColumns {
    /// The columns of `scan` that are wanted, those first that its own predicates read.
    pub(super) fn of(scan: &TableScan, wanted: Option<&[usize]>, predicates: &[Expr]) -> ScanColumns {
        let count = scan.columns.len();
        let Some(wanted) = wanted else {
            return ScanColumns { listed: None, for_filter: count, count };
        };
        let mut read: FxHashSet<ColumnId> = FxHashSet::default();
        predicates.iter().for_each(|predicate| predicate.collect_columns(&mut read));
        let is_read = |ordinal: &usize| read.contains(&scan.columns[*ordinal]);
        let (first, others): (Vec<usize>, Vec<usize>) = wanted.iter().copied().partition(is_read);
        // A subquery finds the columns of the row at hand by their positions: all of them are there.
        let for_filter = match predicates.iter().any(Expr::has_subquery) {
            true => wanted.len(),
            false => first.len(),
        };
        let ordinals: Arc<[usize]> = first.into_iter().chain(others).collect();
        ScanColumns { for_filter, count: ordinals.len(), listed: Some(ordinals) }
    }

    /// The ids of the columns in a row.
    pub(super) fn ids(&self, scan: &TableScan) -> Vec<ColumnId> {
        self.ordinals().map(|ordinal| scan.columns[ordinal]).collect()
    }
}

impl Planner<'_> {
    /// Takes predicates apart; `None` when the door can judge none of them. `sought`: integer columns of which a seek finds the rows with one value and no
    /// others. Its equality is not asked of them again.
    pub(super) fn door_filter(
        &mut self,
        scan: &TableScan,
        predicates: &[Expr],
        own: &FxHashSet<ColumnId>,
        layout: &Layout,
        sought: &[usize],
    ) -> Result<Option<DoorFilter>, SqlError> {
        let mut conjuncts = Vec::new();
        predicates.iter().for_each(|predicate| predicate.clone().split_conjuncts(&mut conjuncts));
        let before = conjuncts.len();
        for ordinal in sought {
            let is_its = |conjunct: &Expr| is_equality_of(scan, *ordinal, conjunct, own);
            // Of two, one is not sought.
            if conjuncts.iter().filter(|conjunct| is_its(conjunct)).count() == 1 {
                conjuncts.retain(|conjunct| !is_its(conjunct));
            }
        }
        let has_sought = conjuncts.len() < before;
        let (mut conditions, mut rest) = (Vec::new(), Vec::new());
        for conjunct in conjuncts {
            match self.door_condition(scan, &conjunct, own)? {
                Some(condition) => conditions.push(condition),
                None => rest.push(conjunct),
            }
        }
        if conditions.is_empty() && !has_sought {
            return Ok(None);
        }
        let rest = Expr::all(rest).map(|rest| self.predicate(&rest, layout)).transpose()?;
        Ok(Some(DoorFilter { conditions, rest }))
    }

    /// What the entries of an index tell of the rows that are looked up through it, its columns that are sought apart. The rows are judged by
    /// all predicates.
    pub(super) fn entry_filter(
        &mut self,
        scan: &TableScan,
        (index_id, sought): (i32, Vec<usize>),
        predicates: &[Expr],
        own: &FxHashSet<ColumnId>,
        layout: &Layout,
    ) -> Result<Option<DoorFilter>, SqlError> {
        let Some(door) = self.door_filter(scan, predicates, own, layout, &[])? else { return Ok(None) };
        let table = &scan.source.table;
        let is_told = |condition: &DoorCondition| {
            let other = match condition.kind {
                DoorKind::CompareColumn { other, .. } => other,
                _ => condition.ordinal,
            };
            !sought.contains(&condition.ordinal) && table.is_covered_by(index_id, &[condition.ordinal, other])
        };
        let conditions: Vec<DoorCondition> = door.conditions.into_iter().filter(is_told).collect();
        if conditions.is_empty() {
            return Ok(None);
        }
        let rest = Expr::all(predicates.iter().cloned());
        let rest = rest.map(|rest| self.predicate(&rest, layout)).transpose()?;
        Ok(Some(DoorFilter { conditions, rest }))
    }

    fn door_condition(
        &mut self,
        scan: &TableScan,
        conjunct: &Expr,
        own: &FxHashSet<ColumnId>,
    ) -> Result<Option<DoorCondition>, SqlError> {
        let (positive, is_negated) = match &conjunct.kind {
            ExprKind::Not(inner) => (&**inner, true),
            _ => (conjunct, false),
        };
        let found = match &positive.kind {
            ExprKind::IsNull(inner) => {
                judged_column(scan, inner).map(|ordinal| (ordinal, DoorKind::Null { is_null: !is_negated }))
            }
            ExprKind::Compare(op, left, right) => {
                let op = if is_negated { op.negated() } else { *op };
                self.door_comparison(scan, op, left, right, own)?
            }
            ExprKind::InList(left, list) if list.iter().all(|item| is_plain(item, own)) => {
                match judged_column(scan, left) {
                    Some(ordinal) if list.len() <= LIST_MAX => {
                        let values = self.nodes(list.iter(), &Layout::default())?;
                        let collation = positive.collation;
                        Some((ordinal, DoorKind::OneOf { values, collation, is_negated }))
                    }
                    _ => None,
                }
            }
            ExprKind::Like(like) => judged_column(scan, &like.input).and_then(|ordinal| {
                let pattern = known_pattern(like, positive.collation)?;
                Some((ordinal, DoorKind::Like { pattern: pattern.into(), is_negated }))
            }),
            _ => None,
        };
        Ok(found.map(|(ordinal, kind)| DoorCondition { ordinal, kind }))
    }

    fn door_comparison(
        &mut self,
        scan: &TableScan,
        op: CompareOp,
        left: &Expr,
        right: &Expr,
        own: &FxHashSet<ColumnId>,
    ) -> Result<Option<(usize, DoorKind)>, SqlError> {
        let (ordinal, op, value) = match (judged_column(scan, left), judged_column(scan, right)) {
            (Some(ordinal), Some(other)) if engine::compare_as_numbers(&left.sql_type, &right.sql_type) => {
                return Ok(Some((ordinal, DoorKind::CompareColumn { op, other })));
            }
            (Some(ordinal), _) if is_plain(right, own) => (ordinal, op, right),
            (_, Some(ordinal)) if is_plain(left, own) => (ordinal, op.flipped(), left),
            _ => return Ok(None),
        };
        let collation = comparison_collation(left, right);
        let value = self.node(value, &Layout::default())?;
        Ok(Some((ordinal, DoorKind::Compare { op, value, collation })))
    }
}

/// Is it `column = value`, both of one integer type, for this column of the scan?
fn is_equality_of(scan: &TableScan, ordinal: usize, conjunct: &Expr, own: &FxHashSet<ColumnId>) -> bool {
    let ExprKind::Compare(CompareOp::Equal, left, right) = &conjunct.kind else { return false };
    let is_it = |expr: &Expr| expr.as_column() == Some(scan.columns[ordinal]);
    let is_value = |expr: &Expr| is_plain(expr, own);
    (is_it(left) && is_value(right) || is_it(right) && is_value(left))
        && left.sql_type == right.sql_type
        && IntKind::of(&left.sql_type).is_some()
}

/// The column of the scan that an expression is, if conditions on it can be judged where its rows lie.
fn judged_column(scan: &TableScan, expr: &Expr) -> Option<usize> {
    let ExprKind::Column(id) = &expr.kind else { return None };
    let ordinal = scan.columns.iter().position(|own| own == id)?;
    let is_variant = scan.source.def.columns[ordinal].sql_type == types::SqlType::SqlVariant;
    (!is_variant && scan.source.table.judges_in_place(ordinal)).then_some(ordinal)
}

/// A value that is the same for all rows of the scan and costs nothing to have: a constant, a variable, an outer row's column, converted.
fn is_plain(expr: &Expr, own: &FxHashSet<ColumnId>) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Variable(_) => true,
        ExprKind::Column(id) => !own.contains(id),
        ExprKind::Convert(inner, _) => is_plain(inner, own),
        _ => false,
    }
}
