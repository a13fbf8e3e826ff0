//! GROUP BY: after grouping only keys, aggregates and outer columns may be used (error 8120), but for what is never evaluated.

use plan_ir::bound::tree::{Expr, ExprKind, Rel, SortKey, SubqueryKind};
use plan_ir::kinds::{AggregateKind, ColumnId};
use rustc_hash::FxHashSet;
use types::SqlError;

use super::Binder;
use super::grouping_sets::Grouping;
use super::item::Item;
use super::reachable::only_reachable;

impl Binder<'_> {
    /// Puts the grouping over `rel` and rewrites everything above it to read keys and aggregates.
    pub(super) fn group(
        &mut self,
        rel: Rel,
        grouping: Grouping,
        items: &mut [Item],
        having: &mut Option<Expr>,
        order: &mut [SortKey],
    ) -> Result<Rel, SqlError> {
        let aggregates = std::mem::take(&mut self.scope().aggregates);
        let counted: Vec<ColumnId> = aggregates.iter().map(|aggregate| aggregate.0).collect();
        let (rel, columns) = match &grouping.sets {
            Some(_) if aggregates.iter().any(|aggregate| aggregate.1.kind == AggregateKind::ChecksumAgg) => {
                return Err(SqlError::new(8710, &[]));
            }
            Some(sets) => self.group_by_sets(rel, grouping.keys.clone(), sets, aggregates),
            None => {
                let columns: Vec<ColumnId> = grouping.keys.iter().map(|key| self.column_for(key)).collect();
                let keys = columns.iter().copied().zip(grouping.keys.iter().cloned()).collect();
                (Rel::Aggregate { input: Box::new(rel), keys, aggregates }, columns)
            }
        };
        // Operators above read the key where they name its expression.
        let key_columns: Vec<(ColumnId, Expr)> = columns.into_iter().zip(grouping.keys).collect();
        let mut allowed: FxHashSet<ColumnId> = key_columns.iter().map(|key| key.0).collect();
        allowed.extend(counted);
        allowed.extend(self.scope().windows.iter().map(|window| window.0));
        let own: FxHashSet<ColumnId> = self
            .scope()
            .tables
            .iter()
            .flat_map(|table| table.columns.iter().map(|column| column.id))
            .collect();
        let mut windows = std::mem::take(&mut self.scope().windows);
        let context = GroupContext { keys: &key_columns, allowed: &allowed, own: &own };
        for item in items.iter_mut() {
            self.regroup(&mut item.expr, &context, "select list")?;
        }
        for key in order.iter_mut() {
            self.regroup(&mut key.expr, &context, "ORDER BY clause")?;
        }
        if let Some(having) = having {
            self.regroup(having, &context, "HAVING clause")?;
        }
        for (_, window) in &mut windows {
            for expr in window.expressions_mut() {
                self.regroup(expr, &context, "select list")?;
            }
        }
        self.scope().windows = windows;
        Ok(rel)
    }

    fn regroup(&self, expr: &mut Expr, context: &GroupContext<'_>, clause: &str) -> Result<(), SqlError> {
        if let Some((id, _)) = context.keys.iter().find(|key| key.1.same_as(expr)) {
            *expr = self.column_expr(*id);
            return Ok(());
        }
        only_reachable(expr);
        match &mut expr.kind {
            ExprKind::Column(id) if context.own.contains(id) && !context.allowed.contains(id) => {
                return Err(plan_ir::errors::not_grouped(&self.column_name(*id), clause));
            }
            ExprKind::Subquery(subquery) => {
                // A subquery may read the keys: its references are renamed in place where they are plain columns.
                let free = subquery.rel.free_columns();
                for (id, key) in context.keys {
                    if let Some(column) = key.as_column()
                        && free.contains(&column)
                    {
                        let rel = std::sync::Arc::make_mut(&mut subquery.rel);
                        rel.rename_free(column, &self.column_expr(*id));
                    }
                }
                for id in subquery.rel.free_columns() {
                    if context.own.contains(&id) && !context.allowed.contains(&id) {
                        return Err(plan_ir::errors::not_grouped(&self.column_name(id), clause));
                    }
                }
                if let SubqueryKind::Any(_, left, _) | SubqueryKind::All(_, left, _) = &mut subquery.kind {
                    return self.regroup(left, context, clause);
                }
            }
            _ => {
                for child in expr.children_mut() {
                    self.regroup(child, context, clause)?;
                }
            }
        }
        Ok(())
    }

    /// `table.column` for messages.
    fn column_name(&self, id: ColumnId) -> String {
        for scope in self.scopes.iter().rev() {
            for table in &scope.tables {
                if let Some(column) = table.columns.iter().find(|column| column.id == id) {
                    return if table.alias.is_empty() {
                        column.name.clone()
                    } else {
                        format!("{}.{}", table.alias, column.name)
                    };
                }
            }
        }
        String::new()
    }
}

struct GroupContext<'k> {
    keys: &'k [(ColumnId, Expr)],
    allowed: &'k FxHashSet<ColumnId>,
    own: &'k FxHashSet<ColumnId>,
}
