//! `session`: T-SQL as a conversation. Batches and remote calls come in as text and values; rows, messages and counts go out to a
//! [`ResultSink`]. Knows variables, control flow, transactions by name and count, errors and who catches them, procedures; does
//! not know the wire, threads or pages.
//!
//! The doors: [`SessionShared`] (one a server), [`Session::new`], [`Session::execute_batch`], [`Session::execute_rpc`],
//! [`Session::transaction_request`], [`Session::reset`], [`Session::close`]. A request is stopped by interrupting the task that runs it
//! (`os::task`), which is what attention, KILL and shutdown do.

mod admin;
mod atomic;
mod cache;
mod compile;
mod dbcc_check;
mod dbcc_log;
mod dbcc_statistics;
mod done_command;
pub mod errors;
mod execute;
mod facts;
mod figures;
mod forward;
mod identity;
mod names;
mod native;
mod objects;
mod pending;
mod persisted_buffer;
mod plain;
mod prepared;
mod procs;
mod program;
mod query_store;
mod query_store_options;
mod raise;
mod registry;
mod rpc;
mod run;
mod session;
mod session_context;
mod set;
mod set_statistics;
mod shrink;
mod single_user;
mod sink;
mod statistics;
mod survey;
mod ticket;
mod tran;
mod values;

pub use engine::Acknowledgement;
pub use facts::LoginInfo;
pub use figures::PacketCounts;
pub use registry::{FIRST_USER_SESSION_ID, SessionRegistry};
pub use rpc::{RequestedIsolation, RpcCall, RpcParameter, RpcTarget, TransactionRequest, procedure_name};
pub use session::{RequestEnd, Session, SessionShared};
pub use sink::{ColumnDescription, Done, DoneKind, EnvironmentChange, Flow, NullSink, ResultSink};

/// A syntax error as the message a client gets.
/// How much the programs kept for all sessions take at most, in bytes.
pub const PROGRAM_CACHE_BYTES_MAX: u64 = cache::CACHE_BYTES_MAX as u64;

pub(crate) fn syntax_error(error: tsql::SyntaxError) -> types::SqlError {
    let message = error.message();
    let mut sql_error = types::SqlError::custom(error.number, error.severity, error.state, message);
    sql_error.line = error.line;
    sql_error
}
