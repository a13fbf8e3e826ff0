//! The instructions of a program: their kinds, and the properties that are known without running them.

use tsql::ast;
use types::SqlType;

use crate::batch::cell::Cell;
use crate::batch::cursor::{CursorStep, Direction};
use crate::done_command as command;
use crate::registry::Command;

/// One step.
pub(crate) struct Instruction {
    /// Line of the statement in the batch, from 1.
    pub(crate) line: u32,
    /// Source range of its statement: first byte, one past the last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Number of variables declared up to here; later ones are not in scope.
    pub(crate) variables_visible: usize,
    pub(crate) kind: InstructionKind,
}

/// The operation of a step.
pub(crate) enum InstructionKind {
    Jump(usize),
    /// Jump to `target` when the predicate is not TRUE.
    JumpUnless {
        cell: Cell,
        target: usize,
        /// The instruction after the whole statement with its branches: execution continues there when the predicate raises an error.
        behind: usize,
    },
    /// Leave the CATCH block of this region: its error is dropped.
    LeaveCatch,
    Return(Option<Cell>),
    /// SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE.
    Query {
        cell: Cell,
        command: u16,
    },
    /// CREATE, ALTER, DROP of objects in a database.
    Definition(Box<ast::Statement>),
    SetVariable {
        slot: usize,
        cell: Cell,
    },
    DeclareTable(Box<ast::DeclareTable>),
    Print(Cell),
    RaisError(Box<RaisErrorCells>),
    /// THROW with its three values, or the re-throw.
    Throw(Option<[Cell; 3]>),
    WaitForDelay(Cell),
    WaitForTime(Cell),
    /// The ticket and the time-out in milliseconds.
    WaitForDurable(Cell, Option<Cell>),
    BeginTransaction(Option<ast::TransactionName>),
    Commit {
        delayed: Option<bool>,
        max_wait: Option<Cell>,
    },
    Rollback(Option<ast::TransactionName>),
    Save(ast::TransactionName),
    Set(Box<SetCells>),
    Use(String),
    Execute(Box<ExecuteCells>),
    /// INSERT ... EXEC.
    InsertExecute {
        insert: Box<ast::Statement>,
        execute: Box<ExecuteCells>,
    },
    CreateDatabase(Box<ast::CreateDatabase>),
    AlterDatabase(Box<ast::AlterDatabase>),
    ScopedConfiguration(Box<ast::AlterDatabaseScopedConfiguration>),
    DropDatabase(Box<ast::DropDatabase>),
    Checkpoint,
    Kill(Box<ast::Kill>),
    Dbcc(Box<ast::Dbcc>),
    /// INSERT BULK: the rows come with the next message.
    InsertBulk(Box<ast::InsertBulk>),
    BulkInsert(Box<ast::BulkInsert>),
    /// DECLARE CURSOR, OPEN, FETCH, CLOSE, DEALLOCATE, SET of a cursor variable, WHERE CURRENT OF.
    Cursor(Box<CursorStep>),
    /// Valid T-SQL that Hardpan does not support: refused by name.
    Refuse(types::SqlError),
    Reconfigure {
        with_override: bool,
    },
}

/// RAISERROR.
pub(crate) struct RaisErrorCells {
    pub(crate) message: Cell,
    pub(crate) severity: Option<Cell>,
    pub(crate) state: Option<Cell>,
    pub(crate) arguments: Vec<Cell>,
    pub(crate) set_error: bool,
    pub(crate) log: bool,
    pub(crate) no_wait: bool,
}

/// SET of options.
pub(crate) struct SetCells {
    pub(crate) statement: ast::SetStatement,
    /// The instruction may never be reached: it is inside IF, WHILE or CATCH.
    pub(crate) nested: bool,
    /// The value's cell if the option takes a value.
    pub(crate) value: Option<Cell>,
}

/// EXECUTE.
pub(crate) struct ExecuteCells {
    pub(crate) return_slot: Option<usize>,
    pub(crate) target: ExecuteTarget,
    pub(crate) arguments: Vec<ArgumentCells>,
    /// WITH RESULT SETS: the declared columns of each result set.
    pub(crate) result_sets: Option<Vec<Vec<WantedColumn>>>,
}

/// One declared column.
#[derive(Clone, Debug)]
pub(crate) struct WantedColumn {
    pub(crate) name: String,
    pub(crate) sql_type: SqlType,
    pub(crate) nullable: bool,
}

/// What EXECUTE calls.
pub(crate) enum ExecuteTarget {
    Procedure(ast::ObjectName),
    /// The variable that holds the procedure's name.
    Variable(usize),
    Text(Cell),
}

/// One argument of EXECUTE.
pub(crate) struct ArgumentCells {
    pub(crate) name: Option<String>,
    /// `None`: DEFAULT, or a table.
    pub(crate) value: Option<Cell>,
    /// The table variable that is passed.
    pub(crate) table: Option<String>,
    /// The variable to which an OUTPUT argument is copied back.
    pub(crate) output_slot: Option<usize>,
    /// The cursor variable that it is, in lower case.
    pub(crate) cursor: Option<String>,
}

impl InstructionKind {
    /// Is it certain that neither it nor what it calls changes settings of its session?
    pub(crate) fn leaves_settings(&self) -> bool {
        matches!(
            self,
            InstructionKind::Query { .. }
                | InstructionKind::SetVariable { .. }
                | InstructionKind::Jump(_)
                | InstructionKind::JumpUnless { .. }
                | InstructionKind::Return(_)
        )
    }

    /// The command that `sys.dm_exec_requests` shows while it runs; `None`: it shows none of its own.
    #[inline]
    pub(crate) fn command(&self) -> Option<Command> {
        Some(match self {
            InstructionKind::Query { command: command::SELECT, .. } => Command::Select,
            InstructionKind::Query { command: command::SELECT_INTO, .. } => Command::SelectInto,
            InstructionKind::Query { command: command::INSERT, .. }
            | InstructionKind::InsertExecute { .. } => Command::Insert,
            InstructionKind::Query { command: command::UPDATE, .. } => Command::Update,
            InstructionKind::Query { command: command::DELETE, .. } => Command::Delete,
            InstructionKind::Query { command: command::MERGE, .. } => Command::Merge,
            InstructionKind::BulkInsert(_) => Command::BulkInsert,
            InstructionKind::Query { .. } => Command::Truncate,
            InstructionKind::BeginTransaction(_) => Command::BeginTransaction,
            InstructionKind::Commit { .. } => Command::Commit,
            InstructionKind::Rollback(_) => Command::Rollback,
            InstructionKind::Save(_) => Command::Save,
            InstructionKind::Execute(_) => Command::Execute,
            InstructionKind::Definition(statement) => view_command_of(&statement.kind),
            InstructionKind::DeclareTable(_) => Command::CreateTable,
            InstructionKind::CreateDatabase(_)
            | InstructionKind::AlterDatabase(_)
            | InstructionKind::ScopedConfiguration(_)
            | InstructionKind::DropDatabase(_) => Command::Database,
            InstructionKind::WaitForDelay(_)
            | InstructionKind::WaitForTime(_)
            | InstructionKind::WaitForDurable(..) => Command::WaitFor,
            InstructionKind::Jump(_)
            | InstructionKind::JumpUnless { .. }
            | InstructionKind::SetVariable { .. }
            | InstructionKind::LeaveCatch
            | InstructionKind::Return(_) => return None,
            _ => Command::Other,
        })
    }

    pub(crate) fn cells(&self) -> Vec<Cell> {
        match self {
            InstructionKind::JumpUnless { cell, .. }
            | InstructionKind::Return(Some(cell))
            | InstructionKind::Query { cell, .. }
            | InstructionKind::SetVariable { cell, .. }
            | InstructionKind::Print(cell)
            | InstructionKind::WaitForDelay(cell)
            | InstructionKind::WaitForTime(cell) => vec![*cell],
            InstructionKind::WaitForDurable(ticket, timeout) => {
                [*ticket].into_iter().chain(*timeout).collect()
            }
            InstructionKind::Cursor(step) => match step.as_ref() {
                CursorStep::Declare(plan) | CursorStep::SetNew(_, plan) => vec![plan.cell],
                CursorStep::Fetch(fetch) => match fetch.direction {
                    Direction::Absolute(cell) | Direction::Relative(cell) => vec![cell],
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            },
            InstructionKind::Commit { max_wait, .. } => max_wait.iter().copied().collect(),
            InstructionKind::Throw(Some(cells)) => cells.to_vec(),
            InstructionKind::RaisError(raise) => {
                let mut cells = vec![raise.message];
                cells.extend(raise.severity);
                cells.extend(raise.state);
                cells.extend(&raise.arguments);
                cells
            }
            InstructionKind::Execute(execute) | InstructionKind::InsertExecute { execute, .. } => {
                execute.arguments.iter().filter_map(|a| a.value).collect()
            }
            _ => Vec::new(),
        }
    }

    /// CurCmd of its DONE.
    pub(crate) fn done_command(&self) -> u16 {
        match self {
            InstructionKind::Query { command, .. } => *command,
            InstructionKind::InsertExecute { .. } => command::INSERT,
            InstructionKind::BulkInsert(_) => command::BULK_INSERT,
            InstructionKind::Cursor(step) => match step.as_ref() {
                CursorStep::Current(current) => current.command,
                CursorStep::Fetch(_) => command::SELECT,
                _ => command::OTHER,
            },
            InstructionKind::Definition(statement) => command::of_definition(&statement.kind),
            InstructionKind::BeginTransaction(_) => command::BEGIN,
            InstructionKind::Commit { .. } => command::COMMIT,
            InstructionKind::Rollback(_) => command::ROLLBACK,
            InstructionKind::Execute(_) => command::EXECUTE,
            InstructionKind::CreateDatabase(_) => command::CREATE_DATABASE,
            InstructionKind::AlterDatabase(_) | InstructionKind::ScopedConfiguration(_) => {
                command::ALTER_DATABASE
            }
            InstructionKind::DropDatabase(_) => command::DROP_DATABASE,
            InstructionKind::Dbcc(_) => command::DBCC,
            _ => command::OTHER,
        }
    }

    /// Is it only a jump or return? Then the instruction at its target, if any, settles a pending commit.
    #[inline]
    pub(crate) fn is_only_a_way(&self) -> bool {
        matches!(self, InstructionKind::Jump(_) | InstructionKind::LeaveCatch | InstructionKind::Return(None))
    }

    /// Does it define, change or empty an object in a database? Its errors reach further.
    pub(crate) fn is_definition(&self) -> bool {
        match self {
            InstructionKind::Definition(_) => true,
            InstructionKind::Query { command, .. } => *command == command::OTHER,
            _ => false,
        }
    }

    /// Does it change rows? Then message 3621 follows a failure.
    pub(crate) fn changes_data(&self) -> bool {
        match self {
            InstructionKind::Query { command, .. } => *command != command::SELECT,
            InstructionKind::InsertExecute { .. } | InstructionKind::BulkInsert(_) => true,
            InstructionKind::Cursor(step) => matches!(step.as_ref(), CursorStep::Current(_)),
            _ => false,
        }
    }
}

/// What `sys.dm_exec_requests` shows of a definition.
fn view_command_of(statement: &ast::StatementKind) -> Command {
    use ast::{DropKind, StatementKind};
    match statement {
        StatementKind::CreateTable(_) => Command::CreateTable,
        StatementKind::AlterTable(_) => Command::AlterTable,
        StatementKind::CreateIndex(_) => Command::CreateIndex,
        StatementKind::AlterIndex(_) => Command::AlterIndex,
        StatementKind::DropIndex(_) => Command::DropIndex,
        StatementKind::Drop(drop) if drop.kind == DropKind::Table => Command::DropTable,
        StatementKind::Drop(_) => Command::Drop,
        _ => Command::Definition,
    }
}
