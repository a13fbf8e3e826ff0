//! Rules for function arguments beyond their types: which functions accept text, ntext and image, and which argument gives the collation.

use plan_ir::bound::coercibility::{combined, is_old_large_value, resolved};
use plan_ir::bound::tree::{Expr, ExprKind};
use plan_ir::kinds::{AggregateKind, Coercibility};
use types::{Collation, SqlError};

/// Functions of text that take neither text nor ntext nor image (each one's documentation); SUBSTRING, PATINDEX and DATALENGTH do.
const WITHOUT_OLD_LARGE: [&str; 17] = [
    "ASCII",
    "CHARINDEX",
    "CHECKSUM",
    "GREATEST",
    "LEAST",
    "LEFT",
    "LEN",
    "LOWER",
    "LTRIM",
    "REPLACE",
    "REPLICATE",
    "REVERSE",
    "RIGHT",
    "RTRIM",
    "STUFF",
    "TRIM",
    "UPPER",
];

/// Error 8116.
pub(super) fn check_old_large_argument(
    function: &str,
    index: usize,
    argument: &Expr,
) -> Result<(), SqlError> {
    if is_old_large_value(argument) && WITHOUT_OLD_LARGE.contains(&function) {
        let (given, function) = (argument.sql_type.name(), function.to_ascii_lowercase());
        return Err(SqlError::new(8116, &[&given, &(index + 1), &function]));
    }
    Ok(())
}

/// The same of all arguments.
pub(super) fn check_old_large(function: &str, arguments: &[Expr]) -> Result<(), SqlError> {
    arguments
        .iter()
        .enumerate()
        .try_for_each(|(index, argument)| check_old_large_argument(function, index, argument))
}

/// The collation of a call: what looks for one text in another needs one; of a text that is made of others it is theirs together; of any
/// other function the first text's, or that of COLLATE. Errors 446, 468.
pub(super) fn collation_of_call(
    function: &'static str,
    arguments: &[Expr],
) -> Result<(Collation, Coercibility), SqlError> {
    let operation = match function {
        "CHARINDEX" => "charindex",
        "DIFFERENCE" => "difference",
        "GREATEST" => "greatest",
        "LEAST" => "least",
        "LTRIM" => "ltrim",
        "PATINDEX" => "patindex",
        "REPLACE" => "replace",
        "RTRIM" => "rtrim",
        "STUFF" => "stuff",
        "TRANSLATE" => "translate",
        "TRIM" => "trim",
        "CONCAT" | "CONCAT_WS" => return combined("concat", arguments),
        _ => {
            let mut texts = arguments.iter().filter(|argument| argument.sql_type.is_character());
            let explicit = texts.clone().find(|argument| argument.coercibility == Coercibility::Explicit);
            let winner = explicit.or_else(|| texts.next());
            return Ok(winner.map(|text| (text.collation, text.coercibility)).unwrap_or_default());
        }
    };
    // A single text is not compared with another: REPLACE(unresolved, ...) is refused, TRIM of it is not.
    if arguments.len() > 1 {
        resolved(operation, arguments)?;
    }
    combined(operation, arguments)
}

/// As messages name it.
pub(super) fn operation_of_aggregate(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::Minimum => "min",
        AggregateKind::Maximum => "max",
        AggregateKind::Count => "count",
        _ => "DISTINCT",
    }
}

/// Error 8116: DATE_BUCKET takes no text for its moments.
pub(super) fn check_moment_of_bucket(function: &str, index: usize, bound: &Expr) -> Result<(), SqlError> {
    if function == "DATE_BUCKET" && index >= 2 && bound.sql_type.is_character() {
        return Err(SqlError::new(8116, &[&bound.sql_type.name(), &(index + 1), &"Date_Bucket"]));
    }
    Ok(())
}

/// Is a text asked for its time zone's offset, which it loses as a datetime2?
pub(super) fn offset_of_text(function: &str, before: &[Expr], bound: &Expr) -> bool {
    let is_offset = |part: &Expr| match &part.kind {
        ExprKind::Constant(word) => {
            let name = word.as_text().unwrap_or_default();
            types::DatePart::by_name(&name) == Some(types::DatePart::TzOffset)
        }
        _ => false,
    };
    matches!(function, "DATEPART" | "DATENAME")
        && bound.sql_type.is_character()
        && before.first().is_some_and(is_offset)
}
