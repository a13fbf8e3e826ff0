//! Determinism: does an expression depend on its columns alone? Otherwise a computed column is computed whenever it is read.

use types::SqlType;
use types::sql_type::TypeFamily;
use types::temporal::parts::DatePart;

use super::tree::{Expr, ExprKind};
use crate::function_def::{Determinism, FunctionDef};

impl Expr {
    /// Not on the time, the session, its settings or what the catalog says.
    pub fn is_deterministic(&self) -> bool {
        let is_own = match &self.kind {
            ExprKind::Call(function, arguments) => {
                function.determinism == Determinism::Deterministic && !asks_settings(function, arguments)
            }
            ExprKind::Convert(from, conversion) => {
                let is_read = from.sql_type.is_character() && has_day(&self.sql_type);
                !is_read || has_one_meaning(conversion.style)
            }
            ExprKind::UserCall(function, _) => function.is_deterministic,
            ExprKind::NextValue(_) | ExprKind::Subquery(_) => false,
            _ => true,
        };
        is_own && self.children().iter().all(|child| child.is_deterministic())
    }
}

/// DATEFIRST says which day of its week a day is, LANGUAGE what it is called.
fn asks_settings(function: &FunctionDef, arguments: &[Expr]) -> bool {
    let is_of_weeks = || match arguments.first().map(|argument| &argument.kind) {
        Some(ExprKind::Constant(value)) => {
            let part = value.as_text().and_then(|word| DatePart::by_name(&word));
            matches!(part, Some(DatePart::Week | DatePart::WeekDay))
        }
        _ => true,
    };
    match function.name {
        "DATENAME" => true,
        "DATEPART" | "DATETRUNC" => is_of_weeks(),
        _ => false,
    }
}

fn has_day(sql_type: &SqlType) -> bool {
    sql_type.family() == TypeFamily::DateTime && !matches!(sql_type, SqlType::Time(_))
}

/// DATEFORMAT says what a text means as a date, unless its style does (SQL Server's documentation of CONVERT: styles above 100 but for those
/// with names of months, and 20 and 21).
fn has_one_meaning(style: i32) -> bool {
    matches!(style, 20 | 21 | 101..) && !matches!(style, 106 | 107 | 109 | 113 | 130)
}
