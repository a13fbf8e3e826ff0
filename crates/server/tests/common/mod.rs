//! A session without an engine: fixed answers to a few commands, to test the wire alone.

#![allow(dead_code, clippy::unwrap_used, reason = "a test; no binary uses everything")]

pub mod client;
pub mod world;

use std::sync::Arc;
use std::task::Waker;

use hardpan_server::seam::*;
use os::task;
use os::{Condition, Latch, LatchRank, Os, WaitType};
use types::{Length, SqlError, SqlResult, SqlType, Value};

/// A gate at which requests of several connections wait, with a count.
pub struct Gate {
    state: Latch<(bool, usize)>,
    changed: Condition,
}

impl Gate {
    pub fn new() -> Arc<Gate> {
        Arc::new(Gate { state: Latch::new(LatchRank::Session, (false, 0)), changed: Condition::new() })
    }

    /// Opens it for good.
    pub fn open(&self) {
        self.state.lock().0 = true;
        self.changed.notify_all();
    }

    /// Counts one more arrival.
    fn arrive(&self) {
        self.state.lock().1 += 1;
        self.changed.notify_all();
    }

    /// Returns when it is open.
    fn pass(&self) {
        self.wait_until(|(is_open, _)| is_open);
    }

    /// Returns after so many arrivals.
    pub fn wait_for(&self, count: usize) {
        self.wait_until(|(_, arrived)| arrived >= count);
    }

    pub fn is_open(&self) -> bool {
        self.state.lock().0
    }

    fn wait_until(&self, holds: impl Fn((bool, usize)) -> bool) {
        let mut state = self.state.lock();
        while !holds(*state) {
            state = self.changed.wait(state, WaitType::WAITFOR, None).0;
        }
    }
}

/// Opens [`StubSession`]s; the database `missing` does not exist.
pub struct StubSource {
    pub os: Os,
    pub gate: Arc<Gate>,
}

struct StubSession {
    os: Os,
    gate: Arc<Gate>,
    database: String,
    transaction: u64,
    waker: Option<Waker>,
    /// The outcome of a pending commit.
    pending: Option<bool>,
}

impl SessionSource for StubSource {
    fn open(&self, login: LoginInfo) -> SqlResult<Box<dyn ClientSession>> {
        if login.database == "missing" {
            let text = "Cannot open database \"missing\" requested by the login. The login failed.";
            return Err(SqlError::custom(4060, 11, 1, text.into()));
        }
        let (os, gate) = (self.os.clone(), self.gate.clone());
        let database = login.database;
        Ok(Box::new(StubSession { os, gate, database, transaction: 0, waker: None, pending: None }))
    }
}

fn column(name: &str, sql_type: SqlType) -> ColumnDescription {
    ColumnDescription {
        name: name.into(),
        sql_type,
        nullable: true,
        identity: false,
        updatable: false,
        computed: true,
        table: None,
    }
}

impl StubSession {
    fn done(&self, sink: &mut dyn ResultSink, kind: DoneKind, rows: Option<u64>) {
        sink.done(Done { kind, row_count: rows, error: false, command: 193 });
    }

    fn begin(&mut self, sink: &mut dyn ResultSink) {
        self.transaction += 1;
        sink.environment(EnvironmentChange::BeginTransaction(self.transaction));
    }

    /// A commit that pends until the gate opens, then succeeds or fails.
    fn commit_later(&mut self, succeeds: bool, kind: DoneKind, sink: &mut dyn ResultSink) {
        self.begin(sink);
        sink.commit_pends();
        sink.environment(EnvironmentChange::CommitTransaction(self.transaction));
        self.done(sink, kind, Some(1));
        self.pending = Some(succeeds);
        self.gate.arrive();
        let (gate, waker) = (self.gate.clone(), self.waker.clone().expect("commits may be left pending"));
        self.os.spawn("log", move || {
            gate.pass();
            // The thread that ends a log write may hold any latch of the engine: a checkpoint hardens log under its own.
            let latch = Latch::new(LatchRank::LogFile, ());
            let _held = latch.lock();
            waker.wake();
        });
    }

    fn run(&mut self, text: &str, kind: DoneKind, sink: &mut dyn ResultSink) -> RequestEnd {
        let mut words = text.split_whitespace();
        match (words.next().unwrap_or("").to_lowercase().as_str(), words.next()) {
            ("rows", Some(count)) => {
                let count = count.parse().unwrap_or(1);
                sink.columns(&[column("n", SqlType::Int), column("text", SqlType::NVarChar(Length::N(40)))]);
                for n in 0..count {
                    if task::interrupt_pending() {
                        return RequestEnd::Attention;
                    }
                    if sink.row(&[Value::Int(n), Value::nvarchar("row with some text")]) == Flow::Stop {
                        let stopped = task::interrupt_pending();
                        return if stopped { RequestEnd::Attention } else { RequestEnd::Close };
                    }
                }
                self.done(sink, kind, Some(count as u64));
            }
            ("sleep", _) => {
                if self.os.sleep(20_000_000_000, WaitType::WAITFOR).is_err() {
                    self.gate.arrive();
                    return RequestEnd::Attention;
                }
                self.done(sink, kind, None);
            }
            ("wait", _) => {
                self.gate.arrive();
                self.gate.pass();
                self.done(sink, kind, None);
            }
            ("compute", _) => {
                self.gate.arrive();
                while !self.gate.is_open() {
                    std::hint::spin_loop();
                }
                self.done(sink, kind, None);
            }
            ("open", _) => {
                self.gate.open();
                self.done(sink, kind, None);
            }
            ("later", how) => self.commit_later(how != Some("fails"), kind, sink),
            ("fail", _) => {
                let mut error =
                    SqlError::custom(208, 16, 1, "Invalid object name 'nowhere'.".into()).at_line(3);
                error.procedure = Some("p".into());
                sink.message(&error);
                sink.done(Done { kind, row_count: None, error: true, command: 193 });
            }
            ("panic", _) => panic!("as asked"),
            ("fatal", _) => {
                sink.message(&SqlError::custom(50000, 20, 1, "an end".into()).at_line(1));
                sink.done(Done { kind, row_count: None, error: true, command: 193 });
                return RequestEnd::Close;
            }
            ("print", _) => {
                sink.message(&SqlError::custom(0, 0, 1, "hello".into()).at_line(1));
                self.done(sink, kind, None);
            }
            ("two", _) => {
                for n in [1, 2] {
                    sink.columns(&[column("n", SqlType::Int)]);
                    sink.row(&[Value::Int(n)]);
                    self.done(sink, kind, Some(1));
                }
            }
            ("broken", _) => {
                sink.columns(&[ColumnDescription { nullable: false, ..column("n", SqlType::Int) }]);
                sink.row(&[Value::Int(1)]);
                let flow = sink.row(&[Value::Null]);
                assert_eq!(flow, Flow::Stop);
                return RequestEnd::Attention;
            }
            ("begin", _) => {
                self.begin(sink);
                self.done(sink, kind, None);
            }
            ("commit", _) => {
                sink.environment(EnvironmentChange::CommitTransaction(self.transaction));
                self.done(sink, kind, None);
            }
            ("use", Some(name)) => {
                let new = name.trim_matches(['[', ']']).to_string();
                let old = std::mem::replace(&mut self.database, new.clone());
                sink.environment(EnvironmentChange::Database(new, old));
                self.done(sink, kind, None);
            }
            ("select", _) => {
                sink.columns(&[column("", SqlType::Int)]);
                sink.row(&[Value::Int(1)]);
                self.done(sink, kind, Some(1));
            }
            _ => self.done(sink, kind, None),
        }
        RequestEnd::Finished
    }
}

impl ClientSession for StubSession {
    fn id(&self) -> u16 {
        57
    }

    fn database_name(&self) -> String {
        self.database.clone()
    }

    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink) -> RequestEnd {
        self.run(text, DoneKind::Statement, sink)
    }

    /// sp_executesql and similar procedures: a text starting with a command runs it; else the parameters are returned as a row, and
    /// OUTPUT parameters as they came.
    fn execute_rpc(&mut self, call: RpcCall, sink: &mut dyn ResultSink) -> RequestEnd {
        let skip = match call.target {
            RpcTarget::Number(10) => 2,
            RpcTarget::Number(13) => 3,
            _ => 0,
        };
        let text = call.parameters.get(skip.max(1) - if skip == 2 { 2 } else { 1 });
        let text = text.and_then(|parameter| parameter.value.as_text()).unwrap_or_default();
        if skip > 0 && ["sleep", "rows", "fail"].iter().any(|command| text.starts_with(command)) {
            return self.run(&text, DoneKind::InProcedure, sink);
        }
        let echoed = if skip == 0 { &[] } else { call.parameters.get(skip..).unwrap_or_default() };
        if !echoed.is_empty() {
            let columns: Vec<_> = echoed.iter().map(|one| column(&one.name, one.sql_type)).collect();
            sink.columns(&columns);
            let values: Vec<Value> = echoed.iter().map(|one| one.value.clone()).collect();
            sink.row(&values);
            self.done(sink, DoneKind::InProcedure, Some(1));
        }
        sink.return_status(0);
        for (ordinal, parameter) in call.parameters.iter().enumerate() {
            if parameter.output {
                let handle = (skip == 3 && ordinal == 0).then_some(Value::Int(1));
                let value = handle.as_ref().unwrap_or(&parameter.value);
                sink.return_value(ordinal as u16, &parameter.name, &parameter.sql_type, value);
            }
        }
        self.done(sink, DoneKind::Procedure, None);
        RequestEnd::Finished
    }

    fn transaction_request(&mut self, request: &TransactionRequest, sink: &mut dyn ResultSink) -> RequestEnd {
        match request {
            TransactionRequest::Begin { .. } => self.begin(sink),
            TransactionRequest::Commit { then_begin, .. } => {
                sink.environment(EnvironmentChange::CommitTransaction(self.transaction));
                if then_begin.is_some() {
                    self.begin(sink);
                }
            }
            TransactionRequest::Rollback { then_begin, .. } => {
                sink.environment(EnvironmentChange::RollbackTransaction(self.transaction));
                if then_begin.is_some() {
                    self.begin(sink);
                }
            }
            TransactionRequest::Save { .. } => {}
        }
        self.done(sink, DoneKind::Statement, None);
        RequestEnd::Finished
    }

    /// Counts the rows of integers, as one who has announced them.
    fn bulk_load(&mut self, source: &mut dyn BulkSource, sink: &mut dyn ResultSink) -> RequestEnd {
        let mut load = || -> Result<u64, SqlError> {
            source.columns()?;
            let (mut row, mut count) = (Vec::new(), 0);
            while source.next(&mut row)? {
                count += 1;
            }
            Ok(count)
        };
        match load() {
            Ok(count) => self.done(sink, DoneKind::Statement, Some(count)),
            Err(error) => {
                sink.message(&error);
                if error.severity >= 20 {
                    return RequestEnd::Close;
                }
            }
        }
        RequestEnd::Finished
    }

    fn allow_pending_commits(&mut self, waker: Waker) {
        self.waker = Some(waker);
    }

    fn is_commit_pending(&self) -> bool {
        self.pending.is_some()
    }

    fn settle_commit(&mut self, sink: &mut dyn ResultSink) -> RequestEnd {
        assert!(self.gate.is_open(), "settled before the gate is open");
        let succeeded = self.pending.take().expect("a commit is pending");
        sink.commit_settled(succeeded);
        if !succeeded {
            sink.message(&SqlError::custom(9001, 16, 1, "The log is not available.".into()).at_line(1));
            sink.environment(EnvironmentChange::RollbackTransaction(self.transaction));
        }
        RequestEnd::Finished
    }

    fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink) {
        if self.transaction > 0 && !keep_transaction {
            sink.environment(EnvironmentChange::RollbackTransaction(self.transaction));
        }
        sink.environment(EnvironmentChange::ResetConnection);
    }

    fn close(self: Box<Self>) {}
}
