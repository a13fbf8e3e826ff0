//! Natively compiled procedures: which statements may stand in them, and which objects they may name.
//!
//! They run the same plans as other procedures. CREATE refuses what SQL Server refuses in them, under its error numbers (its list of
//! constructs that are "not supported by In-Memory OLTP", and its catalogue of messages): 10794 for statements and options, 12305 and above for
//! some features. One exception: tables on disk are allowed, which SQL Server refuses with 10775, because there are no others.

use engine::{Lookup, ObjectDef};
use query::BindContext;
use tsql::ast::{self, ModuleOption, StatementKind};
use types::{SqlError, SqlResult};

use crate::batch::cell::CellSource;
use crate::batch::instruction::{ExecuteTarget, InstructionKind};
use crate::batch::program::Program;
use crate::refusal::{kind_name, unsupported_in_native};
use crate::session::Session;

/// The atomic block that is the body of a natively compiled procedure; `None` for other procedures. Errors 10783, 10796, 12321.
pub(crate) fn block_of(procedure: &ast::CreateProcedure) -> SqlResult<Option<&ast::AtomicBlock>> {
    let is_native = procedure.options.contains(&ModuleOption::NativeCompilation);
    if is_native != procedure.options.contains(&ModuleOption::SchemaBinding) {
        return Err(SqlError::new(10796, &[]));
    }
    if !is_native {
        return Ok(None);
    }
    if procedure.name.name.value.starts_with('#') {
        return Err(SqlError::new(12321, &[]));
    }
    match &procedure.body {
        ast::ModuleBody::Statements(body) => match body.as_slice() {
            [ast::Statement { kind: StatementKind::AtomicBlock(block), .. }] => Ok(Some(block)),
            _ => Err(SqlError::new(10783, &[])),
        },
        ast::ModuleBody::External(_) => Err(SqlError::new(10783, &[])),
    }
}

/// Checks that the atomic block holds only queries and row changes, variables, IF, WHILE, TRY, THROW, RETURN and EXECUTE.
pub(crate) fn check_statements(body: &[ast::Statement], text: &str) -> SqlResult<()> {
    body.iter().try_for_each(|statement| {
        check_statement(statement, text).map_err(|error| error.at_line(statement.span.line))
    })
}

fn check_statement(statement: &ast::Statement, text: &str) -> SqlResult<()> {
    use StatementKind as Kind;
    let refused = |name: &str| Err(unsupported_in_native("statement", name));
    match &statement.kind {
        Kind::Block(body) => check_statements(body, text),
        Kind::If(branching) => {
            let bodies = branching.branches.iter().map(|(_, body)| body).chain(&branching.otherwise);
            bodies.into_iter().try_for_each(|body| check_statements(std::slice::from_ref(body), text))
        }
        Kind::While(repetition) => check_statements(std::slice::from_ref(&repetition.body), text),
        Kind::TryCatch(guarded) => {
            check_statements(&guarded.body, text)?;
            check_statements(&guarded.catch, text)
        }
        Kind::Select(select) if query::is_select_into(select) => Err(unsupported_in_native("clause", "INTO")),
        Kind::Insert(insert) if matches!(insert.source, ast::InsertSource::Execute(_)) => {
            refused("INSERT EXECUTE")
        }
        Kind::Select(_) | Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) => Ok(()),
        Kind::Return(_) | Kind::Throw(_) => Ok(()),
        Kind::Declare(declarations) => declarations.iter().try_for_each(check_declaration),
        Kind::SetVariable(assignment) => match assignment.as_ref() {
            ast::SetVariable::Cursor { .. } => Err(SqlError::new(12306, &[])),
            _ => Ok(()),
        },
        Kind::Execute(execute) => match &execute.target {
            ast::ExecuteTarget::Procedure(..) => Ok(()),
            ast::ExecuteTarget::Variable(..) | ast::ExecuteTarget::Text { .. } => {
                Err(SqlError::new(12340, &[]))
            }
        },
        Kind::DeclareTable(_) => Err(SqlError::new(12305, &[])),
        Kind::SaveTransaction(_) => Err(SqlError::new(12326, &[])),
        Kind::DeclareCursor(_)
        | Kind::OpenCursor(_)
        | Kind::Fetch(_)
        | Kind::CloseCursor(_)
        | Kind::DeallocateCursor(_) => Err(SqlError::new(12306, &[])),
        Kind::Set(_) => {
            let option = statement.span.slice(text).split_whitespace().nth(1).unwrap_or_default();
            Err(unsupported_in_native("SET option", &option.to_uppercase()))
        }
        Kind::Goto(_) | Kind::Label(_) => refused("GOTO"),
        Kind::Commit(_) => refused("COMMIT TRANSACTION"),
        Kind::Rollback(_) => refused("ROLLBACK TRANSACTION"),
        Kind::RaisError(_) => refused("RAISERROR"),
        other => refused(&kind_name(other)),
    }
}

fn check_declaration(declaration: &ast::VariableDeclaration) -> SqlResult<()> {
    if declaration.data_type.name.name.is("cursor") {
        return Err(SqlError::new(12306, &[]));
    }
    if declaration.nullable == Some(false) && declaration.initial.is_none() {
        return Err(SqlError::new(10795, &[&declaration.name]));
    }
    Ok(())
}

impl Session {
    /// Every object that a natively compiled procedure names must exist when it is created, with a two-part name, and cannot be dropped later.
    /// Errors 208, 1054, 2812, 4512, 10775 (views and functions), 12322, 12342.
    pub(crate) fn check_native(&self, procedure: &ast::CreateProcedure, program: &Program) -> SqlResult<()> {
        let name = &procedure.name.name.value;
        if query::ddl::takes_all_columns(&program.text, self.options.quoted_identifier) {
            return Err(SqlError::new(1054, &[&"*"]));
        }
        let two_parts = |written: &ast::ObjectName| {
            let is_bound = written.schema.is_some() && written.database.is_none() && written.server.is_none();
            let refused = || SqlError::new(4512, &[&"procedure", name, &written.name.value]);
            if is_bound { Ok(()) } else { Err(refused()) }
        };
        for (cell, visible, line) in program.cells_before_use() {
            for (written, object) in self.named_in(program, cell, visible).map_err(|e| e.at_line(line))? {
                if written.name.value.starts_with('#') {
                    return Err(SqlError::new(12322, &[]).at_line(line));
                }
                two_parts(&written).map_err(|e| e.at_line(line))?;
                if matches!(object, ObjectDef::Module(_)) {
                    return Err(SqlError::new(10775, &[&written.name.value]).at_line(line));
                }
            }
        }
        for instruction in &program.instructions {
            let InstructionKind::Execute(execute) = &instruction.kind else { continue };
            let ExecuteTarget::Procedure(written) = &execute.target else { continue };
            let called = self.called(program, written)?;
            let found =
                crate::objects::find_procedure(&self.transactions, &self.names, &self.database, &called)?;
            let wrong = match found {
                None => Some(SqlError::new(2812, &[&written.name.value])),
                Some(found) if !found.is_native => Some(SqlError::new(12342, &[])),
                Some(_) => two_parts(written).err(),
            };
            if let Some(error) = wrong {
                return Err(error.at_line(instruction.line));
            }
        }
        Ok(())
    }

    /// The objects that the text of a cell names.
    pub(crate) fn named_in(
        &self,
        program: &Program,
        cell: usize,
        visible: usize,
    ) -> SqlResult<Vec<(ast::ObjectName, ObjectDef)>> {
        let lookup = Lookup::new(&self.transactions);
        let context = BindContext { lookup, ..self.bind_context(program, visible) };
        match &program.sources[cell] {
            CellSource::Statement(statement) => query::objects_named_in(statement, &context),
            CellSource::Scalar(expression)
            | CellSource::WithoutNextValue(expression, _)
            | CellSource::Assignment(expression, _) => {
                query::objects_named_in_expression(expression, false, &context)
            }
            CellSource::Predicate(expression) => {
                query::objects_named_in_expression(expression, true, &context)
            }
        }
    }
}
