//! Errors that refuse a text: syntax errors, and valid T-SQL that Hardpan does not support.

use tsql::ast::StatementKind;
use types::SqlError;

/// A syntax error as the client receives it.
pub(crate) fn syntax_error(error: tsql::SyntaxError) -> SqlError {
    let message = error.message();
    let mut sql_error = SqlError::custom(error.number, error.severity, error.state, message);
    sql_error.line = error.line;
    sql_error
}

/// The error for valid T-SQL that Hardpan does not support.
pub(crate) fn not_supported(what: &str) -> SqlError {
    SqlError::custom(40517, 16, 1, format!("{what} is not supported by this version of Hardpan."))
}

/// A kind's name in words, for refusals: `CreateDatabase` becomes `CREATE DATABASE`.
pub(crate) fn kind_name(kind: &StatementKind) -> String {
    if let StatementKind::Other(other) = kind {
        return other.kind_name.clone();
    }
    if let StatementKind::Permission(permission) = kind {
        let action = format!("{:?}", permission.action).to_uppercase();
        return action;
    }
    let debug = format!("{kind:?}");
    let variant: String = debug.chars().take_while(|c| c.is_alphanumeric()).collect();
    let mut words = String::new();
    for (position, character) in variant.chars().enumerate() {
        if position > 0 && character.is_uppercase() {
            words.push(' ');
        }
        words.extend(character.to_uppercase());
    }
    words
}

/// 10794: a natively compiled procedure does not support the construct.
pub(crate) fn unsupported_in_native(kind: &str, name: &str) -> SqlError {
    SqlError::new(10794, &[&kind, &name])
}
