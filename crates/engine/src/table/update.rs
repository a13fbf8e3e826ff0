//! UPDATE of rows: in place where the keys stay the same, otherwise delete and insert in the indexes.
//!
//! A unique key is checked at the end of the statement. An UPDATE that gives several rows new unique keys therefore deletes all old keys
//! ([`Halves::OldKeysOut`]) before it inserts the first new one ([`Halves::NewKeysIn`]): `SET k = k + 1`, swaps and permutations meet no key
//! that will be deleted. A duplicate found then is a real one. All rows were found before (Halloween protection). The second half depends only on a
//! row's old and new values: nothing of the first is stored.
//!
//! Many rows are changed index by index: first the old keys are deleted in key order, then the new ones are inserted in key order.

use types::{SqlError, Value};

use super::delete::{ROWS_AT_ONCE, RUN_BYTES_MAX, Victim, add_key};
use super::image::give_back;
use super::insert_many::{GatheredEntries, Told};
use super::run::KeyedRun;
use super::stop::stop_if_asked;
use super::{Base, RowLocator, Table, io, is_long};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use txn::IsolationLevel;

/// A change of a row.
#[derive(Clone, Copy, Debug)]
pub struct RowChange<'a> {
    /// Its locator.
    pub locator: &'a RowLocator,
    /// Its old values.
    pub old: &'a [Value],
    /// Its new values.
    pub new: &'a [Value],
    /// Positions whose values may differ.
    pub changed: &'a [usize],
}

/// The part of an update to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halves {
    /// All of it.
    Both,
    /// Everything except the new unique keys.
    OldKeysOut,
    /// The new unique keys, of rows whose old ones are deleted; whole rows where their clustered key changes.
    NewKeysIn,
}

impl Halves {
    fn takes_out(self) -> bool {
        self != Halves::NewKeysIn
    }

    fn puts_in(self) -> bool {
        self != Halves::OldKeysOut
    }

    /// Does it insert new keys? Only unique ones have to wait for the second half.
    fn puts_keys_in(self, is_unique: bool) -> bool {
        self == Halves::Both || self.puts_in() == is_unique
    }
}

/// The change of a row's entry in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryChange {
    /// It has no entry before and after, or the entry does not change.
    Nothing,
    /// Its key stays: other columns change.
    Values,
    /// The old key is deleted, a new one is inserted; possibly only one of them.
    Keys { goes: bool, comes: bool },
}

impl Table {
    /// The locator of a system table's row with this key, if there is one.
    pub(crate) fn key_locator(&self, key: &[Value]) -> RowLocator {
        let format = self.inner.clustered_key.as_ref().expect("system tables are clustered");
        let mut bytes = Vec::new();
        format.encode(key, &mut bytes);
        RowLocator::Key(bytes.into())
    }

    /// May changes of these columns give rows new unique keys? Only then must several rows be changed in two passes.
    pub fn has_unique_key_among(&self, changed: &[usize]) -> bool {
        let indexes = self.inner.definition.indexes.iter();
        indexes.filter(|index| index.unique && index.has_unit()).any(|index| {
            let enters = index.filter.as_ref().is_some_and(|filter| filter.is_about(changed));
            enters || index.key.iter().any(|k| changed.contains(&k.ordinal))
        })
    }

    /// Replaces a row.
    ///
    /// # Errors
    /// As `insert`; 601 when the row is gone.
    pub fn update(&self, txn: &DbTransaction, change: RowChange<'_>) -> SqlResult<()> {
        self.update_many(txn, &[change], Halves::Both)
    }

    /// Replaces rows, or does one half of that. When it fails, part of it has happened: the caller rolls back to before.
    ///
    /// # Errors
    /// As `update`; 2627 and 2601 for a key that exists.
    pub fn update_many(
        &self,
        txn: &DbTransaction,
        changes: &[RowChange<'_>],
        halves: Halves,
    ) -> SqlResult<()> {
        let mut run = KeyedRun::default();
        if let [only] = changes {
            let (moved, staying) = if self.moves(*only) { (changes, &[][..]) } else { (&[][..], changes) };
            return self.update_some(txn, changes, (moved, staying), halves, &mut run);
        }
        for some in changes.chunks(ROWS_AT_ONCE) {
            let (moved, staying): (Vec<RowChange<'_>>, Vec<RowChange<'_>>) =
                some.iter().partition(|change| self.moves(**change));
            self.update_some(txn, some, (&moved, &staying), halves, &mut run)?;
        }
        Ok(())
    }

    /// Does it for rows that are changed together: those whose clustered key changes, and the others.
    fn update_some(
        &self,
        txn: &DbTransaction,
        all: &[RowChange<'_>],
        (moved, staying): (&[RowChange<'_>], &[RowChange<'_>]),
        halves: Halves,
        run: &mut KeyedRun,
    ) -> SqlResult<()> {
        assert_eq!(all.len(), moved.len() + staying.len(), "each of them moves or stays");
        let _charge = io::charge(&self.inner.definition, 0);
        self.lock_for_write(txn)?;
        if halves.takes_out() {
            if txn.isolation() == IsolationLevel::Snapshot {
                all.iter().try_for_each(|change| self.claim(txn, change.locator))?;
            }
            self.take_out(txn, moved, staying)?;
        }
        for at in 0..self.inner.secondary.len() {
            self.update_entries(txn, at, staying, halves, run)?;
        }
        if halves.puts_in() && !moved.is_empty() {
            self.put_in(txn, moved)?;
        }
        Ok(())
    }

    /// Deletes the rows that move, and updates the others.
    fn take_out(
        &self,
        txn: &DbTransaction,
        moved: &[RowChange<'_>],
        staying: &[RowChange<'_>],
    ) -> SqlResult<()> {
        if !moved.is_empty() {
            let every: Vec<usize> = (0..self.inner.definition.columns.len()).collect();
            let victims: Vec<Victim<'_>> = moved.iter().map(|change| (change.locator, change.old)).collect();
            self.delete_many(txn, &every, &victims)?;
        }
        for (number, change) in staying.iter().enumerate() {
            stop_if_asked(number)?;
            self.update_base(txn, *change)?;
            self.note_update(txn, change.changed);
        }
        Ok(())
    }

    /// Inserts the rows that move.
    fn put_in(&self, txn: &DbTransaction, moved: &[RowChange<'_>]) -> SqlResult<()> {
        let rows: Vec<&[Value]> = moved.iter().map(|change| change.new).collect();
        let mut gathered = GatheredEntries::default();
        self.insert_many(txn, &rows, &mut gathered)?;
        self.insert_gathered_entries(txn, &mut gathered)
    }

    /// Does the row's clustered key change?
    fn moves(&self, change: RowChange<'_>) -> bool {
        let base = self.inner.definition.base();
        if !base.key.iter().any(|k| change.changed.contains(&k.ordinal)) {
            return false;
        }
        let format = self.inner.clustered_key.as_ref().expect("only a clustered table has a key");
        let key = |row: &[Value]| {
            let mut key = Vec::with_capacity(32);
            format.encode(base.key.iter().map(|k| &row[k.ordinal]), &mut key);
            key
        };
        key(change.old) != key(change.new)
    }

    fn update_base(&self, txn: &DbTransaction, change: RowChange<'_>) -> SqlResult<()> {
        if self.inner.format.may_have_lobs() && change.old.iter().any(is_long) {
            self.free_large_values(txn, change.locator)?;
        }
        let bytes = self.encode(txn, change.new)?;
        let updated = match (&self.inner.base, change.locator) {
            (Base::Heap(heap), RowLocator::Heap(rid)) => heap.update(txn.inner(), *rid, &bytes),
            (Base::Tree(tree), RowLocator::Key(key)) => tree.update(txn.inner(), key, &bytes),
            _ => return Err(SqlError::stale_plan()),
        };
        give_back(bytes);
        updated.map_err(|error| self.fail(txn, error))
    }

    /// Updates the entries of rows that stay, also into and out of the index's filter.
    fn update_entries(
        &self,
        txn: &DbTransaction,
        at: usize,
        changes: &[RowChange<'_>],
        halves: Halves,
        run: &mut KeyedRun,
    ) -> SqlResult<()> {
        let index = self.inner.index_of(at);
        let Some(first) = changes.first() else { return Ok(()) };
        let filter = index.filter.as_ref();
        let is_touched = self.inner.secondary[at].stored.iter().any(|column| first.changed.contains(column))
            || filter.is_some_and(|filter| filter.is_about(first.changed));
        if !is_touched {
            return Ok(());
        }
        if let [change] = changes {
            return self.update_entry(txn, at, *change, halves);
        }
        if halves.takes_out() {
            self.take_out_entries(txn, at, changes, run)?;
        }
        if halves.puts_keys_in(index.unique) {
            for change in changes {
                if matches!(self.entry_change(at, *change), EntryChange::Keys { comes: true, .. }) {
                    self.gather_entry(txn, at, change.new, change.locator, (&mut *run, RUN_BYTES_MAX))?;
                }
            }
            self.insert_gathered(txn, at, (run, Told::ByKey))?;
        }
        Ok(())
    }

    /// Does it for a single row, without collecting.
    fn update_entry(
        &self,
        txn: &DbTransaction,
        at: usize,
        change: RowChange<'_>,
        halves: Halves,
    ) -> SqlResult<()> {
        match self.entry_change(at, change) {
            EntryChange::Nothing => {}
            EntryChange::Values if halves.takes_out() => self.update_entry_values(txn, at, change)?,
            EntryChange::Values => {}
            EntryChange::Keys { goes, comes } => {
                if goes && halves.takes_out() {
                    self.delete_entry(txn, at, change.old, change.locator)?;
                }
                if comes && halves.puts_keys_in(self.inner.index_of(at).unique) {
                    self.insert_entry(txn, at, change.new, change.locator)?;
                }
            }
        }
        Ok(())
    }

    fn take_out_entries(
        &self,
        txn: &DbTransaction,
        at: usize,
        changes: &[RowChange<'_>],
        run: &mut KeyedRun,
    ) -> SqlResult<()> {
        let tree = &self.inner.secondary[at].tree;
        let tell = |number: usize, error| self.fail_at_entry(txn, at, changes[number].locator, error);
        for (number, change) in changes.iter().enumerate() {
            match self.entry_change(at, *change) {
                EntryChange::Nothing | EntryChange::Keys { goes: false, .. } => {}
                EntryChange::Values => {
                    stop_if_asked(number)?;
                    self.update_entry_values(txn, at, *change)?;
                }
                EntryChange::Keys { goes: true, .. } => {
                    if !run.has_room(RUN_BYTES_MAX) {
                        self.delete_keys(txn, tree, run, &tell)?;
                    }
                    let RowChange { locator, old, .. } = *change;
                    run.add(|out| add_key(out, number, |out| self.entry_key_into(at, old, locator, out)))?;
                    self.free_entry_large_values(txn, at, run.get(run.len() - 1).0)?;
                    self.note_entries(txn, at, -1);
                }
            }
        }
        self.delete_keys(txn, tree, run, &tell)
    }

    fn entry_change(&self, at: usize, change: RowChange<'_>) -> EntryChange {
        let RowChange { locator, old, new, .. } = change;
        let (goes, comes) = (self.inner.has_entry_of(at, old), self.inner.has_entry_of(at, new));
        match goes && comes && self.entry_key(at, old, locator) == self.entry_key(at, new, locator) {
            true => EntryChange::Values,
            false if goes || comes => EntryChange::Keys { goes, comes },
            false => EntryChange::Nothing,
        }
    }

    fn update_entry_values(&self, txn: &DbTransaction, at: usize, change: RowChange<'_>) -> SqlResult<()> {
        let RowChange { locator, new, .. } = change;
        let mut entry = Vec::with_capacity(64);
        self.entry_key_into(at, new, locator, &mut entry);
        self.free_entry_large_values(txn, at, &entry)?;
        entry.clear();
        let key_bytes = self.entry_into(txn, at, new, locator, &mut entry)?;
        let (key, value) = entry.split_at(key_bytes);
        let updated = self.inner.secondary[at].tree.update(txn.inner(), key, value);
        updated.map_err(|error| self.fail_at_entry(txn, at, locator, error))
    }

    /// Adds a row's entry, if it has one, to those to be inserted into an index.
    pub(super) fn gather_entry(
        &self,
        txn: &DbTransaction,
        at: usize,
        row: &[Value],
        locator: &RowLocator,
        (run, bytes_max): (&mut KeyedRun, usize),
    ) -> SqlResult<()> {
        if !self.inner.has_entry_of(at, row) {
            return Ok(());
        }
        let position = self.inner.secondary[at].position;
        self.check_key_length(self.inner.index_of(at), self.inner.may_overflow[position], row)?;
        if !run.has_room(bytes_max) {
            self.insert_gathered(txn, at, (run, Told::ByKey))?;
        }
        run.add(|out| self.entry_into(txn, at, row, locator, out))
    }

    /// Inserts the collected entries into an index, in key order, and empties the collection.
    pub(super) fn insert_gathered(
        &self,
        txn: &DbTransaction,
        at: usize,
        (run, told): (&mut KeyedRun, Told),
    ) -> SqlResult<()> {
        let tree = &self.inner.secondary[at].tree;
        self.insert_keys(txn, tree, (run, told), &|entry| self.duplicate_entry(at, entry), &|done| {
            self.note_entries(txn, at, done as i64);
        })
    }
}
