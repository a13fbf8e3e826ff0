//! One request for a lock as `sys.dm_tran_locks` shows it.

use super::modes::LockMode;
use super::resource::{LockOwner, Resource};

/// The state of one request in `sys.dm_tran_locks.request_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStatus {
    /// Granted.
    Grant,
    /// Held in a weaker mode, waits for a stronger one.
    Convert,
    /// Waits.
    Wait,
}

impl RequestStatus {
    /// As `request_status` of `sys.dm_tran_locks` shows it.
    pub fn name(self) -> &'static str {
        match self {
            RequestStatus::Grant => "GRANT",
            RequestStatus::Convert => "CONVERT",
            RequestStatus::Wait => "WAIT",
        }
    }
}

/// One row of `sys.dm_tran_locks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRow {
    /// The resource.
    pub resource: Resource,
    /// The mode (of a conversion: the requested mode).
    pub mode: LockMode,
    /// Granted or not.
    pub status: RequestStatus,
    /// The session, 0 for a background task.
    pub session_id: u32,
    /// Transaction or session.
    pub owner: LockOwner,
    /// The session whose lock or earlier request conflicts; 0 when none is known.
    pub blocking_session_id: u32,
}

impl LockRow {
    /// Is it requested and not granted?
    pub fn is_waiting(&self) -> bool {
        self.status != RequestStatus::Grant
    }
}
