//! The words of SET: read by the parser, written by the printer.

use crate::ast::{StatisticsKind, SwitchOption, ValueOption};

/// ON/OFF options with their spelling.
pub(crate) const SWITCHES: [(&str, SwitchOption); 27] = [
    ("NOCOUNT", SwitchOption::NoCount),
    ("QUOTED_IDENTIFIER", SwitchOption::QuotedIdentifier),
    ("ANSI_NULLS", SwitchOption::AnsiNulls),
    ("XACT_ABORT", SwitchOption::XactAbort),
    ("ANSI_WARNINGS", SwitchOption::AnsiWarnings),
    ("ANSI_PADDING", SwitchOption::AnsiPadding),
    ("ANSI_DEFAULTS", SwitchOption::AnsiDefaults),
    ("ANSI_NULL_DFLT_ON", SwitchOption::AnsiNullDfltOn),
    ("ANSI_NULL_DFLT_OFF", SwitchOption::AnsiNullDfltOff),
    ("ARITHABORT", SwitchOption::ArithAbort),
    ("ARITHIGNORE", SwitchOption::ArithIgnore),
    ("COMMIT_TICKETS", SwitchOption::CommitTickets),
    ("CONCAT_NULL_YIELDS_NULL", SwitchOption::ConcatNullYieldsNull),
    ("CURSOR_CLOSE_ON_COMMIT", SwitchOption::CursorCloseOnCommit),
    ("DISABLE_DEF_CNST_CHK", SwitchOption::DisableDefCnstChk),
    ("FMTONLY", SwitchOption::FmtOnly),
    ("FORCEPLAN", SwitchOption::ForcePlan),
    ("IMPLICIT_TRANSACTIONS", SwitchOption::ImplicitTransactions),
    ("NO_BROWSETABLE", SwitchOption::NoBrowseTable),
    ("NOEXEC", SwitchOption::NoExec),
    ("NUMERIC_ROUNDABORT", SwitchOption::NumericRoundAbort),
    ("PARSEONLY", SwitchOption::ParseOnly),
    ("REMOTE_PROC_TRANSACTIONS", SwitchOption::RemoteProcTransactions),
    ("RESULT_SET_CACHING", SwitchOption::ResultSetCaching),
    ("SHOWPLAN_ALL", SwitchOption::ShowplanAll),
    ("SHOWPLAN_TEXT", SwitchOption::ShowplanText),
    ("SHOWPLAN_XML", SwitchOption::ShowplanXml),
];

/// Options with a value and their spelling.
pub(crate) const VALUES: [(&str, ValueOption); 11] = [
    ("COMMIT_ACK", ValueOption::CommitAck),
    ("ROWCOUNT", ValueOption::RowCount),
    ("TEXTSIZE", ValueOption::TextSize),
    ("LOCK_TIMEOUT", ValueOption::LockTimeout),
    ("DATEFIRST", ValueOption::DateFirst),
    ("DATEFORMAT", ValueOption::DateFormat),
    ("LANGUAGE", ValueOption::Language),
    ("DEADLOCK_PRIORITY", ValueOption::DeadlockPriority),
    ("CONTEXT_INFO", ValueOption::ContextInfo),
    ("QUERY_GOVERNOR_COST_LIMIT", ValueOption::QueryGovernorCostLimit),
    ("FIPS_FLAGGER", ValueOption::FipsFlagger),
];

/// Kinds of SET STATISTICS with their spelling.
pub(crate) const STATISTICS: [(&str, StatisticsKind); 4] = [
    ("IO", StatisticsKind::Io),
    ("TIME", StatisticsKind::Time),
    ("PROFILE", StatisticsKind::Profile),
    ("XML", StatisticsKind::Xml),
];
