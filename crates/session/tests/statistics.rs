//! SET STATISTICS IO and TIME: the figures belong to the statement and are reported after its end.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::simulated::{Server, on_a_machine};
use crate::common::{Seen, World, numbers, rows, run};

/// The numbers in the messages 3615, by table: scans, logical, physical, read-ahead, and those of large values.
fn figures(seen: &Seen) -> Vec<(String, Vec<u64>)> {
    let told = seen.messages.iter().filter(|message| message.0 == 3615);
    told.map(|message| {
        let (table, rest) = message.2.split_once("'. ").unwrap();
        let numbers = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
        (table.trim_start_matches("Table '").to_string(), numbers.collect())
    })
    .collect()
}

#[test]
fn pages_are_counted_by_table() {
    let world = World::new("statistics-io");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE small (i INT PRIMARY KEY); CREATE TABLE large (i INT PRIMARY KEY, pad CHAR(4000), big VARCHAR(MAX))
         DECLARE @i INT = 0 WHILE @i < 40 BEGIN INSERT large VALUES (@i, 'x', REPLICATE(CAST('y' AS VARCHAR(MAX)), 20000)) SET @i += 1 END
         INSERT small VALUES (1), (2), (3)",
    );
    assert!(figures(&run(&mut session, "SELECT i FROM small")).is_empty(), "nobody has asked");
    assert_eq!(numbers(&run(&mut session, "SET STATISTICS IO ON")), [0; 0]);
    let seen = run(&mut session, "SELECT i FROM small");
    let one = figures(&seen);
    assert_eq!((one[0].0.as_str(), one[0].1[0]), ("small", 1));
    assert!((1..=4).contains(&one[0].1[1]), "{one:?}");
    let seen = run(&mut session, "SELECT COUNT(i) FROM large WHERE pad = 'x'");
    let many = figures(&seen);
    // Two rows a page.
    assert!(many[0].1[1] >= 20 && many[0].1[1] < 200, "{many:?}");
    // Large values are read only where they are needed: three pages each.
    assert_eq!(many[0].1[4..], [0, 0, 0]);
    let seek = figures(&run(&mut session, "SELECT COUNT(*) FROM large WHERE i = 5"));
    assert!(seek[0].1[1] <= 4, "{seek:?}");
    let lobs = figures(&run(&mut session, "SELECT MAX(LEN(big)) FROM large"));
    assert_eq!(lobs[0].1[4..], [120, 0, 0], "{lobs:?}");
    let both = figures(&run(&mut session, "SELECT COUNT(*) FROM small s JOIN large l ON l.i = s.i"));
    let mut names: Vec<&str> = both.iter().map(|table| table.0.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["large", "small"]);
    for change in
        ["INSERT small VALUES (9)", "UPDATE small SET i = 10 WHERE i = 9", "DELETE small WHERE i = 10"]
    {
        let changed = figures(&run(&mut session, change));
        assert!(changed.len() == 1 && changed[0].1[1] > 0, "{change}: {changed:?}");
    }
    let seen = run(&mut session, "IF EXISTS (SELECT * FROM small) SELECT 1 / 0");
    assert_eq!(figures(&seen).len(), 1);
    assert_eq!(numbers(&run(&mut session, "SET STATISTICS IO OFF SELECT i FROM small")), [0; 0]);
}

#[test]
fn times_are_measured() {
    on_a_machine(1, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        run(&mut session, "CREATE TABLE t (i INT)");
        assert_eq!(numbers(&run(&mut session, "SET STATISTICS TIME ON")), [0; 0]);
        let seen = run(&mut session, "INSERT t VALUES (1) SELECT i FROM t");
        assert_eq!(numbers(&seen), [3613, 3612, 3612]);
        let seen = run(&mut session, "EXEC ('WAITFOR DELAY ''00:00:02''')");
        let told = seen.messages.last().unwrap();
        assert_eq!(told.0, 3612);
        assert!(told.2.contains("elapsed time = 2000 ms"), "{told:?}");
        assert_eq!(numbers(&run(&mut session, "SET STATISTICS TIME OFF SELECT i FROM t")), [3613]);
        assert_eq!(numbers(&run(&mut session, "SELECT i FROM t")), [0; 0]);
        server.stop(session);
    });
}

#[test]
fn what_lies_between_two_statements_is_the_time_of_neither() {
    on_a_machine(2, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        run(&mut session, "CREATE TABLE t (i INT)");
        let text = "DECLARE @n INT = 0 WHILE @n < 3 BEGIN SELECT i AS first FROM t WAITFOR DELAY '00:00:01' SELECT i AS second FROM t SET @n += 1 END";
        run(&mut session, text);
        let longest = "SELECT COUNT(*), MAX(q.max_elapsed_time) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) s
                       WHERE s.text LIKE 'DECLARE @n INT = 0 WHILE @n < 3%'";
        let found = rows(&mut session, longest);
        let (statements, longest_us) = found[0].split_once('|').unwrap();
        assert_eq!(statements, "2");
        assert!(longest_us.parse::<u64>().unwrap() < 100_000, "{longest_us} us");
        server.stop(session);
    });
}
