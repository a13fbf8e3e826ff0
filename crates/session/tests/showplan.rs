//! SET SHOWPLAN, NOEXEC, PARSEONLY and FMTONLY: no statement runs; plans and columns are described instead.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{Seen, World, numbers, rows, run};
use hardpan_session::Session;

/// Statements that would leave effects, one by one and inside control flow.
const TRACES: [&str; 14] = [
    "DELETE t",
    "UPDATE t SET b = 0",
    "INSERT t VALUES (9, 9)",
    "TRUNCATE TABLE t",
    "DROP TABLE t",
    "CREATE TABLE made (a int)",
    "SELECT * INTO made FROM t",
    "BEGIN TRAN DELETE t COMMIT",
    "IF 1 = 1 DELETE t",
    "WHILE EXISTS (SELECT * FROM t) DELETE t",
    "BEGIN TRY DELETE t END TRY BEGIN CATCH DELETE t END CATCH",
    "EXEC ('DELETE t')",
    "EXEC sp_executesql N'DELETE t'",
    "EXEC wipe",
];

fn world(name: &str) -> (World, Session) {
    let world = World::new(name);
    let mut s = world.session();
    run(&mut s, "CREATE TABLE t (a int NOT NULL CONSTRAINT pk PRIMARY KEY, b int)");
    run(&mut s, "CREATE INDEX ib ON t (b); INSERT t VALUES (1, 10), (2, 20), (3, 30)");
    run(&mut s, "CREATE TABLE h (x int, y varchar(20)); INSERT h VALUES (1, 'one')");
    run(&mut s, "CREATE PROCEDURE wipe AS DELETE t SELECT a FROM t");
    run(&mut s, "CREATE PROCEDURE twice AS EXEC wipe EXEC twice");
    (world, s)
}

fn assert_untouched(s: &mut Session, after: &str) {
    assert_eq!(
        rows(s, "SELECT COUNT(*), SUM(b), @@TRANCOUNT, OBJECT_ID('made') FROM t"),
        ["3|60|0|NULL"],
        "{after}"
    );
}

#[test]
fn nothing_runs() {
    let (_world, mut s) = world("compile-only");
    for option in ["SHOWPLAN_TEXT", "SHOWPLAN_ALL", "SHOWPLAN_XML", "NOEXEC", "PARSEONLY", "FMTONLY"] {
        for text in TRACES {
            assert_eq!(numbers(&run(&mut s, &format!("SET {option} ON"))), [0; 0]);
            run(&mut s, text);
            assert_eq!(numbers(&run(&mut s, &format!("SET {option} OFF"))), [0; 0]);
            assert_untouched(&mut s, &format!("{option}: {text}"));
        }
    }
    // A procedure called by the client, and a prepared statement.
    for option in ["SHOWPLAN_TEXT", "NOEXEC", "PARSEONLY", "FMTONLY"] {
        run(&mut s, &format!("SET {option} ON"));
        call(&mut s, "wipe", &[]);
        call(&mut s, "sp_executesql", &["DELETE t"]);
        run(&mut s, &format!("SET {option} OFF"));
        assert_untouched(&mut s, &format!("{option}, called"));
    }
}

fn call(s: &mut Session, name: &str, arguments: &[&str]) -> Seen {
    use hardpan_session::{RpcCall, RpcParameter, RpcTarget};
    let parameters = arguments.iter().map(|text| RpcParameter {
        name: String::new(),
        sql_type: types::SqlType::NVARCHAR_MAX,
        value: types::Value::nvarchar(text),
        output: false,
        default: false,
        table: None,
    });
    let mut seen = Seen::default();
    let call = RpcCall {
        target: RpcTarget::Name(name.into()),
        parameters: parameters.collect(),
        no_metadata: false,
    };
    s.execute_rpc(call, &mut seen);
    seen
}

#[test]
fn when_the_options_take_effect() {
    let (_world, mut s) = world("compile-only-when");
    // NOEXEC: from its statement on, until a SET NOEXEC OFF that is unconditionally reached.
    let seen = run(
        &mut s,
        "SELECT 1 SET NOEXEC ON SELECT 2 DELETE t IF 1 = 1 SET NOEXEC OFF DELETE t SET NOEXEC OFF SELECT 3",
    );
    assert_eq!(seen.sets.iter().map(|set| set.1[0][0].as_str()).collect::<Vec<_>>(), ["1", "3"]);
    assert_untouched(&mut s, "NOEXEC in the batch");
    // A missing object may be created later; other errors are reported.
    run(&mut s, "SET NOEXEC ON");
    assert_eq!(numbers(&run(&mut s, "SELECT * FROM missing")), [0; 0]);
    assert_eq!(numbers(&run(&mut s, "SELECT nothing FROM t")), [207]);
    assert_eq!(numbers(&run(&mut s, "SELECT 1 +")), [102]);
    run(&mut s, "SET NOEXEC OFF");
    // PARSEONLY: the last one in the text applies to all of it.
    assert_eq!(run(&mut s, "SELECT 1 SET PARSEONLY ON").sets.len(), 0);
    assert_eq!(numbers(&run(&mut s, "SELECT nothing FROM t; SELECT * FROM missing; EXEC gone")), [0; 0]);
    assert_eq!(numbers(&run(&mut s, "SELECT * FROM t WHERE a = ")), [102]);
    assert_eq!(numbers(&run(&mut s, "SELECT * FROM t WHERE a = @v")), [137]);
    assert_eq!(numbers(&run(&mut s, "SET @v = 1")), [137]);
    assert_eq!(run(&mut s, "SET PARSEONLY ON SELECT 1 SET PARSEONLY OFF").sets.len(), 1);
    assert_eq!(run(&mut s, "IF 1 = 0 SET PARSEONLY ON SELECT 1").sets.len(), 0);
    assert_eq!(run(&mut s, "SET PARSEONLY OFF").sets.len(), 0);
    assert_untouched(&mut s, "PARSEONLY");
    // FMTONLY: columns of every branch, no rows; a procedure may end it.
    let seen =
        run(&mut s, "SET FMTONLY ON IF 1 = 0 SELECT a FROM t ELSE SELECT b FROM t EXEC wipe SET FMTONLY OFF");
    let names: Vec<&str> = seen.sets.iter().map(|set| set.0[0].as_str()).collect();
    assert_eq!(names, ["a", "b", "a"]);
    assert!(seen.sets.iter().all(|set| set.1.is_empty()));
    assert_untouched(&mut s, "FMTONLY");
    // SHOWPLAN must be alone in its batch, and is not allowed in a procedure.
    for text in [
        "SET SHOWPLAN_TEXT ON SELECT 1",
        "SELECT 1; SET SHOWPLAN_ALL OFF",
        "IF 1 = 1 SET SHOWPLAN_XML ON",
        "CREATE PROCEDURE q AS SET SHOWPLAN_TEXT ON",
    ] {
        let seen = run(&mut s, text);
        assert_eq!(numbers(&seen), [1067], "{text}");
        assert!(seen.sets.is_empty());
    }
    // A missing table ends the batch, and not the transaction.
    run(&mut s, "BEGIN TRAN UPDATE t SET b = b + 1");
    run(&mut s, "SET SHOWPLAN_TEXT ON");
    assert_eq!(numbers(&run(&mut s, "CREATE TABLE made (a int) SELECT * FROM made SELECT 1")), [208]);
    run(&mut s, "SET SHOWPLAN_TEXT OFF");
    assert_eq!(rows(&mut s, "SELECT SUM(b), @@TRANCOUNT FROM t"), ["63|1"]);
    run(&mut s, "ROLLBACK");
    // A connection that is reset runs again.
    run(&mut s, "SET NOEXEC ON");
    s.reset(false, &mut Seen::default());
    assert_eq!(rows(&mut s, "SELECT 1"), ["1"]);
}

/// The plan's lines of one statement.
fn plan(s: &mut Session, text: &str) -> Vec<String> {
    run(s, "SET SHOWPLAN_TEXT ON");
    let seen = run(s, text);
    assert_eq!(numbers(&seen), [0; 0], "{text}");
    run(s, "SET SHOWPLAN_TEXT OFF");
    assert!(seen.sets.iter().all(|set| set.0 == ["StmtText"]), "{text}");
    assert_eq!(seen.sets[0].1, [[text]]);
    seen.sets.get(1).map(|set| set.1.iter().map(|row| row[0].clone()).collect()).unwrap_or_default()
}

#[test]
fn operators_as_text() {
    let (_world, mut s) = world("compile-only-text");
    let t = "[master].[dbo].[t]";
    assert_eq!(
        plan(&mut s, "SELECT * FROM t WHERE a = 2"),
        [format!("  |--Clustered Index Seek(OBJECT:({t}.[pk]), SEEK:({t}.[a]=(2)) ORDERED FORWARD)")]
    );
    // The residual predicate of a seek.
    assert_eq!(
        plan(&mut s, "SELECT * FROM t WHERE b = 3 AND a = 2"),
        [format!(
            "  |--Clustered Index Seek(OBJECT:({t}.[pk]), SEEK:({t}.[a]=(2)), WHERE:({t}.[b]=(3)) ORDERED FORWARD)"
        )]
    );
    assert_eq!(plan(&mut s, "SELECT * FROM t"), [format!("  |--Clustered Index Scan(OBJECT:({t}.[pk]))")]);
    assert_eq!(
        plan(&mut s, "SELECT x FROM h WHERE y = 'it''s'"),
        ["  |--Table Scan(OBJECT:([master].[dbo].[h]), WHERE:([master].[dbo].[h].[y]='it''s'))"]
    );
    let lines = plan(&mut s, "SELECT * FROM h JOIN t ON t.a > h.x ORDER BY h.y");
    assert!(lines[0].starts_with("  |--Nested Loops(Inner Join"), "{lines:?}");
    assert_eq!(lines[1], "       |--Sort(ORDER BY:([master].[dbo].[h].[y] ASC))");
    assert!(lines[2].starts_with("       |    |--Table Scan("), "{lines:?}");
    assert!(lines[3].starts_with("       |--"), "{lines:?}");
    // A vertical line leads to the second input.
    let lines = plan(
        &mut s,
        "SELECT b FROM t WHERE a = 1 UNION ALL SELECT COUNT(*) FROM h UNION ALL SELECT x + 1 FROM h",
    );
    let leads: Vec<&str> = lines.iter().map(|line| &line[..line.find("--").unwrap()]).collect();
    assert_eq!(
        leads,
        ["  |", "       |", "       |", "       |    |", "       |", "            |"],
        "{lines:#?}"
    );
    // The operator for each kind of statement and clause.
    for (text, expected) in [
        ("DELETE t WHERE a = 1", "Clustered Index Delete"),
        ("UPDATE t SET b = a + 1", "Clustered Index Update"),
        ("INSERT t VALUES (4, 4)", "Clustered Index Insert"),
        ("INSERT h VALUES (4, '4'), (5, '5')", "Table Insert"),
        ("UPDATE h SET x = 1", "Table Update"),
        ("DELETE h", "Table Delete"),
        ("SELECT * INTO made FROM h", "Table Insert"),
        ("SELECT COUNT(*) FROM h", "Stream Aggregate(DEFINE:([Expr1001]=Count(*)))"),
        ("SELECT x, SUM(x) FROM h GROUP BY x", "Hash Match(Aggregate, HASH:([master].[dbo].[h].[x])"),
        ("SELECT DISTINCT x FROM h", "Hash Match(Flow Distinct"),
        ("SELECT TOP 2 * FROM h", "Top(TOP EXPRESSION:((2)))"),
        ("SELECT * FROM h ORDER BY x OFFSET 1 ROWS", "Top(OFFSET EXPRESSION:((1)))"),
        ("SELECT 1 UNION ALL SELECT 2", "Concatenation"),
        ("SELECT x FROM h EXCEPT SELECT a FROM t", "Hash Match(Right Anti Semi Join"),
        ("SELECT ROW_NUMBER() OVER (ORDER BY x) FROM h", "Sequence Project(DEFINE:("),
        ("SELECT * FROM (VALUES (1), (2)) v(i)", "Constant Scan(VALUES:(((1)),((2))))"),
        ("SELECT * FROM sys.objects", "Table-valued function("),
        ("SELECT * FROM h a JOIN h b ON a.y = b.y", "Hash Match(Inner Join, HASH:"),
        (
            "WITH r AS (SELECT 1 i UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT * FROM r",
            "Index Spool(Lazy Spool, WITH STACK)",
        ),
        (
            "SELECT (SELECT MAX(a) FROM t WHERE b = x) FROM h",
            "Nested Loops(Left Outer Join, OUTER REFERENCES:([master].[dbo].[h].[x]))",
        ),
    ] {
        let lines = plan(&mut s, text);
        assert!(lines.iter().any(|line| line.contains(&format!("|--{expected}"))), "{text}: {lines:#?}");
    }
    // Statements of control flow have their text only, the queries in them a plan; a procedure's statements follow the call.
    run(&mut s, "SET SHOWPLAN_TEXT ON");
    let seen = run(&mut s, "DECLARE @i int = 1 IF @i = 1 SELECT a FROM t ELSE EXEC twice");
    run(&mut s, "SET SHOWPLAN_TEXT OFF");
    let first: Vec<&str> = seen.sets.iter().map(|set| set.1[0][0].as_str()).collect();
    assert_eq!(first[0], "DECLARE @i int = 1");
    assert_eq!(first[1], "IF @i = 1");
    assert_eq!(first[2], "SELECT a FROM t");
    assert_eq!(first[4], "EXEC twice");
    assert_eq!(first[5], "EXEC wipe");
    assert_eq!(first[6], "DELETE t");
    assert_eq!(seen.counts.len(), seen.sets.len());
}

#[test]
fn all_columns() {
    let (_world, mut s) = world("compile-only-all");
    run(&mut s, "SET SHOWPLAN_ALL ON");
    let seen = run(&mut s, "SELECT b + 1 FROM t WHERE a > 1\nPRINT 'x'");
    run(&mut s, "SET SHOWPLAN_ALL OFF");
    assert_eq!(seen.sets.len(), 1);
    let names = "StmtText StmtId NodeId Parent PhysicalOp LogicalOp Argument DefinedValues EstimateRows EstimateIO EstimateCPU \
                 AvgRowSize TotalSubtreeCost OutputList Warnings Type Parallel EstimateExecutions";
    assert_eq!(seen.sets[0].0.join(" "), names);
    let rows = &seen.sets[0].1;
    let part = |row: usize, columns: &[usize]| {
        columns.iter().map(|c| rows[row][*c].as_str()).collect::<Vec<_>>().join("|")
    };
    assert_eq!(part(0, &[0, 1, 2, 3, 4, 15]), "SELECT b + 1 FROM t WHERE a > 1|1|1|0|NULL|SELECT");
    assert_eq!(part(1, &[1, 2, 3, 4, 5, 15, 16]), "1|2|1|Compute Scalar|Compute Scalar|PLAN_ROW|0");
    assert_eq!(part(1, &[7]), "[Expr1001]=[master].[dbo].[t].[b]+(1)");
    assert_eq!(part(2, &[1, 2, 3, 4]), "1|3|2|Clustered Index Seek");
    assert_eq!(part(2, &[13]), "[master].[dbo].[t].[a], [master].[dbo].[t].[b]");
    assert_eq!(part(3, &[0, 1, 2, 3, 15]), "PRINT 'x'|2|4|0|PRINT");
    assert_eq!(rows.len(), 4);
    assert!(rows[1][8].parse::<f64>().unwrap() >= 1.0 && rows[1][12].parse::<f64>().unwrap() > 0.0);
}

/// Elements of a document in order, with their depth; panics when it is not well formed.
fn elements(xml: &str) -> Vec<(usize, String, String)> {
    let (mut found, mut open): (Vec<(usize, String, String)>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = xml;
    while let Some(tag) = rest.strip_prefix('<') {
        // Values hold neither < nor >.
        let (inside, after) = tag.split_once('>').unwrap();
        rest = after;
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (name, attributes) =
            inside.trim_end_matches('/').split_once(' ').unwrap_or((inside.trim_end_matches('/'), ""));
        assert_eq!(attributes.matches('"').count() % 2, 0, "{inside}");
        found.push((open.len(), name.to_string(), attributes.to_string()));
        if !inside.ends_with('/') {
            open.push(name.to_string());
        }
    }
    assert!(rest.is_empty() && open.is_empty(), "{rest}");
    found
}

#[test]
fn one_document_for_each_batch() {
    let (_world, mut s) = world("compile-only-xml");
    run(&mut s, "SET SHOWPLAN_XML ON");
    let text = "DECLARE @n nvarchar(9) = N'<\"&' SELECT h.y, MAX(t.b) FROM h JOIN t ON t.a = h.x WHERE t.b IN (1, 2) OR h.y LIKE 'a%' \
                GROUP BY h.y ORDER BY 2; UPDATE t SET b = CASE WHEN b > 1 THEN b * 2 END WHERE a BETWEEN 1 AND 2; PRINT 'x'";
    let seen = run(&mut s, text);
    run(&mut s, "SET SHOWPLAN_XML OFF");
    assert_eq!(numbers(&seen), [0; 0]);
    assert_eq!(seen.sets.len(), 1);
    assert_eq!(seen.sets[0].0, ["Microsoft SQL Server 2005 XML Showplan"]);
    let found = elements(&seen.sets[0].1[0][0]);
    let frame: Vec<&str> = found.iter().take(4).map(|e| e.1.as_str()).collect();
    assert_eq!(frame, ["ShowPlanXML", "BatchSequence", "Batch", "Statements"]);
    assert!(found[0].2.starts_with("xmlns=\"http://schemas.microsoft.com/sqlserver/2004/07/showplan\""));
    let statements: Vec<&str> = found.iter().filter(|e| e.0 == 4).map(|e| e.2.as_str()).collect();
    assert_eq!(statements.len(), 4);
    assert!(statements[0].contains("&lt;&quot;&amp;") && statements[0].contains("StatementType=\"ASSIGN\""));
    assert!(statements[2].contains("StatementType=\"UPDATE\""));
    // Every operator has the attributes that the schema requires, and its own element after the column list.
    let required = "NodeId PhysicalOp LogicalOp EstimateRows EstimateIO EstimateCPU AvgRowSize EstimatedTotalSubtreeCost Parallel \
                    EstimateRebinds EstimateRewinds";
    let operators: Vec<usize> = (0..found.len()).filter(|i| found[*i].1 == "RelOp").collect();
    assert!(operators.len() >= 6, "{found:#?}");
    for at in operators {
        for attribute in required.split(' ') {
            assert!(found[at].2.contains(&format!("{attribute}=\"")), "{attribute}");
        }
        let inside: Vec<&str> = found[at + 1..]
            .iter()
            .take_while(|e| e.0 > found[at].0)
            .filter(|e| e.0 == found[at].0 + 1)
            .map(|e| e.1.as_str())
            .collect();
        assert_eq!(inside.len(), 2, "{inside:?}");
        assert_eq!(inside[0], "OutputList");
    }
    for scalar in found.iter().enumerate().filter(|(_, e)| e.1 == "ScalarOperator").map(|(at, _)| at) {
        assert_eq!(found[scalar + 1].0, found[scalar].0 + 1, "an expression is never empty");
    }
}
