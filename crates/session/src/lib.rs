//! `session`: the T-SQL interpreter. It takes batches and remote procedure calls as text and values and sends rows, messages and row
//! counts to a [`ResultSink`]. It implements variables, control flow, named and nested transactions, error handling (TRY...CATCH) and
//! procedures. It does not know the wire protocol, threads or pages.
//!
//! Entry points: [`SessionShared`] (one per server), [`Session::new`], [`Session::execute_batch`], [`Session::execute_rpc`],
//! [`Session::transaction_request`], [`Session::reset`], [`Session::close`]. Attention, KILL and shutdown stop a request by interrupting
//! the task that runs it (`os::task`).

mod batch;
mod bulk;
mod client_calls;
mod commands;
mod compile_only_state;
mod cursors;
mod done_command;
pub mod errors;
mod execution;
mod fetch_buffer;
mod figures;
mod forward;
mod interruption;
mod names;
mod objects;
mod option_values;
mod prepared;
mod prepared_handles;
mod procs;
mod query_store;
mod refusal;
mod registry;
mod request;
mod result_sets;
mod rpc;
mod session;
mod session_context;
mod showplan_rows;
mod sink;
mod state;
mod system_procedures;
mod table_types;
mod temporary;
mod user_options;
mod values;
mod xml_documents;

pub use bulk::BulkSource;
pub use engine::Acknowledgement;
pub use figures::PacketCounts;
pub use interruption::RequestEnd;
pub use query::BulkRows;
pub use registry::{FIRST_USER_SESSION_ID, SESSIONS_MAX, SessionRegistry};
pub use rpc::{
    RequestedIsolation, RpcCall, RpcParameter, RpcTarget, SentTable, TransactionRequest, procedure_name,
};
pub use session::{Session, SessionShared};
pub use sink::{
    ColumnDescription, ColumnOrigin, Done, DoneKind, EnvironmentChange, Flow, NullSink, ResultSink,
};
pub use state::LoginInfo;

/// Size limit of the shared program cache, in bytes.
pub const PROGRAM_CACHE_BYTES_MAX: u64 = batch::cache::CACHE_BYTES_MAX as u64;
