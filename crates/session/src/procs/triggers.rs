//! `sp_settriggerorder`: which trigger of a table is the first or the last one.

use engine::TriggerEvent;
use query::ddl::TriggerOrder;
use types::SqlError;

use super::arguments::text_argument;
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::objects::parse_name;
use crate::refusal::not_supported;
use crate::session::Session;
use crate::sink::ResultSink;

/// `sp_settriggerorder @triggername, @order, @stmttype [, @namespace]`. Errors 201, 15600 and those of `query::ddl::set_trigger_order`.
pub(super) fn sp_settriggerorder(
    session: &mut Session,
    arguments: Vec<Argument>,
    sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let given = |at: usize, name: &str| {
        text_argument(&arguments, at, name).ok_or_else(|| SqlError::new(201, &[&"sp_settriggerorder", &name]))
    };
    let invalid = || SqlError::new(15600, &[&"sp_settriggerorder"]);
    let (name, order, event) = (given(0, "@triggername")?, given(1, "@order")?, given(2, "@stmttype")?);
    if text_argument(&arguments, 3, "@namespace").is_some_and(|space| !space.trim().is_empty()) {
        return Err(not_supported("sp_settriggerorder of a DDL trigger").into());
    }
    let order = match order.trim().to_ascii_lowercase().as_str() {
        "first" => TriggerOrder::First,
        "last" => TriggerOrder::Last,
        "none" => TriggerOrder::None,
        _ => return Err(invalid().into()),
    };
    let named = |one: &TriggerEvent| one.name().eq_ignore_ascii_case(event.trim());
    let event = TriggerEvent::ALL.into_iter().find(named).ok_or_else(invalid)?;
    let name = parse_name(&name)?;
    session
        .change_definitions(sink, |context| query::ddl::set_trigger_order(&name, order, event, context))?;
    Ok(CallResult::default())
}
