//! Storing a value into a column, variable or parameter: implicit conversion, then the target's length rules.

use crate::{ConvertContext, SqlResult, SqlType, Value};

/// Where a value goes; decides what happens to text that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignTarget<'a> {
    /// A variable or parameter: cut in silence.
    Variable,
    /// A column: error 2628 with these names, unless only trailing blanks (or zero bytes) are lost.
    Column {
        /// Table with schema and database as the message shows it.
        table: &'a str,
        /// Column name.
        column: &'a str,
    },
}

/// Converts `value` of type `from` implicitly to `to` and applies the target's length rules.
pub fn assign(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    target: AssignTarget<'_>,
    context: &ConvertContext,
) -> SqlResult<Value> {
    let _ = (value, from, to, target, context);
    todo!("next landing")
}
