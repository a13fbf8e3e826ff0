//! Statistics from sorted values: densities and a histogram of at most [`STEPS_MAX`] steps, in memory that does not grow with the
//! number of rows.
//!
//! Each new value of the first column is a step of its own at first, unless the step before has very few rows (few in a thousand): then that step
//! is merged at once into the range of the new one. When there are twice as many steps as allowed, the least informative ones are merged
//! in this way. A step is less informative the fewer rows it and its range have, so frequent values keep their step and ranges become about equally
//! large.

use types::{Collation, DateTime, SqlType, Value, sort_compare};

use super::{HistogramStep, PrefixDensity, STEPS_MAX, StatisticsContent};

/// The most bytes of a text or binary value in a step.
const HIGH_KEY_BYTES_MAX: usize = 200;
/// Adjacent steps that each have less than this share of the rows so far are merged at once: the remaining ranges have several times as many.
const LEAST_PART: f64 = 1.0 / (8 * STEPS_MAX) as f64;

/// Computes statistics from rows sorted by their columns.
pub struct StatisticsCollector {
    columns: Vec<(SqlType, Collation)>,
    previous: Vec<Value>,
    prefixes: Vec<Prefix>,
    steps: Vec<Step>,
    rows: f64,
}

/// The density state of a column prefix.
#[derive(Clone, Default)]
struct Prefix {
    distinct: f64,
    /// Values that occur once.
    single: f64,
    /// Rows of the current value.
    run: f64,
    bytes: f64,
}

/// A step, with the data to scale it up from the sample.
#[derive(Clone)]
struct Step {
    high: Value,
    equal: f64,
    range: f64,
    distinct: f64,
    /// Values of the range that occur once.
    single: f64,
}

impl StatisticsCollector {
    /// For rows with these columns.
    pub fn new(columns: Vec<(SqlType, Collation)>) -> StatisticsCollector {
        assert!(!columns.is_empty(), "statistics are about a column");
        let prefixes = vec![Prefix::default(); columns.len()];
        StatisticsCollector { columns, previous: Vec::new(), prefixes, steps: Vec::new(), rows: 0.0 }
    }

    /// Adds so many rows with these values. Rows come in order; equal ones may come one by one.
    pub fn add(&mut self, values: &[Value], rows: f64) {
        assert_eq!(values.len(), self.columns.len(), "a value a column");
        let is_first = self.previous.is_empty();
        let differs = |(at, value): (usize, &Value)| {
            is_first || sort_compare(&self.previous[at], value, self.columns[at].1).is_ne()
        };
        let same = values.iter().enumerate().position(differs).unwrap_or(values.len());
        let mut bytes = 0.0;
        for (at, prefix) in self.prefixes.iter_mut().enumerate() {
            bytes += stored_bytes(&values[at], &self.columns[at].0) * rows;
            prefix.bytes += bytes;
            if at >= same {
                prefix.end_run();
                prefix.distinct += 1.0;
            }
            prefix.run += rows;
        }
        self.rows += rows;
        match self.steps.last_mut() {
            Some(step) if same > 0 => step.equal += rows,
            _ => self.begin_step(&values[0], rows),
        }
        if same < values.len() {
            self.previous.clear();
            self.previous.extend_from_slice(values);
        }
    }

    fn begin_step(&mut self, value: &Value, rows: f64) {
        let mut step = Step { high: shortened(value), equal: rows, range: 0.0, distinct: 0.0, single: 0.0 };
        let may_go = self.steps.len() > steps_that_stay(&self.steps);
        let says_little = |before: &mut Step| before.range + before.equal < self.rows * LEAST_PART;
        if let Some(before) = self.steps.pop_if(|before| may_go && says_little(before)) {
            step.take_in(&before);
        } else if self.steps.len() >= 2 * STEPS_MAX {
            reduce(&mut self.steps, STEPS_MAX);
        }
        self.steps.push(step);
    }

    /// The rows added so far.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// The statistics of a table with `total` rows.
    pub fn finish(mut self, total: u64, updated: DateTime) -> StatisticsContent {
        self.prefixes.iter_mut().for_each(Prefix::end_run);
        reduce(&mut self.steps, STEPS_MAX);
        let sampled = self.rows;
        let total = (total as f64).max(sampled);
        let factor = if sampled > 0.0 { total / sampled } else { 1.0 };
        let prefixes = self.prefixes.iter().map(|prefix| PrefixDensity {
            density: if prefix.distinct > 0.0 { 1.0 / prefix.distinct_of(sampled, total) } else { 0.0 },
            average_bytes: if sampled > 0.0 { prefix.bytes / sampled } else { 0.0 },
        });
        let first = &self.prefixes[0];
        // The distinct values of the table for each value that occurs once in the sample.
        let unseen = match first.single > 0.0 {
            true => {
                ((first.distinct_of(sampled, total) - first.distinct + first.single) / first.single).max(1.0)
            }
            false => 1.0,
        };
        let steps = self.steps.iter().map(|step| {
            let range_rows = step.range * factor;
            let distinct = step.distinct - step.single + step.single * unseen;
            HistogramStep {
                high: step.high.clone(),
                equal_rows: if step.equal > 1.0 { step.equal * factor } else { (factor / unseen).max(1.0) },
                range_rows,
                distinct_range_rows: distinct.min(range_rows),
            }
        });
        StatisticsContent {
            updated,
            rows: total as u64,
            unfiltered_rows: total as u64,
            rows_sampled: sampled as u64,
            prefixes: prefixes.collect(),
            steps: steps.collect(),
        }
    }
}

impl Step {
    /// Merges the step before into this one's range.
    fn take_in(&mut self, before: &Step) {
        self.range += before.range + before.equal;
        self.distinct += before.distinct + 1.0;
        self.single += before.single + f64::from(u8::from(before.equal == 1.0));
    }
}

/// The number of leading steps that are never merged: NULL and the first value.
fn steps_that_stay(steps: &[Step]) -> usize {
    1 + usize::from(steps.first().is_some_and(|step| step.high.is_null()))
}

impl Prefix {
    fn end_run(&mut self) {
        self.single += f64::from(u8::from(self.run == 1.0));
        self.run = 0.0;
    }

    /// The estimated number of distinct values of all rows, from `sampled` of `total` rows: exact for a full scan; for a sample the estimator of Haas
    /// and Stokes, which uses the values that occur once ("Estimating the number of classes in a finite population", 1998, Duj1).
    fn distinct_of(&self, sampled: f64, total: f64) -> f64 {
        if sampled >= total || sampled == 0.0 {
            return self.distinct;
        }
        let estimate = sampled * self.distinct / (sampled - self.single + self.single * sampled / total);
        estimate.clamp(self.distinct, total)
    }
}

/// Merges steps into their successors until `most` are left. The first value, the step after NULL, and the last keep their steps.
fn reduce(steps: &mut Vec<Step>, most: usize) {
    let kept_first = steps_that_stay(steps);
    while steps.len() > most.max(kept_first + 1) {
        let joinable = kept_first..steps.len() - 1;
        // The rows of the merged range: the smallest loses the least information. Half of the surplus is merged in one pass, so that a pass is
        // worth its sort.
        let weight = |at: usize| steps[at].range + steps[at].equal + steps[at + 1].range;
        let mut order: Vec<(f64, usize)> = joinable.map(|at| (weight(at), at)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut goes = vec![false; steps.len()];
        let mut left = (steps.len() - most).div_ceil(2);
        for (_, at) in order {
            // Never two neighbours in one pass: their weights assume that the other stays.
            if left > 0 && !goes[at - 1] && !goes[at + 1] {
                goes[at] = true;
                left -= 1;
            }
        }
        let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
        let mut held: Option<Step> = None;
        for (mut step, goes) in steps.drain(..).zip(&goes) {
            if let Some(before) = held.take() {
                step.take_in(&before);
            }
            match goes {
                true => held = Some(step),
                false => joined.push(step),
            }
        }
        assert!(held.is_none() && joined.len() < goes.len(), "the last step stays, and some have gone");
        *steps = joined;
    }
}

/// The value to store in a step: long ones are truncated, which affects estimates only.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Char(bytes) if bytes.len() > HIGH_KEY_BYTES_MAX => {
            Value::Char(types::ByteStr::new(&bytes[..HIGH_KEY_BYTES_MAX]))
        }
        Value::Binary(bytes) if bytes.len() > HIGH_KEY_BYTES_MAX => {
            Value::Binary(types::ByteStr::new(&bytes[..HIGH_KEY_BYTES_MAX]))
        }
        Value::NChar(units) if units.len() > HIGH_KEY_BYTES_MAX / 2 => {
            Value::NChar(types::WideStr::new(&units[..HIGH_KEY_BYTES_MAX / 2]))
        }
        other => other.clone(),
    }
}

/// Bytes of a value as DATALENGTH counts them.
fn stored_bytes(value: &Value, sql_type: &SqlType) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Char(_) | Value::NChar(_) | Value::Binary(_) | Value::Variant(_) => value.long_bytes() as f64,
        _ => f64::from(sql_type.max_length().max(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(values: impl Iterator<Item = i32>, total: u64) -> StatisticsContent {
        let mut collector = StatisticsCollector::new(vec![(SqlType::Int, Collation::DEFAULT)]);
        values.for_each(|value| collector.add(&[Value::Int(value)], 1.0));
        collector.finish(total, DateTime { days: 0, ticks: 0 })
    }

    fn rows(content: &StatisticsContent) -> f64 {
        content.steps.iter().map(|step| step.equal_rows + step.range_rows).sum()
    }

    #[test]
    fn few_values_have_a_step_each() {
        let content = collected((0..1000).map(|n| n / 10), 1000);
        assert_eq!((content.steps.len(), content.rows, content.rows_sampled), (100, 1000, 1000));
        assert!(content.steps.iter().all(|step| step.equal_rows == 10.0 && step.range_rows == 0.0));
        assert!((content.prefixes[0].density - 0.01).abs() < 1e-12);
        assert!((content.prefixes[0].average_bytes - 4.0).abs() < 1e-12);
    }

    #[test]
    fn many_values_lose_neither_rows_nor_the_frequent_ones() {
        // 100,000 values once, one of them 50,000 times more.
        let values = (0..100_000).flat_map(|n| std::iter::repeat_n(n, if n == 31_337 { 50_001 } else { 1 }));
        let content = collected(values, 150_000);
        assert!(content.steps.len() <= STEPS_MAX && content.steps.len() > STEPS_MAX / 2);
        assert!((rows(&content) - 150_000.0).abs() < 1e-6, "every row is counted once");
        let distinct: f64 = content.steps.iter().map(|step| 1.0 + step.distinct_range_rows).sum();
        assert!((distinct - 100_000.0).abs() < 1e-6, "and every value");
        let frequent = content.steps.iter().find(|step| step.high == Value::Int(31_337));
        assert_eq!(frequent.map(|step| step.equal_rows), Some(50_001.0));
        assert!(content.steps.iter().all(|step| step.range_rows < 5000.0), "ranges are about equal");
        assert_eq!(content.steps[0].high, Value::Int(0));
        assert_eq!(content.steps.last().map(|step| &step.high), Some(&Value::Int(99_999)));
    }

    /// However many values come, few are steps at any time: the least informative are merged early.
    #[test]
    fn many_values_are_few_steps_from_the_beginning() {
        let mut collector = StatisticsCollector::new(vec![(SqlType::Int, Collation::DEFAULT)]);
        let mut begun = 0;
        for n in 0..200_000 {
            let before = collector.steps.len();
            collector.add(&[Value::Int(n)], 1.0);
            begun += usize::from(collector.steps.len() != before);
        }
        assert!(begun < 20_000, "{begun} steps have begun");
        let content = collector.finish(200_000, DateTime { days: 0, ticks: 0 });
        assert!(content.steps.len() > STEPS_MAX / 2);
        assert!((rows(&content) - 200_000.0).abs() < 1e-6, "every row is counted once");
        assert!(content.steps.iter().all(|step| step.range_rows < 4000.0), "ranges are about equal");
    }

    #[test]
    fn null_and_the_first_value_stand_alone() {
        let mut collector = StatisticsCollector::new(vec![(SqlType::Int, Collation::DEFAULT)]);
        collector.add(&[Value::Null], 7.0);
        (0..5000).for_each(|n| collector.add(&[Value::Int(n)], 1.0));
        let content = collector.finish(5007, DateTime { days: 0, ticks: 0 });
        assert_eq!((&content.steps[0].high, content.steps[0].equal_rows), (&Value::Null, 7.0));
        assert_eq!((&content.steps[1].high, content.steps[1].range_rows), (&Value::Int(0), 0.0));
    }

    #[test]
    fn a_sample_tells_few_values_from_many() {
        // Every 10th row of 100,000: a key, and a column of 50 values.
        let key = collected((0..10_000).map(|n| n * 10), 100_000);
        let few = collected((0..10_000).map(|n| n / 200), 100_000);
        let distinct = |content: &StatisticsContent| 1.0 / content.prefixes[0].density;
        assert!(distinct(&key) > 90_000.0, "{}", distinct(&key));
        assert!((distinct(&few) - 50.0).abs() < 1.0, "{}", distinct(&few));
        assert!((rows(&key) - 100_000.0).abs() < 2000.0 && (rows(&few) - 100_000.0).abs() < 1.0);
    }

    #[test]
    fn each_prefix_has_its_density() {
        let mut collector = StatisticsCollector::new(vec![(SqlType::Int, Collation::DEFAULT); 3]);
        for (a, b, c) in [(1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 1, 1)] {
            collector.add(&[Value::Int(a), Value::Int(b), Value::Int(c)], 1.0);
        }
        let content = collector.finish(5, DateTime { days: 0, ticks: 0 });
        let distinct: Vec<f64> =
            content.prefixes.iter().map(|prefix| (1.0 / prefix.density).round()).collect();
        assert_eq!(distinct, [2.0, 3.0, 4.0]);
    }
}
