//! A session's results as TDS: `session::ResultSink` over the encoder, sending packets as they fill.

use os::IoError;
use session::{ColumnDescription, Done, EnvironmentChange, Flow, ResultSink};
use tds::server::{Column, Encoder};
use tds::token::{DoneKind, DoneToken, EnvChange, done};
use types::{SqlError, SqlType, Value};

/// Pending bytes beyond which packets leave before the answer is complete.
const SEND_THRESHOLD_BYTES: usize = 32 * 1024;

/// Where packets go: a connection, or a buffer in tests.
pub trait PacketSink {
    /// Sends whole packets.
    fn send(&mut self, packets: &[u8]) -> Result<(), IoError>;
}

/// What a connection knows of its session's transaction from the changes that passed by.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TransactionState {
    /// Descriptor of the open transaction, 0 for none.
    pub descriptor: u64,
}

/// The answer to one request, from its first token to the final DONE.
///
/// A DONE is held back until it is known whether anything follows it (the MORE bit):
/// ```text
///  nothing held ──done()──► held ──any token: release(MORE)──► nothing held
///                            └──end(): release(final)──► answer complete
/// ```
pub struct TdsSink<'a> {
    encoder: &'a mut Encoder,
    out: &'a mut dyn PacketSink,
    packets: Vec<u8>,
    transaction: &'a mut TransactionState,
    held: Option<DoneToken>,
    error_since_done: bool,
    failure: Option<IoError>,
}

impl<'a> TdsSink<'a> {
    /// Begins an answer.
    pub fn new(encoder: &'a mut Encoder, out: &'a mut dyn PacketSink, transaction: &'a mut TransactionState) -> Self {
        let packets = Vec::new();
        TdsSink { encoder, out, packets, transaction, held: None, error_since_done: false, failure: None }
    }

    /// Ends the answer with a final DONE (of a procedure, after an RPC), which acknowledges an attention if asked.
    pub fn end(mut self, is_procedure: bool, acknowledge_attention: bool) -> Result<(), IoError> {
        let wanted = if is_procedure { DoneKind::Procedure } else { DoneKind::Statement };
        if acknowledge_attention {
            self.release(done::MORE);
            self.encoder.done_attention();
        } else if self.held.is_some_and(|held| held.kind == wanted) && !self.error_since_done {
            self.release(0);
        } else {
            self.release(done::MORE);
            let status = if self.error_since_done { done::ERROR } else { 0 };
            let status = status | self.transaction_bit();
            self.encoder.done(&DoneToken { kind: wanted, status, command: 0, row_count: 0 });
        }
        self.encoder.finish(&mut self.packets);
        self.send();
        self.failure.map_or(Ok(()), Err)
    }

    /// Tells the client of a change that did not come from the session.
    pub fn env_change(&mut self, change: &EnvChange) {
        self.release(done::MORE);
        self.encoder.env_change(change);
    }

    fn transaction_bit(&self) -> u16 {
        if self.transaction.descriptor == 0 { 0 } else { done::IN_TRANSACTION }
    }

    fn release(&mut self, more: u16) {
        if let Some(mut token) = self.held.take() {
            let always_more = if token.kind == DoneKind::InProcedure { done::MORE } else { 0 };
            token.status |= more | always_more;
            self.encoder.done(&token);
        }
    }

    /// Sends full packets when enough has gathered.
    fn flow(&mut self) -> Flow {
        if self.encoder.pending_bytes() > SEND_THRESHOLD_BYTES {
            self.encoder.take_packets(SEND_THRESHOLD_BYTES, &mut self.packets);
            self.send();
        }
        if self.failure.is_some() { Flow::Stop } else { Flow::Continue }
    }

    /// Sends the packets that are ready; after a failure they are dropped, nobody is there to read them.
    fn send(&mut self) {
        if self.failure.is_none() && !self.packets.is_empty() {
            self.failure = self.out.send(&self.packets).err();
        }
        self.packets.clear();
    }
}

impl ResultSink for TdsSink<'_> {
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        self.release(done::MORE);
        let columns: Vec<Column> = columns
            .iter()
            .map(|column| Column {
                name: column.name.clone(),
                sql_type: column.sql_type,
                nullable: column.nullable,
                identity: column.identity,
                computed: column.computed,
            })
            .collect();
        self.encoder.columns(&columns);
        self.flow()
    }

    #[inline]
    fn row(&mut self, row: &[Value]) -> Flow {
        self.encoder.row(row);
        if self.encoder.pending_bytes() > SEND_THRESHOLD_BYTES || self.failure.is_some() {
            return self.flow();
        }
        Flow::Continue
    }

    fn message(&mut self, message: &SqlError) {
        self.release(done::MORE);
        self.error_since_done |= message.severity > 10;
        self.encoder.message(message);
        self.flow();
    }

    fn done(&mut self, end: Done) {
        self.release(done::MORE);
        let kind = match end.kind {
            session::DoneKind::Statement => DoneKind::Statement,
            session::DoneKind::InProcedure => DoneKind::InProcedure,
            session::DoneKind::Procedure => DoneKind::Procedure,
        };
        let failed = end.error || std::mem::take(&mut self.error_since_done);
        let count = end.row_count.map_or(0, |_| done::COUNT);
        let status = count | if failed { done::ERROR } else { 0 } | self.transaction_bit();
        let row_count = end.row_count.unwrap_or(0);
        self.held = Some(DoneToken { kind, status, command: end.command, row_count });
    }

    fn return_status(&mut self, status: i32) {
        self.release(done::MORE);
        self.encoder.return_status(status);
    }

    fn return_value(&mut self, ordinal: u16, name: &str, sql_type: &SqlType, value: &Value) {
        self.release(done::MORE);
        self.encoder.return_value(ordinal, name, sql_type, value);
    }

    fn environment(&mut self, change: EnvironmentChange) {
        let change = match change {
            EnvironmentChange::Database(new, old) => EnvChange::Database(new, old),
            EnvironmentChange::Language(new, old) => EnvChange::Language(new, old),
            EnvironmentChange::BeginTransaction(descriptor) => {
                self.transaction.descriptor = descriptor;
                EnvChange::BeginTransaction(descriptor)
            }
            EnvironmentChange::CommitTransaction(descriptor) => {
                self.transaction.descriptor = 0;
                EnvChange::CommitTransaction(descriptor)
            }
            EnvironmentChange::RollbackTransaction(descriptor) => {
                self.transaction.descriptor = 0;
                EnvChange::RollbackTransaction(descriptor)
            }
            EnvironmentChange::ResetConnection => EnvChange::ResetConnection,
        };
        self.env_change(&change);
    }
}
