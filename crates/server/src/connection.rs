//! The life of one connection, on a thread of its own: handshake, requests, end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use os::task::InterruptReason;
use os::{Counter, IoError, IoErrorKind, Os, Stream};
use tds::packet::{MessageHead, PacketKind, ReadLimits, status};
use tds::server::{Encoder, Request, decode_request};
use types::SqlError;

use crate::channel::{Channel, ChannelError};
use crate::config::Config;
use crate::convert;
use crate::handshake::{self, LoggedIn};
use crate::logins::Logins;
use crate::monitor::{ConnectionEntry, ConnectionTable};
use crate::seam::{ClientSession, RequestEnd, ResultSink, SessionSource};
use crate::sink::{AnswerState, PacketSink, TdsSink};
use crate::tls::TlsContext;

/// Exit code when only recovery can put things right.
const EXIT_BROKEN: i32 = 70;

/// What all connections of a server share.
pub struct Shared {
    /// The world.
    pub os: Os,
    /// Settings.
    pub config: Config,
    /// Who may log in.
    pub logins: Logins,
    /// Certificates.
    pub tls: TlsContext,
    /// Where sessions come from.
    pub sessions: Box<dyn SessionSource>,
    /// All connections.
    pub table: Arc<ConnectionTable>,
    /// `SQL Statistics: Batch Requests/sec`.
    pub batch_requests: Arc<Counter>,
    /// `General Statistics: Logins/sec`.
    pub logins_total: Arc<Counter>,
    /// `General Statistics: User Connections`.
    pub user_connections: Arc<Counter>,
}

/// Serves one connection to its end. `admitted` is false for one beyond the maximum, which is told so after its login.
pub fn serve(shared: &Shared, stream: Arc<dyn Stream>, entry: &ConnectionEntry, admitted: bool) {
    let mut channel = Channel::new(stream);
    match run(shared, &mut channel, entry, admitted) {
        Ok(()) => {}
        Err(ChannelError::Io(_)) => {}
        Err(ChannelError::Protocol(error)) => {
            let peer = channel.stream().peer_address();
            os::report::warn("Network", &format!("connection from {peer} closed: {error}"));
        }
    }
    channel.stream().shutdown();
}

fn run(
    shared: &Shared,
    channel: &mut Channel,
    entry: &ConnectionEntry,
    admitted: bool,
) -> Result<(), ChannelError> {
    let deadline_ns = shared.os.clock().monotonic_ns() + shared.config.login_timeout_ns;
    channel.set_deadline(&shared.os, Some(deadline_ns))?;
    let Some(LoggedIn { session, encoder }) = handshake::log_in(shared, channel, admitted)? else {
        return Ok(());
    };
    channel.set_deadline(&shared.os, None)?;
    channel.set_limits(ReadLimits::session(shared.config.message_bytes_max));
    entry.set_encrypted(channel.is_encrypted());
    shared.logins_total.increment();
    shared.user_connections.increment();
    let mut connection =
        Connection { shared, channel, entry, session, encoder, answer: AnswerState::default() };
    let outcome = catch_unwind(AssertUnwindSafe(|| connection.requests()));
    let outcome = outcome.unwrap_or_else(|panic| Err(connection.give_up(panic.as_ref())));
    let session = connection.session;
    let closed = catch_unwind(AssertUnwindSafe(|| session.close()));
    shared.user_connections.add(-1);
    if closed.is_err() {
        // Its transaction cannot be rolled back: recovery is the only way left.
        os::report::error(
            "Server",
            "a session could not be closed after a panic; the server stops for recovery",
        );
        os::process::exit(EXIT_BROKEN);
    }
    outcome
}

/// What becomes of a connection after a request.
#[derive(PartialEq, Eq)]
enum Next {
    Go,
    Close,
}

struct Connection<'a> {
    shared: &'a Shared,
    channel: &'a mut Channel,
    entry: &'a ConnectionEntry,
    session: Box<dyn ClientSession>,
    encoder: Encoder,
    answer: AnswerState,
}

impl Connection<'_> {
    fn requests(&mut self) -> Result<(), ChannelError> {
        while !self.shared.table.is_draining() {
            let next = match self.channel.next_message() {
                Ok(None) => return Ok(()),
                Ok(Some(head)) => self.one_message(head)?,
                // A request that is too long has been read to its end and thrown away.
                Err(ChannelError::Protocol(error)) if error.is_refusal() => {
                    self.answer_error(&stream_is_incorrect(16, &error))?
                }
                Err(error) => return Err(error),
            };
            if next == Next::Close {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A bug of ours has unwound a request: the client is told, the session will be rolled back, the connection ends.
    fn give_up(&mut self, panic: &(dyn std::any::Any + Send)) -> ChannelError {
        let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        os::report::error(&format!("spid{}", self.session.id()), &format!("a request panicked: {text}"));
        self.shared.table.end_request(self.entry);
        let told =
            "A system assertion check has failed. The request was rolled back and its connection ends.";
        match self.answer_error(&SqlError::custom(3624, 20, 1, told.into())) {
            Ok(_) => IoError::new(IoErrorKind::Disconnected, "a request panicked").into(),
            Err(error) => error,
        }
    }

    fn one_message(&mut self, head: MessageHead) -> Result<Next, ChannelError> {
        if head.kind == PacketKind::Attention {
            return self.acknowledge_attention();
        }
        if head.has(status::IGNORE) {
            return self.answer_error(&SqlError::custom(
                3617,
                16,
                1,
                "The client gave the request up while sending it.".into(),
            ));
        }
        match decode_request(head.kind, self.channel.payload(), self.encoder.version()) {
            Ok(request) => self.run_request(head, &request),
            Err(error) if error.is_refusal() => {
                self.answer_error(&SqlError::custom(40510, 16, 1, format!("{error}.")))
            }
            Err(error) => {
                self.answer_error(&stream_is_incorrect(20, &error))?;
                Err(error.into())
            }
        }
    }

    /// Runs a request between `begin_request` and `end_request`, so that it can be interrupted.
    fn run_request(&mut self, head: MessageHead, request: &Request) -> Result<Next, ChannelError> {
        self.shared.batch_requests.increment();
        if self.channel.has_attention() {
            // Cancelled before it began.
            let is_call = matches!(request, Request::Rpc { .. });
            TdsSink::new(&mut self.encoder, self.channel, &mut self.answer).end(is_call, true)?;
            return Ok(Next::Go);
        }
        self.shared.table.begin_request(self.entry);
        let is_call = matches!(request, Request::Rpc { .. });
        let mut sink = TdsSink::new(&mut self.encoder, self.channel, &mut self.answer);
        let keep = head.has(status::RESET_CONNECTION_KEEP_TRANSACTION);
        if head.has(status::RESET_CONNECTION) || keep {
            self.session.reset(keep, &mut sink);
        }
        let end = dispatch(self.session.as_mut(), request, &mut sink);
        let reason = self.shared.table.end_request(self.entry);
        if matches!(reason, Some(InterruptReason::Kill | InterruptReason::Shutdown)) {
            let text = "Cannot continue the execution because the session is in the kill state.";
            self.answer_error(&SqlError::custom(596, 21, 1, text.into()))?;
            return Ok(Next::Close);
        }
        // The attention itself is the next message; clients expect its acknowledgement in a message of its own.
        let cancelled = reason == Some(InterruptReason::Attention);
        TdsSink::new(&mut self.encoder, self.channel, &mut self.answer).end(is_call, cancelled)?;
        Ok(if end == RequestEnd::Close { Next::Close } else { Next::Go })
    }

    /// An attention, whether it came in time to cancel something or not: acknowledged by a message of its own.
    fn acknowledge_attention(&mut self) -> Result<Next, ChannelError> {
        self.encoder.done_attention();
        let mut packets = Vec::new();
        self.encoder.finish(&mut packets);
        self.channel.send(&packets)?;
        Ok(Next::Go)
    }

    fn answer_error(&mut self, error: &SqlError) -> Result<Next, ChannelError> {
        let mut sink = TdsSink::new(&mut self.encoder, self.channel, &mut self.answer);
        sink.message(&error.clone().at_line(1));
        sink.end(false, false)?;
        Ok(Next::Go)
    }
}

/// 4002. At severity 20 the connection ends.
fn stream_is_incorrect(severity: u8, error: &tds::ProtocolError) -> SqlError {
    let text = format!("The incoming tabular data stream (TDS) protocol stream is incorrect: {error}.");
    SqlError::custom(4002, severity, 1, text)
}

/// Hands a request to the session.
fn dispatch(session: &mut dyn ClientSession, request: &Request, sink: &mut TdsSink<'_>) -> RequestEnd {
    match request {
        Request::Batch { headers, text } => {
            if let Some(error) = sink.check_descriptor(headers.transaction_descriptor) {
                sink.message(&error);
                return RequestEnd::Finished;
            }
            session.execute_batch(text, sink)
        }
        Request::Rpc { headers, calls } => {
            if let Some(error) = sink.check_descriptor(headers.transaction_descriptor) {
                sink.message(&error);
                return RequestEnd::Finished;
            }
            let mut end = RequestEnd::Finished;
            for (index, call) in calls.iter().enumerate() {
                if index > 0 {
                    sink.next_call();
                }
                end = session.execute_rpc(&convert::call(call), sink);
                if end != RequestEnd::Finished {
                    break;
                }
            }
            end
        }
        Request::Transaction { request, .. } => {
            session.transaction_request(&convert::transaction(request), sink)
        }
        Request::BulkLoad => {
            let text = "Bulk load data came without an INSERT BULK statement before it.";
            sink.message(&SqlError::custom(4002, 16, 1, text.into()).at_line(1));
            RequestEnd::Finished
        }
        Request::PreLogin(_) | Request::Login7(_) | Request::Attention => {
            let text = "A message of the login came after the login.";
            sink.message(&SqlError::custom(4002, 20, 1, text.into()).at_line(1));
            RequestEnd::Close
        }
    }
}
