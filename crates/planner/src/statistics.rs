//! Selectivity from statistics, for columns that begin no index: the share of a table's rows that satisfy a condition, and the number of distinct
//! values. They are read while a plan is made, and never later.

use std::ops::Bound;
use std::sync::Arc;

use engine::{IndexFilter, StatisticsContent};
use plan_ir::bound::tree::{Expr, ExprKind, Rel, TableScan};
use plan_ir::kinds::{ColumnId, CompareOp};
use types::{Collation, Value};

use super::Planner;
use super::filter::KnownConditions;
use super::known::Estimates;
use super::sargable::Sargable;

/// Characters of a LIKE pattern that stand for others.
const WILDCARDS: [char; 3] = ['%', '_', '['];

/// A share by statistics of some rows alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Told {
    /// Of all rows of the table.
    OfAll(f64),
    /// Of those that the other conditions leave.
    OfOthers(f64),
}

impl Estimates<'_> {
    /// The share that a condition on one column leaves; `None` when nothing is known.
    pub(super) fn share_by_statistics(&self, found: &Sargable<'_>) -> Option<f64> {
        let content = self.scan.source.table.statistics_on(found.ordinal)?;
        self.share_in(&content, found)
    }

    /// The share by filtered statistics whose filter the statement implies. They describe the rows that the other conditions leave, whose
    /// share is counted with those conditions. If this condition itself implies the filter, the filter's share is counted here. A filter that both
    /// imply is not used: the share of each is unknown.
    pub(super) fn share_by_filtered_statistics(&self, found: &Sargable<'_>) -> Option<Told> {
        let (content, of_filter) = self.filtered(found.ordinal)?;
        let share = self.share_in(&content, found)?;
        Some(match of_filter {
            Some(of_filter) => Told::OfAll(share * of_filter),
            None => Told::OfOthers(share),
        })
    }

    /// Such statistics of a column, and the share of the rows that the filter lets in where the column's own conditions imply it.
    fn filtered(&self, ordinal: usize) -> Option<(Arc<StatisticsContent>, Option<f64>)> {
        let source = &self.scan.source;
        let is_about_it = |filter: &IndexFilter| filter.is_about(&[ordinal]);
        let accepts = |filter: &IndexFilter| {
            let is_pure = !is_about_it(filter) || filter.terms.iter().all(|term| term.ordinal == ordinal);
            is_pure && KnownConditions::of(self.predicates, self.scan).imply(filter, &source.def)
        };
        let (filter, content) = source.table.filtered_statistics_on(ordinal, &accepts)?;
        debug_assert!(
            filter.terms.iter().all(|term| term.ordinal < source.def.columns.len()),
            "a filter is about columns"
        );
        let let_in = content.rows as f64 / (content.unfiltered_rows.max(1) as f64);
        Some((content, is_about_it(&filter).then_some(let_in.min(1.0))))
    }

    fn share_in(&self, content: &StatisticsContent, found: &Sargable<'_>) -> Option<f64> {
        debug_assert!(!found.values.is_empty(), "a condition has a value");
        let collation = self.collation(found.ordinal);
        let known = |expr: &Expr| self.known(expr, found.ordinal);
        if found.is_like {
            let pattern = known(found.values[0])?.as_text()?;
            let beginning = pattern.split(WILDCARDS).next().unwrap_or_default();
            return Some(content.share_beginning_with(beginning));
        }
        let bounds = |value: Value| match found.op {
            CompareOp::Greater => content.share_between(Bound::Excluded(&value), Bound::Unbounded, collation),
            CompareOp::GreaterOrEqual => {
                content.share_between(Bound::Included(&value), Bound::Unbounded, collation)
            }
            CompareOp::Less => content.share_between(Bound::Unbounded, Bound::Excluded(&value), collation),
            _ => content.share_between(Bound::Unbounded, Bound::Included(&value), collation),
        };
        match found.op {
            CompareOp::Equal => {
                let of_value = |value: &&Expr| match known(value) {
                    Some(value) => content.share_of_value(&value, collation),
                    None => content.share_of_any_value(),
                };
                Some(found.values.iter().map(of_value).sum::<f64>().min(1.0))
            }
            CompareOp::NotEqual => None,
            _ => known(found.values[0]).map(bounds),
        }
    }

    /// The share of the rows between two bounds of one column; `None` when they are not known.
    pub(super) fn share_between(&self, lower: &Sargable<'_>, upper: &Sargable<'_>) -> Option<f64> {
        assert_eq!(lower.ordinal, upper.ordinal, "bounds of one column");
        let of_all = || Some((self.scan.source.table.statistics_on(lower.ordinal)?, None));
        let (content, of_filter) = self.filtered(lower.ordinal).or_else(of_all)?;
        let (from, to) =
            (self.known(lower.values[0], lower.ordinal)?, self.known(upper.values[0], upper.ordinal)?);
        let from = match lower.op {
            CompareOp::GreaterOrEqual => Bound::Included(&from),
            _ => Bound::Excluded(&from),
        };
        let to = match upper.op {
            CompareOp::LessOrEqual => Bound::Included(&to),
            _ => Bound::Excluded(&to),
        };
        Some(content.share_between(from, to, self.collation(lower.ordinal)) * of_filter.unwrap_or(1.0))
    }

    pub(super) fn ordinal_of(&self, expr: &Expr) -> Option<usize> {
        let ExprKind::Column(id) = &expr.kind else { return None };
        self.scan.columns.iter().position(|own| own == id)
    }

    pub(super) fn collation(&self, ordinal: usize) -> Collation {
        self.scan.source.def.columns[ordinal].collation
    }
}

impl Planner<'_> {
    /// Remembers where columns come from.
    pub(super) fn note_scan(&mut self, scan: &TableScan) {
        if self.scans.iter().all(|known| known.columns != scan.columns) {
            self.scans.push(scan.clone());
        }
    }

    /// How many different values a column has in its table.
    pub(super) fn distinct_of(&self, column: ColumnId) -> Option<f64> {
        self.scans.iter().find_map(|scan| distinct_values(scan, column))
    }
}

/// How many different values a table's column has, NULL among them: by the index that begins with it, or by statistics.
pub(super) fn distinct_values(scan: &TableScan, column: ColumnId) -> Option<f64> {
    let ordinal = scan.columns.iter().position(|own| *own == column)?;
    let source = &scan.source;
    let begins = |index: &&engine::IndexDef| {
        index.is_whole() && index.key.first().is_some_and(|key| key.ordinal == ordinal)
    };
    let by_index =
        source.def.indexes.iter().find(begins).and_then(|index| match index.unique && index.key.len() == 1 {
            true => Some(source.row_estimate()),
            false => source.table.density(index.index_id, 1).map(|found| found.distinct_values),
        });
    by_index.or_else(|| source.table.statistics_on(ordinal).map(|content| content.distinct_values().max(1.0)))
}

/// The distinct values of a column of a query, if it is an unchanged table column.
pub(super) fn distinct_values_of(rel: &Rel, column: ColumnId) -> Option<f64> {
    match rel {
        Rel::Table(scan) => distinct_values(scan, column),
        Rel::Project { input, items } => {
            let renamed = items.iter().find(|item| item.0 == column).map(|item| &item.1.kind);
            match renamed {
                Some(ExprKind::Column(below)) => distinct_values_of(input, *below),
                Some(_) => None,
                None => distinct_values_of(input, column),
            }
        }
        Rel::SetOp { .. } | Rel::Recursive { .. } => None,
        other => other.inputs().into_iter().find_map(|input| distinct_values_of(input, column)),
    }
}
