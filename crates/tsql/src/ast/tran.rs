//! Transactions.

use super::Ident;

/// A transaction's or savepoint's name.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionName {
    /// Written out.
    Name(Ident),
    /// `@v`
    Variable(String),
}

/// BEGIN [DISTRIBUTED] TRAN [name] [WITH MARK ['description']]
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct BeginTransaction {
    pub distributed: bool,
    pub name: Option<TransactionName>,
    pub mark: bool,
    /// A string literal or a variable's name.
    pub mark_description: Option<super::Expr>,
}

/// COMMIT [TRAN [name]] [WITH (DELAYED_DURABILITY = ON|OFF, MAX_WAIT = n MS)], COMMIT WORK
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Commit {
    /// COMMIT WORK
    pub work: bool,
    pub name: Option<TransactionName>,
    /// ON (true), OFF (false), not said.
    pub delayed_durability: Option<bool>,
    /// Hardpan's own: how long to wait until it is durable, milliseconds.
    pub max_wait_ms: Option<super::Expr>,
}

/// ROLLBACK [TRAN [name]], ROLLBACK WORK
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Rollback {
    pub work: bool,
    pub name: Option<TransactionName>,
}

/// SET TRANSACTION ISOLATION LEVEL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}
