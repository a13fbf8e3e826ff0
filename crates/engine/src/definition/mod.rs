//! Changes of definitions by CREATE, ALTER, DROP and related statements: the rows of the system tables and the catalog's cache change together, in a
//! transaction and under Sch-M on the changed object.

mod ddl;
mod entries;
mod fill;
mod foreign_keys;
mod index_state;
mod modules;
mod new;
mod rename;
mod restructure;
mod sequences;
mod shape;
mod triggers;

pub use fill::ColumnFill;
pub use new::{ColumnProperty, NewColumn, NewConstraint, NewFilter, NewForeignKey, NewIndex, NewTable};
pub use rename::TablePart;
pub use sequences::{AlteredSequence, NewSequence};
pub use shape::CONSTRAINT_NAME_TAKEN;
pub use triggers::NewTrigger;
