//! The check of a table (DBCC CHECKTABLE): structure of its heap or tree and of every index, large values, and whether each index agrees
//! with the rows, in both directions.
//!
//! The check holds a table lock S, so that only the ghost cleanup can change pages; an apparent problem that the cleanup may explain is checked again
//! with the cleanup blocked.

use access::{
    AccessError, Damage, KeyRange, LobPointer, Problem, UnitId, UnitKind, UnitToVerify, VerifyReport,
};
use txn::{IsolationLevel, LockError, LockMode};
use types::{SqlError, Value};

use super::entry::split_entry;
use super::{Base, RowLocator, ScanOptions, Secondary, Table};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::IndexDef;

/// The options of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckOptions {
    /// Structure only (PHYSICAL_ONLY).
    pub is_physical_only: bool,
    /// No nonclustered indexes of user tables (NOINDEX).
    pub skips_indexes: bool,
}

/// The result of a check of one table.
#[derive(Clone, Debug, Default)]
pub struct TableCheck {
    /// Rows.
    pub rows: u64,
    /// Pages of the heap or clustered index.
    pub pages: u64,
    /// Pages that are not where the maps say: errors of allocation.
    pub allocation_errors: Vec<SqlError>,
    /// All other problems.
    pub consistency_errors: Vec<SqlError>,
}

/// The most errors reported for one table.
const ERRORS_MAX: usize = 200;

/// Rows are read without locks: the table's lock is enough.
const READ: ScanOptions = ScanOptions {
    isolation: IsolationLevel::ReadUncommitted,
    row_lock: access::RowLock::Shared,
    wait: txn::LockWait::Session,
    skip_locked: false,
    keep_row: false,
    backward: false,
    table_lock: false,
    may_be_versioned: false,
    snapshot: None,
    counts_only: false,
};

impl TableCheck {
    fn note(&mut self, error: SqlError) {
        if self.consistency_errors.len() < ERRORS_MAX {
            self.consistency_errors.push(error);
        }
    }
}

impl Table {
    /// Checks the table; the result contains the problems.
    ///
    /// # Errors
    /// 1205, 1222, an interrupt; the marker of a stale plan. Not damage.
    pub fn check(&self, txn: &DbTransaction, options: CheckOptions) -> SqlResult<TableCheck> {
        txn.lock_object_for_statement(self.inner.definition.object_id, LockMode::S, txn.lock_wait())?;
        self.check_current()?;
        let mut found = TableCheck::default();
        let base = self.inner.definition.base();
        let kind = if matches!(self.inner.base, Base::Heap(_)) { UnitKind::Heap } else { UnitKind::BTree };
        let report = self.check_structure(base, kind, &mut found)?;
        let base_is_sound = report.problems.is_empty();
        (found.rows, found.pages) = (report.rows, report.pages);
        if base_is_sound {
            self.check_large_values(txn, base, None, &mut found)?;
        }
        if options.skips_indexes && !self.inner.definition.is_system {
            return Ok(found);
        }
        for (at, secondary) in self.inner.secondary.iter().enumerate() {
            let index = self.inner.index_of(at);
            let report = self.check_structure(index, UnitKind::BTree, &mut found)?;
            if !report.problems.is_empty() {
                continue;
            }
            self.check_large_values(txn, index, Some(secondary), &mut found)?;
            if base_is_sound && !options.is_physical_only {
                let matched = self.check_rows_have_entries(txn, at, &mut found)?;
                if matched != report.rows {
                    self.check_entries_have_rows(txn, at, &mut found)?;
                }
            }
        }
        Ok(found)
    }

    /// Pages, chains, keys and ownership of one heap or index.
    fn check_structure(
        &self,
        index: &IndexDef,
        kind: UnitKind,
        found: &mut TableCheck,
    ) -> SqlResult<VerifyReport> {
        let unit = UnitToVerify { unit: UnitId(index.unit), kind, page: index.root };
        let database = &self.inner.database;
        let look = || database.access.verify(&[unit], false);
        let mut report = look();
        stop_if_asked()?;
        if !report.as_ref().is_ok_and(|report| report.problems.is_empty()) {
            report = database.in_background(look).unwrap_or_else(look);
            stop_if_asked()?;
        }
        let report = report.unwrap_or_else(|error| {
            let problem = Problem { page: index.root, damage: Damage::Page, what: error.to_string() };
            VerifyReport { problems: vec![problem], ..VerifyReport::default() }
        });
        self.tell(index, &report, found);
        Ok(report)
    }

    fn check_large_values(
        &self,
        txn: &DbTransaction,
        index: &IndexDef,
        secondary: Option<&Secondary>,
        found: &mut TableCheck,
    ) -> SqlResult<()> {
        let format = secondary.map_or(&self.inner.format, |secondary| &secondary.format);
        if !format.may_have_lobs() {
            return Ok(());
        }
        let access = &self.inner.database.access;
        let mut pointers: Vec<LobPointer> = Vec::new();
        let read = self.for_each_stored_row(txn, secondary, &mut |row| {
            let pointed = format.lob_pointers(row)?;
            pointers.extend(pointed);
            if os::task::interrupt_pending() {
                Err(AccessError::Lock(LockError::Interrupted))
            } else {
                Ok(())
            }
        });
        let outcome = read.and_then(|()| access.verify_lobs(UnitId(index.unit), &pointers));
        stop_if_asked()?;
        match outcome {
            Ok(report) => self.tell(index, &report, found),
            Err(error) => {
                found.note(SqlError::new(8939, &[&self.id(), &index.index_id, &index.root, &error]));
            }
        }
        Ok(())
    }

    /// Passes the bytes of every row of the table, or of the stored columns of index entries.
    fn for_each_stored_row(
        &self,
        txn: &DbTransaction,
        secondary: Option<&Secondary>,
        work: &mut dyn FnMut(&[u8]) -> access::AccessResult<()>,
    ) -> access::AccessResult<()> {
        let tree = match (secondary, &self.inner.base) {
            (None, Base::Heap(heap)) => {
                let mut cursor = heap.scan(READ);
                while cursor.next(txn.inner())? {
                    work(cursor.row())?;
                }
                return Ok(());
            }
            (None, Base::Tree(tree)) => tree,
            (Some(secondary), _) => &secondary.tree,
        };
        let mut cursor = tree.scan(KeyRange::all(), READ);
        while cursor.next(txn.inner())? {
            let value = cursor.value();
            match secondary {
                None => work(value)?,
                Some(_) => split_entry(value, &self.inner.base).map_or(Ok(()), |(_, stored)| work(stored))?,
            }
        }
        Ok(())
    }

    /// Every row that satisfies the index's filter must have its entry, with the row's values. Returns the number of rows that have it.
    fn check_rows_have_entries(
        &self,
        txn: &DbTransaction,
        at: usize,
        found: &mut TableCheck,
    ) -> SqlResult<u64> {
        let mut matched = 0;
        let mut cursor = self.scan(txn, self.inner.definition.base().index_id, &READ, None)?;
        let mut row = Vec::new();
        loop {
            stop_if_asked()?;
            match cursor.next(txn, &mut row) {
                Ok(false) => return Ok(matched),
                Ok(true) => {}
                Err(error) => {
                    // A row that cannot be read ends the comparison.
                    found.note(error);
                    return Ok(matched);
                }
            }
            let locator = cursor.locator()?;
            if !self.inner.has_entry_of(at, &row) {
                continue;
            }
            if self.has_entry(txn, at, &row, &locator) {
                matched += 1;
            } else {
                let index = self.inner.index_of(at);
                let shown = self.shown_key(index, &row);
                found.note(SqlError::new(
                    8951,
                    &[&self.name(), &self.id(), &index_name(index), &index.index_id],
                ));
                found.note(SqlError::new(8955, &[&place_of(&locator), &shown]));
            }
        }
    }

    fn has_entry(&self, txn: &DbTransaction, at: usize, row: &[Value], locator: &RowLocator) -> bool {
        let secondary = &self.inner.secondary[at];
        let key = self.entry_key(at, row, locator);
        let mut entry = Vec::new();
        if !secondary.tree.get(txn.inner(), &key, &READ, &mut entry).unwrap_or(false) {
            return false;
        }
        let Some((found, stored)) = split_entry(&entry, &self.inner.base) else { return false };
        let mut values = Vec::new();
        let access = &self.inner.database.access;
        let decoded = secondary.format.decode(stored, &mut values, &mut |pointer| access.load_lob(pointer));
        let agrees = secondary.stored.iter().zip(&values).all(|(column, value)| row[*column] == *value);
        decoded.is_ok() && found == *locator && agrees
    }

    /// Every entry must have its row.
    fn check_entries_have_rows(
        &self,
        txn: &DbTransaction,
        at: usize,
        found: &mut TableCheck,
    ) -> SqlResult<()> {
        let secondary = &self.inner.secondary[at];
        let index = self.inner.index_of(at);
        let mut cursor = secondary.tree.scan(KeyRange::all(), READ);
        let mut row = Vec::new();
        while cursor.next(txn.inner()).map_err(|error| self.fail(txn, error))? {
            stop_if_asked()?;
            let locator = split_entry(cursor.value(), &self.inner.base).map(|(locator, _)| locator);
            let is_there = match &locator {
                Some(locator) => {
                    self.fetch(txn, locator, &READ, &mut row).unwrap_or(false)
                        && self.inner.has_entry_of(at, &row)
                        && self.entry_key(at, &row, locator) == cursor.key()
                }
                None => false,
            };
            if !is_there {
                found.note(SqlError::new(
                    8952,
                    &[&self.name(), &self.id(), &index_name(index), &index.index_id],
                ));
                let place = locator.as_ref().map_or_else(|| "no row".to_string(), place_of);
                found.note(SqlError::new(8956, &[&index_name(index), &place]));
            }
        }
        Ok(())
    }

    /// Problems of a structure as messages.
    fn tell(&self, index: &IndexDef, report: &VerifyReport, found: &mut TableCheck) {
        for Problem { page, damage, what } in &report.problems {
            let (number, is_allocation) = match damage {
                Damage::Page => (8939, false),
                Damage::Chain => (8978, false),
                Damage::KeyOrder => (8934, false),
                Damage::Owner => (2534, true),
                Damage::Unreached | Damage::UnknownUnit => (2533, true),
                Damage::Forwarding => (8993, false),
                Damage::UnusedLob => (8964, false),
                Damage::BrokenLob => (8965, false),
            };
            let error = SqlError::new(number, &[&self.id(), &index.index_id, page, what]);
            if is_allocation {
                found.allocation_errors.push(error);
            } else {
                found.note(error);
            }
        }
    }

    fn shown_key(&self, index: &IndexDef, row: &[Value]) -> String {
        let shown = index.key.iter().map(|k| {
            format!(
                "{} = {}",
                self.inner.definition.columns[k.ordinal].name,
                super::duplicate::shown_value(&row[k.ordinal])
            )
        });
        shown.collect::<Vec<_>>().join(" and ")
    }

    fn id(&self) -> i32 {
        self.inner.definition.object_id
    }

    fn name(&self) -> &str {
        &self.inner.definition.name
    }
}

fn index_name(index: &IndexDef) -> &str {
    index.name.as_deref().unwrap_or("")
}

/// Where a row is, in a message.
fn place_of(locator: &RowLocator) -> String {
    match locator {
        RowLocator::Heap(rid) => format!("RID = {}:{}", rid.page, rid.slot),
        RowLocator::Key(key) => {
            let hex: String = key.iter().take(32).map(|byte| format!("{byte:02x}")).collect();
            format!("KEY = {hex}")
        }
    }
}

/// KILL and attention end a long check.
fn stop_if_asked() -> SqlResult<()> {
    if os::task::interrupt_pending() { Err(crate::error::interrupted()) } else { Ok(()) }
}
