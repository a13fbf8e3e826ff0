//! A base table and a sequence as plans hold them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use engine::{Database, SequenceDef, Table, TableDef};

use crate::context::SetOptions;
use crate::names::same_name;

/// A table is thought to have so many rows at least: it may grow under its plan, and a seek is right for both.
const ROWS_LEAST: f64 = 1000.0;
/// No plan hangs on the number of rows.
const NEVER_PLANNED: u64 = u64::MAX;

/// A table of a database with its access handle.
pub(crate) struct TableSource {
    pub(crate) database: Arc<Database>,
    pub(crate) def: Arc<TableDef>,
    pub(crate) table: Table,
    /// The rows that a plan was made for; [`NEVER_PLANNED`] when none hangs on them.
    planned_rows: AtomicU64,
}

impl TableSource {
    /// Opens the handle.
    pub(crate) fn new(database: Arc<Database>, def: Arc<TableDef>) -> TableSource {
        let table = database.table(&def);
        TableSource { database, def, table, planned_rows: AtomicU64::new(NEVER_PLANNED) }
    }

    /// Name of its schema.
    pub(crate) fn schema(&self) -> &str {
        &self.def.schema
    }

    /// `database.schema.table`, as messages name it.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}.{}", self.database.name(), self.schema(), self.def.name)
    }

    /// `schema.table`.
    pub(crate) fn two_part_name(&self) -> String {
        format!("{}.{}", self.schema(), self.def.name)
    }
}

impl std::fmt::Debug for TableSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.full_name())
    }
}

impl TableSource {
    /// Rows the table is thought to have.
    pub(crate) fn row_estimate(&self) -> f64 {
        (self.table.row_count_estimate() as f64).max(ROWS_LEAST)
    }

    /// A plan is made that would be another one for more rows, or fewer.
    pub(crate) fn note_planned(&self) {
        self.planned_rows.store(self.table.row_count_estimate(), Relaxed);
    }

    /// Has a plan been made that hangs on the number of rows?
    pub(crate) fn is_planned_by_rows(&self) -> bool {
        self.planned_rows.load(Relaxed) != NEVER_PLANNED
    }

    /// Has the table another size than the plan was made for?
    pub(crate) fn has_other_size(&self) -> bool {
        let (planned, rows) = (self.planned_rows.load(Relaxed), self.table.row_count_estimate());
        planned != NEVER_PLANNED && rows.abs_diff(planned) > recompile_threshold(planned)
    }
}

/// A sequence of a database.
pub(crate) struct SequenceSource {
    pub(crate) database: Arc<Database>,
    pub(crate) def: Arc<SequenceDef>,
}

impl SequenceSource {
    /// Is it the same sequence?
    pub(crate) fn is(&self, other: &SequenceSource) -> bool {
        Arc::ptr_eq(&self.database, &other.database) && self.def.object_id == other.def.object_id
    }
}

impl std::fmt::Debug for SequenceSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.database.name(), self.def.schema, self.def.name)
    }
}

/// By so many rows a table of `rows` may change before its plans are made anew: the thresholds of SQL Server's statistics since 2016
/// (learn.microsoft.com, "Statistics", AUTO_UPDATE_STATISTICS: 500 for up to 500 rows, then the lesser of 500 + 20 % and the square root of 1,000 times
/// the rows). They count modifications there, and the difference of the numbers of rows here.
fn recompile_threshold(rows: u64) -> u64 {
    match rows {
        0..=500 => 500,
        _ => (500 + rows / 5).min(rows.saturating_mul(1000).isqrt()),
    }
}

#[cfg(test)]
mod tests {
    use super::recompile_threshold;

    #[test]
    fn small_tables_change_by_500_rows_and_large_ones_by_few_in_a_hundred() {
        assert_eq!(recompile_threshold(0), 500);
        assert_eq!(recompile_threshold(1000), 700);
        // The page's own example: 2,000,000 rows, the lesser of 400,500 and 44,721.
        assert_eq!(recompile_threshold(2_000_000), 44_721);
    }
}

/// Is SET IDENTITY_INSERT ON for the table?
pub(crate) fn is_identity_insert_on(options: &SetOptions, source: &TableSource) -> bool {
    options.identity_insert.as_ref().is_some_and(|(database, schema, table)| {
        same_name(database, source.database.name())
            && same_name(schema, source.schema())
            && same_name(table, &source.def.name)
    })
}
