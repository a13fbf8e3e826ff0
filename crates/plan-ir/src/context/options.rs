//! The settings of SET that a statement is compiled and run under.

use std::sync::Arc;

use engine::Database;
use types::SqlError;

/// The SET options that change how a statement is bound or run.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOptions {
    /// SET ANSI_NULLS: comparisons with NULL are UNKNOWN.
    pub ansi_nulls: bool,
    /// SET QUOTED_IDENTIFIER: double quotes delimit names.
    pub quoted_identifier: bool,
    /// SET ANSI_WARNINGS: division by zero and truncation are errors.
    pub ansi_warnings: bool,
    /// SET ANSI_PADDING.
    pub ansi_padding: bool,
    /// SET ARITHABORT: OFF together with ANSI_WARNINGS OFF, an arithmetic error is NULL.
    pub arithabort: bool,
    /// SET ARITHIGNORE: nothing is said about such a NULL.
    pub arithignore: bool,
    /// SET CONCAT_NULL_YIELDS_NULL.
    pub concat_null_yields_null: bool,
    /// SET NUMERIC_ROUNDABORT.
    pub numeric_roundabort: bool,
    /// SET NOCOUNT.
    pub nocount: bool,
    /// SET XACT_ABORT.
    pub xact_abort: bool,
    /// SET IMPLICIT_TRANSACTIONS.
    pub implicit_transactions: bool,
    /// SET ANSI_NULL_DFLT_ON: a column without NULL or NOT NULL is nullable.
    pub ansi_null_default_on: bool,
    /// SET ANSI_NULL_DFLT_OFF: it is not. Never ON together with the other; both OFF leave it to the database.
    pub ansi_null_default_off: bool,
    /// SET CURSOR_CLOSE_ON_COMMIT.
    pub cursor_close_on_commit: bool,
    /// SET FMTONLY: only the columns of result sets are told.
    pub format_only: bool,
    /// SET NOEXEC: statements are compiled, not run.
    pub no_exec: bool,
    /// SET PARSEONLY: batches are parsed, nothing more.
    pub parse_only: bool,
    /// SET SHOWPLAN_TEXT, _ALL, _XML: plans are shown instead of run.
    pub showplan: Option<ShowplanForm>,
    /// SET STATISTICS IO: which pages of which tables each statement asks for.
    pub statistics_io: bool,
    /// STATISTICS PROFILE.
    pub statistics_profile: bool,
    /// STATISTICS XML.
    pub statistics_xml: bool,
    /// SET STATISTICS TIME: how long compiling and running takes.
    pub statistics_time: bool,
    /// SET ROWCOUNT, 0 = no limit.
    pub row_count: u64,
    /// SET TEXTSIZE, bytes.
    pub text_size: i32,
    /// SET DATEFIRST, 1 = Monday .. 7 = Sunday.
    pub date_first: u8,
    /// SET DATEFORMAT: "mdy", "dmy", ...
    pub date_format: Arc<str>,
    /// SET LANGUAGE: "us_english".
    pub language: Arc<str>,
    /// SET LOCK_TIMEOUT, milliseconds, -1 waits for ever.
    pub lock_timeout_ms: i32,
    /// SET DEADLOCK_PRIORITY, -10..10.
    pub deadlock_priority: i8,
    /// SET COMMIT_ACK = BATCH: fully durable commits are waited for once, before the answer.
    pub acknowledges_batches: bool,
    /// SET COMMIT_TICKETS: each commit tells its ticket.
    pub commit_tickets: bool,
    /// SET TRANSACTION ISOLATION LEVEL.
    pub isolation: engine::IsolationLevel,
    /// Table whose IDENTITY_INSERT is ON: (database, schema, table) lower case.
    pub identity_insert: Option<(String, String, String)>,
}

impl Default for SetOptions {
    fn default() -> SetOptions {
        SetOptions {
            ansi_nulls: true,
            quoted_identifier: true,
            ansi_warnings: true,
            ansi_padding: true,
            arithabort: true,
            arithignore: false,
            concat_null_yields_null: true,
            numeric_roundabort: false,
            nocount: false,
            xact_abort: false,
            implicit_transactions: false,
            ansi_null_default_on: true,
            ansi_null_default_off: false,
            cursor_close_on_commit: false,
            format_only: false,
            no_exec: false,
            parse_only: false,
            showplan: None,
            statistics_io: false,
            statistics_profile: false,
            statistics_xml: false,
            statistics_time: false,
            row_count: 0,
            text_size: i32::MAX,
            date_first: 7,
            date_format: "mdy".into(),
            language: "us_english".into(),
            lock_timeout_ms: -1,
            deadlock_priority: 0,
            acknowledges_batches: false,
            commit_tickets: false,
            isolation: engine::IsolationLevel::ReadCommitted,
            identity_insert: None,
        }
    }
}

/// The output format of SET SHOWPLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShowplanForm {
    /// SHOWPLAN_TEXT
    Text,
    /// SHOWPLAN_ALL
    All,
    /// SHOWPLAN_XML
    Xml,
}

impl SetOptions {
    /// Are statements run, not only parsed, compiled or described?
    #[inline]
    pub fn runs(&self) -> bool {
        !(self.format_only || self.no_exec || self.parse_only || self.showplan.is_some())
    }

    /// Is a column nullable that says nothing of it? The session's word goes before the database's.
    pub fn takes_null_by_default(&self, database: &Database) -> bool {
        if self.ansi_null_default_on || self.ansi_null_default_off {
            return self.ansi_null_default_on;
        }
        database.options().switches.get("ANSI_NULL_DEFAULT").copied().unwrap_or(false)
    }

    /// Error 1934 when these are not the settings that an index with a filter needs.
    pub fn check_for_filters(&self, statement: &str) -> Result<(), SqlError> {
        let settings = [
            ("ANSI_NULLS", self.ansi_nulls),
            ("QUOTED_IDENTIFIER", self.quoted_identifier),
            ("CONCAT_NULL_YIELDS_NULL", self.concat_null_yields_null),
            ("ANSI_WARNINGS", self.ansi_warnings),
            ("ANSI_PADDING", self.ansi_padding),
            // ON with ANSI_WARNINGS.
            ("ARITHABORT", self.arithabort || self.ansi_warnings),
            ("NUMERIC_ROUNDABORT", !self.numeric_roundabort),
        ];
        let wrong: Vec<&str> =
            settings.iter().filter(|setting| !setting.1).map(|setting| setting.0).collect();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(SqlError::new(1934, &[&statement, &wrong.join(", ")]))
    }

    /// Is what operators do counted?
    pub fn counts_operators(&self) -> bool {
        self.statistics_profile || self.statistics_xml
    }

    /// The bits of `@@OPTIONS` (documented list of user options).
    pub fn bits(&self) -> i32 {
        let flags = [
            (self.implicit_transactions, 2),
            (self.cursor_close_on_commit, 4),
            (self.ansi_warnings, 8),
            (self.ansi_padding, 16),
            (self.ansi_nulls, 32),
            (self.arithabort, 64),
            (self.arithignore, 128),
            (self.quoted_identifier, 256),
            (self.nocount, 512),
            (self.ansi_null_default_on, 1024),
            (self.ansi_null_default_off, 2048),
            (self.concat_null_yields_null, 4096),
            (self.numeric_roundabort, 8192),
            (self.xact_abort, 16384),
        ];
        flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum()
    }
}
