//! [`Table`]: rows by value over heaps and trees. Maintains every index of a table; knows nothing of expressions or constraints
//! other than unique keys.
//!
//! A locator is the row's address in a heap or its key in a clustered index (with a uniquifier when the index is not unique). An entry of
//! a nonclustered index is: key = the key columns (and the locator when the index is not unique); value = the length of the locator (2
//! bytes), the locator, and the index's stored columns as a small row.

mod build;
mod byte_range;
mod check;
mod cursor;
mod delete;
mod duplicate;
mod entries;
mod entry;
mod failures;
mod identity_values;
mod image;
mod insert_many;
mod insert_new;
pub(crate) mod io;
mod key_length;
mod locator;
mod look_up;
mod read;
mod rows;
mod run;
mod sampling;
mod sorted_runs;
mod stop;
mod update;
mod usage;
mod uses;

use std::ops::Bound;
use std::sync::Arc;

use access::{
    BTree, BTreeDef, Heap, HeapDef, Inserted, KeyColumn, KeyFormat, Rid, RowColumn, RowFormat, UnitId,
};
use smallvec::SmallVec;
use txn::{IsolationLevel, LockMode, LockWait};
use types::{SqlError, Value};

use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::row_counts::RowCount;
use crate::schema::{IndexDef, IndexKind, ObjectDef, TableDef};
pub use cursor::Cursor;

pub use access::{RowLock, ScanOptions};
pub(crate) use build::Builder;
pub use build::GatheredMemory;
pub(crate) use byte_range::byte_range;
pub use check::{CheckOptions, TableCheck};
pub use delete::{Deletion, Victim};
pub use insert_many::GatheredEntries;
pub use insert_new::NewRow;
pub use sampling::SampleSize;
pub use update::{Halves, RowChange};

/// Bytes of the uniquifier at the end of a key of a clustered index that is not unique.
const UNIQUIFIER_BYTES: usize = 8;

/// The location of a row: stored in nonclustered index entries, and used by UPDATE and DELETE.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowLocator {
    /// Address in a heap.
    Heap(Rid),
    /// Key in the clustered index.
    Key(Arc<[u8]>),
}

/// The values of a bound. Most keys are short and a seek has two bounds, so short ones need no heap memory.
pub type KeyValues = SmallVec<[Value; 2]>;

/// A range of an index by the values of its first key columns; a bound may name fewer columns than the index has.
#[derive(Clone, Debug)]
pub struct KeyRange {
    /// Its begin, in the order of values (not of DESC).
    pub lower: Bound<KeyValues>,
    /// Its end.
    pub upper: Bound<KeyValues>,
    /// A prefix of the text in the column after those of the bounds (`LIKE 'text%'`). Both bounds then have the same values, or none.
    /// The range may contain more rows: the caller tests each.
    pub text_prefix: Option<Value>,
}

impl KeyRange {
    /// Every row.
    pub fn all() -> KeyRange {
        KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded, text_prefix: None }
    }

    /// The rows whose first key columns have these values.
    pub fn equal(values: impl Into<KeyValues>) -> KeyRange {
        let values = values.into();
        KeyRange::between(Bound::Included(values.clone()), Bound::Included(values))
    }

    /// The rows between two bounds.
    pub fn between<V: Into<KeyValues>>(lower: Bound<V>, upper: Bound<V>) -> KeyRange {
        KeyRange { lower: lower.map(V::into), upper: upper.map(V::into), text_prefix: None }
    }
}

/// A handle to a table. Cheap to clone; made once per plan.
#[derive(Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) database: Arc<Database>,
    pub(crate) definition: Arc<TableDef>,
    /// It is being built and not in the catalog yet.
    is_unpublished: bool,
    /// Its rows have versions, if the database keeps any: not those of system tables, of tempdb, or of a table being built.
    pub(crate) has_versions: bool,
    /// The catalog's version at which the definition was last valid.
    version: std::sync::atomic::AtomicU64,
    pub(crate) base: Base,
    /// Its row count.
    row_count: Arc<RowCount>,
    pub(crate) format: Arc<RowFormat>,
    pub(crate) clustered_key: Option<KeyFormat>,
    pub(crate) secondary: Vec<Secondary>,
    /// For each index: can a row's key be longer than the limit?
    may_overflow: Vec<bool>,
}

/// The structure that holds the rows.
pub(crate) enum Base {
    Heap(Heap),
    Tree(BTree),
}

/// A nonclustered index.
pub(crate) struct Secondary {
    pub(crate) index_id: i32,
    /// Its index in `TableDef::indexes`: disabled ones are not here.
    position: usize,
    pub(crate) tree: BTree,
    pub(crate) key: KeyFormat,
    /// Columns stored in the entries, by position in the table.
    pub(crate) stored: Vec<usize>,
    pub(crate) format: Arc<RowFormat>,
    /// The number of its entries, if it has a filter.
    entry_count: Option<Arc<RowCount>>,
}

impl Inner {
    /// The definition of a nonclustered index by its position among the enabled ones.
    pub(crate) fn index_of(&self, at: usize) -> &IndexDef {
        &self.definition.indexes[self.secondary[at].position]
    }

    /// Has a row an entry in the index? Not if the filter excludes it.
    pub(crate) fn has_entry_of(&self, at: usize, row: &[Value]) -> bool {
        self.index_of(at).filter.as_ref().is_none_or(|filter| filter.accepts(&self.definition, row))
    }
}

impl Database {
    /// A handle to a table of this database.
    pub fn table(self: &Arc<Self>, definition: &Arc<TableDef>) -> Table {
        Table::new(self.clone(), definition.clone(), false)
    }

    /// A handle to a table that is being built.
    pub(crate) fn unpublished_table(self: &Arc<Self>, definition: &Arc<TableDef>) -> Table {
        Table::new(self.clone(), definition.clone(), true)
    }
}

impl Table {
    pub(crate) fn new(database: Arc<Database>, definition: Arc<TableDef>, is_unpublished: bool) -> Table {
        let version = database.catalog().version();
        let object = definition.object_id as u32;
        let access = database.access.clone();
        // A reader whose snapshot is older than the build is refused (3961).
        let has_versions = !is_unpublished && !definition.is_system && !database.is_volatile();
        let tree = |index: &IndexDef| {
            let tree = access.btree(BTreeDef { object, unit: UnitId(index.unit), root: index.root });
            if has_versions { tree } else { tree.without_versions() }
        };
        let base_index = definition.base();
        let (base, clustered_key) = match base_index.kind {
            IndexKind::Heap => {
                let unit = UnitId(base_index.unit);
                let heap = access.heap(HeapDef { object, unit, first_page: base_index.root });
                (Base::Heap(if has_versions { heap } else { heap.without_versions() }), None)
            }
            _ => (Base::Tree(tree(base_index)), Some(key_format(&definition, base_index))),
        };
        let all: Vec<usize> = (0..definition.columns.len()).collect();
        let kept = definition.indexes.iter().enumerate().skip(1).filter(|(_, index)| index.has_unit());
        let secondary = kept.map(|(position, index)| {
            let stored = stored_columns(&definition, index);
            Secondary {
                index_id: index.index_id,
                position,
                tree: tree(index),
                key: key_format(&definition, index),
                format: Arc::new(row_format(&definition, &stored)),
                stored,
                entry_count: index.filter.as_ref().map(|_| database.row_counts.of(index.unit)),
            }
        });
        let may_overflow = definition.indexes.iter().map(|index| index.may_overflow(&definition));
        let inner = Inner {
            may_overflow: may_overflow.collect(),
            row_count: database.row_counts.of(base_index.unit),
            secondary: secondary.collect(),
            format: Arc::new(row_format(&definition, &all)),
            database,
            is_unpublished,
            has_versions,
            version: std::sync::atomic::AtomicU64::new(version),
            base,
            clustered_key,
            definition,
        };
        Table { inner: Arc::new(inner) }
    }

    /// Can its rows be read from a snapshot?
    pub fn has_versions(&self) -> bool {
        self.inner.has_versions
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Its definition.
    pub fn definition(&self) -> &Arc<TableDef> {
        &self.inner.definition
    }

    /// Its database.
    pub fn database(&self) -> &Arc<Database> {
        &self.inner.database
    }

    /// Every row, in the order of an index (its number; 0 or 1 is the heap or clustered index).
    ///
    /// # Errors
    /// 1205, 1222; the marker of a stale plan.
    pub fn scan(
        &self,
        txn: &DbTransaction,
        index_id: i32,
        options: &ScanOptions,
        columns: Option<&Arc<[usize]>>,
    ) -> SqlResult<Cursor> {
        self.seek(txn, index_id, &KeyRange::all(), options, columns)
    }

    /// The rows of a range of an index. `columns`: the columns to read, in this order; `None`: all.
    ///
    /// # Errors
    /// As `scan`.
    pub fn seek(
        &self,
        txn: &DbTransaction,
        index_id: i32,
        range: &KeyRange,
        options: &ScanOptions,
        columns: Option<&Arc<[usize]>>,
    ) -> SqlResult<Cursor> {
        self.read(txn, index_id, range, options, columns, Vec::new())
    }
    /// Releases the lock that `fetch` kept on a row that was not changed.
    pub fn release(&self, txn: &DbTransaction, locator: &RowLocator, options: &ScanOptions) {
        match (&self.inner.base, locator) {
            (Base::Heap(heap), RowLocator::Heap(rid)) => heap.release(txn.inner(), *rid, options),
            (Base::Tree(tree), RowLocator::Key(key)) => tree.release(txn.inner(), key, options),
            _ => {}
        }
    }

    /// Inserts a row: one value per column, of the column's type.
    ///
    /// # Errors
    /// 2627 and 2601 for a key that exists, 511, 1205, 1222, 9002, 1105.
    pub fn insert(&self, txn: &DbTransaction, row: &[Value]) -> SqlResult<()> {
        let _charge = io::charge(&self.inner.definition, 0);
        self.lock_for_write(txn)?;
        let locator = self.insert_base(txn, row)?;
        for at in 0..self.inner.secondary.len() {
            self.insert_entry(txn, at, row, &locator)?;
        }
        Ok(())
    }

    /// Deletes the row of a unique clustered index by its key values; no row is no error.
    pub(crate) fn delete_key(&self, txn: &DbTransaction, key: &[Value]) -> SqlResult<()> {
        self.take_key(txn, key).map(|_| ())
    }

    /// Deletes it and returns the row.
    pub(crate) fn take_key(&self, txn: &DbTransaction, key: &[Value]) -> SqlResult<Option<Vec<Value>>> {
        let locator = self.key_locator(key);
        let mut row = Vec::new();
        let options = ScanOptions { row_lock: RowLock::Exclusive, ..ScanOptions::default() };
        self.lock_for_write(txn)?;
        if self.fetch(txn, &locator, &options, &mut row)? {
            self.delete(txn, &locator, &row)?;
            return Ok(Some(row));
        }
        Ok(None)
    }

    /// Passes every row to `work`, in the order of the heap or clustered index.
    pub(crate) fn for_each_row(
        &self,
        txn: &DbTransaction,
        work: &mut dyn FnMut(&[Value]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let every: Vec<usize> = (0..self.inner.definition.columns.len()).collect();
        self.for_each_located(txn, &every, &mut |row, _| work(row))
    }

    /// Also passes each row's locator, in the form of index entries. Columns that are not `wanted` (positions, ascending) are NULL.
    pub(crate) fn for_each_located(
        &self,
        txn: &DbTransaction,
        wanted: &[usize],
        work: &mut dyn FnMut(&[Value], &[u8]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let options = ScanOptions { isolation: txn.isolation(), ..ScanOptions::default() };
        let columns: Arc<[usize]> = wanted.into();
        let mut cursor = self.scan(txn, self.inner.definition.base().index_id, &options, Some(&columns))?;
        let mut found = Vec::new();
        let mut row = vec![Value::Null; self.inner.definition.columns.len()];
        loop {
            let rows = cursor.next_page(txn)?;
            if rows == 0 {
                return Ok(());
            }
            // Row by row, because a row may have large values.
            for at in 0..rows {
                found.clear();
                cursor.values(at, 0..wanted.len(), &mut found)?;
                for (column, value) in wanted.iter().zip(&mut found) {
                    row[*column] = std::mem::take(value);
                }
                cursor.with_locator_at(at, &mut |locator| work(&row, locator))?;
            }
        }
    }

    /// Locks the table before its rows are read: IS (or S, IX, X by the hints); only Sch-S under READ UNCOMMITTED. A serializable scan of a heap has
    /// no key ranges to lock, so it locks the table. Locks that only protect reading last as long as the isolation level says.
    fn lock_for_read(
        &self,
        txn: &DbTransaction,
        options: &ScanOptions,
        scans_heap: bool,
        is_versioned: bool,
    ) -> SqlResult<()> {
        if self.inner.has_versions {
            txn.check_level(options.isolation)?;
        }
        let reads = options.row_lock == RowLock::Shared;
        let is_whole =
            options.table_lock || (scans_heap && options.isolation == IsolationLevel::Serializable);
        let mode = match (is_whole, reads, options.isolation) {
            (true, true, _) => LockMode::S,
            (true, false, _) => LockMode::X,
            (false, true, IsolationLevel::ReadUncommitted) => LockMode::SchS,
            (false, true, _) if is_versioned => LockMode::SchS,
            (false, true, _) => LockMode::IS,
            (false, false, _) => LockMode::IX,
        };
        let keeps =
            matches!(options.isolation, IsolationLevel::RepeatableRead | IsolationLevel::Serializable);
        let wait = if options.wait == LockWait::NoWait { LockWait::NoWait } else { txn.lock_wait() };
        if reads && !keeps {
            txn.lock_object_for_statement(self.inner.definition.object_id, mode, wait)?;
        } else {
            txn.lock_object_waiting(self.inner.definition.object_id, mode, wait)?;
        }
        self.check_current()?;
        if self.inner.has_versions {
            txn.settle_level(options.isolation, self.inner.definition.object_id)
        } else {
            Ok(())
        }
    }

    /// Locks the definition against changes until the statement ends.
    ///
    /// # Errors
    /// 1205, 1222; the marker of a stale plan.
    pub fn hold_definition(&self, txn: &DbTransaction) -> SqlResult<()> {
        txn.lock_object_for_statement(self.inner.definition.object_id, LockMode::SchS, txn.lock_wait())?;
        self.check_current()
    }

    /// Locks the whole table to the end of the transaction (an INSERT with TABLOCK).
    ///
    /// # Errors
    /// 1205, 1222; the marker of a stale plan.
    pub fn lock_exclusively(&self, txn: &DbTransaction, wait: LockWait) -> SqlResult<()> {
        let wait = if wait == LockWait::NoWait { wait } else { txn.lock_wait() };
        txn.lock_object_waiting(self.inner.definition.object_id, LockMode::X, wait)?;
        self.check_current()
    }

    pub(crate) fn lock_for_write(&self, txn: &DbTransaction) -> SqlResult<()> {
        if self.inner.has_versions {
            txn.check_level(txn.isolation())?;
        }
        txn.lock_object(self.inner.definition.object_id, LockMode::IX)?;
        self.check_current()?;
        if self.inner.has_versions {
            txn.settle_level(txn.isolation(), self.inner.definition.object_id)
        } else {
            Ok(())
        }
    }

    /// Locks a row that a SNAPSHOT transaction will change, before it looks up anything else about it: what its snapshot says about keys and
    /// large values is valid only if no other transaction has changed the row since (3960).
    fn claim(&self, txn: &DbTransaction, locator: &RowLocator) -> SqlResult<()> {
        if txn.isolation() != IsolationLevel::Snapshot {
            return Ok(());
        }
        let claimed = match (&self.inner.base, locator) {
            (Base::Heap(heap), RowLocator::Heap(rid)) => heap.claim(txn.inner(), *rid),
            (Base::Tree(tree), RowLocator::Key(key)) => tree.claim(txn.inner(), key),
            _ => return Err(SqlError::stale_plan()),
        };
        claimed.map_err(|error| self.fail(txn, error))
    }

    /// Is the definition of this handle still valid? Cheap while nothing in the catalog has changed.
    fn check_current(&self) -> SqlResult<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let inner = &self.inner;
        let now = inner.database.catalog().version();
        if inner.version.load(Relaxed) == now || inner.definition.is_system || inner.is_unpublished {
            return Ok(());
        }
        match inner.database.catalog().object(inner.definition.object_id) {
            Some(ObjectDef::Table(current)) if Arc::ptr_eq(&current, &inner.definition) => {
                inner.version.store(now, Relaxed);
                Ok(())
            }
            _ => Err(SqlError::stale_plan()),
        }
    }

    fn insert_image(&self, txn: &DbTransaction, row: &[Value], bytes: &[u8]) -> SqlResult<RowLocator> {
        match &self.inner.base {
            Base::Heap(heap) => {
                heap.insert(txn.inner(), bytes).map(RowLocator::Heap).map_err(|error| self.fail(txn, error))
            }
            Base::Tree(tree) => {
                let index = self.inner.definition.base();
                self.check_key_length(index, self.inner.may_overflow[0], row)?;
                let key = self.clustered_key(row, index.unique);
                match tree.insert(txn.inner(), &key, bytes).map_err(|error| self.fail(txn, error))? {
                    Inserted::Done => Ok(RowLocator::Key(key.into())),
                    Inserted::Duplicate => Err(self.duplicate(index, row)),
                }
            }
        }
    }

    fn clustered_key(&self, row: &[Value], unique: bool) -> Vec<u8> {
        let format = self.inner.clustered_key.as_ref().expect("a clustered table has a key");
        let mut key = Vec::with_capacity(32);
        format.encode(self.inner.definition.base().key.iter().map(|k| &row[k.ordinal]), &mut key);
        if !unique {
            let number = self.inner.database.access.next_uniquifier().to_be_bytes();
            assert_eq!(number.len(), UNIQUIFIER_BYTES, "the uniquifier has its fixed length");
            key.extend_from_slice(&number);
        }
        key
    }

    /// Frees a row's out-of-row values.
    fn free_large_values(&self, txn: &DbTransaction, locator: &RowLocator) -> SqlResult<()> {
        if !self.inner.format.may_have_lobs() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let options = ScanOptions { isolation: IsolationLevel::ReadUncommitted, ..ScanOptions::default() };
        let found = match (&self.inner.base, locator) {
            (Base::Heap(heap), RowLocator::Heap(rid)) => heap.fetch(txn.inner(), *rid, &options, &mut bytes),
            (Base::Tree(tree), RowLocator::Key(key)) => tree.get(txn.inner(), key, &options, &mut bytes),
            _ => return Err(SqlError::stale_plan()),
        };
        if found.map_err(|error| self.fail(txn, error))? {
            let access = &self.inner.database.access;
            access
                .free_row_lobs(txn.inner(), &self.inner.format, &bytes)
                .map_err(|error| self.fail(txn, error))?;
        }
        Ok(())
    }
}

/// May the value have been stored out of row?
fn is_long(value: &Value) -> bool {
    match value {
        Value::Char(bytes) | Value::Binary(bytes) => bytes.as_bytes().len() > 64,
        Value::NChar(units) => units.as_units().len() > 32,
        _ => false,
    }
}

fn key_format(definition: &TableDef, index: &IndexDef) -> KeyFormat {
    let column = |k: &crate::schema::IndexColumn| KeyColumn {
        collation: definition.columns[k.ordinal].collation,
        descending: k.descending,
    };
    KeyFormat::new(index.key.iter().map(column).collect())
}

fn row_format(definition: &TableDef, columns: &[usize]) -> RowFormat {
    let column = |at: &usize| RowColumn {
        sql_type: definition.columns[*at].sql_type,
        collation: definition.columns[*at].collation,
    };
    RowFormat::new(columns.iter().map(column).collect())
}

/// The columns stored in an index: its key, its included columns, and the clustered key.
fn stored_columns(definition: &TableDef, index: &IndexDef) -> Vec<usize> {
    let mut stored: Vec<usize> = index.key.iter().map(|k| k.ordinal).collect();
    let more = index.included.iter().copied().chain(definition.base().key.iter().map(|k| k.ordinal));
    for column in more {
        if !stored.contains(&column) {
            stored.push(column);
        }
    }
    stored
}
