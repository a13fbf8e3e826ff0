//! Sequences as rows of syssequences, and back.

use std::sync::Arc;

use types::{DateTime, Decimal, Value};

use super::rows::{Fields, int, type_of, type_parts};
use crate::schema::ObjectId;
use crate::sequence_def::{Counting, HardenAhead, SequenceCache, SequenceCounter, SequenceDef};

/// Bits of syssequences.status.
mod sequence_status {
    pub(super) const CYCLING: i32 = 1;
    pub(super) const NO_CACHE: i32 = 2;
    /// CACHE with a size.
    pub(super) const HAS_SIZE: i32 = 4;
    /// HARDEN_AHEAD = ON.
    pub(super) const HARDENED_AHEAD: i32 = 8;
    /// HARDEN_AHEAD = OFF. Without either bit: NEXT.
    pub(super) const NOT_AHEAD: i32 = 16;
    /// The type was written numeric.
    pub(super) const NUMERIC: i32 = super::super::rows::column_status::NUMERIC;
}

fn number(value: i128) -> Value {
    Value::Decimal(Decimal::new(value, 38, 0))
}

/// The row of syssequences.
pub(super) fn sequence_row(sequence: &SequenceDef) -> Vec<Value> {
    let (_, precision, _, type_bits) = type_parts(&sequence.sql_type);
    let counting = &sequence.counting;
    let (cache_bits, size) = match counting.cache {
        SequenceCache::None => (sequence_status::NO_CACHE, 0),
        SequenceCache::Default => (0, 0),
        SequenceCache::Size(size) => (sequence_status::HAS_SIZE, size),
    };
    let flag = |on: bool, bit: i32| if on { bit } else { 0 };
    let status = type_bits
        | cache_bits
        | flag(counting.is_cycling, sequence_status::CYCLING)
        | flag(counting.harden_ahead == HardenAhead::On, sequence_status::HARDENED_AHEAD)
        | flag(counting.harden_ahead == HardenAhead::Off, sequence_status::NOT_AHEAD);
    vec![
        int(sequence.object_id),
        Value::TinyInt(sequence.sql_type.system_type_id()),
        Value::TinyInt(precision),
        int(status),
        int(sequence.user_type_id),
        int(size),
        int(sequence.counter_id),
        number(counting.start),
        number(counting.increment),
        number(counting.minimum),
        number(counting.maximum),
        sequence.turned_at.map_or(Value::Null, number),
    ]
}

/// The fields of a sequence's row of sysschobjs.
pub(super) struct Home {
    pub(super) object_id: ObjectId,
    pub(super) schema_id: i32,
    pub(super) schema: Arc<str>,
    pub(super) name: Arc<str>,
}

/// The sequence of a row of syssequences; none when the row is inconsistent. `recovered` finds the row of a counter.
pub(super) fn sequence_of<'a>(
    row: &[Value],
    home: Home,
    (create_date, modify_date): (DateTime, DateTime),
    recovered: &dyn Fn(ObjectId) -> Option<&'a [Value]>,
) -> Option<SequenceDef> {
    let fields = Fields(row);
    let number = |at: usize| match row.get(at)? {
        Value::Decimal(number) => Some(number.mantissa()),
        _ => None,
    };
    let (status, counter_id, turned_at) = (fields.int(3)?, fields.int(6)?, number(11));
    let sql_type = type_of(fields.tiny(1)?, 0, fields.tiny(2)?, 0, status & sequence_status::NUMERIC)?;
    let last = match recovered(counter_id).and_then(|row| row.get(1)) {
        Some(Value::Decimal(value)) => Some(value.mantissa()),
        Some(_) => return None,
        None => turned_at,
    };
    let (minimum, maximum) = SequenceDef::limits(&sql_type)?;
    let is_sound = number(9)? >= minimum && number(10)? <= maximum && number(8)? != 0;
    is_sound.then_some(())?;
    Some(SequenceDef {
        object_id: home.object_id,
        schema_id: home.schema_id,
        schema: home.schema,
        name: home.name,
        sql_type,
        user_type_id: fields.int(4)?,
        counting: Counting {
            start: number(7)?,
            increment: number(8)?,
            minimum: number(9)?,
            maximum: number(10)?,
            is_cycling: status & sequence_status::CYCLING != 0,
            cache: match () {
                () if status & sequence_status::NO_CACHE != 0 => SequenceCache::None,
                () if status & sequence_status::HAS_SIZE != 0 => SequenceCache::Size(fields.int(5)?),
                () => SequenceCache::Default,
            },
            harden_ahead: match () {
                () if status & sequence_status::NOT_AHEAD != 0 => HardenAhead::Off,
                () if status & sequence_status::HARDENED_AHEAD != 0 => HardenAhead::On,
                () => HardenAhead::Next,
            },
        },
        counter_id,
        turned_at,
        counter: SequenceCounter::new(last),
        create_date,
        modify_date,
    })
}
