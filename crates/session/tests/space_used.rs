//! Pages and rows in sp_spaceused, sys.allocation_units and sys.dm_db_partition_stats: equal to the counts of DBCC CHECKTABLE.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

fn prepared(name: &str) -> (World, Session) {
    let (world, mut s) = World::in_database(name);
    run(
        &mut s,
        "CREATE TABLE tree(a int NOT NULL CONSTRAINT pk PRIMARY KEY, b char(400) NOT NULL); CREATE INDEX ix ON tree(b)
         CREATE TABLE heap(a int, b char(400)); CREATE TABLE large(a int, b varchar(max)); CREATE TABLE empty(a int)
         INSERT tree SELECT number, STR(number, 400) FROM master..spt_values WHERE type = 'P'
         INSERT heap SELECT number, 'x' FROM master..spt_values WHERE type = 'P' AND number < 500
         INSERT large SELECT number, REPLICATE(CAST('x' AS varchar(max)), 20000) FROM master..spt_values WHERE type = 'P' AND number < 10",
    );
    (world, s)
}

/// Pages that DBCC CHECKTABLE counts in the heap or clustered index, from its message 2593.
fn reached(s: &mut Session, table: &str) -> i64 {
    let seen = run(s, &format!("DBCC CHECKTABLE ({table})"));
    let told = seen.messages.iter().find(|message| message.0 == 2593).expect("rows and pages are told");
    let words: Vec<&str> = told.2.split(' ').collect();
    let at = words.iter().position(|word| *word == "pages").unwrap();
    words[at - 1].parse().unwrap()
}

fn one(s: &mut Session, text: &str) -> i64 {
    rows(s, text)[0].trim().parse().unwrap()
}

#[test]
fn pages_are_those_that_a_check_reaches() {
    let (_world, mut s) = prepared("space-pages");
    for table in ["tree", "heap", "large", "empty"] {
        let pages = format!(
            "SELECT SUM(a.total_pages) FROM sys.allocation_units AS a JOIN sys.partitions AS p ON p.partition_id = a.container_id
             WHERE p.object_id = OBJECT_ID('{table}') AND p.index_id < 2"
        );
        assert_eq!(one(&mut s, &pages), reached(&mut s, table), "{table}");
    }
    let stats = "SELECT index_id, row_count, in_row_used_page_count - in_row_data_page_count, lob_used_page_count, used_page_count
                 - in_row_used_page_count FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID(";
    // A row of 20,000 bytes takes three pages of large values; two levels are above 2,048 rows of 400 bytes in the index on them.
    assert_eq!(rows(&mut s, &format!("{stats}'large')")), ["0|10|0|30|30"]);
    let tree = rows(&mut s, &format!("{stats}'tree') ORDER BY 1"));
    assert!(tree[0].starts_with("1|2048|1|0|0") && tree[1].starts_with("2|2048|"), "{tree:?}");
    // Two rows a unit where large values may be.
    let units = "SELECT COUNT(*), MIN(type_desc), MAX(type_desc) FROM sys.allocation_units AS a JOIN sys.partitions AS p
                 ON p.partition_id = a.container_id WHERE p.object_id = OBJECT_ID(";
    assert_eq!(rows(&mut s, &format!("{units}'large')")), ["2|IN_ROW_DATA|LOB_DATA"]);
    assert_eq!(rows(&mut s, &format!("{units}'heap')")), ["1|IN_ROW_DATA|IN_ROW_DATA"]);
    // Pages that a transaction frees belong to it until it ends.
    let large = "SELECT lob_pages FROM sys.spt_unit_pages WHERE object_id = OBJECT_ID('large')";
    run(&mut s, "BEGIN TRAN; DELETE large");
    assert_eq!(one(&mut s, large), 30);
    run(&mut s, "ROLLBACK");
    assert_eq!(one(&mut s, large), 30);
    run(&mut s, "DELETE large");
    assert_eq!(one(&mut s, large), 0);
}

#[test]
fn sp_spaceused_of_a_table_and_of_a_database() {
    let (_world, mut s) = prepared("space-used");
    let seen = run(&mut s, "EXEC sp_spaceused N'dbo.tree'");
    assert_eq!(seen.sets[0].0.join(" "), "name rows reserved data index_size unused");
    let row = seen.sets[0].1[0].clone();
    let kb = |text: &str| text.strip_suffix(" KB").expect("in KB").parse::<i64>().unwrap();
    assert_eq!((row[0].as_str(), row[1].as_str()), ("tree", "2048                "));
    let (reserved, data, index, unused) = (kb(&row[2]), kb(&row[3]), kb(&row[4]), kb(&row[5]));
    assert_eq!((reserved, unused), (data + index, 0));
    assert_eq!(data, 8 * (reached(&mut s, "tree") - 1), "all but the root are leaves");
    let large = run(&mut s, "EXEC sp_spaceused 'large', @updateusage = 'TRUE'").sets[0].1[0].clone();
    assert_eq!((large[2].as_str(), large[3].as_str(), large[4].as_str()), ("248 KB", "248 KB", "0 KB"));

    let both = run(&mut s, "EXEC sp_spaceused");
    assert_eq!(both.sets[0].0.join("|"), "database_name|database_size|unallocated space");
    assert_eq!(both.sets[1].0.join("|"), "reserved|data|index_size|unused");
    let single = run(&mut s, "EXEC sp_spaceused @oneresultset = 1");
    let joined: Vec<String> = both.sets[0].1[0].iter().chain(&both.sets[1].1[0]).cloned().collect();
    assert_eq!(single.sets[0].1[0], joined);
    let used = one(&mut s, "SELECT SUM(total_pages) * 8 FROM sys.allocation_units");
    assert_eq!(kb(&joined[3]), used);
    let size =
        rows(&mut s, "SELECT LTRIM(STR(SUM(size) * 8 / 1024.0, 15, 2)) + ' MB' FROM sys.database_files");
    assert_eq!(joined[1], size[0]);

    for (text, number) in [
        ("EXEC sp_spaceused 'tree', 'maybe'", 15143),
        ("EXEC sp_spaceused 'tree', @mode = 'some'", 15251),
        ("EXEC sp_spaceused 'nobody'", 15009),
        ("EXEC sp_spaceused 'master.dbo.spt_values'", 15250),
        ("EXEC sp_spaceused 'sys.objects'", 15234),
    ] {
        assert_eq!(numbers(&run(&mut s, text)), [number], "{text}");
    }
}
