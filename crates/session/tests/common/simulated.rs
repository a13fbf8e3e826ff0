//! A server on a simulated machine: sessions in virtual time, a disk that may lose unconfirmed writes, a record of every write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Database, Instance, InstanceOptions};
use hardpan_session::{LoginInfo, Session, SessionShared};
use log::{DumpOptions, DumpSummary, FlushReason, dump_file};
use os::sim::{Bug, End, Profile, Report, World};
use os::{Latch, LatchRank, Os};

use super::{rows, run};

/// The user database of these tests.
pub const NAME: &str = "PerformanceV3";

/// A running server; it runs checkpoints and page writes only when a test asks for them.
pub struct Server {
    pub os: Os,
    pub instance: Arc<Instance>,
    shared: SessionShared,
}

impl Server {
    pub fn open(os: &Os) -> Server {
        Server::open_with(os, InstanceOptions::new("/data"))
    }

    /// With log caches that survive the process.
    pub fn open_outliving(os: &Os) -> Server {
        let folder = Some(engine::LOG_CACHE_FOLDER.into());
        Server::open_with(os, InstanceOptions { log_cache_folder: folder, ..InstanceOptions::new("/data") })
    }

    /// The folder of persisted log buffers on the simulated DAX volume.
    pub fn open_persistent(os: &Os) -> Server {
        let allowed_paths = vec![os::sim::PERSISTENT_FOLDER.into()];
        Server::open_with(os, InstanceOptions { allowed_paths, ..InstanceOptions::new("/data") })
    }

    fn open_with(os: &Os, options: InstanceOptions) -> Server {
        Server::try_open(os, options).unwrap()
    }

    /// For a machine on which the start may fail.
    pub fn try_open(os: &Os, options: InstanceOptions) -> Result<Server, engine::StorageError> {
        let options = InstanceOptions { buffer_pool_bytes: 64 << 20, background: false, ..options };
        let instance = Instance::open(os, &options)?;
        let shared = SessionShared::new(Arc::clone(&instance), "SIM", 0);
        Ok(Server { os: os.clone(), instance, shared })
    }

    /// A session in `database`.
    pub fn session_in(&self, database: &str) -> Session {
        connect(&self.shared, database)
    }

    /// A session in the tests' database.
    pub fn session(&self) -> Session {
        self.session_in(NAME)
    }

    /// The shared state for sessions on other threads.
    pub fn shared(&self) -> SessionShared {
        self.shared.clone()
    }

    /// The tests' database.
    pub fn database(&self) -> Arc<Database> {
        self.instance.database(NAME).unwrap()
    }

    /// Creates the tests' database with an empty `dbo.T1(col1 INT NOT NULL)`, in which delayed commits are flushed only when a
    /// test asks for it.
    pub fn with_table(os: &Os) -> (Server, Session) {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        run(&mut session, &format!("CREATE DATABASE {NAME}"));
        run(&mut session, &format!("USE {NAME}"));
        run(&mut session, "CREATE TABLE dbo.T1(col1 INT NOT NULL)");
        server.database().log().suspend_background_flush(true);
        (server, session)
    }

    /// Flushes of the tests' database for a reason.
    pub fn flushes_for(&self, reason: FlushReason) -> u64 {
        self.database().log().stats().flushes_by_reason_total[reason.index()]
    }

    /// The current output of `hardpan log dump` for a database's log file.
    pub fn dump(&self, file: &str) -> DumpSummary {
        let options = DumpOptions { records: true, ..DumpOptions::default() };
        dump_file(&self.os, Path::new(file), &options, &mut |_| ()).unwrap()
    }

    /// An orderly stop.
    pub fn stop(self, session: Session) {
        session.close();
        self.instance.shutdown();
    }
}

/// A session on any thread of the world.
pub fn connect(shared: &SessionShared, database: &str) -> Session {
    let login = LoginInfo {
        login_name: "sa".into(),
        database: database.into(),
        ansi_defaults: true,
        ..LoginInfo::default()
    };
    Session::new(shared, login).unwrap()
}

/// The counter of claim 32, read with the article's query.
pub fn flushes(session: &mut Session, database: &str) -> i64 {
    let text = format!(
        "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Log Flushes/sec' AND \
         instance_name = N'{database}'"
    );
    number(session, &text)
}

/// The only value of the only row.
pub fn number(session: &mut Session, text: &str) -> i64 {
    let found = rows(session, text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found[0].parse().unwrap()
}

/// Rows of T1 as numbers, in order.
pub fn keys(session: &mut Session) -> Vec<i64> {
    rows(session, "SELECT col1 FROM dbo.T1 ORDER BY col1").iter().map(|row| row.parse().unwrap()).collect()
}

/// Runs `body` in a loop in one batch; `@i` counts from `first`.
pub fn repeat(session: &mut Session, first: i64, count: i64, body: &str) {
    let last = first + count - 1;
    let seen = run(
        session,
        &format!(
            "SET NOCOUNT ON; DECLARE @i INT = {first}; WHILE @i <= {last} BEGIN {body} SET @i += 1; END;"
        ),
    );
    // A commit may ask for delay without effect, and gets a message.
    assert!(seen.messages.iter().all(|message| message.0 == 42957), "{body}: {:?}", seen.messages);
}

/// The article's small transaction.
pub const SMALL: &str = "BEGIN TRAN INSERT INTO dbo.T1(col1) VALUES(@i); COMMIT TRAN;";

/// Log and data file of the tests' database.
pub fn log_file() -> PathBuf {
    PathBuf::from(format!("/data/{NAME}_log.ldf"))
}

pub fn data_file() -> PathBuf {
    PathBuf::from(format!("/data/{NAME}.mdf"))
}

/// Runs `body` on a fresh machine whose device takes about 190 us for a durable write.
pub fn on_a_machine(seed: u64, body: impl FnOnce(&Os) + Send + 'static) -> Report {
    let world = World::new(seed, Profile { switches_max: 40_000_000, ..Profile::constant_latency() });
    let report = world.run(body);
    report.assert_ok();
    report
}

/// A value that outlives a world's run.
pub fn kept<T: Send + 'static>(value: T) -> Arc<Latch<T>> {
    Arc::new(Latch::new(LatchRank::Leaf, value))
}

/// Two lives of a machine, for tests of power cuts: `work` with a bug, until the power fails in the middle of it or at its end (its return value, the
/// server and session, is still alive then), and then `judge` without a bug. An error describes a violation in either.
pub fn through_power_cut<K>(
    seed: u64,
    bug: Option<Bug>,
    work: impl FnOnce(&Os, &World) -> K + Send + 'static,
    judge: impl FnOnce(&Os) + Send + 'static,
) -> Result<(), String> {
    let world = World::new(seed, Profile { switches_max: 40_000_000, ..Profile::nvme() });
    world.plant(bug);
    let device = world.clone();
    let report = world.run(move |os| {
        let _alive = work(os, &device);
        device.power_off();
    });
    if report.end != End::PowerOff || !report.failures.is_empty() {
        return Err(format!("{:?}: {:?}", report.end, report.failures));
    }
    world.plant(None);
    let again = world.run(judge);
    if again.failures.is_empty() { Ok(()) } else { Err(format!("{:?}", again.failures)) }
}

/// Three lives of a machine, whose disk behaves by the seed: `made` prepares the tests' database and stops it, `cut` runs until the power fails
/// at its end (or earlier, if it asks the machine for that), and `then` reads the surviving state. A bug is planted while `cut` runs.
pub fn after_power_loss<T: Send + 'static>(
    seed: u64,
    bug: Option<Bug>,
    made: impl FnOnce(&mut Session) + Send + 'static,
    cut: impl FnOnce(&mut Session, &World) + Send + 'static,
    then: impl FnOnce(&mut Session) -> T + Send + 'static,
) -> T {
    let world = World::new(seed, Profile::drawn(seed));
    let first = move |os: &Os| {
        let (server, mut session) = Server::with_table(os);
        made(&mut session);
        server.stop(session);
    };
    world.run(first).assert_ok();
    world.plant(bug);
    let handle = world.clone();
    let second = move |os: &Os| {
        let server = Server::open(os);
        let mut session = server.session();
        cut(&mut session, &handle);
        handle.power_off();
    };
    world.run(second).assert_ok();
    world.plant(None);
    world.disarm();
    let seen = kept(None);
    let into = Arc::clone(&seen);
    let third = move |os: &Os| {
        let server = Server::open(os);
        let mut session = server.session();
        *into.lock() = Some(then(&mut session));
        server.stop(session);
    };
    world.run(third).assert_ok();
    let seen = seen.lock().take();
    seen.expect("the third life has run to its end")
}
