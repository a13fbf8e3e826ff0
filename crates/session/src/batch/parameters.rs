//! Parameters of procedures: their declarations, and binding of a call's arguments to them.

use std::sync::Arc;

use query::VariableDef;
use tsql::ast;
use types::{SqlError, SqlResult, SqlType, Value};

use crate::batch::call::{Argument, BoundTable};
use crate::batch::compile::{CURSOR_PARAMETER, TypesIn};
use crate::batch::program::Program;
use crate::table_types::{TableType, slot_name, table_type};
use crate::values;

/// The declared parameters, which are the program's first variables.
pub(crate) struct DeclaredParameters {
    /// Names and types; for a table a slot that nothing can name.
    pub(crate) definitions: Vec<VariableDef>,
    /// For each parameter its table type, if it has one.
    pub(crate) tables: Vec<Option<Arc<TableType>>>,
    /// An alias type or a table type is among them.
    pub(crate) uses_alias_types: bool,
}

/// The types of the declared parameters. Errors 134, 346, 352, those of types.
pub(crate) fn parameters_of(
    parameters: &[ast::Parameter],
    types_in: TypesIn<'_>,
) -> SqlResult<DeclaredParameters> {
    let mut uses_alias_types = false;
    let mut definitions = Vec::with_capacity(parameters.len());
    let mut tables = Vec::with_capacity(parameters.len());
    for (at, parameter) in parameters.iter().enumerate() {
        if parameters[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&parameter.name)) {
            return Err(SqlError::new(134, &[&parameter.name]));
        }
        if parameter.data_type.name.name.is("cursor") {
            if !parameter.output {
                return Err(SqlError::new(102, &[&"CURSOR"]));
            }
            let name = format!("{CURSOR_PARAMETER}{}", parameter.name);
            definitions.push(VariableDef { name, sql_type: SqlType::Int });
            tables.push(None);
            continue;
        }
        if let Some(table_type) = table_type(&parameter.data_type, types_in)? {
            check_table_parameter(parameter, &table_type)?;
            definitions.push(VariableDef { name: slot_name(&parameter.name), sql_type: SqlType::Int });
            tables.push(Some(table_type));
            uses_alias_types = true;
            continue;
        }
        let place = query::TypePlace::Variable(at + 1);
        let declared = query::resolve_type_in(&parameter.data_type, place, types_in.0, types_in.1)?;
        if parameter.read_only {
            return Err(SqlError::new(346, &[&parameter.name]));
        }
        uses_alias_types |= declared.alias_id != 0;
        definitions.push(VariableDef { name: parameter.name.clone(), sql_type: declared.sql_type });
        tables.push(None);
    }
    Ok(DeclaredParameters { definitions, tables, uses_alias_types })
}

/// A table is READONLY, and has neither a default nor OUTPUT.
fn check_table_parameter(parameter: &ast::Parameter, table_type: &TableType) -> SqlResult<()> {
    if !parameter.read_only || parameter.output {
        return Err(SqlError::new(352, &[&parameter.name]));
    }
    match &parameter.default {
        None => Ok(()),
        Some(_) => Err(SqlError::new(206, &[&"void type", &table_type.name])),
    }
}

/// Arguments bound to parameters.
pub(crate) struct BoundParameters {
    pub(crate) values: Vec<Value>,
    /// Which OUTPUT argument belongs to which parameter.
    pub(crate) targets: Vec<(usize, usize)>,
    /// The parameters that are tables.
    pub(crate) tables: Vec<BoundTable>,
}

/// Binds arguments to parameters: by position, by name, defaults for the rest.
pub(crate) fn bind_parameters(
    name: &str,
    module: &Program,
    arguments: &[Argument],
) -> SqlResult<BoundParameters> {
    let parameters = &module.parameters;
    let table_of = |slot: usize| module.table_parameters.get(slot).and_then(Option::as_ref);
    check_arguments(name, parameters, arguments, |slot| table_of(slot).is_some())?;
    let mut tables: Vec<BoundTable> = Vec::new();
    let mut values: Vec<Option<Value>> = vec![None; parameters.len()];
    let mut named = vec![false; parameters.len()];
    let mut targets = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        let slot = match &argument.name {
            Some(wanted) => parameters
                .iter()
                .position(|p| p.name.eq_ignore_ascii_case(wanted))
                .ok_or_else(|| SqlError::new(8145, &[wanted, &name]))?,
            None => index,
        };
        if std::mem::replace(&mut named[slot], true) {
            return Err(SqlError::new(8143, &[&parameters[slot].name]));
        }
        argument.check_kind(&module.variables[slot])?;
        if argument.output && !parameters[slot].output {
            return Err(SqlError::new(8162, &[&parameters[slot].name]));
        }
        if argument.output {
            targets.push((index, slot));
        }
        if let Some(table_type) = table_of(slot) {
            tables.push(argument.bind_table(&parameters[slot].name, table_type)?);
            continue;
        }
        argument.refuse_table(&module.variables[slot].sql_type)?;
        if let Some(value) = &argument.value {
            values[slot] = Some(values::pass(value, &argument.sql_type, &module.variables[slot].sql_type)?);
        }
    }
    let mut bound = Vec::with_capacity(parameters.len());
    for (slot, value) in values.into_iter().enumerate() {
        if let Some(table_type) = table_of(slot) {
            if !named[slot] {
                tables.push(BoundTable::empty(&parameters[slot].name, table_type));
            }
            bound.push(Value::Null);
            continue;
        }
        let value = match (value, &parameters[slot].default) {
            (Some(value), _) => value,
            (None, Some(default)) => default_value(default, &module.variables[slot].sql_type)?,
            (None, None) => return Err(SqlError::new(201, &[&name, &parameters[slot].name])),
        };
        if value.is_null() && module.never_null.contains(&slot) {
            return Err(null_refused(&parameters[slot].name));
        }
        bound.push(value);
    }
    Ok(BoundParameters { values: bound, targets, tables })
}

fn default_value(default: &ast::Expr, target: &SqlType) -> SqlResult<Value> {
    // A bare word is a string in this position: `@p varchar(10) = abc`.
    let bare = match &default.kind {
        ast::ExprKind::Column(column) => Some(column.name.value.clone()),
        _ => None,
    };
    if let Some(word) = bare {
        let value = Value::NChar(word.encode_utf16().collect::<Vec<u16>>().into());
        return values::pass(&value, &SqlType::SysName, target);
    }
    values::constant(default, target)
}

/// Checks the call as a whole before any value: too many arguments, a parameter without a value, an unknown parameter name, in this
/// order.
fn check_arguments(
    name: &str,
    parameters: &[ast::Parameter],
    arguments: &[Argument],
    is_table: impl Fn(usize) -> bool,
) -> SqlResult<()> {
    if parameters.is_empty() && !arguments.is_empty() {
        return Err(SqlError::new(8146, &[&name]));
    }
    if arguments.len() > parameters.len() {
        return Err(SqlError::new(8144, &[&name]));
    }
    let slot = |(index, argument): (usize, &Argument)| match &argument.name {
        Some(wanted) => parameters.iter().position(|p| p.name.eq_ignore_ascii_case(wanted)),
        None => Some(index),
    };
    let given: Vec<Option<usize>> = arguments.iter().enumerate().map(slot).collect();
    let has_value = |slot: usize| {
        given.iter().zip(arguments).any(|(g, a)| *g == Some(slot) && (a.value.is_some() || a.table.is_some()))
    };
    let needs_value = |slot: usize| parameters[slot].default.is_none() && !is_table(slot);
    let missing = (0..parameters.len()).find(|slot| needs_value(*slot) && !has_value(*slot));
    if let Some(slot) = missing {
        return Err(SqlError::new(201, &[&name, &parameters[slot].name]).with_state(4));
    }
    match given.iter().position(Option::is_none) {
        Some(at) => {
            let wanted = arguments[at].name.as_deref().unwrap_or_default();
            Err(SqlError::new(8145, &[&wanted, &name]))
        }
        None => Ok(()),
    }
}

/// The error for NULL in a parameter or variable that is declared NOT NULL.
pub(crate) fn null_refused(name: &str) -> SqlError {
    let text = format!("Cannot insert the value NULL into '{name}': it is declared NOT NULL.");
    SqlError::custom(515, 16, 1, text)
}
