//! Locks, the life of a transaction, the durability decision, the recovery passes. Knows the log and positions in it; knows no page, no
//! row and no catalog: the [`ResourceManager`] (the crate `access`) defines the meaning of records.
//!
//! The entry points: [`TxnManager`] (one per database) makes a [`Transaction`]; [`LockManager`] (one per instance) grants locks;
//! [`durability::resolve`] decides whether a commit waits for its log; [`commit`] has all steps of a commit on one screen;
//! [`recovery`] brings a database back after a crash with the same `redo` and `undo` that a rollback uses; [`Versions`] keeps row versions for the
//! open snapshots.

mod active;
mod before_images;
pub mod commit;
pub mod durability;
mod entry;
mod error;
pub mod lock;
mod loser;
mod prepare;
pub mod recovery;
mod rollback;
mod snapshot;
mod state;
mod table;
mod transaction;
mod version;

pub use commit::{CommitOutcome, CommitProgress};
pub use durability::{CommitMode, CommitRequest, DelayedDurability, XactFacts};
pub use entry::ActiveRow;
pub use error::{TxnError, TxnResult};
pub use lock::{
    HASH_END, HeldLocks, LOCK_BYTES, LockError, LockManager, LockMark, LockMode, LockOwner, LockRow,
    LockSpace, LockWait, RequestStatus, Resource,
};
pub use rollback::Savepoint;
pub use snapshot::Snapshot;
pub use state::XactState;
pub use table::TxnManagerOptions;
pub use transaction::{IsolationLevel, ResourceManager, Transaction, TxnManager, TxnOptions, UndoBytes};
pub use version::{
    Before, OpenSnapshot, SnapshotKind, StoredVersion, VersionFigures, VersionLookup, VersionWriter, Versions,
};
