//! Binds, plans and runs one statement; serves the system views.
//!
//! The doors: [`compile`] gives a [`CompiledStatement`] that [`executes`](CompiledStatement::execute) any number of times;
//! [`compile_scalar`] and [`compile_predicate`] give a [`ScalarProgram`] for SET, IF and WHILE; [`ddl`] turns CREATE, ALTER and DROP
//! into catalog calls. What a statement needs of its session is in [`context`].

pub(crate) mod answers;
pub mod bind;
pub(crate) mod bound;
pub(crate) mod built_ins;
pub mod clauses;
pub mod context;
mod data_type;
pub mod ddl;
pub mod describe;
pub mod errors;
pub(crate) mod exec;
mod exec_context;
pub(crate) mod foreign_key;
mod front_end;
pub(crate) mod function_def;
pub(crate) mod functions;
pub(crate) mod hashes;
mod kinds;
mod measure;
pub(crate) mod names;
mod optimizer_rules;
pub(crate) mod permission_classes;
pub(crate) mod physical;
pub(crate) mod plan;
pub(crate) mod principals;
mod profile;
pub mod query_store;
mod random_numbers;
pub(crate) mod references;
pub(crate) mod registry;
mod row;
pub(crate) mod row_source;
pub(crate) mod runtime;
pub mod scripts;
pub mod showplan;
mod statement;
pub mod stored;
pub mod sysviews;
pub(crate) mod table;
mod undeclared;
pub(crate) mod values;
pub mod view;
pub(crate) mod view_shape;
pub(crate) mod workspace;
pub(crate) mod zones;

pub use context::{
    BindContext, CachedPlan, CachedPlanKind, CachedStatement, ColumnDescription, Flow, InputBuffer, NoNames,
    ProgramRuns, RowSink, ServerTotals, SessionFacts, SessionFigures, SessionNames, SessionRow, SetOptions,
    ShowplanForm, Standpoint, StatementOutcome, SystemProcedure, VariableDef,
};
pub use data_type::{Declared, TypePlace, declared as resolve_type, declared_in as resolve_type_in};
pub use describe::FRONT_END;
pub use errors::is_cancelled;
pub use exec_context::ExecContext;
pub use front_end::FrontEnd;
pub use hashes::query_hash;
pub use measure::{Measure, MemoryUse};
pub use optimizer_rules::OptimizerRule;
pub use profile::{Actual, Profile};
pub use random_numbers::RandomNumbers;
pub use registry::function_names;
pub use statement::{
    CompiledStatement, InsertRows, ScalarProgram, compile, compile_insert_rows, compile_predicate,
    compile_scalar, is_select_into, objects_named_in, objects_named_in_expression,
};
pub use undeclared::{Undeclared, UndeclaredParameters};
pub use values::convert_context;
