//! Texts in the catalog, parsed under the settings of their creation.
//!
//! A module remembers QUOTED_IDENTIFIER and ANSI_NULLS of its creation (documentation of CREATE PROCEDURE). A text of a table (default,
//! check, computed column) is kept so that QUOTED_IDENTIFIER does not matter; ANSI_NULLS is the table's.

use engine::{Database, Lookup, ModuleDef, ObjectDef, TypeDef};
use tsql::ast::{self, NamedOption, StatementKind, TableElement, TypeDefinition};
use types::SqlError;

/// The statement that made a module.
///
/// # Errors
/// One of its own when the text is damaged.
pub fn parse_module(module: &ModuleDef) -> Result<ast::StatementKind, SqlError> {
    let options = tsql::ParseOptions { quoted_identifier: module.quoted_identifier };
    let batch =
        tsql::parse_batch(&module.definition, &options).map_err(|_| crate::errors::stored_text_damaged())?;
    let statement = batch.statements.into_iter().next().ok_or_else(crate::errors::stored_text_damaged)?;
    Ok(statement.kind)
}

/// An expression of a table.
pub fn parse_expression(text: &str) -> Result<ast::Expr, SqlError> {
    tsql::parse_expression(text, &tsql::ParseOptions::default())
        .map_err(|_| crate::errors::stored_text_damaged())
}

/// The text of an expression as a table stores it: SQL Server's normal form if there is one, otherwise the original text. It is printed from the
/// syntax tree if the original is not available or has double quotes, whose meaning depends on QUOTED_IDENTIFIER.
pub fn expression_text(expr: &ast::Expr, batch: &str) -> String {
    if let Some(normal) = tsql::normal_expression(expr) {
        return normal;
    }
    match expr.span.slice(batch) {
        "" => tsql::format_expression(expr),
        written if written.contains('"') => tsql::format_expression(expr),
        written => written.to_string(),
    }
}

/// The columns and constraints of a table type, and its options.
pub fn table_type_definition(
    table_type: &TypeDef,
    database: &Database,
    lookup: Lookup<'_>,
) -> Result<(Vec<TableElement>, Vec<NamedOption>), SqlError> {
    let Some(ObjectDef::Module(module)) = lookup.object_numbered(database, table_type.table_object_id)?
    else {
        return Err(SqlError::stale_plan());
    };
    match parse_module(&module)? {
        StatementKind::CreateType(create) => match create.definition {
            TypeDefinition::Table { elements, options } => Ok((elements, options)),
            _ => Err(crate::errors::stored_text_damaged()),
        },
        _ => Err(crate::errors::stored_text_damaged()),
    }
}
