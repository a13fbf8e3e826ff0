//! Files restored to an earlier state: a ticket of a later commit is unknown, never HARDENED; files of different times
//! are refused, not opened with changes missing; a page with a wrong incarnation is reported, not asserted.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::PathBuf;
use std::sync::Arc;

use crate::common::simulated::{NAME, Server, kept, number};
use crate::common::{Seen, rows, run};
use hardpan_session::Session;
use os::Latch;
use os::sim::{DiskImage, Profile, World};

type Tickets = Arc<Latch<Vec<String>>>;

/// One commit for each key, and its ticket as a literal.
fn commit(session: &mut Session, keys: std::ops::Range<i64>, tickets: &Tickets) {
    for key in keys {
        let text = format!("INSERT dbo.T1 VALUES ({key}); SELECT CONVERT(varchar(80), @@COMMIT_TICKET, 1)");
        let ticket = rows(session, &text).remove(0);
        tickets.lock().push(ticket);
    }
}

fn status(session: &mut Session, ticket: &str) -> String {
    rows(session, &format!("SELECT ISNULL(sys.fn_commit_status({ticket}), 'NULL')")).remove(0)
}

/// One life of the server that stops in an orderly way.
fn live(world: &World, life: impl FnOnce(&Server, Session) -> Session + Send + 'static) {
    let life = move |os: &os::Os| {
        let server = Server::open(os);
        let session = server.session();
        let session = life(&server, session);
        server.stop(session);
    };
    world.run(life).assert_ok();
}

/// A world with the table and two commits, at rest.
fn begun(tickets: &Tickets) -> World {
    let world = World::new(1, Profile::constant_latency());
    let tickets = Arc::clone(tickets);
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            commit(&mut session, 1..3, &tickets);
            server.stop(session);
        })
        .assert_ok();
    world
}

/// All files are restored to an earlier state, and the server continues from there: new commits take the log positions of the lost ones.
#[test]
fn a_ticket_from_after_the_copy_is_nobodys() {
    let (kept_ones, gone, new) = (kept(Vec::new()), kept(Vec::new()), kept(Vec::new()));
    let world = begun(&kept_ones);
    let copy: DiskImage = world.disk_image();
    let told = Arc::clone(&gone);
    live(&world, move |_, mut session| {
        commit(&mut session, 10..14, &told);
        let told = told.lock().clone();
        for ticket in &told {
            assert_eq!(status(&mut session, ticket), "HARDENED");
        }
        session
    });
    let world = World::with_disk(2, Profile::constant_latency(), copy);
    for life in 0..3 {
        let (kept_ones, gone, new) = (Arc::clone(&kept_ones), Arc::clone(&gone), Arc::clone(&new));
        live(&world, move |_, mut session| {
            let first = 100 + life * 10;
            commit(&mut session, first..first + 10, &new);
            let mut there = kept_ones.lock().clone();
            there.extend(new.lock().clone());
            for ticket in &there {
                assert_eq!(status(&mut session, ticket), "HARDENED", "life {life}");
            }
            let gone = gone.lock().clone();
            for ticket in &gone {
                assert_eq!(status(&mut session, ticket), "NULL", "life {life}: its commit is not there");
                let seen = run(&mut session, &format!("WAITFOR DURABLE {ticket}, TIMEOUT 10"));
                let numbers: Vec<i32> = seen.messages.iter().map(|message| message.0).collect();
                assert_eq!(numbers, [42954]);
            }
            assert_eq!(number(&mut session, "SELECT COUNT(*) FROM dbo.T1 WHERE col1 < 100"), 2);
            session
        });
    }
}

/// The files of the database whose names end with `ending`.
fn files(world: &World, ending: &str) -> Vec<PathBuf> {
    let is_its =
        |path: &PathBuf| path.to_string_lossy().contains(NAME) && path.to_string_lossy().ends_with(ending);
    world.files().into_iter().filter(is_its).collect()
}

/// One file is older than the others: the database reports that and is not opened; other databases are. With all files restored it opens.
#[test]
fn a_file_of_another_moment_is_refused() {
    let tickets = kept(Vec::new());
    let world = begun(&tickets);
    let into = Arc::clone(&tickets);
    live(&world, move |_, mut session| {
        let add = "ADD FILE (NAME = more, FILENAME = '/data/PerformanceV3_more.ndf', SIZE = 1MB)";
        let seen = run(&mut session, &format!("ALTER DATABASE {NAME} {add}"));
        assert_eq!(seen.messages, []);
        commit(&mut session, 3..5, &into);
        session
    });
    let earlier: Vec<(PathBuf, Vec<u8>)> = [".mdf", ".ndf", ".ldf"]
        .into_iter()
        .flat_map(|ending| files(&world, ending))
        .map(|path| (path.clone(), world.file_bytes(&path).unwrap()))
        .collect();
    assert_eq!(earlier.len(), 3, "{:?}", world.files());
    let into = Arc::clone(&tickets);
    live(&world, move |_, mut session| {
        commit(&mut session, 10..20, &into);
        run(&mut session, "CHECKPOINT");
        session
    });
    let (later, image) = (world.disk_image(), world.disk_image());
    for (path, bytes) in &earlier {
        let world = World::with_disk(3, Profile::constant_latency(), image.clone());
        world.corrupt(path, 0, bytes);
        // A restart does not open it either.
        for _ in 0..3 {
            let report = world.run(|os| {
                let server = Server::open(os);
                let mut session = server.session_in("master");
                let state = rows(
                    &mut session,
                    &format!("SELECT state_desc FROM sys.databases WHERE name = '{NAME}'"),
                );
                assert_eq!(state, ["SUSPECT"]);
                let mut seen = Seen::default();
                session.execute_batch(&format!("SELECT COUNT(*) FROM {NAME}.dbo.T1"), &mut seen);
                assert_eq!(seen.messages.first().map(|message| message.0), Some(926));
                server.stop(session);
            });
            report.assert_ok();
            let told = report.log.iter().any(|line| line.contains("is of another time than the log"));
            assert!(told, "{}: {:?}", path.display(), report.log);
        }
    }
    // All of one time.
    let world = World::with_disk(4, Profile::constant_latency(), later);
    live(&world, |_, mut session| {
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM dbo.T1"), 14);
        session
    });
}
