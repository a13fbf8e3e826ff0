//! Version images spilled to disk: units of an unlinked file, filled one after the other, and reused when no image in them is
//! needed any more.
//!
//! ```text
//!  free ──take──► filling: its bytes are in memory ──full, written──► written ──its last place is forgotten──► free
//!                                                        └─ the write failed ──► lost: its places answer "not there"
//! ```
//! Invariants:
//! 1. An image address holds its unit: its owner may read the image, even after the version was dropped. A unit that only the list holds is free.
//! 2. Addresses are made, and free units taken, under one latch: a free unit stays free until it is taken.
//! 3. Bytes of a unit are written once between two takes, whole, under that latch; written bytes do not change while an address holds the unit.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use os::{File, IoError, Latch, LatchRank, OpenOptions, Os, WriteMode};

/// Bytes of a unit; no image is larger.
const UNIT_BYTES: usize = 256 << 10;
/// Disk space left free: versions must not use up the space for the growth of logs and data files.
const LEFT_FREE_BYTES: u64 = 512 << 20;

/// A part of the file.
struct Unit {
    number: u64,
    /// It could not be written.
    is_lost: AtomicBool,
}

/// The address of an image.
#[derive(Clone)]
pub(super) struct ImageAddress {
    unit: Arc<Unit>,
    at: u32,
    length: u32,
}

impl ImageAddress {
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.length)
    }
}

#[derive(Default)]
struct Filling {
    file: Option<Arc<dyn File>>,
    units: Vec<Arc<Unit>>,
    current: Option<Arc<Unit>>,
    /// The bytes of the current unit.
    buffer: Vec<u8>,
}

/// Units since the start, and now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitFigures {
    /// Units with a needed image.
    pub used: u64,
    /// Taken so far.
    pub taken_total: u64,
}

/// The file of one database's versions.
pub(super) struct Images {
    os: Os,
    /// Its name between creation and unlinking; none: there is no file.
    path: Latch<Option<PathBuf>>,
    filling: Latch<Filling>,
    taken: AtomicU64,
    has_path: AtomicBool,
    /// An error has occurred and was reported.
    has_failed: AtomicBool,
}

impl Filling {
    fn free_unit(&self) -> Option<&Arc<Unit>> {
        self.units.iter().find(|unit| Arc::strong_count(unit) == 1)
    }

    fn has_room_for(&self, length: usize) -> bool {
        assert!(length <= UNIT_BYTES, "a row fits into a unit");
        self.current.is_some() && self.buffer.len() + length <= UNIT_BYTES
    }

    /// Empties the current unit if no image in it is needed.
    fn begin_anew_if_unneeded(&mut self) {
        assert!(self.current.is_some() || self.buffer.is_empty(), "bytes belong to a unit");
        if self.current.as_ref().is_some_and(|unit| Arc::strong_count(unit) == 2) {
            self.buffer.clear();
        }
    }
}

impl Images {
    pub(super) fn new(os: &Os) -> Images {
        Images {
            os: os.clone(),
            path: Latch::new(LatchRank::Leaf, None),
            filling: Latch::new(LatchRank::VersionFile, Filling::default()),
            taken: AtomicU64::new(0),
            has_path: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Sets the path of the file, which is made when it is needed.
    pub(super) fn lie_at(&self, path: PathBuf) {
        assert!(path.parent().is_some(), "the file lies in a folder, whose room is asked for");
        *self.path.lock() = Some(path);
        self.has_path.store(true, Release);
    }

    /// May there be a file?
    pub(super) fn are_kept(&self) -> bool {
        self.has_path.load(Acquire)
    }

    fn may_grow(&self) -> bool {
        let folder = self.path.lock().as_ref().and_then(|path| path.parent().map(PathBuf::from));
        let Some(folder) = folder else { return false };
        self.os.disk().free_bytes(&folder).is_ok_and(|free| free >= LEFT_FREE_BYTES)
    }

    /// Stores an image; `None` without space.
    pub(super) fn put(&self, image: &[u8]) -> Option<ImageAddress> {
        assert!(image.len() <= UNIT_BYTES, "a row fits into a unit");
        if !self.are_kept() {
            return None;
        }
        let mut filling = self.filling.lock();
        filling.begin_anew_if_unneeded();
        if !filling.has_room_for(image.len()) {
            self.turn_over(&mut filling)?;
        }
        let unit = Arc::clone(filling.current.as_ref().expect("taken above"));
        let at = filling.buffer.len();
        filling.buffer.extend_from_slice(image);
        assert!(filling.buffer.len() <= UNIT_BYTES, "a unit is not overfilled");
        Some(ImageAddress { unit, at: at as u32, length: image.len() as u32 })
    }

    /// Writes the current unit and takes another one.
    fn turn_over(&self, filling: &mut Filling) -> Option<()> {
        let next = match filling.free_unit() {
            Some(unit) => Arc::clone(unit),
            None if self.may_grow() => {
                let number = filling.units.len() as u64;
                let unit = Arc::new(Unit { number, is_lost: AtomicBool::new(false) });
                filling.units.push(Arc::clone(&unit));
                unit
            }
            None => return None,
        };
        if filling.file.is_none() {
            match self.make() {
                Ok(file) => filling.file = Some(file),
                Err(error) => {
                    self.tell(&error);
                    return None;
                }
            }
        }
        assert_eq!(Arc::strong_count(&next), 2, "nobody needs anything of a unit that is taken");
        if let Some(full) = filling.current.take() {
            let file = filling.file.as_ref().expect("made above");
            assert!(full.number < filling.units.len() as u64, "units are numbered as they are made");
            let offset = full.number * UNIT_BYTES as u64;
            assert!(filling.buffer.len() <= UNIT_BYTES, "a unit does not reach into the next");
            if let Err(error) = file.write_at(&filling.buffer, offset, WriteMode::Cached) {
                self.tell(&error);
                full.is_lost.store(true, Release);
            }
        }
        next.is_lost.store(false, Release);
        filling.buffer.clear();
        filling.buffer.reserve_exact(UNIT_BYTES);
        filling.current = Some(next);
        self.taken.fetch_add(1, Relaxed);
        Some(())
    }

    fn make(&self) -> Result<Arc<dyn File>, IoError> {
        let path = self.path.lock().clone().expect("asked before");
        assert!(self.are_kept(), "no file is made that nobody wanted");
        let disk = self.os.disk();
        let options = OpenOptions { private: true, ..OpenOptions::create_new() };
        let file = disk.open(&path, &options)?;
        disk.remove(&path)?;
        Ok(file)
    }

    #[cold]
    fn tell(&self, error: &IoError) {
        if !self.has_failed.swap(true, Relaxed) {
            os::report::warn("versions", &format!("row versions cannot be put on disk: {error}"));
        }
    }

    /// The image at an address; `None` when writing or reading it failed.
    pub(super) fn get(&self, place: &ImageAddress) -> Option<Arc<[u8]>> {
        let (at, length) = (place.at as usize, place.length as usize);
        assert!(at + length <= UNIT_BYTES, "a place lies in its unit");
        let filling = self.filling.lock();
        if filling.current.as_ref().is_some_and(|unit| Arc::ptr_eq(unit, &place.unit)) {
            assert!(at + length <= filling.buffer.len(), "what is needed was not begun anew");
            return Some(filling.buffer[at..at + length].into());
        }
        let file = Arc::clone(filling.file.as_ref().expect("what was turned over has a file"));
        drop(filling);
        if place.unit.is_lost.load(Acquire) {
            return None;
        }
        let mut image = vec![0; length];
        let offset = place.unit.number * UNIT_BYTES as u64 + at as u64;
        match file.read_exact_at(&mut image, offset) {
            Ok(()) => Some(image.into()),
            Err(error) => {
                self.tell(&error);
                None
            }
        }
    }

    pub(super) fn figures(&self) -> UnitFigures {
        let filling = self.filling.lock();
        let current = filling.current.as_ref();
        let is_used = |unit: &&Arc<Unit>| {
            let own = 1 + usize::from(current.is_some_and(|current| Arc::ptr_eq(current, unit)));
            Arc::strong_count(unit) > own
        };
        let used = filling.units.iter().filter(is_used).count() as u64;
        let taken_total = self.taken.load(Relaxed);
        assert!(used <= taken_total, "what is used was taken");
        UnitFigures { used, taken_total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(number: u32) -> Vec<u8> {
        number.to_le_bytes().repeat(2_000)
    }

    /// Each image is read back from memory and from disk, whatever was dropped meanwhile; units are reused, and the file has no name.
    #[test]
    fn images_come_back_and_units_are_used_again() {
        let world = os::sim::World::new(1, os::sim::Profile::constant_latency());
        let report = world.run(|os| {
            os.disk().create_dir_all("/data".as_ref()).expect("a folder");
            let images = Images::new(os);
            assert!(images.put(b"x").is_none(), "no file is wanted");
            images.lie_at("/data/hardpan.spill.versions".into());
            let mut places: Vec<(u32, ImageAddress)> = Vec::new();
            for number in 0..400 {
                places.push((number, images.put(&image(number)).expect("room")));
                if number % 3 == 0 {
                    places.remove(0);
                }
            }
            for (number, place) in &places {
                assert_eq!(images.get(place).expect("kept")[..], image(*number), "{number}");
            }
            let before = images.figures();
            assert!(before.used > 5 && before.taken_total >= 12, "{before:?}");
            // A reader holds the last address of a unit that the store has dropped.
            let (number, held) = places[0].clone();
            places.clear();
            assert_eq!(images.figures().used, 1);
            for other in 1_000..1_400 {
                assert!(images.put(&image(other)).is_some());
            }
            assert_eq!(images.get(&held).expect("held")[..], image(number));
            drop(held);
            let after = images.figures();
            assert_eq!(after.used, 0);
            assert!(images.filling.lock().units.len() as u64 <= before.taken_total, "no unit more");
            assert!(os.disk().list("/data".as_ref()).expect("listed").is_empty(), "the file has no name");
        });
        report.assert_ok();
    }
}
