//! FOR XML and FOR JSON: a query whose rows become one text. The names and origins of its columns decide on the form.

mod columns;
mod explicit;
mod json;
mod xml;
mod xml_names;

use std::sync::Arc;

use plan_ir::bound::tree::{Expr, ExprKind, Rel, SubqueryKind};
use plan_ir::rows_format::{RowsFormat, RowsShape};
use tsql::ast::{self, ForClause};
use types::{SqlError, SqlType};

use self::columns::RowColumn;
use super::{Binder, BoundQuery, OutputColumn, set_op};

pub(crate) use xml::namespaces;

/// The names of the column under which the text goes to the client.
const JSON_COLUMN: &str = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B";
const XML_COLUMN: &str = "XML_F52E2B61-18A1-11d1-B105-00805F49916B";

/// The clause of a query, unless it is FOR BROWSE.
pub fn text_clause(query: &ast::Query) -> Option<&ForClause> {
    query.for_clause.as_deref().filter(|clause| !matches!(clause, ForClause::Browse))
}

/// Refuses the clause at the top of a statement that uses the rows itself. Errors 6819, 13602.
///
/// # Errors
/// The refusal.
pub fn refuse_text_clause(query: &ast::Query, statement: &str) -> Result<(), SqlError> {
    match text_clause(query) {
        None => Ok(()),
        Some(ForClause::Json(..)) => Err(SqlError::new(13602, &[&statement])),
        Some(_) => Err(SqlError::new(6819, &[&statement])),
    }
}

impl Binder<'_> {
    /// Binds a query with FOR XML or FOR JSON. Error 1086 and those of the modes.
    pub(super) fn formatted_query(
        &mut self,
        query: &ast::Query,
        clause: &ForClause,
        is_statement: bool,
    ) -> Result<BoundQuery, SqlError> {
        let (bound, columns) = self.rows_to_format(query, is_statement)?;
        self.check_output(&bound)?;
        let first = set_op::first_block(&query.body);
        let shape = match clause {
            ForClause::Json(is_path, options) => {
                RowsShape::Json(json::format(*is_path, options, &columns, first)?)
            }
            ForClause::Xml(mode, options) => {
                RowsShape::Xml(xml::format(mode, options, &columns, first, &self.xml_namespaces)?)
            }
            ForClause::Browse => unreachable!("it makes no text"),
        };
        let (name, sql_type, in_pieces) = match &shape {
            RowsShape::Xml(format) if format.is_typed => ("", SqlType::Xml, false),
            RowsShape::Xml(_) if is_statement => (XML_COLUMN, SqlType::NText, true),
            RowsShape::Json(_) if is_statement => (JSON_COLUMN, SqlType::NVARCHAR_MAX, true),
            RowsShape::Json(_) | RowsShape::Xml(_) => ("", SqlType::NVARCHAR_MAX, false),
        };
        let types = columns.iter().map(|column| column.sql_type).collect();
        let text = Expr::constant(types::Value::Null, sql_type);
        let column = self.value_column(sql_type, true, Some(&text));
        let rel = Rel::Formatted {
            read: bound.columns.iter().map(|column| column.id).collect(),
            input: Box::new(bound.rel),
            format: Arc::new(RowsFormat { shape, types, in_pieces }),
            column,
        };
        let name = name.to_string();
        let output = OutputColumn { name, id: column, identity: false, base: false, untyped_null: false };
        Ok(BoundQuery { rel, columns: vec![output] })
    }

    fn rows_to_format(
        &mut self,
        query: &ast::Query,
        is_statement: bool,
    ) -> Result<(BoundQuery, Vec<RowColumn>), SqlError> {
        let ast::QueryBody::Select(select) = &query.body else {
            if !is_statement {
                return Err(SqlError::new(1086, &[]));
            }
            let bound = self.combined_query(query)?;
            let column = |output: &OutputColumn| RowColumn {
                name: output.name.clone(),
                sql_type: self.columns[output.id.0 as usize].sql_type,
                is_json: false,
                table: None,
            };
            let columns = bound.columns.iter().map(column).collect();
            return Ok((bound, columns));
        };
        self.next_values.is_statement_next = is_statement;
        let parts = self.select(select, query)?;
        if parts.items.iter().any(|item| item.variable.is_some()) {
            return Err(plan_ir::errors::assignment_mixed());
        }
        let columns = parts.items.iter().map(|item| RowColumn {
            name: item.name.clone(),
            sql_type: item.expr.sql_type,
            is_json: is_json(&item.expr),
            table: item.table.clone(),
        });
        let columns = columns.collect();
        Ok((self.project(parts), columns))
    }
}

/// Is the value JSON by what gives it: a function, or a query with FOR JSON that writes an array?
pub(super) fn is_json(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(function, _) => {
            matches!(function.name, "JSON_QUERY" | "JSON_MODIFY" | "JSON_OBJECT" | "JSON_ARRAY")
        }
        ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
            matches!(&*subquery.rel, Rel::Formatted { format, .. }
                if matches!(&format.shape, RowsShape::Json(json) if !json.is_bare))
        }
        _ => false,
    }
}
