//! Rows and entries on their way into trees that are being built: gathered in runs, sorted, and put in by rising key.
//!
//! A tree that is filled by rising keys is filled at its right end: no search from the root, no page cut in the middle and half empty
//! ever after, each leaf touched once. A run takes what memory there is for it, `RUN_BYTES_MAX` at most; with several runs each one walks
//! through the tree once from left to right.

use types::Value;

use super::duplicate::shown_value;
use super::{Base, RowLocator, Table, io};
use crate::cursor::split_entry;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use access::Inserted;

/// Bytes of keys, values and rows that one run gathers, at most.
const RUN_BYTES_MAX: usize = 32 << 20;
/// Between two looks whether the request is to stop, in rows.
const ROWS_BETWEEN_LOOKS: usize = 1_000;

/// Fills the units of a table that is being built.
pub(crate) struct Builder {
    table: Table,
    entries: Vec<EntryRun>,
    rows: Vec<(Vec<u8>, Vec<Value>)>,
    rows_bytes: usize,
    run_bytes_max: usize,
}

/// Entries of one nonclustered index.
struct EntryRun {
    /// Which one, by its place among those that are kept.
    at: usize,
    /// Keys and values, one behind the other.
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// Where an entry lies in its run.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    key_bytes: u16,
    value_bytes: u16,
}

impl EntryRun {
    fn key(&self, place: Place) -> &[u8] {
        &self.bytes[place.start..][..usize::from(place.key_bytes)]
    }

    fn value(&self, place: Place) -> &[u8] {
        &self.bytes[place.start + usize::from(place.key_bytes)..][..usize::from(place.value_bytes)]
    }
}

impl Builder {
    /// Fills the nonclustered indexes with these numbers, and the heap or clustered index when rows come.
    pub(crate) fn new(table: &Table, index_ids: &[i32]) -> Builder {
        let secondary = table.inner.secondary.iter().enumerate();
        let entries: Vec<EntryRun> = secondary
            .filter(|(_, secondary)| index_ids.contains(&secondary.index_id))
            .map(|(at, _)| EntryRun { at, bytes: Vec::new(), places: Vec::new() })
            .collect();
        let run_bytes_max = RUN_BYTES_MAX / (entries.len() + 1);
        Builder { table: table.clone(), entries, rows: Vec::new(), rows_bytes: 0, run_bytes_max }
    }

    /// A row for the heap or clustered index and all that hang on it.
    ///
    /// # Errors
    /// Those of `Table::insert`.
    pub(crate) fn add_row(&mut self, txn: &DbTransaction, row: Vec<Value>) -> SqlResult<()> {
        let Base::Tree(_) = &self.table.inner.base else { return self.put_row(txn, &row) };
        let key = self.table.clustered_key(&row, true);
        let bytes =
            key.len() + row.iter().map(|value| size_of::<Value>() + value.long_bytes()).sum::<usize>();
        if self.rows_bytes + bytes > self.run_bytes_max || os::memory::ask(bytes).is_err() {
            self.put_rows(txn)?;
        }
        self.rows_bytes += bytes;
        self.rows.push((key, row));
        Ok(())
    }

    /// The entries of a row that is in its place.
    ///
    /// # Errors
    /// Those of `Table::insert`.
    pub(crate) fn add_entries(
        &mut self,
        txn: &DbTransaction,
        row: &[Value],
        locator: &RowLocator,
    ) -> SqlResult<()> {
        for run in 0..self.entries.len() {
            let inner = &self.table.inner;
            let at = self.entries[run].at;
            if !inner.has_entry_of(at, row) {
                continue;
            }
            let position = inner.secondary[at].position;
            self.table.check_key_length(inner.index_of(at), inner.may_overflow[position], row)?;
            let (key, value) = self.table.entry(txn, at, row, locator)?;
            let bytes = key.len() + value.len();
            let gathered = &self.entries[run];
            let grown = gathered.bytes.len() + gathered.places.len() * size_of::<Place>() + bytes;
            if grown > self.run_bytes_max || os::memory::ask(bytes).is_err() {
                self.put_entries(txn, run)?;
            }
            let run = &mut self.entries[run];
            let short = |bytes: usize| u16::try_from(bytes).expect("an entry fits on a page");
            let (key_bytes, value_bytes) = (short(key.len()), short(value.len()));
            run.places.push(Place { start: run.bytes.len(), key_bytes, value_bytes });
            run.bytes.extend_from_slice(&key);
            run.bytes.extend_from_slice(&value);
        }
        Ok(())
    }

    /// Puts in what is still gathered.
    ///
    /// # Errors
    /// Those of `Table::insert`.
    pub(crate) fn finish(mut self, txn: &DbTransaction) -> SqlResult<()> {
        self.put_rows(txn)?;
        (0..self.entries.len()).try_for_each(|run| self.put_entries(txn, run))
    }

    fn put_rows(&mut self, txn: &DbTransaction) -> SqlResult<()> {
        let mut rows = std::mem::take(&mut self.rows);
        self.rows_bytes = 0;
        // Equal keys stay as they came, as without a run.
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        for (number, (_, row)) in rows.iter().enumerate() {
            stop_if_asked(number)?;
            self.put_row(txn, row)?;
        }
        Ok(())
    }

    fn put_row(&mut self, txn: &DbTransaction, row: &[Value]) -> SqlResult<()> {
        let _charge = io::charge(self.table.definition(), 0);
        let locator = self.table.insert_base(txn, row)?;
        self.add_entries(txn, row, &locator)
    }

    fn put_entries(&mut self, txn: &DbTransaction, run: usize) -> SqlResult<()> {
        let _charge = io::charge(self.table.definition(), 0);
        let run = &mut self.entries[run];
        let mut places = std::mem::take(&mut run.places);
        places.sort_unstable_by(|a, b| run.key(*a).cmp(run.key(*b)));
        let tree = &self.table.inner.secondary[run.at].tree;
        for (number, place) in places.iter().enumerate() {
            stop_if_asked(number)?;
            let inserted = tree.insert(txn.inner(), run.key(*place), run.value(*place));
            match inserted.map_err(|error| self.table.fail(txn, error))? {
                Inserted::Done => self.table.note_entries(txn, run.at, 1),
                Inserted::Duplicate => return Err(self.table.duplicate_entry(run.at, run.value(*place))),
            }
        }
        run.bytes.clear();
        Ok(())
    }
}

impl Table {
    /// A unique index has the key of this entry already.
    fn duplicate_entry(&self, at: usize, entry: &[u8]) -> types::SqlError {
        let (index, secondary) = (self.inner.index_of(at), &self.inner.secondary[at]);
        let mut values = Vec::new();
        let decoded = split_entry(entry, &self.inner.base).map(|(_, stored)| {
            // The key's columns stand first.
            let key = 0..index.key.len();
            secondary.format.decode_columns(stored, key, &mut values, &mut |_| Ok(Vec::new()))
        });
        let shown: Vec<String> = match decoded {
            Some(Ok(())) => values.iter().map(shown_value).collect(),
            _ => vec!["?".into(); index.key.len()],
        };
        self.duplicate_of(index, &format!("({})", shown.join(", ")))
    }
}

/// KILL and attention end a long build.
fn stop_if_asked(number: usize) -> SqlResult<()> {
    let is_asked = number.is_multiple_of(ROWS_BETWEEN_LOOKS) && os::task::interrupt_pending();
    if is_asked { Err(crate::error::interrupted()) } else { Ok(()) }
}
