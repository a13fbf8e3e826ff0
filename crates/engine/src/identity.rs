//! IDENTITY: values assigned from a cache; the highest of them is recorded in the database without a flush (claims 108 and following).
//!
//! The record holds the highest value that may have been assigned; after a crash counting continues from there, so a committed row's
//! value is never repeated. The record is written with the transaction's log and never flushed by itself (those of sequences are).
//! A rollback does not return values.

use os::{Latch, LatchRank};
use rustc_hash::FxHashMap;
use types::{SqlError, SqlType, Value};

use crate::error::SqlResult;
use crate::schema::{IdentityDef, ObjectId};

/// How many values are reserved at once, by the column's type (claim 109).
pub(crate) fn cache_size(sql_type: &SqlType) -> i128 {
    match sql_type {
        SqlType::TinyInt => 10,
        SqlType::SmallInt => 100,
        SqlType::Int => 1_000,
        _ => 10_000,
    }
}

/// No type has whole numbers beyond this: those of decimal(38, 0) end here.
pub const NUMBER_MAX: i128 = 10_i128.pow(38) - 1;

/// The counters of one database's identity columns, by table.
pub(crate) struct Identities {
    counters: Latch<FxHashMap<ObjectId, Counter>>,
}

/// The counting state of one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    /// The value assigned last; none before the first.
    last: Option<i128>,
    /// Values up to here may be assigned without a new record.
    noted: Option<i128>,
    /// The first value, in place of the seed: RESEED of a table that has never had one.
    start: Option<i128>,
}

/// A value, and the record that must be written before its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handed {
    pub(crate) value: i128,
    pub(crate) note: Option<i128>,
}

/// Does counting reach `value` after `other`?
fn is_further(identity: IdentityDef, value: i128, other: i128) -> bool {
    if identity.increment > 0 { value > other } else { value < other }
}

impl Default for Identities {
    fn default() -> Self {
        Identities { counters: Latch::new(LatchRank::Sequence, FxHashMap::default()) }
    }
}

impl Identities {
    /// Restores the counter of a table from its record: values up to `noted` may have been assigned.
    pub(crate) fn restore(&self, table: ObjectId, noted: i128) {
        self.counters.lock().insert(table, Counter { last: Some(noted), noted: Some(noted), start: None });
    }

    /// Counting begins with `start`, as long as no value has been assigned.
    pub(crate) fn start_at(&self, table: ObjectId, start: i128) {
        self.counters.lock().entry(table).or_default().start = Some(start);
    }

    /// The table is dropped or its counting restarts; returns the state for `put_back` at a rollback.
    pub(crate) fn forget(&self, table: ObjectId) -> Option<Counter> {
        self.counters.lock().remove(&table)
    }

    /// The table, or its rows, are restored.
    pub(crate) fn put_back(&self, table: ObjectId, counter: Option<Counter>) {
        let mut counters = self.counters.lock();
        match counter {
            Some(counter) => drop(counters.insert(table, counter)),
            None => drop(counters.remove(&table)),
        }
    }

    /// The record written since the table was forgotten may have been rolled back: writes it again.
    pub(crate) fn note_anew(&self, table: ObjectId) {
        if let Some(counter) = self.counters.lock().get_mut(&table) {
            counter.noted = None;
        }
    }

    /// The next value; none when the type's range is used up (error 8115). A value that comes with a record may be used only after the record
    /// is in the log and [`Identities::was_noted`] was called; until then other sessions get the same record to write, so that no value is used
    /// before one.
    pub(crate) fn next(
        &self,
        table: ObjectId,
        identity: IdentityDef,
        cache: i128,
        (lowest, highest): (i128, i128),
    ) -> Option<Handed> {
        let mut counters = self.counters.lock();
        let counter = counters.entry(table).or_default();
        let value = match counter.last {
            None => counter.start.unwrap_or(identity.seed),
            Some(last) => last.saturating_add(identity.increment),
        };
        if value < lowest || value > highest {
            return None;
        }
        counter.last = Some(value);
        if counter.noted.is_some_and(|noted| !is_further(identity, value, noted)) {
            return Some(Handed { value, note: None });
        }
        let ahead = value.saturating_add(identity.increment.saturating_mul(cache - 1));
        Some(Handed { value, note: Some(ahead.clamp(lowest, highest)) })
    }

    /// The record is in the log.
    pub(crate) fn was_noted(&self, table: ObjectId, identity: IdentityDef, noted: i128) {
        let mut counters = self.counters.lock();
        let Some(counter) = counters.get_mut(&table) else { return };
        if counter.noted.is_none_or(|before| is_further(identity, noted, before)) {
            counter.noted = Some(noted);
        }
    }

    /// A value was inserted explicitly; counting continues after it if it is beyond the last. Returns the record to write, if one is needed.
    pub(crate) fn note_explicit(&self, table: ObjectId, identity: IdentityDef, value: i128) -> Option<i128> {
        let mut counters = self.counters.lock();
        let counter = counters.entry(table).or_default();
        if counter.last.is_some_and(|last| !is_further(identity, value, last)) {
            return None;
        }
        counter.last = Some(value);
        counter.noted.is_none_or(|noted| is_further(identity, value, noted)).then_some(value)
    }

    /// Drops the reservation: returns the value assigned last.
    pub(crate) fn settle(&self, table: ObjectId) -> Option<i128> {
        let mut counters = self.counters.lock();
        let counter = counters.get_mut(&table)?;
        counter.noted = counter.last;
        counter.last
    }

    /// The records of a clean close: for each table with one, the value assigned last, so that the next start leaves no gap.
    pub(crate) fn positions(&self) -> Vec<(ObjectId, i128)> {
        let counters = self.counters.lock();
        let exact = |(&table, counter): (&ObjectId, &Counter)| {
            counter.last.filter(|_| counter.last != counter.noted).map(|last| (table, last))
        };
        let mut positions: Vec<_> = counters.iter().filter_map(exact).collect();
        positions.sort_unstable();
        positions
    }

    /// The value with which counting begins.
    pub(crate) fn start(&self, table: ObjectId, identity: IdentityDef) -> i128 {
        self.counters.lock().get(&table).and_then(|counter| counter.start).unwrap_or(identity.seed)
    }

    /// The value assigned last (IDENT_CURRENT).
    pub(crate) fn current(&self, table: ObjectId) -> Option<i128> {
        self.counters.lock().get(&table).and_then(|c| c.last)
    }
}

/// An identity value as a value of its column's type.
///
/// # Errors
/// 8115 when the type cannot hold it.
pub fn value_of(number: i128, sql_type: &SqlType) -> SqlResult<Value> {
    let limits = crate::sequence_def::SequenceDef::limits(sql_type);
    if limits.is_none_or(|(lowest, highest)| number < lowest || number > highest) {
        return Err(SqlError::new(8115, &[&"IDENTITY", &sql_type.name()]));
    }
    Ok(crate::sequence_def::whole_value(number, sql_type))
}

/// The number that a value of an identity column's type is; none for NULL.
pub fn number_of(value: &Value) -> Option<i128> {
    match value {
        Value::Decimal(number) => Some(number.truncate_to_i128()),
        value => value.as_i64().map(i128::from),
    }
}

/// A number as two columns of a system table: one of bigint, and one of 16 bytes for larger numbers. At most one is not NULL.
pub(crate) fn cells_of(number: i128) -> [Value; 2] {
    match i64::try_from(number) {
        Ok(number) => [Value::BigInt(number), Value::Null],
        Err(_) => [Value::Null, Value::binary(&number.to_be_bytes())],
    }
}

/// The inverse of [`cells_of`]. Rows of older versions lack the second column.
pub(crate) fn number_of_cells(number: &Value, wide: Option<&Value>) -> Option<i128> {
    match wide {
        Some(Value::Binary(bytes)) => <[u8; 16]>::try_from(&bytes[..]).ok().map(i128::from_be_bytes),
        _ => number.as_i64().map(i128::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: (i128, i128) = (i32::MIN as i128, i32::MAX as i128);

    #[test]
    fn a_note_covers_a_thousand_values() {
        let identities = Identities::default();
        let identity = IdentityDef { seed: 1, increment: 1, is_not_for_replication: false };
        assert_eq!(identities.next(7, identity, 1000, INT), Some(Handed { value: 1, note: Some(1000) }));
        assert_eq!(
            identities.next(7, identity, 1000, INT),
            Some(Handed { value: 2, note: Some(1001) }),
            "not noted yet"
        );
        identities.was_noted(7, identity, 1001);
        identities.was_noted(7, identity, 1000);
        for value in 3..=1001 {
            assert_eq!(identities.next(7, identity, 1000, INT), Some(Handed { value, note: None }));
        }
        assert_eq!(identities.next(7, identity, 1000, INT), Some(Handed { value: 1002, note: Some(2001) }));
    }

    #[test]
    fn after_a_crash_counting_goes_on_behind_the_note() {
        let identities = Identities::default();
        identities.restore(7, 1000);
        let handed = identities
            .next(7, IdentityDef { seed: 1, increment: 1, is_not_for_replication: false }, 1000, INT)
            .unwrap();
        assert_eq!(handed.value, 1001);
    }

    #[test]
    fn what_was_forgotten_can_be_put_back() {
        let identities = Identities::default();
        let identity = IdentityDef { seed: 1, increment: 1, is_not_for_replication: false };
        identities.restore(7, 40);
        let before = identities.forget(7);
        assert_eq!(identities.next(7, identity, 10, INT).unwrap().value, 1);
        identities.was_noted(7, identity, 10);
        identities.note_anew(7);
        assert_eq!(identities.next(7, identity, 10, INT), Some(Handed { value: 2, note: Some(11) }));
        identities.put_back(7, before);
        assert_eq!(identities.next(7, identity, 10, INT).unwrap().value, 41);
        identities.put_back(7, None);
        assert_eq!(identities.current(7), None);
    }

    #[test]
    fn a_start_holds_until_the_first_value() {
        let identities = Identities::default();
        let identity = IdentityDef { seed: 1, increment: 5, is_not_for_replication: false };
        identities.start_at(7, 100);
        assert_eq!((identities.current(7), identities.start(7, identity)), (None, 100));
        assert_eq!(identities.next(7, identity, 10, INT).unwrap().value, 100);
        assert_eq!(identities.next(7, identity, 10, INT).unwrap().value, 105);
        let before = identities.forget(7);
        assert_eq!(identities.start(7, identity), 1);
        identities.put_back(7, before);
        assert_eq!(identities.next(7, identity, 10, INT).unwrap().value, 110);
    }

    #[test]
    fn numbers_beyond_bigint_are_noted() {
        for number in
            [0, -1, i128::from(i64::MAX), i128::from(i64::MIN) - 1, 10_i128.pow(38) - 1, 1 - 10_i128.pow(38)]
        {
            let [narrow, wide] = cells_of(number);
            assert_eq!(number_of_cells(&narrow, Some(&wide)), Some(number));
            assert_eq!(wide.is_null(), i64::try_from(number).is_ok());
        }
        assert_eq!(number_of_cells(&Value::BigInt(7), None), Some(7), "a row of before");
        let type_of = |precision| SqlType::Decimal { precision, scale: 0 };
        assert!(value_of(10_i128.pow(20) - 1, &type_of(20)).is_ok());
        assert_eq!(value_of(10_i128.pow(20), &type_of(20)).map_err(|error| error.number), Err(8115));
        assert_eq!(value_of(256, &SqlType::TinyInt).map_err(|error| error.number), Err(8115));
    }

    #[test]
    fn explicit_values_and_negative_steps() {
        let identities = Identities::default();
        let down = IdentityDef { seed: -1, increment: -1, is_not_for_replication: false };
        assert_eq!(identities.next(7, down, 1000, INT).unwrap().value, -1);
        assert_eq!(identities.note_explicit(7, down, 5), None);
        assert_eq!(identities.note_explicit(7, down, -9), Some(-9));
        assert_eq!(identities.next(7, down, 1000, INT).unwrap().value, -10);
    }
}
