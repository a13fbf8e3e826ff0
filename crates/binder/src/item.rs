//! The items of a select list.

use plan_ir::bound::tree::{Expr, Rel};

/// One item of a select list.
pub struct Item {
    /// Its name; empty when it has none.
    pub name: String,
    /// Its expression.
    pub expr: Expr,
    /// It is an identity column of a base table.
    pub identity: bool,
    /// It is a column of a base table.
    pub base: bool,
    /// The variable that it is assigned to.
    pub variable: Option<usize>,
    /// The table of the block it is a column of: position, name. Known in queries with FOR XML and FOR JSON alone.
    pub table: Option<(usize, String)>,
}

/// A SELECT block before its projection: rows in their final order and number, and the expressions over them.
pub struct SelectParts {
    /// The rows.
    pub rel: Rel,
    /// The expressions.
    pub items: Vec<Item>,
}
