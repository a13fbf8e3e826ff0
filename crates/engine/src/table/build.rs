//! Rows and entries on their way into trees that are being built: gathered, sorted (on disk where memory does not suffice), and put in by
//! rising key, page by page ([`TreeLoader`]): a log record a page, no lock and no search a row.

use types::Value;

use super::duplicate::shown_value;
use super::entry::split_entry;
use super::sorted_runs::SortedRuns;
use super::{Base, RowLocator, Table, io};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::workspace::Grant;
use access::{BTree, Inserted, TreeLoader};

/// Bytes of keys, values and rows that are gathered, at most, for all trees together, however much is granted.
const RUN_BYTES_MAX: usize = 128 << 20;
/// So much may be gathered for each tree, whoever has the memory of queries.
const RUN_BYTES_MIN: usize = 256 << 10;
/// Between two looks whether the request is to stop, in rows.
const ROWS_BETWEEN_LOOKS: usize = 1_000;

/// Fills the units of a table that is being built.
pub(crate) struct Builder {
    table: Table,
    entries: Vec<EntryRuns>,
    /// Rows of the clustered index.
    rows: SortedRuns,
    /// What may be gathered.
    _grant: Option<Grant>,
}

/// Entries of one nonclustered index.
struct EntryRuns {
    /// Which one, by its place among those that are kept.
    at: usize,
    runs: SortedRuns,
}

impl Builder {
    /// Fills the nonclustered indexes with these numbers, and the heap or clustered index when rows come. All of them are empty, and made by
    /// the transaction's present statement.
    pub(crate) fn new(txn: &DbTransaction, table: &Table, index_ids: &[i32]) -> Builder {
        let has_rows = index_ids.contains(&table.inner.definition.base().index_id);
        let is_filled = |at: &usize| index_ids.contains(&table.inner.secondary[*at].index_id);
        let filled: Vec<usize> = (0..table.inner.secondary.len()).filter(is_filled).collect();
        let workspaces = table.inner.database.workspaces();
        let grant = workspaces.grant_what_is_free(txn.session_id());
        let granted = grant.as_ref().map_or(u64::MAX, Grant::bytes);
        let bytes = usize::try_from(granted).unwrap_or(usize::MAX).min(RUN_BYTES_MAX);
        let bytes_max = (bytes / (filled.len() + usize::from(has_rows)).max(1)).max(RUN_BYTES_MIN);
        let runs = || SortedRuns::new(workspaces.clone(), bytes_max);
        Builder {
            table: table.clone(),
            entries: filled.into_iter().map(|at| EntryRuns { at, runs: runs() }).collect(),
            rows: runs(),
            _grant: grant,
        }
    }

    /// A row for the heap or clustered index and all that hang on it.
    ///
    /// # Errors
    /// Those of `Table::insert`.
    pub(crate) fn add_row(&mut self, txn: &DbTransaction, row: &[Value]) -> SqlResult<()> {
        let table = &self.table;
        let Base::Tree(_) = &table.inner.base else {
            let _charge = io::charge(table.definition(), 0);
            let locator = table.insert_base(txn, row)?;
            return self.add_entries(txn, row, &locator);
        };
        let index = table.inner.definition.base();
        table.check_key_length(index, table.inner.may_overflow[0], row)?;
        let key = table.clustered_key(row, index.unique);
        self.rows.add(|out| {
            out.extend_from_slice(&key);
            table.encode_into(txn, row, out).map(|()| key.len())
        })?;
        table.note_rows(txn, 1);
        self.add_entries(txn, row, &RowLocator::Key(key.into()))
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
        let table = &self.table;
        for EntryRuns { at, runs } in &mut self.entries {
            if !table.inner.has_entry_of(*at, row) {
                continue;
            }
            let position = table.inner.secondary[*at].position;
            table.check_key_length(table.inner.index_of(*at), table.inner.may_overflow[position], row)?;
            runs.add(|out| table.entry_into(txn, *at, row, locator, out))?;
            table.note_entries(txn, *at, 1);
        }
        Ok(())
    }

    /// Builds the trees of what is gathered.
    ///
    /// # Errors
    /// Those of `Table::insert`.
    pub(crate) fn finish(mut self, txn: &DbTransaction) -> SqlResult<()> {
        let table = &self.table;
        if let Base::Tree(tree) = &table.inner.base {
            load(&mut self.rows, txn, table, tree, &|row| table.duplicate_row(row))?;
        }
        for EntryRuns { at, runs } in &mut self.entries {
            let tree = &table.inner.secondary[*at].tree;
            load(runs, txn, table, tree, &|entry| table.duplicate_entry(*at, entry))?;
        }
        Ok(())
    }
}

/// Builds a tree of what was gathered for it, if anything was; `duplicate` tells of a key that comes twice, by what hangs on it.
fn load(
    runs: &mut SortedRuns,
    txn: &DbTransaction,
    table: &Table,
    tree: &BTree,
    duplicate: &dyn Fn(&[u8]) -> types::SqlError,
) -> SqlResult<()> {
    let _charge = io::charge(table.definition(), 0);
    let mut loader: Option<TreeLoader> = None;
    runs.drain(&mut |key, rest| {
        let loader = match &mut loader {
            Some(loader) => loader,
            None => loader.insert(tree.loader().map_err(|error| table.fail(txn, error))?),
        };
        match loader.push(txn.inner(), key, rest).map_err(|error| table.fail(txn, error))? {
            Inserted::Done => Ok(()),
            Inserted::Duplicate => Err(duplicate(rest)),
        }
    })?;
    loader.map_or(Ok(()), |loader| loader.finish(txn.inner()).map_err(|error| table.fail(txn, error)))
}

impl Table {
    /// The columns, ascending, whose values some nonclustered indexes keep or are filtered by.
    pub(crate) fn columns_of(&self, index_ids: &[i32]) -> Vec<usize> {
        let every = 0..self.inner.definition.columns.len();
        let is_wanted = |column: &usize| {
            let mut wanted = (0..self.inner.secondary.len())
                .filter(|at| index_ids.contains(&self.inner.secondary[*at].index_id));
            wanted.any(|at| {
                let filter = self.inner.index_of(at).filter.as_ref();
                self.inner.secondary[at].stored.contains(column)
                    || filter.is_some_and(|filter| filter.is_about(&[*column]))
            })
        };
        every.filter(is_wanted).collect()
    }

    /// A unique index has the key of this entry already.
    pub(super) fn duplicate_entry(&self, at: usize, entry: &[u8]) -> types::SqlError {
        let (index, secondary) = (self.inner.index_of(at), &self.inner.secondary[at]);
        let mut values = Vec::new();
        let decoded = split_entry(entry, &self.inner.base).map(|(_, stored)| {
            // The key's columns stand first.
            let key = 0..index.key.len();
            secondary.format.decode_columns(stored, key, &mut values, &mut |_| Ok(Vec::new())).is_ok()
        });
        self.duplicate_shown(index, decoded == Some(true), &values)
    }

    /// The clustered index has the key of this row already.
    pub(super) fn duplicate_row(&self, row: &[u8]) -> types::SqlError {
        let index = self.inner.definition.base();
        let mut values = Vec::new();
        let key = index.key.iter().map(|column| column.ordinal);
        let decoded = self.inner.format.decode_columns(row, key, &mut values, &mut |_| Ok(Vec::new()));
        self.duplicate_shown(index, decoded.is_ok(), &values)
    }

    fn duplicate_shown(
        &self,
        index: &crate::schema::IndexDef,
        is_known: bool,
        values: &[Value],
    ) -> types::SqlError {
        let shown: Vec<String> = match is_known {
            true => values.iter().map(shown_value).collect(),
            false => vec!["?".into(); index.key.len()],
        };
        self.duplicate_of(index, &format!("({})", shown.join(", ")))
    }
}

/// KILL and attention end a long change.
pub(super) fn stop_if_asked(number: usize) -> SqlResult<()> {
    let is_asked = number.is_multiple_of(ROWS_BETWEEN_LOOKS) && os::task::interrupt_pending();
    if is_asked { Err(crate::error::interrupted()) } else { Ok(()) }
}
