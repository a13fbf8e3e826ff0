//! Protocol errors of a peer: one error type for every decoder of this crate.

use std::fmt;

/// The part named by [`ProtocolError::TooLong`] for a whole message.
pub(crate) const MESSAGE: &str = "message";

/// A malformed, oversized or unsupported piece of the protocol. Hostile bytes give this error, never a panic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolError {
    /// The bytes end inside `part`.
    Truncated {
        /// The structure that was being read.
        part: &'static str,
    },
    /// A field of `part` has a value that the protocol does not allow.
    Invalid {
        /// The field.
        part: &'static str,
        /// The offending value, widened.
        value: u64,
    },
    /// A declared or actual size passes a limit of [`crate::limits`].
    TooLong {
        /// The structure that is too long.
        part: &'static str,
        /// The limit in bytes.
        limit: usize,
    },
    /// A message whose rest was skipped because the server gave it up (sent to the client as a refusal).
    GivenUp,
    /// A request to the coordinator of distributed transactions, which this server has not (sent to the client as a refusal).
    DistributedTransaction,
    /// Well-formed, but a feature that this server does not support (sent to the client as an error; the connection stays open).
    Unsupported {
        /// The feature, in words for a user.
        what: String,
    },
}

impl ProtocolError {
    /// Shorthand for [`ProtocolError::Invalid`].
    pub(crate) fn invalid(part: &'static str, value: impl Into<u64>) -> Self {
        ProtocolError::Invalid { part, value: value.into() }
    }

    /// True when the stream is still at a message boundary, so that the server can answer with an error token and
    /// keep the connection.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            ProtocolError::Unsupported { .. }
                | ProtocolError::GivenUp
                | ProtocolError::DistributedTransaction
                | ProtocolError::TooLong { part: MESSAGE, .. }
        )
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolError::Truncated { part } => write!(f, "the TDS stream ends inside {part}"),
            ProtocolError::Invalid { part, value } => write!(f, "{part} has the invalid value 0x{value:X}"),
            ProtocolError::TooLong { part, limit } => write!(f, "{part} is longer than {limit} bytes"),
            ProtocolError::GivenUp => f.write_str("the message was given up"),
            ProtocolError::DistributedTransaction => {
                f.write_str("there is no coordinator of distributed transactions")
            }
            ProtocolError::Unsupported { what } => write!(f, "{what} is not supported"),
        }
    }
}

impl std::error::Error for ProtocolError {}
