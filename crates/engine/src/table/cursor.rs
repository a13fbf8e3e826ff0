//! [`Cursor`]: the rows of a scan or seek, as values of the chosen columns. Rows come page by page: one latch gives a batch of rows,
//! and each row's columns are decoded when they are requested.

use std::ops::Range;
use std::sync::Arc;

use access::{BTreeCursor, Condition, HeapCursor, RowFormat, RowTest, Selection};
use rustc_hash::FxHashSet;
use txn::Snapshot;
use types::{SqlError, Value};

use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::read_point::check_point;
use crate::table::entry::{EntryKey, damaged, split_entry, split_entry_bytes};
use crate::table::look_up::Lookups;
use crate::table::{KeyRange, RowLocator, ScanOptions, Table, byte_range};

/// A running scan or seek. Holds no latch and does not borrow the transaction.
pub struct Cursor {
    table: Table,
    source: Source,
    options: ScanOptions,
    wanted: Wanted,
    /// Its snapshot, if it reads one; open as long as the cursor is.
    point: Option<Arc<Snapshot>>,
    /// The number of rows in the batch, and the current one among them.
    rows: usize,
    at: usize,
}

/// The columns to read, by their positions in the stored rows or index entries.
pub(crate) enum Wanted {
    All,
    Columns(Arc<[usize]>),
}

/// The result of a look-up.
pub(crate) enum Fetched {
    Row,
    /// The row exists, but does not satisfy the test.
    Unwanted,
    Gone,
}

/// The source of the rows.
pub(crate) enum Source {
    Heap(HeapCursor),
    Tree(BTreeCursor),
    /// A nonclustered index whose entries store all columns to read.
    Covering {
        cursor: BTreeCursor,
        at: usize,
    },
    /// A nonclustered index; the row itself is fetched for each entry.
    Secondary {
        cursor: BTreeCursor,
        at: usize,
        /// The conditions on rows.
        test: Option<RowTest>,
        key: Option<EntryKey>,
        locator: Option<RowLocator>,
        row: Vec<Value>,
    },
    /// A nonclustered index, for a reader that keeps no locks: rows are fetched in batches.
    LookedUp(Box<Lookups>),
}

impl Cursor {
    #[inline]
    pub(crate) fn new(
        table: Table,
        source: Source,
        options: ScanOptions,
        wanted: Wanted,
        point: Option<Arc<Snapshot>>,
    ) -> Cursor {
        Cursor { table, source, options, wanted, point, rows: 0, at: 0 }
    }

    /// Restarts it with another range of its index; `conditions` if they have changed. See [`Table::read`].
    pub fn restart(&mut self, range: &KeyRange, conditions: Option<Vec<Condition>>) {
        let table = self.table.clone();
        let inner = table.inner();
        let _charge = crate::table::io::charge(table.definition(), 1);
        let looks_up = matches!(self.source, Source::Secondary { .. } | Source::LookedUp(_));
        let (key, definition, index) = match &self.source {
            Source::Tree(_) => {
                let key = inner.clustered_key.as_ref().expect("a clustered table has a key");
                (key, inner.definition.base(), None)
            }
            Source::Covering { at, .. } | Source::Secondary { at, .. } => {
                (&inner.secondary[*at].key, inner.index_of(*at), Some(*at))
            }
            Source::LookedUp(lookups) => {
                (&inner.secondary[lookups.at].key, inner.index_of(lookups.at), Some(lookups.at))
            }
            Source::Heap(_) => unreachable!("a heap has no ranges"),
        };
        let range = byte_range(key, definition, range);
        (self.rows, self.at) = (0, 0);
        let (conditions, of_rows) = match conditions {
            Some(conditions) if looks_up => {
                let of_rows = table.test(None, conditions.clone());
                (Some(table.conditions_on_entries(index, conditions)), of_rows)
            }
            conditions => (conditions, None),
        };
        let selection = conditions.map(|conditions| Selection { test: table.test(index, conditions) });
        match &mut self.source {
            Source::Tree(cursor) | Source::Covering { cursor, .. } => {
                cursor.restart(range);
                selection.into_iter().for_each(|selection| cursor.select_anew(selection));
            }
            Source::Secondary { cursor, locator, test, .. } => {
                *locator = None;
                cursor.restart(range);
                if let Some(selection) = selection {
                    cursor.select_anew(selection);
                    *test = of_rows;
                }
            }
            Source::LookedUp(lookups) => {
                lookups.restart(range);
                selection.into_iter().for_each(|selection| lookups.select_anew(selection, of_rows.clone()));
            }
            Source::Heap(_) => unreachable!("asked above"),
        }
    }

    /// Moves to the next batch and returns its number of rows, 0 at the end. A reader that locks rows gets them one by one.
    ///
    /// # Errors
    /// 1205, 1222, 823, 824, 3958, 3960, 3966, or the statement was stopped.
    pub fn next_page(&mut self, txn: &DbTransaction) -> SqlResult<usize> {
        let _charge = crate::table::io::charge(self.table.definition(), 0);
        let found = match &mut self.source {
            Source::Heap(cursor) => cursor.next_page(txn.inner()),
            Source::Tree(cursor) | Source::Covering { cursor, .. } => cursor.next_page(txn.inner()),
            Source::Secondary { .. } => {
                let rows = self.next_by_index(txn)?;
                return check_point(self.point.as_ref()).map(|()| rows);
            }
            Source::LookedUp(lookups) => {
                (self.rows, self.at) = (0, 0);
                self.rows = lookups.fill(&self.table, txn, &self.options)?;
                return check_point(self.point.as_ref()).map(|()| self.rows);
            }
        };
        self.rows = found.map_err(|error| self.table.fail(txn, error))?;
        self.at = 0;
        check_point(self.point.as_ref())?;
        Ok(self.rows)
    }

    fn next_by_index(&mut self, txn: &DbTransaction) -> SqlResult<usize> {
        let Source::Secondary { cursor, locator: place, row, test, key, .. } = &mut self.source else {
            unreachable!("called for rows that are looked up")
        };
        (self.rows, self.at) = (0, 0);
        loop {
            if !cursor.next(txn.inner()).map_err(|error| self.table.fail(txn, error))? {
                *place = None;
                return Ok(0);
            }
            let (locator, stored) =
                split_entry(cursor.value(), &self.table.inner().base).ok_or_else(damaged)?;
            row.clear();
            let (table, options) = (&self.table, &self.options);
            let accepts = |row: &[u8]| {
                let is_wanted = test.as_ref().is_none_or(|test| test.accepts(row));
                let has_key = |key: &EntryKey| key.is_equal(table, stored, row, options);
                Ok(is_wanted && key.as_ref().map_or(Ok(true), has_key)?)
            };
            match table.fetch_columns(txn, &locator, options, (&self.wanted, &accepts), row)? {
                Fetched::Row => {
                    *place = Some(locator);
                    self.rows = 1;
                    return Ok(1);
                }
                Fetched::Unwanted => cursor.release_row(txn.inner()),
                // The row may have been deleted after its entry was read: then this reader does not see it.
                Fetched::Gone => {}
            }
        }
    }

    /// Appends values of one row of the batch: the chosen columns between two positions. Each may be read once only.
    ///
    /// # Errors
    /// 823, 824; 601 when a large value was deleted.
    #[inline]
    pub fn values(&mut self, at: usize, wanted: Range<usize>, out: &mut Vec<Value>) -> SqlResult<()> {
        assert!(at < self.rows, "the row is in hand");
        if wanted.is_empty() {
            return Ok(());
        }
        out.reserve(wanted.len());
        // This reads large values.
        let _charge = crate::table::io::charge(self.table.definition(), 0);
        let inner = self.table.inner();
        let (format, bytes) = match &mut self.source {
            Source::Heap(cursor) => (&inner.format, cursor.row_at(at)),
            Source::Tree(cursor) => (&inner.format, cursor.value_at(at)),
            Source::Covering { cursor, at: index } => {
                let (_, stored) = split_entry_bytes(cursor.value_at(at)).ok_or_else(damaged)?;
                (&inner.secondary[*index].format, stored)
            }
            Source::LookedUp(lookups) => (&inner.format, lookups.row(at)),
            Source::Secondary { row, .. } => {
                out.extend(row[wanted].iter_mut().map(std::mem::take));
                return Ok(());
            }
        };
        let access = &inner.database.access;
        let decoded = match &self.wanted {
            Wanted::All => access.decode_columns(format, bytes, wanted, out),
            Wanted::Columns(columns) => {
                access.decode_columns(format, bytes, columns[wanted].iter().copied(), out)
            }
        };
        decoded.map_err(|error| self.table.fail_reading(&self.options, error))
    }

    /// Appends the values of all chosen columns of the batch from row `first` on, row by row. Each row may be read once only.
    ///
    /// # Errors
    /// As [`Cursor::values`].
    pub fn values_from(&mut self, first: usize, out: &mut Vec<Value>) -> SqlResult<()> {
        assert!(first <= self.rows, "the rows are in hand");
        out.reserve((self.rows - first) * self.width());
        let _charge = crate::table::io::charge(self.table.definition(), 0);
        let inner = self.table.inner();
        let access = &inner.database.access;
        let (wanted, rows) = (&self.wanted, first..self.rows);
        let decode = |format: &RowFormat, bytes: &[u8], out: &mut Vec<Value>| match wanted {
            Wanted::All => access.decode_columns(format, bytes, 0..format.columns().len(), out),
            Wanted::Columns(columns) => access.decode_columns(format, bytes, columns.iter().copied(), out),
        };
        let decoded = match &mut self.source {
            Source::Heap(cursor) => {
                rows.into_iter().try_for_each(|at| decode(&inner.format, cursor.row_at(at), out))
            }
            Source::Tree(cursor) => {
                rows.into_iter().try_for_each(|at| decode(&inner.format, cursor.value_at(at), out))
            }
            Source::Covering { cursor, at: index } => {
                let format = &inner.secondary[*index].format;
                for at in rows {
                    let (_, stored) = split_entry_bytes(cursor.value_at(at)).ok_or_else(damaged)?;
                    decode(format, stored, out)
                        .map_err(|error| self.table.fail_reading(&self.options, error))?;
                }
                Ok(())
            }
            Source::LookedUp(lookups) => {
                rows.into_iter().try_for_each(|at| decode(&inner.format, lookups.row(at), out))
            }
            Source::Secondary { row, .. } => {
                assert!(rows.len() <= 1, "rows that are looked up come one by one");
                if !rows.is_empty() {
                    out.append(row);
                }
                Ok(())
            }
        };
        decoded.map_err(|error| self.table.fail_reading(&self.options, error))
    }

    /// The number of columns of a row.
    pub fn width(&self) -> usize {
        match &self.wanted {
            Wanted::All => self.table.definition().columns.len(),
            Wanted::Columns(columns) => columns.len(),
        }
    }

    /// The next row; false at the end.
    ///
    /// # Errors
    /// As [`Cursor::next_page`] and [`Cursor::values`].
    pub fn next(&mut self, txn: &DbTransaction, out: &mut Vec<Value>) -> SqlResult<bool> {
        self.at += 1;
        if self.at >= self.rows && self.next_page(txn)? == 0 {
            return Ok(false);
        }
        out.clear();
        self.values(self.at, 0..self.width(), out)?;
        Ok(true)
    }

    /// The locator of the current row of [`Cursor::next`].
    ///
    /// # Errors
    /// A stale plan, when there is no current row.
    pub fn locator(&self) -> SqlResult<RowLocator> {
        self.locator_at(self.at)
    }

    /// The locator of a row of the batch.
    ///
    /// # Errors
    /// A stale plan, when there is none; 824.
    pub fn locator_at(&self, at: usize) -> SqlResult<RowLocator> {
        if at >= self.rows {
            return Err(SqlError::stale_plan());
        }
        match &self.source {
            Source::Heap(cursor) => Ok(RowLocator::Heap(cursor.rid_at(at))),
            Source::Tree(cursor) => Ok(RowLocator::Key(cursor.key_at(at).into())),
            Source::Covering { cursor, .. } => {
                let entry = split_entry(cursor.value_at(at), &self.table.inner().base);
                entry.map(|(locator, _)| locator).ok_or_else(damaged)
            }
            Source::Secondary { locator, .. } => locator.clone().ok_or_else(SqlError::stale_plan),
            Source::LookedUp(lookups) => lookups.locator(at, &self.table.inner().base),
        }
    }

    /// The locator as a value ([`RowLocator::to_value`]).
    ///
    /// # Errors
    /// As [`Cursor::locator_at`].
    pub fn locator_value_at(&self, at: usize) -> SqlResult<Value> {
        match &self.source {
            Source::Tree(cursor) if at < self.rows => Ok(Value::binary(cursor.key_at(at))),
            _ => self.locator_at(at).map(|locator| locator.to_value()),
        }
    }

    /// Passes its bytes, in the form of index entries, to `work`.
    ///
    /// # Errors
    /// As [`Cursor::locator_at`], and those of `work`.
    pub(crate) fn with_locator_at(
        &self,
        at: usize,
        work: &mut dyn FnMut(&[u8]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        match &self.source {
            Source::Tree(cursor) if at < self.rows => work(cursor.key_at(at)),
            _ => self.locator_at(at)?.with_bytes(work),
        }
    }

    /// A hash of a row's locator, the same in every index that leads to the row; another row may have it, too.
    ///
    /// # Errors
    /// 824.
    pub fn row_name_at(&self, at: usize) -> SqlResult<u64> {
        let Source::Covering { cursor, .. } = &self.source else {
            unreachable!("entries of an index name rows")
        };
        let (locator, _) = split_entry_bytes(cursor.value_at(at)).ok_or_else(damaged)?;
        Ok(super::look_up::name_of(locator))
    }

    /// The rows that it has looked up in batches since it was made, whether they qualified or not; `None` if it looks up none.
    pub fn looked_up(&self) -> Option<u64> {
        match &self.source {
            Source::LookedUp(lookups) => Some(lookups.looked_up()),
            _ => None,
        }
    }

    /// Does it look up the rows that entries of an index name?
    pub fn looks_up(&self) -> bool {
        matches!(self.source, Source::Secondary { .. } | Source::LookedUp(_))
    }

    /// Of rows that are looked up in batches, looks up only those with one of these hashes. A reader that locks rows looks up all.
    pub fn look_up_only(&mut self, names: Arc<FxHashSet<u64>>) {
        if let Source::LookedUp(lookups) = &mut self.source {
            lookups.only(names);
        }
    }

    /// The current row does not qualify: releases a lock that was taken only to read it.
    pub fn release_row(&mut self, txn: &DbTransaction) {
        match &mut self.source {
            Source::Heap(cursor) => cursor.release_row(txn.inner()),
            Source::Tree(cursor) | Source::Covering { cursor, .. } => cursor.release_row(txn.inner()),
            Source::Secondary { cursor, locator, .. } => {
                cursor.release_row(txn.inner());
                if let Some(locator) = locator {
                    self.table.release(txn, locator, &self.options);
                }
            }
            Source::LookedUp(_) => {}
        }
    }
}

impl Source {
    /// Chooses the rows and columns to emit; for rows that are looked up, by conditions on their entries.
    pub(crate) fn select(&mut self, selection: Selection) {
        match self {
            Source::Heap(cursor) => cursor.select(selection),
            Source::Tree(cursor) | Source::Covering { cursor, .. } | Source::Secondary { cursor, .. } => {
                cursor.select(selection);
            }
            Source::LookedUp(lookups) => lookups.select(selection),
        }
    }
}
