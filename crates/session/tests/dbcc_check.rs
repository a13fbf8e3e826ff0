//! DBCC CHECKDB, CHECKALLOC, CHECKTABLE: their output for a consistent database, their arguments and options. (Tests in `engine` show
//! that each kind of damage is found.)
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, run};

#[test]
fn a_sound_database_has_no_errors() {
    let world = World::new("dbcc-check");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE DATABASE d; USE d;
         CREATE TABLE h (a int, b varchar(max), c varchar(8000)); CREATE INDEX i ON h (a) INCLUDE (b);
         CREATE TABLE c (a int NOT NULL PRIMARY KEY, b varchar(max), u uniqueidentifier UNIQUE DEFAULT NEWID(), s AS a * 2);
         CREATE INDEX i ON c (s DESC, a) INCLUDE (b);
         CREATE TABLE n (a int); CREATE CLUSTERED INDEX i ON n (a);
         DECLARE @i int = 0; WHILE @i < 300 BEGIN
           INSERT h VALUES (@i % 50, REPLICATE(CAST('x' AS varchar(max)), CASE @i % 10 WHEN 0 THEN 20000 ELSE 5 END), 'y');
           INSERT c (a, b) VALUES (@i, REPLICATE(CAST('x' AS varchar(max)), @i * 60)); INSERT n VALUES (@i % 7); SET @i += 1 END;
         UPDATE h SET c = REPLICATE('z', 3000) WHERE a % 5 = 1; UPDATE h SET b = 'short' WHERE a = 10; UPDATE h SET b = b + 'l' WHERE a = 20;
         DELETE c WHERE a % 3 = 0; UPDATE c SET a = a + 1000, b = 'k' WHERE a % 4 = 1; DELETE h WHERE a = 30; UPDATE n SET a = a + 1;
         BEGIN TRAN; DELETE c; DELETE h; DROP TABLE n; UPDATE h SET a = 1; ROLLBACK",
    );
    for database in ["d", "master", "tempdb", "model"] {
        let seen = run(&mut session, &format!("DBCC CHECKDB ({database}) WITH NO_INFOMSGS"));
        assert_eq!(seen.messages, [], "{database}");
        let seen =
            run(&mut session, &format!("DBCC CHECKALLOC ('{database}') WITH ALL_ERRORMSGS, NO_INFOMSGS"));
        assert_eq!(seen.messages, [], "{database}");
    }
    let seen = run(&mut session, "DBCC CHECKDB");
    let texts: Vec<&str> = seen.messages.iter().map(|message| message.2.as_str()).collect();
    assert_eq!(texts[0], "DBCC results for 'd'.");
    assert!(
        texts.contains(&"CHECKDB found 0 allocation errors and 0 consistency errors in database 'd'."),
        "{texts:?}"
    );
    assert_eq!(numbers(&seen).last(), Some(&2528));
    let seen = run(&mut session, "DBCC CHECKTABLE ('dbo.c')");
    assert_eq!(numbers(&seen), [2536, 2593, 2528]);
    assert!(seen.messages[1].2.starts_with("There are 200 rows in "), "{:?}", seen.messages);
    for sound in [
        "DBCC CHECKTABLE (h) WITH NO_INFOMSGS",
        "DBCC CHECKTABLE (dbo.h, NOINDEX) WITH NO_INFOMSGS, TABLOCK, EXTENDED_LOGICAL_CHECKS, DATA_PURITY, MAXDOP = 2",
        "DBCC CHECKTABLE ('[d].[dbo].[n]') WITH NO_INFOMSGS, PHYSICAL_ONLY",
        "DECLARE @t TABLE (a int PRIMARY KEY); CREATE TABLE #t (a int); INSERT #t VALUES (1); DBCC CHECKTABLE ('#t') WITH NO_INFOMSGS",
        "DBCC CHECKDB (0) WITH NO_INFOMSGS",
        "DBCC CHECKDB (0, NOINDEX) WITH NO_INFOMSGS",
        // Beside the session's own changes.
        "BEGIN TRAN; DELETE h WHERE a = 5; INSERT n VALUES (9); CREATE TABLE fresh (a int PRIMARY KEY); DBCC CHECKDB WITH NO_INFOMSGS; ROLLBACK",
    ] {
        assert_eq!(run(&mut session, sound).messages, [], "{sound}");
    }
    for (wrong, error) in [
        ("DBCC CHECKTABLE (missing)", 2501),
        ("DBCC CHECKTABLE", 2526),
        ("DBCC CHECKDB (missing)", 2520),
        ("DBCC CHECKDB (999)", 2520),
        ("DBCC CHECKDB (0, WHATEVER)", 2560),
        ("DBCC CHECKDB WITH WHATEVER", 2526),
        ("DBCC CHECKDB (0, REPAIR_ALLOW_DATA_LOSS)", 40517),
        ("DBCC CHECKDB WITH ESTIMATEONLY", 40517),
    ] {
        assert_eq!(numbers(&run(&mut session, wrong)).first(), Some(&error), "{wrong}");
    }
    // What others have not committed is waited for, as long as the session says.
    let mut other = world.session();
    run(&mut other, "USE d; BEGIN TRAN; UPDATE n SET a = 3");
    assert_eq!(numbers(&run(&mut session, "SET LOCK_TIMEOUT 0; DBCC CHECKTABLE (n)"))[0], 1222);
    run(&mut other, "ROLLBACK");
    assert_eq!(run(&mut session, "DBCC CHECKTABLE (n) WITH NO_INFOMSGS").messages, []);
    other.close();
    session.close();
}
