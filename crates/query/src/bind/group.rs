//! GROUP BY: after grouping only keys, aggregates and outer columns may be used (error 8120).

use rustc_hash::FxHashSet;
use tsql::ast;
use types::SqlError;

use super::select::Item;
use super::{Binder, Clause};
use crate::bound::tree::{Expr, ExprKind, Rel, SortKey, SubqueryKind};
use crate::kinds::ColumnId;

impl Binder<'_> {
    /// Binds the grouping expressions. Errors 144, 164.
    pub(super) fn group_keys(&mut self, group: &ast::GroupBy) -> Result<Vec<Expr>, SqlError> {
        if group.with.is_some() {
            return Err(crate::errors::unsupported("WITH CUBE and WITH ROLLUP"));
        }
        let mut keys = Vec::new();
        for element in &group.items {
            match element {
                ast::GroupingElement::Expr(expr) => {
                    let key = self.in_clause(Clause::Rows, |binder| binder.value(expr))?;
                    if key.columns().is_empty() {
                        return Err(crate::errors::group_by_without_column());
                    }
                    keys.push(key);
                }
                ast::GroupingElement::Group(list) if group.items.len() == 1 => {
                    for expr in list {
                        keys.push(self.in_clause(Clause::Rows, |binder| binder.value(expr))?);
                    }
                }
                _ => return Err(crate::errors::unsupported("GROUPING SETS, ROLLUP and CUBE")),
            }
        }
        Ok(keys)
    }

    /// Puts the grouping over `rel` and rewrites everything above it to read keys and aggregates.
    pub(super) fn group(
        &mut self,
        rel: Rel,
        keys: Vec<Expr>,
        items: &mut [Item],
        having: &mut Option<Expr>,
        order: &mut [SortKey],
    ) -> Result<Rel, SqlError> {
        let mut key_columns: Vec<(ColumnId, Expr)> = Vec::new();
        for key in keys {
            if !key_columns.iter().any(|known| known.1.same_as(&key)) {
                key_columns.push((self.column_for(&key), key));
            }
        }
        let aggregates = std::mem::take(&mut self.scope().aggregates);
        let mut allowed: FxHashSet<ColumnId> = key_columns.iter().map(|key| key.0).collect();
        allowed.extend(aggregates.iter().map(|aggregate| aggregate.0));
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
        Ok(Rel::Aggregate { input: Box::new(rel), keys: key_columns, aggregates })
    }

    fn regroup(&self, expr: &mut Expr, context: &GroupContext<'_>, clause: &str) -> Result<(), SqlError> {
        if let Some((id, _)) = context.keys.iter().find(|key| key.1.same_as(expr)) {
            *expr = self.column_expr(*id);
            return Ok(());
        }
        match &mut expr.kind {
            ExprKind::Column(id) if context.own.contains(id) && !context.allowed.contains(id) => {
                return Err(crate::errors::not_grouped(&self.column_name(*id), clause));
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
                        return Err(crate::errors::not_grouped(&self.column_name(id), clause));
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
