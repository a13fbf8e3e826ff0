//! A place for a block in memory that outlives a process or a loss of power: its progress, its head, its checksum.

use crate::block::{BlockHeader, PARITIES, SlotTable};
use crate::file::FIRST_LOG_FILE;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, FIRST_BLOCK_SECTOR, SLOTS_PER_BLOCK_MAX};
use crate::lsn::{Lsn, TxnId};

/// Words of each place: a line of the processor's caches. Word 0 is the progress, words 1 to 4 the head.
pub(crate) const PLACE_WORDS: usize = 8;
/// The index of the word with the block's base transaction id.
pub(crate) const BASE_TXN: usize = 5;

const _: () = assert!(BLOCK_BYTES_MAX <= u16::MAX as usize, "bytes in use take 16 bits");

/// An odd number without a pattern: the fractional part of the golden ratio.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

pub(crate) fn checksum_of(words: &[u64]) -> u64 {
    // Few calls: each costs as much as hashing about forty bytes.
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
    /// The progress for so many records with that hash, encoded relative to that base.
    pub(crate) fn of(used_bytes: usize, records: usize, hash: u64, base_txn: TxnId) -> Progress {
        assert!(records <= SLOTS_PER_BLOCK_MAX, "{records} records");
        Progress { used_bytes, records: records as u16, checksum: checksum_with(hash, base_txn) }
    }

    pub(crate) fn pack(self) -> u64 {
        assert!(self.used_bytes <= BLOCK_BYTES_MAX, "{self:?}");
        let word = self.used_bytes as u64 | u64::from(self.records) << 16 | u64::from(self.checksum) << 32;
        debug_assert_eq!(Progress::unpack(word), self, "what is written can be read back");
        word
    }

    /// Can it belong to a block?
    pub(crate) fn is_possible(self) -> bool {
        (BLOCK_HEADER_BYTES + 1..=BLOCK_BYTES_MAX).contains(&self.used_bytes)
            && (1..=SLOTS_PER_BLOCK_MAX).contains(&usize::from(self.records))
    }

    pub(crate) fn unpack(word: u64) -> Progress {
        Progress {
            used_bytes: (word & 0xffff) as usize,
            records: (word >> 16 & 0xffff) as u16,
            checksum: (word >> 32) as u32,
        }
    }
}

/// The hash of a block's records with one more. A CRC would cost each append more than the other work here: this hash must detect an
/// incomplete or different record, not errors of a device.
/// Sixteen bytes a multiplication: one product of 128 bits, folded.
#[inline]
pub(crate) fn hash_with(hash: u64, record: &[u8]) -> u64 {
    let step = |hash: u64, first: u64, second: u64| {
        let product = u128::from(hash ^ first) * u128::from(second ^ HASH_FACTOR);
        (product as u64 ^ (product >> 64) as u64).rotate_left(23)
    };
    let pair = |bytes: &[u8; 16]| {
        let (first, second) = bytes.split_at(8);
        let word = |half: &[u8]| half.first_chunk().map_or(0, |half| u64::from_le_bytes(*half));
        (word(first), word(second))
    };
    let (pairs, rest) = record.as_chunks::<16>();
    let hash =
        pairs.iter().fold(step(hash, record.len() as u64, HASH_FACTOR.rotate_left(32)), |hash, bytes| {
            let (first, second) = pair(bytes);
            step(hash, first, second)
        });
    if rest.is_empty() {
        return hash;
    }
    let mut last = [0; 16];
    match record.last_chunk::<16>() {
        Some(whole) => last = *whole,
        None => last[..rest.len()].copy_from_slice(rest),
    }
    let (first, second) = pair(&last);
    step(hash, first, second)
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

/// The facts about a block that a place holds from the first record on.
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

/// Reads the first bytes of a place.
pub(crate) type PlaceBytes = Box<dyn Fn(u32, usize) -> Result<Vec<u8>, os::IoError>>;

/// The blocks that a dead process has left, by their heads.
pub(crate) struct AbandonedLog {
    /// The name of the memory, for messages.
    pub(crate) source: String,
    /// Advice for an administrator who restored an older log file on purpose, or accepts the loss; empty: none.
    pub(crate) way_out: String,
    pub(crate) blocks: Vec<(PlaceHead, u32, Progress, TxnId)>,
    /// Places with contents that do not show which block they belong to.
    pub(crate) unreadable: Vec<u32>,
    /// The first bytes of a place.
    pub(crate) bytes: PlaceBytes,
    /// Whether each block names the checksum of the records of the one before it.
    pub(crate) names_previous: bool,
    /// The file had everything up to here when a place was last released.
    pub(crate) hardened: Lsn,
}

impl AbandonedLog {
    /// Made from places by their words.
    pub(crate) fn new(
        (source, way_out): (String, String),
        places: impl Iterator<Item = [u64; PLACE_WORDS]>,
        bytes: PlaceBytes,
        names_previous: bool,
        hardened: Lsn,
    ) -> AbandonedLog {
        let (mut blocks, mut unreadable) = (Vec::new(), Vec::new());
        for (words, place) in places.zip(0..).filter(|(words, _)| words[0] != 0) {
            match PlaceHead::unpack(&words[1..]) {
                Some(head) => blocks.push((head, place, Progress::unpack(words[0]), TxnId(words[BASE_TXN]))),
                None => unreadable.push(place),
            }
        }
        AbandonedLog { source, way_out, blocks, unreadable, bytes, names_previous, hardened }
    }
}
