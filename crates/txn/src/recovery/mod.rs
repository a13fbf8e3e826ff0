//! Recovery: three passes over the log that bring a database back to its last consistent state (ARIES, Mohan et al. 1992).
//!
//! 1. [`analyze()`]: from the last complete checkpoint to the end of the log: which transactions were active (the losers)?
//! 2. [`redo()`]: repeats history: applies every change, of winners and losers, that a page does not have yet.
//! 3. [`undo()`]: the losers are rolled back, structure modifications first, with compensation records.
//!
//! Between the first two, the caller looks up the decisions of commits over several databases, which say which transactions in doubt are losers
//! ([`Analysis::resolve`]); the others are committed after redo ([`commit_decided`]).
//!
//! Another crash may interrupt each pass at any point: redo is guarded by page LSNs, undo by compensation records, and no log is
//! truncated before the checkpoint that follows recovery. Replicas and `RESTORE ... NORECOVERY` stop after redo.

mod analysis;
mod analyze;
mod image;
mod in_doubt;
mod prepared;
mod redo;
mod undo;
mod unreadable;

pub use crate::loser::Loser;
pub use analysis::{Analysis, InDoubt};
pub use analyze::analyze;
pub use image::{CheckpointImage, CheckpointPayment, write_checkpoint};
pub use in_doubt::commit_decided;
pub use redo::{RedoStats, redo};
pub use undo::{UndoStats, undo};
