//! INSERT of many rows: page by page, then the entries of each nonclustered index in key order.

use types::Value;

use super::delete::RUN_BYTES_MAX;
use super::run::KeyedRun;
use super::stop::stop_if_asked;
use super::{Base, RowLocator, ScanOptions, Table, io};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use access::{BTree, Heap, Inserted, Rid};
use txn::IsolationLevel;

/// Which of several duplicates an error names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The first in input order, while the keys are few: as if an INSERT added its rows one after the other.
    AsTheyCame,
    /// The one with the lowest key: an UPDATE changes keys in their order.
    ByKey,
}

/// Keys between two checks for an interrupt.
const KEYS_BETWEEN_LOOKS: usize = 1_000;

/// Entries of inserted rows that must still be inserted into the nonclustered indexes.
#[derive(Default)]
pub struct GatheredEntries {
    /// One run per index.
    runs: Vec<KeyedRun>,
    /// Rows for a clustered index, while they are put in.
    rows: KeyedRun,
}

impl GatheredEntries {
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.runs.iter().all(|run| run.len() == 0)
    }
}

impl Table {
    /// Inserts rows; their entries are inserted together with those of other rows: the caller calls [`Table::insert_gathered_entries`] before
    /// any look-up by an index. When it fails, part of the work has happened: the caller rolls back to before.
    ///
    /// # Errors
    /// As `insert`.
    pub fn insert_many(
        &self,
        txn: &DbTransaction,
        rows: &[impl AsRef<[Value]>],
        gathered: &mut GatheredEntries,
    ) -> SqlResult<()> {
        if let ([row], true) = (rows, gathered.is_empty()) {
            return self.insert(txn, row.as_ref());
        }
        let _charge = io::charge(&self.inner.definition, 0);
        self.lock_for_write(txn)?;
        gathered.runs.resize_with(self.inner.secondary.len(), KeyedRun::default);
        match &self.inner.base {
            Base::Heap(heap) => self.insert_into_heap(txn, heap, rows, gathered),
            Base::Tree(tree) => self.insert_into_tree(txn, tree, rows, gathered),
        }
    }

    /// Inserts the collected entries into their indexes, and empties the collection.
    ///
    /// # Errors
    /// As `insert`.
    pub fn insert_gathered_entries(
        &self,
        txn: &DbTransaction,
        gathered: &mut GatheredEntries,
    ) -> SqlResult<()> {
        let _charge = io::charge(&self.inner.definition, 0);
        gathered
            .runs
            .iter_mut()
            .enumerate()
            .try_for_each(|(at, run)| self.insert_gathered(txn, at, (run, Told::AsTheyCame)))
    }

    fn insert_into_heap(
        &self,
        txn: &DbTransaction,
        heap: &Heap,
        rows: &[impl AsRef<[Value]>],
        gathered: &mut GatheredEntries,
    ) -> SqlResult<()> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            self.encode_into(txn, row.as_ref(), &mut bytes)?;
            ends.push(bytes.len());
        }
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let images: Vec<&[u8]> = begins.zip(&ends).map(|(begin, end)| &bytes[begin..*end]).collect();
        let mut rids: Vec<Rid> = Vec::with_capacity(rows.len());
        for some in images.chunks(KEYS_BETWEEN_LOOKS) {
            stop_if_asked(0)?;
            heap.insert_many(txn.inner(), some, &mut rids).map_err(|error| self.fail(txn, error))?;
        }
        assert_eq!(rids.len(), rows.len(), "each row has its address");
        self.note_rows(txn, rows.len() as i64);
        if self.inner.secondary.is_empty() {
            return Ok(());
        }
        for (row, rid) in rows.iter().zip(rids) {
            self.gather_entries(txn, row.as_ref(), &RowLocator::Heap(rid), gathered)?;
        }
        Ok(())
    }

    fn insert_into_tree(
        &self,
        txn: &DbTransaction,
        tree: &BTree,
        rows: &[impl AsRef<[Value]>],
        gathered: &mut GatheredEntries,
    ) -> SqlResult<()> {
        let index = self.inner.definition.base();
        for row in rows {
            let row = row.as_ref();
            self.check_key_length(index, self.inner.may_overflow[0], row)?;
            if !gathered.rows.has_room(RUN_BYTES_MAX) {
                self.insert_rows_of_tree(txn, tree, &mut gathered.rows)?;
            }
            let key = self.clustered_key(row, index.unique);
            gathered.rows.add(|out| {
                out.extend_from_slice(&key);
                self.encode_into(txn, row, out).map(|()| key.len())
            })?;
            if !self.inner.secondary.is_empty() {
                self.gather_entries(txn, row, &RowLocator::Key(key.into()), gathered)?;
            }
        }
        self.insert_rows_of_tree(txn, tree, &mut gathered.rows)
    }

    fn gather_entries(
        &self,
        txn: &DbTransaction,
        row: &[Value],
        locator: &RowLocator,
        gathered: &mut GatheredEntries,
    ) -> SqlResult<()> {
        let bytes_max = RUN_BYTES_MAX / gathered.runs.len().max(1);
        let each = gathered.runs.iter_mut().enumerate();
        each.into_iter().try_for_each(|(at, run)| self.gather_entry(txn, at, row, locator, (run, bytes_max)))
    }

    fn insert_rows_of_tree(&self, txn: &DbTransaction, tree: &BTree, run: &mut KeyedRun) -> SqlResult<()> {
        self.insert_keys(txn, tree, (run, Told::AsTheyCame), &|row| self.duplicate_row(row), &|done| {
            self.note_rows(txn, done as i64);
        })
    }

    /// Inserts the keys of a run with their values, and empties it. `duplicate` makes the error of an existing key, `note` counts.
    pub(super) fn insert_keys(
        &self,
        txn: &DbTransaction,
        tree: &BTree,
        (run, told): (&mut KeyedRun, Told),
        duplicate: &dyn Fn(&[u8]) -> types::SqlError,
        note: &dyn Fn(usize),
    ) -> SqlResult<()> {
        run.sort()?;
        let mut before = 0;
        while before < run.len() {
            stop_if_asked(0)?;
            let end = run.len().min(before + KEYS_BETWEEN_LOOKS);
            let some = (before..end).map(|at| run.get(at));
            let mut inserted = 0;
            let outcome = tree.insert_sorted(txn.inner(), some, &mut inserted);
            match outcome.map_err(|error| self.fail(txn, error))? {
                Inserted::Done => note(inserted),
                Inserted::Duplicate if told == Told::AsTheyCame && end == run.len() && before == 0 => {
                    let first = self.first_duplicate(txn, tree, run, inserted)?;
                    return Err(duplicate(run.get(first).1));
                }
                Inserted::Duplicate => return Err(duplicate(run.get(before + inserted).1)),
            }
            before = end;
        }
        run.clear();
        Ok(())
    }

    /// In a sorted run whose first `inserted` keys are inserted and whose next one is a duplicate: the position of the duplicate that came first in
    /// the input. Keys that another transaction has not committed are skipped.
    fn first_duplicate(
        &self,
        txn: &DbTransaction,
        tree: &BTree,
        run: &KeyedRun,
        inserted: usize,
    ) -> SqlResult<usize> {
        let isolation = IsolationLevel::ReadCommitted;
        let options = ScanOptions { isolation, skip_locked: true, ..ScanOptions::default() };
        for at in run.as_they_came() {
            let key = run.get(at).0;
            // Equal keys are in input order.
            let follows = at > 0 && run.get(at - 1).0 == key;
            let was_there = || tree.get(txn.inner(), key, &options, &mut Vec::new());
            if follows
                || at == inserted
                || at > inserted && was_there().map_err(|error| self.fail(txn, error))?
            {
                return Ok(at);
            }
        }
        Ok(inserted)
    }
}
