//! Formats of numbers and times that several families of views share.

use std::sync::Arc;

use engine::Database;
use plan_ir::view::{Cell, ViewContext};
use types::Value;

/// The database of an argument, the current one for NULL or nothing.
pub(super) fn argument_database(context: &ViewContext<'_, '_>) -> Option<Arc<Database>> {
    match context.integer_argument(0) {
        None | Some(0) => Some(context.database.clone()),
        Some(id) => context.runtime.instance.database_by_id(i16::try_from(id).ok()?),
    }
}

/// When a transaction began, as views show it.
pub(super) fn begin_time(time: engine::LogTime) -> Value {
    match time.0 {
        0 => Value::Null,
        _ => Value::DateTime(engine::date_time_of(time.to_utc_100ns().cast_signed())),
    }
}

pub(super) fn megabytes(bytes: u64) -> Cell {
    Cell::Value(Value::Float((bytes as f64 / 1_048_576.0 * 100.0).round() / 100.0))
}

/// An LSN as numeric(25,0); NULL for none.
pub(super) fn numeric_lsn(lsn: engine::Lsn) -> Cell {
    match lsn.is_null() {
        true => Cell::Null,
        false => Value::Decimal(types::Decimal::new(lsn.to_numeric().cast_signed(), 25, 0)).into(),
    }
}
