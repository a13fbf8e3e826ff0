//! Walks over row sources: their inputs, expressions and columns.

use rustc_hash::FxHashSet;

use super::tree::{AggregateCall, Expr, Rel, SetOpKind, WindowCall, WindowKind};
use crate::kinds::{ColumnId, JoinKind};

impl Rel {
    /// Output columns in order.
    pub fn output(&self) -> Vec<ColumnId> {
        match self {
            Rel::OneRow => Vec::new(),
            Rel::Values { columns, .. }
            | Rel::SetOp { columns, .. }
            | Rel::Recursive { columns, .. }
            | Rel::WorkTable { columns, .. } => columns.clone(),
            Rel::Table(scan) => scan.columns.iter().copied().chain(scan.locator).collect(),
            Rel::System(scan) => scan.columns.clone(),
            Rel::FunctionTable { columns, .. } => columns.clone(),
            Rel::Filter { input, .. }
            | Rel::Distinct { input }
            | Rel::Sort { input, .. }
            | Rel::Top { input, .. }
            | Rel::Offset { input, .. } => input.output(),
            Rel::Project { items, .. } => items.iter().map(|item| item.0).collect(),
            Rel::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => left.output(),
            Rel::Join { left, right, .. } | Rel::Apply { left, right, .. } => {
                let mut all = left.output();
                all.extend(right.output());
                all
            }
            Rel::Aggregate { keys, aggregates, .. } => {
                keys.iter().map(|key| key.0).chain(aggregates.iter().map(|aggregate| aggregate.0)).collect()
            }
            Rel::Window { input, calls } => {
                input.output().into_iter().chain(calls.iter().map(|call| call.0)).collect()
            }
            Rel::Formatted { column, .. } => vec![*column],
            Rel::NextValue { input, sequence } => input.output().into_iter().chain([sequence.0]).collect(),
        }
    }

    /// The inputs.
    pub fn inputs(&self) -> Vec<&Rel> {
        match self {
            Rel::OneRow
            | Rel::Values { .. }
            | Rel::Table(_)
            | Rel::System(_)
            | Rel::FunctionTable { .. }
            | Rel::WorkTable { .. } => Vec::new(),
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Aggregate { input, .. }
            | Rel::Window { input, .. }
            | Rel::NextValue { input, .. }
            | Rel::Formatted { input, .. }
            | Rel::Distinct { input }
            | Rel::Sort { input, .. }
            | Rel::Top { input, .. }
            | Rel::Offset { input, .. } => vec![input],
            Rel::Join { left, right, .. }
            | Rel::Apply { left, right, .. }
            | Rel::SetOp { left, right, .. } => vec![left, right],
            Rel::Recursive { anchor, step, .. } => vec![anchor, step],
        }
    }

    /// Expressions of this node itself.
    pub fn expressions(&self) -> Vec<&Expr> {
        match self {
            Rel::Table(scan) => scan.computed.iter().map(|computed| &computed.1).collect(),
            Rel::OneRow
            | Rel::Distinct { .. }
            | Rel::SetOp { .. }
            | Rel::Recursive { .. }
            | Rel::WorkTable { .. }
            | Rel::NextValue { .. }
            | Rel::Formatted { .. }
            | Rel::Apply { .. } => Vec::new(),
            Rel::Values { rows, .. } => rows.iter().flatten().collect(),
            Rel::System(scan) => scan.arguments.iter().collect(),
            Rel::FunctionTable { arguments, .. } => arguments.iter().collect(),
            Rel::Filter { predicate, .. } => vec![predicate],
            Rel::Project { items, .. } => items.iter().map(|item| &item.1).collect(),
            Rel::Join { on, .. } => on.iter().collect(),
            Rel::Aggregate { keys, aggregates, .. } => keys
                .iter()
                .map(|key| &key.1)
                .chain(aggregates.iter().flat_map(|aggregate| aggregate.1.expressions()))
                .collect(),
            Rel::Window { calls, .. } => calls.iter().flat_map(|call| call.1.expressions()).collect(),
            Rel::Sort { keys, .. } => keys.iter().map(|key| &key.expr).collect(),
            Rel::Top { top, .. } => {
                std::iter::once(&top.count).chain(top.ties.iter().map(|key| &key.expr)).collect()
            }
            Rel::Offset { offset, fetch, .. } => std::iter::once(offset).chain(fetch.as_ref()).collect(),
        }
    }

    /// Adds every column whose value is needed in the tree, subqueries included. `into` already has the needed output columns, from the
    /// caller. A column that is not read is not computed: its inputs are not needed for it, and it raises
    /// no error.
    pub fn collect_read(&self, into: &mut FxHashSet<ColumnId>) {
        self.expressions_read(into).into_iter().for_each(|expr| expr.collect_read(into));
        match self {
            // These look at whole rows.
            Rel::Distinct { .. } | Rel::Recursive { .. } => {
                self.inputs().into_iter().for_each(|input| into.extend(input.output()));
            }
            Rel::Formatted { read, .. } => into.extend(read),
            Rel::SetOp { kind, left, right, columns } => {
                for side in [left, right] {
                    let passed = side.output().into_iter().zip(columns);
                    let is_read = |id: &ColumnId| *kind != SetOpKind::UnionAll || into.contains(id);
                    let read: Vec<ColumnId> =
                        passed.filter(|(_, id)| is_read(id)).map(|pair| pair.0).collect();
                    into.extend(read);
                }
            }
            _ => {}
        }
        // The right side of a join may read columns of the left one: what is read of the left one is known after it.
        self.inputs().into_iter().rev().for_each(|input| input.collect_read(into));
    }

    /// The expressions of this node, without those of columns that are not read.
    fn expressions_read(&self, read: &FxHashSet<ColumnId>) -> Vec<&Expr> {
        match self {
            Rel::Table(scan) => {
                let computed = scan.computed.iter();
                computed.filter(|one| read.contains(&scan.columns[one.0])).map(|one| &one.1).collect()
            }
            Rel::Values { columns, rows } => {
                let of_row = |row| columns.iter().zip(row).filter(|cell| read.contains(cell.0));
                rows.iter().flat_map(of_row).map(|cell| cell.1).collect()
            }
            Rel::Project { items, .. } => {
                items.iter().filter(|item| read.contains(&item.0)).map(|item| &item.1).collect()
            }
            Rel::Aggregate { keys, aggregates, .. } => {
                let called = aggregates.iter().filter(|call| read.contains(&call.0));
                keys.iter().map(|key| &key.1).chain(called.flat_map(|call| call.1.expressions())).collect()
            }
            Rel::Window { calls, .. } => {
                let called = calls.iter().filter(|call| read.contains(&call.0));
                called.flat_map(|call| call.1.expressions()).collect()
            }
            _ => self.expressions(),
        }
    }

    /// A simpler tree that has a row if and only if this one has: without output columns and without operators that never add or remove the last
    /// row. TOP and OFFSET count rows and grouping makes rows, so they stay.
    pub fn existence(self) -> Rel {
        match self {
            Rel::Project { input, .. }
            | Rel::Distinct { input }
            | Rel::Sort { input, .. }
            | Rel::Window { input, .. } => input.existence(),
            Rel::Aggregate { input, keys, .. } if !keys.is_empty() => {
                Rel::Aggregate { input, keys, aggregates: Vec::new() }
            }
            // All rows are one group, and so are none.
            Rel::Aggregate { .. } => Rel::OneRow,
            Rel::SetOp { kind: SetOpKind::UnionAll, left, right, .. } => {
                let side =
                    |rel: Rel| Box::new(Rel::Project { input: Box::new(rel.existence()), items: Vec::new() });
                Rel::SetOp {
                    kind: SetOpKind::UnionAll,
                    left: side(*left),
                    right: side(*right),
                    columns: Vec::new(),
                }
            }
            rel => rel,
        }
    }

    /// Adds the columns that the tree reads but does not itself make: its correlation.
    pub fn collect_free(&self, into: &mut FxHashSet<ColumnId>) {
        let mut used = FxHashSet::default();
        let mut made = FxHashSet::default();
        self.collect_used_and_made(&mut used, &mut made);
        into.extend(used.difference(&made));
    }

    /// Columns that the tree reads but does not itself make.
    pub fn free_columns(&self) -> FxHashSet<ColumnId> {
        let mut free = FxHashSet::default();
        self.collect_free(&mut free);
        free
    }

    fn collect_used_and_made(&self, used: &mut FxHashSet<ColumnId>, made: &mut FxHashSet<ColumnId>) {
        for expr in self.expressions() {
            expr.collect_columns(used);
        }
        made.extend(self.output());
        for input in self.inputs() {
            input.collect_used_and_made(used, made);
        }
    }
}

impl Rel {
    /// Replaces reads of a column from outside, through the whole tree.
    pub fn rename_free(&mut self, from: ColumnId, to: &Expr) {
        self.visit_expressions_mut(&mut |expr| {
            expr.rewrite_deep(&mut |part| match &part.kind {
                crate::bound::tree::ExprKind::Column(id) if *id == from => Some(to.clone()),
                _ => None,
            });
        });
    }

    /// Calls `f` on every expression of the tree.
    pub fn visit_expressions_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Rel::OneRow | Rel::WorkTable { .. } => {}
            Rel::Table(scan) => scan.computed.iter_mut().for_each(|computed| f(&mut computed.1)),
            Rel::Values { rows, .. } => rows.iter_mut().flatten().for_each(f),
            Rel::System(scan) => scan.arguments.iter_mut().for_each(f),
            Rel::FunctionTable { arguments, .. } => arguments.iter_mut().for_each(f),
            Rel::Filter { input, predicate } => {
                f(predicate);
                input.visit_expressions_mut(f);
            }
            Rel::Project { input, items } => {
                items.iter_mut().for_each(|item| f(&mut item.1));
                input.visit_expressions_mut(f);
            }
            Rel::Join { left, right, on, .. } => {
                on.iter_mut().for_each(&mut *f);
                left.visit_expressions_mut(f);
                right.visit_expressions_mut(f);
            }
            Rel::Apply { left, right, .. } | Rel::SetOp { left, right, .. } => {
                left.visit_expressions_mut(f);
                right.visit_expressions_mut(f);
            }
            Rel::Aggregate { input, keys, aggregates } => {
                keys.iter_mut().for_each(|key| f(&mut key.1));
                aggregates.iter_mut().flat_map(|aggregate| aggregate.1.expressions_mut()).for_each(&mut *f);
                input.visit_expressions_mut(f);
            }
            Rel::Window { input, calls } => {
                calls.iter_mut().flat_map(|call| call.1.expressions_mut()).for_each(&mut *f);
                input.visit_expressions_mut(f);
            }
            Rel::Distinct { input } | Rel::NextValue { input, .. } | Rel::Formatted { input, .. } => {
                input.visit_expressions_mut(f);
            }
            Rel::Sort { input, keys } => {
                keys.iter_mut().for_each(|key| f(&mut key.expr));
                input.visit_expressions_mut(f);
            }
            Rel::Top { input, top } => {
                f(&mut top.count);
                top.ties.iter_mut().for_each(|key| f(&mut key.expr));
                input.visit_expressions_mut(f);
            }
            Rel::Offset { input, offset, fetch } => {
                f(offset);
                fetch.iter_mut().for_each(&mut *f);
                input.visit_expressions_mut(f);
            }
            Rel::Recursive { anchor, step, .. } => {
                anchor.visit_expressions_mut(f);
                step.visit_expressions_mut(f);
            }
        }
    }
}

impl AggregateCall {
    /// Its expressions.
    pub fn expressions(&self) -> Vec<&Expr> {
        self.argument
            .iter()
            .chain(self.separator.as_ref())
            .chain(self.order.iter().map(|key| &key.expr))
            .collect()
    }

    /// The same, mutable.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        self.argument
            .iter_mut()
            .chain(self.separator.as_mut())
            .chain(self.order.iter_mut().map(|key| &mut key.expr))
            .collect()
    }
}

impl WindowCall {
    /// Its expressions.
    pub fn expressions(&self) -> Vec<&Expr> {
        let own: Vec<&Expr> = match &self.kind {
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::PercentRank
            | WindowKind::CumeDist => Vec::new(),
            WindowKind::Tile(expr) | WindowKind::Edge { value: expr, .. } => vec![expr],
            WindowKind::Shift { value, offset, default, .. } => {
                [Some(value), Some(offset), default.as_ref()].into_iter().flatten().collect()
            }
            WindowKind::Aggregate(aggregate) => aggregate.expressions(),
        };
        own.into_iter().chain(&self.partition).chain(self.order.iter().map(|key| &key.expr)).collect()
    }

    /// The same, mutable.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let own: Vec<&mut Expr> = match &mut self.kind {
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::PercentRank
            | WindowKind::CumeDist => Vec::new(),
            WindowKind::Tile(expr) | WindowKind::Edge { value: expr, .. } => vec![expr],
            WindowKind::Shift { value, offset, default, .. } => {
                [Some(value), Some(offset), default.as_mut()].into_iter().flatten().collect()
            }
            WindowKind::Aggregate(aggregate) => aggregate.expressions_mut(),
        };
        own.into_iter()
            .chain(&mut self.partition)
            .chain(self.order.iter_mut().map(|key| &mut key.expr))
            .collect()
    }
}
