//! Interrupt checks in a change of many rows.

use crate::error::SqlResult;

/// Rows between two checks for an interrupt.
const ROWS_BETWEEN_LOOKS: usize = 1_000;

/// KILL and attention end a long change.
pub(super) fn stop_if_asked(number: usize) -> SqlResult<()> {
    let is_asked = number.is_multiple_of(ROWS_BETWEEN_LOOKS) && os::task::interrupt_pending();
    if is_asked { Err(crate::error::interrupted()) } else { Ok(()) }
}
