//! Functions that tell of the server, the session and the catalog: one table a file, name -> arity, argument rule, result rule, evaluator.
//!
//! To add a function: write `fn name(call: &Call<'_, '_>) -> Result<Value, SqlError>` in the family's file and one line in its table.

mod globals;
mod metadata;
mod permissions;
mod principals;
mod properties;
mod system;

use plan_ir::function_def::FunctionDef;

/// All of them, a table a family.
pub static TABLES: &[&[FunctionDef]] = &[
    metadata::TABLE,
    permissions::TABLE,
    properties::TABLE,
    principals::TABLE,
    system::TABLE,
    globals::TABLE,
];
