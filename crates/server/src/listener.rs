//! The server as a whole: listening, a thread for each login, stopping.

use std::sync::Arc;

use os::{IoErrorKind, JoinHandle, Listener, Os, SpawnOptions, Stream, WaitType};

use crate::config::{Config, ServeError};
use crate::connection::serve_login;
use crate::logins::Logins;
use crate::monitor::{ConnectionEntry, ConnectionTable};
use crate::seam::SessionSource;
use crate::shared::Shared;
use crate::tls::TlsContext;
use crate::workers::Workers;

/// Connections beyond the maximum that are still let in as far as being told so; further ones are closed at once.
const REFUSALS_AT_ONCE: usize = 16;
/// How long running requests may go on when the server stops, in ns.
const DRAIN_GRACE_NS: u64 = 5_000_000_000;
/// How long the workers may take to end, in ns.
const WORKERS_END_NS: u64 = 1_000_000_000;
/// Pause after a failure to accept (no descriptors or memory left), in ns: another connection's end may mend it.
const ACCEPT_PAUSE_NS: u64 = 10_000_000;
/// How often such a failure is worth a line in the log, in ns.
const ACCEPT_REPORT_NS: u64 = 10_000_000_000;

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    listener: Arc<dyn Listener>,
    threads: Vec<JoinHandle>,
    generated_password: Option<String>,
}

impl Server {
    /// Listens and serves until [`stop`](Self::stop). `password` sets the one of `sa`; without it the first start
    /// generates one.
    pub fn start(
        os: &Os,
        config: Config,
        password: Option<&str>,
        sessions: Box<dyn SessionSource>,
    ) -> Result<Server, ServeError> {
        let (logins, generated_password) = Logins::open(os, &config.data_dir, password)?;
        let tls = match &config.tls_pair {
            Some((certificate, key)) => TlsContext::from_files(os, certificate, key)?,
            None => TlsContext::from_data_dir(os, &config.data_dir, &config.server_name)?,
        };
        let listener = os.net().listen(&config.listen)?;
        let counter =
            |object: &str, name: &str| os.counters().counter(&format!("SQLServer:{object}"), name, "");
        let table = ConnectionTable::new(os);
        let for_workers = table.clone();
        let workers = Workers::new(
            os,
            config.worker_stack_bytes,
            os::process::processor_count(),
            Box::new(move |number| for_workers.became_readable(number)),
        )?;
        let shared = Arc::new(Shared {
            os: os.clone(),
            logins,
            tls,
            sessions,
            table,
            workers,
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
        let (watching, accepting, door) = (shared.clone(), shared.clone(), listener.clone());
        let threads = vec![
            os.spawn("ATTENTION", move || watching.table.run(&watching.workers)),
            os.spawn("TDS LISTENER", move || accept_all(&accepting, door.as_ref())),
        ];
        Ok(Server { shared, listener, threads, generated_password })
    }

    /// Address and port in use.
    pub fn local_address(&self) -> String {
        self.listener.local_address()
    }

    /// The password of `sa`, when this start has generated it: print it now, it is kept nowhere else.
    pub fn generated_password(&self) -> Option<&str> {
        self.generated_password.as_deref()
    }

    /// Stops accepting, lets running requests finish for a while, ends all connections.
    pub fn stop(self) {
        self.listener.close();
        self.shared.table.drain(DRAIN_GRACE_NS);
        self.shared.table.stop();
        self.shared.workers.stop(WORKERS_END_NS);
        for thread in self.threads {
            if let Err(panicked) = thread.join() {
                os::report::error("Server", &panicked.0);
            }
        }
    }
}

/// The listener's thread.
fn accept_all(shared: &Arc<Shared>, listener: &dyn Listener) {
    let mut number = 0;
    let mut reported_ns = None;
    loop {
        match listener.accept(None) {
            Ok(Some(stream)) => {
                number += 1;
                start_connection(shared, stream, number);
            }
            Ok(None) => return,
            Err(error) => {
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

fn start_connection(shared: &Arc<Shared>, stream: Arc<dyn Stream>, number: u64) {
    let open = shared.table.count();
    if open >= shared.config.connections_max + REFUSALS_AT_ONCE {
        stream.shutdown();
        return;
    }
    let admitted = open < shared.config.connections_max;
    let options =
        SpawnOptions::named(&format!("login-{number}")).stack_bytes(shared.config.worker_stack_bytes);
    let entry = shared.table.add(number, &stream, &shared.workers);
    let (for_thread, for_entry, for_stream) = (shared.clone(), entry.clone(), stream.clone());
    let started = shared.os.try_spawn(&options, move || {
        let mut login =
            Login { shared: &for_thread, entry: &for_entry, stream: &for_stream, succeeded: false };
        login.succeeded = serve_login(&for_thread, &for_stream, &for_entry, admitted);
    });
    if let Err(error) = started {
        debug_assert_eq!(error.kind, IoErrorKind::Exhausted);
        os::report::warn("Network", &format!("a connection was refused: {error}"));
        shared.table.remove(&entry);
        stream.shutdown();
    }
}

/// Takes a connection whose login did not succeed out of the table, also when its thread panics.
struct Login<'a> {
    shared: &'a Shared,
    entry: &'a ConnectionEntry,
    stream: &'a Arc<dyn Stream>,
    succeeded: bool,
}

impl Drop for Login<'_> {
    fn drop(&mut self) {
        if !self.succeeded {
            self.stream.shutdown();
            self.shared.table.remove(self.entry);
        }
    }
}
