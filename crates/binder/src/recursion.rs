//! Rules for the members of a recursive common table expression, and where its recursive members may name it.

use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::JoinKind;
use tsql::ast;
use types::SqlError;

type Part = (ast::SetOperator, ast::QueryBody);

/// The anchor's other members with the operators before them, and the recursive members. Errors 246, 247, 252.
pub(super) fn members<'q>(
    operation: &'q ast::SetOperation,
    name: &str,
    mentions: fn(&ast::QueryBody, &str) -> bool,
) -> Result<(&'q [Part], Vec<&'q ast::QueryBody>), SqlError> {
    let of_name = |number: i32| SqlError::new(number, &[&name]);
    if mentions(&operation.first, name) {
        return Err(of_name(246));
    }
    let first_step = operation.rest.iter().position(|part| mentions(&part.1, name));
    let (anchors, steps) = operation.rest.split_at(first_step.unwrap_or(operation.rest.len()));
    if steps.is_empty() || steps.iter().any(|part| part.0 != ast::SetOperator::UnionAll) {
        return Err(plan_ir::errors::recursion_without_union(name));
    }
    if steps.iter().any(|part| !mentions(&part.1, name)) {
        return Err(of_name(247));
    }
    Ok((anchors, steps.iter().map(|part| &part.1).collect()))
}

/// Looks at a bound recursive member: the rows made last are read once, and nothing but filters, inner joins, windows and projections lies
/// between them and the member's own rows. Errors 253, 460, 461, 462, 465, 467.
pub(super) fn check_step(step: &Rel, work: u32, name: &str) -> Result<(), SqlError> {
    match reads(step, work, name)? {
        0 | 1 => Ok(()),
        _ => Err(SqlError::new(253, &[&name])),
    }
}

/// How often the rows made last are read in a tree.
fn reads(rel: &Rel, work: u32, name: &str) -> Result<usize, SqlError> {
    if matches!(rel, Rel::WorkTable { work: own, .. } if *own == work) {
        return Ok(1);
    }
    for expr in rel.expressions() {
        check_subqueries(expr, work, name)?;
    }
    let mut count = 0;
    for input in rel.inputs() {
        count += reads(input, work, name)?;
    }
    let number = match rel {
        _ if count == 0 => return Ok(0),
        Rel::Distinct { .. } => 460,
        Rel::Top { .. } | Rel::Offset { .. } => 461,
        Rel::Join { kind, .. } if !matches!(kind, JoinKind::Inner) => 462,
        Rel::Apply { outer: true, .. } => 462,
        Rel::Aggregate { .. } => 467,
        _ => return Ok(count),
    };
    Err(SqlError::new(number, &[&name]))
}

/// Error 465 when a subquery reads them, whatever else is wrong inside it.
fn check_subqueries(expr: &Expr, work: u32, name: &str) -> Result<(), SqlError> {
    if let ExprKind::Subquery(subquery) = &expr.kind
        && !matches!(reads(&subquery.rel, work, name), Ok(0))
    {
        return Err(SqlError::new(465, &[]));
    }
    expr.children().into_iter().try_for_each(|child| check_subqueries(child, work, name))
}
