//! Statistics of columns: how many rows there were, how many different values, and which ones how often. They are hints: what is torn, old
//! or absent makes plans worse and answers no different.
//!
//! [`collect`] makes them of values in order, [`estimate`] answers the planner's questions, [`bytes`] brings them into the catalog and back,
//! [`crate::table_statistics`] makes, renews and drops them.

pub(crate) mod bytes;
mod collect;
mod estimate;

use std::sync::Arc;

use types::{DateTime, Value};

pub use collect::StatisticsCollector;

use crate::filter::FilterTest;
use crate::object_id::ObjectId;

/// Steps of a histogram at most, that of NULL included (learn.microsoft.com, "DBCC SHOW_STATISTICS").
pub const STEPS_MAX: usize = 200;

/// The statistics of columns that no index stands for are numbered from here: an index's number is the number of its statistics.
pub const FIRST_COLUMN_STATISTICS_ID: i32 = 1001;

/// Statistics of one or more columns, or of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsDef {
    /// Its table.
    pub object_id: ObjectId,
    /// Its number in the table; an index's own number.
    pub stats_id: i32,
    /// Its name; none where it is an index's, which has the name.
    pub name: Option<Arc<str>>,
    /// What it is about, in order: the histogram is of the first. Those of an index include the clustered key.
    pub column_ids: Vec<i32>,
    /// Made when a query asked for it.
    pub is_auto: bool,
    /// NORECOMPUTE: it is renewed by UPDATE STATISTICS alone.
    pub no_recompute: bool,
    /// PERSIST_SAMPLE_PERCENT: so much is looked at by whoever does not say how much, in percent; above 0, 100 at most.
    pub kept_percent: Option<f64>,
    /// Of which rows, where not of all: those of an index have its filter.
    pub filter: Option<Arc<StatisticsFilter>>,
    /// What was found; none when nothing was looked at yet, or what was kept of it makes no sense.
    pub content: Option<Arc<StatisticsContent>>,
    /// Where the table's count of changes stood then. Not kept on disk, as the count itself.
    pub(crate) counted: Counted,
}

/// CREATE STATISTICS ... WHERE.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsFilter {
    /// As `sys.stats.filter_definition` shows it.
    pub text: Arc<str>,
    /// By column number; all must hold. A number stays when columns come and go.
    pub terms: Vec<(i32, FilterTest)>,
}

/// A state of a table's count of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Whose count.
    pub(crate) unit: u32,
    pub(crate) changed: u64,
    pub(crate) updated: u64,
}

impl StatisticsDef {
    /// Does an index have it?
    pub fn is_of_index(&self) -> bool {
        self.stats_id < FIRST_COLUMN_STATISTICS_ID
    }
}

/// What was found when the values were looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsContent {
    /// When.
    pub updated: DateTime,
    /// Rows then that satisfied the filter: all of the table, where there is none.
    pub rows: u64,
    /// Those of them that were looked at.
    pub rows_sampled: u64,
    /// Rows of the table then, also those that a filter leaves out.
    pub unfiltered_rows: u64,
    /// For the first column, the first two, and so on.
    pub prefixes: Vec<PrefixDensity>,
    /// The first column's values, ascending; NULL first.
    pub steps: Vec<HistogramStep>,
}

/// How different the values of some columns are together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefixDensity {
    /// One divided by the number of different values; NULL is one.
    pub density: f64,
    /// Bytes of the values, on the average.
    pub average_bytes: f64,
}

/// One step of a histogram: a value, and what lies between the step before it and this one.
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
    /// AVG_RANGE_ROWS: 1 where there are none.
    pub fn average_range_rows(&self) -> f64 {
        if self.distinct_range_rows > 0.0 { self.range_rows / self.distinct_range_rows } else { 1.0 }
    }
}

impl StatisticsContent {
    /// Bytes of all columns together, on the average.
    pub fn average_key_bytes(&self) -> f64 {
        self.prefixes.last().map_or(0.0, |prefix| prefix.average_bytes)
    }

    /// Density of the header: of the values of the first column that are no step's own. (The planner does not use it, as SQL Server's does not.)
    pub fn header_density(&self) -> f64 {
        let (rows, distinct) = self.steps.iter().fold((0.0, 0.0), |(rows, distinct), step| {
            (rows + step.range_rows, distinct + step.distinct_range_rows)
        });
        if rows > 0.0 && distinct > 0.0 { 1.0 / distinct } else { 0.0 }
    }

    /// So many changes make them stale: 500 for up to 500 rows, then 500 + 20 %, or the square root of 1,000 times the rows where that is less
    /// and the compatibility level is 130 at least (learn.microsoft.com, "Statistics", AUTO_UPDATE_STATISTICS).
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
