//! sp_configure and RECONFIGURE: the server's options. Two kinds can be set: options with an effect, and options that only permit a feature, which
//! is refused by name where it is used. Every other option has a fixed value that describes this server; other values are refused.

use engine::{ConfigurationOption, Entry, EntryKey, MASTER};
use query::{ExecContext, VariableDef};
use types::{SqlError, SqlResult, SqlType, Value};

use super::arguments::{argument, int_argument, text_argument};
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::refusal::not_supported;
use crate::session::Session;
use crate::sink::ResultSink;
use crate::user_options;
/// `sp_configure [@configname [, @configvalue]]`
pub(super) fn sp_configure(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    if session.state.transaction_count > 0 {
        return Err(SqlError::new(15002, &[&"sys.sp_configure"]).into());
    }
    let name = text_argument(&arguments, 0, "@configname").filter(|name| !name.trim().is_empty());
    let value = match argument(&arguments, 1, "@configvalue").map(Argument::or_null) {
        Some(given) if !given.is_null() => int_argument(&arguments, 1, "@configvalue")?,
        _ => None,
    };
    let (Some(name), Some(value)) = (&name, value) else {
        if name.is_none() && value.is_some() {
            return Err(SqlError::new(15123, &[&"(null)"]).into());
        }
        return show(session, name.as_deref(), sink);
    };
    let option = match find(session, name).as_slice() {
        [one] => *one,
        [] => return Err(SqlError::new(15123, &[name]).into()),
        _ => {
            list(session, name, sink)?;
            return Err(SqlError::new(15124, &[name]).into());
        }
    };
    let old = session.instance.configured(option);
    let zero_is_taken = value == 0 && option.default == 0;
    if !(option.minimum..=option.maximum).contains(&value) && !zero_is_taken {
        return Err(SqlError::new(15129, &[&value, &option.name]).into());
    }
    if value != old {
        check_effect(option, value)?;
        configure(session, sink, option.id, value)?;
    }
    sink.message(&SqlError::new(15457, &[&option.name, &old, &value]));
    Ok(CallResult::default())
}

/// RECONFIGURE [WITH OVERRIDE]. Without OVERRIDE, error 5808 while `allow updates` is configured; no option takes effect then.
pub(crate) fn reconfigure(session: &Session, with_override: bool) -> SqlResult<()> {
    if session.state.transaction_count > 0 {
        return Err(SqlError::new(574, &[&"CONFIG statement"]));
    }
    let options = engine::CONFIGURATION_OPTIONS;
    let allow_updates = options.iter().find(|option| option.id == engine::ALLOW_UPDATES);
    if !with_override && allow_updates.is_some_and(|option| session.instance.configured(option) != 0) {
        return Err(SqlError::new(5808, &[]));
    }
    session.instance.reconfigure();
    Ok(())
}

/// Accepts only options that have an effect or only permit a feature.
fn check_effect(option: &ConfigurationOption, value: i32) -> SqlResult<()> {
    let has_effect = match option.id {
        engine::USER_OPTIONS => value & !(user_options::SET | user_options::ALWAYS) == 0,
        _ => option.may_be_set(),
    };
    if has_effect { Ok(()) } else { Err(not_supported(&format!("sp_configure '{}', {value}", option.name))) }
}

/// Options whose name begins with `name`; only the exact match if there is one. Advanced options are included only while they are shown.
fn find(session: &Session, name: &str) -> Vec<&'static ConfigurationOption> {
    let wanted = name.trim().to_lowercase();
    let shows_advanced = session.instance.configuration(engine::SHOW_ADVANCED_OPTIONS) != 0;
    let known = engine::CONFIGURATION_OPTIONS.iter().filter(|one| shows_advanced || !one.is_advanced);
    let found: Vec<_> = known.filter(|one| one.name.to_lowercase().starts_with(&wanted)).collect();
    match found.iter().find(|one| one.name.eq_ignore_ascii_case(&wanted)) {
        Some(exact) => vec![exact],
        None => found,
    }
}

fn show(
    session: &mut Session,
    name: Option<&str>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    if let Some(name) = name {
        match find(session, name).as_slice() {
            [one] => list(session, one.name, sink)?,
            [] => return Err(SqlError::new(15123, &[&name]).into()),
            _ => {
                list(session, name, sink)?;
                return Err(SqlError::new(15124, &[&name]).into());
            }
        }
    } else {
        list(session, "", sink)?;
    }
    Ok(CallResult::default())
}

/// Sends the result set: options whose names begin with `beginning`.
fn list(session: &mut Session, beginning: &str, sink: &mut dyn ResultSink) -> Result<(), Interruption> {
    let shows_advanced = session.instance.configuration(engine::SHOW_ADVANCED_OPTIONS) != 0;
    let parameters = [
        VariableDef { name: "@beginning".into(), sql_type: SqlType::nvarchar(35) },
        VariableDef { name: "@advanced".into(), sql_type: SqlType::Int },
    ];
    session.run_text(
        "SELECT name, CAST(minimum AS int) AS minimum, CAST(maximum AS int) AS maximum, CAST(value AS int) AS config_value,
                CAST(value_in_use AS int) AS run_value
         FROM sys.configurations
         WHERE LEFT(name, LEN(@beginning)) = @beginning AND (@advanced = 1 OR is_advanced = 0)
         ORDER BY name",
        &parameters,
        vec![Value::nvarchar(beginning.trim()), Value::Int(i32::from(shows_advanced))],
        sink,
    )?;
    Ok(())
}

/// Writes the value into master in a transaction of its own, regardless of IMPLICIT_TRANSACTIONS.
fn configure(
    session: &mut Session,
    sink: &mut dyn ResultSink,
    id: i32,
    value: i32,
) -> Result<(), Interruption> {
    let implicit = std::mem::replace(&mut session.options.implicit_transactions, false);
    let done = session.change_definitions(sink, |context: &mut ExecContext<'_>| {
        let Some(master) = context.instance.database_by_id(MASTER as i16) else {
            return Err(SqlError::new(911, &[&"master"]));
        };
        let old = master.catalog().entry(&EntryKey::Configuration(id));
        let transaction = context.transactions.in_database(&master, context.options.isolation)?;
        master.change_entry(transaction, old.as_deref(), Some(Entry::Configuration(id, value)))
    });
    session.options.implicit_transactions = implicit;
    done
}
