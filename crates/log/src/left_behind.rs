//! What a process that died has left of the log in memory: blocks by places, and taking over those that continue the end of the file.
//!
//! Two kinds of memory hold such places: the cache that outlives the process (surviving.rs) and the persisted log buffer (persisted.rs). Both
//! say of a place how far its block is filled with one word, the *progress*, which is stored whole and after what it speaks of, and check the
//! records by a checksum in it. Whose the memory is, each checks by itself. Layout of a place: docs/formats/surviving-cache.md.

use std::sync::Arc;

use os::sim::{Bug, is_planted};
use os::{AlignedBuf, Os, WriteMode};

use crate::block::{BlockHeader, SlotTable};
use crate::error::LogError;
use crate::file::FIRST_LOG_FILE;
use crate::files::LogFiles;
use crate::flush_reason::FlushReason;
use crate::limits::{
    BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, FIRST_BLOCK_SECTOR, SECTOR_BYTES, SLOTS_PER_BLOCK_MAX,
};
use crate::lsn::{Lsn, TxnId};
use crate::shared::Shared;
use crate::tail::{Chain, EndOfLog};
use crate::vlf::{PARITIES, Vlf, VlfMap};

/// Words of each place: a line of the processor's caches. Word 0 is the progress, words 1 to 4 the head.
pub(crate) const PLACE_WORDS: usize = 8;
/// The word of a place that is its block's base transaction id.
pub(crate) const BASE_TXN: usize = 5;

/// Blocks are written for this reason when a log is opened, here and nowhere else.
const TAKE_OVER: FlushReason = FlushReason::TakeOver;

const _: () = assert!(BLOCK_BYTES_MAX <= u16::MAX as usize, "bytes in use take 16 bits");

/// An odd number without a pattern: the fractional part of the golden ratio.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

pub(crate) fn checksum_of(words: &[u64]) -> u64 {
    // Few calls: each costs as much as some forty bytes.
    let sum = words.chunks(8).fold(0, |sum, chunk| {
        let mut bytes = [0; 64];
        for (into, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(chunk) {
            *into = word.to_le_bytes();
        }
        crc32c::crc32c_append(sum, &bytes[..chunk.len() * 8])
    });
    u64::from(sum)
}

/// How far a block is filled: bytes, records, and the checksum of the records, in one word. 0: not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) used_bytes: usize,
    pub(crate) records: u16,
    pub(crate) checksum: u32,
}

impl Progress {
    /// Of so many records that have that hash and are encoded relative to that base.
    pub(crate) fn of(used_bytes: usize, records: usize, hash: u64, base_txn: TxnId) -> Progress {
        assert!(records <= SLOTS_PER_BLOCK_MAX, "{records} records");
        Progress { used_bytes, records: records as u16, checksum: checksum_with(hash, base_txn) }
    }

    pub(crate) fn pack(self) -> u64 {
        assert!(self.used_bytes <= BLOCK_BYTES_MAX, "{self:?}");
        self.used_bytes as u64 | u64::from(self.records) << 16 | u64::from(self.checksum) << 32
    }

    pub(crate) fn unpack(word: u64) -> Progress {
        Progress {
            used_bytes: (word & 0xffff) as usize,
            records: (word >> 16 & 0xffff) as u16,
            checksum: (word >> 32) as u32,
        }
    }
}

/// The hash of a block's records with one more. A CRC would cost each append more than the rest of what is done here: this has to tell
/// half of a record, or another one, from the record, not to find what a device did to it.
#[inline]
pub(crate) fn hash_with(hash: u64, record: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(HASH_FACTOR);
    let (words, rest) = record.as_chunks::<8>();
    let hash = words
        .iter()
        .fold(step(hash, record.len() as u64), |hash, word| step(hash, u64::from_le_bytes(*word)));
    match record.last_chunk::<8>() {
        _ if rest.is_empty() => hash,
        Some(last) => step(hash, u64::from_le_bytes(*last)),
        None => rest.iter().fold(hash, |hash, byte| step(hash, u64::from(*byte))),
    }
}

/// The checksum of records with that hash, encoded relative to that base. The first records of a block may belong to no transaction: it is
/// NULL until one does.
#[inline]
pub(crate) fn checksum_with(hash: u64, base_txn: TxnId) -> u32 {
    ((hash ^ base_txn.0).wrapping_mul(HASH_FACTOR) >> 32) as u32
}

/// The hash of all records of a block, if they fill it.
pub(crate) fn hash_of(header: &BlockHeader, block: &[u8]) -> Option<u64> {
    let slots = SlotTable::build(header, block).ok()?;
    let end = header.used_bytes as usize;
    let places = (1..=header.slots).map(|slot| slots.place(slot));
    let ends = (2..=header.slots).map(|slot| slots.place(slot)).chain([Some(end)]);
    places.zip(ends).try_fold(0, |hash, (from, to)| Some(hash_with(hash, &block[from?..to?])))
}

/// What a place says of its block from the first record on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceHead {
    pub(crate) start: Lsn,
    /// Number of the log's file that it goes to.
    pub(crate) file: u16,
    pub(crate) file_offset: u64,
    pub(crate) parity: u8,
    /// The checksum of the records of the block before it; 0 where that is not noted.
    pub(crate) previous_checksum: u32,
}

impl PlaceHead {
    pub(crate) fn pack(&self) -> [u64; 4] {
        assert!(self.start.slot() == 0 && !self.start.is_null(), "a place holds a block, not {}", self.start);
        let file = if self.file == FIRST_LOG_FILE { 0 } else { self.file };
        let last = u64::from(self.previous_checksum) | u64::from(self.parity) << 32 | u64::from(file) << 40;
        let words = [self.start.raw(), self.file_offset, last];
        [words[0], words[1], words[2], checksum_of(&words)]
    }

    fn unpack(words: &[u64]) -> Option<PlaceHead> {
        let head = PlaceHead {
            start: Lsn::from_raw(words[0]),
            file_offset: words[1],
            previous_checksum: words[2] as u32,
            parity: (words[2] >> 32) as u8,
            file: match (words[2] >> 40) as u16 {
                0 => FIRST_LOG_FILE,
                file => file,
            },
        };
        let is_possible = head.start.slot() == 0
            && head.start.block() >= FIRST_BLOCK_SECTOR
            && PARITIES.contains(&head.parity);
        (is_possible && head.pack() == words[..4]).then_some(head)
    }
}

/// What was taken over: for each block its size and how long its write took.
pub(crate) type TakenOver = Vec<(u64, u64)>;

/// A block to be taken over.
struct NextBlock {
    head: PlaceHead,
    /// Without what its place in the file's chain tells.
    header: BlockHeader,
    /// Of its records.
    checksum: u32,
    bytes: Vec<u8>,
}

/// What a place says of its block, as a header.
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

/// The blocks that a dead process has left, by their heads.
pub(crate) struct LeftBehind {
    /// Where from, for people.
    source: &'static str,
    blocks: Vec<(PlaceHead, u32, Progress, TxnId)>,
    /// The first bytes of a place.
    bytes: PlaceBytes,
    /// Whether each block names the checksum of the records of the one before it.
    names_previous: bool,
}

/// Reads the first bytes of a place.
pub(crate) type PlaceBytes = Box<dyn Fn(u32, usize) -> Result<Vec<u8>, os::IoError>>;

impl LeftBehind {
    /// Those places whose words can be those of a block.
    pub(crate) fn new(
        source: &'static str,
        places: impl Iterator<Item = [u64; PLACE_WORDS]>,
        bytes: PlaceBytes,
        names_previous: bool,
    ) -> LeftBehind {
        let blocks = places
            .zip(0..)
            .filter_map(|(words, place)| {
                let progress = Progress::unpack(words[0]);
                let is_possible = (BLOCK_HEADER_BYTES + 1..=BLOCK_BYTES_MAX).contains(&progress.used_bytes)
                    && (1..=SLOTS_PER_BLOCK_MAX).contains(&usize::from(progress.records));
                let head = PlaceHead::unpack(&words[1..]).filter(|_| is_possible)?;
                Some((head, place, progress, TxnId(words[BASE_TXN])))
            })
            .collect();
        LeftBehind { source, blocks, bytes, names_previous }
    }

    /// The block that continues the chain, where it goes, and its bytes but for the header.
    fn next(&self, chain: Chain, previous: Option<u32>) -> Option<NextBlock> {
        let at = |start| self.blocks.iter().find(|(head, ..)| head.start == start);
        let (head, place, progress, base_txn) = *chain.candidates().find_map(at)?;
        let is_other = previous.is_some_and(|previous| head.previous_checksum != previous);
        if is_other && !is_planted(Bug::CacheOfFormerBoot) {
            return None;
        }
        assert!(progress.used_bytes <= BLOCK_BYTES_MAX && progress.records > 0, "{progress:?}");
        assert!(head.start.vlf() >= chain.vlf, "a block behind the end of the log");
        let bytes = (self.bytes)(place, progress.used_bytes).ok()?;
        let hash = |base_txn| hash_of(&header_of(&head, &progress, base_txn), &bytes);
        // A base that is stored already may be that of a record which does not count yet.
        let (base_txn, hash) = [base_txn, TxnId::NULL].into_iter().find_map(|base| {
            let hash = hash(base).filter(|hash| checksum_with(*hash, base) == progress.checksum);
            hash.map(|hash| (base, hash))
        })?;
        let header = header_of(&head, &progress, base_txn);
        Some(NextBlock { head, header, checksum: checksum_with(hash, TxnId::NULL), bytes })
    }
}

/// Writes the blocks that a dead process has left behind the end of the log to the file, durably. When there are any, the end is to be
/// looked for anew.
pub(crate) fn take_over(
    os: &Os,
    left: &LeftBehind,
    files: &Arc<LogFiles>,
    vlfs: &VlfMap,
    end: &EndOfLog,
) -> Result<TakenOver, LogError> {
    let log_file = files.first();
    let file_header = log_file.header();
    assert!(!file_header.clean, "what was closed properly has left nothing");
    let mut taken = Vec::new();
    let (mut chain, mut last) = (end.chain, end.last);
    // Where the chain ends; a log without blocks ends nowhere.
    let mut current = vlfs.by_sequence(end.last.vlf()).copied().filter(|_| !end.last.is_null());
    let mut previous = match left.names_previous {
        true => Some(records_checksum(files, vlfs, end)?),
        false => None,
    };
    while let Some(NextBlock { head, header, checksum, bytes }) = left.next(chain, previous) {
        if is_planted(Bug::LeftBehindNotTaken) {
            break;
        }
        let padded_bytes = bytes.len().next_multiple_of(files.sector_bytes());
        let Some(vlf) = vlf_of(&head, padded_bytes, chain, current, vlfs, file_header.min) else { break };
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
        if taken.is_empty() {
            // What the process had written before may still be on its way to the device; the first block says that it has arrived.
            files.all().iter().try_for_each(|file| file.file.sync())?;
        }
        let began_ns = os.clock().monotonic_ns();
        files.blocks(vlf.file).write_at(&block, head.file_offset, WriteMode::Durable)?;
        taken.push((padded_bytes as u64, os.clock().monotonic_ns() - began_ns));
        (chain, last, previous) = (Chain::behind(&header), header.last(), previous.map(|_| checksum));
        current = Some(vlf);
    }
    if !taken.is_empty() {
        let (count, file, source) = (taken.len(), log_file.file.path().display(), left.source);
        let what = format!("{file}: {count} log blocks up to {last} are taken from {source}");
        os::report::info("log", &what);
        os::sim::reach(|| "log blocks are taken over".to_owned());
    }
    Ok(taken)
}

/// The VLF that the block goes to, if that can be: the one in which the chain ends, or one that the log was about to enter.
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
    // Not one that the log comes from and needs.
    let needed = min.vlf().max(1)..=chain.vlf;
    let is_current = |vlf: &Vlf| (vlf.file, vlf.begin_offset) == (current.file, current.begin_offset);
    let is_needed = |vlf: &Vlf| is_current(vlf) || needed.contains(&vlf.sequence);
    vlfs.vlfs().iter().find(|vlf| has_room(vlf) && !is_needed(vlf)).copied()
}

/// Of the records of the last block in the file; of a log without blocks, its id.
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
