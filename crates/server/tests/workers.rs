//! Few workers, many connections: waits and long computations block no other connection. Over real sockets, with
//! sessions that wait for each other at a gate.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::client::{all_ask, connected, final_status, start, start_gated};

/// More than there are workers on any machine before they are needed.
const MANY: usize = 100;

#[test]
fn requests_that_wait_for_each_other_all_end() {
    let (os, server, gate) = start_gated(|config| config.connections_max = 2 * MANY);
    let mut waiting = all_ask(&os, &server, MANY, "wait");
    gate.wait_for(MANY);
    // Each of them occupies a worker, and waits; the one that opens the gate gets one, too.
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
