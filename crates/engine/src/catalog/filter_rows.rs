//! The filter of an index as rows of sysidxfilters, and back: its text, and a row for each term, or for each constant of an IN.

use std::sync::Arc;

use types::{Value, Variant};

use super::rows::{Fields, int, text};
use crate::filter::{FilterTerm, FilterTest, IndexFilter};
use crate::schema::{ColumnDef, ObjectId};

/// The rows of an index's filter.
pub(super) fn filter_rows(
    (object_id, index_id): (ObjectId, i32),
    filter: &IndexFilter,
    columns: &[ColumnDef],
) -> Vec<Vec<Value>> {
    let row = |subid: usize, term: usize, column_id: i32, test: u8, value: Value, shown: Value| {
        let (subid, term) = (int(subid as i32), int(term as i32));
        vec![int(object_id), int(index_id), subid, term, int(column_id), Value::TinyInt(test), value, shown]
    };
    let mut rows = vec![row(0, 0, 0, 0, Value::Null, text(&filter.text))];
    for (at, FilterTerm { ordinal, test }) in filter.terms.iter().enumerate() {
        let column = &columns[*ordinal];
        let constant = |value: &Value| {
            // A text constant keeps its own length, which may differ from the column's.
            let sql_type = match value {
                Value::Char(_) | Value::NChar(_) | Value::Binary(_) => value.natural_type(),
                _ => column.sql_type,
            };
            Value::Variant(Arc::new(Variant { sql_type, value: value.clone() }))
        };
        let mut constants: Vec<Value> = test.constants().iter().map(constant).collect();
        if constants.is_empty() {
            constants.push(Value::Null);
        }
        for value in constants {
            rows.push(row(rows.len(), at, column.column_id, test.number(), value, Value::Null));
        }
    }
    rows
}

/// The filter from the rows of one index; `None` when they are invalid, `Some(None)` when there are none.
pub(super) fn filter_of(rows: &[&[Value]], columns: &[ColumnDef]) -> Option<Option<IndexFilter>> {
    let Some((first, terms)) = rows.split_first() else { return Some(None) };
    let mut filter = IndexFilter { text: Fields(first).text(7)?, terms: Vec::new() };
    let mut last = None;
    for row in terms {
        let fields = Fields(row);
        let (term, column_id, number) = (fields.int(3)?, fields.int(4)?, fields.tiny(5)?);
        let ordinal = columns.iter().position(|column| column.column_id == column_id)?;
        let constant = match row.get(6)? {
            Value::Variant(variant) => variant.value.clone(),
            other => other.clone(),
        };
        match (filter.terms.last_mut(), FilterTest::of_number(number, constant)?) {
            (Some(FilterTerm { test: FilterTest::In(list), .. }), FilterTest::In(more))
                if last == Some(term) =>
            {
                list.extend(more);
            }
            (_, test) => filter.terms.push(FilterTerm { ordinal, test }),
        }
        last = Some(term);
    }
    Some(Some(filter))
}
