//! The life of one connection: its login, requests, its end; each turn runs on any worker.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use os::task::InterruptReason;
use os::{IoError, IoErrorKind, Stream};
use tds::packet::{MessageHead, PacketKind, ReadBuffers, ReadLimits, status};
use tds::server::{Encoder, Request, decode_request};
use types::SqlError;

use crate::bulk::{Both, ClientRows};
use crate::channel::{self, Channel, ChannelError};
use crate::connection_slots::ConnectionSlot;
use crate::convert;
use crate::handshake::{Handshake, LoggedIn, Progress};
use crate::monitor::{After, ConnectionEntry, Serve};
use crate::seam::{ClientSession, RequestEnd, ResultSink};
use crate::shared::Shared;
use crate::sink::{AnswerState, PacketSink, TdsSink};

/// Exit code when only recovery can repair the state.
const EXIT_BROKEN: i32 = 70;

/// The memory of a request during decoding, as a multiple of its length.
const DECODED_COPIES: usize = 2;

/// From this severity on an error ends the connection.
const FATAL_SEVERITY: u8 = 20;

/// A connection from its first byte to its end.
pub enum Client {
    /// Its user is not known yet.
    LoggingIn(Box<LoggingIn>),
    /// It runs requests.
    InService(Box<Connection>),
}

/// A connection before the end of its login.
pub struct LoggingIn {
    shared: Arc<Shared>,
    channel: Channel,
    handshake: Handshake,
}

impl Client {
    /// For a stream from which nothing was received yet. `is_administrator`: it came through the administrators' port.
    pub fn new(shared: &Arc<Shared>, stream: &Arc<dyn Stream>, is_administrator: bool) -> Client {
        Client::LoggingIn(Box::new(LoggingIn {
            shared: shared.clone(),
            channel: Channel::new(stream.clone()),
            handshake: Handshake::new(is_administrator),
        }))
    }
}

impl Serve for Client {
    fn turn(&mut self, entry: &Arc<ConnectionEntry>) -> After {
        match self {
            Client::InService(connection) => connection.turn(entry),
            Client::LoggingIn(login) => match login.turn(entry) {
                Progress::Waits => After::Wait,
                Progress::Checking => After::Wake,
                Progress::Ended => After::End,
                Progress::LoggedIn(logged_in) => {
                    let channel = login.take_channel();
                    let connection = Connection::begin(&login.shared, channel, logged_in, entry);
                    *self = Client::InService(Box::new(connection));
                    // Bytes may have been read already.
                    After::Again
                }
            },
        }
    }

    fn is_pending(&self) -> bool {
        match self {
            Client::LoggingIn(login) => login.handshake.is_checking(),
            Client::InService(connection) => connection.pending.is_some(),
        }
    }

    fn end(self: Box<Self>, entry: &ConnectionEntry) {
        match *self {
            Client::InService(connection) => connection.end(entry),
            Client::LoggingIn(login) => {
                login.channel.stream().shutdown();
                login.shared.table.remove(entry);
            }
        }
    }
}

impl LoggingIn {
    fn turn(&mut self, entry: &Arc<ConnectionEntry>) -> Progress {
        if self.shared.table.is_draining() {
            return Progress::Ended;
        }
        let LoggingIn { shared, channel, handshake } = self;
        let outcome = catch_unwind(AssertUnwindSafe(|| handshake.go_on(shared, channel, entry)));
        match outcome {
            Ok(Ok(progress)) => progress,
            Ok(Err(error)) => {
                report(&self.channel, &error);
                Progress::Ended
            }
            // The panic hook has logged it.
            Err(_) => Progress::Ended,
        }
    }

    fn take_channel(&mut self) -> Channel {
        let stream = self.channel.stream().clone();
        std::mem::replace(&mut self.channel, Channel::new(stream))
    }
}

/// Only a protocol violation of the peer is logged.
fn report(channel: &Channel, error: &ChannelError) {
    if let ChannelError::Protocol(error) = error {
        let peer = channel.stream().peer_address();
        os::report::warn("Network", &format!("connection from {peer} closed: {error}"));
    }
}

thread_local! {
    /// A worker's buffers: received bytes, the answer's tokens, its packets.
    static BUFFERS: RefCell<(ReadBuffers, Vec<u8>, Vec<u8>)> = RefCell::default();
}

/// One connection after its login.
pub struct Connection {
    shared: Arc<Shared>,
    channel: Channel,
    session: Box<dyn ClientSession>,
    encoder: Encoder,
    answer: AnswerState,
    /// A request whose commit is pending, and whether it is a call.
    pending: Option<bool>,
    /// Its place among the logged-in connections.
    place: ConnectionSlot,
}

impl Connection {
    /// The login has been answered.
    fn begin(
        shared: &Arc<Shared>,
        mut channel: Channel,
        logged_in: LoggedIn,
        entry: &Arc<ConnectionEntry>,
    ) -> Connection {
        let LoggedIn { mut session, encoder, place, is_multiplexed } = logged_in;
        let limits =
            ReadLimits::session(shared.config.message_bytes_max).with_calls(shared.config.call_bytes_max);
        channel.set_limits(limits);
        entry.set_encrypted(channel.is_encrypted());
        if is_multiplexed {
            session.rolls_back_batches();
            entry.set_multiplexed(channel.start_mars(limits));
        }
        session.allow_pending_commits(entry.waker());
        let killed = Arc::downgrade(entry);
        session.hang_up_with(Arc::new(move || {
            if let Some(entry) = killed.upgrade() {
                entry.kill();
            }
        }));
        session.count_packets(channel.packets());
        shared.table.half_open().remove(entry.number());
        shared.logins_total.increment();
        shared.user_connections.increment();
        let answer = AnswerState::of(session.acknowledgement());
        Connection { shared: shared.clone(), channel, session, encoder, answer, pending: None, place }
    }

    fn turn(&mut self, entry: &ConnectionEntry) -> After {
        self.exchange_buffers();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.next_step(entry)));
        let outcome = outcome.unwrap_or_else(|panic| Err(self.give_up(entry, panic.as_ref())));
        self.exchange_buffers();
        outcome.unwrap_or_else(|error| {
            report(&self.channel, &error);
            After::End
        })
    }

    fn end(self, entry: &ConnectionEntry) {
        let Connection { shared, channel, session, place, .. } = self;
        let closed = catch_unwind(AssertUnwindSafe(|| session.close()));
        shared.user_connections.add(-1);
        if closed.is_err() {
            // Its transaction cannot be rolled back: only recovery can repair the state.
            os::report::error(
                "Server",
                "a session could not be closed after a panic; the server stops for recovery",
            );
            os::process::exit(EXIT_BROKEN);
        }
        channel.stream().shutdown();
        shared.table.remove(entry);
        drop(place);
    }

    /// Takes the worker's buffers, or returns them: many connections share a few warm ones.
    fn exchange_buffers(&mut self) {
        BUFFERS.with_borrow_mut(|(read, payload, packets)| {
            self.channel.exchange(read);
            self.encoder.exchange(payload);
            self.answer.exchange(packets);
        });
    }

    fn next_step(&mut self, entry: &ConnectionEntry) -> Result<After, ChannelError> {
        if let Some(is_call) = self.pending.take() {
            return self.finish_pending(entry, is_call);
        }
        if self.shared.table.is_draining() {
            return Ok(After::End);
        }
        match self.channel.poll_message() {
            Ok(channel::Next::Message(head)) => self.one_message(entry, head),
            Ok(channel::Next::Nothing) => Ok(After::Wait),
            Ok(channel::Next::Closed) => Ok(After::End),
            Err(ChannelError::Protocol(tds::ProtocolError::GivenUp)) => self.answer_error(&out_of_memory()),
            // A request that is too long has been read to its end and discarded.
            Err(ChannelError::Protocol(error)) if error.is_refusal() => {
                self.answer_error(&stream_is_incorrect(16, &error))
            }
            Err(error) => Err(error),
        }
    }

    /// The connection's next state after an answer was sent.
    fn after_answer(&self) -> After {
        if self.shared.table.is_draining() {
            After::End
        } else if self.channel.may_have_more() {
            After::Again
        } else {
            After::Answered
        }
    }

    /// An internal error has unwound a request: the client gets an error, the session is rolled back, the connection ends.
    fn give_up(&mut self, entry: &ConnectionEntry, panic: &(dyn std::any::Any + Send)) -> ChannelError {
        let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        os::report::error(&format!("spid{}", self.session.id()), &format!("a request panicked: {text}"));
        self.shared.table.end_request(entry);
        TdsSink::new(&mut self.encoder, &mut self.channel, &mut self.answer).give_up_commit();
        let told =
            "A system assertion check has failed. The request was rolled back and its connection ends.";
        match self.answer_error(&SqlError::custom(3624, 20, 1, told.into())) {
            Ok(_) => IoError::new(IoErrorKind::Disconnected, "a request panicked").into(),
            Err(error) => error,
        }
    }

    fn one_message(&mut self, entry: &ConnectionEntry, head: MessageHead) -> Result<After, ChannelError> {
        if head.kind == PacketKind::Attention {
            return self.acknowledge_attention();
        }
        if head.kind == PacketKind::BulkLoad {
            return self.bulk_load(entry, head);
        }
        if head.has(status::IGNORE) {
            return self.answer_error(&SqlError::custom(
                3617,
                16,
                1,
                "The client gave the request up while sending it.".into(),
            ));
        }
        if !os::memory::may_take_in(self.channel.payload().len().saturating_mul(DECODED_COPIES)) {
            return self.answer_error(&out_of_memory());
        }
        let decoded = decode_request(head.kind, self.channel.payload(), self.encoder.version());
        self.channel.forget_large_payload();
        match decoded {
            Ok(request) => self.run_request(entry, head, request),
            Err(tds::ProtocolError::DistributedTransaction) => {
                let name = self.shared.config.server_name.clone();
                self.answer_error(&SqlError::new(8501, &[&name]).with_state(3))
            }
            Err(error) if error.is_refusal() => {
                self.answer_error(&SqlError::custom(40510, 16, 1, format!("{error}.")))
            }
            Err(error) => {
                self.answer_error(&stream_is_incorrect(20, &error))?;
                Err(error.into())
            }
        }
    }

    /// Runs a request from `begin_request` on, so that it can be interrupted.
    fn run_request(
        &mut self,
        entry: &ConnectionEntry,
        head: MessageHead,
        request: Request,
    ) -> Result<After, ChannelError> {
        self.shared.batch_requests.increment();
        let is_call = matches!(request, Request::Rpc { .. });
        if self.channel.has_attention() {
            // Cancelled before it began.
            TdsSink::new(&mut self.encoder, &mut self.channel, &mut self.answer)
                .end(is_call, RequestEnd::Attention)?;
            return Ok(self.after_answer());
        }
        self.shared.table.begin_request(entry, self.channel.may_have_more());
        let mut sink = TdsSink::new(&mut self.encoder, &mut self.channel, &mut self.answer);
        let keep = head.has(status::RESET_CONNECTION_KEEP_TRANSACTION);
        if head.has(status::RESET_CONNECTION) || keep {
            sink.before_reset();
            self.session.reset(keep, &mut sink);
        }
        let end = dispatch(self.session.as_mut(), request, &mut sink);
        if self.session.is_commit_pending() {
            self.pending = Some(is_call);
            return Ok(After::Wake);
        }
        self.finish_request(entry, is_call, end)
    }

    /// Runs a bulk load, whose packets the session takes one by one.
    fn bulk_load(&mut self, entry: &ConnectionEntry, head: MessageHead) -> Result<After, ChannelError> {
        self.shared.batch_requests.increment();
        self.shared.table.begin_request(entry, false);
        entry.set_reads_rows(true);
        let version = self.encoder.version();
        let channel = RefCell::new(&mut self.channel);
        let mut out = Both(&channel);
        let mut sink = TdsSink::new(&mut self.encoder, &mut out, &mut self.answer);
        let mut rows = ClientRows::new(&channel, entry, version, head);
        let end = self.session.bulk_load(&mut rows, &mut sink);
        rows.skip_rest();
        entry.set_reads_rows(false);
        self.finish_request(entry, false, end)
    }

    /// The commit of a pending request is hardened, or has failed.
    fn finish_pending(&mut self, entry: &ConnectionEntry, is_call: bool) -> Result<After, ChannelError> {
        let mut sink = TdsSink::new(&mut self.encoder, &mut self.channel, &mut self.answer);
        let end = self.session.settle_commit(&mut sink);
        self.finish_request(entry, is_call, end)
    }

    /// Ends the answer, after `end_request`.
    fn finish_request(
        &mut self,
        entry: &ConnectionEntry,
        is_call: bool,
        end: RequestEnd,
    ) -> Result<After, ChannelError> {
        let reason = self.shared.table.end_request(entry);
        if matches!(reason, Some(InterruptReason::Kill | InterruptReason::Shutdown)) {
            let text = "Cannot continue the execution because the session is in the kill state.";
            self.answer_error(&SqlError::custom(596, 21, 1, text.into()))?;
            return Ok(After::End);
        }
        // The attention itself is the next message; clients expect its acknowledgement in a message of its own.
        let how = match reason {
            Some(InterruptReason::Attention) => RequestEnd::Attention,
            _ => end,
        };
        TdsSink::new(&mut self.encoder, &mut self.channel, &mut self.answer).end(is_call, how)?;
        Ok(if end == RequestEnd::Close { After::End } else { self.after_answer() })
    }

    /// An attention, whether it came in time to cancel something or not: acknowledged by a message of its own.
    fn acknowledge_attention(&mut self) -> Result<After, ChannelError> {
        self.shared.attentions.increment();
        self.encoder.done_attention();
        let mut packets = Vec::new();
        self.encoder.finish(&mut packets);
        self.channel.send(&packets)?;
        Ok(self.after_answer())
    }

    fn answer_error(&mut self, error: &SqlError) -> Result<After, ChannelError> {
        let mut sink = TdsSink::new(&mut self.encoder, &mut self.channel, &mut self.answer);
        sink.message(&error.clone().at_line(1));
        let is_fatal = error.severity >= FATAL_SEVERITY;
        sink.end(false, if is_fatal { RequestEnd::Close } else { RequestEnd::Finished })?;
        Ok(self.after_answer())
    }
}

/// 701: there is no memory even for the request itself.
fn out_of_memory() -> SqlError {
    SqlError::new(701, &[&"default"])
}

/// 4002. At severity 20 the connection ends.
fn stream_is_incorrect(severity: u8, error: &tds::ProtocolError) -> SqlError {
    let text = format!("The incoming tabular data stream (TDS) protocol stream is incorrect: {error}.");
    SqlError::custom(4002, severity, 1, text)
}

/// Passes a request to the session.
fn dispatch(session: &mut dyn ClientSession, request: Request, sink: &mut TdsSink<'_>) -> RequestEnd {
    match request {
        Request::Batch { headers, text } => {
            if let Some(error) = sink.check_descriptor(headers.transaction_descriptor) {
                sink.message(&error);
                return RequestEnd::Finished;
            }
            session.execute_batch(&text, sink)
        }
        Request::Rpc { headers, calls } => {
            if let Some(error) = sink.check_descriptor(headers.transaction_descriptor) {
                sink.message(&error);
                return RequestEnd::Finished;
            }
            let mut end = RequestEnd::Finished;
            for (index, call) in calls.into_iter().enumerate() {
                if index > 0 {
                    sink.next_call();
                }
                end = session.execute_rpc(convert::call(call), sink);
                if end != RequestEnd::Finished {
                    break;
                }
            }
            end
        }
        Request::Transaction { request, .. } => {
            session.transaction_request(&convert::transaction(request), sink)
        }
        Request::PreLogin(_) | Request::Login7(_) | Request::Attention => {
            let text = "A message of the login came after the login.";
            sink.message(&SqlError::custom(4002, 20, 1, text.into()).at_line(1));
            RequestEnd::Close
        }
    }
}
