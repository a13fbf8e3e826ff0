//! The hash table of a join (the first row of each key) or of a grouping (the group of each key). Keys of one or two integers are numbers, others are
//! bytes.

use plan_ir::physical::plan::JoinKeyKind;
use rustc_hash::FxHashMap;
use types::SqlError;

use super::room::Room;
use super::spill::hashed_bytes;

/// A number takes this in the table, about.
const NUMBER_BYTES: usize = 24;

/// The key of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key<'k> {
    /// One of its parts is NULL: nothing is equal to it.
    Nothing,
    Number(i64),
    Bytes(&'k [u8]),
}

/// May keys of so many columns be looked up in this way?
pub(super) fn fits(kind: JoinKeyKind, columns: usize) -> bool {
    match kind {
        JoinKeyKind::Bytes => true,
        JoinKeyKind::Number => columns == 1,
        JoinKeyKind::Pair => columns == 2,
    }
}

/// Two integers of at most 32 bits as one number.
#[inline]
pub(super) fn pair(first: i64, second: i64) -> i64 {
    debug_assert!(
        i32::try_from(first).is_ok() && i32::try_from(second).is_ok(),
        "halves are no longer than 32 bits"
    );
    first << 32 | i64::from(second as u32)
}

/// One of the two.
#[inline]
pub(super) fn pair_part(pair: i64, part: usize) -> i64 {
    if part == 0 { pair >> 32 } else { i64::from(pair as i32) }
}

/// Rows by key. All keys are of one kind; but a group whose key has a NULL in it is looked up by bytes.
#[derive(Default)]
pub(super) struct KeyTable {
    numbers: FxHashMap<i64, u32>,
    bytes: FxHashMap<Box<[u8]>, u32>,
}

impl KeyTable {
    /// The first row of a key.
    #[inline]
    pub(super) fn get(&self, key: Key<'_>) -> Option<u32> {
        match key {
            Key::Nothing => None,
            Key::Number(number) => self.numbers.get(&number).copied(),
            Key::Bytes(bytes) => self.bytes.get(bytes).copied(),
        }
    }

    /// Notes the first row of a key that is not there yet.
    pub(super) fn insert(&mut self, key: Key<'_>, row: u32) -> Result<(), SqlError> {
        debug_assert!(self.get(key).is_none(), "a key has one first row");
        match key {
            Key::Nothing => {}
            Key::Number(number) => {
                debug_assert!(row != u32::MAX, "the number of a row");
                self.numbers.room_for_one()?;
                self.numbers.insert(number, row);
            }
            Key::Bytes(bytes) => {
                self.bytes.room_for_one()?;
                self.bytes.insert(bytes.into(), row);
            }
        }
        Ok(())
    }

    /// All keys, if they are numbers.
    pub(super) fn numbers(&self) -> impl ExactSizeIterator<Item = i64> {
        assert!(self.bytes.is_empty(), "asked for numbers only");
        self.numbers.keys().copied()
    }
}

/// The approximate size of a key in a hash table.
#[inline]
pub(super) fn key_bytes(key: Key<'_>) -> usize {
    match key {
        Key::Nothing => 0,
        Key::Number(_) => NUMBER_BYTES,
        Key::Bytes(bytes) => hashed_bytes(bytes),
    }
}
