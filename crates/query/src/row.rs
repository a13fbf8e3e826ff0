//! Rows, and batches of them.

use types::Value;

/// A row under construction or just read.
pub(crate) type Row = Vec<Value>;

/// Rows of equal width, one behind the other.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) values: Row,
    pub(crate) rows: usize,
    pub(crate) width: usize,
}

impl Batch {
    /// Begins anew.
    pub(crate) fn clear(&mut self, width: usize) {
        self.values.clear();
        (self.rows, self.width) = (0, width);
    }

    /// One of its rows.
    #[inline]
    pub(crate) fn row(&self, at: usize) -> &[Value] {
        &self.values[at * self.width..(at + 1) * self.width]
    }
}

/// A rowversion as a value of its type.
pub(crate) fn row_version(number: u64) -> Value {
    Value::binary(&number.to_be_bytes())
}
