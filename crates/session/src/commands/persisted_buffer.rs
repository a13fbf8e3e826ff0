//! PERSISTENT_LOG_BUFFER of CREATE and ALTER DATABASE: its values and their effect.

use tsql::ast::{self, DatabaseOption, NamedOption, OptionValue};
use types::{SqlError, SqlResult};

use crate::session::Session;

/// The option's name.
pub(crate) const NAME: &str = "PERSISTENT_LOG_BUFFER";

/// The requested change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BufferChange {
    /// ON (DIRECTORY_NAME = '...').
    On(String),
    /// OFF.
    Off,
}

impl BufferChange {
    /// The change that one option of ALTER DATABASE ... SET asks for; `None` for other options.
    pub(crate) fn of_set(option: &DatabaseOption) -> SqlResult<Option<BufferChange>> {
        match option {
            DatabaseOption::Value(named) if named.name.is(NAME) => of_value(named).map(Some),
            // ON without the equals sign lacks the directory name.
            DatabaseOption::Switch(name, on) if name.is(NAME) => match on {
                true => Err(misused()),
                false => Ok(Some(BufferChange::Off)),
            },
            _ => Ok(None),
        }
    }

    /// The change that the options of CREATE DATABASE ask for.
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
    /// Switches the persisted log buffer of a database on or off.
    pub(crate) fn switch_buffer(&self, database: &str, change: &BufferChange) -> SqlResult<()> {
        match change {
            BufferChange::On(directory) => self.instance.begin_persisting(database, directory),
            BufferChange::Off => self.instance.end_persisting(database),
        }
    }
}
