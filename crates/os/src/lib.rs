//! Every contact with the world, real and simulated: files, sockets, clocks, randomness, threads, latches, waits, counters.
//!
//! All blocking calls are in this crate, so the same code fills `sys.dm_os_wait_stats`, contains the switch points of the
//! deterministic simulation ([`sim`]) and lets KILL, attention and shutdown interrupt waits ([`task`]).
//! An [`Os`] is passed explicitly; [`Os::real`] gives this machine, [`sim::World`] a simulated one.
//!
//! Ways to block: [`Latch`], [`RwLatch`], [`Condition`], [`Watermark`], [`Signal`], [`Os::sleep`], [`File`], [`IoQueue`],
//! [`Stream`], [`Listener`], [`Poller`] (idle threads, in no statistics), [`JoinHandle::join`]. Everything else in the
//! workspace is built from them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this crate alone touches the world")]

mod clock;
mod condition;
mod counters;
mod disk;
mod error;
pub mod fetch;
mod futex;
mod latch;
pub mod memory;
mod net;
mod never;
mod os;
mod patience;
mod persistent;
pub mod process;
mod rank;
pub mod report;
mod rng;
mod rwlatch;
mod seat;
mod signal;
pub mod sim;
mod sort;
mod stripe;
mod surviving;
mod surviving_folder;
pub mod task;
pub mod terminal;
mod termination;
mod thread;
mod wait;
mod waiting;
mod watermark;
mod word;
mod write_back;

pub use clock::{Clock, TICKS_PER_SECOND, UNIX_EPOCH_TICKS};
pub use condition::Condition;
pub use counters::{Counter, CounterRegistry, CounterRow, CounterSet, CounterType};
pub use disk::{
    AlignedBuf, Completion, DeviceTraits, DirectoryEntry, Disk, File, FileLock, FileStats, IoKind, IoQueue,
    OpenOptions, PendingIo, Request, WriteMode,
};
pub use error::{IoError, IoErrorKind};
pub use latch::{Latch, LatchGuard};
pub use net::{Listener, Net, Poller, Stream, StreamIo};
pub use never::{never_count, note_never};
pub use os::Os;
pub use patience::set_patient;
pub use persistent::{PersistentMemory, PersistentVolume};
pub use rank::{LatchRank, held as held_ranks};
pub use rng::Rng;
pub use rwlatch::{ReadArcGuard, ReadGuard, RwLatch, WriteArcGuard, WriteGuard};
pub use signal::Signal;
pub use sort::sort_by;
pub use surviving::{SurvivingClaim, SurvivingImage, SurvivingLayout, SurvivingMemory};
pub use termination::TerminationWatcher;
pub use thread::{JoinHandle, Panicked, SpawnOptions, is_panic_contained};
pub use wait::{Interrupted, LatchRow, SessionWaits, WaitError, WaitOutcome, WaitRow, WaitStats, WaitType};
pub use waiting::{DetachedWait, WaitObserver, observe_waits, wait_as, wait_timed};
pub use watermark::Watermark;
