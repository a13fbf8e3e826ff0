//! The content of simulated memory that outlives the process, and the effect of a power loss; contract in `surviving.rs`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::rng::Rng;
use crate::surviving::SurvivingLayout;

const PAGE_BYTES: usize = 4096;

/// The content of a piece of memory.
#[derive(Clone, Default)]
pub(super) struct KeptBytes {
    pub(super) words: Vec<u64>,
    pub(super) places: BTreeMap<u32, Vec<u8>>,
    pub(super) layout: Option<SurvivingLayout>,
    /// The process that made it, or claims it, is alive.
    pub(super) is_held: bool,
}

/// The state of a folder. One that was never made counts as existing from the beginning: `/dev/shm`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Folder {
    Ours,
    /// Another user's, or a link.
    Others,
    Removed,
}

/// All such memory of a world, by name.
pub(super) struct SurvivingState {
    pub(super) pieces: BTreeMap<PathBuf, Arc<Mutex<KeptBytes>>>,
    /// The folders that were made for it.
    pub(super) folders: BTreeMap<PathBuf, Folder>,
    pub(super) rng: Rng,
    pub(super) boots: u64,
    /// Most places that all may have together.
    pub(super) places_max: Option<usize>,
}

impl SurvivingState {
    pub(super) fn new(rng: Rng) -> SurvivingState {
        SurvivingState { pieces: BTreeMap::new(), folders: BTreeMap::new(), rng, boots: 1, places_max: None }
    }

    pub(super) fn power_loss(&mut self) {
        self.boots += 1;
        let fate = self.rng.below(3);
        if fate == 0 {
            self.pieces.clear();
            self.folders.values_mut().for_each(|folder| *folder = Folder::Removed);
        }
        if fate == 1 {
            for piece in self.pieces.values() {
                let mut kept = lock(piece);
                for word in &mut kept.words {
                    *word = if self.rng.chance(1, 8) { 0 } else { *word };
                }
                for page in kept.places.values_mut().flat_map(|place| place.chunks_mut(PAGE_BYTES)) {
                    if self.rng.chance(1, 8) {
                        page.fill(0);
                    }
                }
            }
        }
    }

    /// A new process: releases the locks of the old one.
    pub(super) fn release_locks(&mut self) {
        self.pieces.values().for_each(|piece| lock(piece).is_held = false);
    }

    pub(super) fn used_places(&self) -> usize {
        self.pieces.values().map(|piece| lock(piece).places.len()).sum()
    }
}

pub(super) fn lock(piece: &Mutex<KeptBytes>) -> MutexGuard<'_, KeptBytes> {
    piece.lock().unwrap_or_else(PoisonError::into_inner)
}
