//! Large values out of row: chains of pages, each with a piece. Written once, never changed; freed when the transaction that deletes or
//! changes their row commits.

use log::page_records::LobPage;
use log::{LogContext, LogOp};
use pages::{BODY_BYTES, HEADER_BYTES, LatchMode, PageBytes, PageId, PageType, header};
use txn::{Transaction, UndoBytes};
use types::Value;

use crate::error::{AccessError, AccessResult};
use crate::ids::UnitId;
use crate::map_page::{FreePage, owner, set_owner};
use crate::methods::AccessMethods;
use crate::row::{LobPointer, RowFormat};
use crate::row_change::MAP_BITS_OF_PAGE_BYTES;

/// Bytes of a value in one page: the body less the stamp and the length.
pub const LOB_PIECE_BYTES: usize = BODY_BYTES - 10;
/// Bytes of a value, at most (2^31-1).
const LOB_BYTES_MAX: usize = i32::MAX as usize;

const STAMP: usize = HEADER_BYTES;
const LENGTH: usize = HEADER_BYTES + 8;
const DATA: usize = HEADER_BYTES + 10;
const _: () = assert!(DATA + LOB_PIECE_BYTES == pages::PAGE_BYTES, "a piece fills its page");
const _: () = assert!(STAMP + 8 == LENGTH && LENGTH + 2 == DATA, "stamp, length, data");

impl AccessMethods {
    /// Appends the row of `values` to `out` for the heap or clustered index `unit`, long values stored out of row inside
    /// `txn`. `limit`: see [`RowFormat::encode`].
    pub fn encode_row(
        &self,
        txn: &Transaction,
        unit: UnitId,
        format: &RowFormat,
        values: &[Value],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> AccessResult<()> {
        format.encode(values, limit, out, &mut |bytes| self.store_lob(txn, unit, bytes))
    }

    /// The values of a row, out-of-row ones included. The row must be locked (or its table), or its large values may be gone:
    /// error `RowGone`.
    pub fn decode_row(&self, format: &RowFormat, row: &[u8], out: &mut Vec<Value>) -> AccessResult<()> {
        format.decode(row, out, &mut |pointer| self.load_lob(pointer))
    }

    /// Appends the values of some columns of a row; otherwise as [`AccessMethods::decode_row`].
    #[inline]
    pub fn decode_columns(
        &self,
        format: &RowFormat,
        row: &[u8],
        columns: impl IntoIterator<Item = usize>,
        out: &mut Vec<Value>,
    ) -> AccessResult<()> {
        format.decode_columns(row, columns, out, &mut |pointer| self.load_lob(pointer))
    }

    /// Frees the out-of-row values of a row that `txn` deletes, once it commits.
    pub fn free_row_lobs(&self, txn: &Transaction, format: &RowFormat, row: &[u8]) -> AccessResult<()> {
        for pointer in format.lob_pointers(row)? {
            self.free_lob(txn, &pointer)?;
        }
        Ok(())
    }

    /// Stores a value; a rollback of `txn` frees it.
    pub fn store_lob(&self, txn: &Transaction, unit: UnitId, bytes: &[u8]) -> AccessResult<LobPointer> {
        if bytes.len() > LOB_BYTES_MAX {
            return Err(AccessError::RowTooLarge { bytes: bytes.len(), limit: LOB_BYTES_MAX });
        }
        let stamp = self.next_uniquifier();
        let mut next = PageId::NULL;
        // From the last piece to the first, because each names its successor.
        let pieces: Vec<&[u8]> =
            if bytes.is_empty() { vec![bytes] } else { bytes.chunks(LOB_PIECE_BYTES).collect() };
        for piece in pieces.into_iter().rev() {
            let FreePage { mut map, mut guard } = self.find_free_page(unit.0)?;
            let page = guard.id();
            let lob = LobPage { unit: unit.0, page: page.pack(), next: next.pack(), stamp, data: piece };
            let logged = LobPage { data: if self.undo_only { &[] } else { piece }, ..lob };
            let undo = UndoBytes { record_count: 2, payload_bytes: MAP_BITS_OF_PAGE_BYTES as u64 };
            let lsn =
                self.append(txn, LogOp::FormatPage, LogContext::TextMix, undo, |out| logged.encode(out))?;
            apply_lob(guard.page_mut(), &lob);
            guard.set_lsn(lsn);
            assert_eq!(self::piece(guard.page()), Some((stamp, piece)), "what is stored can be read");
            assert_eq!(owner(map.page(), page), 0, "a page becomes a unit's from nobody's");
            let map_id = map.id();
            set_owner(map.page_mut(), map_id, page, unit.0);
            map.set_lsn(lsn);
            next = page;
        }
        assert!(!next.is_null(), "a value has a first piece");
        Ok(LobPointer { page: next, bytes: bytes.len() as u32, stamp })
    }

    /// Reads a value. Error `RowGone` when it has been freed since the pointer was read.
    pub fn load_lob(&self, pointer: &LobPointer) -> AccessResult<Vec<u8>> {
        let wanted = pointer.bytes as usize;
        let mut bytes = Vec::with_capacity(wanted.min(16 << 20));
        os::task::in_large_value(|| {
            self.walk_lob(pointer, |_, data| bytes.extend_from_slice(data)).map(drop)
        })?;
        if bytes.len() == wanted {
            Ok(bytes)
        } else {
            let what = format!("a large value has {} of {wanted} bytes", bytes.len());
            Err(AccessError::corrupt(pointer.page, what))
        }
    }

    /// Frees a value once `txn` commits. Its row is locked exclusively, so it is there.
    pub fn free_lob(&self, txn: &Transaction, pointer: &LobPointer) -> AccessResult<()> {
        let mut pages = Vec::new();
        let unit = os::task::in_large_value(|| self.walk_lob(pointer, |page, _| pages.push(page)));
        let unit = unit.map_err(|error| match error {
            AccessError::RowGone => {
                AccessError::corrupt(pointer.page, "is no piece of the value that a row points to")
            }
            other => other,
        })?;
        self.free_at_commit(txn, unit, &pages)
    }

    /// Calls `body` with each piece; returns the unit that all of them name.
    fn walk_lob(&self, pointer: &LobPointer, mut body: impl FnMut(PageId, &[u8])) -> AccessResult<u32> {
        let (mut page, mut unit) = (pointer.page, 0);
        let pieces_max = (pointer.bytes as usize).div_ceil(LOB_PIECE_BYTES).max(1);
        for _ in 0..pieces_max {
            if page.is_null() {
                break;
            }
            let guard = self.fix(page, LatchMode::Shared)?;
            let (stamp, data) = piece(guard.page()).ok_or(AccessError::RowGone)?;
            if stamp != pointer.stamp {
                return Err(AccessError::RowGone);
            }
            assert!(data.len() <= LOB_PIECE_BYTES, "a piece fits its page");
            let own = header::unit(guard.page());
            if page != pointer.page && own != unit {
                let what = format!("unit {own} goes on with a large value of unit {unit}");
                return Err(AccessError::corrupt(page, what));
            }
            unit = own;
            body(page, data);
            page = header::next(guard.page());
        }
        if page.is_null() {
            Ok(unit)
        } else {
            Err(AccessError::corrupt(page, "follows the last piece of a large value"))
        }
    }

    /// Frees one page of a large object that `lob` allocated, if it still is that: the undo of its allocation.
    pub(crate) fn undo_lob_page(&self, lob: &LobPage<'_>) -> AccessResult<()> {
        let page = PageId::unpack(lob.page);
        let is_it = {
            let guard = self.fix(page, LatchMode::Shared)?;
            piece(guard.page()).is_some_and(|(stamp, _)| stamp == lob.stamp)
                && header::unit(guard.page()) == lob.unit
        };
        if is_it { self.free_page_now(page, lob.unit) } else { Ok(()) }
    }
}

/// Stamp and bytes of a piece; `None` when the page holds none.
pub(crate) fn piece(page: &PageBytes) -> Option<(u64, &[u8])> {
    if header::page_type(page) != PageType::Lob {
        return None;
    }
    let stamp = u64::from_le_bytes(*page[STAMP..].first_chunk()?);
    let length = usize::from(u16::from_le_bytes(*page[LENGTH..].first_chunk()?));
    Some((stamp, page.get(DATA..DATA + length)?))
}

/// Formats a page with a piece of a large object.
pub(crate) fn apply_lob(page: &mut PageBytes, lob: &LobPage<'_>) {
    assert!(lob.data.len() <= LOB_PIECE_BYTES, "a piece fits its page");
    header::format(page, PageId::unpack(lob.page), PageType::Lob, 0, lob.unit);
    header::set_next(page, PageId::unpack(lob.next));
    page[STAMP..STAMP + 8].copy_from_slice(&lob.stamp.to_le_bytes());
    page[LENGTH..LENGTH + 2].copy_from_slice(&(lob.data.len() as u16).to_le_bytes());
    page[DATA..DATA + lob.data.len()].copy_from_slice(lob.data);
    debug_assert_eq!(piece(page), Some((lob.stamp, lob.data)), "what is stored can be read");
}
