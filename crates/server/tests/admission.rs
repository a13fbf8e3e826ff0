//! Admission under load: half-open connections use no thread and no place, and administrators have a port of their own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test; it counts the process's threads")]

mod common;

use common::client::{Client, all_ask, connected, error_numbers, start, start_gated};
use hardpan_server::Server;
use os::Os;
use tds::client::{RequestWriter, Token};
use tds::login7::{Login7, Password, TdsVersion};
use tds::prelogin::{Encryption, PreLogin};

/// More than may be half open from one address.
const FLOOD: usize = 300;
const HALF_OPEN_MAX: usize = 50;

fn client(os: &Os, server: &Server) -> Client {
    Client::connect(os, server, TdsVersion::V7_4)
}

fn administrator(os: &Os, server: &Server) -> Client {
    Client::connect_to(os, &server.administrator_address().unwrap(), TdsVersion::V7_4)
}

fn is_let_in(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| matches!(token, Token::LoginAck { .. }))
}

/// The names of this process's threads with this prefix.
fn threads_named(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with(prefix)).count()
}

/// Any number of clients stop at any point of their login: a new client is admitted at once, and no thread waits for the others.
#[test]
fn a_flood_of_half_open_connections_shuts_nobody_out() {
    let (os, server) = start(|config| {
        config.connections_max = 4;
        config.half_open_of_address_max = HALF_OPEN_MAX;
        config.login_timeout_ns = 3_600_000_000_000;
    });
    let threads = threads_named("");
    let mut login = RequestWriter::new(TdsVersion::V7_4, 4096).login7(&Login7::default());
    login.truncate(login.len() - 1);
    let prelogin = PreLogin { encryption: Some(Encryption::On), ..PreLogin::default() };
    let mut flood = Vec::new();
    for at in 0..FLOOD {
        let mut one = client(&os, &server);
        let bytes = match at % 4 {
            0 => Vec::new(),
            1 => vec![0x16, 3, 1, 0x02, 0, 1, 0],
            2 => one.writer.prelogin(&prelogin),
            _ => login.clone(),
        };
        // A connection that was closed already takes nothing more.
        drop(one.stream.write_all(&bytes));
        flood.push(one);
    }
    let mut one = connected(&os, &server);
    assert_eq!(one.batch("select 1").len(), 3);
    let more = threads_named("").saturating_sub(threads);
    assert!(more < FLOOD / 2, "{more} threads more for {FLOOD} connections that have said nothing");
    // The oldest were closed: those after the last few are closed.
    let given_way = FLOOD - HALF_OPEN_MAX;
    let closed = flood
        .iter_mut()
        .take(given_way)
        .filter(|one| one.stream.peek_now(&mut [0]) == Ok(Some(0)) || one.stream.has_hung_up());
    assert!(closed.count() > given_way / 2, "the oldest are closed");
    // All places are still there.
    let mut others: Vec<Client> = (0..3).map(|_| connected(&os, &server)).collect();
    assert_eq!(error_numbers(&client(&os, &server).log_in(|_| {})), [17809]);
    drop(others.pop());
    one.batch("select 1");
    server.stop();
}

/// Wrong passwords wait in a queue without threads; a remembered login is admitted meanwhile, and the right password of a new one, too.
#[test]
fn wrong_passwords_keep_few_threads() {
    let (os, server) = start(|_| {});
    let mut known = connected(&os, &server);
    let mut guessing: Vec<Client> = (0..40).map(|_| client(&os, &server)).collect();
    for one in &mut guessing {
        let login =
            Login7 { user_name: "sa".into(), password: Password("guess".into()), ..Login7::default() };
        let bytes = one.writer.login7(&login);
        one.send(&bytes);
    }
    assert!(threads_named("LOGIN") <= 2 * RUNNING_SERVERS_MAX, "{}", threads_named("LOGIN"));
    connected(&os, &server);
    assert_eq!(known.batch("select 1").len(), 3);
    for one in &mut guessing {
        assert_eq!(error_numbers(&one.tokens()), [18456]);
    }
    server.stop();
}

/// The tests of this file run concurrently, in one process.
const RUNNING_SERVERS_MAX: usize = 5;

/// All places are taken and all their owners wait: an administrator is served nevertheless, one at a time.
#[test]
fn an_administrator_has_a_place_and_a_worker() {
    let (os, server, gate) = start_gated(|config| {
        config.connections_max = 30;
        config.listen_for_administrators = Some("127.0.0.1:0".into());
    });
    let waiting = all_ask(&os, &server, 30, "wait");
    gate.wait_for(30);
    assert_eq!(error_numbers(&client(&os, &server).log_in(|_| {})), [17809]);
    let mut one = administrator(&os, &server);
    assert!(is_let_in(&one.log_in(|_| {})));
    assert_eq!(one.batch("select 1").len(), 3);
    assert_eq!(error_numbers(&administrator(&os, &server).log_in(|_| {})), [17810]);
    assert_eq!(
        error_numbers(&administrator(&os, &server).log_in(|login| login.password = Password("no".into()))),
        [17810]
    );
    drop(one);
    // Its place is free again once a worker has noticed its end.
    let mut again = administrator(&os, &server);
    while !is_let_in(&again.log_in(|_| {})) {
        again = administrator(&os, &server);
    }
    assert_eq!(again.batch("open").len(), 1);
    drop(waiting);
    server.stop();
}

/// A port in use refuses the start before anything is created.
#[test]
fn an_occupied_port_refuses_the_start() {
    use hardpan_server::{Config, Sockets};
    let (os, server) = start(|_| {});
    let mut config = Config::new(std::env::temp_dir().join("hardpan-never-made"));
    config.listen = server.local_address();
    assert!(Sockets::bind(&os, &config, false).is_err());
    // The default administrators' port may be replaced by another.
    config.listen = "127.0.0.1:0".into();
    config.listen_for_administrators = Some(server.local_address());
    assert!(Sockets::bind(&os, &config, false).is_err());
    assert!(Sockets::bind(&os, &config, true).is_ok());
    server.stop();
}
