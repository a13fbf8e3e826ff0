//! Proofs that the log does not end where its chain of blocks ends: a later block that was sealed when that position was already durable, or
//! a block in a part of a file that the file's header does not count. Without a proof the missing block was never durable, as far as the files
//! show; memory that outlives the process or a loss of power may have more (cache_takeover.rs).

use std::ops::RangeInclusive;

use crate::block::BlockHeader;
use crate::error::LogError;
use crate::files::LogFiles;
use crate::limits::{BLOCK_BYTES_MAX, CACHE_BLOCKS_MAX, FIRST_BLOCK_SECTOR, SECTOR_BYTES};
use crate::lsn::Lsn;
use crate::vlf::{Vlf, VlfMap};
use crate::window::Window;

/// Most log between the hardened prefix and a block that is sealed at that moment: the whole cache. A proof that a
/// position was durable lies within so many bytes behind it, if the log is that long.
const PROOF_BYTES: u64 = ((CACHE_BLOCKS_MAX + 2) * BLOCK_BYTES_MAX) as u64;
/// The search covers other VLFs too (the damage may be in the next one's first block), up to so many bytes.
const PROOF_BYTES_TOTAL: u64 = 256 * 1024 * 1024;

/// A valid block behind `here` that was sealed when `here` was already durable, and its VLF. The chain has passed through the VLFs
/// with the sequence numbers `walked`: they hold its blocks, and nothing that follows.
pub(crate) fn find(
    files: &LogFiles,
    vlfs: &VlfMap,
    here: Lsn,
    walked: RangeInclusive<u32>,
    window: &mut Window,
) -> Result<Option<(Lsn, Vlf)>, LogError> {
    assert!(*walked.end() == here.vlf(), "the chain ends in the last VLF that it has come to");
    let mut budget = PROOF_BYTES_TOTAL;
    let current = vlfs.by_sequence(here.vlf());
    if let Some(vlf) = current
        && let Some(proof) = find_in(files, vlf, here.block(), here, PROOF_BYTES, window)?
    {
        return Ok(Some((proof, *vlf)));
    }
    // Usually a log fills this VLF before it continues in another one. If more of this VLF is left than a proof needs, only two kinds of other
    // VLFs are read: those whose first block says that they follow, and the next one in order, in case its first block is lost.
    let left_bytes = current.map_or(0, |vlf| u64::from(vlf.sectors() - here.block()) * SECTOR_BYTES as u64);
    let is_far_from_end = left_bytes > PROOF_BYTES + BLOCK_BYTES_MAX as u64;
    // The log may continue in any VLF that is not part of the chain, most likely in those that follow in the file.
    let all = vlfs.vlfs();
    let position = current.and_then(|vlf| all.iter().position(|other| other.sequence == vlf.sequence));
    let (first, skipped) = position.map_or((0, 0), |position| (position, 1));
    let others = (skipped..all.len()).map(|step| &all[(first + step) % all.len()]);
    let is_walked = |vlf: &Vlf| vlf.sequence > 0 && walked.contains(&vlf.sequence);
    for (index, vlf) in others.filter(|vlf| !is_walked(vlf)).enumerate() {
        if is_far_from_end && index > 0 && !may_go_on(files, vlf, here, window)? {
            continue;
        }
        let bytes = vlf.block_bytes().min(PROOF_BYTES).min(budget);
        budget -= bytes;
        if let Some(proof) = find_in(files, vlf, FIRST_BLOCK_SECTOR, here, bytes, window)? {
            return Ok(Some((proof, *vlf)));
        }
    }
    Ok(None)
}

/// Could the log behind `here` continue in this VLF? Its first block says so, or is damaged; zeros say that the VLF was never used.
fn may_go_on(files: &LogFiles, vlf: &Vlf, here: Lsn, window: &mut Window) -> Result<bool, LogError> {
    let log_id = files.first().header().log_id;
    let bytes = window.bytes_of(vlf, vlf.offset_of(FIRST_BLOCK_SECTOR), SECTOR_BYTES)?;
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(false);
    }
    let shown = BlockHeader::decode(bytes).ok().filter(|header| header.sector == FIRST_BLOCK_SECTOR);
    let Some(start) = shown.map(|header| header.start()) else { return Ok(true) };
    let is_whole = window.block(vlf, start, log_id)?.is_ok();
    Ok(!is_whole || start.vlf() > here.vlf())
}

/// Such a block within `bytes` from `sector` of one VLF.
fn find_in(
    files: &LogFiles,
    vlf: &Vlf,
    sector: u32,
    here: Lsn,
    bytes: u64,
    window: &mut Window,
) -> Result<Option<Lsn>, LogError> {
    let log_id = files.first().header().log_id;
    let end_sector = u64::from(sector) + bytes / SECTOR_BYTES as u64;
    let end_sector = end_sector.min(u64::from(vlf.sectors())) as u32;
    for sector in sector..end_sector {
        let bytes = window.bytes_of(vlf, vlf.offset_of(sector), SECTOR_BYTES)?;
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

/// Blocks go to a VLF when the header of its file counts it, durably. A VLF that is not counted and has a later block than the chain proves that the
/// newest header is lost. Blocks that a shrink or an earlier run left there are older, or of an older run.
pub(crate) fn nothing_uncounted(files: &LogFiles, here: Lsn) -> Result<(), LogError> {
    let epoch = files.first().header().epoch;
    for file in files.all() {
        let counted_bytes = file.header().size_bytes;
        let is_later = |block: &BlockHeader| block.vlf > here.vlf() && block.epoch >= epoch;
        if let Some((offset, block)) = file.uncounted_blocks()?.into_iter().find(|(_, block)| is_later(block))
        {
            let what = format!(
                "block {} of a VLF that the file's header does not know, which counts {counted_bytes} bytes: the newest header is lost",
                block.start()
            );
            return Err(files.corrupt(file.number, offset, what));
        }
    }
    Ok(())
}
