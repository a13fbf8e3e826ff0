//! Packets: the 8-byte header, splitting of messages into packets and their reassembly under limits.

use crate::error::{MESSAGE, ProtocolError};
use crate::limits::{
    CALL_BYTES_MAX, MESSAGE_BYTES_MAX, PACKET_BYTES_MAX, PACKET_HEADER_BYTES, PRE_LOGIN_PACKET_BYTES_MAX,
    PRE_LOGIN_TOTAL_BYTES_MAX,
};

/// The first byte of a packet: the kind of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketKind {
    /// A SQL batch.
    SqlBatch = 0x01,
    /// The login of TDS 4.2 (refused).
    OldLogin = 0x02,
    /// One or more remote procedure calls.
    Rpc = 0x03,
    /// A response: a token stream, or the answer to PRELOGIN.
    TabularResult = 0x04,
    /// Cancel the running request; the message has no body.
    Attention = 0x06,
    /// The rows of a bulk load.
    BulkLoad = 0x07,
    /// A token of federated authentication (not supported).
    FederatedAuthentication = 0x08,
    /// Begin, commit, roll back or save a transaction.
    TransactionManager = 0x0E,
    /// LOGIN7.
    Login7 = 0x10,
    /// An SSPI message (not supported).
    Sspi = 0x11,
    /// PRELOGIN, and the wrapper of TLS records during its handshake.
    PreLogin = 0x12,
}

impl PacketKind {
    /// The kind for the first byte of a packet.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0x01 => PacketKind::SqlBatch,
            0x02 => PacketKind::OldLogin,
            0x03 => PacketKind::Rpc,
            0x04 => PacketKind::TabularResult,
            0x06 => PacketKind::Attention,
            0x07 => PacketKind::BulkLoad,
            0x08 => PacketKind::FederatedAuthentication,
            0x0E => PacketKind::TransactionManager,
            0x10 => PacketKind::Login7,
            0x11 => PacketKind::Sspi,
            0x12 => PacketKind::PreLogin,
            _ => return None,
        })
    }
}

/// Bits of the second header byte.
pub mod status {
    /// Last packet of the message.
    pub const END_OF_MESSAGE: u8 = 0x01;
    /// The message shall be ignored (the sender gave up while sending it).
    pub const IGNORE: u8 = 0x02;
    /// Reset the session before running this message.
    pub const RESET_CONNECTION: u8 = 0x08;
    /// Reset the session but keep its transaction.
    pub const RESET_CONNECTION_KEEP_TRANSACTION: u8 = 0x10;
}

/// A packet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// What the message is.
    pub kind: PacketKind,
    /// Bits of [`status`].
    pub status: u8,
    /// Length of the packet, this header included, in bytes.
    pub length: u16,
    /// The server's session number (0 from clients).
    pub spid: u16,
    /// Counts the packets of a message, wrapping; ignored when read.
    pub packet_id: u8,
}

impl PacketHeader {
    /// Decodes a header. A length smaller than the header is an error (it crashed SQL Server 7.0, KB 248749).
    pub fn decode(bytes: &[u8; PACKET_HEADER_BYTES]) -> Result<Self, ProtocolError> {
        let kind =
            PacketKind::from_byte(bytes[0]).ok_or_else(|| ProtocolError::invalid("packet type", bytes[0]))?;
        let length = u16::from_be_bytes([bytes[2], bytes[3]]);
        if usize::from(length) < PACKET_HEADER_BYTES {
            return Err(ProtocolError::invalid("packet length", length));
        }
        let spid = u16::from_be_bytes([bytes[4], bytes[5]]);
        Ok(PacketHeader { kind, status: bytes[1], length, spid, packet_id: bytes[6] })
    }

    /// Encodes the header.
    pub fn encode(&self) -> [u8; PACKET_HEADER_BYTES] {
        let length = self.length.to_be_bytes();
        let spid = self.spid.to_be_bytes();
        [self.kind as u8, self.status, length[0], length[1], spid[0], spid[1], self.packet_id, 0]
    }
}

/// Limits on the input of [`MessageReader`] from its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Greatest packet, header included, in bytes.
    pub packet_bytes_max: usize,
    /// Greatest message, in bytes of payload.
    pub message_bytes_max: usize,
    /// Greatest procedure call, whose parameters may be large values, in bytes of payload.
    pub call_bytes_max: usize,
    /// Everything received since the limits were set, in bytes; `usize::MAX` for no bound.
    pub total_bytes_max: usize,
    /// The rows of a bulk load are handed out packet by packet: see [`MessageReader::next_piece`].
    pub streams_bulk_loads: bool,
}

impl ReadLimits {
    /// Before login has succeeded.
    pub const PRE_LOGIN: ReadLimits = ReadLimits {
        packet_bytes_max: PRE_LOGIN_PACKET_BYTES_MAX,
        message_bytes_max: PRE_LOGIN_TOTAL_BYTES_MAX,
        call_bytes_max: PRE_LOGIN_TOTAL_BYTES_MAX,
        total_bytes_max: PRE_LOGIN_TOTAL_BYTES_MAX,
        streams_bulk_loads: false,
    };

    /// After login, with packets of any size the protocol knows.
    pub fn session(message_bytes_max: usize) -> ReadLimits {
        ReadLimits {
            packet_bytes_max: PACKET_BYTES_MAX + 1,
            message_bytes_max,
            call_bytes_max: message_bytes_max,
            total_bytes_max: usize::MAX,
            streams_bulk_loads: true,
        }
    }
}

impl ReadLimits {
    /// The same, with another limit for procedure calls.
    pub fn with_calls(self, call_bytes_max: usize) -> ReadLimits {
        ReadLimits { call_bytes_max, ..self }
    }

    /// Greatest message of a kind, in bytes of payload.
    fn bytes_max(&self, kind: PacketKind) -> usize {
        if kind == PacketKind::Rpc { self.call_bytes_max } else { self.message_bytes_max }
    }
}

impl Default for ReadLimits {
    fn default() -> Self {
        ReadLimits::session(MESSAGE_BYTES_MAX).with_calls(CALL_BYTES_MAX)
    }
}

/// The head of a whole message; its payload is [`MessageReader::payload`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageHead {
    /// What the message is.
    pub kind: PacketKind,
    /// The status bits of all its packets, joined.
    pub status: u8,
}

impl MessageHead {
    /// True when `bit` of [`status`] was set on any packet of the message.
    pub fn has(&self, bit: u8) -> bool {
        self.status & bit != 0
    }
}

/// A part of a bulk load, whose bytes are [`MessageReader::payload`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// A packet behind which others come.
    More,
    /// The last packet. `is_ignored`: the client has given the load up.
    Last {
        /// The bit [`status::IGNORE`].
        is_ignored: bool,
    },
    /// An attention in place of a packet; it is the next message.
    Attention,
}

/// Joins received bytes into messages. Feed it with [`feed`](Self::feed), ask with [`next`](Self::next).
///
/// ```text
///            feed            next: header complete        next: EOM packet complete
///   Between ──────► Between ───────────────────► Inside ────────────────────────────► Between
///                                                  │ next: packet without EOM ▲
///                                                  └──────────────────────────┘
/// ```
/// A bulk load may be of any length: [`next`](Self::next) returns with its first packet, and [`next_piece`](Self::next_piece) hands out the others.
#[derive(Debug)]
pub struct MessageReader {
    limits: ReadLimits,
    received: Vec<u8>,
    consumed: usize,
    total: usize,
    head: Option<MessageHead>,
    payload: Vec<u8>,
    complete: bool,
    /// The message is longer than allowed: its rest is skipped.
    overlong: bool,
    /// The server has given it up: its rest is skipped.
    given_up: bool,
    /// It is a bulk load whose last packet has not been handed out.
    in_bulk_load: bool,
    /// Packets since the last call of [`MessageReader::take_packets`].
    packets: u64,
}

impl Default for MessageReader {
    fn default() -> Self {
        MessageReader::new(ReadLimits::default())
    }
}

/// Buffers that a reader needs only while a worker serves it: see [`MessageReader::exchange`].
#[derive(Debug, Default)]
pub struct ReadBuffers {
    received: Vec<u8>,
    payload: Vec<u8>,
}

/// How many whole packets these bytes are.
pub fn packets_in(mut bytes: &[u8]) -> u64 {
    let mut count = 0;
    while let Some(header) = bytes.first_chunk::<PACKET_HEADER_BYTES>() {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]])).max(PACKET_HEADER_BYTES);
        let Some(rest) = bytes.get(length..) else { break };
        (bytes, count) = (rest, count + 1);
    }
    count
}

impl MessageReader {
    /// Between messages, exchanges the (empty) buffers for `buffers`, so that many readers can share the buffers of the few
    /// workers. The payload of the last message is dropped.
    pub fn exchange(&mut self, buffers: &mut ReadBuffers) {
        if !self.is_at_boundary() {
            return;
        }
        self.received.clear();
        self.payload.clear();
        self.consumed = 0;
        self.complete = false;
        std::mem::swap(&mut self.received, &mut buffers.received);
        std::mem::swap(&mut self.payload, &mut buffers.payload);
    }

    /// A reader at a message boundary.
    pub fn new(limits: ReadLimits) -> Self {
        let (received, payload) = (Vec::new(), Vec::new());
        MessageReader {
            limits,
            received,
            consumed: 0,
            total: 0,
            head: None,
            payload,
            complete: false,
            overlong: false,
            given_up: false,
            in_bulk_load: false,
            packets: 0,
        }
    }

    /// Replaces the limits and starts counting the total anew.
    pub fn set_limits(&mut self, limits: ReadLimits) {
        self.limits = limits;
        self.total = 0;
    }

    /// Takes bytes from the socket.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.total = self.total.saturating_add(bytes.len());
        if self.total > self.limits.total_bytes_max {
            return Err(ProtocolError::TooLong {
                part: "everything before login",
                limit: self.limits.total_bytes_max,
            });
        }
        if self.consumed > 0 {
            self.received.drain(..self.consumed);
            self.consumed = 0;
        }
        self.received.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole message, or `None` when more bytes are needed. The payload stays readable until the next call. A message longer
    /// than allowed is skipped to its end without being kept, and then gives an error that leaves the stream at a message boundary.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<MessageHead>, ProtocolError> {
        if self.complete {
            self.complete = false;
            self.payload.clear();
            self.payload.shrink_to(1 << 20);
        }
        if self.in_bulk_load {
            // Its rest is to be read by `next_piece`.
            return Err(ProtocolError::invalid("packet type inside a message", PacketKind::BulkLoad as u8));
        }
        while let Some(header) = self.peek_header()? {
            let length = usize::from(header.length);
            if self.received.len() - self.consumed < length {
                return Ok(None);
            }
            self.join(header)?;
            self.consumed += length;
            self.packets += 1;
            if header.status & status::END_OF_MESSAGE != 0 {
                if std::mem::take(&mut self.given_up) {
                    self.head = None;
                    return Err(ProtocolError::GivenUp);
                }
                if std::mem::take(&mut self.overlong) {
                    self.head = None;
                    return Err(ProtocolError::TooLong {
                        part: MESSAGE,
                        limit: self.limits.bytes_max(header.kind),
                    });
                }
                self.complete = true;
                return Ok(self.head.take());
            }
            if header.kind == PacketKind::BulkLoad && self.limits.streams_bulk_loads {
                self.in_bulk_load = true;
                return Ok(self.head);
            }
        }
        Ok(None)
    }

    /// Is the message a bulk load with packets that have not been handed out?
    pub fn is_in_bulk_load(&self) -> bool {
        self.in_bulk_load
    }

    /// The next packet of the bulk load, or `None` when more bytes are needed.
    ///
    /// # Panics
    /// Unless [`is_in_bulk_load`](Self::is_in_bulk_load).
    pub fn next_piece(&mut self) -> Result<Option<Piece>, ProtocolError> {
        assert!(self.in_bulk_load, "a bulk load has begun and not ended");
        let Some(header) = self.peek_header()? else { return Ok(None) };
        if header.kind == PacketKind::Attention {
            (self.in_bulk_load, self.head) = (false, None);
            self.payload.clear();
            return Ok(Some(Piece::Attention));
        }
        let length = usize::from(header.length);
        if self.received.len() - self.consumed < length {
            return Ok(None);
        }
        self.payload.clear();
        self.join(header)?;
        self.consumed += length;
        self.packets += 1;
        if header.status & status::END_OF_MESSAGE == 0 {
            return Ok(Some(Piece::More));
        }
        (self.in_bulk_load, self.head, self.complete) = (false, None, true);
        Ok(Some(Piece::Last { is_ignored: header.status & status::IGNORE != 0 }))
    }

    /// How many packets have been read since the last call of this.
    pub fn take_packets(&mut self) -> u64 {
        std::mem::take(&mut self.packets)
    }

    /// Bytes received so far of the present message.
    pub fn bytes_so_far(&self) -> usize {
        if self.head.is_some() { self.payload.len() } else { 0 }
    }

    /// Gives up the message being received: its bytes are freed, the rest is skipped, and its end returns [`ProtocolError::GivenUp`].
    pub fn give_up(&mut self) {
        if self.head.is_some() {
            self.given_up = true;
            self.payload = Vec::new();
        }
    }

    /// Frees the payload of a large message, which has been decoded.
    pub fn forget_large_payload(&mut self) {
        if self.complete && self.payload.capacity() > 1 << 20 {
            self.payload = Vec::new();
        }
    }

    /// The payload of the message that [`next`](Self::next) returned last.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Bytes received beyond what [`next`](Self::next) has used: the start of the next message, or TLS records.
    pub fn unread(&self) -> &[u8] {
        &self.received[self.consumed..]
    }

    /// Returns the unread bytes, for the next user of the stream (TLS after PRELOGIN).
    pub fn take_unread(&mut self) -> Vec<u8> {
        let rest = self.received.split_off(self.consumed);
        self.received.clear();
        self.consumed = 0;
        rest
    }

    /// True between messages, with nothing of the next one received.
    pub fn is_at_boundary(&self) -> bool {
        self.head.is_none() && self.unread().is_empty()
    }

    fn peek_header(&self) -> Result<Option<PacketHeader>, ProtocolError> {
        let Some(bytes) = self.unread().first_chunk::<PACKET_HEADER_BYTES>() else {
            return Ok(None);
        };
        let header = PacketHeader::decode(bytes)?;
        if usize::from(header.length) > self.limits.packet_bytes_max {
            return Err(ProtocolError::TooLong { part: "packet", limit: self.limits.packet_bytes_max });
        }
        Ok(Some(header))
    }

    /// Adds the packet at the front of the unread bytes to the message.
    fn join(&mut self, header: PacketHeader) -> Result<(), ProtocolError> {
        match &mut self.head {
            Some(head) if head.kind != header.kind => {
                return Err(ProtocolError::invalid("packet type inside a message", header.kind as u8));
            }
            Some(head) => head.status |= header.status,
            None => self.head = Some(MessageHead { kind: header.kind, status: header.status }),
        }
        let body = PACKET_HEADER_BYTES..usize::from(header.length);
        if self.given_up {
            return Ok(());
        }
        if self.overlong || self.payload.len() + body.len() > self.limits.bytes_max(header.kind) {
            self.overlong = true;
            self.payload = Vec::new();
            return Ok(());
        }
        let start = self.consumed + body.start;
        let end = self.consumed + body.end;
        self.payload.extend_from_slice(&self.received[start..end]);
        Ok(())
    }
}

/// Splits one message into packets. The payload is collected in [`payload`](Self::payload) and moved out in packets by
/// [`take_full`](Self::take_full) (while the message goes on) and [`finish`](Self::finish).
#[derive(Debug)]
pub struct MessageWriter {
    kind: PacketKind,
    packet_bytes: usize,
    spid: u16,
    packet_id: u8,
    first_status: u8,
    /// Bytes of the message not yet moved into packets; encoders append here.
    pub payload: Vec<u8>,
}

impl MessageWriter {
    /// A writer of messages of `kind` with packets of at most `packet_bytes` (clamped to the protocol's range).
    pub fn new(kind: PacketKind, packet_bytes: usize, spid: u16) -> Self {
        let mut writer =
            MessageWriter { kind, packet_bytes: 0, spid, packet_id: 1, first_status: 0, payload: Vec::new() };
        writer.set_packet_bytes(packet_bytes);
        writer
    }

    /// Changes the size of later packets.
    pub fn set_packet_bytes(&mut self, packet_bytes: usize) {
        self.packet_bytes = packet_bytes.clamp(crate::limits::PACKET_BYTES_MIN, PACKET_BYTES_MAX);
    }

    /// Sets the session number in the headers of later packets.
    pub fn set_spid(&mut self, spid: u16) {
        self.spid = spid;
    }

    /// Packet size in use, header included.
    pub fn packet_bytes(&self) -> usize {
        self.packet_bytes
    }

    /// Starts a message of `kind` whose first packet also carries `first_status` (reset bits).
    pub fn start(&mut self, kind: PacketKind, first_status: u8) {
        debug_assert!(self.payload.is_empty());
        self.kind = kind;
        self.packet_id = 1;
        self.first_status = first_status;
    }

    /// Moves whole packets into `out` once at least `threshold` bytes wait. The last byte stays, so that a later
    /// [`finish`](Self::finish) always has a packet to mark as the end.
    pub fn take_full(&mut self, threshold: usize, out: &mut Vec<u8>) {
        if self.payload.len() <= threshold {
            return;
        }
        let room = self.packet_bytes - PACKET_HEADER_BYTES;
        let mut at = 0;
        while self.payload.len() - at > room {
            self.put_packet(at, at + room, 0, out);
            at += room;
        }
        self.payload.drain(..at);
    }

    /// Moves everything into `out` while the message continues, because the client waits. More bytes must follow before [`finish`](Self::finish).
    pub fn take_all(&mut self, out: &mut Vec<u8>) {
        self.take_full(0, out);
        if !self.payload.is_empty() {
            self.put_packet(0, self.payload.len(), 0, out);
            self.payload.clear();
        }
    }

    /// Moves everything into `out`, the last packet marked as the end of the message, and is ready for the next one.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.take_full(0, out);
        self.put_packet(0, self.payload.len(), status::END_OF_MESSAGE, out);
        self.payload.clear();
        self.payload.shrink_to(256 * 1024);
        self.packet_id = 1;
    }

    fn put_packet(&mut self, from: usize, to: usize, status: u8, out: &mut Vec<u8>) {
        let length = (to - from + PACKET_HEADER_BYTES) as u16;
        let status = status | std::mem::take(&mut self.first_status);
        let header =
            PacketHeader { kind: self.kind, status, length, spid: self.spid, packet_id: self.packet_id };
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(&self.payload[from..to]);
        self.packet_id = self.packet_id.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: PacketKind, payload: &[u8], packet_bytes: usize) -> Vec<u8> {
        let mut writer = MessageWriter::new(kind, packet_bytes, 57);
        writer.payload.extend_from_slice(payload);
        let mut out = Vec::new();
        writer.finish(&mut out);
        out
    }

    #[test]
    fn messages_survive_any_cut_of_the_stream() {
        let payload: Vec<u8> = (0..5000u32).map(|i| (i * 7) as u8).collect();
        for size in [0, 1, 503, 504, 505, 1008, 5000] {
            let mut bytes = message(PacketKind::Rpc, &payload[..size], 512);
            bytes.extend(message(PacketKind::SqlBatch, b"next", 512));
            for step in [1, 7, 8, 511, 10_000] {
                let mut reader = MessageReader::new(ReadLimits::default());
                let mut seen = Vec::new();
                for piece in bytes.chunks(step) {
                    reader.feed(piece).unwrap();
                    while let Some(head) = reader.next().unwrap() {
                        seen.push((head.kind, reader.payload().to_vec()));
                    }
                }
                assert_eq!(
                    seen,
                    [(PacketKind::Rpc, payload[..size].to_vec()), (PacketKind::SqlBatch, b"next".to_vec())]
                );
                assert!(reader.is_at_boundary());
            }
        }
    }

    #[test]
    fn readers_that_share_their_buffers_lose_nothing() {
        let text = |reader: usize, number: usize| {
            format!("message {number} of {reader} {}", "x".repeat(reader * 300))
        };
        let stream = |reader| -> Vec<u8> {
            (0..20)
                .flat_map(|number| message(PacketKind::SqlBatch, text(reader, number).as_bytes(), 512))
                .collect()
        };
        for step in [1, 9, 100, 700, 5_000, 1_000_000] {
            let mut shared = ReadBuffers::default();
            let streams: Vec<_> = (0..4).map(stream).collect();
            let mut pieces: Vec<_> = streams.iter().map(|stream| stream.chunks(step)).collect();
            let mut readers: Vec<_> =
                (0..4).map(|_| (MessageReader::new(ReadLimits::default()), 0)).collect();
            while readers.iter().any(|(_, seen)| *seen < 20) {
                for (number, (reader, seen)) in readers.iter_mut().enumerate() {
                    reader.exchange(&mut shared);
                    if let Some(piece) = pieces[number].next() {
                        reader.feed(piece).unwrap();
                    }
                    while reader.next().unwrap().is_some() {
                        assert_eq!(reader.payload(), text(number, *seen).as_bytes());
                        *seen += 1;
                    }
                    reader.exchange(&mut shared);
                }
            }
            let kept: usize = readers.iter().map(|(reader, _)| reader.received.capacity()).sum();
            assert!(step < 1_000_000 || kept == 0, "whole messages leave nothing with their readers");
        }
    }

    #[test]
    fn long_messages_leave_in_pieces_and_join_again() {
        let mut writer = MessageWriter::new(PacketKind::TabularResult, 4096, 51);
        let mut out = Vec::new();
        let mut expected = Vec::new();
        for i in 0..20_000u32 {
            writer.payload.extend_from_slice(&i.to_le_bytes());
            expected.extend_from_slice(&i.to_le_bytes());
            writer.take_full(16_384, &mut out);
        }
        writer.finish(&mut out);
        let mut reader = MessageReader::new(ReadLimits::default());
        reader.feed(&out).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().kind, PacketKind::TabularResult);
        assert_eq!(reader.payload(), expected);
    }

    #[test]
    fn a_length_smaller_than_the_header_is_refused() {
        for length in 0..8 {
            let mut reader = MessageReader::new(ReadLimits::default());
            reader.feed(&[1, 1, 0, length, 0, 0, 1, 0]).unwrap();
            assert_eq!(reader.next(), Err(ProtocolError::invalid("packet length", length)));
        }
    }

    #[test]
    fn limits_before_login_hold() {
        let mut reader = MessageReader::new(ReadLimits::PRE_LOGIN);
        reader.feed(&[0x12, 1, 0x10, 0x01, 0, 0, 1, 0]).unwrap();
        assert!(matches!(reader.next(), Err(ProtocolError::TooLong { part: "packet", .. })));
        let mut reader = MessageReader::new(ReadLimits::PRE_LOGIN);
        let mut refused = false;
        for _ in 0..17 {
            refused |= reader.feed(&[0; 4096]).is_err();
        }
        assert!(refused);
    }

    #[test]
    fn a_message_that_is_given_up_is_passed_over_and_the_next_one_read() {
        let mut reader = MessageReader::new(ReadLimits::default());
        reader.give_up();
        let (long, next) =
            (message(PacketKind::SqlBatch, &[7; 5_000], 512), message(PacketKind::SqlBatch, b"x", 512));
        reader.feed(&long[..2_000]).unwrap();
        assert_eq!((reader.next(), reader.bytes_so_far()), (Ok(None), 3 * 504));
        reader.give_up();
        assert_eq!(reader.bytes_so_far(), 0);
        reader.feed(&long[2_000..]).unwrap();
        reader.feed(&next).unwrap();
        assert_eq!(reader.next(), Err(ProtocolError::GivenUp));
        assert!(reader.next().unwrap().is_some() && reader.payload() == b"x");
        reader.forget_large_payload();
        assert_eq!(reader.payload(), b"x", "not a large one");
    }

    #[test]
    fn a_message_beyond_the_limit_is_passed_over_and_the_next_one_read() {
        let mut bytes = message(PacketKind::SqlBatch, &[1; 5_000], 512);
        bytes.extend(message(PacketKind::Rpc, b"next", 512));
        let mut reader = MessageReader::new(ReadLimits::session(1_000));
        let mut seen = Vec::new();
        for piece in bytes.chunks(100) {
            reader.feed(piece).unwrap();
            loop {
                match reader.next() {
                    Ok(None) => break,
                    Ok(Some(head)) => seen.push(Ok((head.kind, reader.payload().to_vec()))),
                    Err(error) => seen.push(Err(error)),
                }
                assert!(reader.payload().len() <= 1_000);
            }
        }
        let too_long = ProtocolError::TooLong { part: "message", limit: 1_000 };
        assert!(too_long.is_refusal());
        assert_eq!(seen, [Err(too_long), Ok((PacketKind::Rpc, b"next".to_vec()))]);
    }

    #[test]
    fn a_message_keeps_its_kind_and_joins_status_bits() {
        let mut bytes = message(PacketKind::SqlBatch, &[1; 600], 512);
        bytes[1] |= status::RESET_CONNECTION;
        let mut reader = MessageReader::new(ReadLimits::default());
        reader.feed(&bytes).unwrap();
        assert!(reader.next().unwrap().unwrap().has(status::RESET_CONNECTION));
        bytes[512] = PacketKind::Rpc as u8;
        let mut reader = MessageReader::new(ReadLimits::default());
        reader.feed(&bytes).unwrap();
        assert!(reader.next().is_err());
    }

    /// MS-TDS, "Bulk Load BCP": a message of any length, whose packets are used one by one; an attention may come between two of them.
    #[test]
    fn a_bulk_load_is_handed_out_packet_by_packet() {
        let load = message(PacketKind::BulkLoad, &[1; 5_000], 512);
        let mut bytes = load.clone();
        bytes.extend(message(PacketKind::Rpc, b"next", 512));
        let mut reader = MessageReader::new(ReadLimits::session(1_000));
        let (mut sizes, mut has_begun) = (Vec::new(), false);
        for piece in bytes.chunks(100) {
            reader.feed(piece).unwrap();
            if !has_begun {
                let Some(head) = reader.next().unwrap() else { continue };
                assert_eq!((head.kind, reader.is_in_bulk_load()), (PacketKind::BulkLoad, true));
                has_begun = true;
                sizes.push(reader.payload().len());
            }
            while reader.is_in_bulk_load() {
                let Some(piece) = reader.next_piece().unwrap() else { break };
                sizes.push(reader.payload().len());
                assert_eq!(piece == Piece::More, reader.is_in_bulk_load());
            }
        }
        assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (10, 5_000));
        assert_eq!(reader.next().unwrap().map(|head| head.kind), Some(PacketKind::Rpc));
        let mut reader = MessageReader::new(ReadLimits::session(1_000));
        reader.feed(&load[..512]).unwrap();
        reader.feed(&message(PacketKind::Attention, &[], 512)).unwrap();
        assert!(reader.next().unwrap().is_some() && reader.next().is_err());
        assert_eq!(reader.next_piece(), Ok(Some(Piece::Attention)));
        assert_eq!(reader.next().unwrap().map(|head| head.kind), Some(PacketKind::Attention));
    }

    #[test]
    fn what_is_taken_in_midst_of_a_message_reads_as_one_message() {
        let mut writer = MessageWriter::new(PacketKind::TabularResult, 512, 57);
        let mut out = Vec::new();
        writer.payload.extend_from_slice(&[1; 600]);
        writer.take_all(&mut out);
        assert_eq!(out.len(), 600 + 2 * PACKET_HEADER_BYTES, "nothing stays behind");
        writer.payload.extend_from_slice(&[2; 3]);
        writer.finish(&mut out);
        let last = out.len() - 3 - PACKET_HEADER_BYTES;
        assert_eq!(out[last + 1] & status::END_OF_MESSAGE, status::END_OF_MESSAGE);
        assert_eq!(out[1] & status::END_OF_MESSAGE, 0);
    }
}
