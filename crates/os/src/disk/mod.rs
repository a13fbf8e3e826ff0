//! Files and directories: the traits that real and simulated disks share, aligned buffers, statistics.

mod aligned;
mod file;
mod file_systems;
mod io_queue;
mod links;
mod linux;
mod pending;
mod queue;
mod stats;
mod transfer;

use std::sync::Arc;

pub use aligned::AlignedBuf;
pub(crate) use aligned::Lender;
pub use file::{DeviceTraits, File, OpenOptions, WriteMode};
pub use file_systems::{DirectoryEntry, Disk, FileLock};
pub use io_queue::{Completion, IoQueue, Request};
pub use pending::{IoKind, PendingIo};
pub(crate) use pending::{PendingRequests, Underway};
pub use stats::FileStats;
pub(crate) use stats::Meter;
pub(crate) use transfer::{read_whole, write_whole};

/// This machine's disks.
pub(crate) fn real() -> Arc<dyn Disk> {
    Arc::new(linux::LinuxDisk)
}
