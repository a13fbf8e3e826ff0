//! EXISTS and IN become semi joins, NOT EXISTS an anti join, when the subquery is a plain filter over tables.

use rustc_hash::FxHashSet;

use super::logical::{JoinKind, Rel};
use crate::expr::{ColumnId, CompareOp, Expr, ExprKind, SubqueryKind};

/// A semi join made from a predicate.
pub(super) struct SemiJoin {
    pub(super) kind: JoinKind,
    pub(super) right: Rel,
    pub(super) right_filters: Vec<Expr>,
    pub(super) on: Vec<Expr>,
}

/// Might the predicate become a semi join?
pub(super) fn is_candidate(predicate: &Expr) -> bool {
    match &predicate.kind {
        ExprKind::Subquery(subquery) => {
            matches!(subquery.kind, SubqueryKind::Exists | SubqueryKind::Any(CompareOp::Equal, ..))
        }
        ExprKind::Not(inner) => {
            matches!(&inner.kind, ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Exists))
        }
        _ => false,
    }
}

/// Takes the predicate apart; `None` when the subquery must be evaluated row by row.
pub(super) fn decorrelate(predicate: &Expr, available: &FxHashSet<ColumnId>) -> Option<SemiJoin> {
    let (subquery, kind) = match &predicate.kind {
        ExprKind::Subquery(subquery) => (subquery, JoinKind::Semi),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::Subquery(subquery) => (subquery, JoinKind::Anti),
            _ => return None,
        },
        _ => return None,
    };
    let mut on = Vec::new();
    let Stripped { rel, projection, filters } = strip(&subquery.rel)?;
    if !rel.free_columns().is_empty() {
        return None;
    }
    if let SubqueryKind::Any(CompareOp::Equal, left, right) = &subquery.kind {
        if left.has_subquery() {
            return None;
        }
        let equal = ExprKind::Compare(CompareOp::Equal, Box::new(left.clone()), Box::new(right.clone()));
        on.push(Expr { collation: predicate.collation, ..Expr::predicate(equal) });
    }
    let made: FxHashSet<ColumnId> = rel.output().into_iter().collect();
    let mut right_filters = Vec::new();
    for filter in filters.into_iter().chain(std::mem::take(&mut on)) {
        let mut filter = filter;
        // Projected columns are replaced until only columns of the base are left.
        for _ in 0..8 {
            filter.rewrite(&mut |part| match &part.kind {
                ExprKind::Column(id) if !made.contains(id) => {
                    projection.iter().find(|item| item.0 == *id).map(|item| item.1.clone())
                }
                _ => None,
            });
        }
        let used = filter.columns();
        if filter.has_subquery() {
            return None;
        }
        let outer = used.iter().any(|id| !made.contains(id));
        if outer {
            // What is neither here nor in the left row comes from further out: a parameter on both sides.
            on.push(filter);
        } else {
            right_filters.push(filter);
        }
    }
    let reads_left = on.iter().any(|conjunct| conjunct.uses_any(available));
    if !reads_left && matches!(subquery.kind, SubqueryKind::Any(..)) && on.is_empty() {
        return None;
    }
    Some(SemiJoin { kind, right: rel.clone(), right_filters, on })
}

/// A subquery without what does not change which rows it has.
struct Stripped<'r> {
    rel: &'r Rel,
    projection: Vec<(ColumnId, Expr)>,
    filters: Vec<Expr>,
}

fn strip(rel: &Rel) -> Option<Stripped<'_>> {
    let mut stripped = Stripped { rel, projection: Vec::new(), filters: Vec::new() };
    loop {
        match stripped.rel {
            Rel::Project { input, items } => {
                if items.iter().any(|item| item.1.has_subquery() || item.1.is_volatile()) {
                    return None;
                }
                stripped.projection.extend(items.iter().cloned());
                stripped.rel = input;
            }
            Rel::Filter { input, predicate } => {
                predicate.clone().split_conjuncts(&mut stripped.filters);
                stripped.rel = input;
            }
            Rel::Sort { input, .. } | Rel::Distinct { input } => stripped.rel = input,
            _ => return Some(stripped),
        }
    }
}
