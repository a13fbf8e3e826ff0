//! The version store: for each row with versions, the writers that changed it, and the images from before.

use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use os::{Latch, LatchRank, Os};
use rustc_hash::{FxHashMap, FxHasher};

use super::images::{ImageAddress, Images};
use super::writer::{VersionWriter, WRITING};

/// Parts with a latch each.
const PARTS: usize = 64;
/// Approximate bytes of a version without its image and its row's name.
const VERSION_BYTES: u64 = 96;

/// The row that a reader at a snapshot sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionLookup {
    /// The row on the page.
    Present,
    /// This image, which is not on the page any more.
    Was(Arc<[u8]>),
    /// There was no such row.
    Absent,
    /// A version that was not kept for lack of space (3958).
    Lost,
}

/// The image of a row from before a transaction changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// These bytes.
    Row(Arc<[u8]>),
    /// Nothing: the transaction has inserted it.
    Absent,
    /// Not kept for lack of space.
    Lost,
}

/// That image in the store.
#[derive(Clone)]
enum StoredImage {
    Here(Arc<[u8]>),
    /// On disk.
    There(ImageAddress),
    Absent,
    Lost,
}

impl StoredImage {
    /// Bytes in memory.
    fn bytes(&self) -> u64 {
        match self {
            StoredImage::Here(image) => image.len() as u64,
            StoredImage::There(_) => size_of::<ImageAddress>() as u64,
            StoredImage::Absent | StoredImage::Lost => 0,
        }
    }

    /// Bytes on disk.
    fn bytes_there(&self) -> u64 {
        match self {
            StoredImage::There(place) => place.bytes(),
            StoredImage::Here(_) | StoredImage::Absent | StoredImage::Lost => 0,
        }
    }

    fn before(self, images: &Images) -> Before {
        match self {
            StoredImage::Here(image) => Before::Row(image),
            StoredImage::There(place) => images.get(&place).map_or(Before::Lost, Before::Row),
            StoredImage::Absent => Before::Absent,
            StoredImage::Lost => Before::Lost,
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
    /// Its position among the versions of the row, 0 the newest.
    pub age: usize,
    /// The image of the row.
    pub before: Before,
}

struct Version {
    writer: Arc<VersionWriter>,
    /// Its position among the versions of its writer, oldest first.
    at: usize,
    kept: StoredImage,
}

/// The versions of one row, oldest first.
struct Chain {
    unit: u32,
    key: Box<[u8]>,
    versions: Vec<Version>,
}

type Part = FxHashMap<u64, Vec<Chain>>;

pub(super) struct Store {
    parts: Vec<Latch<Part>>,
    /// Spilled images.
    pub(super) images: Images,
    /// In memory.
    pub(super) bytes: AtomicU64,
    /// On disk.
    pub(super) bytes_there: AtomicU64,
    /// Of all versions stored so far.
    pub(super) left_bytes: AtomicU64,
    /// Of all versions dropped so far.
    pub(super) forgotten_bytes: AtomicU64,
    /// An image was dropped for lack of space, and none was stored since.
    is_full: AtomicBool,
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

fn memory_of(kept: &StoredImage, key: &[u8]) -> u64 {
    VERSION_BYTES + key.len() as u64 + kept.bytes()
}

impl Store {
    pub(super) fn new(os: &Os) -> Store {
        Store {
            parts: (0..PARTS).map(|_| Latch::new(LatchRank::Leaf, Part::default())).collect(),
            images: Images::new(os),
            bytes: AtomicU64::new(0),
            bytes_there: AtomicU64::new(0),
            left_bytes: AtomicU64::new(0),
            forgotten_bytes: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            bytes_max: AtomicU64::new(u64::MAX),
            left: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
        }
    }

    fn part(&self, hash: u64) -> &Latch<Part> {
        // The low bits choose the bucket inside the part.
        &self.parts[(hash >> 58) as usize % PARTS]
    }

    /// Is there space for one more version? Its name stays in memory, its image in memory or on disk.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.load(Relaxed) < self.bytes_max.load(Relaxed)
    }

    /// Should an image go to disk if it has space? Where there is a file, half of the memory is kept for names.
    fn prefers_disk(&self) -> bool {
        self.images.are_kept() && self.bytes.load(Relaxed) >= self.bytes_max.load(Relaxed) / 2
    }

    /// Spills an image if the rest of the memory is kept for names; `None`: it stays in memory, or the disk has no space.
    fn put_there(
        &self,
        writer: &Arc<VersionWriter>,
        unit: u32,
        key: &[u8],
        before: Option<&[u8]>,
    ) -> Option<ImageAddress> {
        let image = before?;
        if !self.prefers_disk() || !self.has_room() {
            return None;
        }
        // Only the first image counts.
        let has_left = |newest: &VersionWriter| std::ptr::eq(newest, Arc::as_ptr(writer));
        let place = if self.newest(unit, key, has_left) { None } else { self.images.put(image) };
        assert!(
            place.as_ref().is_none_or(|place| place.bytes() == image.len() as u64),
            "a place has the whole image"
        );
        place
    }

    /// Reports 3959, once until there is space again.
    fn note_room(&self, kept: &StoredImage) {
        match kept {
            StoredImage::Lost if !self.is_full.swap(true, Relaxed) => os::report::warn(
                "versions",
                "error 3959: the version store is full; new versions are left out, and whoever needs one is rolled back (3958)",
            ),
            StoredImage::Here(_) | StoredImage::There(_) if self.is_full.load(Relaxed) => {
                self.is_full.store(false, Relaxed)
            }
            _ => {}
        }
    }

    /// Adds a version, unless the writer has stored one of this row already. Without space its image is dropped.
    pub(super) fn leave(&self, writer: &Arc<VersionWriter>, unit: u32, key: &[u8], before: Option<&[u8]>) {
        assert!(!key.is_empty(), "a row has a name");
        let hash = hash_of(unit, key);
        // Only the writer itself adds to its versions.
        let place = writer.keys.len();
        let mut there = self.put_there(writer, unit, key, before);
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
            assert_ne!(end, WRITING, "a row is changed by one transaction at a time");
        }
        let kept = match (before, there.take()) {
            (None, _) => StoredImage::Absent,
            (Some(_), Some(there)) => StoredImage::There(there),
            (Some(image), None) if self.has_room() => StoredImage::Here(image.into()),
            (Some(_), None) => StoredImage::Lost,
        };
        let (bytes, bytes_there) = (memory_of(&kept, key), kept.bytes_there());
        assert!(bytes >= VERSION_BYTES, "a version is counted");
        assert!(bytes_there == 0 || self.images.are_kept(), "on disk lies what may lie there");
        versions.push(Version { writer: Arc::clone(writer), at: place, kept: kept.clone() });
        drop(part);
        self.note_room(&kept);
        self.bytes.fetch_add(bytes, Relaxed);
        self.bytes_there.fetch_add(bytes_there, Relaxed);
        self.left_bytes.fetch_add(bytes + bytes_there, Relaxed);
        self.left.fetch_add(1, Relaxed);
        let mut keys = writer.keys.lock();
        assert_eq!(keys.len(), place, "a version stands at its place among those of its writer");
        keys.push(hash);
    }

    /// The row as a reader sees it: its newest state by a writer for which `sees` is true.
    pub(super) fn see(&self, unit: u32, key: &[u8], sees: impl Fn(&VersionWriter) -> bool) -> VersionLookup {
        let hash = hash_of(unit, key);
        let part = self.part(hash).lock();
        let Some(chain) = find(&part, hash, unit, key) else { return VersionLookup::Present };
        assert!(!chain.versions.is_empty(), "a row without versions is not listed");
        let unseen = chain.versions.iter().rev().take_while(|version| !sees(&version.writer));
        let kept = unseen.last().map(|version| version.kept.clone());
        drop(part);
        match kept.map(|kept| kept.before(&self.images)) {
            None => VersionLookup::Present,
            Some(Before::Row(image)) => VersionLookup::Was(image),
            Some(Before::Absent) => VersionLookup::Absent,
            Some(Before::Lost) => VersionLookup::Lost,
        }
    }

    /// Calls `is` for the last writer of a row; false when none is known.
    pub(super) fn newest(&self, unit: u32, key: &[u8], is: impl Fn(&VersionWriter) -> bool) -> bool {
        let hash = hash_of(unit, key);
        let part = self.part(hash).lock();
        let newest = find(&part, hash, unit, key).and_then(|chain| chain.versions.last());
        newest.is_some_and(|version| is(&version.writer))
    }

    /// Removes all versions of a writer.
    pub(super) fn forget(&self, writer: &VersionWriter) {
        assert_ne!(writer.end.load(Relaxed), WRITING, "who may still roll back is not forgotten");
        self.take_out(writer, 0);
    }

    /// Removes the versions of a writer behind its first `keep`.
    pub(super) fn take_out(&self, writer: &VersionWriter, keep: usize) {
        let hashes = {
            let mut keys = writer.keys.lock();
            assert!(keep <= keys.len(), "{keep} of {} versions stay", keys.len());
            keys.split_off(keep)
        };
        for hash in hashes {
            let mut part = self.part(hash).lock();
            let Some(chains) = part.get_mut(&hash) else { continue };
            let (mut bytes, mut bytes_there) = (0, 0);
            for chain in chains.iter_mut() {
                let key_bytes = &chain.key;
                chain.versions.retain(|version| {
                    let is_kept = version.at < keep || !std::ptr::eq(Arc::as_ptr(&version.writer), writer);
                    if !is_kept {
                        bytes += memory_of(&version.kept, key_bytes);
                        bytes_there += version.kept.bytes_there();
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
            let before = self.bytes_there.fetch_sub(bytes_there, Relaxed);
            assert!(before >= bytes_there, "on disk, too");
            self.forgotten_bytes.fetch_add(bytes + bytes_there, Relaxed);
        }
    }

    pub(super) fn rows(&self) -> Vec<StoredVersion> {
        assert_eq!(self.parts.len(), PARTS, "every row has its part");
        let mut rows = Vec::new();
        for part in &self.parts {
            let mut of_part = Vec::new();
            for chain in part.lock().values().flatten() {
                of_part.extend(chain.versions.iter().rev().enumerate().map(|(age, version)| {
                    let (txn, commit_number) = (version.writer.txn, version.writer.number());
                    let row =
                        StoredVersion { txn, commit_number, unit: chain.unit, age, before: Before::Absent };
                    (row, version.kept.clone())
                }));
            }
            rows.extend(of_part.into_iter().map(|(row, kept)| {
                let before = kept.before(&self.images);
                StoredVersion { before, ..row }
            }));
        }
        rows
    }
}

fn find<'p>(part: &'p Part, hash: u64, unit: u32, key: &[u8]) -> Option<&'p Chain> {
    part.get(&hash)?.iter().find(|chain| chain.unit == unit && *chain.key == *key)
}
