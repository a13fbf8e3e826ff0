//! A connection.

use std::sync::Arc;

use crate::error::IoError;

/// A connection. Reading by one task and writing by another at once is fine. Waits count as ASYNC_NETWORK_IO and are
/// ended by `shutdown`, not by `task::interrupt`.
pub trait Stream: Send + Sync {
    /// Reads at least one byte; 0 at the end of the stream; `TimedOut` after the read time-out.
    fn read(&self, buffer: &mut [u8]) -> Result<usize, IoError>;
    /// Reads without waiting: bytes read (0: the end of the stream), `None` when no byte is available.
    fn read_now(&self, buffer: &mut [u8]) -> Result<Option<usize>, IoError>;
    /// Writes some bytes; `TimedOut` when the peer takes none for the write time-out.
    fn write(&self, bytes: &[u8]) -> Result<usize, IoError>;
    /// Copies available bytes without consuming them: bytes copied (0: the peer has closed), `None` when none is available.
    fn peek_now(&self, buffer: &mut [u8]) -> Result<Option<usize>, IoError>;
    /// Has the peer ended its half of the connection, or all of it, whatever is unread before that?
    fn has_hung_up(&self) -> bool;
    /// `None`: for ever.
    fn set_read_timeout(&self, timeout_ns: Option<u64>) -> Result<(), IoError>;
    /// `None`: for ever.
    fn set_write_timeout(&self, timeout_ns: Option<u64>) -> Result<(), IoError>;
    /// Ends both directions and wakes tasks that wait in `read` or `write`.
    fn shutdown(&self);
    /// The other end: `127.0.0.1:50312`.
    fn peer_address(&self) -> String;
    /// This end.
    fn local_address(&self) -> String;
    /// True when both ends are on this machine's loopback.
    fn is_loopback(&self) -> bool;
    /// The descriptor to poll, where there is one.
    fn descriptor(&self) -> Option<i32>;

    /// Writes all bytes.
    fn write_all(&self, mut bytes: &[u8]) -> Result<(), IoError> {
        while !bytes.is_empty() {
            let count = self.write(bytes)?;
            bytes = &bytes[count..];
        }
        Ok(())
    }
}

/// `std::io::{Read, Write}` over a stream, for TLS and other codecs that want them.
#[derive(Clone)]
pub struct StreamIo(pub Arc<dyn Stream>);

impl std::io::Read for StreamIo {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(self.0.read(buffer)?)
    }
}

impl std::io::Write for StreamIo {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(self.0.write(bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
