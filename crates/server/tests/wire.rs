//! The server over real sockets with the client half of `tds`: login, encryption negotiation, requests, attention,
//! limits, refusals, draining. Sessions are stubs; TLS itself is proven by the stock clients in `tests/compat`.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::client::{Client, PASSWORD, connected, error_numbers, final_status, start, start_gated};
use tds::client::{RequestWriter, Token};
use tds::login7::{Login7, Password, TdsVersion};
use tds::packet::status;
use tds::prelogin::{Encryption, PreLogin};
use tds::request::{BeginTransaction, IsolationLevel, TransactionRequest};
use tds::rpc::{Parameter, Procedure, ProcedureId, RpcCall};
use tds::token::{DoneKind, DoneToken, EnvChange, done};
use types::{SqlType, Value};

#[test]
fn every_version_logs_in_and_gets_the_answer_that_drivers_read() {
    let (os, server) = start(|_| {});
    for version in [TdsVersion::V7_1, TdsVersion::V7_2, TdsVersion::V7_3, TdsVersion::V7_4] {
        let mut client = Client::connect(&os, &server, version);
        let tokens = client.log_in(|login| login.packet_bytes = 0);
        let ack = Token::LoginAck {
            version,
            program: "Microsoft SQL Server".into(),
            program_version: (16, 0, 1000),
        };
        assert!(tokens.contains(&ack), "{tokens:?}");
        assert!(tokens.contains(&Token::EnvChange(EnvChange::PacketSize(8000, 4096))));
        assert!(tokens.iter().any(|token| matches!(token, Token::EnvChange(EnvChange::Collation(_)))));
        assert!(tokens.iter().any(|token| matches!(token, Token::EnvChange(EnvChange::Database(..)))));
        assert_eq!(final_status(&tokens), 0);
        assert_eq!(client.batch("select 1").len(), 3);
    }
    server.stop();
}

#[test]
fn prelogin_is_answered_in_kind() {
    let (os, server) = start(|_| {});
    for (asked, answered) in [
        (Encryption::NotSupported, Encryption::NotSupported),
        (Encryption::Off, Encryption::Off),
        (Encryption::On, Encryption::On),
        (Encryption::Required, Encryption::On),
    ] {
        let mut client = Client::connect(&os, &server, TdsVersion::V7_4);
        let message = PreLogin { encryption: Some(asked), mars: Some(true), ..PreLogin::default() };
        let bytes = client.writer.prelogin(&message);
        client.send(&bytes);
        let answer = PreLogin::decode(&client.receive().unwrap()).unwrap();
        assert_eq!((answer.encryption, answer.mars), (Some(answered), Some(true)));
        assert_eq!(answer.version, Some((16, 0, 1000, 0)));
    }
    server.stop();
}

#[test]
fn wrong_names_and_wrong_passwords_get_equal_answers() {
    let (os, server) = start(|_| {});
    let wrong = |name: &str| {
        let mut client = Client::connect(&os, &server, TdsVersion::V7_4);
        let tokens = client.log_in(|login| {
            login.user_name = name.into();
            login.password = Password("wrong".into());
        });
        assert_eq!(final_status(&tokens), done::ERROR);
        assert_eq!(client.receive(), None);
        format!("{tokens:?}").replace(&format!("'{name}'"), "'NAME'")
    };
    assert_eq!(wrong("sa"), wrong("nobody"));
    let mut client = Client::connect(&os, &server, TdsVersion::V7_4);
    let tokens = client.log_in(|login| login.database = "missing".into());
    assert_eq!(error_numbers(&tokens), [4060, 18456]);
    server.stop();
}

#[test]
fn a_login_can_change_its_password() {
    let (os, server) = start(|_| {});
    let log_in = |password: &str, new: &str| {
        let tokens = Client::connect(&os, &server, TdsVersion::V7_4).log_in(|login| {
            login.password = Password(password.into());
            login.new_password = Password(new.into());
            login.flags[3] |= if new.is_empty() { 0 } else { tds::login7::options::FLAGS3_CHANGE_PASSWORD };
        });
        error_numbers(&tokens).is_empty()
    };
    assert!(log_in(PASSWORD, "another"));
    assert!(!log_in(PASSWORD, ""));
    assert!(log_in("another", ""));
    server.stop();
}

#[test]
fn batches_have_their_done_flags() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let tokens = client.batch("two");
    let [
        Token::Columns(_),
        Token::Row(_),
        Token::Done(first),
        Token::Columns(_),
        Token::Row(row),
        Token::Done(last),
    ] = &tokens[..]
    else {
        panic!("{tokens:?}")
    };
    assert_eq!((first.status, last.status), (done::COUNT | done::MORE, done::COUNT));
    assert_eq!(row, &[Value::Int(2)]);
    let tokens = client.batch("fail");
    assert_eq!((error_numbers(&tokens), final_status(&tokens)), (vec![208], done::ERROR));
    let Token::Message { error, server_name } = &tokens[0] else { panic!("{tokens:?}") };
    assert_eq!((error.line, error.procedure.as_deref()), (3, Some("p")));
    assert_eq!(*server_name, os::process::host_name());
    server.stop();
}

#[test]
fn a_long_result_crosses_many_packets() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let tokens = client.batch("rows 50000");
    assert_eq!(tokens.len(), 50_002);
    assert_eq!(tokens[50_000], Token::Row(vec![Value::Int(49_999), Value::nvarchar("row with some text")]));
    server.stop();
}

#[test]
fn calls_return_status_values_and_done_proc() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let parameter = |name: &str, value: Value, output| {
        let sql_type = value.natural_type();
        Parameter { name: name.into(), output, default: false, sql_type, value, table: None }
    };
    let call = RpcCall {
        procedure: Procedure::Id(ProcedureId::ExecuteSql),
        flags: 0,
        parameters: vec![
            parameter("", Value::nvarchar("x"), false),
            parameter("", Value::nvarchar("@a int"), false),
            parameter("@a", Value::Int(7), true),
        ],
    };
    let bytes = client.writer.rpc(&[call.clone(), call]);
    client.send(&bytes);
    let tokens = client.tokens();
    let ends: Vec<DoneToken> = tokens
        .iter()
        .filter_map(|token| if let Token::Done(end) = token { Some(*end) } else { None })
        .collect();
    let kinds = [DoneKind::InProcedure, DoneKind::Procedure, DoneKind::InProcedure, DoneKind::Procedure];
    assert_eq!(ends.iter().map(|end| end.kind).collect::<Vec<_>>(), kinds);
    assert_eq!(ends.iter().map(|end| end.status & done::MORE).collect::<Vec<_>>(), [1, 1, 1, 0]);
    // With NOCOUNT this bit is the only sign by which a client counts the calls.
    let in_batch = done::RPC_IN_BATCH;
    assert_eq!(ends.iter().map(|end| end.status & in_batch).collect::<Vec<_>>(), [0, in_batch, 0, 0]);
    let value =
        Token::ReturnValue { ordinal: 2, name: "@a".into(), sql_type: SqlType::Int, value: Value::Int(7) };
    assert_eq!(tokens.iter().filter(|token| **token == value).count(), 2);
    assert_eq!(tokens.iter().filter(|token| **token == Token::ReturnStatus(0)).count(), 2);
    server.stop();
}

/// The session must refuse it (8003), and the connection continues.
#[test]
fn a_call_with_too_many_parameters_reaches_the_session() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let parameter = Parameter {
        name: String::new(),
        output: false,
        default: false,
        table: None,
        sql_type: SqlType::Int,
        value: Value::Int(1),
    };
    let procedure = Procedure::Id(ProcedureId::ExecuteSql);
    for (sent, echoed) in [(2_100, 2_098), (2_101, 2_099), (5_000, 2_099)] {
        let call =
            RpcCall { procedure: procedure.clone(), flags: 0, parameters: vec![parameter.clone(); sent] };
        let bytes = client.writer.rpc(&[call]);
        client.send(&bytes);
        let tokens = client.tokens();
        assert!(tokens.contains(&Token::Row(vec![Value::Int(1); echoed])), "{sent} parameters");
    }
    server.stop();
}

/// A request for the coordinator of distributed transactions gets error 8501; the connection and its transaction go on.
#[test]
fn distributed_transactions_are_refused() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let begin = BeginTransaction { isolation: IsolationLevel::ReadCommitted, name: String::new() };
    let bytes = client.writer.transaction(&TransactionRequest::Begin(begin));
    client.send(&bytes);
    client.tokens();
    client.writer.transaction_descriptor = 1;
    // Its address, a transaction that comes from elsewhere, the present one to be distributed.
    for (kind, body) in [(0u8, &[0, 0][..]), (1, &[4, 0, 1, 2, 3, 4]), (6, &[])] {
        // ALL_HEADERS with the descriptor, as in every request.
        let headers =
            [&22u32.to_le_bytes()[..], &18u32.to_le_bytes(), &[2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]]
                .concat();
        let payload = [&headers[..], &[kind, 0], body].concat();
        let length = ((8 + payload.len()) as u16).to_be_bytes();
        client.send(&[&[0x0E, 1, length[0], length[1], 0, 0, 1, 0][..], &payload].concat());
        let tokens = client.tokens();
        assert_eq!(error_numbers(&tokens), [8501], "{kind}");
        assert_ne!(final_status(&tokens) & done::IN_TRANSACTION, 0, "{kind}");
        assert!(error_numbers(&client.batch("select 1")).is_empty());
    }
    server.stop();
}

/// Features that are not supported are not acknowledged, known or unknown, also with data of a session to be restored; the login succeeds.
#[test]
fn features_are_not_acknowledged() {
    let (os, server) = start(|_| {});
    let (session_recovery, utf_8, unknown) = (0x01, 0x0A, 0x7E);
    for features in [
        vec![(session_recovery, vec![])],
        vec![(utf_8, vec![])],
        vec![(session_recovery, vec![1, 0, 0, 0, 7]), (unknown, vec![0; 300]), (utf_8, vec![1])],
    ] {
        let mut client = Client::connect(&os, &server, TdsVersion::V7_4);
        let tokens = client.log_in(|login| login.features = features.clone());
        assert!(tokens.iter().any(|token| matches!(token, Token::LoginAck { .. })), "{tokens:?}");
        assert!(!tokens.iter().any(|token| matches!(token, Token::FeatureAcks(_))), "{tokens:?}");
        assert!(error_numbers(&client.batch("select 1")).is_empty());
    }
    server.stop();
}

#[test]
fn transactions_are_told_and_their_descriptor_is_checked() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let begin = BeginTransaction { isolation: IsolationLevel::ReadCommitted, name: String::new() };
    let bytes = client.writer.transaction(&TransactionRequest::Begin(begin.clone()));
    client.send(&bytes);
    let tokens = client.tokens();
    assert_eq!(tokens[0], Token::EnvChange(EnvChange::BeginTransaction(1)));
    assert_ne!(final_status(&tokens) & done::IN_TRANSACTION, 0);
    client.writer.transaction_descriptor = 9;
    assert_eq!(error_numbers(&client.batch("select 1")), [3989]);
    client.writer.transaction_descriptor = 1;
    assert!(error_numbers(&client.batch("select 1")).is_empty());
    let chained = TransactionRequest::Commit { name: String::new(), then_begin: Some(begin) };
    let bytes = client.writer.transaction(&chained);
    client.send(&bytes);
    let tokens = client.tokens();
    assert_eq!(tokens[0], Token::EnvChange(EnvChange::CommitTransaction(1)));
    assert_eq!(tokens[1], Token::EnvChange(EnvChange::BeginTransaction(2)));
    server.stop();
}

/// A pool's reset comes with a request that still contains the descriptor of the transaction which the reset rolls back.
#[test]
fn a_reset_rolls_back_and_its_request_runs() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let begin = BeginTransaction { isolation: IsolationLevel::ReadCommitted, name: String::new() };
    let bytes = client.writer.transaction(&TransactionRequest::Begin(begin));
    client.send(&bytes);
    client.tokens();
    client.writer.transaction_descriptor = 1;
    let bytes = client.writer.batch("select 1", status::RESET_CONNECTION_KEEP_TRANSACTION);
    client.send(&bytes);
    let tokens = client.tokens();
    assert_ne!(final_status(&tokens) & done::IN_TRANSACTION, 0, "{tokens:?}");
    let bytes = client.writer.batch("select 1", status::RESET_CONNECTION);
    client.send(&bytes);
    let tokens = client.tokens();
    assert_eq!(tokens[0], Token::EnvChange(EnvChange::RollbackTransaction(1)));
    assert!(error_numbers(&tokens).is_empty(), "{tokens:?}");
    assert_eq!(final_status(&tokens) & done::IN_TRANSACTION, 0);
    assert_eq!(error_numbers(&client.batch("select 1")), [3989], "the next request must know");
    server.stop();
}

#[test]
fn a_malformed_transaction_request_gets_an_error_then_the_close() {
    let (os, server) = start(|_| {});
    // An unknown kind, an isolation level of 77, a truncated name, no kind at all; the last over several packets.
    let bodies: [&[u8]; 4] = [&[99, 0], &[5, 0, 77, 0], &[9, 0, 200, 1, 2, 3], &[]];
    for body in bodies {
        for packets in [1, 3] {
            let mut client = connected(&os, &server);
            let whole = client.writer.transaction(&TransactionRequest::Save { name: "x".into() });
            let headers = &whole[8..8 + 22];
            let payload = [headers, body].concat();
            let mut bytes = Vec::new();
            let parts: Vec<&[u8]> = payload.chunks(payload.len().div_ceil(packets)).collect();
            for (at, part) in parts.iter().enumerate() {
                let last = u8::from(at + 1 == parts.len());
                bytes.extend([0x0E, last, 0, 8 + part.len() as u8, 0, 0, at as u8 + 1, 0]);
                bytes.extend(*part);
            }
            client.send(&bytes);
            let tokens = client.tokens();
            assert_eq!(
                (error_numbers(&tokens), final_status(&tokens)),
                (vec![4002], done::ERROR | done::SERVER_ERROR),
                "{body:?}"
            );
            assert_eq!(client.receive(), None, "then the connection ends");
        }
    }
    server.stop();
}

#[test]
fn a_null_that_was_excluded_is_an_error_not_a_value() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let tokens = client.batch("broken");
    assert_eq!((error_numbers(&tokens), final_status(&tokens)), (vec![3624], done::ERROR), "{tokens:?}");
    assert_eq!(tokens.iter().filter(|token| matches!(token, Token::Row(_))).count(), 1);
    assert_eq!(client.receive(), None);
    server.stop();
}

#[test]
fn an_attention_ends_a_request_and_the_connection_goes_on() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    for (text, wait_ns) in [("sleep", 100_000_000), ("rows 100000000", 50_000_000), ("sleep", 0)] {
        let mut bytes = client.writer.batch(text, 0);
        let attention = client.writer.attention();
        if wait_ns == 0 {
            bytes.extend(&attention);
        }
        client.send(&bytes);
        if wait_ns > 0 {
            os.sleep(wait_ns, os::WaitType::SLEEP_TASK).unwrap();
            client.send(&attention);
        }
        assert_ne!(
            final_status(&client.tokens()) & done::ERROR,
            0,
            "the cancelled request is answered first"
        );
        assert_eq!(final_status(&client.tokens()), done::ATTENTION);
        assert_eq!(client.batch("select 1").len(), 3);
    }
    let attention = client.writer.attention();
    client.send(&attention);
    assert_eq!(final_status(&client.tokens()), done::ATTENTION, "also when nothing runs");
    server.stop();
}

#[test]
fn a_client_that_goes_away_ends_its_request() {
    let (os, server, gate) = start_gated(|_| {});
    let mut client = connected(&os, &server);
    let bytes = client.writer.batch("sleep", 0);
    client.send(&bytes);
    drop(client);
    // A sleep that has been interrupted tells.
    gate.wait_for(1);
    server.stop();
}

/// By this bit drivers know that the connection is no longer usable.
#[test]
fn an_error_that_ends_the_connection_says_so() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let tokens = client.batch("fatal");
    assert_eq!(
        (error_numbers(&tokens), final_status(&tokens)),
        (vec![50000], done::ERROR | done::SERVER_ERROR)
    );
    assert_eq!(client.receive(), None);
    server.stop();
}

#[test]
fn a_panic_ends_its_connection_only() {
    let (os, server) = start(|_| {});
    let (mut other, mut client) = (connected(&os, &server), connected(&os, &server));
    let tokens = client.batch("panic");
    assert_eq!(
        (error_numbers(&tokens), final_status(&tokens)),
        (vec![3624], done::ERROR | done::SERVER_ERROR)
    );
    assert_eq!(client.receive(), None);
    assert_eq!(other.batch("select 1").len(), 3);
    drop((other, client));
    let began_ns = os.clock().monotonic_ns();
    server.stop();
    assert!(os.clock().monotonic_ns() - began_ns < 2_000_000_000);
}

#[test]
fn a_reset_bit_is_acknowledged() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let bytes = client.writer.batch("select 1", status::RESET_CONNECTION);
    client.send(&bytes);
    assert_eq!(client.tokens()[0], Token::EnvChange(EnvChange::ResetConnection));
    server.stop();
}

#[test]
fn an_ignored_message_is_answered_with_an_error() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let bytes = client.writer.batch("select 1", status::IGNORE);
    client.send(&bytes);
    assert_ne!(final_status(&client.tokens()) & done::ERROR, 0);
    assert_eq!(client.batch("select 1").len(), 3);
    server.stop();
}

#[test]
fn bytes_that_are_no_bulk_load_end_the_connection() {
    let (os, server) = start(|_| {});
    for body in [&[0xFD][..], &[0x81, 0, 0], &[0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0xFF], &[]] {
        let mut client = connected(&os, &server);
        client.send(&[&[0x07, 1, 0, 8 + body.len() as u8, 0, 0, 1, 0], body].concat());
        let number = if body.is_empty() { 4804 } else { 4002 };
        assert_eq!(error_numbers(&client.tokens()), [number], "{body:?}");
        assert_eq!(client.receive(), None);
    }
    connected(&os, &server);
    server.stop();
}

#[test]
fn broken_requests_are_answered_and_end_the_connection() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    client.send(&[0x03, 1, 0, 10, 0, 0, 1, 0, 0xFF, 0xFF]);
    assert_eq!(error_numbers(&client.tokens()), [4002]);
    assert_eq!(client.receive(), None);
    server.stop();
}

#[test]
fn limits_hold_before_login() {
    let (os, server) = start(|config| config.login_timeout_ns = 300_000_000);
    for garbage in
        [&[0x12, 1, 0xFF, 0xFF, 0, 0, 1, 0][..], b"GET / HTTP/1.1\r\n\r\n", &[0x16, 3, 3, 0, 1, 0], &[0; 64]]
    {
        let mut client = Client::connect(&os, &server, TdsVersion::V7_4);
        client.send(garbage);
        let _ = client.stream.read(&mut [0; 64]);
    }
    // Half of a login, then silence: the time-out ends it.
    let mut client = Client::connect(&os, &server, TdsVersion::V7_4);
    client.send(&[0x10, 1, 0, 200, 0, 0, 1, 0, 1, 2, 3]);
    assert_eq!(client.receive(), None);
    // Endless packets of a login end at 64 KB.
    let mut client = Client::connect(&os, &server, TdsVersion::V7_4);
    let packet = [&[0x10, 0, 0x10, 0, 0, 0, 1, 0][..], &[0; 4088]].concat();
    let sent = (0..64).take_while(|_| client.stream.write_all(&packet).is_ok()).count();
    assert!(sent <= 64 && client.receive().is_none());
    connected(&os, &server);
    server.stop();
}

/// Logins that stop half way, at each stage, end by the server's time-out and hold no place forever.
#[test]
fn half_open_logins_are_ended() {
    let (os, server) = start(|config| {
        config.login_timeout_ns = 300_000_000;
        config.connections_max = 8;
    });
    let prelogin = PreLogin { encryption: Some(Encryption::On), ..PreLogin::default() };
    for round in 0..3 {
        let mut silent = Client::connect(&os, &server, TdsVersion::V7_4);
        let mut no_handshake = Client::connect(&os, &server, TdsVersion::V7_4);
        let bytes = no_handshake.writer.prelogin(&prelogin);
        no_handshake.send(&bytes);
        let mut half_handshake = Client::connect(&os, &server, TdsVersion::V7_4);
        half_handshake.send(&[0x16, 3, 1, 0x02, 0, 1, 0]);
        let mut one_login = RequestWriter::new(TdsVersion::V7_4, 4096).login7(&Login7::default());
        one_login.truncate(one_login.len() - 1);
        let mut nearly = Client::connect(&os, &server, TdsVersion::V7_4);
        nearly.send(&one_login);
        // Byte after byte: the time-out is for the whole login, not for each read.
        let dribbler = Client::connect(&os, &server, TdsVersion::V7_4);
        let sent = one_login.iter().cycle().take(2_000).take_while(|byte| {
            os.sleep(10_000_000, os::WaitType::SLEEP_TASK).unwrap();
            dribbler.stream.write_all(&[**byte]).is_ok()
        });
        assert!(sent.count() < 2_000, "round {round}: a slow client is not waited for");
        assert!(no_handshake.receive().is_some(), "the answer to PRELOGIN");
        for client in [&mut silent, &mut no_handshake, &mut half_handshake, &mut nearly] {
            assert_eq!(client.receive(), None, "round {round}");
        }
        // 5 of 8 places each round: they were released.
        assert_eq!(connected(&os, &server).batch("select 1").len(), 3);
    }
    server.stop();
}

#[test]
fn an_oversized_batch_is_refused_and_the_connection_goes_on() {
    let (os, server) = start(|config| config.message_bytes_max = 100_000);
    let mut client = connected(&os, &server);
    for length in [60_000, 5_000_000] {
        assert_eq!(error_numbers(&client.batch(&"x".repeat(length))), [4002]);
        assert_eq!(client.batch("select 1").len(), 3);
    }
    assert_eq!(client.batch(&format!("select 1 {}", " ".repeat(40_000))).len(), 3, "within the limit");
    server.stop();
}

#[test]
fn too_many_connections_are_refused_clearly() {
    let (os, server) = start(|config| config.connections_max = 2);
    let (_one, _two) = (connected(&os, &server), connected(&os, &server));
    let mut third = Client::connect(&os, &server, TdsVersion::V7_4);
    assert_eq!(error_numbers(&third.log_in(|_| {})), [17809]);
    server.stop();
}

#[test]
fn stopping_lets_a_request_finish_and_ends_idle_connections() {
    let (os, server) = start(|_| {});
    let mut idle = connected(&os, &server);
    let address = server.local_address();
    let mut busy = connected(&os, &server);
    let bytes = busy.writer.batch("rows 20000", 0);
    busy.send(&bytes);
    os.sleep(20_000_000, os::WaitType::SLEEP_TASK).unwrap();
    let stopper = os.spawn("stopper", move || server.stop());
    assert_eq!(busy.tokens().len(), 20_002);
    assert_eq!(idle.receive(), None);
    assert!(stopper.join().is_ok());
    assert!(os.net().connect(&address, 1_000_000_000).is_err());
}
