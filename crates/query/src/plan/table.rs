//! A base table and a sequence as plans hold them.

use std::sync::Arc;

use engine::{Database, SequenceDef, Table, TableDef};

/// A table is thought to have so many rows at least: it may grow under its plan, and a seek is right for both.
const ROWS_LEAST: f64 = 1000.0;
/// A table of a database with its access handle.
pub(crate) struct TableSource {
    pub(crate) database: Arc<Database>,
    pub(crate) def: Arc<TableDef>,
    pub(crate) table: Table,
}

impl TableSource {
    /// Opens the handle.
    pub(crate) fn new(database: Arc<Database>, def: Arc<TableDef>) -> TableSource {
        let table = database.table(&def);
        TableSource { database, def, table }
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
