//! The server option `user options`: the SET options of new sessions.

use engine::Instance;
use query::SetOptions;

/// Bits of `user options` that change the SET options of new sessions.
pub(crate) const SET: i32 = IMPLICIT_TRANSACTIONS | ARITHIGNORE | NOCOUNT | XACT_ABORT;

const IMPLICIT_TRANSACTIONS: i32 = 2;

const ARITHIGNORE: i32 = 128;

const NOCOUNT: i32 = 512;

const XACT_ABORT: i32 = 16384;

/// ANSI_WARNINGS, ANSI_PADDING, ANSI_NULLS, ARITHABORT, QUOTED_IDENTIFIER, ANSI_NULL_DFLT_ON, CONCAT_NULL_YIELDS_NULL: ON in every new
/// session anyway, as for ODBC and similar clients of SQL Server.
pub(crate) const ALWAYS: i32 = 8 | 16 | 32 | 64 | 256 | 1024 | 4096;

/// Applies `user options` to the SET options of a new session.
pub(crate) fn apply(instance: &Instance, options: &mut SetOptions) {
    let bits = instance.configuration(engine::USER_OPTIONS);
    options.implicit_transactions |= bits & IMPLICIT_TRANSACTIONS != 0;
    options.arithignore |= bits & ARITHIGNORE != 0;
    options.nocount |= bits & NOCOUNT != 0;
    options.xact_abort |= bits & XACT_ABORT != 0;
}
