//! Sequences: sys.sequences, INFORMATION_SCHEMA.SEQUENCES, and their in-memory state (sys.dm_db_sequence_cache, Hardpan's own).

use std::sync::Arc;

use engine::{ObjectDef, SequenceCache, SequenceDef};
use plan_ir::view::{SystemView, ViewContext};
use types::{SqlError, SqlType, Value, Variant};

use super::objects::object_cells;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "sequences",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_published bit, \
         is_schema_published bit, start_value sql_variant not null, increment sql_variant not null, minimum_value sql_variant, maximum_value sql_variant, \
         is_cycling bit, is_cached bit, cache_size int, system_type_id tinyint not null, user_type_id int not null, precision tinyint not null, \
         scale tinyint, current_value sql_variant not null, is_exhausted bit, last_used_value sql_variant",
        sequences,
    ),
    // Claim 96: the two values in memory, beside those on disk.
    SystemView::new(
        "dm_db_sequence_cache",
        "database_id int not null, object_id int not null, name sysname, current_value sql_variant not null, values_left bigint not null, \
         recovery_value sql_variant, recovery_writes_total bigint not null, harden_ahead nvarchar(60) not null",
        cache,
    ),
    SystemView::new(
        "SEQUENCES",
        "SEQUENCE_CATALOG nvarchar(128), SEQUENCE_SCHEMA nvarchar(128), SEQUENCE_NAME sysname, DATA_TYPE nvarchar(128), \
         NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE int, START_VALUE sql_variant, MINIMUM_VALUE sql_variant, \
         MAXIMUM_VALUE sql_variant, INCREMENT sql_variant, CYCLE_OPTION int",
        information_schema,
    )
    .in_schema("INFORMATION_SCHEMA"),
];

fn sequences_of(context: &ViewContext<'_, '_>) -> Vec<Arc<SequenceDef>> {
    let all = context.runtime.objects_of(context.database).into_iter().filter_map(|object| match object {
        ObjectDef::Sequence(sequence) => Some(sequence),
        _ => None,
    });
    all.collect()
}

/// A number as a value of the sequence's type.
fn variant(sequence: &SequenceDef, number: i128) -> Value {
    Value::Variant(Arc::new(Variant { sql_type: sequence.sql_type, value: sequence.value(number) }))
}

/// Precision of the values.
fn precision(sql_type: &SqlType) -> u8 {
    match sql_type {
        SqlType::TinyInt => 3,
        SqlType::SmallInt => 5,
        SqlType::Int => 10,
        SqlType::BigInt => 19,
        SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => *precision,
        _ => 0,
    }
}

fn sequences(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for sequence in sequences_of(context) {
        let state = sequence.state();
        let value = |number: i128| variant(&sequence, number);
        let type_id = sequence.sql_type.system_type_id();
        let user_type_id = match sequence.user_type_id {
            0 => i32::from(type_id),
            alias => alias,
        };
        let cache_size = match sequence.counting.cache {
            SequenceCache::Size(size) => Value::Int(size),
            SequenceCache::None | SequenceCache::Default => Value::Null,
        };
        let mut cells = object_cells(&ObjectDef::Sequence(sequence.clone()));
        cells.extend([
            ("start_value", value(sequence.counting.start).into()),
            ("increment", sequence.increment_value().into()),
            ("minimum_value", value(sequence.counting.minimum).into()),
            ("maximum_value", value(sequence.counting.maximum).into()),
            ("is_cycling", sequence.counting.is_cycling.into()),
            ("is_cached", (sequence.counting.cache != SequenceCache::None).into()),
            ("cache_size", cache_size.into()),
            ("system_type_id", Value::TinyInt(type_id).into()),
            ("user_type_id", user_type_id.into()),
            ("precision", Value::TinyInt(precision(&sequence.sql_type)).into()),
            ("scale", Value::TinyInt(0).into()),
            ("current_value", value(state.current).into()),
            ("is_exhausted", state.is_exhausted.into()),
            ("last_used_value", state.last_used.map_or(Value::Null, value).into()),
        ]);
        context.row(&cells);
    }
    Ok(())
}

fn cache(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database_id = i32::from(context.database.id());
    for sequence in sequences_of(context) {
        let state = sequence.state();
        let value = |number: i128| variant(&sequence, number);
        context.row(&[
            ("database_id", database_id.into()),
            ("object_id", sequence.object_id.into()),
            ("name", sequence.name.to_string().into()),
            ("current_value", value(state.current).into()),
            ("values_left", Value::BigInt(i64::try_from(state.left).unwrap_or(i64::MAX)).into()),
            ("recovery_value", state.noted.map_or(Value::Null, value).into()),
            ("recovery_writes_total", Value::BigInt(state.notes.cast_signed()).into()),
            ("harden_ahead", sequence.counting.harden_ahead.word().into()),
        ]);
    }
    Ok(())
}

fn information_schema(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = context.database.name().to_string();
    for sequence in sequences_of(context) {
        let value = |number: i128| variant(&sequence, number);
        context.row(&[
            ("SEQUENCE_CATALOG", database.clone().into()),
            ("SEQUENCE_SCHEMA", sequence.schema.to_string().into()),
            ("SEQUENCE_NAME", sequence.name.to_string().into()),
            ("DATA_TYPE", sequence.sql_type.base().name().into()),
            ("NUMERIC_PRECISION", Value::TinyInt(precision(&sequence.sql_type)).into()),
            ("NUMERIC_PRECISION_RADIX", Value::SmallInt(10).into()),
            ("NUMERIC_SCALE", 0.into()),
            ("START_VALUE", value(sequence.counting.start).into()),
            ("MINIMUM_VALUE", value(sequence.counting.minimum).into()),
            ("MAXIMUM_VALUE", value(sequence.counting.maximum).into()),
            ("INCREMENT", sequence.increment_value().into()),
            ("CYCLE_OPTION", i32::from(sequence.counting.is_cycling).into()),
        ]);
    }
    Ok(())
}
