//! UPDATE of rows: in place where the keys stay, else out of the indexes and in again.
//!
//! A unique key is judged when the statement ends. An UPDATE that gives several rows new unique keys therefore takes all the old keys out
//! ([`Table::take_out`]) before it puts the first new one in ([`Table::put_in`]): `SET k = k + 1`, swaps and permutations meet no key that
//! will be gone. What is a duplicate then, is one. The rows were all found before.

use types::Value;

use super::{Base, RowLocator, Table, is_long};
use crate::db_transaction::DbTransaction;
use crate::error::{SqlResult, stale_plan};

/// A row that is to be changed.
#[derive(Clone, Copy, Debug)]
pub struct RowChange<'a> {
    /// Where it is.
    pub locator: &'a RowLocator,
    /// What it is.
    pub old: &'a [Value],
    /// What it becomes.
    pub new: &'a [Value],
    /// Positions whose values may differ.
    pub changed: &'a [usize],
}

/// What is still to be put in of a row whose old unique keys are out.
#[derive(Debug)]
#[must_use = "the row is not whole until it is put in"]
pub enum TakenOut {
    /// Entries of some unique nonclustered indexes (positions), perhaps none.
    Entries(Vec<usize>),
    /// The row itself, with all its entries.
    Row,
}

impl Table {
    /// The identity value handed out last; none when none was.
    pub fn counted_identity(&self) -> Option<i128> {
        self.identities().current(self.inner.definition.object_id)
    }

    /// Where a system table's row with this key is, if there is one.
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

    /// Replaces a row. Gives the locator of the row afterwards.
    ///
    /// # Errors
    /// As `insert`; 601 when the row is gone.
    pub fn update(&self, txn: &DbTransaction, change: RowChange<'_>) -> SqlResult<RowLocator> {
        let out = self.take_out(txn, change)?;
        self.put_in(txn, change, out)
    }

    /// The first half of a change: everything but the new unique keys.
    ///
    /// # Errors
    /// As `update`, duplicates apart.
    pub fn take_out(&self, txn: &DbTransaction, change: RowChange<'_>) -> SqlResult<TakenOut> {
        let _charge = super::io::charge(&self.inner.definition, 0);
        self.lock_for_write(txn)?;
        self.claim(txn, change.locator)?;
        if self.moves(change) {
            self.delete(txn, change.locator, change.old)?;
            return Ok(TakenOut::Row);
        }
        self.update_base(txn, change)?;
        self.note_update(txn, change.changed);
        let mut entries = Vec::new();
        for (at, secondary) in self.inner.secondary.iter().enumerate() {
            let filter = self.inner.index_of(at).filter.as_ref();
            let is_touched = secondary.stored.iter().any(|column| change.changed.contains(column))
                || filter.is_some_and(|filter| filter.is_about(change.changed));
            if is_touched && !self.update_entry(txn, at, change)? {
                entries.push(at);
            }
        }
        Ok(TakenOut::Entries(entries))
    }

    /// The second half. Gives the locator of the row afterwards.
    ///
    /// # Errors
    /// 2627 and 2601 for a key that exists; otherwise as `update`.
    pub fn put_in(&self, txn: &DbTransaction, change: RowChange<'_>, out: TakenOut) -> SqlResult<RowLocator> {
        let _charge = super::io::charge(&self.inner.definition, 0);
        match out {
            TakenOut::Row => {
                let locator = self.insert_base(txn, change.new)?;
                for at in 0..self.inner.secondary.len() {
                    self.insert_entry(txn, at, change.new, &locator)?;
                }
                Ok(locator)
            }
            TakenOut::Entries(entries) => {
                for at in entries {
                    self.insert_entry(txn, at, change.new, change.locator)?;
                }
                Ok(change.locator.clone())
            }
        }
    }

    /// Does the row get another clustered key?
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
            _ => return Err(stale_plan()),
        };
        updated.map_err(|error| self.fail(txn, error))
    }

    /// Brings a row's entry in a nonclustered index up to date, also into and out of its filter; false when only its old key is out, because a
    /// new unique key is to come.
    fn update_entry(&self, txn: &DbTransaction, at: usize, change: RowChange<'_>) -> SqlResult<bool> {
        let RowChange { locator, old, new, .. } = change;
        let index = self.inner.index_of(at);
        let tree = &self.inner.secondary[at].tree;
        if !self.inner.has_entry_of(at, old) {
            if index.unique {
                return Ok(!self.inner.has_entry_of(at, new));
            }
            self.insert_entry(txn, at, new, locator)?;
            return Ok(true);
        }
        if !self.inner.has_entry_of(at, new) {
            self.delete_entry(txn, at, old, locator)?;
            return Ok(true);
        }
        let old_key = self.entry_key(at, old, locator);
        let new_key = self.entry_key(at, new, locator);
        if old_key == new_key {
            self.free_entry_large_values(txn, at, &old_key)?;
            let mut entry = Vec::with_capacity(64);
            let key_bytes = self.entry_into(txn, at, new, locator, &mut entry)?;
            let updated = tree.update(txn.inner(), &new_key, &entry[key_bytes..]);
            updated.map_err(|error| self.fail_at_entry(txn, at, locator, error))?;
            return Ok(true);
        }
        self.delete_entry_at(txn, at, &old_key, locator)?;
        if index.unique {
            return Ok(false);
        }
        self.insert_entry(txn, at, new, locator)?;
        Ok(true)
    }
}
