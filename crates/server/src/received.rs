//! What reading a connection gives: a message, nothing yet, its end, an error.

use os::IoError;
use tds::ProtocolError;
use tds::packet::MessageHead;

/// Bytes read from the socket at once.
pub(crate) const READ_BYTES: usize = 8 * 1024;
/// Messages longer than this are discarded when memory is exhausted.
pub(crate) const LARGE_MESSAGE_BYTES: usize = 256 * 1024;

/// Why a connection cannot continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelError {
    /// The socket or TLS failed, or a time-out passed.
    Io(IoError),
    /// The peer violates the protocol.
    Protocol(ProtocolError),
}

impl From<IoError> for ChannelError {
    fn from(error: IoError) -> Self {
        ChannelError::Io(error)
    }
}

impl From<ProtocolError> for ChannelError {
    fn from(error: ProtocolError) -> Self {
        ChannelError::Protocol(error)
    }
}

impl std::fmt::Display for ChannelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChannelError::Io(error) => error.fmt(f),
            ChannelError::Protocol(error) => error.fmt(f),
        }
    }
}

/// The result of a search for the next message.
pub enum Next {
    /// A whole message.
    Message(MessageHead),
    /// Part of it is still missing.
    Nothing,
    /// The peer has closed the connection between messages.
    Closed,
}
