//! The settings of a server, and the errors of a start.

use std::fmt;
use std::path::PathBuf;

use os::IoError;

/// Most connections that may be logged in at once, and the default.
pub const CONNECTIONS_MAX: usize = 32_767;

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address and port to listen on, `127.0.0.1:1433`; port 0 takes a free one.
    pub listen: String,
    /// Address and port of the dedicated administrator connection; `None`: there is none.
    pub listen_for_administrators: Option<String>,
    /// The folder of the TLS pair and the logins.
    pub data_dir: PathBuf,
    /// `@@SERVERNAME`, and the name in error messages.
    pub server_name: String,
    /// Connections that are logged in at once; further ones are refused with error 17809.
    pub connections_max: usize,
    /// Connections at once whose login has not succeeded yet; one more replaces the oldest.
    pub half_open_max: usize,
    /// Half-open connections of one address.
    pub half_open_of_address_max: usize,
    /// Take logins without TLS from other machines, too.
    pub allow_plaintext_login: bool,
    /// A certificate chain and key (PEM) instead of the self-signed pair in the data directory.
    pub tls_pair: Option<(PathBuf, PathBuf)>,
    /// Time from connecting to the end of the login, in ns.
    pub login_timeout_ns: u64,
    /// How long running requests may continue when the server stops, in ns: short ones finish, long ones are interrupted.
    pub stop_grace_ns: u64,
    /// The largest request, in bytes.
    pub message_bytes_max: usize,
    /// The largest procedure call, in bytes: its parameters may be large values.
    pub call_bytes_max: usize,
    /// Stack of a worker's thread, in bytes.
    pub worker_stack_bytes: usize,
}

impl Config {
    /// The defaults for a data directory.
    pub fn new(data_dir: PathBuf) -> Config {
        Config {
            listen: "127.0.0.1:1433".into(),
            listen_for_administrators: None,
            data_dir,
            server_name: os::process::host_name(),
            connections_max: CONNECTIONS_MAX,
            half_open_max: 4_096,
            half_open_of_address_max: 1_024,
            allow_plaintext_login: false,
            tls_pair: None,
            login_timeout_ns: 10_000_000_000,
            stop_grace_ns: 300_000_000,
            message_bytes_max: tds::limits::MESSAGE_BYTES_MAX,
            call_bytes_max: tds::limits::CALL_BYTES_MAX,
            worker_stack_bytes: 1024 * 1024,
        }
    }
}

/// A server could not start.
#[derive(Debug, Clone)]
pub enum ServeError {
    /// Files or sockets.
    Io(IoError),
    /// Certificate or key.
    Tls(String),
    /// The file of logins is damaged.
    Logins(String),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Io(error) => error.fmt(f),
            ServeError::Tls(what) | ServeError::Logins(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<IoError> for ServeError {
    fn from(error: IoError) -> Self {
        ServeError::Io(error)
    }
}
