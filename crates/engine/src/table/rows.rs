//! How many rows a table has: what its changes say, what the planner is told, what is counted.

use std::sync::Arc;

use txn::{IsolationLevel, LockMode, LockWait};

use super::{Base, ScanOptions, Table};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::row_counts::RowCount;

/// Rows of a table of which nothing is known.
const ROW_COUNT_GUESS: u64 = 1_000;

impl Table {
    pub(super) fn note_rows(&self, txn: &DbTransaction, by: i64) {
        txn.row_counts.borrow_mut().note(&self.inner.row_count, by);
    }

    pub(super) fn note_entries(&self, txn: &DbTransaction, at: usize, by: i64) {
        if let Some(count) = &self.inner.secondary[at].entry_count {
            txn.row_counts.borrow_mut().note(count, by);
        }
    }

    /// About how many rows there are, for the planner: the count that is kept, or what a few pages tell, once. Waits for nobody.
    pub fn row_count_estimate(&self) -> u64 {
        if let Some(rows) = self.inner.row_count.about() {
            return rows;
        }
        let estimate = self.estimate_from_pages().unwrap_or(ROW_COUNT_GUESS);
        self.inner.row_count.estimate(estimate);
        estimate
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

    /// The number of rows of a heap or index, by its number: the committed ones and those of the transaction itself. It is kept; after the
    /// database was opened it is counted once, `go_on` being asked for each page, and while somebody else is changing the table counted
    /// again, his rows included.
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
        // Nobody changes it meanwhile, or what is found is not kept.
        let object_id = self.inner.definition.object_id;
        let is_still = txn.lock_object_for_statement(object_id, LockMode::S, LockWait::NoWait).is_ok();
        let rows = self.count_by_reading(txn, index_id, go_on)?;
        if is_still && let Ok(rows) = i64::try_from(rows) {
            count.learn(rows - own.unwrap_or(0), own.is_some());
        }
        Ok(rows)
    }

    /// The rows as they stand now, committed or not.
    ///
    /// # Errors
    /// As `count_rows`.
    pub fn count_by_reading(
        &self,
        txn: &DbTransaction,
        index_id: i32,
        go_on: &mut dyn FnMut() -> SqlResult<()>,
    ) -> SqlResult<u64> {
        let options = ScanOptions { isolation: IsolationLevel::ReadUncommitted, ..ScanOptions::default() };
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
