//! The wire codec of TDS, both ends, bytes to values, without sockets.
//!
//! `server` decodes requests and encodes answers; `client` does the reverse for `hardpan sql -S` and for tests. Neither
//! touches a socket: bytes go in through [`packet::MessageReader`] and come out of [`packet::MessageWriter`].

#![warn(missing_docs)]

pub mod error;
pub mod limits;
pub mod login7;
pub mod packet;
pub mod prelogin;
pub mod wire;

pub use error::ProtocolError;
