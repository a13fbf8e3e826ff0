//! Definitions as rows of the system tables, and back.

use std::sync::Arc;

use pages::PageId;
use types::{Collation, Length, SqlType, Value};

use crate::schema::{ColumnDef, IndexDef, IndexKind};

/// Bits of syscolpars.status.
pub(crate) mod column_status {
    pub(crate) const NULLABLE: i32 = 1;
    pub(crate) const IDENTITY: i32 = 2;
    pub(crate) const ROWGUIDCOL: i32 = 4;
    /// The type is the alias type sysname.
    pub(crate) const SYSNAME: i32 = 8;
    /// Length means max.
    pub(crate) const MAX: i32 = 16;
    /// The type was written numeric.
    pub(crate) const NUMERIC: i32 = 32;
    pub(crate) const COMPUTED: i32 = 64;
    pub(crate) const PERSISTED: i32 = 128;
    /// For an identity column.
    pub(crate) const NOT_FOR_REPLICATION: i32 = 256;
    /// For a computed column.
    pub(crate) const NONDETERMINISTIC: i32 = 512;
}

/// Bits of sysschobjs.status of tables.
pub(crate) mod table_status {
    /// Created under SET ANSI_NULLS OFF.
    pub(crate) const ANSI_NULLS_OFF: i32 = 1;
}

/// Bits of sysidxstats.status; from 32 up they are those of `IndexSettings`.
pub(crate) mod index_status {
    pub(crate) const UNIQUE: i32 = 1;
    pub(crate) const PRIMARY_KEY: i32 = 2;
    pub(crate) const UNIQUE_CONSTRAINT: i32 = 4;
    pub(crate) const SYSTEM_NAMED: i32 = 8;
    pub(crate) const DISABLED: i32 = 16;
}

/// Bits of the status of CHECK and FOREIGN KEY constraints (sysobjvalues, sysfkcols).
pub(crate) mod constraint_status {
    pub(crate) const SYSTEM_NAMED: i32 = 1;
    pub(crate) const DISABLED: i32 = 2;
    pub(crate) const NOT_TRUSTED: i32 = 4;
    pub(crate) const NOT_FOR_REPLICATION: i32 = 8;
}

/// Bits of sysiscols.status.
pub(crate) mod index_column_status {
    pub(crate) const DESCENDING: i32 = 1;
    pub(crate) const INCLUDED: i32 = 2;
}

/// Classes of sysobjvalues.
pub(crate) mod text_class {
    pub(crate) const MODULE: u8 = 1;
    pub(crate) const DEFAULT: u8 = 2;
    pub(crate) const CHECK: u8 = 3;
    pub(crate) const COMPUTED: u8 = 4;
    pub(crate) const STAR: u8 = 5;
}

pub(crate) fn int(number: i32) -> Value {
    Value::Int(number)
}

pub(crate) fn text(text: &str) -> Value {
    Value::nvarchar(text)
}

/// A column as a row of syscolpars.
pub(crate) fn column_row(object_id: i32, column: &ColumnDef) -> Vec<Value> {
    let (length, precision, scale, type_bits) = type_parts(&column.sql_type);
    let mut status = type_bits;
    let mut set = |on: bool, bit: i32| status |= if on { bit } else { 0 };
    set(column.nullable, column_status::NULLABLE);
    set(column.identity.is_some(), column_status::IDENTITY);
    set(column.is_rowguidcol, column_status::ROWGUIDCOL);
    set(column.computed.is_some(), column_status::COMPUTED);
    set(column.computed.as_ref().is_some_and(|c| c.persisted), column_status::PERSISTED);
    set(
        column.identity.is_some_and(|identity| identity.is_not_for_replication),
        column_status::NOT_FOR_REPLICATION,
    );
    set(!column.is_deterministic(), column_status::NONDETERMINISTIC);
    let cells = |number: Option<i128>| number.map_or([Value::Null, Value::Null], crate::identity::cells_of);
    let [seed, wide_seed] = cells(column.identity.map(|identity| identity.seed));
    let [increment, wide_increment] = cells(column.identity.map(|identity| identity.increment));
    vec![
        int(object_id),
        int(column.column_id),
        text(&column.name),
        Value::TinyInt(column.sql_type.system_type_id()),
        int(length),
        Value::TinyInt(precision),
        Value::TinyInt(scale),
        int(status),
        text(column.collation.name()),
        seed,
        increment,
        if column.user_type_id == 0 { Value::Null } else { int(column.user_type_id) },
        wide_seed,
        wide_increment,
    ]
}

/// Length, precision, scale and status bits of a type.
pub(crate) fn type_parts(sql_type: &SqlType) -> (i32, u8, u8, i32) {
    let of_length = |length: &Length| match length {
        Length::N(n) => (i32::from(*n), 0, 0, 0),
        Length::Max => (0, 0, 0, column_status::MAX),
    };
    match sql_type {
        SqlType::Decimal { precision, scale } => (0, *precision, *scale, 0),
        SqlType::Numeric { precision, scale } => (0, *precision, *scale, column_status::NUMERIC),
        SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => (i32::from(*n), 0, 0, 0),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => {
            of_length(length)
        }
        SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => {
            (0, 0, *scale, 0)
        }
        SqlType::SysName => (128, 0, 0, column_status::SYSNAME),
        _ => (0, 0, 0, 0),
    }
}

/// The type of a row of syscolpars; none for an unknown number.
pub(crate) fn type_of(
    system_type_id: u8,
    length: i32,
    precision: u8,
    scale: u8,
    status: i32,
) -> Option<SqlType> {
    let n = u16::try_from(length).ok()?;
    let limited = if status & column_status::MAX != 0 { Length::Max } else { Length::N(n) };
    let candidates = [
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Real,
        SqlType::Float,
        SqlType::Char(n),
        SqlType::VarChar(limited),
        SqlType::NChar(n),
        SqlType::Binary(n),
        SqlType::VarBinary(limited),
        SqlType::Date,
        SqlType::Time(scale),
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::DateTime2(scale),
        SqlType::DateTimeOffset(scale),
        SqlType::UniqueIdentifier,
        SqlType::Text,
        SqlType::NText,
        SqlType::Image,
        SqlType::SqlVariant,
        SqlType::Xml,
        SqlType::RowVersion,
    ];
    if status & column_status::SYSNAME != 0 {
        return Some(SqlType::SysName);
    }
    if system_type_id == SqlType::NVarChar(limited).system_type_id() {
        return Some(SqlType::NVarChar(limited));
    }
    if status & column_status::NUMERIC != 0 {
        return Some(SqlType::Numeric { precision, scale });
    }
    let decimal = SqlType::Decimal { precision, scale };
    if system_type_id == decimal.system_type_id() {
        return Some(decimal);
    }
    candidates.into_iter().find(|t| t.system_type_id() == system_type_id)
}

/// An index as a row of sysidxstats.
pub(crate) fn index_row(object_id: i32, index: &IndexDef) -> Vec<Value> {
    let mut status = index.settings.status();
    let mut set = |on: bool, bit: i32| status |= if on { bit } else { 0 };
    set(index.unique, index_status::UNIQUE);
    set(index.primary_key, index_status::PRIMARY_KEY);
    set(index.unique_constraint, index_status::UNIQUE_CONSTRAINT);
    set(index.is_system_named, index_status::SYSTEM_NAMED);
    set(index.is_disabled, index_status::DISABLED);
    vec![
        int(object_id),
        int(index.index_id),
        index.name.as_ref().map_or(Value::Null, |n| text(n)),
        Value::TinyInt(kind_number(index.kind)),
        int(status),
        int(index.constraint_id),
        int(index.unit as i32),
        int(i32::from(index.root.file)),
        Value::BigInt(i64::from(index.root.page)),
    ]
}

/// The columns of an index as rows of sysiscols.
pub(crate) fn index_column_rows(object_id: i32, index: &IndexDef, columns: &[ColumnDef]) -> Vec<Vec<Value>> {
    let key =
        index.key.iter().map(|k| (k.ordinal, if k.descending { index_column_status::DESCENDING } else { 0 }));
    let included = index.included.iter().map(|ordinal| (*ordinal, index_column_status::INCLUDED));
    let row = |(at, (ordinal, status)): (usize, (usize, i32))| {
        vec![
            int(object_id),
            int(index.index_id),
            int(at as i32 + 1),
            int(columns[ordinal].column_id),
            int(status),
        ]
    };
    key.chain(included).enumerate().map(row).collect()
}

fn kind_number(kind: IndexKind) -> u8 {
    match kind {
        IndexKind::Heap => 0,
        IndexKind::Clustered => 1,
        IndexKind::Nonclustered => 2,
    }
}

pub(crate) fn kind_of(number: u8) -> Option<IndexKind> {
    [IndexKind::Heap, IndexKind::Clustered, IndexKind::Nonclustered].get(usize::from(number)).copied()
}

/// Reads the fields of a system table's row; a value of the wrong type gives none.
pub(crate) struct Fields<'a>(pub(crate) &'a [Value]);

impl Fields<'_> {
    pub(crate) fn int(&self, at: usize) -> Option<i32> {
        i32::try_from(self.0.get(at)?.as_i64()?).ok()
    }
    pub(crate) fn big(&self, at: usize) -> Option<i64> {
        self.0.get(at)?.as_i64()
    }
    /// A number whose columns are those of `identity::cells_of`.
    pub(crate) fn whole(&self, at: usize, wide_at: usize) -> Option<i128> {
        crate::identity::number_of_cells(self.0.get(at)?, self.0.get(wide_at))
    }
    pub(crate) fn tiny(&self, at: usize) -> Option<u8> {
        u8::try_from(self.0.get(at)?.as_i64()?).ok()
    }
    pub(crate) fn text(&self, at: usize) -> Option<Arc<str>> {
        self.0.get(at)?.as_text().map(Arc::from)
    }
    pub(crate) fn date_time(&self, at: usize) -> Option<types::DateTime> {
        match self.0.get(at)? {
            Value::DateTime(value) => Some(*value),
            _ => None,
        }
    }
    pub(crate) fn collation(&self, at: usize) -> Collation {
        self.text(at).and_then(|name| Collation::by_name(&name)).unwrap_or_default()
    }
    pub(crate) fn page(&self, at: usize) -> Option<PageId> {
        Some(PageId {
            file: u16::try_from(self.int(at)?).ok()?,
            page: u32::try_from(self.big(at + 1)?).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_survives_as_a_row() {
        let types = [
            SqlType::Bit,
            SqlType::Int,
            SqlType::Decimal { precision: 18, scale: 4 },
            SqlType::Numeric { precision: 38, scale: 0 },
            SqlType::VarChar(Length::N(10)),
            SqlType::VarChar(Length::Max),
            SqlType::NVarChar(Length::N(4000)),
            SqlType::NVarChar(Length::Max),
            SqlType::SysName,
            SqlType::Char(8000),
            SqlType::DateTime2(3),
            SqlType::Time(0),
            SqlType::DateTimeOffset(7),
            SqlType::UniqueIdentifier,
            SqlType::VarBinary(Length::Max),
            SqlType::Xml,
        ];
        for sql_type in types {
            let (length, precision, scale, status) = type_parts(&sql_type);
            let back = type_of(sql_type.system_type_id(), length, precision, scale, status);
            assert_eq!(back, Some(sql_type));
        }
    }
}
