//! Only READ UNCOMMITTED sees uncommitted changes of another session: heap and clustered table, row at its address or moved,
//! values in and off the row, every level, by scan, by key, by index and row lookup, by a covering index.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};

const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Kind of table, and what makes the row that is looked at move to another page.
const TABLES: [(&str, &str); 3] =
    [("heap", ""), ("heap", "UPDATE t SET filler = REPLICATE('g', 6000) WHERE id = 2"), ("clustered", "")];

/// A change of the row with id 2, and whether it can be seen by its key afterwards.
const CHANGES: [(&str, bool); 5] = [
    ("UPDATE t SET v = 'new' WHERE id = 2", true),
    ("UPDATE t SET v = 'new', filler = REPLICATE('h', 7000) WHERE id = 2", true),
    ("UPDATE t SET v = 'new', long = REPLICATE(CAST('n' AS varchar(max)), 20000) WHERE id = 2", true),
    ("DELETE t WHERE id = 2", false),
    ("DELETE t WHERE id = 2; INSERT t VALUES (2, 'new', 'x', 'long')", true),
];

const QUERIES: [&str; 4] = [
    "SELECT v, LEFT(long, 1), LEN(long) FROM t WHERE filler <> '' AND v <> 'other'",
    "SELECT v, LEFT(long, 1), LEN(long) FROM t WHERE id = 2",
    "SELECT v, LEFT(long, 1), LEN(long) FROM t WITH (INDEX (by_v)) WHERE v IN ('old', 'new')",
    "SELECT v FROM t WITH (INDEX (by_v)) WHERE v IN ('old', 'new')",
];

fn prepare(session: &mut hardpan_session::Session, kind: &str, moves: &str) {
    let key = if kind == "clustered" { "PRIMARY KEY CLUSTERED" } else { "PRIMARY KEY NONCLUSTERED" };
    run(
        session,
        &format!(
            "DROP TABLE IF EXISTS t;
             CREATE TABLE t (id int NOT NULL {key}, v varchar(10) NOT NULL, filler varchar(7500) NOT NULL, long varchar(max) NOT NULL);
             CREATE INDEX by_v ON t (v);
             INSERT t VALUES (1, 'other', REPLICATE('f', 3000), 'a');
             INSERT t VALUES (2, 'old', REPLICATE('f', 3000), REPLICATE(CAST('o' AS varchar(max)), 10000));
             INSERT t VALUES (3, 'other', REPLICATE('f', 1000), 'c');
             {moves}"
        ),
    );
}

#[test]
fn only_read_uncommitted_sees_what_is_not_committed() {
    let world = World::new("dirty-reads");
    let mut writer = world.session();
    let mut reader = world.session();
    run(&mut reader, "SET LOCK_TIMEOUT 0");
    for (kind, moves) in TABLES {
        for (change, stays) in CHANGES {
            for commits in [false, true] {
                prepare(&mut writer, kind, moves);
                run(&mut writer, &format!("BEGIN TRAN; {change}"));
                for level in LEVELS {
                    for query in QUERIES {
                        let told = format!("{kind} {moves} {change}, {level}: {query}");
                        run(&mut reader, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
                        if level == "READ UNCOMMITTED" {
                            let seen = rows(&mut reader, query);
                            assert_eq!(seen.len(), usize::from(stays), "{told}");
                            assert!(seen.iter().all(|row| row.starts_with("new")), "{told}: {seen:?}");
                        } else {
                            let seen = run(&mut reader, query);
                            assert_eq!(numbers(&seen).first(), Some(&1222), "{told}: {:?}", seen.sets);
                        }
                    }
                }
                run(&mut writer, if commits { "COMMIT" } else { "ROLLBACK" });
                for level in LEVELS {
                    run(&mut reader, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
                    for query in QUERIES {
                        let seen = rows(&mut reader, query);
                        let expected = if commits { "new" } else { "old" };
                        let told = format!("{kind} {moves} {change} ended {commits}, {level}: {query}");
                        assert_eq!(seen.len(), usize::from(stays || !commits), "{told}");
                        assert!(seen.iter().all(|row| row.starts_with(expected)), "{told}: {seen:?}");
                    }
                }
            }
        }
    }
    writer.close();
    reader.close();
}
