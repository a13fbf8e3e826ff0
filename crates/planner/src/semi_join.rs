//! EXISTS and IN become semi joins, NOT EXISTS and NOT IN anti joins, when the subquery is a plain filter over relations of its own.
//!
//! `x NOT IN (SELECT y ...)` is TRUE when no row of the subquery has a `y` that equals `x` or may equal it (a NULL on either side). Where neither
//! can be NULL it is an anti join like NOT EXISTS. Where one can, the join condition is `x = y OR x IS NULL OR y IS NULL`; this is used only
//! when other equalities correlate the subquery with the row and give the join a key. Otherwise the values are kept in a set
//! (`executor/src/subquery.rs`).

use plan_ir::bound::tree::{Expr, ExprKind, Rel, SubqueryExpr, SubqueryKind};
use plan_ir::kinds::{ColumnId, CompareOp, ConversionKind, JoinKind};
use rustc_hash::FxHashSet;

/// Subqueries inside of each other are planned more than once; deeper ones than this stay where they are.
pub(super) const DEPTH_MAX: usize = 2;

/// A semi join made from a predicate.
pub(super) struct SemiJoin {
    pub(super) kind: JoinKind,
    pub(super) right: Rel,
    pub(super) right_filters: Vec<Expr>,
    pub(super) on: Vec<Expr>,
}

impl SemiJoin {
    /// The relation `left` with the join, as one relation.
    pub(super) fn over(self, left: Rel) -> Rel {
        let right = match Expr::all(self.right_filters) {
            Some(predicate) => Rel::Filter { input: Box::new(self.right), predicate },
            None => self.right,
        };
        let on = Expr::all(self.on);
        Rel::Join { kind: self.kind, left: Box::new(left), right: Box::new(right), on }
    }
}

/// The subquery of EXISTS and IN, of NOT EXISTS and NOT IN, and whether it is negated.
fn subquery_of(predicate: &Expr) -> Option<(&Expr, &SubqueryExpr, bool)> {
    let (expr, is_negated) = match &predicate.kind {
        ExprKind::Not(inner) => (&**inner, true),
        _ => (predicate, false),
    };
    let ExprKind::Subquery(subquery) = &expr.kind else { return None };
    match (&subquery.kind, is_negated) {
        (SubqueryKind::Exists | SubqueryKind::Any(CompareOp::Equal, ..), _) => {
            Some((expr, subquery, is_negated))
        }
        (SubqueryKind::All(CompareOp::NotEqual, ..), false) => Some((expr, subquery, true)),
        _ => None,
    }
}

/// Might the predicate become a join?
pub(super) fn is_candidate(predicate: &Expr) -> bool {
    subquery_of(predicate).is_some()
}

/// Is it NOT IN?
pub(super) fn is_not_in(predicate: &Expr) -> bool {
    subquery_of(predicate)
        .is_some_and(|(_, subquery, is_negated)| is_negated && !matches!(subquery.kind, SubqueryKind::Exists))
}

/// Takes the predicate apart; `None` when the subquery must be evaluated row by row. `available`: the columns of the rows that it is about,
/// and of these `never_null` those that have a value in each.
pub(super) fn decorrelate(
    predicate: &Expr,
    available: &FxHashSet<ColumnId>,
    never_null: &FxHashSet<ColumnId>,
) -> Option<SemiJoin> {
    let (expr, subquery, is_negated) = subquery_of(predicate)?;
    let Stripped { rel, projection, filters } = strip(&subquery.rel)?;
    if !rel.free_columns().is_empty() {
        return None;
    }
    let made: FxHashSet<ColumnId> = rel.output().into_iter().collect();
    let (mut on, mut right_filters, mut nested) = (Vec::new(), Vec::new(), Vec::new());
    for filter in filters {
        let filter = of_base(filter, &projection, &made);
        let is_outer = filter.columns().iter().any(|id| !made.contains(id));
        match (is_outer, filter.has_subquery()) {
            (true, true) => return None,
            // Columns that are neither here nor in the left row come from an outer query: parameters on both sides.
            (true, false) => on.push(filter),
            (false, false) => right_filters.push(filter),
            (false, true) if depth(&filter) > DEPTH_MAX => return None,
            (false, true) => nested.push(filter),
        }
    }
    if let SubqueryKind::Any(_, left, right) | SubqueryKind::All(_, left, right) = &subquery.kind {
        if left.has_subquery() {
            return None;
        }
        let right = of_base(right.clone(), &projection, &made);
        let ties = on.iter().any(|conjunct| ties(conjunct, available, &made));
        let mut inner_never_null = FxHashSet::default();
        collect_never_null(rel, &mut inner_never_null);
        let (left_has_value, right_has_value) =
            (has_value(left, never_null), has_value(&right, &inner_never_null));
        if is_negated && !(left_has_value && right_has_value) && !ties {
            return None;
        }
        let equal = ExprKind::Compare(CompareOp::Equal, Box::new(left.clone()), Box::new(right.clone()));
        let mut is_in = Expr { collation: expr.collation, ..Expr::predicate(equal) };
        if is_negated {
            let unknown = [(left, left_has_value), (&right, right_has_value)];
            for (side, _) in unknown.into_iter().filter(|side| !side.1) {
                let is_null = Expr::predicate(ExprKind::IsNull(Box::new(side.clone())));
                is_in = Expr::predicate(ExprKind::Or(Box::new(is_in), Box::new(is_null)));
            }
        }
        match is_in.columns().iter().all(|id| made.contains(id)) {
            // One answer for all rows: it is kept.
            true if on.is_empty() => return None,
            true => right_filters.push(is_in),
            false => on.push(is_in),
        }
    }
    debug_assert!(
        right_filters.iter().all(|filter| filter.uses_only(&made)),
        "what is asked of the right side alone is about it"
    );
    debug_assert!(!on.iter().any(Expr::has_subquery), "what ties both sides asks for no other rows");
    let right = match Expr::all(nested) {
        Some(predicate) => Rel::Filter { input: Box::new(rel.clone()), predicate },
        None => rel.clone(),
    };
    let kind = if is_negated { JoinKind::Anti } else { JoinKind::Semi };
    Some(SemiJoin { kind, right, right_filters, on })
}

/// Is it an equality between the current outer row and the subquery's row?
fn ties(conjunct: &Expr, available: &FxHashSet<ColumnId>, made: &FxHashSet<ColumnId>) -> bool {
    let ExprKind::Compare(CompareOp::Equal, a, b) = &conjunct.kind else { return false };
    let is_pair = |one: &Expr, other: &Expr| {
        one.uses_any(available) && !one.uses_any(made) && other.uses_any(made) && other.uses_only(made)
    };
    is_pair(a, b) || is_pair(b, a)
}

/// Projected columns are replaced until only columns of the base are left.
fn of_base(expr: Expr, projection: &[(ColumnId, Expr)], made: &FxHashSet<ColumnId>) -> Expr {
    let mut expr = expr;
    for _ in 0..8 {
        expr.rewrite(&mut |part| match &part.kind {
            ExprKind::Column(id) if !made.contains(id) => {
                projection.iter().find(|item| item.0 == *id).map(|item| item.1.clone())
            }
            _ => None,
        });
    }
    expr
}

/// How deep subqueries stand in each other in an expression.
fn depth(expr: &Expr) -> usize {
    let own = match &expr.kind {
        ExprKind::Subquery(subquery) => 1 + depth_of(&subquery.rel),
        _ => 0,
    };
    expr.children().into_iter().map(depth).fold(own, usize::max)
}

/// The same for a relation.
pub(super) fn depth_of(rel: &Rel) -> usize {
    let own = rel.expressions().into_iter().map(depth).max().unwrap_or(0);
    rel.inputs().into_iter().map(depth_of).fold(own, usize::max)
}

/// Adds the columns of a relation that are NULL in none of its rows.
pub(super) fn collect_never_null(rel: &Rel, into: &mut FxHashSet<ColumnId>) {
    match rel {
        Rel::Table(scan) => {
            let declared = scan.columns.iter().zip(scan.source.def.columns.iter());
            into.extend(declared.filter(|(_, column)| !column.nullable).map(|(id, _)| *id));
        }
        Rel::Filter { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Distinct { input }
        | Rel::Top { input, .. }
        | Rel::Offset { input, .. } => collect_never_null(input, into),
        Rel::Project { input, items } => {
            let mut below = FxHashSet::default();
            collect_never_null(input, &mut below);
            into.extend(items.iter().filter(|item| has_value(&item.1, &below)).map(|item| item.0));
        }
        Rel::Aggregate { input, keys, .. } => {
            let mut below = FxHashSet::default();
            collect_never_null(input, &mut below);
            into.extend(keys.iter().filter(|key| has_value(&key.1, &below)).map(|key| key.0));
        }
        Rel::Join { kind, left, right, .. } => {
            if *kind != JoinKind::Full {
                collect_never_null(left, into);
            }
            if *kind == JoinKind::Inner {
                collect_never_null(right, into);
            }
        }
        Rel::Apply { left, .. } => collect_never_null(left, into),
        _ => {}
    }
}

/// Has the expression a value in each row in which these columns have one?
fn has_value(expr: &Expr, never_null: &FxHashSet<ColumnId>) -> bool {
    match &expr.kind {
        ExprKind::Column(id) => never_null.contains(id),
        ExprKind::Constant(value) => !value.is_null(),
        ExprKind::Convert(inner, conversion) => {
            conversion.kind == ConversionKind::Implicit && has_value(inner, never_null)
        }
        ExprKind::Retype(inner) => has_value(inner, never_null),
        _ => false,
    }
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
