//! KILL and attention against real sessions: an idle connection ends and its transaction is rolled back; a stream of rows stops, whether its
//! client reads or not. Views show connections while they exist and not afterwards.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use common::client::{Client, error_numbers, final_status};
use common::world::{World, number};
use tds::client::TokenReader;
use tds::login7::TdsVersion;
use tds::token::done;

/// More rows than all buffers between two processes hold.
const STREAM: &str =
    "SELECT a.object_id, b.name, c.name FROM sys.all_columns a, sys.all_columns b, sys.all_columns c";

/// Whole packets in both directions (they were 0 before a fix); those of ended connections stay in the server's totals.
#[test]
fn packets_are_counted() {
    let world = World::new("packets");
    let (mut watcher, mut client) = (world.client(), world.client());
    let id = number(&client.batch("SELECT @@SPID"));
    let counts = |watcher: &mut Client| {
        let of =
            |column: &str| format!("SELECT {column} FROM sys.dm_exec_connections WHERE session_id = {id}");
        [number(&watcher.batch(&of("num_reads"))), number(&watcher.batch(&of("num_writes")))]
    };
    let before = counts(&mut watcher);
    assert_eq!(before, [2, 2], "login and a batch");
    client.batch("SELECT 1");
    assert_eq!(counts(&mut watcher), before.map(|count| count + 1), "one packet each");
    client.batch("SELECT REPLICATE('x', 8000), REPLICATE('x', 8000)");
    let after = counts(&mut watcher);
    assert_eq!(after[0], before[0] + 2);
    // 16,000 bytes in packets of 4,096 and 8,000.
    assert!((before[1] + 3..=before[1] + 5).contains(&after[1]), "{before:?} {after:?}");
    let totals = |watcher: &mut Client| {
        [number(&watcher.batch("SELECT @@PACK_RECEIVED")), number(&watcher.batch("SELECT @@PACK_SENT"))]
    };
    let with_both = totals(&mut watcher);
    assert!(with_both[0] > after[0] && with_both[1] > after[1], "two connections");
    drop(client);
    world.wait_for_end_of(id, &mut watcher);
    let later = totals(&mut watcher);
    assert!(later[0] > with_both[0] && later[1] > with_both[1], "what has ended is not forgotten: {later:?}");
}

#[test]
fn kill_ends_an_idle_session_and_its_transaction() {
    let world = World::new("idle");
    let (mut killer, mut victim) = (world.client(), world.client());
    killer.batch("CREATE TABLE t(i INT)");
    let id = number(&victim.batch("SELECT @@SPID"));
    let tokens = victim.batch("BEGIN TRAN; INSERT t VALUES (1)");
    assert!(error_numbers(&tokens).is_empty(), "{tokens:?}");
    assert!(error_numbers(&killer.batch(&format!("KILL {id}"))).is_empty());
    assert_eq!(victim.receive(), None, "the connection ends at once");
    world.wait_for_end_of(id, &mut killer);
    // No lock remains, and no row.
    assert_eq!(number(&killer.batch("SET LOCK_TIMEOUT 5000; SELECT COUNT(*) FROM t")), 0);
    assert_eq!(error_numbers(&killer.batch(&format!("KILL {id}"))), [6106]);
    assert_eq!(
        error_numbers(&killer.batch("DECLARE @k VARCHAR(20) = 'KILL ' + STR(@@SPID); EXEC(@k)")),
        [6104]
    );
}

#[test]
fn kill_stops_a_stream_of_rows() {
    let world = World::new("stream");
    let mut killer = world.client();
    for reads in [true, false] {
        let mut victim = world.client();
        let id = number(&victim.batch("SELECT @@SPID"));
        let bytes = victim.writer.batch(STREAM, 0);
        victim.send(&bytes);
        world.pause(200);
        assert!(error_numbers(&killer.batch(&format!("KILL {id}"))).is_empty());
        if reads {
            // Packets already sent arrive, then the end; 596 if it could still be sent.
            while victim.receive().is_some() {}
        }
        world.wait_for_end_of(id, &mut killer);
    }
    let mut victim = world.client();
    let id = number(&victim.batch("SELECT @@SPID"));
    let bytes = victim.writer.batch("WAITFOR DELAY '00:01:00'", 0);
    victim.send(&bytes);
    world.pause(200);
    killer.batch(&format!("KILL {id}"));
    assert_eq!(error_numbers(&victim.tokens()), [596]);
    assert_eq!(victim.receive(), None);
    world.wait_for_end_of(id, &mut killer);
}

/// Few rows, each with a value of millions of bytes: seconds of work between two interrupt checks per row.
#[test]
fn kill_stops_work_on_long_values() {
    let world = World::new("long-values");
    let (mut killer, mut victim) = (world.client(), world.client());
    let id = number(&victim.batch("SELECT @@SPID"));
    let text = "SELECT COUNT(*) FROM (SELECT TOP (250) name FROM sys.all_columns) q
                WHERE HASHBYTES('SHA2_512', REPLICATE(CAST(q.name AS varchar(max)), 1000000)) = 0x00";
    let bytes = victim.writer.batch(text, 0);
    victim.send(&bytes);
    world.pause(300);
    assert!(error_numbers(&killer.batch(&format!("KILL {id}"))).is_empty());
    world.wait_for_end_of(id, &mut killer);
}

/// Prints the time, in milliseconds; the test is that it happens while the stream could continue for hours.
#[test]
fn an_attention_stops_a_stream_of_rows() {
    let world = World::new("attention");
    let mut client = world.client();
    let bytes = client.writer.batch(STREAM, 0);
    client.send(&bytes);
    world.pause(300);
    let began_ns = world.os.clock().monotonic_ns();
    let attention = client.writer.attention();
    client.send(&attention);
    // All packets already sent, and the acknowledgement.
    let rows = client.receive().expect("the cancelled answer");
    let acknowledgement = client.receive().expect("its acknowledgement");
    let took_ns = world.os.clock().monotonic_ns() - began_ns;
    println!("{} bytes read, answered after {} ms", rows.len(), took_ns / 1_000_000);
    let tokens = |payload: &[u8]| TokenReader::new(payload, TdsVersion::V7_4).collect().unwrap();
    assert_ne!(final_status(&tokens(&rows)) & done::ERROR, 0);
    assert_eq!(final_status(&tokens(&acknowledgement)), done::ATTENTION);
    assert_eq!(number(&client.batch("SELECT 7")), 7);
}
