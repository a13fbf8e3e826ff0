//! The log cache that outlives the process: its blocks' buffers lie in memory that a dead process leaves behind.
//!
//! Records are copied into it as into any other buffer. Then the block's *progress* says how far it is filled, with a checksum of the records:
//! one word, stored whole and after the bytes it speaks of. From then on the record outlives the process. When a log is opened whose process
//! died in the same boot of the system, the blocks that continue its end are taken from here and written to the file, durably, before
//! anything else is done; then recovery finds them as if they had been flushed in time. Layout: docs/formats/surviving-cache.md.
//!
//! ```text
//!  a place:   begin ──► empty (progress 0) ──publish──► counts ──publish──► counts more ...     until its block is hard and another one begins
//! ```
//! What is left is taken only if it is of this boot of the system, of this log file, and of the run that the file's header names; if the block
//! begins where the log ends; if the records of the block before it are those that stood before it then; if its checksum holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::sim::{Bug, is_planted};
use os::{AlignedBuf, Os, SurvivingImage, SurvivingLayout, SurvivingMemory, WriteMode};

use crate::block::{BlockHeader, SlotTable};
use crate::cache::CachedBlock;
use crate::error::LogError;
use crate::file::{FIRST_LOG_FILE, LogFile};
use crate::files::LogFiles;
use crate::flush_reason::FlushReason;
use crate::limits::{
    BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, CACHE_BLOCKS_MAX, FIRST_BLOCK_SECTOR, FREE_BUFFERS_MAX,
    SECTOR_BYTES, SLOTS_PER_BLOCK_MAX,
};
use crate::lsn::{Lsn, TxnId};
use crate::shared::Shared;
use crate::tail::{Chain, EndOfLog};
use crate::vlf::{PARITIES, Vlf, VlfMap};

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"HPDNSC02");
/// Words that say whose this is, with room for more.
pub(crate) const OWNER_WORDS: usize = 16;
/// The words that say which run of which log it is; the rest says where the log was (sweep.rs).
const IDENTITY_WORDS: usize = 8;
/// Words of each place: a line of the processor's caches.
const PLACE_WORDS: usize = 8;
/// The word of a place that is its block's base transaction id.
const BASE_TXN: usize = 5;
/// A place for each buffer that the cache can have.
const PLACES: usize = CACHE_BLOCKS_MAX + FREE_BUFFERS_MAX;
/// Where the log's path stands, and words for it: what is left of the last page of words.
pub(crate) const PATH_AT: usize = OWNER_WORDS + PLACES * PLACE_WORDS;
pub(crate) const PATH_WORDS: usize = (PATH_AT * 8).next_multiple_of(4096) / 8 - PATH_AT;
pub(crate) const LAYOUT: SurvivingLayout =
    SurvivingLayout { words: PATH_AT + PATH_WORDS, places: PLACES as u32, place_bytes: BLOCK_BYTES_MAX };
/// Blocks are written for this reason when a log is opened, here and nowhere else.
const TAKE_OVER: FlushReason = FlushReason::TakeOver;

/// An odd number without a pattern: the fractional part of the golden ratio.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// How the names of these files begin.
pub(crate) const FILE_PREFIX: &str = "hardpan-log-";

const _: () = assert!(BLOCK_BYTES_MAX.is_multiple_of(4096), "a place is whole pages");
const _: () = assert!(PATH_WORDS * 8 >= 2048, "most paths have room");
const _: () = assert!(BLOCK_BYTES_MAX <= u16::MAX as usize, "bytes in use take 16 bits");

/// Which run of which log, under which boot of the system.
fn owner(boot_id: [u8; 16], log_file: &LogFile) -> [u64; IDENTITY_WORDS] {
    let header = log_file.header();
    let (device, inode) = log_file.file.identity();
    let boot = u128::from_be_bytes(boot_id);
    let mut words = [0; IDENTITY_WORDS];
    words[0] = MAGIC;
    words[1] = (boot >> 64) as u64;
    words[2] = boot as u64;
    words[3] = u64::from(header.log_id) | u64::from(header.epoch) << 32;
    words[4] = header.run_id;
    words[5] = device;
    words[6] = inode;
    words[7] = checksum_of(&words[..7]);
    words
}

pub(crate) fn checksum_of(words: &[u64]) -> u64 {
    u64::from(words.iter().fold(0, |sum, word| crc32c::crc32c_append(sum, &word.to_le_bytes())))
}

/// Where the cache of a log lies: by the log's number and its file, so that a copy of the file has another one.
fn path_of(folder: &Path, log_file: &LogFile) -> PathBuf {
    let (device, inode) = log_file.file.identity();
    folder.join(format!("{FILE_PREFIX}{:08x}-{device:x}-{inode:x}", log_file.header().log_id))
}

/// How far a block is filled: bytes, records, and the checksum of the records, in one word. 0: not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    used_bytes: usize,
    records: u16,
    checksum: u32,
}

impl Progress {
    fn of(block: &CachedBlock) -> Progress {
        assert!(block.offsets.len() <= SLOTS_PER_BLOCK_MAX, "{} records", block.offsets.len());
        let records = block.offsets.len() as u16;
        let checksum = checksum_with(block.records_hash, block.base_txn);
        Progress { used_bytes: block.used_bytes, records, checksum }
    }

    fn pack(self) -> u64 {
        assert!(self.used_bytes <= BLOCK_BYTES_MAX, "{self:?}");
        self.used_bytes as u64 | u64::from(self.records) << 16 | u64::from(self.checksum) << 32
    }

    fn unpack(word: u64) -> Progress {
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
fn hash_with(hash: u64, record: &[u8]) -> u64 {
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
fn checksum_with(hash: u64, base_txn: TxnId) -> u32 {
    ((hash ^ base_txn.0).wrapping_mul(HASH_FACTOR) >> 32) as u32
}

/// The hash of all records of a block, if they fill it.
fn hash_of(header: &BlockHeader, block: &[u8]) -> Option<u64> {
    let slots = SlotTable::build(header, block).ok()?;
    let end = header.used_bytes as usize;
    let places = (1..=header.slots).map(|slot| slots.place(slot));
    let ends = (2..=header.slots).map(|slot| slots.place(slot)).chain([Some(end)]);
    places.zip(ends).try_fold(0, |hash, (from, to)| Some(hash_with(hash, &block[from?..to?])))
}

/// What a place says of its block from the first record on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlaceHead {
    start: Lsn,
    /// Number of the log's file that it goes to.
    file: u16,
    file_offset: u64,
    parity: u8,
    /// The checksum of the records of the block before it.
    previous_checksum: u32,
}

impl PlaceHead {
    fn pack(&self) -> [u64; 4] {
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

/// The memory that the cache's buffers lie in. Guarded by the cache latch.
pub(crate) struct SurvivingCache {
    memory: SurvivingMemory,
    /// Places that have no buffer.
    free: Vec<u32>,
    /// Checksum of the records of the newest sealed block.
    previous_checksum: u32,
    /// Blocks in use that have no place, for want of memory: they, and what comes after them, do not outlive the process.
    blocks_without: usize,
    /// That has been told.
    has_told: bool,
    database: String,
}

impl SurvivingCache {
    /// An empty one for a log that ends so, in place of what is there. `None` when there is no such memory, which is told once.
    pub(crate) fn create(
        os: &Os,
        folder: &Path,
        log_file: &LogFile,
        database: &str,
        previous_checksum: u32,
    ) -> Option<SurvivingCache> {
        let path = path_of(folder, log_file);
        let memory = match (os.boot_id(), os.create_surviving_memory(&path, LAYOUT)) {
            (Some(_), Ok(memory)) => memory,
            (_, made) => {
                let why = made
                    .err()
                    .map_or("the boot of the system has no name".to_owned(), |error| error.to_string());
                os::report::warn(
                    "log",
                    &format!("log cache of {database} does not outlive the process: {why}"),
                );
                return None;
            }
        };
        let words = owner(os.boot_id().unwrap_or_default(), log_file);
        if let Some((place, path)) = crate::sweep::place_words(os, log_file) {
            memory.fill_words(IDENTITY_WORDS, &place);
            memory.fill_words(PATH_AT, &path);
        }
        // The first word makes it count.
        for index in (0..IDENTITY_WORDS).rev() {
            memory.set_word(index, words[index]);
        }
        assert_eq!(words[0], MAGIC, "it says what it is");
        assert_eq!(words[7], checksum_of(&words[..7]), "and can be checked");
        let (free, database) = ((0..PLACES as u32).rev().collect(), database.to_owned());
        Some(SurvivingCache { memory, free, previous_checksum, blocks_without: 0, has_told: false, database })
    }

    /// A buffer for a block, and the place it lies in; an ordinary one when there is no memory for another place.
    pub(crate) fn buffer(&mut self) -> (AlignedBuf, Option<u32>) {
        let place = self.free.pop().expect("there are as many places as buffers");
        assert!((place as usize) < PLACES, "place {place}");
        match self.memory.lend(place) {
            Ok(buffer) => {
                assert_eq!(buffer.len(), BLOCK_BYTES_MAX, "a place holds a block");
                (buffer, Some(place))
            }
            Err(error) => {
                self.free.push(place);
                if !std::mem::replace(&mut self.has_told, true) {
                    let what = format!(
                        "some of the log cache of {} does not outlive the process: {error}",
                        self.database
                    );
                    os::report::warn("log", &what);
                }
                (AlignedBuf::new(BLOCK_BYTES_MAX), None)
            }
        }
    }

    /// The buffer of the place is gone, and the place is not needed for now.
    pub(crate) fn give_up(&mut self, place: u32) {
        assert!(!self.free.contains(&place), "place {place} is free already");
        self.memory.give_up(place);
        self.free.push(place);
    }

    /// A block begins: what its place held is given up before its bytes change.
    pub(crate) fn begin(&mut self, place: Option<u32>) -> u32 {
        match place {
            Some(place) => {
                assert!(!self.free.contains(&place), "the place of a block is not free");
                self.memory.set_word(words_of(place), 0);
            }
            None => self.blocks_without += 1,
        }
        self.previous_checksum
    }

    /// The block's record that begins at `from`, its newest, is there: from now on it outlives the process. `has_new_base`: the block had no
    /// base transaction id before it.
    #[inline]
    pub(crate) fn publish(&self, block: &mut CachedBlock, from: usize, has_new_base: bool) {
        assert!(from >= BLOCK_HEADER_BYTES && from < block.used_bytes, "a record takes bytes");
        assert!(block.place.is_some() || self.blocks_without > 0, "a block has a place or is counted");
        let record = &block.buffer[from..block.used_bytes];
        block.records_hash = hash_with(block.records_hash, record);
        let Some(place) = block.place else { return };
        let at = words_of(place);
        if block.offsets.len() == 1 {
            let head = PlaceHead {
                start: block.start,
                file: block.file,
                file_offset: block.file_offset,
                parity: block.parity,
                previous_checksum: block.previous_checksum,
            };
            for (index, word) in head.pack().into_iter().enumerate() {
                self.memory.set_word(at + 1 + index, word);
            }
        }
        if has_new_base {
            self.memory.set_word(at + BASE_TXN, block.base_txn.0);
        }
        let progress = Progress::of(block).pack();
        if is_planted(Bug::CountedBeforeStored) {
            self.memory.set_word(at, progress);
        }
        self.memory.note_stored(place, from, record);
        self.memory.set_word(at, progress);
    }

    /// No record joins the block any more.
    pub(crate) fn note_sealed(&mut self, block: &CachedBlock) {
        assert!(!block.offsets.is_empty(), "an empty block is never sealed");
        assert_eq!(block.previous_checksum, self.previous_checksum, "blocks are sealed in their order");
        self.previous_checksum = checksum_with(block.records_hash, TxnId::NULL);
    }

    /// The block is hard, or was given up.
    pub(crate) fn end(&mut self, block: &CachedBlock) {
        assert!(block.place.is_none_or(|place| !self.free.contains(&place)), "its place was its own");
        if block.place.is_none() {
            assert!(self.blocks_without > 0, "blocks are counted when they begin");
            self.blocks_without -= 1;
        }
    }

    /// Does all that is in the cache outlive the process?
    pub(crate) fn is_whole(&self) -> bool {
        self.blocks_without == 0
    }

    /// What holds between calls.
    pub(crate) fn assert_state(&self) {
        assert!(
            self.free.len() <= PLACES && self.blocks_without <= CACHE_BLOCKS_MAX,
            "{}",
            self.blocks_without
        );
    }
}

fn words_of(place: u32) -> usize {
    assert!((place as usize) < PLACES, "place {place}");
    OWNER_WORDS + place as usize * PLACE_WORDS
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
struct LeftBehind {
    image: SurvivingImage,
    blocks: Vec<(PlaceHead, u32, Progress, TxnId)>,
}

impl LeftBehind {
    /// If they are of this log's last run.
    fn find(os: &Os, folder: &Path, log_file: &LogFile) -> Option<LeftBehind> {
        let path = path_of(folder, log_file);
        let image = match os.read_surviving_memory(&path, LAYOUT) {
            Ok(image) => image,
            Err(error) if error.kind == os::IoErrorKind::NotFound => return None,
            Err(error) => {
                os::report::warn("log", &format!("a log cache that was left behind is not used: {error}"));
                return None;
            }
        };
        let expected = owner(os.boot_id()?, log_file);
        if image.words()[..IDENTITY_WORDS] != expected && !is_planted(Bug::CacheOfFormerBoot) {
            return None;
        }
        let blocks = (0..PLACES as u32)
            .filter_map(|place| {
                let words = &image.words()[words_of(place)..words_of(place) + PLACE_WORDS];
                let progress = Progress::unpack(words[0]);
                let is_possible = (BLOCK_HEADER_BYTES + 1..=BLOCK_BYTES_MAX).contains(&progress.used_bytes)
                    && (1..=SLOTS_PER_BLOCK_MAX).contains(&usize::from(progress.records));
                let head = PlaceHead::unpack(&words[1..]).filter(|_| is_possible)?;
                Some((head, place, progress, TxnId(words[BASE_TXN])))
            })
            .collect();
        Some(LeftBehind { image, blocks })
    }

    /// The block that continues the chain, where it goes, and its bytes but for the header.
    fn next(&self, chain: Chain, previous: u32) -> Option<NextBlock> {
        let at = |start| self.blocks.iter().find(|(head, ..)| head.start == start);
        let (head, place, progress, base_txn) = *chain.candidates().find_map(at)?;
        if head.previous_checksum != previous && !is_planted(Bug::CacheOfFormerBoot) {
            return None;
        }
        assert!(progress.used_bytes <= BLOCK_BYTES_MAX && progress.records > 0, "{progress:?}");
        assert!(head.start.vlf() >= chain.vlf, "a block behind the end of the log");
        let bytes = self.image.place(place, progress.used_bytes).ok()?;
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
    folder: &Path,
    files: &Arc<LogFiles>,
    vlfs: &VlfMap,
    end: &EndOfLog,
) -> Result<TakenOver, LogError> {
    let log_file = files.first();
    let file_header = log_file.header();
    let mut taken = Vec::new();
    if file_header.clean {
        return Ok(taken);
    }
    let Some(left) = LeftBehind::find(os, folder, log_file) else { return Ok(taken) };
    let (mut chain, mut last) = (end.chain, end.last);
    // Where the chain ends; a log without blocks ends nowhere.
    let mut current = vlfs.by_sequence(end.last.vlf()).copied().filter(|_| !end.last.is_null());
    let mut previous = records_checksum(files, vlfs, end)?;
    while let Some(NextBlock { head, header, checksum, bytes }) = left.next(chain, previous) {
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
        (chain, last, previous) = (Chain::behind(&header), header.last(), checksum);
        current = Some(vlf);
    }
    if !taken.is_empty() {
        let (count, file) = (taken.len(), log_file.file.path().display());
        let what = format!(
            "{file}: {count} log blocks up to {last} are taken from the cache of the process that died"
        );
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

/// Nothing is left for the next opening.
pub(crate) fn remove(os: &Os, folder: &Path, log_file: &LogFile) {
    if let Err(error) = os.remove_surviving_memory(&path_of(folder, log_file)) {
        os::report::warn("log", &format!("a log cache that nobody needs stays: {error}"));
    }
}

/// Removes what a log that was not closed has left, before its file is removed.
pub fn remove_left_cache(os: &Os, folder: &Path, log: &Path) {
    if let Ok(log_file) = LogFile::open(os, log, true) {
        remove(os, folder, &log_file);
    }
}

impl Shared {
    /// Counts the blocks that were taken over when the log was opened.
    pub(crate) fn note_taken_over(&self, taken: &TakenOver) {
        for (bytes, write_ns) in taken {
            assert!(*bytes <= BLOCK_BYTES_MAX as u64 + 4096, "a block of {bytes} bytes");
            self.counters.note_flush(TAKE_OVER, *bytes, *write_ns);
        }
    }

    /// Does all that is in the cache outlive the process?
    pub(crate) fn survives_process(&self) -> bool {
        self.cache.lock().surviving.as_ref().is_some_and(SurvivingCache::is_whole)
    }

    /// The log was closed: nothing is left for the next opening.
    pub(crate) fn forget_surviving(&self) {
        assert!(self.is_failed() || self.files.first().header().clean, "what may be needed is kept");
        if let Some(folder) = &self.options.surviving_folder {
            remove(&self.os, folder, self.files.first());
        }
    }
}
