//! The blocks that a dead process has left in memory, and taking over those that continue the end of the log file.
//!
//! Two kinds of memory hold such places: the cache that outlives the process (surviving.rs) and the persisted log buffer (persisted.rs). Both
//! say of a place how far its block is filled with one word, the *progress*, which is stored whole and after what it speaks of, and check the
//! records by a checksum in it. Each kind checks by itself which log the memory belongs to. Layout of a place: docs/formats/surviving-cache.md.

use std::sync::Arc;

use os::sim::{Bug, is_planted};
use os::{AlignedBuf, Os, WriteMode};

use crate::block::BlockHeader;
use crate::error::LogError;
use crate::files::LogFiles;
use crate::flush_reason::FlushReason;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, SECTOR_BYTES};
use crate::lsn::{Lsn, TxnId};
use crate::place::{AbandonedLog, PlaceHead, Progress, checksum_with, hash_of};
use crate::shared::Shared;
use crate::tail::{Chain, EndOfLog, damage};
use crate::vlf::{Vlf, VlfMap};

/// Blocks are written for this reason when a log is opened, here and nowhere else.
const TAKE_OVER: FlushReason = FlushReason::TakeOver;

/// The blocks taken over: for each its size and how long its write took.
pub(crate) type TakenOver = Vec<(u64, u64)>;

/// A block to be taken over.
struct NextBlock {
    head: PlaceHead,
    /// The header, without the fields that follow from its position in the file's chain.
    header: BlockHeader,
    /// The checksum of its records.
    checksum: u32,
    bytes: Vec<u8>,
}

/// A block header made from the words of a place.
fn header_of(head: &PlaceHead, progress: &Progress, base_txn: TxnId) -> BlockHeader {
    assert!(progress.records > 0 && head.start.slot() == 0, "a block holds a record");
    BlockHeader {
        flags: BlockHeader::flags(head.parity, false),
        vlf: head.start.vlf(),
        sector: head.start.block(),
        used_bytes: progress.used_bytes as u32,
        sectors: 0,
        slots: progress.records,
        previous_checksum: 0,
        epoch: 0,
        hardened: Lsn::NULL,
        base_txn,
        time_100ns: 0,
        log_id: 0,
        checksum: 0,
    }
}

impl AbandonedLog {
    /// The block that continues the chain, where it goes, and its bytes without the header. An error names a damaged place: the
    /// words of a place are stored after everything they describe, so neither a kill nor a loss of power damages it.
    fn next(&self, chain: Chain, previous: Option<u32>) -> Result<Option<NextBlock>, u32> {
        let at = |start| self.blocks.iter().find(|(head, ..)| head.start == start);
        let Some(&(head, place, progress, base_txn)) = chain.candidates().find_map(at) else {
            return Ok(None);
        };
        let is_other = previous.is_some_and(|previous| head.previous_checksum != previous);
        let is_careless = is_planted(Bug::CacheOfFormerBoot);
        if is_other && !is_careless {
            return Ok(None);
        }
        assert!(head.start.vlf() >= chain.vlf, "a block behind the end of the log");
        match self.read(&head, place, &progress, base_txn) {
            None if is_careless => Ok(None),
            None => Err(place),
            block => Ok(block),
        }
    }

    /// The block in a place; `None` when it contradicts the words of the place.
    fn read(&self, head: &PlaceHead, place: u32, progress: &Progress, base_txn: TxnId) -> Option<NextBlock> {
        if !progress.is_possible() {
            return None;
        }
        let bytes = (self.bytes)(place, progress.used_bytes).ok()?;
        let hash = |base_txn| hash_of(&header_of(head, progress, base_txn), &bytes);
        // A stored base may belong to a record that does not count yet.
        let (base_txn, hash) = [base_txn, TxnId::NULL].into_iter().find_map(|base| {
            let hash = hash(base).filter(|hash| checksum_with(*hash, base) == progress.checksum);
            hash.map(|hash| (base, hash))
        })?;
        let header = header_of(head, progress, base_txn);
        Some(NextBlock { head: *head, header, checksum: checksum_with(hash, TxnId::NULL), bytes })
    }
}

/// The blocks to be written to the file.
struct Plan {
    blocks: Vec<PlannedBlock>,
    /// Where the log ends behind them.
    chain: Chain,
    last: Lsn,
}

struct PlannedBlock {
    file: u16,
    file_offset: u64,
    bytes: AlignedBuf,
}

/// Writes the blocks that a dead process has left and that follow the end of the log to the file, durably. When there are any, the caller must
/// find the end again. When the log ends even with them before a position that its file once had, it is damaged, and nothing is written.
pub(crate) fn take_over(
    os: &Os,
    left: &AbandonedLog,
    files: &Arc<LogFiles>,
    vlfs: &VlfMap,
    end: &EndOfLog,
) -> Result<TakenOver, LogError> {
    let Plan { blocks, chain, last } = plan(os, left, files, vlfs, end)?;
    let damaged_here = |what: String| Err(damage_at(files, vlfs, chain, &format!("{what}{}", left.way_out)));
    if last < left.hardened {
        let (source, hardened) = (&left.source, left.hardened);
        return damaged_here(format!(
            "no valid block here, but {source} says that the log was durable up to {hardened}"
        ));
    }
    if let Some(place) = left.unreadable.first().filter(|_| !is_planted(Bug::CacheOfFormerBoot)) {
        let source = &left.source;
        return damaged_here(format!("the log may go on here: place {place} of {source} is damaged"));
    }
    if blocks.is_empty() {
        return Ok(Vec::new());
    }
    // Earlier writes of the process may not have reached the device yet; the first block says that they have.
    files.all().iter().try_for_each(|file| file.file.sync())?;
    let mut taken = Vec::with_capacity(blocks.len());
    for block in &blocks {
        let began_ns = os.clock().monotonic_ns();
        files.blocks(block.file).write_at(&block.bytes, block.file_offset, WriteMode::Durable)?;
        taken.push((block.bytes.len() as u64, os.clock().monotonic_ns() - began_ns));
    }
    let (count, file, source) = (taken.len(), files.first().file.path().display(), &left.source);
    os::report::info("log", &format!("{file}: {count} log blocks up to {last} are taken from {source}"));
    os::sim::reach(|| "log blocks are taken over".to_owned());
    Ok(taken)
}

/// The blocks that continue the log, one behind the other.
fn plan(
    os: &Os,
    left: &AbandonedLog,
    files: &Arc<LogFiles>,
    vlfs: &VlfMap,
    end: &EndOfLog,
) -> Result<Plan, LogError> {
    let file_header = files.first().header();
    assert!(!file_header.clean, "what was closed properly has left nothing");
    let mut blocks = Vec::new();
    let (mut chain, mut last) = (end.chain, end.last);
    // The VLF in which the chain ends; none for a log without blocks.
    let mut current = vlfs.by_sequence(end.last.vlf()).copied().filter(|_| !end.last.is_null());
    let mut previous = match left.names_previous {
        true => Some(records_checksum(files, vlfs, end)?),
        false => None,
    };
    loop {
        let next = left.next(chain, previous).map_err(|place| {
            let what = format!(
                "the block that goes here is in {}, and place {place} of that is damaged{}",
                left.source, left.way_out
            );
            damage_at(files, vlfs, chain, &what)
        })?;
        let Some(NextBlock { head, header, checksum, bytes }) = next else { break };
        if is_planted(Bug::CacheTakeoverSkipped) {
            break;
        }
        let padded_bytes = bytes.len().next_multiple_of(files.sector_bytes());
        let Some(vlf) = vlf_of(&head, padded_bytes, chain, current, vlfs, file_header.min) else { break };
        // The first block of another VLF does not name the block before it: the log between `last` and `hardened`, which the file had, is missing.
        if last < left.hardened && head.start > left.hardened {
            break;
        }
        assert!(padded_bytes <= BLOCK_BYTES_MAX && head.start > last, "{} continues {last}", head.start);
        let mut block = AlignedBuf::new(padded_bytes);
        block[BLOCK_HEADER_BYTES..bytes.len()].copy_from_slice(&bytes[BLOCK_HEADER_BYTES..]);
        let mut header = BlockHeader {
            sectors: (padded_bytes / SECTOR_BYTES) as u16,
            previous_checksum: chain.checksum.unwrap_or(file_header.log_id),
            epoch: file_header.epoch,
            hardened: last,
            time_100ns: os.clock().utc_100ns() as u64,
            log_id: file_header.log_id,
            ..header
        };
        header.seal(&mut block);
        assert!(header.last() > last, "what is taken over continues the log");
        blocks.push(PlannedBlock { file: vlf.file, file_offset: head.file_offset, bytes: block });
        (chain, last, previous) = (Chain::behind(&header), header.last(), previous.map(|_| checksum));
        current = Some(vlf);
    }
    Ok(Plan { blocks, chain, last })
}

/// The log is damaged where the chain ends.
fn damage_at(files: &LogFiles, vlfs: &VlfMap, chain: Chain, what: &str) -> LogError {
    damage(files, vlfs, Lsn::new(chain.vlf, chain.sector, 1), what)
}

/// The VLF that the block goes to, if it is possible: the one in which the chain ends, or one that the log was about to enter.
fn vlf_of(
    head: &PlaceHead,
    padded_bytes: usize,
    chain: Chain,
    current: Option<Vlf>,
    vlfs: &VlfMap,
    min: Lsn,
) -> Option<Vlf> {
    assert!(padded_bytes.is_multiple_of(SECTOR_BYTES), "blocks are whole sectors");
    assert!(current.is_none_or(|vlf| vlf.begin_offset > 0), "a VLF lies behind the file's header");
    let in_vlf = u64::from(head.start.block()) * SECTOR_BYTES as u64;
    let has_room = |vlf: &Vlf| {
        vlf.file == head.file
            && vlf.begin_offset + in_vlf == head.file_offset
            && in_vlf + padded_bytes as u64 <= vlf.size_bytes
    };
    let Some(current) = current else { return vlfs.vlfs().iter().find(|vlf| has_room(vlf)).copied() };
    if head.start.vlf() == chain.vlf {
        return Some(current).filter(has_room);
    }
    // Not a VLF that the log still needs.
    let needed = min.vlf().max(1)..=chain.vlf;
    let is_current = |vlf: &Vlf| (vlf.file, vlf.begin_offset) == (current.file, current.begin_offset);
    let is_needed = |vlf: &Vlf| is_current(vlf) || needed.contains(&vlf.sequence);
    vlfs.vlfs().iter().find(|vlf| has_room(vlf) && !is_needed(vlf)).copied()
}

/// The checksum of the records of the last block in the file; for a log without blocks, its id.
pub(crate) fn records_checksum(
    files: &Arc<LogFiles>,
    vlfs: &VlfMap,
    end: &EndOfLog,
) -> Result<u32, LogError> {
    let log_id = files.first().header().log_id;
    let Some(vlf) = vlfs.by_sequence(end.last.vlf()).filter(|_| !end.last.is_null()) else {
        return Ok(log_id);
    };
    assert!(end.last.slot() > 0 && end.last.vlf() == vlf.sequence, "{} is a record of its VLF", end.last);
    let mut window = crate::window::Window::new(Arc::clone(files));
    let found = window.block(vlf, end.last.block_start(), log_id)?;
    let (header, block) =
        found.map_err(|what| files.corrupt(vlf.file, 0, format!("the last block: {what}")))?;
    let hash =
        hash_of(&header, block).ok_or_else(|| files.corrupt(vlf.file, 0, "the last block's records"))?;
    Ok(checksum_with(hash, TxnId::NULL))
}

impl Shared {
    /// Counts the blocks that were taken over when the log was opened.
    pub(crate) fn note_taken_over(&self, taken: &TakenOver) {
        for (bytes, write_ns) in taken {
            assert!(*bytes <= BLOCK_BYTES_MAX as u64 + 4096, "a block of {bytes} bytes");
            self.counters.note_flush(TAKE_OVER, *bytes, *write_ns);
        }
    }
}
