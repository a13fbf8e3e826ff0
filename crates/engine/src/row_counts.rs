//! Row counts of each heap and index, in memory, for the planner, sys.partitions and sp_spaceused; and counts of changed rows,
//! for statistics.
//!
//! A transaction keeps its changes of counts private and applies them right after its commit: transactions that change
//! rows at the same time share no counter. A rollback, also to a savepoint, drops its part. Only an index with a filter has a row count
//! different from its table's, and a counter of its own.
//!
//! ```text
//!   Unknown ──estimate()──► Estimated ─┐     a database that was opened: no count outlives a stop or a crash
//!      │                        │ ▲     │
//!      │                        │ └─────┘ seen()
//!      └───────learn()──────────┴──► Known ◄── begin()    a unit that this incarnation has made, empty
//! ```
//!
//! Each transition except begin()'s goes through BeingSet (`set`), which admits one thread at a time, and in which the count is unknown.
//!
//! *Known* is exact: the rows of all settled transactions, and nothing else. A reader between another transaction's commit and its settling, a few
//! instructions later, may get the number before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};

use os::{Latch, LatchRank};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The state of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quality {
    Unknown = 0,
    Estimated = 1,
    /// A thread is about to set it.
    BeingSet = 2,
    Known = 3,
}

/// The row count of one heap or index.
#[derive(Debug)]
pub(crate) struct RowCount {
    rows: AtomicI64,
    quality: AtomicU8,
    /// Transactions with unsettled changes of it, each counted once.
    changers: AtomicU32,
    /// Rows that settled transactions have inserted and deleted, and those that they have updated.
    changed: AtomicU64,
    updated: AtomicU64,
    /// The columns that updates have set, a bit for each position; the last bit is that of all from 63 on.
    updated_columns: AtomicU64,
    /// Incremented when the table's statistics change.
    statistics_version: AtomicU64,
}

/// Changes of a table's rows since its count began, without those that were rolled back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowsTouched {
    /// Inserted and deleted.
    pub(crate) changed: u64,
    /// Updated.
    pub(crate) updated: u64,
}

impl RowCount {
    fn new(quality: Quality) -> RowCount {
        RowCount {
            rows: AtomicI64::new(0),
            quality: AtomicU8::new(quality as u8),
            changers: AtomicU32::new(0),
            changed: AtomicU64::new(0),
            updated: AtomicU64::new(0),
            updated_columns: AtomicU64::new(0),
            statistics_version: AtomicU64::new(0),
        }
    }

    /// Applies a transaction's changes at its commit. It writes no counter that does not change: other threads write there, too.
    fn add(&self, delta: i64, touched: RowsTouched) {
        if delta != 0 {
            self.rows.fetch_add(delta, Ordering::Relaxed);
        }
        for (total, more) in [(&self.changed, touched.changed), (&self.updated, touched.updated)] {
            if more != 0 {
                total.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// All that was changed.
    pub(crate) fn touched(&self) -> RowsTouched {
        RowsTouched {
            changed: self.changed.load(Ordering::Relaxed),
            updated: self.updated.load(Ordering::Relaxed),
        }
    }

    /// Has an update set this column?
    pub(crate) fn has_updated(&self, column: usize) -> bool {
        self.updated_columns.load(Ordering::Relaxed) & column_bit(column) != 0
    }

    /// An update sets these columns. Does not write the shared cell if the bits are set already.
    pub(crate) fn note_columns(&self, columns: &[usize]) {
        let bits = columns.iter().fold(0, |bits, column| bits | column_bit(*column));
        if self.updated_columns.load(Ordering::Relaxed) & bits != bits {
            self.updated_columns.fetch_or(bits, Ordering::Relaxed);
        }
    }

    /// The version of the table's statistics.
    pub(crate) fn statistics_version(&self) -> u64 {
        self.statistics_version.load(Ordering::Acquire)
    }

    /// The table's statistics have changed.
    pub(crate) fn note_statistics(&self) {
        self.statistics_version.fetch_add(1, Ordering::Release);
    }

    /// The number, if it is exact.
    pub(crate) fn known(&self) -> Option<i64> {
        let is_known = self.quality.load(Ordering::Acquire) == Quality::Known as u8;
        is_known.then(|| self.rows.load(Ordering::Relaxed))
    }

    /// The number, exact or estimated; `None` when unknown.
    pub(crate) fn about(&self) -> Option<u64> {
        let quality = self.quality.load(Ordering::Acquire);
        let is_there = quality == Quality::Estimated as u8 || quality == Quality::Known as u8;
        is_there.then(|| u64::try_from(self.rows.load(Ordering::Relaxed)).unwrap_or(0))
    }

    /// Sets an estimate, if the count was unknown.
    pub(crate) fn estimate(&self, rows: u64) {
        self.set(Quality::Unknown, rows, Quality::Estimated);
    }

    /// A scan has counted all rows while other transactions may have changed the table: better than an estimate.
    pub(crate) fn seen(&self, rows: u64) {
        let _ = self.set(Quality::Estimated, rows, Quality::Estimated)
            || self.set(Quality::Unknown, rows, Quality::Estimated);
    }

    /// A scan has counted the rows while no other transaction could change the table; `own`: the scanning transaction has changes itself. False when
    /// another's changes are not settled yet.
    pub(crate) fn learn(&self, rows: i64, own: bool) -> bool {
        if self.changers.load(Ordering::Acquire) != u32::from(own) {
            return false;
        }
        let rows = u64::try_from(rows).unwrap_or(0);
        self.set(Quality::Estimated, rows, Quality::Known)
            || self.set(Quality::Unknown, rows, Quality::Known)
            || self.known().is_some()
    }

    /// Sets the number if its state is `from`, one thread at a time: an exact one is never set again.
    fn set(&self, from: Quality, rows: u64, to: Quality) -> bool {
        assert!(from != Quality::Known && to != Quality::Unknown, "what is known is not forgotten");
        let taken = self.quality.compare_exchange(
            from as u8,
            Quality::BeingSet as u8,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if taken.is_ok() {
            self.rows.store(i64::try_from(rows).unwrap_or(i64::MAX), Ordering::Relaxed);
            self.quality.store(to as u8, Ordering::Release);
        }
        taken.is_ok()
    }
}

fn column_bit(column: usize) -> u64 {
    1 << column.min(63)
}

/// An estimate of how an index's rows share the values of its first columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Density {
    /// The average number of rows that an equality finds. It never finds NULL.
    pub rows_per_value: f64,
    /// Different values, with NULL as one.
    pub distinct_values: f64,
}

/// The row counts of a database's units.
pub(crate) struct RowCounts {
    units: Latch<FxHashMap<u32, Arc<RowCount>>>,
    /// By unit and number of columns: the density of the first columns of its key, and the number of rows at that time.
    densities: Latch<FxHashMap<(u32, usize), (u64, Density)>>,
}

impl Default for RowCounts {
    fn default() -> RowCounts {
        RowCounts {
            units: Latch::new(LatchRank::Stats, FxHashMap::default()),
            densities: Latch::new(LatchRank::Stats, FxHashMap::default()),
        }
    }
}

impl RowCounts {
    /// The count of a unit.
    pub(crate) fn of(&self, unit: u32) -> Arc<RowCount> {
        let mut units = self.units.lock();
        units.entry(unit).or_insert_with(|| Arc::new(RowCount::new(Quality::Unknown))).clone()
    }

    /// A unit was created, without rows.
    pub(crate) fn begin(&self, unit: u32) {
        let before = self.units.lock().insert(unit, Arc::new(RowCount::new(Quality::Known)));
        assert!(before.is_none(), "the number of unit {unit} is given once");
    }

    /// A unit was dropped.
    fn forget(&self, unit: u32) {
        self.units.lock().remove(&unit);
        self.densities.lock().retain(|place, _| place.0 != unit);
    }

    /// The stored density of a unit's first columns, and the number of rows at that time.
    pub(crate) fn density(&self, place: (u32, usize)) -> Option<(u64, Density)> {
        self.densities.lock().get(&place).copied()
    }

    /// Stores it.
    pub(crate) fn keep_density(&self, place: (u32, usize), found: (u64, Density)) {
        self.densities.lock().insert(place, found);
    }
}

/// A transaction's unsettled changes of counts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct RowCountChanges {
    /// Small transactions change the counts of one table and of its filtered indexes.
    list: SmallVec<[CountChange; 2]>,
    /// Changes before this index belong to earlier statements: before an addition to one of them, its old value is saved in `before`.
    sealed: usize,
    /// The newest savepoint that outlives its statement: changes before this index are fixed.
    kept: usize,
    /// The old values of changes that the running statement has added to, with their index: a statement is rolled back alone.
    before: Vec<(usize, i64, RowsTouched)>,
}

#[derive(Debug)]
enum CountChange {
    Rows(RowsChange),
    Begun(u32),
    Dropped(u32),
}

#[derive(Debug)]
struct RowsChange {
    /// The identity of the count: its address.
    of: usize,
    /// The count itself in the transaction's first change of it, which makes the transaction one of its changers. The first change is below all
    /// others of the count, and so is removed last: the others come and go with savepoints, and touch no shared memory.
    count: Option<Arc<RowCount>>,
    delta: i64,
    touched: RowsTouched,
}

impl RowsChange {
    fn join(&mut self, other: &RowsChange) {
        assert!(
            self.of == other.of && other.count.is_none(),
            "the older one of the same count has the count"
        );
        self.delta += other.delta;
        self.touched.add(other.touched);
    }
}

impl RowCountChanges {
    /// Rows were inserted or deleted.
    pub(crate) fn note(&mut self, count: &Arc<RowCount>, by: i64) {
        self.note_touched(count, by, RowsTouched { changed: by.unsigned_abs(), updated: 0 });
    }

    /// A row was updated.
    pub(crate) fn note_update(&mut self, count: &Arc<RowCount>) {
        self.note_touched(count, 0, RowsTouched { changed: 0, updated: 1 });
    }

    fn note_touched(&mut self, count: &Arc<RowCount>, by: i64, more: RowsTouched) {
        let of = address_of(count);
        let is_first = match newest_of(&mut self.list, of) {
            Some((at, change)) if at >= self.kept => {
                if at < self.sealed && self.before.iter().all(|noted| noted.0 != at) {
                    self.before.push((at, change.delta, change.touched));
                }
                change.delta += by;
                change.touched.add(more);
                return;
            }
            known => known.is_none(),
        };
        let count = is_first.then(|| {
            count.changers.fetch_add(1, Ordering::AcqRel);
            count.clone()
        });
        self.list.push(CountChange::Rows(RowsChange { of, count, delta: by, touched: more }));
    }

    /// This transaction has created the unit.
    pub(crate) fn note_begun(&mut self, unit: u32) {
        self.list.push(CountChange::Begun(unit));
    }

    /// The unit is dropped when this transaction has committed.
    pub(crate) fn note_dropped(&mut self, unit: u32) {
        self.list.push(CountChange::Dropped(unit));
    }

    /// The transaction's own change of a count; `None` when it has not changed it.
    pub(crate) fn own(&self, count: &Arc<RowCount>) -> Option<i64> {
        let of = address_of(count);
        let of_count = self.list.iter().filter_map(|change| match change {
            CountChange::Rows(change) if change.of == of => Some(change.delta),
            _ => None,
        });
        of_count.fold(None, |sum, delta| Some(sum.unwrap_or(0) + delta))
    }

    /// The rows of a count that the transaction itself has touched.
    pub(crate) fn own_touched(&self, count: &Arc<RowCount>) -> RowsTouched {
        let of = address_of(count);
        let mut sum = RowsTouched::default();
        for change in &self.list {
            match change {
                CountChange::Rows(change) if change.of == of => sum.add(change.touched),
                _ => {}
            }
        }
        sum
    }

    /// The current point; `outlives`: it stays valid after the statement.
    #[inline]
    pub(crate) fn mark(&mut self, outlives: bool) -> usize {
        assert!(!outlives || self.before.is_empty(), "what outlives statements begins between two of them");
        self.before.clear();
        self.sealed = self.list.len();
        if outlives {
            self.kept = self.sealed;
        }
        self.sealed
    }

    /// The statement has ended: it cannot be rolled back alone any more, so its changes are merged into the earlier ones. Each statement of a long
    /// transaction calls this: it allocates nothing, and touches no shared memory.
    #[inline]
    pub(crate) fn statement_ended(&mut self) {
        assert!(self.kept <= self.list.len(), "a savepoint lies in the past");
        self.before.clear();
        self.sealed = self.kept;
    }

    /// Rolls back everything after a point.
    pub(crate) fn take_back(&mut self, counts: &RowCounts, to: usize) {
        assert!(to <= self.list.len(), "a savepoint lies in the past");
        assert!(to == self.sealed || to <= self.kept, "back to the statement's beginning or to a savepoint");
        for (at, delta, touched) in self.before.drain(..).filter(|(at, ..)| *at < to) {
            let CountChange::Rows(change) = &mut self.list[at] else { unreachable!("rows were added to it") };
            (change.delta, change.touched) = (delta, touched);
        }
        while self.list.len() > to {
            match self.list.pop() {
                Some(CountChange::Rows(RowsChange { count: Some(count), .. })) => self.leave(&count),
                Some(CountChange::Begun(unit)) => counts.forget(unit),
                Some(CountChange::Rows(_) | CountChange::Dropped(_)) | None => {}
            }
        }
        self.sealed = to;
        self.kept = self.kept.min(to);
    }

    /// The transaction's first change of the count was removed from the list: it is no longer a changer of it.
    fn leave(&mut self, count: &RowCount) {
        assert!(newest_of(&mut self.list, address_of(count)).is_none(), "the first change goes last");
        let changers = count.changers.fetch_sub(1, Ordering::AcqRel);
        assert!(changers > 0, "whoever changes a count has said so");
    }

    /// The transaction has committed.
    pub(crate) fn settle(&mut self, counts: &RowCounts) {
        while let Some(change) = self.list.pop() {
            match change {
                CountChange::Rows(RowsChange { count: Some(count), delta, touched, .. }) => {
                    count.add(delta, touched);
                    self.leave(&count);
                }
                CountChange::Rows(later) => {
                    let older = newest_of(&mut self.list, later.of);
                    older.expect("the first change of a count lies below the others").1.join(&later);
                }
                CountChange::Begun(_) => {}
                CountChange::Dropped(unit) => counts.forget(unit),
            }
        }
        self.before.clear();
        (self.sealed, self.kept) = (0, 0);
    }
}

#[inline]
fn address_of(count: &RowCount) -> usize {
    std::ptr::from_ref(count).addr()
}

/// The newest change of a count in the list, and its index.
#[inline]
fn newest_of(list: &mut [CountChange], of: usize) -> Option<(usize, &mut RowsChange)> {
    list.iter_mut().enumerate().rev().find_map(|(at, change)| match change {
        CountChange::Rows(change) if change.of == of => Some((at, change)),
        _ => None,
    })
}

impl RowsTouched {
    fn add(&mut self, more: RowsTouched) {
        self.changed += more.changed;
        self.updated += more.updated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_savepoint_takes_back_its_part_and_a_statement_joins_what_was_before() {
        let counts = RowCounts::default();
        counts.begin(7);
        let count = counts.of(7);
        let mut changes = RowCountChanges::default();
        changes.note(&count, 3);
        let kept = changes.mark(true);
        for _ in 0..100 {
            changes.mark(false);
            changes.note(&count, 1);
            changes.statement_ended();
        }
        assert!(changes.list.len() <= 2, "one entry a savepoint: {}", changes.list.len());
        assert_eq!(changes.own(&count), Some(103));
        let statement = changes.mark(false);
        changes.note(&count, 50);
        changes.take_back(&counts, statement);
        assert_eq!((changes.own(&count), count.known()), (Some(103), Some(0)));
        changes.take_back(&counts, kept);
        assert!(!count.learn(9, false), "another has changes");
        changes.settle(&counts);
        assert_eq!(count.known(), Some(3));
        assert!(count.learn(3, false) && count.known() == Some(3));
    }

    #[test]
    fn who_has_seen_all_rows_betters_an_estimate_and_no_exact_count() {
        let count = RowCounts::default().of(7);
        count.estimate(500);
        count.estimate(90);
        assert_eq!((count.about(), count.known()), (Some(500), None), "the first estimate stays");
        count.seen(40);
        assert_eq!((count.about(), count.known()), (Some(40), None));
        assert!(count.learn(41, false) && count.known() == Some(41));
        count.seen(40);
        assert_eq!(count.known(), Some(41));
    }

    #[test]
    fn a_transaction_is_one_changer_however_many_points_it_has() {
        let counts = RowCounts::default();
        let (first, second) = (counts.of(7), counts.of(8));
        let changers = || (first.changers.load(Ordering::Relaxed), second.changers.load(Ordering::Relaxed));
        let (mut changes, mut other) = (RowCountChanges::default(), RowCountChanges::default());
        changes.note(&first, 1);
        let kept = changes.mark(true);
        changes.note(&first, 2);
        changes.note(&second, 4);
        changes.statement_ended();
        changes.mark(false);
        changes.note(&second, 8);
        changes.note(&first, 16);
        other.note(&second, 32);
        assert_eq!(changers(), (1, 2));
        changes.statement_ended();
        assert_eq!(changes.list.len(), 3, "one entry a count behind each savepoint");
        assert_eq!((changes.own(&first), changes.own(&second), changers()), (Some(19), Some(12), (1, 2)));
        changes.take_back(&counts, kept);
        assert_eq!((changes.own(&first), changes.own(&second), changers()), (Some(1), None, (1, 1)));
        assert!(first.learn(100, true), "who counts has the only changes");
        changes.settle(&counts);
        other.take_back(&counts, 0);
        assert_eq!((changers(), first.known()), ((0, 0), Some(101)));
    }

    #[test]
    fn a_statement_is_taken_back_from_what_earlier_ones_did() {
        let counts = RowCounts::default();
        counts.begin(7);
        let (first, second) = (counts.of(7), counts.of(8));
        let mut changes = RowCountChanges::default();
        for _ in 0..3 {
            changes.mark(false);
            changes.note(&first, 2);
            changes.note_update(&first);
            changes.statement_ended();
        }
        assert_eq!(changes.list.len(), 1, "statements add to one change");
        for failing in 0..2 {
            let statement = changes.mark(false);
            changes.note(&first, 10);
            changes.note(&second, 20);
            changes.note(&first, 100);
            assert_eq!((changes.own(&first), changes.own(&second)), (Some(116), Some(20)), "{failing}");
            changes.take_back(&counts, statement);
            assert_eq!((changes.own(&first), changes.own(&second)), (Some(6), None), "{failing}");
            assert_eq!(second.changers.load(Ordering::Relaxed), 0);
            changes.statement_ended();
        }
        // The same after a savepoint, and what is before it stays unchanged.
        let kept = changes.mark(true);
        changes.mark(false);
        changes.note(&first, 1_000);
        changes.statement_ended();
        let statement = changes.mark(false);
        changes.note(&first, 10_000);
        changes.take_back(&counts, statement);
        assert_eq!(changes.own(&first), Some(1_006));
        changes.statement_ended();
        changes.mark(false);
        changes.note(&first, 100_000);
        changes.take_back(&counts, kept);
        assert_eq!(changes.own(&first), Some(6));
        changes.settle(&counts);
        assert_eq!((first.known(), first.touched()), (Some(6), RowsTouched { changed: 6, updated: 3 }));
        assert_eq!(first.changers.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_is_changed_counts_both_ways_and_what_is_taken_back_does_not() {
        let counts = RowCounts::default();
        counts.begin(7);
        let count = counts.of(7);
        let mut changes = RowCountChanges::default();
        (0..10).for_each(|_| changes.note(&count, 1));
        changes.note(&count, -1);
        changes.statement_ended();
        let kept = changes.mark(true);
        changes.note(&count, 50);
        changes.take_back(&counts, kept);
        changes.mark(false);
        (0..4).for_each(|_| changes.note_update(&count));
        count.note_columns(&[2, 70]);
        changes.statement_ended();
        assert_eq!(count.touched(), RowsTouched::default());
        changes.settle(&counts);
        assert_eq!(count.touched(), RowsTouched { changed: 11, updated: 4 });
        assert_eq!((count.known(), count.has_updated(2), count.has_updated(3)), (Some(9), true, false));
        assert!(count.has_updated(64), "those far behind share a bit");
        changes.note_update(&count);
        changes.take_back(&counts, 0);
        assert_eq!(count.touched().updated, 4);
    }

    #[test]
    fn a_count_goes_with_its_unit() {
        let counts = RowCounts::default();
        counts.begin(7);
        let count = counts.of(7);
        let mut changes = RowCountChanges::default();
        changes.note_begun(7);
        changes.note(&count, 5);
        changes.take_back(&counts, 0);
        assert_eq!(counts.of(7).known(), None, "nothing is known of a unit that was never made");
        assert_eq!(counts.of(8).about(), None);
        counts.of(8).estimate(40);
        assert_eq!((counts.of(8).about(), counts.of(8).known()), (Some(40), None));
        changes.note_dropped(8);
        changes.settle(&counts);
        assert_eq!(counts.of(8).about(), None);
    }
}
