//! A client of a simulated server: a session in the same world that sends batches and receives rows and errors. A client that leaves commits
//! pending is woken when they are hardened; it has no answer before that.

use std::sync::Arc;

use engine::Instance;
use os::{Signal, WaitOutcome, WaitType};
use session::{
    ColumnDescription, Done, EnvironmentChange, Flow, LoginInfo, RequestEnd, ResultSink, Session,
    SessionShared,
};
use types::{SqlError, SqlType, Value};

/// The answer to one batch.
#[derive(Default)]
pub(crate) struct Answer {
    /// Rows of all result sets, in order.
    pub(crate) rows: Vec<Vec<Value>>,
    /// Messages of severity above 10.
    pub(crate) errors: Vec<SqlError>,
    /// Numbers of rows and errors at the moment when a commit was left pending.
    pending_since: Option<(usize, usize)>,
    /// Called with each row as it arrives: the client has received it even if the batch fails later.
    witness: Option<Box<dyn FnMut(&[Value])>>,
}

impl Answer {
    /// The first error's number, if there was any.
    pub(crate) fn error_number(&self) -> Option<i32> {
        self.errors.first().map(|error| error.number)
    }

    /// All errors as one text.
    pub(crate) fn error_text(&self) -> String {
        let texts: Vec<String> =
            self.errors.iter().map(|e| format!("Msg {}: {}", e.number, e.message)).collect();
        texts.join("; ")
    }

    /// The rows as numbers.
    pub(crate) fn numbers(&self) -> Result<Vec<Vec<i64>>, String> {
        self.rows.iter().map(|row| row.iter().map(number).collect()).collect()
    }
}

/// Reads a value as a whole number.
pub(crate) fn number(value: &Value) -> Result<i64, String> {
    match value {
        Value::BigInt(number) => Ok(*number),
        Value::Int(number) => Ok(i64::from(*number)),
        Value::SmallInt(number) => Ok(i64::from(*number)),
        Value::TinyInt(number) => Ok(i64::from(*number)),
        other => Err(format!("{other:?} is no whole number")),
    }
}

impl ResultSink for Answer {
    fn columns(&mut self, _columns: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, row: &[Value]) -> Flow {
        self.rows.push(row.to_vec());
        if let Some(witness) = &mut self.witness {
            witness(row);
        }
        Flow::Continue
    }

    fn message(&mut self, message: &SqlError) {
        if message.severity > 10 {
            self.errors.push(message.clone());
        }
    }

    fn done(&mut self, _done: Done) {}

    fn return_status(&mut self, _status: i32) {}

    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}

    fn environment(&mut self, _change: EnvironmentChange) {}

    fn commit_pends(&mut self) {
        let before = self.pending_since.replace((self.rows.len(), self.errors.len()));
        assert!(before.is_none(), "one commit pends at a time");
    }

    fn commit_settled(&mut self, hardened: bool) {
        let (rows, errors) = self.pending_since.take().expect("what is settled was pending");
        if !hardened {
            self.rows.truncate(rows);
            self.errors.truncate(errors);
        }
    }
}

/// One session.
pub(crate) struct Client {
    session: Session,
    signal: Arc<Signal>,
    /// Number of commits that were left pending at the end of a batch.
    pending_commits: u64,
    reported: u64,
}

/// The shared state of an instance's sessions.
pub(crate) fn shared(instance: &Arc<Instance>) -> SessionShared {
    SessionShared::new(Arc::clone(instance), "SIM", 0)
}

impl Client {
    /// Logs in to `database`.
    pub(crate) fn connect(shared: &SessionShared, database: &str) -> Result<Client, SqlError> {
        let login = LoginInfo {
            login_name: "sa".to_owned(),
            database: database.to_owned(),
            ansi_defaults: true,
            ..LoginInfo::default()
        };
        Ok(Client {
            session: Session::new(shared, login)?,
            signal: Arc::default(),
            pending_commits: 0,
            reported: 0,
        })
    }

    /// From now on commits may be left pending.
    pub(crate) fn allow_pending_commits(&mut self) {
        self.session.allow_pending_commits(Arc::clone(&self.signal).into());
    }

    /// The number of commits left pending since the last call.
    pub(crate) fn newly_pending(&mut self) -> u64 {
        self.pending_commits - std::mem::replace(&mut self.reported, self.pending_commits)
    }

    /// Runs one batch to its end.
    pub(crate) fn execute(&mut self, text: &str) -> Answer {
        self.run(text, Answer::default())
    }

    /// Runs one batch to its end; calls `witness` with each row as it arrives.
    pub(crate) fn execute_before(&mut self, text: &str, witness: impl FnMut(&[Value]) + 'static) -> Answer {
        self.run(text, Answer { witness: Some(Box::new(witness)), ..Answer::default() })
    }

    fn run(&mut self, text: &str, mut answer: Answer) -> Answer {
        let mut end = self.session.execute_batch(text, &mut answer);
        if self.session.is_commit_pending() {
            self.pending_commits += 1;
            // Sometimes it does not wait for the signal; the signal of the next commit may then come early.
            if !self.pending_commits.is_multiple_of(4) {
                assert_eq!(self.signal.wait(WaitType::WRITELOG, None), WaitOutcome::Set);
            }
            end = self.session.settle_commit(&mut answer);
        }
        assert!(!self.session.is_commit_pending() && answer.pending_since.is_none(), "settled");
        if end == RequestEnd::Close && answer.errors.is_empty() {
            answer.errors.push(SqlError::custom(596, 21, 1, "the session was closed".to_owned()));
        }
        answer
    }

    /// Sends the rows behind an INSERT BULK.
    pub(crate) fn load(&mut self, rows: &mut dyn session::BulkSource) -> Answer {
        let mut answer = Answer::default();
        self.session.bulk_load(rows, &mut answer);
        answer
    }

    /// Runs one batch that must succeed.
    pub(crate) fn must(&mut self, text: &str) -> Answer {
        let answer = self.execute(text);
        assert!(answer.errors.is_empty(), "{text}: {}", answer.error_text());
        answer
    }

    /// Logs out.
    pub(crate) fn close(self) {
        self.session.close();
    }
}
