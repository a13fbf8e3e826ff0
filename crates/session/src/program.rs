//! The compiled form of a batch or procedure: one flat list of instructions with jumps, built once from the syntax tree.
//!
//! Flat, because GOTO, BREAK, TRY...CATCH and RETURN are then all jumps, and because a loop of a million rounds walks no tree.
//! What needs names bound (queries, expressions) sits in numbered cells that are filled when first needed: a table may not
//! exist before an earlier statement of the same batch has made it (deferred name resolution).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use os::{Latch, LatchRank};
use query::{CompiledStatement, ScalarProgram, VariableDef};
use tsql::ast;

use crate::registry::Command;
use crate::statistics::ProgramStatistics;

/// A batch or a procedure's body, ready to run. Shared by all sessions that run the same text.
pub(crate) struct Program {
    /// The source, for statement texts in views and for modules.
    pub(crate) text: Arc<str>,
    pub(crate) instructions: Vec<Instruction>,
    /// Parameters first, then variables in order of declaration.
    pub(crate) variables: Vec<VariableDef>,
    pub(crate) try_regions: Vec<TryRegion>,
    /// Declared parameters of a module, with defaults; they are the first variables.
    pub(crate) parameters: Vec<ast::Parameter>,
    /// The last SET PARSEONLY of the text, if there is one: it holds for the whole text.
    pub(crate) parse_only: Option<bool>,
    pub(crate) cells: Vec<Latch<Option<Arc<Compiled>>>>,
    /// What stands in each cell, unbound.
    pub(crate) sources: Vec<CellSource>,
    /// It has been asked for again since the cache was swept or it came.
    pub(crate) used: AtomicBool,
    /// What its making and its binding have taken; see [`Program::note_made`].
    pub(crate) made_bytes: AtomicUsize,
    /// What its runs have left.
    pub(crate) statistics: ProgramStatistics,
    /// Declarations of table variables that may not be reached: in IF, WHILE or CATCH, or behind a GOTO. They hold all the same.
    pub(crate) tables_anyway: Vec<usize>,
    /// It is the atomic block of a natively compiled procedure.
    pub(crate) atomic: Option<crate::native::AtomicSettings>,
    /// Slots of the parameters and variables that are declared NOT NULL.
    pub(crate) never_null: Vec<usize>,
    /// Its variables have alias types, which may come to mean something else: it is not kept for others.
    pub(crate) uses_alias_types: bool,
    /// The schema of its procedure, where names without one are looked for before `dbo`; `None`: `dbo`.
    pub(crate) schema: Option<Arc<str>>,
    /// It has a USE: its session may be in another database when it ends.
    pub(crate) has_use: bool,
    /// It has no instruction that may change settings of its session.
    pub(crate) leaves_settings: bool,
    /// Its caller gives it values.
    pub(crate) has_parameters: bool,
}

/// One step.
pub(crate) struct Instruction {
    /// Line of the statement in the batch, from 1.
    pub(crate) line: u32,
    /// Its statement in the text: first byte, one past the last.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// How many variables have been declared up to here; later ones are not in scope.
    pub(crate) variables_visible: usize,
    pub(crate) kind: InstructionKind,
}

/// Index of a cell.
pub(crate) type Cell = usize;

/// What a step does.
pub(crate) enum InstructionKind {
    Jump(usize),
    /// Go there when the predicate is not TRUE.
    JumpUnless(Cell, usize),
    /// Leave the CATCH block of this region: its error is forgotten.
    LeaveCatch,
    Return(Option<Cell>),
    /// SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE.
    Query {
        cell: Cell,
        command: u16,
    },
    /// CREATE, ALTER, DROP of what lives in a database.
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
    /// Valid T-SQL that Hardpan does not execute (yet): refused by name.
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
    /// It stands where it may not be reached: in IF, WHILE or CATCH.
    pub(crate) nested: bool,
    /// The value's cell when the option takes one.
    pub(crate) value: Option<Cell>,
}

/// EXECUTE.
pub(crate) struct ExecuteCells {
    pub(crate) return_slot: Option<usize>,
    pub(crate) target: ExecuteTarget,
    pub(crate) arguments: Vec<ArgumentCells>,
}

/// What is executed.
pub(crate) enum ExecuteTarget {
    Procedure(ast::ObjectName),
    /// The variable holds the name.
    Variable(usize),
    Text(Cell),
}

/// One argument of EXECUTE.
pub(crate) struct ArgumentCells {
    pub(crate) name: Option<String>,
    /// None: DEFAULT.
    pub(crate) value: Option<Cell>,
    /// The variable to which an OUTPUT argument is copied back.
    pub(crate) output_slot: Option<usize>,
}

/// The instructions that a TRY block guards, and where its CATCH begins.
pub(crate) struct TryRegion {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) catch: usize,
    /// One past the last instruction of the CATCH block.
    pub(crate) catch_end: usize,
}

/// What a cell is made from.
pub(crate) enum CellSource {
    Statement(Box<ast::Statement>),
    Scalar(Box<ast::Expr>),
    /// A scalar in which NEXT VALUE FOR is refused by a number.
    WithoutDraws(Box<ast::Expr>, i32),
    /// A scalar converted to the type of a variable.
    Assignment(Box<ast::Expr>, usize),
    Predicate(Box<ast::Expr>),
}

/// What a cell holds once its names are bound.
#[allow(clippy::large_enum_variant, reason = "always behind an Arc")]
pub(crate) enum Compiled {
    Statement(CompiledStatement),
    Scalar(ScalarProgram),
}

impl Compiled {
    pub(crate) fn is_valid(&self, from: query::Standpoint<'_>) -> bool {
        match self {
            Compiled::Statement(statement) => statement.is_valid(from),
            Compiled::Scalar(program) => program.is_valid(from),
        }
    }

    fn is_current(&self) -> bool {
        match self {
            Compiled::Statement(statement) => statement.is_current(),
            Compiled::Scalar(program) => program.is_current(),
        }
    }

    pub(crate) fn is_shareable(&self) -> bool {
        match self {
            Compiled::Statement(statement) => statement.is_shareable(),
            Compiled::Scalar(program) => program.is_shareable(),
        }
    }
}

impl Program {
    /// The innermost TRY region whose guarded part contains the instruction.
    pub(crate) fn region_of(&self, instruction: usize) -> Option<&TryRegion> {
        let inside = self.try_regions.iter().filter(|r| r.start <= instruction && instruction < r.end);
        inside.min_by_key(|r| r.end - r.start)
    }

    /// How many CATCH blocks contain the instruction: that many errors are being handled there.
    pub(crate) fn catch_depth(&self, instruction: usize) -> usize {
        self.try_regions.iter().filter(|r| r.catch <= instruction && instruction < r.catch_end).count()
    }

    /// The text of an instruction's statement.
    pub(crate) fn text_of(&self, instruction: &Instruction) -> String {
        let span = instruction.start as usize..instruction.end as usize;
        self.text.get(span).unwrap_or_default().trim().to_string()
    }

    /// Its size for the cache's limit: what has been allocated for it, at least a guess. It grows as its cells are bound.
    pub(crate) fn size_bytes(&self) -> usize {
        let guess = self.text.len() * 4 + self.instructions.len() * 256 + 1024;
        // Twice the text: of the key, too.
        guess.max(self.made_bytes.load(Relaxed) + 2 * self.text.len())
    }

    /// Something of it was made on this thread since it held `before` ([`os::memory::thread_bytes`]). What others keep of that (statistics that
    /// were read) is its weight, too; what it has lost meanwhile is not.
    pub(crate) fn note_made(&self, before: i64) {
        let more = usize::try_from(os::memory::thread_bytes() - before).unwrap_or(0);
        self.made_bytes.fetch_add(more, Relaxed);
    }

    /// The cache keeps it beyond the next sweep.
    #[inline]
    pub(crate) fn note_used(&self) {
        // Sessions that run the same text share it: it is written once a sweep.
        if !self.used.load(Relaxed) {
            self.used.store(true, Relaxed);
        }
    }

    /// Whether it has been used since this was asked last.
    pub(crate) fn take_used(&self) -> bool {
        self.used.swap(false, Relaxed)
    }

    /// Keeps what has been bound for the next who needs it, unless it has become stale meanwhile.
    pub(crate) fn keep(&self, cell: Cell, compiled: &Arc<Compiled>) {
        self.statistics.note_bound(cell);
        *self.cells[cell].lock() = Some(compiled.clone());
        // Whoever makes plans stale looks for them afterwards: either he finds it here or it is found stale here.
        self.forget_if_stale(cell);
    }

    /// Catalogs are asked without the cell's latch.
    fn forget_if_stale(&self, cell: Cell) {
        let kept = self.cells[cell].lock().clone();
        if let Some(stale) = kept.filter(|compiled| !compiled.is_current()) {
            self.cells[cell].lock().take_if(|kept| Arc::ptr_eq(kept, &stale));
        }
    }

    /// A cell's content has been found stale by the one who ran it.
    pub(crate) fn forget_stale_cell(&self, cell: Cell) {
        *self.cells[cell].lock() = None;
    }

    /// Lets go what does not hold any more.
    pub(crate) fn forget_stale(&self) {
        (0..self.cells.len()).for_each(|cell| self.forget_if_stale(cell));
    }

    pub(crate) fn empty_cells(count: usize) -> Vec<Latch<Option<Arc<Compiled>>>> {
        (0..count).map(|_| Latch::new(LatchRank::PlanCache, None)).collect()
    }
}

impl Program {
    /// Every cell of an instruction before the first USE, with the variables it sees and its line.
    pub(crate) fn cells_before_use(&self) -> Vec<(Cell, usize, u32)> {
        let mut cells = Vec::new();
        for instruction in &self.instructions {
            if matches!(instruction.kind, InstructionKind::Use(_)) {
                break;
            }
            for cell in instruction.kind.cells() {
                cells.push((cell, instruction.variables_visible, instruction.line));
            }
        }
        cells
    }
}

/// What `sys.dm_exec_requests` shows of a definition.
fn of_definition(statement: &ast::StatementKind) -> Command {
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

impl InstructionKind {
    /// Does it change no setting of its session, nor run anything that might?
    pub(crate) fn leaves_settings(&self) -> bool {
        matches!(
            self,
            InstructionKind::Query { .. }
                | InstructionKind::SetVariable { .. }
                | InstructionKind::Jump(_)
                | InstructionKind::JumpUnless(..)
                | InstructionKind::Return(_)
        )
    }

    /// What `sys.dm_exec_requests` shows while it runs; `None`: nothing of its own.
    #[inline]
    pub(crate) fn command(&self) -> Option<Command> {
        use crate::done_command as command;
        Some(match self {
            InstructionKind::Query { command: command::SELECT, .. } => Command::Select,
            InstructionKind::Query { command: command::SELECT_INTO, .. } => Command::SelectInto,
            InstructionKind::Query { command: command::INSERT, .. }
            | InstructionKind::InsertExecute { .. } => Command::Insert,
            InstructionKind::Query { command: command::UPDATE, .. } => Command::Update,
            InstructionKind::Query { command: command::DELETE, .. } => Command::Delete,
            InstructionKind::Query { command: command::MERGE, .. } => Command::Merge,
            InstructionKind::Query { .. } => Command::Truncate,
            InstructionKind::BeginTransaction(_) => Command::BeginTransaction,
            InstructionKind::Commit { .. } => Command::Commit,
            InstructionKind::Rollback(_) => Command::Rollback,
            InstructionKind::Save(_) => Command::Save,
            InstructionKind::Execute(_) => Command::Execute,
            InstructionKind::Definition(statement) => of_definition(&statement.kind),
            InstructionKind::DeclareTable(_) => Command::CreateTable,
            InstructionKind::CreateDatabase(_)
            | InstructionKind::AlterDatabase(_)
            | InstructionKind::ScopedConfiguration(_)
            | InstructionKind::DropDatabase(_) => Command::Database,
            InstructionKind::WaitForDelay(_)
            | InstructionKind::WaitForTime(_)
            | InstructionKind::WaitForDurable(..) => Command::WaitFor,
            InstructionKind::Jump(_)
            | InstructionKind::JumpUnless(..)
            | InstructionKind::SetVariable { .. }
            | InstructionKind::LeaveCatch
            | InstructionKind::Return(_) => return None,
            _ => Command::Other,
        })
    }

    fn cells(&self) -> Vec<Cell> {
        match self {
            InstructionKind::JumpUnless(cell, _)
            | InstructionKind::Return(Some(cell))
            | InstructionKind::Query { cell, .. }
            | InstructionKind::SetVariable { cell, .. }
            | InstructionKind::Print(cell)
            | InstructionKind::WaitForDelay(cell)
            | InstructionKind::WaitForTime(cell) => vec![*cell],
            InstructionKind::WaitForDurable(ticket, timeout) => {
                [*ticket].into_iter().chain(*timeout).collect()
            }
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
}

impl InstructionKind {
    /// Does it only say where to go on? What comes there, if anything, sees to a pending commit.
    #[inline]
    pub(crate) fn is_only_a_way(&self) -> bool {
        matches!(self, InstructionKind::Jump(_) | InstructionKind::LeaveCatch | InstructionKind::Return(None))
    }

    /// Does it define, change or empty what lives in a database? Its errors reach further.
    pub(crate) fn is_definition(&self) -> bool {
        match self {
            InstructionKind::Definition(_) => true,
            InstructionKind::Query { command, .. } => *command == crate::done_command::OTHER,
            _ => false,
        }
    }

    /// Does it change rows? Then a failure is followed by message 3621.
    pub(crate) fn changes_data(&self) -> bool {
        match self {
            InstructionKind::Query { command, .. } => *command != crate::done_command::SELECT,
            InstructionKind::InsertExecute { .. } => true,
            _ => false,
        }
    }
}
