//! Accepts connections, authenticates, dispatches requests to workers.
//!
//! One thread listens, one watches for attentions, each login has a thread of its own, and then workers ([`workers`]) run
//! the connections ([`connection`]) that have something to do. What a session does is behind [`seam::SessionSource`].

mod channel;
mod config;
mod connection;
mod convert;
mod handshake;
mod listener;
mod logins;
mod monitor;
mod passwords;
pub mod seam;
mod shared;
mod sink;
mod throttle;
mod tls;
mod workers;

pub use config::{Config, ServeError};
pub use handshake::REPORTED_VERSION;
pub use listener::Server;
