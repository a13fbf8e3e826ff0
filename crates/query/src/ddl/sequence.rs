//! CREATE, ALTER and DROP SEQUENCE, the ranges of sp_sequence_get_range, and defaults that draw from sequences.

use std::sync::Arc;

use binder::Scope;
use binder::identity::wide_number;
use engine::{
    AlteredSequence, Counting, Database, HardenAhead, NewSequence, ObjectDef, SequenceCache, SequenceDef,
};
use plan_ir::data_type::{TypePlace, declared_in};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::name_parts;
use plan_ir::names::written;
use plan_ir::table::SequenceSource;
use tsql::ast::{self, NamedOption, ObjectName, OptionValue, SequenceDefinition};
use types::{SqlError, SqlType, Value, Variant};

use super::subject::{bind_context, database_of, find_object, schema_of, with_transaction};

/// The results of sp_sequence_get_range; values have the sequence's type.
#[derive(Clone, Debug)]
pub struct RangeOfSequence {
    /// The first value.
    pub first: Value,
    /// The last value.
    pub last: Value,
    /// How often the range has cycled.
    pub cycles: i32,
    /// The sequence's increment, minimum and maximum.
    pub increment: Value,
    /// The lowest value.
    pub minimum: Value,
    /// The highest value.
    pub maximum: Value,
}

/// CREATE SEQUENCE. Errors 11700, 11701, 11702, 11703, 11705, 11706, 11708, 11714; messages 11707 and 11729 follow the creation.
pub(super) fn create(
    create: &SequenceDefinition,
    context: &mut ExecContext<'_>,
) -> Result<Vec<SqlError>, SqlError> {
    let shown = written(&create.name);
    if create.name.name.value.starts_with('#') {
        return Err(SqlError::new(11714, &[&shown]));
    }
    let database = database_of(&create.name, context)?;
    let (sql_type, user_type_id) = match &create.data_type {
        None => (SqlType::BigInt, 0),
        Some(data_type) => {
            let declared = declared_in(
                data_type,
                TypePlace::Column(1),
                &database,
                engine::Lookup::new(context.transactions),
            )?;
            (declared.sql_type, declared.alias_id)
        }
    };
    let limits = SequenceDef::limits(&sql_type).ok_or_else(|| SqlError::new(11702, &[&shown]))?;
    let blank = Counting {
        start: 0,
        increment: 1,
        minimum: limits.0,
        maximum: limits.1,
        is_cycling: false,
        cache: SequenceCache::Default,
        harden_ahead: HardenAhead::default(),
    };
    let mut counting = read_options(create, &shown, blank, limits)?;
    counting.start = match &create.start_with {
        Some(start) => number(start, "START WITH", limits)?,
        None if counting.increment > 0 => counting.minimum,
        None => counting.maximum,
    };
    check_bounds(&counting, &shown)?;
    let new = NewSequence {
        schema: schema_of(&create.name),
        name: create.name.name.value.clone(),
        sql_type,
        user_type_id,
        counting,
    };
    let made =
        with_transaction(context, &database, |transaction| database.create_sequence(transaction, &new))?;
    Ok(notices(create, &made, &shown))
}

/// ALTER SEQUENCE. Errors as CREATE; 11704 when the current value lies outside the new limits, 15151 when the sequence does not exist.
pub(super) fn alter(
    alter: &SequenceDefinition,
    context: &mut ExecContext<'_>,
) -> Result<Vec<SqlError>, SqlError> {
    let shown = written(&alter.name);
    let database = database_of(&alter.name, context)?;
    let Some(ObjectDef::Sequence(found)) = find_object(&database, &alter.name, context)? else {
        return Err(SqlError::new(15151, &[&"alter", &"sequence object", &alter.name.name.value]));
    };
    let change = |old: &SequenceDef| {
        let limits = SequenceDef::limits(&old.sql_type).expect("it was made so");
        let mut counting = read_options(alter, &shown, old.counting, limits)?;
        let restarts = alter.restart.is_some();
        if let Some(Some(start)) = &alter.restart {
            counting.start = number(start, "RESTART WITH", limits)?;
        }
        let current = old.state().current;
        let is_inside = (counting.minimum..=counting.maximum).contains(&current);
        if counting.minimum < counting.maximum && !restarts && !is_inside {
            return Err(SqlError::new(11704, &[&current, &shown]));
        }
        if !restarts && counting.minimum < counting.maximum {
            // The old start value has no effect any more.
            counting.start = counting.start.clamp(counting.minimum, counting.maximum);
        }
        check_bounds(&counting, &shown)?;
        Ok(AlteredSequence { counting, restarts })
    };
    let made = with_transaction(context, &database, |transaction| {
        database.alter_sequence(transaction, &found, &change)
    })?;
    Ok(notices(alter, &made, &shown))
}

/// Reads the options that CREATE and ALTER share; omitted ones keep the value of `before`.
fn read_options(
    written: &SequenceDefinition,
    shown: &str,
    before: Counting,
    limits: (i128, i128),
) -> Result<Counting, SqlError> {
    let mut counting = before;
    if let Some(increment) = &written.increment {
        // A tinyint sequence may count down, too.
        let (lowest, highest) = (limits.0.min(-limits.1), limits.1);
        counting.increment = number(increment, "INCREMENT BY", (lowest, highest))?;
    }
    if counting.increment == 0 {
        return Err(SqlError::new(11700, &[&shown]));
    }
    match &written.min_value {
        Some(Some(minimum)) => counting.minimum = number(minimum, "MINVALUE", limits)?,
        Some(None) => counting.minimum = limits.0,
        None => {}
    }
    match &written.max_value {
        Some(Some(maximum)) => counting.maximum = number(maximum, "MAXVALUE", limits)?,
        Some(None) => counting.maximum = limits.1,
        None => {}
    }
    counting.is_cycling = written.cycle.unwrap_or(counting.is_cycling);
    match &written.cache {
        None => {}
        Some(ast::SequenceCache::NoCache) => counting.cache = SequenceCache::None,
        Some(ast::SequenceCache::Default) => counting.cache = SequenceCache::Default,
        Some(ast::SequenceCache::Size(size)) => {
            let size = wide_number(size).and_then(|size| i32::try_from(size).ok());
            let size = size.filter(|size| *size > 0).ok_or_else(|| SqlError::new(11706, &[&shown]))?;
            counting.cache = SequenceCache::Size(size);
        }
    }
    binder::clauses::check_options("sequence option", &written.options)?;
    for option in &written.options {
        if option.name.is("HARDEN_AHEAD") {
            counting.harden_ahead = harden_ahead(option)?;
        }
    }
    Ok(counting)
}

/// ON, OFF or NEXT.
fn harden_ahead(option: &NamedOption) -> Result<HardenAhead, SqlError> {
    match &option.value {
        Some(OptionValue::Switch(true, nested)) if nested.is_empty() => Ok(HardenAhead::On),
        Some(OptionValue::Switch(false, nested)) if nested.is_empty() => Ok(HardenAhead::Off),
        Some(OptionValue::Word(word)) if word.is(HardenAhead::Next.word()) => Ok(HardenAhead::Next),
        _ => Err(crate::errors::syntax_near("HARDEN_AHEAD")),
    }
}

/// A whole number between the limits of the type. Error 11708.
fn number(expr: &ast::Expr, argument: &str, limits: (i128, i128)) -> Result<i128, SqlError> {
    wide_number(expr)
        .filter(|number| (limits.0..=limits.1).contains(number))
        .ok_or_else(|| SqlError::new(11708, &[&argument]))
}

fn check_bounds(counting: &Counting, shown: &str) -> Result<(), SqlError> {
    if counting.minimum >= counting.maximum {
        return Err(SqlError::new(11705, &[&shown]));
    }
    if counting.increment.unsigned_abs() > counting.maximum.abs_diff(counting.minimum) {
        return Err(SqlError::new(11701, &[&shown]));
    }
    if !(counting.minimum..=counting.maximum).contains(&counting.start) {
        return Err(SqlError::new(11703, &[&shown]));
    }
    Ok(())
}

/// Messages about the cache: 11707 for size one, 11729 when it is larger than the number of remaining values.
fn notices(written: &SequenceDefinition, made: &SequenceDef, shown: &str) -> Vec<SqlError> {
    let mut notices = Vec::new();
    if matches!(written.cache, Some(ast::SequenceCache::Size(_)))
        && made.counting.cache == SequenceCache::Size(1)
    {
        notices.push(SqlError::new(11707, &[&shown]));
    }
    let size = made.counting.cache.values();
    if size > 1 && !made.counting.is_cycling && made.values_left() < size {
        notices.push(SqlError::new(11729, &[&shown]));
    }
    notices
}

/// DROP SEQUENCE. Errors 3701, 3705, 3729.
pub(super) fn drop(
    name: &ObjectName,
    if_exists: bool,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let database = database_of(name, context)?;
    let sequence = match find_object(&database, name, context)? {
        Some(ObjectDef::Sequence(sequence)) => sequence,
        Some(_) => return Err(crate::errors::drop_wrong_kind("sequence object", &written(name))),
        None if if_exists => return Ok(()),
        None => return Err(crate::errors::cannot_drop("sequence object", &written(name))),
    };
    // A transaction that creates a default over the sequence locks it until it ends.
    with_transaction(context, &database, |transaction| {
        database.lock_sequence(transaction, &sequence).map(|_| ())
    })?;
    if let Some(default) = default_that_needs(&database, sequence.object_id, context)? {
        return Err(SqlError::new(3729, &[&"DROP SEQUENCE", &written(name), &default]));
    }
    let object = ObjectDef::Sequence(sequence.clone());
    super::schema_binding::check_not_bound(&database, &object, ("DROP SEQUENCE", &written(name)), context)?;
    with_transaction(context, &database, |transaction| database.drop_sequence(transaction, &sequence))
}

/// The name of a default that draws from the sequence with this id; waits for transactions that change a table with such a default.
pub(super) fn default_that_needs(
    database: &Arc<Database>,
    object_id: engine::ObjectId,
    context: &ExecContext<'_>,
) -> Result<Option<String>, SqlError> {
    let lookup = engine::Lookup::new(context.transactions);
    for image in [engine::CatalogImage::Settled, engine::CatalogImage::Present] {
        for object in lookup.objects(database, image) {
            if default_of(&object, object_id, database, context)?.is_none() {
                continue;
            }
            let now = lookup.object_numbered(database, object.object_id())?;
            let found = now.map(|now| default_of(&now, object_id, database, context)).transpose()?;
            if let Some(name) = found.flatten() {
                return Ok(Some(name));
            }
        }
    }
    Ok(None)
}

/// The name of a default of this object that draws from the sequence with this id.
fn default_of(
    object: &ObjectDef,
    object_id: engine::ObjectId,
    database: &Arc<Database>,
    context: &ExecContext<'_>,
) -> Result<Option<String>, SqlError> {
    let ObjectDef::Table(table) = object else { return Ok(None) };
    for default in table.columns.iter().filter_map(|column| column.default.as_ref()) {
        let named = sequences_in(&default.text, database, context)?;
        if named.iter().any(|source| source.def.object_id == object_id) {
            return Ok(Some(default.name.to_string()));
        }
    }
    Ok(None)
}

/// The sequences in the text of a default; none when the text no longer binds.
fn sequences_in(
    text: &str,
    database: &Arc<Database>,
    context: &ExecContext<'_>,
) -> Result<Vec<Arc<SequenceSource>>, SqlError> {
    if !text.to_ascii_uppercase().contains("NEXT") {
        return Ok(Vec::new());
    }
    let expr = plan_ir::stored::parse_expression(text)?;
    match sequences_of(&expr, database, context) {
        Err(error) if matches!(error.number, 1205 | 1222) => Err(error),
        found => Ok(found.unwrap_or_default()),
    }
}

/// The sequences that a default of a table in `database` draws from.
fn sequences_of(
    expr: &ast::Expr,
    database: &Arc<Database>,
    context: &ExecContext<'_>,
) -> Result<Vec<Arc<SequenceSource>>, SqlError> {
    let bind = bind_context(context, &[]);
    let mut binder = crate::registry::binder(&bind);
    binder.database = database.clone();
    binder.scopes.push(Scope::default());
    binder.refuses_subqueries = true;
    binder.next_values.allow_in_default(expr);
    binder.value(expr)?;
    Ok(std::mem::take(&mut binder.next_values.sequences))
}

/// A new default locks the sequences that it draws from until the transaction ends. Errors 208, 11717, 11726, 11730.
pub(super) fn share_in_default(
    value: &ast::Expr,
    database: &Arc<Database>,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    for source in sequences_of(value, database, context)? {
        with_transaction(context, &source.database, |transaction| transaction.share_sequence(&source.def))?;
    }
    Ok(())
}

/// sp_sequence_get_range: reserves `size` values.
///
/// # Errors
/// 208 (state 134), 11732, 11733; those of recording the new value.
pub fn sequence_range(
    context: &mut ExecContext<'_>,
    name: &str,
    size: i64,
) -> Result<RangeOfSequence, SqlError> {
    let mut parts = name_parts(name);
    let missing = || SqlError::new(208, &[&name]).with_state(134);
    let own = parts.pop().ok_or_else(missing)?;
    let schema = parts.pop().filter(|part| !part.is_empty()).unwrap_or_else(|| "dbo".to_string());
    let database = match parts.pop().filter(|part| !part.is_empty()) {
        Some(database) => context.instance.database(&database)?,
        None => context.database.clone(),
    };
    let found = engine::Lookup::new(context.transactions).object(&database, &schema, &own)?;
    let Some(ObjectDef::Sequence(sequence)) = found else { return Err(missing()) };
    let count = u64::try_from(size).ok().filter(|size| *size > 0);
    let count = count.ok_or_else(|| SqlError::new(11733, &[&"@range_size"]))?;
    with_transaction(context, &database, |transaction| transaction.hold_sequence(&sequence))?;
    let range = database.next_range(&sequence, count).map_err(|error| match error.number {
        11728 => SqlError::new(11732, &[&sequence.name]),
        _ => error,
    })?;
    let value = |number: i128| {
        Value::Variant(Arc::new(Variant { sql_type: sequence.sql_type, value: sequence.value(number) }))
    };
    Ok(RangeOfSequence {
        first: value(range.first),
        last: value(range.last),
        cycles: i32::try_from(range.cycles).unwrap_or(i32::MAX),
        increment: sequence.increment_value(),
        minimum: value(sequence.counting.minimum),
        maximum: value(sequence.counting.maximum),
    })
}
