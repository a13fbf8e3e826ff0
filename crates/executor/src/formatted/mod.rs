//! FOR XML and FOR JSON: reads all rows and writes them as one text, in pieces where it goes to a client.

pub(crate) mod json;
pub(crate) mod text;
mod xml;

use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::rows_format::{PIECE_UNITS_MAX, RowsFormat, RowsShape};
use plan_ir::runtime::Runtime;
use types::{SqlError, Value, WideStr};

use self::json::JsonWriter;
use self::text::Text;
use self::xml::XmlWriter;

/// Units that have been sent before their memory is used again.
const SENT_UNITS_MAX: usize = 65_536;

/// The operator.
pub(crate) struct Formatted<'p> {
    input: Box<dyn RowSource + 'p>,
    format: &'p RowsFormat,
    writer: Writer<'p>,
    text: Text,
    /// Units of the text that have been sent.
    sent: usize,
    /// There was a row.
    has_rows: bool,
    is_finished: bool,
}

enum Writer<'p> {
    Json(JsonWriter<'p>),
    Xml(XmlWriter<'p>),
}

impl<'p> Formatted<'p> {
    pub(crate) fn new(input: Box<dyn RowSource + 'p>, format: &'p RowsFormat) -> Formatted<'p> {
        let writer = match &format.shape {
            RowsShape::Json(json) => Writer::Json(JsonWriter::new(json, &format.types)),
            RowsShape::Xml(xml) => Writer::Xml(XmlWriter::new(xml, &format.types)),
        };
        let text = Text::default();
        Formatted { input, format, writer, text, sent: 0, has_rows: false, is_finished: false }
    }

    /// Writes the next row, or the end of the text.
    fn write(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<(), SqlError> {
        runtime.check_cancelled()?;
        if self.input.next(runtime, row)? {
            debug_assert_eq!(row.len(), self.format.types.len(), "a row has the columns of the format");
            self.has_rows = true;
            return match &mut self.writer {
                Writer::Json(json) => json.row(runtime, row, &mut self.text),
                Writer::Xml(xml) => xml.row(runtime, row, &mut self.text),
            };
        }
        self.is_finished = true;
        match &mut self.writer {
            _ if !self.has_rows => Ok(()),
            Writer::Json(json) => json.end(&mut self.text),
            Writer::Xml(xml) => xml.end(&mut self.text),
        }
    }

    /// The next piece of the text.
    fn piece(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        while !self.is_finished && self.text.units.len() - self.sent < PIECE_UNITS_MAX {
            self.write(runtime, row)?;
        }
        let end = self.text.units.len().min(self.sent + PIECE_UNITS_MAX);
        row.clear();
        if end == self.sent {
            return Ok(false);
        }
        row.push(Value::NChar(WideStr::new(&self.text.units[self.sent..end])));
        self.sent = end;
        if self.sent >= SENT_UNITS_MAX {
            self.text.units.drain(..self.sent);
            self.sent = 0;
        }
        Ok(true)
    }
}

impl RowSource for Formatted<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        if self.format.in_pieces {
            return self.piece(runtime, row);
        }
        if self.is_finished {
            return Ok(false);
        }
        while !self.is_finished {
            self.write(runtime, row)?;
        }
        row.clear();
        row.push(match self.has_rows {
            true => Value::NChar(WideStr::from(std::mem::take(&mut self.text.units))),
            false => Value::Null,
        });
        Ok(true)
    }
}
