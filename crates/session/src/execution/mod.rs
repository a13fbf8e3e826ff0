//! Execution of batches, procedures and their statements, up to the commit.

pub(crate) mod atomic;
pub(crate) mod bound_ahead;
pub(crate) mod compile_only;
pub(crate) mod cursor_current;
pub(crate) mod cursor_fetch;
pub(crate) mod cursors;
pub(crate) mod evaluate;
pub(crate) mod execute;
pub(crate) mod failure;
pub(crate) mod function;
pub(crate) mod function_checks;
pub(crate) mod function_program;
pub(crate) mod function_state;
pub(crate) mod module;
pub(crate) mod native;
pub(crate) mod pending_commit;
pub(crate) mod plain;
pub(crate) mod queries;
pub(crate) mod query_store_runs;
pub(crate) mod raise;
pub(crate) mod run;
pub(crate) mod scope;
pub(crate) mod set;
pub(crate) mod texts;
pub(crate) mod ticket;
pub(crate) mod tran;
