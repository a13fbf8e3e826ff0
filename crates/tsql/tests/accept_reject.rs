//! Accepted and refused statements, with the number, line and near-text of SQL Server.
#![allow(clippy::unwrap_used, reason = "a test")]

use hardpan_tsql::{ParseOptions, format, parse_batch, parse_expression};

fn errors(text: &str) -> Vec<(i32, u32, String)> {
    match parse_batch(text, &ParseOptions::default()) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|e| (e.number, e.line, e.near)).collect(),
    }
}

#[track_caller]
fn refused(text: &str, number: i32, line: u32, near: &str) {
    let errors = errors(text);
    assert_eq!(errors.first(), Some(&(number, line, near.to_string())), "{text}: {errors:?}");
}

#[track_caller]
fn accepted(text: &str) {
    assert_eq!(errors(text), [], "{text}");
}

#[test]
fn error_102_names_the_token() {
    refused("SELECT 1 FROM t WHERE a == 1", 102, 1, "=");
    refused("SELECT * FROM t\nWHERE a = b = c", 102, 2, "=");
    refused("SELECT a b c FROM t", 102, 1, "c");
    refused("SELEC * FROM t", 102, 1, "*");
    refused("SELECT 1\nFORM t x", 102, 2, "t");
    refused("SELECT (1", 102, 1, "1");
    refused("SELECT 1 +\n\n", 102, 1, "+");
    // Found by fuzzing: a table's name is allowed behind the provider's strings only.
    refused("SELECT * FROM OPENROWSET(t) AS b", 102, 1, "t");
    refused("SELECT * FROM OPENROWSET('p', t, 'x') AS b", 102, 1, ",");
    refused("SELECT )", 102, 1, ")");
    refused("PRINT 'x' garbage", 102, 1, "garbage");
    refused("SELECT 'a' 'b' 'c'", 102, 1, "c");
    refused("CREATE TABLE t (a int b int)", 102, 1, "b");
    refused("INSERT INTO t VALUES 1", 102, 1, "1");
    refused("BEGIN SELECT 1", 102, 1, "1");
    refused("BEGIN TRY SELECT 1 END TRY SELECT 2", 156, 1, "SELECT");
    refused("BEGIN TRY SELECT 1 END TRY; BEGIN CATCH END CATCH", 102, 1, ";");
    refused("COMMIT TRAN WITH (DELAYED_DURABILITY = MAYBE)", 102, 1, "MAYBE");
    refused("ALTER DATABASE x SET DELAYED_DURABILITY = ON", 156, 1, "ON");
    refused("SET NOCOUNT MAYBE", 102, 1, "MAYBE");
    refused("SET NO_SUCH_OPTION ON", 102, 1, "NO_SUCH_OPTION");
}

#[test]
fn error_156_names_the_keyword_as_written() {
    refused("SELECT * FROM WHERE a = 1", 156, 1, "WHERE");
    refused("select from t", 156, 1, "from");
    refused("SELECT a,\nFROM t", 156, 2, "FROM");
    refused("UPDATE t WHERE a = 1", 156, 1, "WHERE");
    refused("DELETE FROM t WHERE", 102, 1, "WHERE");
    refused("CREATE TABLE order (a int)", 156, 1, "order");
    refused("INSERT t (a) SELECT", 102, 1, "SELECT");
    refused("END", 156, 1, "END");
    refused("SELECT 1 ELSE SELECT 2", 156, 1, "ELSE");
    refused("IF 1 = 1 CREATE VIEW v AS SELECT 1", 156, 1, "VIEW");
    refused("BEGIN END", 156, 1, "END");
    refused("SELECT * FROM t ORDER", 102, 1, "ORDER");
    refused("SELECT a FROM t GROUP a", 102, 1, "a");
    refused("CREATE VIEW v AS SELECT 1 SELECT 2", 156, 1, "SELECT");
}

#[test]
fn quotes_and_comments_that_never_end() {
    // SQL Server adds 102 for the same text.
    assert_eq!(
        errors("SELECT 1\nSELECT 'abc\ndef"),
        [(105, 2, "abc\ndef".to_string()), (102, 2, "abc\ndef".to_string())]
    );
    refused("SELECT N'x", 105, 1, "x");
    refused("SELECT [abc", 105, 1, "abc");
    refused("SELECT 1 /* never ends", 113, 1, "");
    refused("SELECT 1\n/* a /* b */", 113, 2, "");
}

#[test]
fn with_and_throw_need_a_semicolon_before() {
    refused("SELECT 1\nWITH c AS (SELECT 1 AS a) SELECT * FROM c", 319, 2, "WITH");
    refused("DECLARE @x int\nwith c as (select 1 as a) select * from c", 319, 2, "with");
    refused("SELECT * FROM t WITH c AS (SELECT 1 AS a) SELECT * FROM c", 319, 1, "WITH");
    refused("INSERT t WITH c AS (SELECT 1 AS a) SELECT * FROM c", 319, 1, "WITH");
    accepted("SELECT 1; WITH c AS (SELECT 1 AS a) SELECT * FROM c");
    accepted("WITH c AS (SELECT 1 AS a) SELECT * FROM c");
    accepted("BEGIN WITH c AS (SELECT 1 AS a) SELECT * FROM c END");
    refused("PRINT 'x' THROW", 102, 1, "THROW");
    accepted("PRINT 'x'; THROW 50000, 'm', 1");
    accepted("IF 1 = 1 THROW 50000, 'm', 1 ELSE THROW 50001, 'n', 2");
    refused("MERGE t USING u ON 1 = 1 WHEN MATCHED THEN DELETE", 10713, 1, "");
}

#[test]
fn modules_stand_alone() {
    refused("SELECT 1\nCREATE VIEW v AS SELECT 1", 111, 2, "CREATE VIEW");
    refused("SET NOCOUNT ON; ALTER PROC p AS SELECT 1", 111, 1, "CREATE/ALTER PROCEDURE");
    refused("PRINT 1 CREATE FUNCTION f() RETURNS int AS BEGIN RETURN 1 END", 111, 1, "CREATE FUNCTION");
    refused("PRINT 1 CREATE TRIGGER r ON t FOR INSERT AS PRINT 1", 111, 1, "CREATE TRIGGER");
    refused("PRINT 1 CREATE SCHEMA s", 111, 1, "CREATE SCHEMA");
    refused("CREATE FUNCTION f() RETURNS int AS BEGIN RETURN 1 END SELECT 1", 156, 1, "SELECT");
    accepted("; CREATE VIEW v AS SELECT 1;");
}

#[test]
fn labels_loops_and_variables() {
    refused("GOTO nowhere", 133, 1, "nowhere");
    refused("a: PRINT 1\nA: PRINT 2", 132, 2, "A");
    accepted("GOTO a PRINT 1 a: PRINT 2");
    refused("BREAK", 135, 1, "");
    refused("IF 1 = 1 CONTINUE", 136, 1, "");
    refused("RETURN 1", 178, 1, "");
    accepted("CREATE PROC p AS RETURN 1");
    accepted("RETURN SELECT 1");
    refused("DECLARE @a int\nDECLARE @A int", 134, 2, "@A");
    refused("CREATE PROC p @a int AS DECLARE @a int", 134, 1, "@a");
    refused("IF 1 PRINT 1", 4145, 1, "PRINT");
    refused("SELECT 1 WHERE a", 4145, 1, "a");
    refused("SELECT 1 WHERE a AND b = 1", 4145, 1, "AND");
    refused("CREATE NOTHING x", 343, 1, "NOTHING");
    refused("SELECT a.b.c.d.e.f", 117, 1, "a.b.c.d.e.f");
    refused(
        "SELECT 123456789012345678901234567890123456789",
        1007,
        1,
        "123456789012345678901234567890123456789",
    );
    refused("SELECT 1e400", 168, 1, "1e400");
}

#[test]
fn all_errors_of_a_batch_are_reported_in_order() {
    assert_eq!(
        errors("SELECT FROM a\nSELECT 1\nSELECT * FORM t WHERE\nUPDATE t SET\nPRINT 'fine'\nSELECT (1"),
        [
            (156, 1, "FROM".to_string()),
            (102, 3, "FORM".to_string()),
            (156, 5, "PRINT".to_string()),
            (102, 6, "1".to_string()),
        ]
    );
    // An error inside parentheses does not make the sub-query behind it a statement.
    assert_eq!(errors("SELECT * FROM (SELEC x FROM t WHERE a IN (SELECT 1)) AS d").len(), 1);
}

#[test]
fn quoted_identifier_decides_what_double_quotes_are() {
    let off = ParseOptions { quoted_identifier: false };
    // In the batch itself, the option holds from where it is set.
    accepted(
        "SELECT \"a\" SET QUOTED_IDENTIFIER OFF PRINT \"it's\" SET QUOTED_IDENTIFIER ON SELECT * FROM \"t\"",
    );
    refused("SET QUOTED_IDENTIFIER OFF\nSELECT * FROM \"t\"", 102, 2, "t");
    assert_eq!(format(&parse_batch("SELECT \"a\"", &off).expect("parses")), "SELECT 'a';");
    assert_eq!(
        format(&parse_batch("SELECT \"a\"", &ParseOptions::default()).expect("parses")),
        "SELECT [a];"
    );
}

#[test]
fn precedence_is_that_of_t_sql() {
    for (text, printed) in [
        ("1+2*3-4", "1 + 2 * 3 - 4"),
        ("(1+2)*3", "(1 + 2) * 3"),
        ("-100.0/-100.0*10.0", "-100.0 / (-100.0 * 10.0)"),
        ("a&b|c", "a & b | c"),
        ("~a*b", "~a * b"),
        ("a=1 OR b=2 AND NOT c=3", "a = 1 OR b = 2 AND NOT c = 3"),
        ("(a=1 OR b=2) AND c=3", "(a = 1 OR b = 2) AND c = 3"),
        ("NOT (a=1 AND b=2)", "NOT (a = 1 AND b = 2)"),
        ("a > = 1", "a >= 1"),
        ("a ! = 1", "a <> 1"),
        ("'it''s' + N'x'", "'it''s' + N'x'"),
        ("0xabc", "0x0ABC"),
        ("[a]]b].\"c\"", "[a]]b].[c]"),
        ("((((a))))", "a"),
    ] {
        let expr = parse_expression(text, &ParseOptions::default()).expect(text);
        let shown = hardpan_tsql::format_expression(&expr);
        assert_eq!(shown, printed);
        let again = parse_expression(&shown, &ParseOptions::default()).expect("parses");
        assert_eq!(again, expr, "{shown}");
    }
}

/// Every error of the parser has a text of its own.
#[test]
fn errors_have_a_text() {
    for text in [
        "SELECT a.b.c.d.e.f()",
        "BREAK",
        "CONTINUE",
        "SELECT 1e999",
        "RETURN 1",
        "CREATE GADGET g",
        "SELECT 123456789012345678901234567890123456789",
        "IF 1 SELECT 1",
        "MERGE t USING s ON 1 = 1 WHEN MATCHED THEN DELETE",
        "SELECT 'a",
        "SELECT /* a",
        "DECLARE @a int = @a",
        "CREATE PROCEDURE p AS USE tempdb",
        "EXEC p 5 OUTPUT",
        "DELETE t OUTPUT (SELECT 1)",
    ] {
        let errors = parse_batch(text, &ParseOptions::default()).expect_err(text);
        assert!(!errors[0].message().starts_with("Syntax error"), "{text}: {}", errors[0]);
    }
}

#[test]
fn order_by_of_a_query_inside_needs_a_limit() {
    for text in [
        "SELECT * FROM (SELECT a FROM t ORDER BY a) AS x",
        "SELECT (SELECT a FROM t ORDER BY a)",
        "SELECT 1 WHERE 1 IN (SELECT a FROM t ORDER BY a)",
        "SELECT 1 WHERE EXISTS (SELECT a FROM t ORDER BY a)",
        "WITH c AS (SELECT a FROM t ORDER BY a) SELECT * FROM c",
        "SELECT * FROM (SELECT TOP 1 a FROM t UNION SELECT 2 ORDER BY a) AS x",
        "SELECT * FROM ((SELECT a FROM t ORDER BY a) UNION SELECT 2) AS x",
        "CREATE FUNCTION f() RETURNS TABLE AS RETURN (SELECT a FROM t ORDER BY a)",
    ] {
        refused(text, 1033, 1, "");
    }
    for text in [
        "SELECT * FROM (SELECT TOP 1 a FROM t ORDER BY a) AS x",
        "SELECT (SELECT a FROM t ORDER BY a OFFSET 1 ROWS)",
        "WITH c AS (SELECT a FROM t ORDER BY a OFFSET 0 ROWS) SELECT * FROM c ORDER BY a",
        "SELECT * FROM ((SELECT TOP 1 a FROM t ORDER BY a) UNION (SELECT 2)) AS x ORDER BY 1",
        "SELECT (SELECT a FROM t ORDER BY a FOR XML AUTO)",
        "INSERT t SELECT a FROM t ORDER BY a",
    ] {
        accepted(text);
    }
    refused("(SELECT TOP 1 a FROM t ORDER BY a) UNION (SELECT 2)", 156, 1, "ORDER");
}

#[test]
fn an_ordered_branch_is_printed_as_it_was() {
    let text = "SELECT * FROM ((SELECT TOP 1 a FROM t ORDER BY a) UNION SELECT 2) AS x";
    let printed = |text: &str| format(&parse_batch(text, &ParseOptions::default()).unwrap());
    let once = printed(text);
    assert!(once.contains("ORDER BY"), "{once}");
    assert_eq!(printed(&once), once);
}

#[test]
fn what_procedures_and_calls_may_not_hold() {
    refused("CREATE PROCEDURE p AS USE tempdb", 154, 1, "");
    refused("CREATE PROCEDURE p AS\nIF 1 = 1 BEGIN SELECT 1 USE tempdb END", 154, 2, "");
    refused("CREATE TRIGGER tr ON t AFTER INSERT AS USE tempdb", 154, 1, "");
    refused("CREATE FUNCTION f() RETURNS int AS BEGIN USE tempdb RETURN 1 END", 154, 1, "");
    accepted("USE tempdb");
    accepted("IF 1 = 1 USE tempdb");
    for text in [
        "EXEC p 5 OUTPUT",
        "EXEC p @a = 'x' OUT",
        "EXEC p NULL OUTPUT",
        "EXEC p x OUTPUT",
        "EXEC p -1 OUTPUT",
    ] {
        refused(text, 179, 1, "");
    }
    accepted("EXEC p @x OUTPUT, @a = @@y OUT, @b = 5");
    refused("CREATE PROCEDURE p @a int, @A int AS SELECT 1", 134, 1, "@A");
    refused("CREATE FUNCTION f(@a int, @b int, @a int) RETURNS int AS BEGIN RETURN 1 END", 134, 1, "@a");
    refused("CREATE PROCEDURE p @a int OUTPUT OUT AS SELECT 1", 102, 1, "OUT");
    accepted("CREATE PROCEDURE p @a int OUTPUT AS SELECT 1");
}

#[test]
fn no_query_stands_in_output_and_no_variable_in_its_own_declare() {
    refused("INSERT t (a) OUTPUT (SELECT 1) VALUES (1)", 10705, 1, "");
    refused("DELETE t OUTPUT deleted.a,\nCASE WHEN EXISTS (SELECT 1) THEN 1 END", 10705, 2, "");
    refused("UPDATE t SET a = 1 OUTPUT 1 + (SELECT 2)", 10705, 1, "");
    accepted("INSERT t (a) OUTPUT inserted.a INTO u (a) SELECT (SELECT 1)");
    accepted("UPDATE t SET a = (SELECT 1) OUTPUT inserted.a FROM (SELECT 1 AS b) AS d WHERE a IN (SELECT 1)");
    refused("DECLARE @a int = 1, @b int = @a + 1", 137, 1, "@a");
    refused("DECLARE @a int = @A", 137, 1, "@A");
    refused("DECLARE @a int,\n@b int = (SELECT MAX(x) FROM t WHERE y = @a)", 137, 2, "@a");
    accepted("DECLARE @a int = 1 DECLARE @b int = @a + 1, @c int = @a");
}

/// A word must be followed by its required arguments, and by no others; words that exclude each other cannot be combined.
#[test]
fn hints_and_options_have_what_belongs_to_them() {
    refused("SELECT a FROM t\nOPTION (MAXDOP)", 102, 2, ")");
    refused("SELECT a FROM t OPTION (FAST 'a')", 102, 1, "a");
    refused("SELECT a FROM t OPTION (RECOMPILE 5)", 102, 1, "5");
    refused("SELECT a FROM t OPTION (MAXDOP 1 + 1)", 102, 1, "+");
    refused("SELECT a FROM t OPTION (MIN_GRANT_PERCENT = 100.5)", 1042, 1, "MIN_GRANT_PERCENT");
    refused("SELECT a FROM t OPTION (maxdop 1, MAXDOP 2)", 1042, 1, "MAXDOP");
    refused("SELECT a FROM t WITH (FORCESEEK (ia))", 102, 1, ")");
    refused("SELECT a FROM t FOR XML RAW, NOSUCH", 102, 1, "NOSUCH");
    refused("SELECT a FROM t FOR JSON PATH, TYPE", 102, 1, "TYPE");
    refused("CREATE VIEW v AS\nSELECT a FROM t\nOPTION (MAXDOP 1)", 156, 3, "OPTION");
    refused("ALTER TABLE t ALTER COLUMN a int NULL NOT NULL", 156, 1, "NOT");
    refused("DECLARE c CURSOR FORWARD_ONLY SCROLL FOR SELECT 1", 1048, 1, "SCROLL and FORWARD_ONLY");
    refused("DECLARE c CURSOR STATIC FOR SELECT a FROM t FOR UPDATE", 1048, 1, "FOR UPDATE and STATIC");
    refused("DECLARE c CURSOR READ_ONLY FOR SELECT a FROM t FOR READ ONLY", 1058, 1, "");
    for text in [
        "SELECT a FROM t OPTION (MAXDOP 0, FAST 10, MAXRECURSION 32767, MIN_GRANT_PERCENT = 0, MAX_GRANT_PERCENT = 12.5)",
        "SELECT a FROM t OPTION (MAXDOP 1, RECOMPILE, MAXDOP 1, RECOMPILE, HASH JOIN, MERGE JOIN)",
        "SELECT a FROM t OPTION (LABEL = 'x', USE HINT ('y'), OPTIMIZE FOR UNKNOWN, QUERYTRACEON 4199)",
        "SELECT a FROM t WITH (FORCESEEK, INDEX (ia, 2)) OPTION (TABLE HINT (t, FORCESEEK (ia (a, b))))",
        "SELECT a FROM t WITH (FORCESEEK (1 (a)))",
        "SELECT a FROM t FOR XML RAW ('r'), ROOT ('x'), TYPE, ELEMENTS XSINIL, BINARY BASE64, XMLSCHEMA ('u')",
        "SELECT a FROM t FOR JSON PATH, ROOT ('x'), INCLUDE_NULL_VALUES",
        "CREATE PROCEDURE p AS SELECT a FROM t OPTION (RECOMPILE)",
        "DECLARE c CURSOR LOCAL FORWARD_ONLY STATIC READ_ONLY TYPE_WARNING FOR SELECT a FROM t",
        "DECLARE c CURSOR STATIC STATIC FOR SELECT a FROM t FOR READ ONLY",
        "DECLARE c INSENSITIVE SCROLL CURSOR FOR SELECT a FROM t FOR READ ONLY",
        "ALTER TABLE t ALTER COLUMN a varchar(5) COLLATE x NOT NULL",
    ] {
        accepted(text);
    }
}

#[test]
fn each_part_of_a_definition_stands_once_and_where_it_belongs() {
    refused("CREATE TABLE t (a varchar(5) COLLATE x\nCOLLATE y)", 156, 2, "COLLATE");
    refused("CREATE TABLE t (b int, a AS b PERSISTED NULL)", 156, 1, "NULL");
    refused("CREATE TABLE t (a int IDENTITY NOT FOR REPLICATION NOT FOR REPLICATION)", 156, 1, "NOT");
    refused("CREATE TABLE t (a int,\nCONSTRAINT c DEFAULT 1 FOR a)", 142, 2, "TABLE");
    refused("DECLARE @t TABLE (a int CONSTRAINT c UNIQUE)", 156, 1, "CONSTRAINT");
    refused("CREATE INDEX i ON t (a) WITH (PAD_INDEX)", 102, 1, ")");
    refused(
        "CREATE VIEW v WITH SCHEMABINDING, SCHEMABINDING AS SELECT a FROM dbo.t",
        1039,
        1,
        "SCHEMABINDING",
    );
    refused("SELECT a FROM t FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, ROOT ('x')", 13620, 1, "");
    refused("DECLARE c SCROLL CURSOR LOCAL FOR SELECT a FROM t", 1049, 1, "");
    refused("DECLARE c CURSOR INSENSITIVE FOR SELECT a FROM t", 153, 1, "insensitive");
    refused("INSERT t VALUES (1,\na + b)", 128, 2, "a");
    refused("INSERT t VALUES (1), (DATEADD(day, 1, x))", 128, 1, "x");
    refused("UPDATE t SET a += DEFAULT", 156, 1, "DEFAULT");
    for text in [
        "ALTER TABLE t ADD CONSTRAINT c DEFAULT 1 FOR a",
        "CREATE TABLE t (b int, a AS b PERSISTED NOT NULL CONSTRAINT c UNIQUE)",
        "CREATE INDEX i ON t (a) WITH PAD_INDEX, FILLFACTOR = 50, DROP_EXISTING",
        "DECLARE c INSENSITIVE SCROLL CURSOR FOR SELECT a FROM t",
        "INSERT t VALUES ((SELECT MAX(a) FROM u), DATEADD(day, 1, GETDATE()), t.a)",
        "INSERT t VALUES (1, DEFAULT), (NEXT VALUE FOR s OVER (ORDER BY a), @a)",
        "INSERT t SELECT a FROM (VALUES (1)) AS x (a)",
        "MERGE t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (a);",
        "SELECT a FROM t FOR JSON PATH, WITHOUT_ARRAY_WRAPPER",
        "EXEC ('SELECT ?', 1) AT server",
    ] {
        accepted(text);
    }
}

/// Batches that the documented grammar does not allow, of all kinds of statements, one a line.
#[test]
fn what_the_grammar_does_not_have_is_refused() {
    let batches = include_str!("invalid_batches.txt");
    assert!(batches.lines().count() > 500);
    let taken: Vec<&str> = batches.lines().filter(|batch| errors(batch).is_empty()).collect();
    assert!(taken.is_empty(), "accepted:\n{}", taken.join("\n"));
}
