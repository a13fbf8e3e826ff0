//! What a scan asks of the door to its rows: the columns that are wanted, and the conditions that are judged on a row's bytes before it is
//! copied. What only values can tell (`rest`) is tested above, on the columns that it reads, before the others are decoded.

use std::sync::Arc;

use engine::TableDef;
use rustc_hash::FxHashSet;
use types::SqlError;

use super::Planner;
use super::compile::Layout;
use crate::bound::tree::{Expr, ExprKind, TableScan, comparison_collation};
use crate::kinds::ColumnId;
use crate::physical::plan::{DoorCondition, DoorFilter, DoorKind, ScanColumns};

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
    /// Takes predicates apart; `None` when the door can judge none of them.
    pub(super) fn door_filter(
        &mut self,
        scan: &TableScan,
        predicates: &[Expr],
        own: &FxHashSet<ColumnId>,
        layout: &Layout,
    ) -> Result<Option<DoorFilter>, SqlError> {
        let mut conjuncts = Vec::new();
        predicates.iter().for_each(|predicate| predicate.clone().split_conjuncts(&mut conjuncts));
        let (mut conditions, mut rest) = (Vec::new(), Vec::new());
        for conjunct in conjuncts {
            match self.door_condition(scan, &conjunct, own)? {
                Some(condition) => conditions.push(condition),
                None => rest.push(conjunct),
            }
        }
        if conditions.is_empty() {
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
        let Some(door) = self.door_filter(scan, predicates, own, layout)? else { return Ok(None) };
        let table = &scan.source.table;
        let is_told = |condition: &DoorCondition| {
            !sought.contains(&condition.ordinal) && table.is_covered_by(index_id, &[condition.ordinal])
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
        let ordinal_of = |expr: &Expr| match &expr.kind {
            ExprKind::Column(id) => scan.columns.iter().position(|own| own == id),
            _ => None,
        };
        let is_null_of = |expr: &Expr, is_null: bool| {
            let ordinal = ordinal_of(expr)?;
            Some(DoorCondition { ordinal, kind: DoorKind::Null { is_null } })
        };
        match &conjunct.kind {
            ExprKind::IsNull(inner) => Ok(is_null_of(inner, true)),
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(inner) => Ok(is_null_of(inner, false)),
                _ => Ok(None),
            },
            ExprKind::Compare(op, left, right) => {
                let (ordinal, op, value) = match (ordinal_of(left), ordinal_of(right)) {
                    (Some(ordinal), _) if is_plain(right, own) => (ordinal, *op, &**right),
                    (_, Some(ordinal)) if is_plain(left, own) => (ordinal, op.flipped(), &**left),
                    _ => return Ok(None),
                };
                if !engine::is_fixed_length(&type_of(&scan.source.def, ordinal)) {
                    return Ok(None);
                }
                let collation = comparison_collation(left, right);
                let value = self.node(value, &Layout::default())?;
                Ok(Some(DoorCondition { ordinal, kind: DoorKind::Compare { op, value, collation } }))
            }
            _ => Ok(None),
        }
    }
}

fn type_of(table: &TableDef, ordinal: usize) -> types::SqlType {
    table.columns[ordinal].sql_type
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
