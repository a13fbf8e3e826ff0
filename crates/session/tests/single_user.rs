//! ALTER DATABASE ... SET: which options need exclusive access, which sessions must leave or are kept out, and which may change the option again.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::simulated::{Server, connect, on_a_machine};
use crate::common::{Seen, numbers, rows, run};
use hardpan_session::{RequestEnd, Session};
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
        // The database has no user yet: the first session may enter.
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

/// The other sessions are killed, and their transactions rolled back, at once or after a time.
#[test]
fn rollback_ends_the_others() {
    for (seed, option, how, after_s) in [
        (2, "SINGLE_USER", "ROLLBACK IMMEDIATE", 0),
        (3, "SINGLE_USER", "ROLLBACK AFTER 5 SECONDS", 5),
        (6, "READ_ONLY", "ROLLBACK IMMEDIATE", 0),
        (7, "READ_COMMITTED_SNAPSHOT ON", "ROLLBACK AFTER 2", 2),
        (8, "DATE_CORRELATION_OPTIMIZATION ON", "ROLLBACK IMMEDIATE", 0),
        (9, "RECOVERY FULL, READ_ONLY", "ROLLBACK IMMEDIATE", 0),
    ] {
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
            let seen = run(&mut one, &format!("USE db; ALTER DATABASE db SET {option} WITH {how}"));
            assert_eq!(numbers(&seen), [5701, 5060], "{option} {how}");
            let took_s = (os.clock().monotonic_ns() - began_ns) / A_SECOND_NS;
            assert_eq!(took_s, after_s, "{how}");
            assert_eq!(rows(&mut one, "SELECT COUNT(*) FROM t"), ["0"], "rolled back");
            other.join().unwrap();
            server.stop(one);
        });
    }
}

/// "ALTER DATABASE SET options": RESTRICTED_USER disconnects all sessions in the time that the termination clause gives; then any number of
/// administrators may enter.
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
        // It is so already: no session must leave.
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET RESTRICTED_USER WITH NO_WAIT")), NONE);
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET SINGLE_USER WITH NO_WAIT")), [5070, 5069]);
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET MULTI_USER")), NONE);
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE master SET RESTRICTED_USER")), [5058]);
        two.close();
        server.stop(one);
    });
}

/// Without a termination clause it waits for the others.
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

/// The forms accepted after ALTER DATABASE d SET: each word of the table of clauses with ON, each of its examples, the states.
fn every_option(session: &mut Session) -> Vec<String> {
    let rows = query::clauses::rows(query::clauses::TABLE).unwrap();
    let rows = || rows.iter().filter(|row| row.place.ends_with("ALTER DATABASE SET"));
    let examples = rows().flat_map(|row| &row.examples).filter_map(|example| {
        let option = example.strip_suffix("=> ok")?.trim().strip_prefix("ALTER DATABASE d SET ")?;
        (!option.contains(" WITH ")).then(|| option.to_string())
    });
    let words = rows().flat_map(|row| &row.words).map(|word| format!("{word} ON"));
    let states = [
        "MULTI_USER",
        "SINGLE_USER",
        "RESTRICTED_USER",
        "READ_ONLY",
        "READ_WRITE",
        "ONLINE",
        "RECOVERY FULL",
    ];
    let durability = ["DELAYED_DURABILITY = FORCED", "RECOVERY SIMPLE, DELAYED_DURABILITY = ALLOWED"];
    let all = examples.chain(words).chain(states.iter().chain(&durability).map(|text| text.to_string()));
    let mut taken: Vec<String> = all
        .filter(|option| {
            run(session, "CREATE DATABASE other");
            let seen = run(session, &format!("ALTER DATABASE other SET {option}"));
            run(session, "DROP DATABASE other");
            numbers(&seen).is_empty()
        })
        .collect();
    taken.sort();
    taken.dedup();
    taken
}

/// The termination clause for every option: it kills no session and waits for none if the option can change while the database is
/// in use; otherwise NO_WAIT is refused; if the clause has no meaning for the option, the clause is refused.
#[test]
fn the_clause_of_termination_has_its_effect_for_every_option() {
    on_a_machine(10, |os| {
        let server = Server::open(os);
        let mut one = server.session_in("master");
        let options = every_option(&mut one);
        assert!(options.len() > 40, "{options:?}");
        let alone = [
            "SINGLE_USER",
            "RESTRICTED_USER",
            "READ_ONLY",
            "READ_COMMITTED_SNAPSHOT ON",
            "DATE_CORRELATION_OPTIMIZATION ON",
        ];
        let mut met = 0;
        for option in &options {
            run(&mut one, "CREATE DATABASE db; CREATE TABLE db.dbo.t (i INT)");
            let mut other = server.session_in("db");
            run(&mut other, "BEGIN TRAN INSERT t VALUES (1)");
            let expected: &[i32] = match option {
                option if alone.contains(&option.as_str()) => &[5070, 5069],
                option if option.starts_with("ALLOW_SNAPSHOT_ISOLATION") => &[5083, 5069],
                _ => &NONE,
            };
            met += usize::from(!expected.is_empty());
            let before = rows(&mut one, "SELECT * FROM sys.databases WHERE name = 'db'");
            let seen = run(&mut one, &format!("ALTER DATABASE db SET {option} WITH NO_WAIT"));
            assert_eq!(numbers(&seen), expected, "{option}");
            if expected.is_empty() {
                let seen = run(&mut one, &format!("ALTER DATABASE db SET {option} WITH ROLLBACK IMMEDIATE"));
                assert_eq!(numbers(&seen), NONE, "{option}");
            } else {
                assert_eq!(
                    rows(&mut one, "SELECT * FROM sys.databases WHERE name = 'db'"),
                    before,
                    "{option}"
                );
            }
            assert_eq!(rows(&mut other, "SELECT @@TRANCOUNT, COUNT(*) FROM t"), ["1|1"], "{option}");
            run(&mut other, "ROLLBACK");
            other.close();
            run(&mut one, "DROP DATABASE db");
        }
        assert_eq!(met, alone.len() + 2, "ALLOW_SNAPSHOT_ISOLATION ON and OFF");
        run(&mut one, "CREATE DATABASE db; ALTER DATABASE db SET READ_ONLY");
        let other = server.session_in("db");
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE db SET READ_ONLY WITH NO_WAIT")), NONE, "as it is");
        let seen = run(&mut one, "ALTER DATABASE db SET READ_WRITE WITH NO_WAIT");
        assert_eq!(numbers(&seen), [5070, 5069]);
        for versions in ["READ_COMMITTED_SNAPSHOT", "ALLOW_SNAPSHOT_ISOLATION"] {
            let seen = run(&mut one, &format!("ALTER DATABASE db SET MULTI_USER, {versions} ON"));
            assert_eq!(numbers(&seen), [5082, 5069]);
        }
        other.close();
        server.stop(one);
    });
}
