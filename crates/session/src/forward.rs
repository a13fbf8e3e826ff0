//! Row sinks between a statement and the client: rows gathered for INSERT ... EXEC, rows forwarded to the client.

use query::{Flow, RowSink};
use types::{SqlError, SqlType, Value};

use crate::sink::{ColumnOrigin, Done, ResultSink, SinkLayer};

/// Collects the rows of INSERT ... EXEC; messages go to the client.
pub(crate) struct Gathered<'a> {
    sink: &'a mut dyn ResultSink,
    pub(crate) columns: Vec<query::ColumnDescription>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl<'a> Gathered<'a> {
    pub(crate) fn new(sink: &'a mut dyn ResultSink) -> Gathered<'a> {
        Gathered { sink, columns: Vec::new(), rows: Vec::new() }
    }
}

impl SinkLayer for Gathered<'_> {
    fn next(&mut self) -> &mut dyn ResultSink {
        self.sink
    }
    fn columns(&mut self, columns: &[query::ColumnDescription]) -> Flow {
        if self.columns.is_empty() {
            self.columns = columns.to_vec();
        }
        Flow::Continue
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        self.rows.push(row.to_vec());
        Flow::Continue
    }
    fn done(&mut self, _done: Done) {}
    fn return_status(&mut self, _status: i32) {}
    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}
}

/// Forwards a query's rows to the client; large values are cut to SET TEXTSIZE.
pub(crate) struct Forwarder<'a> {
    sink: &'a mut dyn ResultSink,
    stopped: bool,
    /// Rows sent of the current result set; `None` before it begins.
    sent: Option<u64>,
    text_size: i32,
    /// Ordinals of the columns whose values may be cut.
    large: Vec<usize>,
    /// Messages of the statement, sent when it has succeeded.
    messages: Vec<SqlError>,
}

impl<'a> Forwarder<'a> {
    pub(crate) fn new(sink: &'a mut dyn ResultSink, text_size: i32) -> Forwarder<'a> {
        Forwarder { sink, stopped: false, sent: None, text_size, large: Vec::new(), messages: Vec::new() }
    }

    /// Where the columns come from, behind their description.
    pub(crate) fn origins(&mut self, table: &[String], columns: &[ColumnOrigin]) {
        self.sink.origins(table, columns);
    }

    /// The client accepts no more rows.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Number of rows sent of a result set, if one has begun.
    pub(crate) fn sent(&self) -> Option<u64> {
        self.sent
    }

    /// Sends the statement's messages with its line and procedure, as for errors.
    pub(crate) fn tell(&mut self, line: u32, procedure: Option<&str>) {
        for message in self.messages.drain(..) {
            self.sink.message(&message.at_line(line).in_procedure(procedure));
        }
    }

    fn note(&mut self, flow: Flow) -> Flow {
        self.stopped |= flow == Flow::Stop;
        flow
    }

    /// A row with its large values cut to TEXTSIZE bytes.
    fn cut(&self, row: &[Value]) -> Vec<Value> {
        let bytes = usize::try_from(self.text_size).unwrap_or(usize::MAX);
        let mut row = row.to_vec();
        for ordinal in &self.large {
            match &mut row[*ordinal] {
                Value::Char(text) if text.len() > bytes => *text = text[..bytes].to_vec().into(),
                Value::Binary(data) if data.len() > bytes => *data = data[..bytes].to_vec().into(),
                Value::NChar(units) if units.len() > bytes / 2 => *units = units[..bytes / 2].to_vec().into(),
                _ => {}
            }
        }
        row
    }
}

impl RowSink for Forwarder<'_> {
    fn columns(&mut self, columns: &[query::ColumnDescription]) -> Flow {
        if self.text_size != i32::MAX {
            let is_large = |ordinal: &usize| columns[*ordinal].sql_type.is_large_object();
            self.large = (0..columns.len()).filter(is_large).collect();
        }
        self.sent = Some(0);
        let flow = self.sink.columns(columns);
        self.note(flow)
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        if let Some(sent) = &mut self.sent {
            *sent += 1;
        }
        let flow = match self.large.is_empty() {
            true => self.sink.row(row),
            false => self.sink.row(&self.cut(row)),
        };
        self.note(flow)
    }
    fn message(&mut self, message: &SqlError) {
        self.messages.push(message.clone());
    }
}
