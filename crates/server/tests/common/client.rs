//! A server of stub sessions, and clients of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hardpan_server::{Config, Server, Sockets};
use os::{Os, Stream};
use tds::client::{RequestWriter, Token, TokenReader};
use tds::login7::{Login7, Password, TdsVersion};
use tds::packet::{MessageReader, ReadLimits};

use super::{Gate, StubSource};

pub const PASSWORD: &str = "Passw0rd!";

/// A server of stub sessions.
pub fn start(change: impl FnOnce(&mut Config)) -> (Os, Server) {
    let (os, server, _) = start_gated(change);
    (os, server)
}

/// A server, with the gate at which its sessions wait.
pub fn start_gated(change: impl FnOnce(&mut Config)) -> (Os, Server, Arc<Gate>) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let os = Os::real();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let directory: PathBuf =
        std::env::temp_dir().join(format!("hardpan-wire-{}-{number}", os::process::id()));
    os.disk().create_dir_all(&directory).unwrap();
    let mut config = Config::new(directory);
    config.listen = "127.0.0.1:0".into();
    // However slow the machine is: a connection that must end by itself does.
    config.stop_grace_ns = 600_000_000_000;
    change(&mut config);
    let gate = Gate::new();
    let source = StubSource { os: os.clone(), gate: gate.clone() };
    let sockets = Sockets::bind(&os, &config, false).unwrap();
    let server = Server::start(&os, config, sockets, Some(PASSWORD), Box::new(source)).unwrap();
    (os, server, gate)
}

/// A connection's client half.
pub struct Client {
    pub stream: Arc<dyn Stream>,
    pub reader: MessageReader,
    pub writer: RequestWriter,
    pub version: TdsVersion,
}

impl Client {
    pub fn connect(os: &Os, server: &Server, version: TdsVersion) -> Client {
        Client::connect_to(os, &server.local_address(), version)
    }

    pub fn connect_to(os: &Os, address: &str, version: TdsVersion) -> Client {
        let stream = os.net().connect(address, 5_000_000_000).unwrap();
        stream.set_read_timeout(Some(30_000_000_000)).unwrap();
        let (reader, writer) = (MessageReader::new(ReadLimits::default()), RequestWriter::new(version, 4096));
        Client { stream, reader, writer, version }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The payload of the next message; `None` when the server has closed.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 4096];
        loop {
            if self.reader.next().unwrap().is_some() {
                return Some(self.reader.payload().to_vec());
            }
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.reader.feed(&buffer[..count]).unwrap(),
            }
        }
    }

    pub fn tokens(&mut self) -> Vec<Token> {
        let payload = self.receive().expect("an answer");
        TokenReader::new(&payload, self.version).collect().unwrap()
    }

    pub fn log_in(&mut self, change: impl FnOnce(&mut Login7)) -> Vec<Token> {
        let mut login = Login7 {
            version: self.version,
            user_name: "sa".into(),
            password: Password(PASSWORD.into()),
            database: "master".into(),
            ..Login7::default()
        };
        change(&mut login);
        let bytes = self.writer.login7(&login);
        self.send(&bytes);
        self.tokens()
    }

    pub fn batch(&mut self, text: &str) -> Vec<Token> {
        let bytes = self.writer.batch(text, 0);
        self.send(&bytes);
        self.tokens()
    }
}

pub fn connected(os: &Os, server: &Server) -> Client {
    let mut client = Client::connect(os, server, TdsVersion::V7_4);
    let tokens = client.log_in(|_| {});
    assert!(tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })), "{tokens:?}");
    client
}

pub fn final_status(tokens: &[Token]) -> u16 {
    match tokens.last() {
        Some(Token::Done(token)) => token.status,
        other => panic!("the answer ends with {other:?}"),
    }
}

pub fn error_numbers(tokens: &[Token]) -> Vec<i32> {
    let number = |token: &Token| match token {
        Token::Message { error, .. } if error.severity > 10 => Some(error.number),
        _ => None,
    };
    tokens.iter().filter_map(number).collect()
}

/// Connections that have all sent `text` and have no answer yet.
pub fn all_ask(os: &Os, server: &Server, count: usize, text: &str) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| connected(os, server)).collect();
    for client in &mut clients {
        let bytes = client.writer.batch(text, 0);
        client.send(&bytes);
    }
    clients
}
