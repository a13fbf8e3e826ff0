//! The xml type's methods: values as trees, and the subset of XQuery and XML DML that SQL Server documents (its XQuery language reference).
//!
//! `compile` makes a tree of expressions of a text and finds its static errors; `run` evaluates it over a value. Depth is bounded: that of a text by
//! the parser, that of a value is walked without recursion. What grows asks for its bytes first.

mod atom;
mod build;
mod calls;
mod changes;
mod compile;
mod constructors;
mod edit;
mod eval;
mod evaluator;
mod expr;
mod parser;
mod paths;
mod rowset;
mod run;
mod scanner;
mod shape;
mod tree;
mod walk;
mod writer;

#[cfg(test)]
mod tests;

pub use atom::Atom;
pub use compile::{Method, compile, items_of};
pub use evaluator::{Argument, Room};
pub use expr::{External, Query};
pub use rowset::{Column, Edge, edges, is_property, patterns};
pub use run::{Documents, Subject};
pub use shape::Items;
pub use tree::{Kind, Name, Tree};
