//! Reading the log: forward, and by LSN for rollback.

use std::sync::Arc;

use os::WaitType;

use crate::block::{BlockHeader, SlotTable};
use crate::codec::DecodeError;
use crate::error::LogError;
use crate::limits::{BLOCK_HEADER_BYTES, FIRST_BLOCK_SECTOR};
use crate::lsn::Lsn;
use crate::record::{OwnedRecord, Record, decode_record};
use crate::shared::Shared;
use crate::tail::Chain;
use crate::window::Window;

/// Reads records, from the cache where they are not yet on disk, else from the file. Keeps the last block, so that
/// walking a transaction's chain of previous records is fast.
///
/// A [`crate::LogPin`] must keep the log that it reads; records of reused VLFs are [`LogError::NotThere`].
pub struct LogReader {
    shared: Arc<Shared>,
    window: Window,
    block: Option<LoadedBlock>,
    /// Where `next_record` goes on; slot 0 counts as 1.
    target: Lsn,
}

struct LoadedBlock {
    header: BlockHeader,
    bytes: Vec<u8>,
    /// Where its records begin: known from the cache, else built when a record is read out of order.
    slots: Option<SlotTable>,
    /// The record behind the one read last, and where it begins: reading forward needs no table.
    next: (u16, usize),
    /// Where the record read last begins.
    last_at: usize,
    /// Whether no record can join it any more.
    is_complete: bool,
    /// Whether it came from the file, so that its checksum is known.
    is_from_file: bool,
}

impl LoadedBlock {
    fn behind(&self) -> Chain {
        let chain = Chain::behind(&self.header);
        if self.is_from_file { chain } else { Chain { checksum: None, ..chain } }
    }

    /// Records in it.
    fn len(&self) -> usize {
        self.slots.as_ref().map_or(usize::from(self.header.slots), SlotTable::len)
    }

    /// The record in `slot` (from 1) and its encoded size.
    #[inline]
    fn record(&mut self, slot: u16) -> Result<(Record<'_>, usize), DecodeError> {
        assert!(slot >= 1 && usize::from(slot) <= self.len(), "slot {slot} of a block with {}", self.len());
        if self.next.0 != slot {
            if self.slots.is_none() {
                self.slots = Some(SlotTable::build(&self.header, &self.bytes)?);
            }
            self.next = (slot, self.slots.as_ref().and_then(|slots| slots.place(slot)).unwrap_or(0));
        }
        let used =
            self.bytes.get(..self.header.used_bytes as usize).ok_or(DecodeError("block ends early"))?;
        let rest = used.get(self.next.1..).ok_or(DecodeError("block ends early"))?;
        let (record, bytes) = decode_record(rest, self.header.start().with_slot(slot), self.header.base_txn)?;
        if slot == self.header.slots && bytes != rest.len() {
            return Err(DecodeError("records do not fill the block"));
        }
        self.last_at = self.next.1;
        self.next = (slot + 1, self.next.1 + bytes);
        Ok((record, bytes))
    }
}

/// The contents of a position where a block could begin.
enum BlockAt {
    /// A block; it is loaded now.
    Loaded,
    /// The log continues in the next VLF.
    NextVlf,
    /// Nothing: the address is no block of the log.
    Nothing(&'static str),
}

impl LogReader {
    pub(crate) fn new(shared: Arc<Shared>) -> LogReader {
        let window = Window::new(Arc::clone(&shared.files));
        LogReader { shared, window, block: None, target: Lsn::NULL }
    }

    /// The record at `lsn`. Errors: [`LogError::NotThere`], [`LogError::Corrupt`], [`LogError::Io`].
    pub fn read(&mut self, lsn: Lsn) -> Result<OwnedRecord, LogError> {
        if lsn.slot() == 0 || lsn >= self.shared.positions.end() {
            return Err(LogError::NotThere(lsn));
        }
        if self.holds(lsn) {
            return self.loaded_record(lsn);
        }
        if lsn > self.shared.positions.hardened() {
            let cached = self.shared.cache.lock().record(lsn);
            match cached {
                Some(record) => {
                    self.note_lookup(true);
                    return record.ok_or(LogError::NotThere(lsn));
                }
                None => self.wait_hardened(lsn)?,
            }
        }
        match self.load(lsn.block_start())? {
            BlockAt::Loaded if self.holds(lsn) => self.loaded_record(lsn),
            BlockAt::Loaded => Err(LogError::NotThere(lsn)),
            BlockAt::NextVlf | BlockAt::Nothing(_) => Err(LogError::NotThere(lsn)),
        }
    }

    /// Positions before `lsn`: `next_record` gives it, or the first after it. NULL: the oldest there is.
    pub fn seek(&mut self, lsn: Lsn) {
        self.target = match lsn {
            Lsn::NULL => Lsn::new(self.shared.vlfs.lock().oldest_active(), FIRST_BLOCK_SECTOR, 1),
            lsn if lsn.slot() == 0 => Lsn::from_raw(lsn.raw() | 1),
            lsn => lsn,
        };
        assert!(self.target.slot() > 0, "reading begins at a record");
    }

    /// The next record; `None` at the end of what has been appended so far (later calls see later records).
    pub fn next_record(&mut self) -> Result<Option<OwnedRecord>, LogError> {
        let next = self.next_borrowed()?;
        Ok(next.map(|(lsn, record, bytes)| OwnedRecord {
            lsn,
            header: record.header,
            payload: record.payload.to_vec(),
            encoded_bytes: bytes as u32,
        }))
    }

    /// Calls `visit` with the records from here to the end of their block, without copying; false at the end of what has
    /// been appended so far. For recovery, which reads millions of records. After an error the reader has to be positioned again.
    pub fn next_block<E: From<LogError>>(
        &mut self,
        mut visit: impl FnMut(Lsn, &Record<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(first) = self.find_target()? else { return Ok(false) };
        let shared = &self.shared;
        let block = self.block.as_mut().expect("the target stands in a block");
        assert_eq!(block.header.start(), first.block_start(), "the target stands in the block at hand");
        let last = first.with_slot(block.len() as u16);
        assert!(first <= last && last < shared.positions.end(), "all of a block has been appended");
        for slot in first.slot()..=last.slot() {
            let lsn = first.with_slot(slot);
            let (record, _) = block.record(slot).map_err(|error| undecodable(shared, lsn, error))?;
            visit(lsn, &record)?;
        }
        self.target = last.with_slot(last.slot() + 1);
        Ok(true)
    }

    /// The next record without copying: address, record, encoded bytes.
    pub(crate) fn next_borrowed(&mut self) -> Result<Option<(Lsn, Record<'_>, usize)>, LogError> {
        let Some(lsn) = self.find_target()? else { return Ok(None) };
        assert!(lsn.slot() > 0 && lsn < self.shared.positions.end());
        self.target = lsn.with_slot(lsn.slot() + 1);
        let shared = &self.shared;
        let block = self.block.as_mut().expect("the target stands in a block");
        assert_eq!(block.header.start(), lsn.block_start(), "the target stands in the block at hand");
        let (record, bytes) = block.record(lsn.slot()).map_err(|error| undecodable(shared, lsn, error))?;
        Ok(Some((lsn, record, bytes)))
    }

    /// The address of the next record, its block loaded; `None` at the end of what has been appended so far.
    fn find_target(&mut self) -> Result<Option<Lsn>, LogError> {
        loop {
            if self.target >= self.shared.positions.end() {
                return Ok(None);
            }
            let block = self.block.as_ref().filter(|block| block.header.start() == self.target.block_start());
            if block.is_some_and(|block| usize::from(self.target.slot()) <= block.len()) {
                return Ok(Some(self.target));
            }
            if let Some(block) = block
                && block.is_complete
            {
                let behind = block.behind();
                let next = Lsn::new(behind.vlf, behind.sector, 1);
                assert!(next > self.target, "reading goes forward");
                self.target = next;
                continue;
            }
            if !self.advance_to_target()? {
                return Ok(None);
            }
        }
    }

    /// The record that was read last, once more, and its encoded bytes; `None` before the first.
    pub fn last_read(&self) -> Option<(Record<'_>, &[u8])> {
        let block = self.block.as_ref()?;
        let (slot, end) = block.next;
        let lsn = block.header.start().with_slot(slot.checked_sub(1).filter(|slot| *slot > 0)?);
        let bytes = block.bytes.get(block.last_at..end)?;
        let (record, length) = decode_record(bytes, lsn, block.header.base_txn).ok()?;
        assert_eq!(length, bytes.len(), "what was read is read again");
        Some((record, bytes))
    }

    /// Where `next_record` goes on.
    pub(crate) fn target(&self) -> Lsn {
        self.target
    }

    /// Loads the block of the target, or moves the target to where the log continues. False: no new record.
    fn advance_to_target(&mut self) -> Result<bool, LogError> {
        let start = self.target.block_start();
        if start.with_slot(1) > self.shared.cache.lock().last {
            // Only the position of the next block is here.
            return Ok(false);
        }
        let slots_before = match &self.block {
            Some(block) if block.header.start() == start => Some(block.header.slots),
            _ => None,
        };
        let chain = self.block.as_ref().filter(|block| block.is_complete).map(LoadedBlock::behind);
        match self.load(start)? {
            BlockAt::Loaded => {
                let block = self.block.as_ref().expect("it was just loaded");
                // A block left by an earlier run may be valid, but it does not continue this chain.
                let successor =
                    chain.filter(|chain| (chain.vlf, chain.sector) == (start.vlf(), start.block()));
                if block.is_from_file && successor.is_some_and(|chain| !chain.accepts(&block.header)) {
                    return self.skip_or_damage(start, chain, "a block of an earlier run").map(|()| true);
                }
                Ok(block.is_complete || slots_before.is_none_or(|before| block.header.slots > before))
            }
            BlockAt::NextVlf => {
                let next = Lsn::new(start.vlf() + 1, FIRST_BLOCK_SECTOR, 1);
                assert!(next > self.target, "reading goes forward");
                self.target = next;
                Ok(true)
            }
            BlockAt::Nothing(what) => self.skip_or_damage(start, chain, what).map(|()| true),
        }
    }

    /// No block is at `start`, which is hardened. If the log continues elsewhere (behind a VLF that an earlier run left), the
    /// target moves there; otherwise the log is damaged, or the address is wrong.
    fn skip_or_damage(
        &mut self,
        start: Lsn,
        chain: Option<Chain>,
        what: &'static str,
    ) -> Result<(), LogError> {
        let Some(chain) = chain else { return Err(LogError::NotThere(start)) };
        for candidate in chain.candidates().filter(|candidate| *candidate > start) {
            if !matches!(self.load(candidate)?, BlockAt::Loaded) {
                continue;
            }
            let continues =
                self.block.as_ref().is_some_and(|block| !block.is_from_file || chain.accepts(&block.header));
            if continues {
                assert!(candidate > self.target.block_start(), "reading goes forward");
                self.target = candidate.with_slot(1);
                return Ok(());
            }
        }
        self.block = None;
        Err(self.shared.corrupt(start, what))
    }

    /// Whether the loaded block has the record at `lsn`.
    fn holds(&self, lsn: Lsn) -> bool {
        let block = self.block.as_ref().filter(|block| block.header.start() == lsn.block_start());
        block.is_some_and(|block| usize::from(lsn.slot()) <= block.len())
    }

    fn loaded_record(&mut self, lsn: Lsn) -> Result<OwnedRecord, LogError> {
        let shared = &self.shared;
        let block = self.block.as_mut().expect("the caller has looked");
        assert_eq!(block.header.start(), lsn.block_start(), "the record stands in the block at hand");
        let (record, bytes) = block.record(lsn.slot()).map_err(|error| undecodable(shared, lsn, error))?;
        Ok(OwnedRecord {
            lsn,
            header: record.header,
            payload: record.payload.to_vec(),
            encoded_bytes: bytes as u32,
        })
    }

    /// Waits until the block in flight at `lsn` is durable, and so in the file.
    fn wait_hardened(&self, lsn: Lsn) -> Result<(), LogError> {
        match self.shared.positions.hardened.wait_for(lsn.raw(), WaitType::LOGMGR_FLUSH) {
            Ok(()) => {
                assert!(
                    lsn <= self.shared.positions.hardened(),
                    "{lsn} is read from the file once it is hard"
                );
                Ok(())
            }
            Err(os::WaitError::Interrupted) => Err(LogError::Interrupted),
            Err(_) => {
                self.shared.check_alive()?;
                Err(LogError::NotThere(lsn))
            }
        }
    }

    /// Counts a block lookup: was the block in the cache?
    fn note_lookup(&self, is_hit: bool) {
        let counters = &self.shared.counters;
        counters.cache_reads.increment();
        counters.cache_lookups.increment();
        counters.cache_hits.add(i64::from(is_hit));
    }

    /// Loads the block at `start` from the cache or the file.
    fn load(&mut self, start: Lsn) -> Result<BlockAt, LogError> {
        assert_eq!(start.slot(), 0, "{start} names a block");
        let first = start.with_slot(1);
        let Some(vlf) = self.shared.vlfs.lock().by_sequence(start.vlf()).copied() else {
            return Ok(BlockAt::Nothing("its VLF has been reused"));
        };
        if vlf.end_sector != 0 && start.block() >= vlf.end_sector {
            return Ok(BlockAt::NextVlf);
        }
        if first > self.shared.positions.hardened() {
            let (copy, last) = {
                let cache = self.shared.cache.lock();
                (cache.copy(start, self.shared.log_id), cache.last)
            };
            if first > last {
                return Ok(BlockAt::Nothing("nothing was appended there"));
            }
            if let Some(copy) = copy {
                assert_eq!(copy.header.start(), start, "the cache gives the block that was asked for");
                assert_eq!(copy.bytes.len(), copy.header.used_bytes as usize, "all that is used of it");
                self.note_lookup(true);
                self.block = Some(LoadedBlock {
                    header: copy.header,
                    bytes: copy.bytes,
                    slots: Some(SlotTable::from_offsets(copy.offsets)),
                    next: (1, BLOCK_HEADER_BYTES),
                    last_at: BLOCK_HEADER_BYTES,
                    is_complete: copy.is_sealed,
                    is_from_file: false,
                });
                return Ok(BlockAt::Loaded);
            }
            self.wait_hardened(first)?;
        }
        self.note_lookup(false);
        for attempt in 0..2 {
            match self.window.block(&vlf, start, self.shared.log_id)? {
                Ok((header, bytes)) => {
                    assert!(header.start() == start && bytes.len() >= header.used_bytes as usize);
                    let mut buffer = self.block.take().map(|block| block.bytes).unwrap_or_default();
                    buffer.clear();
                    buffer.extend_from_slice(bytes);
                    self.block = Some(LoadedBlock {
                        header,
                        bytes: buffer,
                        slots: None,
                        next: (1, BLOCK_HEADER_BYTES),
                        last_at: BLOCK_HEADER_BYTES,
                        is_complete: true,
                        is_from_file: true,
                    });
                    return Ok(BlockAt::Loaded);
                }
                // The window's contents may be older than the block.
                Err(_) if attempt == 0 => self.window.forget(),
                Err(what) => return Ok(BlockAt::Nothing(what)),
            }
        }
        Ok(BlockAt::Nothing("no block"))
    }
}

/// The block of `lsn` has the right checksum, but not records: its writer had a bug.
fn undecodable(shared: &Shared, lsn: Lsn, error: DecodeError) -> LogError {
    shared.corrupt(lsn.block_start(), &error.to_string())
}

impl Iterator for LogReader {
    type Item = Result<OwnedRecord, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}
