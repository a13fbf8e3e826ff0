//! Few workers, many connections: what waits or computes for long keeps nobody from being served, and a request whose
//! commit is on its way needs no worker. Over real sockets, with sessions that wait for each other at a gate.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::client::{Client, connected, error_numbers, final_status, start, start_gated};
use std::sync::Mutex;

use os::{Os, WaitType};
use tds::client::Token;
use tds::token::EnvChange;

/// More than there are workers on any machine before they are needed.
const MANY: usize = 100;

/// Connections that all have sent `text` and have no answer yet.
fn all_ask(os: &Os, server: &hardpan_server::Server, count: usize, text: &str) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| connected(os, server)).collect();
    for client in &mut clients {
        let bytes = client.writer.batch(text, 0);
        client.send(&bytes);
    }
    clients
}

/// Tests that make many workers, or count them, run one after the other.
static WORKERS: Mutex<()> = Mutex::new(());

#[allow(clippy::disallowed_methods, reason = "what the system says")]
fn worker_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim() == "WORKER").count()
}

fn is_commit(token: &Token) -> bool {
    matches!(token, Token::EnvChange(EnvChange::CommitTransaction(_)))
}

#[test]
fn requests_that_wait_for_each_other_all_end() {
    let _alone = WORKERS.lock().unwrap();
    let (os, server, gate) = start_gated(|config| config.connections_max = 2 * MANY);
    let mut waiting = all_ask(&os, &server, MANY, "wait");
    gate.wait_for(MANY);
    // Each of them has a worker, and waits; the one that lets them go gets one, too.
    assert_eq!(connected(&os, &server).batch("open").len(), 1);
    for client in &mut waiting {
        assert_eq!(final_status(&client.tokens()), 0);
    }
    server.stop();
}

#[test]
fn requests_that_compute_for_long_do_not_keep_others_from_being_served() {
    let (os, server, gate) = start_gated(|_| {});
    let count = 2 + os::process::processor_count();
    let mut computing = all_ask(&os, &server, count, "compute");
    gate.wait_for(count);
    let mut other = connected(&os, &server);
    for _ in 0..3 {
        assert_eq!(other.batch("select 1").len(), 3);
    }
    other.batch("open");
    for client in &mut computing {
        assert_eq!(final_status(&client.tokens()), 0);
    }
    server.stop();
}

#[test]
fn a_request_whose_commit_is_on_its_way_needs_no_worker_and_is_answered_when_it_is_hardened() {
    let (os, server, gate) = start_gated(|config| config.connections_max = 2 * MANY);
    let _alone = WORKERS.lock().unwrap();
    let mut committing = all_ask(&os, &server, MANY, "later");
    gate.wait_for(MANY);
    let mut other = connected(&os, &server);
    assert_eq!(other.batch("select 1").len(), 3);
    assert!(worker_threads() < MANY, "those of the other tests of this process are among them");
    for client in &committing {
        assert_eq!(client.stream.peek_now(&mut [0; 8]).unwrap(), None, "nothing is told before");
    }
    other.batch("open");
    for client in &mut committing {
        let tokens = client.tokens();
        assert!(tokens.iter().any(is_commit) && error_numbers(&tokens).is_empty(), "{tokens:?}");
        assert_eq!(client.batch("select 1").len(), 3);
    }
    server.stop();
}

#[test]
fn what_was_said_of_a_commit_is_taken_back_when_it_fails() {
    let (os, server, gate) = start_gated(|_| {});
    let mut committing = all_ask(&os, &server, 1, "later fails");
    gate.wait_for(1);
    connected(&os, &server).batch("open");
    let tokens = committing[0].tokens();
    assert_eq!(error_numbers(&tokens), [9001]);
    assert!(!tokens.iter().any(is_commit), "{tokens:?}");
    assert!(tokens.iter().any(|token| matches!(token, Token::EnvChange(EnvChange::RollbackTransaction(_)))));
    assert_eq!(final_status(&tokens) & tds::token::done::ERROR, tds::token::done::ERROR);
    server.stop();
}

#[test]
fn an_attention_and_the_end_of_a_client_wait_for_a_commit_on_its_way() {
    let (os, server, gate) = start_gated(|_| {});
    let mut committing = all_ask(&os, &server, 2, "later");
    gate.wait_for(2);
    let attention = committing[0].writer.attention();
    committing[0].send(&attention);
    drop(committing.pop());
    // Longer than the monitor needs to see both.
    os.sleep(50_000_000, WaitType::SLEEP_TASK).unwrap();
    connected(&os, &server).batch("open");
    let tokens = committing[0].tokens();
    assert!(tokens.iter().any(is_commit), "the commit has happened: {tokens:?}");
    let acknowledged = committing[0].tokens();
    assert_eq!(final_status(&acknowledged) & tds::token::done::ATTENTION, tds::token::done::ATTENTION);
    assert_eq!(committing[0].batch("select 1").len(), 3);
    server.stop();
}

#[test]
fn a_server_that_stops_waits_for_a_commit_on_its_way() {
    let (os, server, gate) = start_gated(|_| {});
    let mut committing = all_ask(&os, &server, 1, "later");
    gate.wait_for(1);
    let stopper = os.spawn("stopper", move || server.stop());
    os.sleep(20_000_000, WaitType::SLEEP_TASK).unwrap();
    gate.open();
    assert!(committing[0].tokens().iter().any(is_commit));
    assert_eq!(committing[0].receive(), None);
    assert!(stopper.join().is_ok());
}

#[test]
fn requests_that_come_together_are_answered_in_turn() {
    let (os, server) = start(|_| {});
    let mut client = connected(&os, &server);
    let mut together = Vec::new();
    for _ in 0..50 {
        together.extend(client.writer.batch("select 1", 0));
        together.extend(client.writer.batch("two", 0));
    }
    client.send(&together);
    for _ in 0..50 {
        assert_eq!(client.tokens().len(), 3);
        assert_eq!(client.tokens().len(), 6);
    }
    // And one that comes in pieces.
    let bytes = client.writer.batch("select 1", 0);
    for byte in bytes.chunks(1) {
        client.send(byte);
    }
    assert_eq!(client.tokens().len(), 3);
    server.stop();
}
