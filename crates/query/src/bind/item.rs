//! The items of a select list.

use plan_ir::bound::tree::{Expr, Rel};

/// One item of a select list.
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) expr: Expr,
    pub(crate) identity: bool,
    pub(crate) base: bool,
    /// The variable that it is assigned to.
    pub(crate) variable: Option<usize>,
}

/// A SELECT block before its projection: rows in their final order and number, and the expressions over them.
pub(crate) struct SelectParts {
    pub(crate) rel: Rel,
    pub(crate) items: Vec<Item>,
}
