//! Selectivity estimates from statistics: shares of the rows, between 0 and 1.

use std::cmp::Ordering;
use std::ops::Bound;

use types::datetime::Moment;
use types::{Collation, Value, compare};

use super::{HistogramStep, StatisticsContent};

/// The share of a range assumed on one side of a value when its values have no distance.
const HALF: f64 = 0.5;

impl StatisticsContent {
    fn share(&self, rows: f64) -> f64 {
        let all: f64 = self.steps.iter().map(|step| step.equal_rows + step.range_rows).sum();
        if all > 0.0 { (rows / all).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The share of rows whose first column is NULL.
    pub fn share_of_null(&self) -> f64 {
        let of_null = self.steps.first().filter(|step| step.high.is_null());
        self.share(of_null.map_or(0.0, |step| step.equal_rows))
    }

    /// The average share of rows with one value.
    pub fn share_of_any_value(&self) -> f64 {
        let nulls = self.share_of_null();
        let Some(first) = self.prefixes.first().filter(|first| first.density > 0.0) else { return 0.0 };
        let distinct = 1.0 / first.density - f64::from(u8::from(nulls > 0.0));
        ((1.0 - nulls) / distinct.max(1.0)).clamp(0.0, 1.0)
    }

    /// The number of distinct values of the first column, NULL included.
    pub fn distinct_values(&self) -> f64 {
        self.prefixes.first().filter(|first| first.density > 0.0).map_or(0.0, |first| 1.0 / first.density)
    }

    /// The share of rows with this value.
    pub fn share_of_value(&self, value: &Value, collation: Collation) -> f64 {
        if value.is_null() {
            return 0.0;
        }
        let least = 1.0 / (self.rows.max(1) as f64);
        let found = self.values().find(|step| is(value, &step.high, collation, Ordering::is_le));
        match found {
            Some(step) if is(value, &step.high, collation, Ordering::is_eq) => self.share(step.equal_rows),
            Some(step) if step.range_rows > 0.0 => self.share(step.average_range_rows()).max(least),
            // No row had the value, or it was inserted since.
            _ => least,
        }
    }

    /// The share of rows between two values.
    pub fn share_between(&self, lower: Bound<&Value>, upper: Bound<&Value>, collation: Collation) -> f64 {
        let below = |bound: Bound<&Value>, is_upper: bool| match bound {
            Bound::Unbounded => None,
            Bound::Included(value) => Some(self.rows_below(value, is_upper, collation)),
            Bound::Excluded(value) => Some(self.rows_below(value, !is_upper, collation)),
        };
        let all: f64 = self.values().map(|step| step.equal_rows + step.range_rows).sum();
        let rows = below(upper, true).unwrap_or(all) - below(lower, false).unwrap_or(0.0);
        self.share(rows.max(0.0)).max(1.0 / (self.rows.max(1) as f64))
    }

    /// The share of rows whose text has this prefix.
    pub fn share_beginning_with(&self, text: &str) -> f64 {
        let wanted = text.to_lowercase();
        let begins = |step: &HistogramStep| {
            step.high.as_text().is_some_and(|high| high.to_lowercase().starts_with(&wanted))
        };
        let (mut rows, mut inside) = (0.0, false);
        for step in self.values() {
            let is_in = begins(step);
            // At its first and last step, half of the range is counted.
            rows += match (inside, is_in) {
                (true, true) => step.range_rows + step.equal_rows,
                (false, true) => step.range_rows * HALF + step.equal_rows,
                (true, false) => step.range_rows * HALF,
                (false, false) => 0.0,
            };
            inside = is_in;
        }
        if rows > 0.0 {
            return self.share(rows);
        }
        // All of them are inside one range, if there are any.
        let widest = self.values().map(|step| step.range_rows).fold(0.0, f64::max);
        self.share(widest * HALF).max(1.0 / (self.rows.max(1) as f64))
    }

    /// The steps without NULL.
    fn values(&self) -> impl Iterator<Item = &HistogramStep> {
        self.steps.iter().filter(|step| !step.high.is_null())
    }

    /// The number of rows with lower values, with `with_equal` also those with the value itself.
    fn rows_below(&self, value: &Value, with_equal: bool, collation: Collation) -> f64 {
        let (mut rows, mut before): (f64, Option<&Value>) = (0.0, None);
        for step in self.values() {
            match compare(value, &step.high, collation) {
                Some(Ordering::Greater) => rows += step.range_rows + step.equal_rows,
                Some(Ordering::Equal) => {
                    return rows + step.range_rows + if with_equal { step.equal_rows } else { 0.0 };
                }
                Some(Ordering::Less) => {
                    let part = before.map_or(0.0, |before| part_below(before, value, &step.high));
                    return rows + step.range_rows * part;
                }
                None => return rows,
            }
            before = Some(&step.high);
        }
        rows
    }
}

fn is(value: &Value, high: &Value, collation: Collation, test: fn(Ordering) -> bool) -> bool {
    compare(value, high, collation).is_some_and(test)
}

/// The position of a value between two others, from 0 to 1.
fn part_below(from: &Value, value: &Value, to: &Value) -> f64 {
    match (number_of(from), number_of(value), number_of(to)) {
        (Some(from), Some(value), Some(to)) if to > from => ((value - from) / (to - from)).clamp(0.0, 1.0),
        _ => HALF,
    }
}

/// A value as a number whose distances are meaningful.
fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Decimal(number) => Some(number.to_f64()),
        Value::Money(number) => Some(*number as f64),
        Value::Real(number) => Some(f64::from(*number)),
        Value::Float(number) => Some(*number),
        _ => match value.as_i64() {
            Some(number) => Some(number as f64),
            None => Moment::of(value).map(|moment| moment.total_ticks() as f64),
        },
    }
}

#[cfg(test)]
mod tests {
    use types::{DateTime, SqlType};

    use super::super::StatisticsCollector;
    use super::*;

    /// `values` as a column of `int`, sorted.
    fn of(mut values: Vec<Option<i32>>) -> StatisticsContent {
        values.sort_unstable();
        let mut collector = StatisticsCollector::new(vec![(SqlType::Int, Collation::DEFAULT)]);
        values.iter().for_each(|value| collector.add(&[value.map_or(Value::Null, Value::Int)], 1.0));
        collector.finish(values.len() as u64, DateTime { days: 0, ticks: 0 })
    }

    #[test]
    fn shares_are_those_of_the_rows() {
        // 100 NULLs, 5,000 times 7, and 0 to 4,899 once each.
        let values = (0..4900).map(Some).chain(std::iter::repeat_n(Some(7), 5000));
        let content = of(values.chain(std::iter::repeat_n(None, 100)).collect());
        let near = |found: f64, expected: f64, what: &str| {
            assert!((found - expected).abs() < 0.01, "{what}: {found}, not {expected}");
        };
        let int = Value::Int;
        let between = |lower: Bound<&Value>, upper: Bound<&Value>| {
            content.share_between(lower, upper, Collation::DEFAULT)
        };
        near(content.share_of_null(), 0.01, "NULL");
        near(content.share_of_value(&int(7), Collation::DEFAULT), 0.5001, "a frequent value");
        assert!(content.share_of_value(&int(2345), Collation::DEFAULT) < 0.0005);
        assert!(content.share_of_value(&int(99_999), Collation::DEFAULT) < 0.0005);
        near(content.share_of_any_value(), 0.99 / 4900.0, "any value");
        near(content.distinct_values(), 4901.0, "different values");
        near(between(Bound::Unbounded, Bound::Unbounded), 0.99, "all but NULL");
        near(between(Bound::Included(&int(2450)), Bound::Unbounded), 0.245, "the upper half");
        near(between(Bound::Included(&int(7)), Bound::Included(&int(7))), 0.5001, "one value");
        near(between(Bound::Excluded(&int(7)), Bound::Excluded(&int(8))), 0.0, "nothing");
        near(between(Bound::Unbounded, Bound::Excluded(&int(7))), 0.0007, "below");
        near(
            between(Bound::Included(&int(90)), Bound::Included(&int(10))),
            0.0,
            "nothing, the wrong way round",
        );
    }

    #[test]
    fn beginnings_of_texts() {
        let mut collector = StatisticsCollector::new(vec![(SqlType::nvarchar(20), Collation::DEFAULT)]);
        for n in 0..1000 {
            collector.add(&[Value::nvarchar(&format!("{}{n:04}", ["alpha", "beta"][n / 500]))], 1.0);
        }
        let content = collector.finish(1000, DateTime { days: 0, ticks: 0 });
        assert!((content.share_beginning_with("Beta") - 0.5).abs() < 0.02);
        assert!(content.share_beginning_with("alpha000") < 0.05);
        assert!(content.share_beginning_with("gamma") < 0.02);
    }
}
