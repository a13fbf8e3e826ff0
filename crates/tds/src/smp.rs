//! The session multiplex protocol (MC-SMP) below TDS: several sessions of one connection (MARS), each with a window of packets that its peer
//! may send, without sockets.
//!
//! ```text
//!            SYN received            FIN received, not in service: FIN sent
//!   (none) ─────────────► open ────────────────────────────────────────────► (none)
//!                          │ FIN received, in service                          ▲
//!                          └──────────────► ending ────────────────────────────┘ its request has ended: FIN sent
//! ```
//! A message of one session at a time is in service ([`Multiplexer::take_message`]), and answers go to that session. What clients have sent
//! otherwise waits, at most [`WINDOW`] packets for each session; what they do not take yet waits in the queue of its session.

use std::collections::{BTreeMap, VecDeque};

use crate::error::ProtocolError;
use crate::limits::{PACKET_BYTES_MAX, PACKET_HEADER_BYTES};
use crate::packet::{MessageHead, MessageReader, PacketKind, ReadLimits};

/// First byte of each packet of the protocol.
pub const SMP_ID: u8 = 0x53;
/// Bytes of a header.
pub const SMP_HEADER_BYTES: usize = 16;
/// How many packets a peer may send before it is told of more, at the begin of a session.
pub const WINDOW: u32 = 4;
/// A peer is told of a wider window after so many packets; each packet of data tells of it anyway.
const TELL_AFTER: u32 = 2;
/// Most sessions of one connection (a bound of ours).
pub const SESSIONS_MAX: usize = 1_024;
/// Bytes for a session in service from which its request waits for the client, unless another session wants to be served.
pub const QUEUE_BYTES: usize = 256 * 1024;
/// Bytes for all sessions of a connection from which the request in service cannot go on (a bound of ours).
pub const QUEUES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SmpKind {
    /// Begins a session.
    Syn = 0x01,
    /// Widens the window of the peer.
    Ack = 0x02,
    /// Ends a session.
    Fin = 0x04,
    /// Carries bytes of TDS.
    Data = 0x08,
}

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmpHeader {
    /// What the packet is for.
    pub kind: SmpKind,
    /// The session, as the client has numbered it.
    pub session: u16,
    /// Length of the packet, this header included, in bytes.
    pub length: u32,
    /// Number of the sender's last packet of data, this one included; wraps.
    pub sequence: u32,
    /// Number of the last packet of data that the receiver of this one may send; wraps.
    pub window: u32,
}

impl SmpHeader {
    /// Decodes a header. Exactly one flag is set; only data has a body, of one packet at most.
    pub fn decode(bytes: &[u8; SMP_HEADER_BYTES]) -> Result<SmpHeader, ProtocolError> {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes[0] != SMP_ID {
            return Err(ProtocolError::invalid("SMP packet identifier", bytes[0]));
        }
        let kind = match bytes[1] {
            0x01 => SmpKind::Syn,
            0x02 => SmpKind::Ack,
            0x04 => SmpKind::Fin,
            0x08 => SmpKind::Data,
            flags => return Err(ProtocolError::invalid("SMP flags", flags)),
        };
        let length = number(4);
        let body = (length as usize).checked_sub(SMP_HEADER_BYTES);
        let longest = if kind == SmpKind::Data { PACKET_BYTES_MAX + 1 } else { 0 };
        if body.is_none_or(|body| body > longest) {
            return Err(ProtocolError::invalid("SMP packet length", length));
        }
        let session = u16::from_le_bytes([bytes[2], bytes[3]]);
        Ok(SmpHeader { kind, session, length, sequence: number(8), window: number(12) })
    }

    /// Appends the header.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[SMP_ID, self.kind as u8]);
        out.extend_from_slice(&self.session.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.window.to_le_bytes());
    }
}

/// One session.
#[derive(Debug)]
struct Lane {
    /// Joins its packets; in service it is with the caller.
    reader: MessageReader,
    /// Bytes that have not been given to the reader yet.
    arrived: Vec<u8>,
    /// Packets in them.
    arrived_packets: u32,
    /// Number of the last packet of data from the client.
    received: u32,
    /// The last one that the client may send, and as it was told.
    granted: u32,
    told: u32,
    /// Number of the last packet of data to the client, and of the last one that it takes.
    sent: u32,
    window: u32,
    /// Packets that wait for the window.
    queue: VecDeque<Vec<u8>>,
    queue_bytes: usize,
    /// The client has ended it.
    is_ending: bool,
}

impl Lane {
    fn new(limits: ReadLimits, window: u32) -> Lane {
        Lane {
            reader: MessageReader::new(limits),
            arrived: Vec::new(),
            arrived_packets: 0,
            received: 0,
            granted: WINDOW,
            told: WINDOW,
            sent: 0,
            window,
            queue: VecDeque::new(),
            queue_bytes: 0,
            is_ending: false,
        }
    }

    /// Gives the arrived bytes to a reader: the client may send as many packets again.
    fn bring(&mut self, reader: &mut MessageReader) -> Result<(), ProtocolError> {
        if !self.arrived.is_empty() {
            reader.feed(&self.arrived)?;
            self.arrived.clear();
        }
        self.granted = self.granted.wrapping_add(std::mem::take(&mut self.arrived_packets));
        Ok(())
    }

    fn has_attention(&self) -> bool {
        self.arrived.first() == Some(&(PacketKind::Attention as u8))
    }

    fn header(&mut self, kind: SmpKind, session: u16, body: usize) -> SmpHeader {
        self.told = self.granted;
        let length = (SMP_HEADER_BYTES + body) as u32;
        SmpHeader { kind, session, length, sequence: self.sent, window: self.granted }
    }

    /// Appends the packets that the client takes, and what it must be told.
    fn put(&mut self, session: u16, out: &mut Vec<u8>) {
        while self.sent != self.window {
            let Some(packet) = self.queue.pop_front() else { break };
            self.queue_bytes -= packet.len();
            self.sent = self.sent.wrapping_add(1);
            self.header(SmpKind::Data, session, packet.len()).put(out);
            out.extend_from_slice(&packet);
        }
        if self.granted.wrapping_sub(self.told) >= TELL_AFTER {
            self.header(SmpKind::Ack, session, 0).put(out);
        }
    }
}

/// The sessions of a connection, for its server.
#[derive(Debug)]
pub struct Multiplexer {
    limits: ReadLimits,
    received: Vec<u8>,
    lanes: BTreeMap<u16, Lane>,
    /// The session in service, or the last one.
    current: Option<u16>,
    /// The last session that was served: the others come first.
    last: u16,
    queues_bytes: usize,
    /// Ends of sessions that the client has to be told.
    ends: Vec<SmpHeader>,
}

impl Multiplexer {
    /// Without sessions. `limits`: for the messages of each.
    pub fn new(limits: ReadLimits) -> Multiplexer {
        Multiplexer {
            limits,
            received: Vec::new(),
            lanes: BTreeMap::new(),
            current: None,
            last: u16::MAX,
            queues_bytes: 0,
            ends: Vec::new(),
        }
    }

    /// Takes bytes of the client. After an error the connection must end.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.received.extend_from_slice(bytes);
        let mut received = std::mem::take(&mut self.received);
        let mut at = 0;
        while let Some(header) = received[at..].first_chunk::<SMP_HEADER_BYTES>() {
            let header = SmpHeader::decode(header)?;
            let Some(packet) = received.get(at..at + header.length as usize) else { break };
            self.packet(header, &packet[SMP_HEADER_BYTES..])?;
            at += packet.len();
        }
        received.drain(..at);
        received.shrink_to(PACKET_BYTES_MAX);
        self.received = received;
        Ok(())
    }

    fn packet(&mut self, header: SmpHeader, body: &[u8]) -> Result<(), ProtocolError> {
        let SmpHeader { kind, session, sequence, window, .. } = header;
        if kind == SmpKind::Syn {
            return self.begin(session, window);
        }
        let Some(lane) = self.lanes.get_mut(&session).filter(|lane| !lane.is_ending) else {
            return Err(ProtocolError::invalid("SMP session", session));
        };
        // A window never becomes smaller, and numbers go round.
        if (window.wrapping_sub(lane.window) as i32) < 0 {
            return Err(ProtocolError::invalid("SMP window", window));
        }
        lane.window = window;
        if kind == SmpKind::Data {
            if sequence != lane.received.wrapping_add(1) || lane.received == lane.told {
                return Err(ProtocolError::invalid("SMP sequence number", sequence));
            }
            lane.received = sequence;
            lane.arrived.extend_from_slice(body);
            lane.arrived_packets += 1;
            return Ok(());
        }
        if sequence != lane.received {
            return Err(ProtocolError::invalid("SMP sequence number", sequence));
        }
        if kind == SmpKind::Fin {
            lane.is_ending = true;
            if self.current != Some(session) {
                self.end(session);
            }
        }
        Ok(())
    }

    fn begin(&mut self, session: u16, window: u32) -> Result<(), ProtocolError> {
        if self.lanes.len() >= SESSIONS_MAX {
            return Err(ProtocolError::TooLong { part: "list of SMP sessions", limit: SESSIONS_MAX });
        }
        let before = self.lanes.insert(session, Lane::new(self.limits, window));
        match before {
            Some(_) => Err(ProtocolError::invalid("SMP session that begins again", session)),
            None => Ok(()),
        }
    }

    /// Forgets a session that the client has ended; what was not sent yet is dropped.
    fn end(&mut self, session: u16) {
        if let Some(mut lane) = self.lanes.remove(&session) {
            self.queues_bytes -= lane.queue_bytes;
            self.ends.push(lane.header(SmpKind::Fin, session, 0));
        }
    }

    /// The next whole message of any session, which is then in service; `reader` holds it. The session that was in service is it no more. After
    /// an error that is a refusal, its session is in service.
    pub fn take_message(&mut self, reader: &mut MessageReader) -> Result<Option<MessageHead>, ProtocolError> {
        self.release(reader);
        let behind = self.lanes.range(self.last.saturating_add(1)..).map(|(session, _)| *session);
        let others = self.lanes.range(..=self.last).map(|(session, _)| *session);
        let sessions: Vec<u16> = behind.chain(others).collect();
        for session in sessions {
            let Some(lane) = self.lanes.get_mut(&session) else { continue };
            let mut own = std::mem::take(&mut lane.reader);
            let next = lane.bring(&mut own).and_then(|()| own.next());
            match next {
                Ok(None) => lane.reader = own,
                found => {
                    lane.reader = std::mem::replace(reader, own);
                    (self.current, self.last) = (Some(session), session);
                    return found;
                }
            }
        }
        Ok(None)
    }

    /// Gives up messages that are being received and may not be kept.
    pub fn give_up_large(&mut self, may_keep: impl Fn(usize) -> bool) {
        for lane in self.lanes.values_mut() {
            if !may_keep(lane.reader.bytes_so_far()) {
                lane.reader.give_up();
            }
        }
    }

    /// The request of the session in service has ended.
    fn release(&mut self, reader: &mut MessageReader) {
        let Some(session) = self.current.take() else { return };
        let Some(lane) = self.lanes.get_mut(&session) else { return };
        std::mem::swap(&mut lane.reader, reader);
        if lane.is_ending {
            self.end(session);
        }
    }

    /// Gives the reader of the session in service what has arrived for it.
    pub fn bring(&mut self, reader: &mut MessageReader) -> Result<(), ProtocolError> {
        match self.in_service() {
            Some(lane) => lane.bring(reader),
            None => Ok(()),
        }
    }

    fn in_service(&mut self) -> Option<&mut Lane> {
        self.lanes.get_mut(&self.current?)
    }

    /// Has the client sent an attention for the request in service, or ended its session?
    pub fn is_cancelled(&self) -> bool {
        let lane = self.current.and_then(|session| self.lanes.get(&session));
        lane.is_some_and(|lane| lane.is_ending || lane.has_attention())
    }

    /// Has the client ended the session in service?
    pub fn is_ended(&self) -> bool {
        self.current.and_then(|session| self.lanes.get(&session)).is_some_and(|lane| lane.is_ending)
    }

    /// Has anything arrived that no reader has got yet?
    pub fn has_arrived(&self) -> bool {
        self.lanes.values().any(|lane| !lane.arrived.is_empty() || !lane.reader.unread().is_empty())
    }

    /// Adds whole packets of TDS to the answer of the session in service. Each goes into a packet of its own, as clients expect.
    pub fn queue(&mut self, mut packets: &[u8]) {
        let mut added = 0;
        if let Some(lane) = self.in_service().filter(|lane| !lane.is_ending) {
            while let Some(header) = packets.first_chunk::<PACKET_HEADER_BYTES>() {
                let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
                let (packet, rest) = packets.split_at(length.clamp(PACKET_HEADER_BYTES, packets.len()));
                lane.queue.push_back(packet.to_vec());
                added += packet.len();
                packets = rest;
            }
            lane.queue_bytes += added;
        }
        self.queues_bytes += added;
    }

    /// Appends to `out` what may be sent now.
    pub fn put(&mut self, out: &mut Vec<u8>) {
        self.ends.drain(..).for_each(|end| end.put(out));
        self.queues_bytes = 0;
        for (session, lane) in &mut self.lanes {
            lane.put(*session, out);
            self.queues_bytes += lane.queue_bytes;
        }
    }

    /// Must the request in service wait until its client has taken some of the answer? Not while another session wants to be served: its client
    /// may wait for that one first.
    pub fn must_wait(&self) -> bool {
        let Some((current, lane)) = self.current.and_then(|at| Some((at, self.lanes.get(&at)?))) else {
            return false;
        };
        let others = self.lanes.iter().filter(|(session, _)| **session != current);
        let is_wanted = |lane: &Lane| {
            (!lane.arrived.is_empty() && !lane.has_attention()) || !lane.reader.unread().is_empty()
        };
        lane.queue_bytes > QUEUE_BYTES
            && !self.is_cancelled()
            && !others.into_iter().any(|(_, other)| is_wanted(other))
    }

    /// Are there so many bytes for clients that no more can be kept?
    pub fn is_overfull(&self) -> bool {
        self.queues_bytes > QUEUES_BYTES_MAX
    }
}

#[cfg(test)]
#[path = "smp_tests.rs"]
mod tests;
