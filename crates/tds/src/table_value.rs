//! Table-valued parameters (TVP_TYPE_INFO and its rows), both ways.

use types::{SqlType, Value};

use crate::error::ProtocolError;
use crate::limits::{TABLE_COLUMNS_MAX, TABLE_VALUES_MAX};
use crate::login7::TdsVersion;
use crate::type_info::{TypeInfo, id};
use crate::wire::{Reader, put_b_varchar};

/// In place of the number of columns: no table.
const NO_TABLE: u16 = 0xFFFF;
/// The column has its default in all rows, which carry no value for it.
const COLUMN_DEFAULT: u16 = 0x0200;
/// The column may be NULL.
const COLUMN_NULLABLE: u16 = 0x0001;
const END: u8 = 0x00;
const ROW: u8 = 0x01;
const ORDER_UNIQUE: u8 = 0x10;
const COLUMN_ORDERING: u8 = 0x11;

/// A table as a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Schema of its type, may be empty.
    pub schema: String,
    /// Name of its type, may be empty.
    pub name: String,
    /// The type of each column; `None`: it has its default in all rows. `None` in place of the columns: no table at all.
    pub columns: Option<Vec<Option<SqlType>>>,
    /// Rows: the values of the columns that have some.
    pub rows: Vec<Vec<Value>>,
}

/// Is a table-valued parameter next?
pub(crate) fn is_next(reader: &Reader<'_>) -> bool {
    reader.peek() == Some(id::TABLE)
}

/// Reads the type and the rows.
pub(crate) fn read(reader: &mut Reader<'_>, version: TdsVersion) -> Result<Table, ProtocolError> {
    reader.set_part("table-valued parameter");
    let type_id = reader.u8()?;
    if !version.is_7_3_or_later() {
        return Err(ProtocolError::invalid("data type for this TDS version", type_id));
    }
    if !reader.b_varchar()?.is_empty() {
        return Err(ProtocolError::Unsupported { what: "a table type of another database".into() });
    }
    let (schema, name) = (reader.b_varchar()?, reader.b_varchar()?);
    let columns = read_columns(reader, version)?;
    let count = columns.as_ref().map_or(0, Vec::len);
    let order = read_optional(reader, count)?;
    // As sent; the values of a row are in the same order.
    let sent: Vec<Option<TypeInfo>> = columns.clone().unwrap_or_default();
    let rows = read_rows(reader, &sent, &order)?;
    let columns = columns.map(|columns| in_order(columns.iter().map(type_of), &order));
    Ok(Table { schema, name, columns, rows })
}

fn type_of(column: &Option<TypeInfo>) -> Option<SqlType> {
    column.and_then(|info| info.sql_type())
}

fn read_columns(
    reader: &mut Reader<'_>,
    version: TdsVersion,
) -> Result<Option<Vec<Option<TypeInfo>>>, ProtocolError> {
    let count = reader.u16()?;
    if count == NO_TABLE {
        return Ok(None);
    }
    if count == 0 || usize::from(count) > TABLE_COLUMNS_MAX {
        return Err(ProtocolError::invalid("number of columns of a table-valued parameter", count));
    }
    let mut columns = Vec::new();
    for _ in 0..count {
        let _user_type = reader.u32()?;
        let flags = reader.u16()?;
        let info = TypeInfo::read(reader, version)?;
        // Every value of a row takes at least a byte.
        if info.sql_type().is_none() {
            return Err(ProtocolError::invalid("type of a column of a table-valued parameter", info.id));
        }
        reader.b_varchar()?;
        columns.push((flags & COLUMN_DEFAULT == 0).then_some(info));
    }
    Ok(Some(columns))
}

/// Reads the optional metadata up to its end; returns the place in the table of each column that is sent. In which order the rows come is advice.
fn read_optional(reader: &mut Reader<'_>, count: usize) -> Result<Vec<usize>, ProtocolError> {
    let mut order: Option<Vec<usize>> = None;
    let mut has_order_unique = false;
    loop {
        match reader.u8()? {
            END => return Ok(order.unwrap_or_else(|| (0..count).collect())),
            ORDER_UNIQUE if !has_order_unique => {
                has_order_unique = true;
                for _ in 0..reader.u16()? {
                    read_place(reader, count)?;
                    reader.u8()?;
                }
            }
            COLUMN_ORDERING if order.is_none() => {
                let places = (0..reader.u16()?).map(|_| read_place(reader, count));
                let places = places.collect::<Result<Vec<usize>, ProtocolError>>()?;
                let mut sorted = places.clone();
                sorted.sort_unstable();
                if !sorted.iter().copied().eq(0..count) {
                    let part = "column order of a table-valued parameter";
                    return Err(ProtocolError::invalid(part, places.len() as u32));
                }
                order = Some(places);
            }
            token => return Err(ProtocolError::invalid("token of a table-valued parameter", token)),
        }
    }
}

/// A column's number, from 1, as its place from 0.
fn read_place(reader: &mut Reader<'_>, count: usize) -> Result<usize, ProtocolError> {
    let number = reader.u16()?;
    let place = usize::from(number).checked_sub(1).filter(|place| *place < count);
    place.ok_or_else(|| ProtocolError::invalid("column of a table-valued parameter", number))
}

fn read_rows(
    reader: &mut Reader<'_>,
    columns: &[Option<TypeInfo>],
    order: &[usize],
) -> Result<Vec<Vec<Value>>, ProtocolError> {
    let is_in_order = order.is_sorted();
    let mut rows: Vec<Vec<Value>> = Vec::new();
    loop {
        match reader.u8()? {
            END => return Ok(rows),
            ROW if (rows.len() + 1).saturating_mul(columns.len() + 1) > TABLE_VALUES_MAX => {
                let what = format!("a table-valued parameter of more than {TABLE_VALUES_MAX} values");
                return Err(ProtocolError::Unsupported { what });
            }
            ROW => {
                let mut row = Vec::new();
                for info in columns.iter().flatten() {
                    row.push(info.read_value(reader)?);
                }
                rows.push(if is_in_order { row } else { in_table_order(row, columns, order) });
            }
            token => return Err(ProtocolError::invalid("token of a table-valued parameter", token)),
        }
    }
}

/// A row's values in the order of the table's columns.
fn in_table_order(row: Vec<Value>, columns: &[Option<TypeInfo>], order: &[usize]) -> Vec<Value> {
    let mut values = row.into_iter();
    let placed = columns.iter().map(|column| column.and_then(|_| values.next()));
    in_order(placed, order).into_iter().flatten().collect()
}

/// Puts each item at its place.
fn in_order<T>(items: impl Iterator<Item = T>, order: &[usize]) -> Vec<T> {
    let mut placed: Vec<(usize, T)> = order.iter().copied().zip(items).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, item)| item).collect()
}

/// Writes the type and the rows.
pub(crate) fn put(out: &mut Vec<u8>, table: &Table, version: TdsVersion) {
    out.push(id::TABLE);
    put_b_varchar(out, "");
    put_b_varchar(out, &table.schema);
    put_b_varchar(out, &table.name);
    let infos: Vec<Option<TypeInfo>> = match &table.columns {
        None => {
            out.extend_from_slice(&NO_TABLE.to_le_bytes());
            Vec::new()
        }
        Some(columns) => {
            out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
            columns.iter().map(|column| put_column(out, column.as_ref(), version)).collect()
        }
    };
    out.push(END);
    for row in &table.rows {
        out.push(ROW);
        for (info, value) in infos.iter().flatten().zip(row) {
            info.put_value(out, value);
        }
    }
    out.push(END);
}

fn put_column(out: &mut Vec<u8>, column: Option<&SqlType>, version: TdsVersion) -> Option<TypeInfo> {
    let info = TypeInfo::for_type(column.unwrap_or(&SqlType::Int), version);
    out.extend_from_slice(&[0; 4]);
    let default = if column.is_none() { COLUMN_DEFAULT } else { 0 };
    out.extend_from_slice(&(COLUMN_NULLABLE | default).to_le_bytes());
    info.put(out);
    put_b_varchar(out, "");
    column.map(|_| info)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(columns: &[u8], optional: &[u8], rows: &[u8]) -> Vec<u8> {
        let mut bytes = vec![id::TABLE, 0, 0, 0];
        bytes.extend_from_slice(columns);
        bytes.extend_from_slice(optional);
        bytes.push(END);
        bytes.extend_from_slice(rows);
        bytes.push(END);
        bytes
    }

    /// Two columns: tinyint, int.
    const TWO: [u8; 20] = [2, 0, 0, 0, 0, 0, 1, 0, id::INTN, 1, 0, 0, 0, 0, 0, 1, 0, id::INTN, 4, 0];
    const ROWS: [u8; 10] = [ROW, 1, 7, 4, 1, 2, 0, 0, ROW, 0];

    fn decode(bytes: &[u8]) -> Result<Table, ProtocolError> {
        read(&mut Reader::new(bytes, "test"), TdsVersion::V7_4)
    }

    #[test]
    fn rows_have_their_values() {
        let rows = [&ROWS[..], &[0]].concat();
        let table = decode(&bytes(&TWO, &[], &rows)).expect("well-formed");
        assert_eq!(table.columns, Some(vec![Some(SqlType::TinyInt), Some(SqlType::Int)]));
        let expected = vec![vec![Value::TinyInt(7), Value::Int(0x201)], vec![Value::Null, Value::Null]];
        assert_eq!(table.rows, expected);
    }

    /// MS-TDS, TVP_COLUMN_ORDERING: the columns come in another order than that of the table.
    #[test]
    fn columns_come_in_the_order_that_is_told() {
        let rows = [&ROWS[..], &[0]].concat();
        let table =
            decode(&bytes(&TWO, &[ORDER_UNIQUE, 1, 0, 1, 0, 1, COLUMN_ORDERING, 2, 0, 2, 0, 1, 0], &rows))
                .expect("well-formed");
        assert_eq!(table.columns, Some(vec![Some(SqlType::Int), Some(SqlType::TinyInt)]));
        assert_eq!(table.rows[0], [Value::Int(0x201), Value::TinyInt(7)]);
    }

    #[test]
    fn columns_of_defaults_have_no_values() {
        let mut columns = TWO;
        columns[7] = 2;
        let table = decode(&bytes(&columns, &[], &[ROW, 4, 1, 0, 0, 0])).expect("well-formed");
        assert_eq!(table.columns, Some(vec![None, Some(SqlType::Int)]));
        assert_eq!(table.rows, [vec![Value::Int(1)]]);
    }

    #[test]
    fn no_table_has_no_columns() {
        let table = decode(&bytes(&[0xFF, 0xFF], &[], &[])).expect("well-formed");
        assert_eq!((table.columns, table.rows.len()), (None, 0));
    }

    /// No prefix and no changed byte makes the decoder panic; a prefix is never a whole parameter.
    #[test]
    fn hostile_bytes_are_refused() {
        let rows = [&ROWS[..], &[0]].concat();
        let whole = bytes(&TWO, &[COLUMN_ORDERING, 2, 0, 2, 0, 1, 0], &rows);
        for end in 0..whole.len() {
            assert!(matches!(decode(&whole[..end]), Err(ProtocolError::Truncated { .. })), "{end}");
        }
        for at in 0..whole.len() {
            for byte in 0..=255 {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _: Result<Table, ProtocolError> = decode(&changed);
            }
        }
        let wrong: [(&[u8], &[u8]); 8] = [
            (&[0, 0], &[]),
            (&[0xFE, 0xFF], &[]),
            (&[1, 0, 0, 0, 0, 0, 0, 0, id::NULL, 0], &[]),
            (&TWO, &[COLUMN_ORDERING, 2, 0, 1, 0, 1, 0]),
            (&TWO, &[COLUMN_ORDERING, 1, 0, 1, 0]),
            (&TWO, &[COLUMN_ORDERING, 2, 0, 0, 0, 1, 0]),
            (&TWO, &[ORDER_UNIQUE, 1, 0, 3, 0, 0]),
            (&TWO, &[0x12]),
        ];
        for (columns, optional) in wrong {
            let decoded = decode(&bytes(columns, optional, &[]));
            assert!(matches!(decoded, Err(ProtocolError::Invalid { .. })), "{optional:?}: {decoded:?}");
        }
    }

    /// Rows of defaults take a byte each on the wire and more in memory: their number is limited.
    #[test]
    fn rows_without_values_are_limited() {
        let columns = [1, 0, 0, 0, 0, 0, 0, 2, id::INTN, 4, 0];
        let most = TABLE_VALUES_MAX / 2;
        assert_eq!(decode(&bytes(&columns, &[], &vec![ROW; most])).map(|table| table.rows.len()), Ok(most));
        let more = decode(&bytes(&columns, &[], &vec![ROW; most + 1]));
        assert!(matches!(more, Err(ProtocolError::Unsupported { .. })));
    }

    #[test]
    fn what_is_written_is_read() {
        let table = Table {
            schema: "s".into(),
            name: "t".into(),
            columns: Some(vec![Some(SqlType::NVARCHAR_MAX), None, Some(SqlType::Date)]),
            rows: vec![vec![Value::nvarchar("a\u{1F600}"), Value::Null]; 3],
        };
        let mut out = Vec::new();
        put(&mut out, &table, TdsVersion::V7_4);
        assert_eq!(decode(&out), Ok(table));
    }
}
