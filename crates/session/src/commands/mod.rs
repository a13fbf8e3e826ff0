//! Commands of administrators: DBCC, ALTER DATABASE and what else changes the server or a database as a whole.

pub(crate) mod admin;
pub(crate) mod dbcc_check;
pub(crate) mod dbcc_log;
pub(crate) mod dbcc_statistics;
pub(crate) mod identity;
pub(crate) mod persisted_buffer;
pub(crate) mod query_store_options;
pub(crate) mod set_statistics;
pub(crate) mod shrink;
pub(crate) mod single_user;
