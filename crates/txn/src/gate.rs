//! `CommitGate`: somebody else whom a fully durable commit waits for after its own log is hard (a synchronous replica).

use log::Lsn;

use crate::TxnResult;

/// Implemented above (availability groups); empty list without one. A delayed commit asks no gate ("Control Transaction Durability").
pub trait CommitGate: Send + Sync {
    /// Returns when everything up to `lsn` is as safe as the gate promises, or the gate no longer insists.
    fn wait_hardened(&self, lsn: Lsn) -> TxnResult<()>;
}
