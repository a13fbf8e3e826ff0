//! A connection's bytes: whole messages in, packets out, in plain text or through TLS.

use std::cell::RefCell;
use std::sync::Arc;

use os::{IoError, IoErrorKind, Stream};
use session::PacketCounts;
use tds::packet::{
    MessageHead, MessageReader, MessageWriter, PacketKind, Piece, ReadBuffers, ReadLimits, packets_in,
};

use crate::mars::Mars;
use crate::received::{LARGE_MESSAGE_BYTES, READ_BYTES};
use crate::sink::PacketSink;
use crate::tls::TlsSession;

pub use crate::received::{ChannelError, Next};

/// The size that buffers keep between messages; more memory, for a huge row, is freed.
const KEPT_BYTES: usize = 64 * 1024;
/// First byte of a TLS handshake record.
const TLS_HANDSHAKE: u8 = 0x16;

/// The protection of the bytes on the wire.
enum Protection {
    Plain,
    /// TLS for all that is sent; `login_only` lets the peer fall back to plain packets after its first encrypted one.
    Tls {
        session: Box<TlsSession>,
        login_only: bool,
    },
}

thread_local! {
    /// The read buffer of a thread: warm for the next connection, and idle connections need none.
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into_boxed_slice());
}

/// The kind of a client's first bytes.
pub enum First {
    /// A record of TLS.
    Tls,
    /// A plain-text message.
    Message,
    /// Nothing was received yet.
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
    /// The last read filled the buffer: there may be more.
    is_full: bool,
    packets: Arc<PacketCounts>,
    /// Several sessions: all bytes go through this, and `reader` holds the message of the session in service.
    mars: Option<Arc<Mars>>,
}

impl Channel {
    /// A connection from which nothing was received yet; its limits are those before login.
    pub fn new(stream: Arc<dyn Stream>) -> Channel {
        Channel {
            stream,
            protection: Protection::Plain,
            reader: MessageReader::new(ReadLimits::PRE_LOGIN),
            plain: Vec::new(),
            records: Vec::new(),
            is_full: false,
            packets: Arc::default(),
            mars: None,
        }
    }

    /// The counters of packets received and sent.
    pub fn packets(&self) -> Arc<PacketCounts> {
        self.packets.clone()
    }

    /// The socket, for a thread that ends the connection or watches it.
    pub fn stream(&self) -> &Arc<dyn Stream> {
        &self.stream
    }

    /// From now on the client multiplexes several sessions; `limits` are those of each.
    pub fn start_mars(&mut self, limits: ReadLimits) -> Arc<Mars> {
        let unread = self.reader.take_unread();
        let tls = match std::mem::replace(&mut self.protection, Protection::Plain) {
            Protection::Plain => None,
            Protection::Tls { session, .. } => Some(session),
        };
        let mars = Arc::new(Mars::new(self.stream.clone(), tls, &unread, limits));
        self.mars = Some(mars.clone());
        mars
    }

    /// True when what is sent now is encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.protection, Protection::Tls { .. })
    }

    /// Replaces the limits on what the peer may send.
    pub fn set_limits(&mut self, limits: ReadLimits) {
        self.reader.set_limits(limits);
    }

    /// The kind of the client's first bytes, without consuming them: TLS (strict), or a message.
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

    /// The next whole message, if it is available without waiting.
    pub fn poll_message(&mut self) -> Result<Next, ChannelError> {
        if let Some(mars) = &self.mars {
            let next = mars.next(&mut self.reader);
            self.packets.note_read(self.reader.take_packets());
            return next;
        }
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
            // The buffer doubles when it is full.
            let so_far = self.reader.bytes_so_far();
            if so_far > LARGE_MESSAGE_BYTES && !os::memory::may_take_in(so_far) {
                self.reader.give_up();
            }
        }
    }

    /// Is the present message a bulk load of which packets are still to come?
    pub fn is_in_bulk_load(&self) -> bool {
        self.reader.is_in_bulk_load()
    }

    /// The next packet of a bulk load; waits for it.
    pub fn next_piece(&mut self) -> Result<Piece, ChannelError> {
        if let Some(mars) = &self.mars {
            let piece = mars.next_piece(&mut self.reader);
            self.packets.note_read(self.reader.take_packets());
            return piece;
        }
        loop {
            let piece = self.reader.next_piece();
            self.packets.note_read(self.reader.take_packets());
            if let Some(piece) = piece? {
                return Ok(piece);
            }
            BUFFER.with_borrow_mut(|buffer| {
                let count = self.stream.read(buffer)?;
                self.is_full = count == buffer.len();
                self.take_in(&buffer[..count]).map(drop)
            })?;
        }
    }

    /// True when part of the next message has been read, or could be read without a notice of the poller.
    pub fn may_have_more(&self) -> bool {
        let has_arrived = self.mars.as_ref().is_some_and(|mars| mars.has_arrived());
        self.is_full || has_arrived || !self.reader.unread().is_empty()
    }

    /// Exchanges the reader's buffers, between messages.
    pub fn exchange(&mut self, buffers: &mut ReadBuffers) {
        if self.mars.is_some() {
            // Each session has its own.
            return;
        }
        self.reader.exchange(buffers);
    }

    /// The payload of the message that came last.
    pub fn payload(&self) -> &[u8] {
        self.reader.payload()
    }

    /// The last message has been decoded: frees its payload, if large.
    pub fn forget_large_payload(&mut self) {
        self.reader.forget_large_payload();
    }

    /// True when an attention has already been read after the last message.
    pub fn has_attention(&self) -> bool {
        let is_cancelled = self.mars.as_ref().is_some_and(|mars| mars.has_attention());
        is_cancelled || self.reader.unread().first() == Some(&(PacketKind::Attention as u8))
    }

    /// TLS before anything else: all bytes so far are its records.
    pub fn start_strict_tls(&mut self, session: TlsSession) -> Result<(), ChannelError> {
        let records = self.reader.take_unread();
        self.protection = Protection::Tls { session: Box::new(session), login_only: false };
        self.take_in(&records).map(drop)
    }

    /// The last message is a step of a TLS handshake in PRELOGIN packets; answers it. True when the handshake has ended.
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

    /// After such a handshake, TLS records are sent without packets around them.
    pub fn finish_wrapped_tls(
        &mut self,
        session: Box<TlsSession>,
        login_only: bool,
    ) -> Result<(), ChannelError> {
        let early = self.reader.take_unread();
        self.protection = Protection::Tls { session, login_only };
        if early.is_empty() { Ok(()) } else { self.take_in(&early).map(drop) }
    }

    /// Ends TLS after a login-only encryption.
    pub fn stop_tls(&mut self) {
        self.protection = Protection::Plain;
    }

    /// Decrypts received bytes, if necessary, and passes them to the reader. False when the peer has closed, between messages.
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

    /// Reads the available bytes and passes them to `take`, no bytes at the stream's end; `None` when nothing is available.
    fn read_now<R>(&mut self, take: impl FnOnce(&mut Channel, &[u8]) -> R) -> Result<Option<R>, IoError> {
        BUFFER.with_borrow_mut(|buffer| {
            let count = self.stream.read_now(buffer)?;
            self.is_full = count == Some(buffer.len());
            Ok(count.map(|count| take(self, &buffer[..count])))
        })
    }
}

impl PacketSink for Channel {
    /// With TLS the packet type cannot be seen: any bytes count as an attention.
    fn is_cancelled(&mut self) -> bool {
        if let Some(mars) = &self.mars {
            return mars.is_cancelled() || self.has_attention();
        }
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
        if let Some(mars) = &self.mars {
            return mars.send(packets);
        }
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

    fn is_overfull(&self) -> bool {
        self.mars.as_ref().is_some_and(|mars| mars.is_overfull())
    }
}
