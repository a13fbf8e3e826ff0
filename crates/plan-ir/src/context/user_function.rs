//! [`UserFunction`]: a function that a user has created, as an expression or a table source of a statement names it; and a call of it.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use engine::{Database, Instance, ModuleDef, TransactionSet};
use types::{Collation, SqlError, SqlType, Value};

use super::options::SetOptions;
use super::trigger::TriggerTable;

/// A function of a database, its signature resolved.
pub struct UserFunction {
    /// The database of the function, in which its body resolves names.
    pub database: Arc<Database>,
    /// Its definition in the catalog.
    pub module: Arc<ModuleDef>,
    /// The types of its parameters.
    pub parameters: Vec<SqlType>,
    /// WITH RETURNS NULL ON NULL INPUT: a NULL argument makes the result NULL, and the body does not run.
    pub is_strict: bool,
    /// Its value depends on its arguments alone, and its text cannot change under what uses it (WITH SCHEMABINDING).
    pub is_deterministic: bool,
    /// The columns of the table that it returns; none of a scalar function.
    pub columns: Vec<FunctionColumn>,
    /// Its program, once it has been called; only `session` knows its form.
    pub program: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// It stands for a table of the running trigger, which is its module.
    pub trigger_table: Option<TriggerTable>,
}

/// A column of the table that a function returns.
#[derive(Clone, Debug)]
pub struct FunctionColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// May it be NULL?
    pub nullable: bool,
    /// Its collation.
    pub collation: Collation,
}

impl std::fmt::Debug for UserFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.module.schema, self.module.name)
    }
}

impl UserFunction {
    /// Does the catalog entry mean the same function?
    pub fn is_same(&self, other: &UserFunction) -> bool {
        self.module.object_id == other.module.object_id && self.database.id() == other.database.id()
    }
}

/// A call by a running statement, which lends its transactions.
pub struct FunctionCall<'a> {
    /// What is called.
    pub function: &'a UserFunction,
    /// A value of its type for each parameter.
    pub arguments: Vec<Value>,
    /// The instance.
    pub instance: &'a Arc<Instance>,
    /// SET options of the caller.
    pub options: &'a SetOptions,
    /// The transactions in which the body reads.
    pub transactions: &'a mut TransactionSet,
}

/// Runs the bodies of functions; `session` implements it.
pub trait FunctionRunner {
    /// Runs a scalar function.
    fn call_function(&self, call: FunctionCall<'_>) -> Result<Value, SqlError>;
    /// Runs a multi-statement table-valued function, and returns the rows of its table.
    fn call_table_function(&self, call: FunctionCall<'_>) -> Result<Vec<Vec<Value>>, SqlError>;
}

/// Runs none: tests, constant folding.
pub struct NoFunctions;

impl FunctionRunner for NoFunctions {
    fn call_function(&self, _call: FunctionCall<'_>) -> Result<Value, SqlError> {
        Err(crate::errors::unsupported("a user-defined function here"))
    }
    fn call_table_function(&self, _call: FunctionCall<'_>) -> Result<Vec<Vec<Value>>, SqlError> {
        Err(crate::errors::unsupported("a user-defined function here"))
    }
}
