//! The server as a whole: listening, starting, stopping.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use os::{IoErrorKind, JoinHandle, Listener, Os, Stream, WaitType};

use crate::authentication::Authenticator;
use crate::config::{Config, ServeError};
use crate::connection::Client;
use crate::connection_slots::ConnectionSlots;
use crate::half_open::HalfOpen;
use crate::logins::Logins;
use crate::monitor::ConnectionTable;
use crate::seam::SessionSource;
use crate::shared::Shared;
use crate::tls::TlsContext;
use crate::workers::Workers;

/// How long the workers may take to end, in ns.
const WORKERS_END_NS: u64 = 1_000_000_000;
/// Pause after a failure to accept (no descriptors or memory left), in ns: the end of another connection may help.
const ACCEPT_PAUSE_NS: u64 = 10_000_000;
/// How often such a failure is logged, in ns.
const ACCEPT_REPORT_NS: u64 = 10_000_000_000;
/// While so many connections wait for a worker, further ones wait in the system's accept queue, for a short time each.
const READY_MAX: usize = 256;
const READY_PAUSE_NS: u64 = 1_000_000;
/// The processors that the administrators' connection may use at once.
const ADMINISTRATOR_PROCESSORS: usize = 1;
/// The administrators' address when their default port is taken.
const ANY_LOCAL_PORT: &str = "127.0.0.1:0";

/// The sockets of a server: bound before anything else is done, so that a failed start changes nothing.
pub struct Sockets {
    users: Arc<dyn Listener>,
    administrators: Option<Arc<dyn Listener>>,
}

impl Sockets {
    /// Binds the addresses of `config`. If `may_move`, the administrators' port may be replaced by another when it is taken.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn bind(os: &Os, config: &Config, may_move: bool) -> Result<Sockets, ServeError> {
        let users = os.net().listen(&config.listen)?;
        let listen = |address: &String| match os.net().listen(address) {
            Err(_) if may_move => os.net().listen(ANY_LOCAL_PORT),
            bound => bound,
        };
        let administrators = config.listen_for_administrators.as_ref().map(listen).transpose()?;
        Ok(Sockets { users, administrators })
    }
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    sockets: Sockets,
    threads: Vec<JoinHandle>,
    generated_password: Option<String>,
}

impl Server {
    /// Serves at `sockets` until [`stop`](Self::stop). `password` sets the password of `sa`; without it the first start
    /// generates one.
    pub fn start(
        os: &Os,
        config: Config,
        sockets: Sockets,
        password: Option<&str>,
        sessions: Box<dyn SessionSource>,
    ) -> Result<Server, ServeError> {
        let tls = match &config.tls_pair {
            Some((certificate, key)) => TlsContext::from_files(os, certificate, key)?,
            None => TlsContext::from_data_dir(os, &config.data_dir, &config.server_name)?,
        };
        let counter =
            |object: &str, name: &str| os.counters().counter(&format!("SQLServer:{object}"), name, "");
        let half_open =
            HalfOpen::new(config.half_open_max, config.half_open_of_address_max, config.login_timeout_ns);
        let table = ConnectionTable::new(os, half_open);
        let workers_on = |processors: usize| {
            let table = table.clone();
            let find = Box::new(move |number| table.became_readable(number));
            Workers::new(os, config.worker_stack_bytes, processors, find)
        };
        let (workers, administrator_workers) =
            (workers_on(os::process::processor_count())?, workers_on(ADMINISTRATOR_PROCESSORS)?);
        // The last step that can fail: a generated password is stored nowhere else.
        let (logins, generated_password) = Logins::open(os, &config.data_dir, password)?;
        let logins = Arc::new(logins);
        let shared = Arc::new(Shared {
            os: os.clone(),
            authenticator: Authenticator::new(os, &logins),
            logins,
            // One session number is reserved for administrators.
            places: ConnectionSlots::new(config.connections_max.clamp(1, session::SESSIONS_MAX - 1)),
            tls,
            sessions,
            table,
            workers,
            administrator_workers,
            attentions: os.counters().counter_of_type(
                "SQLServer:SQL Statistics",
                "SQL Attention rate",
                "",
                os::CounterType::BulkCount,
            ),
            batch_requests: counter("SQL Statistics", "Batch Requests/sec"),
            logins_total: counter("General Statistics", "Logins/sec"),
            user_connections: counter("General Statistics", "User Connections"),
            config,
        });
        let threads = start_threads(os, &shared, &sockets);
        Ok(Server { shared, sockets, threads, generated_password })
    }

    /// Address and port in use.
    pub fn local_address(&self) -> String {
        self.sockets.users.local_address()
    }

    /// Address and port for administrators, if they have one.
    pub fn administrator_address(&self) -> Option<String> {
        self.sockets.administrators.as_ref().map(|listener| listener.local_address())
    }

    /// The password of `sa`, when this start has generated it: print it now, it is stored nowhere else.
    pub fn generated_password(&self) -> Option<&str> {
        self.generated_password.as_deref()
    }

    /// Stops accepting, lets running requests finish within the grace period, ends all connections.
    pub fn stop(self) {
        self.sockets.users.close();
        self.sockets.administrators.iter().for_each(|listener| listener.close());
        self.shared.authenticator.stop();
        self.shared.table.drain(self.shared.config.stop_grace_ns);
        self.shared.table.stop();
        self.shared.workers.stop(WORKERS_END_NS);
        self.shared.administrator_workers.stop(WORKERS_END_NS);
        for thread in self.threads {
            if let Err(panicked) = thread.join() {
                os::report::error("Server", &panicked.0);
            }
        }
    }
}

fn start_threads(os: &Os, shared: &Arc<Shared>, sockets: &Sockets) -> Vec<JoinHandle> {
    let watching = shared.clone();
    let mut threads = vec![os.spawn("ATTENTION", move || watching.table.run(&watching.workers))];
    let numbers = Arc::new(AtomicU64::new(0));
    let mut listen = |listener: &Arc<dyn Listener>, is_administrator| {
        let (shared, listener, numbers) = (shared.clone(), listener.clone(), numbers.clone());
        let accept = move || accept_all(&shared, listener.as_ref(), &numbers, is_administrator);
        threads.push(os.spawn("TDS LISTENER", accept));
    };
    listen(&sockets.users, false);
    if let Some(listener) = &sockets.administrators {
        listen(listener, true);
        shared.administrator_workers.keep_one();
    }
    threads
}

/// A listener's thread.
fn accept_all(shared: &Arc<Shared>, listener: &dyn Listener, numbers: &AtomicU64, is_administrator: bool) {
    let mut reported_ns = None;
    loop {
        match listener.accept(None) {
            Ok(Some(stream)) => {
                let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
                start_connection(shared, &stream, number, is_administrator);
            }
            Ok(None) => return,
            Err(error) => {
                if error.kind == IoErrorKind::Exhausted {
                    shared.table.half_open().give_way();
                }
                let now_ns = shared.os.clock().monotonic_ns();
                if reported_ns.is_none_or(|last| now_ns.saturating_sub(last) > ACCEPT_REPORT_NS) {
                    os::report::warn("Network", &error.to_string());
                    reported_ns = Some(now_ns);
                }
                if shared.os.sleep(ACCEPT_PAUSE_NS, WaitType::SLEEP_TASK).is_err() {
                    return;
                }
            }
        }
    }
}

/// From its first byte on, workers run the connection.
fn start_connection(shared: &Arc<Shared>, stream: &Arc<dyn Stream>, number: u64, is_administrator: bool) {
    let workers = if is_administrator {
        &shared.administrator_workers
    } else {
        if shared.workers.ready_count() > READY_MAX {
            let _ = shared.os.sleep(READY_PAUSE_NS, WaitType::SLEEP_TASK);
        }
        &shared.workers
    };
    let client = Box::new(Client::new(shared, stream, is_administrator));
    if let Err(error) = shared.table.add(number, stream, client, workers) {
        os::report::warn("Network", &format!("a connection was refused: {error}"));
    }
}
