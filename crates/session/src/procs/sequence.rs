//! `sp_sequence_get_range`: several values of a sequence at once.

use std::cell::RefCell;

use types::{SqlError, SqlType, Value};

use super::arguments::{argument, text_argument};
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

/// `sp_sequence_get_range @sequence_name, @range_size, @range_first_value OUTPUT [, @range_last_value OUTPUT] [, @range_cycle_count OUTPUT]
/// [, @sequence_increment OUTPUT] [, @sequence_min_value OUTPUT] [, @sequence_max_value OUTPUT]`
pub(super) fn sp_sequence_get_range(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let missing = |name: &str| SqlError::new(201, &[&"sp_sequence_get_range", &name]);
    let name = text_argument(&arguments, 0, "@sequence_name").ok_or_else(|| missing("@sequence_name"))?;
    let size = argument(&arguments, 1, "@range_size").ok_or_else(|| missing("@range_size"))?;
    let size = crate::values::pass(&size.or_null(), &size.sql_type, &SqlType::BigInt)?;
    if argument(&arguments, 2, "@range_first_value").is_none() {
        return Err(missing("@range_first_value").into());
    }
    let drawn = RefCell::new(None);
    session.change_definitions(sink, |context| {
        let range = query::ddl::sequence_range(context, &name, size.as_i64().unwrap_or(0))?;
        *drawn.borrow_mut() = Some(range);
        Ok(())
    })?;
    let range = drawn.into_inner().expect("it succeeded");
    let given: [(&str, SqlType, Value); 6] = [
        ("@range_first_value", SqlType::SqlVariant, range.first),
        ("@range_last_value", SqlType::SqlVariant, range.last),
        ("@range_cycle_count", SqlType::Int, Value::Int(range.cycles)),
        ("@sequence_increment", SqlType::SqlVariant, range.increment),
        ("@sequence_min_value", SqlType::SqlVariant, range.minimum),
        ("@sequence_max_value", SqlType::SqlVariant, range.maximum),
    ];
    let mut outputs = Vec::new();
    for (at, (name, sql_type, value)) in given.into_iter().enumerate() {
        let is_it = |index: usize, argument: &Argument| match &argument.name {
            Some(own) => own.eq_ignore_ascii_case(name),
            None => index == at + 2,
        };
        let found = arguments.iter().enumerate().find(|(index, argument)| is_it(*index, argument));
        if let Some((index, _)) = found.filter(|(_, argument)| argument.output) {
            outputs.push((index, name.to_string(), sql_type, value));
        }
    }
    Ok(CallResult { status: 0, outputs, returned: None })
}
