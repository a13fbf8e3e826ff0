//! A connection's bytes: whole messages in, packets out, in the clear or through TLS.

use std::cell::RefCell;
use std::sync::Arc;

use os::{IoError, IoErrorKind, Stream};
use session::PacketCounts;
use tds::ProtocolError;
use tds::packet::{
    MessageHead, MessageReader, MessageWriter, PacketKind, ReadBuffers, ReadLimits, packets_in,
};

use crate::sink::PacketSink;
use crate::tls::TlsSession;

/// Bytes read from the socket at once.
const READ_BYTES: usize = 8 * 1024;
/// Room that buffers keep between messages; what a huge row has taken is given back.
const KEPT_BYTES: usize = 64 * 1024;
/// Messages longer than this are given up when memory is spent.
const LARGE_MESSAGE_BYTES: usize = 256 * 1024;
/// First byte of a TLS handshake record.
const TLS_HANDSHAKE: u8 = 0x16;

/// Why a connection cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelError {
    /// The socket or TLS failed, or a time-out passed.
    Io(IoError),
    /// The peer does not keep to the protocol.
    Protocol(ProtocolError),
}

impl From<IoError> for ChannelError {
    fn from(error: IoError) -> Self {
        ChannelError::Io(error)
    }
}

impl From<ProtocolError> for ChannelError {
    fn from(error: ProtocolError) -> Self {
        ChannelError::Protocol(error)
    }
}

impl std::fmt::Display for ChannelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChannelError::Io(error) => error.fmt(f),
            ChannelError::Protocol(error) => error.fmt(f),
        }
    }
}

/// How bytes are protected on their way.
enum Protection {
    Plain,
    /// TLS for all that is sent; `login_only` lets the peer fall back to plain packets after its first encrypted one.
    Tls {
        session: Box<TlsSession>,
        login_only: bool,
    },
}

thread_local! {
    /// Where a thread reads to: warm for whatever connection comes next, and idle ones need none.
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into_boxed_slice());
}

/// What a look for the next message finds.
pub enum Next {
    /// A whole message.
    Message(MessageHead),
    /// Not all of it has come yet.
    Nothing,
    /// The peer has closed the connection between messages.
    Closed,
}

/// What a client begins with.
pub enum First {
    /// A record of TLS.
    Tls,
    /// A message in the clear.
    Message,
    /// Nothing has come yet.
    Nothing,
    /// It has closed the connection.
    Closed,
}

/// One connection.
pub struct Channel {
    stream: Arc<dyn Stream>,
    protection: Protection,
    reader: MessageReader,
    plain: Vec<u8>,
    records: Vec<u8>,
    /// The last read took all that there was room for: there may be more.
    is_full: bool,
    packets: Arc<PacketCounts>,
}

impl Channel {
    /// A connection that has said nothing yet; its limits are those before login.
    pub fn new(stream: Arc<dyn Stream>) -> Channel {
        Channel {
            stream,
            protection: Protection::Plain,
            reader: MessageReader::new(ReadLimits::PRE_LOGIN),
            plain: Vec::new(),
            records: Vec::new(),
            is_full: false,
            packets: Arc::default(),
        }
    }

    /// How many packets have come and gone.
    pub fn packets(&self) -> Arc<PacketCounts> {
        self.packets.clone()
    }

    /// The socket, for whoever ends the connection or watches it.
    pub fn stream(&self) -> &Arc<dyn Stream> {
        &self.stream
    }

    /// True when what is sent now is encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.protection, Protection::Tls { .. })
    }

    /// Replaces the limits on what the peer may send.
    pub fn set_limits(&mut self, limits: ReadLimits) {
        self.reader.set_limits(limits);
    }

    /// What the client begins with, without using it: TLS (strict), or a message.
    pub fn poll_first(&mut self) -> Result<First, ChannelError> {
        if self.reader.unread().is_empty() {
            let Some(taken) = self.read_now(Channel::take_in)? else {
                return Ok(First::Nothing);
            };
            if !taken? {
                return Ok(First::Closed);
            }
        }
        let is_tls = self.reader.unread().first() == Some(&TLS_HANDSHAKE);
        Ok(if is_tls { First::Tls } else { First::Message })
    }

    /// The next message, if all of it has been read.
    fn next_whole(&mut self) -> Result<Option<MessageHead>, ChannelError> {
        let next = self.reader.next();
        self.packets.note_read(self.reader.take_packets());
        Ok(next?)
    }

    /// The next whole message, if it can be had without waiting.
    pub fn poll_message(&mut self) -> Result<Next, ChannelError> {
        loop {
            if let Some(head) = self.next_whole()? {
                return Ok(Next::Message(head));
            }
            let Some(taken) = self.read_now(Channel::take_in)? else {
                return Ok(Next::Nothing);
            };
            if !taken? {
                return Ok(Next::Closed);
            }
            // A list of bytes doubles when it is full.
            let so_far = self.reader.bytes_so_far();
            if so_far > LARGE_MESSAGE_BYTES && !os::memory::may_take_in(so_far) {
                self.reader.give_up();
            }
        }
    }

    /// True when something of the next message has been read, or could be without the poller telling of it.
    pub fn may_have_more(&self) -> bool {
        self.is_full || !self.reader.unread().is_empty()
    }

    /// Exchanges the reader's buffers, between messages.
    pub fn exchange(&mut self, buffers: &mut ReadBuffers) {
        self.reader.exchange(buffers);
    }

    /// The payload of the message that came last.
    pub fn payload(&self) -> &[u8] {
        self.reader.payload()
    }

    /// The message that came last has been decoded: its payload, if large, is freed.
    pub fn forget_large_payload(&mut self) {
        self.reader.forget_large_payload();
    }

    /// True when an attention has already been read behind the message that came last.
    pub fn has_attention(&self) -> bool {
        self.reader.unread().first() == Some(&(PacketKind::Attention as u8))
    }

    /// TLS before anything else: all bytes so far are its records.
    pub fn start_strict_tls(&mut self, session: TlsSession) -> Result<(), ChannelError> {
        let records = self.reader.take_unread();
        self.protection = Protection::Tls { session: Box::new(session), login_only: false };
        self.take_in(&records).map(drop)
    }

    /// The message that came last is a step of a TLS handshake in PRELOGIN packets; answers it. True when the handshake has ended.
    pub fn step_wrapped_tls(&mut self, session: &mut TlsSession) -> Result<bool, ChannelError> {
        let received = session.receive(self.reader.payload(), &mut self.plain);
        let mut writer = MessageWriter::new(PacketKind::PreLogin, tds::limits::PACKET_BYTES_DEFAULT, 0);
        session.take_records(&mut writer.payload)?;
        if !writer.payload.is_empty() {
            writer.finish(&mut self.records);
            self.stream.write_all(&self.records)?;
            self.records.clear();
        }
        received?;
        Ok(!session.is_handshaking())
    }

    /// After such a handshake records stand on the wire by themselves.
    pub fn finish_wrapped_tls(
        &mut self,
        session: Box<TlsSession>,
        login_only: bool,
    ) -> Result<(), ChannelError> {
        let early = self.reader.take_unread();
        self.protection = Protection::Tls { session, login_only };
        if early.is_empty() { Ok(()) } else { self.take_in(&early).map(drop) }
    }

    /// Ends TLS after a login that alone was to be encrypted.
    pub fn stop_tls(&mut self) {
        self.protection = Protection::Plain;
    }

    /// Decrypts, if need be, what has come and feeds the reader. False when the peer has closed, between messages.
    fn take_in(&mut self, bytes: &[u8]) -> Result<bool, ChannelError> {
        if bytes.is_empty() && !self.reader.is_at_boundary() {
            let told = "the client closed inside a message";
            return Err(IoError::new(IoErrorKind::UnexpectedEof, told).into());
        }
        match &mut self.protection {
            Protection::Plain => self.reader.feed(bytes)?,
            // Only the first packet of a long LOGIN7 need be encrypted: a packet's type is no type of a TLS record.
            Protection::Tls { login_only: true, .. }
                if bytes.first() == Some(&(PacketKind::Login7 as u8)) =>
            {
                self.reader.feed(bytes)?;
            }
            Protection::Tls { session, .. } => {
                let received = session.receive(bytes, &mut self.plain);
                session.take_records(&mut self.records)?;
                if !self.records.is_empty() {
                    self.stream.write_all(&self.records)?;
                    self.records.clear();
                }
                received?;
                self.reader.feed(&self.plain)?;
                self.plain.clear();
                self.plain.shrink_to(KEPT_BYTES);
            }
        }
        Ok(!bytes.is_empty())
    }

    /// Reads what there is and hands it to `take`, no bytes at the stream's end; `None` when nothing is there now.
    fn read_now<R>(&mut self, take: impl FnOnce(&mut Channel, &[u8]) -> R) -> Result<Option<R>, IoError> {
        BUFFER.with_borrow_mut(|buffer| {
            let count = self.stream.read_now(buffer)?;
            self.is_full = count == Some(buffer.len());
            Ok(count.map(|count| take(self, &buffer[..count])))
        })
    }
}

impl PacketSink for Channel {
    /// With TLS the kind of packet cannot be seen: any bytes count as an attention.
    fn is_cancelled(&self) -> bool {
        if !self.reader.unread().is_empty() {
            return self.has_attention();
        }
        let mut first = [0];
        match self.stream.peek_now(&mut first) {
            Ok(None) => false,
            Ok(Some(0)) | Err(_) => true,
            Ok(Some(_)) => self.is_encrypted() || first[0] == PacketKind::Attention as u8,
        }
    }

    fn send(&mut self, packets: &[u8]) -> Result<(), IoError> {
        self.packets.note_written(packets_in(packets));
        match &mut self.protection {
            Protection::Plain => self.stream.write_all(packets),
            Protection::Tls { session, .. } => {
                session.send(packets, &mut self.records)?;
                let sent = self.stream.write_all(&self.records);
                self.records.clear();
                self.records.shrink_to(KEPT_BYTES);
                sent
            }
        }
    }
}
