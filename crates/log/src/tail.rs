//! Finding the end of the log after a crash.
//!
//! The end is the first position where no valid block of the chain stands: a valid checksum, the right log, VLF and sector,
//! the checksum of the block before it, a recovery epoch not below that block's. What lies beyond was never hardened and is
//! never replayed. But if a later block proves that the position had been durable once (its `hardened` reaches it), the log
//! is damaged in the middle: that is an error, never an end.

use crate::block::{BlockHeader, SlotTable};
use crate::error::LogError;
use crate::file::{FileHeader, LogFile};
use crate::limits::{BLOCK_BYTES_MAX, CACHE_BLOCKS_MAX, FIRST_BLOCK_SECTOR, SECTOR_BYTES};
use crate::lsn::Lsn;
use crate::vlf::{Vlf, VlfMap};
use crate::window::Window;

/// Log that can lie between the hardened prefix and a block sealed at the same time: the whole cache. A proof that a
/// position was durable lies within so many bytes behind it, if the log goes on so far.
const PROOF_BYTES: u64 = ((CACHE_BLOCKS_MAX + 2) * BLOCK_BYTES_MAX) as u64;
/// The proof is looked for in other VLFs too (the next one's first block may be what is damaged), up to so many bytes.
const PROOF_BYTES_TOTAL: u64 = 256 * 1024 * 1024;

/// A place where the next block of the chain may stand.
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
    /// The addresses where the next block can stand: right behind, behind when the device's sector has grown to 4 KB, or
    /// at the start of the next VLF.
    pub(crate) fn candidates(self) -> impl Iterator<Item = Lsn> {
        let aligned = self.sector.next_multiple_of(8);
        let here = Lsn::new(self.vlf, self.sector, 0);
        let aligned = (aligned != self.sector).then(|| Lsn::new(self.vlf, aligned, 0));
        let next = Lsn::new(self.vlf + 1, FIRST_BLOCK_SECTOR, 0);
        [Some(here), aligned, Some(next)].into_iter().flatten()
    }

    /// Whether a block that stands in a right place continues the chain.
    pub(crate) fn accepts(&self, header: &BlockHeader) -> bool {
        self.checksum.is_none_or(|checksum| header.previous_checksum == checksum)
            && header.epoch >= self.epoch
    }

    /// The chain behind `header`.
    pub(crate) fn behind(header: &BlockHeader) -> Chain {
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

/// Finds the end of the log, from its last checkpoint on. `vlfs` has the sequence numbers of the VLFs' first blocks.
pub(crate) fn find_end(log_file: &LogFile, vlfs: &VlfMap) -> Result<EndOfLog, LogError> {
    let file_header = log_file.header();
    let start = match file_header.checkpoint {
        Lsn::NULL => Lsn::new(file_header.first_vlf, FIRST_BLOCK_SECTOR, 0),
        checkpoint => checkpoint.block_start(),
    };
    let from_start = file_header.checkpoint.is_null();
    let mut window = Window::new(log_file.file.clone());
    let mut chain = Chain {
        vlf: start.vlf(),
        sector: start.block(),
        checksum: from_start.then_some(file_header.log_id),
        epoch: 0,
    };
    let mut last = Lsn::NULL;
    'blocks: loop {
        for candidate in chain.candidates() {
            let Some(vlf) = vlfs.by_sequence(candidate.vlf()) else { continue };
            let Ok((header, bytes)) = window.block(vlf, candidate, file_header.log_id)? else { continue };
            if !chain.accepts(&header) || (last.is_null() && candidate != start) {
                continue;
            }
            // The checksum is right: were the records not, the writer would have had a bug.
            SlotTable::build(&header, bytes)
                .map_err(|error| damage(log_file, vlfs, header.start(), error.0))?;
            last = header.last();
            chain = Chain::behind(&header);
            continue 'blocks;
        }
        break;
    }
    let here = Lsn::new(chain.vlf, chain.sector, 1);
    if last < file_header.hardened {
        let what = format!("no valid block here, but the log was durable up to {}", file_header.hardened);
        return Err(damage(log_file, vlfs, here, &what));
    }
    if !file_header.clean
        && let Some(proof) = find_proof(log_file, vlfs, here, &mut window)?
    {
        let what = format!("no valid block here, but block {proof} proves that there was one");
        return Err(damage(log_file, vlfs, here, &what));
    }
    Ok(EndOfLog { last, chain, scanned_bytes: window.read_bytes_total })
}

fn damage(log_file: &LogFile, vlfs: &VlfMap, at: Lsn, what: &str) -> LogError {
    let offset = vlfs.by_sequence(at.vlf()).map_or(0, |vlf| offset_in(vlf, at.block()));
    log_file.corrupt(offset, what)
}

fn offset_in(vlf: &Vlf, sector: u32) -> u64 {
    vlf.begin_offset + u64::from(sector) * SECTOR_BYTES as u64
}

/// A valid block behind `here` that was sealed when `here` was already durable.
fn find_proof(
    log_file: &LogFile,
    vlfs: &VlfMap,
    here: Lsn,
    window: &mut Window,
) -> Result<Option<Lsn>, LogError> {
    let mut budget = PROOF_BYTES_TOTAL;
    let current = vlfs.by_sequence(here.vlf());
    if let Some(vlf) = current
        && let Some(proof) = find_proof_in(log_file, vlf, here.block(), here, PROOF_BYTES, window)?
    {
        return Ok(Some(proof));
    }
    // The log may have gone on in any VLF that is not part of the chain, most likely in those that follow in the file.
    let all = vlfs.vlfs();
    let position =
        current.and_then(|vlf| all.iter().position(|other| other.begin_offset == vlf.begin_offset));
    let first = position.unwrap_or(0);
    for step in 1..all.len() {
        let vlf = &all[(first + step) % all.len()];
        let bytes = (vlf.size_bytes - u64::from(FIRST_BLOCK_SECTOR) * SECTOR_BYTES as u64)
            .min(PROOF_BYTES)
            .min(budget);
        budget -= bytes;
        if let Some(proof) = find_proof_in(log_file, vlf, FIRST_BLOCK_SECTOR, here, bytes, window)? {
            return Ok(Some(proof));
        }
    }
    Ok(None)
}

/// The same within `bytes` from `sector` of one VLF.
fn find_proof_in(
    log_file: &LogFile,
    vlf: &Vlf,
    sector: u32,
    here: Lsn,
    bytes: u64,
    window: &mut Window,
) -> Result<Option<Lsn>, LogError> {
    let log_id = log_file.header().log_id;
    let end_sector = u64::from(sector) + bytes / SECTOR_BYTES as u64;
    let end_sector = end_sector.min(u64::from(vlf.sectors())) as u32;
    let end = vlf.begin_offset + vlf.size_bytes;
    for sector in sector..end_sector {
        let bytes = window.bytes(offset_in(vlf, sector), SECTOR_BYTES, end)?;
        let Ok(header) = BlockHeader::decode(bytes) else { continue };
        let here_or_later = header.sector == sector && header.start() >= here.block_start();
        if header.log_id != log_id || !here_or_later || header.hardened < here {
            continue;
        }
        if window.block(vlf, header.start(), log_id)?.is_ok() {
            return Ok(Some(header.start()));
        }
    }
    Ok(None)
}
