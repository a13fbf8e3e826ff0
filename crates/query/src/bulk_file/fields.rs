//! Rows of a text file as fields: up to their terminators, or quoted as RFC 4180 says.

use types::SqlError;

use super::options::{FileOptions, Terminator};
use super::source::ByteSource;

/// The longest field of a column that holds no large values, in bytes.
const SHORT_BYTES_MAX: usize = 8_000 * 4;
/// The longest field.
const LONG_BYTES_MAX: usize = 0x7FFF_FFFF;

/// A field of the present row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    begin: usize,
    end: usize,
    /// It was quoted, and stands in the reader's own text.
    pub(crate) is_quoted: bool,
}

/// One field as the file has it.
#[derive(Clone, Debug)]
pub(crate) struct FieldShape {
    pub(crate) end: Terminator,
    /// It may be long.
    pub(crate) is_large: bool,
}

/// Why there is no further row.
#[derive(Debug)]
pub(crate) enum RowFault {
    /// The file ends inside a row: 4832.
    EndsEarly,
    /// No terminator where one should be in this column, from 1: 4866.
    TooLong(usize),
    /// Quotes or fields are not as CSV wants them in this column: 4879.
    Csv(usize),
    Failed(SqlError),
}

impl From<SqlError> for RowFault {
    fn from(error: SqlError) -> RowFault {
        RowFault::Failed(error)
    }
}

/// Reads row after row.
pub(crate) struct RowReader {
    source: ByteSource,
    shapes: Vec<FieldShape>,
    /// Of CSV: the quote, and what ends fields and rows.
    csv: Option<(u8, Terminator, Terminator)>,
    /// The texts of quoted fields.
    unquoted: Vec<u8>,
    fields: Vec<Field>,
    /// Bytes of the present row.
    row_bytes: usize,
}

impl RowReader {
    pub(crate) fn new(source: ByteSource, shapes: Vec<FieldShape>, options: &FileOptions) -> RowReader {
        let csv = options.is_csv.then(|| (options.quote, options.field.clone(), options.row.clone()));
        RowReader { source, shapes, csv, unquoted: Vec::new(), fields: Vec::new(), row_bytes: 0 }
    }

    /// The fields of the present row.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The bytes of a field.
    pub(crate) fn bytes(&self, field: Field) -> &[u8] {
        let all = if field.is_quoted { &self.unquoted } else { self.source.bytes() };
        &all[field.begin..field.end]
    }

    /// The present row as the file has it.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.source.bytes()[..self.row_bytes]
    }

    /// Goes to the next row; false at the end of the file.
    pub(crate) fn next_row(&mut self) -> Result<bool, RowFault> {
        self.source.pass(std::mem::take(&mut self.row_bytes));
        self.fields.clear();
        self.unquoted.clear();
        match self.csv.is_some() {
            true => self.next_csv_row(),
            false => self.next_plain_row(),
        }
    }

    fn next_plain_row(&mut self) -> Result<bool, RowFault> {
        let mut at = 0;
        for column in 0..self.shapes.len() {
            let is_last = column + 1 == self.shapes.len();
            let shape = self.shapes[column].clone();
            let bytes_max = if shape.is_large { LONG_BYTES_MAX } else { SHORT_BYTES_MAX };
            match self.find(at, &shape.end.bytes, bytes_max).map_err(|fault| told(fault, column))? {
                Some(end) => {
                    let text_end = self.stripped(at, end, &shape.end);
                    self.fields.push(Field { begin: at, end: text_end, is_quoted: false });
                    at = end + shape.end.bytes.len();
                }
                None => {
                    let end = self.source.bytes().len();
                    if column == 0 && at == end {
                        return Ok(false);
                    }
                    if !is_last {
                        return Err(RowFault::EndsEarly);
                    }
                    self.fields.push(Field { begin: at, end, is_quoted: false });
                    at = end;
                }
            }
        }
        self.row_bytes = at;
        Ok(true)
    }

    /// Without the carriage return before the end of a line.
    fn stripped(&self, begin: usize, end: usize, terminator: &Terminator) -> usize {
        let has_return = terminator.strips_return && end > begin && self.source.bytes()[end - 1] == b'\r';
        if has_return { end - 1 } else { end }
    }

    /// Where the bytes stand, from `at` on; `None`: not before the end of the file.
    fn find(&mut self, at: usize, wanted: &[u8], bytes_max: usize) -> Result<Option<usize>, RowFault> {
        let mut from = at;
        loop {
            if let Some(found) = position(&self.source.bytes()[from..], wanted) {
                let found = from + found;
                return if found - at > bytes_max { Err(RowFault::TooLong(0)) } else { Ok(Some(found)) };
            }
            let have = self.source.bytes().len();
            if have - at > bytes_max {
                return Err(RowFault::TooLong(0));
            }
            from = have.saturating_sub(wanted.len() - 1).max(at);
            if !self.source.fill()? {
                return Ok(None);
            }
        }
    }

    /// Are at least so many bytes in sight from `at` on?
    fn has(&mut self, at: usize, count: usize) -> Result<bool, RowFault> {
        while self.source.bytes().len() < at + count {
            if !self.source.fill()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Do these bytes stand there?
    fn stands(&mut self, at: usize, wanted: &[u8]) -> Result<bool, RowFault> {
        Ok(self.has(at, wanted.len())? && self.source.bytes()[at..].starts_with(wanted))
    }

    fn next_csv_row(&mut self) -> Result<bool, RowFault> {
        let (quote, field_end, row_end) = self.csv.clone().expect("a CSV file");
        let mut at = 0;
        if !self.has(0, 1)? {
            return Ok(false);
        }
        loop {
            let column = self.fields.len();
            if column == self.shapes.len() {
                return Err(RowFault::Csv(column));
            }
            let is_quoted = self.stands(at, &[quote])?;
            at = match is_quoted {
                true => self.quoted(at + 1, quote, column)?,
                false => self.unquoted(at, &field_end, &row_end, column)?,
            };
            if self.stands(at, &field_end.bytes)? {
                at += field_end.bytes.len();
                continue;
            }
            if row_end.strips_return && self.stands(at, b"\r\n")? {
                at += 1;
            }
            if self.stands(at, &row_end.bytes)? {
                at += row_end.bytes.len();
            } else if self.has(at, 1)? {
                return Err(RowFault::Csv(column + 1));
            }
            break;
        }
        if self.fields.len() < self.shapes.len() {
            return Err(RowFault::Csv(self.fields.len() + 1));
        }
        self.row_bytes = at;
        Ok(true)
    }

    /// A field behind its quote; returns the place behind the closing one.
    fn quoted(&mut self, mut at: usize, quote: u8, column: usize) -> Result<usize, RowFault> {
        let begin = self.unquoted.len();
        let bytes_max = if self.shapes[column].is_large { LONG_BYTES_MAX } else { SHORT_BYTES_MAX };
        loop {
            let left = bytes_max.saturating_sub(self.unquoted.len() - begin);
            let found = self.find(at, &[quote], left).map_err(|fault| told(fault, column))?;
            let end = found.ok_or(RowFault::Csv(column + 1))?;
            self.unquoted.extend_from_slice(&self.source.bytes()[at..end]);
            if !self.stands(end + 1, &[quote])? {
                self.fields.push(Field { begin, end: self.unquoted.len(), is_quoted: true });
                return Ok(end + 1);
            }
            self.unquoted.push(quote);
            at = end + 2;
        }
    }

    /// A field without quotes; returns the place behind it.
    fn unquoted(
        &mut self,
        begin: usize,
        field_end: &Terminator,
        row_end: &Terminator,
        column: usize,
    ) -> Result<usize, RowFault> {
        let bytes_max = if self.shapes[column].is_large { LONG_BYTES_MAX } else { SHORT_BYTES_MAX };
        let longest = field_end.bytes.len().max(row_end.bytes.len());
        let mut from = begin;
        let end = loop {
            let bytes = &self.source.bytes()[from..];
            let ends = [position(bytes, &field_end.bytes), position(bytes, &row_end.bytes)];
            let first = ends.into_iter().flatten().min().map(|found| from + found);
            let have = self.source.bytes().len();
            // A longer terminator may begin before the one that was found: it would be in sight then.
            match first {
                Some(found) if found - begin <= bytes_max => break found,
                None if have - begin <= bytes_max => {}
                _ => return Err(RowFault::TooLong(column + 1)),
            }
            from = have.saturating_sub(longest - 1).max(begin);
            if !self.source.fill()? {
                break self.source.bytes().len();
            }
        };
        let is_row_end = self.source.bytes()[end..].starts_with(&row_end.bytes);
        let text_end = if is_row_end { self.stripped(begin, end, row_end) } else { end };
        self.fields.push(Field { begin, end: text_end, is_quoted: false });
        Ok(end)
    }
}

fn told(fault: RowFault, column: usize) -> RowFault {
    if matches!(fault, RowFault::TooLong(_)) { RowFault::TooLong(column + 1) } else { fault }
}

/// Where these bytes stand first.
fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let (first, rest) = wanted.split_first()?;
    let mut from = 0;
    while let Some(found) = bytes[from..].iter().position(|byte| byte == first) {
        let at = from + found;
        if bytes[at + 1..].starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}
