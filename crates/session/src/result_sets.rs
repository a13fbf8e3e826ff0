//! EXECUTE ... WITH RESULT SETS: sends a procedure's results under the declared names and types.
//!
//! The procedure stops at the first mismatch: that row or result set is not sent, and the statement ends with the error.

use os::task;
use query::{ColumnDescription, Flow};
use types::{ConvertContext, DEFAULT_STYLE, SqlError, SqlType, Value};

use crate::batch::instruction::WantedColumn;
use crate::interruption::{Interruption, Stop};
use crate::sink::{Done, ResultSink, SinkLayer};

/// Sink between a procedure and the receiver of its results; it changes names and types.
pub(crate) struct Redescribed<'a> {
    sink: &'a mut dyn ResultSink,
    wanted: &'a [Vec<WantedColumn>],
    /// Number of result sets that have begun.
    begun: usize,
    /// Column types of the current result set.
    types: Vec<SqlType>,
    context: ConvertContext,
    error: Option<SqlError>,
    /// Rows sent of the current result set.
    sent: Option<u64>,
}

/// The column description that the client receives instead of the procedure's own.
pub(crate) fn described(wanted: &WantedColumn) -> ColumnDescription {
    ColumnDescription {
        name: wanted.name.clone(),
        sql_type: wanted.sql_type,
        nullable: wanted.nullable,
        identity: false,
        updatable: false,
        computed: false,
        table: None,
    }
}

impl<'a> Redescribed<'a> {
    pub(crate) fn new(
        sink: &'a mut dyn ResultSink,
        wanted: &'a [Vec<WantedColumn>],
        context: ConvertContext,
    ) -> Redescribed<'a> {
        Redescribed { sink, wanted, begun: 0, types: Vec::new(), context, error: None, sent: None }
    }

    /// The outcome of the procedure. A mismatch stops it as an attention does; then the outcome is the mismatch's error. Errors 11535 to 11538,
    /// 11553, those of a conversion. Also returns the number of rows sent of an unfinished result set.
    pub(crate) fn finish<T>(self, ended: Result<T, Interruption>) -> (Result<T, Interruption>, Option<u64>) {
        let (wanted, begun) = (self.wanted.len(), self.begun);
        match (ended, self.error) {
            (Err(Interruption::Stopped(Stop::Attention)) | Ok(_), Some(error))
                if !task::current().is_interrupted() =>
            {
                (Err(error.into()), self.sent)
            }
            (Ok(_), None) if begun < wanted => (Err(SqlError::new(11536, &[&wanted, &begun]).into()), None),
            (ended, _) => (ended, None),
        }
    }

    fn begin(&mut self, columns: &[ColumnDescription]) -> Result<Vec<ColumnDescription>, SqlError> {
        let Some(wanted) = self.wanted.get(self.begun) else {
            return Err(SqlError::new(11535, &[&self.wanted.len()]));
        };
        let number = self.begun + 1;
        if wanted.len() != columns.len() {
            return Err(SqlError::new(11537, &[&wanted.len(), &number, &columns.len()]));
        }
        let mut columns_told = Vec::with_capacity(columns.len());
        for (at, (wanted, column)) in wanted.iter().zip(columns).enumerate() {
            if types::convert::matrix::check(&column.sql_type, &wanted.sql_type, false).is_err() {
                let (given, sent) = (wanted.sql_type.name(), column.sql_type.name());
                return Err(SqlError::new(11538, &[&given, &(at + 1), &number, &sent]));
            }
            let own = described(wanted);
            columns_told.push(ColumnDescription {
                identity: column.identity,
                computed: column.computed,
                ..own
            });
        }
        self.types = columns.iter().map(|column| column.sql_type).collect();
        Ok(columns_told)
    }

    fn converted(&self, row: &[Value]) -> Result<Vec<Value>, SqlError> {
        let wanted = &self.wanted[self.begun - 1];
        let mut converted = Vec::with_capacity(row.len());
        for (at, (value, (from, wanted))) in row.iter().zip(self.types.iter().zip(wanted)).enumerate() {
            if value.is_null() && !wanted.nullable {
                return Err(SqlError::new(11553, &[&(at + 1), &self.begun]));
            }
            converted.push(types::convert(value, from, &wanted.sql_type, DEFAULT_STYLE, &self.context)?);
        }
        Ok(converted)
    }
}

impl SinkLayer for Redescribed<'_> {
    fn next(&mut self) -> &mut dyn ResultSink {
        self.sink
    }
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        if self.error.is_some() {
            return Flow::Stop;
        }
        match self.begin(columns) {
            Ok(columns) => {
                self.begun += 1;
                self.sent = Some(0);
                self.sink.columns(&columns)
            }
            Err(error) => {
                self.error = Some(error);
                Flow::Stop
            }
        }
    }
    fn row(&mut self, row: &[Value]) -> Flow {
        if self.error.is_some() {
            return Flow::Stop;
        }
        match self.converted(row) {
            Ok(row) => {
                self.sent = self.sent.map(|sent| sent + 1);
                self.sink.row(&row)
            }
            Err(error) => {
                self.error = Some(error);
                Flow::Stop
            }
        }
    }
    fn done(&mut self, done: Done) {
        // A statement that was stopped by a mismatch ends with its error.
        if self.error.is_none() {
            self.sent = None;
            self.sink.done(done);
        }
    }
}
