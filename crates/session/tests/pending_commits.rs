//! Commits that a request leaves pending: what other sessions see meanwhile, what settles them, and that a failure reports what a blocking
//! commit would have reported.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::common::simulated::{NAME, Server, connect, keys, number};
use crate::common::{numbers, rows, run};
use hardpan_session::{
    ColumnDescription, Done, EnvironmentChange, Flow, RequestEnd, ResultSink, RpcCall, RpcParameter,
    RpcTarget, Session, TransactionRequest,
};
use os::sim::{Effect, Fault, Operation, Profile, World};
use os::{JoinHandle, Os, Signal, WaitOutcome, WaitType};
use types::{SqlError, SqlType, Value};

/// Number of sessions and of their commits with which the LOG WRITER leads.
const CROWD: u64 = 60;
const COMMITS: u64 = CROWD * 15;

/// The calls of a sink in order; discarded output is removed.
#[derive(Default)]
struct Told {
    events: Vec<String>,
    pending_since: Option<usize>,
    pended: u64,
}

impl Told {
    fn say(&mut self, event: String) {
        self.events.push(event);
    }
}

impl ResultSink for Told {
    fn columns(&mut self, _columns: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.say(format!("row {row:?}"));
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        self.say(format!("{} at {} in {:?}", message.number, message.line, message.procedure));
    }
    fn done(&mut self, done: Done) {
        self.say(format!("{:?} {:?} error {}", done.kind, done.row_count, done.error));
    }
    fn return_status(&mut self, status: i32) {
        self.say(format!("status {status}"));
    }
    fn return_value(&mut self, _ordinal: u16, name: &str, _sql_type: &SqlType, value: &Value) {
        self.say(format!("{name} = {value:?}"));
    }
    fn environment(&mut self, change: EnvironmentChange) {
        let text = format!("{change:?}");
        self.say(text.split('(').next().unwrap().to_owned());
    }
    fn commit_pends(&mut self) {
        assert_eq!(self.pending_since.replace(self.events.len()), None, "one at a time");
        self.pended += 1;
    }
    fn commit_settled(&mut self, hardened: bool) {
        let since = self.pending_since.take().expect("it was pending");
        if !hardened {
            self.events.truncate(since);
        }
    }
}

/// A session with its waker.
struct Bench {
    os: Os,
    device: World,
    server: Server,
    session: Session,
    signal: Arc<Signal>,
}

/// Runs on a server whose log many sessions have just used.
fn in_a_crowd(seed: u64, body: impl FnOnce(&mut Bench) + Send + 'static) {
    alone(seed, |bench| {
        crowd(&bench.os, &bench.server, NAME, "INSERT dbo.Crowd VALUES(1)");
        body(bench);
    });
}

/// Runs on an otherwise idle server.
fn alone(seed: u64, body: impl FnOnce(&mut Bench) + Send + 'static) {
    let world = World::new(seed, Profile { switches_max: 40_000_000, ..Profile::constant_latency() });
    let device = world.clone();
    let report = world.run(move |os| {
        let (server, mut session) = Server::with_table(os);
        run(&mut session, "CREATE TABLE dbo.Crowd(col1 INT NOT NULL)");
        run(&mut session, "CREATE DATABASE other");
        for database in [NAME, "other"] {
            run(&mut session, &format!("USE {database}"));
            run(
                &mut session,
                &format!("CREATE PROCEDURE dbo.Add1 @key INT AS INSERT {NAME}.dbo.T1 VALUES(@key)"),
            );
        }
        run(&mut session, &format!("USE {NAME}"));
        run(
            &mut session,
            "CREATE PROCEDURE dbo.AddAfterTable AS DECLARE @t TABLE (a INT); INSERT @t VALUES(1); \
             INSERT dbo.T1 VALUES(7)",
        );
        let mut bench = Bench { os: os.clone(), device, server, session, signal: Arc::default() };
        bench.session.allow_pending_commits(bench.signal.clone().into());
        body(&mut bench);
        let Bench { server, session, .. } = bench;
        server.stop(session);
    });
    report.assert_ok();
}

fn crowd(os: &Os, server: &Server, database: &'static str, text: &'static str) {
    let begun = Arc::new(AtomicU64::new(0));
    let member = |_| {
        let (shared, begun) = (server.shared(), Arc::clone(&begun));
        os.spawn("member", move || {
            let mut session = connect(&shared, database);
            while begun.fetch_add(1, Relaxed) < COMMITS {
                run(&mut session, text);
            }
            session.close();
        })
    };
    let members: Vec<_> = (0..CROWD).map(member).collect();
    members.into_iter().for_each(|member| member.join().unwrap());
}

impl Bench {
    /// Runs a batch that leaves its commit pending.
    fn pend(&mut self, text: &str) -> Told {
        let mut told = Told::default();
        assert_eq!(self.session.execute_batch(text, &mut told), RequestEnd::Finished);
        assert!(self.session.is_commit_pending(), "{text}: {:?}", told.events);
        assert!(told.pending_since.is_some());
        told
    }

    fn settle(&mut self, told: &mut Told) -> RequestEnd {
        assert_eq!(self.signal.wait(WaitType::SLEEP_TASK, None), WaitOutcome::Set);
        let end = self.session.settle_commit(told);
        assert!(!self.session.is_commit_pending() && told.pending_since.is_none());
        end
    }

    /// A session whose commit stays on the device for a long (simulated) time.
    fn slow_committer(&self) -> JoinHandle {
        let fault = Fault { effect: Effect::Delay(50_000_000), ..Fault::fail_once(Operation::Write, 0) };
        let hits = self.device.faults_hit_total();
        self.device.inject(fault.on("_log.ldf"));
        let shared = self.server.shared();
        let committer = self.os.spawn("slow committer", move || {
            let mut session = connect(&shared, NAME);
            assert_eq!(run(&mut session, "INSERT dbo.Crowd VALUES(0)").messages, []);
            session.close();
        });
        self.os.sleep(5_000_000, WaitType::SLEEP_TASK).unwrap();
        assert_eq!(self.device.faults_hit_total(), hits + 1, "it writes");
        committer
    }

    fn log_writes(&self) -> u64 {
        self.server.database().log().files()[0].stats.writes_total
    }

    fn other(&self) -> Session {
        self.server.session()
    }
}

#[test]
fn locks_stay_and_the_request_runs_until_its_commit_is_settled() {
    in_a_crowd(1, |bench| {
        for text in
            ["INSERT dbo.T1 VALUES(1)", "BEGIN TRAN; INSERT dbo.T1 VALUES(2); COMMIT", "EXEC dbo.Add1 3"]
        {
            let mut told = bench.pend(text);
            assert!(!bench.session.in_transaction());
            let mut other = bench.other();
            run(&mut other, "SET LOCK_TIMEOUT 0");
            assert_eq!(numbers(&run(&mut other, "SELECT col1 FROM dbo.T1 ORDER BY col1"))[0], 1222, "{text}");
            let id = bench.session.id();
            let text = format!("SELECT status, wait_type FROM sys.dm_exec_requests WHERE session_id = {id}");
            assert_eq!(rows(&mut other, &text), ["suspended|WRITELOG"]);
            assert_eq!(bench.settle(&mut told), RequestEnd::Finished);
            assert_eq!(rows(&mut other, &text), Vec::<String>::new());
            assert_eq!(told.pended, 1);
            other.close();
        }
        assert_eq!(keys(&mut bench.session), [1, 2, 3]);
    });
}

#[test]
fn who_is_alone_commits_before_the_request_ends() {
    alone(9, |bench| {
        for (key, text) in [
            (1, "INSERT dbo.T1 VALUES(1)"),
            (2, "BEGIN TRAN; INSERT dbo.T1 VALUES(2); COMMIT"),
            (3, "EXEC dbo.Add1 3"),
        ] {
            let (mut told, before) = (Told::default(), bench.log_writes());
            assert_eq!(bench.session.execute_batch(text, &mut told), RequestEnd::Finished);
            assert_eq!((told.pended, bench.session.is_commit_pending()), (0, false), "{text}");
            assert_eq!(bench.log_writes(), before + 1, "{text}");
            assert_eq!(keys(&mut bench.session).last(), Some(&key));
        }
        assert!(!bench.signal.is_set());
    });
}

#[test]
fn who_meets_the_write_of_another_is_pending_and_writes_when_settled() {
    alone(10, |bench| {
        let before = bench.log_writes();
        let committer = bench.slow_committer();
        let mut told = bench.pend("INSERT dbo.T1 VALUES(1)");
        assert!(!bench.signal.is_set());
        let mut other = bench.other();
        run(&mut other, "SET LOCK_TIMEOUT 0");
        committer.join().unwrap();
        assert_eq!(bench.signal.wait(WaitType::SLEEP_TASK, None), WaitOutcome::Set);
        assert_eq!(bench.log_writes(), before + 1, "rung to write, not hardened");
        assert_eq!(numbers(&run(&mut other, "SELECT col1 FROM dbo.T1"))[0], 1222);
        assert_eq!(bench.session.settle_commit(&mut told), RequestEnd::Finished);
        assert_eq!((bench.log_writes(), told.pended), (before + 2, 1));
        assert_eq!(keys(&mut other), [1]);
        other.close();
    });
}

#[test]
fn the_next_statement_settles_the_commit_before_it() {
    in_a_crowd(2, |bench| {
        let mut told = bench.pend("INSERT dbo.T1 VALUES(1); SELECT @@TRANCOUNT; INSERT dbo.T1 VALUES(2)");
        assert_eq!(told.pended, 2, "{:?}", told.events);
        assert_eq!(bench.settle(&mut told), RequestEnd::Finished);
        // Several calls in one message: each settles the one before.
        let mut told = Told::default();
        for key in [3, 4] {
            assert_eq!(bench.session.execute_rpc(insert_call(key), &mut told), RequestEnd::Finished);
        }
        assert_eq!(told.pended, 2);
        bench.settle(&mut told);
        assert_eq!(keys(&mut bench.session), [1, 2, 3, 4]);
    });
}

/// In a TRY block of any frame a commit blocks: after the end of the block its failure could no longer be caught.
#[test]
fn where_a_failure_could_be_caught_commits_block() {
    in_a_crowd(3, |bench| {
        for text in [
            "BEGIN TRY INSERT dbo.T1 VALUES(1) END TRY BEGIN CATCH PRINT 'x' END CATCH",
            "BEGIN TRY BEGIN TRAN; INSERT dbo.T1 VALUES(2); COMMIT END TRY BEGIN CATCH PRINT 'x' END CATCH",
            "BEGIN TRY EXEC dbo.Add1 3 END TRY BEGIN CATCH PRINT 'x' END CATCH",
            "BEGIN TRY EXEC('INSERT dbo.T1 VALUES(4)') END TRY BEGIN CATCH PRINT 'x' END CATCH",
        ] {
            let mut told = Told::default();
            assert_eq!(bench.session.execute_batch(text, &mut told), RequestEnd::Finished);
            assert_eq!((told.pended, bench.session.is_commit_pending()), (0, false), "{text}");
        }
        // After the block, and in its CATCH, commits may stay pending.
        bench.pend("BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH INSERT dbo.T1 VALUES(5) END CATCH");
        assert_eq!(keys(&mut bench.session), [1, 2, 3, 4, 5]);
    });
}

#[test]
fn what_follows_the_statement_in_the_server_itself_settles_it() {
    in_a_crowd(4, |bench| {
        // The table variable is dropped in a transaction of tempdb.
        let mut told = Told::default();
        bench.session.execute_batch("EXEC dbo.AddAfterTable", &mut told);
        assert_eq!((told.pended, bench.session.is_commit_pending()), (1, false));
        bench.pend("INSERT dbo.T1 VALUES(8)");
        let mut told = Told { pending_since: Some(0), ..Told::default() };
        bench.session.reset(false, &mut told);
        assert_eq!((told.events.len(), bench.session.is_commit_pending()), (1, false));
        let mut next = bench.other();
        std::mem::swap(&mut next, &mut bench.session);
        let mut told = Told::default();
        next.execute_batch(&format!("USE {NAME}; INSERT dbo.T1 VALUES(9)"), &mut told);
        assert!(next.is_commit_pending(), "{:?}", told.events);
        next.close();
        assert_eq!(keys(&mut bench.session), [7, 8, 9]);
    });
}

#[test]
fn neither_kill_nor_attention_takes_a_pending_commit_back() {
    in_a_crowd(5, |bench| {
        let mut told = bench.pend("INSERT dbo.T1 VALUES(1)");
        let mut other = bench.other();
        assert_eq!(run(&mut other, &format!("KILL {}", bench.session.id())).messages, []);
        let task = os::task::current();
        assert!(task.is_interrupted(), "it counts as running");
        assert_eq!(bench.session.settle_commit(&mut told), RequestEnd::Finished);
        task.clear_interrupt();
        assert_eq!(keys(&mut other), [1]);
        assert_eq!(bench.session.execute_batch("SELECT 1", &mut Told::default()), RequestEnd::Close);
        other.close();
    });
    in_a_crowd(5, |bench| {
        let task = os::task::current();
        let mut told = bench.pend("INSERT dbo.T1 VALUES(2)");
        task.interrupt(os::task::InterruptReason::Attention);
        assert_eq!(bench.session.settle_commit(&mut told), RequestEnd::Finished);
        task.clear_interrupt();
        assert_eq!(keys(&mut bench.other()), [2]);
    });
}

#[test]
fn any_thread_settles() {
    in_a_crowd(6, |bench| {
        let mut told = bench.pend("INSERT dbo.T1 VALUES(1)");
        let mut session = bench.other();
        std::mem::swap(&mut session, &mut bench.session);
        let signal = Arc::clone(&bench.signal);
        let settler = bench.os.spawn("settler", move || {
            assert_eq!(signal.wait(WaitType::SLEEP_TASK, None), WaitOutcome::Set);
            assert_eq!(session.settle_commit(&mut told), RequestEnd::Finished);
            session.close();
        });
        settler.join().unwrap();
        assert_eq!(keys(&mut bench.session), [1]);
    });
}

/// The procedure has left its database while its commit is pending; no other session can drop that database meanwhile.
#[test]
fn a_pending_commit_keeps_its_database() {
    in_a_crowd(7, |bench| {
        run(&mut bench.session, "CREATE TABLE other.dbo.T1(col1 INT NOT NULL)");
        run(&mut bench.session, "USE other");
        run(&mut bench.session, "CREATE PROCEDURE dbo.Own AS INSERT other.dbo.T1 VALUES(1)");
        run(&mut bench.session, &format!("USE {NAME}"));
        crowd(&bench.os, &bench.server, "other", "INSERT dbo.T1 VALUES(2)");
        let mut told = bench.pend("EXEC other.dbo.Own");
        let mut dropper = bench.server.session_in("master");
        assert_eq!(numbers(&run(&mut dropper, "DROP DATABASE other")), [3702]);
        bench.settle(&mut told);
        assert_eq!(number(&mut bench.session, "SELECT COUNT(*) FROM other.dbo.T1 WHERE col1 = 1"), 1);
        run(&mut dropper, "DROP DATABASE other");
        dropper.close();
    });
}

fn insert_call(key: i32) -> RpcCall {
    let text = |value: &str| RpcParameter {
        name: String::new(),
        sql_type: SqlType::NVARCHAR_MAX,
        value: Value::nvarchar(value),
        output: false,
        default: false,
        table: None,
    };
    RpcCall {
        target: RpcTarget::Name("sp_executesql".into()),
        parameters: vec![text(&format!("INSERT dbo.T1 VALUES({key})"))],
        no_metadata: false,
    }
}

/// A request's effect on a session, and its end.
type Request = fn(&mut Session, &mut Told) -> RequestEnd;

/// The output of a request whose commit meets a failing log; and how often a commit was pending.
fn failing(request: Request, leaves_pending: bool) -> (Vec<String>, RequestEnd, u64) {
    let answer = crate::common::simulated::kept(None);
    let kept = Arc::clone(&answer);
    let world = World::new(8, Profile { switches_max: 40_000_000, ..Profile::constant_latency() });
    let device = world.clone();
    let report = world.run(move |os| {
        let (server, mut session) = Server::with_table(os);
        run(&mut session, "CREATE TABLE dbo.Crowd(col1 INT NOT NULL)");
        run(&mut session, "CREATE PROCEDURE dbo.Add1 @key INT AS\nINSERT dbo.T1 VALUES(@key)");
        crowd(os, &server, NAME, "INSERT dbo.Crowd VALUES(1)");
        if leaves_pending {
            session.allow_pending_commits(Arc::new(Signal::new()).into());
        }
        device.inject(Fault::fail_once(Operation::Write, 0).on("_log.ldf"));
        let mut told = Told::default();
        let mut end = request(&mut session, &mut told);
        if session.is_commit_pending() {
            end = session.settle_commit(&mut told);
        }
        assert!(!session.in_transaction() && told.pending_since.is_none());
        *kept.lock() = Some((told.events, end, told.pended));
        session.close();
        server.instance.shutdown();
    });
    report.assert_ok();
    let found = answer.lock().take();
    found.unwrap()
}

#[test]
fn a_failure_tells_what_a_blocking_commit_tells() {
    let requests: [(Request, &str); 7] = [
        (|s, told| s.execute_batch("INSERT\ndbo.T1 VALUES(1)", told), "INSERT"),
        (|s, told| s.execute_batch("\nINSERT dbo.T1 VALUES(1)\nPRINT 'never'", told), "a statement after it"),
        (|s, told| s.execute_batch("BEGIN TRAN; INSERT dbo.T1 VALUES(1);\nCOMMIT", told), "COMMIT"),
        (|s, told| s.execute_batch("EXEC dbo.Add1 1", told), "a procedure"),
        (|s, told| s.execute_batch("EXEC dbo.Add1 1; PRINT 'never'", told), "a statement after a procedure"),
        (|s, told| s.execute_rpc(insert_call(1), told), "a call"),
        (
            |s, told| {
                s.execute_batch("BEGIN TRAN; INSERT dbo.T1 VALUES(1)", told);
                let commit = TransactionRequest::Commit { name: String::new(), then_begin: None };
                s.transaction_request(&commit, told)
            },
            "a request to the transaction manager",
        ),
    ];
    for (request, what) in requests {
        let (blocking, end, pended) = failing(request, false);
        assert!(blocking.iter().any(|event| event.starts_with("9001 ")), "{what}: {blocking:?}");
        assert!(!blocking.iter().any(|event| event.contains("CommitTransaction")), "{what}: {blocking:?}");
        assert_eq!(pended, 0);
        assert_eq!(failing(request, true), (blocking, end, 1), "{what}");
    }
}
