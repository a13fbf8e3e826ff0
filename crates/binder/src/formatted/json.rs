//! FOR JSON: the properties that the columns become.

use plan_ir::rows_format::{JsonFormat, JsonLevel, JsonMember};
use tsql::ast;
use types::SqlError;

use super::columns::{RowColumn, auto_levels, has_option, root_name};

/// The form of a text. Errors 13600, 13601, 13603, 13605.
pub(super) fn format(
    is_path: bool,
    options: &[ast::NamedOption],
    columns: &[RowColumn],
    select: &ast::Select,
) -> Result<JsonFormat, SqlError> {
    if columns.iter().any(|column| column.name.is_empty()) {
        return Err(SqlError::new(13605, &[]));
    }
    if !is_path && select.from.is_empty() {
        return Err(SqlError::new(13600, &[]));
    }
    let levels = match is_path {
        true => vec![path_level(columns)?],
        false => {
            let levels = auto_levels(columns, select).into_iter().map(|level| {
                let mut members = Vec::new();
                for at in &level.columns {
                    let column = &columns[*at];
                    place(&mut members, &[&column.name], *at, column)?;
                }
                Ok(JsonLevel { name: level.name, members, columns: level.columns })
            });
            let levels: Vec<JsonLevel> = levels.collect::<Result<_, SqlError>>()?;
            check_level_names(&levels)?;
            levels
        }
    };
    Ok(JsonFormat {
        root: root_name(options)?,
        is_bare: has_option(options, "WITHOUT_ARRAY_WRAPPER"),
        keeps_nulls: has_option(options, "INCLUDE_NULL_VALUES"),
        levels,
    })
}

/// The array of a level stands beside the columns of the level around it, so their names differ. Error 13601.
fn check_level_names(levels: &[JsonLevel]) -> Result<(), SqlError> {
    for pair in levels.windows(2) {
        if pair[0].members.iter().any(|member| name_of(member) == pair[1].name) {
            return Err(SqlError::new(13601, &[&pair[1].name]));
        }
    }
    Ok(())
}

/// PATH: names with dots are paths of nested objects.
fn path_level(columns: &[RowColumn]) -> Result<JsonLevel, SqlError> {
    let mut members = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let path: Vec<&str> = column.name.split('.').collect();
        if path.iter().any(|step| step.is_empty()) {
            return Err(SqlError::new(13603, &[&column.name]));
        }
        place(&mut members, &path, at, column)?;
    }
    Ok(JsonLevel { members, ..JsonLevel::default() })
}

/// Adds a column under a path. An object takes further columns only as long as it is the last property.
fn place(
    members: &mut Vec<JsonMember>,
    path: &[&str],
    at: usize,
    column: &RowColumn,
) -> Result<(), SqlError> {
    let [name, rest @ ..] = path else { return Ok(()) };
    let conflict = || SqlError::new(13601, &[&column.name]);
    let known = members.iter().position(|member| name_of(member) == *name);
    if rest.is_empty() {
        if known.is_some() {
            return Err(conflict());
        }
        members.push(JsonMember::Value { name: (*name).to_string(), column: at, is_json: column.is_json });
        return Ok(());
    }
    if known.is_none() {
        members.push(JsonMember::Object { name: (*name).to_string(), members: Vec::new() });
    }
    match members.last_mut() {
        Some(JsonMember::Object { name: last, members }) if last == name => place(members, rest, at, column),
        _ => Err(conflict()),
    }
}

fn name_of(member: &JsonMember) -> &str {
    match member {
        JsonMember::Value { name, .. } | JsonMember::Object { name, .. } => name,
    }
}
