//! Several sessions on one connection (MARS), over the raw protocol.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use std::collections::BTreeMap;

use common::client::{Client, error_numbers, final_status};
use common::world::World;
use tds::client::{Token, TokenReader};
use tds::login7::TdsVersion;
use tds::packet::{MessageReader, PacketKind};
use tds::prelogin::{Encryption, PreLogin};
use tds::request::{BeginTransaction, IsolationLevel, TransactionRequest};
use tds::smp::{SMP_HEADER_BYTES, SmpHeader, SmpKind, WINDOW};
use tds::token::done;
use types::{SqlType, Value};

/// One session of the client: its numbers, and what was received for it.
#[derive(Default)]
struct Lane {
    sent: u32,
    received: u32,
    granted: u32,
    window: u32,
    reader: MessageReader,
    packets: Vec<Vec<u8>>,
    is_ended: bool,
}

struct Mars {
    client: Client,
    bytes: Vec<u8>,
    lanes: BTreeMap<u16, Lane>,
}

impl Mars {
    fn connect(world: &World) -> Mars {
        let mut client = Client::connect(&world.os, world.server(), TdsVersion::V7_4);
        let message = PreLogin {
            version: Some((1, 0, 0, 0)),
            encryption: Some(Encryption::NotSupported),
            mars: Some(true),
            ..PreLogin::default()
        };
        let bytes = client.writer.prelogin(&message);
        client.send(&bytes);
        let answer = PreLogin::decode(&client.receive().unwrap()).unwrap();
        assert_eq!(answer.mars, Some(true));
        let tokens = client.log_in(|_| {});
        assert!(tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })), "{tokens:?}");
        Mars { client, bytes: Vec::new(), lanes: BTreeMap::new() }
    }

    fn put(&mut self, kind: SmpKind, session: u16, body: &[u8]) {
        let lane = self.lanes.entry(session).or_default();
        lane.sent += u32::from(kind == SmpKind::Data);
        let length = (SMP_HEADER_BYTES + body.len()) as u32;
        let mut bytes = Vec::new();
        SmpHeader { kind, session, length, sequence: lane.sent, window: lane.granted }.put(&mut bytes);
        bytes.extend_from_slice(body);
        self.client.send(&bytes);
    }

    fn open(&mut self, session: u16) {
        let lane = Lane { granted: WINDOW, window: WINDOW, ..Lane::default() };
        self.lanes.insert(session, lane);
        self.put(SmpKind::Syn, session, &[]);
    }

    fn ask(&mut self, session: u16, text: &str) {
        let bytes = self.client.writer.batch(text, 0);
        self.put(SmpKind::Data, session, &bytes);
    }

    /// Sends packets as the window allows.
    fn send_all(&mut self, session: u16, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (packet, others) = rest.split_at(usize::from(u16::from_be_bytes([rest[2], rest[3]])));
            while self.lanes[&session].sent == self.lanes[&session].window {
                assert!(self.take());
            }
            self.put(SmpKind::Data, session, packet);
            rest = others;
        }
    }

    /// Takes one packet of the stream; false at its end.
    fn take(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let header = loop {
            if let Some(header) = self.bytes.first_chunk::<SMP_HEADER_BYTES>() {
                let header = SmpHeader::decode(header).unwrap();
                if self.bytes.len() >= header.length as usize {
                    break header;
                }
            }
            match self.client.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return false,
                Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
            }
        };
        let packet: Vec<u8> = self.bytes.drain(..header.length as usize).collect();
        let lane = self.lanes.get_mut(&header.session).expect("a session of ours");
        assert!(header.window >= lane.window, "{header:?}");
        lane.window = header.window;
        match header.kind {
            SmpKind::Data => {
                assert_eq!(header.sequence, lane.received + 1);
                assert!(header.sequence <= lane.granted, "beyond the window");
                lane.received = header.sequence;
                lane.packets.push(packet[SMP_HEADER_BYTES..].to_vec());
            }
            SmpKind::Ack => assert_eq!(header.sequence, lane.received),
            SmpKind::Fin => lane.is_ended = true,
            SmpKind::Syn => panic!("a server begins no session"),
        }
        true
    }

    /// Reads the next packet of a session.
    fn read(&mut self, session: u16) -> Vec<u8> {
        while self.lanes[&session].packets.is_empty() {
            assert!(self.take(), "the server has closed");
        }
        let lane = self.lanes.get_mut(&session).unwrap();
        let packet = lane.packets.remove(0);
        lane.granted += 1;
        self.put(SmpKind::Ack, session, &[]);
        packet
    }

    /// The tokens of a session's next message.
    fn tokens(&mut self, session: u16) -> Vec<Token> {
        loop {
            let lane = self.lanes.get_mut(&session).unwrap();
            if lane.reader.next().unwrap().is_some() {
                return TokenReader::new(lane.reader.payload(), TdsVersion::V7_4).collect().unwrap();
            }
            let packet = self.read(session);
            self.lanes.get_mut(&session).unwrap().reader.feed(&packet).unwrap();
        }
    }

    fn batch(&mut self, session: u16, text: &str) -> Vec<Token> {
        self.ask(session, text);
        self.tokens(session)
    }

    fn number(&mut self, session: u16, text: &str) -> Value {
        let tokens = self.batch(session, text);
        let row = tokens
            .iter()
            .find_map(|token| if let Token::Row(row) = token { Some(row[0].clone()) } else { None });
        row.unwrap_or_else(|| panic!("{tokens:?}"))
    }
}

fn rows_of(tokens: &[Token]) -> usize {
    tokens.iter().filter(|token| matches!(token, Token::Row(_))).count()
}

/// So many rows of about a kilobyte.
fn rows(count: usize) -> String {
    format!(
        "SELECT TOP ({count}) REPLICATE(CAST('x' AS char(1)), 1000) FROM sys.all_columns a CROSS JOIN sys.all_columns b"
    )
}

#[test]
fn a_second_session_is_served_while_the_first_is_half_read() {
    let world = World::new("mars-two");
    let mut mars = Mars::connect(&world);
    [0, 1, 2].into_iter().for_each(|session| mars.open(session));
    // One row, and more than the window and the socket take.
    for count in [1, 20_000] {
        mars.ask(0, &rows(count));
        let first = mars.read(0);
        mars.lanes.get_mut(&0).unwrap().reader.feed(&first).unwrap();
        assert_eq!(mars.number(1, "SELECT 7"), Value::Int(7));
        assert_eq!(rows_of(&mars.batch(2, &rows(500))), 500);
        assert_eq!(error_numbers(&mars.batch(1, "SELECT 1/0")), [8134]);
        let tokens = mars.tokens(0);
        assert_eq!((rows_of(&tokens), final_status(&tokens) & done::ERROR), (count, 0));
    }
    // All have one session number, database and temporary tables.
    mars.batch(1, "CREATE TABLE #t (i int); INSERT #t VALUES (5); USE tempdb");
    assert_eq!(mars.number(2, "SELECT i FROM #t WHERE DB_NAME() = 'tempdb'"), Value::Int(5));
    let spid = mars.number(0, "SELECT CAST(@@SPID AS int)");
    assert_eq!(mars.number(2, "SELECT CAST(@@SPID AS int)"), spid);
}

/// A client that does not read gets no memory without end; what it has asked for on another session goes on.
#[test]
fn an_answer_that_nobody_takes_is_refused_at_last() {
    let world = World::new("mars-full");
    let mut mars = Mars::connect(&world);
    [0, 1].into_iter().for_each(|session| mars.open(session));
    mars.ask(0, &rows(120_000));
    mars.read(0);
    mars.ask(1, "SELECT 3");
    let tokens = mars.tokens(1);
    assert_eq!(rows_of(&tokens), 1);
    let mut client = world.client();
    assert_eq!(rows_of(&client.batch("SELECT 1")), 1);
    // The first packet was read and dropped: the rest is read to its end.
    let mut reader = MessageReader::default();
    let mut bytes = Vec::new();
    loop {
        let packet = mars.read(0);
        bytes.extend_from_slice(&packet[8..]);
        reader.feed(&packet).unwrap();
        if packet[1] & 1 != 0 {
            break;
        }
    }
    let end = &bytes[bytes.len() - 13..];
    assert_eq!((end[0], u16::from(end[1]) & done::ERROR), (0xFD, done::ERROR));
    let number = 701i32.to_le_bytes();
    assert!(bytes[bytes.len() - 1000..].windows(4).any(|four| four == number), "error 701");
    assert_eq!(mars.number(0, "SELECT 4"), Value::Int(4));
}

#[test]
fn transactions_are_shared_and_end_with_the_batch_that_began_them() {
    let world = World::new("mars-transactions");
    let mut mars = Mars::connect(&world);
    [0, 1].into_iter().for_each(|session| mars.open(session));
    mars.batch(0, "CREATE TABLE t (i int)");
    // Begun by the batch: 3997.
    assert_eq!(error_numbers(&mars.batch(0, "BEGIN TRAN; INSERT t VALUES (1)")), [3997]);
    assert_eq!(mars.number(1, "SELECT COUNT(*) + @@TRANCOUNT FROM t"), Value::Int(0));
    assert!(error_numbers(&mars.batch(0, "BEGIN TRAN; INSERT t VALUES (1); COMMIT")).is_empty());
    assert_eq!(
        error_numbers(
            &mars
                .batch(0, "SET IMPLICIT_TRANSACTIONS ON; INSERT t VALUES (2); SET IMPLICIT_TRANSACTIONS OFF")
        ),
        [3997]
    );
    assert_eq!(mars.number(1, "SELECT COUNT(*) FROM t"), Value::Int(1));
    // Begun by the client: of all sessions, until it ends.
    let begin = BeginTransaction { isolation: IsolationLevel::ReadCommitted, name: String::new() };
    let bytes = mars.client.writer.transaction(&TransactionRequest::Begin(begin));
    mars.put(SmpKind::Data, 0, &bytes);
    assert!(error_numbers(&mars.tokens(0)).is_empty());
    assert!(error_numbers(&mars.batch(1, "INSERT t VALUES (3)")).is_empty());
    assert_eq!(mars.number(0, "SELECT COUNT(*) * 10 + @@TRANCOUNT FROM t"), Value::Int(21));
    // It ends inside the batch, and the next one is the batch's own.
    assert_eq!(error_numbers(&mars.batch(1, "COMMIT; BEGIN TRAN; INSERT t VALUES (4)")), [3997]);
    assert_eq!(mars.number(0, "SELECT COUNT(*) * 10 + @@TRANCOUNT FROM t"), Value::Int(20));
    // Not so on a connection without sessions.
    let mut plain = world.client();
    assert!(error_numbers(&plain.batch("BEGIN TRAN")).is_empty());
}

/// An attention reaches the request that runs, behind packets of other sessions; the end of its session cancels it as well.
#[test]
fn attentions_and_ends_of_sessions_cancel() {
    let world = World::new("mars-attention");
    let mut mars = Mars::connect(&world);
    [0, 1, 2].into_iter().for_each(|session| mars.open(session));
    let attention = [PacketKind::Attention as u8, 1, 0, 8, 0, 0, 1, 0];
    let endless = "DECLARE @i int = 0; WHILE 1 = 1 SET @i = @i % 1000 + 1";
    mars.ask(0, endless);
    world.pause(50);
    mars.ask(1, "SELECT 1");
    mars.put(SmpKind::Data, 0, &attention);
    assert_eq!(final_status(&mars.tokens(0)) & done::ERROR, done::ERROR);
    assert_eq!(final_status(&mars.tokens(0)) & done::ATTENTION, done::ATTENTION);
    assert_eq!(rows_of(&mars.tokens(1)), 1);
    mars.ask(0, endless);
    world.pause(50);
    mars.put(SmpKind::Fin, 0, &[]);
    assert_eq!(mars.number(1, "SELECT 2"), Value::Int(2));
    assert!(mars.lanes[&0].is_ended);
    // Idle: acknowledged, and ended at once; its number may be used again.
    mars.put(SmpKind::Data, 2, &attention);
    assert_eq!(final_status(&mars.tokens(2)) & done::ATTENTION, done::ATTENTION);
    mars.put(SmpKind::Fin, 2, &[]);
    while !mars.lanes[&2].is_ended {
        assert!(mars.take());
    }
    mars.open(2);
    assert_eq!(mars.number(2, "SELECT 3"), Value::Int(3));
    // A request whose answer nobody takes is cancelled by the end of its session.
    mars.ask(2, &rows(100_000));
    mars.read(2);
    mars.put(SmpKind::Fin, 2, &[]);
    assert_eq!(mars.number(1, "SELECT 4"), Value::Int(4));
}

/// A message of many packets goes through the window.
#[test]
fn a_long_request_is_taken_in_the_windows_steps() {
    let world = World::new("mars-long");
    let mut mars = Mars::connect(&world);
    [0, 9].into_iter().for_each(|session| mars.open(session));
    let text = format!("SELECT LEN('{}')", "y".repeat(100_000));
    let bytes = mars.client.writer.batch(&text, 0);
    mars.send_all(9, &bytes);
    let tokens = mars.tokens(9);
    assert!(tokens.contains(&Token::Row(vec![Value::BigInt(100_000)])), "{tokens:?}");
}

/// A bulk load while the result of another session is half read, as a copy from one to the other does it; and one that is cancelled.
#[test]
fn rows_are_loaded_beside_a_result_that_is_read() {
    let world = World::new("mars-bulk");
    let mut mars = Mars::connect(&world);
    [0, 1].into_iter().for_each(|session| mars.open(session));
    mars.batch(0, "CREATE TABLE b (i int)");
    mars.ask(0, &rows(5_000));
    let first = mars.read(0);
    mars.lanes.get_mut(&0).unwrap().reader.feed(&first).unwrap();
    let values: Vec<Vec<Value>> = (0..50_000).map(|number| vec![Value::Int(number)]).collect();
    let bytes = mars.client.writer.bulk_load(&[("i", SqlType::Int)], &values, true);
    assert!(error_numbers(&mars.batch(1, "INSERT BULK b (i int)")).is_empty());
    mars.send_all(1, &bytes);
    assert!(error_numbers(&mars.tokens(1)).is_empty());
    assert_eq!(rows_of(&mars.tokens(0)), 5_000);
    assert_eq!(mars.number(0, "SELECT COUNT(*) FROM b"), Value::Int(50_000));
    // The first packets, then an attention in place of the others.
    assert!(error_numbers(&mars.batch(1, "INSERT BULK b (i int)")).is_empty());
    let at = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
    mars.send_all(1, &bytes[..at]);
    mars.put(SmpKind::Data, 1, &[PacketKind::Attention as u8, 1, 0, 8, 0, 0, 1, 0]);
    assert_eq!(final_status(&mars.tokens(1)) & done::ERROR, done::ERROR);
    assert_eq!(final_status(&mars.tokens(1)) & done::ATTENTION, done::ATTENTION);
    // And the end of the session in their place.
    assert!(error_numbers(&mars.batch(1, "INSERT BULK b (i int)")).is_empty());
    mars.send_all(1, &bytes[..at]);
    mars.put(SmpKind::Fin, 1, &[]);
    assert_eq!(mars.number(0, "SELECT COUNT(*) FROM b"), Value::Int(50_000));
    assert!(mars.lanes[&1].is_ended);
}

#[test]
fn hostile_bytes_end_the_connection_alone() {
    let world = World::new("mars-hostile");
    let header = |kind, session, sequence, length| {
        let mut bytes = Vec::new();
        SmpHeader { kind, session, length, sequence, window: 1_000 }.put(&mut bytes);
        bytes
    };
    let plain = Client::connect(&world.os, world.server(), TdsVersion::V7_4).writer.batch("SELECT 1", 0);
    for bytes in [
        plain,
        vec![0x53; 64],
        header(SmpKind::Syn, 0, 0, 16),
        header(SmpKind::Data, 4, 1, 16),
        header(SmpKind::Data, 0, 9, 16),
        header(SmpKind::Data, 0, 1, 1 << 20),
    ] {
        let mut mars = Mars::connect(&world);
        mars.open(0);
        assert_eq!(mars.number(0, "SELECT 1"), Value::Int(1));
        mars.client.send(&bytes);
        while mars.take() {}
        let mut other = world.client();
        assert_eq!(rows_of(&other.batch("SELECT 1")), 1);
    }
}
