//! The log cache: the open block that records join, sealed blocks that wait for the writer, free buffers.
//!
//! Everything here happens under the cache latch and does no I/O. The cache assigns blocks their position: when one is opened
//! it gets its place in the current VLF, or the first place of the next. Only [`Cache::seal`] moves `sealed`, only
//! [`Cache::push`] and `seal` move `end`.

use std::collections::VecDeque;

use os::AlignedBuf;
use os::sim::{Bug, is_planted};

use crate::block::{BlockHeader, BlockState};
use crate::cached_block::{CachedBlock, CachedPart};
use crate::flush_reason::FlushReason;
use crate::limits::{
    BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, CACHE_BLOCKS_MAX, FIRST_BLOCK_SECTOR, FREE_BUFFERS_MAX,
    SECTOR_BYTES, SLOTS_PER_BLOCK_MAX,
};
use crate::lsn::{Lsn, TxnId};
use crate::persisted::PersistedBuffer;
use crate::record::{Appended, OwnedRecord, Record, RecordBuf, decode_record, encode_header};
use crate::surviving::SurvivingCache;
use crate::vlf::Vlf;
use crate::zones::Zones;

/// A buffer for later blocks, its place in memory that outlives the process, and a list of offsets.
type FreeBuffer = (AlignedBuf, Option<u32>, Vec<u16>);

/// A block's records copied out of the cache for a reader. `header.sectors` and the checksums are not final.
pub(crate) struct BlockCopy {
    pub(crate) header: BlockHeader,
    pub(crate) bytes: Vec<u8>,
    pub(crate) offsets: Vec<u16>,
    pub(crate) is_sealed: bool,
}

/// Why a record could not be pushed yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// All buffers wait for the writer.
    NoBuffer,
    /// No VLF can be used next, or the remaining space is reserved.
    NoSpace,
    /// There is space, but it is still being zeroed.
    NotZeroed,
}

/// What the cache latch guards.
pub(crate) struct Cache {
    pub(crate) open: Option<CachedBlock>,
    pub(crate) sealed: VecDeque<CachedBlock>,
    /// Open, sealed, issued and not yet recycled.
    blocks_in_use: usize,
    free: Vec<FreeBuffer>,
    /// The memory of the buffers, when it outlives the process.
    pub(crate) surviving: Option<SurvivingCache>,
    /// The persisted log buffer, which has a copy of what the file lacks.
    pub(crate) persisted: Option<PersistedBuffer>,
    /// The error of the persisted log buffer when it could not take a block that was about to be issued.
    pub(crate) persist_error: Option<os::IoError>,
    /// The current VLF and the next free sector in it.
    vlf: Vlf,
    next_sector: u32,
    /// The newest record ever.
    pub(crate) last: Lsn,
    /// Bytes for blocks that are neither in use nor needed: from the open block's start on, plus reusable VLFs.
    pub(crate) space_left_bytes: u64,
    /// Reserved for rollbacks.
    pub(crate) reserved_bytes: u64,
    pub(crate) records_total: u64,
    pub(crate) record_bytes_total: u64,
    /// A task is growing the file.
    pub(crate) growing: bool,
    /// A task is zeroing the part that growth has added.
    pub(crate) zeroing: bool,
    /// That task is writing zeros: no VLF may be removed.
    pub(crate) zero_underway: bool,
    /// Appenders waiting for a buffer.
    pub(crate) waiting_for_buffer: u32,
    pub(crate) closed: bool,
    /// Which parts of the log have records of which transactions.
    pub(crate) zones: Zones,
    sector_bytes: usize,
}

impl Cache {
    /// A cache that goes on at `next_sector` of `vlf`, after `last`.
    pub(crate) fn new(
        vlf: Vlf,
        next_sector: u32,
        last: Lsn,
        reusable_bytes: u64,
        sector_bytes: usize,
    ) -> Cache {
        assert!(next_sector >= FIRST_BLOCK_SECTOR && next_sector <= vlf.sectors());
        assert!(vlf.sequence > 0 && last < Lsn::new(vlf.sequence, next_sector, 0));
        assert!(vlf.active && vlf.end_sector == 0, "the log goes on in its current VLF");
        assert!(reusable_bytes.is_multiple_of(SECTOR_BYTES as u64), "VLFs are whole sectors");
        let rest = u64::from(vlf.sectors() - next_sector) * SECTOR_BYTES as u64;
        Cache {
            open: None,
            sealed: VecDeque::new(),
            blocks_in_use: 0,
            free: Vec::new(),
            surviving: None,
            persisted: None,
            persist_error: None,
            vlf,
            next_sector,
            last,
            space_left_bytes: rest + reusable_bytes,
            reserved_bytes: 0,
            records_total: 0,
            record_bytes_total: 0,
            growing: false,
            zeroing: false,
            zero_underway: false,
            waiting_for_buffer: 0,
            closed: false,
            zones: Zones::new(),
            sector_bytes,
        }
    }

    /// Invariants between calls, checked at the end of each call that moves blocks.
    fn assert_state(&self) {
        let here = usize::from(self.open.is_some()) + self.sealed.len();
        assert!(here <= self.blocks_in_use && self.blocks_in_use <= CACHE_BLOCKS_MAX, "{here} blocks here");
        assert!(self.free.len() <= FREE_BUFFERS_MAX && self.sector_bytes.is_multiple_of(SECTOR_BYTES));
        assert!((FIRST_BLOCK_SECTOR..=self.vlf.sectors()).contains(&self.next_sector));
        assert!(self.last < self.end(), "the newest record is {}, the next {}", self.last, self.end());
        if let Some(surviving) = &self.surviving {
            surviving.assert_state();
        }
        if let Some(open) = &self.open {
            open.state.assert_state(BlockState::Open);
            assert_eq!(
                open.start,
                Lsn::new(self.vlf.sequence, self.next_sector, 0),
                "the open block is the last"
            );
            assert!(open.capacity_bytes <= BLOCK_BYTES_MAX && open.used_bytes <= open.capacity_bytes);
            assert_eq!(open.offsets.is_empty(), open.used_bytes == BLOCK_HEADER_BYTES, "records take bytes");
            let is_aligned = open.file_offset.is_multiple_of(self.sector_bytes as u64);
            assert!(is_aligned, "blocks begin at sectors of the device");
            assert!(
                open.reason.is_none() && open.padded_bytes == 0,
                "what closes a block is not known before"
            );
            assert!(
                open.capacity_bytes as u64 <= self.space_left_bytes,
                "the open block's room is not counted as used"
            );
        }
        if let (Some(oldest), Some(newest)) = (self.sealed.front(), self.sealed.back()) {
            oldest.state.assert_state(BlockState::Sealed);
            newest.state.assert_state(BlockState::Sealed);
            assert!(oldest.start <= newest.start && newest.last() <= self.last);
            assert!(oldest.reason.is_some() && newest.padded_bytes >= newest.used_bytes);
            let behind = newest.start.block() + (newest.padded_bytes / SECTOR_BYTES) as u32;
            assert!(
                newest.start.vlf() < self.vlf.sequence || behind == self.next_sector,
                "no gap between blocks"
            );
        }
    }

    /// Where the next record goes at the earliest.
    pub(crate) fn end(&self) -> Lsn {
        match &self.open {
            Some(open) if open.offsets.len() < SLOTS_PER_BLOCK_MAX => {
                open.start.with_slot(open.offsets.len() as u16 + 1)
            }
            _ => {
                let sector = self.open.as_ref().map_or(self.next_sector, |open| open.start.block() + 1);
                Lsn::new(self.vlf.sequence, sector, 1)
            }
        }
    }

    /// Bytes that the open block holds, header included; 0 without one.
    pub(crate) fn open_bytes(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.used_bytes)
    }

    /// Whether the open block can take `record`.
    pub(crate) fn fits_open(&self, record: &RecordBuf) -> bool {
        let need = record.encoded_bytes_max();
        self.open.as_ref().is_some_and(|open| {
            open.used_bytes + need <= open.capacity_bytes && open.offsets.len() < SLOTS_PER_BLOCK_MAX
        })
    }

    /// Whether an append without reservation may use `need` more bytes and reserve `reserve` bytes.
    pub(crate) fn space_allows(&self, need: usize, reserve: u64, margin: u64) -> bool {
        let kept = self.reserved_bytes + reserve + margin + self.open_bytes() as u64 + need as u64;
        kept <= self.space_left_bytes
    }

    /// Appends to the open block, which must have room. Returns the record's address and size.
    pub(crate) fn push(&mut self, record: &RecordBuf) -> Appended {
        let open = self.open.as_mut().expect("the caller has made room");
        open.state.assert_state(BlockState::Open);
        assert!(open.offsets.len() < SLOTS_PER_BLOCK_MAX, "the caller has looked");
        let names = record.header.prev.max(record.header.undo_next);
        assert!(names <= self.last, "a record names {names}, the newest is {}", self.last);
        let slot = open.offsets.len() as u16 + 1;
        let lsn = open.start.with_slot(slot);
        let had_base = !open.base_txn.is_null();
        if !had_base {
            open.base_txn = record.header.txn;
        }
        let (at, payload) = (open.used_bytes, record.payload());
        let rest = &mut open.buffer[at..open.capacity_bytes];
        let header_bytes = encode_header(rest, &record.header, payload.len(), lsn, open.base_txn);
        let end = at + header_bytes + payload.len();
        assert!(end <= open.capacity_bytes, "the record overflows its block");
        rest[header_bytes..header_bytes + payload.len()].copy_from_slice(payload);
        debug_assert_eq!(
            decode_record(&rest[..end - at], lsn, open.base_txn),
            Ok((Record { header: record.header, payload }, end - at)),
            "what is written can be read back"
        );
        open.used_bytes = end;
        open.offsets.push(at as u16);
        if let Some(surviving) = &self.surviving {
            surviving.publish(open, at, !had_base);
        }
        assert!(lsn > self.last, "log addresses rise");
        self.last = lsn;
        self.zones.note(record.header.txn, end - at);
        self.records_total += 1;
        self.record_bytes_total += (end - at) as u64;
        Appended { lsn, bytes: (end - at) as u32 }
    }

    /// Opens a block that can take `need` bytes of record, moving to the next VLF (by `advance`, which gets the sector
    /// that the current one ends before) when the rest of the current one is too short.
    pub(crate) fn open_block(
        &mut self,
        need: usize,
        advance: impl FnOnce(u32) -> Option<Vlf>,
    ) -> Result<(), Blocked> {
        assert!(self.open.is_none() && !self.closed, "one block is open at a time, none behind the end");
        if self.blocks_in_use >= CACHE_BLOCKS_MAX {
            return Err(Blocked::NoBuffer);
        }
        if self.capacity_here() < BLOCK_HEADER_BYTES + need {
            // The next VLF is used when the rest of this one is too short: the rest is lost.
            self.enter_next_vlf(advance)?;
        }
        let capacity_bytes = self.capacity_here();
        assert!(capacity_bytes >= BLOCK_HEADER_BYTES + need);
        let end_sector = self.next_sector + capacity_bytes.div_ceil(SECTOR_BYTES) as u32;
        if end_sector > self.vlf.zeroed_sectors && !is_planted(Bug::UseBeforeZeroed) {
            return Err(Blocked::NotZeroed);
        }
        let start = Lsn::new(self.vlf.sequence, self.next_sector, 0);
        assert!(start > self.last, "a block begins behind every record");
        let (mut buffer, place, offsets) = self.free.pop().unwrap_or_else(|| {
            let (buffer, place) = match &mut self.surviving {
                Some(surviving) => surviving.buffer(),
                None => (AlignedBuf::new(BLOCK_BYTES_MAX), None),
            };
            (buffer, place, Vec::new())
        });
        let previous_checksum = self.surviving.as_mut().map_or(0, |surviving| surviving.begin(place));
        assert!(
            buffer.len() == BLOCK_BYTES_MAX && offsets.is_empty(),
            "a free buffer is whole and forgotten"
        );
        buffer[..BLOCK_HEADER_BYTES].fill(0);
        let mut state = BlockState::Reusable;
        state.advance(BlockState::Open);
        self.blocks_in_use += 1;
        self.zones.begin_block(start);
        self.open = Some(CachedBlock {
            state,
            start,
            file: self.vlf.file,
            file_offset: self.vlf.begin_offset + u64::from(self.next_sector) * SECTOR_BYTES as u64,
            buffer,
            used_bytes: BLOCK_HEADER_BYTES,
            capacity_bytes,
            padded_bytes: 0,
            offsets,
            base_txn: TxnId::NULL,
            parity: self.vlf.parity,
            reason: None,
            place,
            records_hash: 0,
            previous_checksum,
            kept: CachedPart::default(),
        });
        self.assert_state();
        Ok(())
    }

    /// Continues in the next VLF; the rest of the current one is lost.
    pub(crate) fn enter_next_vlf(&mut self, advance: impl FnOnce(u32) -> Option<Vlf>) -> Result<(), Blocked> {
        assert!(self.open.is_none(), "a block lies in one VLF");
        let vlf = advance(self.next_sector).ok_or(Blocked::NoSpace)?;
        let rest = self.rest_of_vlf_bytes();
        assert!(self.space_left_bytes >= rest);
        self.space_left_bytes -= rest;
        assert!(vlf.sequence == self.vlf.sequence + 1 && vlf.active, "VLFs follow each other");
        assert!(
            vlf.parity != 0 && (vlf.file, vlf.begin_offset) != (self.vlf.file, self.vlf.begin_offset),
            "each use is of another VLF"
        );
        self.vlf = vlf;
        self.next_sector = FIRST_BLOCK_SECTOR;
        Ok(())
    }

    /// The sector of the next block in the current VLF, or of the open block.
    pub(crate) fn next_sector(&self) -> u32 {
        self.next_sector
    }

    /// Notes that a VLF is zeroed up to a sector.
    pub(crate) fn note_zeroed(&mut self, vlf: &Vlf, sectors: u32) {
        if (vlf.file, vlf.begin_offset) == (self.vlf.file, self.vlf.begin_offset) {
            assert!(sectors >= self.vlf.zeroed_sectors, "zeros go on where they ended");
            self.vlf.zeroed_sectors = sectors;
        }
    }

    /// Bytes of the current VLF behind the last sealed block.
    pub(crate) fn rest_of_vlf_bytes(&self) -> u64 {
        u64::from(self.vlf.sectors() - self.next_sector) * SECTOR_BYTES as u64
    }

    /// Most bytes a block at the next position can have.
    fn capacity_here(&self) -> usize {
        let rest = (self.vlf.sectors() - self.next_sector) as usize * SECTOR_BYTES;
        rest.min(BLOCK_BYTES_MAX) / self.sector_bytes * self.sector_bytes
    }

    /// Discards the open block, which has no records: an append that was refused (9002) had opened it at the end of a VLF, and the
    /// next record needs a larger one.
    pub(crate) fn discard_empty(&mut self) {
        let block = self.open.take().expect("the caller has looked");
        assert!(block.offsets.is_empty(), "records are never given up");
        self.free_buffer(block);
    }

    /// Closes the open block because the next record does not fit: no committer waits, the LOG WRITER will write it.
    pub(crate) fn seal_full(&mut self) -> Option<Lsn> {
        self.seal(FlushReason::BlockFull)
    }

    /// Closes the open block: no record joins it any more, the next block's place is fixed. Returns its newest record.
    pub(crate) fn seal(&mut self, reason: FlushReason) -> Option<Lsn> {
        self.open.as_ref()?.state.assert_state(BlockState::Open);
        let mut block = self.open.take()?;
        assert!(!block.offsets.is_empty(), "an empty block is never sealed");
        block.state.advance(BlockState::Sealed);
        block.padded_bytes = block.used_bytes.next_multiple_of(self.sector_bytes);
        assert!(block.padded_bytes <= block.capacity_bytes);
        let (used, padded) = (block.used_bytes, block.padded_bytes);
        block.buffer[used..padded].fill(0);
        block.reason = Some(reason);
        self.next_sector += (padded / SECTOR_BYTES) as u32;
        assert!(self.next_sector <= self.vlf.sectors());
        assert!(self.space_left_bytes >= padded as u64);
        self.space_left_bytes -= padded as u64;
        if let Some(surviving) = &mut self.surviving {
            surviving.note_sealed(&block);
        }
        let last = block.last();
        assert_eq!(last, self.last, "the block that is sealed holds the newest record");
        self.sealed.push_back(block);
        self.assert_state();
        Some(last)
    }

    /// The oldest block for the writer; the open one (sealed now, for `reason`) only when `seal_open` says so.
    pub(crate) fn take_next(&mut self, seal_open: Option<FlushReason>) -> Option<CachedBlock> {
        if self.sealed.is_empty() {
            self.seal(seal_open?)?;
        } else {
            self.assert_state();
        }
        let mut block = self.sealed.pop_front()?;
        self.persist_whole(&mut block);
        block.state.advance(BlockState::Issued);
        let next = self.sealed.front().or(self.open.as_ref());
        assert!(
            next.is_none_or(|next| next.start > block.last()),
            "blocks go out in the order of their records"
        );
        Some(block)
    }

    /// Takes the buffer of a hardened block back.
    pub(crate) fn recycle(&mut self, block: CachedBlock) {
        block.state.assert_state(BlockState::Hardened);
        assert!(block.last() <= self.last, "what is hardened was appended");
        self.free_buffer(block);
    }

    fn free_buffer(&mut self, mut block: CachedBlock) {
        block.state.advance(BlockState::Reusable);
        assert!(self.blocks_in_use > 0);
        self.blocks_in_use -= 1;
        if let Some(surviving) = &mut self.surviving {
            surviving.end(&block);
        }
        if let Some(persisted) = &mut self.persisted {
            persisted.end(&mut block);
        }
        // A buffer without a place is not kept when the cache has places.
        let is_usual = block.place.is_some() || self.surviving.is_none();
        if self.free.len() < FREE_BUFFERS_MAX && is_usual {
            assert_eq!(block.buffer.len(), BLOCK_BYTES_MAX, "the write gave the buffer back");
            block.offsets.clear();
            self.free.push((block.buffer, block.place, block.offsets));
        } else if let (Some(place), Some(surviving)) = (block.place, &mut self.surviving) {
            drop(block.buffer);
            surviving.give_up(place);
        }
        self.assert_state();
    }

    /// Takes the persisted log buffer out of the cache and detaches the blocks in the cache from it.
    pub(crate) fn take_persisted(&mut self) -> Option<PersistedBuffer> {
        let buffer = self.persisted.take()?;
        self.sealed.iter_mut().chain(&mut self.open).for_each(|block| block.kept = CachedPart::default());
        self.assert_state();
        Some(buffer)
    }

    /// Growth or truncation has made `bytes` more of VLFs usable.
    pub(crate) fn add_space(&mut self, bytes: u64) {
        assert!(bytes.is_multiple_of(SECTOR_BYTES as u64), "VLFs are whole sectors");
        self.space_left_bytes += bytes;
    }

    /// Removes the space of unused VLFs, `bytes` together.
    pub(crate) fn take_space(&mut self, bytes: u64) {
        assert!(bytes.is_multiple_of(SECTOR_BYTES as u64) && bytes <= self.space_left_bytes, "{bytes} bytes");
        self.space_left_bytes -= bytes;
        assert!(self.reserved_bytes <= self.space_left_bytes, "what is promised is left");
    }

    /// Asserts the counted free space: the rest of the current VLF and every VLF that can be used next.
    pub(crate) fn assert_space(&self, reusable_bytes: u64) {
        let rest = u64::from(self.vlf.sectors() - self.next_sector) * SECTOR_BYTES as u64;
        assert_eq!(self.space_left_bytes, rest + reusable_bytes, "log space is counted where it lies");
    }

    /// Gives reserved space back.
    pub(crate) fn release(&mut self, bytes: u64) {
        assert!(self.reserved_bytes >= bytes, "more log released than was reserved");
        self.reserved_bytes -= bytes;
    }

    /// The record at `lsn`, if its block is here; the inner `None`: the block is, the record is not (yet).
    pub(crate) fn record(&self, lsn: Lsn) -> Option<Option<OwnedRecord>> {
        self.block(lsn.block_start()).map(|block| block.record(lsn.slot()))
    }

    /// A copy of the block at `start`, if it is here.
    pub(crate) fn copy(&self, start: Lsn, log_id: u32) -> Option<BlockCopy> {
        let block = self.block(start)?;
        let header = BlockHeader {
            flags: BlockHeader::flags(block.parity, false),
            vlf: block.start.vlf(),
            sector: block.start.block(),
            used_bytes: block.used_bytes as u32,
            sectors: (block.padded_bytes / SECTOR_BYTES) as u16,
            slots: block.offsets.len() as u16,
            previous_checksum: 0,
            epoch: 0,
            hardened: Lsn::NULL,
            base_txn: block.base_txn,
            time_100ns: 0,
            log_id,
            checksum: 0,
        };
        assert!(!block.start.is_null() && block.start.slot() == 0);
        let bytes = block.buffer[..block.used_bytes].to_vec();
        let is_sealed = block.state == BlockState::Sealed;
        assert!(is_sealed || block.state == BlockState::Open, "what was issued is read from the file");
        Some(BlockCopy { header, bytes, offsets: block.offsets.clone(), is_sealed })
    }

    fn block(&self, start: Lsn) -> Option<&CachedBlock> {
        self.open.iter().chain(self.sealed.iter()).find(|block| block.start == start)
    }
}
