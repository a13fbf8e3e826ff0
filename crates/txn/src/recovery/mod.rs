//! Recovery: three passes over the log that bring a database back to its last consistent state (ARIES, Mohan et al. 1992).
//!
//! 1. [`analyze()`]: from the last complete checkpoint to the end of the log, who was active (the losers)?
//! 2. [`redo()`]: every change again, winners' and losers', that a page does not have yet. Repeats history.
//! 3. [`undo()`]: the losers are rolled back, structure modifications first, with compensation records.
//!
//! Each pass may be cut off by another crash at any point: redo is guarded by page LSNs, undo by compensation records, and nothing is
//! forgotten until the checkpoint that follows recovery. Replicas and `RESTORE ... NORECOVERY` stop after redo.

mod analyze;
mod image;
mod redo;
mod undo;

pub use analyze::{Analysis, Loser, analyze};
pub use image::{CheckpointImage, write_checkpoint};
pub use redo::{RedoStats, redo};
pub use undo::{UndoStats, undo};
