//! `RowTest`: conditions on columns that are judged on a row's bytes, under the latch, before the row is copied.

use std::cmp::Ordering;
use std::sync::Arc;

use types::{Collation, SqlType, Value};

use crate::row::RowFormat;
use crate::row_value::{decode_fixed, fixed_bytes};
use crate::row_view::RowView;

/// Which outcomes of a comparison a condition accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    less: bool,
    equal: bool,
    greater: bool,
}

impl Accepted {
    /// Those that `accepts` says yes to.
    pub fn by(accepts: impl Fn(Ordering) -> bool) -> Accepted {
        Accepted {
            less: accepts(Ordering::Less),
            equal: accepts(Ordering::Equal),
            greater: accepts(Ordering::Greater),
        }
    }

    #[inline]
    fn has(self, ordering: Ordering) -> bool {
        match ordering {
            Ordering::Less => self.less,
            Ordering::Equal => self.equal,
            Ordering::Greater => self.greater,
        }
    }
}

/// What is asked of one column.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Its position in the row.
    pub column: usize,
    /// What must be true of it.
    pub kind: ConditionKind,
}

/// Kinds of condition.
#[derive(Clone, Debug)]
pub enum ConditionKind {
    /// `IS NULL`, or `IS NOT NULL`.
    Null {
        /// Which of them.
        is_null: bool,
    },
    /// The column, of a fixed-length type, against a value; a NULL on either side satisfies nothing.
    Compare {
        /// The outcomes that satisfy it.
        accepted: Accepted,
        /// What it is compared with.
        value: Value,
        /// Under which collation.
        collation: Collation,
    },
}

/// Conditions that all must hold.
#[derive(Clone, Debug)]
pub struct RowTest {
    format: Arc<RowFormat>,
    checks: Vec<Check>,
    /// The row lies behind a piece that begins with its length (2 bytes).
    is_behind_piece: bool,
}

#[derive(Clone, Debug)]
enum Check {
    Null { column: usize, is_null: bool },
    Integer { column: usize, accepted: Accepted, value: i64 },
    Value { column: usize, accepted: Accepted, value: Value, collation: Collation },
    Never,
}

impl RowTest {
    /// The test of these conditions on rows of a format. `is_behind_piece`: the row begins behind a piece of bytes with its length in
    /// front, as in the entries of an index.
    pub fn new(format: Arc<RowFormat>, conditions: Vec<Condition>, is_behind_piece: bool) -> RowTest {
        let has = |condition: &Condition| condition.column < format.columns().len();
        assert!(conditions.iter().all(has), "conditions are on columns of the row");
        let check = |Condition { column, kind }: Condition| match kind {
            ConditionKind::Null { is_null } => Check::Null { column, is_null },
            ConditionKind::Compare { value: Value::Null, .. } => Check::Never,
            ConditionKind::Compare { accepted, value, collation } => {
                let sql_type = &format.columns()[column].sql_type;
                assert!(is_fixed_length(sql_type), "only fixed-length columns are compared in place");
                match value.as_i64() {
                    Some(value) if is_integer(sql_type) => Check::Integer { column, accepted, value },
                    _ => Check::Value { column, accepted, value, collation },
                }
            }
        };
        let checks: Vec<Check> = conditions.into_iter().map(check).collect();
        assert!(!checks.is_empty(), "a test asks for something");
        RowTest { format, checks, is_behind_piece }
    }

    /// Do all conditions hold? A row that cannot be read passes: whoever decodes it says what is wrong.
    #[inline]
    pub fn accepts(&self, bytes: &[u8]) -> bool {
        let row = if self.is_behind_piece { behind_piece(bytes) } else { Some(bytes) };
        let Some(Ok(view)) = row.map(|row| self.format.view(row)) else { return true };
        self.checks.iter().all(|check| check.holds(&view))
    }
}

impl Check {
    #[inline]
    fn holds(&self, view: &RowView<'_>) -> bool {
        match self {
            Check::Null { column, is_null } => view.is_null(*column) == *is_null,
            Check::Integer { column, accepted, value } => {
                view.fixed(*column).is_some_and(|(_, bytes)| accepted.has(integer(bytes).cmp(value)))
            }
            Check::Value { column, accepted, value, collation } => {
                view.fixed(*column).is_some_and(|(sql_type, bytes)| {
                    types::compare(&decode_fixed(sql_type, bytes), value, *collation)
                        .is_some_and(|ordering| accepted.has(ordering))
                })
            }
            Check::Never => false,
        }
    }
}

/// Do the values of a type lie in the fixed part of rows, so that conditions on them can be judged there?
pub fn is_fixed_length(sql_type: &SqlType) -> bool {
    fixed_bytes(sql_type).is_some()
}

fn is_integer(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt)
}

/// The number in the bytes of an integer column: one byte has no sign.
#[inline]
fn integer(bytes: &[u8]) -> i64 {
    match *bytes {
        [a] => i64::from(a),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("integers have 1, 2, 4 or 8 bytes"),
    }
}

fn behind_piece(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.get(usize::from(u16::from_le_bytes(*length))..)
}

#[cfg(test)]
#[path = "row_test_tests.rs"]
mod tests;
