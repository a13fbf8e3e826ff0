//! User-defined messages: sp_addmessage, sp_altermessage, sp_dropmessage. They are stored in master and are visible to all sessions.

use engine::{Entry, EntryKey, Lookup, MessageDef, US_ENGLISH};
use query::ExecContext;
use types::{SqlError, SqlResult};

use super::arguments::{argument, int_argument, text_argument};
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

/// Lowest number of a user-defined message.
const FIRST: i32 = 50_001;
const TEXT_CHARACTERS_MAX: usize = 255;

/// Changes master's messages as one statement.
fn change(
    session: &mut Session,
    sink: &mut dyn ResultSink,
    number: i32,
    change: impl Fn(Option<&MessageDef>) -> SqlResult<Option<MessageDef>>,
) -> Result<(), Interruption> {
    session.change_definitions(sink, |context: &mut ExecContext<'_>| {
        let master = context.instance.master();
        let key = EntryKey::Message(number, US_ENGLISH);
        let old = Lookup::new(context.transactions).entry(&master, &key)?;
        let new = change(match old.as_deref() {
            Some(Entry::Message(message)) => Some(message),
            _ => None,
        })?;
        let transaction = context.transactions.in_database(&master, context.options.isolation)?;
        master.change_entry(transaction, old.as_deref(), new.map(Entry::Message))
    })
}

/// `sp_addmessage @msgnum, @severity, @msgtext [, @lang, @with_log, @replace]`
pub(super) fn sp_addmessage(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let number = int_argument(&arguments, 0, "@msgnum")?;
    let severity = int_argument(&arguments, 1, "@severity")?;
    let text = text_argument(&arguments, 2, "@msgtext");
    let (Some(number), Some(severity), Some(text)) = (number, severity, text) else {
        return Err(SqlError::new(15071, &[]).into());
    };
    if let Some(language) = text_argument(&arguments, 3, "@lang")
        && !["us_english", "english"].iter().any(|known| known.eq_ignore_ascii_case(language.trim()))
    {
        return Err(SqlError::new(15033, &[&language]).into());
    }
    let is_logged = text_argument(&arguments, 4, "@with_log")
        .is_some_and(|word| word.trim().eq_ignore_ascii_case("true"));
    let replace = match text_argument(&arguments, 5, "@replace") {
        None => false,
        Some(word) if word.trim().eq_ignore_ascii_case("replace") => true,
        Some(_) => return Err(SqlError::new(15043, &[]).into()),
    };
    if number < FIRST {
        return Err(SqlError::new(15040, &[]).into());
    }
    if !(1..=25).contains(&severity) {
        return Err(SqlError::new(15041, &[]).into());
    }
    if text.encode_utf16().count() > TEXT_CHARACTERS_MAX {
        return Err(SqlError::new(15600, &[&"sp_addmessage"]).into());
    }
    let severity = u8::try_from(severity).unwrap_or(16);
    change(session, sink, number, |old| {
        if old.is_some() && !replace {
            return Err(SqlError::new(15043, &[]));
        }
        let text = text.as_str().into();
        Ok(Some(MessageDef { number, language_id: US_ENGLISH, severity, is_logged, text }))
    })?;
    Ok(CallResult::default())
}

/// `sp_altermessage @message_id, @parameter = 'WITH_LOG', @parameter_value = 'true' | 'false'`
pub(super) fn sp_altermessage(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let number = int_argument(&arguments, 0, "@message_id")?.unwrap_or(0);
    let parameter = text_argument(&arguments, 1, "@parameter").unwrap_or_default();
    let value = text_argument(&arguments, 2, "@parameter_value").unwrap_or_default();
    let is_logged = match (parameter.to_ascii_uppercase().as_str(), value.to_ascii_lowercase().as_str()) {
        ("WITH_LOG", "true") => true,
        ("WITH_LOG", "false") => false,
        _ => return Err(SqlError::new(15600, &[&"sp_altermessage"]).into()),
    };
    change(session, sink, number, |old| match old {
        Some(old) => Ok(Some(MessageDef { is_logged, ..old.clone() })),
        None => Err(SqlError::new(15179, &[&number])),
    })?;
    Ok(CallResult::default())
}

/// `sp_dropmessage @msgnum [, @lang]`
pub(super) fn sp_dropmessage(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    if argument(&arguments, 0, "@msgnum").is_none() {
        return Err(SqlError::new(15071, &[]).into());
    }
    let number = int_argument(&arguments, 0, "@msgnum")?.unwrap_or(0);
    if number < FIRST {
        return Err(SqlError::new(15040, &[]).into());
    }
    change(session, sink, number, |old| match old {
        Some(_) => Ok(None),
        None => Err(SqlError::new(15179, &[&number])),
    })?;
    Ok(CallResult::default())
}
