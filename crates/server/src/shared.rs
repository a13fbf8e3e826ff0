//! What all connections of a server share.

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

/// What all connections of a server share.
pub struct Shared {
    /// The world.
    pub os: Os,
    /// Settings.
    pub config: Config,
    /// Who may log in.
    pub logins: Arc<Logins>,
    /// Who checks their passwords.
    pub authenticator: Arc<Authenticator>,
    /// How many may be logged in.
    pub places: ConnectionSlots,
    /// Certificates.
    pub tls: TlsContext,
    /// Where sessions come from.
    pub sessions: Box<dyn SessionSource>,
    /// All connections.
    pub table: Arc<ConnectionTable>,
    /// Who runs them.
    pub workers: Arc<Workers<ConnectionEntry>>,
    /// Who runs the administrators' connection, however many of the others wait.
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
