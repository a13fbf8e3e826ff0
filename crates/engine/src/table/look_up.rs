//! [`Lookups`]: rows looked up through a nonclustered index by a reader that keeps no locks. Entries are collected, their rows fetched in
//! physical order, and emitted in the order of the entries: one descent and one page latch serve several rows.

use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::{FxHashSet, FxHasher};

use access::{BTreeCursor, KeyRange, Rid, RowTest, Selection};

use super::entry::{EntryKey, damaged, split_entry_bytes};
use super::{Base, RowLocator, ScanOptions, Table};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;

/// Entries of the first batch: a caller that needs one or two rows does not wait for more.
const ENTRIES_FIRST: usize = 1;
/// The batch size doubles up to this number; then it grows faster, because such a caller will probably read many rows.
const ENTRIES_FEW: usize = 64;
const GROWTH: usize = 32;
/// The most entries of a batch.
const ENTRIES_MAX: usize = 1 << 15;
/// The approximate bytes of rows in a batch.
const BYTES_MAX: usize = 1 << 22;

/// Entries and their rows.
pub(crate) struct Lookups {
    cursor: BTreeCursor,
    /// The index, by position among the table's nonclustered ones.
    pub(super) at: usize,
    /// The conditions on rows.
    test: Option<RowTest>,
    /// Fetches only rows with these hashes ([`Cursor::row_name_at`](super::Cursor::row_name_at)).
    only: Option<Arc<FxHashSet<u64>>>,
    /// Entries to collect next.
    next: usize,
    /// The check of rows that are read after their entries.
    key: Option<EntryKey>,
    /// The locators of the collected entries, each followed by the entry's columns if `key` needs them, end to end.
    locators: Vec<u8>,
    entries: Vec<Entry>,
    /// The order of the entries by locator: its first bytes, and the entry's number.
    order: Vec<(u64, u32)>,
    /// Entries whose rows have been looked up.
    looked_up: u64,
    /// The rows that were found and qualify, end to end.
    bytes: Vec<u8>,
    /// Their entries.
    rows: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The begin and end of its locator.
    locator: (u32, u32),
    /// The end of its columns, which follow.
    end: u32,
    /// The begin and end of its row, if a row qualifies.
    row: Option<(u32, u32)>,
}

impl Entry {
    /// Its columns.
    fn stored<'a>(&self, locators: &'a [u8]) -> &'a [u8] {
        &locators[self.locator.1 as usize..self.end as usize]
    }
}

impl Lookups {
    /// Rows that satisfy `test`, by the entries of a cursor.
    pub(super) fn new(
        cursor: BTreeCursor,
        at: usize,
        test: Option<RowTest>,
        key: Option<EntryKey>,
    ) -> Lookups {
        Lookups {
            cursor,
            at,
            test,
            key,
            only: None,
            next: ENTRIES_FIRST,
            locators: Vec::new(),
            entries: Vec::new(),
            order: Vec::new(),
            looked_up: 0,
            bytes: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Restarts it with another range of the index.
    pub(super) fn restart(&mut self, range: KeyRange) {
        self.cursor.restart(range);
        self.rows.clear();
        self.next = ENTRIES_FIRST;
    }

    /// Ignores entries of rows with other hashes.
    pub(super) fn only(&mut self, names: Arc<FxHashSet<u64>>) {
        self.only = Some(names);
    }

    /// Chooses the entries whose rows are looked up.
    pub(super) fn select(&mut self, selection: Selection) {
        self.cursor.select(selection);
    }

    /// Chooses them, and the conditions on rows, for a restart.
    pub(super) fn select_anew(&mut self, selection: Selection, test: Option<RowTest>) {
        self.cursor.select_anew(selection);
        self.test = test;
    }

    /// Fetches the next batch and returns its number of rows, 0 at the end.
    pub(super) fn fill(
        &mut self,
        table: &Table,
        txn: &DbTransaction,
        options: &ScanOptions,
    ) -> SqlResult<usize> {
        self.rows.clear();
        while self.rows.is_empty() {
            if !self.gather(table, txn)? {
                return Ok(0);
            }
            self.fetch(table, txn, options)?;
            self.looked_up += self.entries.len() as u64;
            let found = self.entries.iter().enumerate().filter(|(_, entry)| entry.row.is_some());
            self.rows.extend(found.map(|(number, _)| number as u32));
            self.grow();
        }
        Ok(self.rows.len())
    }

    /// Collects the next entries; false when there is none.
    fn gather(&mut self, table: &Table, txn: &DbTransaction) -> SqlResult<bool> {
        assert!((1..=ENTRIES_MAX).contains(&self.next), "some are gathered, and not too many");
        self.locators.clear();
        self.entries.clear();
        while self.entries.len() < self.next {
            if !self.cursor.next(txn.inner()).map_err(|error| table.fail(txn, error))? {
                break;
            }
            let (locator, stored) = split_entry_bytes(self.cursor.value()).ok_or_else(damaged)?;
            if self.only.as_ref().is_some_and(|names| !names.contains(&name_of(locator))) {
                continue;
            }
            let start = self.locators.len() as u32;
            self.locators.extend_from_slice(locator);
            let locator = (start, self.locators.len() as u32);
            if self.key.is_some() {
                self.locators.extend_from_slice(stored);
            }
            self.entries.push(Entry { locator, end: self.locators.len() as u32, row: None });
        }
        Ok(!self.entries.is_empty())
    }

    /// Fetches the rows of the entries, in physical order.
    fn fetch(&mut self, table: &Table, txn: &DbTransaction, options: &ScanOptions) -> SqlResult<()> {
        let rids = self.sort(&table.inner.base)?;
        let Lookups { test, key, locators, entries, order, bytes, .. } = self;
        bytes.clear();
        let mut doubtful = Vec::new();
        let places: Vec<(u32, u32)> =
            order.iter().map(|(_, number)| entries[*number as usize].locator).collect();
        let mut found = |at: usize, row: &[u8]| {
            if test.as_ref().is_none_or(|test| test.accepts(row)) {
                let (start, number) = (bytes.len() as u32, order[at].1);
                bytes.extend_from_slice(row);
                let entry = &mut entries[number as usize];
                entry.row = Some((start, bytes.len() as u32));
                let stored = entry.stored(locators);
                if key.as_ref().is_some_and(|key| !key.is_same(table, stored, row)) {
                    doubtful.push(number);
                }
            }
        };
        let fetched = match &table.inner.base {
            Base::Tree(tree) => {
                let keys = places.iter().map(|(start, end)| &locators[*start as usize..*end as usize]);
                tree.get_many(txn.inner(), keys, options, &mut found)
            }
            Base::Heap(heap) => heap.fetch_many(txn.inner(), rids.into_iter(), options, &mut found),
        };
        fetched.map_err(|error| table.fail(txn, error))?;
        for number in doubtful {
            let entry = &mut entries[number as usize];
            let (start, end) = entry.row.expect("a row that has been found is doubted");
            let key = key.as_ref().expect("somebody has doubted");
            let row = &bytes[start as usize..end as usize];
            if !key.is_equal(table, entry.stored(locators), row, options)? {
                entry.row = None;
            }
        }
        Ok(())
    }

    /// Sorts the entries by the order of their rows; returns the rows' addresses, if they are in a heap.
    fn sort(&mut self, base: &Base) -> SqlResult<Vec<Rid>> {
        let Lookups { locators, entries, order, .. } = self;
        let locator = |number: u32| {
            let (start, end) = entries[number as usize].locator;
            &locators[start as usize..end as usize]
        };
        order.clear();
        let numbers = 0..entries.len() as u32;
        if let Base::Heap(_) = base {
            let rid = |number: u32| Rid::from_bytes(locator(number)).map(|rid| (rid, number));
            let mut rids: Vec<(Rid, u32)> = numbers.map(rid).collect::<Option<_>>().ok_or_else(damaged)?;
            rids.sort_unstable();
            order.extend(rids.iter().map(|(_, number)| (0, *number)));
            return Ok(rids.into_iter().map(|(rid, _)| rid).collect());
        }
        order.extend(numbers.map(|number| (first_bytes(locator(number)), number)));
        order.sort_unstable_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| locator(one.1).cmp(locator(other.1)))
        });
        Ok(Vec::new())
    }

    /// Enlarges the next batch, as long as rows are short.
    fn grow(&mut self) {
        let row_bytes = self.bytes.len() / self.rows.len().max(1);
        let at_most = (BYTES_MAX / row_bytes.max(1)).clamp(1, ENTRIES_MAX);
        let growth = if self.next < ENTRIES_FEW { 2 } else { GROWTH };
        self.next = (self.next * growth).min(at_most);
    }

    /// Entries whose rows have been looked up since it was made.
    pub(super) fn looked_up(&self) -> u64 {
        self.looked_up
    }

    /// One row of the batch.
    #[inline]
    pub(super) fn row(&self, at: usize) -> &[u8] {
        let (start, end) =
            self.entries[self.rows[at] as usize].row.expect("only rows that are there are in hand");
        &self.bytes[start as usize..end as usize]
    }

    /// Its locator.
    pub(super) fn locator(&self, at: usize, base: &Base) -> SqlResult<RowLocator> {
        let (start, end) = self.entries[self.rows[at] as usize].locator;
        let bytes = &self.locators[start as usize..end as usize];
        Ok(match base {
            Base::Heap(_) => RowLocator::Heap(Rid::from_bytes(bytes).ok_or_else(damaged)?),
            Base::Tree(_) => RowLocator::Key(bytes.into()),
        })
    }
}

/// A hash of a row's locator; another locator rarely has the same.
pub(super) fn name_of(locator: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(locator);
    hasher.finish()
}

/// The first bytes of a key as a number: if they differ, they have the order of the keys.
fn first_bytes(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}
