//! msdb.dbo.suspect_pages: pages that could not be read, with file, page, kind of error and count; and the policy tables that tools read.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test damages its files itself")]

use crate::common::{Seen, World, numbers, rows, run};

const SUSPECT: &str = "SELECT DB_NAME(database_id), file_id, page_id, event_type, error_count, \
                       IIF(ABS(DATEDIFF(second, last_update_date, GETDATE())) < 600, 'now', 'then') FROM msdb.dbo.suspect_pages";

/// What a query in `db` ends with: nothing, or the error of a page that is damaged.
fn error_of(world: &World, query: &str) -> Option<i32> {
    let mut session = world.session();
    run(&mut session, "USE db");
    let mut seen = Seen::default();
    session.execute_batch(query, &mut seen);
    session.close();
    numbers(&seen).first().copied()
}

#[test]
fn a_page_that_is_not_what_was_written_is_listed() {
    const ALL: &str = "SELECT COUNT(w) FROM t";
    const SIXTEENTH: &str = "SELECT w FROM t WHERE id = 16";
    let mut world = World::new("suspect-pages");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db CREATE TABLE t (id int PRIMARY KEY, w varchar(3000))");
    run(&mut session, "INSERT t SELECT value, REPLICATE(CHAR(96 + value), 3000) FROM GENERATE_SERIES(1, 20)");
    // The pages of t are no longer in the doublewrite file, out of which they would be repaired.
    run(&mut session, "CHECKPOINT CREATE TABLE other (i int) CHECKPOINT");
    let path = rows(&mut session, "SELECT physical_name FROM sys.database_files WHERE file_id = 1").remove(0);
    assert!(rows(&mut session, SUSPECT).is_empty(), "a sound database has none");
    session.close();
    world.instance.shutdown();
    let sound = std::fs::read(&path).unwrap();
    // The last of them: what a split has moved may still stand where it was.
    let page_with = |letter: u8| {
        let is_it = |window: &[u8]| window.iter().all(|byte| *byte == letter);
        sound.chunks(8192).rposition(|page| page.windows(2000).any(is_it)).unwrap()
    };
    let (sixth, sixteenth) = (page_with(b'f'), page_with(b'p'));
    assert_ne!(sixth, sixteenth);
    let write = |pages: &dyn Fn(&mut [u8])| {
        let mut bytes = std::fs::read(&path).unwrap();
        pages(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
    };
    let place = |page: usize| page * 8192..(page + 1) * 8192;
    // A bit of one page; in the place of the other the first one as it was.
    write(&|bytes| {
        bytes[place(sixteenth)].copy_from_slice(&sound[place(sixth)]);
        bytes[place(sixth).start + 5000] ^= 1;
    });
    world.restart();
    assert_eq!(error_of(&world, ALL), Some(824));
    assert_eq!(error_of(&world, ALL), Some(824));
    assert_eq!(error_of(&world, SIXTEENTH), Some(824));
    let seen = rows(&mut world.session(), &format!("{SUSPECT} ORDER BY event_type"));
    assert_eq!(seen, [format!("db|1|{sixteenth}|1|1|now"), format!("db|1|{sixth}|2|2|now")]);
    // A scan of the index's pages meets them, too, unless it reads only those above the leaves.
    let figures = |mode: &str| {
        let query =
            "SELECT SUM(page_count) FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('t'), 1, NULL, @)";
        error_of(&world, &query.replace('@', mode))
    };
    assert_eq!([figures("'DETAILED'"), figures("'SAMPLED'"), figures("NULL")], [Some(824), Some(824), None]);
    world.instance.shutdown();
    write(&|bytes| {
        for page in [sixth, sixteenth] {
            bytes[place(page)].copy_from_slice(&sound[place(page)]);
        }
    });
    world.restart();
    assert_eq!((error_of(&world, ALL), error_of(&world, SIXTEENTH)), (None, None));
    assert!(rows(&mut world.session(), SUSPECT).is_empty());
}

/// There are no policies, and nothing carries them out.
#[test]
fn there_are_no_policies() {
    let world = World::new("policies");
    let mut session = world.session();
    let enabled =
        "SELECT CAST(current_value AS bit) FROM msdb.dbo.syspolicy_configuration WHERE name = 'Enabled'";
    assert_eq!(rows(&mut session, enabled), ["0"]);
    for table in [
        "policies",
        "conditions",
        "policy_categories",
        "policy_category_subscriptions",
        "policy_execution_history",
        "policy_execution_history_details",
        "system_health_state",
    ] {
        assert_eq!(rows(&mut session, &format!("SELECT COUNT(*) FROM msdb.dbo.syspolicy_{table}")), ["0"]);
        assert_eq!(
            numbers(&run(&mut session, &format!("SELECT 1 FROM master.dbo.syspolicy_{table}"))),
            [208]
        );
    }
}
