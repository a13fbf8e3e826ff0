//! Keys of rows: for hashing, grouping and sorting, equal under the collation means equal bytes.

use std::cmp::Ordering;

use plan_ir::physical::plan::{Node, SortNode};
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::values::write_value;
use types::{Collation, SqlError, Value};

use super::operations::Evaluate;

/// Writes the key of some expressions of a row; false when one of them is NULL.
pub(crate) fn write_key(
    nodes: &[Node],
    collations: &[Collation],
    runtime: &Runtime<'_>,
    row: &[Value],
    key: &mut Vec<u8>,
) -> Result<bool, SqlError> {
    debug_assert_eq!(nodes.len(), collations.len(), "a collation for each key");
    key.clear();
    let mut complete = true;
    for (node, collation) in nodes.iter().zip(collations) {
        let mut own = Value::Null;
        let value = node.eval_in(runtime, row, &mut own)?;
        complete &= !value.is_null();
        write_value(value, *collation, key);
    }
    Ok(complete)
}

/// Writes the key of a whole row.
pub(crate) fn write_row_key(row: &[Value], collations: &[Collation], key: &mut Vec<u8>) {
    debug_assert_eq!(row.len(), collations.len(), "a collation for each column");
    key.clear();
    for (value, collation) in row.iter().zip(collations) {
        write_value(value, *collation, key);
    }
}

/// Compares two rows by sort keys; NULL sorts lowest.
pub(crate) fn compare_rows(
    keys: &[SortNode],
    runtime: &Runtime<'_>,
    left: &Row,
    right: &Row,
) -> Result<Ordering, SqlError> {
    for key in keys {
        let (mut one, mut other) = (Value::Null, Value::Null);
        let a = key.node.eval_in(runtime, left, &mut one)?;
        let b = key.node.eval_in(runtime, right, &mut other)?;
        let ordering = types::sort_compare(a, b, key.collation);
        if ordering != Ordering::Equal {
            return Ok(if key.descending { ordering.reverse() } else { ordering });
        }
    }
    Ok(Ordering::Equal)
}

/// Sort key of one row as values.
pub(crate) fn sort_values(
    keys: &[SortNode],
    runtime: &Runtime<'_>,
    row: &[Value],
) -> Result<Vec<Value>, SqlError> {
    keys.iter().map(|key| key.node.eval(runtime, row)).collect()
}

/// Compares two lists made by `sort_values`.
pub(crate) fn compare_values(keys: &[SortNode], left: &[Value], right: &[Value]) -> Ordering {
    debug_assert!(left.len() == keys.len() && right.len() == keys.len(), "a value for each key");
    for (key, (a, b)) in keys.iter().zip(left.iter().zip(right)) {
        let ordering = types::sort_compare(a, b, key.collation);
        if ordering != Ordering::Equal {
            return if key.descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}
