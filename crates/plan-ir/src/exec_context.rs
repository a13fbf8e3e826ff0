//! The execution context of a statement.

use std::sync::Arc;

use engine::{Database, Instance, TransactionSet};
use types::Value;

use crate::context::{FunctionRunner, RunningTrigger, SessionNames, SessionState, SetOptions};
use crate::front_end::FrontEnd;

/// Everything a running statement touches.
pub struct ExecContext<'a> {
    /// The instance.
    pub instance: &'a Arc<Instance>,
    /// The current database.
    pub database: &'a Arc<Database>,
    /// Values of the variables, by slot.
    pub variables: &'a mut [Value],
    /// The session's transaction over one or more databases.
    pub transactions: &'a mut TransactionSet,
    /// The session that runs it.
    pub state: &'a dyn SessionState,
    /// Runs the bodies of functions.
    pub functions: &'a dyn FunctionRunner,
    /// SET options now in force.
    pub options: &'a SetOptions,
    /// Temporary tables of the session.
    pub names: &'a dyn SessionNames,
    /// The binder and planner, for views.
    pub front_end: FrontEnd,
    /// The trigger in whose body it runs.
    pub trigger: Option<&'a RunningTrigger>,
}
