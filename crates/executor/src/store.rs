//! From values to a row of a table: conversion to the columns' types, identity, defaults, NOT NULL.

use plan_ir::physical::change::{Store, StoreKind};
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use types::{AssignTarget, SqlError, SqlType, Value};

use super::operations::Evaluate;

/// How a column of a new row gets its value.
pub(crate) trait StoreValue {
    /// The value for an input row.
    fn value(&self, runtime: &Runtime<'_>, source: &TableSource, input: &[Value]) -> Result<Value, SqlError>;
}

impl StoreValue for Store {
    #[inline]
    fn value(&self, runtime: &Runtime<'_>, source: &TableSource, input: &[Value]) -> Result<Value, SqlError> {
        value_by(self, &self.kind, runtime, source, input)
    }
}

#[inline]
fn value_by(
    store: &Store,
    kind: &StoreKind,
    runtime: &Runtime<'_>,
    source: &TableSource,
    input: &[Value],
) -> Result<Value, SqlError> {
    match kind {
        StoreKind::Direct(node) => node.eval(runtime, input),
        StoreKind::Assign(node, from) => assign(store, runtime, source, &node.eval(runtime, input)?, from),
        StoreKind::Null => Ok(Value::Null),
        StoreKind::Identity => crate::generated::next_identity(runtime, source),
        StoreKind::RowVersion => crate::generated::next_row_version(runtime, source),
        StoreKind::Shared(kind) => shared_value(store, kind, runtime, source, input),
        StoreKind::OrDefault(kind, default) => match value_by(store, kind, runtime, source, input)? {
            Value::Null => value_by(store, default, runtime, source, input),
            value => Ok(value),
        },
    }
}

fn shared_value(
    store: &Store,
    kind: &StoreKind,
    runtime: &Runtime<'_>,
    source: &TableSource,
    input: &[Value],
) -> Result<Value, SqlError> {
    assert!(!matches!(kind, StoreKind::Shared(_)), "a default is shared once");
    value_by(store, kind, runtime, source, input)
}

fn assign(
    store: &Store,
    runtime: &Runtime<'_>,
    source: &TableSource,
    value: &Value,
    from: &SqlType,
) -> Result<Value, SqlError> {
    let column = &source.def.columns[store.ordinal];
    if fits_as_it_is(value, &column.sql_type) {
        return Ok(value.clone());
    }
    match types::assign(
        value,
        from,
        &column.sql_type,
        AssignTarget::Column { table: "", column: "" },
        runtime.convert_context(),
    ) {
        Ok(value) => Ok(value),
        Err(error) if matches!(error.number, 2628 | 8152) => {
            let table = source.full_name();
            let target = AssignTarget::Column { table: &table, column: &column.name };
            types::assign(value, from, &column.sql_type, target, runtime.convert_context())
        }
        Err(error) => Err(error),
    }
}

/// Text of the right kind that is not too long needs no work.
#[inline]
fn fits_as_it_is(value: &Value, to: &SqlType) -> bool {
    match (value, to) {
        (Value::Null, _) => true,
        (Value::Char(bytes), SqlType::VarChar(length)) => {
            length.limit().is_none_or(|limit| bytes.len() <= limit)
        }
        (Value::Char(bytes), SqlType::Char(limit)) => bytes.len() == usize::from(*limit),
        (Value::NChar(units), SqlType::NVarChar(length)) => {
            length.limit().is_none_or(|limit| units.len() <= limit)
        }
        (Value::NChar(units), SqlType::NChar(limit)) => units.len() == usize::from(*limit),
        (Value::NChar(units), SqlType::SysName) => units.len() <= 128,
        (Value::Binary(bytes), SqlType::VarBinary(length)) => {
            length.limit().is_none_or(|limit| bytes.len() <= limit)
        }
        (Value::Binary(bytes), SqlType::Binary(limit)) => bytes.len() == usize::from(*limit),
        _ => false,
    }
}

/// Error 1934 when the table has an index with a filter and the session's settings are not those that one needs.
pub(crate) fn check_settings(
    source: &TableSource,
    runtime: &Runtime<'_>,
    verb: &str,
) -> Result<(), SqlError> {
    match source.def.has_filtered_index() {
        true => runtime.options.check_for_filters(verb),
        false => Ok(()),
    }
}

/// Error 515 when a column that takes no NULL has one.
#[inline]
pub(crate) fn check_not_null(source: &TableSource, row: &Row, verb: &str) -> Result<(), SqlError> {
    for (column, value) in source.def.columns.iter().zip(row) {
        if !column.nullable && value.is_null() {
            return Err(plan_ir::errors::null_not_allowed(&column.name, &source.full_name(), verb));
        }
    }
    Ok(())
}
