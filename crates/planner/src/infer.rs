//! Inference of predicates: conditions that follow from several conditions together. They hold for rows on which every given condition is TRUE,
//! so they may be added:
//!
//! - common factors of an OR: `(a AND b) OR (a AND c)` is `a AND (b OR c)`;
//! - of an OR whose branches all have a condition on one relation alone, the OR of these conditions: it filters the relation before the join;
//! - through equal columns: a column's comparison with a value holds for all columns that are equal to it, and two columns that equal a third are
//!   equal;
//! - two different values for one column: no row.
//!
//! Columns are taken as equal only when they are compared as they are (one type, one collation): then each replaces the other.

use plan_ir::bound::columns::Columns;
use plan_ir::bound::tree::{Expr, ExprKind};
use plan_ir::kinds::{ColumnId, CompareOp};
use rustc_hash::FxHashSet;
use types::Value;

use super::are_distinct;

/// An OR with more branches than these is left as it is.
const BRANCHES_MAX: usize = 16;
/// A class of more equal columns than these gets no further equalities.
const CLASS_MAX: usize = 6;

/// Columns that are equal on every row that qualifies.
#[derive(Debug, Default)]
pub(super) struct Classes {
    list: Vec<Vec<ColumnId>>,
}

impl Classes {
    /// The equivalence classes of all equalities among the conditions. A parameter is in no class: it is a value.
    fn of(conjuncts: &[Expr], relations: &[FxHashSet<ColumnId>], columns: &Columns) -> Classes {
        let mut classes = Classes::default();
        let is_inside = |id: &ColumnId| relations.iter().any(|relation| relation.contains(id));
        for conjunct in conjuncts {
            if let Some((a, b)) =
                equal_columns(conjunct, columns).filter(|(a, b)| is_inside(a) && is_inside(b))
            {
                classes.join(a, b);
            }
        }
        classes
    }

    /// The class of a column, if there is an equality for each pair of it.
    pub(super) fn find_complete(&self, column: ColumnId) -> Option<usize> {
        self.find(column).filter(|class| self.list[*class].len() <= CLASS_MAX)
    }

    /// The class of a column.
    pub(super) fn find(&self, column: ColumnId) -> Option<usize> {
        self.list.iter().position(|class| class.contains(&column))
    }

    fn join(&mut self, a: ColumnId, b: ColumnId) {
        debug_assert_ne!(a, b, "a column is equal to itself");
        match (self.find(a), self.find(b)) {
            (Some(one), Some(other)) if one == other => {}
            (Some(one), Some(other)) => {
                let moved = std::mem::take(&mut self.list[other]);
                self.list[one].extend(moved);
            }
            (Some(one), None) => self.list[one].push(b),
            (None, Some(other)) => self.list[other].push(a),
            (None, None) => self.list.push(vec![a, b]),
        }
        debug_assert!(self.find(a) == self.find(b), "columns that are equal are of one class");
    }
}

/// The two columns of `a = b`, if nothing is converted and their own collation is used.
pub(super) fn equal_columns(conjunct: &Expr, columns: &Columns) -> Option<(ColumnId, ColumnId)> {
    let ExprKind::Compare(CompareOp::Equal, left, right) = &conjunct.kind else { return None };
    let (ExprKind::Column(a), ExprKind::Column(b)) = (&left.kind, &right.kind) else { return None };
    let (one, other) = (&columns[a.0 as usize], &columns[b.0 as usize]);
    let is_same = one.sql_type == other.sql_type
        && (!one.sql_type.is_character()
            || one.collation == other.collation && conjunct.collation == one.collation);
    (a != b && is_same).then_some((*a, *b))
}

/// Adds what follows. `relations`: the columns of each; what is in none of them is a parameter.
pub(super) fn infer(
    conjuncts: Vec<Expr>,
    relations: &[FxHashSet<ColumnId>],
    columns: &Columns,
) -> (Vec<Expr>, Classes) {
    let mut all = Vec::with_capacity(conjuncts.len());
    conjuncts.into_iter().for_each(|conjunct| factor(conjunct, &mut all));
    let parts: Vec<Expr> = all.iter().flat_map(|conjunct| parts_of_or(conjunct, relations)).collect();
    all.extend(parts);
    let classes = Classes::of(&all, relations, columns);
    let mut more = Vec::new();
    for class in &classes.list {
        add_values(class, &all, relations, columns, &mut more);
        if class.len() <= CLASS_MAX {
            add_equalities(class, &all, columns, &mut more);
        }
    }
    all.extend(more);
    if has_contradiction(&all, columns) {
        all.push(Expr::predicate(ExprKind::Constant(Value::Bit(false))));
    }
    (all, classes)
}

fn is_same(a: &Expr, b: &Expr) -> bool {
    a.collation == b.collation && a.same_as(b)
}

/// A condition without what all branches of its OR have in common, and that by itself.
fn factor(conjunct: Expr, into: &mut Vec<Expr>) {
    if !matches!(conjunct.kind, ExprKind::Or(..)) || conjunct.has_subquery() || conjunct.is_volatile() {
        into.push(conjunct);
        return;
    }
    let mut branches = branches_of(&conjunct);
    debug_assert!(branches.len() > 1, "an OR has several branches");
    let common: Vec<Expr> = branches[0]
        .iter()
        .filter(|part| branches[1..].iter().all(|branch| branch.iter().any(|other| is_same(part, other))))
        .cloned()
        .collect();
    if common.is_empty() || branches.len() > BRANCHES_MAX {
        into.push(conjunct);
        return;
    }
    for branch in &mut branches {
        branch.retain(|part| !common.iter().any(|shared| is_same(shared, part)));
    }
    into.extend(common);
    // A branch that says nothing more is TRUE where the common part is: so is the OR.
    if branches.iter().all(|branch| !branch.is_empty()) {
        into.extend(any(branches));
    }
}

/// The branches of an OR, each as the list of its conditions.
pub(super) fn branches_of(expr: &Expr) -> Vec<Vec<Expr>> {
    match &expr.kind {
        ExprKind::Or(left, right) => branches_of(left).into_iter().chain(branches_of(right)).collect(),
        _ => {
            let mut parts = Vec::new();
            expr.clone().split_conjuncts(&mut parts);
            vec![parts]
        }
    }
}

fn any(branches: Vec<Vec<Expr>>) -> Option<Expr> {
    branches
        .into_iter()
        .filter_map(Expr::all)
        .reduce(|one, other| Expr::predicate(ExprKind::Or(Box::new(one), Box::new(other))))
}

/// For each relation of which every branch of an OR over several says something: the OR of just that.
fn parts_of_or(conjunct: &Expr, relations: &[FxHashSet<ColumnId>]) -> Vec<Expr> {
    if !matches!(conjunct.kind, ExprKind::Or(..)) || conjunct.has_subquery() || conjunct.is_volatile() {
        return Vec::new();
    }
    let used: Vec<&FxHashSet<ColumnId>> =
        relations.iter().filter(|relation| conjunct.uses_any(relation)).collect();
    let branches = branches_of(conjunct);
    if used.len() < 2 || branches.len() > BRANCHES_MAX {
        return Vec::new();
    }
    let of_relation = |relation: &FxHashSet<ColumnId>| -> Option<Expr> {
        let mut parts = Vec::with_capacity(branches.len());
        for branch in &branches {
            let own: Vec<Expr> = branch.iter().filter(|part| is_plain_of(part, relation)).cloned().collect();
            if own.is_empty() {
                return None;
            }
            parts.push(own);
        }
        any(parts)
    };
    used.into_iter().filter_map(of_relation).collect()
}

/// Does the condition compare columns of one relation with values, so that it cannot fail?
fn is_plain_of(part: &Expr, relation: &FxHashSet<ColumnId>) -> bool {
    let is_column = |expr: &Expr| matches!(&expr.kind, ExprKind::Column(id) if relation.contains(id));
    let is_value = |expr: &Expr| matches!(expr.kind, ExprKind::Constant(_) | ExprKind::Variable(_));
    match &part.kind {
        ExprKind::Compare(_, left, right) => {
            (is_column(left) || is_value(left))
                && (is_column(right) || is_value(right))
                && (is_column(left) || is_column(right))
        }
        ExprKind::InList(left, list) => is_column(left) && list.iter().all(is_value),
        ExprKind::Like(like) => is_column(&like.input) && is_value(&like.pattern) && like.escape.is_none(),
        _ => false,
    }
}

/// `column op value` as (column, op, value), if nothing is converted; the column may stand on either side.
fn column_and_value<'e>(
    conjunct: &'e Expr,
    relations: &[FxHashSet<ColumnId>],
    columns: &Columns,
) -> Option<(ColumnId, CompareOp, &'e Expr)> {
    let ExprKind::Compare(op, left, right) = &conjunct.kind else { return None };
    let inside = |id: &ColumnId| relations.iter().any(|relation| relation.contains(id));
    let is_value = |expr: &Expr| match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Variable(_) => true,
        ExprKind::Column(id) => !inside(id),
        _ => false,
    };
    let (id, op, value) = match (&left.kind, &right.kind) {
        (ExprKind::Column(id), _) if inside(id) && is_value(right) => (*id, *op, &**right),
        (_, ExprKind::Column(id)) if inside(id) && is_value(left) => (*id, op.flipped(), &**left),
        _ => return None,
    };
    let info = &columns[id.0 as usize];
    let is_own = !info.sql_type.is_character() || conjunct.collation == info.collation;
    is_own.then_some((id, op, value))
}

/// Copies conditions on one column of a class to the others.
fn add_values(
    class: &[ColumnId],
    all: &[Expr],
    relations: &[FxHashSet<ColumnId>],
    columns: &Columns,
    more: &mut Vec<Expr>,
) {
    debug_assert!(are_distinct(class), "a column is in a class once");
    for conjunct in all {
        let Some((id, op, value)) = column_and_value(conjunct, relations, columns) else { continue };
        if !class.contains(&id) || op == CompareOp::NotEqual {
            continue;
        }
        for other in class.iter().filter(|other| **other != id) {
            let column = column_expr(*other, columns);
            let kind = ExprKind::Compare(op, Box::new(column), Box::new(value.clone()));
            let said = Expr { collation: conjunct.collation, ..Expr::predicate(kind) };
            if !all.iter().chain(more.iter()).any(|known| is_same(known, &said)) {
                more.push(said);
            }
        }
    }
}

/// Adds the missing equalities of an equivalence class: then each pair has one, so of the equalities between a relation and others
/// one per column is enough.
fn add_equalities(class: &[ColumnId], all: &[Expr], columns: &Columns, more: &mut Vec<Expr>) {
    for (at, one) in class.iter().enumerate() {
        for other in &class[at + 1..] {
            let is_pair = |known: &Expr| {
                equal_columns(known, columns)
                    .is_some_and(|(a, b)| (a, b) == (*one, *other) || (b, a) == (*one, *other))
            };
            if all.iter().any(is_pair) {
                continue;
            }
            let (left, right) = (column_expr(*one, columns), column_expr(*other, columns));
            let collation = left.collation;
            let kind = ExprKind::Compare(CompareOp::Equal, Box::new(left), Box::new(right));
            more.push(Expr { collation, ..Expr::predicate(kind) });
        }
    }
}

fn column_expr(id: ColumnId, columns: &Columns) -> Expr {
    let info = &columns[id.0 as usize];
    Expr::column(id, info.sql_type, info.nullable, info.collation)
}

/// Has one column two different constants?
pub(super) fn has_contradiction(all: &[Expr], columns: &Columns) -> bool {
    let constant = |conjunct: &Expr| -> Option<(ColumnId, Value)> {
        let ExprKind::Compare(CompareOp::Equal, left, right) = &conjunct.kind else { return None };
        let (ExprKind::Column(id), ExprKind::Constant(value)) = (&left.kind, &right.kind) else {
            return None;
        };
        let info = &columns[id.0 as usize];
        let is_own = !info.sql_type.is_character() || conjunct.collation == info.collation;
        (is_own && info.sql_type == right.sql_type && !value.is_null()).then(|| (*id, value.clone()))
    };
    let known: Vec<(ColumnId, Value)> = all.iter().filter_map(constant).collect();
    known.iter().enumerate().any(|(at, (id, value))| {
        let collation = columns[id.0 as usize].collation;
        let differs = |other: &(ColumnId, Value)| {
            other.0 == *id && types::sort_compare(&other.1, value, collation).is_ne()
        };
        known[at + 1..].iter().any(differs)
    })
}

/// Is the condition never TRUE on a row in which all these columns are NULL? Then an outer join that makes such rows may as well be an inner
/// one.
pub(super) fn rejects_nulls(conjunct: &Expr, columns: &FxHashSet<ColumnId>) -> bool {
    match &conjunct.kind {
        ExprKind::Compare(_, left, right) => is_strict(left, columns) || is_strict(right, columns),
        ExprKind::InList(left, _) => is_strict(left, columns),
        ExprKind::Like(like) => is_strict(&like.input, columns),
        ExprKind::Not(inner) => matches!(&inner.kind, ExprKind::IsNull(tested) if is_strict(tested, columns)),
        ExprKind::And(left, right) => rejects_nulls(left, columns) || rejects_nulls(right, columns),
        ExprKind::Or(left, right) => rejects_nulls(left, columns) && rejects_nulls(right, columns),
        _ => false,
    }
}

/// Is the value NULL when all these columns are?
fn is_strict(expr: &Expr, columns: &FxHashSet<ColumnId>) -> bool {
    match &expr.kind {
        ExprKind::Column(id) => columns.contains(id),
        ExprKind::Retype(inner) => is_strict(inner, columns),
        _ => false,
    }
}
