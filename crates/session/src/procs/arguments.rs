//! The arguments of native procedures, by name or position.

use types::{SqlError, SqlType};

use crate::batch::call::Argument;

/// The argument of a native procedure, by name or position.
pub(super) fn argument<'a>(arguments: &'a [Argument], position: usize, name: &str) -> Option<&'a Argument> {
    let named = arguments.iter().find(|a| a.name.as_ref().is_some_and(|n| n.eq_ignore_ascii_case(name)));
    named.or_else(|| arguments.get(position).filter(|a| a.name.is_none()))
}

/// An int argument of a native procedure.
pub(super) fn int_argument(
    arguments: &[Argument],
    position: usize,
    name: &str,
) -> Result<Option<i32>, SqlError> {
    match argument(arguments, position, name) {
        Some(given) => {
            let value = crate::values::pass(&given.or_null(), &given.sql_type, &SqlType::Int)?;
            crate::values::to_int(&value)
        }
        None => Ok(None),
    }
}

/// A text argument of a native procedure.
pub(super) fn text_argument(arguments: &[Argument], position: usize, name: &str) -> Option<String> {
    argument(arguments, position, name).and_then(|a| crate::values::to_text(&a.or_null()))
}

/// An int argument of a procedure whose arguments have no names.
pub(super) fn int_at(arguments: &[Argument], position: usize) -> Result<Option<i32>, SqlError> {
    let Some(given) = arguments.get(position) else { return Ok(None) };
    let value = crate::values::pass(&given.or_null(), &given.sql_type, &SqlType::Int)?;
    crate::values::to_int(&value)
}
