//! From the syntax tree of a batch to its flat program: variables get slots, control flow becomes jumps.

use std::sync::Arc;

use query::VariableDef;
use rustc_hash::FxHashMap;
use tsql::ast::{self, ExprKind, StatementKind};
use types::{SqlError, SqlResult};

use crate::batch::cell::{Cell, CellSource};
use crate::batch::instruction::{
    ArgumentCells, ExecuteCells, ExecuteTarget, Instruction, InstructionKind, RaisErrorCells, SetCells,
    WantedColumn,
};
use crate::batch::program::{Program, TryRegion};
use crate::batch::table_names::TableNames;
use crate::done_command as command;
use crate::refusal::{kind_name, not_supported};
use crate::table_types::{TableType, table_type};

/// RAISERROR takes at most this many values for its format.
const RAISERROR_ARGUMENTS_MAX: usize = 20;

/// Limit of the parameters of a procedure, a call and a client's request.
pub(crate) const PARAMETERS_MAX: usize = 2100;

/// Compiles the statements of a batch or body. `parameters` take the first slots; alias types are those of `types_in`.
///
/// # Errors
/// 119 and 180 (arguments), 1026 (GOTO into TRY or CATCH), 134 (variable declared twice), 137 (undeclared variable in EXECUTE or SET), 132/133 (labels), 135/136 (BREAK, CONTINUE outside
/// a loop), 2715 (unknown type), 178 (RETURN with a value in a batch).
pub(crate) fn compile(
    text: Arc<str>,
    statements: &[ast::Statement],
    parameters: Vec<VariableDef>,
    in_procedure: bool,
    types_in: Option<TypesIn<'_>>,
) -> SqlResult<Program> {
    let mut compiler = Compiler::with_parameters(parameters, in_procedure, types_in);
    compiler.statements(statements)?;
    compiler.into_program(text)
}

/// What a function returns.
pub(crate) enum FunctionResult<'a> {
    /// A value of a type.
    Value(&'a ast::DataType),
    /// A table variable, and the query of its rows.
    Table(ast::DeclareTable, ast::Statement),
}

/// Compiles the body of a scalar or multi-statement table-valued function.
///
/// # Errors
/// As `compile`.
pub(crate) fn compile_function(
    text: Arc<str>,
    statements: &[ast::Statement],
    (parameters, result): (Vec<VariableDef>, FunctionResult<'_>),
    types_in: TypesIn<'_>,
) -> SqlResult<Program> {
    let mut compiler = Compiler::with_parameters(parameters, true, Some(types_in));
    match result {
        FunctionResult::Value(data_type) => {
            let declared = declared_type(data_type, query::TypePlace::Variable(0), compiler.types_in)?;
            compiler.uses_alias_types |= declared.alias_id != 0;
            compiler.returns = Some(compiler.variables.len());
            // No name means it.
            compiler.variables.push(VariableDef { name: String::new(), sql_type: declared.sql_type });
            compiler.statements(statements)?;
        }
        FunctionResult::Table(table, rows) => {
            compiler.emit(InstructionKind::DeclareTable(Box::new(table)));
            compiler.statements(statements)?;
            compiler.returned_rows = Some(compiler.cell(CellSource::Statement(Box::new(rows))));
        }
    }
    compiler.into_program(text)
}

/// Compiles the body of a procedure that CREATE defines: types that do not exist may be created before it runs. Also returns whether such
/// types occur; the program serves for checks only and must not run.
///
/// # Errors
/// As `compile`, but for 2715 of variables.
pub(crate) fn compile_ahead(
    text: Arc<str>,
    statements: &[ast::Statement],
    parameters: Vec<VariableDef>,
    types_in: TypesIn<'_>,
) -> SqlResult<(Program, bool)> {
    let mut compiler =
        Compiler { types_may_come: true, ..Compiler::with_parameters(parameters, true, Some(types_in)) };
    compiler.statements(statements)?;
    let lacks_types = compiler.lacks_types;
    Ok((compiler.into_program(text)?, lacks_types))
}

/// Compiles the atomic block of a natively compiled procedure; `parameters` hold their declared attributes.
///
/// # Errors
/// As `compile`; those of the block's options.
pub(crate) fn compile_native(
    text: Arc<str>,
    block: &ast::AtomicBlock,
    (parameters, declared): (Vec<VariableDef>, &[ast::Parameter]),
    types_in: TypesIn<'_>,
) -> SqlResult<Program> {
    let atomic = Some(crate::batch::atomic_settings::AtomicSettings::of(block)?);
    let never_null = (0..declared.len()).filter(|&slot| declared[slot].nullable == Some(false)).collect();
    let mut compiler = Compiler {
        slots: slots_of(&parameters),
        tables: TableNames::of(&parameters),
        variables: parameters,
        in_procedure: true,
        types_in: Some(types_in),
        never_null,
        atomic,
        ..Compiler::default()
    };
    compiler.statements(&block.body)?;
    compiler.into_program(text)
}

/// Maps the names of parameters to slots; the first of several with one name counts.
fn slots_of(parameters: &[VariableDef]) -> FxHashMap<String, usize> {
    let slots = parameters.iter().enumerate().rev();
    slots.map(|(slot, parameter)| (parameter.name.to_ascii_lowercase(), slot)).collect()
}

/// The parameters that hold cursors, in lower case.
fn cursor_parameters(parameters: &[VariableDef]) -> Vec<String> {
    let names = parameters.iter().filter_map(|parameter| parameter.name.strip_prefix(CURSOR_PARAMETER));
    names.map(str::to_lowercase).collect()
}

/// Stands before the name of a parameter that holds a cursor, which no expression can name.
pub(crate) const CURSOR_PARAMETER: &str = "cursor ";

/// The database whose alias types count, and the lookup that finds them: it waits for an alias that another transaction is changing.
pub(crate) type TypesIn<'a> = (&'a engine::Database, engine::Lookup<'a>);

/// The type as declared; alias types are those of the database, if there is one.
fn declared_type(
    data_type: &ast::DataType,
    place: query::TypePlace,
    types_in: Option<TypesIn<'_>>,
) -> SqlResult<query::Declared> {
    match types_in {
        Some((database, lookup)) => query::resolve_type_in(data_type, place, database, lookup),
        None => {
            let sql_type = query::resolve_type(data_type, place)?;
            Ok(query::Declared { sql_type, alias_id: 0, nullable: None })
        }
    }
}

#[derive(Default)]
pub(super) struct Compiler<'a> {
    instructions: Vec<Instruction>,
    pub(super) variables: Vec<VariableDef>,
    /// Names of the cursor variables, in lower case.
    pub(super) cursor_variables: Vec<String>,
    /// Slots of the variables by name in lower case.
    slots: FxHashMap<String, usize>,
    tables: TableNames,
    sources: Vec<CellSource>,
    try_regions: Vec<TryRegion>,
    /// Enclosing loops: start, and the jumps to patch with the end.
    loops: Vec<(usize, Vec<usize>)>,
    /// Position of each label: its instruction, and the TRY and CATCH blocks around it.
    labels: FxHashMap<String, (usize, Vec<usize>)>,
    /// Jump instructions of GOTO with the label, name and line.
    gotos: Vec<(usize, String, u32, Vec<usize>)>,
    /// The TRY and CATCH blocks around the statement; each block has its own number.
    blocks: Vec<usize>,
    blocks_seen: usize,
    pub(super) line: u32,
    pub(super) span: ast::Span,
    in_procedure: bool,
    has_parameters: bool,
    /// Number of IF, WHILE and CATCH blocks around the statement.
    conditions: u32,
    parse_only: Option<bool>,
    types_in: Option<TypesIn<'a>>,
    /// A variable's type that does not exist is no error; it sets `lacks_types`.
    types_may_come: bool,
    lacks_types: bool,
    uses_alias_types: bool,
    tables_anyway: Vec<usize>,
    /// The options of the atomic block that is being compiled.
    atomic: Option<crate::batch::atomic_settings::AtomicSettings>,
    never_null: Vec<usize>,
    /// The slot whose type the value of RETURN gets, in a scalar function.
    returns: Option<usize>,
    returned_rows: Option<Cell>,
}

impl<'a> Compiler<'a> {
    fn with_parameters(
        parameters: Vec<VariableDef>,
        in_procedure: bool,
        types_in: Option<TypesIn<'a>>,
    ) -> Compiler<'a> {
        Compiler {
            has_parameters: !parameters.is_empty(),
            slots: slots_of(&parameters),
            cursor_variables: cursor_parameters(&parameters),
            tables: TableNames::of(&parameters),
            variables: parameters,
            in_procedure,
            types_in,
            ..Compiler::default()
        }
    }
}

impl Compiler<'_> {
    fn into_program(mut self, text: Arc<str>) -> SqlResult<Program> {
        self.resolve_gotos()?;
        let leaves_settings = self.instructions.iter().all(|step| step.kind.leaves_settings());
        let has_use = self.instructions.iter().any(|step| matches!(step.kind, InstructionKind::Use(_)));
        Ok(Program {
            text,
            instructions: self.instructions,
            variables: self.variables,
            try_regions: self.try_regions,
            parameters: Vec::new(),
            table_parameters: Vec::new(),
            uses_alias_types: self.uses_alias_types || self.tables.has_types(),
            table_types: self.tables.into_types(),
            parse_only: self.parse_only.filter(|_| !self.in_procedure),
            cells: Program::empty_cells(self.sources.len()),
            sources: self.sources,
            used: Default::default(),
            made_bytes: Default::default(),
            ahead: Default::default(),
            statistics: Default::default(),
            tables_anyway: self.tables_anyway,
            atomic: self.atomic,
            never_null: self.never_null,
            schema: None,
            cursor_variables: self.cursor_variables,
            has_use,
            leaves_settings,
            has_parameters: self.has_parameters,
            returns: self.returns,
            returned_rows: self.returned_rows,
        })
    }

    fn statement(&mut self, statement: &ast::Statement) -> SqlResult<()> {
        os::memory::check().map_err(query::errors::out_of_memory)?;
        self.line = statement.span.line;
        self.span = statement.span;
        match &statement.kind {
            StatementKind::Block(body) => self.statements(body),
            StatementKind::AtomicBlock(_) => Err(SqlError::new(10782, &[]).at_line(self.line)),
            StatementKind::If(branching) => self.branching(branching),
            StatementKind::While(repetition) => self.repetition(repetition),
            StatementKind::Break => self.leave_loop(),
            StatementKind::Continue => self.next_round(),
            StatementKind::Return(value) => self.return_from(value.as_deref()),
            StatementKind::Goto(label) => {
                let at = self.emit(InstructionKind::Jump(usize::MAX));
                self.gotos.push((at, label.value.to_lowercase(), self.line, self.blocks.clone()));
                Ok(())
            }
            StatementKind::Label(label) => self.label(label),
            StatementKind::TryCatch(guarded) => self.try_catch(guarded),
            StatementKind::Declare(declarations) => self.declare(declarations),
            StatementKind::DeclareTable(table) => self.declare_table(table.clone(), None),
            StatementKind::SetVariable(assignment) => self.set_variable(assignment),
            kind if Self::is_about_cursor(kind) => self.cursor_statement(statement),
            _ => self.leaf(statement),
        }
    }

    fn statements(&mut self, body: &[ast::Statement]) -> SqlResult<()> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Compiles statements without inner statements, other than those about variables.
    fn leaf(&mut self, statement: &ast::Statement) -> SqlResult<()> {
        self.tables.check_changes(&statement.kind).map_err(|error| error.at_line(self.line))?;
        let kind = match &statement.kind {
            StatementKind::Select(select) if query::is_select_into(select) => {
                self.query(statement, command::SELECT_INTO)
            }
            StatementKind::Select(_) => self.query(statement, command::SELECT),
            StatementKind::Insert(insert) => return self.insert(statement, insert),
            StatementKind::Update(_) => self.query(statement, command::UPDATE),
            StatementKind::Delete(_) => self.query(statement, command::DELETE),
            StatementKind::Merge(_) => self.query(statement, command::MERGE),
            StatementKind::Truncate(_) => self.query(statement, command::OTHER),
            StatementKind::Print(message) => {
                InstructionKind::Print(self.scalar_without_draws(message, 11738))
            }
            StatementKind::RaisError(raise) => self.raise_error(raise)?,
            StatementKind::Throw(throw) => InstructionKind::Throw(
                throw
                    .as_ref()
                    .map(|t| [self.scalar(&t.number), self.scalar(&t.message), self.scalar(&t.state)]),
            ),
            StatementKind::WaitFor(wait) => match wait.as_ref() {
                ast::WaitFor::Delay(delay) => InstructionKind::WaitForDelay(self.scalar(delay)),
                ast::WaitFor::Time(time) => InstructionKind::WaitForTime(self.scalar(time)),
                ast::WaitFor::Durable { ticket, timeout_ms } => InstructionKind::WaitForDurable(
                    self.scalar(ticket),
                    timeout_ms.as_ref().map(|timeout| self.scalar(timeout)),
                ),
                ast::WaitFor::Statement(_) => refused("WAITFOR (RECEIVE)"),
            },
            StatementKind::Execute(execute) => InstructionKind::Execute(Box::new(self.execute(execute)?)),
            StatementKind::BeginTransaction(begin) => match query::clauses::check_begin(begin) {
                Ok(()) => InstructionKind::BeginTransaction(begin.name.clone()),
                Err(refusal) => InstructionKind::Refuse(refusal),
            },
            StatementKind::Commit(commit) => InstructionKind::Commit {
                delayed: commit.delayed_durability,
                max_wait: commit.max_wait_ms.as_ref().map(|wait| self.scalar(wait)),
            },
            StatementKind::Rollback(rollback) => InstructionKind::Rollback(rollback.name.clone()),
            StatementKind::SaveTransaction(name) => InstructionKind::Save(name.clone()),
            StatementKind::Set(set) => self.set_option(set),
            StatementKind::Use(name) => InstructionKind::Use(name.value.clone()),
            other => administration(statement, other),
        };
        self.emit(kind);
        Ok(())
    }

    pub(super) fn emit(&mut self, kind: InstructionKind) -> usize {
        self.instructions.push(Instruction {
            line: self.line,
            start: self.span.start,
            end: self.span.end,
            variables_visible: self.variables.len(),
            kind,
        });
        self.instructions.len() - 1
    }

    fn refuse(&mut self, name: &str) {
        self.emit(refused(name));
    }

    pub(super) fn cell(&mut self, source: CellSource) -> Cell {
        self.sources.push(source);
        self.sources.len() - 1
    }

    pub(super) fn scalar(&mut self, expression: &ast::Expr) -> Cell {
        self.cell(CellSource::Scalar(Box::new(expression.clone())))
    }

    /// An expression in which NEXT VALUE FOR is refused with error `number`.
    fn scalar_without_draws(&mut self, expression: &ast::Expr, number: i32) -> Cell {
        self.cell(CellSource::WithoutNextValue(Box::new(expression.clone()), number))
    }

    fn query(&mut self, statement: &ast::Statement, command: u16) -> InstructionKind {
        InstructionKind::Query {
            cell: self.cell(CellSource::Statement(Box::new(statement.clone()))),
            command,
        }
    }

    fn insert(&mut self, statement: &ast::Statement, insert: &ast::Insert) -> SqlResult<()> {
        let kind = match &insert.source {
            ast::InsertSource::Execute(execute) => {
                let execute = Box::new(self.execute(execute)?);
                if execute.result_sets.is_some() {
                    return Err(not_supported("INSERT ... EXECUTE WITH RESULT SETS").at_line(self.line));
                }
                InstructionKind::InsertExecute { insert: Box::new(statement.clone()), execute }
            }
            _ => self.query(statement, command::INSERT),
        };
        self.emit(kind);
        Ok(())
    }

    fn branching(&mut self, branching: &ast::If) -> SqlResult<()> {
        let (mut ends, mut tests) = (Vec::new(), Vec::new());
        let mut start = self.span.start;
        self.conditions += 1;
        for (position, (condition, body)) in branching.branches.iter().enumerate() {
            self.line = condition.span.line;
            self.span = ast::Span { start, ..condition.span };
            let predicate = self.cell(CellSource::Predicate(Box::new(condition.clone())));
            let test = self.test(predicate);
            tests.push(test);
            self.statement(body)?;
            start = self.span.end;
            let is_last = position + 1 == branching.branches.len() && branching.otherwise.is_none();
            if !is_last {
                ends.push(self.emit(InstructionKind::Jump(usize::MAX)));
            }
            let next = self.instructions.len();
            self.patch(test, next);
        }
        if let Some(otherwise) = &branching.otherwise {
            self.statement(otherwise)?;
        }
        self.conditions -= 1;
        let end = self.instructions.len();
        ends.into_iter().for_each(|at| self.patch(at, end));
        tests.into_iter().for_each(|at| self.patch_behind(at, end));
        Ok(())
    }

    fn repetition(&mut self, repetition: &ast::While) -> SqlResult<()> {
        let start = self.instructions.len();
        self.span.end = repetition.condition.span.end;
        let predicate = self.cell(CellSource::Predicate(Box::new(repetition.condition.clone())));
        let test = self.test(predicate);
        self.loops.push((start, vec![test]));
        self.conditions += 1;
        self.statement(&repetition.body)?;
        self.conditions -= 1;
        self.emit(InstructionKind::Jump(start));
        let end = self.instructions.len();
        let (_, jumps) = self.loops.pop().expect("pushed above");
        jumps.into_iter().for_each(|at| self.patch(at, end));
        self.patch_behind(test, end);
        Ok(())
    }

    /// Emits the conditional jump; its targets are patched when they are known.
    fn test(&mut self, predicate: Cell) -> usize {
        self.emit(InstructionKind::JumpUnless { cell: predicate, target: usize::MAX, behind: usize::MAX })
    }

    fn leave_loop(&mut self) -> SqlResult<()> {
        let line = self.line;
        let at = self.emit(InstructionKind::Jump(usize::MAX));
        let (_, jumps) = self.loops.last_mut().ok_or_else(|| SqlError::new(135, &[]).at_line(line))?;
        jumps.push(at);
        Ok(())
    }

    fn next_round(&mut self) -> SqlResult<()> {
        let (start, _) =
            *self.loops.last().as_ref().ok_or_else(|| SqlError::new(136, &[]).at_line(self.line))?;
        let start = *start;
        self.emit(InstructionKind::Jump(start));
        Ok(())
    }

    fn return_from(&mut self, value: Option<&ast::Expr>) -> SqlResult<()> {
        if value.is_some() && !self.in_procedure {
            return Err(SqlError::new(178, &[]).at_line(self.line));
        }
        let cell = value.map(|value| match self.returns {
            Some(slot) => self.cell(CellSource::Assignment(Box::new(value.clone()), slot)),
            None => self.scalar_without_draws(value, 11719),
        });
        self.emit(InstructionKind::Return(cell));
        Ok(())
    }

    fn label(&mut self, label: &ast::Ident) -> SqlResult<()> {
        let place = (self.instructions.len(), self.blocks.clone());
        let previous = self.labels.insert(label.value.to_lowercase(), place);
        match previous {
            Some(_) => Err(SqlError::new(132, &[&label.value]).at_line(self.line)),
            None => Ok(()),
        }
    }

    fn resolve_gotos(&mut self) -> SqlResult<()> {
        for (at, label, line, blocks) in std::mem::take(&mut self.gotos) {
            let (target, around) =
                self.labels.get(&label).ok_or_else(|| SqlError::new(133, &[&label]).at_line(line))?;
            if !blocks.starts_with(around) {
                return Err(SqlError::new(1026, &[]).at_line(line));
            }
            let target = *target;
            self.patch(at, target);
        }
        Ok(())
    }

    fn try_catch(&mut self, guarded: &ast::TryCatch) -> SqlResult<()> {
        let start = self.instructions.len();
        self.block(&guarded.body)?;
        let end = self.instructions.len();
        let over = self.emit(InstructionKind::Jump(usize::MAX));
        let catch = self.instructions.len();
        self.conditions += 1;
        self.block(&guarded.catch)?;
        self.conditions -= 1;
        self.emit(InstructionKind::LeaveCatch);
        let catch_end = self.instructions.len();
        self.patch(over, catch_end);
        self.try_regions.push(TryRegion { start, end, catch, catch_end });
        Ok(())
    }

    /// The statements of a TRY or CATCH block, into which no GOTO may jump.
    fn block(&mut self, body: &[ast::Statement]) -> SqlResult<()> {
        self.blocks_seen += 1;
        self.blocks.push(self.blocks_seen);
        let result = self.statements(body);
        self.blocks.pop();
        result
    }

    fn patch(&mut self, at: usize, target: usize) {
        match &mut self.instructions[at].kind {
            InstructionKind::Jump(to) | InstructionKind::JumpUnless { target: to, .. } => *to = target,
            _ => unreachable!("only jumps are patched"),
        }
    }

    fn patch_behind(&mut self, at: usize, end: usize) {
        match &mut self.instructions[at].kind {
            InstructionKind::JumpUnless { behind, .. } => *behind = end,
            _ => unreachable!("a test"),
        }
    }

    fn declare_table(
        &mut self,
        table: Box<ast::DeclareTable>,
        table_type: Option<Arc<TableType>>,
    ) -> SqlResult<()> {
        self.tables.declare(&table.name, table_type).map_err(|error| error.at_line(self.line))?;
        let at = self.emit(InstructionKind::DeclareTable(table));
        if self.conditions > 0 || !self.gotos.is_empty() {
            self.tables_anyway.push(at);
        }
        Ok(())
    }

    fn declare(&mut self, declarations: &[ast::VariableDeclaration]) -> SqlResult<()> {
        for (at, declaration) in declarations.iter().enumerate() {
            self.line = declaration.span.line.max(self.line);
            if self.slot_of(&declaration.name).is_some() || self.is_cursor_variable(&declaration.name) {
                return Err(SqlError::new(134, &[&declaration.name]).at_line(self.line));
            }
            if declaration.data_type.name.name.is("cursor") {
                self.declare_cursor_variable(&declaration.name)?;
                continue;
            }
            let table_type = self.types_in.map(|types_in| table_type(&declaration.data_type, types_in));
            if let Some(table_type) = table_type.transpose().map_err(|e| e.at_line(self.line))?.flatten() {
                if declaration.initial.is_some() {
                    return Err(not_supported("a value for a table variable").at_line(self.line));
                }
                self.declare_table(Box::new(table_type.declaration(&declaration.name)), Some(table_type))?;
                continue;
            }
            let place = query::TypePlace::Variable(at + 1);
            let declared = self.declared_variable(&declaration.data_type, place)?;
            self.uses_alias_types |= declared.alias_id != 0;
            let sql_type = declared.sql_type;
            if matches!(sql_type, types::SqlType::Text | types::SqlType::NText | types::SqlType::Image) {
                return Err(SqlError::new(2739, &[]).at_line(self.line));
            }
            if declaration.nullable == Some(false) {
                if self.atomic.is_none() {
                    return Err(SqlError::new(156, &[&"NOT"]).at_line(self.line));
                }
                self.never_null.push(self.variables.len());
            }
            self.slots.insert(declaration.name.to_ascii_lowercase(), self.variables.len());
            self.variables.push(VariableDef { name: declaration.name.clone(), sql_type });
            if let Some(initial) = &declaration.initial {
                let slot = self.variables.len() - 1;
                self.assign(slot, initial.clone());
            }
        }
        Ok(())
    }

    fn declared_variable(
        &mut self,
        data_type: &ast::DataType,
        place: query::TypePlace,
    ) -> SqlResult<query::Declared> {
        match declared_type(data_type, place, self.types_in) {
            Err(error) if self.types_may_come && error.number == 2715 => {
                self.lacks_types = true;
                Ok(query::Declared { sql_type: types::SqlType::SqlVariant, alias_id: 0, nullable: None })
            }
            declared => declared.map_err(|e| e.at_line(self.line)),
        }
    }

    fn slot_of(&self, name: &str) -> Option<usize> {
        self.slots.get(&name.to_ascii_lowercase()).copied()
    }

    pub(super) fn known_slot(&self, name: &str) -> SqlResult<usize> {
        self.slot_of(name).ok_or_else(|| SqlError::new(137, &[&name]).at_line(self.line))
    }

    fn assign(&mut self, slot: usize, value: ast::Expr) {
        let cell = self.cell(CellSource::Assignment(Box::new(value), slot));
        self.emit(InstructionKind::SetVariable { slot, cell });
    }

    fn set_variable(&mut self, assignment: &ast::SetVariable) -> SqlResult<()> {
        match assignment {
            ast::SetVariable::Assign { variable, op: ast::AssignOp::Set, value }
                if self.is_cursor_variable(variable) =>
            {
                self.set_cursor_again(variable, value)?;
            }
            ast::SetVariable::Assign { variable, op, value } => {
                let slot = self.known_slot(variable)?;
                self.assign(slot, compound(variable, *op, value));
            }
            ast::SetVariable::Cursor { variable, definition } => self.set_cursor(variable, definition)?,
            ast::SetVariable::Method { variable, method, args } => {
                let slot = self.known_slot(variable)?;
                self.assign(slot, ast::MethodCall::mutator(variable, method, args));
            }
            ast::SetVariable::Property { .. } => self.refuse("properties of variables"),
        }
        Ok(())
    }

    fn raise_error(&mut self, raise: &ast::RaisError) -> SqlResult<InstructionKind> {
        if raise.args.len() > RAISERROR_ARGUMENTS_MAX {
            return Err(SqlError::new(2747, &[&RAISERROR_ARGUMENTS_MAX]).at_line(self.line));
        }
        Ok(InstructionKind::RaisError(Box::new(RaisErrorCells {
            message: self.scalar(&raise.message),
            severity: raise.severity.as_ref().map(|e| self.scalar(e)),
            state: raise.state.as_ref().map(|e| self.scalar(e)),
            arguments: raise.args.iter().map(|e| self.scalar(e)).collect(),
            set_error: raise.options.iter().any(|o| o.is("SETERROR")),
            log: raise.options.iter().any(|o| o.is("LOG")),
            no_wait: raise.options.iter().any(|o| o.is("NOWAIT")),
        })))
    }

    fn set_option(&mut self, set: &ast::SetStatement) -> InstructionKind {
        let value = match set {
            ast::SetStatement::Value { value, .. } => Some(self.scalar(value)),
            ast::SetStatement::Switches { options, on } => {
                if options.contains(&ast::SwitchOption::ParseOnly) {
                    self.parse_only = Some(*on);
                }
                None
            }
            _ => None,
        };
        let nested = self.conditions > 0;
        InstructionKind::Set(Box::new(SetCells { statement: set.clone(), nested, value }))
    }

    fn execute(&mut self, execute: &ast::Execute) -> SqlResult<ExecuteCells> {
        if let Err(refusal) = query::clauses::check_execute(execute) {
            self.emit(InstructionKind::Refuse(refusal));
        }
        let return_slot = execute.return_variable.as_ref().map(|name| self.known_slot(name)).transpose()?;
        let target = match &execute.target {
            ast::ExecuteTarget::Procedure(name, _) => ExecuteTarget::Procedure(name.clone()),
            ast::ExecuteTarget::Variable(name, _) => ExecuteTarget::Variable(self.known_slot(name)?),
            ast::ExecuteTarget::Text { text, .. } => ExecuteTarget::Text(self.scalar(text)),
        };
        if execute.args.len() > PARAMETERS_MAX {
            return Err(SqlError::new(180, &[&"EXECUTE", &PARAMETERS_MAX]).at_line(self.line));
        }
        let named = execute.args.iter().position(|argument| argument.name.is_some());
        if let Some(at) =
            (named.unwrap_or(usize::MAX)..execute.args.len()).find(|at| execute.args[*at].name.is_none())
        {
            return Err(SqlError::new(119, &[&(at + 1)]).at_line(self.line));
        }
        let mut arguments = Vec::with_capacity(execute.args.len());
        for argument in &execute.args {
            let cursor = match &argument.value.kind {
                ExprKind::Variable(name) if self.is_cursor_variable(name) => match argument.output {
                    true => Some(name.to_lowercase()),
                    false => return Err(SqlError::new(16949, &[name]).at_line(self.line)),
                },
                _ => None,
            };
            let output_slot = match (&argument.value.kind, argument.output && cursor.is_none()) {
                (ExprKind::Variable(name), true) => Some(self.known_slot(name)?),
                _ => None,
            };
            let table = match &argument.value.kind {
                ExprKind::Variable(name) if self.tables.has(name) => Some(name.clone()),
                _ => None,
            };
            let is_default = matches!(argument.value.kind, ExprKind::Default);
            let has_value = table.is_none() && cursor.is_none() && !is_default;
            let value = has_value.then(|| self.scalar(&argument.value));
            arguments.push(ArgumentCells { name: argument.name.clone(), value, table, output_slot, cursor });
        }
        let result_sets = self.result_sets(&execute.options)?;
        Ok(ExecuteCells { return_slot, target, arguments, result_sets })
    }

    /// The result sets that WITH RESULT SETS declares; `None` for NONE.
    fn result_sets(&mut self, options: &[ast::ExecuteOption]) -> SqlResult<Option<Vec<Vec<WantedColumn>>>> {
        let said = options.iter().find_map(|option| match option {
            ast::ExecuteOption::ResultSetsNone => Some(&[][..]),
            ast::ExecuteOption::ResultSets(sets) => Some(sets.as_slice()),
            ast::ExecuteOption::Recompile | ast::ExecuteOption::ResultSetsUndefined => None,
        });
        let Some(said) = said else { return Ok(None) };
        let mut sets = Vec::with_capacity(said.len());
        for set in said {
            let ast::ResultSet::Columns(columns) = set else { continue };
            let mut wanted = Vec::with_capacity(columns.len());
            for (at, column) in columns.iter().enumerate() {
                let place = query::TypePlace::Column(at + 1);
                let declared = declared_type(&column.data_type, place, self.types_in)
                    .map_err(|error| error.at_line(self.line))?;
                self.uses_alias_types |= declared.alias_id != 0;
                let nullable = column.nullable.or(declared.nullable).unwrap_or(true);
                let (name, sql_type) = (column.name.value.clone(), declared.sql_type);
                wanted.push(WantedColumn { name, sql_type, nullable });
            }
            sets.push(wanted);
        }
        Ok(Some(sets))
    }
}

/// `@v op= value` as the expression that gives the variable's new value.
fn compound(variable: &str, op: ast::AssignOp, value: &ast::Expr) -> ast::Expr {
    let operator = match op {
        ast::AssignOp::Set => return value.clone(),
        ast::AssignOp::Add => ast::BinaryOp::Add,
        ast::AssignOp::Subtract => ast::BinaryOp::Subtract,
        ast::AssignOp::Multiply => ast::BinaryOp::Multiply,
        ast::AssignOp::Divide => ast::BinaryOp::Divide,
        ast::AssignOp::Modulo => ast::BinaryOp::Modulo,
        ast::AssignOp::BitAnd => ast::BinaryOp::BitAnd,
        ast::AssignOp::BitOr => ast::BinaryOp::BitOr,
        ast::AssignOp::BitXor => ast::BinaryOp::BitXor,
        ast::AssignOp::Concat => ast::BinaryOp::Concat,
    };
    let first = ast::Expr { span: value.span, kind: ExprKind::Variable(variable.to_string()) };
    let chain = ast::Arithmetic { first, rest: vec![(operator, value.clone())] };
    ast::Expr { span: value.span, kind: ExprKind::Arithmetic(Box::new(chain)) }
}

fn refused(name: &str) -> InstructionKind {
    InstructionKind::Refuse(not_supported(name))
}

/// Definitions, databases and administration.
fn administration(statement: &ast::Statement, kind: &StatementKind) -> InstructionKind {
    match kind {
        StatementKind::BulkInsert(insert) => InstructionKind::BulkInsert(insert.clone()),
        StatementKind::InsertBulk(insert) => InstructionKind::InsertBulk(insert.clone()),
        StatementKind::CreateDatabase(create) => InstructionKind::CreateDatabase(create.clone()),
        StatementKind::AlterDatabase(alter) => InstructionKind::AlterDatabase(alter.clone()),
        StatementKind::AlterDatabaseScopedConfiguration(alter) => {
            InstructionKind::ScopedConfiguration(alter.clone())
        }
        StatementKind::DropDatabase(drop) => InstructionKind::DropDatabase(drop.clone()),
        StatementKind::Checkpoint(_) => InstructionKind::Checkpoint,
        StatementKind::Kill(kill) => InstructionKind::Kill(kill.clone()),
        StatementKind::Dbcc(dbcc) => InstructionKind::Dbcc(dbcc.clone()),
        StatementKind::Reconfigure { with_override } => {
            InstructionKind::Reconfigure { with_override: *with_override }
        }
        StatementKind::CreateTable(_)
        | StatementKind::AlterTable(_)
        | StatementKind::CreateIndex(_)
        | StatementKind::AlterIndex(_)
        | StatementKind::DropIndex(_)
        | StatementKind::CreateStatistics(_)
        | StatementKind::UpdateStatistics(_)
        | StatementKind::DropStatistics(_)
        | StatementKind::Drop(_)
        | StatementKind::CreateView(_)
        | StatementKind::CreateProcedure(_)
        | StatementKind::CreateTrigger(_)
        | StatementKind::EnableTrigger(_)
        | StatementKind::CreateSchema(_)
        | StatementKind::AlterSchema(_)
        | StatementKind::CreateSequence(_)
        | StatementKind::AlterSequence(_)
        | StatementKind::CreateSynonym(_)
        | StatementKind::CreateType(_) => InstructionKind::Definition(Box::new(statement.clone())),
        StatementKind::CreateFunction(function) => match function.returns {
            ast::FunctionReturns::ClrTable(_) => refused("A CLR function"),
            _ => InstructionKind::Definition(Box::new(statement.clone())),
        },
        other => refused(&kind_name(other)),
    }
}
