//! Which lives of a world have log caches that outlive the process, and which recoveries look for what they left. Where both do and the process
//! died, not the system, its death takes no acknowledged commit, however delayed.
//!
//! ```text
//!  begin_life ──► the life ──► end_life ──► a recovery ──end_recovery──► takes_over? ──► judged
//!                                               ▲  killed, or the power is cut │
//!                                               └──────── disturb ◄────────────┘
//! ```
//! A recovery that is killed leaves its own cache, with nothing that was promised but what it has taken over already: the next one takes over, too.

use std::path::{Path, PathBuf};

use log::CacheFolder;
use os::sim::{End, World};
use os::{Latch, Os, Rng};

use crate::nemesis::Nemesis;

/// Where a cache that outlives the process lies.
const FOLDER: &str = "/dev/shm";

/// The folder of the caches of the worlds' only data directory.
pub(crate) fn caches_of_data(root: &Path) -> CacheFolder {
    CacheFolder::of(root, (0, 1))
}

/// What a world has of such memory.
pub(crate) struct Survival {
    rng: Rng,
    /// Worlds without draw nothing.
    is_wanted: bool,
    /// In some worlds recoveries are killed, too.
    kills_recoveries: Option<Rng>,
    /// In some worlds lives end between two stores.
    strikes: Option<Rng>,
    /// The worlds' logs have a persisted buffer, too.
    persists: bool,
    /// The life that goes on has all of its caches in such memory.
    is_whole: bool,
    /// The recoveries of the life that goes on surely look there.
    is_looked_at: bool,
    /// The recoveries of the life that is over look there.
    folder: Option<PathBuf>,
    /// Every end since the beginning of that life was a process's, and what it left was looked for each time.
    takes_over: bool,
}

impl Survival {
    /// Draws from streams of its own, so that the seeds of the corpus keep their meaning. The names: of the stream, and of the one that says
    /// which worlds end between stores.
    pub(crate) fn draw(seed: u64, (name, at_stores): (&str, &str), kills_recoveries: bool) -> Survival {
        let mut rng = Rng::named(seed, name);
        let is_wanted = rng.chance(2, 3);
        let kills_recoveries =
            (is_wanted && kills_recoveries).then(|| Rng::named(seed, &format!("{name}, killed")));
        let mut strikes = Rng::named(seed, at_stores);
        let strikes = strikes.chance(2, 3).then_some(strikes);
        Survival {
            rng,
            is_wanted,
            kills_recoveries,
            strikes,
            persists: false,
            is_whole: false,
            is_looked_at: false,
            folder: None,
            takes_over: false,
        }
    }

    /// The same in a world whose log has a persisted buffer, or has none.
    pub(crate) fn beside_buffer(self, persists: bool) -> Survival {
        Survival { persists, ..self }
    }

    fn maybe(&mut self) -> Option<PathBuf> {
        let is_used = self.is_wanted && self.rng.chance(2, 3);
        is_used.then(|| FOLDER.into())
    }

    /// The folder for a life of the process; in some there is little such memory. And how it ends: what is stored into memory that outlives the
    /// process is as durable as what is written to a disk, so that the place between two stores is one to die at as an operation is.
    pub(crate) fn begin_life(&mut self, world: &World, nemesis: Nemesis) -> (Option<PathBuf>, Nemesis) {
        let folder = self.maybe();
        self.is_whole = folder.is_some();
        if self.is_whole && self.rng.chance(1, 8) {
            world.set_surviving_places(Some(self.rng.below(5) as usize));
            self.is_whole = false;
        }
        let nemesis = self.strike(nemesis, folder.is_some());
        (folder, nemesis)
    }

    /// In most lives of some worlds: between two stores.
    fn strike(&mut self, nemesis: Nemesis, has_cache: bool) -> Nemesis {
        let has_stores = has_cache || self.persists;
        let Some(rng) = self.strikes.as_mut().filter(|_| has_stores) else { return nemesis };
        if rng.chance(1, 4) {
            return nemesis;
        }
        let store = Nemesis::draw_store(rng);
        if self.persists && rng.chance(1, 2) {
            Nemesis::PowerOffAtStore(store)
        } else {
            // For nothing, if nobody looked at what is left.
            self.is_looked_at = has_cache;
            Nemesis::KillAtStore(store)
        }
    }

    /// The folder for the recoveries after a life that ended so.
    pub(crate) fn end_life(&mut self, world: &World, end: End) -> Option<PathBuf> {
        world.set_surviving_places(None);
        let is_looked_at = std::mem::take(&mut self.is_looked_at);
        self.folder = self.maybe().or_else(|| is_looked_at.then(|| FOLDER.into()));
        self.takes_over = self.is_whole && self.folder.is_some() && is_of_process(end);
        self.folder.clone()
    }

    /// What disturbs a recovery: in some worlds with such memory the process is killed where the power would have gone off.
    pub(crate) fn disturb(&mut self, nemesis: Nemesis) -> Nemesis {
        let (Some(rng), Nemesis::PowerOffAtIo(_)) = (&mut self.kills_recoveries, nemesis) else {
            return nemesis;
        };
        let drawn = if rng.chance(1, 2) { Nemesis::KillAtSwitch(1 + rng.below(400)) } else { nemesis };
        let Some(rng) = &mut self.strikes else { return drawn };
        if rng.chance(1, 2) { Nemesis::KillAtStore(1 + rng.below(40)) } else { drawn }
    }

    /// A recovery has ended so; true: all that was acknowledged before it must be there.
    pub(crate) fn end_recovery(&mut self, end: End) -> bool {
        self.takes_over &= is_of_process(end);
        self.takes_over
    }
}

/// Stands between a delayed commit and the note that it was acknowledged, wherever memory that outlives the process is to keep it.
///
/// A process may die at a store into that memory, or at the drop of a latch, where no task unwinds: it goes on until the next place where it
/// does, and what it stores meanwhile is not kept. Such a task must not tell anybody. A full commit needs no such place: it is told when the
/// log file has it, and every operation on a file of a dead process unwinds (so it is in `across`, `full`, `schema` and with the visitors).
pub(crate) fn told_by_the_living(os: &Os) {
    os.yield_point();
}

/// What a recovery that ended so has told; nothing when the process died meanwhile. A task of a dead process that has not yet come to a place
/// where it unwinds sees what those that did have left: that a database is not there, for one.
pub(crate) fn told_to_the_end<T>(end: End, told: &Latch<Option<T>>) -> Option<T> {
    told.lock().take().filter(|_| !is_crash(end))
}

/// The process died, with the system or without.
pub(crate) fn is_crash(end: End) -> bool {
    matches!(end, End::PowerOff | End::Killed)
}

/// The process is gone, the system is not.
fn is_of_process(end: End) -> bool {
    matches!(end, End::Killed | End::Returned)
}
