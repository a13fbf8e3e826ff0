//! A batch as a program: the syntax tree compiled to instructions, cached programs, and the frame of one that runs.

pub(crate) mod ahead;
pub(crate) mod atomic_settings;
pub(crate) mod cache;
pub(crate) mod call;
pub(crate) mod cell;
pub(crate) mod commit_site;
pub(crate) mod compile;
pub(crate) mod cursor;
pub(crate) mod cursor_steps;
pub(crate) mod frame;
pub(crate) mod instruction;
pub(crate) mod parameters;
pub(crate) mod program;
pub(crate) mod program_key;
pub(crate) mod statement_statistics;
pub(crate) mod statistics;
pub(crate) mod table_names;
