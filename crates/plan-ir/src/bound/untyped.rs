//! Parameters without a declared type in bound expressions, and the types deduced from their places.

use types::sql_type::TypeFamily;
use types::{SqlError, SqlType};

use super::tree::{Expr, ExprKind};
use crate::kinds::ConversionKind;
use crate::undeclared::Undeclared;

/// The parameter that an expression is.
pub fn of(expr: &Expr) -> Option<&Undeclared> {
    match &expr.kind {
        ExprKind::Undeclared(parameter) => Some(parameter),
        ExprKind::Retype(inner) => of(inner),
        _ => None,
    }
}

/// Notes that the place of an expression wants a type, if the expression is a parameter without one.
pub fn note(expr: &Expr, sql_type: SqlType) {
    if let Some(parameter) = of(expr) {
        parameter.note(sql_type);
    }
}

/// A parameter on which the type of an expression depends.
fn within(expr: &Expr) -> Option<&Undeclared> {
    match &expr.kind {
        ExprKind::Convert(_, conversion)
            if matches!(conversion.kind, ConversionKind::Explicit | ConversionKind::Try) =>
        {
            None
        }
        ExprKind::Subquery(_) => None,
        _ => of(expr).or_else(|| expr.children().into_iter().find_map(within)),
    }
}

/// Two operands that are brought to one type: what one is gives the other its type, exactly or as `general` says.
///
/// # Errors
/// 11503 when neither has a type without the other.
pub fn beside(left: &Expr, right: &Expr, is_exact: bool) -> Result<(), SqlError> {
    let wanted = |other: &Expr| if is_exact { other.sql_type } else { general(&other.sql_type) };
    let (one, other, at) = match (of(left), of(right)) {
        (None, None) => return Ok(()),
        (Some(parameter), _) => (parameter, right, right),
        (None, Some(parameter)) => (parameter, left, left),
    };
    if let Some(second) = within(at) {
        return Err(SqlError::new(11503, &[&one.name(), &second.name()]));
    }
    one.note(wanted(other));
    Ok(())
}

/// The type that stands for all of its kind in general deduction.
pub fn general(sql_type: &SqlType) -> SqlType {
    let is_max = sql_type.max_length() == -1;
    match sql_type {
        SqlType::Char(_) | SqlType::VarChar(_) | SqlType::Text if !is_max => SqlType::varchar(8000),
        SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText | SqlType::SysName if !is_max => {
            SqlType::nvarchar(4000)
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::RowVersion | SqlType::Image if !is_max => {
            SqlType::varbinary(8000)
        }
        SqlType::Time(_) => SqlType::Time(7),
        SqlType::DateTime2(_) => SqlType::DateTime2(7),
        SqlType::DateTimeOffset(_) => SqlType::DateTimeOffset(7),
        other if other.family() == TypeFamily::Decimal => SqlType::Numeric { precision: 38, scale: 19 },
        other => *other,
    }
}
