//! SET STATISTICS PROFILE and XML: each operator's rows and executions beside its estimates, compared with the tables' contents.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// `a`: 1,000 rows, `k` 0 to 999, `g` of 10 values; `b`: 5,000 rows, five for each of `a`, an index on `a` that does not contain `v`; `few`: 3 rows.
const TABLES: &str = "CREATE TABLE a (k int NOT NULL PRIMARY KEY, g int NOT NULL, s varchar(20) NOT NULL)
     CREATE TABLE b (id int NOT NULL PRIMARY KEY, a int NOT NULL, v int NOT NULL)
     CREATE TABLE few (i int NOT NULL)
     SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) x
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 50) y
     INSERT a SELECT n, n % 10, 's' FROM numbers WHERE n < 1000
     INSERT b SELECT n, n / 5, n % 7 FROM numbers
     INSERT few VALUES (1), (2), (3)
     CREATE INDEX by_a ON b (a)";

fn filled(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    assert!(numbers(&run(&mut session, TABLES)).iter().all(|number| *number == 0));
    (world, session)
}

/// One operator of a profile.
#[derive(Clone, Debug)]
struct Line {
    node: i64,
    parent: i64,
    operator: String,
    argument: String,
    rows: Option<u64>,
    executes: Option<u64>,
    estimate: f64,
}

/// The result's rows, and the operators; the first line is the statement.
fn profile(session: &mut Session, query: &str) -> (usize, Vec<Line>) {
    run(session, "SET STATISTICS PROFILE ON");
    let seen = run(session, query);
    run(session, "SET STATISTICS PROFILE OFF");
    let (last, before) = seen.sets.split_last().unwrap_or_else(|| panic!("{query}: {:?}", seen.messages));
    let at = |name: &str| last.0.iter().position(|own| own == name).unwrap();
    let lines = last.1.iter().map(|row| Line {
        node: row[at("NodeId")].parse().unwrap(),
        parent: row[at("Parent")].parse().unwrap(),
        operator: format!("{}/{}", row[at("PhysicalOp")], row[at("LogicalOp")]),
        argument: row[at("Argument")].clone(),
        rows: row[at("Rows")].parse().ok(),
        executes: row[at("Executes")].parse().ok(),
        estimate: row[at("EstimateRows")].parse().unwrap_or(0.0),
    });
    assert_eq!(&last.0[..4], ["Rows", "Executes", "StmtText", "StmtId"], "{query}");
    (before.first().map_or(0, |set| set.1.len()), lines.collect())
}

/// `operator rows/executions`, the shape of a whole plan; with table names, except those in grouping or join columns.
fn shape(lines: &[Line]) -> Vec<String> {
    let table = |line: &Line| {
        if !line.argument.starts_with("OBJECT") {
            return String::new();
        }
        let name = line.argument.split("[dbo].[").nth(1).and_then(|rest| rest.split(']').next());
        name.map(|name| format!(" {name}")).unwrap_or_default()
    };
    let number = |number: Option<u64>| number.map_or("-".to_string(), |number| number.to_string());
    lines[1..]
        .iter()
        .map(|line| {
            let physical = line.operator.split('/').next().unwrap();
            format!("{physical}{} {}/{}", table(line), number(line.rows), number(line.executes))
        })
        .collect()
}

#[test]
fn figures_are_those_of_the_tables() {
    let (_world, mut session) = filled("profile-figures");
    let mut wrong = Vec::new();
    for (query, expected) in [
        ("SELECT * FROM a", vec!["Clustered Index Scan a 1000/1"]),
        ("SELECT k FROM a WHERE g = 3", vec!["Clustered Index Scan a 100/1"]),
        ("SELECT k FROM a WHERE k = 3", vec!["Clustered Index Seek a 1/1"]),
        ("SELECT k FROM a WHERE k IN (3, 4, 5000)", vec!["Clustered Index Seek a 2/1"]),
        ("SELECT k FROM a WHERE k < 0", vec!["Clustered Index Seek a 0/1"]),
        ("SELECT TOP 7 k FROM a ORDER BY k", vec!["Top 7/1", "Clustered Index Scan a 7/1"]),
        ("SELECT TOP 7 s FROM a ORDER BY g, k", vec!["Top 7/1", "Sort 7/1", "Clustered Index Scan a 1000/1"]),
        ("SELECT g, COUNT(*) FROM a GROUP BY g", vec!["Hash Match 10/1", "Clustered Index Scan a 1000/1"]),
        ("SELECT COUNT(*) FROM a WHERE g < 2", vec!["Stream Aggregate 1/1", "Clustered Index Scan a 200/1"]),
        (
            "SELECT v FROM b WHERE a = 7 AND v < 3",
            vec!["Nested Loops 3/1", "Index Seek b 5/1", "Clustered Index Seek b 3/5"],
        ),
        (
            "SELECT b.v FROM few JOIN b WITH (FORCESEEK) ON b.id = few.i",
            vec!["Nested Loops 3/1", "Table Scan few 3/1", "Clustered Index Seek b 3/3"],
        ),
        (
            "SELECT few.i, b.v FROM few LEFT JOIN b ON b.a = few.i AND b.v > 3",
            vec!["Hash Match 7/1", "Clustered Index Scan b 2142/1", "Table Scan few 3/1"],
        ),
        (
            "SELECT COUNT(*) FROM a JOIN b ON b.a = a.k",
            vec![
                "Stream Aggregate 1/1",
                "Nested Loops 5000/1",
                "Clustered Index Scan a 1000/1",
                "Index Seek b 5000/1000",
            ],
        ),
        // The right rows are kept and scanned for each left row; the last scan ends when no more rows are requested.
        (
            "SELECT x.i FROM few x JOIN few y ON y.i <> x.i",
            vec!["Nested Loops 6/1", "Table Scan few 3/1", "Table Spool 9/3", "Table Scan few 3/1"],
        ),
        (
            "SELECT TOP 1 x.i FROM few x JOIN few y ON y.i <> x.i",
            vec![
                "Top 1/1",
                "Nested Loops 1/1",
                "Table Scan few 1/1",
                "Table Spool 2/1",
                "Table Scan few 3/1",
            ],
        ),
        (
            "SELECT k FROM a WHERE g = 1 UNION ALL SELECT i FROM few",
            vec!["Concatenation 103/1", "Clustered Index Scan a 100/1", "Table Scan few 3/1"],
        ),
        (
            "WITH r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT n FROM r",
            vec!["Index Spool 9/1"],
        ),
        ("SELECT i, (SELECT COUNT(*) FROM few f WHERE f.i >= few.i) FROM few", vec![]),
        (
            "UPDATE a SET s = 't' WHERE g = 4",
            vec!["Clustered Index Update a 100/1", "Clustered Index Scan a 100/1"],
        ),
        ("DELETE b WHERE a = 999", vec!["Clustered Index Delete b 5/1"]),
        ("INSERT few VALUES (7), (8)", vec!["Table Insert few 2/1", "Constant Scan 2/1"]),
        (
            "INSERT few SELECT k FROM a WHERE g = 0 AND k < 50",
            vec!["Table Insert few 5/1", "Clustered Index Seek a 5/1"],
        ),
    ] {
        let (_, lines) = profile(&mut session, &format!("BEGIN TRAN; {query}; ROLLBACK"));
        let found = shape(&lines);
        if found.len() < expected.len()
            || found.iter().zip(&expected).any(|(found, expected)| found != expected)
        {
            wrong.push(format!("{query}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// For every plan: the root emits the client's rows, the inner side of a nested loop is executed once per outer row, no operator emits more rows than
/// its kind can, and every operator has figures.
#[test]
fn figures_fit_each_other() {
    let (_world, mut session) = filled("profile-fit");
    for query in [
        "SELECT a.g, SUM(b.v) FROM a JOIN b ON b.a = a.k WHERE a.g < 5 GROUP BY a.g ORDER BY a.g",
        "SELECT * FROM a WHERE EXISTS (SELECT * FROM b WHERE b.a = a.k AND b.v = 6)",
        "SELECT * FROM a WHERE k NOT IN (SELECT a FROM b WHERE v < 6)",
        "SELECT k, (SELECT MAX(v) FROM b WHERE b.a = a.k) FROM a WHERE k < 20",
        "SELECT k, ROW_NUMBER() OVER (PARTITION BY g ORDER BY s, k) FROM a",
        "SELECT DISTINCT g FROM a EXCEPT SELECT i FROM few",
        "SELECT a.k FROM a, few WHERE a.k < few.i",
        "SELECT few.i, x.k FROM few CROSS APPLY (SELECT TOP 2 k FROM a WHERE a.g = few.i ORDER BY k DESC) x",
        "SELECT TOP 10 PERCENT k FROM a ORDER BY s, k",
        "SELECT k FROM a ORDER BY k OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY",
        "WITH c AS (SELECT g, COUNT(*) AS n FROM a GROUP BY g) SELECT x.g, y.n FROM c x JOIN c y ON y.g = x.g",
        "SELECT k FROM a WHERE k = 5 OR g = 3",
        "SELECT value FROM STRING_SPLIT('a b c', ' ')",
        "SELECT CASE WHEN EXISTS (SELECT * FROM few) THEN 1 END",
        "SELECT a.k FROM a FULL JOIN few ON few.i = a.k",
        "SELECT name FROM sys.objects WHERE name = 'a'",
    ] {
        let (sent, lines) = profile(&mut session, query);
        let root = &lines[1];
        assert_eq!(root.rows, Some(sent as u64), "{query}: {lines:#?}");
        assert_eq!((lines[0].rows, lines[0].executes), (Some(sent as u64), Some(1)), "{query}");
        for line in &lines[1..] {
            let (Some(given), Some(begun)) = (line.rows, line.executes) else {
                panic!("{query}: {line:?} has no figures");
            };
            assert!(line.estimate >= 0.0 && (begun > 0 || given == 0), "{query}: {line:?}");
            let inputs: Vec<&Line> = lines[1..].iter().filter(|other| other.parent == line.node).collect();
            let of = |at: usize| inputs[at].rows.unwrap();
            match line.operator.split('/').next().unwrap() {
                "Filter" | "Top" | "Sort" => assert!(given <= of(0), "{query}: {line:?}"),
                "Compute Scalar" | "Segment" | "Sequence Project" => {
                    assert_eq!(given, of(0), "{query}: {line:?}")
                }
                "Concatenation" => {
                    let all: u64 = (0..inputs.len()).map(of).sum();
                    assert!(given <= all, "{query}: {line:?}");
                }
                "Nested Loops" if !inputs[1].operator.contains("Spool") => {
                    assert_eq!(inputs[1].executes, Some(of(0)), "{query}: {lines:#?}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn the_document_has_the_figures_of_the_run() {
    let (_world, mut session) = filled("profile-xml");
    run(&mut session, "SET STATISTICS XML ON");
    let seen = run(
        &mut session,
        "SELECT v FROM b WHERE a = 7 AND v < 3; UPDATE few SET i = i + 1; SET STATISTICS XML OFF; SELECT 1 AS one",
    );
    assert_eq!(seen.sets.len(), 4, "{:?}", seen.sets);
    assert_eq!(seen.sets[1].0, ["Microsoft SQL Server 2005 XML Showplan"]);
    let document = &seen.sets[1].1[0][0];
    for part in [
        "<RunTimeCountersPerThread Thread=\"0\" ActualRows=\"3\" ActualEndOfScans=\"1\" ActualExecutions=\"1\"/>",
        "ActualRows=\"5\"",
        "ActualRows=\"3\" ActualEndOfScans=\"0\" ActualExecutions=\"5\"",
    ] {
        assert!(document.contains(part), "{part}: {document}");
    }
    assert!(seen.sets[2].1[0][0].contains("StatementType=\"UPDATE\""));
    // Figures are counted only on request, and both may be requested.
    assert_eq!(run(&mut session, "SELECT i FROM few").sets.len(), 1);
    run(&mut session, "SET STATISTICS XML, PROFILE ON");
    assert_eq!(run(&mut session, "SELECT i FROM few").sets.len(), 3);
    run(&mut session, "SET STATISTICS XML, PROFILE OFF");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM few"), ["3"]);
}
