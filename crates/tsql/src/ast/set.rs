//! SET of session options.

use super::{Expr, Ident, IsolationLevel, ObjectName};

/// `SET ..` other than of a variable.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum SetStatement {
    /// `SET NOCOUNT, XACT_ABORT ON`
    Switches { options: Vec<SwitchOption>, on: bool },
    /// `SET STATISTICS IO, TIME ON`
    Statistics { kinds: Vec<StatisticsKind>, on: bool },
    /// `SET OFFSETS SELECT, FROM ON`
    Offsets { words: Vec<Ident>, on: bool },
    /// `SET TRANSACTION ISOLATION LEVEL ..`
    TransactionIsolation(IsolationLevel),
    /// `SET IDENTITY_INSERT t ON`
    IdentityInsert { table: ObjectName, on: bool },
    /// `SET ROWCOUNT 10`, `SET LANGUAGE us_english`: bare words come as string literals.
    Value { option: ValueOption, value: Expr },
    /// `SET ERRLVL n`
    ErrorLevel(Expr),
}

/// Options that are ON or OFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SwitchOption {
    /// Hardpan's own: each commit reports its ticket.
    CommitTickets,
    AnsiDefaults,
    AnsiNullDfltOff,
    AnsiNullDfltOn,
    AnsiNulls,
    AnsiPadding,
    AnsiWarnings,
    ArithAbort,
    ArithIgnore,
    ConcatNullYieldsNull,
    CursorCloseOnCommit,
    DisableDefCnstChk,
    FmtOnly,
    ForcePlan,
    ImplicitTransactions,
    NoBrowseTable,
    NoCount,
    NoExec,
    NumericRoundAbort,
    ParseOnly,
    QuotedIdentifier,
    RemoteProcTransactions,
    ResultSetCaching,
    ShowplanAll,
    ShowplanText,
    ShowplanXml,
    XactAbort,
}

/// Kinds of SET STATISTICS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum StatisticsKind {
    Io,
    Time,
    Profile,
    Xml,
}

/// Options that take a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ValueOption {
    /// Hardpan's own: when a commit is acknowledged, with its statement or with its batch.
    CommitAck,
    RowCount,
    TextSize,
    LockTimeout,
    DateFirst,
    DateFormat,
    Language,
    DeadlockPriority,
    ContextInfo,
    QueryGovernorCostLimit,
    FipsFlagger,
}
