//! The content of simulated persistent memory, and the effect of a power loss; contract in `persistent.rs`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::rng::Rng;
use crate::write_back::LINE_BYTES;

/// Older versions of a line that may survive; more stores than that between two fences are rare.
const VERSIONS_MAX: usize = 8;

pub(super) type LineBytes = [u8; LINE_BYTES];

/// The content of a piece of memory: lines that were ever stored into, and for lines that are not durable the versions that may survive,
/// the durable one first.
#[derive(Clone, Default)]
pub(super) struct Content {
    pub(super) len_bytes: usize,
    pub(super) is_dax: bool,
    pub(super) lines: BTreeMap<usize, LineBytes>,
    pub(super) pending: BTreeMap<usize, Pending>,
}

#[derive(Clone)]
pub(super) struct Pending {
    versions: Vec<LineBytes>,
    /// Which of the versions (or the present content, behind them) was flushed; the next fence makes it durable.
    flushed: Option<LineBytes>,
}

impl Content {
    pub(super) fn line(&self, line: usize) -> LineBytes {
        self.lines.get(&line).copied().unwrap_or([0; LINE_BYTES])
    }

    /// Stores bytes of one line.
    pub(super) fn store(&mut self, at: usize, bytes: &[u8]) {
        let (line, within) = (at / LINE_BYTES, at % LINE_BYTES);
        let before = self.line(line);
        let pending =
            self.pending.entry(line).or_insert_with(|| Pending { versions: Vec::new(), flushed: None });
        if pending.versions.len() == VERSIONS_MAX {
            // The durable one stays.
            pending.versions.remove(1);
        }
        pending.versions.push(before);
        let content = self.lines.entry(line).or_insert([0; LINE_BYTES]);
        content[within..within + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn flush(&mut self, at: usize, len: usize) {
        for line in at / LINE_BYTES..(at + len).div_ceil(LINE_BYTES) {
            let present = self.line(line);
            if let Some(pending) = self.pending.get_mut(&line) {
                pending.flushed = Some(present);
            }
        }
    }

    pub(super) fn fence(&mut self) {
        let lines = &self.lines;
        self.pending.retain(|line, pending| {
            let Some(durable) = pending.flushed.take() else { return true };
            // Stores after the flush are not durable.
            pending.versions = vec![durable];
            lines.get(line) != Some(&durable)
        });
    }

    pub(super) fn lose_power(&mut self, rng: &mut Rng) {
        for (line, pending) in std::mem::take(&mut self.pending) {
            let mut versions = pending.versions;
            versions.push(self.line(line));
            let newest = versions.len() as u64 - 1;
            let fate = rng.below(4);
            let mut chosen = versions[if fate == 0 { 0 } else { rng.between(0, newest) as usize }];
            if fate == 1 {
                for word in 0..LINE_BYTES / 8 {
                    let version = versions[rng.between(0, newest) as usize];
                    chosen[word * 8..word * 8 + 8].copy_from_slice(&version[word * 8..word * 8 + 8]);
                }
            }
            self.lines.insert(line, chosen);
        }
    }
}

/// All such memory of a world, by name.
pub(super) struct PersistentState {
    pub(super) pieces: BTreeMap<PathBuf, Arc<Mutex<Content>>>,
    /// The owners of pieces.
    pub(super) owners: BTreeMap<PathBuf, Weak<()>>,
    pub(super) rng: Rng,
    pub(super) is_away: bool,
}

impl PersistentState {
    pub(super) fn new(rng: Rng) -> PersistentState {
        let (pieces, owners) = (BTreeMap::new(), BTreeMap::new());
        PersistentState { pieces, owners, rng, is_away: false }
    }

    /// A new process begins: the owners of pieces are dead.
    pub(super) fn release_owners(&mut self) {
        self.owners.clear();
    }

    pub(super) fn power_loss(&mut self) {
        self.pieces.retain(|_, piece| lock(piece).is_dax);
        for piece in self.pieces.values() {
            lock(piece).lose_power(&mut self.rng);
        }
    }
}

pub(super) fn lock(piece: &Mutex<Content>) -> MutexGuard<'_, Content> {
    piece.lock().unwrap_or_else(PoisonError::into_inner)
}
