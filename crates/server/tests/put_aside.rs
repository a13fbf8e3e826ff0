//! A request with a pending commit occupies no worker, and sends nothing before the commit is hardened. Over real sockets;
//! the log is a gate.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::client::{all_ask, connected, error_numbers, final_status, start_gated};
use os::WaitType;
use tds::client::Token;
use tds::token::EnvChange;

/// Many more than there are workers.
const MANY: usize = 100;

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
fn a_request_whose_commit_is_on_its_way_needs_no_worker_and_is_answered_when_it_is_hardened() {
    let (os, server, gate) = start_gated(|config| config.connections_max = 2 * MANY);
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
    // Longer than the monitor needs to notice both.
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
