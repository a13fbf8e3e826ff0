//! Rows, and batches of them.

use types::{SqlError, Value};

/// A row under construction or just read.
pub type Row = Vec<Value>;

/// Rows of equal width, one behind the other.
#[derive(Default)]
pub struct Batch {
    pub values: Row,
    pub rows: usize,
    pub width: usize,
}

impl Batch {
    /// Begins anew.
    #[inline]
    pub fn clear(&mut self, width: usize) {
        self.values.clear();
        (self.rows, self.width) = (0, width);
    }

    /// Begins anew with the rows that `next` appends, each of `width` values, until there are `most` of them or it says that there is no more; false when
    /// there is none.
    #[inline]
    pub fn fill(
        &mut self,
        width: usize,
        most: usize,
        mut next: impl FnMut(&mut Row) -> Result<bool, SqlError>,
    ) -> Result<bool, SqlError> {
        self.clear(width);
        while self.rows < most && next(&mut self.values)? {
            self.rows += 1;
        }
        Ok(self.rows > 0)
    }

    /// Takes a row out of another batch, as the last one of this.
    #[inline]
    pub fn take_row(&mut self, from: &mut Batch, at: usize) {
        debug_assert!(self.width == from.width && at < from.rows, "rows of one width");
        let row = &mut from.values[at * from.width..(at + 1) * from.width];
        self.values.extend(row.iter_mut().map(std::mem::take));
        self.rows += 1;
    }

    /// The values at one position of all rows.
    #[inline]
    pub fn column(&self, position: usize) -> impl Iterator<Item = &Value> {
        assert!(position < self.width || self.rows == 0, "rows have such a value");
        self.values.iter().skip(position).step_by(self.width.max(1)).take(self.rows)
    }

    /// One of its rows.
    #[inline]
    pub fn row(&self, at: usize) -> &[Value] {
        &self.values[at * self.width..(at + 1) * self.width]
    }
}

/// A rowversion as a value of its type.
pub fn row_version(number: u64) -> Value {
    Value::binary(&number.to_be_bytes())
}
