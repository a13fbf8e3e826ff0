//! The counter of `rowversion` columns, `@@DBTS` and `MIN_ACTIVE_ROWVERSION()`: one per database, never repeating a value.
//!
//! Values are assigned in memory up to a durable ceiling in the database. A session that needs a value above it raises the
//! ceiling by [`RANGE_VALUES`] in a transaction of its own, which is flushed before the first value of the new range is used: a client may
//! have seen a value whose transaction is lost in a crash, and must not mistake another row's for it. After a crash counting continues from the
//! ceiling, after a clean close from the value assigned last. tempdb counts from the beginning at each start.
//!
//! A value is *active* while the transaction that used it has not ended. A transaction's first value represents all its values: it is the
//! lowest. It becomes active in the step that assigns it, so a reader of the lowest active value never misses it.

use std::collections::BTreeSet;
use std::sync::Arc;

use os::{Latch, LatchRank};

/// Values that a new database counts as used; SQL Server's databases begin there, too.
pub(crate) const USED_AT_FIRST: u64 = 2_000;
/// Values by which the ceiling is raised.
pub(crate) const RANGE_VALUES: u64 = 2_000;

/// The counter of one database.
pub(crate) struct RowVersions {
    state: Latch<State>,
}

struct State {
    /// The value assigned last.
    last: u64,
    /// Values up to here may be assigned: a durable record says so.
    ceiling: u64,
    /// The first values of transactions that have not ended.
    active: BTreeSet<u64>,
}

/// The result of a request for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    Value(u64),
    /// This ceiling is used up.
    UsedUp(u64),
}

impl Default for RowVersions {
    fn default() -> Self {
        let state = State { last: USED_AT_FIRST, ceiling: USED_AT_FIRST, active: BTreeSet::new() };
        RowVersions { state: Latch::new(LatchRank::Sequence, state) }
    }
}

impl RowVersions {
    /// Restores the counter from its record: values up to `noted` may have been assigned.
    pub(crate) fn restore(&self, noted: u64) {
        let mut state = self.state.lock();
        assert!(noted >= state.last, "a note is never below the first values");
        (state.last, state.ceiling) = (noted, noted);
    }

    pub(crate) fn draw(&self, is_first: bool) -> Drawn {
        let mut state = self.state.lock();
        assert!(state.last <= state.ceiling, "no value is handed out before its note");
        if state.last == state.ceiling {
            return Drawn::UsedUp(state.ceiling);
        }
        state.last += 1;
        let value = state.last;
        if is_first {
            state.active.insert(value);
        }
        Drawn::Value(value)
    }

    pub(crate) fn raise(&self, ceiling: u64) {
        let mut state = self.state.lock();
        state.ceiling = state.ceiling.max(ceiling);
    }

    /// The value assigned last (`@@DBTS`).
    pub(crate) fn last(&self) -> u64 {
        self.state.lock().last
    }

    /// The lowest value of a transaction that has not ended; without one, the next value (`MIN_ACTIVE_ROWVERSION()`).
    pub(crate) fn lowest_active(&self) -> u64 {
        let state = self.state.lock();
        state.active.first().copied().unwrap_or(state.last + 1)
    }

    /// The record of a clean close: the value assigned last, if the stored one differs.
    pub(crate) fn position(&self) -> Option<u64> {
        let state = self.state.lock();
        (state.last != state.ceiling).then_some(state.last)
    }
}

/// A transaction's first value; active until this is dropped, which happens when the transaction has ended and its locks are released.
pub(crate) struct ActiveRowVersion {
    versions: Arc<RowVersions>,
    value: u64,
}

impl ActiveRowVersion {
    /// For a value that was assigned as a transaction's first.
    pub(crate) fn new(versions: Arc<RowVersions>, value: u64) -> ActiveRowVersion {
        ActiveRowVersion { versions, value }
    }
}

impl Drop for ActiveRowVersion {
    fn drop(&mut self) {
        // A simulated power loss unwinds through this point; no thread reads the state afterwards.
        if !std::thread::panicking() {
            let was_active = self.versions.state.lock().active.remove(&self.value);
            assert!(was_active, "a value is active until its transaction ends");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_handed_out_above_the_ceiling() {
        let versions = RowVersions::default();
        assert_eq!(versions.draw(true), Drawn::UsedUp(2_000));
        assert_eq!(versions.last(), 2_000);
        versions.raise(2_002);
        versions.raise(2_001);
        assert_eq!(versions.draw(true), Drawn::Value(2_001));
        assert_eq!(versions.draw(false), Drawn::Value(2_002));
        assert_eq!(versions.draw(false), Drawn::UsedUp(2_002));
        assert_eq!(versions.position(), None);
    }

    #[test]
    fn after_a_crash_counting_goes_on_behind_the_ceiling() {
        let versions = RowVersions::default();
        versions.restore(4_000);
        assert_eq!(versions.last(), 4_000);
        assert_eq!(versions.draw(true), Drawn::UsedUp(4_000));
        versions.raise(6_000);
        assert_eq!(versions.draw(true), Drawn::Value(4_001));
        assert_eq!(versions.position(), Some(4_001));
    }

    #[test]
    fn the_lowest_active_value_is_that_of_the_oldest_transaction() {
        let versions = RowVersions::default();
        versions.raise(4_000);
        assert_eq!(versions.lowest_active(), 2_001);
        assert_eq!(versions.draw(true), Drawn::Value(2_001));
        assert_eq!(versions.draw(true), Drawn::Value(2_002));
        assert_eq!(versions.draw(false), Drawn::Value(2_003));
        assert_eq!(versions.lowest_active(), 2_001);
        versions.state.lock().active.remove(&2_001);
        assert_eq!(versions.lowest_active(), 2_002);
        versions.state.lock().active.remove(&2_002);
        assert_eq!(versions.lowest_active(), 2_004);
    }
}
