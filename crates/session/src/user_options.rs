//! The server's `user options`: the settings with which sessions begin.

use engine::Instance;
use query::SetOptions;

/// Bits of `user options` with which sessions begin when they are configured.
pub(crate) const SET: i32 = IMPLICIT_TRANSACTIONS | ARITHIGNORE | NOCOUNT | XACT_ABORT;

const IMPLICIT_TRANSACTIONS: i32 = 2;

const ARITHIGNORE: i32 = 128;

const NOCOUNT: i32 = 512;

const XACT_ABORT: i32 = 16384;

/// ANSI_WARNINGS, ANSI_PADDING, ANSI_NULLS, ARITHABORT, QUOTED_IDENTIFIER, ANSI_NULL_DFLT_ON, CONCAT_NULL_YIELDS_NULL: every session begins
/// with them anyway, as the sessions of ODBC and its kin do in SQL Server.
pub(crate) const ALWAYS: i32 = 8 | 16 | 32 | 64 | 256 | 1024 | 4096;

/// The options with which a session begins, as far as `user options` says.
pub(crate) fn apply(instance: &Instance, options: &mut SetOptions) {
    let bits = instance.configuration(engine::USER_OPTIONS);
    options.implicit_transactions |= bits & IMPLICIT_TRANSACTIONS != 0;
    options.arithignore |= bits & ARITHIGNORE != 0;
    options.nocount |= bits & NOCOUNT != 0;
    options.xact_abort |= bits & XACT_ABORT != 0;
}
