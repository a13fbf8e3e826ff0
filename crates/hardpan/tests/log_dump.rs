//! The real program on a log of a killed process: the output of `hardpan log dump` for small and large transactions.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test starts and kills processes")]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::{Folder, PROGRAM};

const SCRIPT: &str = "CREATE DATABASE PerformanceV3;
GO
USE PerformanceV3;
CREATE TABLE dbo.T1(col1 INT NOT NULL);
CHECKPOINT;
SET NOCOUNT ON;
DECLARE @i AS INT = 1;
WHILE @i <= 200 BEGIN BEGIN TRAN INSERT INTO dbo.T1(col1) VALUES(@i); COMMIT TRAN; SET @i += 1; END;
BEGIN TRAN;
SET @i = 1;
WHILE @i <= 200 BEGIN INSERT INTO dbo.T1(col1) VALUES(@i); SET @i += 1; END;
COMMIT TRAN;
SELECT 'ready' AS state;
GO
WAITFOR DELAY '01:00:00';
GO
";

/// Claims 44 and 45: begin, insert and commit for each small transaction; one begin, all insertions and one commit for the large one.
#[test]
fn small_transactions_are_three_records_in_the_dump() {
    let scratch = Folder::new("log-dump");
    let (script, data) = (scratch.0.join("script.sql"), scratch.0.join("data"));
    std::fs::write(&script, SCRIPT).unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["sql", "--log-cache", "OFF", "--data"])
        .arg(&data)
        .arg("-i")
        .arg(&script)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let printed = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_ready = printed.map(Result::unwrap).any(|line| line.trim() == "ready");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_ready, "the script did not get to its end");

    let log = data.join("PerformanceV3_log.ldf");
    let dump = Command::new(PROGRAM).args(["log", "dump", "--records"]).arg(&log).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let text = String::from_utf8(dump.stdout).unwrap();
    let mut transactions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("  ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, operation, _, transaction, ..] = words[..]
            && operation.starts_with("LOP_")
        {
            transactions.entry(transaction).or_default().push(operation);
        }
    }
    let small = ["LOP_BEGIN_XACT", "LOP_INSERT_ROWS", "LOP_COMMIT_XACT"];
    assert_eq!(transactions.values().filter(|records| records[..] == small).count(), 200, "{text}");
    let insertions =
        |records: &&Vec<&str>| records.iter().filter(|one| **one == "LOP_INSERT_ROWS").count() == 200;
    let large: Vec<_> = transactions.values().filter(insertions).collect();
    assert_eq!(large.len(), 1);
    assert_eq!((large[0].first(), large[0].last()), (Some(&"LOP_BEGIN_XACT"), Some(&"LOP_COMMIT_XACT")));
    assert_eq!(large[0].len(), 202);
}

/// After a clean stop only the last checkpoint is still needed; the dump says so, and how to see earlier records.
#[test]
fn a_dump_of_a_closed_log_says_where_it_begins_and_how_to_see_more() {
    let scratch = Folder::new("log-closed");
    let (script, data) = (scratch.0.join("script.sql"), scratch.0.join("data"));
    let text =
        "CREATE DATABASE closed;\nGO\nUSE closed;\nCREATE TABLE t(a int);\nGO\nINSERT t VALUES(1);\nGO\n";
    std::fs::write(&script, text).unwrap();
    let done =
        Command::new(PROGRAM).args(["sql", "--data"]).arg(&data).arg("-i").arg(&script).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));

    let dump = |arguments: &[&str]| {
        let log = data.join("closed_log.ldf");
        let dump = Command::new(PROGRAM)
            .args(["log", "dump", "--records"])
            .args(arguments)
            .arg(log)
            .output()
            .unwrap();
        assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
        String::from_utf8(dump.stdout).unwrap()
    };
    let needed = dump(&[]);
    assert!(needed.contains(": the last checkpoint, with which it was closed"), "{needed}");
    assert!(!needed.contains("LOP_INSERT_ROWS"), "{needed}");
    let hint =
        needed.lines().find(|line| line.starts_with("older log is still there: --from ")).expect(&needed);
    let oldest = hint.split_whitespace().nth(6).unwrap();
    let more = dump(&["--from", oldest]);
    assert!(more.contains(", as asked") && more.contains("LOP_INSERT_ROWS"), "{more}");
    let records =
        |text: &str| text.lines().filter(|line| line.contains(" LOP_") && line.contains(" prev ")).count();
    assert!(records(&needed) >= 2 && records(&more) > records(&needed) + 3, "{needed}\n{more}");
}
