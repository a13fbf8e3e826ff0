//! A base table and a sequence as plans hold them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use engine::{Database, SequenceDef, StatisticsContent, Table, TableDef};

use crate::context::SetOptions;
use crate::names::same_name;

/// The least row count for estimates: a table may grow during the life of its plan, and a seek is right for both sizes.
const ROWS_LEAST: f64 = 1000.0;
/// No plan depends on the number of rows.
const NEVER_PLANNED: u64 = u64::MAX;
/// The compatibility level whose thresholds hold for plans, whatever the database's: they say how soon a plan looks again.
const THRESHOLD_LEVEL: u8 = 130;

/// A table of a database with its access handle.
pub struct TableSource {
    pub database: Arc<Database>,
    pub def: Arc<TableDef>,
    pub table: Table,
    /// The rows that a plan was made for; [`NEVER_PLANNED`] when no plan depends on them.
    planned_rows: AtomicU64,
    /// The table's count of changes then, and which statistics it had.
    planned_changes: AtomicU64,
    planned_statistics: AtomicU64,
}

impl TableSource {
    /// Opens the handle.
    pub fn new(database: Arc<Database>, def: Arc<TableDef>) -> TableSource {
        let table = database.table(&def);
        TableSource {
            database,
            def,
            table,
            planned_rows: AtomicU64::new(NEVER_PLANNED),
            planned_changes: AtomicU64::new(0),
            planned_statistics: AtomicU64::new(0),
        }
    }

    /// Name of its schema.
    pub fn schema(&self) -> &str {
        &self.def.schema
    }

    /// `database.schema.table`, as messages name it.
    pub fn full_name(&self) -> String {
        format!("{}.{}.{}", self.database.name(), self.schema(), self.def.name)
    }

    /// `schema.table`.
    pub fn two_part_name(&self) -> String {
        format!("{}.{}", self.schema(), self.def.name)
    }
}

impl std::fmt::Debug for TableSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.full_name())
    }
}

impl TableSource {
    /// Rows the table is thought to have.
    pub fn row_estimate(&self) -> f64 {
        (self.table.row_count_estimate() as f64).max(ROWS_LEAST)
    }

    /// A plan is made that would be another one for more rows, or fewer, or other ones.
    pub fn note_planned(&self) {
        self.planned_rows.store(self.table.row_count_estimate(), Relaxed);
        self.planned_changes.store(self.table.modifications(), Relaxed);
        self.planned_statistics.store(self.table.statistics_version(), Relaxed);
    }

    /// Has a plan been made that depends on the number of rows?
    pub fn is_planned_by_rows(&self) -> bool {
        self.planned_rows.load(Relaxed) != NEVER_PLANNED
    }

    /// Has the table another size than the plan was made for, have as many rows been changed as make statistics stale, or has it other
    /// statistics?
    pub fn has_other_rows(&self) -> bool {
        let planned = self.planned_rows.load(Relaxed);
        if planned == NEVER_PLANNED {
            return false;
        }
        let changed = self.table.modifications().saturating_sub(self.planned_changes.load(Relaxed));
        let differs = self.table.row_count_estimate().abs_diff(planned).max(changed);
        differs > StatisticsContent::threshold(planned, THRESHOLD_LEVEL)
            || self.table.statistics_version() != self.planned_statistics.load(Relaxed)
    }
}

/// A sequence of a database.
pub struct SequenceSource {
    pub database: Arc<Database>,
    pub def: Arc<SequenceDef>,
}

impl SequenceSource {
    /// Is it the same sequence?
    pub fn is(&self, other: &SequenceSource) -> bool {
        Arc::ptr_eq(&self.database, &other.database) && self.def.object_id == other.def.object_id
    }
}

impl std::fmt::Debug for SequenceSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.database.name(), self.def.schema, self.def.name)
    }
}

/// Is SET IDENTITY_INSERT ON for the table?
pub fn is_identity_insert_on(options: &SetOptions, source: &TableSource) -> bool {
    options.identity_insert.as_ref().is_some_and(|(database, schema, table)| {
        same_name(database, source.database.name())
            && same_name(schema, source.schema())
            && same_name(table, &source.def.name)
    })
}
