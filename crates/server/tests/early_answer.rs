//! An answer sent in part while its request runs: under COMMIT_ACK = BATCH nothing is sent that reveals a commit which is not
//! durable, of the session's own or one that it has read, and a ticket that was sent is HARDENED. A real engine over the wire, whose log
//! is flushed for no other reason.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test tidies up")]

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::client::{Client, PASSWORD, connected};
use engine::{Database, Instance, InstanceOptions};
use hardpan_server::{Config, Server, Sockets};
use os::Os;
use session::SessionShared;
use tds::client::Token;

/// INFO with the ticket of a commit.
const TICKET_TOLD: i32 = 42951;

/// A server with a database whose delayed commits, and commits with early lock release, stay in the cache.
struct World {
    os: Os,
    folder: PathBuf,
    instance: Arc<Instance>,
    server: Server,
}

impl World {
    fn start() -> World {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let os = Os::real();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("hardpan-early-{}-{number}", os::process::id()));
        let instance = Instance::open(&os, &InstanceOptions::new(folder.join("data"))).unwrap();
        let mut config = Config::new(folder.clone());
        config.listen = "127.0.0.1:0".into();
        let sessions = SessionShared::new(instance.clone(), "test", 0);
        let sockets = Sockets::bind(&os, &config, false).unwrap();
        let server = Server::start(&os, config, sockets, Some(PASSWORD), Box::new(sessions)).unwrap();
        let world = World { os, folder, instance, server };
        let mut client = connected(&world.os, &world.server);
        client.batch("CREATE DATABASE early");
        client.batch("CREATE TABLE early.dbo.t (i int NOT NULL)");
        world.database().log().suspend_background_flush(true);
        world
    }

    fn database(&self) -> Arc<Database> {
        self.instance.database("early").unwrap()
    }

    fn client(&self) -> Client {
        let mut client = connected(&self.os, &self.server);
        client.batch("USE early; SET NOCOUNT ON");
        client
    }

    /// The newest commit that waits for its batch's acknowledgement, and whether it is durable.
    fn is_early_release_hard(&self) -> bool {
        let database = self.database();
        let released = database.transactions().last_early_release();
        assert!(!released.is_null(), "COMMIT_ACK = BATCH releases locks early");
        released <= database.log().hardened()
    }

    fn stop(self) {
        self.server.stop();
        self.instance.shutdown();
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Sends a batch and reads the first bytes of its answer: whatever they are, the batch continues.
fn first_bytes(client: &mut Client, text: &str) -> usize {
    let bytes = client.writer.batch(text, 0);
    client.send(&bytes);
    let mut buffer = [0; 4096];
    let count = client.stream.read(&mut buffer).unwrap();
    client.reader.feed(&buffer[..count]).unwrap();
    count
}

/// Ends the request by an attention; returns the answer, with the part sent before.
fn cancel(client: &mut Client) -> Vec<Token> {
    let bytes = client.writer.attention();
    client.send(&bytes);
    client.tokens()
}

/// More rows than one packet, and then a long wait: the part sent depends on a durable commit only.
#[test]
fn rows_that_leave_early_wait_for_the_commits_before_them() {
    let world = World::start();
    let mut client = world.client();
    let text = "SET COMMIT_ACK = BATCH; INSERT t VALUES (1);
                SELECT TOP (2000) REPLICATE('x', 200) FROM master..spt_values a CROSS JOIN master..spt_values b;
                WAITFOR DELAY '01:00:00'";
    assert!(first_bytes(&mut client, text) > 0);
    assert!(world.is_early_release_hard(), "an answer has left, its commit is not hard");
    cancel(&mut client);
    world.stop();
}

/// RAISERROR WITH NOWAIT sends the pending answer; the ticket in it is HARDENED for the client that gets it.
#[test]
fn a_ticket_that_leaves_early_is_hard() {
    let world = World::start();
    let mut client = world.client();
    let text = "SET COMMIT_TICKETS ON; SET COMMIT_ACK = BATCH; INSERT t VALUES (1); INSERT t VALUES (2);
                RAISERROR ('now', 10, 1) WITH NOWAIT; WAITFOR DELAY '01:00:00'";
    let count = first_bytes(&mut client, text);
    assert!(world.is_early_release_hard(), "{count} bytes with a ticket have left, its commit is not hard");
    let ticket_in = |token: &Token| match token {
        Token::Message { error, .. } if error.number == TICKET_TOLD => error
            .message
            .split(' ')
            .find(|word| word.starts_with("0x"))
            .map(|word| word.trim_end_matches('.').to_owned()),
        _ => None,
    };
    let tickets: Vec<String> = cancel(&mut client).iter().filter_map(ticket_in).collect();
    assert_eq!(tickets.len(), 2, "one for each commit");
    for ticket in tickets {
        let tokens = world.client().batch(&format!("SELECT sys.fn_commit_status({ticket})"));
        let status = tokens.iter().find_map(|token| match token {
            Token::Row(values) => values[0].as_text(),
            _ => None,
        });
        assert_eq!(status.as_deref(), Some("HARDENED"), "{ticket}");
    }
    world.stop();
}

/// An early part of a reader's answer also waits for commits that another session has made and not acknowledged.
#[test]
fn rows_of_others_that_leave_early_are_hard() {
    let world = World::start();
    let (mut writer, mut reader) = (world.client(), world.client());
    // The writer's own answer is not sent: the session sleeps after its commit, with nothing to send.
    let bytes =
        writer.writer.batch("SET COMMIT_ACK = BATCH; INSERT t VALUES (1); WAITFOR DELAY '01:00:00'", 0);
    writer.send(&bytes);
    while world.database().transactions().last_early_release().is_null() {
        world.os.yield_point();
        let _ = world.os.sleep(1_000_000, os::WaitType::WAITFOR);
    }
    assert!(!world.is_early_release_hard(), "nobody has been told of it");
    let text = "SELECT TOP (2000) REPLICATE('x', 200), t.i FROM t CROSS JOIN master..spt_values a CROSS JOIN master..spt_values b;
                WAITFOR DELAY '01:00:00'";
    assert!(first_bytes(&mut reader, text) > 0);
    assert!(world.is_early_release_hard(), "a row has left, its commit is not hard");
    cancel(&mut reader);
    cancel(&mut writer);
    world.stop();
}
