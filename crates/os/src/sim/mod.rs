//! The simulated world: a deterministic scheduler of ordinary threads, virtual time, and a disk that keeps, loses or
//! tears what was not confirmed. Production and simulation run the same code of every crate above `os`.
//!
//! ```text
//!  World::new ──► run(root) ──root returns──► ended (Returned: page cache survives, as after kill -9)
//!                   │  ├─kill_process()─────► ended (Killed: the same, at any moment)
//!                   │  ├─power_off()────────► ended (PowerOff: the disk draws what survives)
//!                   │  └─panic, deadlock, never!, step limit ──► ended (Failed, see Report::failures)
//!                   └── each end unwinds all tasks; then run() again = restart on the surviving disk
//! ```
//! The same seed, profile and code give the same [`Report::trace_hash`].

mod bug;
mod disk;
mod disk_state;
mod each_failure;
mod fault;
mod file;
mod inode;
mod names;
mod persistent;
mod persistent_state;
mod profile;
mod queue;
mod report;
mod run;
mod sched;
mod seats;
mod survival;
mod surviving;
mod surviving_folder;
mod surviving_state;
mod trace;
mod world;

pub use bug::{Bug, is_planted, reach};
pub use disk_state::DiskImage;
pub use each_failure::for_each_io_failure;
pub use fault::{Effect, Fault, Operation};
pub use persistent::{PERSISTENT_FOLDER, TEST_FOLDER};
pub use profile::Profile;
pub use report::{End, Report};
pub use trace::{WriteEvent, WriteStep};
pub use world::World;
