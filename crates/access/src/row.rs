//! `RowFormat`: the layout of a table's values in a row (docs/formats/row.md).
//!
//! ```text
//! status 1 | column count 2 | fixed part | null bitmap | [variable count 2 | ends 2 each | variable data]
//! ```
//! Fixed-length columns come first, in table order, at offsets that the schema alone decides; NULL there is zeros and a bit.
//! Trailing variable columns that are NULL or empty have no end offset. Columns added later are read from old rows as missing.

use types::{Collation, SqlType, Value};

use crate::error::{AccessError, AccessResult};
use crate::row_value::{encode_fixed, encode_variable, fixed_bytes};

/// Bytes of a row, at most (SQL Server's limit).
pub const ROW_BYTES_MAX: usize = 8060;
/// Bytes of a row in a page, at least: room for a forwarding address.
pub const ROW_BYTES_MIN: usize = 8;
/// Values longer than this go out of row even when they would fit.
const INLINE_BYTES_MAX: usize = 8000;
/// Bytes of the pointer in a row to a value stored elsewhere.
pub const LOB_POINTER_BYTES: usize = 18;

pub(crate) const HAS_VARIABLE: u8 = 0x01;
pub(crate) const HEAD_BYTES: usize = 3;
/// Marks the end offset of a column whose bytes are a [`LobPointer`].
pub(crate) const OUT_OF_ROW: u16 = 0x8000;

/// A column as storage sees it. Dropped columns stay in the list, so that the others keep their places.
#[derive(Clone, Debug, PartialEq)]
pub struct RowColumn {
    /// Its type.
    pub sql_type: SqlType,
    /// Its collation, for keys; ignored for types without one.
    pub collation: Collation,
}

/// The location of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnLocation {
    /// These bytes of the fixed part.
    Fixed { offset: u16, bytes: u16 },
    /// The n-th of the variable columns.
    Variable { index: u16 },
}

/// The layout of one table's rows.
#[derive(Clone, Debug)]
pub struct RowFormat {
    columns: Vec<RowColumn>,
    pub(crate) places: Vec<ColumnLocation>,
    /// Bytes of the fixed part when the first n columns exist.
    pub(crate) fixed_ends: Vec<u16>,
    pub(crate) variable_count: u16,
    may_have_lobs: bool,
}

/// The location of an out-of-row value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LobPointer {
    /// Its first page.
    pub page: pages::PageId,
    /// Its length in bytes.
    pub bytes: u32,
    /// Its own number, repeated in each of its pages.
    pub stamp: u64,
}

impl LobPointer {
    /// The encoding in rows.
    pub fn to_bytes(self) -> [u8; LOB_POINTER_BYTES] {
        assert!(!self.page.is_null(), "a value out of row has a page");
        let mut bytes = [0; LOB_POINTER_BYTES];
        bytes[..6].copy_from_slice(&self.page.to_bytes());
        bytes[6..10].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[10..].copy_from_slice(&self.stamp.to_le_bytes());
        debug_assert_eq!(LobPointer::from_bytes(&bytes), Some(self), "what is written can be read back");
        bytes
    }

    /// The inverse; `None` unless there are exactly as many bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<LobPointer> {
        let bytes: &[u8; LOB_POINTER_BYTES] = bytes.try_into().ok()?;
        let [a, b, c, d, e, f, g, h, i, j, stamp @ ..] = *bytes;
        Some(LobPointer {
            page: pages::PageId::from_bytes([a, b, c, d, e, f]),
            bytes: u32::from_le_bytes([g, h, i, j]),
            stamp: u64::from_le_bytes(stamp),
        })
    }
}

/// A column read from a row.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValue {
    /// The value.
    Here(Value),
    /// The value is out of row.
    Elsewhere(LobPointer),
    /// The row is older than the column: its default applies.
    Missing,
}

/// Stores a long value out of row while a row is encoded; returns its pointer.
pub type StoreLob<'a> = dyn FnMut(&[u8]) -> AccessResult<LobPointer> + 'a;

impl RowFormat {
    /// The layout for these columns.
    pub fn new(columns: Vec<RowColumn>) -> RowFormat {
        assert!(columns.len() <= 4096, "far above the column limit");
        let (mut places, mut fixed_ends, mut fixed, mut variable) = (Vec::new(), vec![0u16], 0u16, 0u16);
        for column in &columns {
            match fixed_bytes(&column.sql_type) {
                Some(bytes) => {
                    places.push(ColumnLocation::Fixed { offset: fixed, bytes });
                    fixed = fixed.saturating_add(bytes);
                }
                None => {
                    places.push(ColumnLocation::Variable { index: variable });
                    variable += 1;
                }
            }
            fixed_ends.push(fixed);
        }
        assert!(
            places.len() == columns.len() && fixed_ends.len() == columns.len() + 1,
            "a place for each column"
        );
        assert!(fixed_ends.is_sorted(), "columns follow each other");
        let format =
            RowFormat { columns, places, fixed_ends, variable_count: variable, may_have_lobs: false };
        RowFormat { may_have_lobs: format.can_outgrow(), ..format }
    }

    /// Its columns.
    pub fn columns(&self) -> &[RowColumn] {
        &self.columns
    }

    /// Bytes that a row takes when every variable column is empty.
    pub fn fixed_row_bytes(&self) -> usize {
        HEAD_BYTES + usize::from(self.fixed_ends[self.columns.len()]) + self.columns.len().div_ceil(8)
    }

    /// Can a value of this format be out of row: is there a column of a large type, or can the row outgrow its page?
    pub fn may_have_lobs(&self) -> bool {
        self.may_have_lobs
    }

    fn can_outgrow(&self) -> bool {
        let variable = self.columns.iter().filter(|column| fixed_bytes(&column.sql_type).is_none());
        let mut bytes = self.fixed_row_bytes() + 2;
        for column in variable {
            match usize::try_from(column.sql_type.max_length()) {
                Ok(most) if !column.sql_type.is_large_object() => bytes += 2 + most,
                _ => return true,
            }
        }
        bytes > ROW_BYTES_MAX
    }

    /// Appends the row of `values` (one per column) to `out`. Values that are too long, and the longest ones of a row that is
    /// too long, are passed to `store` and replaced by pointers. `limit`: the most bytes of the row, at most [`ROW_BYTES_MAX`].
    pub fn encode(
        &self,
        values: &[Value],
        limit: usize,
        out: &mut Vec<u8>,
        store: &mut StoreLob<'_>,
    ) -> AccessResult<()> {
        assert!(values.len() == self.columns.len(), "one value per column");
        let start = out.len();
        out.push(if self.variable_count > 0 { HAS_VARIABLE } else { 0 });
        out.extend_from_slice(&(values.len() as u16).to_le_bytes());
        let fixed_at = out.len();
        let fixed = usize::from(self.fixed_ends[values.len()]);
        let bitmap_at = fixed_at + fixed;
        out.resize(bitmap_at + values.len().div_ceil(8), 0);
        for (index, (value, column)) in values.iter().zip(&self.columns).enumerate() {
            if value.is_null() {
                out[bitmap_at + index / 8] |= 1 << (index % 8);
            } else if let ColumnLocation::Fixed { offset, bytes } = self.places[index] {
                let at = fixed_at + usize::from(offset);
                encode_fixed(value, &column.sql_type, &mut out[at..at + usize::from(bytes)]);
            }
        }
        if self.variable_count > 0 {
            self.encode_variables(values, start + limit, out, store)?;
        }
        let bytes = out.len() - start;
        if bytes > limit {
            return Err(AccessError::RowTooLarge { bytes, limit });
        }
        while out.len() - start < ROW_BYTES_MIN {
            out.push(0);
        }
        assert!(
            (ROW_BYTES_MIN..=ROW_BYTES_MAX.max(limit)).contains(&(out.len() - start)),
            "a row fits its page"
        );
        debug_assert!(self.view(&out[start..]).is_ok(), "what is written can be read back");
        Ok(())
    }

    fn encode_variables(
        &self,
        values: &[Value],
        end_limit: usize,
        out: &mut Vec<u8>,
        store: &mut StoreLob<'_>,
    ) -> AccessResult<()> {
        let mut pieces: Vec<(Vec<u8>, bool)> = Vec::with_capacity(usize::from(self.variable_count));
        for (index, value) in values.iter().enumerate() {
            if let ColumnLocation::Variable { .. } = self.places[index] {
                let mut bytes = Vec::new();
                encode_variable(value, &mut bytes);
                pieces.push((bytes, false));
            }
        }
        while pieces.last().is_some_and(|(bytes, _)| bytes.is_empty()) {
            pieces.pop();
        }
        let total = |pieces: &[(Vec<u8>, bool)]| -> usize {
            2 + pieces.iter().map(|(bytes, _)| 2 + bytes.len()).sum::<usize>()
        };
        loop {
            let too_long = out.len() + total(&pieces) > end_limit;
            let longest = pieces.iter_mut().filter(|piece| !piece.1).max_by_key(|piece| piece.0.len());
            let Some(piece) = longest else { break };
            let worth_it = piece.0.len() > LOB_POINTER_BYTES && too_long;
            if piece.0.len() <= INLINE_BYTES_MAX && !worth_it {
                break;
            }
            let pointer = store(&piece.0)?;
            *piece = (pointer.to_bytes().to_vec(), true);
        }
        out.extend_from_slice(&(pieces.len() as u16).to_le_bytes());
        let mut end = 0usize;
        for (bytes, is_pointer) in &pieces {
            end += bytes.len();
            assert!(end < usize::from(OUT_OF_ROW), "a variable column ends at {end}");
            assert!(!is_pointer || bytes.len() == LOB_POINTER_BYTES, "a value out of row leaves its pointer");
            let mark = if *is_pointer { OUT_OF_ROW } else { 0 };
            out.extend_from_slice(&((end as u16 & !OUT_OF_ROW) | mark).to_le_bytes());
        }
        for (bytes, _) in &pieces {
            out.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// The out-of-row values that a row points to.
    pub fn lob_pointers(&self, row: &[u8]) -> AccessResult<Vec<LobPointer>> {
        let mut pointers = Vec::new();
        if self.variable_count == 0 || row.first().is_none_or(|status| status & HAS_VARIABLE == 0) {
            return Ok(pointers);
        }
        for (index, place) in self.places.iter().enumerate() {
            if let ColumnLocation::Variable { .. } = place
                && let ColumnValue::Elsewhere(pointer) = self.column(row, index)?
            {
                pointers.push(pointer);
            }
        }
        Ok(pointers)
    }
}

pub(crate) fn damaged() -> AccessError {
    AccessError::corrupt(pages::PageId::NULL, "a row contradicts its table's columns")
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
