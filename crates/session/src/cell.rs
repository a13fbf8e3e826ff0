//! What of a program needs names bound sits in cells, which are filled when first needed: their sources, and what they are bound to.

use query::{CompiledStatement, ScalarProgram};
use tsql::ast;

/// Index of a cell.
pub(crate) type Cell = usize;

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
