//! Accepts connections, authenticates, dispatches requests to workers.
//!
//! A thread listens at each port, one watches for attentions, at most two check passwords, and workers ([`workers`]) run the connections
//! ([`connection`]) that have work, from their first byte on. [`seam::SessionSource`] is the interface to sessions.

mod authentication;
mod bulk;
mod channel;
mod config;
mod connection;
mod connection_slots;
mod convert;
mod half_open;
mod handshake;
mod listener;
mod logins;
mod mars;
mod monitor;
mod passwords;
mod received;
pub mod seam;
mod shared;
mod sink;
mod throttle;
mod tls;
mod workers;

pub use config::{CONNECTIONS_MAX, Config, ServeError};
pub use handshake::REPORTED_VERSION;
pub use listener::{Server, Sockets};
