//! The options of indexes: which statement accepts each, their values, and their effect on an index.

use engine::IndexSettingsChange;
use plan_ir::errors;
use tsql::ast::{ExprKind, Literal, NamedOption, OptionValue, UnaryOp};
use types::SqlError;

use super::{check_options, is_known, value_text};

/// The statements that have options of indexes.
#[derive(Clone, Copy)]
pub(super) enum IndexStatement {
    /// CREATE INDEX, keys and indexes of a table's definition, ALTER TABLE.
    Definition,
    /// ALTER INDEX ... REBUILD.
    Rebuild,
    /// ALTER INDEX ... REORGANIZE.
    Reorganize,
    /// ALTER INDEX ... SET.
    Set,
}

const SWITCHES: [&str; 6] = [
    "IGNORE_DUP_KEY",
    "PAD_INDEX",
    "ALLOW_ROW_LOCKS",
    "ALLOW_PAGE_LOCKS",
    "OPTIMIZE_FOR_SEQUENTIAL_KEY",
    "STATISTICS_NORECOMPUTE",
];

/// The switches that change nothing of the index.
const ADVICE_SWITCHES: [&str; 3] = ["SORT_IN_TEMPDB", "ONLINE", "LOB_COMPACTION"];

impl IndexStatement {
    fn takes(self, word: &str) -> bool {
        match self {
            IndexStatement::Definition => true,
            IndexStatement::Rebuild => {
                !["DROP_EXISTING", "OPTIMIZE_FOR_SEQUENTIAL_KEY", "LOB_COMPACTION"].contains(&word)
            }
            IndexStatement::Reorganize => ["LOB_COMPACTION", "COMPRESS_ALL_ROW_GROUPS"].contains(&word),
            IndexStatement::Set => [
                "ALLOW_ROW_LOCKS",
                "ALLOW_PAGE_LOCKS",
                "OPTIMIZE_FOR_SEQUENTIAL_KEY",
                "IGNORE_DUP_KEY",
                "STATISTICS_NORECOMPUTE",
                "COMPRESSION_DELAY",
            ]
            .contains(&word),
        }
    }

    fn shown(self) -> &'static str {
        match self {
            IndexStatement::Definition => "index",
            IndexStatement::Rebuild => "ALTER INDEX REBUILD",
            IndexStatement::Reorganize => "ALTER INDEX REORGANIZE",
            IndexStatement::Set => "ALTER INDEX SET",
        }
    }
}

/// Does the statement take these options with these values? Errors 102, 129, 155, 1039, 7711 and the refusal.
pub(super) fn check(place: IndexStatement, options: &[NamedOption]) -> Result<(), SqlError> {
    check_repeated(options)?;
    for option in options {
        let word = option.name.value.to_uppercase();
        if is_known("index option", &word) && !place.takes(&word) {
            return Err(errors::unknown_option(&word, place.shown()));
        }
        if word == "FILLFACTOR" {
            check_percentage(option)?;
        }
        check_value(&word, option)?;
        if let Some(OptionValue::Switch(_, more)) = &option.value
            && word == "IGNORE_DUP_KEY"
        {
            check_suppression(option, more)?;
        }
    }
    check_options("index option", options)
}

/// Switches are ON or OFF, MAXDOP is a number.
fn check_value(word: &str, option: &NamedOption) -> Result<(), SqlError> {
    let is_switch = SWITCHES.contains(&word) || ADVICE_SWITCHES.contains(&word);
    match &option.value {
        Some(OptionValue::Switch(on, _)) if word == "MAXDOP" => {
            Err(errors::syntax_near_keyword(if *on { "ON" } else { "OFF" }))
        }
        Some(value) if is_switch && !matches!(value, OptionValue::Switch(..)) => {
            Err(errors::syntax_near(&value_text(value)))
        }
        _ => Ok(()),
    }
}

/// Each option stands once (1039), compression once for each partition (7711).
pub(super) fn check_repeated(options: &[NamedOption]) -> Result<(), SqlError> {
    for (at, option) in options.iter().enumerate() {
        let of_partitions = |one: &NamedOption| matches!(one.value, Some(OptionValue::OnPartitions(..)));
        let repeats = |other: &NamedOption| {
            other.name.is(&option.name.value) && !(of_partitions(other) && of_partitions(option))
        };
        if options[..at].iter().any(repeats) {
            let word = option.name.value.to_uppercase();
            return Err(match word.as_str() {
                "DATA_COMPRESSION" => SqlError::new(7711, &[]),
                _ => SqlError::new(1039, &[&word]),
            });
        }
    }
    Ok(())
}

fn check_percentage(option: &NamedOption) -> Result<(), SqlError> {
    match number(option) {
        Some(1..=100) => Ok(()),
        Some(other) => Err(SqlError::new(129, &[&other])),
        None => {
            let said = option.value.as_ref().map_or_else(|| option.name.value.clone(), value_text);
            Err(errors::syntax_near(&said))
        }
    }
}

/// Checks the options in parentheses after IGNORE_DUP_KEY = ON. Errors 102, 155.
fn check_suppression(option: &NamedOption, more: &[NamedOption]) -> Result<(), SqlError> {
    let is_on = matches!(option.value, Some(OptionValue::Switch(true, _)));
    match more {
        [] => Ok(()),
        _ if !is_on => Err(errors::syntax_near("(")),
        [one] if one.name.is(SUPPRESS_MESSAGES) => match &one.value {
            Some(OptionValue::Switch(_, none)) if none.is_empty() => Ok(()),
            value => {
                Err(errors::syntax_near(&value.as_ref().map_or_else(|| one.name.value.clone(), value_text)))
            }
        },
        [one, ..] => Err(errors::unknown_option(&one.name.value.to_uppercase(), "IGNORE_DUP_KEY")),
    }
}

const SUPPRESS_MESSAGES: &str = "SUPPRESS_MESSAGES";

/// A whole number as an option's value.
fn number(option: &NamedOption) -> Option<i64> {
    let Some(OptionValue::Value(value, None)) = &option.value else { return None };
    match &value.kind {
        ExprKind::Literal(Literal::Int(number)) => Some(i64::from(*number)),
        ExprKind::Unary(UnaryOp::Minus, inner) => match &inner.kind {
            ExprKind::Literal(Literal::Int(number)) => Some(-i64::from(*number)),
            _ => None,
        },
        _ => None,
    }
}

/// The index settings of options that have passed `check`.
pub fn index_settings(options: &[NamedOption]) -> IndexSettingsChange {
    let named = |word: &str| options.iter().rev().find(|option| option.name.is(word));
    let switch =
        |word: &str| named(word).map(|option| !matches!(option.value, Some(OptionValue::Switch(false, _))));
    let percentage = named("FILLFACTOR").and_then(number).and_then(|number| u8::try_from(number).ok());
    IndexSettingsChange {
        fill_factor: percentage.filter(|number| (1..=100).contains(number)),
        is_padded: switch("PAD_INDEX"),
        allow_row_locks: switch("ALLOW_ROW_LOCKS"),
        allow_page_locks: switch("ALLOW_PAGE_LOCKS"),
        optimize_for_sequential_key: switch("OPTIMIZE_FOR_SEQUENTIAL_KEY"),
        ignore_dup_key: switch("IGNORE_DUP_KEY"),
        suppress_dup_key_messages: named("IGNORE_DUP_KEY").map(|option| match &option.value {
            Some(OptionValue::Switch(true, more)) => {
                more.iter().any(|one| matches!(one.value, Some(OptionValue::Switch(true, _))))
            }
            _ => false,
        }),
    }
}
