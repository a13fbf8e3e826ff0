//! What the executor does with the parts of a plan. The operators call each other through these traits alone.

use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::{SqlError, Value};

use super::runtime_filter::RuntimeFilter;

/// A program of a value, evaluated over a row.
pub trait Evaluate {
    /// The value for a row.
    fn eval(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Value, SqlError>;

    /// The value where it stands, if it stands in the row or in the plan; any other is put into `spare`.
    fn eval_in<'v>(
        &'v self,
        runtime: &Runtime<'_>,
        row: &'v [Value],
        spare: &'v mut Value,
    ) -> Result<&'v Value, SqlError>;

    /// The value as an integer; NULL and everything that is not an integer is `None`.
    fn eval_i64(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<i64>, SqlError>;

    /// The value as a float.
    fn eval_f64(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<f64>, SqlError>;
}

/// A program of a predicate, asked of a row.
pub trait Test {
    /// Is it TRUE of a row? Behind a condition that is not TRUE, no other is evaluated: not even behind one that is UNKNOWN.
    fn is_true(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<bool, SqlError>;

    /// TRUE, FALSE or UNKNOWN for a row.
    fn test(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<bool>, SqlError>;
}

/// A plan that is started.
pub trait Open {
    /// Starts an operator tree. Reads of parameters happen here or in `next`, so they must be set before.
    fn open<'p>(&'p self, runtime: &Runtime<'_>) -> Result<Box<dyn RowSource + 'p>, SqlError>;
}

/// A plan that is started for the rows that a join above has asked for.
pub(crate) trait OpenFiltered {
    /// As [`Open::open`]; rows that are not wanted may be left out.
    fn open_filtered<'p>(
        &'p self,
        runtime: &Runtime<'_>,
        filters: Vec<RuntimeFilter>,
    ) -> Result<Box<dyn RowSource + 'p>, SqlError>;
}
