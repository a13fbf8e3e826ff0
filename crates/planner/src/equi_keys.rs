//! Equality keys of joins, converted so that equal values have equal keys.

use plan_ir::bound::convert;
use plan_ir::bound::tree::{Expr, ExprKind};
use plan_ir::kinds::{ColumnId, CompareOp};
use rustc_hash::FxHashSet;
use types::SqlType;
use types::sql_type::TypeFamily;

/// `left = right` with each side from one input.
pub(super) struct EquiKey {
    pub(super) left: Expr,
    pub(super) right: Expr,
    pub(super) collation: types::Collation,
    pub(super) conjunct: usize,
}

/// The equalities between two sides that rows are looked up by.
pub(super) fn equi_keys(
    conjuncts: &[Expr],
    left_columns: &FxHashSet<ColumnId>,
    right_columns: &FxHashSet<ColumnId>,
) -> Vec<EquiKey> {
    let mut keys = Vec::new();
    for (conjunct, expr) in conjuncts.iter().enumerate() {
        let ExprKind::Compare(CompareOp::Equal, a, b) = &expr.kind else {
            continue;
        };
        if a.has_subquery() || b.has_subquery() {
            continue;
        }
        let sides = |expr: &Expr| (expr.uses_any(left_columns), expr.uses_any(right_columns));
        let (left, right) = match (sides(a), sides(b)) {
            ((true, false), (false, true)) => (a, b),
            ((false, true), (true, false)) => (b, a),
            _ => continue,
        };
        if let Some((left, right)) = same_keys((**left).clone(), (**right).clone()) {
            keys.push(EquiKey { collation: expr.collation, left, right, conjunct });
        }
    }
    keys
}

/// Both sides so that what is equal has the same bytes as a key, and nothing fails to become one. Decimals of any scale have; other exact numbers are
/// decimals of their own digits beside each other: in one type for both there may be no room for all of them.
fn same_keys(left: Expr, right: Expr) -> Option<(Expr, Expr)> {
    use TypeFamily::{Decimal, Integer, Money};
    let (one, other) = (left.sql_type.family(), right.sql_type.family());
    let is_exact = |family: TypeFamily| matches!(family, Integer | Decimal | Money);
    if left.sql_type == right.sql_type
        || left.sql_type.is_character() && right.sql_type.is_character()
        || (one, other) == (Decimal, Decimal)
    {
        return Some((left, right));
    }
    if one != other && is_exact(one) && is_exact(other) {
        let digits = |side: Expr| {
            let (precision, scale) = types::arith::decimal_shape(&side.sql_type)?;
            convert::implicit(side, &SqlType::Decimal { precision, scale }).ok()
        };
        return Some((digits(left)?, digits(right)?));
    }
    let to = types::arith::comparison_type(&left.sql_type, &right.sql_type, "equal to").ok()?;
    Some((convert::implicit(left, &to).ok()?, convert::implicit(right, &to).ok()?))
}
