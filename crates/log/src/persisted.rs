//! The persisted log buffer: a copy of the log's tail in persistent memory, so that a commit need not wait for the log's device.
//!
//! While it is on, `harden` copies the records of the cache that the buffer lacks, flushes the processor's caches, and returns: the records
//! survive a loss of power. The LOG WRITER writes blocks to the file when they are full; each is in the buffer whole before it is issued,
//! and its place is reused when it is durable in the file. So the buffer always has the records up to `persisted` that the file lacks. When a log is
//! opened, the blocks that continue the end of its file are written to it, durably, before recovery begins (cache_takeover.rs). Records in neither
//! were lost by damage: before a place is reused, the buffer notes that the file had its block.
//! Layout: docs/formats/persisted-log-buffer.md.
//!
//! ```text
//!  a place:  begin ──► progress 0, durable ──► head and records, durable ──► progress, durable ──► more records, durable ──► more progress ...
//!  the switch:   off ──create──► kept, not trusted ──settle: what left the cache before is hard──► on ──take out──► written by itself ──settle──► off
//!                        Shared::begin_persisting                                      Shared::end_persisting
//! ```
//! The progress of a place is durable only after the records it counts: a fence orders the stores. The file's header names the buffer that it
//! relies on by a random number; while it names one, the log is not opened without it.

use std::path::PathBuf;

use os::sim::{Bug, is_planted};
use os::{IoError, IoErrorKind, Os, PersistentMemory};

use crate::cached_block::{CachedBlock, CachedPart};
use crate::error::LogError;
use crate::file::LogFile;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, CACHE_BLOCKS_MAX, PERSISTED_BUFFER_BYTES};
use crate::lsn::Lsn;
use crate::options::PersistedOptions;
use crate::place::{AbandonedLog, BASE_TXN, PLACE_WORDS, PlaceHead, Progress, checksum_of, hash_with};

const MAGIC: u64 = u64::from_le_bytes(*b"HPDNPLB2");
/// A place for each block that can be in use.
const PLACES: usize = CACHE_BLOCKS_MAX;
const WORD_BYTES: usize = 8;
const PLACE_LINE_BYTES: usize = PLACE_WORDS * WORD_BYTES;
/// Offset of the LSN up to which the log's file had everything when a place was last released.
const HARDENED_AT: usize = 4 * WORD_BYTES;
/// Where the places' words begin, behind the owner's page.
const LINES_AT: usize = 4096;
/// Where the places' bytes begin.
const BYTES_AT: usize = LINES_AT + PLACES * PLACE_LINE_BYTES;

const _: () = assert!(BYTES_AT.is_multiple_of(4096), "places begin at pages");
const _: () = assert!(BYTES_AT + PLACES * BLOCK_BYTES_MAX <= PERSISTED_BUFFER_BYTES);

/// The buffer of a log as views show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedInfo {
    /// Its file.
    pub path: PathBuf,
    /// Does it outlive a loss of power? Not where a test uses an in-memory file system instead.
    pub is_dax: bool,
    /// The newest record that is in it, or was.
    pub persisted: Lsn,
    /// The newest record that is durable in the file.
    pub hardened_in_file: Lsn,
    /// Copies into it for a caller that waited.
    pub copies_total: u64,
    /// Bytes of records copied.
    pub copied_bytes_total: u64,
}

/// The memory and its free places. Guarded by the cache latch.
pub(crate) struct PersistedBuffer {
    pub(crate) memory: PersistentMemory,
    pub(crate) options: PersistedOptions,
    id: u64,
    free: Vec<u32>,
    /// The newest record of the blocks that are durable in the file; `noted` is the value stored in the memory.
    hardened: Lsn,
    noted: Lsn,
    pub(crate) copied_bytes_total: u64,
}

fn owner(id: u64, log_id: u32) -> [u64; 4] {
    let words = [MAGIC, id, u64::from(log_id), 0];
    [words[0], words[1], words[2], checksum_of(&words[..3])]
}

fn line_of(place: u32) -> usize {
    assert!((place as usize) < PLACES, "place {place}");
    LINES_AT + place as usize * PLACE_LINE_BYTES
}

fn bytes_of(place: u32) -> usize {
    assert!((place as usize) < PLACES, "place {place}");
    BYTES_AT + place as usize * BLOCK_BYTES_MAX
}

impl PersistedBuffer {
    /// Creates an empty buffer with that number, and replaces the log's earlier one.
    pub(crate) fn create(
        os: &Os,
        options: &PersistedOptions,
        log_id: u32,
        id: u64,
    ) -> Result<PersistedBuffer, IoError> {
        let open =
            |is_new| os.persistent_memory(&options.path, PERSISTED_BUFFER_BYTES, is_new, options.volume);
        let memory = match open(false) {
            Err(error) if error.kind == IoErrorKind::NotFound => open(true)?,
            opened => opened?,
        };
        // An incomplete owner means that its creation was interrupted.
        let words = read_owner(&memory);
        if words[0] == MAGIC && words[3] == checksum_of(&words[..3]) && words[2] != u64::from(log_id) {
            let what = format!("{} belongs to another log", options.path.display());
            return Err(IoError::new(IoErrorKind::Invalid, what));
        }
        let put = |at: usize, word: u64| {
            memory.store_word(at, word);
            memory.flush(at, WORD_BYTES)
        };
        // The old contents are invalidated before they change; the first word makes the new buffer valid.
        put(0, 0)?;
        memory.fence();
        (0..PLACES as u32).try_for_each(|place| put(line_of(place), 0))?;
        put(HARDENED_AT, 0)?;
        let words = owner(id, log_id);
        (1..words.len()).try_for_each(|index| put(index * WORD_BYTES, words[index]))?;
        memory.fence();
        put(0, words[0])?;
        memory.fence();
        assert_eq!(read_owner(&memory), words, "what was stored is there");
        let free = (0..PLACES as u32).rev().collect();
        let (options, hardened, noted) = (options.clone(), Lsn::NULL, Lsn::NULL);
        Ok(PersistedBuffer { memory, options, id, free, hardened, noted, copied_bytes_total: 0 })
    }

    /// Copies the records of a block that the buffer does not have yet: they are durable when this returns.
    pub(crate) fn store(&mut self, block: &mut CachedBlock) -> Result<(), IoError> {
        let records = block.offsets.len();
        assert!(block.kept.records <= records, "records are never taken back");
        if block.kept.records == records {
            return Ok(());
        }
        if block.kept.place.is_none() {
            self.note_hardened(self.hardened)?;
        }
        let is_durable = !is_planted(Bug::AcknowledgedBeforeFence);
        let fence = || {
            if is_durable {
                self.memory.fence();
            }
        };
        let flush = |at, len| if is_durable { self.memory.flush(at, len) } else { Ok(()) };
        let place = match block.kept.place {
            Some(place) => place,
            None => {
                let place = self.free.pop().expect("there are as many places as blocks");
                self.memory.store_word(line_of(place), 0);
                flush(line_of(place), WORD_BYTES)?;
                // The old contents of the place are invalidated before its bytes change.
                fence();
                let head = PlaceHead {
                    start: block.start,
                    file: block.file,
                    file_offset: block.file_offset,
                    parity: block.parity,
                    previous_checksum: 0,
                };
                for (index, word) in head.pack().into_iter().enumerate() {
                    self.memory.store_word(line_of(place) + (1 + index) * WORD_BYTES, word);
                }
                block.kept = CachedPart { place: Some(place), id: self.id, ..CachedPart::default() };
                place
            }
        };
        let begin = |record: usize| block.offsets.get(record).map_or(block.used_bytes, |at| usize::from(*at));
        let from = begin(block.kept.records);
        assert!(from >= BLOCK_HEADER_BYTES && from < block.used_bytes, "records take bytes");
        let new = (block.kept.records..records).map(|record| &block.buffer[begin(record)..begin(record + 1)]);
        let hash = new.fold(block.kept.hash, hash_with);
        self.memory.store(bytes_of(place) + from, &block.buffer[from..block.used_bytes]);
        self.memory.store_word(line_of(place) + BASE_TXN * WORD_BYTES, block.base_txn.0);
        flush(bytes_of(place) + from, block.used_bytes - from)?;
        flush(line_of(place), PLACE_LINE_BYTES)?;
        // The records are durable before the progress that counts them: else a crash could leave the word without the bytes, and lose
        // records that an earlier word had counted.
        fence();
        let progress = Progress::of(block.used_bytes, records, hash, block.base_txn);
        self.memory.store_word(line_of(place), progress.pack());
        flush(line_of(place), WORD_BYTES)?;
        fence();
        block.kept = CachedPart { place: Some(place), records, hash, id: self.id };
        self.copied_bytes_total += (block.used_bytes - from) as u64;
        Ok(())
    }

    /// The block is durable in the file, or was discarded empty.
    pub(crate) fn end(&mut self, block: &mut CachedBlock) {
        let kept = std::mem::take(&mut block.kept);
        // It may have been in an earlier buffer.
        if let Some(place) = kept.place.filter(|_| kept.id == self.id) {
            assert!(!self.free.contains(&place), "place {place} was the block's own");
            assert!(!block.offsets.is_empty(), "an empty block has no place");
            self.hardened = self.hardened.max(block.last());
            self.free.push(place);
        }
    }

    /// The file has everything up to `lsn`: noted durably before a place that held some of it is reused.
    pub(crate) fn note_hardened(&mut self, lsn: Lsn) -> Result<(), IoError> {
        self.hardened = self.hardened.max(lsn);
        if self.hardened > self.noted {
            self.memory.store_word(HARDENED_AT, self.hardened.raw());
            self.memory.flush(HARDENED_AT, WORD_BYTES)?;
            self.memory.fence();
            self.noted = self.hardened;
        }
        Ok(())
    }

    /// Invariants between calls.
    pub(crate) fn assert_state(&self) {
        assert!(self.free.len() <= PLACES, "{} places are free", self.free.len());
        assert!(self.noted <= self.hardened, "it says {}, the file has {}", self.noted, self.hardened);
        assert_eq!(self.memory.len_bytes(), PERSISTED_BUFFER_BYTES, "it has the size it always has");
    }
}

fn read_owner(memory: &PersistentMemory) -> [u64; 4] {
    std::array::from_fn(|index| memory.read_word(index * WORD_BYTES))
}

/// The blocks in the buffer that the log's header names; none when it names none. Errors when that buffer is missing: without it the log has
/// lost its end.
pub(crate) fn abandoned_log(
    os: &Os,
    options: Option<&PersistedOptions>,
    log_file: &LogFile,
) -> Result<Option<AbandonedLog>, LogError> {
    let header = log_file.header();
    let is_careless = is_planted(Bug::BufferOfFormerLife) && options.is_some();
    if is_planted(Bug::BufferNotCopied) || (header.persisted_id == 0 && !is_careless) {
        return Ok(None);
    }
    let file = log_file.file.path().display();
    let needed = |why: String| {
        let what =
            format!("the end of the log {file} is in its persisted log buffer, which is not there: {why}");
        LogError::from(IoError::new(IoErrorKind::NotFound, what))
    };
    let options = options.ok_or_else(|| needed("nobody knows where it lies".to_owned()))?;
    let opened = os.persistent_memory(&options.path, PERSISTED_BUFFER_BYTES, false, options.volume);
    if is_careless && opened.is_err() {
        return Ok(None);
    }
    let memory = opened.map_err(|error| needed(error.to_string()))?;
    if read_owner(&memory) != owner(header.persisted_id, header.log_id) && !is_careless {
        return Err(needed(format!(
            "{} was made for another log, or at another time",
            options.path.display()
        )));
    }
    let words: Vec<[u64; PLACE_WORDS]> = (0..PLACES as u32)
        .map(|place| std::array::from_fn(|word| memory.read_word(line_of(place) + word * WORD_BYTES)))
        .collect();
    let hardened = Lsn::from_raw(memory.read_word(HARDENED_AT));
    let bytes = Box::new(move |place, len| Ok(memory.read(bytes_of(place), len)));
    let source = format!("the persisted log buffer ({})", options.path.display());
    Ok(Some(AbandonedLog::new((source, String::new()), words.into_iter(), bytes, false, hardened)))
}

/// The error for a log that cannot be opened because its buffer cannot be made, although its files have everything: nothing is damaged.
pub(crate) fn not_to_be_had(error: LogError) -> LogError {
    match error {
        LogError::Io(error) => {
            let what = format!("its persisted log buffer cannot be had: {error}");
            LogError::from(IoError { kind: IoErrorKind::NotFound, os_code: error.os_code, what })
        }
        other => other,
    }
}
