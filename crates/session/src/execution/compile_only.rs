//! Compile-only runs of programs: SET NOEXEC, PARSEONLY, FMTONLY and SHOWPLAN_TEXT, _ALL, _XML.
//!
//! Such a run visits the instructions once, in order, and ignores the conditions of IF and WHILE, because their values are unknown. Only
//! SET of these options and USE take effect. FMTONLY and SHOWPLAN also visit the procedures that are called.

use engine::Lookup;
use os::task;
use query::showplan::{StatementPlan, batch_document};
use query::{ColumnDescription, CompiledStatement, Flow, ShowplanForm, StatementOutcome};
use tsql::ast::{SetStatement, SwitchOption};
use types::{SqlError, SqlResult, SqlType, Value};

use crate::batch::cell::Compiled;
use crate::batch::frame::Frame;
use crate::batch::instruction::{ExecuteTarget, Instruction, InstructionKind, SetCells, WantedColumn};
use crate::batch::statistics::BUILD;
use crate::done_command as command;
use crate::errors::UNDECLARED_VARIABLE;
use crate::interruption::{Interruption, Stop};
use crate::result_sets::described;
use crate::session::Session;
use crate::showplan_rows::{ALL_COLUMNS, PROFILE_COLUMNS, all_rows, column, figures_of, plan_lines};
use crate::sink::{Done, DoneKind, ResultSink};

impl Session {
    /// Visits the instructions from `at` on; returns the position where normal execution may continue.
    pub(crate) fn compile_only(
        &mut self,
        frame: &mut Frame,
        at: usize,
        sink: &mut dyn ResultSink,
    ) -> Result<usize, Stop> {
        self.compile_only_state.depth += 1;
        let result = self.compile_from(frame, at, sink);
        self.compile_only_state.depth -= 1;
        if self.compile_only_state.depth == 0 {
            let statements = std::mem::take(&mut self.compile_only_state).statements;
            if result.is_ok() && !statements.is_empty() {
                self.show_batch(&statements, frame.done_kind, sink);
            }
        }
        result
    }

    fn compile_from(
        &mut self,
        frame: &mut Frame,
        mut at: usize,
        sink: &mut dyn ResultSink,
    ) -> Result<usize, Stop> {
        let program = frame.program;
        let mut before: Option<&Instruction> = None;
        while let Some(instruction) = program.instructions.get(at) {
            if self.options.runs() {
                return Ok(at);
            }
            if task::interrupt_pending() {
                return Err(Stop::Attention);
            }
            // A DECLARE with several values compiles to several instructions, but is one statement.
            let is_shown =
                before.replace(instruction).is_some_and(|before| is_one_statement(before, instruction));
            if !is_shown && let Err(interruption) = self.look_at(frame, instruction, sink) {
                return Err(self.compile_only_failed(frame, instruction, interruption, sink));
            }
            at += 1;
        }
        Ok(at)
    }

    /// An error ends the batch; there is nothing to undo.
    fn compile_only_failed(
        &mut self,
        frame: &Frame,
        instruction: &Instruction,
        interruption: Interruption,
        sink: &mut dyn ResultSink,
    ) -> Stop {
        let mut error = match interruption {
            Interruption::Stopped(stop) => return stop,
            Interruption::Failed(failure) => failure.error,
        };
        if error.line == 0 {
            error.line = instruction.line;
        }
        if error.procedure.is_none() {
            error.procedure = frame.procedure.as_deref().map(str::to_string);
        }
        self.state.last_error = error.number;
        sink.message(&error);
        sink.done(Done { kind: frame.done_kind, row_count: None, error: true, command: command::OTHER });
        Stop::Batch
    }

    fn look_at(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let shows = self.options.showplan.is_some() && !self.options.no_exec;
        match &instruction.kind {
            InstructionKind::Set(set) if self.set_compile_only_option(set)? => return Ok(()),
            InstructionKind::Use(name) => self.use_database(name, instruction.line, sink)?,
            InstructionKind::DeclareTable(table) if !self.options.no_exec && !self.options.parse_only => {
                self.declare_table(frame, instruction, table)?;
            }
            InstructionKind::Execute(execute) => {
                if shows {
                    self.show(frame, instruction, sink)?;
                }
                if let Some(said) =
                    execute.result_sets.as_ref().filter(|_| self.options.format_only && !shows)
                {
                    return self.tell_said(frame, said, sink);
                }
                if shows || self.options.format_only {
                    self.go_into(frame, instruction, &execute.target, sink)?;
                }
                return Ok(());
            }
            InstructionKind::Query { cell, command } if self.options.format_only && !shows => {
                let compiled = self.bound(frame, instruction, *cell)?;
                let Compiled::Statement(statement) = compiled.as_ref() else {
                    unreachable!("the cell of a query holds a statement")
                };
                if let Some(columns) = statement.result_columns() {
                    if sink.columns(columns) == Flow::Stop {
                        return Err(Stop::Attention.into());
                    }
                    let row_count = if self.options.nocount { None } else { Some(0) };
                    sink.done(Done { kind: frame.done_kind, row_count, error: false, command: *command });
                }
            }
            _ => {}
        }
        if shows { self.show(frame, instruction, sink) } else { Ok(()) }
    }

    /// Describes the results that EXECUTE ... WITH RESULT SETS declares; only execution can check the declaration.
    fn tell_said(
        &self,
        frame: &Frame,
        said: &[Vec<WantedColumn>],
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        for set in said {
            let columns: Vec<_> = set.iter().map(described).collect();
            if sink.columns(&columns) == Flow::Stop {
                return Err(Stop::Attention.into());
            }
            let row_count = if self.options.nocount { None } else { Some(0) };
            let command = crate::done_command::SELECT;
            sink.done(Done { kind: frame.done_kind, row_count, error: false, command });
        }
        Ok(())
    }

    /// SET of an option that decides whether statements run takes effect at once; other options wait for a batch that runs. Inside IF or WHILE
    /// it cannot end NOEXEC or SHOWPLAN, since the condition is not evaluated; FMTONLY takes every branch.
    fn set_compile_only_option(&mut self, set: &SetCells) -> SqlResult<bool> {
        let SetStatement::Switches { options, on } = &set.statement else { return Ok(false) };
        let mut taken = false;
        for option in options {
            let applies = match option {
                SwitchOption::FmtOnly => true,
                SwitchOption::NoExec
                | SwitchOption::ShowplanAll
                | SwitchOption::ShowplanText
                | SwitchOption::ShowplanXml => !set.nested,
                _ => false,
            };
            if applies {
                self.switch(*option, *on)?;
                taken = true;
            }
        }
        Ok(taken)
    }

    /// Visits a called procedure; its statements are listed among those of the batch.
    fn go_into(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        target: &ExecuteTarget,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let (ExecuteTarget::Procedure(name), InstructionKind::Execute(execute)) = (target, &instruction.kind)
        else {
            return Ok(());
        };
        let key = format!("{name:?}").to_lowercase();
        if self.compile_only_state.entered.contains(&key) {
            return Ok(());
        }
        let arguments = self.arguments(frame, instruction, execute)?;
        self.compile_only_state.entered.push(key);
        let name = self.called(frame.program, name)?;
        let result = self.call(&name, arguments, sink).map(drop);
        // FMTONLY describes the results of each call.
        if self.options.format_only {
            self.compile_only_state.entered.pop();
        }
        result
    }

    /// Describes one statement: at once in text form, otherwise at the end of its batch.
    fn show(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let Some(plan) = self.described(frame, instruction)? else { return Ok(()) };
        if self.options.showplan != Some(ShowplanForm::Text) {
            self.compile_only_state.statements.push(plan);
            return Ok(());
        }
        self.show_text(std::iter::once(plan.text.clone()), frame.done_kind, sink);
        if let Some(root) = &plan.root {
            let mut lines = Vec::new();
            plan_lines(root, "  ", false, &mut lines);
            self.show_text(lines.into_iter(), frame.done_kind, sink);
        }
        Ok(())
    }

    fn described(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
    ) -> Result<Option<StatementPlan>, Interruption> {
        let Some(statement_type) = statement_type(&instruction.kind) else { return Ok(None) };
        if let InstructionKind::Query { cell, .. } = &instruction.kind {
            let compiled = self.bound(frame, instruction, *cell)?;
            if let Compiled::Statement(statement) = compiled.as_ref() {
                return Ok(Some(frame.program.plan_of(instruction, statement)));
            }
        }
        let text = frame.program.text_of(instruction);
        Ok(Some(StatementPlan { text, statement_type, root: None }))
    }

    /// SET STATISTICS PROFILE and XML: the actual rows and executions of each operator of a finished statement, beside its estimates.
    pub(crate) fn show_run(
        &self,
        frame: &Frame,
        instruction: &Instruction,
        statement: &CompiledStatement,
        outcome: &StatementOutcome,
        sink: &mut dyn ResultSink,
    ) {
        let variables = &frame.program.variables[..instruction.variables_visible];
        let Some(root) = statement.describe_run(variables, outcome) else { return };
        let (text, statement_type) = (frame.program.text_of(instruction), statement.statement_type());
        let plan = StatementPlan { text, statement_type, root: Some(root) };
        if self.options.statistics_profile {
            let mut figures = vec![Some((outcome.row_count.unwrap_or(0), 1))];
            plan.root.iter().for_each(|root| figures_of(root, &mut figures));
            let mut rows = Vec::new();
            all_rows(&plan, 1, &mut rows);
            for (row, figures) in rows.iter_mut().zip(&figures) {
                let number = |number: u64| Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX));
                let (given, begun) =
                    figures.map_or((Value::Null, Value::Null), |(a, b)| (number(a), number(b)));
                row.insert(0, begun);
                row.insert(0, given);
            }
            let columns = PROFILE_COLUMNS.iter().chain(&ALL_COLUMNS);
            let columns: Vec<ColumnDescription> =
                columns.map(|(name, sql_type)| column(name, *sql_type)).collect();
            self.show_rows(&columns, rows, frame.done_kind, sink);
        }
        if self.options.statistics_xml {
            self.show_document(std::slice::from_ref(&plan), frame.done_kind, sink);
        }
    }

    fn show_document(&self, statements: &[StatementPlan], kind: DoneKind, sink: &mut dyn ResultSink) {
        let name = "Microsoft SQL Server 2005 XML Showplan";
        let document = Value::nvarchar(&batch_document(BUILD, statements));
        self.show_rows(&[column(name, SqlType::NVARCHAR_MAX)], vec![vec![document]], kind, sink);
    }

    /// SHOWPLAN_ALL and SHOWPLAN_XML: one result for the batch.
    fn show_batch(&self, statements: &[StatementPlan], kind: DoneKind, sink: &mut dyn ResultSink) {
        if self.options.showplan == Some(ShowplanForm::Xml) {
            return self.show_document(statements, kind, sink);
        }
        let mut rows = Vec::new();
        for (index, statement) in statements.iter().enumerate() {
            all_rows(statement, i32::try_from(index + 1).unwrap_or(i32::MAX), &mut rows);
        }
        let columns: Vec<ColumnDescription> =
            ALL_COLUMNS.iter().map(|(name, sql_type)| column(name, *sql_type)).collect();
        self.show_rows(&columns, rows, kind, sink);
    }

    fn show_text(&self, lines: impl Iterator<Item = String>, kind: DoneKind, sink: &mut dyn ResultSink) {
        let rows = lines.map(|line| vec![Value::nvarchar(&line)]).collect();
        self.show_rows(&[column("StmtText", SqlType::NVARCHAR_MAX)], rows, kind, sink);
    }

    fn show_rows(
        &self,
        columns: &[ColumnDescription],
        rows: Vec<Vec<Value>>,
        kind: DoneKind,
        sink: &mut dyn ResultSink,
    ) {
        if sink.columns(columns) == Flow::Stop {
            return;
        }
        let row_count = if self.options.nocount { None } else { Some(rows.len() as u64) };
        for row in &rows {
            if sink.row(row) == Flow::Stop {
                return;
            }
        }
        sink.done(Done { kind, row_count, error: false, command: command::SELECT });
    }

    /// Is the text only checked, because SET PARSEONLY is in force while it is parsed? The last SET of PARSEONLY in the text decides.
    pub(crate) fn checks_only(&mut self, text: &str) -> Result<bool, Vec<SqlError>> {
        if !self.options.parse_only {
            return Ok(false);
        }
        let program = self.parsed_program(text)?;
        self.options.parse_only = program.parse_only.unwrap_or(true);
        if !self.options.parse_only {
            return Ok(false);
        }
        // Variables are part of the text and are checked; other names are not resolved.
        let mut errors = Vec::new();
        for (cell, visible, line) in program.cells_before_use() {
            let lookup = Lookup::without_waiting(&self.transactions);
            let context = query::BindContext { lookup, ..self.bind_context(&program, visible) };
            let bound = program.bind_cell(cell, &context);
            let error = bound.err().filter(|error| error.number == UNDECLARED_VARIABLE);
            errors.extend(error.map(|error| error.at_line(line)));
        }
        if errors.is_empty() { Ok(true) } else { Err(errors) }
    }

    /// May this system procedure in Rust be called in a compile-only run? Only those that prepare or run texts may.
    pub(crate) fn may_call_native(&self, name: &str) -> bool {
        self.options.runs()
            || matches!(
                name,
                "sp_executesql"
                    | "sp_prepare"
                    | "sp_execute"
                    | "sp_prepexec"
                    | "sp_prepexecrpc"
                    | "sp_unprepare"
                    | "sp_reset_connection"
            )
    }
}

/// Do both instructions initialize variables of one DECLARE?
fn is_one_statement(before: &Instruction, instruction: &Instruction) -> bool {
    let gives_value = |one: &Instruction| matches!(one.kind, InstructionKind::SetVariable { .. });
    gives_value(before)
        && gives_value(instruction)
        && (before.start, before.end) == (instruction.start, instruction.end)
}

/// Showplan's type name of a statement; `None` for an instruction that is no statement of its own.
fn statement_type(kind: &InstructionKind) -> Option<&'static str> {
    Some(match kind {
        InstructionKind::Jump(_)
        | InstructionKind::LeaveCatch
        | InstructionKind::DeclareTable(_)
        | InstructionKind::Use(_) => return None,
        InstructionKind::JumpUnless { .. } => "COND",
        InstructionKind::Return(None) => "RETURN NONE",
        InstructionKind::Return(Some(_)) => "RETURN VALUE",
        InstructionKind::Query { .. } => "SELECT",
        InstructionKind::SetVariable { .. } => "ASSIGN",
        InstructionKind::Print(_) => "PRINT",
        InstructionKind::RaisError(_) => "RAISERROR",
        InstructionKind::Throw(_) => "THROW",
        InstructionKind::WaitForDelay(_) => "WAITFOR DELAY",
        InstructionKind::WaitForTime(_) => "WAITFOR TIME",
        InstructionKind::WaitForDurable(..) => "WAITFOR DURABLE",
        InstructionKind::BeginTransaction(_) => "BEGIN TRANSACTION",
        InstructionKind::Commit { .. } => "COMMIT TRANSACTION",
        InstructionKind::Rollback(_) => "ROLLBACK TRANSACTION",
        InstructionKind::Save(_) => "SAVE TRANSACTION",
        InstructionKind::Set(_) => "SET ON/OFF",
        InstructionKind::Execute(execute) => match execute.target {
            ExecuteTarget::Text(_) => "EXECUTE STRING",
            _ => "EXECUTE PROC",
        },
        InstructionKind::InsertExecute { .. } => "INSERT EXEC",
        InstructionKind::Definition(statement) => definition_type(&statement.kind),
        InstructionKind::CreateDatabase(_) => "CREATE DATABASE",
        InstructionKind::AlterDatabase(_) | InstructionKind::ScopedConfiguration(_) => "ALTER DATABASE",
        InstructionKind::DropDatabase(_) => "DROP DATABASE",
        InstructionKind::Checkpoint => "CHECKPOINT",
        InstructionKind::Kill(_) => "KILL",
        InstructionKind::Dbcc(_) => "DBCC",
        _ => "OTHER",
    })
}

fn definition_type(kind: &tsql::ast::StatementKind) -> &'static str {
    use tsql::ast::StatementKind as Kind;
    match kind {
        Kind::CreateTable(_) => "CREATE TABLE",
        Kind::AlterTable(_) => "ALTER TABLE",
        Kind::CreateIndex(_) => "CREATE INDEX",
        Kind::AlterIndex(_) => "ALTER INDEX",
        Kind::DropIndex(_) => "DROP INDEX",
        Kind::CreateView(_) => "CREATE VIEW",
        Kind::CreateProcedure(_) => "CREATE PROCEDURE",
        Kind::CreateFunction(_) => "CREATE FUNCTION",
        Kind::CreateTrigger(_) => "CREATE TRIGGER",
        Kind::CreateSchema(_) => "CREATE SCHEMA",
        Kind::AlterSchema(_) => "ALTER SCHEMA",
        _ => "DROP OBJECT",
    }
}
