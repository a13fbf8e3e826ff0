//! The mistakes in the printed listings of article 001: each causes the error that SQL Server reports. The complete listings, from a stock
//! client: `tests/articles/run.sh scripts`, `docs/article-scripts.md`.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

const METRICS: &str = "SELECT test = 1, cycle = 1, start_time = GETDATE(), * INTO #Metrics \
                       FROM sys.dm_io_virtual_file_stats(DB_ID('dd1'), 2) WHERE 1 = 0";

/// Claims 201 and 224 to 226: a listing without USE fills the current database; a missing column is 213, an unknown one 207, an unclosed
/// parenthesis 102.
#[test]
fn the_mistakes_of_article_001_give_their_errors() {
    let world = World::new("mistakes");
    let mut session = world.session();
    run(&mut session, "USE model CREATE TABLE dbo.TheTable (TheID INT IDENTITY(1,1) PRIMARY KEY)");
    run(&mut session, "USE master");
    run(&mut session, "CREATE DATABASE dd1");
    run(&mut session, "CREATE DATABASE dd2");
    run(&mut session, METRICS);
    run(&mut session, "USE dd1");
    let right =
        "INSERT #Metrics SELECT 1, 1, GETDATE(), * FROM sys.dm_io_virtual_file_stats(DB_ID('dd2'), 2)";
    assert_eq!(numbers(&run(&mut session, right)), [] as [i32; 0]);
    run(&mut session, "INSERT dbo.TheTable DEFAULT VALUES");
    let counts = "SELECT (SELECT COUNT(*) FROM dd1.dbo.TheTable), (SELECT COUNT(*) FROM dd2.dbo.TheTable)";
    assert_eq!(rows(&mut session, counts), ["1|0"], "the generated text says dd2 and fills dd1");
    let short = "INSERT #Metrics SELECT 1, GETDATE(), * FROM sys.dm_io_virtual_file_stats(DB_ID('dd1'), 2)";
    assert_eq!(numbers(&run(&mut session, short)), [213]);
    run(&mut session, "CREATE TABLE dbo.Rnd (batch TINYINT, TheID INT)");
    let renamed = "DELETE dbo.TheTable FROM dbo.TheTable AS t INNER JOIN dbo.rnd AS r ON t.TheID = r.TheID WHERE r.cycle = 1";
    assert_eq!(numbers(&run(&mut session, renamed)), [207]);
    let inner = "DELETE dbo.TheTable WHERE TheID IN (SELECT TheID FROM dbo.rnd WHERE cycle = 3)";
    assert_eq!(numbers(&run(&mut session, inner)), [207]);
    let open =
        "INSERT #Metrics SELECT 2, 1, GETDATE(), *\nFROM sys.dm_io_virtual_file_stats(DB_ID('dd1', 2);";
    assert_eq!(numbers(&run(&mut session, open)), [102]);
}
