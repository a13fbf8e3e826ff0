//! Insert and delete of many rows of a heap: one latch and one log record per page, undone by one compensation record.

use log::bulk_records::PageRows;
use log::{LogContext, LogOp, Lsn};
use pages::{LatchMode, PageBytes, PageGuard, PageId, SLOT_BYTES, header, slots};
use txn::{LockMode, Transaction, UndoBytes};

use super::replay::not_as_logged;
use super::{Heap, Placing};
use crate::error::{AccessError, AccessResult};
use crate::ids::Rid;
use crate::methods::AccessMethods;
use crate::row::{ROW_BYTES_MAX, ROW_BYTES_MIN};
use crate::row_change::{PLACE_BYTES, apply_ghost};
use crate::unit_uses::UnitUse;

/// Bytes of the compensation record for rows of a page, without the bytes for each row: the page, no root, the number of rows.
const ROWS_BYTES: usize = PLACE_BYTES + 2 + 3;
/// Bytes for each row: its slot, and an empty image.
const ROW_OF_MANY_BYTES: usize = 3 + 1;
/// After so many row locks, the code checks whether escalation has locked the whole table.
const LOCKS_BETWEEN_LOOKS: usize = 256;

impl Heap {
    /// Inserts rows, as [`Heap::insert`] would each, and appends their addresses to `rids`; after an error, those of the rows before it.
    pub fn insert_many(
        &self,
        txn: &Transaction,
        rows: &[impl AsRef<[u8]>],
        rids: &mut Vec<Rid>,
    ) -> AccessResult<()> {
        let mut padded = Vec::new();
        let mut left = rows;
        while let Some(first) = left.first() {
            let together =
                if left.len() > 1 { self.insert_on_page(txn, left, &mut padded, rids)? } else { 0 };
            assert!(together != 1 && together <= left.len(), "{together} rows went in together");
            if together == 0 {
                rids.push(self.place(txn, first.as_ref(), Placing::Row)?);
            }
            left = &left[together.max(1)..];
        }
        Ok(())
    }

    /// Inserts the first rows, if two or more of them have room on one page and slots that no other transaction has locked; returns their number.
    fn insert_on_page(
        &self,
        txn: &Transaction,
        rows: &[impl AsRef<[u8]>],
        padded: &mut Vec<u8>,
        rids: &mut Vec<Rid>,
    ) -> AccessResult<usize> {
        let first_bytes = rows.first().map_or(0, |row| row.as_ref().len().max(ROW_BYTES_MIN));
        if first_bytes > ROW_BYTES_MAX {
            return Ok(0);
        }
        let mut guard = self.page_with_room(txn, first_bytes)?;
        let page = guard.id();
        let places = self.places_on_page(txn, &guard, rows);
        if places.len() < 2 {
            return Ok(0);
        }
        padded.clear();
        let mut ends = Vec::with_capacity(places.len());
        for (slot, row) in places.iter().zip(rows) {
            self.save_before_image(txn, Rid { page, slot: *slot }, None);
            let begin = padded.len();
            padded.extend_from_slice(row.as_ref());
            padded.resize(padded.len().max(begin + ROW_BYTES_MIN), 0);
            ends.push(padded.len());
        }
        let images = |are_wanted: bool| -> Vec<(u16, &[u8])> {
            let mut begin = 0;
            let each = places.iter().zip(&ends).map(|(slot, end)| {
                let row = &padded[begin..*end];
                begin = *end;
                (*slot, if are_wanted { row } else { &[] })
            });
            each.collect()
        };
        let record = PageRows { page: page.pack(), root: 0, rows: images(!self.methods.undo_only) };
        let (undo, context) = (undo_of(places.len()), LogContext::BulkOperationPage);
        let lsn = self.methods.append(txn, LogOp::InsertRows, context, undo, |out| record.encode(out))?;
        apply_rows(guard.page_mut(), &images(true));
        guard.set_lsn(lsn);
        let is_there =
            |slot: &u16| slots::row(guard.page(), *slot).is_some_and(|row| row.len() >= ROW_BYTES_MIN);
        assert!(places.iter().all(is_there), "each row has room for a stub");
        self.state.uses.add(UnitUse::LeafInsert, places.len());
        rids.extend(places.iter().map(|slot| Rid { page, slot: *slot }));
        Ok(places.len())
    }

    /// Slots, ascending and locked, for as many of the first rows as fit on a latched page.
    fn places_on_page(&self, txn: &Transaction, guard: &PageGuard, rows: &[impl AsRef<[u8]>]) -> Vec<u16> {
        let page = guard.page();
        let count = header::slot_count(page);
        let searched = if header::free_slots(page) > 0 { count } else { 0 };
        let vacant = (0..searched).filter(|slot| slots::is_free(page, *slot));
        let mut free = vacant.chain(count..u16::MAX);
        let mut room = slots::room(page);
        let mut places = Vec::new();
        for row in rows {
            let bytes = row.as_ref().len().max(ROW_BYTES_MIN) + SLOT_BYTES;
            if bytes > room || row.as_ref().len() > ROW_BYTES_MAX {
                break;
            }
            let lockable =
                |slot: &u16| txn.try_lock(self.lock_of(Rid { page: guard.id(), slot: *slot }), LockMode::X);
            // Another transaction may still wait for the row that was in a vacant slot. A fresh slot has no waiters, so the new slots have no gap.
            let slot = loop {
                match free.next() {
                    Some(slot) if lockable(&slot) => break Some(slot),
                    Some(slot) if slot < count => {}
                    _ => break None,
                }
            };
            let Some(slot) = slot else { break };
            places.push(slot);
            room -= bytes;
        }
        assert!(places.is_sorted_by(|one, next| one < next), "each slot once");
        places
    }

    /// Deletes rows, as [`Heap::delete`] would each. All are locked exclusively first; the caller holds IX on the table. Error `RowGone` when
    /// one of them is not there.
    pub fn delete_many(&self, txn: &Transaction, rids: &mut [Rid]) -> AccessResult<()> {
        rids.sort_unstable();
        self.claim_all(txn, rids)?;
        for some in rids.chunk_by(|one, next| one.page == next.page) {
            let moved = match some {
                [rid] => {
                    self.delete(txn, *rid)?;
                    continue;
                }
                _ => self.ghost_all(txn, some)?,
            };
            for rid in moved {
                self.delete(txn, rid)?;
            }
        }
        Ok(())
    }

    fn claim_all(&self, txn: &Transaction, rids: &[Rid]) -> AccessResult<()> {
        for some in rids.chunks(LOCKS_BETWEEN_LOOKS) {
            let is_covered = txn.has_table_lock(&self.object_resource(), LockMode::X);
            for rid in some {
                match is_covered {
                    true => self.check_conflict(txn, *rid)?,
                    false => self.claim(txn, *rid)?,
                }
            }
        }
        Ok(())
    }

    /// Makes locked rows of one page ghosts; returns the rows that have moved to another page and must be deleted there.
    fn ghost_all(&self, txn: &Transaction, rids: &[Rid]) -> AccessResult<Vec<Rid>> {
        let Some(page) = rids.first().map(|rid| rid.page) else { return Ok(Vec::new()) };
        let mut guard = self.fix_row_page(page, LatchMode::Exclusive)?;
        let mut moved = Vec::new();
        let mut gone: Vec<(u16, &[u8])> = Vec::with_capacity(rids.len());
        for rid in rids {
            let row = slots::row(guard.page(), rid.slot).ok_or(AccessError::RowGone)?;
            let flags = slots::flags(guard.page(), rid.slot);
            if flags & (slots::GHOST | slots::FORWARDED) != 0 {
                return Err(AccessError::RowGone);
            }
            if gone.last().is_some_and(|(slot, _)| *slot >= rid.slot) {
                // The caller reads each row once: only damaged pages give a row twice.
                return Err(AccessError::corrupt(page, "is met twice by one who deletes its rows"));
            }
            match flags & slots::FORWARD {
                0 => {
                    self.save_before_image(txn, *rid, Some(row));
                    gone.push((rid.slot, &[]));
                }
                _ => moved.push(*rid),
            }
        }
        assert_eq!(gone.len() + moved.len(), rids.len(), "each row goes now or after those of its page");
        if gone.is_empty() {
            return Ok(moved);
        }
        let count = gone.len();
        let record = PageRows { page: page.pack(), root: 0, rows: gone };
        let (undo, context) = (undo_of(count), LogContext::MarkAsGhost);
        let lsn = self.methods.append(txn, LogOp::DeleteRows, context, undo, |out| record.encode(out))?;
        let before = header::ghosts(guard.page());
        record.rows.iter().for_each(|(slot, _)| apply_ghost(guard.page_mut(), *slot, txn.id().0));
        guard.set_lsn(lsn);
        assert!(header::last_remover(guard.page()) >= txn.id().0, "their ghosts stay until it has ended");
        assert!(count > 0 && count <= rids.len(), "some of them, each once");
        self.state.uses.add(UnitUse::LeafGhost, count);
        if before == 0 {
            self.note_candidate(page);
            self.methods.note_ghosts(page, PageId::NULL);
        }
        Ok(moved)
    }
}

fn undo_of(rows: usize) -> UndoBytes {
    assert!(rows > 0, "a record is about rows");
    UndoBytes::one(ROWS_BYTES + rows * ROW_OF_MANY_BYTES)
}

/// Puts rows into free slots.
pub(crate) fn apply_rows(page: &mut PageBytes, rows: &[(u16, &[u8])]) {
    rows.iter().for_each(|(slot, row)| slots::put(page, *slot, &[row], 0));
}

/// Undo of an insert of many rows: frees their slots.
pub(crate) fn apply_rows_taken_out(page: &mut PageBytes, record: &PageRows<'_>) {
    record.rows.iter().rev().for_each(|(slot, _)| slots::free(page, *slot));
}

/// Undo of a delete of many rows: the ghosts are rows again.
pub(crate) fn apply_rows_brought_back(page: &mut PageBytes, record: &PageRows<'_>) {
    for (slot, _) in &record.rows {
        let flags = slots::flags(page, *slot);
        slots::set_flags(page, *slot, flags & !slots::GHOST);
    }
}

/// Undo of the record, with its compensation record.
impl AccessMethods {
    pub(crate) fn undo_heap_inserts(
        &self,
        txn: &Transaction,
        record: &PageRows<'_>,
        undo_next: Lsn,
    ) -> AccessResult<()> {
        let logged = (LogOp::DeleteRows, LogContext::BulkOperationPage);
        self.undo_rows_of_heap(txn, record, undo_next, logged, apply_rows_taken_out)
    }

    pub(crate) fn undo_heap_deletes(
        &self,
        txn: &Transaction,
        record: &PageRows<'_>,
        undo_next: Lsn,
    ) -> AccessResult<()> {
        let logged = (LogOp::InsertRows, LogContext::MarkAsGhost);
        self.undo_rows_of_heap(txn, record, undo_next, logged, apply_rows_brought_back)
    }

    fn undo_rows_of_heap(
        &self,
        txn: &Transaction,
        record: &PageRows<'_>,
        undo_next: Lsn,
        (op, context): (LogOp, LogContext),
        apply: fn(&mut PageBytes, &PageRows<'_>),
    ) -> AccessResult<()> {
        assert_eq!(record.root, 0, "rows of a heap");
        let mut guard = self.fix_all_for_undo(record)?;
        let clr = without_images(record);
        let lsn = self.append_compensation(txn, op, context, undo_next, |out| clr.encode(out))?;
        apply(guard.page_mut(), record);
        guard.set_lsn(lsn);
        Ok(())
    }

    fn fix_all_for_undo(&self, record: &PageRows<'_>) -> AccessResult<PageGuard> {
        let first = record.rows.first().map_or(0, |(slot, _)| *slot);
        let guard = self.fix_for_undo(record.page, first)?;
        match record.rows.iter().find(|(slot, _)| slots::row(guard.page(), *slot).is_none()) {
            None => Ok(guard),
            Some((slot, _)) => Err(not_as_logged(&guard, *slot)),
        }
    }
}

fn without_images<'r>(record: &PageRows<'r>) -> PageRows<'r> {
    PageRows { rows: record.rows.iter().map(|(slot, _)| (*slot, &[][..])).collect(), ..*record }
}
