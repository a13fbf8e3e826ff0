//! Statistics of columns and indexes: created, shown, updated, dropped; by statements and automatically; through rollbacks and restarts.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::random::Random;
use crate::common::simulated::after_power_loss;
use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// 4,000 rows: `k` unique, `v` 0 in half of them and else different, `s` of 40 texts, `n` NULL in a quarter of them.
const TABLE: &str = "CREATE TABLE t (k int NOT NULL PRIMARY KEY, v int NOT NULL, s varchar(20) NOT NULL, n int NULL)
    INSERT t SELECT q.n, CASE WHEN q.n % 2 = 0 THEN 0 ELSE q.n END, 'text' + STR(q.n % 40, 3), NULLIF(q.n % 4, 0) FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n
    FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 40) a CROSS JOIN
    (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) b) q";

fn filled(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    assert!(numbers(&run(&mut session, TABLE)).is_empty());
    (world, session)
}

/// The only value of the last result set.
fn one(session: &mut Session, query: &str) -> String {
    let seen = run(session, query);
    let set = seen.sets.last().unwrap_or_else(|| panic!("{query}: {:?}", seen.messages));
    assert_eq!(set.1.len(), 1, "{query}: {:?}", set.1);
    set.1[0].join("|")
}

fn errors(session: &mut Session, text: &str) -> Vec<i32> {
    numbers(&run(session, text)).into_iter().filter(|number| *number != 0).collect()
}

const NAMES: &str = "SELECT name, auto_created, user_created, no_recompute FROM sys.stats WHERE object_id = OBJECT_ID('t') AND stats_id > 1 ORDER BY stats_id";

#[test]
fn what_was_found_is_shown() {
    let (_world, mut session) = filled("stats-shown");
    let made = run(&mut session, "CREATE STATISTICS sv ON t (v, s) WITH FULLSCAN");
    assert!(numbers(&made).is_empty(), "{:?}", made.messages);
    let properties = "SELECT p.rows, p.rows_sampled, p.unfiltered_rows, p.modification_counter, CASE WHEN p.last_updated > DATEADD(minute, -5, GETUTCDATE()) THEN 'now' END, \
        CASE WHEN p.steps BETWEEN 100 AND 200 THEN 'steps' END \
        FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.name = 'sv'";
    assert_eq!(one(&mut session, properties), "4000|4000|4000|0|now|steps");
    let histogram = |what: &str| {
        format!(
            "SELECT {what} FROM sys.stats s CROSS APPLY sys.dm_db_stats_histogram(s.object_id, s.stats_id) h WHERE s.name = 'sv'"
        )
    };
    assert_eq!(
        one(
            &mut session,
            &histogram(
                "CAST(SUM(equal_rows + range_rows) AS int), CAST(COUNT(*) + SUM(distinct_range_rows) AS int)"
            )
        ),
        "4000|2001"
    );
    assert_eq!(
        one(
            &mut session,
            &(histogram("CAST(range_high_key AS int), equal_rows, range_rows") + " AND step_number = 1")
        ),
        "0|2000|0"
    );
    assert_eq!(one(&mut session, &histogram("MAX(CAST(range_high_key AS int))")), "3999");
    // The three result sets, with the columns' documented names.
    let seen = run(&mut session, "DBCC SHOW_STATISTICS ('t', sv)");
    let heads: Vec<String> = seen.sets.iter().map(|set| set.0.join(",")).collect();
    assert_eq!(
        heads,
        [
            "Name,Updated,Rows,Rows Sampled,Steps,Density,Average key length,String Index,Filter Expression,Unfiltered Rows,Persisted Sample Percent",
            "All density,Average Length,Columns",
            "RANGE_HI_KEY,RANGE_ROWS,EQ_ROWS,DISTINCT_RANGE_ROWS,AVG_RANGE_ROWS",
        ]
    );
    assert_eq!(seen.sets[0].1[0][2..4], ["4000", "4000"]);
    let density = |row: &[String]| (1.0 / row[0].parse::<f64>().unwrap()).round();
    // v alone; v with s: 0 comes with the 20 texts of even numbers, each other value with one.
    let densities: Vec<(f64, &str)> =
        seen.sets[1].1.iter().map(|row| (density(row), row[2].as_str())).collect();
    assert_eq!(densities, [(2001.0, "v"), (2020.0, "v, s")]);
    assert_eq!(seen.sets[2].1[0], ["0", "0", "2000", "0", "1"]);
    let seen = run(&mut session, "DBCC SHOW_STATISTICS ('dbo.t', 'sv') WITH DENSITY_VECTOR, NO_INFOMSGS");
    assert_eq!((seen.sets.len(), seen.messages.len()), (1, 0));
    assert_eq!(errors(&mut session, "DBCC SHOW_STATISTICS ('t', missing)"), [2767]);
    assert_eq!(errors(&mut session, "DBCC SHOW_STATISTICS ('missing', sv)"), [2501]);
    assert_eq!(
        rows(
            &mut session,
            "SELECT c.name, x.stats_column_id FROM sys.stats s JOIN sys.stats_columns x ON x.object_id = s.object_id AND x.stats_id = s.stats_id \
            JOIN sys.columns c ON c.object_id = x.object_id AND c.column_id = x.column_id WHERE s.name = 'sv' ORDER BY 2"
        ),
        ["v|1", "s|2"]
    );
    let dated = "SELECT CASE WHEN STATS_DATE(object_id, stats_id) > DATEADD(minute, -5, GETUTCDATE()) THEN 'now' END FROM sys.stats WHERE name = 'sv'";
    assert_eq!(one(&mut session, dated), "now");
    // NULLs are the first step.
    run(&mut session, "CREATE STATISTICS sn ON t (n) WITH FULLSCAN");
    let seen = run(&mut session, "DBCC SHOW_STATISTICS ('t', sn) WITH HISTOGRAM");
    assert_eq!(
        seen.sets[0].1.iter().map(|row| row[..3].join("|")).collect::<Vec<_>>(),
        ["NULL|0|1000", "1|0|1000", "2|0|1000", "3|0|1000"]
    );
    session.close();
}

#[test]
fn an_index_is_made_with_its_statistics_and_changes_are_counted() {
    let (_world, mut session) = filled("stats-index");
    run(
        &mut session,
        "CREATE INDEX iv ON t (v) CREATE INDEX id ON t (s DESC, v) CREATE INDEX fi ON t (n) WHERE n IS NOT NULL",
    );
    let of = |name: &str| {
        format!(
            "SELECT p.rows, p.rows_sampled, p.unfiltered_rows, p.modification_counter FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.name = '{name}'"
        )
    };
    assert_eq!(one(&mut session, &of("iv")), "4000|4000|4000|0");
    assert_eq!(one(&mut session, &of("id")), "4000|4000|4000|0");
    assert_eq!(one(&mut session, &of("fi")), "3000|3000|4000|0");
    let densities = |session: &mut Session, name: &str| {
        let seen = run(session, &format!("DBCC SHOW_STATISTICS ('t', {name}) WITH DENSITY_VECTOR"));
        let of_row =
            |row: &Vec<String>| format!("{}: {}", row[2], (1.0 / row[0].parse::<f64>().unwrap()).round());
        seen.sets[0].1.iter().map(of_row).collect::<Vec<_>>()
    };
    assert_eq!(densities(&mut session, "iv"), ["v: 2001", "v, k: 4000"]);
    assert_eq!(densities(&mut session, "id"), ["s: 40", "s, v: 2020", "s, v, k: 4000"]);
    // Nothing is known of an index that was created with its table until statistics are gathered.
    let primary =
        one(&mut session, "SELECT name FROM sys.stats WHERE object_id = OBJECT_ID('t') AND stats_id = 1");
    assert_eq!(one(&mut session, &of(&primary)), "NULL|NULL|NULL|NULL");
    run(&mut session, "UPDATE STATISTICS t WITH FULLSCAN");
    assert_eq!(one(&mut session, &of(&primary)), "4000|4000|4000|0");
    // Inserted, deleted and updated rows count, but only updates that set the column. Rolled back changes do not count.
    run(
        &mut session,
        "INSERT t SELECT k + 10000, v, s, n FROM t WHERE k <= 30 DELETE t WHERE k > 10000 AND k <= 10005",
    );
    run(&mut session, "UPDATE t SET s = 'else' WHERE k <= 7 BEGIN TRAN DELETE t WHERE k <= 500 ROLLBACK");
    assert_eq!(one(&mut session, &of("iv")), "4000|4000|4000|35");
    assert_eq!(one(&mut session, &of("id")), "4000|4000|4000|42");
    run(&mut session, "UPDATE STATISTICS t id WITH FULLSCAN");
    assert_eq!(one(&mut session, &of("iv")), "4000|4000|4000|35");
    assert_eq!(one(&mut session, &of("id")), "4025|4025|4025|0");
    assert_eq!(errors(&mut session, "CREATE STATISTICS iv ON t (s)"), [1927]);
    assert_eq!(errors(&mut session, "DROP STATISTICS t.iv"), [3739]);
    run(&mut session, "DROP INDEX t.iv");
    assert_eq!(
        rows(&mut session, "SELECT name FROM sys.stats WHERE object_id = OBJECT_ID('t') AND name = 'iv'"),
        [""; 0]
    );
    run(&mut session, "CREATE INDEX iv ON t (n)");
    assert_eq!(densities(&mut session, "iv"), ["n: 4", "n, k: 4025"]);
    session.close();
}

#[test]
fn names_rollbacks_and_what_hangs_on_columns() {
    let (world, mut session) = filled("stats-names");
    run(&mut session, "CREATE STATISTICS a ON t (v) CREATE STATISTICS b ON t (s, n) WITH NORECOMPUTE");
    assert_eq!(rows(&mut session, NAMES), ["a|0|1|0", "b|0|1|1"]);
    for (text, number) in [
        ("CREATE STATISTICS A ON t (s)", 1927),
        ("CREATE STATISTICS c ON t (missing)", 1911),
        ("CREATE STATISTICS c ON missing (v)", 1088),
        ("CREATE STATISTICS c ON t (v, V)", 1909),
        ("CREATE INDEX a ON t (v)", 1913),
        ("UPDATE STATISTICS t missing", 2767),
        ("UPDATE STATISTICS missing", 2706),
        ("DROP STATISTICS t.missing", 3701),
        ("UPDATE STATISTICS t WITH FULLSCAN, SAMPLE 5 PERCENT", 1052),
        ("UPDATE STATISTICS t WITH SAMPLE 101 PERCENT", 1031),
    ] {
        assert_eq!(errors(&mut session, text), [number], "{text}");
    }
    run(&mut session, "ALTER TABLE t ADD x xml");
    assert_eq!(errors(&mut session, "CREATE STATISTICS c ON t (x)"), [1919]);
    // UPDATE STATISTICS sets again whether they are updated automatically.
    run(&mut session, "UPDATE STATISTICS t (a, b) WITH FULLSCAN");
    assert_eq!(rows(&mut session, NAMES), ["a|0|1|0", "b|0|1|0"]);
    // All in one transaction, which is rolled back.
    run(
        &mut session,
        "BEGIN TRAN DROP STATISTICS t.a CREATE STATISTICS d ON t (n) UPDATE STATISTICS t b WITH NORECOMPUTE",
    );
    assert_eq!(rows(&mut session, NAMES), ["b|0|1|1", "d|0|1|0"]);
    run(&mut session, "ROLLBACK");
    assert_eq!(rows(&mut session, NAMES), ["a|0|1|0", "b|0|1|0"]);
    // Columns with user-created statistics cannot be changed, except to a longer text.
    assert_eq!(errors(&mut session, "ALTER TABLE t DROP COLUMN v"), [5074, 4922]);
    assert_eq!(errors(&mut session, "ALTER TABLE t ALTER COLUMN v bigint NOT NULL"), [5074, 4922]);
    assert_eq!(errors(&mut session, "ALTER TABLE t ALTER COLUMN s varchar(30) NOT NULL"), [0; 0]);
    assert_eq!(rows(&mut session, NAMES), ["a|0|1|0", "b|0|1|0"]);
    run(&mut session, "DROP STATISTICS t.a, dbo.t.b");
    assert_eq!(rows(&mut session, NAMES), [""; 0]);
    assert_eq!(errors(&mut session, "ALTER TABLE t DROP COLUMN v"), [0; 0]);
    // They are dropped with their table, and a new table of that name has none.
    run(&mut session, "CREATE STATISTICS a ON t (s) DROP TABLE t");
    // Nothing is left of them in the catalog either, where no view would show it.
    let database = world.instance.database("d").unwrap();
    let is_left = |entry: &engine::Entry| matches!(entry, engine::Entry::Statistics(_));
    assert!(!database.catalog().entries().iter().any(|entry| is_left(entry)));
    run(&mut session, "CREATE TABLE t (s int)");
    assert_eq!(rows(&mut session, NAMES), [""; 0]);
    // Of an empty table: nothing but that there was nothing.
    run(&mut session, "CREATE STATISTICS a ON t (s)");
    let seen = run(&mut session, "DBCC SHOW_STATISTICS (t, a)");
    assert_eq!((seen.sets[0].1[0][2].as_str(), seen.sets[2].1.len()), ("0", 0));
    session.close();
}

#[test]
fn they_outlive_a_restart_and_temporary_tables_have_them() {
    let (mut world, mut session) = filled("stats-restart");
    run(&mut session, "CREATE STATISTICS a ON t (v, n) WITH FULLSCAN CREATE INDEX iv ON t (s)");
    let show = "DBCC SHOW_STATISTICS (t, a) WITH HISTOGRAM, DENSITY_VECTOR, STAT_HEADER";
    let of_all = |session: &mut Session| {
        let mut seen = run(session, show).sets;
        seen.extend(run(session, "DBCC SHOW_STATISTICS (t, iv)").sets);
        seen
    };
    let before = of_all(&mut session);
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE d");
    assert_eq!(of_all(&mut session), before);
    run(&mut session, "SELECT k, v INTO #x FROM t CREATE STATISTICS a ON #x (v) WITH FULLSCAN");
    let seen = run(&mut session, "DBCC SHOW_STATISTICS (#x, a) WITH HISTOGRAM");
    assert_eq!(seen.sets[0].1[0], ["0", "0", "2000", "0", "1"]);
    session.close();
}

/// A row limit and SET ROWCOUNT of the session do not affect sampling; a sample shows how many rows it has read.
#[test]
fn how_much_is_looked_at() {
    let (_world, mut session) = World::in_database("stats-sample");
    run(
        &mut session,
        "CREATE TABLE t (k int NOT NULL, v int NOT NULL, pad char(400) NOT NULL)
         INSERT t SELECT a.number * 100 + b.number, b.number, '' FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) a
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) b",
    );
    let looked = "SELECT p.rows, p.rows_sampled FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.name = 'a'";
    run(&mut session, "SET ROWCOUNT 10 CREATE STATISTICS a ON t (v) WITH FULLSCAN SET ROWCOUNT 0");
    assert_eq!(one(&mut session, looked), "20000|20000");
    run(&mut session, "UPDATE STATISTICS t a WITH SAMPLE 10 PERCENT");
    let sampled = |session: &mut Session| {
        let found = one(session, looked);
        let (all, seen) = found.split_once('|').unwrap();
        assert_eq!(all, "20000");
        seen.parse::<u64>().unwrap()
    };
    let tenth = sampled(&mut session);
    assert!((1000..4000).contains(&tenth), "{tenth}");
    let seen = run(&mut session, "DBCC SHOW_STATISTICS (t, a) WITH DENSITY_VECTOR");
    let distinct = 1.0 / seen.sets[0].1[0][0].parse::<f64>().unwrap();
    assert!((distinct - 100.0).abs() < 3.0, "a sample of {tenth} rows knows {distinct} of 100 values");
    run(&mut session, "UPDATE STATISTICS t a WITH RESAMPLE");
    assert!(sampled(&mut session).abs_diff(tenth) < 400);
    run(&mut session, "UPDATE STATISTICS t a WITH SAMPLE 20000 ROWS");
    assert_eq!(sampled(&mut session), 20_000);
    session.close();
}

/// PERSIST_SAMPLE_PERCENT: updates without a sampling rate, automatic ones included, use the stored rate.
#[test]
fn how_much_is_looked_at_is_kept() {
    let (_world, mut session) = World::in_database("stats-kept-sample");
    run(
        &mut session,
        "CREATE TABLE t (k int NOT NULL PRIMARY KEY, v int NOT NULL, twice AS v * 2, pad char(1000) NOT NULL)
         INSERT t SELECT a.number * 100 + b.number, b.number, '' FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) a
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) b",
    );
    let kept = "SELECT p.persisted_sample_percent, s.has_persisted_sample, CASE WHEN p.rows_sampled = p.rows THEN 'all' \
        WHEN p.rows_sampled BETWEEN p.rows * 0.04 AND p.rows * 0.07 THEN 'a twentieth' WHEN p.rows_sampled < p.rows THEN 'some' END \
        FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.name = 'a'";
    let mut step = |text: &str, expected: &str| {
        assert!(errors(&mut session, text).is_empty(), "{text}");
        assert_eq!(one(&mut session, kept), expected, "{text}");
    };
    step("CREATE STATISTICS a ON t (v) WITH FULLSCAN, PERSIST_SAMPLE_PERCENT = ON", "100|1|all");
    step("UPDATE STATISTICS t a", "100|1|all");
    // The default sample is some pages of these.
    step("UPDATE STATISTICS t a WITH PERSIST_SAMPLE_PERCENT = OFF", "0|0|all");
    step("UPDATE STATISTICS t a", "0|0|some");
    step("UPDATE STATISTICS t a WITH SAMPLE 5 PERCENT, PERSIST_SAMPLE_PERCENT = ON", "5|1|a twentieth");
    step("UPDATE STATISTICS t", "5|1|a twentieth");
    step("EXEC sp_updatestats", "5|1|a twentieth");
    step("UPDATE STATISTICS t a WITH RESAMPLE", "5|1|a twentieth");
    // A plan's compilation updates them when a fifth of the rows has changed.
    step(
        "UPDATE t SET v = v + 1000 DECLARE @n int = (SELECT COUNT(*) FROM t WHERE v = 1005)",
        "5|1|a twentieth",
    );
    step("UPDATE STATISTICS t a WITH FULLSCAN, PERSIST_SAMPLE_PERCENT = ON", "100|1|all");
    step("UPDATE t SET v = v + 1000 DECLARE @n int = (SELECT COUNT(*) FROM t WHERE v = 2005)", "100|1|all");
    assert_eq!(
        one(
            &mut session,
            "SELECT MIN(CAST(h.range_high_key AS int)) FROM sys.stats s CROSS APPLY sys.dm_db_stats_histogram(s.object_id, s.stats_id) h WHERE s.name = 'a'"
        ),
        "2000",
        "they have been renewed"
    );
    let mut step = |text: &str, expected: &str| {
        assert!(errors(&mut session, text).is_empty(), "{text}");
        assert_eq!(one(&mut session, kept), expected, "{text}");
    };
    // A sampling rate given once, without PERSIST.
    step("BEGIN TRANSACTION UPDATE STATISTICS t a WITH SAMPLE 5 PERCENT", "0|0|a twentieth");
    step("ROLLBACK", "100|1|all");
    step("UPDATE STATISTICS t a WITH SAMPLE 500 ROWS, PERSIST_SAMPLE_PERCENT = ON", "5|1|a twentieth");
    step("BEGIN TRANSACTION TRUNCATE TABLE t", "0|0|a twentieth");
    step("ROLLBACK", "5|1|a twentieth");
    let header = run(&mut session, "DBCC SHOW_STATISTICS (t, a) WITH STAT_HEADER");
    assert_eq!(header.sets[0].1[0].last().unwrap(), "5");
    assert_eq!(errors(&mut session, "UPDATE STATISTICS t a WITH PERSIST_SAMPLE_PERCENT = 5"), [102]);
    // What rows do not hold is not on their pages.
    run(&mut session, "CREATE STATISTICS computed ON t (twice) WITH SAMPLE 5 PERCENT");
    assert_eq!(
        one(
            &mut session,
            "SELECT MIN(CAST(h.range_high_key AS int)) FROM sys.stats s CROSS APPLY sys.dm_db_stats_histogram(s.object_id, s.stats_id) h WHERE s.name = 'computed'"
        ),
        "4000"
    );
    session.close();
}

#[test]
fn procedures_list_make_and_renew_them() {
    let (_world, mut session) = filled("stats-procedures");
    assert_eq!(rows(&mut session, "EXEC sp_helpstats 't', 'ALL'").len(), 1);
    let seen = run(&mut session, "EXEC sp_helpstats 't'");
    assert_eq!(
        (seen.sets.len(), seen.messages[0].2.as_str()),
        (0, "This object does not have any statistics.")
    );
    assert_eq!(errors(&mut session, "EXEC sp_helpstats 'missing'"), [15009]);
    run(
        &mut session,
        "CREATE INDEX iv ON t (v) EXEC sp_createstats @fullscan = 'FULLSCAN', @norecompute = 'NORECOMPUTE'",
    );
    assert_eq!(rows(&mut session, "EXEC sp_helpstats 't'"), ["s|s", "n|n"]);
    assert_eq!(rows(&mut session, NAMES), ["iv|0|0|0", "s|0|1|1", "n|0|1|1"]);
    run(&mut session, "INSERT t VALUES (50000, 1, 'new', 1)");
    let counters = "SELECT s.name, p.rows, p.modification_counter FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p \
        WHERE s.object_id = OBJECT_ID('t') AND s.stats_id > 1 ORDER BY s.stats_id";
    assert_eq!(rows(&mut session, counters), ["iv|4000|1", "s|4000|1", "n|4000|1"]);
    assert_eq!(rows(&mut session, "SELECT rowmodctr FROM sysindexes WHERE name = 'iv'"), ["1"]);
    run(&mut session, "EXEC sp_updatestats");
    assert_eq!(rows(&mut session, counters), ["iv|4001|0", "s|4001|0", "n|4001|0"]);
    assert_eq!(rows(&mut session, NAMES), ["iv|0|0|0", "s|0|1|1", "n|0|1|1"]);
    session.close();
}

/// Something with statistics, or with what they are about.
fn drawn(random: &mut Random) -> String {
    let column = *random.one_of(&["a", "b", "c"]);
    let name = format!("s{}", random.below(3));
    match random.below(12) {
        0 | 1 => format!(
            "CREATE STATISTICS {name} ON big ({column}) WITH {}",
            random.one_of(&["FULLSCAN", "SAMPLE 50 PERCENT"])
        ),
        2 => format!("DROP STATISTICS big.{name}"),
        3 => format!(
            "UPDATE STATISTICS big{}",
            random.one_of(&["", " ia", " WITH FULLSCAN", " WITH COLUMNS, NORECOMPUTE"])
        ),
        4 => "DROP INDEX IF EXISTS big.ia".into(),
        5 => format!("CREATE INDEX ia ON big ({column})"),
        6 | 7 => format!("SELECT COUNT(*) FROM big WHERE {column} = {}", random.below(9)),
        8 => format!("UPDATE big SET {column} = {column} + 1 WHERE id % 2 = {}", random.below(2)),
        9 => "IF @@TRANCOUNT = 0 BEGIN TRAN".into(),
        10 => "IF @@TRANCOUNT > 0 COMMIT".into(),
        _ => "IF @@TRANCOUNT > 0 ROLLBACK".into(),
    }
}

/// A power loss may remove statistics; they are then missing. Existing ones can be read, queries are right, and new ones can be created.
#[test]
fn statistics_after_a_loss_of_power() {
    for seed in 0..8 {
        let made = |session: &mut Session| {
            run(
                session,
                "CREATE TABLE big (id int NOT NULL, a int, b int, c int) INSERT big SELECT number, number % 7, number, number % 100 FROM master..spt_values WHERE type = 'P' AND number < 1200",
            );
        };
        let cut = move |session: &mut Session, _: &os::sim::World| {
            let mut random = Random::new(seed);
            for _ in 0..40 {
                let text = drawn(&mut random);
                run(session, &text);
            }
        };
        after_power_loss(seed, None, made, cut, move |session| {
            let present = rows(session, "SELECT name FROM sys.stats WHERE object_id = OBJECT_ID('big')");
            for name in &present {
                let seen = run(session, &format!("DBCC SHOW_STATISTICS (big, {name})"));
                assert!(
                    seen.sets.len() == 3 && seen.sets[0].1.len() == 1,
                    "seed {seed}: {name}: {:?}",
                    seen.messages
                );
            }
            let seen = run(session, "DBCC CHECKDB WITH NO_INFOMSGS");
            assert!(seen.messages.is_empty(), "seed {seed}: {:?}", seen.messages);
            // A column has automatic statistics at most once.
            let twice = "SELECT x.column_id FROM sys.stats s JOIN sys.stats_columns x ON x.object_id = s.object_id AND x.stats_id = s.stats_id \
                WHERE s.auto_created = 1 GROUP BY x.object_id, x.column_id HAVING COUNT(*) > 1";
            assert_eq!(rows(session, twice), [""; 0], "seed {seed}");
            let all = rows(session, "SELECT COUNT(*) FROM big WHERE b % 1 = 0")[0].clone();
            let parts = rows(
                session,
                "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM big WHERE b < 300 UNION ALL SELECT COUNT(*) FROM big WHERE b >= 300) q",
            );
            assert_eq!(parts, [all], "seed {seed}");
            for text in [
                "UPDATE STATISTICS big WITH FULLSCAN",
                "CREATE STATISTICS later ON big (a, b, c)",
                "DROP TABLE big",
            ] {
                assert!(numbers(&run(session, text)).is_empty(), "seed {seed}: {text}");
            }
            assert_eq!(rows(session, "SELECT COUNT(*) FROM sys.stats WHERE stats_id > 1000"), ["0"]);
        });
    }
}
