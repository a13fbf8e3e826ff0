//! The compiled form of a batch or procedure: one flat list of instructions with jumps, built once from the syntax tree.
//!
//! Flat, because GOTO, BREAK, TRY...CATCH and RETURN are then all jumps, and because a loop of a million rounds walks no tree.
//! What needs names bound (queries, expressions) sits in numbered cells that are filled when first needed: a table may not
//! exist before an earlier statement of the same batch has made it (deferred name resolution).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use os::{Latch, LatchRank};
use query::{BindContext, CompiledStatement, VariableDef, Widths};
use rustc_hash::FxHashMap;
use tsql::ast;
use types::{SqlError, SqlResult};

use crate::batch::ahead::Ahead;
use crate::batch::cell::{Cell, CellSource, Compiled};
use crate::batch::instruction::{Instruction, InstructionKind};
use crate::batch::statement_statistics::ProgramStatistics;
use crate::errors::UNDECLARED_VARIABLE;
use crate::table_types::TableType;

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
    /// For each declared parameter its table type, if it has one; those of a module only.
    pub(crate) table_parameters: Vec<Option<Arc<TableType>>>,
    /// Table variables that were declared with a table type, by name in lower case.
    pub(crate) table_types: FxHashMap<String, Arc<TableType>>,
    /// The last SET PARSEONLY of the text, if there is one: it holds for the whole text.
    pub(crate) parse_only: Option<bool>,
    pub(crate) cells: Vec<Latch<Option<Arc<Compiled>>>>,
    /// What stands in each cell, unbound.
    pub(crate) sources: Vec<CellSource>,
    /// It has been requested again since the last sweep of the cache, or since it was added.
    pub(crate) used: AtomicBool,
    /// Memory allocated by its compilation and binding; see [`Program::note_made`].
    pub(crate) made_bytes: AtomicUsize,
    /// What of it waits for its turn.
    pub(crate) ahead: Ahead,
    /// What its runs have left.
    pub(crate) statistics: ProgramStatistics,
    /// Declarations of table variables that may not be reached: in IF, WHILE or CATCH, or behind a GOTO. They are executed all the same.
    pub(crate) tables_anyway: Vec<usize>,
    /// It is the atomic block of a natively compiled procedure.
    pub(crate) atomic: Option<crate::batch::atomic_settings::AtomicSettings>,
    /// Slots of the parameters and variables that are declared NOT NULL.
    pub(crate) never_null: Vec<usize>,
    /// Its variables have alias types, whose meaning may change: it is not cached.
    pub(crate) uses_alias_types: bool,
    /// The schema of its procedure, where names without one are looked for before `dbo`; `None`: `dbo`.
    pub(crate) schema: Option<Arc<str>>,
    /// Names of its cursor variables, in lower case.
    pub(crate) cursor_variables: Vec<String>,
    /// It has a USE: its session may be in another database when it ends.
    pub(crate) has_use: bool,
    /// It has no instruction that may change settings of its session.
    pub(crate) leaves_settings: bool,
    /// It has parameters.
    pub(crate) has_parameters: bool,
    /// The slot whose type the value of RETURN gets, in a scalar function.
    pub(crate) returns: Option<usize>,
    /// The query of the table that a multi-statement table-valued function returns.
    pub(crate) returned_rows: Option<Cell>,
}

/// The instructions that a TRY block guards, and where its CATCH begins.
pub(crate) struct TryRegion {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) catch: usize,
    /// One past the last instruction of the CATCH block.
    pub(crate) catch_end: usize,
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

    /// Is it the body of a function?
    pub(crate) fn is_function(&self) -> bool {
        self.returns.is_some() || self.returned_rows.is_some()
    }

    /// The text of an instruction's statement.
    pub(crate) fn text_of(&self, instruction: &Instruction) -> String {
        let span = instruction.start as usize..instruction.end as usize;
        self.text.get(span).unwrap_or_default().trim().to_string()
    }

    /// Its size for the cache's limit: the memory allocated for it, at least an estimate. It grows as its cells are bound.
    pub(crate) fn size_bytes(&self) -> usize {
        let guess = self.text.len() * 4 + self.instructions.len() * 256 + 1024;
        // Twice the text: the key contains it, too.
        guess.max(self.made_bytes.load(Relaxed) + 2 * self.text.len())
    }

    /// Part of it was made on this thread, which had allocated `before` bytes then ([`os::memory::thread_bytes`]). Shared memory allocated meanwhile
    /// (such as statistics that were read) counts for it, too; memory freed meanwhile does not.
    pub(crate) fn note_made(&self, before: i64) {
        let more = usize::try_from(os::memory::thread_bytes() - before).unwrap_or(0);
        self.made_bytes.fetch_add(more, Relaxed);
    }

    /// Marks it as used: the next sweep of the cache keeps it.
    #[inline]
    pub(crate) fn note_used(&self) {
        // Sessions that run the same text share the flag: it is written once per sweep.
        if !self.used.load(Relaxed) {
            self.used.store(true, Relaxed);
        }
    }

    /// Whether it has been used since this was asked last.
    pub(crate) fn take_used(&self) -> bool {
        self.used.swap(false, Relaxed)
    }

    /// Stores a bound cell for other sessions, unless it has become stale meanwhile.
    pub(crate) fn keep(&self, cell: Cell, compiled: &Arc<Compiled>) {
        self.statistics.note_bound(cell);
        *self.cells[cell].lock() = Some(compiled.clone());
        // DDL looks for stale plans after its change: either it finds this one, or this check finds it stale.
        self.forget_if_stale(cell);
    }

    /// Asks the catalogs without holding the cell's latch.
    fn forget_if_stale(&self, cell: Cell) {
        let kept = self.cells[cell].lock().clone();
        if let Some(stale) = kept.filter(|compiled| !compiled.is_current()) {
            self.cells[cell].lock().take_if(|kept| Arc::ptr_eq(kept, &stale));
        }
    }

    /// The content of a cell was found stale when it was run.
    pub(crate) fn forget_stale_cell(&self, cell: Cell) {
        *self.cells[cell].lock() = None;
    }

    /// Drops all stale cells.
    pub(crate) fn forget_stale(&self) {
        (0..self.cells.len()).for_each(|cell| self.forget_if_stale(cell));
        self.ahead.forget_stale();
    }

    pub(crate) fn empty_cells(count: usize) -> Vec<Latch<Option<Arc<Compiled>>>> {
        (0..count).map(|_| Latch::new(LatchRank::PlanCache, None)).collect()
    }
}

impl Program {
    /// What a cell means there.
    pub(crate) fn bind_cell(&self, cell: Cell, context: &BindContext<'_>) -> SqlResult<Compiled> {
        let bound = self.bind_source(cell, context);
        if self.cursor_variables.is_empty() {
            return bound;
        }
        bound.map_err(|error| self.with_cursor_variables(error))
    }

    /// 16949 instead of 137 for a cursor variable in an expression.
    fn with_cursor_variables(&self, error: SqlError) -> SqlError {
        let names = |name: &&String| error.message.to_lowercase().contains(&format!("\"{name}\""));
        match self.cursor_variables.iter().find(names) {
            Some(name) if error.number == UNDECLARED_VARIABLE => {
                SqlError::new(16949, &[name]).at_line(error.line)
            }
            _ => error,
        }
    }

    fn bind_source(&self, cell: Cell, context: &BindContext<'_>) -> SqlResult<Compiled> {
        Ok(match &self.sources[cell] {
            CellSource::Statement(statement) => Compiled::Statement(query::compile(statement, context)?),
            CellSource::Scalar(expression) => {
                Compiled::Scalar(query::compile_scalar(expression, None, context)?)
            }
            CellSource::WithoutNextValue(expression, number) => {
                let program = query::compile_scalar(expression, None, context)?;
                if program.has_next_value() {
                    return Err(SqlError::new(*number, &[]).at_line(expression.span.line));
                }
                Compiled::Scalar(program)
            }
            CellSource::Assignment(expression, slot) => {
                let target = &self.variables[*slot].sql_type;
                Compiled::Scalar(query::compile_scalar(expression, Some(target), context)?)
            }
            CellSource::Predicate(expression) => {
                Compiled::Scalar(query::compile_predicate(expression, context)?)
            }
        })
    }

    /// The statement of a cell once more, for these widths of the ranges in its general plan.
    pub(crate) fn bind_for(
        &self,
        cell: Cell,
        context: &BindContext<'_>,
        general: &CompiledStatement,
        widths: Widths,
    ) -> SqlResult<CompiledStatement> {
        let CellSource::Statement(statement) = &self.sources[cell] else {
            unreachable!("a statement has been compiled of it")
        };
        query::compile_for(statement, context, general, widths)
    }

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
