//! A session's results as TDS: `session::ResultSink` over the encoder, which sends packets as they fill.

use std::sync::Arc;

use os::IoError;
use os::task::InterruptReason;

use tds::packet::MessageWriter;
use tds::server::{Column, Encoder, Origin};
use tds::token::{DoneKind, DoneToken, EnvChange, done};
use types::{SqlError, SqlType, Value};

use crate::seam::{
    self, Acknowledgement, ColumnDescription, ColumnOrigin, Done, EnvironmentChange, Flow, RequestEnd,
    ResultSink,
};

/// Pending bytes beyond which packets are sent before the answer is complete.
const SEND_THRESHOLD_BYTES: usize = 32 * 1024;

/// More columns than this are described anew each time: an idle connection keeps little memory.
const KEPT_COLUMNS_MAX: usize = 32;

/// The receiver of packets: a connection, or a buffer in tests.
pub trait PacketSink {
    /// Sends whole packets.
    fn send(&mut self, packets: &[u8]) -> Result<(), IoError>;
    /// Has the client sent an attention after its request, or closed the connection?
    fn is_cancelled(&mut self) -> bool {
        false
    }
    /// Are there so many packets that the client has not taken that no more can be kept?
    fn is_overfull(&self) -> bool {
        false
    }
}

/// State that outlives one answer, or is reset by it.
#[derive(Default)]
pub struct AnswerState {
    /// Descriptor of the session's open transaction as its client knows it, 0 for none.
    pub transaction_descriptor: u64,
    /// The descriptor of the transaction that the request's own reset has rolled back: the request still contains it.
    descriptor_before_reset: u64,
    held: Option<DoneToken>,
    error_since_done: bool,
    failure: Option<IoError>,
    /// The answer is incomplete: the client gets its end with an error, then the connection ends.
    is_broken: bool,
    /// The client was told that no more of the answer can be kept.
    is_overfull: bool,
    packets: Vec<u8>,
    /// The commits that must be hardened before the answer may reveal them.
    acknowledgement: Option<Arc<Acknowledgement>>,
    last_columns: LastColumns,
    /// The state of the answer when a commit was left pending; nothing is sent until it is settled.
    mark_before_commit: Option<AnswerMark>,
}

impl AnswerState {
    /// For a session with these commits to harden before anything is sent.
    pub fn of(acknowledgement: Option<Arc<Acknowledgement>>) -> AnswerState {
        AnswerState { acknowledgement, ..AnswerState::default() }
    }

    /// Exchanges the (empty) buffer of packets.
    pub fn exchange(&mut self, packets: &mut Vec<u8>) {
        if self.packets.is_empty() {
            std::mem::swap(&mut self.packets, packets);
        }
    }
}

/// The columns of the connection's last result set: most clients repeat the same query, and each time get the same
/// columns.
#[derive(Default)]
struct LastColumns {
    /// The address and length of the description. Only a hint whether to keep it: the next one may have the same address.
    place: (usize, usize),
    /// The description, if seen twice; otherwise empty.
    kept: Vec<ColumnDescription>,
}

impl LastColumns {
    /// Notes the next description; returns whether it is kept.
    fn see(&mut self, columns: &[ColumnDescription]) -> bool {
        let place = (columns.as_ptr() as usize, columns.len());
        let keeps = std::mem::replace(&mut self.place, place) == place && columns.len() <= KEPT_COLUMNS_MAX;
        self.kept.clear();
        if keeps {
            self.kept.extend_from_slice(columns);
        }
        keeps
    }
}

fn column_of(column: &ColumnDescription) -> Column<'_> {
    Column {
        name: &column.name,
        sql_type: column.sql_type,
        nullable: column.nullable,
        identity: column.identity,
        computed: column.computed,
        table: column.table.as_deref().unwrap_or_default(),
    }
}

/// The position to which the answer is reset when a pending commit fails.
#[derive(Debug)]
struct AnswerMark {
    pending_bytes: usize,
    held: Option<DoneToken>,
    error_since_done: bool,
    transaction_descriptor: u64,
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
    state: &'a mut AnswerState,
}

impl<'a> TdsSink<'a> {
    /// Begins an answer.
    pub fn new(encoder: &'a mut Encoder, out: &'a mut dyn PacketSink, state: &'a mut AnswerState) -> Self {
        TdsSink { encoder, out, state }
    }

    /// Ends the answer with a final DONE (of a procedure, after an RPC), with its error bit when the request was
    /// cancelled, and that of the server when the connection ends with it.
    pub fn end(mut self, is_procedure: bool, how: RequestEnd) -> Result<(), IoError> {
        assert!(self.state.mark_before_commit.is_none(), "no answer before its commit is hardened");
        self.hold_final(is_procedure);
        if let Some(held) = &mut self.state.held {
            held.status |= match how {
                RequestEnd::Finished => 0,
                RequestEnd::Attention => done::ERROR,
                RequestEnd::Close => done::ERROR | done::SERVER_ERROR,
            };
        }
        self.release(0);
        self.state.error_since_done = false;
        self.state.is_overfull = false;
        self.encoder.finish(&mut self.state.packets);
        self.send();
        if std::mem::take(&mut self.state.is_broken) {
            return Err(IoError::new(os::IoErrorKind::Invalid, "a row that cannot be sent"));
        }
        self.state.failure.take().map_or(Ok(()), Err)
    }

    /// A pending commit that will not be settled: its success is not sent.
    pub fn give_up_commit(&mut self) {
        if self.state.mark_before_commit.is_some() {
            self.commit_settled(false);
        }
    }

    /// Ends the answer to one call of a message with several, when another one follows.
    pub fn next_call(&mut self) {
        self.hold_final(true);
        if let Some(held) = &mut self.state.held {
            held.status |= done::RPC_IN_BATCH;
        }
    }

    /// A NULL in a column described as NOT NULL: an internal error, which must not become a wrong value at the client.
    #[cold]
    fn unsendable_row(&mut self) -> Flow {
        os::report::error("Server", "a query gave NULL in a column that was described as never NULL");
        let text = "A system assertion check has failed: a column described as NOT NULL holds NULL.";
        self.message(&SqlError::custom(3624, 20, 1, text.into()).at_line(1));
        self.state.is_broken = true;
        Flow::Stop
    }

    /// The error for a request that contains a descriptor other than the open transaction's (ALL_HEADERS); 0 means none.
    pub fn check_descriptor(&mut self, descriptor: u64) -> Option<SqlError> {
        let rolled_back = std::mem::take(&mut self.state.descriptor_before_reset);
        if [0, self.state.transaction_descriptor, rolled_back].contains(&descriptor) {
            return None;
        }
        let text =
            "New request is not allowed to start because it should come with valid transaction descriptor.";
        Some(SqlError::custom(3989, 16, 1, text.into()).at_line(1))
    }

    /// Before a reset: notes the client's present transaction.
    pub fn before_reset(&mut self) {
        self.state.descriptor_before_reset = self.state.transaction_descriptor;
    }

    /// Makes sure that the held DONE may end an answer.
    fn hold_final(&mut self, is_procedure: bool) {
        let wanted = if is_procedure { DoneKind::Procedure } else { DoneKind::Statement };
        if self.state.held.is_some_and(|held| held.kind == wanted || held.kind == DoneKind::Procedure) {
            return;
        }
        self.release(done::MORE);
        let failed = std::mem::take(&mut self.state.error_since_done);
        let status = self.transaction_bit() | if failed { done::ERROR } else { 0 };
        self.state.held = Some(DoneToken { kind: wanted, status, command: 0, row_count: 0 });
    }

    /// Sends the client a change that did not come from the session.
    pub fn env_change(&mut self, change: &EnvChange) {
        self.release(done::MORE);
        self.encoder.env_change(change);
    }

    fn transaction_bit(&self) -> u16 {
        if self.state.transaction_descriptor == 0 { 0 } else { done::IN_TRANSACTION }
    }

    fn release(&mut self, more: u16) {
        if let Some(mut token) = self.state.held.take() {
            let always_more = if token.kind == DoneKind::InProcedure { done::MORE } else { 0 };
            token.status |= more | always_more;
            self.encoder.done(&token);
        }
    }

    /// Sends full packets when enough bytes are pending.
    fn flow(&mut self) -> Flow {
        if self.encoder.pending_bytes() > SEND_THRESHOLD_BYTES && self.state.mark_before_commit.is_none() {
            self.encoder.take_packets(SEND_THRESHOLD_BYTES, &mut self.state.packets);
            self.send_early();
            // No more is sent after an attention: a fast stream could send some MB until the monitor notices it.
            if self.out.is_cancelled() {
                os::task::current().interrupt(InterruptReason::Attention);
            }
            if self.out.is_overfull() && !std::mem::replace(&mut self.state.is_overfull, true) {
                self.message(&answers_not_taken());
                os::task::current().interrupt(InterruptReason::Attention);
            }
            if os::task::interrupt_pending() {
                return Flow::Stop;
            }
        }
        if self.state.failure.is_some() || self.state.is_broken { Flow::Stop } else { Flow::Continue }
    }

    /// Sends a row whose values are not copied as a whole. Once begun, all of it is sent.
    #[cold]
    fn large_row(&mut self, row: &[Value]) -> Flow {
        let TdsSink { encoder, out, state } = self;
        let mut send = |writer: &mut MessageWriter| {
            writer.take_full(SEND_THRESHOLD_BYTES, &mut state.packets);
            send_early(*out, state);
        };
        if !encoder.row_in_parts(row, &mut send) {
            return self.unsendable_row();
        }
        self.flow()
    }

    /// Sends the ready packets while the request runs.
    fn send_early(&mut self) {
        send_early(self.out, self.state);
    }

    fn send(&mut self) {
        send(self.out, self.state);
    }
}

/// Hardens the commits that the ready packets reveal, and sends them.
fn send_early(out: &mut dyn PacketSink, state: &mut AnswerState) {
    if let Some(acknowledgement) = &state.acknowledgement {
        // `send` handles a failure.
        let _ = acknowledgement.harden_everything();
    }
    send(out, state);
}

/// Sends the ready packets; after a failure they are dropped, because the client is gone. They are also dropped when the commits that
/// they reveal may be lost: the connection then ends.
fn send(out: &mut dyn PacketSink, state: &mut AnswerState) {
    if state.acknowledgement.as_ref().is_some_and(|acknowledgement| acknowledgement.has_failed()) {
        let failed = || IoError::new(os::IoErrorKind::Invalid, "an answer that the log has not kept");
        state.failure.get_or_insert_with(failed);
    }
    if state.failure.is_none() && !state.packets.is_empty() {
        state.failure = out.send(&state.packets).err();
    }
    state.packets.clear();
    state.packets.shrink_to(64 * 1024);
}

/// 701, for a request of a connection with several whose answers its client does not take.
fn answers_not_taken() -> SqlError {
    let text = "There is insufficient memory to keep the results that the client has not read yet while it waits for others of the same connection (MARS).";
    SqlError::custom(701, 17, 1, text.into()).at_line(1)
}

impl ResultSink for TdsSink<'_> {
    fn columns(&mut self, columns: &[ColumnDescription]) -> Flow {
        self.release(done::MORE);
        let last = &mut self.state.last_columns;
        let is_known = !columns.is_empty() && last.kept == columns;
        if !(is_known && self.encoder.columns_again()) {
            let keep = last.see(columns);
            self.encoder.columns(columns.iter().map(column_of), keep);
        }
        self.flow()
    }

    fn origins(&mut self, table: &[String], columns: &[ColumnOrigin]) {
        self.encoder.origins(
            table,
            columns.iter().map(|column| Origin {
                is_expression: column.is_expression,
                renamed: column.renamed.as_deref(),
                is_key: column.is_key,
                is_hidden: column.is_hidden,
            }),
        );
    }

    #[inline]
    fn row(&mut self, row: &[Value]) -> Flow {
        if self.encoder.is_large(row) && self.state.mark_before_commit.is_none() {
            return self.large_row(row);
        }
        if !self.encoder.row(row) {
            return self.unsendable_row();
        }
        if self.encoder.pending_bytes() > SEND_THRESHOLD_BYTES || self.state.failure.is_some() {
            return self.flow();
        }
        Flow::Continue
    }

    fn message(&mut self, message: &SqlError) {
        self.release(done::MORE);
        self.state.error_since_done |= message.severity > 10;
        self.encoder.message(message);
        self.flow();
    }

    fn done(&mut self, end: Done) {
        self.release(done::MORE);
        let kind = match end.kind {
            seam::DoneKind::Statement => DoneKind::Statement,
            seam::DoneKind::InProcedure => DoneKind::InProcedure,
            seam::DoneKind::Procedure => DoneKind::Procedure,
        };
        // Only with an ERROR token of its own: drivers wait for one, and would take the next answer's for it.
        let failed = std::mem::take(&mut self.state.error_since_done);
        let count = end.row_count.map_or(0, |_| done::COUNT);
        let status = count | if failed { done::ERROR } else { 0 } | self.transaction_bit();
        let row_count = end.row_count.unwrap_or(0);
        self.state.held = Some(DoneToken { kind, status, command: end.command, row_count });
        self.flow();
    }

    fn return_status(&mut self, status: i32) {
        self.release(done::MORE);
        self.encoder.return_status(status);
    }

    fn return_value(&mut self, ordinal: u16, name: &str, sql_type: &SqlType, value: &Value) {
        self.release(done::MORE);
        self.encoder.return_value(ordinal, name, sql_type, value);
    }

    fn function_value(&mut self, sql_type: &SqlType, value: &Value) {
        self.release(done::MORE);
        self.encoder.function_value(sql_type, value);
    }

    fn flush(&mut self) {
        if self.state.mark_before_commit.is_none() {
            self.encoder.take_all(&mut self.state.packets);
            self.send_early();
        }
    }

    fn commit_pends(&mut self) {
        assert!(self.state.mark_before_commit.is_none(), "one commit at a time");
        self.state.mark_before_commit = Some(AnswerMark {
            pending_bytes: self.encoder.pending_bytes(),
            held: self.state.held,
            error_since_done: self.state.error_since_done,
            transaction_descriptor: self.state.transaction_descriptor,
        });
    }

    fn commit_settled(&mut self, hardened: bool) {
        let before = self.state.mark_before_commit.take().expect("a commit was pending");
        if !hardened {
            self.encoder.take_back(before.pending_bytes);
            self.state.held = before.held;
            self.state.error_since_done = before.error_since_done;
            self.state.transaction_descriptor = before.transaction_descriptor;
        }
    }

    fn environment(&mut self, change: EnvironmentChange) {
        let change = match change {
            EnvironmentChange::Database(new, old) => EnvChange::Database(new, old),
            EnvironmentChange::Language(new, old) => EnvChange::Language(new, old),
            EnvironmentChange::BeginTransaction(descriptor) => {
                self.state.transaction_descriptor = descriptor;
                EnvChange::BeginTransaction(descriptor)
            }
            EnvironmentChange::CommitTransaction(descriptor) => {
                self.state.transaction_descriptor = 0;
                EnvChange::CommitTransaction(descriptor)
            }
            EnvironmentChange::RollbackTransaction(descriptor) => {
                self.state.transaction_descriptor = 0;
                EnvChange::RollbackTransaction(descriptor)
            }
            EnvironmentChange::ResetConnection => EnvChange::ResetConnection,
        };
        self.env_change(&change);
    }
}

#[cfg(test)]
mod tests {
    use tds::client::{Token, TokenReader};
    use tds::login7::TdsVersion;

    use super::*;

    struct Nowhere;

    impl PacketSink for Nowhere {
        fn send(&mut self, _packets: &[u8]) -> Result<(), IoError> {
            Ok(())
        }
    }

    fn column(name: &str, sql_type: SqlType) -> ColumnDescription {
        let (nullable, identity, updatable, computed) = (true, false, true, false);
        ColumnDescription {
            name: name.into(),
            sql_type,
            nullable,
            identity,
            updatable,
            computed,
            table: None,
        }
    }

    /// The same address with another content, another address with the same content, in turns: the client gets the right description.
    #[test]
    fn columns_are_told_as_they_are_however_often_they_were_told_before() {
        let mut encoder = Encoder::new(TdsVersion::V7_4, 4096, 51, "HARDPAN");
        let (mut out, mut state) = (Nowhere, AnswerState::default());
        let mut place = [column("a", SqlType::Int)];
        let other = [column("b", SqlType::NVARCHAR_MAX), column("", SqlType::BigInt)];
        let mut times_kept = 0;
        for round in 0..24 {
            place[0] = column(["a", "c"][round / 8 % 2], [SqlType::Int, SqlType::Date][round / 8 % 2]);
            let columns = if round % 5 == 4 { &other[..] } else { &place[..] };
            TdsSink::new(&mut encoder, &mut out, &mut state).columns(columns);
            let mut bytes = Vec::new();
            encoder.take_all(&mut bytes);
            let told = TokenReader::new(&bytes[8..], TdsVersion::V7_4).collect().expect("a token");
            let [Token::Columns(told)] = &told[..] else { panic!("{told:?}") };
            let told: Vec<_> = told.iter().map(|column| (column.name.clone(), column.sql_type)).collect();
            let wanted: Vec<_> =
                columns.iter().map(|column| (column.name.clone(), column.sql_type)).collect();
            assert_eq!(told, wanted, "round {round}");
            times_kept += usize::from(state.last_columns.kept == columns);
        }
        assert!((8..24).contains(&times_kept), "{times_kept}");
    }
}
