//! Row counts and cardinality estimates of a table: updates of the counts, the planner's estimates, exact counts.

use std::sync::Arc;

use access::{BTree, KeyFormat};
use txn::{IsolationLevel, LockMode, LockWait};
use types::Value;

use super::entry::split_entry;
use super::{Base, KeyRange, ScanOptions, Table, byte_range};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::row_counts::{Density, RowCount};
use crate::schema::{IndexColumn, IndexDef};

/// The assumed rows of a table without any information.
const ROW_COUNT_GUESS: u64 = 1_000;

/// Positions of an index that are sampled to estimate how many rows have one value.
const SAMPLES: u32 = 16;

impl Table {
    pub(super) fn note_rows(&self, txn: &DbTransaction, by: i64) {
        txn.row_counts.borrow_mut().note(&self.inner.row_count, by);
    }

    pub(super) fn note_update(&self, txn: &DbTransaction, columns: &[usize]) {
        self.inner.row_count.note_columns(columns);
        txn.row_counts.borrow_mut().note_update(&self.inner.row_count);
    }

    pub(crate) fn row_count(&self) -> &Arc<RowCount> {
        &self.inner.row_count
    }

    pub(super) fn note_entries(&self, txn: &DbTransaction, at: usize, by: i64) {
        if let Some(count) = &self.inner.secondary[at].entry_count {
            txn.row_counts.borrow_mut().note(count, by);
        }
    }

    /// The approximate number of rows, for the planner: the stored count, or once an estimate from a few pages. Never waits.
    pub fn row_count_estimate(&self) -> u64 {
        if let Some(rows) = self.inner.row_count.about() {
            return rows;
        }
        let estimate = self.estimate_from_pages().unwrap_or(ROW_COUNT_GUESS);
        self.inner.row_count.estimate(estimate);
        estimate
    }

    /// The number including the transaction's own changes.
    pub fn row_count_in(&self, txn: &DbTransaction) -> u64 {
        let own = txn.row_counts.borrow().own(&self.inner.row_count).unwrap_or(0);
        self.row_count_estimate().saturating_add_signed(own)
    }

    fn estimate_from_pages(&self) -> Option<u64> {
        let inner = &self.inner;
        match &inner.base {
            Base::Tree(tree) => tree.estimate_rows().ok(),
            Base::Heap(heap) => {
                let whole = (0..inner.secondary.len()).find(|at| inner.index_of(*at).is_whole());
                if let Some(at) = whole {
                    return inner.secondary[at].tree.estimate_rows().ok();
                }
                let pages = inner.database.pages_of_units().ok()?;
                heap.estimate_rows(*pages.get(&inner.definition.base().unit)?).ok()
            }
        }
    }

    fn count_of(&self, index_id: i32) -> &Arc<RowCount> {
        let of_index = self.inner.secondary.iter().find(|secondary| secondary.index_id == index_id);
        of_index.and_then(|secondary| secondary.entry_count.as_ref()).unwrap_or(&self.inner.row_count)
    }

    /// The number of rows of a heap or index, by its number: the committed ones and the transaction's own changes. It is kept; after the
    /// database was opened it is counted once (`go_on` is called for each page), and counted again while another transaction is changing the
    /// table, with uncommitted rows included.
    ///
    /// # Errors
    /// 1222; the marker of a stale plan; those of `go_on`.
    pub fn count_rows(
        &self,
        txn: &DbTransaction,
        index_id: i32,
        go_on: &mut dyn FnMut() -> SqlResult<()>,
    ) -> SqlResult<u64> {
        let count = self.count_of(index_id);
        let own = txn.row_counts.borrow().own(count);
        if let Some(rows) = count.known() {
            return Ok(u64::try_from(rows + own.unwrap_or(0)).unwrap_or(0));
        }
        // No transaction changes the table meanwhile, or the result is not kept.
        let object_id = self.inner.definition.object_id;
        let is_still = txn.lock_object_for_statement(object_id, LockMode::S, LockWait::NoWait).is_ok();
        let rows = self.count_by_reading(txn, index_id, go_on)?;
        if is_still && let Ok(rows) = i64::try_from(rows) {
            count.learn(rows - own.unwrap_or(0), own.is_some());
        }
        Ok(rows)
    }

    /// The number of rows by a scan, committed or not.
    ///
    /// # Errors
    /// As `count_rows`.
    pub fn count_by_reading(
        &self,
        txn: &DbTransaction,
        index_id: i32,
        go_on: &mut dyn FnMut() -> SqlResult<()>,
    ) -> SqlResult<u64> {
        let isolation = IsolationLevel::ReadUncommitted;
        let options = ScanOptions { isolation, counts_only: true, ..ScanOptions::default() };
        let mut cursor = self.scan(txn, index_id, &options, Some(&Arc::from([])))?;
        let mut rows = 0;
        loop {
            match cursor.next_page(txn)? {
                0 => return Ok(rows),
                more => rows += more as u64,
            }
            go_on()?;
        }
    }
}

impl Table {
    /// The estimated rows of a range of an index, from the positions of its ends in the tree. `None` without an estimate. Never waits.
    pub fn rows_in(&self, index_id: i32, range: &KeyRange) -> Option<f64> {
        let (tree, format, index) = self.tree_of(index_id)?;
        let share = tree.share_of(&byte_range(format, index, range)).ok()?;
        let rows = self.count_of(index_id).about().unwrap_or_else(|| self.row_count_estimate());
        Some(share * rows as f64)
    }

    /// The average number of rows that have one value in the first `columns` columns of an index, from a few sampled positions of
    /// the index. It is kept until the table has changed its size by a fifth.
    pub fn density(&self, index_id: i32, columns: usize) -> Option<Density> {
        let (_, _, index) = self.tree_of(index_id)?;
        let rows = self.row_count_estimate();
        let place = (index.unit, columns);
        let counts = &self.inner.database.row_counts;
        if let Some((at_rows, found)) = counts.density(place)
            && rows.abs_diff(at_rows) <= 500 + at_rows / 5
        {
            return Some(found);
        }
        let found = self.sample_density(index_id, columns, rows as f64)?;
        counts.keep_density(place, (rows, found));
        Some(found)
    }

    fn sample_density(&self, index_id: i32, columns: usize, rows: f64) -> Option<Density> {
        let (tree, format, index) = self.tree_of(index_id)?;
        let (mut inverse, mut sampled, mut nulls) = (0.0, 0.0, 0.0);
        for sample in 0..SAMPLES {
            let place = (f64::from(sample) + 0.5) / f64::from(SAMPLES);
            let Some(value) = tree.value_near(place).ok()? else { continue };
            let values = self.key_values(index_id, &value, &index.key[..columns])?;
            if values.iter().any(Value::is_null) {
                nulls += 1.0;
                continue;
            }
            let range = byte_range(format, index, &KeyRange::equal(values));
            let of_value = (tree.share_of(&range).ok()? * rows).max(1.0);
            inverse += 1.0 / of_value;
            sampled += 1.0;
        }
        // A value is sampled in proportion to its rows: the mean of the inverses corrects that. NULL is one more value, which no equality finds:
        // an index with NULLs only finds no row for any value.
        let rows_per_value = if sampled > 0.0 { sampled / inverse } else { 1.0 };
        let with_value = rows * sampled / (sampled + nulls);
        let distinct_values = (with_value / rows_per_value).max(1.0) + f64::from(u8::from(nulls > 0.0));
        (sampled + nulls > 0.0).then_some(Density { rows_per_value, distinct_values })
    }

    /// The values of key columns in the value of a tree's entry.
    fn key_values(&self, index_id: i32, value: &[u8], columns: &[IndexColumn]) -> Option<Vec<Value>> {
        let inner = &self.inner;
        let mut values = Vec::with_capacity(columns.len());
        let secondary = inner.secondary.iter().find(|secondary| secondary.index_id == index_id);
        let access = &inner.database.access;
        let Some(secondary) = secondary else {
            let ordinals = columns.iter().map(|column| column.ordinal);
            access.decode_columns(&inner.format, value, ordinals, &mut values).ok()?;
            return Some(values);
        };
        let (_, stored) = split_entry(value, &inner.base)?;
        let places: Option<Vec<usize>> = columns
            .iter()
            .map(|column| secondary.stored.iter().position(|at| *at == column.ordinal))
            .collect();
        access.decode_columns(&secondary.format, stored, places?, &mut values).ok()?;
        Some(values)
    }

    /// The tree of an index with the form of its keys; `None` for a heap.
    fn tree_of(&self, index_id: i32) -> Option<(&BTree, &KeyFormat, &IndexDef)> {
        let inner = &self.inner;
        if let Some(at) = inner.secondary.iter().position(|secondary| secondary.index_id == index_id) {
            return Some((&inner.secondary[at].tree, &inner.secondary[at].key, inner.index_of(at)));
        }
        let index = inner.definition.base();
        match &inner.base {
            Base::Tree(tree) if index.index_id == index_id => {
                Some((tree, inner.clustered_key.as_ref()?, index))
            }
            _ => None,
        }
    }
}
