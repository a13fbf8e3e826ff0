//! Simulated persistent memory. Its contract, that of an adversary:
//!
//! * The process can die, and the power can go, between any two stores, in the middle of one (at a word of 8 bytes), and at each flush
//!   and fence.
//! * When the process dies, all stores are visible to the next run of the world.
//! * A power loss draws each line of 64 bytes that was stored into and not fenced: it is as it was when it was fenced last, or as it was after
//!   any store since, or a mixture of those by words. A line that was flushed and then fenced is as it was at the flush or later.
//! * The device can be missing ([`World::set_persistent_device`]).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::persistent_state::{Content, PersistentState, lock};
use super::report::End;
use super::world::World;
use crate::error::{IoError, IoErrorKind};
use crate::persistent::{PersistentMemory, PersistentStore, PersistentVolume};
use crate::seat::maybe_switch;
use crate::write_back::LINE_BYTES;

/// The simulated DAX volume.
pub const PERSISTENT_FOLDER: &str = "/pmem";
/// The simulated in-memory file system, which replaces one in a test.
pub const TEST_FOLDER: &str = "/tmpfs";
/// The piece that a process of the world writes.
struct SimulatedPersistent {
    world: World,
    piece: Arc<Mutex<Content>>,
    _owner: Arc<()>,
}

impl SimulatedPersistent {
    /// A process that has ended stores nothing more, although its tasks still unwind.
    fn with<T>(&self, act: impl FnOnce(&mut Content) -> T) -> Option<T> {
        maybe_switch();
        self.world.count_persistent_operation();
        (!self.world.inner.sched.is_over()).then(|| act(&mut lock(&self.piece)))
    }
}

impl PersistentStore for SimulatedPersistent {
    fn is_dax(&self) -> bool {
        lock(&self.piece).is_dax
    }

    fn store(&self, at: usize, bytes: &[u8]) {
        // The first half, then the second, so that a death can come between; each by lines.
        let half = if bytes.len() > 8 { bytes.len() / 2 } else { bytes.len() };
        for (from, to) in [(0, half), (half, bytes.len())] {
            if from == to {
                continue;
            }
            let stored = self.with(|content| {
                let mut next = from;
                while next < to {
                    let line_end = (at + next) / LINE_BYTES * LINE_BYTES + LINE_BYTES - at;
                    let end = line_end.min(to);
                    content.store(at + next, &bytes[next..end]);
                    next = end;
                }
            });
            if stored.is_none() {
                return;
            }
        }
    }

    fn flush(&self, at: usize, len: usize) {
        let _ = self.with(|content| content.flush(at, len));
    }

    fn fence(&self) {
        let _ = self.with(Content::fence);
    }

    fn read(&self, at: usize, len: usize) -> Vec<u8> {
        let content = lock(&self.piece);
        let byte = |place: usize| {
            content.lines.get(&(place / LINE_BYTES)).map_or(0, |line| line[place % LINE_BYTES])
        };
        (at..at + len).map(byte).collect()
    }
}

impl World {
    /// Removes the device of persistent memory, or brings it back with its contents. For a world that does not run.
    pub fn set_persistent_device(&self, is_there: bool) {
        self.persistent().is_away = !is_there;
    }

    /// Flips bits of a byte of a piece. For a world that does not run.
    pub fn corrupt_persistent(&self, path: &Path, at: usize, bits: u8) {
        let piece = Arc::clone(&self.persistent().pieces[path]);
        let mut content = lock(&piece);
        let mut line = content.line(at / LINE_BYTES);
        line[at % LINE_BYTES] ^= bits;
        content.lines.insert(at / LINE_BYTES, line);
    }

    fn count_persistent_operation(&self) {
        match self.count_store() {
            Some(End::PowerOff) => self.power_off(),
            Some(_) => self.kill_process(),
            None => {}
        }
    }

    /// The names of the pieces of persistent memory.
    pub fn persistent_names(&self) -> Vec<PathBuf> {
        self.persistent().pieces.keys().cloned().collect()
    }

    pub(super) fn has_persistent_volume(&self, folder: &Path, volume: PersistentVolume) -> bool {
        let is_one = folder.starts_with(PERSISTENT_FOLDER)
            || folder.starts_with(TEST_FOLDER) && volume == PersistentVolume::Test;
        is_one && !self.persistent().is_away
    }

    pub(super) fn open_persistent(
        &self,
        path: &Path,
        len_bytes: usize,
        is_new: bool,
        volume: PersistentVolume,
    ) -> Result<PersistentMemory, IoError> {
        let fail = |kind, what: &str| Err(IoError::new(kind, format!("{what} {}", path.display())));
        if self.persistent().is_away {
            return fail(IoErrorKind::NotFound, "the device is away: open");
        }
        if !self.has_persistent_volume(path, volume) {
            return fail(IoErrorKind::Invalid, "not on a DAX volume: map");
        }
        let mut state = self.persistent();
        if state.owners.get(path).is_some_and(|owner| owner.strong_count() > 0) && !self.inner.sched.is_over()
        {
            return fail(IoErrorKind::Locked, "somebody else has it: open");
        }
        let is_dax = path.starts_with(PERSISTENT_FOLDER);
        let piece = match state.pieces.get(path).cloned() {
            Some(_) if is_new => return fail(IoErrorKind::AlreadyExists, "make"),
            Some(piece) if lock(&piece).len_bytes != len_bytes => {
                return fail(IoErrorKind::Invalid, "another size: open");
            }
            Some(piece) => piece,
            None if !is_new => return fail(IoErrorKind::NotFound, "open"),
            None => {
                let piece = Arc::new(Mutex::new(Content { len_bytes, is_dax, ..Content::default() }));
                if !self.inner.sched.is_over() {
                    state.pieces.insert(path.to_owned(), Arc::clone(&piece));
                }
                piece
            }
        };
        let owner = Arc::new(());
        state.owners.insert(path.to_owned(), Arc::downgrade(&owner));
        drop(state);
        let memory = SimulatedPersistent { world: self.clone(), piece, _owner: owner };
        Ok(PersistentMemory::simulated(Box::new(memory), len_bytes))
    }

    pub(super) fn forget_persistent(&self, path: &Path) {
        if !self.inner.sched.is_over() {
            self.persistent().pieces.remove(path);
        }
    }

    pub(super) fn persistent(&self) -> MutexGuard<'_, PersistentState> {
        self.inner.persistent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn content() -> Content {
        Content { len_bytes: 4096, is_dax: true, ..Content::default() }
    }

    fn word(content: &Content, at: usize) -> u8 {
        content.line(at / LINE_BYTES)[at % LINE_BYTES]
    }

    #[test]
    fn what_was_flushed_and_fenced_is_there_and_nothing_else_is_sure() {
        let mut seen = [[false; 3]; 4];
        for seed in 0..200 {
            let mut content = content();
            content.store(0, &[1; 8]);
            content.flush(0, 8);
            content.fence();
            // Fenced, then stored over: either.
            content.store(64, &[1; 8]);
            content.flush(64, 8);
            content.fence();
            content.store(64, &[2; 8]);
            // Flushed, not fenced; and two words of one line, which may part.
            content.store(128, &[2; 8]);
            content.flush(128, 8);
            content.store(192, &[2; 8]);
            content.store(200, &[2; 8]);
            content.lose_power(&mut Rng::from_seed(seed));
            for (index, at) in [0, 64, 128].into_iter().enumerate() {
                seen[index][usize::from(word(&content, at))] = true;
            }
            seen[3][usize::from(word(&content, 192) == 0 && word(&content, 200) == 2)] = true;
        }
        assert_eq!(seen[0], [false, true, false], "it is durable");
        assert_eq!(seen[1], [false, true, true]);
        assert_eq!(seen[2], [true, false, true], "a flush alone promises nothing");
        assert_eq!(seen[3], [true, true, false], "words part");
    }

    #[test]
    fn what_is_stored_behind_the_flush_is_not_durable_by_the_fence() {
        let kept: Vec<u8> = (0..50)
            .map(|seed| {
                let mut content = content();
                content.store(0, &[1; 8]);
                content.flush(0, 8);
                content.store(0, &[2; 8]);
                content.fence();
                content.lose_power(&mut Rng::from_seed(seed));
                word(&content, 0)
            })
            .collect();
        assert!(kept.contains(&1) && kept.contains(&2) && !kept.contains(&0), "{kept:?}");
    }
}
