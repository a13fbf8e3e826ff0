//! The WITH (...) options of an index persist over restarts and rebuilds, appear in the views that show them, and apply when the index is built.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::simulated::after_power_loss;
use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// Each place where options of an index may be written.
const SCHEMA: &str = "
CREATE TABLE t (id int NOT NULL CONSTRAINT pk PRIMARY KEY WITH (FILLFACTOR = 50, PAD_INDEX = ON), a int CONSTRAINT uq UNIQUE WITH FILLFACTOR = 100,
    b int INDEX inl WITH (ALLOW_ROW_LOCKS = OFF), c int, d int, CONSTRAINT uq2 UNIQUE (c, d) WITH (ALLOW_PAGE_LOCKS = OFF, FILLFACTOR = 1),
    INDEX inl2 (d) WITH (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON))
CREATE TABLE u (id int NOT NULL, a int)
ALTER TABLE u ADD CONSTRAINT pk_u PRIMARY KEY (id) WITH (FILLFACTOR = 70, ALLOW_ROW_LOCKS = OFF, ALLOW_PAGE_LOCKS = OFF, OPTIMIZE_FOR_SEQUENTIAL_KEY = ON)
CREATE INDEX old ON u (a) WITH FILLFACTOR = 80, PAD_INDEX
CREATE INDEX plain ON u (a)
CREATE INDEX offs ON u (a) WITH (PAD_INDEX = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = ON, OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF)";

/// Fill factor, PAD_INDEX, row locks, page locks, sequential key: of the view, then of INDEXPROPERTY (which says what is not allowed).
const SHOWN: &str = "
SELECT CONCAT(name, ' ', fill_factor, ' ', is_padded, allow_row_locks, allow_page_locks, optimize_for_sequential_key, ' ',
    INDEXPROPERTY(object_id, name, 'IndexFillFactor'), ' ', INDEXPROPERTY(object_id, name, 'IsPadIndex'),
    INDEXPROPERTY(object_id, name, 'IsRowLockDisallowed'), INDEXPROPERTY(object_id, name, 'IsPageLockDisallowed'),
    INDEXPROPERTY(object_id, name, 'IsOptimizedForSequentialKey'), ' ',
    (SELECT OrigFillFactor FROM sysindexes AS s WHERE s.id = i.object_id AND s.indid = i.index_id))
FROM sys.indexes AS i WHERE index_id > 0 AND OBJECT_NAME(object_id) IN ('t', 'u') ORDER BY name";

const EXPECTED: [&str; 9] = [
    "inl 0 0010 0 0100 0",
    "inl2 0 0111 0 0001 0",
    "offs 0 0110 0 0000 0",
    "old 80 1110 80 1000 80",
    "pk 50 1110 50 1000 50",
    "pk_u 70 0001 70 0111 70",
    "plain 0 0110 0 0000 0",
    "uq 100 0110 100 0000 100",
    "uq2 1 0100 1 0010 1",
];

fn ok(session: &mut Session, text: &str) {
    let answer = run(session, text);
    assert_eq!(numbers(&answer), Vec::<i32>::new(), "{text}");
}

#[test]
fn what_was_said_is_shown_and_stays() {
    let (mut world, mut s) = World::in_database("index-settings");
    ok(&mut s, SCHEMA);
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    // Statements that do not name the option keep it.
    run(&mut s, "EXEC sp_rename 't.inl', 'other', 'INDEX' EXEC sp_rename 't.other', 'inl', 'INDEX'");
    ok(
        &mut s,
        "ALTER INDEX ALL ON t REBUILD ALTER TABLE u REBUILD ALTER INDEX old ON u REBUILD WITH (SORT_IN_TEMPDB = ON)
         ALTER INDEX ALL ON u DISABLE ALTER INDEX ALL ON u REBUILD ALTER TABLE t ADD more int
         ALTER INDEX uq ON t SET (STATISTICS_NORECOMPUTE = ON)",
    );
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    run(
        &mut s,
        "BEGIN TRAN ALTER INDEX ALL ON t SET (ALLOW_ROW_LOCKS = OFF) ALTER INDEX ALL ON u REBUILD WITH (FILLFACTOR = 33) DROP TABLE t ROLLBACK",
    );
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    drop(s);
    world.restart();
    let mut s = world.session();
    run(&mut s, "USE d");
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    // What is said of one leaves the others, and a switch leaves the other switches.
    ok(
        &mut s,
        "ALTER INDEX uq2 ON t SET (ALLOW_PAGE_LOCKS = ON, OPTIMIZE_FOR_SEQUENTIAL_KEY = ON, STATISTICS_NORECOMPUTE = ON)
         ALTER INDEX pk ON t REBUILD WITH (FILLFACTOR = 90) ALTER INDEX inl ON t REBUILD WITH (PAD_INDEX = ON, ALLOW_ROW_LOCKS = ON)
         ALTER TABLE u REBUILD WITH (FILLFACTOR = 60) CREATE INDEX old ON u (a) WITH (DROP_EXISTING = ON, FILLFACTOR = 20)",
    );
    let mut expected = EXPECTED.map(str::to_string);
    expected[0] = "inl 0 1110 0 1000 0".into();
    expected[3] = "old 20 0110 20 0000 20".into();
    expected[4] = "pk 90 1110 90 1000 90".into();
    expected[5] = "pk_u 60 0001 60 0111 60".into();
    expected[8] = "uq2 1 0111 1 0001 1".into();
    assert_eq!(rows(&mut s, SHOWN), expected);
    let described = rows(&mut s, "EXEC sp_helpindex t");
    assert!(
        described.iter().any(|row| row.contains("uq2") && row.contains("stats no recompute")),
        "{described:?}"
    );
    assert!(described.iter().any(|row| row.contains("inl2") && !row.contains("recompute")), "{described:?}");
    drop(s);
    world.restart();
    let mut s = world.session();
    run(&mut s, "USE d");
    assert_eq!(rows(&mut s, SHOWN), expected);
}

#[test]
fn a_loss_of_power_loses_nothing_of_it() {
    for seed in 0..4 {
        let cut = |s: &mut Session, _: &os::sim::World| {
            run(s, "DROP TABLE IF EXISTS t");
            ok(s, SCHEMA);
        };
        after_power_loss(
            seed,
            None,
            |_| {},
            cut,
            move |s| assert_eq!(rows(s, SHOWN), EXPECTED, "seed {seed}"),
        );
    }
}

#[test]
fn each_statement_takes_its_own_options() {
    let (_world, mut s) = World::in_database("index-settings-refused");
    ok(&mut s, SCHEMA);
    for (text, number) in [
        ("CREATE INDEX x ON u (a) WITH (FILLFACTOR = 0)", 129),
        ("CREATE INDEX x ON u (a) WITH (FILLFACTOR = 101)", 129),
        ("CREATE INDEX x ON u (a) WITH (FILLFACTOR = -1)", 129),
        ("CREATE INDEX x ON u (a) WITH FILLFACTOR = 0", 129),
        ("CREATE TABLE x (i int PRIMARY KEY WITH (FILLFACTOR = 0))", 129),
        ("CREATE TABLE x (i int, INDEX ix (i) WITH (FILLFACTOR = 300))", 129),
        ("ALTER TABLE u ADD CONSTRAINT x UNIQUE (a) WITH (FILLFACTOR = 0)", 129),
        ("ALTER INDEX old ON u REBUILD WITH (FILLFACTOR = 0)", 129),
        ("ALTER TABLE u REBUILD WITH (FILLFACTOR = 0)", 129),
        ("CREATE INDEX x ON u (a) WITH (FILLFACTOR = ON)", 102),
        ("CREATE INDEX x ON u (a) WITH (ALLOW_ROW_LOCKS = 5)", 102),
        ("ALTER INDEX old ON u SET (FILLFACTOR = 50)", 155),
        ("ALTER INDEX old ON u SET (PAD_INDEX = ON)", 155),
        ("ALTER INDEX old ON u SET (MAXDOP = 1)", 155),
        ("ALTER INDEX old ON u REBUILD WITH (DROP_EXISTING = ON)", 155),
        ("ALTER INDEX old ON u REBUILD WITH (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON)", 155),
        ("ALTER INDEX old ON u REORGANIZE WITH (FILLFACTOR = 50)", 155),
        ("ALTER INDEX uq2 ON t REORGANIZE", 2552),
        ("ALTER INDEX ALL ON t REORGANIZE", 2552),
    ] {
        assert_eq!(numbers(&run(&mut s, text)), [number], "{text}");
    }
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    ok(&mut s, "ALTER INDEX uq2 ON t SET (ALLOW_PAGE_LOCKS = ON) ALTER INDEX ALL ON t REORGANIZE");
}

/// Leaf pages of an index.
fn leaves(s: &mut Session, index: &str) -> i64 {
    let text = format!(
        "SELECT p.in_row_data_page_count FROM sys.dm_db_partition_stats AS p JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id WHERE i.name = '{index}'"
    );
    rows(s, &text)[0].parse().unwrap()
}

#[test]
fn an_index_is_built_as_full_as_its_fill_factor() {
    let (_world, mut s) = World::in_database("index-settings-full");
    ok(
        &mut s,
        "CREATE TABLE big (id int NOT NULL CONSTRAINT pk PRIMARY KEY, a int, filler char(60))
         INSERT big SELECT value, value * 7 % 20011, 'x' FROM GENERATE_SERIES(1, 6000)
         CREATE INDEX ix ON big (a) INCLUDE (filler)
         ALTER TABLE big REBUILD",
    );
    let whole = [leaves(&mut s, "pk"), leaves(&mut s, "ix")];
    for percent in [50, 25, 10] {
        ok(&mut s, &format!("ALTER INDEX ALL ON big REBUILD WITH (FILLFACTOR = {percent}, PAD_INDEX = ON)"));
        for (index, whole) in ["pk", "ix"].into_iter().zip(whole) {
            let (expected, got) = (whole * 100 / percent, leaves(&mut s, index));
            assert!(
                (expected..expected * 12 / 10).contains(&got),
                "{index} {percent}: {got}, {expected} expected"
            );
        }
        // No mention of it keeps it: the pages are built so again.
        let before = leaves(&mut s, "ix");
        ok(&mut s, "ALTER INDEX ix ON big REBUILD");
        assert_eq!(leaves(&mut s, "ix"), before);
        ok(&mut s, "DBCC CHECKTABLE('big') WITH NO_INFOMSGS");
        assert_eq!(
            rows(&mut s, "SELECT COUNT(*), SUM(CAST(a AS bigint)) FROM big WITH (INDEX(ix)) WHERE a >= 0"),
            rows(&mut s, "SELECT COUNT(*), SUM(CAST(a AS bigint)) FROM big WITH (INDEX(pk))")
        );
    }
    // Rows that come later fill what was left: pages are not split for them.
    let before = leaves(&mut s, "pk");
    ok(&mut s, "UPDATE big SET filler = 'y' WHERE id % 3 = 0 INSERT big VALUES (-1, 1, 'z')");
    assert_eq!(leaves(&mut s, "pk"), before);
    ok(&mut s, "ALTER INDEX ALL ON big REBUILD WITH (FILLFACTOR = 100)");
    assert_eq!([leaves(&mut s, "pk"), leaves(&mut s, "ix")], whole);
    ok(&mut s, "ALTER INDEX ALL ON big REBUILD WITH (FILLFACTOR = 1)");
    assert!(leaves(&mut s, "pk") >= 6_001, "a row a page: {}", leaves(&mut s, "pk"));
    ok(&mut s, "DBCC CHECKTABLE('big') WITH NO_INFOMSGS");
}
