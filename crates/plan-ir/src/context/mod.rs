//! The context of binding and of execution: the whole contract with `session`.

mod names;
mod options;
mod session_facts;
mod sink;
mod trigger;
mod user_function;

use std::sync::Arc;

use engine::{Database, Instance, Lookup};
use types::SqlType;

pub use names::{NameScope, NoNames, SessionNames};
pub use options::{SetOptions, ShowplanForm};
pub use session_facts::{
    CachedPlan, CachedPlanKind, CachedStatement, CursorRow, InputBuffer, PreparedXml, ProgramRuns,
    ServerTotals, SessionFigures, SessionRow, SessionState, SystemProcedure,
};
pub use sink::{ColumnDescription, Flow, RowSink, StatementOutcome};
pub use trigger::{EventTriggers, Fired, RunningTrigger, TriggerScope, TriggerTable};
pub use user_function::{FunctionCall, FunctionColumn, FunctionRunner, NoFunctions, UserFunction};

/// One declared variable or parameter; its slot is its position in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableDef {
    /// Name with the leading `@`.
    pub name: String,
    /// Declared type; values stored in the slot are already of this type.
    pub sql_type: SqlType,
}

/// Name resolution and session state while a statement is bound.
pub struct BindContext<'a> {
    /// The instance, for three-part names.
    pub instance: &'a Arc<Instance>,
    /// The current database.
    pub database: &'a Arc<Database>,
    /// Schema of one-part names, `dbo` unless the user has another.
    pub default_schema: &'a str,
    /// Variables in scope; the index is the slot.
    pub variables: &'a [VariableDef],
    /// SET options now in force.
    pub options: &'a SetOptions,
    /// Temporary tables of the session.
    pub names: &'a dyn SessionNames,
    /// Names of the catalogs, as far as they are settled.
    pub lookup: Lookup<'a>,
    /// Gathers undeclared variables; `None`: they are errors (137).
    pub undeclared: Option<&'a crate::undeclared::UndeclaredParameters>,
    /// Where the reason is stored when a statement cannot be bound; `None`: the reason is not wanted.
    pub missing: Option<&'a crate::missing::MissingSlot>,
    /// The statement is in the body of a function: what has side effects is refused (443).
    pub in_function: bool,
    /// The statement is in the body of this trigger: it sees the tables `inserted` and `deleted`.
    pub trigger: Option<TriggerScope<'a>>,
}
