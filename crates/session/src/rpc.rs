//! Remote procedure calls and transaction manager requests in the protocol's terms: names, parameters, well-known procedure numbers.

use types::{SqlType, Value};

use crate::table_types::TableType;

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
    /// Value as sent; the session converts it.
    pub value: Value,
    /// The client wants it back.
    pub output: bool,
    /// The client asks for the parameter's default instead of a value.
    pub default: bool,
    /// The value is a table: `sql_type` and `value` say nothing.
    pub table: Option<Box<SentTable>>,
}

/// A table as a client sends it.
#[derive(Clone, Debug, PartialEq)]
pub struct SentTable {
    /// Schema of its type, may be empty.
    pub schema: String,
    /// Name of its type, may be empty.
    pub name: String,
    /// The type of each column as sent; `None`: all rows get the column's default. `None` in place of the columns: no table at all.
    pub columns: Option<Vec<Option<SqlType>>>,
    /// Rows: the values of the columns that have some.
    pub rows: Vec<Vec<Value>>,
}

impl SentTable {
    /// Can it be of this type? A client may leave the name of the type out.
    pub(crate) fn may_be(&self, table_type: &TableType) -> bool {
        let fits = |sent: &str, own: &str| sent.is_empty() || sent.eq_ignore_ascii_case(own);
        fits(&self.schema, &table_type.schema) && fits(&self.name, &table_type.name)
    }
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
    shown_name(number).map(|shown| &shown["sys.".len()..])
}

/// The well-known procedures with their schema, as the views show them.
pub(crate) fn shown_name(number: u16) -> Option<&'static str> {
    Some(match number {
        1 => "sys.sp_cursor",
        2 => "sys.sp_cursoropen",
        3 => "sys.sp_cursorprepare",
        4 => "sys.sp_cursorexecute",
        5 => "sys.sp_cursorprepexec",
        6 => "sys.sp_cursorunprepare",
        7 => "sys.sp_cursorfetch",
        8 => "sys.sp_cursoroption",
        9 => "sys.sp_cursorclose",
        10 => "sys.sp_executesql",
        11 => "sys.sp_prepare",
        12 => "sys.sp_execute",
        13 => "sys.sp_prepexec",
        14 => "sys.sp_prepexecrpc",
        15 => "sys.sp_unprepare",
        _ => return None,
    })
}
