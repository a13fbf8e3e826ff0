//! System functions whose rows are made while they are read: what they are told of the query.

use std::sync::Arc;

use engine::Database;
use types::{SqlError, Value};

use crate::row_source::RowSource;
use crate::runtime::Runtime;

/// Begins to make the rows.
pub(crate) type OpenStream =
    fn(&Runtime<'_>, &Arc<Database>, &StreamRequest<'_>) -> Result<Box<dyn RowSource>, SqlError>;

/// A function that makes its rows while they are read.
pub(crate) struct Stream {
    pub(crate) open: OpenStream,
    /// The columns whose bounds it can make use of.
    pub(crate) bounded: &'static [&'static str],
}

/// What the query wants. Each row is looked at again: a bound that is not used costs time only.
pub(crate) struct StreamRequest<'a> {
    pub(crate) arguments: &'a [Value],
    pub(crate) bounds: &'a [Bound],
    /// Positions of the columns whose values matter; `None`: all do.
    pub(crate) wanted: Option<&'a [usize]>,
}

/// Only rows whose column is so are wanted.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Position of the column.
    pub(crate) column: usize,
    pub(crate) kind: BoundKind,
    pub(crate) value: Value,
}

/// How a column is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundKind {
    /// It has the value.
    Equal,
    /// At least the value, or more.
    Lower,
    /// At most the value, or less.
    Upper,
}
