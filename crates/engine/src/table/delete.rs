//! DELETE of rows: one by one, or many together, index by index and by rising keys.

use super::build::stop_if_asked;
use super::run::KeyedRun;
use super::{Base, RowLocator, Table, io};
use crate::db_transaction::DbTransaction;
use crate::error::{SqlResult, stale_plan};
use access::{AccessError, BTree};
use txn::IsolationLevel;
use types::{SqlError, Value};

/// So many rows are deleted together, at most: what is gathered of each is its keys.
pub(super) const ROWS_AT_ONCE: usize = 64 << 10;
/// Bytes of keys that are gathered, at most.
pub(super) const RUN_BYTES_MAX: usize = 16 << 20;
/// Keys between two looks whether the request is to stop.
const KEYS_BETWEEN_LOOKS: usize = 1_000;

/// A row that is to be deleted: where it is, and the values of some of its columns.
pub type Victim<'a> = (&'a RowLocator, &'a [Value]);

/// Makes whole rows of the values of some columns; NULL stands for the others.
struct Widened<'a> {
    columns: &'a [usize],
    row: Vec<Value>,
}

impl<'a> Widened<'a> {
    /// `columns`: ascending, of rows with so many.
    fn new(columns: &'a [usize], count: usize) -> Widened<'a> {
        assert!(columns.is_sorted_by(|one, next| one < next), "each column once");
        assert!(columns.last().is_none_or(|last| *last < count), "columns of the table");
        let is_whole = columns.len() == count;
        Widened { columns, row: if is_whole { Vec::new() } else { vec![Value::Null; count] } }
    }

    fn row<'r>(&'r mut self, values: &'r [Value]) -> &'r [Value] {
        assert_eq!(values.len(), self.columns.len(), "one value a column");
        if self.row.is_empty() {
            return values;
        }
        for (column, value) in self.columns.iter().zip(values) {
            self.row[*column].clone_from(value);
        }
        &self.row
    }
}

impl Table {
    /// Deletes a row.
    ///
    /// # Errors
    /// 601 when it is gone, 1205, 1222, 9002.
    pub fn delete(&self, txn: &DbTransaction, locator: &RowLocator, old: &[Value]) -> SqlResult<()> {
        let _charge = io::charge(&self.inner.definition, 0);
        self.lock_for_write(txn)?;
        self.claim(txn, locator)?;
        for at in 0..self.inner.secondary.len() {
            self.delete_entry(txn, at, old, locator)?;
        }
        self.free_large_values(txn, locator)?;
        let deleted = match (&self.inner.base, locator) {
            (Base::Heap(heap), RowLocator::Heap(rid)) => heap.delete(txn.inner(), *rid),
            (Base::Tree(tree), RowLocator::Key(key)) => tree.delete(txn.inner(), key),
            _ => return Err(stale_plan()),
        };
        deleted.map_err(|error| self.fail(txn, error))?;
        self.note_rows(txn, -1);
        Ok(())
    }

    /// Deletes rows, of which the values of `columns` (ascending, those of `columns_of_entries` among them) are known: all entries of the first
    /// nonclustered index, then those of the next one, the rows themselves last, each in the order of its tree. When it fails, some of that has
    /// happened: the caller rolls back to before.
    ///
    /// # Errors
    /// As `delete`.
    pub fn delete_many(
        &self,
        txn: &DbTransaction,
        columns: &[usize],
        victims: &[Victim<'_>],
    ) -> SqlResult<()> {
        let mut run = KeyedRun::default();
        let mut wide = Widened::new(columns, self.inner.definition.columns.len());
        for some in victims.chunks(ROWS_AT_ONCE) {
            match some {
                [(locator, values)] => self.delete(txn, locator, wide.row(values))?,
                some => self.delete_together(txn, &mut wide, some, &mut run)?,
            }
        }
        Ok(())
    }

    /// The columns, ascending, on whose values the places of a row's entries hang, and whether it has them.
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

    fn delete_together(
        &self,
        txn: &DbTransaction,
        wide: &mut Widened<'_>,
        victims: &[Victim<'_>],
        run: &mut KeyedRun,
    ) -> SqlResult<()> {
        let _charge = io::charge(&self.inner.definition, 0);
        self.lock_for_write(txn)?;
        if txn.isolation() == IsolationLevel::Snapshot {
            victims.iter().try_for_each(|(locator, _)| self.claim(txn, locator))?;
        }
        for at in 0..self.inner.secondary.len() {
            self.delete_entries(txn, at, wide, victims, run)?;
        }
        if self.inner.format.may_have_lobs() {
            victims.iter().try_for_each(|(locator, _)| self.free_large_values(txn, locator))?;
        }
        self.delete_rows(txn, victims, run)?;
        self.note_rows(txn, -(victims.len() as i64));
        Ok(())
    }

    fn delete_entries(
        &self,
        txn: &DbTransaction,
        at: usize,
        wide: &mut Widened<'_>,
        victims: &[Victim<'_>],
        run: &mut KeyedRun,
    ) -> SqlResult<()> {
        let secondary = &self.inner.secondary[at];
        let tell = |number: usize, error| self.fail_at_entry(txn, at, victims[number].0, error);
        for (number, (locator, values)) in victims.iter().enumerate() {
            let old = wide.row(values);
            if !self.inner.has_entry_of(at, old) {
                continue;
            }
            if !run.has_room(RUN_BYTES_MAX) {
                self.delete_keys(txn, &secondary.tree, run, &tell)?;
            }
            run.add(|out| add_key(out, number, |out| self.entry_key_into(at, old, locator, out)))?;
            if secondary.format.may_have_lobs() {
                self.free_entry_large_values(txn, at, run.get(run.len() - 1).0)?;
            }
            self.note_entries(txn, at, -1);
        }
        self.delete_keys(txn, &secondary.tree, run, &tell)
    }

    fn delete_rows(&self, txn: &DbTransaction, victims: &[Victim<'_>], run: &mut KeyedRun) -> SqlResult<()> {
        let tell = |_: usize, error| self.fail(txn, error);
        match &self.inner.base {
            Base::Tree(tree) => {
                for (number, (locator, _)) in victims.iter().enumerate() {
                    let RowLocator::Key(key) = locator else { return Err(stale_plan()) };
                    if !run.has_room(RUN_BYTES_MAX) {
                        self.delete_keys(txn, tree, run, &tell)?;
                    }
                    run.add(|out| add_key(out, number, |out| out.extend_from_slice(key)))?;
                }
                self.delete_keys(txn, tree, run, &tell)
            }
            Base::Heap(heap) => {
                for some in victims.chunks(KEYS_BETWEEN_LOOKS) {
                    stop_if_asked(0)?;
                    let rid = |(locator, _): &Victim<'_>| match locator {
                        RowLocator::Heap(rid) => Ok(*rid),
                        RowLocator::Key(_) => Err(stale_plan()),
                    };
                    let mut rids = some.iter().map(rid).collect::<SqlResult<Vec<_>>>()?;
                    heap.delete_many(txn.inner(), &mut rids).map_err(|error| tell(0, error))?;
                }
                Ok(())
            }
        }
    }

    /// Deletes the keys of a run, and empties it. `tell` makes an error of the tree's, and of the number of the victim that it is about.
    pub(super) fn delete_keys(
        &self,
        txn: &DbTransaction,
        tree: &BTree,
        run: &mut KeyedRun,
        tell: &dyn Fn(usize, AccessError) -> SqlError,
    ) -> SqlResult<()> {
        run.sort();
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

/// Appends a key and behind it which victim's it is; gives the length of the key.
pub(super) fn add_key(out: &mut Vec<u8>, number: usize, key: impl FnOnce(&mut Vec<u8>)) -> SqlResult<usize> {
    let start = out.len();
    key(out);
    let key_bytes = out.len() - start;
    out.extend_from_slice(&u32::try_from(number).expect("few are deleted at once").to_le_bytes());
    Ok(key_bytes)
}
