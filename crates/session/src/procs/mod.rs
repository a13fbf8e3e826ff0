//! System procedures: some in Rust, because they access the session's state; the others in T-SQL over the catalog views.

mod arguments;
pub(crate) mod configure;
mod cursor_change;
mod cursor_fetch;
mod cursor_open;
mod cursor_options;
mod cursor_report;
mod definitions;
mod describe;
mod doctor;
mod locks;
pub(crate) mod messages;
mod refresh;
pub(crate) mod refused;
mod sequence;
mod statistics;
mod triggers;
mod xml_documents;

use types::{SqlError, Value};

use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::prepared;
use crate::session::Session;
use crate::sink::ResultSink;
use arguments::{argument, int_argument, text_argument};

/// A procedure written in Rust.
pub(crate) type Native =
    fn(&mut Session, Vec<Argument>, &mut dyn ResultSink) -> Result<CallResult, Interruption>;

/// The system procedure in Rust of that lower-case name, if there is one.
pub(crate) fn native(name: &str) -> Option<Native> {
    NATIVE.iter().find(|(known, _)| *known == name).map(|(_, procedure)| *procedure)
}

/// System procedures in Rust; those that every driver calls come first. `system_procedures::NATIVE` has the parameters of each.
const NATIVE: &[(&str, Native)] = &[
    ("sp_executesql", prepared::sp_executesql),
    ("sp_prepare", prepared::sp_prepare),
    ("sp_execute", prepared::sp_execute),
    ("sp_prepexec", prepared::sp_prepexec),
    ("sp_prepexecrpc", prepared::sp_prepexecrpc),
    ("sp_unprepare", prepared::sp_unprepare),
    ("sp_cursor", cursor_change::sp_cursor),
    ("sp_cursoropen", cursor_open::sp_cursoropen),
    ("sp_cursorprepare", cursor_open::sp_cursorprepare),
    ("sp_cursorexecute", cursor_open::sp_cursorexecute),
    ("sp_cursorprepexec", cursor_open::sp_cursorprepexec),
    ("sp_cursorunprepare", cursor_open::sp_cursorunprepare),
    ("sp_cursorfetch", cursor_fetch::sp_cursorfetch),
    ("sp_cursoroption", cursor_fetch::sp_cursoroption),
    ("sp_cursorclose", cursor_fetch::sp_cursorclose),
    ("sp_cursor_list", cursor_report::sp_cursor_list),
    ("sp_describe_cursor", cursor_report::sp_describe_cursor),
    ("sp_describe_cursor_columns", cursor_report::sp_describe_cursor_columns),
    ("sp_describe_cursor_tables", cursor_report::sp_describe_cursor_tables),
    ("sp_flush_log", sp_flush_log),
    ("sp_log_doctor", doctor::sp_log_doctor),
    ("sp_reset_connection", sp_reset_connection),
    ("sp_set_session_context", sp_set_session_context),
    ("sp_rename", definitions::sp_rename),
    ("sp_addextendedproperty", definitions::sp_addextendedproperty),
    ("sp_updateextendedproperty", definitions::sp_updateextendedproperty),
    ("sp_dropextendedproperty", definitions::sp_dropextendedproperty),
    ("sp_recompile", refresh::sp_recompile),
    ("sp_refreshview", refresh::sp_refreshview),
    ("sp_refreshsqlmodule", refresh::sp_refreshsqlmodule),
    ("sp_tableoption", refused::sp_tableoption),
    ("sp_configure", configure::sp_configure),
    ("sp_addmessage", messages::sp_addmessage),
    ("sp_altermessage", messages::sp_altermessage),
    ("sp_dropmessage", messages::sp_dropmessage),
    ("sp_describe_first_result_set", describe::sp_describe_first_result_set),
    ("sp_describe_undeclared_parameters", describe::sp_describe_undeclared_parameters),
    ("sp_getapplock", locks::sp_getapplock),
    ("sp_releaseapplock", locks::sp_releaseapplock),
    ("sp_autostats", statistics::sp_autostats),
    ("sp_sequence_get_range", sequence::sp_sequence_get_range),
    ("sp_settriggerorder", triggers::sp_settriggerorder),
    ("sp_xml_preparedocument", xml_documents::sp_xml_preparedocument),
    ("sp_xml_removedocument", xml_documents::sp_xml_removedocument),
];

/// `EXEC sys.sp_flush_log`: all earlier delayed commits are durable when it returns. Returns 1 for success, as documented.
fn sp_flush_log(
    session: &mut Session,
    _arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    session.database.flush_log()?;
    Ok(CallResult { status: 1, outputs: Vec::new(), returned: None })
}

fn sp_reset_connection(
    session: &mut Session,
    _arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    session.reset(false, sink);
    Ok(CallResult::default())
}

/// `sp_set_session_context @key, @value [, @read_only]`. Errors 15664, 15665.
fn sp_set_session_context(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let Some(key) = text_argument(&arguments, 0, "@key").filter(|key| !key.is_empty()) else {
        return Err(SqlError::new(201, &[&"sp_set_session_context", &"@key"]).into());
    };
    let value = argument(&arguments, 1, "@value").map_or(Value::Null, Argument::or_null);
    let is_read_only = int_argument(&arguments, 2, "@read_only")?.is_some_and(|flag| flag != 0);
    session.state.session_context.set(&key, value, is_read_only)?;
    Ok(CallResult::default())
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_listed_is_there() {
        let listed = crate::system_procedures::NATIVE.iter().map(|(name, _)| *name);
        assert!(listed.eq(super::NATIVE.iter().map(|(name, _)| *name)));
    }
}
