//! PIVOT and UNPIVOT (docs: from-using-pivot-and-unpivot): rows that become columns by an aggregate of each value, and columns that become rows.
//!
//! `s PIVOT (SUM(v) FOR m IN ([1], [2]))` groups the rows of `s` by all its other columns; the column `[1]` is `SUM(CASE m WHEN 1 THEN v END)`.
//! `s UNPIVOT (v FOR m IN (a, b))` is `s CROSS APPLY (VALUES (a, N'a'), (b, N'b')) AS u (v, m) WHERE v IS NOT NULL` without `a` and `b`.

use plan_ir::bound::coercibility::check_key;
use plan_ir::bound::tree::{Expr, ExprKind, Rel};
use plan_ir::kinds::ColumnId;
use plan_ir::names::same_name;
use tsql::ast::{self, ColumnName, ColumnRef, Literal, Pivot, Unpivot};
use types::convert::ConvertContext;
use types::sql_type::TypeFamily;
use types::{SqlError, SqlType, Value};

use super::{Binder, BoundQuery, Clause, OutputColumn, Scope, ScopeColumn};

/// The name that UNPIVOT gives for a column is a text of so many characters.
const NAME_CHARACTERS: u16 = 128;

impl Binder<'_> {
    /// Binds `source PIVOT (..) AS alias`. Errors 102, 207, 265, 473, 8114, 8156.
    pub(super) fn pivot(&mut self, pivot: &Pivot) -> Result<Rel, SqlError> {
        let (rel, columns) = self.over_source(&pivot.source, |binder, input| binder.pivoted(pivot, input))?;
        let alias = pivot.alias.as_ref().map_or("", |alias| alias.value.as_str());
        self.add_query(BoundQuery { rel, columns }, alias, &pivot.columns)
    }

    /// Binds `source UNPIVOT (..) AS alias`. Errors 207, 265, 8156, 8167.
    pub(super) fn unpivot(&mut self, unpivot: &Unpivot) -> Result<Rel, SqlError> {
        let (rel, columns) =
            self.over_source(&unpivot.source, |binder, input| binder.unpivoted(unpivot, input))?;
        let alias = unpivot.alias.as_ref().map_or("", |alias| alias.value.as_str());
        self.add_query(BoundQuery { rel, columns }, alias, &unpivot.column_aliases)
    }

    /// Binds a source, and `f` over its rows, in a scope that has its tables alone. No statement changes a table through it.
    fn over_source<T>(
        &mut self,
        source: &ast::TableSource,
        f: impl FnOnce(&mut Self, Rel) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let target = self.target.take();
        let result = self.hidden(|binder| {
            binder.scopes.push(Scope::default());
            let result = binder.source(source).and_then(|input| f(binder, input));
            binder.scopes.pop();
            result
        });
        self.target = target;
        result
    }

    fn pivoted(&mut self, pivot: &Pivot, input: Rel) -> Result<(Rel, Vec<OutputColumn>), SqlError> {
        let column = as_expression(&pivot.column, pivot.aggregate.span);
        let chosen = self.in_clause(Clause::Rows, |binder| binder.value(&column))?;
        let (call, value) = aggregate_of(&pivot.aggregate)?;
        let summed = self.in_clause(Clause::Rows, |binder| binder.value(value))?;
        let used: Vec<ColumnId> = [&chosen, &summed].into_iter().flat_map(Expr::as_column).collect();
        let kept: Vec<ScopeColumn> = self.other_columns(&used);
        self.scope().clause = Clause::Output;
        let mut made = Vec::with_capacity(pivot.values.len());
        for name in &pivot.values {
            check_new_name("PIVOT", &name.value, &kept)?;
            check_value(&name.value, &chosen.sql_type)?;
            let literal = match chosen.sql_type.family() {
                TypeFamily::Char => Literal::String(name.value.clone()),
                _ => Literal::NString(name.value.clone()),
            };
            let when = ast::Expr { span: value.span, kind: ast::ExprKind::Literal(literal) };
            let case = ast::Case {
                operand: Some(column.clone()),
                branches: vec![(when, value.clone())],
                otherwise: None,
            };
            let case = ast::Expr { span: value.span, kind: ast::ExprKind::Case(Box::new(case)) };
            let call = ast::FunctionCall { args: vec![case], ..call.clone() };
            let kind = ast::ExprKind::Function(Box::new(call));
            let aggregate = self.value(&ast::Expr { span: pivot.aggregate.span, kind })?;
            made.push((name.value.clone(), aggregate));
        }
        let aggregates = std::mem::take(&mut self.scope().aggregates);
        let mut columns = Vec::with_capacity(kept.len() + made.len());
        let mut items = Vec::with_capacity(kept.len() + made.len());
        let mut keys = Vec::with_capacity(kept.len());
        let mut show = |binder: &mut Self, name: String, value: Expr| {
            let id = binder.column_for(&value);
            items.push((id, value));
            columns.push(OutputColumn { name, id, identity: false, base: false, untyped_null: false });
        };
        for column in kept {
            let key = self.column_expr(column.id);
            check_key(&key, "GROUP BY", keys.len() + 1)?;
            let id = self.column_for(&key);
            keys.push((id, key));
            let key = self.column_expr(id);
            show(self, column.name, key);
        }
        // Two names of one value are one aggregate, and a column each.
        for (name, aggregate) in made {
            if !aggregate.as_column().is_some_and(|id| aggregates.iter().any(|one| one.0 == id)) {
                return Err(plan_ir::errors::syntax_near(&call.name.name.value));
            }
            show(self, name, aggregate);
        }
        let grouped = Rel::Aggregate { input: Box::new(input), keys, aggregates };
        Ok((Rel::Project { input: Box::new(grouped), items }, columns))
    }

    fn unpivoted(&mut self, unpivot: &Unpivot, input: Rel) -> Result<(Rel, Vec<OutputColumn>), SqlError> {
        let mut listed: Vec<(ColumnId, Expr)> = Vec::with_capacity(unpivot.columns.len());
        let mut rows = Vec::with_capacity(unpivot.columns.len());
        let name_type = SqlType::nvarchar(NAME_CHARACTERS);
        for column in &unpivot.columns {
            let named = as_expression(column, column.span);
            let value = self.in_clause(Clause::Rows, |binder| binder.value(&named))?;
            let Some(id) = value.as_column() else {
                return Err(plan_ir::errors::syntax_near(&column.name.value));
            };
            let name = self.scope().tables.iter().flat_map(|table| &table.columns);
            let name = name.into_iter().find(|known| known.id == id).map(|known| known.name.clone());
            let name = name.unwrap_or_else(|| column.name.value.clone());
            if listed.iter().any(|known| known.0 == id) {
                let alias = unpivot.alias.as_ref().map_or("", |alias| alias.value.as_str());
                return Err(plan_ir::errors::column_named_twice(&name, alias));
            }
            if let Some((_, first)) = listed.first()
                && (first.sql_type != value.sql_type || first.collation != value.collation)
            {
                return Err(SqlError::new(8167, &[&name]));
            }
            rows.push(vec![value.clone(), Expr::constant(Value::NChar(name.as_str().into()), name_type)]);
            listed.push((id, value));
        }
        let first =
            listed.first().map(|listed| listed.1.clone()).ok_or_else(|| plan_ir::errors::syntax_near(")"))?;
        let has_null = listed.iter().any(|listed| listed.1.nullable);
        let ids: Vec<ColumnId> = listed.iter().map(|listed| listed.0).collect();
        let kept = self.other_columns(&ids);
        for name in [&unpivot.value.value, &unpivot.column.value] {
            check_new_name("UNPIVOT", name, &kept)?;
        }
        let value = self.value_column(first.sql_type, has_null, Some(&first));
        let name = self.new_column(name_type, false, Default::default());
        let mut columns: Vec<OutputColumn> =
            kept.into_iter().map(|column| output(column.name, column.id)).collect();
        columns.push(output(unpivot.value.value.clone(), value));
        columns.push(output(unpivot.column.value.clone(), name));
        let values = Rel::Values { columns: vec![value, name], rows };
        let values = if has_null {
            let value = Box::new(self.column_expr(value));
            let predicate =
                Expr::predicate(ExprKind::Not(Box::new(Expr::predicate(ExprKind::IsNull(value)))));
            Rel::Filter { input: Box::new(values), predicate }
        } else {
            values
        };
        Ok((Rel::Apply { outer: false, left: Box::new(input), right: Box::new(values) }, columns))
    }

    /// The columns of the source in order, without these.
    fn other_columns(&mut self, used: &[ColumnId]) -> Vec<ScopeColumn> {
        let all = self.scope().tables.iter().flat_map(|table| table.columns.iter());
        all.filter(|column| !used.contains(&column.id)).cloned().collect()
    }
}

/// The aggregate of PIVOT and its column: a function of one column. Error 102.
fn aggregate_of(aggregate: &ast::Expr) -> Result<(&ast::FunctionCall, &ast::Expr), SqlError> {
    let ast::ExprKind::Function(call) = &aggregate.kind else {
        return Err(plan_ir::errors::syntax_near("("));
    };
    if call.star {
        return Err(plan_ir::errors::syntax_near("*"));
    }
    match call.args.as_slice() {
        [value] if call.extra.is_none() && call.quantifier.is_none() => match &value.kind {
            ast::ExprKind::Column(_) => Ok((call, value)),
            _ => Err(plan_ir::errors::syntax_near(&call.name.name.value)),
        },
        _ => Err(plan_ir::errors::syntax_near(&call.name.name.value)),
    }
}

/// A name that PIVOT or UNPIVOT makes is none that the source keeps: 265.
fn check_new_name(operator: &str, name: &str, kept: &[ScopeColumn]) -> Result<(), SqlError> {
    if kept.iter().any(|column| same_name(&column.name, name)) {
        return Err(SqlError::new(265, &[&name, &operator, &operator]));
    }
    Ok(())
}

/// A name of PIVOT's list is a value of the column's type: 473 with the reason before it.
fn check_value(name: &str, wanted: &SqlType) -> Result<(), SqlError> {
    let value = Value::NChar(name.into());
    let from = SqlType::nvarchar(NAME_CHARACTERS);
    match types::convert::convert(&value, &from, wanted, types::DEFAULT_STYLE, &ConvertContext::default()) {
        Ok(_) => Ok(()),
        Err(_) => Err(SqlError::new(473, &[&name, &"PIVOT"])),
    }
}

fn as_expression(name: &ColumnName, span: ast::Span) -> ast::Expr {
    let qualifier = name.schema.clone().map(|table| {
        Box::new(ast::ObjectName {
            server: None,
            database: name.server.clone(),
            schema: name.database.clone(),
            name: table,
            span: name.span,
        })
    });
    let column = ColumnRef { qualifier, name: name.name.clone() };
    ast::Expr { span, kind: ast::ExprKind::Column(column) }
}

fn output(name: String, id: ColumnId) -> OutputColumn {
    OutputColumn { name, id, identity: false, base: false, untyped_null: false }
}
