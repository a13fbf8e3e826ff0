//! The log cache that outlives the process: its blocks' buffers are in memory that stays when the process dies.
//!
//! Records are copied into it as into any other buffer. Then the block's *progress* says how far it is filled, with a checksum of the records:
//! one word, stored whole and after the bytes it describes. From then on the record outlives the process. When a log is opened whose process
//! died in the same boot of the system, the blocks that continue its end are taken from here and written to the file, durably, before
//! anything else is done; then recovery finds them as if they had been flushed in time. Layout: docs/formats/surviving-cache.md.
//!
//! ```text
//!  a place:   begin ──► empty (progress 0) ──publish──► counts ──publish──► counts more ...     until its block is hard and another one begins
//! ```
//! What is left is taken only if it is of this boot of the system, of this log file, and of the run that the file's header names; if the block
//! begins where the log ends; if the records of the block before it are those that stood before it then; if its checksum holds.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use os::sim::{Bug, is_planted};
use os::{AlignedBuf, Os, SurvivingLayout, SurvivingMemory};

use crate::cache_folder::{CACHE_PREFIX, CacheFolder};
use crate::cached_block::CachedBlock;
use crate::file::{FileHeader, LogFile};
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, CACHE_BLOCKS_MAX, FREE_BUFFERS_MAX};
use crate::lsn::{Lsn, TxnId};
use crate::place::{
    AbandonedLog, BASE_TXN, PLACE_WORDS, PlaceHead, Progress, checksum_of, checksum_with, hash_with,
};

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"HPDNSC03");
/// Words that identify the owner, with spare ones.
pub(crate) const OWNER_WORDS: usize = 16;
/// The words that say which run of which log it is; those that follow say where the log was (sweep.rs).
const IDENTITY_WORDS: usize = 8;
/// The index of the run's words among them.
pub(crate) const RUN_AT: usize = 3;
/// The word with the LSN up to which the log's file had everything when a place was last released: a log that ends before it is damaged.
const HARDENED_AT: usize = 12;
/// A place for each buffer that the cache can have.
const PLACES: usize = CACHE_BLOCKS_MAX + FREE_BUFFERS_MAX;
/// Index of the log's path, and its words: the rest of the last page of words.
pub(crate) const PATH_AT: usize = OWNER_WORDS + PLACES * PLACE_WORDS;
pub(crate) const PATH_WORDS: usize = (PATH_AT * 8).next_multiple_of(4096) / 8 - PATH_AT;
pub(crate) const LAYOUT: SurvivingLayout =
    SurvivingLayout { words: PATH_AT + PATH_WORDS, places: PLACES as u32, place_bytes: BLOCK_BYTES_MAX };

const _: () = assert!(BLOCK_BYTES_MAX.is_multiple_of(4096), "a place is whole pages");
const _: () = assert!(PATH_WORDS * 8 >= 2048, "most paths have room");
const _: () = assert!(HARDENED_AT > IDENTITY_WORDS + 2 && HARDENED_AT < OWNER_WORDS, "a word of its own");

/// Which run of which log, as its file's header names it.
pub(crate) fn run_words(header: &FileHeader) -> [u64; 2] {
    [u64::from(header.log_id) | u64::from(header.epoch) << 32, header.run_id]
}

/// Which run of which log, under which boot of the system.
fn owner(boot_id: [u8; 16], log_file: &LogFile) -> [u64; IDENTITY_WORDS] {
    let header = log_file.header();
    let (device, inode) = log_file.file.identity();
    let boot = u128::from_be_bytes(boot_id);
    let mut words = [0; IDENTITY_WORDS];
    words[0] = MAGIC;
    words[1] = (boot >> 64) as u64;
    words[2] = boot as u64;
    words[RUN_AT..RUN_AT + 2].copy_from_slice(&run_words(&header));
    words[5] = device;
    words[6] = inode;
    words[7] = checksum_of(&words[..7]);
    words
}

/// The name of a log's cache: by the log's number and its file, so that a copy of the file has another one.
fn name_of(log_file: &LogFile) -> String {
    let (device, inode) = log_file.file.identity();
    format!("{CACHE_PREFIX}{:08x}-{device:x}-{inode:x}", log_file.header().log_id)
}

/// The memory of the cache's buffers. Guarded by the cache latch.
pub(crate) struct SurvivingCache {
    memory: SurvivingMemory,
    /// Places that have no buffer.
    free: Vec<u32>,
    /// The free places as flags, read when a block begins or ends.
    is_free: [bool; PLACES],
    /// Checksum of the records of the newest sealed block.
    previous_checksum: u32,
    /// The newest record of the blocks that are durable in the file.
    hardened: Lsn,
    /// Blocks in use that have no place, for lack of memory: they, and later blocks, do not outlive the process.
    blocks_without: usize,
    /// The lack of memory was reported.
    has_told: bool,
    database: String,
}

impl SurvivingCache {
    /// Creates an empty cache for a log that ends so, and replaces an existing one. `None` when there is no such memory, which is reported once.
    pub(crate) fn create(
        os: &Os,
        folder: &CacheFolder,
        log_file: &LogFile,
        database: &str,
        previous_checksum: u32,
    ) -> Option<SurvivingCache> {
        let memory = match (os.boot_id(), folder.create(os, &name_of(log_file), LAYOUT)) {
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
        if let Some((place, path)) = crate::surviving::place_words(os, log_file) {
            memory.fill_words(IDENTITY_WORDS, &place);
            memory.fill_words(PATH_AT, &path);
        }
        // The first word makes it valid.
        for index in (0..IDENTITY_WORDS).rev() {
            memory.set_word(index, words[index]);
        }
        assert_eq!(words[0], MAGIC, "it says what it is");
        assert_eq!(words[7], checksum_of(&words[..7]), "and can be checked");
        let (free, database) = ((0..PLACES as u32).rev().collect(), database.to_owned());
        Some(SurvivingCache {
            memory,
            free,
            is_free: [true; PLACES],
            previous_checksum,
            hardened: Lsn::NULL,
            blocks_without: 0,
            has_told: false,
            database,
        })
    }

    /// A buffer for a block, and its place; an ordinary one when there is no memory for another place.
    pub(crate) fn buffer(&mut self) -> (AlignedBuf, Option<u32>) {
        let place = self.free.pop().expect("there are as many places as buffers");
        assert!((place as usize) < PLACES, "place {place}");
        match self.memory.lend(place) {
            Ok(buffer) => {
                assert!(std::mem::take(&mut self.is_free[place as usize]), "place {place} was free");
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

    /// The buffer of the place was dropped: frees the memory of the place, which is not needed now.
    pub(crate) fn give_up(&mut self, place: u32) {
        let was_free = std::mem::replace(&mut self.is_free[place as usize], true);
        assert!(!was_free, "place {place} is free already");
        self.memory.give_up(place);
        self.free.push(place);
    }

    /// A block begins: the old contents of its place are invalidated before its bytes change.
    pub(crate) fn begin(&mut self, place: Option<u32>) -> u32 {
        match place {
            Some(place) => {
                assert!(!self.is_free[place as usize], "the place of a block is not free");
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
        let progress =
            Progress::of(block.used_bytes, block.offsets.len(), block.records_hash, block.base_txn).pack();
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

    /// The block is durable, or was discarded empty.
    pub(crate) fn end(&mut self, block: &CachedBlock) {
        if !block.offsets.is_empty() && block.last() > self.hardened {
            // Set before its place changes.
            self.hardened = block.last();
            self.memory.set_word(HARDENED_AT, self.hardened.raw());
        }
        assert!(block.place.is_none_or(|place| !self.is_free[place as usize]), "its place was its own");
        if block.place.is_none() {
            assert!(self.blocks_without > 0, "blocks are counted when they begin");
            self.blocks_without -= 1;
        }
    }

    /// Do all records in the cache outlive the process?
    pub(crate) fn is_whole(&self) -> bool {
        self.blocks_without == 0
    }

    /// Invariants between calls.
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

/// The blocks that the process of the log's last run has left, if it died in this boot of the system.
pub(crate) fn abandoned_log(os: &Os, folder: &CacheFolder, log_file: &LogFile) -> Option<AbandonedLog> {
    let boot_id = os.boot_id()?;
    let expected = owner(boot_id, log_file);
    folder.places(os, &name_of(log_file)).find_map(|path| left_at(os, &path, &expected))
}

/// The blocks in one cache file; `None` also when it is not of that run of that log.
fn left_at(os: &Os, path: &Path, expected: &[u64; IDENTITY_WORDS]) -> Option<AbandonedLog> {
    assert_eq!((expected[0], expected[7]), (MAGIC, checksum_of(&expected[..7])), "a log's own words");
    let image = match os.read_surviving_memory(path, LAYOUT) {
        Ok(image) => image,
        Err(error) if error.kind == os::IoErrorKind::NotFound => return None,
        Err(error) => {
            os::report::warn("log", &format!("a log cache that was left behind is not used: {error}"));
            return None;
        }
    };
    if image.words()[..IDENTITY_WORDS] != *expected && !is_planted(Bug::CacheOfFormerBoot) {
        return None;
    }
    let words: Vec<[u64; PLACE_WORDS]> = image.words()[OWNER_WORDS..PATH_AT].as_chunks().0.to_vec();
    assert_eq!(words.len(), PLACES, "each place has its words");
    let hardened = image.words()[HARDENED_AT];
    let bytes = Box::new(move |place, len| image.place(place, len));
    let hardened = Lsn::from_raw(hardened);
    let source = format!("the cache of the process that died ({})", path.display());
    // The run is the same: the file alone does not show whether the newest header was damaged or the file is an older copy.
    let way_out = format!(
        ". If the file was put back from a copy, or what was not written to it may be given up, remove {} and open it again",
        path.display()
    );
    Some(AbandonedLog::new((source, way_out), words.into_iter(), bytes, true, hardened))
}

/// Removes the cache: nothing is left for the next opening.
pub(crate) fn remove(os: &Os, folder: &CacheFolder, log_file: &LogFile) {
    folder.remove(os, &name_of(log_file));
}

/// Removes the cache of a log that was not closed, before its file is removed.
pub fn remove_left_cache(os: &Os, folder: &CacheFolder, log: &Path) {
    if let Ok(log_file) = LogFile::open(os, log, true) {
        remove(os, folder, &log_file);
    }
}

/// The words that say where a log is, and those of its path; `None` when the path is too long: no sweep removes its cache.
pub(crate) fn place_words(os: &Os, log_file: &LogFile) -> Option<([u64; 3], Vec<u64>)> {
    let path = log_file.file.path();
    let bytes = path.as_os_str().as_bytes();
    if !path.is_absolute() || bytes.len() > PATH_WORDS * 8 {
        return None;
    }
    let folder_device = os.disk().device_of(path.parent()?).ok()?;
    let words: Vec<u64> = bytes
        .chunks(8)
        .map(|part| part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
        .collect();
    assert!(words.len() <= PATH_WORDS, "the path has room");
    let place = [folder_device, bytes.len() as u64];
    Some(([place[0], place[1], checksum_of_place(place, &words)], words))
}

pub(crate) fn checksum_of_place(place: [u64; 2], path: &[u64]) -> u64 {
    checksum_of(&[&place[..], path].concat())
}
