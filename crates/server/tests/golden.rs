//! Runs the golden scripts of `query` and `session` through a real engine over the wire: what a client decodes must be what the session
//! gave (format in `query::scripts`).
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Instance, InstanceOptions};
use hardpan_server::{Config, Server};
use os::{Os, Stream};
use query::scripts::{judge, parse, show_row};
use session::SessionShared;
use tds::client::{RequestWriter, Token, TokenReader};
use tds::login7::{Login7, Password, TdsVersion};
use tds::packet::{MessageReader, ReadLimits};
use types::SqlError;

const PASSWORD: &str = "Passw0rd!";
const VERSION: TdsVersion = TdsVersion::V7_4;

struct Client {
    stream: Arc<dyn Stream>,
    reader: MessageReader,
    writer: RequestWriter,
}

impl Client {
    fn connect(os: &Os, server: &Server) -> Client {
        let stream = os.net().connect(&server.local_address(), 5_000_000_000).unwrap();
        stream.set_read_timeout(Some(60_000_000_000)).unwrap();
        let mut client = Client {
            stream,
            reader: MessageReader::new(ReadLimits::default()),
            writer: RequestWriter::new(VERSION, 4096),
        };
        let login = Login7 {
            version: VERSION,
            user_name: "sa".into(),
            password: Password(PASSWORD.into()),
            database: "master".into(),
            ..Login7::default()
        };
        let bytes = client.writer.login7(&login);
        let tokens = client.exchange(&bytes);
        assert!(tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })), "{tokens:?}");
        client
    }

    fn exchange(&mut self, bytes: &[u8]) -> Vec<Token> {
        self.stream.write_all(bytes).unwrap();
        let mut buffer = [0; 4096];
        while self.reader.next().unwrap().is_none() {
            let count = self.stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the server has closed the connection");
            self.reader.feed(&buffer[..count]).unwrap();
        }
        TokenReader::new(self.reader.payload(), VERSION).collect().unwrap()
    }

    /// Rows of all result sets, or the first error.
    fn batch(&mut self, text: &str) -> Result<Vec<String>, SqlError> {
        let bytes = self.writer.batch(text, 0);
        let mut rows = Vec::new();
        for token in self.exchange(&bytes) {
            match token {
                Token::Row(values) => rows.push(show_row(&values)),
                Token::Message { error, .. } if error.severity > 10 => return Err(error),
                _ => {}
            }
        }
        Ok(rows)
    }
}

fn run(name: &str, text: &str) {
    let os = Os::real();
    let folder: PathBuf =
        std::env::temp_dir().join(format!("hardpan-wire-golden-{name}-{}", os::process::id()));
    let instance = Instance::open(&os, &InstanceOptions::new(folder.join("data"))).unwrap();
    let mut config = Config::new(folder.clone());
    config.listen = "127.0.0.1:0".into();
    let sessions = SessionShared::new(instance.clone(), "test", 0);
    let server = Server::start(&os, config, Some(PASSWORD), Box::new(sessions)).unwrap();
    let mut client = Client::connect(&os, &server);
    client.batch("CREATE DATABASE db").unwrap();
    client.batch("USE db").unwrap();
    let outcomes = parse(text).unwrap().into_iter().map(|record| judge(&record, &client.batch(&record.sql)));
    let failures: Vec<String> = outcomes.filter_map(Result::err).collect();
    server.stop();
    instance.shutdown();
    #[allow(clippy::disallowed_methods, reason = "a test tidies up")]
    drop(std::fs::remove_dir_all(&folder));
    assert!(failures.is_empty(), "{name}: {} failures\n{}", failures.len(), failures.join("\n----------\n"));
}

macro_rules! script {
    ($folder:literal $name:ident) => {
        #[test]
        fn $name() {
            run(stringify!($name), include_str!(concat!($folder, stringify!($name), ".test")));
        }
    };
}

script!("../../query/tests/scripts/" expressions);
script!("../../query/tests/scripts/" functions);
script!("../../query/tests/scripts/" builtin);
script!("../../query/tests/scripts/" select);
script!("../../query/tests/scripts/" joins);
script!("../../query/tests/scripts/" aggregates);
script!("../../query/tests/scripts/" changes);
script!("../../query/tests/scripts/" views);
script!("../../query/tests/scripts/" seeds);
script!("../../query/tests/scripts/" like_seek);
script!("../../session/tests/scripts/" hints);
script!("../../session/tests/scripts/" index_pages);
script!("../../session/tests/scripts/" set_options);
script!("../../session/tests/scripts/" alter_database);
script!("../../session/tests/scripts/" identity_insert);
script!("../../session/tests/scripts/" native_procedures);
script!("../../session/tests/scripts/" random_numbers);
script!("../../session/tests/scripts/" session_context);
script!("../../session/tests/scripts/" session_values);
script!("../../session/tests/scripts/" windows);
script!("../../session/tests/scripts/" whole_tables);
script!("../../session/tests/scripts/" recursions);
script!("../../session/tests/scripts/" documented_functions);
script!("../../session/tests/scripts/" query_store);
