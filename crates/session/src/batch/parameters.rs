//! Parameters of procedures: their declarations, and binding of a call's arguments to them.

use query::VariableDef;
use tsql::ast;
use types::{SqlError, SqlResult, SqlType, Value};

use crate::batch::call::Argument;
use crate::batch::compile::{CURSOR_PARAMETER, TypesIn};
use crate::batch::program::Program;
use crate::values;

/// The types of the declared parameters, which are the program's first variables; and whether an alias type is among them.
pub(crate) fn parameters_of(
    parameters: &[ast::Parameter],
    types_in: TypesIn<'_>,
) -> SqlResult<(Vec<VariableDef>, bool)> {
    let mut uses_alias_types = false;
    let mut definitions = Vec::with_capacity(parameters.len());
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
            continue;
        }
        let place = query::TypePlace::Variable(at + 1);
        let declared = query::resolve_type_in(&parameter.data_type, place, types_in.0, types_in.1)?;
        if parameter.read_only {
            return Err(SqlError::new(346, &[&parameter.name]));
        }
        uses_alias_types |= declared.alias_id != 0;
        definitions.push(VariableDef { name: parameter.name.clone(), sql_type: declared.sql_type });
    }
    Ok((definitions, uses_alias_types))
}

/// Binds arguments to parameters: by position, by name, defaults for the rest. Also returns which OUTPUT argument belongs to which
/// parameter.
pub(crate) fn bind_parameters(
    name: &str,
    module: &Program,
    arguments: &[Argument],
) -> SqlResult<(Vec<Value>, Vec<(usize, usize)>)> {
    let parameters = &module.parameters;
    check_arguments(name, parameters, arguments)?;
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
        if argument.output && !parameters[slot].output {
            return Err(SqlError::new(8162, &[&parameters[slot].name]));
        }
        if argument.output {
            targets.push((index, slot));
        }
        if let Some(value) = &argument.value {
            values[slot] = Some(values::pass(value, &argument.sql_type, &module.variables[slot].sql_type)?);
        }
    }
    let mut bound = Vec::with_capacity(parameters.len());
    for (slot, value) in values.into_iter().enumerate() {
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
    Ok((bound, targets))
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
fn check_arguments(name: &str, parameters: &[ast::Parameter], arguments: &[Argument]) -> SqlResult<()> {
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
    let has_value =
        |slot: usize| given.iter().zip(arguments).any(|(g, a)| *g == Some(slot) && a.value.is_some());
    let missing = (0..parameters.len()).find(|slot| parameters[*slot].default.is_none() && !has_value(*slot));
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
