//! Statements about databases and the server: CREATE, ALTER and DROP DATABASE, CHECKPOINT, KILL, DBCC; and object definitions, which
//! `query` executes.

use crate::commands::persisted_buffer::BufferChange;
use crate::commands::query_store_options::QueryStoreChange;
use engine::{
    CreateDatabaseOptions, DelayedDurability, DelayedFlushPolicy, ExclusiveDatabase, NewDatabaseFile,
    OptionChange, RecoveryModel, TransactionSet,
};
use tsql::ast::{self, AlterDatabaseAction, DatabaseOption, DelayedDurabilityMode};
use types::{SqlError, SqlResult};

use crate::batch::cell::STALE_PLANS_MAX;
use crate::batch::frame::Frame;
use crate::batch::instruction::{Instruction, InstructionKind};
use crate::batch::program::Program;
use crate::execution::trigger::FiringPlace;
use crate::interruption::{Interruption, Next, Stop};
use crate::refusal::not_supported;
use crate::session::Session;
use crate::sink::ResultSink;
use crate::values::to_int;

impl Session {
    /// CREATE, ALTER, DROP of objects in a database.
    pub(crate) fn definition(
        &mut self,
        frame: &mut Frame,
        place: (&Instruction, usize),
        statement: &ast::Statement,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        if self.state.doomed {
            return Err(SqlError::new(3930, &[]).into());
        }
        let text = frame.program.text.clone();
        if let ast::StatementKind::CreateProcedure(procedure) = &statement.kind {
            self.check_procedure(procedure, &text)?;
        }
        if let ast::StatementKind::CreateTrigger(trigger) = &statement.kind {
            self.check_trigger(trigger, &text)?;
        }
        if let ast::StatementKind::CreateFunction(function) = &statement.kind {
            self.check_function(function, &text)?;
        }
        self.begin_implicit(sink)?;
        let mut result: SqlResult<Vec<SqlError>> = Err(SqlError::new(2801, &[]));
        for _ in 0..STALE_PLANS_MAX {
            let actions = self.ddl_actions(statement, &text)?;
            self.transactions.statement_begin();
            let mut context = self.context(frame);
            result = query::ddl::execute(statement, &text, &mut context);
            if result.is_ok() && !actions.is_empty() {
                self.fire_ddl_triggers(FiringPlace::of(frame, place), &actions, sink)?;
            }
            self.end_statement(result.is_ok())?;
            // An object that it names was changed or dropped while it waited: it resolves its names again.
            if !result.as_ref().is_err_and(|error| error.is_stale_plan()) {
                break;
            }
            result = Err(SqlError::new(2801, &[]));
        }
        result?.iter().for_each(|notice| sink.message(notice));
        self.state.row_count = 0;
        self.note_own_commit(sink);
        Ok(())
    }

    /// DECLARE @t TABLE: creates an empty table in tempdb, dropped with its batch, procedure or dynamic text. A rollback of the user's transaction
    /// does not undo it.
    pub(crate) fn declare_table(
        &mut self,
        frame: &mut Frame,
        _instruction: &Instruction,
        table: &ast::DeclareTable,
    ) -> Result<(), Interruption> {
        // It lasts as long as its scope: a loop declares it once, and it keeps its rows.
        if query::SessionNames::temp_table(&self.names, &table.name).is_some() {
            return Ok(());
        }
        self.make_table_variable(table)?;
        if let Some(table_type) = frame.program.table_types.get(&table.name.to_lowercase()) {
            self.names.note_table_type(&table.name, table_type.clone());
        }
        Ok(())
    }

    /// A declaration holds for the rest of the text even if it is never reached. Returns the status when an error ends the scope.
    pub(crate) fn declare_tables_anyway(
        &mut self,
        frame: &mut Frame,
        program: &Program,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<i32>, Stop> {
        for &at in &program.tables_anyway {
            let instruction = &program.instructions[at];
            let InstructionKind::DeclareTable(table) = &instruction.kind else {
                unreachable!("noted as a declaration")
            };
            if let Err(interruption) = self.declare_table(frame, instruction, table)
                && let Next::Return(status) = self.fail(frame, instruction, at, interruption, sink)?
            {
                return Ok(Some(status));
            }
        }
        Ok(None)
    }

    pub(crate) fn refuse_in_transaction(&self, statement: &str) -> SqlResult<()> {
        if self.state.transaction_count > 0 {
            return Err(SqlError::new(226, &[&statement]));
        }
        Ok(())
    }

    pub(crate) fn create_database(
        &mut self,
        create: &ast::CreateDatabase,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.refuse_in_transaction("CREATE DATABASE")?;
        query::clauses::check_create_database(create)?;
        let data_files = create
            .filegroups
            .iter()
            .flat_map(|group| &group.files)
            .map(new_file)
            .collect::<SqlResult<Vec<_>>>()?;
        let log_files = create.log_files.iter().map(new_file).collect::<SqlResult<Vec<_>>>()?;
        let buffer = BufferChange::of_create(&create.options)?;
        let options = CreateDatabaseOptions { name: create.name.value.clone(), data_files, log_files };
        self.instance.create_database(&options)?;
        let switched = buffer.map_or(Ok(()), |change| self.switch_buffer(&options.name, &change));
        switched.or_else(|error| {
            // All requested changes, or none.
            self.instance.drop_database(&options.name)?;
            Err(error)
        })
    }

    pub(crate) fn drop_databases(
        &mut self,
        drop: &ast::DropDatabase,
        _sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.refuse_in_transaction("DROP DATABASE")?;
        for name in &drop.names {
            let in_use = || SqlError::new(3702, &[&name.value]);
            // The session's own database, or that of a calling procedure.
            let number = self.instance.database_number(&name.value).ok();
            let is_own = number.is_some_and(|number| self.transactions.is_in_database(number));
            if is_own || self.database.name().eq_ignore_ascii_case(&name.value) {
                return Err(in_use());
            }
            let _alone = alone_in(&mut self.transactions, &name.value, in_use)?;
            match self.instance.drop_database(&name.value) {
                Err(error) if error.number == 3701 && drop.if_exists => {}
                other => other?,
            }
            let present: Vec<u64> = self.instance.databases().iter().map(|d| d.incarnation()).collect();
            self.programs.forget_all_but(&present);
            self.query_stores.forget_all_but(&present);
        }
        Ok(())
    }

    pub(crate) fn alter_database(
        &mut self,
        alter: &ast::AlterDatabase,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.refuse_in_transaction("ALTER DATABASE")?;
        let name = alter.name.as_ref().map_or_else(|| self.database.name().to_string(), |n| n.value.clone());
        if !self.instance.database_infos().iter().any(|d| d.name.eq_ignore_ascii_case(&name)) {
            return Err(SqlError::new(5011, &[&name]));
        }
        match &alter.action {
            AlterDatabaseAction::Set { options, termination } => {
                let (mut changes, mut buffer, mut stores) = (Vec::new(), None, Vec::new());
                for option in options {
                    if let Some(change) = QueryStoreChange::of_set(option)? {
                        self.check_may_have_query_store(&name)?;
                        changes.extend(change.kept());
                        stores.push(change);
                        continue;
                    }
                    match BufferChange::of_set(option)? {
                        Some(change) => buffer = Some(change),
                        None => changes.extend(option_changes(option)?),
                    }
                }
                crate::commands::single_user::check_together(&name, &changes, options.len(), *termination)?;
                crate::commands::single_user::set_options(self, &name, &changes, *termination, sink)?;
                stores.iter().try_for_each(|change| self.change_query_store(&name, change))?;
                buffer.map_or(Ok(()), |change| self.switch_buffer(&name, &change))
            }
            AlterDatabaseAction::Collate(collation) => query::clauses::database_collation(collation),
            AlterDatabaseAction::ModifyName(new_name) => self.rename_database(&name, &new_name.value),
            AlterDatabaseAction::ModifyFile(spec) => {
                let change = file_change(spec)?;
                self.instance.modify_file(&name, &change)
            }
            AlterDatabaseAction::AddLogFile(specs) => {
                let files = specs.iter().map(added_file).collect::<SqlResult<Vec<_>>>()?;
                self.instance.add_log_files(&name, &files)
            }
            AlterDatabaseAction::AddFile { files, filegroup } => {
                filegroup.as_ref().map_or(Ok(()), query::clauses::filegroup)?;
                let files = files.iter().map(added_file).collect::<SqlResult<Vec<_>>>()?;
                self.instance.add_data_files(&name, &files)
            }
            AlterDatabaseAction::RemoveFile(file) => {
                self.instance.remove_file(&name, file)?;
                sink.message(&SqlError::custom(0, 0, 1, format!("The file '{file}' has been removed.")));
                Ok(())
            }
            AlterDatabaseAction::AddFilegroup { .. } => {
                Err(not_supported("ALTER DATABASE ... ADD FILEGROUP (a database has the filegroup PRIMARY)"))
            }
            AlterDatabaseAction::RemoveFilegroup(_) => Err(not_supported(
                "ALTER DATABASE ... REMOVE FILEGROUP (a database has the filegroup PRIMARY)",
            )),
            AlterDatabaseAction::ModifyFilegroup { .. } => Err(not_supported(
                "ALTER DATABASE ... MODIFY FILEGROUP (a database has the filegroup PRIMARY)",
            )),
            _ => Err(not_supported("this form of ALTER DATABASE")),
        }
    }

    /// ALTER DATABASE ... MODIFY NAME and sp_rename of a database.
    pub(crate) fn rename_database(&mut self, name: &str, new_name: &str) -> SqlResult<()> {
        self.refuse_in_transaction("ALTER DATABASE")?;
        self.instance.database(name)?;
        let _alone = alone_in(&mut self.transactions, name, || SqlError::new(5030, &[]))?;
        self.instance.rename_database(name, new_name)
    }

    /// CREATE, ALTER and DROP DATABASE.
    pub(crate) fn change_databases(
        &mut self,
        kind: &InstructionKind,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        match kind {
            InstructionKind::CreateDatabase(create) => self.create_database(create, sink),
            InstructionKind::AlterDatabase(alter) => self.alter_database(alter, sink),
            InstructionKind::DropDatabase(drop) => self.drop_databases(drop, sink),
            _ => unreachable!("the others have arms of their own"),
        }
    }

    /// Administrative statements without output.
    pub(crate) fn administer(&mut self, kind: &InstructionKind) -> SqlResult<()> {
        match kind {
            InstructionKind::Checkpoint => self.checkpoint(),
            InstructionKind::Kill(kill) => self.kill(kill),
            InstructionKind::Reconfigure { with_override } => {
                crate::procs::configure::reconfigure(self, *with_override)
            }
            InstructionKind::ScopedConfiguration(alter) => self.scoped_configuration(alter),
            _ => unreachable!("the others have arms of their own"),
        }
    }

    pub(crate) fn checkpoint(&mut self) -> SqlResult<()> {
        self.database.checkpoint()
    }

    pub(crate) fn kill(&mut self, kill: &ast::Kill) -> SqlResult<()> {
        let ast::Kill::Session { id, option } = kill else {
            return Err(not_supported("KILL QUERY NOTIFICATION and KILL STATS JOB"));
        };
        if let Some(option) = option.as_ref().filter(|option| !option.is("STATUSONLY")) {
            return Err(not_supported(&format!("KILL ... WITH {}", option.value.to_uppercase())));
        }
        let value = crate::values::constant(id, &types::SqlType::Int)?;
        let wanted = to_int(&value)?.unwrap_or(0);
        let session_id = i16::try_from(wanted).unwrap_or(0);
        if session_id <= 0 {
            return Err(SqlError::new(6101, &[&wanted, &i16::MAX]));
        }
        if session_id < crate::registry::FIRST_USER_SESSION_ID {
            return Err(SqlError::new(6107, &[]));
        }
        if session_id == self.state.session_id {
            return Err(SqlError::new(6104, &[]));
        }
        if option.is_some() {
            // A killed session rolls back before its number is free; the progress of the rollback is not available.
            return Err(SqlError::new(6120, &[&session_id]));
        }
        if self.state.registry.kill(session_id) { Ok(()) } else { Err(SqlError::new(6106, &[&session_id])) }
    }

    /// The DBCC commands in the table of clauses. Other commands of SQL Server are refused by name; unknown ones are error 2526. All end with message
    /// 2528, unless WITH NO_INFOMSGS.
    pub(crate) fn dbcc(&mut self, dbcc: &ast::Dbcc, sink: &mut dyn ResultSink) -> Result<(), Interruption> {
        let name = dbcc.name.value.to_uppercase();
        match name.as_str() {
            "TRACEON" | "TRACEOFF" => {
                if trace_flags(&dbcc.args)?.contains(&IDENTITY_UNCACHED) {
                    self.instance.set_identity_uncached(name == "TRACEON")?;
                }
            }
            "CHECKIDENT" => self.check_identity(dbcc, sink)?,
            "FREEPROCCACHE" | "FREESYSTEMCACHE" => self.programs.clear(),
            "CHECKDB" | "CHECKALLOC" | "CHECKTABLE" => self.dbcc_check(dbcc, &name, sink)?,
            "USEROPTIONS" => self.user_options(sink)?,
            "INPUTBUFFER" => self.input_buffer(&dbcc.args, sink)?,
            "SQLPERF" | "LOGINFO" | "LOG" | "OPENTRAN" => self.dbcc_log(dbcc, &name, sink)?,
            "SHOW_STATISTICS" => self.show_statistics(dbcc, sink)?,
            "SHRINKFILE" => self.shrink_file(dbcc, sink)?,
            "SHRINKDATABASE" => self.shrink_database(dbcc, sink)?,
            _ if query::clauses::check_option("DBCC", &name, None).is_ok() => {}
            _ if query::clauses::is_known("DBCC", &name) => {
                return Err(not_supported(&format!("DBCC {name}")).into());
            }
            _ => return Err(SqlError::new(2526, &[]).into()),
        }
        if !dbcc.options.iter().any(|option| option.name.is("NO_INFOMSGS")) {
            sink.message(&SqlError::new(2528, &[]));
        }
        Ok(())
    }

    /// DBCC INPUTBUFFER (session [, request]): the last batch or call that a session has received. Errors 2526, 7955.
    fn input_buffer(
        &mut self,
        arguments: &[ast::DbccArgument],
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let mut numbers = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let ast::DbccArgument::Value(number) = argument else {
                return Err(SqlError::new(2526, &[]).into());
            };
            numbers.push(match &number.kind {
                ast::ExprKind::GlobalVariable(name) if name.eq_ignore_ascii_case("@@SPID") => {
                    i32::from(self.state.session_id)
                }
                _ => to_int(&crate::values::constant(number, &types::SqlType::Int)?)?.unwrap_or(0),
            });
        }
        let (session_id, is_known_request) = match numbers.as_slice() {
            [session_id] => (*session_id, true),
            [session_id, request] => (*session_id, *request == 0),
            _ => return Err(SqlError::new(2526, &[]).into()),
        };
        let is_open = |row: &query::SessionRow| i32::from(row.session_id) == session_id;
        if !is_known_request || !self.state.registry.rows().iter().any(is_open) {
            return Err(SqlError::new(7955, &[&session_id]).into());
        }
        let text = format!(
            "SELECT EventType = CAST(event_type AS nvarchar(30)), Parameters = parameters, \
             EventInfo = CAST(event_info AS nvarchar(4000)) FROM sys.dm_exec_input_buffer({session_id}, 0)"
        );
        self.run_text(&text, &[], Vec::new(), sink).map(|_| ())
    }

    /// DBCC USEROPTIONS: the SET options that are on or have a value.
    fn user_options(&mut self, sink: &mut dyn ResultSink) -> Result<(), Interruption> {
        let options = self.options.clone();
        let isolation = match options.isolation {
            engine::IsolationLevel::ReadUncommitted => "read uncommitted",
            engine::IsolationLevel::ReadCommitted => "read committed",
            engine::IsolationLevel::RepeatableRead => "repeatable read",
            engine::IsolationLevel::Serializable => "serializable",
            _ => "snapshot",
        };
        let set = |is_set: bool| if is_set { "SET".to_string() } else { String::new() };
        let rows = [
            ("textsize", options.text_size.to_string()),
            ("language", options.language.to_string()),
            ("dateformat", options.date_format.to_string()),
            ("datefirst", options.date_first.to_string()),
            ("lock_timeout", options.lock_timeout_ms.to_string()),
            ("rowcount", if options.row_count > 0 { options.row_count.to_string() } else { String::new() }),
            ("nocount", set(options.nocount)),
            ("xact_abort", set(options.xact_abort)),
            ("implicit_transactions", set(options.implicit_transactions)),
            ("quoted_identifier", set(options.quoted_identifier)),
            ("arithabort", set(options.arithabort)),
            ("ansi_null_dflt_on", set(options.ansi_null_default_on)),
            ("ansi_warnings", set(options.ansi_warnings)),
            ("ansi_padding", set(options.ansi_padding)),
            ("ansi_nulls", set(options.ansi_nulls)),
            ("concat_null_yields_null", set(options.concat_null_yields_null)),
            ("numeric_roundabort", set(options.numeric_roundabort)),
            ("isolation level", isolation.to_string()),
        ];
        let shown: Vec<String> = rows
            .iter()
            .filter(|row| !row.1.is_empty())
            .enumerate()
            .map(|(at, (name, value))| format!("({at}, N'{name}', N'{value}')"))
            .collect();
        let text = format!(
            "SELECT [Set Option] = CAST(o.name AS nvarchar(128)), Value = CAST(o.value AS nvarchar(46)) \
             FROM (VALUES {}) AS o(place, name, value) ORDER BY o.place",
            shown.join(", ")
        );
        self.run_text(&text, &[], Vec::new(), sink).map(|_| ())
    }
}

/// Trace flag: identity values are logged one by one, without a cache.
const IDENTITY_UNCACHED: i32 = 272;
/// Not a trace flag: the argument that makes flags global.
const ALL_SESSIONS: i32 = -1;

/// The flag numbers in the arguments of TRACEON and TRACEOFF. Trace flags are shared by all sessions here; a flag that changes their behaviour
/// needs the argument -1.
fn trace_flags(arguments: &[ast::DbccArgument]) -> SqlResult<Vec<i32>> {
    let mut flags = Vec::new();
    for argument in arguments {
        let ast::DbccArgument::Value(flag) = argument else {
            return Err(SqlError::new(2526, &[]));
        };
        flags.push(to_int(&crate::values::constant(flag, &types::SqlType::Int)?)?.unwrap_or(0));
    }
    for flag in flags.iter().filter(|flag| **flag != ALL_SESSIONS) {
        let is_unknown = query::clauses::check_option("trace flag", &flag.to_string(), None).is_err();
        if is_unknown || (*flag == IDENTITY_UNCACHED && !flags.contains(&ALL_SESSIONS)) {
            return Err(not_supported(&format!("trace flag {flag}")));
        }
    }
    Ok(flags)
}

/// Locks a database exclusively, so that no other session can enter; error `in_use` when another session is in it. `None` when there is no
/// such database: the instance then reports the error of the name.
fn alone_in<'a>(
    transactions: &'a mut TransactionSet,
    name: &str,
    in_use: impl FnOnce() -> SqlError,
) -> SqlResult<Option<ExclusiveDatabase<'a>>> {
    match transactions.lock_database_exclusively(name) {
        Ok(None) => Err(in_use()),
        Ok(exclusive) => Ok(exclusive),
        Err(_) => Ok(None),
    }
}

/// The new file of ADD FILE.
fn added_file(spec: &ast::FileSpec) -> SqlResult<NewDatabaseFile> {
    if spec.offline || spec.new_name.is_some() {
        return Err(not_supported("ALTER DATABASE ... ADD FILE with OFFLINE or NEWNAME"));
    }
    new_file(spec)
}

/// The changes of MODIFY FILE.
fn file_change(spec: &ast::FileSpec) -> SqlResult<engine::FileChange> {
    if spec.file_name.is_some() || spec.offline {
        return Err(not_supported("ALTER DATABASE ... MODIFY FILE with FILENAME or OFFLINE"));
    }
    let new = new_file(spec)?;
    Ok(engine::FileChange {
        logical_name: spec.name.clone().unwrap_or_default(),
        new_name: spec.new_name.clone(),
        size_bytes: new.size_bytes,
        max_bytes: new.max_bytes,
        growth: new.growth,
    })
}

/// A file clause with sizes in bytes.
fn new_file(spec: &ast::FileSpec) -> SqlResult<NewDatabaseFile> {
    let growth = spec.growth.map(|growth| match growth.unit {
        Some(ast::SizeUnit::Percent) => engine::Growth::Percent(growth.amount.clamp(0.0, 10_000.0) as u32),
        _ if growth.amount == 0.0 => engine::Growth::None,
        _ => engine::Growth::Bytes(bytes_of(&growth)),
    });
    Ok(NewDatabaseFile {
        logical_name: spec.name.clone(),
        path: spec.file_name.clone(),
        size_bytes: spec.size.as_ref().map(bytes_of),
        max_bytes: spec.max_size.map(|max| match max {
            ast::MaxSize::Unlimited => 0,
            ast::MaxSize::Size(size) => bytes_of(&size),
        }),
        growth,
    })
}

/// A size in bytes; MB without a unit.
fn bytes_of(size: &ast::FileSize) -> u64 {
    let unit = match size.unit {
        Some(ast::SizeUnit::Kb) => 1u64 << 10,
        None | Some(ast::SizeUnit::Mb | ast::SizeUnit::Percent) => 1 << 20,
        Some(ast::SizeUnit::Gb) => 1 << 30,
        Some(ast::SizeUnit::Tb) => 1 << 40,
    };
    (size.amount.max(0.0) * unit as f64) as u64
}

/// The table of clauses lists the options of ALTER DATABASE ... SET under this place.
const SET_PLACE: &str = "ALTER DATABASE SET";

/// `LOG_LIMITS = SQL2008_X64`: Hardpan's own option.
fn log_limits(option: &ast::NamedOption) -> Result<OptionChange, SqlError> {
    let word = match &option.value {
        Some(ast::OptionValue::Word(word)) => word.value.as_str(),
        _ => "",
    };
    let all = "SQL2000, SQL2005_X86, SQL2005_X64, SQL2008_X86, SQL2008_X64 and SQL2012";
    let refused = || not_supported(&format!("LOG_LIMITS of another release than {all}"));
    engine::LogLimitsProfile::from_word(word).map(OptionChange::LogLimits).ok_or_else(refused)
}

/// `FLUSH = EAGER | BLOCK_FULL | TIMED | SUSPENDED` and `FLUSH_INTERVAL = 10 MS`, which TIMED needs: when delayed commits are flushed.
fn delayed_flush(options: &[ast::NamedOption]) -> Result<Option<OptionChange>, SqlError> {
    let mut word = None;
    let mut interval_ms = None;
    for option in options {
        match &option.value {
            Some(ast::OptionValue::Word(policy)) if option.name.is("FLUSH") => {
                word = Some(policy.value.to_uppercase());
            }
            Some(ast::OptionValue::Value(amount, unit))
                if option.name.is("FLUSH_INTERVAL") && unit.as_ref().is_none_or(|unit| unit.is("MS")) =>
            {
                let amount = to_int(&crate::values::constant(amount, &types::SqlType::Int)?)?;
                interval_ms = amount.and_then(|ms| u32::try_from(ms).ok()).filter(|ms| *ms > 0);
            }
            _ => {
                return Err(not_supported(&format!(
                    "{} of DELAYED_DURABILITY",
                    option.name.value.to_uppercase()
                )));
            }
        }
    }
    let policy = match (word.as_deref(), interval_ms) {
        (None, None) => return Ok(None),
        (Some("EAGER"), None) => DelayedFlushPolicy::Eager,
        (Some("BLOCK_FULL"), None) => DelayedFlushPolicy::BlockFull,
        (Some("SUSPENDED"), None) => DelayedFlushPolicy::Suspended,
        (Some("TIMED"), Some(ms)) => DelayedFlushPolicy::Timed(ms),
        _ => {
            let told = "FLUSH of DELAYED_DURABILITY other than EAGER, BLOCK_FULL, SUSPENDED, or TIMED with FLUSH_INTERVAL = n MS";
            return Err(not_supported(told));
        }
    };
    Ok(Some(OptionChange::DelayedFlush(policy)))
}

/// `VLF_RULE = PRE_2014`: Hardpan's own option.
fn vlf_rule(option: &ast::NamedOption) -> Result<OptionChange, SqlError> {
    let word = match &option.value {
        Some(ast::OptionValue::Word(word)) => word.value.clone(),
        Some(ast::OptionValue::Value(value, None)) => {
            let number = to_int(&crate::values::constant(value, &types::SqlType::Int)?)?;
            number.map_or_else(String::new, |number| number.to_string())
        }
        _ => String::new(),
    };
    let refused = || not_supported("VLF_RULE other than PRE_2014, 2014, 2022 and FIXED");
    engine::VlfRule::from_word(&word).map(OptionChange::VlfRule).ok_or_else(refused)
}

/// An option that is one of two words and is stored for the views only.
fn kept_word(name: &ast::Ident, word: &ast::Ident) -> Vec<OptionChange> {
    let kept = [("PARAMETERIZATION", "FORCED"), ("CURSOR_DEFAULT", "LOCAL")];
    let named = kept.into_iter().filter(|(option, _)| name.is(option));
    named.map(|(option, on)| OptionChange::Switch(format!("{option}_{on}"), word.is(on))).collect()
}

/// `TARGET_RECOVERY_TIME = n { SECONDS | MINUTES }`
fn target_recovery(option: &ast::NamedOption) -> SqlResult<OptionChange> {
    let seconds = match &option.value {
        Some(ast::OptionValue::Value(amount, unit)) => {
            let amount = to_int(&crate::values::constant(amount, &types::SqlType::Int)?)?.unwrap_or(-1);
            amount.checked_mul(if unit.as_ref().is_some_and(|unit| unit.is("MINUTES")) { 60 } else { 1 })
        }
        _ => None,
    };
    let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
    let refused = || not_supported("TARGET_RECOVERY_TIME other than 0 to 2147483647 seconds");
    seconds.map(OptionChange::TargetRecovery).ok_or_else(refused)
}

/// A database state that one word names.
fn state_changes(word: &str) -> SqlResult<Vec<OptionChange>> {
    Ok(match word {
        "READ_ONLY" => vec![OptionChange::ReadOnly(true)],
        "READ_WRITE" => vec![OptionChange::ReadOnly(false)],
        "MULTI_USER" => vec![OptionChange::UserAccess(0)],
        "SINGLE_USER" => vec![OptionChange::UserAccess(1)],
        "RESTRICTED_USER" => vec![OptionChange::UserAccess(2)],
        "ONLINE" => Vec::new(),
        // Stored and shown. There are no queues; their statements are refused by name.
        "ENABLE_BROKER" | "NEW_BROKER" | "ERROR_BROKER_CONVERSATIONS" => {
            vec![OptionChange::Switch("ENABLE_BROKER".into(), true)]
        }
        "DISABLE_BROKER" => vec![OptionChange::Switch("ENABLE_BROKER".into(), false)],
        other => return Err(not_supported(&format!("ALTER DATABASE ... SET {other}"))),
    })
}

/// The changes that one option of ALTER DATABASE ... SET makes.
fn option_changes(option: &DatabaseOption) -> SqlResult<Vec<OptionChange>> {
    Ok(match option {
        DatabaseOption::DelayedDurability(delayed) => {
            let mode = match delayed.mode {
                DelayedDurabilityMode::Disabled => DelayedDurability::Disabled,
                DelayedDurabilityMode::Allowed => DelayedDurability::Allowed,
                DelayedDurabilityMode::Forced => DelayedDurability::Forced,
            };
            let mut changes = vec![OptionChange::DelayedDurability(mode)];
            // An option that is not named keeps its value; 0 removes a limit.
            let bound = |amount: u64, unit| amount.checked_mul(unit).filter(|amount| *amount > 0);
            changes.extend(delayed.max_delay_ms.map(|ms| OptionChange::MaxDelay(bound(ms, 1_000_000))));
            changes.extend(delayed.max_loss_bytes.map(|bytes| OptionChange::MaxLoss(bound(bytes, 1))));
            changes.extend(delayed_flush(&delayed.options)?);
            changes
        }
        DatabaseOption::Recovery(model) => vec![OptionChange::Recovery(match model {
            ast::RecoveryModel::Full => RecoveryModel::Full,
            ast::RecoveryModel::BulkLogged => RecoveryModel::BulkLogged,
            ast::RecoveryModel::Simple => RecoveryModel::Simple,
        })],
        DatabaseOption::State(word) => state_changes(&word.value.to_uppercase())?,
        DatabaseOption::Switch(name, on) => {
            let name = name.value.to_uppercase();
            query::clauses::check_option(SET_PLACE, &name, Some(if *on { "ON" } else { "OFF" }))?;
            vec![OptionChange::Switch(name, *on)]
        }
        DatabaseOption::Value(named) if named.name.is("COMPATIBILITY_LEVEL") => {
            let level = match &named.value {
                Some(ast::OptionValue::Value(expression, _)) => {
                    to_int(&crate::values::constant(expression, &types::SqlType::Int)?)?
                }
                _ => None,
            };
            let level =
                level.and_then(|n| u8::try_from(n).ok()).filter(|n| (100..=160).contains(n) && n % 10 == 0);
            vec![OptionChange::CompatibilityLevel(
                level.ok_or_else(|| SqlError::new(15048, &[&"100, 110, 120, 130, 140, 150, 160"]))?,
            )]
        }
        DatabaseOption::Value(named) if named.name.is("LOG_LIMITS") => vec![log_limits(named)?],
        DatabaseOption::Value(named) if named.name.is("VLF_RULE") => vec![vlf_rule(named)?],
        DatabaseOption::Word(name, word) if name.is("VLF_RULE") => {
            let value = Some(ast::OptionValue::Word(word.clone()));
            vec![vlf_rule(&ast::NamedOption { name: name.clone(), value })?]
        }
        DatabaseOption::Word(name, word) => {
            query::clauses::check_option(SET_PLACE, &name.value, Some(&word.value.to_uppercase()))?;
            kept_word(name, word)
        }
        DatabaseOption::Value(named) => {
            query::clauses::check_options(SET_PLACE, std::slice::from_ref(named))?;
            if named.name.is("TARGET_RECOVERY_TIME") { vec![target_recovery(named)?] } else { Vec::new() }
        }
        DatabaseOption::Other(name, _) => {
            return Err(not_supported(&format!("ALTER DATABASE ... SET {}", name.value.to_uppercase())));
        }
    })
}
