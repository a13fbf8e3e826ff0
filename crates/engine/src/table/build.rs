//! Index build: rows and entries for trees that are being built are collected, sorted (on disk if memory is insufficient), and loaded in
//! key order, page by page ([`TreeLoader`]): one log record per page, no lock and no search per row.

use std::sync::Arc;

use types::{SqlError, Value};

use super::duplicate::shown_value;
use super::entry::split_entry;
use super::sorted_runs::SortedRuns;
use super::{Base, RowLocator, Table, io};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::workspace::{Grant, Workspaces};
use access::{BTree, BuildFill, Inserted, TreeLoader};

/// The most bytes of collected keys, values and rows for all trees together, whatever the grant.
const RUN_BYTES_MAX: usize = 128 << 20;
/// The bytes that may be collected for each tree without a grant.
const RUN_BYTES_MIN: usize = 256 << 10;

/// Fills the units of a table that is being built.
pub(crate) struct Builder {
    table: Table,
    entries: Vec<EntryRuns>,
    /// Rows of the clustered index.
    rows: SortedRuns,
    /// The memory for the collected keys.
    _gathering: Gathering,
}

/// The query memory of collected keys, in bytes; 0 when they are few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatheredMemory {
    /// The granted memory.
    pub granted_bytes: u64,
    /// The requested memory.
    pub ideal_bytes: u64,
    /// The memory in use.
    pub used_bytes: u64,
}

/// The memory of collected keys for several trees: small at first, from free query memory when that is insufficient.
pub(super) struct Gathering {
    workspaces: Arc<Workspaces>,
    trees: usize,
    /// The most memory of a run.
    bytes_max: usize,
    has_asked: bool,
    grant: Option<Grant>,
}

impl Gathering {
    pub(super) fn new(table: &Table, trees: usize) -> Gathering {
        Gathering {
            workspaces: table.inner.database.workspaces().clone(),
            trees: trees.max(1),
            bytes_max: RUN_BYTES_MIN,
            has_asked: false,
            grant: None,
        }
    }

    /// Requests a grant of free query memory, once.
    fn ask(&mut self, session_id: i16) {
        if std::mem::replace(&mut self.has_asked, true) {
            return;
        }
        self.grant = self.workspaces.grant_what_is_free(session_id);
        let granted = self.grant.as_ref().map_or(u64::MAX, Grant::bytes);
        let bytes = usize::try_from(granted).unwrap_or(usize::MAX).min(RUN_BYTES_MAX);
        self.bytes_max = (bytes / self.trees).max(RUN_BYTES_MIN);
    }

    /// Its memory figures; `runs` are the collected keys.
    pub(super) fn memory<'r>(&self, runs: impl Iterator<Item = &'r SortedRuns>) -> GatheredMemory {
        let Some(grant) = &self.grant else { return GatheredMemory::default() };
        GatheredMemory {
            granted_bytes: grant.bytes(),
            ideal_bytes: grant.requested_bytes(),
            used_bytes: runs.map(|runs| runs.peak_bytes() as u64).sum::<u64>().min(grant.bytes()),
        }
    }

    /// Runs of one of the trees.
    pub(super) fn runs(&self) -> SortedRuns {
        SortedRuns::new(self.workspaces.clone(), self.bytes_max)
    }

    /// Runs that are full for the first time get more memory.
    pub(super) fn make_room(&mut self, session_id: i16, runs: &mut SortedRuns) {
        if self.has_asked && runs.bytes_max() == self.bytes_max || runs.has_room() {
            return;
        }
        self.ask(session_id);
        runs.allow(self.bytes_max);
    }
}

/// Entries of one nonclustered index.
struct EntryRuns {
    /// Its index, by position among the enabled ones.
    at: usize,
    runs: SortedRuns,
}

impl Builder {
    /// Fills the nonclustered indexes with these numbers, and the heap or clustered index when rows are added. All of them are empty, and created by
    /// the transaction's present statement.
    pub(crate) fn new(txn: &DbTransaction, table: &Table, index_ids: &[i32]) -> Builder {
        let has_rows = index_ids.contains(&table.inner.definition.base().index_id);
        let is_filled = |at: &usize| index_ids.contains(&table.inner.secondary[*at].index_id);
        let filled: Vec<usize> = (0..table.inner.secondary.len()).filter(is_filled).collect();
        let mut gathering = Gathering::new(table, filled.len() + usize::from(has_rows));
        gathering.ask(txn.session_id());
        Builder {
            table: table.clone(),
            entries: filled.into_iter().map(|at| EntryRuns { at, runs: gathering.runs() }).collect(),
            rows: gathering.runs(),
            _gathering: gathering,
        }
    }

    /// Adds a row to the heap or clustered index, and its entries to the nonclustered ones.
    ///
    /// # Errors
    /// Those of `Table::insert`.
    pub(crate) fn add_row(&mut self, txn: &DbTransaction, row: &[Value]) -> SqlResult<()> {
        let table = &self.table;
        let Base::Tree(_) = &table.inner.base else {
            let _charge = io::charge(table.definition(), 0);
            let locator = table.insert_base(txn, row)?;
            return match locator {
                RowLocator::Heap(rid) => self.add_entries(txn, row, &rid.to_bytes()),
                RowLocator::Key(_) => Err(SqlError::stale_plan()),
            };
        };
        let index = table.inner.definition.base();
        table.check_key_length(index, table.inner.may_overflow[0], row)?;
        let key = table.clustered_key(row, index.unique);
        self.rows.add(|out| {
            out.extend_from_slice(&key);
            table.encode_into(txn, row, out).map(|()| key.len())
        })?;
        table.note_rows(txn, 1);
        self.add_entries(txn, row, &key)
    }

    /// Adds the entries of a row that is already stored; the locator is in the form of index entries.
    ///
    /// # Errors
    /// Those of `Table::insert`.
    pub(crate) fn add_entries(
        &mut self,
        txn: &DbTransaction,
        row: &[Value],
        locator: &[u8],
    ) -> SqlResult<()> {
        let table = &self.table;
        for EntryRuns { at, runs } in &mut self.entries {
            if !table.inner.has_entry_of(*at, row) {
                continue;
            }
            let position = table.inner.secondary[*at].position;
            table.check_key_length(table.inner.index_of(*at), table.inner.may_overflow[position], row)?;
            runs.add(|out| table.entry_of(txn, *at, row, locator, out))?;
            table.note_entries(txn, *at, 1);
        }
        Ok(())
    }

    /// Builds the trees from the collected keys.
    ///
    /// # Errors
    /// Those of `Table::insert`.
    pub(crate) fn finish(mut self, txn: &DbTransaction) -> SqlResult<()> {
        let table = &self.table;
        if let Base::Tree(tree) = &table.inner.base {
            let fill = table.inner.definition.base().settings.build_fill();
            load(&mut self.rows, txn, table, (tree, fill), &|row| table.duplicate_row(row))?;
        }
        for EntryRuns { at, runs } in &mut self.entries {
            let tree = &table.inner.secondary[*at].tree;
            let fill = table.inner.index_of(*at).settings.build_fill();
            load(runs, txn, table, (tree, fill), &|entry| table.duplicate_entry(*at, entry))?;
        }
        Ok(())
    }
}

/// Builds a tree from its collected keys, if there are any; `duplicate` makes the error of a duplicate key from its value.
fn load(
    runs: &mut SortedRuns,
    txn: &DbTransaction,
    table: &Table,
    (tree, fill): (&BTree, BuildFill),
    duplicate: &dyn Fn(&[u8]) -> types::SqlError,
) -> SqlResult<()> {
    let _charge = io::charge(table.definition(), 0);
    let mut loader: Option<TreeLoader> = None;
    runs.drain(&mut |key, rest| {
        let loader = match &mut loader {
            Some(loader) => loader,
            None => loader.insert(tree.loader(fill).map_err(|error| table.fail(txn, error))?),
        };
        match loader.push(txn.inner(), key, rest).map_err(|error| table.fail(txn, error))? {
            Inserted::Done => Ok(()),
            Inserted::Duplicate => Err(duplicate(rest)),
        }
    })?;
    loader.map_or(Ok(()), |loader| loader.finish(txn.inner()).map_err(|error| table.fail(txn, error)))
}

impl Table {
    /// The columns, ascending, that some nonclustered indexes store or use in their filter.
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

    /// A row's place in the order of the clustered index, as bytes that compare like the rows.
    ///
    /// # Panics
    /// When the table has no clustered index.
    pub fn order_key(&self, row: &[Value]) -> Vec<u8> {
        self.clustered_key(row, true)
    }

    /// A row's key in the clustered index, for a message.
    pub fn shown_order_key(&self, row: &[Value]) -> String {
        let key = &self.inner.definition.base().key;
        let shown: Vec<String> = key.iter().map(|part| shown_value(&row[part.ordinal])).collect();
        shown.join(", ")
    }

    /// The error of a unique index that already has the key of this entry.
    pub(super) fn duplicate_entry(&self, at: usize, entry: &[u8]) -> types::SqlError {
        let (index, secondary) = (self.inner.index_of(at), &self.inner.secondary[at]);
        let mut values = Vec::new();
        let decoded = split_entry(entry, &self.inner.base).map(|(_, stored)| {
            // The key columns come first.
            let key = 0..index.key.len();
            secondary.format.decode_columns(stored, key, &mut values, &mut |_| Ok(Vec::new())).is_ok()
        });
        self.duplicate_shown(index, decoded == Some(true), &values)
    }

    /// The error of a clustered index that already has the key of this row.
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
