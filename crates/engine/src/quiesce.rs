//! Hardening of the log for checkpoints and clean closes.

use log::{FlushReason, Log, LogError, Lsn};

/// Hardens the log up to `lsn` for a planned step that needs it complete: the end of a checkpoint, a clean close. The only use of this
/// reason.
pub(crate) fn quiesce(log: &Log, lsn: Lsn) -> Result<(), LogError> {
    if lsn.is_null() {
        return Ok(());
    }
    log.harden(lsn, FlushReason::Quiesce)
}
