//! Renames, extended properties, and alias types.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};

const SCHEMA: &str = "
CREATE TABLE dbo.t(a int NOT NULL CONSTRAINT pk_t PRIMARY KEY, b int NULL CONSTRAINT df_b DEFAULT (7), c nvarchar(20), d AS a + 1,
    e int CONSTRAINT ck_e CHECK (e > 0))
CREATE INDEX ix_c ON dbo.t(c)
CREATE TABLE dbo.u(x int CONSTRAINT fk_u REFERENCES dbo.t(a))
INSERT t(a, c, e) VALUES (1, N'one', 1), (2, N'two', 2) INSERT u VALUES (1)";

#[test]
fn renamed_objects_keep_their_rows_and_their_references() {
    let (_world, mut s) = World::in_database("rename");
    run(&mut s, SCHEMA);
    run(&mut s, "CREATE VIEW dbo.v AS SELECT 1 AS one");
    run(&mut s, "CREATE PROCEDURE dbo.p AS SELECT 2 AS two");
    // Each sends the caution.
    for (text, check, expected) in [
        ("EXEC sp_rename 't', 'tt'", "SELECT COUNT(*) FROM tt", "2"),
        ("EXEC sp_rename 'dbo.tt.c', 'cc', 'COLUMN'", "SELECT cc FROM tt WHERE a = 2", "two"),
        (
            "EXEC sp_rename N'[dbo].[tt].[ix_c]', N'ix cc', N'INDEX'",
            "SELECT COUNT(*) FROM tt WITH (INDEX([ix cc]))",
            "2",
        ),
        (
            "EXEC sp_rename 'pk_t', 'pk_tt', 'OBJECT'",
            "SELECT name FROM sys.indexes WHERE is_primary_key = 1",
            "pk_tt",
        ),
        ("EXEC sp_rename 'dbo.df_b', 'df_bb'", "SELECT name FROM sys.default_constraints", "df_bb"),
        ("EXEC sp_rename 'ck_e', 'ck_ee'", "SELECT name FROM sys.check_constraints", "ck_ee"),
        (
            "EXEC sp_rename 'fk_u', 'fk_uu'",
            "SELECT OBJECT_NAME(referenced_object_id) FROM sys.foreign_keys WHERE name = 'fk_uu'",
            "tt",
        ),
        ("EXEC sp_rename 'v', 'w'", "SELECT one FROM w", "1"),
        ("EXEC sp_rename @objname = 'p', @newname = 'q', @objtype = 'object'", "EXEC q", "2"),
        ("EXEC sp_rename 'tt.b', 'bb'", "SELECT bb FROM tt WHERE a = 1", "7"),
        ("EXEC sp_rename 'tt', 'TT'", "SELECT name FROM sys.tables WHERE name = 'tt'", "TT"),
    ] {
        assert_eq!(numbers(&run(&mut s, text)), [15477], "{text}");
        assert_eq!(rows(&mut s, check), [expected], "{text}");
    }
    assert_eq!(numbers(&run(&mut s, "SELECT * FROM t")), [208]);
    // Undone with its transaction.
    run(&mut s, "BEGIN TRAN EXEC sp_rename 'tt', 'other' ROLLBACK");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM tt"), ["2"]);
    // A statement seen before means the new object afterwards.
    run(&mut s, "CREATE TABLE n1(i int) INSERT n1 VALUES (1) CREATE TABLE n2(i int) INSERT n2 VALUES (2)");
    assert_eq!(rows(&mut s, "SELECT i FROM n1"), ["1"]);
    run(&mut s, "EXEC sp_rename 'n1', 'n3' EXEC sp_rename 'n2', 'n1'");
    assert_eq!(rows(&mut s, "SELECT i FROM n1"), ["2"]);
    run(&mut s, "USE master");
    assert_eq!(numbers(&run(&mut s, "EXEC d..sp_rename 'n1', 'n4'")), [15477]);
    assert_eq!(rows(&mut s, "SELECT i FROM d..n4"), ["2"]);
    assert_eq!(numbers(&run(&mut s, "EXEC sp_rename 'd', 'd2', 'DATABASE'")), [15477]);
    assert_eq!(rows(&mut s, "SELECT i FROM d2..n4"), ["2"]);
}

#[test]
fn what_cannot_be_renamed() {
    let world = World::new("rename-errors");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    for (text, expected) in [
        ("EXEC sp_rename 'missing', 'x'", 15225),
        ("EXEC sp_rename 'missing', 'x', 'OBJECT'", 15225),
        ("EXEC sp_rename 't.missing', 'x', 'COLUMN'", 15248),
        ("EXEC ('CREATE VIEW seen AS SELECT 1 AS own') EXEC sp_rename 'seen.own', 'x', 'COLUMN'", 15248),
        ("EXEC sp_rename 't.missing', 'x', 'INDEX'", 15248),
        ("EXEC sp_rename 'missing', 'x', 'USERDATATYPE'", 15248),
        ("EXEC sp_rename 't', 'x', 'THING'", 15249),
        ("EXEC sp_rename 't', NULL", 15223),
        ("EXEC sp_rename 't', 'u'", 15335),
        ("EXEC sp_rename 't', 'fk_u'", 15335),
        ("EXEC sp_rename 't.b', 'c', 'COLUMN'", 15335),
        ("EXEC sp_rename 't.ix_c', 'pk_t', 'INDEX'", 15335),
        // A CHECK and a computed column name these.
        ("EXEC sp_rename 't.e', 'x', 'COLUMN'", 15336),
        ("EXEC sp_rename 't.a', 'x', 'COLUMN'", 15336),
        ("EXEC sp_rename 'sys.objects', 'x'", 15225),
        ("EXEC sp_rename 't'", 201),
    ] {
        assert_eq!(numbers(&run(&mut s, text)), [expected], "{text}");
    }
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM t WHERE e > 0 AND d > a"), ["2"]);
}

#[test]
fn extended_properties_of_every_level() {
    let (_world, mut s) = World::in_database("properties");
    run(&mut s, SCHEMA);
    run(&mut s, "CREATE VIEW dbo.v AS SELECT a, c FROM t");
    run(&mut s, "CREATE PROCEDURE dbo.p @x int AS SELECT @x");
    run(&mut s, "CREATE TYPE dbo.name_t FROM nvarchar(50)");
    for text in [
        "EXEC sp_addextendedproperty N'MS_Description', N'the database'",
        "EXEC sp_addextendedproperty N'MS_Description', N'schema', N'SCHEMA', N'dbo'",
        "EXEC sys.sp_addextendedproperty @name = N'MS_Description', @value = N'table t', @level0type = N'SCHEMA', @level0name = N'dbo',
            @level1type = N'TABLE', @level1name = N't'",
        "EXEC sp_addextendedproperty 'MS_Description', 'column c', 'user', 'dbo', 'table', 't', 'column', 'c'",
        "EXEC sp_addextendedproperty 'n', 42, 'schema', 'dbo', 'table', 't', 'index', 'ix_c'",
        "EXEC sp_addextendedproperty 'n', 'pk', 'schema', 'dbo', 'table', 't', 'constraint', 'pk_t'",
        "EXEC sp_addextendedproperty 'n', 'v', 'schema', 'dbo', 'view', 'v', 'column', 'c'",
        "EXEC sp_addextendedproperty 'n', 'p', 'schema', 'dbo', 'procedure', 'p', 'parameter', '@x'",
        "EXEC sp_addextendedproperty 'n', 't', 'schema', 'dbo', 'type', 'name_t'",
    ] {
        assert!(run(&mut s, text).messages.is_empty(), "{text}: {:?}", run(&mut s, text).messages);
    }
    let all = "SELECT class, class_desc, OBJECT_NAME(major_id), minor_id, name, CAST(value AS nvarchar(50)) FROM sys.extended_properties
               ORDER BY class, minor_id, 6";
    assert_eq!(
        rows(&mut s, all),
        [
            "0|DATABASE|NULL|0|MS_Description|the database",
            "1|OBJECT_OR_COLUMN|pk_t|0|n|pk",
            "1|OBJECT_OR_COLUMN|t|0|MS_Description|table t",
            "1|OBJECT_OR_COLUMN|v|2|n|v",
            "1|OBJECT_OR_COLUMN|t|3|MS_Description|column c",
            "2|PARAMETER|p|1|n|p",
            "3|SCHEMA|NULL|0|MS_Description|schema",
            "6|TYPE|NULL|0|n|t",
            "7|INDEX|t|2|n|42"
        ]
    );
    assert_eq!(
        rows(
            &mut s,
            "SELECT SQL_VARIANT_PROPERTY(value, 'BaseType') FROM sys.extended_properties WHERE class = 7"
        ),
        ["int"]
    );
    let list = "SELECT objtype, objname, name, CAST(value AS nvarchar(50)) FROM fn_listextendedproperty";
    assert_eq!(
        rows(&mut s, &format!("{list}(NULL, 'schema', 'dbo', 'table', 't', 'column', DEFAULT)")),
        ["COLUMN|c|MS_Description|column c"]
    );
    assert_eq!(
        rows(&mut s, &format!("{list}(default, default, default, default, default, default, default)")),
        ["NULL|NULL|MS_Description|the database"]
    );
    assert_eq!(
        rows(&mut s, &format!("{list}('MS_Description', 'schema', 'dbo', 'table', NULL, NULL, NULL)")),
        ["TABLE|t|MS_Description|table t"]
    );
    for (text, expected) in [
        ("EXEC sp_addextendedproperty 'MS_Description', 'again', 'schema', 'dbo', 'table', 't'", 15233),
        ("EXEC sp_updateextendedproperty 'other', 'x', 'schema', 'dbo', 'table', 't'", 15217),
        ("EXEC sp_dropextendedproperty 'other', 'schema', 'dbo', 'table', 't'", 15217),
        ("EXEC sp_addextendedproperty 'a', 'b', 'schema', 'dbo', 'table', 'missing'", 15135),
        ("EXEC sp_addextendedproperty 'a', 'b', 'schema', 'dbo', 'thing', 't'", 15135),
        ("EXEC sp_addextendedproperty 'a', 'b', 'schema', NULL, 'table', 't'", 15600),
        ("DECLARE @l varchar(8000) = REPLICATE('x', 7501) EXEC sp_addextendedproperty 'a', @l", 15097),
    ] {
        assert_eq!(numbers(&run(&mut s, text)), [expected], "{text}");
    }
    run(&mut s, "EXEC sp_updateextendedproperty 'MS_Description', N'T', 'schema', 'dbo', 'table', 't'");
    run(&mut s, "EXEC sp_dropextendedproperty 'MS_Description'");
    run(
        &mut s,
        "BEGIN TRAN EXEC sp_addextendedproperty 'undone', 1 EXEC sp_dropextendedproperty 'MS_Description', 'schema', 'dbo' ROLLBACK",
    );
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM sys.extended_properties"), ["8"]);
    // The properties of an object are dropped with it, and restored with it.
    run(&mut s, "BEGIN TRAN DROP INDEX ix_c ON t");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM sys.extended_properties WHERE class = 7"), ["0"]);
    run(
        &mut s,
        "ROLLBACK DROP VIEW v ALTER TABLE u DROP CONSTRAINT fk_u DROP INDEX ix_c ON t ALTER TABLE t DROP COLUMN c",
    );
    let left =
        "SELECT class_desc, CAST(value AS nvarchar(50)) FROM sys.extended_properties ORDER BY class, 2";
    assert_eq!(
        rows(&mut s, left),
        ["OBJECT_OR_COLUMN|pk", "OBJECT_OR_COLUMN|T", "PARAMETER|p", "SCHEMA|schema", "TYPE|t"]
    );
    run(&mut s, "DROP TABLE t DROP PROCEDURE p DROP TYPE name_t");
    assert_eq!(rows(&mut s, left), ["SCHEMA|schema"]);
}

#[test]
fn alias_types_in_tables_variables_and_parameters() {
    let (_world, mut s) = World::in_database("alias-types");
    run(&mut s, "CREATE TYPE dbo.code FROM varchar(5) NOT NULL");
    run(&mut s, "CREATE TYPE amount FROM decimal(9, 2)");
    run(&mut s, "CREATE TABLE t(c dbo.code, n code NULL, a amount, k amount NOT NULL)");
    assert_eq!(
        rows(&mut s, "SELECT c.name, t.name, TYPE_NAME(c.system_type_id), c.max_length, c.is_nullable, c.user_type_id - 256
                      FROM sys.columns c JOIN sys.types t ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('t')"),
        ["c|code|varchar|5|0|1", "n|code|varchar|5|1|1", "a|amount|decimal|5|1|2", "k|amount|decimal|5|0|2"]
    );
    assert_eq!(numbers(&run(&mut s, "INSERT t(k) VALUES (1)")), [515, 3621]);
    run(&mut s, "DECLARE @c dbo.code = 'abcdefgh', @a amount = 1.239 INSERT t VALUES (@c, NULL, @a, @a)");
    assert_eq!(rows(&mut s, "SELECT c, a FROM t"), ["abcde|1.24"]);
    run(&mut s, "CREATE PROCEDURE p @c code, @a dbo.amount OUTPUT AS SET @a = @a + LEN(@c)");
    assert_eq!(rows(&mut s, "DECLARE @a amount = 1 EXEC p 'abc', @a OUTPUT SELECT @a"), ["4.00"]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT name, TYPE_NAME(user_type_id) FROM sys.parameters WHERE object_id = OBJECT_ID('p')"
        ),
        ["@c|code", "@a|amount"]
    );
    assert_eq!(rows(&mut s, "EXEC sp_executesql N'SELECT @x', N'@x code', 'abcdefg'"), ["abcde"]);
    assert_eq!(rows(&mut s, "DECLARE @t TABLE(c code) INSERT @t VALUES ('x') SELECT c FROM @t"), ["x"]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT COLUMN_NAME, DATA_TYPE, DOMAIN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 't' AND COLUMN_NAME = 'c'"
        ),
        ["c|varchar|code"]
    );
    assert_eq!(
        rows(
            &mut s,
            "SELECT DOMAIN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH FROM INFORMATION_SCHEMA.DOMAINS ORDER BY 1"
        ),
        ["amount|decimal|NULL", "code|varchar|5"]
    );
    assert_eq!(
        rows(&mut s, "SELECT TYPE_ID('code') - 256, TYPE_NAME(257), TYPEPROPERTY('dbo.code', 'AllowsNull')"),
        ["1|code|0"]
    );
    assert_eq!(run(&mut s, "EXEC sp_columns 't'").sets[0].1[0][5], "code");
    for (text, expected) in [
        ("CREATE TYPE code FROM int", 219),
        ("CREATE TABLE z(c code(10))", 2716),
        ("CREATE TABLE z(c nothing)", 2715),
        ("DECLARE @x nothing", 2715),
        ("DROP TYPE nothing", 218),
        ("DROP TYPE code", 3732),
        ("CREATE TABLE #z(c code)", 2715),
    ] {
        assert_eq!(numbers(&run(&mut s, text)), [expected], "{text}");
    }
    run(&mut s, "EXEC sp_rename 'code', 'kode', 'USERDATATYPE'");
    assert_eq!(
        rows(&mut s, "SELECT DOMAIN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE COLUMN_NAME = 'n'"),
        ["kode"]
    );
    // A text run again after its type has come to mean something else.
    let text = "DECLARE @x thing = '12' SELECT SQL_VARIANT_PROPERTY(@x, 'BaseType')";
    run(&mut s, "CREATE TYPE thing FROM int");
    assert_eq!(rows(&mut s, text), ["int"]);
    run(&mut s, "DROP TYPE thing CREATE TYPE thing FROM varchar(9)");
    assert_eq!(rows(&mut s, text), ["varchar"]);
    run(&mut s, "BEGIN TRAN CREATE TYPE undone FROM int ROLLBACK");
    assert_eq!(numbers(&run(&mut s, "DECLARE @x undone")), [2715]);
    run(&mut s, "DROP TYPE IF EXISTS nothing, thing");
}

#[test]
fn names_types_and_properties_survive_a_restart() {
    let (mut world, mut s) = World::in_database("definitions-restart");
    run(&mut s, SCHEMA);
    run(&mut s, "CREATE TYPE code FROM varchar(5) NOT NULL ALTER TABLE u ADD c code DEFAULT 'x'");
    run(
        &mut s,
        "EXEC sp_rename 't.b', 'renamed', 'COLUMN' EXEC sp_addextendedproperty 'n', 4.5, 'schema', 'dbo', 'table', 't', 'column', 'renamed'",
    );
    drop(s);
    world.restart();
    let mut s = world.session();
    run(&mut s, "USE d");
    assert_eq!(rows(&mut s, "SELECT renamed FROM t WHERE a = 1"), ["7"]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT COL_NAME(major_id, minor_id), CAST(value AS varchar(9)) FROM sys.extended_properties"
        ),
        ["renamed|4.5"]
    );
    assert_eq!(
        rows(
            &mut s,
            "SELECT TYPE_NAME(user_type_id) FROM sys.columns WHERE object_id = OBJECT_ID('u') AND name = 'c'"
        ),
        ["code"]
    );
    assert_eq!(rows(&mut s, "DECLARE @c code = 'abcdefg' SELECT @c"), ["abcde"]);
}

/// Table types after a restart, and in a database that is made after them in model.
#[test]
fn table_types_survive_a_restart_and_are_copied_from_model() {
    let (mut world, mut s) = World::in_database("table-types-restart");
    run(
        &mut s,
        "CREATE TYPE dbo.lines AS TABLE (i int IDENTITY(5, 1), n int NULL DEFAULT 3, PRIMARY KEY (i))",
    );
    run(&mut s, "CREATE TYPE dbo.gone AS TABLE (i int) DROP TYPE dbo.gone");
    run(&mut s, "CREATE PROCEDURE p @lines dbo.lines READONLY AS SELECT i, n FROM @lines");
    drop(s);
    world.restart();
    let mut s = world.session();
    let text = "DECLARE @l dbo.lines INSERT @l DEFAULT VALUES EXEC p @l";
    run(&mut s, "USE d");
    assert_eq!(rows(&mut s, text), ["5|3"]);
    assert_eq!(rows(&mut s, "SELECT name FROM sys.table_types"), ["lines"]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM sys.objects WHERE type = 'TT'"), ["1"]);
    assert_eq!(numbers(&run(&mut s, "DROP TYPE dbo.lines")), [3732]);
    run(&mut s, "USE model");
    run(&mut s, "CREATE TYPE dbo.lines AS TABLE (i int IDENTITY(7, 1), n int NULL DEFAULT 4)");
    run(&mut s, "CREATE PROCEDURE p @lines dbo.lines READONLY AS SELECT i, n FROM @lines");
    run(&mut s, "CREATE DATABASE copy");
    run(&mut s, "USE copy");
    assert_eq!(rows(&mut s, text), ["7|4"]);
    assert_eq!(numbers(&run(&mut s, "DROP PROCEDURE p DROP TYPE dbo.lines")), [0; 0]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM sys.objects WHERE type = 'TT'"), ["0"]);
    // Types of the same name in different databases are different types.
    assert_eq!(numbers(&run(&mut s, "CREATE TYPE dbo.lines AS TABLE (i int IDENTITY(7, 1), n int)")), [0; 0]);
    assert_eq!(numbers(&run(&mut s, "DECLARE @l dbo.lines EXEC d.dbo.p @l")), [206]);
}
