//! Collation precedence: the collation of an expression with several operands (documentation, "Collation Precedence"), and collation conflicts.

use types::{Collation, SqlError, SqlType};

use super::tree::{Expr, ExprKind};
use crate::kinds::{Coercibility, CompareOp};

/// The collation of an operator over text that does not need one itself. Error 468 for two different clauses COLLATE.
pub fn combined<'e>(
    operator: &'static str,
    operands: impl IntoIterator<Item = &'e Expr>,
) -> Result<(Collation, Coercibility), SqlError> {
    let texts = operands.into_iter().filter(|operand| operand.sql_type.is_character());
    let mut own = texts.map(|operand| (operand.collation, operand.coercibility));
    let Some(first) = own.next() else { return Ok(Default::default()) };
    own.try_fold(first, |sum, next| together(operator, sum, next))
}

/// Two of them.
fn together(
    operator: &'static str,
    left: (Collation, Coercibility),
    right: (Collation, Coercibility),
) -> Result<(Collation, Coercibility), SqlError> {
    use Coercibility::{Default, Explicit, Implicit, Unresolved};
    Ok(match (left.1, right.1) {
        (Explicit, Explicit) if left.0 != right.0 => return Err(conflict(right.0, left.0, operator)),
        (Explicit, _) => left,
        (_, Explicit) => right,
        (Unresolved(..), _) => left,
        (_, Unresolved(..)) => right,
        (Implicit, Implicit) if left.0 != right.0 => (left.0, Unresolved(right.0, operator)),
        (Implicit, _) => left,
        (_, Implicit) => right,
        (Default, Default) => left,
    })
}

/// The collation under which an operation looks at its operands. Errors 446 (an operand has none), 468 (they disagree).
pub fn resolved<'e>(
    operation: &'static str,
    operands: impl IntoIterator<Item = &'e Expr> + Clone,
) -> Result<Collation, SqlError> {
    let (collation, sum) = combined(operation, operands.clone())?;
    let Coercibility::Unresolved(other, _) = sum else { return Ok(collation) };
    Err(match operands.into_iter().any(Expr::is_unresolved) {
        true => SqlError::new(446, &[&operation]),
        false => conflict(other, collation, operation),
    })
}

/// 468: the later operand's collation first, as SQL Server has it.
fn conflict(later: Collation, earlier: Collation, operation: &str) -> SqlError {
    SqlError::new(468, &[&later.name(), &earlier.name(), &operation])
}

/// A value that is shown, grouped or ordered by has a collation: 451 names the clause and the place in it, from one.
pub fn check_resolved(expr: &Expr, clause: &str, place: usize) -> Result<(), SqlError> {
    match expr.coercibility {
        Coercibility::Unresolved(other, operator) if expr.is_unresolved() => {
            let (other, own) = (other.name(), expr.collation.name());
            Err(SqlError::new(451, &[&other, &own, &operator, &clause, &place]))
        }
        _ => Ok(()),
    }
}

/// Narrow text whose collation, and with it the code page, is not known goes into nothing: 457.
pub fn check_stored(expr: &Expr, to: &SqlType) -> Result<(), SqlError> {
    let is_narrow = expr.sql_type.family() == types::sql_type::TypeFamily::Char;
    match expr.is_unresolved() && is_narrow && to.is_character() {
        true => Err(SqlError::new(457, &[&expr.sql_type.name(), &to.name()])),
        false => Ok(()),
    }
}

/// Values of the type are not told apart: no order, no groups, no comparison.
pub fn is_incomparable(sql_type: &SqlType) -> bool {
    is_old_large(sql_type) || *sql_type == SqlType::Xml
}

fn is_old_large(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::Text | SqlType::NText | SqlType::Image)
}

/// An expression of text, ntext or image; clients send long texts in parameters of these types, which count as what they hold.
pub fn is_old_large_value(expr: &Expr) -> bool {
    is_old_large(&expr.sql_type) && !matches!(expr.kind, ExprKind::Variable(_))
}

/// Can the two be compared? Errors 305 (xml), 306 (with NULL), 402.
pub fn check_comparable(op: CompareOp, left: &Expr, right: &Expr) -> Result<(), SqlError> {
    let is_undeclared = |expr: &Expr| matches!(expr.kind, ExprKind::Undeclared(_));
    if is_undeclared(left) || is_undeclared(right) {
        return Ok(());
    }
    let is_xml = |expr: &Expr| expr.sql_type == SqlType::Xml;
    let has_null = left.is_null_literal() || right.is_null_literal();
    let is_refused = |expr: &Expr| is_old_large_value(expr) || is_xml(expr);
    match is_refused(left) || is_refused(right) {
        false => Ok(()),
        true if is_xml(left) && is_xml(right) || has_null => {
            Err(SqlError::new(if is_xml(left) || is_xml(right) { 305 } else { 306 }, &[]))
        }
        true => Err(SqlError::new(402, &[&left.sql_type.name(), &right.sql_type.name(), &op.name()])),
    }
}

/// A value by which rows are grouped or ordered. Errors 305, 306, 451.
pub fn check_key(key: &Expr, clause: &str, place: usize) -> Result<(), SqlError> {
    match key.sql_type {
        SqlType::Xml => Err(SqlError::new(305, &[])),
        ref sql_type if is_old_large(sql_type) => Err(SqlError::new(306, &[])),
        _ => check_resolved(key, clause, place),
    }
}

impl Expr {
    /// Is it text without a collation?
    pub fn is_unresolved(&self) -> bool {
        self.sql_type.is_character() && matches!(self.coercibility, Coercibility::Unresolved(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_labels_give_what_the_documentation_says() {
        use Coercibility::{Default, Explicit, Implicit, Unresolved};
        let (x, y) = (Collation::BIN2, Collation::DEFAULT);
        let both = |left, right| together("add", left, right);
        let none = (x, Unresolved(y, "add"));
        for (left, right, sum) in [
            ((x, Explicit), (y, Implicit), (x, Explicit)),
            ((y, Implicit), (x, Explicit), (x, Explicit)),
            ((x, Explicit), (x, Explicit), (x, Explicit)),
            ((x, Explicit), (y, Default), (x, Explicit)),
            (none, (y, Explicit), (y, Explicit)),
            ((y, Explicit), none, (y, Explicit)),
            ((x, Implicit), (y, Default), (x, Implicit)),
            ((y, Default), (x, Implicit), (x, Implicit)),
            ((x, Implicit), (x, Implicit), (x, Implicit)),
            ((x, Implicit), (y, Implicit), none),
            (none, (x, Implicit), none),
            ((y, Default), none, none),
            (none, none, none),
            ((y, Default), (y, Default), (y, Default)),
        ] {
            assert_eq!(both(left, right), Ok(sum), "{left:?} with {right:?}");
        }
        assert_eq!(both((x, Explicit), (y, Explicit)).map_err(|error| error.number), Err(468));
    }
}
