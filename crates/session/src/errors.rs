//! Which errors end what: the statement, the procedure or batch, the transaction, the connection.
//!
//! SQL Server has no single rule; the classes below follow its documentation for SET XACT_ABORT and TRY...CATCH and the
//! long-observed behaviour of the numbers named. An error that ends the batch also rolls the transaction back. What this server refuses by
//! name ends the batch, too: what stands behind it was written for a statement that has not been.

use types::SqlError;

/// How far an error reaches when no TRY block catches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only a message; execution goes on as if nothing had happened.
    Nothing,
    /// The statement is undone, the batch goes on with the next one.
    Statement,
    /// The current scope (batch or procedure) ends; the transaction stays open.
    Scope,
    /// The whole batch ends and the transaction is rolled back.
    Batch,
    /// The connection is closed and the transaction rolled back.
    Connection,
}

/// Conversion failures and other errors that end the batch even under XACT_ABORT OFF.
const BATCH_ENDING: &[i32] = &[
    241, 242, 244, 245, 248, 249, 293, 295, 296, 298, 517, 535, 1204, 1205, 3609, 3616, 3930, 3998, 8114,
    8169, 8180, 8630, 9001, 9002, 9420,
];

/// Errors of name resolution and compilation: the scope in which they happen ends.
const SCOPE_ENDING: &[i32] = &[
    102, 105, 111, 113, 120, 121, 128, 137, 139, 141, 145, 147, 156, 178, 191, 201, 206, 207, 208, 209, 213,
    217, 319, 911, 1011, 1013, 1033, 4104, 4121, 4145, 8117, 8120, 8121, 8127, 8144, 8145, 8155, 8156, 8158,
    8159,
];

/// Valid T-SQL that this server does not do, refused by name: a statement, a function, a feature, an option.
fn is_refusal(number: i32) -> bool {
    matches!(number, 40510..=40517)
}

/// How far `error` reaches outside TRY...CATCH. `raised` tells RAISERROR's errors, which XACT_ABORT does not touch.
pub fn reach(error: &SqlError, xact_abort: bool, raised: bool) -> Reach {
    let by_number = if error.severity <= 10 {
        return Reach::Nothing;
    } else if error.severity >= 20 {
        return Reach::Connection;
    } else if BATCH_ENDING.contains(&error.number) || is_refusal(error.number) {
        Reach::Batch
    } else if SCOPE_ENDING.contains(&error.number) {
        Reach::Scope
    } else {
        Reach::Statement
    };
    match by_number {
        Reach::Statement if xact_abort && !raised => Reach::Batch,
        other => other,
    }
}

/// Does the error, once caught by a TRY block, leave an open transaction that can only be rolled back (`XACT_STATE() = -1`)?
pub fn dooms_transaction(error: &SqlError, xact_abort: bool, raised: bool) -> bool {
    if error.number == 1222 && !xact_abort {
        return false;
    }
    (xact_abort && !raised) || BATCH_ENDING.contains(&error.number) || is_refusal(error.number)
}

/// Can a TRY block of the same scope catch it? Compilation errors of the statement itself cannot be caught there.
pub fn catchable_in_same_scope(error: &SqlError, at_compilation: bool) -> bool {
    error.severity > 10 && error.severity < 20 && !at_compilation
}

/// Is message 3621 ("the statement has been terminated") due after this error of a data-changing statement?
pub fn announces_termination(error: &SqlError) -> bool {
    matches!(
        error.number,
        515 | 547 | 2601 | 2627 | 8115 | 8134 | 8152 | 2628 | 220 | 232 | 512 | 544 | 1222 | 3930
    ) && error.severity > 10
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(number: i32, severity: u8) -> SqlError {
        SqlError { number, severity, state: 1, line: 1, procedure: None, message: String::new() }
    }

    #[test]
    fn the_documented_classes() {
        let cases = [
            (2627, 14, false, Reach::Statement),
            (8134, 16, false, Reach::Statement),
            (8134, 16, true, Reach::Batch),
            (245, 16, false, Reach::Batch),
            (1205, 13, false, Reach::Batch),
            (208, 16, false, Reach::Scope),
            (208, 16, true, Reach::Scope),
            (5701, 10, true, Reach::Nothing),
            (823, 24, false, Reach::Connection),
            (1222, 16, false, Reach::Statement),
            (1222, 16, true, Reach::Batch),
        ];
        for (number, severity, xact_abort, expected) in cases {
            assert_eq!(reach(&error(number, severity), xact_abort, false), expected, "{number}");
        }
    }

    #[test]
    fn raiserror_ignores_xact_abort() {
        assert_eq!(reach(&error(50000, 16), true, true), Reach::Statement);
        assert_eq!(reach(&error(50000, 16), true, false), Reach::Batch);
        assert!(!dooms_transaction(&error(50000, 16), true, true));
        assert!(dooms_transaction(&error(2627, 14), true, false));
        assert!(!dooms_transaction(&error(2627, 14), false, false));
        assert!(dooms_transaction(&error(1205, 13), false, false));
    }
}
