//! `RowTest`: conditions on columns that are evaluated on a row's bytes, under the latch, before the row is copied.

use std::cmp::Ordering;
use std::sync::Arc;

use types::{ByteStr, Collation, LikePattern, SqlType, Value};

use crate::number_set::NumberSet;
use crate::number_steps::NumberSteps;
use crate::row::{ColumnLocation, HEAD_BYTES, RowFormat};
use crate::row_number::Number;
use crate::row_value::{decode_fixed, decode_variable, fixed_bytes};
use crate::row_view::{Found, RowView};

/// Which outcomes of a comparison a condition accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    less: bool,
    equal: bool,
    greater: bool,
}

impl Accepted {
    /// The outcomes for which `accepts` is true.
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

/// A condition on a column.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The column's position in the row; of [`ConditionKind::Any`] that of the first column of its conditions.
    pub column: usize,
    /// The condition.
    pub kind: ConditionKind,
}

/// Kinds of condition. In all except the first, a NULL on either side does not satisfy the condition.
#[derive(Clone, Debug)]
pub enum ConditionKind {
    /// `IS NULL`, or `IS NOT NULL`.
    Null {
        /// True for `IS NULL`, false for `IS NOT NULL`.
        is_null: bool,
    },
    /// The column against a value.
    Compare {
        /// The outcomes that satisfy it.
        accepted: Accepted,
        /// The value.
        value: Value,
        /// The collation of the comparison.
        collation: Collation,
    },
    /// The column against another one; both are [compared as numbers](compare_as_numbers).
    CompareColumn {
        /// The outcomes that satisfy it.
        accepted: Accepted,
        /// The other column's position.
        other: usize,
    },
    /// `IN`, or `NOT IN`.
    OneOf {
        /// The list.
        values: Vec<Value>,
        /// The collation of the comparison.
        collation: Collation,
        /// `NOT IN`?
        is_negated: bool,
    },
    /// `LIKE`, or `NOT LIKE`.
    Like {
        /// The pattern.
        pattern: Arc<LikePattern>,
        /// `NOT LIKE`?
        is_negated: bool,
    },
    /// The column, of an integer type, has a number that may be in the set.
    InSet(Arc<NumberSet>),
    /// The result of arithmetic on the integer column satisfies a test; a row for which the arithmetic fails passes.
    Computed {
        /// The arithmetic.
        steps: NumberSteps,
        /// The test.
        test: NumberTest,
    },
    /// All conditions of one of these lists hold.
    Any(Vec<Vec<Condition>>),
}

/// A test of a number.
#[derive(Clone, Debug)]
pub enum NumberTest {
    /// A comparison.
    Compare {
        /// The outcomes that satisfy it.
        accepted: Accepted,
        /// The value to compare with.
        value: i64,
    },
    /// The number is in this ascending list, or (`is_negated`) it is not.
    OneOf {
        /// The list.
        sorted: Vec<i64>,
        /// True for `NOT IN`.
        is_negated: bool,
    },
}

impl NumberTest {
    #[inline]
    fn accepts(&self, number: i64) -> bool {
        match self {
            NumberTest::Compare { accepted, value } => accepted.has(number.cmp(value)),
            NumberTest::OneOf { sorted, is_negated } => sorted.binary_search(&number).is_ok() != *is_negated,
        }
    }
}

impl Condition {
    /// The columns of the condition.
    pub fn columns(&self) -> Vec<usize> {
        match &self.kind {
            ConditionKind::CompareColumn { other, .. } => vec![self.column, *other],
            ConditionKind::Any(branches) => branches.iter().flatten().flat_map(Condition::columns).collect(),
            _ => vec![self.column],
        }
    }

    /// The same condition on rows with other column positions.
    pub fn move_columns(&mut self, place_of: &impl Fn(usize) -> usize) {
        self.column = place_of(self.column);
        match &mut self.kind {
            ConditionKind::CompareColumn { other, .. } => *other = place_of(*other),
            ConditionKind::Any(branches) => {
                branches.iter_mut().flatten().for_each(|condition| condition.move_columns(place_of));
            }
            _ => {}
        }
    }
}

/// Conditions that all must hold.
#[derive(Clone, Debug)]
pub struct RowTest {
    format: Arc<RowFormat>,
    checks: Vec<Check>,
    /// The row follows a piece that begins with its length (2 bytes).
    is_behind_piece: bool,
}

/// A column that is read as a number.
#[derive(Clone, Copy, Debug)]
struct Numbered {
    column: usize,
    /// Its bytes in the row.
    at: usize,
    bytes: usize,
    number: Number,
}

#[derive(Clone, Debug)]
enum Check {
    Null { column: usize, is_null: bool },
    Number { numbered: Numbered, low: i64, high: i64, is_outside: bool },
    Numbers { numbered: Numbered, other: Numbered, accepted: Accepted },
    InSet { numbered: Numbered, set: Arc<NumberSet> },
    Computed { numbered: Numbered, steps: NumberSteps, test: NumberTest },
    OneOfNumbers { numbered: Numbered, sorted: Vec<i64>, is_negated: bool },
    Text { column: usize, accepted: Accepted, value: ByteStr, collation: Collation },
    OneOfTexts { column: usize, sorted: Vec<ByteStr>, collation: Collation, is_negated: bool },
    Like { column: usize, pattern: Arc<LikePattern>, is_negated: bool },
    Value { column: usize, accepted: Accepted, value: Value, collation: Collation },
    OneOf { column: usize, values: Vec<Value>, collation: Collation, is_negated: bool },
    Any(Vec<Vec<Check>>),
    Never,
}

impl RowTest {
    /// The test of these conditions on rows of a format. `is_behind_piece`: the row follows a piece of bytes that begins with its length,
    /// as in the entries of an index.
    pub fn new(format: Arc<RowFormat>, conditions: Vec<Condition>, is_behind_piece: bool) -> RowTest {
        let is_here = |column: usize| {
            column < format.columns().len()
                && (is_fixed_length(&format.columns()[column].sql_type) || !format.may_have_lobs())
        };
        assert!(
            conditions.iter().flat_map(Condition::columns).all(is_here),
            "conditions are on columns of the row, whose values are never elsewhere"
        );
        let checks = checks_of(&format, conditions);
        assert!(!checks.is_empty(), "a test asks for something");
        RowTest { format, checks, is_behind_piece }
    }

    /// Do all conditions hold? A row that cannot be read passes: the code that decodes it reports the error.
    #[inline]
    pub fn accepts(&self, bytes: &[u8]) -> bool {
        let row = if self.is_behind_piece { behind_piece(bytes) } else { Some(bytes) };
        let Some(Ok(view)) = row.map(|row| self.format.view(row)) else { return true };
        self.checks.iter().all(|check| check.holds(&self.format, &view))
    }
}

impl Numbered {
    fn of(format: &RowFormat, column: usize) -> Option<Numbered> {
        let number = Number::of(&format.columns()[column].sql_type)?;
        let ColumnLocation::Fixed { offset, bytes } = format.places[column] else { return None };
        Some(Numbered { column, at: HEAD_BYTES + usize::from(offset), bytes: usize::from(bytes), number })
    }

    #[inline]
    fn read(&self, view: &RowView<'_>) -> Option<i64> {
        view.fixed_at(self.column, self.at, self.bytes).map(|bytes| self.number.read(bytes))
    }
}

impl Check {
    fn of(format: &RowFormat, Condition { column, kind }: Condition) -> Check {
        let numbered = Numbered::of(format, column);
        match kind {
            ConditionKind::Null { is_null } => Check::Null { column, is_null },
            ConditionKind::Compare { value: Value::Null, .. } => Check::Never,
            ConditionKind::Compare { accepted, value, collation } => {
                let place = numbered.and_then(|numbered| Some((numbered, numbered.number.place_of(&value)?)));
                match (place, value) {
                    (Some((numbered, place)), _) => Check::of_range(numbered, accepted, place),
                    (None, Value::Char(value)) if is_text(format, column) => {
                        let value = filled(value, &format.columns()[column].sql_type);
                        Check::Text { column, accepted, value, collation }
                    }
                    (None, value) => Check::Value { column, accepted, value, collation },
                }
            }
            ConditionKind::CompareColumn { accepted, other } => {
                let (Some(numbered), Some(other)) = (numbered, Numbered::of(format, other)) else {
                    unreachable!("columns are compared in place as numbers only")
                };
                assert!(numbered.number.is_comparable(other.number), "numbers of one kind are compared");
                Check::Numbers { numbered, other, accepted }
            }
            ConditionKind::OneOf { values, is_negated: true, .. } if values.contains(&Value::Null) => {
                Check::Never
            }
            ConditionKind::OneOf { values, collation, is_negated } => {
                let values = values.into_iter().filter(|value| !value.is_null()).collect();
                Check::of_list(format, column, values, collation, is_negated)
            }
            ConditionKind::Like { pattern, is_negated } => Check::Like { column, pattern, is_negated },
            ConditionKind::InSet(set) => {
                let numbered = numbered.expect("members of a set of numbers are numbers");
                Check::InSet { numbered, set }
            }
            ConditionKind::Computed { steps, test } => {
                let numbered = numbered.expect("what is computed with is a number");
                Check::Computed { numbered, steps, test }
            }
            ConditionKind::Any(branches) => {
                let branches = branches.into_iter().map(|branch| checks_of(format, branch));
                Check::Any(branches.collect())
            }
        }
    }

    /// The comparison with a number as the range of column values that satisfy it. A value between two numbers of the column is greater than the
    /// lower one and equal to none.
    fn of_range(numbered: Numbered, accepted: Accepted, (value, is_exact): (i64, bool)) -> Check {
        let Accepted { less, equal, greater } = accepted;
        let equal = if is_exact { equal } else { less };
        let range = |low: Option<i64>, high: Option<i64>, is_outside| match (low, high) {
            (Some(low), Some(high)) => Check::Number { numbered, low, high, is_outside },
            _ => Check::Never,
        };
        let (least, most) = (Some(i64::MIN), Some(i64::MAX));
        match (less, equal, greater) {
            (false, false, false) => Check::Never,
            (true, true, true) => range(least, most, false),
            (true, true, false) => range(least, Some(value), false),
            (true, false, false) => range(least, value.checked_sub(1), false),
            (false, true, true) => range(Some(value), most, false),
            (false, false, true) => range(value.checked_add(1), most, false),
            (false, true, false) => range(Some(value), Some(value), false),
            (true, false, true) => range(Some(value), Some(value), true),
        }
    }

    fn of_list(
        format: &RowFormat,
        column: usize,
        values: Vec<Value>,
        collation: Collation,
        is_negated: bool,
    ) -> Check {
        if let Some(numbered) = Numbered::of(format, column) {
            // A value between two numbers, or beyond all of them, equals none.
            let is_number = |value: &Value| {
                value.as_i64().is_some() || matches!(value, Value::Decimal(_) | Value::Money(_))
            };
            let places: Vec<_> = values.iter().map(|value| numbered.number.place_of(value)).collect();
            let is_known =
                values.iter().zip(&places).all(|(value, place)| place.is_some() || is_number(value));
            if is_known {
                let mut sorted: Vec<i64> = places
                    .into_iter()
                    .flatten()
                    .filter(|(_, is_exact)| *is_exact)
                    .map(|(number, _)| number)
                    .collect();
                sorted.sort_unstable();
                return Check::OneOfNumbers { numbered, sorted, is_negated };
            }
        }
        if is_text(format, column) && values.iter().all(|value| matches!(value, Value::Char(_))) {
            let text = |value| if let Value::Char(text) = value { Some(text) } else { None };
            let mut sorted: Vec<ByteStr> = values.into_iter().filter_map(text).collect();
            sorted.sort_by(|a, b| collation.compare_bytes(a, b));
            return Check::OneOfTexts { column, sorted, collation, is_negated };
        }
        Check::OneOf { column, values, collation, is_negated }
    }

    /// Intersects this range with another range of the same column; false when one of them is not a range.
    fn narrow(&mut self, other: &Check) -> bool {
        match (self, other) {
            (
                Check::Number { numbered, low, high, is_outside: false },
                Check::Number { numbered: others, low: least, high: most, is_outside: false },
            ) if numbered.column == others.column => {
                (*low, *high) = ((*low).max(*least), (*high).min(*most));
                true
            }
            _ => false,
        }
    }

    /// The cheap conditions: none of them can fail.
    fn effort(&self) -> u8 {
        match self {
            Check::Never => 0,
            Check::Null { .. } | Check::Number { .. } | Check::Numbers { .. } => 1,
            Check::OneOfNumbers { .. } | Check::InSet { .. } | Check::Computed { .. } => 2,
            Check::Text { .. } => 3,
            Check::OneOfTexts { .. } => 4,
            Check::Value { .. } => 5,
            Check::OneOf { .. } => 6,
            Check::Like { .. } => 7,
            // The first condition of each branch decides for most rows.
            Check::Any(branches) => {
                branches.iter().filter_map(|branch| branch.first()).map(Check::effort).fold(3, u8::max)
            }
        }
    }

    #[inline]
    fn holds(&self, format: &RowFormat, view: &RowView<'_>) -> bool {
        match self {
            Check::Number { numbered, low, high, is_outside } => {
                numbered.read(view).is_some_and(|number| (number >= *low && number <= *high) != *is_outside)
            }
            Check::InSet { numbered, set } => numbered.read(view).is_some_and(|number| set.may_have(number)),
            Check::Computed { numbered, steps, test } => {
                let accepts = |number| steps.of(number).is_none_or(|number| test.accepts(number));
                numbered.read(view).is_some_and(accepts)
            }
            Check::Numbers { numbered, other, accepted } => match (numbered.read(view), other.read(view)) {
                (Some(number), Some(other)) => accepted.has(number.cmp(&other)),
                _ => false,
            },
            Check::Null { column, is_null } => view.is_null(*column) == *is_null,
            Check::OneOfNumbers { numbered, sorted, is_negated } => {
                numbered.read(view).is_some_and(|number| sorted.binary_search(&number).is_ok() != *is_negated)
            }
            Check::Text { column, accepted, value, collation } => {
                judge(view, *column, |bytes| accepted.has(collation.compare_bytes(bytes, value)))
            }
            Check::OneOfTexts { column, sorted, collation, is_negated } => judge(view, *column, |bytes| {
                sorted.binary_search_by(|text| collation.compare_bytes(text, bytes)).is_ok() != *is_negated
            }),
            Check::Any(branches) => {
                branches.iter().any(|branch| branch.iter().all(|check| check.holds(format, view)))
            }
            other => other.holds_for_value(format, view),
        }
    }

    /// Conditions that decode a value, or that take long.
    fn holds_for_value(&self, format: &RowFormat, view: &RowView<'_>) -> bool {
        let sql_type = |column: &usize| &format.columns()[*column].sql_type;
        match self {
            Check::Like { column, pattern, is_negated } => judge(view, *column, |bytes| {
                let matches = match is_text(format, *column) {
                    true => Some(pattern.matches_bytes(bytes)),
                    false => value_of(sql_type(column), bytes).and_then(|value| pattern.matches(&value)),
                };
                matches.is_some_and(|matches| matches != *is_negated)
            }),
            Check::Value { column, accepted, value, collation } => judge(view, *column, |bytes| {
                let own = value_of(sql_type(column), bytes);
                own.and_then(|own| types::compare(&own, value, *collation))
                    .is_some_and(|ordering| accepted.has(ordering))
            }),
            Check::OneOf { column, values, collation, is_negated } => judge(view, *column, |bytes| {
                let Some(own) = value_of(sql_type(column), bytes) else { return true };
                let is_one =
                    values.iter().any(|value| types::is_equal(&own, value, *collation) == Some(true));
                is_one != *is_negated
            }),
            Check::Never => false,
            _ => unreachable!("judged without a value"),
        }
    }
}

/// The checks of a conjunction, the cheap ones first. Ranges of one column are intersected.
fn checks_of(format: &RowFormat, conditions: Vec<Condition>) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let check = Check::of(format, condition);
        if !checks.iter_mut().any(|known| known.narrow(&check)) {
            checks.push(check);
        }
    }
    checks.sort_by_key(Check::effort);
    assert!(checks.is_sorted_by_key(Check::effort), "the cheap ones come first");
    checks
}

/// Evaluates `accepts` on the bytes of a column; NULL satisfies nothing, and a value that cannot be read passes.
#[inline]
fn judge(view: &RowView<'_>, column: usize, accepts: impl FnOnce(&[u8]) -> bool) -> bool {
    match view.find(column) {
        Ok(Found::Fixed(bytes) | Found::Variable(bytes)) => accepts(bytes),
        Ok(Found::Null | Found::Missing) => false,
        Ok(Found::Elsewhere(_)) | Err(_) => true,
    }
}

fn value_of(sql_type: &SqlType, bytes: &[u8]) -> Option<Value> {
    if is_fixed_length(sql_type) {
        Some(decode_fixed(sql_type, bytes))
    } else {
        decode_variable(sql_type, bytes)
    }
}

/// Do the values of a type lie in the fixed part of rows?
pub fn is_fixed_length(sql_type: &SqlType) -> bool {
    fixed_bytes(sql_type).is_some()
}

/// Can values of both types be compared in place as numbers ([`ConditionKind::CompareColumn`])?
pub fn compare_as_numbers(left: &SqlType, right: &SqlType) -> bool {
    Number::of(left).zip(Number::of(right)).is_some_and(|(left, right)| left.is_comparable(right))
}

/// Are the column's bytes those of a char or varchar text?
fn is_text(format: &RowFormat, column: usize) -> bool {
    matches!(format.columns()[column].sql_type, SqlType::Char(_) | SqlType::VarChar(_))
}

/// A text padded with the blanks that a char column would store: an equal text, which compares fastest with stored ones.
fn filled(text: ByteStr, sql_type: &SqlType) -> ByteStr {
    let SqlType::Char(length) = sql_type else { return text };
    let length = usize::from(*length).max(text.len());
    let mut bytes = text.to_vec();
    bytes.resize(length, b' ');
    assert!(bytes.starts_with(&text), "only blanks are added");
    bytes.as_slice().into()
}

fn behind_piece(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.get(usize::from(u16::from_le_bytes(*length))..)
}

#[cfg(test)]
#[path = "row_test_tests.rs"]
mod tests;
