//! Row sources: operators that emit rows, one after the other or a page at a time.

use types::SqlError;

use crate::row::{Batch, Row};
use crate::runtime::Runtime;

/// A running operator.
pub trait RowSource {
    /// Replaces `row` by the next row; false at the end, after which it is not called again.
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError>;

    /// Restarts with the current parameters; the next row is the first one. False: this source cannot restart, and must be dropped.
    fn again(&mut self, _runtime: &Runtime<'_>) -> Result<bool, SqlError> {
        Ok(false)
    }

    /// Replaces the batch by the next rows, at least one; false at the end, after which it is not called again. The caller reads either
    /// rows or batches.
    fn next_batch(&mut self, runtime: &Runtime<'_>, batch: &mut Batch) -> Result<bool, SqlError> {
        if !self.next(runtime, &mut batch.values)? {
            return Ok(false);
        }
        (batch.rows, batch.width) = (1, batch.values.len());
        Ok(true)
    }
}

/// No rows.
pub struct Empty;

impl RowSource for Empty {
    fn next(&mut self, _runtime: &Runtime<'_>, _row: &mut Row) -> Result<bool, SqlError> {
        Ok(false)
    }
}
