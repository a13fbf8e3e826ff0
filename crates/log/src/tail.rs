//! Finding the end of the log after a crash.
//!
//! The end is the first position without a valid block of the chain: a valid checksum, the right log, VLF and sector,
//! the checksum of the block before it, a recovery epoch not below that block's. Blocks beyond were never hardened and are
//! never replayed. But if a later block proves that the position was durable once (corruption_check.rs), the log is damaged in the middle: that is
//! an error, never an end.

use std::sync::Arc;

use crate::block::{BlockHeader, SlotTable};
use crate::corruption_check;
use crate::error::LogError;
use crate::file::FileHeader;
use crate::files::LogFiles;
use crate::limits::FIRST_BLOCK_SECTOR;
use crate::lsn::{BLOCK_MAX, Lsn, VLF_MAX};
use crate::vlf::VlfMap;
use crate::window::Window;

/// A position where the next block of the chain may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// VLF and sector behind the newest block.
    pub(crate) vlf: u32,
    pub(crate) sector: u32,
    /// The newest block's checksum; `None` at the start of a scan in the middle.
    pub(crate) checksum: Option<u32>,
    pub(crate) epoch: u32,
}

impl Chain {
    /// The possible addresses of the next block: right behind, at the next 4 KB when the device's sector size has grown, or
    /// at the start of the next VLF.
    pub(crate) fn candidates(self) -> impl Iterator<Item = Lsn> {
        let aligned = self.sector.next_multiple_of(8);
        let here = Lsn::new(self.vlf, self.sector, 0);
        let aligned =
            (aligned != self.sector && aligned <= BLOCK_MAX).then(|| Lsn::new(self.vlf, aligned, 0));
        let next = (self.vlf < VLF_MAX).then(|| Lsn::new(self.vlf + 1, FIRST_BLOCK_SECTOR, 0));
        [Some(here), aligned, next].into_iter().flatten()
    }

    /// Whether a block at a possible address continues the chain.
    pub(crate) fn accepts(&self, header: &BlockHeader) -> bool {
        self.checksum.is_none_or(|checksum| header.previous_checksum == checksum)
            && header.epoch >= self.epoch
    }

    /// The chain behind `header`.
    pub(crate) fn behind(header: &BlockHeader) -> Chain {
        assert!(header.slots > 0, "a block holds a record");
        Chain {
            vlf: header.vlf,
            sector: header.sector + u32::from(header.sectors),
            checksum: Some(header.checksum),
            epoch: header.epoch,
        }
    }
}

/// Where the log ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndOfLog {
    /// The newest record; NULL: the log is empty.
    pub(crate) last: Lsn,
    /// Where the next block goes.
    pub(crate) chain: Chain,
    /// Bytes looked at.
    pub(crate) scanned_bytes: u64,
}

impl EndOfLog {
    /// The end of a log that has no block yet.
    pub(crate) fn empty(header: &FileHeader) -> EndOfLog {
        let chain = Chain {
            vlf: header.first_vlf,
            sector: FIRST_BLOCK_SECTOR,
            checksum: Some(header.log_id),
            epoch: header.epoch,
        };
        EndOfLog { last: Lsn::NULL, chain, scanned_bytes: 0 }
    }
}

/// A block's header, its padded bytes, its records' places.
pub(crate) type WalkedBlock<'a> = (BlockHeader, &'a [u8], SlotTable);

/// Iterates over the blocks of the chain, from a position on. Used to find the end and to dump.
pub(crate) struct Walk<'a> {
    files: &'a Arc<LogFiles>,
    vlfs: &'a VlfMap,
    pub(crate) window: Window,
    /// The position of the next block.
    pub(crate) chain: Chain,
    start: Lsn,
    /// The newest record seen.
    pub(crate) last: Lsn,
}

impl<'a> Walk<'a> {
    /// From the block at `start` on; `checksum` is that of the block before it, if known.
    pub(crate) fn new(
        files: &'a Arc<LogFiles>,
        vlfs: &'a VlfMap,
        start: Lsn,
        checksum: Option<u32>,
    ) -> Walk<'a> {
        let start = start.block_start();
        let chain = Chain { vlf: start.vlf(), sector: start.block(), checksum, epoch: 0 };
        let window = Window::new(Arc::clone(files));
        Walk { files, vlfs, window, chain, start, last: Lsn::NULL }
    }

    /// The next block of the chain; `None` where the chain ends.
    pub(crate) fn next_header(&mut self) -> Result<Option<BlockHeader>, LogError> {
        let log_id = self.files.first().header().log_id;
        for candidate in self.chain.candidates() {
            if self.last.is_null() && candidate != self.start {
                continue;
            }
            let Some(vlf) = self.vlfs.by_sequence(candidate.vlf()) else { continue };
            let Ok((header, _)) = self.window.block(vlf, candidate, log_id)? else { continue };
            if !self.chain.accepts(&header) {
                continue;
            }
            assert!(header.last() > self.last, "a chain goes forward");
            self.last = header.last();
            self.chain = Chain::behind(&header);
            assert!(self.chain.sector > header.sector && self.chain.sector <= vlf.sectors());
            return Ok(Some(header));
        }
        Ok(None)
    }

    /// The next block with its bytes and its records' positions.
    pub(crate) fn next_block(&mut self) -> Result<Option<WalkedBlock<'_>>, LogError> {
        let Some(header) = self.next_header()? else { return Ok(None) };
        let (files, vlfs) = (self.files, self.vlfs);
        let vlf = vlfs.by_sequence(header.vlf).expect("the block was found through its VLF");
        let Ok((_, bytes)) = self.window.block(vlf, header.start(), header.log_id)? else {
            return Err(damage(files, vlfs, header.start(), "the block changed while it was read"));
        };
        // The checksum is right: wrong records would be a bug of the writer.
        let slots =
            SlotTable::build(&header, bytes).map_err(|error| damage(files, vlfs, header.start(), error.0))?;
        Ok(Some((header, bytes, slots)))
    }

    /// Checks the position where the chain ends: an error when the log is damaged there.
    pub(crate) fn judge_end(&mut self) -> Result<(), LogError> {
        let file_header = self.files.first().header();
        // A position behind the last sector of a VLF is not an address of a block, but it compares as one.
        let here = Lsn::new(self.chain.vlf, self.chain.sector, 1);
        if self.last < file_header.hardened {
            let what = format!("no valid block here, but the log was durable up to {}", file_header.hardened);
            return Err(damage(self.files, self.vlfs, here, &what));
        }
        if file_header.clean {
            return Ok(());
        }
        let walked = self.start.vlf()..=here.vlf();
        if let Some((proof, vlf)) =
            corruption_check::find(self.files, self.vlfs, here, walked, &mut self.window)?
        {
            let what = format!(
                "no valid block here, but block {proof} (in the VLF at offset {}) proves that there was one",
                vlf.begin_offset
            );
            // The VLF's sequence number is unknown when its first block is damaged.
            let place = if proof.vlf() == here.vlf() {
                Some(vlf)
            } else {
                self.vlfs.by_sequence(here.vlf()).copied()
            };
            let (file, offset) = place.map_or((vlf.file, 0), |vlf| (vlf.file, vlf.offset_of(here.block())));
            return Err(self.files.corrupt(file, offset, what));
        }
        corruption_check::nothing_uncounted(self.files, here)
    }
}

/// Finds the end of the log, from its last checkpoint on. `vlfs` has the sequence numbers of the VLFs' first blocks.
pub(crate) fn find_end(files: &Arc<LogFiles>, vlfs: &VlfMap) -> Result<EndOfLog, LogError> {
    let file_header = files.first().header();
    let (start, checksum) = match file_header.checkpoint {
        Lsn::NULL => (Lsn::new(file_header.first_vlf, FIRST_BLOCK_SECTOR, 0), Some(file_header.log_id)),
        checkpoint => (checkpoint, None),
    };
    let mut walk = Walk::new(files, vlfs, start, checksum);
    while walk.next_header()?.is_some() {}
    walk.judge_end()?;
    assert!(walk.last >= file_header.hardened, "the log ends behind all that was known to be durable");
    assert!(walk.last.is_null() || walk.last.vlf() == walk.chain.vlf, "the chain ends behind its last block");
    Ok(EndOfLog { last: walk.last, chain: walk.chain, scanned_bytes: walk.window.read_bytes_total })
}

/// The log is damaged at `at`.
pub(crate) fn damage(files: &LogFiles, vlfs: &VlfMap, at: Lsn, what: &str) -> LogError {
    let place = vlfs.by_sequence(at.vlf()).map(|vlf| (vlf.file, vlf.offset_of(at.block())));
    let (file, offset) = place.unwrap_or((files.first().number, 0));
    files.corrupt(file, offset, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsn::TxnId;

    fn block(previous_checksum: u32, epoch: u32) -> BlockHeader {
        BlockHeader {
            flags: BlockHeader::flags(0x40, false),
            vlf: 7,
            sector: 40,
            used_bytes: 100,
            sectors: 1,
            slots: 1,
            previous_checksum,
            epoch,
            hardened: Lsn::NULL,
            base_txn: TxnId(1),
            time_100ns: 0,
            log_id: 9,
            checksum: 77,
        }
    }

    /// Two blocks may have the same checksum, and a scan that begins in the middle knows none: the run distinguishes them.
    #[test]
    fn a_block_of_an_older_run_continues_no_chain_whatever_its_checksum_says() {
        let chain = Chain::behind(&block(5, 3));
        assert_eq!((chain.checksum, chain.epoch), (Some(77), 3));
        for (checksum, is_known) in [(77, true), (78, false)] {
            assert_eq!(chain.accepts(&block(checksum, 3)), is_known);
            assert_eq!(
                chain.accepts(&block(checksum, 4)),
                is_known,
                "a later run goes on where it found the end"
            );
            assert!(!chain.accepts(&block(checksum, 2)), "an older run");
        }
        let unknown = Chain { checksum: None, ..chain };
        assert!(unknown.accepts(&block(1, 3)) && !unknown.accepts(&block(1, 2)));
    }
}
