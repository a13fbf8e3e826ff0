//! Hardening for something planned.

use log::{FlushReason, Log, LogError, Lsn};

/// Hardens the log up to `lsn` because something planned needs it whole: the end of a checkpoint, a clean close. The one place with this
/// reason.
pub(crate) fn quiesce(log: &Log, lsn: Lsn) -> Result<(), LogError> {
    if lsn.is_null() {
        return Ok(());
    }
    log.harden(lsn, FlushReason::Quiesce)
}
