//! Log blocks: the header on disk, sealing (padding, checksum), validation of hostile bytes, and the states of a block.
//!
//! A block is 512 B to 60 KB, a multiple of the device's sector, and is never rewritten. The CRC-32C in its header covers the
//! whole padded block, so a block is either whole or not a block; `previous_checksum` chains it to the block before it, and
//! the recovery epoch (never falling along the chain) keeps blocks that an earlier run left behind from being replayed.
//! Byte table: docs/formats/log-block.md.

use crate::codec::DecodeError;
use crate::limits::{
    BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, FIRST_BLOCK_SECTOR, SECTOR_BYTES, SLOTS_PER_BLOCK_MAX,
};
use crate::lsn::{BLOCK_MAX, Lsn, TxnId, VLF_MAX};
use crate::record::{Record, decode_record};

/// First four bytes of every block.
pub const BLOCK_MAGIC: [u8; 4] = *b"HLB1";
/// Format version of blocks and records.
pub const LOG_FORMAT_VERSION: u16 = 1;
/// Parity of a VLF that was never used, and of its later uses in turn (reference 1.4).
pub(crate) const PARITIES: [u8; 2] = [0x40, 0x80];

/// The block carries no checksum (tempdb, whose log is never recovered).
pub const BLOCK_FLAG_VOLATILE: u16 = 0x0001;

/// High byte of the flags: the parity of the block's VLF.
const PARITY_SHIFT: u32 = 8;

const CHECKSUM_OFFSET: usize = 60;
const _: () = assert!(CHECKSUM_OFFSET + 4 == BLOCK_HEADER_BYTES, "the checksum is the header's last field");
const _: () =
    assert!((BLOCK_FLAG_VOLATILE as u32) < 1 << PARITY_SHIFT, "the parity has the high byte to itself");

/// What a block says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// BLOCK_FLAG_ bits; the high byte is the parity of its VLF.
    pub flags: u16,
    /// Sequence number of its VLF.
    pub vlf: u32,
    /// Its first 512-byte sector in the VLF.
    pub sector: u32,
    /// Bytes in use, header included.
    pub used_bytes: u32,
    /// Sectors of 512 bytes it covers, padding included.
    pub sectors: u16,
    /// Number of records.
    pub slots: u16,
    /// Checksum of the block before it; the log's id for the very first.
    pub previous_checksum: u32,
    /// Number of the run (opening) that wrote it.
    pub epoch: u32,
    /// The log's `hardened` when this block was sealed: proof that everything up to there was durable.
    pub hardened: Lsn,
    /// The transaction ids of its records are relative to this one.
    pub base_txn: TxnId,
    /// UTC when it was sealed, 100 ns ticks since 0001-01-01.
    pub time_100ns: u64,
    /// The log that it belongs to.
    pub log_id: u32,
    /// CRC-32C of the padded block with this field zero.
    pub checksum: u32,
}

impl BlockHeader {
    /// Padded size in bytes.
    pub fn padded_bytes(&self) -> usize {
        usize::from(self.sectors) * SECTOR_BYTES
    }

    /// Flags of a block in a VLF of `parity`.
    pub fn flags(parity: u8, volatile: bool) -> u16 {
        assert!(PARITIES.contains(&parity), "a block stands in a VLF in use, not of parity {parity:#x}");
        u16::from(parity) << PARITY_SHIFT | if volatile { BLOCK_FLAG_VOLATILE } else { 0 }
    }

    /// The parity of its VLF (0x40 or 0x80).
    pub fn parity(&self) -> u8 {
        (self.flags >> PARITY_SHIFT) as u8
    }

    /// The block's address, slot 0.
    pub fn start(&self) -> Lsn {
        Lsn::new(self.vlf, self.sector, 0)
    }

    /// Its last record.
    pub fn last(&self) -> Lsn {
        debug_assert!(self.slots > 0, "a block has a record");
        self.start().with_slot(self.slots)
    }

    /// Reads and checks the header alone (not the checksum). Arbitrary bytes give an error, never a panic.
    pub fn decode(bytes: &[u8]) -> Result<BlockHeader, DecodeError> {
        let Some(header) = bytes.get(..BLOCK_HEADER_BYTES) else {
            return Err(DecodeError("block header ends early"));
        };
        let u16_at = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let u32_at =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if header[..4] != BLOCK_MAGIC {
            return Err(DecodeError("no block magic"));
        }
        if u16_at(4) != LOG_FORMAT_VERSION {
            return Err(DecodeError("block of another format version"));
        }
        let decoded = BlockHeader {
            flags: u16_at(6),
            vlf: u32_at(8),
            sector: u32_at(12),
            used_bytes: u32_at(16),
            sectors: u16_at(20),
            slots: u16_at(22),
            previous_checksum: u32_at(24),
            epoch: u32_at(28),
            hardened: Lsn::from_raw(u64_at(32)),
            base_txn: TxnId(u64_at(40)),
            time_100ns: u64_at(48),
            log_id: u32_at(56),
            checksum: u32_at(CHECKSUM_OFFSET),
        };
        decoded.check_ranges()?;
        Ok(decoded)
    }

    fn check_ranges(&self) -> Result<(), DecodeError> {
        let padded = self.padded_bytes();
        let used = self.used_bytes as usize;
        let fits = padded > 0 && padded <= BLOCK_BYTES_MAX && used > BLOCK_HEADER_BYTES && used <= padded;
        if !fits {
            return Err(DecodeError("impossible block size"));
        }
        if self.slots == 0 || usize::from(self.slots) > SLOTS_PER_BLOCK_MAX {
            return Err(DecodeError("impossible slot count"));
        }
        if self.vlf == 0 || self.vlf > VLF_MAX || self.sector < FIRST_BLOCK_SECTOR || self.sector > BLOCK_MAX
        {
            return Err(DecodeError("impossible block address"));
        }
        if self.hardened >= self.start() {
            return Err(DecodeError("hardened is not before the block"));
        }
        if !PARITIES.contains(&self.parity()) {
            return Err(DecodeError("impossible parity"));
        }
        Ok(())
    }

    fn encode(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&BLOCK_MAGIC);
        out[4..6].copy_from_slice(&LOG_FORMAT_VERSION.to_le_bytes());
        out[6..8].copy_from_slice(&self.flags.to_le_bytes());
        out[8..12].copy_from_slice(&self.vlf.to_le_bytes());
        out[12..16].copy_from_slice(&self.sector.to_le_bytes());
        out[16..20].copy_from_slice(&self.used_bytes.to_le_bytes());
        out[20..22].copy_from_slice(&self.sectors.to_le_bytes());
        out[22..24].copy_from_slice(&self.slots.to_le_bytes());
        out[24..28].copy_from_slice(&self.previous_checksum.to_le_bytes());
        out[28..32].copy_from_slice(&self.epoch.to_le_bytes());
        out[32..40].copy_from_slice(&self.hardened.raw().to_le_bytes());
        out[40..48].copy_from_slice(&self.base_txn.0.to_le_bytes());
        out[48..56].copy_from_slice(&self.time_100ns.to_le_bytes());
        out[56..60].copy_from_slice(&self.log_id.to_le_bytes());
        out[60..64].copy_from_slice(&self.checksum.to_le_bytes());
    }

    /// Writes this header into `block` (the padded bytes, whose tail must be zero) and returns the checksum put there.
    pub fn seal(&mut self, block: &mut [u8]) -> u32 {
        assert_eq!(block.len(), self.padded_bytes());
        assert!(self.check_ranges().is_ok(), "sealing an impossible block {self:?}");
        self.checksum = 0;
        self.encode(block);
        if self.flags & BLOCK_FLAG_VOLATILE == 0 {
            self.checksum = crc32c::crc32c(block);
            block[CHECKSUM_OFFSET..BLOCK_HEADER_BYTES].copy_from_slice(&self.checksum.to_le_bytes());
        }
        let carried = &block[CHECKSUM_OFFSET..BLOCK_HEADER_BYTES];
        assert_eq!(carried, self.checksum.to_le_bytes(), "the block carries its checksum");
        debug_assert_eq!(BlockHeader::decode(block).as_ref(), Ok(&*self), "what is written can be read back");
        debug_assert!(
            self.checksum_matches(block),
            "the end of the log is not behind a block that was written"
        );
        self.checksum
    }

    /// Whether the padded bytes carry the checksum this header names.
    pub fn checksum_matches(&self, block: &[u8]) -> bool {
        let Some(padded) = block.get(..self.padded_bytes()) else { return false };
        if self.flags & BLOCK_FLAG_VOLATILE != 0 {
            return true;
        }
        let before = crc32c::crc32c(&padded[..CHECKSUM_OFFSET]);
        let zeroed = crc32c::crc32c_append(before, &[0; 4]);
        crc32c::crc32c_append(zeroed, &padded[BLOCK_HEADER_BYTES..]) == self.checksum
    }
}

/// Where each record of a block begins, found by walking the block once.
#[derive(Clone, Debug, Default)]
pub struct SlotTable {
    offsets: Vec<u16>,
}

impl SlotTable {
    /// Walks the records of a block. Errors when they do not fill exactly the bytes and slots the header names.
    pub fn build(header: &BlockHeader, block: &[u8]) -> Result<SlotTable, DecodeError> {
        let used = block.get(..header.used_bytes as usize).ok_or(DecodeError("block ends early"))?;
        let mut offsets = Vec::with_capacity(usize::from(header.slots));
        let mut at = BLOCK_HEADER_BYTES;
        for slot in 1..=header.slots {
            let rest = used.get(at..).ok_or(DecodeError("block ends early"))?;
            let (_, bytes) = decode_record(rest, header.start().with_slot(slot), header.base_txn)?;
            offsets.push(at as u16);
            at += bytes;
        }
        if at != used.len() {
            Err(DecodeError("records do not fill the block"))
        } else {
            assert_eq!(offsets.len(), usize::from(header.slots), "a place for each record");
            Ok(SlotTable { offsets })
        }
    }

    /// From offsets that the appender noted.
    pub(crate) fn from_offsets(offsets: Vec<u16>) -> SlotTable {
        let begins_right = offsets.first().is_none_or(|first| usize::from(*first) == BLOCK_HEADER_BYTES);
        assert!(begins_right, "the first record stands behind the header");
        assert!(offsets.is_sorted_by(|one, next| one < next), "records follow each other");
        SlotTable { offsets }
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Where the record in `slot` (from 1) begins.
    pub(crate) fn place(&self, slot: u16) -> Option<usize> {
        self.offsets.get(usize::from(slot).checked_sub(1)?).map(|at| usize::from(*at))
    }

    /// The record in `slot` (from 1) and its encoded size; `None` past the end.
    pub fn record<'a>(
        &self,
        header: &BlockHeader,
        block: &'a [u8],
        slot: u16,
    ) -> Option<Result<(Record<'a>, usize), DecodeError>> {
        let at = usize::from(*self.offsets.get(usize::from(slot).checked_sub(1)?)?);
        let used = block.get(..header.used_bytes as usize)?;
        Some(decode_record(used.get(at..)?, header.start().with_slot(slot), header.base_txn))
    }
}

/// The life of a block in the log cache.
///
/// ```text
///  cache::open_block        cache::seal            flush::take_next          flush::complete        cache::recycle
///  ──────────────► Open ──────────────► Sealed ──────────────► Issued ──────────────► Hardened ──────────────► Reusable
///                   ▲                                             │ I/O failed: poison::fail, for ever                │
///                   └─────────────────────────────────────────────┴──────────────── cache::open_block ◄──────────────┘
///  Open ── cache::discard_empty: no record has joined it, and the one that comes next needs a larger one ──► Reusable
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockState {
    /// Records join it.
    Open,
    /// No record can join; it waits for the writer.
    Sealed,
    /// Handed to the device.
    Issued,
    /// It, and everything before it, is durable.
    Hardened,
    /// Its buffer is free.
    Reusable,
}

impl BlockState {
    /// Goes to `next`, which must be the successor in the picture above.
    pub fn advance(&mut self, next: BlockState) {
        let legal = matches!(
            (*self, next),
            (BlockState::Open, BlockState::Sealed)
                | (BlockState::Sealed, BlockState::Issued)
                | (BlockState::Issued, BlockState::Hardened)
                | (BlockState::Hardened, BlockState::Reusable)
                | (BlockState::Open, BlockState::Reusable)
                | (BlockState::Reusable, BlockState::Open)
        );
        assert!(legal, "log block goes from {self:?} to {next:?}");
        *self = next;
    }

    /// Asserts that the block is in `expected`.
    pub fn assert_state(self, expected: BlockState) {
        assert_eq!(self, expected, "log block state");
    }
}
