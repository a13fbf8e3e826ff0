//! What the server needs of sessions, as a trait, so that the wire can be tested without an engine behind it.

use types::SqlResult;

pub use self::stub::*;

/// Opens sessions for logins that have been let in.
pub trait SessionSource: Send + Sync {
    /// A session in the database asked for.
    ///
    /// # Errors
    /// 4060 when the database does not exist or cannot be opened.
    fn open(&self, login: LoginInfo) -> SqlResult<Box<dyn ClientSession>>;
}

/// One session, driven by its connection's thread.
pub trait ClientSession {
    /// `@@SPID`.
    fn id(&self) -> u16;
    /// Name of the current database.
    fn database_name(&self) -> String;
    /// Runs a batch.
    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink) -> RequestEnd;
    /// Runs one remote procedure call.
    fn execute_rpc(&mut self, call: &RpcCall, sink: &mut dyn ResultSink) -> RequestEnd;
    /// Runs a transaction manager request.
    fn transaction_request(&mut self, request: &TransactionRequest, sink: &mut dyn ResultSink) -> RequestEnd;
    /// Back to the state after login.
    fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink);
    /// Ends it.
    fn close(self: Box<Self>);
}
/// Stand-in until `session` has landed.
#[allow(missing_docs)]
mod stub {
    use types::{SqlError, SqlType, Value};
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Flow {
        /// Go on.
        Continue,
        /// Enough: attention or a closed connection.
        Stop,
    }
    #[derive(Clone, Debug, PartialEq)]
    pub struct ColumnDescription {
        /// Name, empty when the column has none.
        pub name: String,
        /// Type.
        pub sql_type: SqlType,
        /// May hold NULL.
        pub nullable: bool,
        /// Comes from an identity column.
        pub identity: bool,
        /// Came from a base table column that can be updated.
        pub updatable: bool,
        /// Is an expression.
        pub computed: bool,
    }
    /// What kind of thing has just ended; the wire's DONE, DONEINPROC and DONEPROC.
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

    /// A change of the session that clients are told about.
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

    /// Receives the results of one request, in order.
    pub trait ResultSink {
        /// A result set begins.
        fn columns(&mut self, columns: &[ColumnDescription]) -> Flow;
        /// One row of it.
        fn row(&mut self, row: &[Value]) -> Flow;
        /// An error (severity above 10) or a message for the user.
        fn message(&mut self, message: &SqlError);
        /// A statement or procedure ended. Whether more follows is known only to the sink's owner, who sees the next call.
        fn done(&mut self, done: Done);
        /// Return value of a procedure called by RPC.
        fn return_status(&mut self, status: i32);
        /// An OUTPUT parameter of a procedure called by RPC; `ordinal` is its position in the call.
        fn return_value(&mut self, ordinal: u16, name: &str, sql_type: &SqlType, value: &Value);
        /// The session changed.
        fn environment(&mut self, change: EnvironmentChange);
    }

    /// Forgets everything; for statements whose results nobody asked for.
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
    /// Which procedure a call names.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum RpcTarget {
        /// By its number in the protocol (10 is `sp_executesql`).
        Number(u16),
        /// By name, as written: `[sys].sp_tables`, `dbo.p`.
        Name(String),
    }

    /// One parameter of a call.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RpcParameter {
        /// Name with `@`, empty when positional.
        pub name: String,
        /// Type as sent.
        pub sql_type: SqlType,
        /// Value as sent; the server's business to convert.
        pub value: Value,
        /// The client wants it back.
        pub output: bool,
        /// The client asks for the parameter's default instead of a value.
        pub default: bool,
    }

    /// One call.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RpcCall {
        /// Which procedure.
        pub target: RpcTarget,
        /// Parameters in order.
        pub parameters: Vec<RpcParameter>,
        /// Do not send column descriptions again (option flag 2); may be ignored.
        pub no_metadata: bool,
    }

    /// Isolation asked for by a transaction manager request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RequestedIsolation {
        /// Keep the session's level.
        Unchanged,
        /// READ UNCOMMITTED.
        ReadUncommitted,
        /// READ COMMITTED.
        ReadCommitted,
        /// REPEATABLE READ.
        RepeatableRead,
        /// SERIALIZABLE.
        Serializable,
        /// SNAPSHOT.
        Snapshot,
    }

    /// A request to the transaction manager, as drivers send it instead of BEGIN TRAN and COMMIT text.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum TransactionRequest {
        /// Begin.
        Begin {
            /// Level for it.
            isolation: RequestedIsolation,
            /// Its name, may be empty.
            name: String,
        },
        /// Commit, and begin the next at once when `then_begin` is given (chained).
        Commit {
            /// Name, ignored as in COMMIT.
            name: String,
            /// Level and name of the next transaction.
            then_begin: Option<(RequestedIsolation, String)>,
        },
        /// Roll back all, or to the savepoint `name`; and begin the next when asked.
        Rollback {
            /// Empty, the outermost name or a savepoint.
            name: String,
            /// Level and name of the next transaction.
            then_begin: Option<(RequestedIsolation, String)>,
        },
        /// Set a savepoint.
        Save {
            /// Its name.
            name: String,
        },
    }

    /// Who has logged in and from where.
    #[derive(Clone, Debug, Default)]
    pub struct LoginInfo {
        /// Login name.
        pub login_name: String,
        /// Client's host name.
        pub host_name: String,
        /// Client's program name.
        pub program_name: String,
        /// Client's process id.
        pub host_process_id: i32,
        /// Client library's name.
        pub client_interface_name: String,
        /// Database asked for; empty takes the login's default.
        pub database: String,
        /// Language asked for; empty takes us_english.
        pub language: String,
        /// The client asked for ODBC's ANSI defaults (fODBC of LOGIN7).
        pub ansi_defaults: bool,
        /// Client's address and port, empty in process.
        pub client_address: String,
        /// Client's port.
        pub client_port: u16,
        /// Server's port.
        pub server_port: u16,
        /// The connection is encrypted.
        pub encrypted: bool,
        /// Negotiated packet size, bytes.
        pub packet_bytes: u32,
    }
    /// How a request ended, for whoever owns the connection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RequestEnd {
        /// All statements were run or an error ended the batch; everything has been sent to the sink.
        Finished,
        /// The client's attention (or KILL) stopped it.
        Attention,
        /// A fatal error: the connection must be closed.
        Close,
    }
}
