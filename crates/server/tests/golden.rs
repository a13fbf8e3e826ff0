//! Runs the golden scripts of `query` and `session` through a real engine over the wire: the client must decode the results of
//! the session (format in `query::scripts`).
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Instance, InstanceOptions};
use hardpan_server::{Config, Server, Sockets};
use os::{Os, Stream};
use query::scripts::{judge, parse, show_row};
use session::SessionShared;
use tds::client::{RequestWriter, Token, TokenReader};
use tds::login7::{Login7, Password, TdsVersion};
use tds::packet::{MessageReader, ReadLimits};
use tds::rpc::{Parameter, Procedure, ProcedureId, RpcCall};
use tds::token::done;
use types::{SqlError, SqlType, Value};

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

/// Runs the requests of a client in a server of its own, in a new database.
fn with_server(name: &str, asks: impl FnOnce(&mut Client)) {
    let os = Os::real();
    let folder: PathBuf =
        std::env::temp_dir().join(format!("hardpan-wire-golden-{name}-{}", os::process::id()));
    let instance = Instance::open(&os, &InstanceOptions::new(folder.join("data"))).unwrap();
    let mut config = Config::new(folder.clone());
    config.listen = "127.0.0.1:0".into();
    let sessions = SessionShared::new(instance.clone(), "test", 0);
    let sockets = Sockets::bind(&os, &config, false).unwrap();
    let server = Server::start(&os, config, sockets, Some(PASSWORD), Box::new(sessions)).unwrap();
    let mut client = Client::connect(&os, &server);
    client.batch("CREATE DATABASE db").unwrap();
    client.batch("USE db").unwrap();
    asks(&mut client);
    server.stop();
    instance.shutdown();
    #[allow(clippy::disallowed_methods, reason = "a test tidies up")]
    drop(std::fs::remove_dir_all(&folder));
}

fn run(name: &str, text: &str) {
    let mut failures = Vec::new();
    with_server(name, |client| {
        let records = parse(text).unwrap();
        let outcomes = records.into_iter().map(|record| judge(&record, &client.batch(&record.sql)));
        failures.extend(outcomes.filter_map(Result::err));
    });
    assert!(failures.is_empty(), "{name}: {} failures\n{}", failures.len(), failures.join("\n----------\n"));
}

/// The number of errors in an answer, after a check of its DONE tokens: one has the error bit exactly when an ERROR token is between it and the
/// DONE before it. A driver that finds the bit waits for that token, and would take a later one for it.
fn errors_told(what: &str, tokens: &[Token]) -> usize {
    let (mut told, mut since_end) = (0, 0);
    for token in tokens {
        match token {
            Token::Message { error, .. } if error.severity > 10 => since_end += 1,
            Token::Done(end) => {
                assert_eq!(end.status & done::ERROR != 0, since_end > 0, "{what}: {tokens:?}");
                told += std::mem::take(&mut since_end);
            }
            _ => {}
        }
    }
    assert_eq!(since_end, 0, "{what}: an error behind the last end: {tokens:?}");
    told
}

#[test]
fn an_end_has_the_error_bit_exactly_with_an_error_of_its_own() {
    with_server("error-bits", |client| {
        for module in [
            "CREATE PROCEDURE p2 AS RAISERROR('P2', 16, 1); RETURN 3",
            "CREATE PROCEDURE p1 AS DECLARE @r int; EXEC @r = p2; RAISERROR('P1', 16, 1)",
            "CREATE PROCEDURE quiet AS SET NOCOUNT ON; EXEC p2; EXEC p1; SELECT 1 AS a",
            "CREATE PROCEDURE throws AS EXEC p2; THROW 50001, 'end', 1",
            "CREATE PROCEDURE converts AS SELECT 1 AS a; SELECT CAST('a' AS int)",
            "CREATE PROCEDURE lost AS SELECT a FROM not_there",
            "CREATE PROCEDURE unequal AS BEGIN TRAN",
            "CREATE PROCEDURE odd @i int AS IF @i % 5 = 0 RAISERROR('%d', 16, 1, @i); SELECT @i AS i",
        ] {
            client.batch(module).unwrap();
        }
        let caught =
            "BEGIN TRY EXEC p1 END TRY BEGIN CATCH SELECT 1 AS a; RAISERROR('again', 16, 1) END CATCH";
        for (text, errors) in [
            ("EXEC p1", 2),
            ("EXEC p1; SELECT 1 AS a; EXEC p2", 3),
            ("EXEC('RAISERROR(''a'', 16, 1); SELECT 1 AS a'); SELECT 2 AS b", 1),
            ("EXEC quiet; EXEC quiet", 6),
            ("EXEC throws; SELECT 1 AS a", 2),
            ("EXEC converts", 1),
            ("EXEC lost; SELECT 1 AS a", 1),
            ("EXEC unequal; ROLLBACK; SELECT 1 AS a", 1),
            ("SELECT 1/0; SELECT 1 AS a", 1),
            ("SET NOCOUNT ON; EXEC p1; SELECT 1/0; PRINT 'a'; SET NOCOUNT OFF", 3),
            (caught, 1),
            ("SELECT FROM", 1),
            ("EXEC('SELECT FROM'); SELECT 1 AS a", 1),
            ("EXEC not_there; SELECT 1 AS a", 1),
            ("PRINT 'a'; RAISERROR('b', 10, 1)", 0),
        ] {
            let bytes = client.writer.batch(text, 0);
            assert_eq!(errors_told(text, &client.exchange(&bytes)), errors, "{text}");
        }
        let text = |text: &str| Parameter {
            name: String::new(),
            output: false,
            default: false,
            table: None,
            sql_type: SqlType::NVARCHAR_MAX,
            value: Value::nvarchar(text),
        };
        let call = |procedure, parameters| RpcCall { procedure, flags: 0, parameters };
        for (name, errors) in
            [("p1", 2), ("quiet", 3), ("throws", 2), ("converts", 1), ("lost", 1), ("not_there", 1)]
        {
            let bytes = client.writer.rpc(&[call(Procedure::Name(name.into()), Vec::new())]);
            assert_eq!(errors_told(name, &client.exchange(&bytes)), errors, "{name}");
        }
        // A batch of twenty calls, of which four fail, each in another way.
        let calls: Vec<RpcCall> = (1..=20)
            .map(|i| {
                let statement = if i % 10 == 0 { "SELECT 1/0 +" } else { "SET NOCOUNT ON; EXEC odd" };
                call(Procedure::Id(ProcedureId::ExecuteSql), vec![text(&format!("{statement} {i}"))])
            })
            .collect();
        let bytes = client.writer.rpc(&calls);
        assert_eq!(errors_told("twenty calls", &client.exchange(&bytes)), 4);
    });
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
script!("../../query/tests/scripts/" predicates_below);
script!("../../session/tests/scripts/" for_json);
script!("../../session/tests/scripts/" pivot);
script!("../../session/tests/scripts/" for_xml);
script!("../../session/tests/scripts/" xml_methods);
script!("../../session/tests/scripts/" xml_modify);
script!("../../session/tests/scripts/" open_xml);
script!("../../session/tests/scripts/" xml_scripts);
script!("../../session/tests/scripts/" hints);
script!("../../session/tests/scripts/" index_pages);
script!("../../session/tests/scripts/" set_options);
script!("../../session/tests/scripts/" alter_database);
script!("../../session/tests/scripts/" identity_insert);
script!("../../session/tests/scripts/" native_procedures);
script!("../../session/tests/scripts/" random_numbers);
script!("../../session/tests/scripts/" session_context);
script!("../../session/tests/scripts/" session_values);
script!("../../session/tests/scripts/" deferred_names);
script!("../../session/tests/scripts/" instead_of_triggers);
script!("../../session/tests/scripts/" triggers);
script!("../../session/tests/scripts/" synonyms);
script!("../../session/tests/scripts/" ddl_triggers);
script!("../../session/tests/scripts/" windows);
script!("../../session/tests/scripts/" whole_tables);
script!("../../session/tests/scripts/" recursions);
script!("../../session/tests/scripts/" documented_forms);
script!("../../session/tests/scripts/" types_and_values);
script!("../../session/tests/scripts/" documented_functions);
script!("../../session/tests/scripts/" query_store);
script!("../../session/tests/scripts/" table_parameters_of_functions);
script!("../../session/tests/scripts/" user_function_cursors);
script!("../../session/tests/scripts/" user_functions);
script!("../../session/tests/scripts/" user_functions_in_statements);
script!("../../session/tests/scripts/" cursors);
