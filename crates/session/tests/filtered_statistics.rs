//! Filtered statistics: created, shown, updated, dropped with the columns they need, through restarts; their use in plans; and the effect of
//! ALTER INDEX and sp_autostats on statistics.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// 20,000 rows: `region` 'north' in a twentieth of them, where `v` is 1 in all but 10; elsewhere `v` has 5,000 values, 1 among them. `parts`: two for each.
const TABLES: &str = "CREATE TABLE t (k int NOT NULL PRIMARY KEY, region varchar(10) NOT NULL, v int NULL, pad varchar(max) NULL)
     CREATE TABLE parts (t int NOT NULL, line int NOT NULL, v int NOT NULL, PRIMARY KEY (t, line))
     SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) a
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) b
     INSERT t SELECT n, CASE n % 20 WHEN 3 THEN 'north' ELSE 'south' END, CASE WHEN n % 20 = 3 AND n % 2000 <> 3 THEN 1 ELSE n % 5000 END, 'pad' FROM numbers WHERE n < 20000
     INSERT parts SELECT n / 2, n % 2, n FROM numbers";

fn filled(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    assert!(numbers(&run(&mut session, TABLES)).iter().all(|number| *number == 0));
    (world, session)
}

fn errors(session: &mut Session, text: &str) -> Vec<i32> {
    numbers(&run(session, text)).into_iter().filter(|number| *number != 0).collect()
}

/// The rows that the plan of a query expects of `t`.
fn expected(session: &mut Session, condition: &str) -> f64 {
    run(session, "SET SHOWPLAN_ALL ON");
    let seen = run(session, &format!("SELECT k FROM t WHERE {condition}"));
    run(session, "SET SHOWPLAN_ALL OFF");
    let set = &seen.sets[0];
    let column = set.0.iter().position(|name| name == "EstimateRows").unwrap();
    let scan = set.1.iter().rfind(|row| row[0].contains("OBJECT:")).unwrap_or_else(|| panic!("{set:?}"));
    scan[column].parse().unwrap()
}

const SHOWN: &str = "SELECT s.name, s.has_filter, s.filter_definition, s.user_created, p.rows, p.rows_sampled, p.unfiltered_rows FROM sys.stats s
    CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.has_filter = 1 ORDER BY s.stats_id";

#[test]
fn statistics_with_a_filter_are_of_its_rows() {
    let (mut world, mut session) = filled("filtered-shown");
    assert!(
        errors(&mut session, "CREATE STATISTICS north ON t (v) WHERE region = 'north' WITH FULLSCAN")
            .is_empty()
    );
    assert!(errors(&mut session, "CREATE STATISTICS few ON t (v, k) WHERE v > 4990 AND region IN ('north', 'south') WITH SAMPLE 100 PERCENT").is_empty());
    let whole = [
        "north|1|([region]='north')|1|1000|1000|20000",
        "few|1|([v]>(4990) AND [region] IN ('north', 'south'))|1|36|36|20000",
    ];
    assert_eq!(rows(&mut session, SHOWN), whole);
    let histogram =
        "SELECT CAST(SUM(equal_rows + range_rows) AS int), CAST(MAX(equal_rows) AS int) FROM sys.stats s
        CROSS APPLY sys.dm_db_stats_histogram(s.object_id, s.stats_id) h WHERE s.name = 'north'";
    assert_eq!(rows(&mut session, histogram), ["1000|990"]);
    let head = run(&mut session, "DBCC SHOW_STATISTICS (t, north) WITH STAT_HEADER");
    let cell = |name: &str| {
        let set = &head.sets[0];
        set.1[0][set.0.iter().position(|own| own == name).unwrap()].clone()
    };
    assert_eq!(
        (cell("Filter Expression"), cell("Rows"), cell("Unfiltered Rows")),
        ("([region]='north')".into(), "1000".into(), "20000".into())
    );
    // A sample says as much, about.
    run(&mut session, "UPDATE STATISTICS t (north) WITH SAMPLE 30 PERCENT");
    let sampled = rows(&mut session, "SELECT CASE WHEN p.rows BETWEEN 700 AND 1300 AND p.rows_sampled < p.rows AND p.unfiltered_rows = 20000 THEN 'sound'
        ELSE CONCAT(p.rows, ' ', p.rows_sampled, ' ', p.unfiltered_rows) END
        FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.name = 'north'");
    assert_eq!(sampled, ["sound"]);
    run(&mut session, "UPDATE STATISTICS t WITH FULLSCAN");
    assert_eq!(rows(&mut session, SHOWN), whole);
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE d");
    assert_eq!(rows(&mut session, SHOWN), whole);
    // What the filter needs stays while it is needed, and keeps its name.
    assert_eq!(errors(&mut session, "ALTER TABLE t DROP COLUMN region"), [5074, 5074, 4922]);
    assert_eq!(errors(&mut session, "ALTER TABLE t ALTER COLUMN region nvarchar(10)"), [5074, 5074, 4922]);
    assert_eq!(errors(&mut session, "EXEC sp_rename 't.region', 'area', 'COLUMN'"), [15336]);
    run(&mut session, "DROP STATISTICS t.north, t.few");
    assert!(errors(&mut session, "ALTER TABLE t DROP COLUMN region").is_empty());
    session.close();
}

#[test]
fn what_is_no_filter_is_refused() {
    let (_world, mut session) = filled("filtered-refused");
    for (filter, expected) in [
        ("v > k", 10735),
        ("v = NULL", 10620),
        ("missing = 1", 207),
        ("v > 1 OR v < 0", 10735),
        ("v = 'text'", 10612),
        ("UPPER(region) = 'N'", 10735),
    ] {
        let text = format!("CREATE STATISTICS s ON t (v) WHERE {filter}");
        assert_eq!(errors(&mut session, &text), [expected], "{filter}");
    }
    let long = format!("CREATE STATISTICS s ON t (v) WHERE pad = '{}'", "x".repeat(5000));
    assert_eq!(errors(&mut session, &long), [10735]);
    run(&mut session, "SET QUOTED_IDENTIFIER OFF");
    assert_eq!(errors(&mut session, "CREATE STATISTICS s ON t (v) WHERE v > 1"), [1934]);
    assert!(rows(&mut session, SHOWN).is_empty());
}

/// The condition says more of few rows than of all: what the statistics of all rows say is far off, what those of its rows say is right.
#[test]
fn plans_ask_statistics_whose_filter_is_implied() {
    let (_world, mut session) = filled("filtered-plans");
    let near = |found: f64, truth: f64| found > truth / 2.0 && found < truth * 2.0;
    // In the north 1 is nearly everything.
    let north = "region = 'north' AND v = 1";
    assert!(
        !near(expected(&mut session, north), 990.0),
        "{} without statistics of the north",
        expected(&mut session, north)
    );
    run(&mut session, "CREATE STATISTICS north ON t (v) WHERE region = 'north' WITH FULLSCAN");
    for (condition, truth) in
        [(north, 990.0), ("v = 1 AND region IN ('north')", 990.0), ("region = 'north' AND v > 1", 10.0)]
    {
        let found = expected(&mut session, condition);
        assert!(near(found, truth), "{condition}: {found}, not {truth}");
    }
    // Where nothing implies the filter they say nothing.
    let south = expected(&mut session, "region = 'south' AND v = 1");
    let both = expected(&mut session, "v = 1");
    run(&mut session, "DROP STATISTICS t.north");
    assert!((expected(&mut session, "v = 1") - both).abs() < 1.0);
    assert!((expected(&mut session, "region = 'south' AND v = 1") - south).abs() < 1.0);
    // A filter of the column itself: the histogram's steps all stand in the part that is asked for.
    run(&mut session, "UPDATE t SET v = -k WHERE k % 100 = 7");
    run(&mut session, "CREATE STATISTICS below ON t (v) WHERE v < 0 WITH FULLSCAN");
    let found = expected(&mut session, "v < -10000");
    assert!(near(found, 100.0), "{found}");
    let found = expected(&mut session, "v > -10000 AND v < -9000");
    assert!(near(found, 10.0), "{found}");
    // Those of an index with a filter are of its rows alone, too.
    run(&mut session, "CREATE INDEX of_few ON t (v) WHERE v > 4990");
    let found = expected(&mut session, "v = 1");
    assert!(found > 500.0, "{found}: as if the few were all");
    // No result depends on it.
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t WHERE region = 'north' AND v = 1"), ["990"]);
    session.close();
}

/// Old ones are made anew when a plan asks for them, unless they are not to be.
#[test]
fn filtered_statistics_are_renewed_by_themselves() {
    let (_world, mut session) = filled("filtered-renewed");
    run(&mut session, "CREATE STATISTICS north ON t (v) WHERE region = 'north' WITH FULLSCAN");
    let counted = "SELECT p.rows FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.name = 'north'";
    run(&mut session, "UPDATE t SET region = 'north', v = 2 WHERE k >= 1000");
    run(&mut session, "EXEC sp_autostats 't', 'OFF', 'north'");
    expected(&mut session, "region = 'north' AND v = 2");
    assert_eq!(rows(&mut session, counted), ["1000"]);
    run(&mut session, "EXEC sp_autostats 't', 'ON', 'north'");
    expected(&mut session, "region = 'north' AND v = 2");
    let now: f64 = rows(&mut session, counted)[0].parse().unwrap();
    assert!(now > 15_000.0, "{now}");
}

#[test]
fn a_rebuilt_index_has_new_statistics_of_all_rows() {
    let (_world, mut session) = filled("rebuilt-statistics");
    run(&mut session, "CREATE INDEX by_v ON t (v) CREATE INDEX north ON t (v) WHERE region = 'north'");
    run(&mut session, "UPDATE STATISTICS t (by_v) WITH SAMPLE 5 PERCENT DELETE t WHERE k >= 10000");
    let figures = "SELECT s.name, p.rows, p.rows_sampled, p.unfiltered_rows, p.modification_counter FROM sys.stats s
        CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.name IN ('by_v', 'north') ORDER BY 1";
    assert_ne!(rows(&mut session, figures)[0], "by_v|10000|10000|10000|0");
    run(&mut session, "ALTER INDEX by_v ON t REBUILD");
    assert_eq!(rows(&mut session, figures)[0], "by_v|10000|10000|10000|0");
    run(&mut session, "INSERT t SELECT n, 'north', 1, NULL FROM numbers WHERE n >= 30000 AND n < 30500");
    run(&mut session, "ALTER INDEX ALL ON t REBUILD");
    assert_eq!(rows(&mut session, figures), ["by_v|10500|10500|10500|0", "north|1000|1000|10500|0"]);
    let made = "SELECT COUNT(*) FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.object_id = OBJECT_ID('t') AND s.stats_id < 1000 AND p.rows > 0";
    assert_eq!(rows(&mut session, made), ["3"]);
    // A rollback takes them back.
    run(&mut session, "BEGIN TRAN DELETE t WHERE k >= 30000 ALTER INDEX by_v ON t REBUILD ROLLBACK");
    assert_eq!(rows(&mut session, figures)[0].split('|').nth(1), Some("10500"));
    // STATISTICS_NORECOMPUTE of each statement that takes it.
    let flags = "SELECT name, no_recompute FROM sys.stats WHERE name IN ('by_v', 'north') ORDER BY 1";
    run(&mut session, "ALTER INDEX by_v ON t REBUILD WITH (STATISTICS_NORECOMPUTE = ON)");
    run(
        &mut session,
        "CREATE INDEX north ON t (v) WHERE region = 'north' WITH (STATISTICS_NORECOMPUTE = ON, DROP_EXISTING = ON)",
    );
    assert_eq!(rows(&mut session, flags), ["by_v|1", "north|1"]);
    run(&mut session, "ALTER INDEX by_v ON t REBUILD");
    run(&mut session, "ALTER INDEX north ON t SET (STATISTICS_NORECOMPUTE = OFF)");
    assert_eq!(rows(&mut session, flags), ["by_v|1", "north|0"]);
}

#[test]
fn sp_autostats_shows_and_changes() {
    let (_world, mut session) = filled("autostats");
    run(&mut session, "CREATE INDEX by_v ON t (v) CREATE STATISTICS s ON t (region)");
    let shown = |session: &mut Session, text: &str| -> Vec<String> {
        let seen = run(session, text);
        seen.sets[0].1.iter().map(|row| format!("{} {}", row[0], row[1])).collect()
    };
    let all = shown(&mut session, "EXEC sp_autostats 'dbo.t'");
    assert_eq!((all.len(), &all[1..]), (3, &["[by_v] ON".to_string(), "[s] ON".to_string()][..]));
    let told = run(&mut session, "EXEC sp_autostats 't', 'OFF'");
    assert_eq!(told.messages[0].2, "Automatic statistics maintenance turned OFF for 3 indices.");
    run(&mut session, "EXEC sp_autostats @tblname = 't', @flagc = 'on', @indname = 'by_v'");
    assert_eq!(shown(&mut session, "EXEC sp_autostats 't'")[1..], ["[by_v] ON", "[s] OFF"]);
    assert_eq!(shown(&mut session, "EXEC sp_autostats 't', NULL, 's'"), ["[s] OFF"]);
    assert_eq!(errors(&mut session, "EXEC sp_autostats 'missing'"), [15009]);
    assert_eq!(errors(&mut session, "EXEC sp_autostats 'missing', 'ON'"), [15009]);
    assert_eq!(errors(&mut session, "EXEC sp_autostats 't', 'ON', 'missing'"), [15323]);
    assert_eq!(errors(&mut session, "EXEC sp_autostats 't', 'maybe'"), [17000]);
    // As part of a transaction it is taken back with it.
    run(&mut session, "BEGIN TRAN EXEC sp_autostats 't', 'OFF' ROLLBACK");
    assert_eq!(shown(&mut session, "EXEC sp_autostats 't'")[1..], ["[by_v] ON", "[s] OFF"]);
}
