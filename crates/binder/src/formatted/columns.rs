//! What FOR XML and FOR JSON know of the columns and options of a query, and the levels of AUTO.

use plan_ir::names::same_name;
use tsql::ast;
use types::{SqlError, SqlType};

/// A column of the rows.
pub(super) struct RowColumn {
    /// Its name; empty when it has none.
    pub(super) name: String,
    pub(super) sql_type: SqlType,
    /// The value is JSON: it stands in other JSON as it is.
    pub(super) is_json: bool,
    /// The table it is a column of: position in FROM, name.
    pub(super) table: Option<(usize, String)>,
}

/// The columns that AUTO puts into one level.
pub(super) struct AutoLevel {
    pub(super) table: Option<usize>,
    pub(super) name: String,
    pub(super) columns: Vec<usize>,
}

/// Is there an option of these words?
pub(super) fn has_option(options: &[ast::NamedOption], words: &str) -> bool {
    options.iter().any(|option| option.name.is(words))
}

/// The name that ROOT gives, `root` if it says none.
pub(super) fn root_name(options: &[ast::NamedOption]) -> Result<Option<String>, SqlError> {
    let Some(option) = options.iter().find(|option| option.name.is("ROOT")) else { return Ok(None) };
    match &option.value {
        None => Ok(Some("root".to_string())),
        Some(ast::OptionValue::Ranges(ranges)) => match ranges.as_slice() {
            [(ast::Expr { kind: ast::ExprKind::Literal(literal), .. }, None)] => match literal {
                ast::Literal::String(name) | ast::Literal::NString(name) => Ok(Some(name.clone())),
                _ => Err(plan_ir::errors::syntax_near("ROOT")),
            },
            _ => Err(plan_ir::errors::syntax_near("ROOT")),
        },
        Some(_) => Err(plan_ir::errors::syntax_near("ROOT")),
    }
}

/// The levels of AUTO: one for each table, in the order in which the columns name the tables. Other columns go into the innermost level so far.
pub(super) fn auto_levels(columns: &[RowColumn], select: &ast::Select) -> Vec<AutoLevel> {
    let mut levels: Vec<AutoLevel> = Vec::new();
    let mut first = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let Some((table, name)) = &column.table else {
            levels.last_mut().map_or(&mut first, |level| &mut level.columns).push(at);
            continue;
        };
        match levels.iter_mut().find(|level| level.table == Some(*table)) {
            Some(level) => level.columns.push(at),
            None => {
                let mut own = std::mem::take(&mut first);
                own.push(at);
                levels.push(AutoLevel {
                    table: Some(*table),
                    name: written_name(name, select),
                    columns: own,
                });
            }
        }
    }
    if levels.is_empty() {
        let name = select.from.first().and_then(first_name).unwrap_or_default();
        levels.push(AutoLevel { table: None, name, columns: first });
    }
    levels
}

/// A table's name as FROM writes it: with its schema where no alias replaces the name.
fn written_name(name: &str, select: &ast::Select) -> String {
    fn find(source: &ast::TableSource, name: &str) -> Option<String> {
        match source {
            ast::TableSource::Table(table) if table.alias.is_none() => {
                same_name(&table.name.name.value, name).then(|| plan_ir::names::written(&table.name))
            }
            ast::TableSource::Join(join) => find(&join.left, name).or_else(|| find(&join.right, name)),
            ast::TableSource::OdbcOuterJoin(inner) => find(inner, name),
            _ => None,
        }
    }
    select.from.iter().find_map(|source| find(source, name)).unwrap_or_else(|| name.to_string())
}

/// The name of the first table.
fn first_name(source: &ast::TableSource) -> Option<String> {
    let alias = |alias: &Option<ast::Ident>| alias.as_ref().map(|alias| alias.value.clone());
    match source {
        ast::TableSource::Table(table) => {
            alias(&table.alias).or_else(|| Some(plan_ir::names::written(&table.name)))
        }
        ast::TableSource::Variable { name, alias: other, .. } => alias(other).or_else(|| Some(name.clone())),
        ast::TableSource::Derived(derived) => alias(&derived.alias),
        ast::TableSource::Values(values) => alias(&values.alias),
        ast::TableSource::Function(function) => alias(&function.alias),
        ast::TableSource::OpenJson(open) => alias(&open.alias),
        ast::TableSource::Join(join) => first_name(&join.left),
        ast::TableSource::OdbcOuterJoin(inner) => first_name(inner),
        _ => None,
    }
}
