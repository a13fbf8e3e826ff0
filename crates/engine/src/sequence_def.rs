//! The definition of a sequence, its counter in memory, and the arithmetic of both. `sequence.rs` has the rules and writes the records.

use std::sync::Arc;

use log::Lsn;
use os::{Condition, Latch, LatchRank};
use types::{DateTime, Decimal, SqlError, SqlType, Value, Variant};

use crate::error::SqlResult;
use crate::object_id::ObjectId;

/// Values between two writes of the recovery value when the definition names no size (claim 91).
pub const DEFAULT_CACHE: u64 = 50;
/// HARDEN_AHEAD = ON: a caller that had to wait doubles the ranges hardened at once, up to this many caches.
pub const AHEAD_RANGES_MAX: u64 = 64;
/// HARDEN_AHEAD = NEXT: a range used up within this time suggests that the next one is needed soon.
const NEXT_RANGE_SOON_NS: u64 = 1_000_000_000;
/// HARDEN_AHEAD of a sequence: when the range after the present one is hardened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HardenAhead {
    /// When a caller needs it, and the caller waits: as in SQL Server.
    Off,
    /// When the last value of the present range is assigned, if ranges are used up quickly: callers that come one by one do not wait. At most
    /// one cache is lost, and each recovery value is one flush.
    #[default]
    Next,
    /// When half of the present range is assigned; ranges grow while callers have to wait. More than a cache may be lost.
    On,
}

impl HardenAhead {
    /// All.
    pub const ALL: [HardenAhead; 3] = [HardenAhead::Off, HardenAhead::Next, HardenAhead::On];

    /// The word in SQL.
    pub const fn word(self) -> &'static str {
        match self {
            HardenAhead::Off => "OFF",
            HardenAhead::Next => "NEXT",
            HardenAhead::On => "ON",
        }
    }
}

/// CACHE of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceCache {
    /// NO CACHE: each value is recorded.
    None,
    /// CACHE without a size, or not mentioned.
    Default,
    /// CACHE n.
    Size(i32),
}

impl SequenceCache {
    /// Values between two records.
    pub fn values(self) -> u64 {
        match self {
            SequenceCache::None => 1,
            SequenceCache::Default => DEFAULT_CACHE,
            SequenceCache::Size(size) => u64::try_from(size).unwrap_or(1).max(1),
        }
    }
}

/// The counting of a sequence: the options of CREATE that ALTER SEQUENCE can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// The first value; RESTART WITH moves it.
    pub start: i128,
    /// Never 0.
    pub increment: i128,
    /// The lowest value.
    pub minimum: i128,
    /// The highest value.
    pub maximum: i128,
    /// After the last value comes the one at the other end.
    pub is_cycling: bool,
    /// Values between two records.
    pub cache: SequenceCache,
    /// When the next range is hardened.
    pub harden_ahead: HardenAhead,
}

/// A sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceDef {
    /// `object_id`.
    pub object_id: ObjectId,
    /// `schema_id`.
    pub schema_id: i32,
    /// Schema name.
    pub schema: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Type of the values: a whole number.
    pub sql_type: SqlType,
    /// Alias type, 0 when there is none.
    pub user_type_id: i32,
    /// How it counts.
    pub counting: Counting,
    /// The number of its recovery value. A restart gets another number.
    pub counter_id: ObjectId,
    /// The last value when ALTER reversed its direction.
    pub turned_at: Option<i128>,
    /// The counter, shared by all definitions with this counter number.
    pub counter: Arc<SequenceCounter>,
    /// When it was created.
    pub create_date: DateTime,
    /// When it was last changed.
    pub modify_date: DateTime,
}

/// A whole number as a value of a type of sequences and identity columns; it is within the type's limits.
pub(crate) fn whole_value(number: i128, sql_type: &SqlType) -> Value {
    let fits = "the number lies between the limits of its type";
    match sql_type {
        SqlType::TinyInt => Value::TinyInt(u8::try_from(number).expect(fits)),
        SqlType::SmallInt => Value::SmallInt(i16::try_from(number).expect(fits)),
        SqlType::Int => Value::Int(i32::try_from(number).expect(fits)),
        SqlType::BigInt => Value::BigInt(i64::try_from(number).expect(fits)),
        SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => {
            Value::Decimal(Decimal::new(number, *precision, 0))
        }
        _ => unreachable!("checked by `limits` when the sequence was made"),
    }
}

impl Counting {
    /// The value at which counting ends, and the value at which it begins again.
    fn ends(&self) -> (i128, i128) {
        if self.increment > 0 { (self.maximum, self.minimum) } else { (self.minimum, self.maximum) }
    }

    /// Steps from a value to the last one before the end; none when it is beyond.
    fn steps_left(&self, from: i128) -> u128 {
        let end = self.ends().0;
        let is_beyond = if self.increment > 0 { from > end } else { from < end };
        if is_beyond { 0 } else { end.abs_diff(from) / self.increment.unsigned_abs() }
    }

    /// `count` steps from a value, and how often it wrapped around: a sequence without CYCLE stops at its last value.
    fn advance(&self, from: i128, count: u64) -> (i128, u64) {
        let count = u128::from(count);
        let straight = self.steps_left(from);
        let step = |value: i128, steps: u128| {
            let distance = self.increment.unsigned_abs() * steps;
            match self.increment > 0 {
                true => value.checked_add_unsigned(distance),
                false => value.checked_sub_unsigned(distance),
            }
            .expect("within the limits")
        };
        if count <= straight {
            return (step(from, count), 0);
        }
        if !self.is_cycling {
            return (step(from, straight), 0);
        }
        let again = self.ends().1;
        let round = self.steps_left(again) + 1;
        let beyond = count - straight - 1;
        let rounds = 1 + beyond / round;
        (step(again, beyond % round), u64::try_from(rounds).unwrap_or(u64::MAX))
    }

    /// The value after `last`, and whether it wrapped around; none after the end.
    fn after(&self, last: Option<i128>) -> Option<(i128, u64)> {
        match last {
            None => Some((self.start, 0)),
            Some(last) if self.steps_left(last) == 0 && !self.is_cycling => None,
            Some(last) => Some(self.advance(last, 1)),
        }
    }

    /// Values from `first` to the end; a cycling sequence has no end.
    fn available(&self, first: i128) -> u64 {
        match self.is_cycling {
            true => u64::MAX,
            false => u64::try_from(self.steps_left(first) + 1).unwrap_or(u64::MAX),
        }
    }
}

impl SequenceDef {
    /// The lowest and highest value of a type; none for types that sequences do not have.
    pub fn limits(sql_type: &SqlType) -> Option<(i128, i128)> {
        Some(match sql_type {
            SqlType::TinyInt => (0, 255),
            SqlType::SmallInt => (i128::from(i16::MIN), i128::from(i16::MAX)),
            SqlType::Int => (i128::from(i32::MIN), i128::from(i32::MAX)),
            SqlType::BigInt => (i128::from(i64::MIN), i128::from(i64::MAX)),
            SqlType::Decimal { precision, scale: 0 } | SqlType::Numeric { precision, scale: 0 } => {
                let highest = 10_i128.pow(u32::from(*precision)) - 1;
                (-highest, highest)
            }
            _ => return None,
        })
    }

    /// A number as a value of the sequence's type.
    pub fn value(&self, number: i128) -> Value {
        whole_value(number, &self.sql_type)
    }

    /// The increment as a value; for a tinyint that counts down it is a smallint.
    pub fn increment_value(&self) -> Value {
        let (sql_type, value) = match (self.sql_type, i16::try_from(self.counting.increment)) {
            (SqlType::TinyInt, Ok(step)) if step < 0 => (SqlType::SmallInt, Value::SmallInt(step)),
            _ => (self.sql_type, self.value(self.counting.increment)),
        };
        Value::Variant(Arc::new(Variant { sql_type, value }))
    }

    /// How many values are left before the end.
    pub fn values_left(&self) -> u64 {
        let last = self.counter.state.lock().last;
        self.counting.after(last).map_or(0, |(first, _)| self.counting.available(first))
    }

    /// The present state of its counter.
    pub fn state(&self) -> SequenceState {
        let state = self.counter.state.lock();
        SequenceState {
            last: state.last,
            current: state.last.unwrap_or(self.counting.start),
            last_used: state.last.filter(|_| state.was_used),
            left: state.left,
            noted: state.noted,
            notes: state.notes,
            is_exhausted: self.counting.after(state.last).is_none(),
        }
    }
}

/// The state of a sequence's counter in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceState {
    /// The value assigned last, or the value that the database had recorded; none before the first.
    pub last: Option<i128>,
    /// The value assigned last; before the first, the first.
    pub current: i128,
    /// The value assigned last since the database was opened or the sequence restarted.
    pub last_used: Option<i128>,
    /// Values left before the next record.
    pub left: u64,
    /// The recovery value on disk.
    pub noted: Option<i128>,
    /// Recovery values written since the database was opened.
    pub notes: u64,
    /// There is no next value.
    pub is_exhausted: bool,
}

/// The range that sp_sequence_get_range reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceRange {
    /// The first value.
    pub first: i128,
    /// The last value.
    pub last: i128,
    /// How often the range wraps around.
    pub cycles: u64,
}

/// The counter of a sequence, from its creation or restart.
pub struct SequenceCounter {
    pub(crate) state: Latch<State>,
    pub(crate) noted: Condition,
}

impl std::fmt::Debug for SequenceCounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.state.lock().fmt(f)
    }
}

impl PartialEq for SequenceCounter {
    fn eq(&self, other: &SequenceCounter) -> bool {
        std::ptr::eq(self, other)
    }
}

#[derive(Debug)]
pub(crate) struct State {
    /// The value assigned last, or the value that the database recorded; none before the first.
    pub(crate) last: Option<i128>,
    pub(crate) was_used: bool,
    /// Values that may be assigned: their record is durable.
    pub(crate) left: u64,
    pub(crate) noted: Option<i128>,
    /// A range whose record is written and whose flush is requested.
    pub(crate) ahead: Option<Ahead>,
    /// A thread is writing a record.
    pub(crate) is_noting: bool,
    /// HARDEN_AHEAD = ON: caches hardened at once.
    pub(crate) ranges: u64,
    /// Ranges that have become ready, and the time of the present one.
    pub(crate) ready_total: u64,
    pub(crate) ready_ns: u64,
    /// HARDEN_AHEAD = NEXT: so many ranges are not hardened ahead.
    pub(crate) without: u8,
    pub(crate) notes: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    pub(crate) lsn: Lsn,
    pub(crate) count: u64,
}

/// The step needed before values can be assigned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    /// Wait until a range ahead is durable.
    Wait(Ahead),
    /// Record `count` values; the recovery value.
    Note { count: u64, recovery: i128 },
}

impl SequenceCounter {
    /// A counter after the recorded value, if there is one.
    pub(crate) fn new(last: Option<i128>) -> Arc<SequenceCounter> {
        let state = State {
            last,
            was_used: false,
            left: 0,
            noted: last,
            ahead: None,
            is_noting: false,
            ranges: 1,
            ready_total: 0,
            ready_ns: 0,
            without: 0,
            notes: 0,
        };
        Arc::new(SequenceCounter { state: Latch::new(LatchRank::Sequence, state), noted: Condition::new() })
    }

    /// The record of a clean close or an ALTER: the value assigned last, if the stored one differs. Reserved values are dropped.
    pub(crate) fn position(&self) -> Option<i128> {
        let mut state = self.state.lock();
        assert!(!state.is_noting, "nobody uses the sequence");
        (state.left, state.ahead) = (0, None);
        let position = state.last.filter(|_| state.last != state.noted);
        state.noted = state.last;
        position
    }
}

impl State {
    /// Takes `count` recorded values.
    pub(crate) fn take(&mut self, sequence: &SequenceDef, count: u64) -> Option<SequenceRange> {
        assert!(count > 0, "a range has values");
        if self.left < count {
            return None;
        }
        let (first, round) = sequence.counting.after(self.last).expect("what is left exists");
        let (last, rounds) = sequence.counting.advance(first, count - 1);
        (self.last, self.was_used) = (Some(last), true);
        self.left -= count;
        Some(SequenceRange { first, last, cycles: round.saturating_add(rounds) })
    }

    /// The step needed before `count` values can be taken. Error 11728 when there are none, 11732 when they are too few.
    pub(crate) fn need(&self, sequence: &SequenceDef, count: u64) -> SqlResult<Need> {
        if let Some(ahead) = self.ahead.filter(|ahead| self.left == 0 && ahead.count >= count) {
            return Ok(Need::Wait(ahead));
        }
        let exhausted = |number: i32| SqlError::new(number, &[&sequence.name]);
        let (first, _) = sequence.counting.after(self.last).ok_or_else(|| match count {
            1 => exhausted(11728),
            _ => exhausted(11732),
        })?;
        let available = sequence.counting.available(first);
        if available < count {
            return Err(exhausted(11732));
        }
        let count = sequence.counting.cache.values().max(count).min(available);
        Ok(Need::Note { count, recovery: sequence.counting.advance(first, count - 1).0 })
    }

    /// The range to record ahead, after values were assigned.
    pub(crate) fn need_ahead(
        &mut self,
        sequence: &SequenceDef,
        now_ns: impl FnOnce() -> u64,
    ) -> Option<Need> {
        if self.is_noting || self.ahead.is_some() {
            return None;
        }
        let cache = sequence.counting.cache.values();
        let size = match sequence.counting.harden_ahead {
            HardenAhead::Off => return None,
            HardenAhead::Next => {
                let is_due = self.left == 0 && sequence.counting.cache != SequenceCache::None;
                cache.checked_mul(u64::from(is_due && self.is_next_needed_soon(now_ns)))?
            }
            HardenAhead::On => {
                let size = cache.saturating_mul(self.ranges);
                if self.left > size / 2 { 0 } else { size }
            }
        };
        if size == 0 {
            return None;
        }
        let end =
            if self.left == 0 { self.last } else { Some(sequence.counting.advance(self.last?, self.left).0) };
        let (first, _) = sequence.counting.after(end)?;
        let count = size.min(sequence.counting.available(first));
        Some(Need::Note { count, recovery: sequence.counting.advance(first, count - 1).0 })
    }

    /// A range other than the first is used up: is the next one likely to be needed soon, and durable by then?
    pub(crate) fn is_next_needed_soon(&mut self, now_ns: impl FnOnce() -> u64) -> bool {
        assert_eq!(self.left, 0, "a range is used up");
        if self.without > 0 {
            self.without -= 1;
            return false;
        }
        self.ready_total > 1 && now_ns().saturating_sub(self.ready_ns) < NEXT_RANGE_SOON_NS
    }

    /// `count` values may be assigned from now on.
    pub(crate) fn make_ready(&mut self, count: u64, now_ns: u64) {
        assert!(count > 0 && self.is_noting, "whoever noted them says so");
        (self.left, self.ahead) = (count, None);
        (self.ready_total, self.ready_ns) = (self.ready_total + 1, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(increment: i128, minimum: i128, maximum: i128, is_cycling: bool) -> Counting {
        Counting {
            start: if increment > 0 { minimum } else { maximum },
            increment,
            minimum,
            maximum,
            is_cycling,
            cache: SequenceCache::Default,
            harden_ahead: HardenAhead::default(),
        }
    }

    fn sequence(counting: Counting) -> SequenceDef {
        SequenceDef {
            object_id: 1,
            schema_id: 1,
            schema: "dbo".into(),
            name: "s".into(),
            sql_type: SqlType::BigInt,
            user_type_id: 0,
            counting,
            counter_id: 2,
            turned_at: None,
            counter: SequenceCounter::new(None),
            create_date: DateTime { days: 0, ticks: 0 },
            modify_date: DateTime { days: 0, ticks: 0 },
        }
    }

    /// Step by step, without a formula.
    fn walked(counting: &Counting, from: i128, count: u64) -> (i128, u64) {
        let (mut at, mut rounds) = (from, 0);
        for _ in 0..count {
            let next = at + counting.increment;
            if (counting.minimum..=counting.maximum).contains(&next) {
                at = next;
            } else if counting.is_cycling {
                at = if counting.increment > 0 { counting.minimum } else { counting.maximum };
                rounds += 1;
            }
        }
        (at, rounds)
    }

    #[test]
    fn many_steps_are_as_many_single_ones() {
        for increment in [1, 3, 7, 25, -1, -4, -30] {
            for is_cycling in [false, true] {
                let counting = counting(increment, -5, 20, is_cycling);
                for from in -5..=20 {
                    for count in 0..80 {
                        assert_eq!(counting.advance(from, count), walked(&counting, from, count));
                    }
                }
            }
        }
    }

    #[test]
    fn the_widest_type_does_not_overflow() {
        let (minimum, maximum) = SequenceDef::limits(&SqlType::Decimal { precision: 38, scale: 0 }).unwrap();
        let up = counting(1, minimum, maximum, false);
        assert_eq!(up.advance(maximum - 1, 50), (maximum, 0));
        assert_eq!(up.available(minimum), u64::MAX);
        let wide = counting(maximum, minimum, maximum, true);
        assert_eq!(wide.advance(minimum, 1), (0, 0));
        assert_eq!(wide.advance(0, 2), (minimum, 1));
        // Down by the whole width: maximum, 0, minimum, and again from the maximum; 2^64 - 1 is a multiple of three.
        let down = counting(minimum, minimum, maximum, true);
        assert_eq!(down.advance(maximum, 1), (0, 0));
        assert_eq!(down.advance(maximum, u64::MAX), (maximum, u64::MAX / 3));
    }

    #[test]
    fn nothing_is_taken_before_its_note() {
        let sequence = sequence(counting(1, 1, 120, false));
        let mut state = sequence.counter.state.lock();
        assert_eq!(state.take(&sequence, 1), None);
        let Need::Note { count, recovery } = state.need(&sequence, 1).unwrap() else { panic!("a note") };
        assert_eq!((count, recovery), (50, 50));
        state.left = count;
        for value in 1..=50 {
            assert_eq!(state.take(&sequence, 1).unwrap().first, value);
        }
        assert_eq!(state.take(&sequence, 1), None);
        assert_eq!(state.need(&sequence, 71).unwrap_err().number, 11732);
        let Need::Note { count, recovery } = state.need(&sequence, 70).unwrap() else { panic!("a note") };
        assert_eq!((count, recovery), (70, 120));
        state.left = count;
        assert_eq!(state.take(&sequence, 70), Some(SequenceRange { first: 51, last: 120, cycles: 0 }));
        assert_eq!(state.need(&sequence, 1).unwrap_err().number, 11728);
    }
}
