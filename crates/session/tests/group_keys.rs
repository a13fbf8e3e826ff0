//! Hash aggregation uses integers as keys for one or two integer columns, bytes for others: both give equal groups, also for NULL.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, run};

/// 6,000 rows: integers of each size with their least and greatest values, negative ones and NULL, in no order of an index.
const ROWS: &str = "CREATE TABLE t (id int NOT NULL PRIMARY KEY, small smallint NULL, tiny tinyint NULL, whole int NULL, big bigint NULL, text varchar(20) NULL)
     SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers
         FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) a
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 60) b
     INSERT t SELECT n, CASE n % 7 WHEN 0 THEN NULL WHEN 1 THEN -32768 WHEN 2 THEN 32767 ELSE n % 11 - 5 END, NULLIF(n % 256, 17),
         CASE n % 13 WHEN 0 THEN NULL WHEN 1 THEN -2147483648 WHEN 2 THEN 2147483647 ELSE n % 900 - 450 END,
         CASE n % 17 WHEN 0 THEN NULL WHEN 1 THEN -9223372036854775808 WHEN 2 THEN 9223372036854775807 WHEN 3 THEN 4294967296 + n % 5 ELSE n % 700 END,
         NULLIF(STR(n % 50, 3), ' 20') FROM numbers";

/// Columns to group by; as texts they are grouped by bytes, whatever they are.
const KEYS: [&[&str]; 8] = [
    &["small"],
    &["tiny"],
    &["whole"],
    &["big"],
    &["small", "whole"],
    &["whole", "tiny"],
    &["whole", "big"],
    &["whole", "text"],
];

#[test]
fn numbers_and_bytes_make_the_same_groups() {
    let world = World::new("group-keys");
    let mut session = world.session();
    assert!(numbers(&run(&mut session, ROWS)).iter().all(|number| *number == 0));
    for keys in KEYS {
        let plain = keys.join(", ");
        let as_text: Vec<String> = keys.iter().map(|key| format!("CAST({key} AS varchar(20))")).collect();
        let aggregates =
            "COUNT(*) AS n, COUNT(tiny) AS c, SUM(id) AS s, MIN(id) AS low, COUNT(DISTINCT small) AS d";
        let of_numbers = format!("SELECT {aggregates} FROM t GROUP BY {plain}");
        let of_bytes = format!("SELECT {aggregates} FROM t GROUP BY {}", as_text.join(", "));
        for (one, other) in [(&of_numbers, &of_bytes), (&of_bytes, &of_numbers)] {
            let seen = run(&mut session, &format!("SELECT COUNT(*) FROM ({one} EXCEPT {other}) AS missing"));
            assert_eq!(seen.sets[0].1, [["0"]], "{plain}: {:?}", seen.messages);
        }
        let seen = run(
            &mut session,
            &format!(
                "SELECT COUNT(*) FROM (SELECT DISTINCT {plain} FROM t) AS found SELECT COUNT(*) FROM ({of_bytes}) AS found"
            ),
        );
        assert_eq!(seen.sets[0].1, seen.sets[1].1, "{plain}");
        let seen = run(
            &mut session,
            &format!(
                "SELECT COUNT(*) FROM (SELECT COUNT(DISTINCT {}) AS n FROM t GROUP BY {plain}) AS found WHERE n > 1",
                keys[0]
            ),
        );
        assert_eq!(seen.sets[0].1, [["0"]], "{plain}: a group has one value of its key");
    }
    let seen = run(
        &mut session,
        "SELECT COUNT(*), SUM(id) FROM t WHERE whole IS NULL SELECT COUNT(*), SUM(id) FROM t GROUP BY whole HAVING whole IS NULL",
    );
    assert_eq!(seen.sets[0].1, seen.sets[1].1, "the rows without a key are one group");
    assert_ne!(seen.sets[0].1[0][0], "0");
}
