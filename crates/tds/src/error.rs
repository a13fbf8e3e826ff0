//! What a peer can do wrong on the wire: one error type for every decoder of this crate.

use std::fmt;

/// What is too long when [`ProtocolError::TooLong`] speaks of a whole message.
pub(crate) const MESSAGE: &str = "message";

/// A malformed, oversized or unsupported piece of the protocol. Never a panic: hostile bytes end here.
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
    /// A message whose rest was passed over because its reader gave it up (sent to the client as a refusal).
    GivenUp,
    /// Well-formed, but something this server does not speak (sent to the client as a refusal, not a hang-up).
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

    /// True when the stream itself is still in step, so that the refusal can be answered with an error token and
    /// the connection goes on.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            ProtocolError::Unsupported { .. }
                | ProtocolError::GivenUp
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
            ProtocolError::Unsupported { what } => write!(f, "{what} is not supported"),
        }
    }
}

impl std::error::Error for ProtocolError {}
