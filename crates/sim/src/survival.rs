//! Log caches that survive the process: which lives of a world have them, and which recoveries look for them. If both do and only the
//! process died, not the system, the crash loses no acknowledged commit, delayed or not.
//!
//! ```text
//!  begin_life ──► the life ──► end_life ──► a recovery ──end_recovery──► takes_over? ──► judged
//!                                               ▲  killed, or the power is cut │
//!                                               └──────── disturb ◄────────────┘
//! ```
//! A killed recovery leaves a cache of its own, which promises nothing beyond what it took over already: the next recovery takes that over, too.

use std::path::{Path, PathBuf};

use log::CacheFolder;
use os::sim::{End, World};
use os::{Latch, Os, Rng};

use crate::nemesis::Nemesis;

/// Where a log cache that survives the process is stored.
const FOLDER: &str = "/dev/shm";

/// The cache folder of the worlds' only data directory.
pub(crate) fn caches_of_data(root: &Path) -> CacheFolder {
    CacheFolder::of(root, (0, 1))
}

/// The use of surviving memory in one world.
pub(crate) struct Survival {
    rng: Rng,
    /// Worlds without surviving memory draw nothing.
    is_wanted: bool,
    /// In some worlds recoveries are killed, too.
    kills_recoveries: Option<Rng>,
    /// In some worlds a life ends between two stores.
    strikes: Option<Rng>,
    /// The worlds' logs have a persisted log buffer as well.
    persists: bool,
    /// All log caches of the current life survive the process.
    is_whole: bool,
    /// All recoveries of the current life look for surviving caches.
    is_looked_at: bool,
    /// The folder in which the recoveries after the last life look for caches.
    folder: Option<PathBuf>,
    /// Since that life began only the process died, each time, and each recovery looked for its cache.
    takes_over: bool,
}

impl Survival {
    /// Draws from random streams of its own, so that the seeds of the corpus keep their meaning. `name` is that stream; `at_stores` is the stream
    /// that decides which worlds end between stores.
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

    /// Adapts the draw to a world whose log has a persisted buffer or has none.
    pub(crate) fn beside_buffer(self, persists: bool) -> Survival {
        Survival { persists, ..self }
    }

    fn maybe(&mut self) -> Option<PathBuf> {
        let is_used = self.is_wanted && self.rng.chance(2, 3);
        is_used.then(|| FOLDER.into())
    }

    /// The cache folder for a life of the process; in some lives there is little such memory. Also returns how the life ends: a store into memory
    /// that survives the process is as durable as a disk write, so a crash between two stores is tested as well as one between two I/Os.
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

    /// Lets most lives of some worlds end between two stores.
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
            // A crash between stores tests nothing unless recovery looks at what is left.
            self.is_looked_at = has_cache;
            Nemesis::KillAtStore(store)
        }
    }

    /// The cache folder for the recoveries after a life that ended with `end`.
    pub(crate) fn end_life(&mut self, world: &World, end: End) -> Option<PathBuf> {
        world.set_surviving_places(None);
        let is_looked_at = std::mem::take(&mut self.is_looked_at);
        self.folder = self.maybe().or_else(|| is_looked_at.then(|| FOLDER.into()));
        self.takes_over = self.is_whole && self.folder.is_some() && is_of_process(end);
        self.folder.clone()
    }

    /// The fault that disturbs a recovery: in some worlds with surviving memory the process is killed instead of a power failure.
    pub(crate) fn disturb(&mut self, nemesis: Nemesis) -> Nemesis {
        let (Some(rng), Nemesis::PowerOffAtIo(_)) = (&mut self.kills_recoveries, nemesis) else {
            return nemesis;
        };
        let drawn = if rng.chance(1, 2) { Nemesis::KillAtSwitch(1 + rng.below(400)) } else { nemesis };
        let Some(rng) = &mut self.strikes else { return drawn };
        if rng.chance(1, 2) { Nemesis::KillAtStore(1 + rng.below(40)) } else { drawn }
    }

    /// A recovery has ended with `end`. True: all commits acknowledged before it must exist.
    pub(crate) fn end_recovery(&mut self, end: End) -> bool {
        self.takes_over &= is_of_process(end);
        self.takes_over
    }
}

/// A yield point between a delayed commit and the record of its acknowledgement, needed wherever surviving memory keeps the commit.
///
/// A process may die at a store into that memory, or when a latch is dropped, where tasks do not unwind: such a task runs on to the next place
/// where it unwinds, and its stores meanwhile are not kept. It must not acknowledge anything. A full commit needs no such point: it is
/// acknowledged when the log file has it, and every file operation of a dead process unwinds (as in `across`, `full`, `schema` and the visitors).
pub(crate) fn told_by_the_living(os: &Os) {
    os.yield_point();
}

/// The result of a recovery that ended with `end`; `None` when the process died meanwhile. A task of a dead process that has not unwound yet
/// sees the state that other tasks left while they unwound: for example, that a database does not exist.
pub(crate) fn told_to_the_end<T>(end: End, told: &Latch<Option<T>>) -> Option<T> {
    told.lock().take().filter(|_| !is_crash(end))
}

/// The process died, with the system or alone.
pub(crate) fn is_crash(end: End) -> bool {
    matches!(end, End::PowerOff | End::Killed)
}

/// The process died, the system did not.
fn is_of_process(end: End) -> bool {
    matches!(end, End::Killed | End::Returned)
}
