//! Statistics of columns: the number of rows, the number of distinct values, and a histogram. They are hints: if they are damaged, old
//! or absent, plans become worse, but no result changes.
//!
//! [`collect`] computes them from sorted values, [`estimate`] answers the planner's questions, [`bytes`] encodes them for the catalog,
//! [`crate::table_statistics`] creates, updates and drops them.

pub(crate) mod bytes;
mod collect;
mod estimate;

use std::sync::Arc;

use types::{DateTime, Value};

pub use collect::StatisticsCollector;

use crate::filter::FilterTest;
use crate::object_id::ObjectId;

/// The most steps of a histogram, that of NULL included (learn.microsoft.com, "DBCC SHOW_STATISTICS").
pub const STEPS_MAX: usize = 200;

/// Column statistics are numbered from here: an index's number is the number of its statistics.
pub const FIRST_COLUMN_STATISTICS_ID: i32 = 1001;

/// Statistics of one or more columns, or of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsDef {
    /// Its table.
    pub object_id: ObjectId,
    /// Its number in the table; an index's own number.
    pub stats_id: i32,
    /// Its name; none for an index's statistics, which use the index's name.
    pub name: Option<Arc<str>>,
    /// Its columns, in order: the histogram is about the first. Those of an index include the clustered key.
    pub column_ids: Vec<i32>,
    /// Created automatically for a query.
    pub is_auto: bool,
    /// NORECOMPUTE: only UPDATE STATISTICS updates it.
    pub no_recompute: bool,
    /// PERSIST_SAMPLE_PERCENT: the default sample size of later updates, in percent; above 0, at most 100.
    pub kept_percent: Option<f64>,
    /// The filter, if any: the statistics of an index have the index's filter.
    pub filter: Option<Arc<StatisticsFilter>>,
    /// The content; none when nothing was sampled yet, or the stored content is invalid.
    pub content: Option<Arc<StatisticsContent>>,
    /// The table's count of changes at that time. Not stored on disk, like the count itself.
    pub(crate) counted: Counted,
}

/// CREATE STATISTICS ... WHERE.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsFilter {
    /// As `sys.stats.filter_definition` shows it.
    pub text: Arc<str>,
    /// By column number; all must hold. A number stays when columns are added or dropped.
    pub terms: Vec<(i32, FilterTest)>,
}

/// A state of a table's count of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The unit that is counted.
    pub(crate) unit: u32,
    pub(crate) changed: u64,
    pub(crate) updated: u64,
}

impl StatisticsDef {
    /// Does it belong to an index?
    pub fn is_of_index(&self) -> bool {
        self.stats_id < FIRST_COLUMN_STATISTICS_ID
    }
}

/// The content of statistics: the result of a sample or a full scan.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsContent {
    /// When.
    pub updated: DateTime,
    /// The rows that satisfied the filter: all rows of the table without one.
    pub rows: u64,
    /// The rows that were sampled.
    pub rows_sampled: u64,
    /// The rows of the table, with those that the filter excludes.
    pub unfiltered_rows: u64,
    /// For the first column, the first two, and so on.
    pub prefixes: Vec<PrefixDensity>,
    /// The first column's values, ascending; NULL first.
    pub steps: Vec<HistogramStep>,
}

/// The density of a column prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefixDensity {
    /// One divided by the number of distinct values; NULL counts as one.
    pub density: f64,
    /// The average bytes of the values.
    pub average_bytes: f64,
}

/// One step of a histogram: a value, and the range between the step before and this one.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramStep {
    /// RANGE_HI_KEY.
    pub high: Value,
    /// EQ_ROWS.
    pub equal_rows: f64,
    /// RANGE_ROWS.
    pub range_rows: f64,
    /// DISTINCT_RANGE_ROWS.
    pub distinct_range_rows: f64,
}

impl HistogramStep {
    /// AVG_RANGE_ROWS: 1 for an empty range.
    pub fn average_range_rows(&self) -> f64 {
        if self.distinct_range_rows > 0.0 { self.range_rows / self.distinct_range_rows } else { 1.0 }
    }
}

impl StatisticsContent {
    /// The average bytes of all columns together.
    pub fn average_key_bytes(&self) -> f64 {
        self.prefixes.last().map_or(0.0, |prefix| prefix.average_bytes)
    }

    /// Density of the header: of the first column's values that are no step. (The planner does not use it, as in SQL Server.)
    pub fn header_density(&self) -> f64 {
        let (rows, distinct) = self.steps.iter().fold((0.0, 0.0), |(rows, distinct), step| {
            (rows + step.range_rows, distinct + step.distinct_range_rows)
        });
        if rows > 0.0 && distinct > 0.0 { 1.0 / distinct } else { 0.0 }
    }

    /// The number of changes that makes them stale: 500 for up to 500 rows, then 500 + 20 %, or the square root of 1,000 times the rows where that is
    /// less and the compatibility level is at least 130 (learn.microsoft.com, "Statistics", AUTO_UPDATE_STATISTICS).
    pub fn threshold(rows: u64, compatibility_level: u8) -> u64 {
        match rows {
            0..=500 => 500,
            _ if compatibility_level < 130 => 500 + rows / 5,
            _ => (500 + rows / 5).min(rows.saturating_mul(1000).isqrt()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StatisticsContent;

    #[test]
    fn small_tables_change_by_500_rows_and_large_ones_by_few_in_a_hundred() {
        assert_eq!(StatisticsContent::threshold(0, 160), 500);
        assert_eq!(StatisticsContent::threshold(1000, 160), 700);
        // The page's own example: 2,000,000 rows, the lesser of 400,500 and 44,721.
        assert_eq!(StatisticsContent::threshold(2_000_000, 160), 44_721);
        assert_eq!(StatisticsContent::threshold(2_000_000, 120), 400_500);
    }
}
