//! The maximal length of an index's key columns, and the rows that exceed it.
//!
//! An index whose fixed-length columns are too long is not created (1944); one whose variable-length columns may be too long is created with a
//! warning (1945), and a row that is too long is refused (1946).

use types::{SqlError, SqlType, Value};

use super::Table;
use crate::error::SqlResult;
use crate::schema::{IndexColumn, IndexDef, IndexKind, TableDef};

impl IndexDef {
    /// The most bytes that the key columns of an entry may have together: 900 for a clustered index, 1,700 for another one.
    pub fn key_bytes_max(&self) -> usize {
        if self.kind == IndexKind::Clustered { 900 } else { 1700 }
    }

    /// The bytes of its fixed-length key columns in every entry.
    pub fn fixed_key_bytes(&self, table: &TableDef) -> usize {
        self.key_column_bytes(table, |sql_type| !is_variable(sql_type))
    }

    /// The most bytes of its key columns.
    pub fn longest_key_bytes(&self, table: &TableDef) -> usize {
        self.key_column_bytes(table, |_| true)
    }

    fn key_column_bytes(&self, table: &TableDef, wanted: impl Fn(&SqlType) -> bool) -> usize {
        let types = self.key.iter().map(|column| &table.columns[column.ordinal].sql_type);
        types.filter(|sql_type| wanted(sql_type)).map(length_bytes).sum()
    }

    /// May a row be too long for it?
    pub fn may_overflow(&self, table: &TableDef) -> bool {
        self.kind != IndexKind::Heap && self.longest_key_bytes(table) > self.key_bytes_max()
    }

    /// The bytes of the key columns of a row.
    pub fn key_bytes(&self, table: &TableDef, row: &[Value]) -> usize {
        let bytes = |column: &IndexColumn| {
            let sql_type = &table.columns[column.ordinal].sql_type;
            match &row[column.ordinal] {
                Value::Char(text) if is_variable(sql_type) => text.len(),
                Value::NChar(text) if is_variable(sql_type) => text.len() * 2,
                Value::Binary(bytes) if is_variable(sql_type) => bytes.len(),
                Value::Null if is_variable(sql_type) => 0,
                Value::Variant(inner) => inner.value.natural_type().max_length().max(0).unsigned_abs().into(),
                _ => length_bytes(sql_type),
            }
        };
        self.key.iter().map(bytes).sum()
    }
}

fn is_variable(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::VarChar(_)
            | SqlType::NVarChar(_)
            | SqlType::VarBinary(_)
            | SqlType::SysName
            | SqlType::SqlVariant
    )
}

fn length_bytes(sql_type: &SqlType) -> usize {
    sql_type.max_length().max(0).unsigned_abs().into()
}

impl Table {
    /// Error 1946 when the key columns of a row are longer than an index allows.
    #[inline]
    pub(super) fn check_key_length(
        &self,
        index: &IndexDef,
        may_overflow: bool,
        row: &[Value],
    ) -> SqlResult<()> {
        if !may_overflow {
            return Ok(());
        }
        let (bytes, limit) = (index.key_bytes(&self.inner.definition, row), index.key_bytes_max());
        if bytes <= limit {
            return Ok(());
        }
        let kind = if index.kind == IndexKind::Clustered { "clustered" } else { "nonclustered" };
        let name = index.name.clone().unwrap_or_else(|| "".into());
        Err(SqlError::new(1946, &[&bytes, &name, &limit, &kind]).with_state(3))
    }
}
