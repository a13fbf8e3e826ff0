//! The input of estimates: the table, all conditions on it, and the values that are known before the statement runs.

use plan_ir::bound::tree::{Expr, TableScan};
use plan_ir::bound::variable_ranges::VariableRanges;
use types::{ConvertContext, Value};

use super::filter::constant_value;

/// The estimates of one table.
pub(super) struct Estimates<'s> {
    pub(super) scan: &'s TableScan,
    /// Its rows.
    pub(super) total: f64,
    /// All that is asked of it.
    pub(super) predicates: &'s [Expr],
    /// The ranges between variables, as far as their widths are known.
    pub(super) ranges: &'s VariableRanges,
}

impl<'s> Estimates<'s> {
    pub(super) fn new(
        scan: &'s TableScan,
        total: f64,
        predicates: &'s [Expr],
        ranges: &'s VariableRanges,
    ) -> Estimates<'s> {
        Estimates { scan, total, predicates, ranges }
    }

    /// A value that is known before the statement runs, or the column's nearest one.
    pub(super) fn known(&self, expr: &Expr, ordinal: usize) -> Option<Value> {
        let value = constant_value(expr, &ConvertContext::default())?;
        let column = &self.scan.source.def.columns[ordinal];
        match expr.sql_type == column.sql_type {
            true => Some(value),
            false => Some(types::nearest(&value, &column.sql_type, column.collation)?.value),
        }
    }
}
