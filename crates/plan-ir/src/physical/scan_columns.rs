//! The columns that a scan reads.

use std::sync::Arc;

/// The columns of a scan's rows.
#[derive(Debug)]
pub struct ScanColumns {
    /// Ordinals in the table, in the order in which they stand in a row; `None`: all of them, as in the table.
    pub listed: Option<Arc<[usize]>>,
    /// So many of them, the first ones, are read by the scan's own filter.
    pub for_filter: usize,
    pub count: usize,
}

impl ScanColumns {
    /// The ordinals of the columns in a row.
    pub fn ordinals(&self) -> impl Iterator<Item = usize> {
        (0..self.count).map(|at| self.listed.as_ref().map_or(at, |ordinals| ordinals[at]))
    }
}
