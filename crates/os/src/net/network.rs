//! The network of a world, and its listening sockets.

use std::sync::Arc;

use super::poller::Poller;
use super::stream::Stream;
use crate::error::IoError;

/// The network of a world.
pub trait Net: Send + Sync {
    /// Listens on `address` (`127.0.0.1:1433`, `[::1]:0`; port 0: any).
    fn listen(&self, address: &str) -> Result<Arc<dyn Listener>, IoError>;
    /// Connects to `address` (a name is resolved), with a timeout of `timeout_ns`.
    fn connect(&self, address: &str, timeout_ns: u64) -> Result<Arc<dyn Stream>, IoError>;
    /// A poller of this network's streams.
    fn poller(&self) -> Result<Poller, IoError>;
}

/// A listening socket.
pub trait Listener: Send + Sync {
    /// The next connection; `None` when `timeout_ns` passed or `close` was called.
    fn accept(&self, timeout_ns: Option<u64>) -> Result<Option<Arc<dyn Stream>>, IoError>;
    /// `127.0.0.1:1433`.
    fn local_address(&self) -> String;
    /// Ends present and later `accept` calls.
    fn close(&self);
}
