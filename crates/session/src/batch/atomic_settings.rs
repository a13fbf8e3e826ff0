//! The options of BEGIN ATOMIC, and the settings of a session while the block runs.

use std::sync::Arc;

use engine::IsolationLevel;
use query::SetOptions;
use tsql::ast::{self, ExprKind, Literal, OptionValue};
use types::{SqlError, SqlResult};

use crate::option_values;
use crate::refusal::unsupported_in_native;

/// The options of BEGIN ATOMIC.
#[derive(Clone, Debug)]
pub(crate) struct AtomicSettings {
    isolation: IsolationLevel,
    language: Arc<str>,
    date_first: u8,
    date_format: Arc<str>,
    /// DELAYED_DURABILITY; `None`: not specified.
    pub(crate) delayed: Option<bool>,
}

impl AtomicSettings {
    /// The session's settings while the block runs: fixed, except for those that the block specifies and those that do not concern it. A block
    /// that cannot read versions runs SNAPSHOT as SERIALIZABLE: under SERIALIZABLE it sees what it would see in a snapshot while no other
    /// transaction changes the rows that it reads. It waits where a snapshot would not.
    pub(crate) fn inside(&self, outer: &SetOptions, reads_versions: bool) -> SetOptions {
        let isolation = match self.isolation {
            IsolationLevel::Snapshot if !reads_versions => IsolationLevel::Serializable,
            level => level,
        };
        SetOptions {
            ansi_nulls: true,
            ansi_padding: true,
            ansi_warnings: true,
            arithabort: true,
            arithignore: false,
            concat_null_yields_null: true,
            identity_insert: None,
            implicit_transactions: false,
            nocount: true,
            numeric_roundabort: false,
            quoted_identifier: true,
            row_count: 0,
            text_size: i32::MAX,
            xact_abort: false,
            isolation,
            language: self.language.clone(),
            date_first: self.date_first,
            date_format: self.date_format.clone(),
            ..outer.clone()
        }
    }

    /// Reads the options of a block. Errors 10784 (isolation level and language are required), 155, 1039, 2740 to 2742, 10794.
    pub(crate) fn of(block: &ast::AtomicBlock) -> SqlResult<AtomicSettings> {
        query::clauses::check_options("atomic block option", &block.options)?;
        let (mut isolation, mut language, mut delayed) = (None, None, None);
        let defaults = SetOptions::default();
        let (mut date_first, mut date_format) = (defaults.date_first, defaults.date_format);
        for (at, option) in block.options.iter().enumerate() {
            let name = option.name.value.to_uppercase();
            if block.options[..at].iter().any(|other| other.name.is(&name)) {
                return Err(SqlError::new(1039, &[&name]));
            }
            let value = option.value.as_ref().ok_or_else(|| near(&name))?;
            match name.as_str() {
                "TRANSACTION ISOLATION LEVEL" => isolation = Some(isolation_of(value)?),
                "LANGUAGE" => language = Some(option_values::language(&text_of(value)?)?),
                "DATEFORMAT" => date_format = option_values::date_format(&text_of(value)?)?,
                "DATEFIRST" => date_first = option_values::date_first(number_of(value)?)?,
                _ => {
                    let OptionValue::Switch(on, _) = value else { return Err(near(&name)) };
                    delayed = Some(*on);
                }
            }
        }
        let required = |option: &str| SqlError::new(10784, &[&option]);
        Ok(AtomicSettings {
            isolation: isolation.ok_or_else(|| required("transaction isolation level"))?,
            language: language.ok_or_else(|| required("language"))?,
            date_first,
            date_format,
            delayed,
        })
    }
}

fn isolation_of(value: &OptionValue) -> SqlResult<IsolationLevel> {
    let OptionValue::Word(words) = value else { return Err(near("TRANSACTION ISOLATION LEVEL")) };
    match words.value.to_uppercase().as_str() {
        "SNAPSHOT" => Ok(IsolationLevel::Snapshot),
        "SERIALIZABLE" => Ok(IsolationLevel::Serializable),
        "REPEATABLE READ" => Ok(IsolationLevel::RepeatableRead),
        level @ ("READ COMMITTED" | "READ UNCOMMITTED") => {
            Err(unsupported_in_native("transaction isolation level", level))
        }
        other => Err(near(other)),
    }
}

fn text_of(value: &OptionValue) -> SqlResult<String> {
    match value {
        OptionValue::Word(word) => Ok(word.value.clone()),
        OptionValue::Value(value, None) => match &value.kind {
            ExprKind::Literal(Literal::String(text) | Literal::NString(text)) => Ok(text.clone()),
            _ => Err(near("=")),
        },
        _ => Err(near("=")),
    }
}

fn number_of(value: &OptionValue) -> SqlResult<i64> {
    match value {
        OptionValue::Value(value, None) => match &value.kind {
            ExprKind::Literal(Literal::Int(number)) => Ok(i64::from(*number)),
            _ => Err(near("=")),
        },
        _ => Err(near("=")),
    }
}

fn near(text: &str) -> SqlError {
    SqlError::new(102, &[&text])
}
