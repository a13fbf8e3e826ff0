//! PERSISTENT_LOG_BUFFER of CREATE and ALTER DATABASE: what its value asks for.

use tsql::ast::{self, DatabaseOption, NamedOption, OptionValue};
use types::{SqlError, SqlResult};

use crate::session::Session;

/// The option's name.
pub(crate) const NAME: &str = "PERSISTENT_LOG_BUFFER";

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BufferChange {
    /// ON (DIRECTORY_NAME = '...').
    On(String),
    /// OFF.
    Off,
}

impl BufferChange {
    /// Of one option of ALTER DATABASE ... SET, if it is that one.
    pub(crate) fn of_set(option: &DatabaseOption) -> SqlResult<Option<BufferChange>> {
        match option {
            DatabaseOption::Value(named) if named.name.is(NAME) => of_value(named).map(Some),
            // Without the equals sign there is no directory, either.
            DatabaseOption::Switch(name, on) if name.is(NAME) => match on {
                true => Err(misused()),
                false => Ok(Some(BufferChange::Off)),
            },
            _ => Ok(None),
        }
    }

    /// Of the options of CREATE DATABASE.
    pub(crate) fn of_create(options: &[NamedOption]) -> SqlResult<Option<BufferChange>> {
        options.iter().find(|option| option.name.is(NAME)).map(of_value).transpose()
    }
}

fn of_value(option: &NamedOption) -> SqlResult<BufferChange> {
    match &option.value {
        Some(OptionValue::Switch(false, list)) if list.is_empty() => Ok(BufferChange::Off),
        Some(OptionValue::Switch(true, list)) => {
            query::clauses::check_options("PERSISTENT_LOG_BUFFER option", list)?;
            let [NamedOption { value: Some(OptionValue::Value(directory, None)), .. }] = list.as_slice()
            else {
                return Err(misused());
            };
            match &directory.kind {
                ast::ExprKind::Literal(ast::Literal::String(text) | ast::Literal::NString(text))
                    if !text.trim().is_empty() =>
                {
                    Ok(BufferChange::On(text.clone()))
                }
                _ => Err(misused()),
            }
        }
        _ => Err(misused()),
    }
}

fn misused() -> SqlError {
    SqlError::new(153, &[&NAME, &"DATABASE"])
}

impl Session {
    /// Switches the persisted log buffer of a database.
    pub(crate) fn switch_buffer(&self, database: &str, change: &BufferChange) -> SqlResult<()> {
        match change {
            BufferChange::On(directory) => self.instance.begin_persisting(database, directory),
            BufferChange::Off => self.instance.end_persisting(database),
        }
    }
}
