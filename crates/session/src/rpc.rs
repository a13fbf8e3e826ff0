//! Remote procedure calls as a client sends them: the names, parameters and well-known numbers of the protocol.

use types::{SqlType, Value};

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

/// Well-known procedures by number (MS-TDS, "RPC Request", ProcID).
pub fn procedure_name(number: u16) -> Option<&'static str> {
    Some(match number {
        1 => "sp_cursor",
        2 => "sp_cursoropen",
        3 => "sp_cursorprepare",
        4 => "sp_cursorexecute",
        5 => "sp_cursorprepexec",
        6 => "sp_cursorunprepare",
        7 => "sp_cursorfetch",
        8 => "sp_cursoroption",
        9 => "sp_cursorclose",
        10 => "sp_executesql",
        11 => "sp_prepare",
        12 => "sp_execute",
        13 => "sp_prepexec",
        14 => "sp_prepexecrpc",
        15 => "sp_unprepare",
        _ => return None,
    })
}
