//! The errors that this crate raises, by what they mean; numbers and texts are in the catalogue of `types`.

use std::fmt::Display;

use types::SqlError;

fn error(number: i32, args: &[&dyn Display]) -> SqlError {
    SqlError::new(number, args)
}

/// 8134: division by zero.
#[cold]
pub(crate) fn divide_by_zero() -> SqlError {
    error(8134, &[])
}

/// 8115: arithmetic overflow converting an expression to a type.
#[cold]
pub(crate) fn overflow(type_name: &str) -> SqlError {
    error(8115, &[&"expression", &type_name])
}

/// 220: arithmetic overflow for tinyint and smallint, with the value.
#[cold]
pub(crate) fn small_overflow(type_name: &str, value: i64) -> SqlError {
    error(220, &[&type_name, &value])
}

/// 512: a subquery used as a value gave more than one.
pub(crate) fn subquery_many_values() -> SqlError {
    error(512, &[])
}

/// 506: an invalid escape character in LIKE.
pub(crate) fn invalid_escape(text: &str) -> SqlError {
    error(506, &[&text])
}

/// 1060: TOP or FETCH row count is not a whole number of rows.
pub(crate) fn row_count_invalid() -> SqlError {
    error(1060, &[])
}

/// 1031: TOP PERCENT outside 0..=100.
pub(crate) fn top_percent_range() -> SqlError {
    error(1031, &[])
}

/// 10742: OFFSET below 0.
pub(crate) fn offset_negative() -> SqlError {
    error(10742, &[])
}

/// 10744: FETCH of 0 or fewer rows.
pub(crate) fn fetch_not_positive() -> SqlError {
    error(10744, &[])
}

/// 530: a recursion went over its limit.
pub(crate) fn max_recursion(limit: u32) -> SqlError {
    error(530, &[&limit])
}

/// 4116-like: NTILE with a count below 1.
pub(crate) fn tile_count_invalid() -> SqlError {
    error(4112, &[&"ntile"])
}

/// The statement was cancelled by an attention, KILL or shutdown; `session` turns it into the right answer.
pub(crate) fn cancelled() -> SqlError {
    SqlError::custom(3617, 10, 1, "The operation was cancelled.".to_string())
}

/// Is it the error of a cancelled statement?
pub fn is_cancelled(error: &SqlError) -> bool {
    error.number == 3617
}

/// 191: some part of the statement is nested too deeply.
pub(crate) fn too_deep() -> SqlError {
    error(191, &[])
}

/// 102: incorrect syntax near a word.
pub(crate) fn syntax_near(word: &str) -> SqlError {
    error(102, &[&word])
}

/// 40514: valid T-SQL that this version does not run.
pub fn unsupported(what: &str) -> SqlError {
    SqlError::custom(40514, 16, 1, format!("'{what}' is not supported in this version of Hardpan."))
}

/// 4145: a condition was expected.
pub(crate) fn not_a_condition(expr: &tsql::ast::Expr) -> SqlError {
    let near = match &expr.kind {
        tsql::ast::ExprKind::Column(column) => column.name.value.clone(),
        tsql::ast::ExprKind::Variable(name) => name.clone(),
        tsql::ast::ExprKind::Function(call) => call.name.name.value.clone(),
        _ => String::new(),
    };
    error(4145, &[&near])
}

/// 102: a condition stands where a value is wanted.
pub(crate) fn boolean_as_value() -> SqlError {
    error(102, &[&"="])
}

/// 177: IDENTITY() outside SELECT INTO.
pub(crate) fn identity_function_misplaced() -> SqlError {
    error(177, &[])
}

/// 116: a subquery that is not introduced with EXISTS gives one column.
pub(crate) fn subquery_one_column() -> SqlError {
    error(116, &[])
}

/// 130: an aggregate over an aggregate or a subquery.
pub(crate) fn aggregate_over_subquery() -> SqlError {
    error(130, &[])
}

/// 137: a variable that is not declared.
pub fn undeclared_variable(name: &str) -> SqlError {
    error(137, &[&name])
}

/// 8133: all branches are untyped NULLs.
pub(crate) fn all_branches_null(what: &str) -> SqlError {
    error(8133, &[&what])
}

/// 447: COLLATE on something that is not text.
pub(crate) fn collate_not_character(type_name: &str) -> SqlError {
    error(447, &[&type_name])
}

/// 448: an unknown collation.
pub(crate) fn invalid_collation(name: &str) -> SqlError {
    error(448, &[&name])
}

/// 1007: a number with more than 38 digits.
pub(crate) fn number_too_large(text: &str) -> SqlError {
    error(1007, &[&text])
}

/// 4147: `*=` and `=*`.
pub(crate) fn old_outer_join() -> SqlError {
    error(4147, &[])
}

/// 1001: a length of 0.
pub(crate) fn length_zero(length: u64) -> SqlError {
    error(1001, &[&length])
}

/// 131: a length above what the type allows.
pub(crate) fn length_too_long(name: &str, length: u64, limit: u64) -> SqlError {
    error(131, &[&length, &name, &limit])
}

/// 2750: a precision above the limit.
pub(crate) fn precision_invalid(precision: u64, limit: u64) -> SqlError {
    error(2750, &[&1, &precision, &limit])
}

/// 192: scale above precision.
pub(crate) fn scale_above_precision() -> SqlError {
    error(192, &[])
}

/// 1002: a scale above 7.
pub(crate) fn fraction_invalid(scale: u64) -> SqlError {
    error(1002, &[&scale])
}

/// 2715: an unknown data type.
pub(crate) fn unknown_type(name: &str) -> SqlError {
    error(2715, &[&1, &name])
}
