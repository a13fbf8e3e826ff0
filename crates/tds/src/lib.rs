//! The wire codec of TDS, both ends, bytes to values, without sockets.
//!
//! [`server`] decodes requests and encodes answers; [`client`] does the reverse for `hardpan sql -S` and for tests.
//! Neither touches a socket: bytes go in through [`packet::MessageReader`] and come out of [`packet::MessageWriter`].
//! Everything a peer sends is hostile until proven otherwise: decoders return [`ProtocolError`], never panic, and never
//! allocate more than a small multiple of the bytes that have really arrived.

#![warn(missing_docs)]

pub mod bulk;
pub mod client;
pub mod error;
pub mod limits;
pub mod login7;
pub mod packet;
pub mod prelogin;
pub mod request;
pub mod rpc;
pub mod server;
pub mod smp;
mod table_value;
mod temporal;
pub mod token;
pub mod type_info;
mod value;
pub mod wire;

pub use error::ProtocolError;
