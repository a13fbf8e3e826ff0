//! Ranges between two variables (`k BETWEEN @low AND @high`): how wide they are is known when the statement runs, and a statement may have a plan
//! for each order of magnitude.

use std::cell::RefCell;

use types::Value;

/// More ranges of a statement have no magnitude.
const RANGES_MAX: usize = 8;

/// The magnitude of each range of a statement, in the order of the ranges.
pub type Magnitudes = [u8; RANGES_MAX];

/// One end of a range: a constant, or a variable and a constant that is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeEnd {
    pub slot: Option<usize>,
    pub offset: i128,
}

/// The whole numbers, or days, from one end to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableRange {
    pub low: RangeEnd,
    pub high: RangeEnd,
}

impl RangeEnd {
    fn value(self, variables: &[Value]) -> Option<i128> {
        let Some(slot) = self.slot else { return Some(self.offset) };
        let value = match &variables[slot] {
            Value::Date(date) => i64::from(date.days),
            other => other.as_i64()?,
        };
        Some(i128::from(value) + self.offset)
    }
}

impl VariableRange {
    /// 0 for an empty range, `n` for 4^(n-1) values and more; `None` where an end is NULL.
    fn magnitude(self, variables: &[Value]) -> Option<u8> {
        let values = self.high.value(variables)? - self.low.value(variables)? + 1;
        Some(
            u128::try_from(values)
                .ok()
                .filter(|values| *values > 0)
                .map_or(0, |values| values.ilog(4) as u8 + 1),
        )
    }
}

/// The magnitude of each range for these values of the variables; `None` where an end is NULL, or where there are no ranges.
#[inline]
pub fn magnitudes(ranges: &[VariableRange], variables: &[Value]) -> Option<Magnitudes> {
    if ranges.is_empty() {
        return None;
    }
    let mut all = Magnitudes::default();
    for (range, place) in ranges.iter().zip(&mut all) {
        *place = range.magnitude(variables)?;
    }
    Some(all)
}

/// The ranges of the statement that is planned, and the magnitudes for which it is planned.
#[derive(Debug, Default)]
pub struct VariableRanges {
    known: Vec<(VariableRange, u8)>,
    found: RefCell<Vec<VariableRange>>,
}

impl VariableRanges {
    /// For a plan that is made for these magnitudes.
    pub fn of_magnitudes(ranges: &[VariableRange], magnitudes: &Magnitudes) -> VariableRanges {
        let known = ranges.iter().copied().zip(magnitudes.iter().copied()).collect();
        VariableRanges { known, found: RefCell::default() }
    }

    /// So many values a range is thought to have; `None`: its magnitude is not known. The range is noted.
    pub fn width(&self, range: VariableRange) -> Option<f64> {
        let mut found = self.found.borrow_mut();
        if found.len() < RANGES_MAX && !found.contains(&range) {
            found.push(range);
        }
        let magnitude = self.known.iter().find(|known| known.0 == range)?.1;
        // The middle of the magnitude.
        Some(if magnitude == 0 { 0.0 } else { 2.0 * 4f64.powi(i32::from(magnitude) - 1) })
    }

    /// The ranges whose widths the planner has asked for.
    pub fn take_found(&self) -> Vec<VariableRange> {
        self.found.take()
    }
}

#[cfg(test)]
mod tests {
    use super::{RangeEnd, VariableRange, VariableRanges, magnitudes};
    use types::Value;

    #[test]
    fn magnitudes_are_powers_of_four() {
        let end = |slot, offset| RangeEnd { slot, offset };
        let range = VariableRange { low: end(Some(0), 0), high: end(Some(1), -1) };
        let of = |low: Value, high: Value| magnitudes(&[range], &[low, high]).map(|all| all[0]);
        let number = |low: i32, high: i64| of(Value::Int(low), Value::BigInt(high));
        assert_eq!([1, 2, 4, 5, 16, 17, 21].map(|high| number(1, high)), [0, 1, 1, 2, 2, 3, 3].map(Some));
        assert_eq!(number(5, -5), Some(0));
        assert_eq!(number(i32::MIN, i64::MAX), Some(32));
        assert_eq!(of(Value::Null, Value::Int(1)), None);
        assert_eq!(magnitudes(&[], &[]), None);
        let from_constant = VariableRange { low: end(None, 1), high: end(Some(0), 0) };
        assert_eq!(magnitudes(&[from_constant], &[Value::Int(20)]).map(|all| all[0]), Some(3));
    }

    #[test]
    fn a_width_is_known_for_the_magnitudes_of_the_plan_alone() {
        let range = |offset| VariableRange {
            low: RangeEnd { slot: Some(0), offset },
            high: RangeEnd { slot: Some(1), offset: 0 },
        };
        let ranges = VariableRanges::of_magnitudes(&[range(0)], &[3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((ranges.width(range(0)), ranges.width(range(1))), (Some(32.0), None));
        assert_eq!(ranges.width(range(0)), Some(32.0));
        assert_eq!(ranges.take_found(), [range(0), range(1)]);
    }
}
