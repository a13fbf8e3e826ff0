//! Which errors end what: the statement, the procedure or batch, the transaction, the connection.
//!
//! SQL Server has no single rule. The classes below follow its documentation for SET XACT_ABORT (run-time errors, not those of compilation; THROW,
//! not RAISERROR) and for TRY...CATCH (what DDL raises leaves a transaction that cannot be committed), and the long-observed behaviour of
//! the numbers named; `tests/error_matrix.txt` has a row with its source for each, tried in every situation. A feature that this server refuses
//! by name ends the batch, too: the following statements rely on the one that was refused.

use types::SqlError;

/// An undeclared variable.
pub(crate) const UNDECLARED_VARIABLE: i32 = 137;

/// Where an error came from; decides which TRY block can catch it and what XACT_ABORT does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Runtime,
    /// Running a CREATE, ALTER, DROP of what lives in a database, or a TRUNCATE.
    Definition,
    /// Binding of the statement itself.
    Compilation,
    /// Parsing or binding of the text that EXECUTE or sp_executesql received: nothing of it has run.
    InnerText,
    RaisError,
    Throw,
    /// Thrown out of an atomic block, which has been rolled back: an error of the statement that called it. `ends_batch`: by THROW.
    Block {
        ends_batch: bool,
    },
}

/// How far an error reaches when no TRY block catches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Only a message; execution goes on as if nothing had happened.
    Nothing,
    /// The statement is undone, the batch goes on with the next one.
    Statement,
    /// The current scope (batch or procedure) ends; the transaction stays open.
    Scope,
    /// The whole batch ends; the transaction stays open.
    BatchOnly,
    /// The whole batch ends and the transaction is rolled back.
    Batch,
    /// The connection is closed and the transaction rolled back.
    Connection,
}

/// Strings that do not convert to a number or date, and other errors that end batch and transaction even under XACT_ABORT OFF. A well-formed
/// value that is out of range (220, 232, 242, 244, 248, 296, 298, 517, 535, 8115) ends its statement only.
const BATCH_ENDING: [i32; 40] = [
    217, 219, 235, 241, 245, 249, 289, 293, 295, 556, 628, 911, 1204, 1205, 3609, 3616, 3623, 3930, 3951,
    3957, 3958, 3960, 3961, 3964, 3966, 3998, 4514, 6335, 6359, 8106, 8107, 8114, 8169, 8180, 8630, 9001,
    9002, 11702, 11703, 11708,
];

/// Malformed XML: as for strings that do not convert, batch and transaction end.
const XML_FAULTS: std::ops::RangeInclusive<i32> = 9400..=9467;

/// The batch has used all its memory, variables included: the following statements would fail alike, in a loop for ever. The transaction stays.
const BATCH_ONLY_ENDING: [i32; 1] = [701];

/// Errors of name resolution and compilation: the scope in which they happen ends.
const SCOPE_ENDING: [i32; 56] = [
    102, 105, 111, 113, 120, 121, 128, 137, 139, 141, 145, 147, 156, 178, 191, 206, 207, 208, 209, 213, 319,
    330, 470, 5313, 1011, 1013, 1033, 4104, 4121, 4145, 4186, 4403, 4405, 4406, 4415, 4416, 4417, 4418, 4420,
    4421, 4426, 4427, 4436, 4440, 4444, 8117, 8120, 8121, 8127, 8155, 8156, 8158, 8159, 2747, 11717, 16948,
];

/// Compilation errors that end batch and transaction under XACT_ABORT ON, although XACT_ABORT does not affect other compilation errors.
const ROLLING_BACK_COMPILATION: [i32; 4] = [2747, 8159, 11717, 16948];

/// Errors of DDL that end their statement only: there was nothing to drop.
const HARMLESS_DEFINITIONS: [i32; 2] = [3701, 1222];

/// Run-time errors that XACT_ABORT does not affect.
const DEAF_TO_XACT_ABORT: [i32; 3] = [266, 2787, 3701];

/// Errors that doom the whole transaction, although they occur in an atomic block that could be rolled back alone. A snapshot update conflict
/// (3960 and similar) is one. SQL Server names others of its memory-optimized tables (10772, 41301 and similar), which cannot occur here.
const DOOMING_IN_BLOCKS: [i32; 8] = [1204, 1205, 3958, 3960, 3961, 3966, 9001, 9002];

/// Valid T-SQL that this server does not support and refuses by name: a statement, a function, a feature, an option.
fn is_refusal(number: i32) -> bool {
    matches!(number, 40510..=40517)
}

/// The reach of `error` outside TRY...CATCH.
pub(crate) fn reach(error: &SqlError, origin: Origin, xact_abort: bool) -> Reach {
    let number = error.number;
    match error.severity {
        0..=10 => return Reach::Nothing,
        20.. => return Reach::Connection,
        _ => {}
    }
    if ends_transaction(number, origin) || (xact_abort && ROLLING_BACK_COMPILATION.contains(&number)) {
        return Reach::Batch;
    }
    if BATCH_ONLY_ENDING.contains(&number) && origin != Origin::RaisError {
        return if xact_abort { Reach::Batch } else { Reach::BatchOnly };
    }
    match origin {
        Origin::Throw | Origin::Block { .. } if xact_abort => Reach::Batch,
        Origin::Throw | Origin::Block { ends_batch: true } => Reach::BatchOnly,
        Origin::Block { ends_batch: false } => Reach::Statement,
        Origin::RaisError | Origin::InnerText => Reach::Statement,
        Origin::Compilation => Reach::Scope,
        Origin::Runtime | Origin::Definition if SCOPE_ENDING.contains(&number) => Reach::Scope,
        Origin::Runtime | Origin::Definition if xact_abort && !DEAF_TO_XACT_ABORT.contains(&number) => {
            Reach::Batch
        }
        Origin::Runtime | Origin::Definition => Reach::Statement,
    }
}

/// Does it end batch and transaction regardless of XACT_ABORT?
fn ends_transaction(number: i32, origin: Origin) -> bool {
    if let Origin::Block { .. } = origin {
        return is_refusal(number) || DOOMING_IN_BLOCKS.contains(&number);
    }
    is_refusal(number)
        || (origin == Origin::Definition && !HARMLESS_DEFINITIONS.contains(&number))
        || (!matches!(origin, Origin::RaisError | Origin::InnerText)
            && (BATCH_ENDING.contains(&number) || XML_FAULTS.contains(&number)))
}

/// Does the error, once caught by a TRY block, leave an open transaction that can only be rolled back (`XACT_STATE() = -1`)?
pub(crate) fn dooms_transaction(error: &SqlError, origin: Origin, xact_abort: bool) -> bool {
    let number = error.number;
    let deaf = matches!(origin, Origin::RaisError | Origin::InnerText | Origin::Compilation);
    let heeds = !deaf && !DEAF_TO_XACT_ABORT.contains(&number);
    ends_transaction(number, origin) || (xact_abort && heeds)
}

/// Does an error that refuses the whole batch roll back an open transaction? A feature refused by name does; others only under XACT_ABORT ON.
pub(crate) fn rolls_back_uncompiled(error: &SqlError, xact_abort: bool) -> bool {
    is_refusal(error.number) || (xact_abort && ROLLING_BACK_COMPILATION.contains(&error.number))
}

/// Can a TRY block of the same scope catch it? Compilation errors of the statement itself cannot be caught there.
pub(crate) fn catchable_in_same_scope(error: &SqlError, origin: Origin) -> bool {
    error.severity > 10 && error.severity < 20 && origin != Origin::Compilation
}

/// Does message 3621 ("the statement has been terminated") follow this error of a data-changing statement?
pub(crate) fn announces_termination(error: &SqlError) -> bool {
    matches!(
        error.number,
        220 | 232
            | 242
            | 244
            | 248
            | 296
            | 298
            | 512
            | 515
            | 517
            | 535
            | 547
            | 550
            | 1222
            | 1946
            | 2601
            | 2627
            | 2628
            | 3930
            | 8115
            | 8134
            | 8152
    ) && error.severity > 10
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(number: i32, severity: u8) -> SqlError {
        SqlError::custom(number, severity, 1, String::new()).at_line(1)
    }

    #[test]
    fn the_documented_classes() {
        let cases = [
            (2627, 14, Origin::Runtime, [Reach::Statement, Reach::Batch]),
            (245, 16, Origin::Runtime, [Reach::Batch, Reach::Batch]),
            (208, 16, Origin::Compilation, [Reach::Scope, Reach::Scope]),
            (102, 15, Origin::InnerText, [Reach::Statement, Reach::Statement]),
            (547, 16, Origin::Definition, [Reach::Batch, Reach::Batch]),
            (3701, 11, Origin::Definition, [Reach::Statement, Reach::Statement]),
            (50000, 16, Origin::RaisError, [Reach::Statement, Reach::Statement]),
            (50000, 16, Origin::Throw, [Reach::BatchOnly, Reach::Batch]),
            (701, 17, Origin::Runtime, [Reach::BatchOnly, Reach::Batch]),
            (701, 17, Origin::InnerText, [Reach::BatchOnly, Reach::Batch]),
            (5701, 10, Origin::Runtime, [Reach::Nothing, Reach::Nothing]),
            (823, 24, Origin::Runtime, [Reach::Connection, Reach::Connection]),
        ];
        for (number, severity, origin, expected) in cases {
            for (xact_abort, expected) in [(false, expected[0]), (true, expected[1])] {
                assert_eq!(reach(&error(number, severity), origin, xact_abort), expected, "{number}");
            }
        }
    }

    #[test]
    fn raiserror_ignores_xact_abort_and_ddl_dooms() {
        assert!(!dooms_transaction(&error(50000, 16), Origin::RaisError, true));
        assert!(dooms_transaction(&error(50000, 16), Origin::Throw, true));
        assert!(dooms_transaction(&error(2627, 14), Origin::Runtime, true));
        assert!(!dooms_transaction(&error(2627, 14), Origin::Runtime, false));
        assert!(dooms_transaction(&error(1205, 13), Origin::Runtime, false));
        assert!(dooms_transaction(&error(2714, 16), Origin::Definition, false));
        assert!(!dooms_transaction(&error(3701, 11), Origin::Definition, true));
    }

    #[test]
    fn no_number_is_in_two_classes() {
        assert!(BATCH_ENDING.iter().all(|number| !SCOPE_ENDING.contains(number)));
        assert!(ROLLING_BACK_COMPILATION.iter().all(|number| SCOPE_ENDING.contains(number)));
    }
}
