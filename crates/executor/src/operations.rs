//! The operations of the executor on the parts of a plan, as traits. The operators call each other only through these traits.

use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use types::{SqlError, Value};

use super::runtime_filter::RuntimeFilter;

/// A compiled expression, evaluated on a row.
pub trait Evaluate {
    /// The value for a row.
    fn eval(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Value, SqlError>;

    /// A reference to the value, if it is in the row or in the plan; any other value is stored in `spare`.
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

/// A compiled predicate, evaluated on a row.
pub trait Test {
    /// Is it TRUE for a row? After the first condition that is not TRUE (FALSE or UNKNOWN), no other condition is evaluated.
    fn is_true(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<bool, SqlError>;

    /// TRUE, FALSE or UNKNOWN for a row.
    fn test(&self, runtime: &Runtime<'_>, row: &[Value]) -> Result<Option<bool>, SqlError>;
}

/// A plan that is started.
pub trait Open {
    /// Starts an operator tree. Reads of parameters happen here or in `next`, so they must be set before.
    fn open<'p>(&'p self, runtime: &Runtime<'_>) -> Result<Box<dyn RowSource + 'p>, SqlError>;
}

/// A plan that is started with the runtime filters of a join above.
pub(crate) trait OpenFiltered {
    /// As [`Open::open`]; the plan may drop rows that do not match the filters.
    fn open_filtered<'p>(
        &'p self,
        runtime: &Runtime<'_>,
        filters: Vec<RuntimeFilter>,
    ) -> Result<Box<dyn RowSource + 'p>, SqlError>;
}
