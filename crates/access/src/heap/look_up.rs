//! Look-up of many rows of a heap by ascending address: one latch for all rows of a page.

use pages::{LatchMode, PageGuard, PageId, PageType, PrefetchHint, header};
use txn::Transaction;

use super::Heap;
use crate::error::{AccessResult, stop_if_asked};
use crate::ids::Rid;
use crate::options::ScanOptions;
use crate::unit_uses::UnitUse;
use crate::visibility::{PageView, Reader, Visibility};

/// The pages of so many following rows are prefetched.
const AHEAD: usize = 6;

impl Heap {
    /// Looks up rows with ascending addresses, for a reader that keeps no lock ([`ScanOptions::keeps_nothing`]), and passes each visible row to
    /// `found` with the number of its address. The page may be latched during the call.
    pub fn fetch_many(
        &self,
        txn: &Transaction,
        rids: impl Iterator<Item = Rid> + Clone,
        options: &ScanOptions,
        found: &mut dyn FnMut(usize, &[u8]),
    ) -> AccessResult<()> {
        let locking = options.locking(txn, &self.object_resource()).of_heap();
        assert!(locking.reads_ahead(), "who locks rows looks them up one by one");
        let reader = Reader::new(txn, locking, options);
        let mut page: Option<PageGuard> = None;
        let mut before: Option<Rid> = None;
        let mut moved = Vec::new();
        let mut ahead = rids.clone().skip(AHEAD);
        let mut coming: Option<(PageId, PrefetchHint)> = None;
        for (number, rid) in rids.enumerate() {
            if let Some(next) = ahead.next() {
                if coming.is_none_or(|(known, _)| known != next.page) {
                    coming = self.methods.fetch_early(next.page).map(|coming| (next.page, coming));
                }
                if let (Some((_, coming)), Some(page)) = (&mut coming, &page) {
                    coming.fetch_row(next.slot, page.page());
                }
            }
            assert!(before.replace(rid).is_none_or(|before| before <= rid), "the addresses ascend");
            self.state.uses.note(UnitUse::SingletonLookup);
            let guard = match page.take().filter(|page| page.id() == rid.page) {
                Some(same) => same,
                None => {
                    stop_if_asked()?;
                    self.methods.fix(rid.page, LatchMode::Shared)?
                }
            };
            let is_ours = header::page_type(guard.page()) == PageType::Heap
                && header::unit(guard.page()) == self.def.unit.0;
            if !is_ours {
                continue;
            }
            assert_eq!(guard.id(), rid.page, "the page of the address is latched");
            match PageView::new(guard.page(), reader).see(rid.slot, || self.lock_of(rid)) {
                Visibility::Bytes(row) => found(number, row),
                Visibility::Version(row) => found(number, &row),
                Visibility::Gone => {}
                seen @ (Visibility::Lost | Visibility::Conflict) => return Err(seen.error()),
                Visibility::Moved | Visibility::Wait => {
                    // No thread waits or latches another page while it holds this latch.
                    drop(guard);
                    moved.clear();
                    if self.read(reader, rid, options.wait, &mut moved)? {
                        found(number, &moved);
                    }
                    continue;
                }
            }
            page = Some(guard);
        }
        Ok(())
    }
}
