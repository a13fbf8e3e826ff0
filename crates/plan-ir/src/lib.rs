//! The data that the query crates exchange: the bound tree and the physical plan, the state of a running statement, and the session state
//! that a statement needs ([`context`]).
#![allow(missing_docs, reason = "the parts of the trees say by their names what they are")]

pub mod bound;
pub mod built_ins;
pub mod bulk_rules;
pub mod context;
pub mod data_type;
pub mod ddl_events;
pub mod errors;
pub mod exec_context;
pub mod foreign_key;
pub mod front_end;
pub mod function_def;
pub mod hashes;
pub mod kinds;
pub mod measure;
pub mod missing;
pub mod names;
pub mod optimizer_rules;
pub mod physical;
pub mod plan_dependencies;
pub mod profile;
pub mod query_store;
pub mod random_numbers;
pub mod row;
pub mod row_source;
pub mod rows_format;
pub mod runtime;
pub mod stored;
pub mod synonym;
pub mod table;
pub mod undeclared;
pub mod values;
pub mod view;
pub mod view_shape;
pub mod workspace;
pub mod zones;
