//! DELETE of rows: one by one, or many together, index by index and in key order ([`Deletion`]): each page of a tree is
//! visited once, however many rows there are.

use access::{AccessError, BTree, Heap, Rid};
use pages::PageId;
use txn::IsolationLevel;
use types::{SqlError, Value};

use super::build::{GatheredMemory, Gathering};
use super::run::KeyedRun;
use super::sorted_runs::SortedRuns;
use super::stop::stop_if_asked;
use super::{Base, RowLocator, Table, io};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;

/// The most rows changed together, by their collected keys.
pub(super) const ROWS_AT_ONCE: usize = 64 << 10;
/// The most bytes of collected keys.
pub(super) const RUN_BYTES_MAX: usize = 16 << 20;
/// Keys between two checks for an interrupt.
const KEYS_BETWEEN_LOOKS: usize = 1_000;
/// Bytes of a heap row's address, in an encoding with the order of addresses: file, page, slot.
const ADDRESS_BYTES: usize = 8;

/// A row to delete: its locator, and the values of some of its columns.
pub type Victim<'a> = (&'a RowLocator, &'a [Value]);

/// Rows to delete together: their keys in every tree, in memory up to a limit, then on disk. Nothing is deleted
/// before `finish`.
pub struct Deletion {
    table: Table,
    /// Columns whose values are given, ascending, and a row in which the others are NULL.
    columns: Vec<usize>,
    row: Vec<Value>,
    /// Entries of each nonclustered index: the row's locator follows the key.
    entries: Vec<SortedRuns>,
    /// The rows themselves: the clustered key, or the address.
    rows: SortedRuns,
    gathering: Gathering,
    count: usize,
}

impl Deletion {
    /// `columns`: those whose values are given, ascending, including those of `columns_of_entries`.
    pub fn new(table: &Table, columns: &[usize]) -> Deletion {
        let inner = &table.inner;
        let count = inner.definition.columns.len();
        assert!(columns.is_sorted_by(|one, next| one < next), "each column once");
        assert!(columns.last().is_none_or(|last| *last < count), "columns of the table");
        let gathering = Gathering::new(table, inner.secondary.len() + 1);
        Deletion {
            table: table.clone(),
            columns: columns.to_vec(),
            row: vec![Value::Null; count],
            entries: inner.secondary.iter().map(|_| gathering.runs()).collect(),
            rows: gathering.runs(),
            gathering,
            count: 0,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.count
    }

    /// The query memory of the keys.
    pub fn memory(&self) -> GatheredMemory {
        self.gathering.memory(self.entries.iter().chain(std::iter::once(&self.rows)))
    }

    /// Were keys written to disk?
    pub fn has_spilled(&self) -> bool {
        self.entries.iter().any(SortedRuns::has_spilled) || self.rows.has_spilled()
    }

    /// Adds a row: its locator as a value's bytes ([`RowLocator::to_value`]), and the values of the columns.
    ///
    /// # Errors
    /// 1105, 823; cancelled.
    pub fn add<'v>(
        &mut self,
        session_id: i16,
        locator: &[u8],
        values: impl ExactSizeIterator<Item = &'v Value>,
    ) -> SqlResult<()> {
        stop_if_asked(self.count)?;
        widen(&mut self.row, &self.columns, values);
        let (table, row) = (&self.table, self.row.as_slice());
        for (at, runs) in self.entries.iter_mut().enumerate() {
            if !table.inner.has_entry_of(at, row) {
                continue;
            }
            self.gathering.make_room(session_id, runs);
            runs.add(|out| {
                let start = out.len();
                table.entry_key_of(at, row, locator, out);
                let key_bytes = out.len() - start;
                out.extend_from_slice(locator);
                Ok(key_bytes)
            })?;
        }
        self.gathering.make_room(session_id, &mut self.rows);
        self.rows.add(|out| match &table.inner.base {
            Base::Tree(_) => {
                out.extend_from_slice(locator);
                Ok(locator.len())
            }
            Base::Heap(_) => {
                let rid = Rid::from_bytes(locator).ok_or_else(SqlError::stale_plan)?;
                out.extend_from_slice(&address_of(rid));
                Ok(ADDRESS_BYTES)
            }
        })?;
        self.count += 1;
        Ok(())
    }

    /// Deletes them: all entries of the first nonclustered index, then those of the next one, the rows themselves last, each in the order of its
    /// tree. When it fails, part of the deletes has happened: the caller rolls back to before.
    ///
    /// # Errors
    /// As `Table::delete`.
    pub fn finish(mut self, txn: &DbTransaction) -> SqlResult<()> {
        if self.count == 0 {
            return Ok(());
        }
        let table = &self.table;
        let _charge = io::charge(&table.inner.definition, 0);
        table.lock_for_write(txn)?;
        for (at, runs) in self.entries.iter_mut().enumerate() {
            runs.drain_many(KEYS_BETWEEN_LOOKS, &mut |entries| table.delete_entries(txn, at, entries))?;
        }
        self.rows.drain_many(KEYS_BETWEEN_LOOKS, &mut |rows| table.delete_rows(txn, rows))?;
        table.note_rows(txn, -(self.count as i64));
        Ok(())
    }
}

/// Gives a whole row these values of some columns; the others stay NULL.
fn widen<'v>(row: &mut [Value], columns: &[usize], values: impl ExactSizeIterator<Item = &'v Value>) {
    assert_eq!(values.len(), columns.len(), "one value a column");
    for (column, value) in columns.iter().zip(values) {
        row[*column].clone_from(value);
    }
}

fn address_of(rid: Rid) -> [u8; ADDRESS_BYTES] {
    (rid.page.pack() << 16 | u64::from(rid.slot)).to_be_bytes()
}

fn rid_of(address: &[u8]) -> Rid {
    let packed = u64::from_be_bytes(*address.first_chunk().expect("made by `address_of`"));
    Rid { page: PageId::unpack(packed >> 16), slot: packed as u16 }
}

impl Table {
    /// Deletes a row.
    ///
    /// # Errors
    /// 601 when it no longer exists, 1205, 1222, 9002.
    pub fn delete(&self, txn: &DbTransaction, locator: &RowLocator, old: &[Value]) -> SqlResult<()> {
        let _charge = io::charge(&self.inner.definition, 0);
        self.lock_for_write(txn)?;
        self.claim(txn, locator)?;
        for at in 0..self.inner.secondary.len() {
            self.delete_entry(txn, at, old, locator)?;
        }
        self.delete_base(txn, locator)
    }

    /// Deletes a row from the heap or the clustered index.
    pub(super) fn delete_base(&self, txn: &DbTransaction, locator: &RowLocator) -> SqlResult<()> {
        self.free_large_values(txn, locator)?;
        let deleted = match (&self.inner.base, locator) {
            (Base::Heap(heap), RowLocator::Heap(rid)) => heap.delete(txn.inner(), *rid),
            (Base::Tree(tree), RowLocator::Key(key)) => tree.delete(txn.inner(), key),
            _ => return Err(SqlError::stale_plan()),
        };
        deleted.map_err(|error| self.fail(txn, error))?;
        self.note_rows(txn, -1);
        Ok(())
    }

    /// Deletes rows, given the values of `columns`, as [`Deletion`] does.
    ///
    /// # Errors
    /// As `delete`.
    pub fn delete_many(
        &self,
        txn: &DbTransaction,
        columns: &[usize],
        victims: &[Victim<'_>],
    ) -> SqlResult<()> {
        if let [(locator, values)] = victims {
            let mut row = vec![Value::Null; self.inner.definition.columns.len()];
            widen(&mut row, columns, values.iter());
            return self.delete(txn, locator, &row);
        }
        let mut deletion = Deletion::new(self, columns);
        for (locator, values) in victims {
            locator.with_bytes(|locator| deletion.add(txn.session_id(), locator, values.iter()))?;
        }
        deletion.finish(txn)
    }

    /// Locks rows that a SNAPSHOT transaction will delete, before any delete (3960).
    ///
    /// # Errors
    /// 1205, 1222, 3960.
    pub fn claim_victims<'v>(
        &self,
        txn: &DbTransaction,
        mut locators: impl Iterator<Item = &'v RowLocator>,
    ) -> SqlResult<()> {
        if txn.isolation() != IsolationLevel::Snapshot {
            return Ok(());
        }
        self.lock_for_write(txn)?;
        locators.try_for_each(|locator| self.claim(txn, locator))
    }

    /// The columns, ascending, that determine a row's entries: their keys, and whether a filter excludes them.
    pub fn columns_of_entries(&self) -> Vec<usize> {
        let is_wanted = |column: &usize| {
            (0..self.inner.secondary.len()).any(|at| {
                let index = self.inner.index_of(at);
                let is_key = index.key.iter().any(|key| key.ordinal == *column);
                is_key || index.filter.as_ref().is_some_and(|filter| filter.is_about(&[*column]))
            })
        };
        (0..self.inner.definition.columns.len()).filter(is_wanted).collect()
    }

    fn delete_entries(&self, txn: &DbTransaction, at: usize, entries: &[(&[u8], &[u8])]) -> SqlResult<()> {
        let secondary = &self.inner.secondary[at];
        if secondary.format.may_have_lobs() {
            entries.iter().try_for_each(|(key, _)| self.free_entry_large_values(txn, at, key))?;
        }
        let keys: Vec<&[u8]> = entries.iter().map(|(key, _)| *key).collect();
        let mut deleted = 0;
        if let Err(error) = secondary.tree.delete_sorted(txn.inner(), &keys, &mut deleted) {
            let locator = entries.get(deleted).and_then(|(_, locator)| self.locator_of(locator));
            return Err(match locator {
                Some(locator) => self.fail_at_entry(txn, at, &locator, error),
                None => self.fail(txn, error),
            });
        }
        self.note_entries(txn, at, -(entries.len() as i64));
        Ok(())
    }

    /// `rows`: clustered keys, or addresses.
    fn delete_rows(&self, txn: &DbTransaction, rows: &[(&[u8], &[u8])]) -> SqlResult<()> {
        match &self.inner.base {
            Base::Tree(tree) => {
                if self.inner.format.may_have_lobs() {
                    let mut keys = rows.iter().map(|(key, _)| RowLocator::Key((*key).into()));
                    keys.try_for_each(|locator| self.free_large_values(txn, &locator))?;
                }
                let keys: Vec<&[u8]> = rows.iter().map(|(key, _)| *key).collect();
                let deleted = tree.delete_sorted(txn.inner(), &keys, &mut 0);
                deleted.map_err(|error| self.fail(txn, error))
            }
            Base::Heap(heap) => self.delete_rows_of_heap(txn, heap, rows),
        }
    }

    fn delete_rows_of_heap(
        &self,
        txn: &DbTransaction,
        heap: &Heap,
        rows: &[(&[u8], &[u8])],
    ) -> SqlResult<()> {
        let mut rids: Vec<Rid> = rows.iter().map(|(address, _)| rid_of(address)).collect();
        if self.inner.format.may_have_lobs() {
            rids.iter().try_for_each(|rid| self.free_large_values(txn, &RowLocator::Heap(*rid)))?;
        }
        heap.delete_many(txn.inner(), &mut rids).map_err(|error| self.fail(txn, error))
    }

    /// Deletes the keys of a run, and empties it. `tell` makes an error from the tree's error and the number of the victim.
    pub(super) fn delete_keys(
        &self,
        txn: &DbTransaction,
        tree: &BTree,
        run: &mut KeyedRun,
        tell: &dyn Fn(usize, AccessError) -> SqlError,
    ) -> SqlResult<()> {
        run.sort()?;
        let keys = run.keys();
        let mut before = 0;
        for some in keys.chunks(KEYS_BETWEEN_LOOKS) {
            stop_if_asked(0)?;
            let mut deleted = 0;
            tree.delete_sorted(txn.inner(), some, &mut deleted).map_err(|error| {
                let number =
                    run.get(before + deleted).1.first_chunk().expect("each key has its victim's number");
                tell(u32::from_le_bytes(*number) as usize, error)
            })?;
            before += some.len();
        }
        run.clear();
        Ok(())
    }
}

/// Appends a key and the number of its victim; returns the length of the key.
pub(super) fn add_key(out: &mut Vec<u8>, number: usize, key: impl FnOnce(&mut Vec<u8>)) -> SqlResult<usize> {
    let start = out.len();
    key(out);
    let key_bytes = out.len() - start;
    out.extend_from_slice(&u32::try_from(number).expect("few are deleted at once").to_le_bytes());
    Ok(key_bytes)
}
