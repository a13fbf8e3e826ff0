//! The errors of conversions, with the names of types that they show.

use crate::{SqlError, SqlType};

/// The name of a type as messages show it: decimal is `numeric`, sysname its base.
pub(crate) fn shown(sql_type: &SqlType) -> &'static str {
    match sql_type {
        SqlType::Decimal { .. } => "numeric",
        SqlType::SysName => "nvarchar",
        other => other.name(),
    }
}

/// Error 529: this pair is not in the matrix.
pub(crate) fn not_allowed(from: &SqlType, to: &SqlType) -> SqlError {
    SqlError::new(529, &[&from.name(), &to.name()])
}

/// Error 9809: the style means nothing between these types.
pub(crate) fn unknown_style(style: i32, from: &SqlType, to: &SqlType) -> SqlError {
    SqlError::new(9809, &[&style, &shown(from), &shown(to)])
}

/// Error 8115: the value of a type does not fit another.
pub(crate) fn overflow(from: &str, to: &SqlType) -> SqlError {
    let error = SqlError::new(8115, &[&from, &shown(to)]);
    if matches!(to, SqlType::Decimal { .. }) { error.with_state(8) } else { error }
}

/// Error 8114: the text is not of the type.
pub(crate) fn unreadable(from: &SqlType, to: &SqlType) -> SqlError {
    SqlError::new(8114, &[&shown(from), &shown(to)])
}
