//! Simulated memory that outlives the process. Its contract, that of an adversary:
//!
//! * The process can die between any two stores, and in the middle of one to a place.
//! * When it dies, by itself or by a kill, everything stored is there for the next run of the world.
//! * A power loss begins another boot. The stores are lost, or survive completely (a file system on a device has had the time to
//!   write them back), or some words and pages are lost.
//! * There may be no room for another place ([`World::set_surviving_places`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::surviving_state::{KeptBytes, SurvivingState, lock};
use super::world::World;
use crate::error::{IoError, IoErrorKind};
use crate::seat::maybe_switch;
use crate::surviving::{SurvivingClaim, SurvivingImage, SurvivingLayout, SurvivingMemory, SurvivingStore};

/// The piece that a process of the world writes.
struct SimulatedMemory {
    world: World,
    piece: Arc<Mutex<KeptBytes>>,
}

impl SimulatedMemory {
    /// A process that has ended stores nothing more, although its tasks still unwind.
    fn is_over(&self) -> bool {
        self.world.inner.sched.is_over()
    }

    /// Checked before each change of the memory. Does not unwind: the caller holds latches, and the tasks of a dead process do nothing.
    fn may_change(&self) -> bool {
        if let Some(end) = self.world.count_store() {
            self.world.inner.sched.end(end);
        }
        !self.is_over()
    }
}

impl SurvivingStore for SimulatedMemory {
    fn set_word(&self, index: usize, word: u64) {
        maybe_switch();
        if self.may_change() {
            lock(&self.piece).words[index] = word;
        }
    }

    fn fill_words(&self, first: usize, words: &[u64]) {
        let half = words.len() / 2;
        for (from, to) in [(0, half), (half, words.len())] {
            if self.may_change() {
                lock(&self.piece).words[first + from..first + to].copy_from_slice(&words[from..to]);
            }
        }
    }

    fn remove(&self, path: &Path) {
        let mut state = self.world.surviving();
        let is_named = state.pieces.get(path).is_some_and(|piece| Arc::ptr_eq(piece, &self.piece));
        if is_named && self.may_change() {
            state.pieces.remove(path);
        }
    }

    fn store(&self, place: u32, at: usize, bytes: &[u8]) {
        let half = bytes.len() / 2;
        for (from, to) in [(0, half), (half, bytes.len())] {
            maybe_switch();
            if !self.may_change() {
                return;
            }
            let mut kept = lock(&self.piece);
            let content = kept.places.get_mut(&place).expect("a place with memory");
            content[at + from..at + to].copy_from_slice(&bytes[from..to]);
        }
    }

    fn allocate(&self, place: u32) -> Result<(), IoError> {
        if lock(&self.piece).places.contains_key(&place) || self.is_over() {
            return Ok(());
        }
        let state = self.world.surviving();
        if state.places_max.is_some_and(|most| state.used_places() >= most) {
            return Err(IoError::new(IoErrorKind::NoSpace, "allocate memory that outlives the process"));
        }
        let mut kept = lock(&self.piece);
        let bytes = kept.layout.map_or(0, |layout| layout.place_bytes);
        kept.places.insert(place, vec![0; bytes]);
        Ok(())
    }

    fn give_up(&self, place: u32) {
        if self.may_change() {
            lock(&self.piece).places.remove(&place);
        }
    }
}

impl Drop for SimulatedMemory {
    fn drop(&mut self) {
        if !self.is_over() {
            lock(&self.piece).is_held = false;
        }
    }
}

impl World {
    /// Limits the places that all memory which outlives the process may have (`None`: no limit; 0: no such memory).
    pub fn set_surviving_places(&self, most: Option<usize>) {
        self.surviving().places_max = most;
    }

    /// The names of the pieces of memory that outlive the process.
    pub fn surviving_names(&self) -> Vec<PathBuf> {
        self.surviving().pieces.keys().cloned().collect()
    }

    /// Gives a piece another name. For a world that does not run.
    pub fn rename_surviving(&self, from: &Path, to: &Path) {
        let mut state = self.surviving();
        let piece = state.pieces.remove(from).expect("a piece of that name");
        state.pieces.insert(to.to_owned(), piece);
    }

    /// Flips bits of a byte of a piece, counted from the beginning of its words. For a world that does not run.
    pub fn corrupt_surviving(&self, path: &Path, at: usize, bits: u8) {
        let piece = Arc::clone(&self.surviving().pieces[path]);
        let mut kept = lock(&piece);
        let Some(behind) = at.checked_sub(kept.words.len() * 8) else {
            kept.words[at / 8] ^= u64::from(bits) << (at % 8 * 8);
            return;
        };
        let place_bytes = kept.layout.map_or(0, |layout| layout.place_bytes);
        if let Some(place) = kept.places.get_mut(&((behind / place_bytes) as u32)) {
            place[behind % place_bytes] ^= bits;
        }
    }

    pub(super) fn surviving_boot_id(&self) -> [u8; 16] {
        let boots = self.surviving().boots;
        (u128::from(self.seed()) << 64 | u128::from(boots)).to_be_bytes()
    }

    pub(super) fn make_surviving(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<SurvivingMemory, IoError> {
        let mut state = self.surviving();
        if !self.inner.sched.is_over() {
            state.pieces.remove(path);
        }
        if !state.has_folder_of(path) {
            return Err(IoError::new(IoErrorKind::NotFound, format!("make {}", path.display())));
        }
        if state.places_max == Some(0) {
            return Err(IoError::new(IoErrorKind::NoSpace, format!("make {}", path.display())));
        }
        let words = vec![0; layout.words];
        let kept = KeptBytes { words, places: BTreeMap::new(), layout: Some(layout), is_held: true };
        let piece = Arc::new(Mutex::new(kept));
        if !self.inner.sched.is_over() {
            state.pieces.insert(path.to_owned(), Arc::clone(&piece));
        }
        drop(state);
        Ok(SurvivingMemory::simulated(Box::new(SimulatedMemory { world: self.clone(), piece }), layout))
    }

    pub(super) fn surviving_image(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<SurvivingImage, IoError> {
        let state = self.surviving();
        let missing = || IoError::new(IoErrorKind::NotFound, format!("read {}", path.display()));
        let kept = lock(state.pieces.get(path).ok_or_else(missing)?).clone();
        if kept.layout == Some(layout) {
            Ok(SurvivingImage::simulated(kept.words, kept.places, layout))
        } else {
            Err(missing())
        }
    }

    pub(super) fn take_surviving(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<Option<SurvivingClaim>, IoError> {
        let image = self.surviving_image(path, layout)?;
        let Some(piece) = self.surviving().pieces.get(path).cloned() else { return Ok(None) };
        if self.inner.sched.is_over() || std::mem::replace(&mut lock(&piece).is_held, true) {
            return Ok(None);
        }
        let memory = SimulatedMemory { world: self.clone(), piece };
        Ok(Some(SurvivingClaim::simulated(image, Box::new(memory), path)))
    }

    pub(super) fn forget_surviving(&self, path: &Path) -> bool {
        !self.inner.sched.is_over() && self.surviving().pieces.remove(path).is_some()
    }

    pub(super) fn surviving(&self) -> MutexGuard<'_, SurvivingState> {
        self.inner.surviving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
