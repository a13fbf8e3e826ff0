//! Payloads of the records about many rows at once: several rows of a page inserted or deleted together, pages of an index build. Encoded
//! like those of page_records.rs.

use crate::codec::{DecodeError, Reader, put_bytes, put_varint};
use crate::page_records::{MovedRow, page_name, put_page, put_rows, take_page, take_rows};

/// A row of a tree begins with the length of its key.
const KEY_LENGTH_BYTES: usize = 2;

/// Rows of one page become ghosts together: LOP_DELETE_ROWS with LCX_MARK_AS_GHOST; or are inserted together: LOP_INSERT_ROWS with
/// LCX_BULK_OPERATION_PAGE. Undo handles rows of a tree one by one, the last one first, each with a compensation record like that of a single row
/// change: they may have moved to other pages by then. Rows of a heap stay in place: one compensation record, of the opposite operation
/// and the same context, covers all of them and has no images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRows<'a> {
    /// The page of the heap, or the leaf.
    pub page: u64,
    /// The tree's root: undo looks for the keys from there. 0: the page is a heap's.
    pub root: u64,
    /// Slots, ascending (for rows inserted into a leaf: as numbered after all were inserted), and the row bytes (in a tree: length of the
    /// key, key, value). Empty where neither redo nor undo needs them.
    pub rows: Vec<(u16, &'a [u8])>,
}

impl<'a> PageRows<'a> {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.page != 0 && self.has_keys(), "rows lie in a page, those of a tree have a key");
        assert!(
            !self.rows.is_empty() && self.rows.is_sorted_by(|one, next| one.0 < next.0),
            "each slot once"
        );
        put_page(out, self.page);
        put_page(out, self.root);
        put_varint(out, self.rows.len() as u64);
        let mut begin = 0;
        for (slot, row) in &self.rows {
            put_varint(out, u64::from(slot - begin));
            put_bytes(out, row);
            begin = *slot;
        }
        debug_assert_eq!(
            PageRows::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    fn has_keys(&self) -> bool {
        self.root == 0 || self.rows.iter().all(|(_, row)| row.len() > KEY_LENGTH_BYTES)
    }

    /// Reads it back.
    pub fn decode(payload: &'a [u8]) -> Result<PageRows<'a>, DecodeError> {
        let mut reader = Reader::new(payload);
        let (page, root) = (take_page(&mut reader)?, take_page(&mut reader)?);
        let count = reader.varint()?;
        if count > reader.remaining() as u64 {
            return Err(DecodeError("ends early"));
        }
        let mut rows: Vec<(u16, &[u8])> = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let step = reader.varint_u16()?;
            let slot = match rows.last() {
                Some(_) if step == 0 => return Err(DecodeError("slots out of order")),
                Some((before, _)) => before.checked_add(step).ok_or(DecodeError("slot too large"))?,
                None => step,
            };
            rows.push((slot, reader.bytes()?));
        }
        reader.finish()?;
        let record = PageRows { page, root, rows };
        if record.has_keys() { Ok(record) } else { Err(DecodeError("a row of a tree without a key")) }
    }

    pub(crate) fn describe(&self) -> String {
        let bytes: usize = self.rows.iter().map(|(_, row)| row.len()).sum();
        format!("page {} {} rows {bytes} bytes", page_name(self.page), self.rows.len())
    }
}

/// A page of a tree that is being built is complete with all its rows: LOP_FORMAT_PAGE with LCX_CLUSTERED, LCX_INDEX_LEAF or LCX_INDEX_INTERIOR.
/// Changes the page, its left sibling and, unless the page is the root, the allocation map, as one atomic step. Undone with the whole unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreePage<'a> {
    /// The tree's allocation unit.
    pub unit: u32,
    /// The page.
    pub page: u64,
    /// The page before it on its level, which now links to it; 0 for the first.
    pub previous: u64,
    /// It is the root, which belonged to the unit before.
    pub is_root: bool,
    /// Its level; leaves are level 0.
    pub level: u8,
    /// Flags of the page header.
    pub flags: u8,
    /// All its rows; empty where nothing is redone.
    pub rows: Vec<MovedRow<'a>>,
}

impl<'a> TreePage<'a> {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        assert!(self.unit != 0 && self.page != 0 && self.page != self.previous, "a page of a tree");
        assert!(!self.is_root || self.previous == 0, "the root has no neighbours");
        put_varint(out, u64::from(self.unit));
        put_page(out, self.page);
        put_page(out, self.previous);
        out.extend_from_slice(&[u8::from(self.is_root), self.level, self.flags]);
        put_rows(out, &self.rows);
        debug_assert_eq!(
            TreePage::decode(&out[start..]).as_ref(),
            Ok(self),
            "what is written can be read back"
        );
    }

    /// Reads it back.
    pub fn decode(payload: &'a [u8]) -> Result<TreePage<'a>, DecodeError> {
        let mut reader = Reader::new(payload);
        let unit = reader.varint_u32()?;
        let (page, previous) = (take_page(&mut reader)?, take_page(&mut reader)?);
        let is_root = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return Err(DecodeError("neither the root nor another page")),
        };
        let (level, flags) = (reader.u8()?, reader.u8()?);
        let rows = take_rows(&mut reader)?;
        reader.finish()?;
        Ok(TreePage { unit, page, previous, is_root, level, flags, rows })
    }

    pub(crate) fn describe(&self) -> String {
        let (page, rows) = (page_name(self.page), self.rows.len());
        let what = if self.is_root { "root" } else { "page" };
        format!("unit {} {what} {page} level {} built, {rows} rows", self.unit, self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, LogContext, LogOp};

    #[test]
    fn payloads_round_trip_and_say_what_they_are() {
        let rows = PageRows {
            page: 1 << 32 | 300,
            root: 7 << 32 | 9,
            rows: vec![(0, b"one"), (1, b"two"), (65_535, b"last")],
        };
        let built = TreePage {
            unit: 9,
            page: 1 << 32 | 3,
            previous: 1 << 32 | 2,
            is_root: false,
            level: 0,
            flags: 1,
            rows: vec![(b"row", 0)],
        };
        let root = TreePage { previous: 0, is_root: true, level: 2, rows: Vec::new(), ..built.clone() };
        let of_heap = PageRows { root: 0, rows: vec![(3, b"row"), (7, b"")], ..rows.clone() };
        let encoded = |encode: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            encode(&mut out);
            out
        };
        let bytes = encoded(&|out| rows.encode(out));
        assert_eq!(PageRows::decode(&bytes), Ok(rows.clone()));
        for rows in [rows, of_heap] {
            let bytes = encoded(&|out| rows.encode(out));
            for (op, context) in [
                (LogOp::DeleteRows, LogContext::MarkAsGhost),
                (LogOp::InsertRows, LogContext::MarkAsGhost),
                (LogOp::InsertRows, LogContext::BulkOperationPage),
                (LogOp::DeleteRows, LogContext::BulkOperationPage),
            ] {
                assert_eq!(Body::decode(op, context, &bytes), Some(Ok(Body::PageRows(rows.clone()))));
            }
        }
        // A row of a tree that cannot have a key.
        let mut keyless =
            encoded(&|out| PageRows { page: 2 << 32, root: 0, rows: vec![(4, b"ab")] }.encode(out));
        assert_eq!(keyless[..4], [1, 2, 1, 0], "both pages have a file that is not the first");
        keyless[3] = 3;
        assert_eq!(PageRows::decode(&keyless), Err(DecodeError("a row of a tree without a key")));
        for page in [built, root] {
            let bytes = encoded(&|out| page.encode(out));
            assert_eq!(TreePage::decode(&bytes), Ok(page.clone()));
            for context in [LogContext::Clustered, LogContext::IndexLeaf, LogContext::IndexInterior] {
                let body = Body::decode(LogOp::FormatPage, context, &bytes);
                assert_eq!(body, Some(Ok(Body::TreePage(page.clone()))));
            }
        }
        // The second slot is not behind the first.
        let mut twice =
            encoded(&|out| PageRows { page: 2 << 32, root: 0, rows: vec![(4, b"a")] }.encode(out));
        let count = twice.len() - 4;
        twice[count] = 2;
        twice.extend_from_slice(&[0, 1, b'b']);
        assert_eq!(PageRows::decode(&twice), Err(DecodeError("slots out of order")));
    }
}
