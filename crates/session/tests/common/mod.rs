//! An instance in a folder of its own, sessions on it, and their results as text.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    dead_code,
    reason = "a helper of tests, of which each file uses its part"
)]

pub mod random;
pub mod schedules;
pub mod simulated;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::{Instance, InstanceOptions};
use hardpan_session::{
    ColumnDescription, Done, DoneKind, EnvironmentChange, Flow, LoginInfo, RequestEnd, ResultSink, Session,
    SessionShared,
};
use os::Os;
use types::{Length, SqlError, SqlType, Value};

pub struct World {
    folder: PathBuf,
    pub instance: Arc<Instance>,
    shared: SessionShared,
}

impl World {
    pub fn new(name: &str) -> World {
        // Files of one binary may use one name, at one time.
        static WORLDS: AtomicU32 = AtomicU32::new(0);
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("hardpan-session-{name}-{}-{number}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        let instance = Instance::open(&Os::real(), &InstanceOptions::new(&folder)).unwrap();
        let shared = SessionShared::new(instance.clone(), "test", 0);
        World { folder, instance, shared }
    }

    /// With a new database `d` and a session in it.
    pub fn in_database(name: &str) -> (World, Session) {
        let world = World::new(name);
        let mut session = world.session();
        run(&mut session, "CREATE DATABASE d");
        run(&mut session, "USE d");
        (world, session)
    }

    /// Stops the instance and starts it again on the same folder.
    pub fn restart(&mut self) {
        self.instance.shutdown();
        self.instance = Instance::open(&Os::real(), &InstanceOptions::new(&self.folder)).unwrap();
        self.shared = SessionShared::new(self.instance.clone(), "test", 0);
    }

    pub fn session(&self) -> Session {
        let login = LoginInfo { login_name: "sa".into(), ansi_defaults: true, ..LoginInfo::default() };
        Session::new(&self.shared, login).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.instance.shutdown();
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// The results of a request, as text.
#[derive(Default)]
pub struct Seen {
    pub sets: Vec<(Vec<String>, Vec<Vec<String>>)>,
    /// Types of the columns of each of `sets`.
    pub types: Vec<Vec<SqlType>>,
    /// Which columns of each of `sets` may be NULL.
    pub nullable: Vec<Vec<bool>>,
    /// CurCmd of each end.
    pub commands: Vec<u16>,
    /// Kind of each end (statement, statement in a procedure, procedure).
    pub ends: Vec<DoneKind>,
    /// Return statuses of procedures, with the number of ends before each.
    pub statuses: Vec<(usize, i32)>,
    /// Types of `outputs`.
    pub output_types: Vec<SqlType>,
    pub messages: Vec<(i32, u32, String)>,
    pub counts: Vec<Option<u64>>,
    pub status: Option<i32>,
    pub outputs: Vec<(String, String)>,
    pub environment: Vec<EnvironmentChange>,
    /// Number of ends before each of `environment`.
    pub environment_after: Vec<usize>,
}

fn show(value: &Value) -> String {
    if value.is_null() {
        return "NULL".into();
    }
    let text = SqlType::NVarChar(Length::Max);
    let context = types::ConvertContext::default();
    let converted = types::convert(value, &value.natural_type(), &text, types::DEFAULT_STYLE, &context);
    converted.ok().and_then(|v| v.as_text()).unwrap_or_default()
}

impl ResultSink for Seen {
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        self.types.push(columns.iter().map(|c| c.sql_type).collect());
        self.nullable.push(columns.iter().map(|c| c.nullable).collect());
        self.sets.push((columns.iter().map(|c| c.name.clone()).collect(), Vec::new()));
        Flow::Continue
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        let (names, rows) = self.sets.last_mut().unwrap();
        for (at, value) in row.iter().enumerate() {
            let excluded = value.is_null() && !self.nullable.last().unwrap()[at];
            assert!(
                !excluded,
                "NULL in {}, which was described as NOT NULL: the wire cannot carry it",
                names[at]
            );
        }
        rows.push(row.iter().map(show).collect());
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        self.messages.push((message.number, message.line, message.message.clone()));
    }
    fn done(&mut self, done: Done) {
        self.commands.push(done.command);
        self.ends.push(done.kind);
        self.counts.push(done.row_count);
    }
    fn return_status(&mut self, status: i32) {
        self.status = Some(status);
        self.statuses.push((self.ends.len(), status));
    }
    fn return_value(&mut self, _ordinal: u16, name: &str, sql_type: &SqlType, value: &Value) {
        self.output_types.push(*sql_type);
        self.outputs.push((name.to_string(), show(value)));
    }
    fn environment(&mut self, change: EnvironmentChange) {
        self.environment.push(change);
        self.environment_after.push(self.ends.len());
    }
}

pub fn run(session: &mut Session, text: &str) -> Seen {
    let mut seen = Seen::default();
    let end = session.execute_batch(text, &mut seen);
    assert_eq!(end, RequestEnd::Finished, "{text}: {:?}", seen.messages);
    seen
}

/// Rows of the only result set, columns joined by `|`.
pub fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let seen = run(session, text);
    assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
    assert_eq!(seen.sets.len(), 1, "{text}");
    seen.sets[0].1.iter().map(|row| row.join("|")).collect()
}

pub fn numbers(seen: &Seen) -> Vec<i32> {
    seen.messages.iter().map(|m| m.0).collect()
}

/// Does it run without waiting for a lock? For a session with LOCK_TIMEOUT 0.
pub fn is_free(session: &mut Session, text: &str) -> bool {
    let seen = run(session, text);
    match numbers(&seen).first() {
        None => true,
        Some(1222) => false,
        other => panic!("{text}: {other:?} {:?}", seen.messages),
    }
}
