//! Reading a table: a cursor over its heap or one of its indexes, with chosen columns and conditions evaluated in place;
//! and one row by its locator.

use std::sync::Arc;

use access::{BTreeCursor, Condition, RowTest, Selection, is_fixed_length};
use types::{SqlError, Value};

use super::cursor::{Cursor, Fetched, Source, Wanted};
use super::entry::EntryKey;
use super::look_up::Lookups;
use super::{Base, KeyRange, RowLocator, RowLock, ScanOptions, Table, byte_range, io};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;

impl Table {
    /// Do the entries of a nonclustered index store these columns (is it covering)?
    pub fn is_covered_by(&self, index_id: i32, columns: &[usize]) -> bool {
        let found = self.inner.secondary.iter().find(|secondary| secondary.index_id == index_id);
        found.is_some_and(|secondary| columns.iter().all(|column| secondary.stored.contains(column)))
    }

    /// Can conditions on this column be evaluated on stored rows: is its value always stored in the row?
    pub fn judges_in_place(&self, column: usize) -> bool {
        let format = &self.inner.format;
        is_fixed_length(&format.columns()[column].sql_type) || !format.may_have_lobs()
    }

    /// The rows of a range of an index that satisfy `conditions` (on the table's columns). For a covering index (its entries store all `columns`) the
    /// rows are neither read nor locked, unless they are to be locked for a change. When rows are looked up, the conditions on stored columns are
    /// evaluated on the entry first; the row, which is read after its entry and may have changed meanwhile, is tested by all conditions, and skipped
    /// when its key in the index has changed.
    ///
    /// # Errors
    /// 1205, 1222; the marker of a stale plan.
    pub fn read(
        &self,
        txn: &DbTransaction,
        index_id: i32,
        range: &KeyRange,
        options: &ScanOptions,
        columns: Option<&Arc<[usize]>>,
        conditions: Vec<Condition>,
    ) -> SqlResult<Cursor> {
        let mut conditions = conditions;
        let wants_none = columns.is_some_and(|columns| columns.is_empty());
        assert!(wants_none || !options.counts_only, "who wants columns does not only count rows");
        let _charge = io::charge(&self.inner.definition, 1);
        let inner = &self.inner;
        let index = inner.secondary.iter().position(|secondary| secondary.index_id == index_id);
        assert!(index.is_some() || index_id <= 1, "no plan reads a disabled index");
        let versioned = if inner.has_versions { txn.versioned_reading(options)? } else { None };
        let scans_heap = matches!(inner.base, Base::Heap(_)) && index.is_none();
        self.lock_for_read(txn, options, scans_heap, versioned.is_some())?;
        let point = versioned.map(|kind| txn.point(kind, inner.definition.object_id)).transpose()?;
        let options = &ScanOptions { snapshot: point.as_ref().map(|point| point.number()), ..*options };
        let all_of_table = || columns.map_or(Wanted::All, |columns| Wanted::Columns(columns.clone()));
        let (mut source, wanted) = match index {
            Some(at) => {
                let secondary = &inner.secondary[at];
                let may_cover = options.row_lock == RowLock::Shared;
                let wanted = columns.filter(|_| may_cover).and_then(|columns| secondary.places_of(columns));
                let reads_lobs =
                    wanted.as_ref().is_some_and(|places| secondary.format.may_have_lobs_in(places));
                // The entries decide which rows to look up.
                let counts_only = options.counts_only && wanted.is_some();
                let keep_row = options.keep_row || reads_lobs;
                let options = ScanOptions { keep_row, counts_only, ..*options };
                let range = byte_range(&secondary.key, inner.index_of(at), range);
                let cursor = secondary.tree.scan(range, options);
                match wanted {
                    Some(places) => (Source::Covering { cursor, at }, Wanted::Columns(places)),
                    None => {
                        let of_rows = self.test(None, conditions.clone());
                        conditions = self.conditions_on_entries(index, conditions);
                        (self.looking_up(cursor, at, of_rows, &options, columns), all_of_table())
                    }
                }
            }
            None => (self.read_base(range, options, columns), all_of_table()),
        };
        if !conditions.is_empty() {
            source.select(Selection { test: self.test(index, conditions) });
        }
        Ok(Cursor::new(self.clone(), source, *options, wanted, point))
    }

    /// Rows that are looked up by the entries of a cursor: in batches, if the reader keeps no locks.
    fn looking_up(
        &self,
        cursor: BTreeCursor,
        at: usize,
        test: Option<RowTest>,
        options: &ScanOptions,
        columns: Option<&Arc<[usize]>>,
    ) -> Source {
        let key = EntryKey::new(self, at, options);
        if self.keeping_for_lobs(options, columns.map(|columns| &**columns)).keeps_nothing() {
            return Source::LookedUp(Box::new(Lookups::new(cursor, at, test, key)));
        }
        Source::Secondary { cursor, at, test, key, locator: None, row: Vec::new() }
    }

    /// The conditions on rows that can be evaluated on an index's entries.
    pub(crate) fn conditions_on_entries(
        &self,
        index: Option<usize>,
        mut conditions: Vec<Condition>,
    ) -> Vec<Condition> {
        let secondary = &self.inner.secondary[index.expect("entries are those of a nonclustered index")];
        conditions.retain(|condition| {
            condition.columns().into_iter().all(|column| secondary.place_of(column).is_some())
        });
        conditions
    }

    #[inline]
    fn read_base(&self, range: &KeyRange, options: &ScanOptions, columns: Option<&Arc<[usize]>>) -> Source {
        let inner = &self.inner;
        let options = self.keeping_for_lobs(options, columns.map(|columns| &**columns));
        match &inner.base {
            Base::Heap(heap) => Source::Heap(heap.scan(options)),
            Base::Tree(tree) => {
                let key = inner.clustered_key.as_ref().expect("a clustered table has a key");
                Source::Tree(tree.scan(byte_range(key, inner.definition.base(), range), options))
            }
        }
    }

    /// Large values are read after their row: it stays locked until then.
    fn keeping_for_lobs(&self, options: &ScanOptions, columns: Option<&[usize]>) -> ScanOptions {
        let format = &self.inner.format;
        let reads_lobs =
            columns.map_or_else(|| format.may_have_lobs(), |columns| format.may_have_lobs_in(columns));
        ScanOptions { keep_row: options.keep_row || reads_lobs, ..*options }
    }

    pub(crate) fn test(&self, index: Option<usize>, mut conditions: Vec<Condition>) -> Option<RowTest> {
        if conditions.is_empty() {
            return None;
        }
        let Some(at) = index else {
            return Some(RowTest::new(self.inner.format.clone(), conditions, false));
        };
        let secondary = &self.inner.secondary[at];
        let place_of = |column: usize| secondary.place_of(column).expect("the index holds what is asked for");
        conditions.iter_mut().for_each(|condition| condition.move_columns(&place_of));
        Some(RowTest::new(secondary.format.clone(), conditions, true))
    }

    /// The row at a locator; false when it was deleted.
    ///
    /// # Errors
    /// 1205, 1222, 823, 824.
    pub fn fetch(
        &self,
        txn: &DbTransaction,
        locator: &RowLocator,
        options: &ScanOptions,
        out: &mut Vec<Value>,
    ) -> SqlResult<bool> {
        out.clear();
        let accepts = |_: &[u8]| Ok(true);
        let fetched = self.fetch_columns(txn, locator, options, (&Wanted::All, &accepts), out)?;
        Ok(matches!(fetched, Fetched::Row))
    }

    /// Fetches it and appends the values of the chosen columns, if the row qualifies; a lock that was taken only to read it is released
    /// otherwise.
    pub(crate) fn fetch_columns(
        &self,
        txn: &DbTransaction,
        locator: &RowLocator,
        options: &ScanOptions,
        (wanted, accepts): (&Wanted, &dyn Fn(&[u8]) -> SqlResult<bool>),
        out: &mut Vec<Value>,
    ) -> SqlResult<Fetched> {
        let _charge = io::charge(&self.inner.definition, 0);
        let columns = match wanted {
            Wanted::All => None,
            Wanted::Columns(columns) => Some(&**columns),
        };
        let held = self.keeping_for_lobs(options, columns);
        let keeps_for_lobs = held.keep_row && !options.keep_row;
        let mut bytes = Vec::new();
        let found = match (&self.inner.base, locator) {
            (Base::Heap(heap), RowLocator::Heap(rid)) => heap.fetch(txn.inner(), *rid, &held, &mut bytes),
            (Base::Tree(tree), RowLocator::Key(key)) => tree.get(txn.inner(), key, &held, &mut bytes),
            _ => return Err(SqlError::stale_plan()),
        };
        if !found.map_err(|error| self.fail(txn, error))? {
            return Ok(Fetched::Gone);
        }
        if !accepts(&bytes)? {
            self.release(txn, locator, &held);
            return Ok(Fetched::Unwanted);
        }
        let (access, format) = (&self.inner.database.access, &self.inner.format);
        let decoded = match columns {
            None => access.decode_columns(format, &bytes, 0..format.columns().len(), out),
            Some(columns) => access.decode_columns(format, &bytes, columns.iter().copied(), out),
        };
        if keeps_for_lobs && options.row_lock == RowLock::Shared {
            self.release(txn, locator, &held);
        }
        decoded.map(|()| Fetched::Row).map_err(|error| self.fail_reading(options, error))
    }
}

impl super::Secondary {
    /// The position of a table column in the entries.
    pub(super) fn place_of(&self, column: usize) -> Option<usize> {
        self.stored.iter().position(|stored| *stored == column)
    }

    /// The positions of several; `None` when one of them is not stored.
    fn places_of(&self, columns: &[usize]) -> Option<Arc<[usize]>> {
        columns.iter().map(|column| self.place_of(*column)).collect()
    }
}
