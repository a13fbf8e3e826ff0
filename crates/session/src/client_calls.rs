//! Procedure calls of clients (RPC), by name or number, with result sets, return status and OUTPUT parameters.

use std::borrow::Cow;

use tsql::ast;
use types::{SqlError, SqlType, Value};

use crate::batch::call::{Argument, CallResult};
use crate::batch::compile::PARAMETERS_MAX;
use crate::done_command;
use crate::errors::{self, Reach};
use crate::interruption::{Interruption, RequestEnd, Stop};
use crate::objects::parse_name;
use crate::procs;
use crate::rpc::{RpcCall, RpcParameter, RpcTarget, procedure_name, shown_name};
use crate::session::Session;
use crate::sink::{Done, DoneKind, ResultSink};

impl Session {
    /// Calls a procedure by its number in the protocol.
    fn call_number(
        &mut self,
        number: u16,
        arguments: Vec<Argument>,
        sink: &mut dyn ResultSink,
    ) -> Result<CallResult, Interruption> {
        let Some(name) = procedure_name(number) else {
            return Err(SqlError::new(2812, &[&number]).into());
        };
        match procs::native(name) {
            Some(_) if !self.may_call_native(name) => Ok(CallResult::default()),
            Some(native) => native(self, arguments, sink),
            None => self.call(&ast::ObjectName::simple(name), arguments, sink),
        }
    }

    /// Runs a client's procedure call; sends result sets, return status, OUTPUT parameters and the end of the procedure.
    pub fn execute_rpc(&mut self, call: RpcCall, sink: &mut dyn ResultSink) -> RequestEnd {
        self.request(sink, |session, sink| {
            session.note_call(&called_name(&call.target));
            if call.parameters.len() > PARAMETERS_MAX {
                let error = SqlError::new(8003, &[&PARAMETERS_MAX]);
                return session.answer_rpc(Err(error.into()), &[], sink);
            }
            // Only OUTPUT parameters are converted to the caller's type.
            let last_output = call.parameters.iter().rposition(|parameter| parameter.output);
            let callers: Vec<SqlType> = call.parameters[..last_output.map_or(0, |last| last + 1)]
                .iter()
                .map(|parameter| parameter.sql_type)
                .collect();
            let refusal = refused_value(&call.parameters);
            let arguments: Vec<Argument> = call.parameters.into_iter().map(Argument::from_rpc).collect();
            let outcome = match (refusal, call.target) {
                (Some(error), _) => Err(error.into()),
                (None, RpcTarget::Number(number)) => session.call_number(number, arguments, sink),
                (None, RpcTarget::Name(name)) => parse_name(&name)
                    .map_err(Interruption::from)
                    .and_then(|name| session.call(&name, arguments, sink)),
            };
            session.answer_rpc(outcome, &callers, sink)
        })
    }

    fn answer_rpc(
        &mut self,
        outcome: Result<CallResult, Interruption>,
        callers: &[SqlType],
        sink: &mut dyn ResultSink,
    ) -> Result<(), Stop> {
        let command = done_command::EXECUTE;
        if let Some(error) = self.unequal_count.take() {
            self.state.last_error = error.number;
            sink.message(&error);
        }
        let (error, stop) = match outcome {
            Ok(result) => {
                self.note_call_ends();
                sink.return_status(result.status);
                if let Some((sql_type, value)) = &result.returned {
                    sink.function_value(sql_type, value);
                }
                let mut outputs = result.outputs;
                for (index, _, sql_type, value) in &mut outputs {
                    (*sql_type, *value) = as_callers(callers.get(*index), *sql_type, std::mem::take(value));
                }
                // As documented: large values follow all others.
                outputs.sort_by_key(|(_, _, sql_type, _)| sql_type.is_large_object());
                for (index, name, sql_type, value) in outputs {
                    sink.return_value(u16::try_from(index).unwrap_or(u16::MAX), &name, &sql_type, &value);
                }
                (false, None)
            }
            Err(Interruption::Failed(failure)) => {
                self.settle_before_more(sink)?;
                let frame_line = failure.error.clone().at_line(1);
                self.state.last_error = frame_line.number;
                frame_line.told().for_each(|told| sink.message(told));
                let reach = errors::reach(&frame_line, failure.origin, self.options.xact_abort);
                if reach >= Reach::Batch {
                    self.rollback_everything(sink);
                }
                (true, None)
            }
            Err(Interruption::Stopped(stop)) => (true, Some(stop)),
        };
        if !matches!(stop, Some(Stop::Attention)) {
            sink.done(Done { kind: DoneKind::Procedure, row_count: None, error, command });
        }
        stop.map_or(Ok(()), Err)
    }
}

/// Error 8023 for a float that is infinite or not a number; 94xx for a malformed xml value. No other wire value can lie outside its type.
fn refused_value(parameters: &[RpcParameter]) -> Option<SqlError> {
    let faults = |parameter: &RpcParameter| match (&parameter.sql_type, &parameter.value) {
        (SqlType::Xml, Value::NChar(units)) => types::check_xml(units).err(),
        _ => None,
    };
    if let Some(error) = parameters.iter().find_map(faults) {
        return Some(error);
    }
    let at = parameters.iter().position(|parameter| match parameter.value {
        Value::Real(number) => !number.is_finite(),
        Value::Float(number) => !number.is_finite(),
        _ => false,
    })?;
    let RpcParameter { name, sql_type, .. } = &parameters[at];
    Some(SqlError::new(8023, &[&(at + 1), name, &sql_type.name()]).with_state(2))
}

/// An OUTPUT parameter returns in the type that the caller gave it, with that scale: it is assigned to the caller's variable. Character and
/// binary strings keep their own type, which may be longer, so that nothing is truncated.
fn as_callers(caller: Option<&SqlType>, sql_type: SqlType, value: Value) -> (SqlType, Value) {
    use types::sql_type::TypeFamily;
    let is_text = |sql_type: &SqlType| sql_type.is_character() || sql_type.family() == TypeFamily::Binary;
    let Some(caller) = caller.filter(|c| **c != sql_type && !is_text(c) && **c != SqlType::SqlVariant) else {
        return (sql_type, value);
    };
    let context = types::ConvertContext::default();
    match types::convert(&value, &sql_type, caller, types::DEFAULT_STYLE, &context) {
        Ok(converted) => (*caller, converted),
        Err(_) => (sql_type, value),
    }
}

/// The name of the called procedure, as the views show it.
fn called_name(target: &RpcTarget) -> Cow<'_, str> {
    match target {
        RpcTarget::Name(name) => Cow::Borrowed(name),
        RpcTarget::Number(number) => {
            shown_name(*number).map_or_else(|| Cow::Owned(number.to_string()), Cow::Borrowed)
        }
    }
}
