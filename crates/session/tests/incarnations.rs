//! A database that is dropped and created again under its name is another database: nothing that was bound to the first is used for the
//! second, and nothing of the first is left.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test looks at its own descriptors")]

use std::sync::{Arc, Weak};

use crate::common::simulated::{Server, on_a_machine};
use crate::common::{Seen, World, numbers, rows, run};
use engine::Database;
use hardpan_session::{RpcCall, RpcParameter, RpcTarget, Session};
use types::{SqlType, Value};

/// No messages.
const NONE: [i32; 0] = [];

/// Makes `rp` with a table of so many rows and everything of it that is called by name.
fn make(session: &mut Session, count: usize) {
    let seen = run(session, "CREATE DATABASE rp");
    assert_eq!(numbers(&seen), NONE, "{:?}", seen.messages);
    run(session, "USE rp");
    run(session, "CREATE TABLE t (i INT NOT NULL)");
    for _ in 0..count {
        assert_eq!(numbers(&run(session, "INSERT t VALUES (1)")), NONE);
    }
    run(session, "CREATE PROCEDURE counts AS SELECT COUNT(*) FROM t");
    run(session, "CREATE VIEW seen AS SELECT i FROM t");
    run(
        session,
        "CREATE FUNCTION listed (@least INT) RETURNS TABLE AS RETURN (SELECT i FROM t WHERE i >= @least)",
    );
    run(session, "USE master");
}

fn drop_it(session: &mut Session) {
    assert_eq!(numbers(&run(session, "USE master; DROP DATABASE rp")), [5701]);
}

/// Each gives the number of rows of `rp.dbo.t`, from a session in `rp` and from one elsewhere.
const INSIDE: &[&str] = &[
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM dbo.t",
    "SELECT COUNT(*) FROM seen",
    "SELECT COUNT(*) FROM listed(0)",
    "SELECT (SELECT COUNT(*) FROM t)",
    "DECLARE @n INT; SET @n = (SELECT COUNT(*) FROM t); SELECT @n",
    "DECLARE @n INT = (SELECT COUNT(*) FROM seen); SELECT @n",
    "DECLARE @n INT; SELECT @n = COUNT(*) FROM t; SELECT @n",
    "DECLARE @n INT = 0; WHILE (SELECT COUNT(*) FROM t) > @n SET @n += 1; SELECT @n",
    "EXEC counts",
    "EXEC ('SELECT COUNT(*) FROM t')",
    "EXEC sp_executesql N'SELECT COUNT(*) FROM t WHERE i >= @least', N'@least INT', 0",
    "UPDATE t SET i = i + 1; SELECT @@ROWCOUNT",
    "BEGIN TRAN; DELETE t; SELECT @@ROWCOUNT; ROLLBACK",
    "BEGIN TRAN; INSERT t SELECT i FROM t; SELECT COUNT(*) / 2 FROM t; ROLLBACK",
    "CREATE TABLE #n (n INT); INSERT #n EXEC counts; SELECT n FROM #n",
    "SELECT i INTO #copy FROM t; SELECT COUNT(*) FROM #copy",
];
const OUTSIDE: &[&str] = &[
    "SELECT COUNT(*) FROM rp.dbo.t",
    "SELECT COUNT(*) FROM rp..seen",
    "SELECT COUNT(*) FROM rp.dbo.listed(0)",
    "DECLARE @n INT; SET @n = (SELECT COUNT(*) FROM rp.dbo.t); SELECT @n",
    "EXEC rp.dbo.counts",
    "EXEC other.dbo.counts",
    "SELECT COUNT(*) FROM other.dbo.seen",
    "UPDATE rp.dbo.t SET i = i + 1; SELECT @@ROWCOUNT",
    "UPDATE other.dbo.seen SET i = i; SELECT @@ROWCOUNT",
    "BEGIN TRAN; WITH c AS (SELECT * FROM rp..seen) DELETE c; SELECT @@ROWCOUNT; ROLLBACK",
    "BEGIN TRAN; TRUNCATE TABLE rp.dbo.t; SELECT COUNT(*) FROM rp.dbo.t; ROLLBACK",
    "CREATE TABLE #n (n INT); INSERT #n EXEC rp.dbo.counts; SELECT n FROM #n",
    "SELECT i INTO #copy FROM rp.dbo.t; SELECT COUNT(*) FROM #copy",
];

/// The result of each text, those of `rp` executed inside it.
fn answers(inside: &mut Session, outside: &mut Session) -> Vec<String> {
    let mut all = Vec::new();
    run(inside, "SET NOCOUNT ON; USE rp");
    for (session, texts) in [(inside, INSIDE), (outside, OUTSIDE)] {
        for text in texts {
            let seen = run(session, &format!("SET NOCOUNT ON; {text}"));
            let values: Vec<String> = seen.sets.iter().map(|set| set.1[0][0].clone()).collect();
            all.push(format!("{text}: {} {:?}", values.join(" "), seen.messages));
            run(session, "DROP TABLE IF EXISTS #n, #copy");
        }
    }
    all
}

fn expected(count: usize) -> Vec<String> {
    let line = |text: &&str| {
        let count = if text.contains("TRUNCATE") { 0 } else { count };
        format!("{text}: {count} []")
    };
    INSIDE.iter().chain(OUTSIDE).map(line).collect()
}

#[test]
fn nothing_bound_to_a_dropped_database_answers_for_its_namesake() {
    for moves in [false, true] {
        on_a_machine(1, move |os| {
            let server = Server::open(os);
            let mut maker = server.session_in("master");
            run(&mut maker, "CREATE DATABASE other; USE other");
            make_elsewhere(&mut maker);
            make(&mut maker, 1);
            let (mut inside, mut outside) = (server.session_in("rp"), server.session_in("other"));
            assert_eq!(answers(&mut inside, &mut outside), expected(1));
            for count in [2, 3] {
                run(&mut inside, "USE master");
                drop_it(&mut maker);
                assert_eq!(numbers(&run(&mut outside, OUTSIDE[0])), [208], "there is none of the name");
                assert_eq!(numbers(&run(&mut outside, "EXEC other.dbo.counts")), [208]);
                if moves {
                    // Another database has its former number.
                    run(&mut maker, &format!("CREATE DATABASE between{count}"));
                }
                make(&mut maker, count);
                assert_eq!(answers(&mut inside, &mut outside), expected(count), "made anew");
            }
            run(&mut inside, "USE master");
            drop_it(&mut maker);
            run(&mut maker, "CREATE DATABASE rp");
            assert_eq!(numbers(&run(&mut outside, OUTSIDE[0])), [208], "it has no such table");
            assert_eq!(numbers(&run(&mut inside, &format!("USE rp; {}", INSIDE[0]))), [5701, 208]);
            for session in [maker, inside, outside] {
                session.close();
            }
            server.instance.shutdown();
        });
    }
}

fn make_elsewhere(session: &mut Session) {
    run(session, "CREATE PROCEDURE counts AS SELECT COUNT(*) FROM rp.dbo.t");
    run(session, "CREATE DATABASE rp; CREATE TABLE rp.dbo.t (i INT NOT NULL)");
    run(session, "CREATE VIEW seen AS SELECT i FROM rp.dbo.t");
    run(session, "USE master; DROP DATABASE rp");
}

fn call(session: &mut Session, name: &str, values: Vec<(SqlType, Value, bool)>) -> Seen {
    let parameters = values
        .into_iter()
        .map(|(sql_type, value, output)| RpcParameter {
            name: String::new(),
            sql_type,
            value,
            output,
            default: false,
            table: None,
        })
        .collect();
    let mut seen = Seen::default();
    session.execute_rpc(
        RpcCall { target: RpcTarget::Name(name.to_string()), parameters, no_metadata: false },
        &mut seen,
    );
    seen
}

/// A handle that was prepared in one database and is executed in its namesake, or from another database by a three-part name.
#[test]
fn a_prepared_handle_is_bound_again_in_the_new_database() {
    on_a_machine(2, |os| {
        let server = Server::open(os);
        let mut maker = server.session_in("master");
        make(&mut maker, 1);
        let (mut inside, mut outside) = (server.session_in("rp"), server.session_in("master"));
        let text = |text: &str| (SqlType::NVARCHAR_MAX, Value::nvarchar(text), false);
        let prepare = |session: &mut Session, statement: &str| {
            let handle = (SqlType::Int, Value::Null, true);
            let seen = call(session, "sp_prepare", vec![handle, text("@least INT"), text(statement)]);
            assert_eq!(numbers(&seen), NONE);
            seen.outputs[0].1.parse::<i32>().unwrap()
        };
        let local = prepare(&mut inside, "SELECT COUNT(*) FROM t WHERE i >= @least");
        let named = prepare(&mut outside, "SELECT COUNT(*) FROM rp.dbo.t WHERE i >= @least");
        let execute = |session: &mut Session, handle: i32| {
            let values =
                vec![(SqlType::Int, Value::Int(handle), false), (SqlType::Int, Value::Int(0), false)];
            let seen = call(session, "sp_execute", values);
            match seen.sets.first().and_then(|set| set.1.first()) {
                Some(row) => row[0].clone(),
                None => format!("{:?}", numbers(&seen)),
            }
        };
        for count in 1..4 {
            assert_eq!(execute(&mut inside, local), count.to_string());
            assert_eq!(execute(&mut outside, named), count.to_string());
            run(&mut inside, "USE master");
            drop_it(&mut maker);
            assert_eq!(execute(&mut outside, named), "[208]");
            make(&mut maker, count + 1);
            run(&mut inside, "USE rp");
        }
        for session in [maker, inside, outside] {
            session.close();
        }
        server.instance.shutdown();
    });
}

/// A database that takes another's name, in one batch with what was bound to the other.
#[test]
fn a_name_means_the_database_that_has_it_now() {
    on_a_machine(3, |os| {
        let server = Server::open(os);
        let mut maker = server.session_in("master");
        make(&mut maker, 1);
        run(&mut maker, "CREATE DATABASE other; CREATE TABLE other.dbo.t (i INT NOT NULL, wider CHAR(9))");
        run(&mut maker, "INSERT other.dbo.t VALUES (1, 'a'), (2, 'b')");
        let swap = "ALTER DATABASE rp MODIFY NAME = gone; ALTER DATABASE other MODIFY NAME = rp;";
        let text = format!(
            "DECLARE @round INT = 0; WHILE @round < 2 BEGIN SELECT COUNT(*) FROM rp.dbo.t; IF @round = 0 BEGIN {swap} END; SET @round += 1 END"
        );
        let seen = run(&mut maker, &text);
        let counts: Vec<&str> = seen.sets.iter().map(|set| set.1[0][0].as_str()).collect();
        assert_eq!((counts, numbers(&seen)), (vec!["1", "2"], vec![]));
        run(&mut maker, "DROP DATABASE gone");
        let text = "DECLARE @round INT = 0; WHILE @round < 3 BEGIN SELECT * FROM rp.dbo.t; DROP DATABASE rp; CREATE DATABASE rp; \
                    EXEC ('CREATE TABLE rp.dbo.t (only_one INT)'); SET @round += 1 END";
        let seen = run(&mut maker, text);
        let widths: Vec<usize> = seen.sets.iter().map(|set| set.0.len()).collect();
        assert_eq!((widths, numbers(&seen)), (vec![2, 1, 1], vec![]));
        maker.close();
        server.instance.shutdown();
    });
}

/// The same name in two sessions, and twice in one: each time another table.
#[test]
fn a_temporary_table_is_the_one_that_the_session_has_now() {
    on_a_machine(4, |os| {
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("master"));
        for round in 1..4 {
            for (session, offset) in [(&mut one, 0), (&mut two, 10)] {
                let value = offset + round;
                run(session, "CREATE TABLE #t (i INT)");
                run(session, &format!("INSERT #t VALUES ({value})"));
                assert_eq!(rows(session, "SELECT i FROM #t"), [value.to_string()]);
                assert_eq!(
                    rows(session, "DECLARE @n INT = (SELECT i FROM #t); SELECT @n"),
                    [value.to_string()]
                );
                run(session, "EXEC ('CREATE TABLE #t (i INT, j INT); SELECT i FROM #t')");
            }
            run(&mut one, "DROP TABLE #t");
            two.reset(false, &mut Seen::default());
            assert_eq!(numbers(&run(&mut one, "SELECT i FROM #t")), [208]);
            assert_eq!(numbers(&run(&mut two, "SELECT i FROM #t")), [208]);
        }
        one.close();
        two.close();
        server.instance.shutdown();
    });
}

/// Uses a database in every way that caches something of it: plans inside and outside, a procedure, a handle, a lock, a view of it.
fn use_it(session: &mut Session) {
    run(session, "INSERT rp.dbo.t VALUES (2); SELECT COUNT(*) FROM rp.dbo.t; EXEC rp.dbo.counts");
    run(
        session,
        "DECLARE @n INT = (SELECT COUNT(*) FROM rp.dbo.seen); USE rp; SELECT COUNT(*) FROM t; USE master",
    );
    run(session, "SELECT * FROM rp.sys.objects; SELECT DB_ID('rp'), OBJECT_ID('rp.dbo.t')");
    run(session, "BEGIN TRAN; INSERT rp.dbo.t VALUES (3); ROLLBACK; USE rp; CHECKPOINT; USE master");
}

#[test]
fn nothing_of_a_dropped_database_is_left() {
    on_a_machine(5, |os| {
        let server = Server::open(os);
        let (mut maker, mut user) = (server.session_in("master"), server.session_in("master"));
        let counters = |server: &Server| server.os.counters().snapshot().len();
        let mut gone: Vec<Weak<Database>> = Vec::new();
        let mut before = None;
        for round in 0..1000 {
            if round % 100 == 0 {
                make(&mut maker, 1);
                use_it(&mut user);
                use_it(&mut maker);
            } else {
                run(
                    &mut maker,
                    "CREATE DATABASE rp LOG ON (NAME = l, FILENAME = 'rp.ldf', SIZE = 512KB); CREATE TABLE rp.dbo.t (i INT); INSERT rp.dbo.t VALUES (1)",
                );
                assert_eq!(rows(&mut user, "SELECT COUNT(*) FROM rp.dbo.t"), ["1"]);
            }
            gone.push(Arc::downgrade(&server.instance.database("rp").unwrap()));
            drop_it(&mut maker);
            let frames = server.instance.pool().stats().frames;
            let now = (counters(&server), server.instance.locks().snapshot().len());
            assert_eq!(*before.get_or_insert(now), now, "counters and locks after {round} rounds");
            assert!(frames < 400, "{frames} frames after {round} rounds: those of the dropped are free");
        }
        let kept = gone.iter().filter(|database| database.upgrade().is_some()).count();
        assert_eq!(kept, 0, "databases that are still in memory");
        maker.close();
        user.close();
        server.instance.shutdown();
    });
}

#[test]
fn the_files_of_a_dropped_database_are_closed() {
    let world = World::new("descriptors");
    let (mut maker, mut user) = (world.session(), world.session());
    let folder = world.instance.data_dir().to_path_buf();
    let open = || {
        let all = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let names = all.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        names.filter(|name| name.starts_with(&folder)).count()
    };
    let before = open();
    assert!(before > 0, "the system databases are open");
    for round in 0..10 {
        make(&mut maker, 1);
        use_it(&mut user);
        assert!(open() > before);
        drop_it(&mut maker);
        assert_eq!(open(), before, "open files after {round} rounds");
    }
    maker.close();
    user.close();
}
