//! System functions that stream their rows: the parts of the query that they receive.

use std::sync::Arc;

use engine::Database;
use types::{SqlError, Value};

use crate::row_source::RowSource;
use crate::runtime::Runtime;

/// Begins to make the rows.
pub type OpenStream =
    fn(&Runtime<'_>, &Arc<Database>, &StreamRequest<'_>) -> Result<Box<dyn RowSource>, SqlError>;

/// A function that makes its rows while they are read.
pub struct Stream {
    pub open: OpenStream,
    /// The columns whose bounds it can make use of.
    pub bounded: &'static [&'static str],
}

/// The request of the query. Each row is tested again: an unused bound costs only time.
pub struct StreamRequest<'a> {
    pub arguments: &'a [Value],
    pub bounds: &'a [Bound],
    /// Positions of the columns whose values matter; `None`: all do.
    pub wanted: Option<&'a [usize]>,
}

/// Only rows whose column is so are wanted.
#[derive(Debug)]
pub struct Bound {
    /// Position of the column.
    pub column: usize,
    pub kind: BoundKind,
    pub value: Value,
}

/// How a column is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    /// It has the value.
    Equal,
    /// At least the value, or more.
    Lower,
    /// At most the value, or less.
    Upper,
}
