//! The result sink of a request: the contract between `session` and the code that sends results to a client.

use types::{SqlError, SqlType, Value};

pub use query::{ColumnDescription, Flow};

/// What has ended: DONE, DONEINPROC and DONEPROC of the wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneKind {
    /// A statement of the outermost batch.
    Statement,
    /// A statement inside a procedure or a parameterised batch.
    InProcedure,
    /// A procedure or parameterised batch as a whole.
    Procedure,
}

/// The end of a statement or procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// What ended.
    pub kind: DoneKind,
    /// Rows returned or changed; none under SET NOCOUNT ON and for statements without a count.
    pub row_count: Option<u64>,
    /// It ended with an error.
    pub error: bool,
    /// The statement's code on the wire (CurCmd): 193 SELECT, 195 INSERT, 196 DELETE, 197 UPDATE, 253 others.
    pub command: u16,
}

/// A change of the session that clients are informed of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvironmentChange {
    /// Current database: new name, old name.
    Database(String, String),
    /// Language: new name, old name.
    Language(String, String),
    /// A transaction began; its descriptor.
    BeginTransaction(u64),
    /// The transaction with this descriptor was committed.
    CommitTransaction(u64),
    /// The transaction with this descriptor was rolled back.
    RollbackTransaction(u64),
    /// The connection was reset to its state after login.
    ResetConnection,
}

/// Where a column of a server cursor's result comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// It is no column of the cursor's table.
    pub is_expression: bool,
    /// Its name in the table, when the result calls it otherwise.
    pub renamed: Option<String>,
    /// It belongs to the key by which the cursor finds the row again.
    pub is_key: bool,
    /// Added by the cursor, not named in the query.
    pub is_hidden: bool,
}

/// Receives the results of one request, in order.
pub trait ResultSink {
    /// A result set begins.
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow;
    /// The origin of its columns, when it comes from a server cursor; the parts of the table's name are empty when the cursor has no such table.
    fn origins(&mut self, _table: &[String], _columns: &[ColumnOrigin]) {}
    /// One row of it.
    fn row(&mut self, row: &[Value]) -> Flow;
    /// An error (severity above 10) or a message for the user.
    fn message(&mut self, message: &SqlError);
    /// A statement or procedure ended. Only the next call shows whether more follows.
    fn done(&mut self, done: Done);
    /// Return value of a procedure called by RPC.
    fn return_status(&mut self, status: i32);
    /// An OUTPUT parameter of a procedure called by RPC; `ordinal` is its position in the call.
    fn return_value(&mut self, ordinal: u16, name: &str, sql_type: &SqlType, value: &Value);
    /// The value of a scalar function called by RPC. Only clients of a wire protocol call one, so other receivers need not take it.
    fn function_value(&mut self, sql_type: &SqlType, value: &Value) {
        let _ = (sql_type, value);
    }
    /// The session changed.
    fn environment(&mut self, change: EnvironmentChange);
    /// Sends the output so far to the client now (RAISERROR WITH NOWAIT).
    fn flush(&mut self) {}
    /// A commit is pending (only after [`Session::allow_pending_commits`](crate::Session::allow_pending_commits)): the following output reports it
    /// as done and may have to be discarded; do not send it before `commit_settled`.
    fn commit_pends(&mut self) {}
    /// The commit is as durable as requested. Or it has failed: discard all output since `commit_pends`; the following output reports the failure.
    fn commit_settled(&mut self, hardened: bool) {
        let _ = hardened;
    }
}

/// Discards everything; for statements whose results are not wanted.
pub struct NullSink;

impl ResultSink for NullSink {
    fn columns(&mut self, _columns: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, _row: &[Value]) -> Flow {
        Flow::Continue
    }
    fn message(&mut self, _message: &SqlError) {}
    fn done(&mut self, _done: Done) {}
    fn return_status(&mut self, _status: i32) {}
    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}
    fn environment(&mut self, _change: EnvironmentChange) {}
}

/// A sink in front of another: the next sink receives every call that the layer does not handle itself. Only origins stay behind: they describe
/// the columns of a server cursor, which has no layer.
pub(crate) trait SinkLayer {
    /// The sink behind this layer.
    fn next(&mut self) -> &mut dyn ResultSink;
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow;
    fn row(&mut self, row: &[Value]) -> Flow;
    fn done(&mut self, done: Done) {
        self.next().done(done);
    }
    fn return_status(&mut self, status: i32) {
        self.next().return_status(status);
    }
    fn return_value(&mut self, ordinal: u16, name: &str, sql_type: &SqlType, value: &Value) {
        self.next().return_value(ordinal, name, sql_type, value);
    }
}

impl<L: SinkLayer> ResultSink for L {
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        SinkLayer::columns(self, columns)
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        SinkLayer::row(self, row)
    }
    fn message(&mut self, message: &SqlError) {
        self.next().message(message);
    }
    fn done(&mut self, done: Done) {
        SinkLayer::done(self, done);
    }
    fn return_status(&mut self, status: i32) {
        SinkLayer::return_status(self, status);
    }
    fn return_value(&mut self, ordinal: u16, name: &str, sql_type: &SqlType, value: &Value) {
        SinkLayer::return_value(self, ordinal, name, sql_type, value);
    }
    fn environment(&mut self, change: EnvironmentChange) {
        self.next().environment(change);
    }
    fn flush(&mut self) {
        self.next().flush();
    }
    fn commit_pends(&mut self) {
        self.next().commit_pends();
    }
    fn commit_settled(&mut self, hardened: bool) {
        self.next().commit_settled(hardened);
    }
}
