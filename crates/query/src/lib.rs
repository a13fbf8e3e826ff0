//! Binds, plans and runs one statement; serves the system views.
//!
//! Entry points: [`compile`] gives a [`CompiledStatement`] that [`executes`](CompiledStatement::execute) any number of times;
//! [`compile_scalar`] and [`compile_predicate`] give a [`ScalarProgram`] for SET, IF and WHILE; [`ddl`] turns CREATE, ALTER and DROP
//! into catalog calls. What a statement needs of its session is in [`context`].

mod bulk;
mod bulk_file;
pub mod cursors;
pub mod ddl;
pub mod describe;
mod ranged_plans;
pub(crate) mod references;
pub(crate) mod registry;
pub mod scripts;
pub mod showplan;
mod statement;

pub use ::sysviews;
pub use binder::clauses;
pub use bulk::{BulkLoad, BulkRows, bulk_rules, compile_bulk_load};
pub use bulk_file::{FileOptions, FileRows, file_options, literal_text, open_bulk_file};
pub use describe::FRONT_END;
pub use plan_ir::bulk_rules::BulkRules;
pub use plan_ir::context::{
    BindContext, CachedPlan, CachedPlanKind, CachedStatement, ColumnDescription, CursorRow, Flow,
    FunctionCall, InputBuffer, NameScope, NoNames, ProgramRuns, RowSink, ServerTotals, SessionFigures,
    SessionNames, SessionRow, SessionState, SetOptions, ShowplanForm, StatementOutcome, SystemProcedure,
    VariableDef,
};
pub use plan_ir::data_type::{
    Declared, TypePlace, declared as resolve_type, declared_in as resolve_type_in, table_type_in,
};
pub use plan_ir::errors::is_cancelled;
pub use plan_ir::exec_context::ExecContext;
pub use plan_ir::front_end::FrontEnd;
pub use plan_ir::hashes::query_hash;
pub use plan_ir::measure::{Measure, MemoryUse};
pub use plan_ir::missing::{Missing, MissingSlot};
pub use plan_ir::optimizer_rules::OptimizerRule;
pub use plan_ir::profile::{Actual, Profile};
pub use plan_ir::random_numbers::RandomNumbers;
pub use plan_ir::undeclared::{Undeclared, UndeclaredParameters};
pub use plan_ir::values::convert_context;
pub use plan_ir::{context, ddl_events, errors, query_store, stored, synonym, view};
pub use registry::function_names;
pub use statement::{
    CompiledStatement, InsertRows, ScalarProgram, Widths, compile, compile_for, compile_insert_rows,
    compile_predicate, compile_scalar, is_select_into, objects_named_in, objects_named_in_expression,
};
