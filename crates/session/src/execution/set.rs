//! SET of session options. The table of clauses lists those that are accepted without an effect of their own.

use engine::IsolationLevel;
use query::ShowplanForm;
use tsql::ast::{self, SetStatement, StatisticsKind, SwitchOption, ValueOption};
use types::{SqlError, SqlResult, Value};

use crate::batch::frame::Frame;
use crate::batch::instruction::{Instruction, SetCells};
use crate::interruption::Interruption;
use crate::option_values::{date_first, date_format, language};
use crate::session::Session;
use crate::values::{to_int, to_text};

/// Length of CONTEXT_INFO() once it is set.
const CONTEXT_INFO_BYTES: usize = 128;

impl Session {
    pub(crate) fn set_option(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        set: &SetCells,
    ) -> Result<(), Interruption> {
        let value = match set.value {
            Some(cell) => Some(self.value(frame, instruction, cell)?),
            None => None,
        };
        match &set.statement {
            SetStatement::Switches { options, on } => {
                let (quoted, before) = (self.options.quoted_identifier, self.options.ansi_nulls);
                for option in options {
                    self.switch(*option, *on)?;
                    if frame.procedure.is_some() {
                        // A module keeps these two as at its creation, also under ANSI_DEFAULTS.
                        (self.options.quoted_identifier, self.options.ansi_nulls) = (quoted, before);
                    }
                }
                if self.options.ansi_nulls != before {
                    frame.bind_anew();
                }
            }
            SetStatement::TransactionIsolation(level) => self.set_isolation(*level)?,
            SetStatement::IdentityInsert { table, on } => self.set_identity_insert(frame, table, *on)?,
            SetStatement::Value { option, .. } => self.set_value(*option, &value.unwrap_or(Value::Null))?,
            SetStatement::Statistics { kinds, on } => {
                for kind in kinds {
                    match kind {
                        StatisticsKind::Io => self.options.statistics_io = *on,
                        StatisticsKind::Time => self.options.statistics_time = *on,
                        StatisticsKind::Profile => self.options.statistics_profile = *on,
                        StatisticsKind::Xml => self.options.statistics_xml = *on,
                    }
                }
            }
            SetStatement::Offsets { on, .. } => only("OFFSETS", on_off(*on))?,
            SetStatement::ErrorLevel(_) => only("ERRLVL", "")?,
        }
        self.publish(|_| {});
        Ok(())
    }

    pub(crate) fn switch(&mut self, option: SwitchOption, on: bool) -> SqlResult<()> {
        let options = &mut self.options;
        match option {
            SwitchOption::AnsiDefaults => {
                for each in [
                    SwitchOption::AnsiNulls,
                    SwitchOption::AnsiNullDfltOn,
                    SwitchOption::AnsiPadding,
                    SwitchOption::AnsiWarnings,
                    SwitchOption::CursorCloseOnCommit,
                    SwitchOption::ImplicitTransactions,
                    SwitchOption::QuotedIdentifier,
                ] {
                    self.switch(each, on)?;
                }
            }
            SwitchOption::CommitTickets => options.commit_tickets = on,
            SwitchOption::AnsiNullDfltOff => {
                options.ansi_null_default_off = on;
                options.ansi_null_default_on &= !on;
            }
            SwitchOption::AnsiNullDfltOn => {
                options.ansi_null_default_on = on;
                options.ansi_null_default_off &= !on;
            }
            SwitchOption::AnsiNulls => options.ansi_nulls = on,
            SwitchOption::AnsiPadding => options.ansi_padding = on,
            SwitchOption::AnsiWarnings => options.ansi_warnings = on,
            SwitchOption::ArithAbort => options.arithabort = on,
            SwitchOption::ArithIgnore => options.arithignore = on,
            SwitchOption::ConcatNullYieldsNull => options.concat_null_yields_null = on,
            SwitchOption::CursorCloseOnCommit => {
                options.cursor_close_on_commit = on;
                self.state.cursors.is_closing_set = true;
            }
            SwitchOption::FmtOnly => options.format_only = on,
            SwitchOption::ImplicitTransactions => options.implicit_transactions = on,
            SwitchOption::NoCount => options.nocount = on,
            SwitchOption::NumericRoundAbort => {
                only("NUMERIC_ROUNDABORT", on_off(on))?;
                options.numeric_roundabort = on;
            }
            SwitchOption::QuotedIdentifier => options.quoted_identifier = on,
            SwitchOption::XactAbort => options.xact_abort = on,
            SwitchOption::DisableDefCnstChk => only("DISABLE_DEF_CNST_CHK", on_off(on))?,
            SwitchOption::ForcePlan => only("FORCEPLAN", on_off(on))?,
            SwitchOption::NoBrowseTable => only("NO_BROWSETABLE", on_off(on))?,
            SwitchOption::RemoteProcTransactions => only("REMOTE_PROC_TRANSACTIONS", on_off(on))?,
            SwitchOption::ResultSetCaching => only("RESULT_SET_CACHING", on_off(on))?,
            SwitchOption::NoExec => options.no_exec = on,
            SwitchOption::ShowplanAll | SwitchOption::ShowplanText | SwitchOption::ShowplanXml => {
                let form = showplan_form(option);
                if on {
                    options.showplan = form;
                } else if options.showplan == form {
                    options.showplan = None;
                }
            }
            // It applies to the whole text at parse time (`Program::parse_only`), not from here on.
            SwitchOption::ParseOnly => {}
        }
        Ok(())
    }

    fn set_isolation(&mut self, level: ast::IsolationLevel) -> SqlResult<()> {
        self.options.isolation = match level {
            ast::IsolationLevel::ReadUncommitted => IsolationLevel::ReadUncommitted,
            ast::IsolationLevel::ReadCommitted => IsolationLevel::ReadCommitted,
            ast::IsolationLevel::RepeatableRead => IsolationLevel::RepeatableRead,
            ast::IsolationLevel::Serializable => IsolationLevel::Serializable,
            // Whether the database allows it is checked at the first access to its data.
            ast::IsolationLevel::Snapshot => IsolationLevel::Snapshot,
        };
        Ok(())
    }

    fn set_identity_insert(&mut self, frame: &mut Frame, table: &ast::ObjectName, on: bool) -> SqlResult<()> {
        let wanted = query::ddl::identity_table(table, &self.context(frame))?;
        match (&self.options.identity_insert, on) {
            (Some(current), true) if *current != wanted => {
                Err(SqlError::new(8107, &[&current.0, &current.1, &current.2, &table.name.value]))
            }
            (_, true) => {
                self.options.identity_insert = Some(wanted);
                Ok(())
            }
            (Some(current), false) if *current == wanted => {
                self.options.identity_insert = None;
                Ok(())
            }
            (_, false) => Ok(()),
        }
    }

    fn set_value(&mut self, option: ValueOption, value: &Value) -> SqlResult<()> {
        let options = &mut self.options;
        match option {
            ValueOption::CommitAck => {
                let text = to_text(value).unwrap_or_default();
                options.acknowledges_batches = match text.to_uppercase().as_str() {
                    "BATCH" => true,
                    "STATEMENT" => false,
                    _ => return Err(SqlError::new(155, &[&text, &"COMMIT_ACK"])),
                };
            }
            ValueOption::RowCount => {
                let rows = to_int(value)?.and_then(|rows| u64::try_from(rows).ok());
                options.row_count = rows.ok_or_else(|| SqlError::new(507, &[]))?;
            }
            ValueOption::TextSize => {
                let bytes = to_int(value)?.unwrap_or(0);
                options.text_size = if bytes == 0 {
                    4096
                } else if bytes < 0 {
                    i32::MAX
                } else {
                    bytes
                };
            }
            ValueOption::LockTimeout => {
                options.lock_timeout_ms = to_int(value)?.unwrap_or(-1);
                self.tell_lock_options();
            }
            ValueOption::DateFirst => options.date_first = date_first(to_int(value)?.unwrap_or(0).into())?,
            ValueOption::DateFormat => {
                options.date_format = date_format(&to_text(value).unwrap_or_default())?
            }
            ValueOption::Language => options.language = language(&to_text(value).unwrap_or_default())?,
            ValueOption::DeadlockPriority => {
                let text = to_text(value).unwrap_or_default();
                options.deadlock_priority = match text.to_lowercase().as_str() {
                    "low" => -5,
                    "normal" => 0,
                    "high" => 5,
                    number => number
                        .parse::<i8>()
                        .ok()
                        .filter(|number| (-10..=10).contains(number))
                        .ok_or_else(|| SqlError::new(2755, &[]))?,
                };
                self.tell_lock_options();
            }
            ValueOption::ContextInfo => self.state.context_info = context_info(value)?,
            ValueOption::QueryGovernorCostLimit => {
                only("QUERY_GOVERNOR_COST_LIMIT", &to_text(value).unwrap_or_default())?
            }
            ValueOption::FipsFlagger => {
                only("FIPS_FLAGGER", &to_text(value).unwrap_or_default().to_uppercase())?
            }
        }
        Ok(())
    }

    /// Copies the lock options to the transactions, whose lock requests read them: to be called after each change of the options.
    pub(crate) fn tell_lock_options(&mut self) {
        self.transactions.set_lock_timeout_ms(self.options.lock_timeout_ms);
        self.transactions.set_deadlock_priority(self.options.deadlock_priority);
    }
}

/// The value of CONTEXT_INFO() after SET CONTEXT_INFO: 128 bytes, zero-padded. Strings do not convert implicitly to binary. Error 2743.
fn context_info(value: &Value) -> SqlResult<Value> {
    let mut bytes = match value {
        Value::Binary(bytes) if bytes.len() <= CONTEXT_INFO_BYTES => bytes.to_vec(),
        Value::Bit(number) => vec![u8::from(*number)],
        Value::TinyInt(number) => vec![*number],
        Value::SmallInt(number) => number.to_be_bytes().to_vec(),
        Value::Int(number) => number.to_be_bytes().to_vec(),
        Value::BigInt(number) => number.to_be_bytes().to_vec(),
        _ => {
            return Err(SqlError::new(
                2743,
                &[&"SET CONTEXT_INFO", &"of type varbinary(128), which is not NULL"],
            ));
        }
    };
    bytes.resize(CONTEXT_INFO_BYTES, 0);
    Ok(Value::binary(&bytes))
}

/// Checks a value against those that the table of clauses accepts.
fn only(option: &str, value: &str) -> SqlResult<()> {
    query::clauses::check_option("SET", option, Some(value))
}

fn on_off(on: bool) -> &'static str {
    if on { "ON" } else { "OFF" }
}

/// Is it SET LANGUAGE, which clients are informed of?
pub(crate) fn is_language(statement: &SetStatement) -> bool {
    matches!(statement, SetStatement::Value { option: ValueOption::Language, .. })
}

/// The plan format that a SET SHOWPLAN option asks for.
fn showplan_form(option: SwitchOption) -> Option<ShowplanForm> {
    match option {
        SwitchOption::ShowplanAll => Some(ShowplanForm::All),
        SwitchOption::ShowplanText => Some(ShowplanForm::Text),
        SwitchOption::ShowplanXml => Some(ShowplanForm::Xml),
        _ => None,
    }
}
