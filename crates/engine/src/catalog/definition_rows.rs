//! All rows of one object in the system tables, and their changes when its definition changes.

use types::{DateTime, Value};

use super::filter_rows::filter_rows;
use super::rows::{column_row, index_column_rows, index_row, int, table_status, text, text_class};
use super::system_tables;
use crate::schema::{ConstraintState, ModuleDef, ObjectDef, TableDef};
use crate::sequence_def::SequenceDef;

/// A row with the system table it belongs to.
pub(crate) type SystemRow = (usize, Vec<Value>);

/// The rows of an object.
pub(crate) fn rows_of(object: &ObjectDef) -> Vec<SystemRow> {
    match object {
        ObjectDef::Table(table) => table_rows(table),
        ObjectDef::Module(module) => module_rows(module),
        ObjectDef::Sequence(sequence) => sequence_rows(sequence),
    }
}

/// The rows to delete and the rows to insert to get from one definition to the other.
pub(crate) fn difference(old: &[SystemRow], new: &[SystemRow]) -> (Vec<SystemRow>, Vec<SystemRow>) {
    let missing = |from: &[SystemRow], other: &[SystemRow]| {
        from.iter().filter(|row| !other.contains(row)).cloned().collect()
    };
    (missing(old, new), missing(new, old))
}

fn object_row(
    object: &ObjectDef,
    parent: i32,
    status: i32,
    intprop: i32,
    created: DateTime,
    modified: DateTime,
) -> SystemRow {
    let row = vec![
        int(object.object_id()),
        int(object.schema_id()),
        text(object.name()),
        Value::varchar(object.type_code()),
        int(parent),
        int(status),
        int(intprop),
        Value::DateTime(created),
        Value::DateTime(modified),
    ];
    (system_tables::OBJECTS, row)
}

fn module_rows(module: &ModuleDef) -> Vec<SystemRow> {
    let status = module.settings().status();
    let object = ObjectDef::Module(std::sync::Arc::new(module.clone()));
    let mut rows = vec![
        object_row(&object, module.parent_object_id, status, 0, module.create_date, module.modify_date),
        text_row(module.object_id, text_class::MODULE, 0, None, 0, 0, &module.definition),
    ];
    rows.extend(module.stars.iter().map(|star| {
        let place = i32::try_from(star.place).expect("a text is shorter than 2 GB");
        text_row(module.object_id, text_class::STAR, place, None, 0, 0, &super::stars::text_of(&star.columns))
    }));
    rows
}

fn sequence_rows(sequence: &SequenceDef) -> Vec<SystemRow> {
    let object = ObjectDef::Sequence(std::sync::Arc::new(sequence.clone()));
    vec![
        object_row(&object, 0, 0, 0, sequence.create_date, sequence.modify_date),
        (system_tables::SEQUENCES, super::sequences::sequence_row(sequence)),
    ]
}

fn table_rows(table: &TableDef) -> Vec<SystemRow> {
    let object = ObjectDef::Table(std::sync::Arc::new(table.clone()));
    let id = table.object_id;
    let status = if table.ansi_nulls { 0 } else { table_status::ANSI_NULLS_OFF };
    let mut rows =
        vec![object_row(&object, 0, status, table.next_column_id, table.create_date, table.modify_date)];
    for column in &table.columns {
        rows.push((system_tables::COLUMNS, column_row(id, column)));
        if let Some(default) = &column.default {
            rows.push(text_row(
                id,
                text_class::DEFAULT,
                column.column_id,
                Some(&default.name),
                default.object_id,
                i32::from(default.is_system_named),
                &default.text,
            ));
        }
        if let Some(computed) = &column.computed {
            rows.push(text_row(id, text_class::COMPUTED, column.column_id, None, 0, 0, &computed.text));
        }
    }
    for (at, check) in table.checks.iter().enumerate() {
        rows.push(text_row(
            id,
            text_class::CHECK,
            at as i32,
            Some(&check.name),
            check.object_id,
            constraint_status(check.is_system_named, check.state),
            &check.text,
        ));
    }
    for index in &table.indexes {
        rows.push((system_tables::INDEXES, index_row(id, index)));
        if let Some(filter) = &index.filter {
            let filter = filter_rows((id, index.index_id), filter, &table.columns);
            rows.extend(filter.into_iter().map(|row| (system_tables::INDEX_FILTERS, row)));
        }
        rows.extend(
            index_column_rows(id, index, &table.columns)
                .into_iter()
                .map(|row| (system_tables::INDEX_COLUMNS, row)),
        );
    }
    for key in &table.foreign_keys {
        let status = constraint_status(key.is_system_named, key.state)
            | i32::from(key.delete_action) << 8
            | i32::from(key.update_action) << 10;
        for (at, (column, referenced)) in key.column_ids.iter().zip(&key.referenced_column_ids).enumerate() {
            let row = vec![
                int(id),
                int(key.object_id),
                int(at as i32),
                text(&key.name),
                int(key.referenced_object_id),
                int(*column),
                int(*referenced),
                int(status),
            ];
            rows.push((system_tables::FOREIGN_KEYS, row));
        }
    }
    rows
}

/// Status bits of a CHECK or FOREIGN KEY constraint.
fn constraint_status(is_system_named: bool, state: ConstraintState) -> i32 {
    use super::rows::constraint_status as bit;
    let flag = |on: bool, bit: i32| if on { bit } else { 0 };
    flag(is_system_named, bit::SYSTEM_NAMED)
        | flag(state.is_disabled, bit::DISABLED)
        | flag(state.is_not_trusted, bit::NOT_TRUSTED)
        | flag(state.is_not_for_replication, bit::NOT_FOR_REPLICATION)
}

fn text_row(
    id: i32,
    class: u8,
    subid: i32,
    name: Option<&str>,
    object_id: i32,
    status: i32,
    value: &str,
) -> SystemRow {
    let row = vec![
        int(id),
        Value::TinyInt(class),
        int(subid),
        name.map_or(Value::Null, text),
        int(object_id),
        int(status),
        text(value),
    ];
    (system_tables::TEXTS, row)
}
