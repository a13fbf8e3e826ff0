//! Input of statistics: rows of some pages, or all entries of an index in its order. Sampled values are sorted within a small memory, and on
//! disk beyond it.

use std::sync::Arc;

use access::{AccessError, KeyColumn, KeyFormat, ROW_BYTES_MAX, RowColumn, RowFormat, UnitId};
use txn::IsolationLevel;
use types::{Collation, SqlError, Value};

use super::sorted_runs::SortedRuns;
use super::stop::stop_if_asked;
use super::{KeyRange, ScanOptions, Table};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::filter::IndexFilter;
use crate::schema::IndexDef;
use crate::statistics::{StatisticsCollector, StatisticsContent};

/// Bytes of sampled values in memory at once.
const SAMPLE_BYTES: usize = 4 << 20;

/// The sample size of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// This many pages.
    Pages(u64),
    /// This share of all pages, between 0 and 1.
    Share(f64),
}

impl Table {
    fn collector(&self, ordinals: &[usize]) -> StatisticsCollector {
        let columns = &self.definition().columns;
        let shape = |at: &usize| (columns[*at].sql_type, columns[*at].collation);
        StatisticsCollector::new(ordinals.iter().map(shape).collect())
    }

    /// Statistics of these columns from some pages of the table, for the rows that satisfy a filter; `None` when they cannot be read, or do not store
    /// a column. Never waits.
    pub fn sample_statistics(
        &self,
        ordinals: &[usize],
        filter: Option<&IndexFilter>,
        size: SampleSize,
    ) -> Option<StatisticsContent> {
        let (inner, definition) = (self.inner(), self.definition());
        let terms = filter.map(|filter| filter.terms.as_slice()).unwrap_or_default();
        let judged = || terms.iter().map(|term| &definition.columns[term.ordinal]);
        let mut asked = ordinals.iter().map(|at| &definition.columns[*at]).chain(judged());
        if asked.any(|column| column.sql_type.is_large_object() || column.is_made_when_read()) {
            return None;
        }
        let collations: Vec<Collation> = judged().map(|column| column.collation).collect();
        let wanted = |all: u64| match size {
            SampleSize::Pages(pages) => pages.max(1),
            SampleSize::Share(share) => ((all as f64 * share).ceil() as u64).max(1),
        };
        self.note_own_scan(definition.base().index_id);
        let mut sorted = SortedValues::new(self, ordinals);
        let (mut seen, mut taken) = (0_u64, 0_u64);
        let mut values = Vec::with_capacity(ordinals.len() + terms.len());
        let mut failure = None;
        let unit = UnitId(definition.base().unit);
        let pages = inner.database.access.sample_rows(unit, &wanted, &mut |row| {
            values.clear();
            let columns = ordinals.iter().copied().chain(terms.iter().map(|term| term.ordinal));
            // Out-of-row values are not fetched for statistics, and a damaged row is skipped.
            if inner.format.decode_columns(row, columns, &mut values, &mut |_| Ok(Vec::new())).is_err() {
                return true;
            }
            seen += 1;
            let of_filter = &values[ordinals.len()..];
            if filter.is_some_and(|filter| !filter.accepts_values(of_filter, &collations)) {
                return true;
            }
            taken += 1;
            failure = sorted.add(&values[..ordinals.len()]).err();
            failure.is_none()
        });
        let is_whole = pages.ok()?.is_whole();
        if failure.is_some() {
            return None;
        }
        let mut collector = self.collector(ordinals);
        sorted.drain(&mut |values, rows| collector.add(values, rows)).ok()?;
        if is_whole {
            // Otherwise statistics of all rows would look stale because a few pages gave another estimate after a start.
            inner.row_count.seen(seen);
        }
        let all = if is_whole { seen } else { self.row_count_estimate().max(seen) };
        let total = if seen == 0 { 0 } else { (all as f64 * taken as f64 / seen as f64).round() as u64 };
        let content = collector.finish(total, inner.database.now());
        Some(StatisticsContent { unfiltered_rows: all.max(content.rows), ..content })
    }

    /// Statistics of an index's columns from all its entries, read in order; `None` when that is not the order of statistics (DESC). Never
    /// waits; `go_on` is called for each page.
    ///
    /// # Errors
    /// Those of reading, and of `go_on`.
    pub fn walk_statistics(
        &self,
        txn: &DbTransaction,
        index: &IndexDef,
        go_on: &mut dyn FnMut() -> SqlResult<()>,
    ) -> SqlResult<Option<StatisticsContent>> {
        let definition = self.definition();
        let descends = |index: &IndexDef| index.key.iter().any(|key| key.descending);
        if !index.has_unit() || index.key.is_empty() || descends(index) || descends(definition.base()) {
            return Ok(None);
        }
        let ordinals = definition.statistics_columns(index);
        let options = ScanOptions { isolation: IsolationLevel::ReadUncommitted, ..ScanOptions::default() };
        let columns: Arc<[usize]> = ordinals.as_slice().into();
        let everything = KeyRange::all();
        let mut cursor = self.read(txn, index.index_id, &everything, &options, Some(&columns), Vec::new())?;
        self.note_own_scan(index.index_id);
        let mut collector = self.collector(&ordinals);
        let mut values = Vec::with_capacity(ordinals.len());
        loop {
            let rows = cursor.next_page(txn)?;
            if rows == 0 {
                break;
            }
            go_on()?;
            for at in 0..rows {
                values.clear();
                cursor.values(at, 0..ordinals.len(), &mut values)?;
                collector.add(&values, 1.0);
            }
        }
        let content = collector.finish(0, self.database().now());
        if index.is_whole() {
            self.inner().row_count.seen(content.rows);
        }
        Ok(Some(match &index.filter {
            Some(_) => self.of_filtered(txn, content),
            None => content,
        }))
    }

    /// The content for all rows that satisfy a filter.
    pub fn of_filtered(&self, txn: &DbTransaction, content: StatisticsContent) -> StatisticsContent {
        StatisticsContent { unfiltered_rows: self.row_count_in(txn).max(content.rows), ..content }
    }
}

/// Sorts the values of some columns for statistics.
struct SortedValues {
    keys: KeyFormat,
    rows: RowFormat,
    runs: SortedRuns,
    count: usize,
}

impl SortedValues {
    fn new(table: &Table, ordinals: &[usize]) -> SortedValues {
        let columns = || ordinals.iter().map(|at| &table.definition().columns[*at]);
        let key = columns().map(|column| KeyColumn { collation: column.collation, descending: false });
        let row = columns()
            .map(|column| RowColumn { sql_type: column.sql_type, collation: column.collation })
            .collect();
        SortedValues {
            keys: KeyFormat::new(key.collect()),
            rows: RowFormat::new(row),
            runs: SortedRuns::new(table.inner.database.workspaces().clone(), SAMPLE_BYTES),
            count: 0,
        }
    }

    fn add(&mut self, values: &[Value]) -> SqlResult<()> {
        stop_if_asked(self.count)?;
        self.count += 1;
        let (keys, rows) = (&self.keys, &self.rows);
        self.runs.add(|out| {
            let start = out.len();
            keys.encode(values, out);
            let key_bytes = out.len() - start;
            // All values are in one row; a damaged row may be too long.
            let mut too_long =
                |_: &[u8]| Err(AccessError::RowTooLarge { bytes: ROW_BYTES_MAX + 1, limit: ROW_BYTES_MAX });
            rows.encode(values, ROW_BYTES_MAX, out, &mut too_long).map_err(|error| unreadable(&error))?;
            Ok(key_bytes)
        })
    }

    /// Passes the distinct values on, each with its number of rows.
    fn drain(mut self, work: &mut dyn FnMut(&[Value], f64)) -> SqlResult<()> {
        let mut values = Vec::with_capacity(self.rows.columns().len());
        let (mut last, mut count) = (Vec::new(), 0.0);
        let rows = &self.rows;
        self.runs.drain(&mut |key, row| {
            if count > 0.0 && key == last.as_slice() {
                count += 1.0;
                return Ok(());
            }
            if count > 0.0 {
                work(&values, count);
            }
            last.clear();
            values.clear();
            last.extend_from_slice(key);
            let columns = 0..rows.columns().len();
            let decoded = rows.decode_columns(row, columns, &mut values, &mut |_| Ok(Vec::new()));
            decoded.map_err(|error| unreadable(&error))?;
            count = 1.0;
            Ok(())
        })?;
        if count > 0.0 {
            work(&values, count);
        }
        Ok(())
    }
}

/// Not reported: a plan works without statistics, a statement reads all rows.
fn unreadable(error: &AccessError) -> SqlError {
    SqlError::custom(824, 24, 2, error.to_string())
}
