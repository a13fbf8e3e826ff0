//! The context in which views bind the texts of modules again.

use std::sync::Arc;

use engine::{Database, Lookup};
use plan_ir::context::BindContext;
use plan_ir::runtime::Runtime;

/// The settings of the statement, without variables.
pub(super) fn context_of<'a>(
    runtime: &'a Runtime<'_>,
    database: &'a Arc<Database>,
    lookup: Lookup<'a>,
) -> BindContext<'a> {
    BindContext {
        instance: runtime.instance,
        database,
        default_schema: "dbo",
        variables: &[],
        options: runtime.options,
        names: runtime.names,
        lookup,
        undeclared: None,
        missing: None,
        in_function: false,
        trigger: None,
    }
}
