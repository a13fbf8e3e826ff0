//! `session`: the T-SQL interpreter. It takes batches and remote procedure calls as text and values and sends rows, messages and row
//! counts to a [`ResultSink`]. It implements variables, control flow, named and nested transactions, error handling (TRY...CATCH) and
//! procedures. It does not know the wire protocol, threads or pages.
//!
//! Entry points: [`SessionShared`] (one per server), [`Session::new`], [`Session::execute_batch`], [`Session::execute_rpc`],
//! [`Session::transaction_request`], [`Session::reset`], [`Session::close`]. Attention, KILL and shutdown stop a request by interrupting
//! the task that runs it (`os::task`).

mod admin;
mod ahead;
mod atomic;
mod atomic_settings;
mod bound_ahead;
mod cache;
mod call;
mod cell;
mod client_calls;
mod commit_site;
mod compile;
mod compile_only;
mod compile_only_state;
mod dbcc_check;
mod dbcc_log;
mod dbcc_statistics;
mod done_command;
pub mod errors;
mod evaluate;
mod execute;
mod failure;
mod figures;
mod forward;
mod frame;
mod identity;
mod instruction;
mod interruption;
mod module;
mod names;
mod native;
mod objects;
mod option_values;
mod parameters;
mod pending_commit;
mod persisted_buffer;
mod plain;
mod prepared;
mod prepared_handles;
mod procs;
mod program;
mod program_key;
mod queries;
mod query_store;
mod query_store_options;
mod query_store_runs;
mod raise;
mod refusal;
mod registry;
mod request;
mod result_sets;
mod rpc;
mod run;
mod scope;
mod session;
mod session_context;
mod set;
mod set_statistics;
mod showplan_rows;
mod shrink;
mod single_user;
mod sink;
mod state;
mod statement_statistics;
mod statistics;
mod system_procedures;
mod temporary;
mod texts;
mod ticket;
mod tran;
mod user_options;
mod values;

pub use engine::Acknowledgement;
pub use figures::PacketCounts;
pub use interruption::RequestEnd;
pub use registry::{FIRST_USER_SESSION_ID, SESSIONS_MAX, SessionRegistry};
pub use rpc::{RequestedIsolation, RpcCall, RpcParameter, RpcTarget, TransactionRequest, procedure_name};
pub use session::{Session, SessionShared};
pub use sink::{ColumnDescription, Done, DoneKind, EnvironmentChange, Flow, NullSink, ResultSink};
pub use state::LoginInfo;

/// Size limit of the shared program cache, in bytes.
pub const PROGRAM_CACHE_BYTES_MAX: u64 = cache::CACHE_BYTES_MAX as u64;
