//! Options and clauses: the effect of each, and the refusal of those that would have no effect.
//!
//! The parser accepts more of T-SQL than is implemented. Nothing is ignored silently: an option or clause is implemented, or it is advice (results
//! are equal without it), or it is refused by name. Lists of options take any word in the parser; here `table.txt` says which words exist
//! and which of their values are taken. Clauses that have fields of their own in the syntax tree are looked at in `statements.rs`, field by
//! field. The same table has a row for each word of the parser's own source; a test of `session` holds the two together.

mod index_options;
mod statements;

use std::sync::OnceLock;

use plan_ir::optimizer_rules::is_rule_hint;
use rustc_hash::FxHashMap;
use tsql::ast::{ExprKind, Literal, NamedOption, OptionValue, QueryHint, UnaryOp};
use types::SqlError;

pub use index_options::index_settings;
pub use statements::{check_begin, check_create_database, check_execute, database_collation, filegroup};
pub use statements::{
    check_common_tables, check_definition, check_join_hint, check_row_function, check_table_elements,
    check_table_options, check_table_reference,
};

/// The table, as the test reads it.
pub const TABLE: &str = include_str!("table.txt");

/// The effect of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takes<'t> {
    /// It has the effect that it is documented to have.
    Done,
    /// It asks for another plan, place or speed; results are the same without.
    Advice,
    /// Only these values, which ask for what is done anyway.
    Only(Vec<&'t str>),
    /// Refused by name.
    Refused,
}

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Row<'t> {
    /// Where the words may stand: a list of options, or a file of the parser.
    pub place: &'t str,
    /// The words, in upper case.
    pub words: Vec<&'t str>,
    /// Their effect.
    pub takes: Takes<'t>,
    /// In words.
    pub meaning: &'t str,
    /// Statements to try, each refused unless it ends with `=> ok`.
    pub examples: Vec<&'t str>,
}

/// All rows of a table in the form of [`TABLE`]; a line that is none is told.
///
/// # Errors
/// The line without a proper form.
pub fn rows(table: &str) -> Result<Vec<Row<'_>>, String> {
    let lines = table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|line| row(line).ok_or_else(|| line.to_string())).collect()
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut fields = line.split(" | ").map(str::trim);
    let (place, words, takes, meaning) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let examples = fields.next().map_or(Vec::new(), |examples| examples.split(";;").map(str::trim).collect());
    let takes = match takes {
        "done" => Takes::Done,
        "advice" => Takes::Advice,
        "refused" => Takes::Refused,
        other => Takes::Only(other.strip_prefix("only ")?.split(',').map(str::trim).collect()),
    };
    Some(Row { place, words: words.split(',').map(str::trim).collect(), takes, meaning, examples })
}

/// The effect of each word of each list, read from the table once in the process.
fn effects() -> &'static FxHashMap<(&'static str, &'static str), Takes<'static>> {
    static EFFECTS: OnceLock<FxHashMap<(&str, &str), Takes<'static>>> = OnceLock::new();
    EFFECTS.get_or_init(|| {
        let mut effects = FxHashMap::default();
        for row in TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(row) {
            for word in row.words {
                // A word that has two rows has the effect of the first.
                effects.entry((row.place, word)).or_insert_with(|| row.takes.clone());
            }
        }
        effects
    })
}

/// The entry of the table for an option of a list.
fn known<'t>(place: &'t str, name: &'t str) -> Option<&'t Takes<'static>> {
    effects().get(&(place, name))
}

/// Does the table have this word of the list at all?
pub fn is_known(place: &str, name: &str) -> bool {
    known(place, name).is_some()
}

/// Is the option of this list done, advice, or set to what is done anyway? Errors 155 (no such option) and the refusal.
pub fn check_option(place: &str, name: &str, value: Option<&str>) -> Result<(), SqlError> {
    let name = name.to_uppercase();
    match known(place, &name) {
        None => Err(plan_ir::errors::unknown_option(&name, place)),
        Some(Takes::Done | Takes::Advice) => Ok(()),
        Some(Takes::Only(values)) if value.is_some_and(|value| values.contains(&value)) => Ok(()),
        Some(Takes::Only(_) | Takes::Refused) => {
            let value = value.map_or(String::new(), |value| format!(" = {value}"));
            Err(plan_ir::errors::unsupported(&format!("{place} {name}{value}")))
        }
    }
}

/// The same for every option of a list.
pub fn check_options(place: &str, options: &[NamedOption]) -> Result<(), SqlError> {
    options.iter().try_for_each(|option| {
        let value = option.value.as_ref().map(value_text);
        check_option(place, &option.name.value, value.as_deref())
    })
}

/// A value as the table writes it: upper case, without what stands in parentheses behind it.
pub fn value_text(value: &OptionValue) -> String {
    match value {
        OptionValue::Switch(on, _) => (if *on { "ON" } else { "OFF" }).to_string(),
        OptionValue::Word(word) | OptionValue::OnPartitions(word, _) => word.value.to_uppercase(),
        OptionValue::Name(name) => name.name.value.to_uppercase(),
        OptionValue::Value(value, _) => constant_text(&value.kind),
        OptionValue::List(_) | OptionValue::Ranges(_) => "(...)".to_string(),
    }
}

fn constant_text(kind: &ExprKind) -> String {
    match kind {
        ExprKind::Literal(Literal::Int(number)) => number.to_string(),
        ExprKind::Literal(Literal::Numeric(text)) => text.clone(),
        ExprKind::Literal(Literal::String(text) | Literal::NString(text)) => text.to_uppercase(),
        ExprKind::Unary(UnaryOp::Minus, inner) => format!("-{}", constant_text(&inner.kind)),
        _ => "...".to_string(),
    }
}

/// Every way to join that FROM asks for is one of those that OPTION names, if it names any: 1042.
pub fn check_join_hints_agree(asked: &[tsql::ast::JoinHint], hints: &[QueryHint]) -> Result<(), SqlError> {
    use tsql::ast::JoinHint;
    let named = hints.iter().filter_map(|hint| match hint {
        QueryHint::Plain(name, _) => Some(name.value.to_uppercase()),
        _ => None,
    });
    let allowed: Vec<String> = named.filter(|name| name.ends_with(" JOIN")).collect();
    let agrees = |hint: &JoinHint| {
        let word = match hint {
            JoinHint::Loop => "LOOP JOIN",
            JoinHint::Hash => "HASH JOIN",
            JoinHint::Merge => "MERGE JOIN",
            _ => return true,
        };
        allowed.iter().any(|name| name == word)
    };
    if allowed.is_empty() || asked.iter().all(agrees) { Ok(()) } else { Err(SqlError::new(1042, &[&"JOIN"])) }
}

/// The most that MAXRECURSION may say.
const RECURSION_MAX: i32 = 32_767;

/// MAXRECURSION is 0 (no limit) to 32,767: 310.
fn check_recursion_limit(value: Option<&tsql::ast::Expr>) -> Result<(), SqlError> {
    match value.map(|value| &value.kind) {
        Some(ExprKind::Literal(Literal::Int(limit))) if *limit > RECURSION_MAX => {
            Err(SqlError::new(310, &[limit, &RECURSION_MAX]))
        }
        _ => Ok(()),
    }
}

/// Hints of OPTION (..).
pub fn check_query_hints(hints: &[QueryHint]) -> Result<(), SqlError> {
    const PLACE: &str = "query hint";
    for hint in hints {
        match hint {
            QueryHint::Plain(name, value) => match known(PLACE, &name.value.to_uppercase()) {
                None => return Err(plan_ir::errors::syntax_near(&name.value)),
                Some(_) if name.is("MAXRECURSION") => check_recursion_limit(value.as_ref())?,
                Some(_) => check_option(PLACE, &name.value, None)?,
            },
            QueryHint::UseHint(names) => {
                for name in names {
                    let name = name.to_uppercase();
                    if known("USE HINT", &name).is_none() && !is_rule_hint(&name) {
                        return Err(plan_ir::errors::unknown_use_hint(&name));
                    }
                }
            }
            QueryHint::OptimizeFor(_) | QueryHint::OptimizeForUnknown => {}
            QueryHint::UsePlan(_) => return Err(plan_ir::errors::unsupported("OPTION (USE PLAN)")),
            // The binder has looked for its table.
            QueryHint::TableHint(..) => {}
            QueryHint::ForTimestamp(_) => return Err(plan_ir::errors::unsupported("OPTION (FOR TIMESTAMP)")),
        }
    }
    Ok(())
}
