//! Sockets: the traits, and the poller of many streams.

mod network;
mod poller;
mod stream;
mod tcp;

use std::sync::Arc;

pub use network::{Listener, Net};
pub use poller::Poller;
pub use stream::{Stream, StreamIo};

/// This machine's network.
pub(crate) fn real() -> Arc<dyn Net> {
    Arc::new(tcp::TcpNet)
}
