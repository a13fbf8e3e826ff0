//! Walks over bound expressions: which columns they use, rewriting, structural equality.

use rustc_hash::FxHashSet;

use super::tree::{Expr, ExprKind, SubqueryKind};
use crate::function_def::Determinism;
use crate::kinds::ColumnId;

impl Expr {
    /// Direct sub-expressions; of a subquery only the left operand.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Constant(_)
            | ExprKind::Variable(_)
            | ExprKind::Undeclared(_)
            | ExprKind::Column(_)
            | ExprKind::NextValue(_) => Vec::new(),
            ExprKind::Binary(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b) => {
                vec![a, b]
            }
            ExprKind::Unary(_, a)
            | ExprKind::Convert(a, _)
            | ExprKind::Not(a)
            | ExprKind::Tolerant(a)
            | ExprKind::IsNull(a)
            | ExprKind::Retype(a) => {
                vec![a]
            }
            ExprKind::Like(like) => {
                [Some(&like.input), Some(&like.pattern), like.escape.as_ref()].into_iter().flatten().collect()
            }
            ExprKind::InList(a, list) => std::iter::once(&**a).chain(list).collect(),
            ExprKind::Case(branches, otherwise) => branches
                .iter()
                .flat_map(|branch| [&branch.0, &branch.1])
                .chain(otherwise.as_deref())
                .collect(),
            ExprKind::Coalesce(list) | ExprKind::Call(_, list) | ExprKind::UserCall(_, list) => {
                list.iter().collect()
            }
            ExprKind::Subquery(subquery) => match &subquery.kind {
                SubqueryKind::Any(_, a, b) | SubqueryKind::All(_, a, b) => vec![a, b],
                SubqueryKind::Scalar | SubqueryKind::Exists => Vec::new(),
            },
        }
    }

    /// The same, mutable.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Constant(_)
            | ExprKind::Variable(_)
            | ExprKind::Undeclared(_)
            | ExprKind::Column(_)
            | ExprKind::NextValue(_) => Vec::new(),
            ExprKind::Binary(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b) => {
                vec![a, b]
            }
            ExprKind::Unary(_, a)
            | ExprKind::Convert(a, _)
            | ExprKind::Not(a)
            | ExprKind::Tolerant(a)
            | ExprKind::IsNull(a)
            | ExprKind::Retype(a) => {
                vec![a]
            }
            ExprKind::Like(like) => {
                let like = &mut **like;
                [Some(&mut like.input), Some(&mut like.pattern), like.escape.as_mut()]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            ExprKind::InList(a, list) => std::iter::once(&mut **a).chain(list).collect(),
            ExprKind::Case(branches, otherwise) => branches
                .iter_mut()
                .flat_map(|branch| [&mut branch.0, &mut branch.1])
                .chain(otherwise.as_deref_mut())
                .collect(),
            ExprKind::Coalesce(list) | ExprKind::Call(_, list) | ExprKind::UserCall(_, list) => {
                list.iter_mut().collect()
            }
            ExprKind::Subquery(subquery) => match &mut subquery.kind {
                SubqueryKind::Any(_, a, b) | SubqueryKind::All(_, a, b) => vec![a, b],
                SubqueryKind::Scalar | SubqueryKind::Exists => Vec::new(),
            },
        }
    }

    /// Adds every column that the expression reads, also inside subqueries.
    pub fn collect_columns(&self, into: &mut FxHashSet<ColumnId>) {
        if let ExprKind::Column(id) = &self.kind {
            into.insert(*id);
        }
        let ExprKind::Subquery(subquery) = &self.kind else {
            return self.children().into_iter().for_each(|child| child.collect_columns(into));
        };
        subquery.rel.collect_free(into);
        if let SubqueryKind::Any(_, left, right) | SubqueryKind::All(_, left, right) = &subquery.kind {
            left.collect_columns(into);
            // The columns on the right are made by the subquery itself.
            let made: FxHashSet<ColumnId> = subquery.rel.output().into_iter().collect();
            into.extend(right.columns().difference(&made));
        }
    }

    /// Adds every column whose value matters to the expression, those that its subqueries make among them.
    pub fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        match &self.kind {
            ExprKind::Column(id) => drop(into.insert(*id)),
            ExprKind::Subquery(subquery) => match (&subquery.kind, &*subquery.rel) {
                // Whether there is a row does not depend on what it shows.
                (SubqueryKind::Exists, rel) => rel.collect_read(into),
                (_, rel) => {
                    into.extend(rel.output());
                    rel.collect_read(into);
                }
            },
            _ => {}
        }
        self.children().into_iter().for_each(|child| child.collect_read(into));
    }

    /// Adds the sequences that it draws from.
    pub fn collect_sequences(&self, into: &mut Vec<std::sync::Arc<crate::table::SequenceSource>>) {
        if let ExprKind::NextValue(source) = &self.kind {
            into.push(source.clone());
        }
        self.children().into_iter().for_each(|child| child.collect_sequences(into));
    }

    /// Columns that the expression reads.
    pub fn columns(&self) -> FxHashSet<ColumnId> {
        let mut set = FxHashSet::default();
        self.collect_columns(&mut set);
        set
    }

    /// True when every column read is in `available`.
    pub fn uses_only(&self, available: &FxHashSet<ColumnId>) -> bool {
        self.columns().iter().all(|id| available.contains(id))
    }

    /// True when any column read is in `set`.
    pub fn uses_any(&self, set: &FxHashSet<ColumnId>) -> bool {
        self.columns().iter().any(|id| set.contains(id))
    }

    /// Contains a subquery, or a call of a user's function, whose body may read tables.
    pub fn has_subquery(&self) -> bool {
        matches!(self.kind, ExprKind::Subquery(_) | ExprKind::UserCall(..))
            || self.children().iter().any(|child| child.has_subquery())
    }

    /// Calls a scalar function that a user has created.
    pub fn calls_function(&self) -> bool {
        matches!(self.kind, ExprKind::UserCall(..))
            || self.children().iter().any(|child| child.calls_function())
    }

    /// Contains a subquery in its own text.
    pub fn has_written_subquery(&self) -> bool {
        matches!(self.kind, ExprKind::Subquery(_))
            || self.children().iter().any(|child| child.has_written_subquery())
    }

    /// Has a subquery that reads one of these columns, so that it is evaluated for each of their rows; any other one has one value for all.
    pub fn asks_for_each_of(&self, columns: &FxHashSet<ColumnId>) -> bool {
        let is_tied = match &self.kind {
            ExprKind::Subquery(subquery) => subquery.rel.free_columns().iter().any(|id| columns.contains(id)),
            _ => false,
        };
        is_tied || self.children().iter().any(|child| child.asks_for_each_of(columns))
    }

    /// Has a call whose value may differ from call to call (NEWID, functions of users).
    pub fn is_volatile(&self) -> bool {
        match &self.kind {
            ExprKind::Call(function, _) if function.determinism == Determinism::Volatile => true,
            ExprKind::NextValue(_) | ExprKind::UserCall(..) => true,
            _ => self.children().iter().any(|child| child.is_volatile()),
        }
    }

    /// Replaces sub-trees from the top: where `replace` gives a tree, its children are not visited.
    pub fn rewrite(&mut self, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) {
        if let Some(new) = replace(self) {
            *self = new;
            return;
        }
        for child in self.children_mut() {
            child.rewrite(replace);
        }
    }

    /// The same, also inside subqueries.
    pub fn rewrite_deep(&mut self, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) {
        if let Some(new) = replace(self) {
            *self = new;
            return;
        }
        if let ExprKind::Subquery(subquery) = &mut self.kind {
            std::sync::Arc::make_mut(&mut subquery.rel)
                .visit_expressions_mut(&mut |expr| expr.rewrite_deep(replace));
        }
        for child in self.children_mut() {
            child.rewrite_deep(replace);
        }
    }

    /// Splits a conjunction.
    pub fn split_conjuncts(self, into: &mut Vec<Expr>) {
        match self.kind {
            ExprKind::And(a, b) => {
                a.split_conjuncts(into);
                b.split_conjuncts(into);
            }
            kind => into.push(Expr { kind, ..self }),
        }
    }

    /// Structural equality, for GROUP BY and index matching. Subqueries, volatile calls and values of sequences are never equal.
    pub fn same_as(&self, other: &Expr) -> bool {
        let heads = match (&self.kind, &other.kind) {
            (ExprKind::Constant(a), ExprKind::Constant(b)) => a == b && self.sql_type == other.sql_type,
            (ExprKind::Variable(a), ExprKind::Variable(b)) => a == b,
            (ExprKind::Column(a), ExprKind::Column(b)) => a == b,
            (ExprKind::Binary(a, ..), ExprKind::Binary(b, ..)) => a == b,
            (ExprKind::Unary(a, _), ExprKind::Unary(b, _)) => a == b,
            (ExprKind::Compare(a, ..), ExprKind::Compare(b, ..)) => a == b,
            (ExprKind::Convert(_, a), ExprKind::Convert(_, b)) => a == b && self.sql_type == other.sql_type,
            (ExprKind::Call(a, x), ExprKind::Call(b, y)) => {
                // One function may make several types of the same arguments (PARSE).
                std::ptr::eq(*a, *b)
                    && x.len() == y.len()
                    && self.sql_type == other.sql_type
                    && a.determinism != Determinism::Volatile
            }
            (ExprKind::UserCall(a, _), ExprKind::UserCall(b, _)) => a.is_same(b),
            (ExprKind::Case(a, x), ExprKind::Case(b, y)) => a.len() == b.len() && x.is_some() == y.is_some(),
            (ExprKind::Retype(_), ExprKind::Retype(_)) => {
                self.collation == other.collation && self.sql_type == other.sql_type
            }
            (ExprKind::Subquery(_) | ExprKind::NextValue(_), _)
            | (_, ExprKind::Subquery(_) | ExprKind::NextValue(_)) => false,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        if !heads {
            return false;
        }
        let (mine, theirs) = (self.children(), other.children());
        mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(a, b)| a.same_as(b))
    }
}
