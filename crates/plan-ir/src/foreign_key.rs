//! A foreign key as plans hold it: its two ends, and an index at each end that finds a key.

use std::sync::Arc;

use engine::ForeignKeyDef;
use types::{SqlError, Value};

use crate::row::Row;
use crate::table::TableSource;

/// A foreign key. A key is its values in the order in which the constraint names its columns.
#[derive(Debug)]
pub struct Reference {
    pub name: String,
    /// The referring end.
    pub here: KeyPlace,
    /// The end referred to.
    pub there: KeyPlace,
    /// Both ends are one table.
    pub is_self: bool,
}

/// One end of a foreign key.
#[derive(Debug)]
pub struct KeyPlace {
    pub source: Arc<TableSource>,
    pub columns: Vec<usize>,
    /// An index that starts with the columns, and for each of its first columns the place in the key.
    pub index: Option<(i32, Vec<usize>)>,
}

impl Reference {
    /// A key of `child` that refers to `parent`; none when a column of it is no longer there.
    pub fn new(
        key: &ForeignKeyDef,
        child: &Arc<TableSource>,
        parent: &Arc<TableSource>,
    ) -> Option<Reference> {
        Some(Reference {
            name: key.name.to_string(),
            here: key_place(child, &key.column_ids)?,
            there: key_place(parent, &key.referenced_column_ids)?,
            is_self: child.def.object_id == parent.def.object_id,
        })
    }

    /// The key of a referring row; `None` when a part is NULL: then it refers to nothing.
    pub fn own_key(&self, row: &[Value]) -> Option<Row> {
        self.here.key_of(row)
    }

    /// Does the row refer to itself?
    pub fn is_satisfied_by_itself(&self, row: &[Value], key: &[Value]) -> bool {
        self.is_self && self.there.has_key(row, key)
    }

    /// Error 547. `verb`: the statement that fails; `is_parent`: it has taken away a key that is still referred to.
    pub fn conflict(&self, verb: &str, is_parent: bool) -> SqlError {
        let (kind, other) = match (is_parent, self.is_self) {
            (false, false) => ("FOREIGN KEY", &self.there),
            (false, true) => ("FOREIGN KEY SAME TABLE", &self.there),
            (true, false) => ("REFERENCE", &self.here),
            (true, true) => ("SAME TABLE REFERENCE", &self.here),
        };
        let column = match other.columns.as_slice() {
            [one] => Some(other.source.def.columns[*one].name.to_string()),
            _ => None,
        };
        crate::errors::constraint_conflict(
            verb,
            kind,
            &self.name,
            other.source.database.name(),
            &other.source.two_part_name(),
            column.as_deref(),
        )
    }
}

impl KeyPlace {
    /// The key in a row of this end; `None` when a part is NULL.
    pub fn key_of(&self, row: &[Value]) -> Option<Row> {
        let key: Row = self.columns.iter().map(|ordinal| row[*ordinal].clone()).collect();
        (!key.iter().any(Value::is_null)).then_some(key)
    }

    /// The key that a gathered row begins with.
    pub fn first_key<'r>(&self, row: &'r [Value]) -> &'r [Value] {
        &row[..self.columns.len()]
    }

    /// Has the row the key, as the columns compare?
    pub fn has_key(&self, row: &[Value], key: &[Value]) -> bool {
        self.columns.iter().zip(key).all(|(ordinal, value)| {
            let collation = self.source.def.columns[*ordinal].collation;
            types::sort_compare(&row[*ordinal], value, collation).is_eq()
        })
    }
}

/// The columns of one end of a foreign key, and the index that starts with them if there is one.
fn key_place(source: &Arc<TableSource>, column_ids: &[i32]) -> Option<KeyPlace> {
    let columns: Vec<usize> = column_ids
        .iter()
        .map(|id| source.def.columns.iter().position(|column| column.column_id == *id))
        .collect::<Option<_>>()?;
    let width = columns.len();
    let order_in = |index: &engine::IndexDef| -> Option<Vec<usize>> {
        let first = index.key.get(..width)?;
        first.iter().map(|part| columns.iter().position(|ordinal| *ordinal == part.ordinal)).collect()
    };
    // The clustered index first, then unique ones: the fewest reads.
    let mut indexes: Vec<&engine::IndexDef> =
        source.def.indexes.iter().filter(|index| index.is_whole()).collect();
    indexes.sort_by_key(|index| (index.kind != engine::IndexKind::Clustered, !index.unique));
    let index = indexes.into_iter().find_map(|index| Some((index.index_id, order_in(index)?)));
    Some(KeyPlace { source: source.clone(), columns, index })
}
