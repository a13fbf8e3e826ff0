//! Cells: the parts of a program that need name resolution. A cell is bound at its first use. Here: its source and its bound form.

use query::{CompiledStatement, ScalarProgram};
use tsql::ast;

/// Limit of compilations of a statement whose objects keep changing.
pub(crate) const STALE_PLANS_MAX: usize = 16;

/// Index of a cell.
pub(crate) type Cell = usize;

/// The unbound source of a cell.
pub(crate) enum CellSource {
    Statement(Box<ast::Statement>),
    Scalar(Box<ast::Expr>),
    /// A scalar in which NEXT VALUE FOR is refused with this error number.
    WithoutNextValue(Box<ast::Expr>, i32),
    /// A scalar converted to the type of a variable.
    Assignment(Box<ast::Expr>, usize),
    Predicate(Box<ast::Expr>),
}

/// The bound content of a cell.
#[allow(clippy::large_enum_variant, reason = "always behind an Arc")]
pub(crate) enum Compiled {
    Statement(CompiledStatement),
    Scalar(ScalarProgram),
}

impl Compiled {
    pub(crate) fn is_valid(&self, from: query::NameScope<'_>) -> bool {
        match self {
            Compiled::Statement(statement) => statement.is_valid(from),
            Compiled::Scalar(program) => program.is_valid(from),
        }
    }

    pub(crate) fn is_current(&self) -> bool {
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
