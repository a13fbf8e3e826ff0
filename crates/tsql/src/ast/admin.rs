//! DBCC, KILL and statements that are only recognised.

use super::{Expr, Ident, NamedOption};

/// `DBCC name (args) WITH options`
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Dbcc {
    /// Command, as written.
    pub name: Ident,
    /// Bare words come as unqualified columns or strings.
    pub args: Vec<DbccArgument>,
    /// Whether parentheses were written.
    pub parenthesized: bool,
    pub options: Vec<NamedOption>,
}

/// One argument.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum DbccArgument {
    /// A literal, variable, or a (qualified) name as column reference.
    Value(Expr),
    /// `name = value`
    Named(Ident, Expr),
}

/// KILL.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Kill {
    /// KILL spid | 'unit of work' [WITH STATUSONLY | COMMIT | ROLLBACK]
    Session { id: Expr, option: Option<Ident> },
    /// KILL QUERY NOTIFICATION SUBSCRIPTION ALL|id
    QueryNotification(Option<Expr>),
    /// KILL STATS JOB id
    StatsJob(Expr),
}

/// A statement that is valid T-SQL and that Hardpan only recognises.
#[derive(Debug, Clone, PartialEq)]
pub struct Other {
    /// `CREATE CERTIFICATE`, `SEND`, `ALTER SERVICE`: upper case, for the message that refuses it.
    pub kind_name: String,
    /// The whole statement as written.
    pub text: String,
}
