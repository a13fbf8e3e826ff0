//! System views as clients read them: every view can be read; contents of the compatibility views and INFORMATION_SCHEMA.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};

const SCHEMA: &str = "
CREATE TABLE dbo.parent(id int NOT NULL CONSTRAINT pk_parent PRIMARY KEY, code varchar(10) NOT NULL CONSTRAINT uq_code UNIQUE)
CREATE TABLE dbo.child(a int NOT NULL, b int NULL CONSTRAINT df_b DEFAULT (7), c nvarchar(20), d AS a + 1,
    CONSTRAINT pk_child PRIMARY KEY (a), CONSTRAINT fk_child FOREIGN KEY (b) REFERENCES dbo.parent(id),
    CONSTRAINT ck_child CHECK (a > 0 AND (b IS NULL OR b <> a)))
CREATE INDEX ix_c ON dbo.child(c) INCLUDE (b)";

/// A query of a reflecting program that relies on row order: SQLAlchemy 2.0 takes the columns of an index in the order in which this
/// statement returns them. Its own test also requires that a view's column over an identity column is an identity column, without seed.
#[test]
fn reflection_finds_the_columns_of_an_index_in_their_order_and_identity_through_views() {
    let world = World::new("reflected-order");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE users (id smallint IDENTITY(5, 2), a int, b int, c int)");
    run(
        &mut s,
        "CREATE INDEX first ON users (c, a, b) CREATE INDEX second ON users (b, id DESC) INCLUDE (a)",
    );
    let found = rows(
        &mut s,
        "select ind_col.index_id, col.name, ind_col.is_included_column from sys.columns as col
         join sys.tables as tab on tab.object_id = col.object_id
         join sys.index_columns as ind_col on ind_col.column_id = col.column_id and ind_col.object_id = tab.object_id
         join sys.schemas as sch on sch.schema_id = tab.schema_id
         where tab.name = N'users' and sch.name = N'dbo'",
    );
    assert_eq!(found, ["2|c|0", "2|a|0", "2|b|0", "3|b|0", "3|id|0", "3|a|1"]);
    run(&mut s, "CREATE VIEW shown AS SELECT id AS other, a FROM users");
    let identity = "SELECT OBJECT_NAME(object_id), name, seed_value, increment_value, SQL_VARIANT_PROPERTY(seed_value, 'BaseType')
                    FROM sys.identity_columns ORDER BY object_id";
    assert_eq!(rows(&mut s, identity), ["users|id|5|2|smallint", "shown|other|NULL|NULL|NULL"]);
}

#[test]
fn every_system_view_can_be_read() {
    let world = World::new("every-view");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    run(
        &mut s,
        "CREATE VIEW dbo.v AS SELECT x.a, p.code FROM dbo.child AS x JOIN dbo.parent AS p ON p.id = x.b",
    );
    let views = rows(
        &mut s,
        "SELECT SCHEMA_NAME(schema_id) + '.' + name FROM sys.system_objects WHERE type = 'V' ORDER BY 1",
    );
    assert!(views.len() > 130, "{}", views.len());
    for view in &views {
        let seen = run(&mut s, &format!("SELECT * FROM {view}"));
        assert!(seen.messages.is_empty(), "{view}: {:?}", seen.messages);
        let listed = rows(
            &mut s,
            &format!(
                "SELECT name FROM sys.system_columns WHERE object_id = OBJECT_ID('{view}') ORDER BY column_id"
            ),
        );
        assert_eq!(seen.sets[0].0, listed, "{view}");
    }
}

#[test]
fn compatibility_views_say_what_the_catalog_views_say() {
    let world = World::new("compatibility-views");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    run(&mut s, "CREATE PROCEDURE dbo.p @x int, @y nvarchar(30) OUTPUT AS SET @y = N'a'");
    let text =
        "SELECT name, xtype, xusertype, length, prec, scale, colid, isnullable, iscomputed FROM syscolumns
                WHERE id = OBJECT_ID('child') ORDER BY colid";
    assert_eq!(
        rows(&mut s, text),
        [
            "a|56|56|4|10|0|1|0|0",
            "b|56|56|4|10|0|2|1|0",
            "c|231|231|40|20|NULL|3|1|0",
            "d|56|56|4|10|0|4|1|1"
        ]
    );
    let text = "SELECT name, number, isoutparam FROM dbo.syscolumns WHERE id = OBJECT_ID('p') ORDER BY colid";
    assert_eq!(rows(&mut s, text), ["@x|1|0", "@y|1|1"]);
    let text = "SELECT name, indid, status & 2, status & 16, status & 2048 FROM sysindexes WHERE id = OBJECT_ID('child') ORDER BY indid";
    assert_eq!(rows(&mut s, text), ["pk_child|1|2|16|2048", "ix_c|2|0|0|0"]);
    let text =
        "SELECT c.name, k.keyno FROM sysindexkeys k JOIN syscolumns c ON c.id = k.id AND c.colid = k.colid
                WHERE k.id = OBJECT_ID('child') AND k.indid = 1";
    assert_eq!(rows(&mut s, text), ["a|1"]);
    let text = "SELECT OBJECT_NAME(constid), OBJECT_NAME(fkeyid), OBJECT_NAME(rkeyid), keycnt, fkey1, rkey1, fkey2 FROM sysreferences";
    assert_eq!(rows(&mut s, text), ["fk_child|child|parent|1|2|1|0"]);
    assert_eq!(
        rows(&mut s, "SELECT OBJECT_NAME(constid), fkey, rkey, keyno FROM sys.sysforeignkeys"),
        ["fk_child|2|1|1"]
    );
    let text = "SELECT OBJECT_NAME(constid), status & 15, colid FROM sysconstraints WHERE id = OBJECT_ID('child') ORDER BY 1";
    assert_eq!(rows(&mut s, text), ["ck_child|4|0", "df_b|5|2", "fk_child|3|0", "pk_child|1|0"]);
    assert_eq!(rows(&mut s, "SELECT name FROM sysusers WHERE uid = 1"), ["dbo"]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT name, xtype, xusertype, usertype, length FROM systypes WHERE name IN ('int', 'sysname', 'nvarchar') ORDER BY name"
        ),
        ["int|56|56|7|4", "nvarchar|231|231|0|8000", "sysname|231|256|18|256"]
    );
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM master..sysdatabases WHERE name = 'master'"), ["1"]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM sysfiles"), ["2"]);
    // A script's usual question.
    let text = "IF EXISTS (SELECT * FROM sysobjects WHERE id = object_id('dbo.child') AND sysstat & 0xf = 3) SELECT 1 ELSE SELECT 0";
    assert_eq!(rows(&mut s, text), ["1"]);
    assert_eq!(
        rows(&mut s, "SELECT name, stats_id FROM sys.stats WHERE object_id = OBJECT_ID('child')"),
        ["pk_child|1", "ix_c|2"]
    );
}

#[test]
fn what_views_and_checks_refer_to_is_known() {
    let world = World::new("dependencies");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    run(
        &mut s,
        "CREATE VIEW dbo.v AS SELECT x.a, p.code FROM dbo.child AS x JOIN dbo.parent AS p ON p.id = x.b",
    );
    run(&mut s, "CREATE VIEW dbo.w AS SELECT code FROM dbo.v");
    run(
        &mut s,
        "CREATE FUNCTION dbo.f(@n int) RETURNS TABLE AS RETURN (SELECT a, c FROM dbo.child WHERE a > @n)",
    );
    let text =
        "SELECT CONSTRAINT_NAME, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE
                WHERE TABLE_NAME = 'child' ORDER BY 1, 3";
    assert_eq!(
        rows(&mut s, text),
        ["ck_child|child|a", "ck_child|child|b", "fk_child|child|b", "pk_child|child|a"]
    );
    let text = "SELECT VIEW_NAME, TABLE_NAME FROM INFORMATION_SCHEMA.VIEW_TABLE_USAGE ORDER BY 1, 2";
    assert_eq!(rows(&mut s, text), ["v|child", "v|parent", "w|v"]);
    let text = "SELECT VIEW_NAME, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.VIEW_COLUMN_USAGE ORDER BY 1, 2, 3";
    assert_eq!(rows(&mut s, text), ["v|child|a", "v|child|b", "v|parent|code", "v|parent|id", "w|v|code"]);
    let text =
        "SELECT OBJECT_NAME(referencing_id), referenced_entity_name FROM sys.sql_expression_dependencies
                WHERE referenced_id = OBJECT_ID('dbo.child') ORDER BY 1";
    assert_eq!(rows(&mut s, text), ["ck_child|child", "ck_child|child", "f|child", "v|child"]);
    let text = "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH FROM INFORMATION_SCHEMA.ROUTINE_COLUMNS ORDER BY ORDINAL_POSITION";
    assert_eq!(rows(&mut s, text), ["f|a|int|NULL", "f|c|nvarchar|20"]);
}

#[test]
fn routines_and_parameters_of_the_information_schema() {
    let world = World::new("routines");
    let mut s = world.session();
    run(
        &mut s,
        "CREATE PROCEDURE dbo.p @x int, @y nvarchar(30) OUTPUT, @z decimal(9,3) = 1, @w varchar(max) = NULL AS SET @y = N'a'",
    );
    run(&mut s, "CREATE FUNCTION dbo.f(@n datetime2(3)) RETURNS TABLE AS RETURN (SELECT 1 AS a)");
    let text = "SELECT ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE, ROUTINE_BODY, LEFT(ROUTINE_DEFINITION, 6) FROM INFORMATION_SCHEMA.ROUTINES ORDER BY 1";
    assert_eq!(rows(&mut s, text), ["f|FUNCTION|TABLE|SQL|CREATE", "p|PROCEDURE|NULL|SQL|CREATE"]);
    let text = "SELECT SPECIFIC_NAME, ORDINAL_POSITION, PARAMETER_MODE, PARAMETER_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH,
                CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION
                FROM INFORMATION_SCHEMA.PARAMETERS ORDER BY 1, 2";
    assert_eq!(
        rows(&mut s, text),
        [
            "f|1|IN|@n|datetime2|NULL|NULL|NULL|NULL|3",
            "p|1|IN|@x|int|NULL|NULL|10|0|NULL",
            "p|2|INOUT|@y|nvarchar|30|60|NULL|NULL|NULL",
            "p|3|IN|@z|decimal|NULL|NULL|9|3|NULL",
            "p|4|IN|@w|varchar|-1|-1|NULL|NULL|NULL"
        ]
    );
}

#[test]
fn metadata_functions_know_constraints_views_and_parameters() {
    let world = World::new("metadata-functions");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    run(&mut s, "CREATE VIEW dbo.v AS SELECT a, c AS cc FROM dbo.child");
    run(&mut s, "CREATE PROCEDURE dbo.p @x nvarchar(30), @y int OUTPUT AS SET @y = 1");
    let one = |s: &mut _, text: &str, expected: &str| assert_eq!(rows(s, text), [expected], "{text}");
    one(
        &mut s,
        "SELECT OBJECT_NAME(OBJECT_ID('ck_child')), OBJECT_SCHEMA_NAME(OBJECT_ID('ck_child'))",
        "ck_child|dbo",
    );
    one(&mut s, "SELECT OBJECT_NAME(OBJECT_ID('sys.objects'))", "objects");
    one(
        &mut s,
        "SELECT OBJECT_DEFINITION(OBJECT_ID('df_b')), OBJECT_DEFINITION(OBJECT_ID('ck_child'))",
        "((7))|([a]>(0) AND ([b] IS NULL OR [b]<>[a]))",
    );
    one(
        &mut s,
        "SELECT COL_NAME(OBJECT_ID('v'), 2), COL_LENGTH('v', 'cc'), COL_LENGTH('child', 'c'), COL_LENGTH('child', 'x')",
        "cc|40|40|NULL",
    );
    one(&mut s, "SELECT OBJECTPROPERTY(OBJECT_ID('pk_child'), 'IsPrimaryKey'), OBJECTPROPERTY(OBJECT_ID('pk_child'), 'CnstIsClustKey'),
                 OBJECTPROPERTY(OBJECT_ID('df_b'), 'CnstIsColumn'), OBJECTPROPERTY(OBJECT_ID('parent'), 'TableHasForeignRef'),
                 OBJECTPROPERTY(OBJECT_ID('child'), 'TableHasUniqueCnst'), OBJECTPROPERTY(OBJECT_ID('child'), 'NoSuchProperty')", "1|1|1|1|0|NULL");
    one(&mut s, "SELECT OBJECTPROPERTYEX(OBJECT_ID('v'), 'BaseType')", "V ");
    one(&mut s, "SELECT COLUMNPROPERTY(OBJECT_ID('child'), 'c', 'precision'), COLUMNPROPERTY(OBJECT_ID('child'), 'c', 'charmaxlen'),
                 COLUMNPROPERTY(OBJECT_ID('child'), 'a', 'charmaxlen'), COLUMNPROPERTY(OBJECT_ID('p'), '@y', 'IsOutParam'),
                 COLUMNPROPERTY(OBJECT_ID('v'), 'cc', 'ColumnId')", "20|20|NULL|1|2");
    one(
        &mut s,
        "SELECT INDEXKEY_PROPERTY(OBJECT_ID('child'), 2, 1, 'ColumnId'), INDEX_COL('child', 2, 1)",
        "3|c",
    );
    one(&mut s, "SELECT FILE_ID(FILE_NAME(1)), FILE_IDEX(FILE_NAME(2))", "1|2");
    one(
        &mut s,
        "SELECT SESSIONPROPERTY('ANSI_NULLS'), SESSIONPROPERTY('NUMERIC_ROUNDABORT'), SESSIONPROPERTY('nothing')",
        "1|0|NULL",
    );
    run(&mut s, "SET CONCAT_NULL_YIELDS_NULL OFF");
    one(&mut s, "SELECT SESSIONPROPERTY('CONCAT_NULL_YIELDS_NULL')", "0");
}

#[test]
fn permissions_are_told_by_class() {
    let world = World::new("permissions");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    run(&mut s, "CREATE PROCEDURE dbo.p AS SELECT 1");
    let one = |s: &mut _, text: &str, expected: &str| assert_eq!(rows(s, text), [expected], "{text}");
    one(&mut s, "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE'), HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ANY'),
                 HAS_PERMS_BY_NAME('dbo.child', 'OBJECT', 'INSERT'), HAS_PERMS_BY_NAME('sys.objects', 'OBJECT', 'SELECT'),
                 HAS_PERMS_BY_NAME('dbo', 'SCHEMA', 'ALTER')", "1|1|1|1|1");
    // What does not exist, and what is no permission, is NULL.
    one(&mut s, "SELECT HAS_PERMS_BY_NAME('dbo.missing', 'OBJECT', 'INSERT'), HAS_PERMS_BY_NAME('dbo.child', 'OBJECT', 'FLY'),
                 HAS_PERMS_BY_NAME('nowhere', 'DATABASE', 'ANY'), HAS_PERMS_BY_NAME('dbo.child', 'THING', 'INSERT'),
                 HAS_PERMS_BY_NAME('dbo.child', 'OBJECT', 'SELECT', 'nope', 'COLUMN'),
                 HAS_PERMS_BY_NAME('dbo.child', 'OBJECT', 'SELECT', 'a', 'COLUMN')", "NULL|NULL|NULL|NULL|NULL|1");
    let text = "SELECT permission_name FROM fn_my_permissions('dbo.p', 'OBJECT') ORDER BY 1";
    assert_eq!(rows(&mut s, text), ["ALTER", "CONTROL", "EXECUTE", "TAKE OWNERSHIP", "VIEW DEFINITION"]);
    let text = "SELECT subentity_name FROM sys.fn_my_permissions('dbo.parent', 'OBJECT') WHERE permission_name = 'UPDATE' ORDER BY 1";
    assert_eq!(rows(&mut s, text), ["", "code", "id"]);
    one(
        &mut s,
        "SELECT COUNT(*) FROM fn_my_permissions(NULL, 'SERVER') WHERE permission_name = 'CONTROL SERVER'",
        "1",
    );
    one(&mut s, "SELECT COUNT(DISTINCT class_desc) FROM sys.fn_builtin_permissions(DEFAULT)", "8");
}

#[test]
fn a_constraints_name_is_no_table() {
    let world = World::new("constraint-names");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    for (text, number) in [
        ("SELECT * FROM pk_child", 208),
        ("DELETE df_b", 208),
        ("DROP TABLE ck_child", 3701),
        ("ALTER TABLE fk_child ADD z int", 4902),
    ] {
        assert_eq!(crate::common::numbers(&run(&mut s, text)), [number], "{text}");
    }
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM sys.tables"), ["2"]);
    // Accepted all the same.
    assert_eq!(crate::common::numbers(&run(&mut s, "CREATE TABLE pk_child(a int)")), [2714]);
}

/// Tools that compare definitions (migrations of several frameworks) read SQL Server's normal form of expressions; a table created again from
/// the catalog's text has an equal form.
#[test]
fn expressions_are_kept_in_the_catalogs_form() {
    let world = World::new("forms");
    let mut session = world.session();
    let body = |a: &str, b: &str, c: &str, d: &str| {
        format!(
            "(a INT CONSTRAINT d1 DEFAULT {a}, b NVARCHAR(9) CONSTRAINT d2 DEFAULT {b}, CONSTRAINT c1 CHECK {c}, x AS {d})"
        )
    };
    let forms = "SELECT definition FROM sys.default_constraints UNION ALL SELECT definition FROM sys.check_constraints
                 UNION ALL SELECT definition FROM sys.computed_columns";
    run(
        &mut session,
        &format!(
            "CREATE TABLE t {}",
            body("-1", "Lower('X')", "(b IN ('a', N'b') AND a BETWEEN 1 AND 5)", "a + 1 + a")
        ),
    );
    let kept =
        ["((-1))", "(lower('X'))", "(([b]=N'b' OR [b]='a') AND [a]>=(1) AND [a]<=(5))", "(([a]+(1))+[a])"];
    assert_eq!(rows(&mut session, forms), kept);
    assert_eq!(rows(&mut session, "INSERT t (a, b) VALUES (2, N'b'); SELECT a, b, x FROM t"), ["2|b|5"]);
    assert_eq!(numbers(&run(&mut session, "INSERT t (a, b) VALUES (6, N'b')")), [547, 3621]);
    run(&mut session, "DROP TABLE t");
    run(&mut session, &format!("CREATE TABLE t {}", body(kept[0], kept[1], kept[2], kept[3])));
    assert_eq!(rows(&mut session, forms), kept);
}
