//! UNION, EXCEPT, INTERSECT, VALUES as a query, and recursive common table expressions.

use plan_ir::bound::coercibility::{check_resolved, combined, is_incomparable, resolved};
use plan_ir::bound::tree::{Expr, ExprKind, Rel, SetOpKind};
use plan_ir::kinds::ColumnId;
use plan_ir::names::same_name;
use tsql::ast;
use types::{SqlError, SqlType};

use super::{
    Binder, BoundQuery, CommonTableDefinition, CommonTableEntry, OutputColumn, WorkColumn, coerce, recursion,
};

impl Binder<'_> {
    /// A query body without ORDER BY.
    pub fn query_body(&mut self, body: &ast::QueryBody) -> Result<BoundQuery, SqlError> {
        self.deeper(|binder| match body {
            ast::QueryBody::Select(select) => {
                let bare = ast::Query {
                    span: select.span,
                    body: ast::QueryBody::SetOperation(Box::new(ast::SetOperation {
                        first: ast::QueryBody::Select(select.clone()),
                        rest: Vec::new(),
                    })),
                    order_by: Vec::new(),
                    offset: None,
                    for_clause: None,
                };
                let parts = binder.select(select, &bare)?;
                if parts.items.iter().any(|item| item.variable.is_some()) {
                    return Err(plan_ir::errors::assignment_mixed());
                }
                Ok(binder.project(parts))
            }
            ast::QueryBody::Ordered(query) => binder.query(query),
            ast::QueryBody::SetOperation(operation) => {
                let first = (None, &operation.first);
                let chain = std::iter::once(first).chain(operation.rest.iter().map(|(op, q)| (Some(*op), q)));
                let runs = chain.clone().zip(chain.clone().skip(1)).filter(|(a, b)| !continues_run(a.0, b.0));
                binder.deeper_by(RUN_LEVELS * u32::try_from(runs.count()).unwrap_or(u32::MAX), |binder| {
                    binder.set_operations(chain)
                })
            }
        })
    }

    /// A chain of set operations from left to right. UNION after UNION, and UNION ALL after UNION ALL, become a balanced tree, so that a
    /// thousand of them do not nest a thousand deep.
    fn set_operations<'q>(
        &mut self,
        chain: impl Iterator<Item = (Option<ast::SetOperator>, &'q ast::QueryBody)>,
    ) -> Result<BoundQuery, SqlError> {
        let (mut run, mut run_operator) = (Vec::new(), None);
        for (operator, body) in chain {
            if operator.is_some() && first_block(body).into.is_some() {
                return Err(SqlError::new(196, &[]));
            }
            if run.len() > 1 && !continues_run(run_operator, operator) {
                run = vec![self.set_operation_run(run_operator, run)?];
            }
            run_operator = operator;
            run.push(self.query_body(body)?);
        }
        self.set_operation_run(run_operator, run)
    }

    /// Queries combined by one operator.
    fn set_operation_run(
        &mut self,
        operator: Option<ast::SetOperator>,
        mut run: Vec<BoundQuery>,
    ) -> Result<BoundQuery, SqlError> {
        let is_union = operator == Some(ast::SetOperator::Union);
        let name = match operator {
            Some(ast::SetOperator::Union) => "UNION",
            Some(ast::SetOperator::Except) => "EXCEPT",
            Some(ast::SetOperator::Intersect) => "INTERSECT",
            None | Some(ast::SetOperator::UnionAll) => UNION_ALL,
        };
        let kind = match operator {
            None | Some(ast::SetOperator::Union | ast::SetOperator::UnionAll) => SetOpKind::UnionAll,
            Some(ast::SetOperator::Except) => SetOpKind::Except,
            Some(ast::SetOperator::Intersect) => SetOpKind::Intersect,
        };
        while run.len() > 1 {
            let mut next = Vec::with_capacity(run.len().div_ceil(2));
            let mut queries = run.into_iter();
            while let Some(left) = queries.next() {
                next.push(match queries.next() {
                    Some(right) => self.set_operation(kind, name, left, right)?,
                    None => left,
                });
            }
            run = next;
        }
        let mut all = run.pop().expect("a chain has a first query");
        if is_union {
            all.rel = Rel::Distinct { input: Box::new(all.rel) };
        }
        Ok(all)
    }

    /// Two queries combined; errors 205, 206, 446, 468, 5335.
    fn set_operation(
        &mut self,
        kind: SetOpKind,
        name: &'static str,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<BoundQuery, SqlError> {
        if left.columns.len() != right.columns.len() {
            return Err(plan_ir::errors::set_operation_width());
        }
        let (mut left_items, mut right_items, mut columns, mut ids) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (a, b) in left.columns.iter().zip(&right.columns) {
            let side = |column: &OutputColumn, binder: &Self| {
                let expr = binder.column_expr(column.id);
                (expr, column.untyped_null)
            };
            let ((x, x_null), (y, y_null)) = (side(a, self), side(b, self));
            let compared = [&x, &y];
            let incomparable = compared.iter().find(|side| is_incomparable(&side.sql_type));
            if let Some(side) = incomparable.filter(|_| name != UNION_ALL) {
                return Err(SqlError::new(5335, &[&side.sql_type.name()]));
            }
            if name != UNION_ALL {
                resolved(name, compared)?;
            }
            let (collation, coercibility) = combined(name, compared)?;
            let to =
                types::arith::unify(&[(!x_null).then_some(x.sql_type), (!y_null).then_some(y.sql_type)])?
                    .unwrap_or(SqlType::Int);
            let retyped = |expr: Expr, untyped: bool| {
                if untyped { Ok(Expr::constant(types::Value::Null, to)) } else { coerce::implicit(expr, &to) }
            };
            let (x, y) = (retyped(x, x_null)?, retyped(y, y_null)?);
            let nullable = x.nullable || y.nullable;
            left_items.push((self.column_for(&x), x));
            right_items.push((self.column_for(&y), y));
            let value = Expr { collation, coercibility, ..Expr::new(ExprKind::Column(a.id), to, nullable) };
            let id = self.column_for(&value);
            ids.push(id);
            columns.push(OutputColumn {
                name: a.name.clone(),
                id,
                identity: false,
                base: false,
                untyped_null: x_null && y_null,
            });
        }
        let left = Box::new(projected(left.rel, left_items));
        let right = Box::new(projected(right.rel, right_items));
        Ok(BoundQuery { rel: Rel::SetOp { kind, left, right, columns: ids }, columns })
    }

    /// VALUES rows as a query of unnamed columns. Error 10709 for rows of different length.
    pub fn values_query(&mut self, rows: &[Vec<ast::Expr>]) -> Result<BoundQuery, SqlError> {
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        for row in rows {
            let values = row.iter().map(|expr| self.value(expr)).collect::<Result<Vec<_>, _>>()?;
            if bound.first().is_some_and(|first| first.len() != values.len()) {
                return Err(plan_ir::errors::values_width());
            }
            bound.push(values);
        }
        let width = bound.first().map_or(0, Vec::len);
        let mut ids: Vec<ColumnId> = Vec::with_capacity(width);
        let mut columns = Vec::with_capacity(width);
        for position in 0..width {
            let branches: Vec<Expr> = bound.iter().map(|row| row[position].clone()).collect();
            let untyped_null = branches.iter().all(Expr::is_untyped_null);
            let nullable = branches.iter().any(|branch| branch.nullable);
            let (collation, coercibility) = combined(UNION_ALL, &branches)?;
            let (branches, sql_type) = coerce::unify(branches)?;
            let value = Expr { collation, coercibility, ..branches[0].clone() };
            for (row, branch) in bound.iter_mut().zip(branches) {
                row[position] = branch;
            }
            let id = self.value_column(sql_type, nullable, Some(&value));
            ids.push(id);
            columns.push(OutputColumn {
                name: String::new(),
                id,
                identity: false,
                base: false,
                untyped_null,
            });
        }
        Ok(BoundQuery { rel: Rel::Values { columns: ids, rows: bound }, columns })
    }

    /// A recursive common table expression: anchor UNION ALL step. Errors 240, 246, 247, 252, 253, 460, 461, 462, 465, 467.
    pub(super) fn recursive(&mut self, table: &ast::CommonTable) -> Result<BoundQuery, SqlError> {
        let name = &table.name.value;
        let ast::QueryBody::SetOperation(operation) = &table.query.body else {
            return Err(plan_ir::errors::recursion_without_union(name));
        };
        let (anchors, steps) = recursion::members(operation, name, body_mentions)?;
        let mut anchor = self.query_body(&operation.first)?;
        for (operator, more) in anchors {
            let right = self.query_body(more)?;
            anchor = self.set_operation_run(Some(*operator), vec![anchor, right])?;
        }
        let work = self.next_work();
        let mut shape = Vec::new();
        let mut ids = Vec::new();
        for (index, column) in anchor.columns.iter().enumerate() {
            let info = self.column_expr(column.id);
            let visible = table.columns.get(index).map_or(column.name.clone(), |name| name.value.clone());
            ids.push(self.value_column(info.sql_type, true, Some(&info)));
            shape.push((visible, info));
        }
        let visible = self.common_tables.len();
        let definition = CommonTableDefinition::Work { work, columns: shape.clone() };
        self.common_tables.push(CommonTableEntry { name: name.clone(), definition, visible });
        let step = self.recursive_steps(&steps, &shape, (work, name));
        self.common_tables.truncate(visible);
        let anchor_items =
            anchor.columns.iter().map(|column| (self.column_expr(column.id), column.id)).collect::<Vec<_>>();
        let mut items = Vec::new();
        for (expr, _) in anchor_items {
            items.push((self.column_for(&expr), expr));
        }
        let anchor_rel = projected(anchor.rel, items);
        let columns = shape
            .iter()
            .zip(&ids)
            .map(|(column, id)| OutputColumn {
                name: column.0.clone(),
                id: *id,
                identity: false,
                base: false,
                untyped_null: false,
            })
            .collect();
        let rel = Rel::Recursive { anchor: Box::new(anchor_rel), step: Box::new(step?), columns: ids, work };
        Ok(BoundQuery { rel, columns })
    }

    fn recursive_steps(
        &mut self,
        steps: &[&ast::QueryBody],
        shape: &[WorkColumn],
        (work, name): (u32, &str),
    ) -> Result<Rel, SqlError> {
        let mut all: Option<Rel> = None;
        for step in steps {
            let bound = self.query_body(step)?;
            recursion::check_step(&bound.rel, work, name)?;
            if bound.columns.len() != shape.len() {
                return Err(plan_ir::errors::set_operation_width());
            }
            let mut items = Vec::new();
            let mut ids = Vec::new();
            for (at, (column, (column_name, value))) in bound.columns.iter().zip(shape).enumerate() {
                let expr = self.column_expr(column.id);
                let sql_type = &value.sql_type;
                let (collation, coercibility) = combined(UNION_ALL, [value, &expr])?;
                check_resolved(&Expr { collation, coercibility, ..expr.clone() }, "SELECT", at + 1)?;
                if expr.sql_type != *sql_type && !column.untyped_null {
                    return Err(plan_ir::errors::recursion_type(column_name, name));
                }
                let expr =
                    if column.untyped_null { Expr::constant(types::Value::Null, *sql_type) } else { expr };
                let id = self.value_column(*sql_type, true, Some(value));
                items.push((id, expr));
                ids.push(id);
            }
            let rel = projected(bound.rel, items);
            all = Some(match all {
                None => rel,
                Some(left) => {
                    let columns =
                        ids.iter().map(|id| self.columns[id.0 as usize].clone()).collect::<Vec<_>>();
                    let ids = columns
                        .into_iter()
                        .map(|info| self.new_column(info.sql_type, info.nullable, info.collation))
                        .collect();
                    Rel::SetOp {
                        kind: SetOpKind::UnionAll,
                        left: Box::new(left),
                        right: Box::new(rel),
                        columns: ids,
                    }
                }
            });
        }
        Ok(all.expect("a recursion has a step"))
    }
}

/// The one set operation that compares nothing, as messages name it.
const UNION_ALL: &str = "UNION ALL";

/// Levels of nesting that a change of the operator in a chain counts for: it makes the tree one operator deeper.
const RUN_LEVELS: u32 = 2;

/// May the operand after `next` join the balanced run of those after `operator`?
fn continues_run(operator: Option<ast::SetOperator>, next: Option<ast::SetOperator>) -> bool {
    operator.is_none()
        || operator == next && matches!(next, Some(ast::SetOperator::Union | ast::SetOperator::UnionAll))
}

/// The first SELECT block of a query.
pub fn first_block(body: &ast::QueryBody) -> &ast::Select {
    match body {
        ast::QueryBody::Select(select) => select,
        ast::QueryBody::SetOperation(operation) => first_block(&operation.first),
        ast::QueryBody::Ordered(query) => first_block(&query.body),
    }
}

/// Does the definition mention its own name?
pub(super) fn is_recursive(table: &ast::CommonTable) -> bool {
    body_mentions(&table.query.body, &table.name.value)
}

fn body_mentions(body: &ast::QueryBody, name: &str) -> bool {
    match body {
        ast::QueryBody::Select(select) => select.from.iter().any(|source| source_mentions(source, name)),
        ast::QueryBody::Ordered(query) => body_mentions(&query.body, name),
        ast::QueryBody::SetOperation(operation) => {
            body_mentions(&operation.first, name)
                || operation.rest.iter().any(|part| body_mentions(&part.1, name))
        }
    }
}

fn source_mentions(source: &ast::TableSource, name: &str) -> bool {
    match source {
        ast::TableSource::Table(table) => table.name.is_simple() && same_name(&table.name.name.value, name),
        ast::TableSource::Join(join) => {
            source_mentions(&join.left, name) || source_mentions(&join.right, name)
        }
        ast::TableSource::Derived(derived) => body_mentions(&derived.query.body, name),
        ast::TableSource::OdbcOuterJoin(inner) => source_mentions(inner, name),
        _ => false,
    }
}

/// A projection, left out when it would change only column ids that are not shared.
fn projected(rel: Rel, items: Vec<(ColumnId, Expr)>) -> Rel {
    debug_assert!(items.iter().all(|item| !matches!(item.1.kind, ExprKind::Subquery(_))));
    Rel::Project { input: Box::new(rel), items }
}
