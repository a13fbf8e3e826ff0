//! [`Argument`]: an argument of a user's function; among them a table variable, for which the parameter stands in the body.

use std::sync::Arc;

use plan_ir::bound::tree::Expr;
use plan_ir::context::FunctionColumn;
use tsql::ast;
use types::{SqlType, Value};

/// An argument of a call.
pub enum Argument {
    /// The word DEFAULT.
    Default,
    /// A value.
    Value(Expr),
    /// A table variable.
    Table(PassedTable),
    /// A variable of which nothing is known yet: a table variable of a text that is bound ahead is one.
    Unknown(ast::Expr),
}

/// A table variable as an argument.
#[derive(Clone)]
pub struct PassedTable {
    /// As the call names it.
    pub(super) written: String,
    /// Its name in tempdb.
    pub(super) real_name: String,
    /// Its table type, if it was declared with one.
    pub(super) table_type: Option<TableTypeName>,
}

/// A table type: the number of its database and of its object there, and its name.
pub type TableTypeName = ((u16, i32), Arc<str>);

/// What a table-valued parameter of an inlined function stands for.
#[derive(Clone)]
pub(crate) enum ParameterTable {
    /// A table variable of the caller.
    Passed(PassedTable),
    /// A table without rows.
    Empty(Arc<[FunctionColumn]>),
}

impl ParameterTable {
    /// The argument of a call whose body runs by itself: the name of the table in tempdb; blank for one without rows.
    pub(super) fn as_value(&self) -> Expr {
        let name = match self {
            ParameterTable::Passed(table) => table.real_name.as_str(),
            ParameterTable::Empty(_) => "",
        };
        Expr::constant(Value::NChar(name.encode_utf16().collect::<Vec<u16>>().into()), SqlType::SysName)
    }
}
