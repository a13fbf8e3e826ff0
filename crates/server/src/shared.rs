//! The state shared by all connections of a server.

use std::sync::Arc;

use os::{Counter, Os};

use crate::authentication::Authenticator;
use crate::config::Config;
use crate::connection_slots::ConnectionSlots;
use crate::logins::Logins;
use crate::monitor::{ConnectionEntry, ConnectionTable};
use crate::seam::SessionSource;
use crate::tls::TlsContext;
use crate::workers::Workers;

/// The state shared by all connections of a server.
pub struct Shared {
    /// The operating system interface.
    pub os: Os,
    /// Settings.
    pub config: Config,
    /// The SQL logins.
    pub logins: Arc<Logins>,
    /// Checks their passwords.
    pub authenticator: Arc<Authenticator>,
    /// The places for logged-in connections.
    pub places: ConnectionSlots,
    /// Certificates.
    pub tls: TlsContext,
    /// Opens sessions.
    pub sessions: Box<dyn SessionSource>,
    /// All connections.
    pub table: Arc<ConnectionTable>,
    /// The workers that run connections.
    pub workers: Arc<Workers<ConnectionEntry>>,
    /// The workers of the administrators' connection, however many of the others wait.
    pub administrator_workers: Arc<Workers<ConnectionEntry>>,
    /// `SQL Statistics: Batch Requests/sec`.
    pub batch_requests: Arc<Counter>,
    /// `SQLServer:SQL Statistics`, `SQL Attention rate`.
    pub attentions: Arc<Counter>,
    /// `General Statistics: Logins/sec`.
    pub logins_total: Arc<Counter>,
    /// `General Statistics: User Connections`.
    pub user_connections: Arc<Counter>,
}
