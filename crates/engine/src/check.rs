//! The check of a whole database (DBCC CHECKDB, CHECKALLOC): every table, and that every page has one owner.

use std::sync::Arc;

use access::UnitId;
use rustc_hash::FxHashSet;
use types::SqlError;

use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ObjectDef, ObjectId, TableDef};
use crate::table::{CheckOptions, TableCheck};

/// The number of a unit without the mark of a page whose unit was dropped.
const UNIT_BITS: u32 = u32::MAX >> 1;

impl Database {
    /// Its tables, those of the system first, by number.
    pub fn tables(&self) -> Vec<Arc<TableDef>> {
        let mut tables: Vec<Arc<TableDef>> = self.system_definitions().to_vec();
        let known: FxHashSet<ObjectId> = tables.iter().map(|table| table.object_id).collect();
        tables.extend(self.catalog().objects().into_iter().filter_map(|object| match object {
            ObjectDef::Table(table) if !known.contains(&table.object_id) => Some(table),
            _ => None,
        }));
        tables.sort_by_key(|table| (!table.is_system, table.object_id));
        tables
    }

    /// The allocation units of its tables and indexes.
    pub(crate) fn units(&self) -> FxHashSet<u32> {
        self.tables().iter().flat_map(|table| table.indexes.iter().map(|index| index.unit)).collect()
    }

    /// Checks one table as it is when its lock is granted; `None` when it has been dropped meanwhile. Its lock is given back.
    ///
    /// # Errors
    /// 1205, 1222, an interrupt. Not damage.
    pub fn check_table(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        options: CheckOptions,
    ) -> SqlResult<Option<TableCheck>> {
        let mut definition = Arc::clone(table);
        loop {
            let found = self.table(&definition).check(txn, options);
            txn.release_statement_locks();
            match found {
                Err(error) if error.is_stale_plan() => {}
                found => return found.map(Some),
            }
            match self.catalog().object(definition.object_id) {
                Some(ObjectDef::Table(now)) => definition = now,
                _ => return Ok(None),
            }
        }
    }

    /// Pages that the maps give to tables and indexes which do not exist, and pages of dropped ones and of large values that no transaction will
    /// free; and, per file, a map that calls a page free which was changed later.
    ///
    /// # Errors
    /// 823, 824 when a map cannot be read.
    pub fn check_allocation(&self) -> SqlResult<Vec<SqlError>> {
        // A unit that is in the maps at the first read and in no definition afterwards was dropped between, unless it is in the second read
        // too.
        let first = self.pages_of_nobody(|_| false)?;
        let known = self.units();
        let lost: FxHashSet<_> = first.into_iter().filter(|(_, unit)| !known.contains(&unit.0)).collect();
        let mut problems = self.check_free_pages();
        if lost.is_empty() {
            return Ok(problems);
        }
        let second = self.pages_of_nobody(|unit| known.contains(&unit.0))?;
        let both = second.into_iter().filter(|page| lost.contains(page));
        problems.extend(
            both.map(|(page, unit)| SqlError::new(8905, &[&page, &self.number(), &(unit.0 & UNIT_BITS)])),
        );
        Ok(problems)
    }

    /// The first wrong entry of the maps of each file.
    fn check_free_pages(&self) -> Vec<SqlError> {
        let files = self.space().file_numbers::<Vec<u16>>();
        files.into_iter().filter_map(|file| self.check_free_from(file, 0).err()).collect()
    }

    fn pages_of_nobody(&self, known: impl Fn(UnitId) -> bool) -> SqlResult<Vec<(pages::PageId, UnitId)>> {
        let found = self.access.pages_of_nobody(&self.txns, known);
        found.map_err(|error| crate::error::sql_error(&error.into(), self.name(), 0))
    }
}
