//! Changes of definitions: what CREATE, ALTER, DROP and their kin do to the rows of the system tables and to the catalog's cache, together, in a
//! transaction and under Sch-M on what changes.

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

pub use fill::ColumnFill;
pub use new::{ColumnProperty, NewColumn, NewConstraint, NewFilter, NewForeignKey, NewIndex, NewTable};
pub use rename::TablePart;
pub use sequences::{AlteredSequence, NewSequence};
pub use shape::CONSTRAINT_NAME_TAKEN;
