//! ALTER DATABASE ... SET SINGLE_USER: who leaves, who is kept out, who may change it again.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::simulated::{Server, connect, on_a_machine};
use common::{Seen, numbers, rows, run};
use hardpan_session::RequestEnd;
use os::WaitType;

/// No messages.
const NONE: [i32; 0] = [];
const A_SECOND_NS: u64 = 1_000_000_000;
const ACCESS: &str = "SELECT user_access_desc FROM sys.databases WHERE name = 'db'";

#[test]
fn one_session_at_a_time_is_in_it() {
    on_a_machine(1, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        run(&mut one, "CREATE DATABASE db; CREATE TABLE db.dbo.t (i INT)");
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET SINGLE_USER")), NONE);
        assert_eq!(rows(&mut one, ACCESS), ["SINGLE_USER"]);
        // Nobody is in it yet: whoever comes first.
        assert_eq!(numbers(&run(&mut two, "USE db")), [5701]);
        assert_eq!(numbers(&run(&mut one, "USE db")), [924]);
        assert_eq!(numbers(&run(&mut one, "SELECT * FROM db.dbo.t")), [924]);
        assert_eq!(rows(&mut two, "SELECT COUNT(*) FROM t"), ["0"]);
        for change in ["MULTI_USER", "SINGLE_USER", "READ_ONLY", "MULTI_USER WITH ROLLBACK IMMEDIATE"] {
            let seen = run(&mut one, &format!("ALTER DATABASE db SET {change}"));
            assert_eq!(numbers(&seen), [5064, 5069], "{change}");
        }
        assert_eq!(numbers(&run(&mut two, "ALTER DATABASE db SET MULTI_USER")), NONE);
        assert_eq!(numbers(&run(&mut one, "USE db")), [5701]);
        assert_eq!(rows(&mut one, ACCESS), ["MULTI_USER"]);
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET SINGLE_USER WITH NO_WAIT")), [5070, 5069]);
        assert_eq!(rows(&mut one, ACCESS), ["MULTI_USER"]);
        run(&mut two, "USE master");
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET SINGLE_USER WITH NO_WAIT")), NONE);
        assert_eq!(numbers(&run(&mut two, "USE db")), [924]);
        // Its own database once more, by another name for it.
        assert_eq!(rows(&mut one, "SELECT COUNT(*) FROM db.dbo.t"), ["0"]);
        run(&mut one, "USE master");
        assert_eq!(numbers(&run(&mut two, "SELECT COUNT(*) FROM db.dbo.t")), NONE, "a statement's visit");
        assert_eq!(numbers(&run(&mut two, "ALTER DATABASE db SET RESTRICTED_USER")), NONE);
        assert_eq!(numbers(&run(&mut one, "USE db")), [5701]);
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE tempdb SET SINGLE_USER")), [5058]);
        two.close();
        server.stop(one);
    });
}

/// The others are ended, and their transactions rolled back, at once or after a time.
#[test]
fn rollback_ends_the_others() {
    for (seed, how, after_s) in [(2, "ROLLBACK IMMEDIATE", 0), (3, "ROLLBACK AFTER 5 SECONDS", 5)] {
        on_a_machine(seed, move |os| {
            let server = Server::open(os);
            let mut one = server.session_in("master");
            run(&mut one, "CREATE DATABASE db; CREATE TABLE db.dbo.t (i INT)");
            let (shared, own_os) = (server.shared(), os.clone());
            let other = os.spawn("other", move || {
                let mut session = connect(&shared, "db");
                run(&mut session, "BEGIN TRAN; INSERT t VALUES (1)");
                // As a connection does that is hung up: it finds its session killed and closes it.
                loop {
                    let end = session.execute_batch("SELECT 1 AS a", &mut Seen::default());
                    if end != RequestEnd::Finished {
                        break;
                    }
                    own_os.sleep(A_SECOND_NS / 10, WaitType::WAITFOR).unwrap();
                }
                session.close();
            });
            os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
            let began_ns = os.clock().monotonic_ns();
            let seen = run(&mut one, &format!("USE db; ALTER DATABASE db SET SINGLE_USER WITH {how}"));
            assert_eq!(numbers(&seen), [5701, 5060], "{how}");
            let took_s = (os.clock().monotonic_ns() - began_ns) / A_SECOND_NS;
            assert_eq!(took_s, after_s, "{how}");
            assert_eq!(rows(&mut one, "SELECT COUNT(*) FROM t"), ["0"], "rolled back");
            other.join().unwrap();
            server.stop(one);
        });
    }
}

/// "ALTER DATABASE SET options": RESTRICTED_USER disconnects everybody in the time that the termination clause gives; then administrators
/// come in, as many as like.
#[test]
fn restricted_user_ends_the_others_and_lets_administrators_in() {
    on_a_machine(5, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        run(&mut one, "CREATE DATABASE db; CREATE TABLE db.dbo.t (i INT)");
        run(&mut two, "USE db; BEGIN TRAN; INSERT t VALUES (1)");
        let seen = run(&mut one, "ALTER DATABASE db SET RESTRICTED_USER WITH NO_WAIT");
        assert_eq!(numbers(&seen), [5070, 5069]);
        assert_eq!(rows(&mut one, ACCESS), ["MULTI_USER"]);
        let (shared, own_os) = (server.shared(), os.clone());
        let other = os.spawn("other", move || {
            let mut session = connect(&shared, "db");
            while session.execute_batch("SELECT 1 AS a", &mut Seen::default()) == RequestEnd::Finished {
                own_os.sleep(A_SECOND_NS / 10, WaitType::WAITFOR).unwrap();
            }
            session.close();
        });
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        run(&mut two, "ROLLBACK USE master");
        let seen = run(&mut one, "ALTER DATABASE db SET RESTRICTED_USER WITH ROLLBACK IMMEDIATE");
        assert_eq!(numbers(&seen), [5060]);
        other.join().unwrap();
        assert_eq!(rows(&mut one, ACCESS), ["RESTRICTED_USER"]);
        assert_eq!(numbers(&run(&mut one, "USE db")), [5701]);
        assert_eq!(numbers(&run(&mut two, "USE db")), [5701], "not one at a time");
        // It is so already: nobody has to leave.
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET RESTRICTED_USER WITH NO_WAIT")), NONE);
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET SINGLE_USER WITH NO_WAIT")), [5070, 5069]);
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET MULTI_USER")), NONE);
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE master SET RESTRICTED_USER")), [5058]);
        two.close();
        server.stop(one);
    });
}

/// Without a word about the others it waits for them.
#[test]
fn it_waits_for_the_others_to_leave() {
    on_a_machine(4, |os| {
        let server = Server::open(os);
        let mut one = server.session_in("master");
        run(&mut one, "CREATE DATABASE db");
        let (shared, own_os) = (server.shared(), os.clone());
        let other = os.spawn("other", move || {
            let session = connect(&shared, "db");
            own_os.sleep(3 * A_SECOND_NS, WaitType::WAITFOR).unwrap();
            session.close();
        });
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        let began_ns = os.clock().monotonic_ns();
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET SINGLE_USER")), NONE);
        assert!((os.clock().monotonic_ns() - began_ns) / A_SECOND_NS >= 1);
        other.join().unwrap();
        server.stop(one);
    });
}
