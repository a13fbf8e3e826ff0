//! `sp_getapplock` and `sp_releaseapplock`: locks on application-defined names.

use types::SqlError;

use super::arguments::{int_argument, text_argument};
use crate::batch::call::{Argument, CallResult};
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

/// Status codes of `sp_getapplock`, as documented.
const GRANTED: i32 = 0;
const TIMED_OUT: i32 = -1;
const CANCELLED: i32 = -2;
const DEADLOCK_VICTIM: i32 = -3;

/// `sp_getapplock @Resource, @LockMode, @LockOwner = 'Transaction', @LockTimeout`
pub(super) fn sp_getapplock(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let resource = text_argument(&arguments, 0, "@Resource")
        .ok_or_else(|| SqlError::new(201, &[&"sp_getapplock", &"@Resource"]))?;
    let mode = text_argument(&arguments, 1, "@LockMode")
        .ok_or_else(|| SqlError::new(201, &[&"sp_getapplock", &"@LockMode"]))?;
    let owner = text_argument(&arguments, 2, "@LockOwner").unwrap_or_else(|| "Transaction".into());
    let timeout_ms = int_argument(&arguments, 3, "@LockTimeout")?.unwrap_or(session.options.lock_timeout_ms);
    let of_session = owner.eq_ignore_ascii_case("session");
    if !of_session && session.state.transaction_count == 0 {
        return Err(SqlError::custom(
            15000,
            16,
            1,
            "sp_getapplock needs an open transaction when the lock's owner is 'Transaction'.".into(),
        )
        .into());
    }
    let taken =
        session.transactions.lock_application(&session.database, &resource, &mode, of_session, timeout_ms);
    let status = match taken {
        Ok(()) => GRANTED,
        Err(error) => match error.number {
            1222 => TIMED_OUT,
            1205 => DEADLOCK_VICTIM,
            _ if os::task::interrupt_pending() => CANCELLED,
            _ => return Err(error.into()),
        },
    };
    Ok(CallResult { status, outputs: Vec::new(), returned: None })
}

/// `sp_releaseapplock @Resource, @LockOwner = 'Transaction'`
pub(super) fn sp_releaseapplock(
    session: &mut Session,
    arguments: Vec<Argument>,
    _sink: &mut dyn ResultSink,
) -> Result<CallResult, Interruption> {
    let resource = text_argument(&arguments, 0, "@Resource")
        .ok_or_else(|| SqlError::new(201, &[&"sp_releaseapplock", &"@Resource"]))?;
    let owner = text_argument(&arguments, 1, "@LockOwner").unwrap_or_else(|| "Transaction".into());
    session.transactions.unlock_application(
        &session.database,
        &resource,
        owner.eq_ignore_ascii_case("session"),
    )?;
    Ok(CallResult::default())
}
