//! DBCC SHRINKFILE of a data file: moves the pages at its end, then truncates it (docs/decisions/0042).
//!
//! ```text
//!  limit (no page behind it is allocated) ─► tables with pages there are built anew, each in a transaction ─► cut
//!  cut: limit at the last page in use ─► nothing behind it is in use ─► checkpoint ─► pages forgotten, file cut ─► no limit
//! ```
//! A thread that finds no free page while a file is being shrunk lifts the limit: then the file stays as large as needed.

use std::sync::Arc;

use pages::{FILE_PAGES_MIN, PageError};
use txn::{CommitMode, TxnOptions};
use types::SqlError;

use super::data_files::give_up;
use super::file_changes::storage_error;
use super::new_files::pages_of;
use super::{Instance, ShrinkAim, ShrunkFile};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ObjectDef, TableDef};

/// The options of a data file shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataShrink {
    /// The target size.
    pub aim: ShrinkAim,
    /// Whether the pages behind the target are moved: not with TRUNCATEONLY.
    pub moves: bool,
    /// Whether free pages at the end are removed: not with NOTRUNCATE.
    pub cuts: bool,
}

/// How often the shrink tries a table again that other transactions change meanwhile, and an end that they fill.
const TRIES_MAX: usize = 5;
/// Free pages needed for a rebuild of a table, besides its own number of pages.
const SPARE_PAGES: u64 = 8;

impl Instance {
    /// DBCC SHRINKFILE of a data file. EMPTYFILE leaves it closed: no page is allocated in it until MODIFY FILE gives it a size, or the next start.
    ///
    /// # Errors
    /// 2555 when EMPTYFILE cannot empty it; 1222 when a table cannot be locked in time; those of locks and storage.
    pub fn shrink_data_file(
        self: &Arc<Self>,
        database: &Arc<Database>,
        number: u16,
        how: DataShrink,
        lock_timeout_ms: i32,
    ) -> SqlResult<ShrunkFile> {
        let space = database.space();
        let find = || space.files().into_iter().find(|file| file.file_id == number);
        let file = find().ok_or_else(|| SqlError::new(5009, &[]))?;
        let created = file.created_pages.max(FILE_PAGES_MIN);
        let least = match how.aim {
            _ if !how.moves => FILE_PAGES_MIN,
            ShrinkAim::Bytes(bytes) => pages_of(bytes).max(FILE_PAGES_MIN),
            ShrinkAim::Created => created,
            ShrinkAim::CreatedOr(bytes) => pages_of(bytes).max(created),
            ShrinkAim::Empty => 0,
        };
        let failed = |error: PageError| storage_error(database, error.into());
        if how.aim == ShrinkAim::Empty {
            if number == 1 {
                return Err(SqlError::new(2555, &[&file.logical_name]));
            }
            let emptied = self.move_tail(database, number, 0, lock_timeout_ms);
            let is_empty = emptied.is_ok() && database.used_pages(number)? == 0;
            if !is_empty {
                space.limit_allocation(number, None).map_err(failed)?;
                return emptied.and(Err(SqlError::new(2555, &[&file.logical_name])));
            }
        } else if how.moves {
            let moved = self.move_tail(database, number, least, lock_timeout_ms);
            if !space.is_closed_to_allocation(number) {
                space.limit_allocation(number, None).map_err(failed)?;
            }
            moved?;
        }
        if how.cuts && how.aim != ShrinkAim::Empty {
            for _ in 0..TRIES_MAX {
                if self.cut(database, number, least)? {
                    break;
                }
            }
        }
        let current = find().map_or(0, |file| file.pages);
        Ok(ShrunkFile {
            current_pages: u64::from(current),
            minimum_pages: u64::from(created.min(current)),
            used_pages: database.used_pages(number)?,
            held: None,
        })
    }

    /// Rebuilds the tables with pages behind `limit`, as far as there is room before it and in other files; without a limit (0) at any
    /// size. System tables stay, and so do tempdb's, which belong to
    /// sessions.
    fn move_tail(
        self: &Arc<Self>,
        database: &Arc<Database>,
        number: u16,
        limit: u32,
        lock_timeout_ms: i32,
    ) -> SqlResult<()> {
        let failed =
            |error: access::AccessError| storage_error(database, crate::StorageError::Txn(error.into()));
        let is_closed = database.space().is_closed_to_allocation(number);
        if !is_closed {
            let limited = database.space().limit_allocation(number, Some(limit));
            limited.map_err(|error| storage_error(database, error.into()))?;
        }
        let tail = database.access.tail_of(number, limit).map_err(failed)?;
        if tail.units.is_empty() || database.is_volatile() {
            return Ok(());
        }
        for object in database.catalog().objects() {
            let ObjectDef::Table(table) = object else { continue };
            // The catalog's own tables stay where they are: the boot page names their roots, and their units are fixed.
            if table.is_system {
                continue;
            }
            let units: Vec<u32> =
                table.indexes.iter().filter(|index| index.has_unit()).map(|index| index.unit).collect();
            if table.base().is_disabled || !units.iter().any(|unit| tail.units.contains(unit)) {
                continue;
            }
            let counts = database.access.pages_of_units().map_err(failed)?;
            let needed: u64 = units.iter().filter_map(|unit| counts.get(unit)).sum();
            // Other files may grow when a file is emptied: the user asked for that.
            if limit == 0 || database.access.free_pages().map_err(failed)? >= needed + SPARE_PAGES {
                build_anew(database, &table, lock_timeout_ms)?;
            }
        }
        Ok(())
    }

    /// Truncates free pages at the end, down to `least`. False when another thread has allocated them meanwhile.
    fn cut(self: &Arc<Self>, database: &Arc<Database>, number: u16, least: u32) -> SqlResult<bool> {
        let _changing = self.changing.lock();
        let space = database.space();
        let failed = |error: PageError| storage_error(database, error.into());
        let end_of = || {
            let tail = database.access.tail_of(number, 0);
            tail.map(|tail| tail.end.max(least).max(FILE_PAGES_MIN))
                .map_err(|error| storage_error(database, crate::StorageError::Txn(error.into())))
        };
        let end = end_of()?;
        if end >= space.file_pages(number) {
            return Ok(true);
        }
        let is_closed = space.is_closed_to_allocation(number);
        if !is_closed {
            space.limit_allocation(number, Some(end)).map_err(failed)?;
        }
        // Checked again now that no page can be allocated there.
        let cut = end_of().and_then(|now| match now > end {
            true => Ok(false),
            false => database.check_free_from(number, end).and_then(|()| {
                give_up(
                    database,
                    |page| page.file == number && page.page >= end,
                    || space.truncate_file(number, end).map_err(failed),
                )
            }),
        });
        if !is_closed {
            space.limit_allocation(number, None).map_err(failed)?;
        }
        cut
    }
}

/// Moves a table with all its indexes to new pages; the old ones are free when it is done.
fn build_anew(database: &Arc<Database>, table: &Arc<TableDef>, lock_timeout_ms: i32) -> SqlResult<()> {
    let mut table = table.clone();
    for _ in 0..TRIES_MAX {
        crate::checkpoint::before_transaction(database);
        let transaction =
            DbTransaction::new(database.clone(), database.transactions().begin(TxnOptions::default()), 0);
        transaction.inner().space().set_lock_timeout_ms(lock_timeout_ms);
        let error = match database.build_anew(&transaction, &table) {
            Ok(()) => return transaction.commit(CommitMode::Full),
            Err(error) => error,
        };
        transaction.rollback()?;
        if !error.is_stale_plan() {
            return Err(error);
        }
        match database.catalog().object(table.object_id) {
            Some(ObjectDef::Table(present)) => table = present,
            _ => return Ok(()),
        }
    }
    Ok(())
}
