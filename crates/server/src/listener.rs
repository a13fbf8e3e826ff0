//! The server as a whole: listening, a thread for each connection, stopping.

use std::sync::Arc;

use os::{IoErrorKind, JoinHandle, Listener, Os, SpawnOptions, Stream, WaitType};

use crate::config::{Config, ServeError};
use crate::connection::{Shared, serve};
use crate::logins::Logins;
use crate::monitor::ConnectionTable;
use crate::seam::SessionSource;
use crate::tls::TlsContext;

/// Connections beyond the maximum that are still let in as far as being told so; further ones are closed at once.
const REFUSALS_AT_ONCE: usize = 16;
/// How long running requests may go on when the server stops, in ns.
const DRAIN_GRACE_NS: u64 = 5_000_000_000;
/// Pause after a failure to accept (no descriptors left), in ns.
const ACCEPT_PAUSE_NS: u64 = 100_000_000;

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
        let shared = Arc::new(Shared {
            os: os.clone(),
            logins,
            tls,
            sessions,
            table: ConnectionTable::new(os),
            batch_requests: counter("SQL Statistics", "Batch Requests/sec"),
            logins_total: counter("General Statistics", "Logins/sec"),
            user_connections: counter("General Statistics", "User Connections"),
            config,
        });
        let (table, accepting, door) = (shared.table.clone(), shared.clone(), listener.clone());
        let threads = vec![
            os.spawn("ATTENTION", move || table.run()),
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
    loop {
        match listener.accept(None) {
            Ok(Some(stream)) => {
                number += 1;
                start_connection(shared, stream, number);
            }
            Ok(None) => return,
            Err(error) => {
                os::report::warn("Network", &error.to_string());
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
        SpawnOptions::named(&format!("tds-{number}")).stack_bytes(shared.config.connection_stack_bytes);
    let entry = shared.table.add(number, &stream);
    let (for_thread, for_entry, for_stream) = (shared.clone(), entry.clone(), stream.clone());
    let started = shared.os.try_spawn(&options, move || {
        let ended = EndOfConnection { shared: &for_thread, entry: &for_entry };
        serve(&for_thread, for_stream, &for_entry, admitted);
        drop(ended);
    });
    if let Err(error) = started {
        debug_assert_eq!(error.kind, IoErrorKind::Exhausted);
        os::report::warn("Network", &format!("a connection was refused: {error}"));
        shared.table.remove(&entry);
        stream.shutdown();
    }
}

/// Takes the connection out of the table also when its thread panics.
struct EndOfConnection<'a> {
    shared: &'a Shared,
    entry: &'a crate::monitor::ConnectionEntry,
}

impl Drop for EndOfConnection<'_> {
    fn drop(&mut self) {
        self.shared.table.remove(self.entry);
    }
}
