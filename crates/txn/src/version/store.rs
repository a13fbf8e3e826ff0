//! The store of versions: for each row that has any, who changed it, and what it was before.

use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use os::{Latch, LatchRank};
use rustc_hash::{FxHashMap, FxHasher};

use super::{Sight, VersionWriter};

/// Parts with a latch each.
const PARTS: usize = 64;
/// Bytes of a version beside its image and its row's name, about.
const VERSION_BYTES: u64 = 96;

/// What a row was before a transaction changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// These bytes.
    Row(Arc<[u8]>),
    /// Nothing: the transaction has inserted it.
    Absent,
    /// Not kept for want of room.
    Lost,
}

impl Before {
    fn bytes(&self) -> u64 {
        match self {
            Before::Row(image) => image.len() as u64,
            Before::Absent | Before::Lost => 0,
        }
    }

    fn sight(&self) -> Sight {
        match self {
            Before::Row(image) => Sight::Was(Arc::clone(image)),
            Before::Absent => Sight::Absent,
            Before::Lost => Sight::Lost,
        }
    }
}

/// A version, as `sys.dm_tran_version_store` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    /// The transaction that changed the row.
    pub txn: log::TxnId,
    /// Its commit number; `None` before it has ended.
    pub commit_number: Option<u64>,
    /// The unit of the row.
    pub unit: u32,
    /// Its place among the versions of the row, 0 the newest.
    pub age: usize,
    /// What the row was.
    pub before: Before,
}

struct Version {
    writer: Arc<VersionWriter>,
    /// Its place among the versions of its writer, in the order of leaving.
    at: usize,
    before: Before,
}

/// The versions of one row, oldest first.
struct Chain {
    unit: u32,
    key: Box<[u8]>,
    versions: Vec<Version>,
}

/// Hashes of the rows of which a writer has left versions, in the order of leaving.
pub(super) struct Keys(Latch<Vec<u64>>);

impl Keys {
    pub(super) fn new() -> Keys {
        Keys(Latch::new(LatchRank::Leaf, Vec::new()))
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

type Part = FxHashMap<u64, Vec<Chain>>;

pub(super) struct Store {
    parts: Vec<Latch<Part>>,
    pub(super) bytes: AtomicU64,
    pub(super) bytes_max: AtomicU64,
    pub(super) left: AtomicU64,
    pub(super) forgotten: AtomicU64,
}

fn hash_of(unit: u32, key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(unit);
    hasher.write(key);
    hasher.finish()
}

fn size_of(before: &Before, key: &[u8]) -> u64 {
    VERSION_BYTES + key.len() as u64 + before.bytes()
}

impl Store {
    pub(super) fn new() -> Store {
        Store {
            parts: (0..PARTS).map(|_| Latch::new(LatchRank::Leaf, Part::default())).collect(),
            bytes: AtomicU64::new(0),
            bytes_max: AtomicU64::new(u64::MAX),
            left: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
        }
    }

    fn part(&self, hash: u64) -> &Latch<Part> {
        // The low bits choose the bucket inside the part.
        &self.parts[(hash >> 58) as usize % PARTS]
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes.load(Relaxed) < self.bytes_max.load(Relaxed)
    }

    /// Adds a version, unless the writer has left one of this row already. Without room its image is left out.
    pub(super) fn leave(&self, writer: &Arc<VersionWriter>, unit: u32, key: &[u8], before: Option<&[u8]>) {
        assert!(!key.is_empty(), "a row has a name");
        let hash = hash_of(unit, key);
        // Only the writer itself adds to its versions.
        let place = writer.keys.len();
        let mut part = self.part(hash).lock();
        let chains = part.entry(hash).or_default();
        let at = match chains.iter().position(|chain| chain.unit == unit && *chain.key == *key) {
            Some(at) => at,
            None => {
                chains.push(Chain { unit, key: key.into(), versions: Vec::new() });
                chains.len() - 1
            }
        };
        let versions = &mut chains[at].versions;
        if let Some(newest) = versions.last() {
            if Arc::ptr_eq(&newest.writer, writer) {
                return;
            }
            let end = newest.writer.end.load(Relaxed);
            assert_ne!(end, super::WRITING, "a row is changed by one transaction at a time");
        }
        let before = match before {
            None => Before::Absent,
            Some(_) if !self.has_room() => Before::Lost,
            Some(image) => Before::Row(image.into()),
        };
        let bytes = size_of(&before, key);
        assert!(bytes >= VERSION_BYTES, "a version is counted");
        versions.push(Version { writer: Arc::clone(writer), at: place, before });
        drop(part);
        self.bytes.fetch_add(bytes, Relaxed);
        self.left.fetch_add(1, Relaxed);
        writer.keys.0.lock().push(hash);
    }

    /// What a row is to somebody, by whom he sees: its newest state that is not of a writer whom he does not see.
    pub(super) fn see(&self, unit: u32, key: &[u8], sees: impl Fn(&VersionWriter) -> bool) -> Sight {
        let hash = hash_of(unit, key);
        let part = self.part(hash).lock();
        let Some(chain) = find(&part, hash, unit, key) else { return Sight::Present };
        assert!(!chain.versions.is_empty(), "a row without versions is not listed");
        let unseen = chain.versions.iter().rev().take_while(|version| !sees(&version.writer));
        unseen.last().map_or(Sight::Present, |version| version.before.sight())
    }

    /// Asks about the last writer of a row; false when none is known.
    pub(super) fn newest(&self, unit: u32, key: &[u8], is: impl Fn(&VersionWriter) -> bool) -> bool {
        let hash = hash_of(unit, key);
        let part = self.part(hash).lock();
        let newest = find(&part, hash, unit, key).and_then(|chain| chain.versions.last());
        newest.is_some_and(|version| is(&version.writer))
    }

    /// Takes out all that a writer has left.
    pub(super) fn forget(&self, writer: &VersionWriter) {
        assert_ne!(writer.end.load(Relaxed), super::WRITING, "who may still roll back is not forgotten");
        self.take_out(writer, 0);
    }

    /// Takes out what a writer has left behind its first `keep` versions.
    pub(super) fn take_out(&self, writer: &VersionWriter, keep: usize) {
        let hashes = writer.keys.0.lock().split_off(keep);
        for hash in hashes {
            let mut part = self.part(hash).lock();
            let Some(chains) = part.get_mut(&hash) else { continue };
            let mut bytes = 0;
            for chain in chains.iter_mut() {
                let key_bytes = &chain.key;
                chain.versions.retain(|version| {
                    let is_kept = version.at < keep || !std::ptr::eq(Arc::as_ptr(&version.writer), writer);
                    if !is_kept {
                        bytes += size_of(&version.before, key_bytes);
                        self.forgotten.fetch_add(1, Relaxed);
                    }
                    is_kept
                });
            }
            chains.retain(|chain| !chain.versions.is_empty());
            assert!(chains.iter().all(|chain| !chain.key.is_empty()), "a row has a name");
            if chains.is_empty() {
                part.remove(&hash);
            }
            drop(part);
            let before = self.bytes.fetch_sub(bytes, Relaxed);
            assert!(before >= bytes, "what goes was counted");
        }
    }

    pub(super) fn rows(&self) -> Vec<StoredVersion> {
        assert_eq!(self.parts.len(), PARTS, "every row has its part");
        let mut rows = Vec::new();
        for part in &self.parts {
            for chain in part.lock().values().flatten() {
                rows.extend(chain.versions.iter().rev().enumerate().map(|(age, version)| StoredVersion {
                    txn: version.writer.txn,
                    commit_number: version.writer.number(),
                    unit: chain.unit,
                    age,
                    before: version.before.clone(),
                }));
            }
        }
        rows
    }
}

fn find<'p>(part: &'p Part, hash: u64, unit: u32, key: &[u8]) -> Option<&'p Chain> {
    part.get(&hash)?.iter().find(|chain| chain.unit == unit && *chain.key == *key)
}
