//! Bulk load: the columns and rows of a client, decoded packet by packet, and their encoding for the client half.
//!
//! ```text
//!             columns read           ROW, NBCROW
//!  Columns ────────────────► Token ─────────────► Values
//!                              │ ▲ all values read │
//!                              │ └─────────────────┘
//!                              └─ DONE, or the message's end ─► Ended
//! ```
//! Any step may ask for more bytes ([`BulkStep::NeedsMore`]) and goes on where it stopped: a value is decoded once, a value in chunks grows with
//! each packet.

use types::{SqlType, Value};

use crate::error::ProtocolError;
use crate::limits::TABLE_COLUMNS_MAX;
use crate::login7::TdsVersion;
use crate::token::kind;
use crate::type_info::{TypeInfo, id};
use crate::wire::{Reader, put_b_varchar, put_us_varchar};

/// The name of what is read, in errors; a value that ends too early within itself has another one.
const PART: &str = "bulk load";
/// NULL and unknown total length of values in chunks.
const PLP_NULL: u64 = 0xFFFF_FFFF_FFFF_FFFF;
const PLP_UNKNOWN: u64 = 0xFFFF_FFFF_FFFF_FFFE;
/// The longest value.
const VALUE_BYTES_MAX: usize = 0x7FFF_FFFF;
/// The longest sql_variant, its type included.
const VARIANT_BYTES_MAX: u32 = 8_100;
/// The longest description of all columns.
const COLUMNS_BYTES_MAX: usize = 4 << 20;
/// The longest DONE behind its token.
const DONE_BYTES_MAX: usize = 12;

/// A column as the client describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkColumn {
    /// Name.
    pub name: String,
    /// Type, `None` for the untyped NULL.
    pub sql_type: Option<SqlType>,
}

/// What [`BulkReader::step`] has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkStep {
    /// The columns are known: [`BulkReader::columns`].
    Columns,
    /// A row: [`BulkReader::take_row`].
    Row,
    /// More bytes are needed.
    NeedsMore,
    /// There are no more rows.
    End,
}

/// Why rows cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkError {
    /// The bytes are not those of a bulk load.
    Protocol(ProtocolError),
    /// The message ends inside a row.
    EndsEarly,
    /// A value of this column, from 1, has a length that its type does not have.
    ColumnLength(usize),
    /// A value of this column is none of its type.
    ColumnValue(usize),
    /// A Unicode value of this column has an odd length.
    OddLength(usize),
}

impl From<ProtocolError> for BulkError {
    fn from(error: ProtocolError) -> BulkError {
        BulkError::Protocol(error)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Columns,
    Token,
    Values,
    Ended,
}

/// A value in chunks, so far.
#[derive(Debug, Default)]
struct Chunks {
    bytes: Vec<u8>,
    /// Bytes of the present chunk that are still to come.
    left: usize,
}

/// Decodes a bulk load: [`feed`](Self::feed) it with the payload of each packet, ask with [`step`](Self::step).
#[derive(Debug)]
pub struct BulkReader {
    version: TdsVersion,
    buffer: Vec<u8>,
    at: usize,
    /// The last packet has been fed.
    has_all: bool,
    phase: Phase,
    columns: Vec<BulkColumn>,
    types: Vec<TypeInfo>,
    row: Vec<Value>,
    /// The NULL bitmap of the present row; empty: it has none.
    nulls: Vec<u8>,
    chunks: Option<Chunks>,
}

impl BulkReader {
    /// Nothing was received yet.
    pub fn new(version: TdsVersion) -> BulkReader {
        BulkReader {
            version,
            buffer: Vec::new(),
            at: 0,
            has_all: false,
            phase: Phase::Columns,
            columns: Vec::new(),
            types: Vec::new(),
            row: Vec::new(),
            nulls: Vec::new(),
            chunks: None,
        }
    }

    /// Takes the payload of a packet; `is_last`: the message ends with it.
    pub fn feed(&mut self, payload: &[u8], is_last: bool) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(payload);
        self.has_all |= is_last;
    }

    /// Bytes kept of what is not decoded yet.
    pub fn kept_bytes(&self) -> usize {
        self.buffer.capacity() + self.chunks.as_ref().map_or(0, |chunks| chunks.bytes.capacity())
    }

    /// The columns, once they are known.
    pub fn columns(&self) -> &[BulkColumn] {
        &self.columns
    }

    /// Exchanges the row that was read for `row`, whose memory is used again.
    pub fn take_row(&mut self, row: &mut Vec<Value>) {
        std::mem::swap(&mut self.row, row);
        self.row.clear();
    }

    /// Reads on up to the next row or the end.
    pub fn step(&mut self) -> Result<BulkStep, BulkError> {
        loop {
            match self.phase {
                Phase::Columns => return self.read_columns(),
                Phase::Token => {
                    if !self.read_token()? {
                        return self.wants_more();
                    }
                }
                Phase::Values => {
                    while self.row.len() < self.types.len() {
                        let Some(value) = self.next_value(self.row.len())? else { return self.wants_more() };
                        self.row.push(value);
                    }
                    self.phase = Phase::Token;
                    return Ok(BulkStep::Row);
                }
                Phase::Ended => return Ok(BulkStep::End),
            }
        }
    }

    fn wants_more(&self) -> Result<BulkStep, BulkError> {
        if self.has_all { Err(BulkError::EndsEarly) } else { Ok(BulkStep::NeedsMore) }
    }

    fn reader(&self) -> Reader<'_> {
        Reader::new(&self.buffer[self.at..], PART)
    }

    fn read_columns(&mut self) -> Result<BulkStep, BulkError> {
        let mut reader = self.reader();
        match columns_from(&mut reader, self.version) {
            Ok(columns) => {
                self.at += reader.position();
                (self.columns, self.types) = columns.into_iter().unzip();
                self.phase = Phase::Token;
                Ok(BulkStep::Columns)
            }
            Err(ProtocolError::Truncated { .. })
                if reader.position() + reader.remaining() > COLUMNS_BYTES_MAX =>
            {
                Err(ProtocolError::TooLong { part: "columns of a bulk load", limit: COLUMNS_BYTES_MAX }
                    .into())
            }
            Err(ProtocolError::Truncated { .. }) => self.wants_more(),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the token of a row and its bitmap, or the end. False: more bytes are needed.
    fn read_token(&mut self) -> Result<bool, BulkError> {
        let rest = &self.buffer[self.at..];
        match rest.first() {
            None if self.has_all => self.phase = Phase::Ended,
            None => return Ok(false),
            Some(&kind::ROW) => {
                self.at += 1;
                self.nulls.clear();
                self.begin_row();
            }
            Some(&kind::NULL_BITMAP_ROW) => {
                let bytes = self.types.len().div_ceil(8);
                let Some(bitmap) = rest.get(1..1 + bytes) else { return Ok(false) };
                self.nulls.clear();
                self.nulls.extend_from_slice(bitmap);
                self.at += 1 + bytes;
                self.begin_row();
            }
            Some(&kind::DONE) if rest.len() > 1 + DONE_BYTES_MAX => {
                return Err(ProtocolError::invalid("bytes behind a bulk load", rest.len() as u64).into());
            }
            Some(&kind::DONE) if !self.has_all => return Ok(false),
            Some(&kind::DONE) => {
                self.at = self.buffer.len();
                self.phase = Phase::Ended;
            }
            Some(other) => return Err(ProtocolError::invalid("token of a bulk load", *other).into()),
        }
        Ok(true)
    }

    fn begin_row(&mut self) {
        self.row.clear();
        self.phase = Phase::Values;
    }

    /// The next value of the row; `None`: more bytes are needed.
    fn next_value(&mut self, column: usize) -> Result<Option<Value>, BulkError> {
        if self.nulls.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1) {
            return Ok(Some(Value::Null));
        }
        let info = self.types[column];
        if info.is_plp() {
            return self.next_chunks(column);
        }
        let mut reader = self.reader();
        check_length(&info, &reader, column)?;
        match info.read_row_value(&mut reader) {
            Ok(value) => {
                self.at += reader.position();
                Ok(Some(value))
            }
            Err(ProtocolError::Truncated { part: PART }) => Ok(None),
            Err(error) => Err(of_value(&error, &info, column)),
        }
    }

    /// As `next_value`, for a value in chunks.
    fn next_chunks(&mut self, column: usize) -> Result<Option<Value>, BulkError> {
        let info = self.types[column];
        let mut reader = Reader::new(&self.buffer[self.at..], PART);
        if self.chunks.is_none() {
            let Ok(total) = reader.u64() else { return Ok(None) };
            self.at += reader.position();
            match total {
                PLP_NULL => return Ok(Some(Value::Null)),
                PLP_UNKNOWN => {}
                total if total > VALUE_BYTES_MAX as u64 => return Err(BulkError::ColumnLength(column + 1)),
                _ => {}
            }
            self.chunks = Some(Chunks::default());
        }
        let chunks = self.chunks.get_or_insert_default();
        loop {
            let mut reader = Reader::new(&self.buffer[self.at..], PART);
            if chunks.left == 0 {
                let Ok(length) = reader.u32() else { return Ok(None) };
                self.at += reader.position();
                if length == 0 {
                    break;
                }
                chunks.left = length as usize;
                if chunks.left > VALUE_BYTES_MAX - chunks.bytes.len() {
                    return Err(BulkError::ColumnLength(column + 1));
                }
            }
            let some = chunks.left.min(self.buffer.len() - self.at);
            if some == 0 {
                return Ok(None);
            }
            chunks.bytes.extend_from_slice(&self.buffer[self.at..self.at + some]);
            chunks.left -= some;
            self.at += some;
        }
        let bytes = self.chunks.take().unwrap_or_default().bytes;
        let value = info.string_value(&bytes).map_err(|error| of_value(&error, &info, column))?;
        Ok(Some(value))
    }
}

/// Lengths that the type does not have, before so many bytes are waited for.
fn check_length(info: &TypeInfo, reader: &Reader<'_>, column: usize) -> Result<(), BulkError> {
    let mut ahead = reader.clone();
    let is_wrong = match info.id {
        id::BIGVARBINARY | id::BIGBINARY | id::BIGVARCHAR | id::BIGCHAR | id::NVARCHAR | id::NCHAR => {
            ahead.u16().is_ok_and(|length| length != u16::MAX && u32::from(length) > info.length)
        }
        id::SQL_VARIANT => ahead.u32().is_ok_and(|length| length > VARIANT_BYTES_MAX),
        id::TEXT | id::NTEXT | id::IMAGE => {
            let pointer = ahead.u8().unwrap_or(0);
            pointer > 0
                && ahead.take(usize::from(pointer) + 8).is_ok()
                && ahead.u32().is_ok_and(|length| length != u32::MAX && length as usize > VALUE_BYTES_MAX)
        }
        _ => false,
    };
    if is_wrong { Err(BulkError::ColumnLength(column + 1)) } else { Ok(()) }
}

/// What is wrong with a value.
fn of_value(error: &ProtocolError, info: &TypeInfo, column: usize) -> BulkError {
    let is_wide = matches!(info.id, id::NVARCHAR | id::NCHAR | id::NTEXT | id::XML);
    match error {
        ProtocolError::Invalid { part: "length of a Unicode value", .. } if is_wide => {
            BulkError::OddLength(column + 1)
        }
        ProtocolError::Invalid { part, .. } if part.starts_with("length") => {
            BulkError::ColumnLength(column + 1)
        }
        _ => BulkError::ColumnValue(column + 1),
    }
}

/// COLMETADATA as clients send it: a column of text, ntext or image has the name of its table, in one part whatever the version.
fn columns_from(
    reader: &mut Reader<'_>,
    version: TdsVersion,
) -> Result<Vec<(BulkColumn, TypeInfo)>, ProtocolError> {
    let token = reader.u8()?;
    if token != kind::COLUMN_METADATA {
        return Err(ProtocolError::invalid("token of a bulk load", token));
    }
    let count = reader.u16()?;
    if count == 0 || usize::from(count) > TABLE_COLUMNS_MAX {
        return Err(ProtocolError::invalid("number of columns of a bulk load", count));
    }
    let mut columns = Vec::new();
    for _ in 0..count {
        reader.take(if version.is_7_2_or_later() { 4 } else { 2 })?;
        let _flags = reader.u16()?;
        let info = TypeInfo::read(reader, version)?;
        if info.is_long() {
            reader.us_varchar()?;
        }
        let name = reader.b_varchar()?;
        columns.push((BulkColumn { name, sql_type: info.sql_type() }, info));
    }
    Ok(columns)
}

/// Writes the columns, the rows and the end. `nulls_in_bitmaps`: rows as NBCROW.
pub(crate) fn put(
    out: &mut Vec<u8>,
    columns: &[(&str, SqlType)],
    rows: &[Vec<Value>],
    nulls_in_bitmaps: bool,
    version: TdsVersion,
) {
    const NULLABLE: u16 = 1;
    out.push(kind::COLUMN_METADATA);
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    let mut infos = Vec::new();
    for (name, sql_type) in columns {
        let info = TypeInfo::for_type(sql_type, version);
        out.resize(out.len() + if version.is_7_2_or_later() { 4 } else { 2 }, 0);
        out.extend_from_slice(&NULLABLE.to_le_bytes());
        info.put(out);
        if info.is_long() {
            put_us_varchar(out, "t");
        }
        put_b_varchar(out, name);
        infos.push(info);
    }
    for row in rows {
        out.push(if nulls_in_bitmaps { kind::NULL_BITMAP_ROW } else { kind::ROW });
        if nulls_in_bitmaps {
            let mut bitmap = vec![0_u8; infos.len().div_ceil(8)];
            for at in (0..row.len()).filter(|at| row[*at].is_null()) {
                bitmap[at / 8] |= 1 << (at % 8);
            }
            out.extend_from_slice(&bitmap);
        }
        for (info, value) in infos.iter().zip(row).filter(|(_, value)| !(nulls_in_bitmaps && value.is_null()))
        {
            info.put_row_value(out, value);
        }
    }
    out.push(kind::DONE);
    out.resize(out.len() + if version.is_7_2_or_later() { 12 } else { 8 }, 0);
}

#[cfg(test)]
#[path = "bulk_tests.rs"]
mod tests;
