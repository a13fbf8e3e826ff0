//! `RowView`: reads single columns of an encoded row. It finds a column without reading the others: a fixed-length one at an offset that the
//! schema alone decides, a variable-length one by the array of ends.

use types::Value;

use crate::error::AccessResult;
use crate::row::{
    ColumnLocation, ColumnValue, HAS_VARIABLE, HEAD_BYTES, LobPointer, OUT_OF_ROW, RowFormat, damaged,
};
use crate::row_value::{decode_fixed, decode_variable};

/// A row with its format. The parts that all columns need are read once.
#[derive(Clone, Copy)]
pub struct RowView<'r> {
    format: &'r RowFormat,
    row: &'r [u8],
    /// Columns that the row has: those that the table had when it was written.
    count: usize,
    bitmap_at: usize,
}

/// The location of a column's value.
pub(crate) enum Found<'r> {
    Null,
    /// The row is older than the column.
    Missing,
    Fixed(&'r [u8]),
    Variable(&'r [u8]),
    Elsewhere(LobPointer),
}

impl RowFormat {
    /// Makes the view. An error when the row is shorter than its own header says.
    #[inline]
    pub fn view<'r>(&'r self, row: &'r [u8]) -> AccessResult<RowView<'r>> {
        let head = row.first_chunk::<HEAD_BYTES>().ok_or_else(damaged)?;
        let count = usize::from(u16::from_le_bytes([head[1], head[2]]));
        let fixed_end = *self.fixed_ends.get(count).ok_or_else(damaged)?;
        let bitmap_at = HEAD_BYTES + usize::from(fixed_end);
        if row.len() < bitmap_at + count.div_ceil(8) {
            return Err(damaged());
        }
        debug_assert!(count <= self.columns().len(), "no row has columns that its table never had");
        Ok(RowView { format: self, row, count, bitmap_at })
    }

    /// One column of a row.
    pub fn column(&self, row: &[u8], index: usize) -> AccessResult<ColumnValue> {
        self.view(row)?.column(index)
    }

    /// The values of a row. Out-of-row values are fetched by `load`; columns younger than the row are NULL.
    pub fn decode(
        &self,
        row: &[u8],
        out: &mut Vec<Value>,
        load: &mut dyn FnMut(&LobPointer) -> AccessResult<Vec<u8>>,
    ) -> AccessResult<()> {
        out.clear();
        self.decode_columns(row, 0..self.columns().len(), out, load)
    }

    /// Appends the values of some columns of a row, in the order given.
    #[inline]
    pub fn decode_columns(
        &self,
        row: &[u8],
        columns: impl IntoIterator<Item = usize>,
        out: &mut Vec<Value>,
        load: &mut dyn FnMut(&LobPointer) -> AccessResult<Vec<u8>>,
    ) -> AccessResult<()> {
        let view = self.view(row)?;
        for index in columns {
            let sql_type = &self.columns()[index].sql_type;
            out.push(match view.find(index)? {
                Found::Fixed(bytes) => decode_fixed(sql_type, bytes),
                Found::Null | Found::Missing => Value::Null,
                Found::Variable(bytes) => decode_variable(sql_type, bytes).ok_or_else(damaged)?,
                Found::Elsewhere(pointer) => {
                    decode_variable(sql_type, &load(&pointer)?).ok_or_else(damaged)?
                }
            });
        }
        Ok(())
    }

    /// May the value of one of these columns be out of row?
    pub fn may_have_lobs_in(&self, columns: &[usize]) -> bool {
        let may_move = |column: &usize| matches!(self.places[*column], ColumnLocation::Variable { .. });
        columns.iter().any(may_move) && self.may_have_lobs()
    }
}

impl<'r> RowView<'r> {
    /// One column.
    pub fn column(&self, index: usize) -> AccessResult<ColumnValue> {
        let sql_type = &self.format.columns()[index].sql_type;
        Ok(match self.find(index)? {
            Found::Null => ColumnValue::Here(Value::Null),
            Found::Missing => ColumnValue::Missing,
            Found::Fixed(bytes) => ColumnValue::Here(decode_fixed(sql_type, bytes)),
            Found::Variable(bytes) => {
                ColumnValue::Here(decode_variable(sql_type, bytes).ok_or_else(damaged)?)
            }
            Found::Elsewhere(pointer) => ColumnValue::Elsewhere(pointer),
        })
    }

    /// Has another row the same bytes in one of its columns? False for out-of-row values.
    #[inline]
    pub fn has_same_bytes(&self, index: usize, other: &RowView<'_>, other_index: usize) -> bool {
        match (self.find(index), other.find(other_index)) {
            (Ok(Found::Fixed(one)), Ok(Found::Fixed(other)))
            | (Ok(Found::Variable(one)), Ok(Found::Variable(other))) => one == other,
            (Ok(Found::Null | Found::Missing), Ok(Found::Null | Found::Missing)) => true,
            _ => false,
        }
    }

    /// Is the column NULL? True for a column that is younger than the row.
    #[inline]
    pub fn is_null(&self, index: usize) -> bool {
        index >= self.count || self.row[self.bitmap_at + index / 8] & 1 << (index % 8) != 0
    }

    /// The bytes of a fixed-length column, which begin at `at`; `None` when it is NULL.
    #[inline]
    pub(crate) fn fixed_at(&self, index: usize, at: usize, bytes: usize) -> Option<&'r [u8]> {
        if self.is_null(index) {
            return None;
        }
        debug_assert!(at + bytes <= self.bitmap_at, "the column is one that the row has");
        Some(&self.row[at..at + bytes])
    }

    /// The location of a column's value.
    #[inline]
    pub(crate) fn find(&self, index: usize) -> AccessResult<Found<'r>> {
        if index >= self.count {
            return Ok(Found::Missing);
        }
        if self.is_null(index) {
            return Ok(Found::Null);
        }
        match self.format.places[index] {
            ColumnLocation::Fixed { offset, bytes } => {
                let at = HEAD_BYTES + usize::from(offset);
                Ok(Found::Fixed(&self.row[at..at + usize::from(bytes)]))
            }
            ColumnLocation::Variable { index } => match self.variable(index).ok_or_else(damaged)? {
                (bytes, true) => LobPointer::from_bytes(bytes).map(Found::Elsewhere).ok_or_else(damaged),
                (bytes, false) => Ok(Found::Variable(bytes)),
            },
        }
    }

    /// The bytes of the n-th variable column and whether they are a pointer.
    #[inline]
    fn variable(&self, index: u16) -> Option<(&'r [u8], bool)> {
        if self.row[0] & HAS_VARIABLE == 0 {
            return Some((&[], false));
        }
        let row = self.row;
        let read = |at: usize| row.get(at..at + 2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        debug_assert!(index < self.format.variable_count, "a variable column of this table");
        let at = self.bitmap_at + self.count.div_ceil(8);
        let count = read(at)?;
        if index >= count {
            return Some((&[], false));
        }
        let ends_at = at + 2;
        let data_at = ends_at + 2 * usize::from(count);
        let end = read(ends_at + 2 * usize::from(index))?;
        let start = if index == 0 { 0 } else { read(ends_at + 2 * usize::from(index - 1))? & !OUT_OF_ROW };
        let bytes = row.get(data_at + usize::from(start)..data_at + usize::from(end & !OUT_OF_ROW))?;
        Some((bytes, end & OUT_OF_ROW != 0))
    }
}
