//! The snapshots that a transaction reads; `read_point.rs` opens and closes them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use txn::Snapshot;

/// The snapshots of a transaction.
#[derive(Default)]
pub(crate) struct ReadPoints {
    pub(crate) of_transaction: RefCell<Option<Arc<Snapshot>>>,
    pub(crate) of_statement: RefCell<Option<Arc<Snapshot>>>,
    /// It has read data at another level first.
    pub(crate) began_otherwise: Cell<bool>,
    /// When the snapshot was opened (monotonic, ns).
    pub(crate) opened_ns: Cell<Option<u64>>,
    /// When the user's transaction opened its first snapshot in any database.
    pub(crate) first_ns: Cell<Option<u64>>,
}
