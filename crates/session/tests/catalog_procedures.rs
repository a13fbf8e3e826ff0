//! Catalog procedures as drivers call them: columns, keys, indexes, privileges, with the documented names and order.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const SCHEMA: &str = "
CREATE TABLE dbo.parent(id int NOT NULL CONSTRAINT pk_parent PRIMARY KEY, code varchar(10) NOT NULL CONSTRAINT uq_code UNIQUE)
CREATE TABLE dbo.child(a int IDENTITY NOT NULL, b int NULL CONSTRAINT df_b DEFAULT (7), c nvarchar(20), d AS a + 1, v timestamp,
    CONSTRAINT pk_child PRIMARY KEY (a), CONSTRAINT fk_child FOREIGN KEY (b) REFERENCES dbo.parent(id))
CREATE INDEX ix_c ON dbo.child(c DESC) INCLUDE (b)
CREATE TABLE dbo.types(bi bigint, de decimal(9,2), nu numeric(5), mo money, fl float, re real, bt bit NOT NULL, ch char(3), vm varchar(max),
    nc nchar(3), dt datetime, sd smalldatetime, da date, ti time(3), d2 datetime2, dz datetimeoffset(0), ui uniqueidentifier,
    vb varbinary(9), im image, nt ntext, sv sql_variant, xm xml)";

fn prepared(name: &str) -> (World, Session) {
    let (world, mut s) = World::in_database(name);
    run(&mut s, SCHEMA);
    run(&mut s, "CREATE PROCEDURE dbo.p @x int, @y nvarchar(30) OUTPUT AS SET @y = N'a'");
    run(&mut s, "CREATE FUNCTION dbo.f(@n int) RETURNS TABLE AS RETURN (SELECT 1 AS a)");
    (world, s)
}

fn names(s: &mut Session, text: &str) -> String {
    let seen = run(s, text);
    assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
    seen.sets[0].0.join(" ")
}

const BASE: &str = "TABLE_QUALIFIER TABLE_OWNER TABLE_NAME COLUMN_NAME DATA_TYPE TYPE_NAME PRECISION LENGTH SCALE RADIX NULLABLE REMARKS \
                    COLUMN_DEF SQL_DATA_TYPE SQL_DATETIME_SUB CHAR_OCTET_LENGTH ORDINAL_POSITION IS_NULLABLE";
const UDT: &str = "SS_UDT_CATALOG_NAME SS_UDT_SCHEMA_NAME SS_UDT_ASSEMBLY_TYPE_NAME SS_XML_SCHEMACOLLECTION_CATALOG_NAME \
                   SS_XML_SCHEMACOLLECTION_SCHEMA_NAME SS_XML_SCHEMACOLLECTION_NAME";

#[test]
fn sp_columns_in_three_versions() {
    let (_world, mut s) = prepared("sp-columns");
    assert_eq!(names(&mut s, "EXEC sp_columns 'child'"), format!("{BASE} SS_DATA_TYPE"));
    assert_eq!(names(&mut s, "EXEC sp_columns_90 'child'"), format!("{BASE} {UDT} SS_DATA_TYPE"));
    assert_eq!(
        names(&mut s, "EXEC sys.sp_columns_100 'child'"),
        format!("{BASE} SS_IS_SPARSE SS_IS_COLUMN_SET SS_IS_COMPUTED SS_IS_IDENTITY {UDT} SS_DATA_TYPE")
    );
    assert_eq!(
        rows(&mut s, "EXEC sp_columns 'child'"),
        [
            "d|dbo|child|a|4|int identity|10|4|0|10|0|NULL|NULL|4|NULL|NULL|1|NO|56",
            "d|dbo|child|b|4|int|10|4|0|10|1|NULL|((7))|4|NULL|NULL|2|YES|38",
            "d|dbo|child|c|-9|nvarchar|20|40|NULL|NULL|1|NULL|NULL|-9|NULL|40|3|YES|39",
            "d|dbo|child|d|4|int|10|4|0|10|1|NULL|NULL|4|NULL|NULL|4|YES|38",
            "d|dbo|child|v|-2|timestamp|8|8|NULL|NULL|0|NULL|NULL|-2|NULL|8|5|NO|45"
        ]
    );
    let pick = |text: &str, s: &mut Session| -> Vec<String> {
        let seen = run(s, text);
        seen.sets[0]
            .1
            .iter()
            .map(|r| format!("{} {} {} {} {} {}", r[3], r[4], r[6], r[7], r[8], r[13]))
            .collect()
    };
    assert_eq!(
        pick("EXEC sp_columns_100 @table_name = N'types', @table_owner = N'dbo', @ODBCVer = 3", &mut s),
        [
            "bi -5 19 8 0 -5",
            "de 3 9 11 2 3",
            "nu 2 5 7 0 2",
            "mo 3 19 21 4 3",
            "fl 6 53 8 NULL 6",
            "re 7 24 4 NULL 7",
            "bt -7 1 1 NULL -7",
            "ch 1 3 3 NULL 1",
            "vm 12 0 0 NULL 12",
            "nc -8 3 6 NULL -8",
            "dt 93 23 16 3 9",
            "sd 93 16 16 0 9",
            "da 91 10 6 NULL 9",
            "ti -154 12 12 3 -154",
            "d2 93 27 16 7 9",
            "dz -155 26 20 0 -155",
            "ui -11 36 16 NULL -11",
            "vb -3 9 9 NULL -3",
            "im -4 2147483647 2147483647 NULL -4",
            "nt -10 1073741823 2147483646 NULL -10",
            "sv -150 8000 8000 0 -150",
            "xm -152 0 0 NULL -152"
        ]
    );
    let old = pick("EXEC sp_columns 'types', 'dbo'", &mut s);
    assert_eq!(
        [&old[10], &old[12], &old[14]],
        ["dt 11 23 16 3 9", "da -9 10 20 NULL -9", "d2 -9 27 54 7 -9"]
    );
    // Patterns, other databases, columns of views.
    assert_eq!(rows(&mut s, "EXEC sp_columns 'chi%', @column_name = 'a'").len(), 1);
    assert_eq!(rows(&mut s, "EXEC sp_columns_100 'chi%', @column_name = 'a', @fUsePattern = 0").len(), 0);
    assert_eq!(numbers(&run(&mut s, "EXEC sp_columns 'child', @table_qualifier = 'master'")), [15250]);
    run(&mut s, "CREATE VIEW dbo.w AS SELECT c FROM child");
    assert_eq!(rows(&mut s, "EXEC sp_columns 'w'").len(), 1);
    run(&mut s, "USE master");
    assert_eq!(rows(&mut s, "EXEC d..sp_columns 'child'").len(), 5);
    assert_eq!(rows(&mut s, "EXEC d.sys.sp_columns_100 'child', NULL, 'd'").len(), 5);
    // A driver keeps them in a table variable.
    let seen = run(
        &mut s,
        "DECLARE @t TABLE(q sysname, o sysname, n sysname, c sysname, k smallint, p sysname NULL)
                            INSERT @t EXEC d..sp_pkeys 'child' SELECT c, p FROM @t",
    );
    assert_eq!(seen.sets[0].1, [["a", "pk_child"]]);
}

#[test]
fn keys_indexes_and_special_columns() {
    let (_world, mut s) = prepared("sp-keys");
    assert_eq!(rows(&mut s, "EXEC sp_pkeys 'child'"), ["d|dbo|child|a|1|pk_child"]);
    assert_eq!(
        names(&mut s, "EXEC sp_fkeys @pktable_name = 'parent'"),
        "PKTABLE_QUALIFIER PKTABLE_OWNER PKTABLE_NAME PKCOLUMN_NAME FKTABLE_QUALIFIER FKTABLE_OWNER FKTABLE_NAME FKCOLUMN_NAME \
         KEY_SEQ UPDATE_RULE DELETE_RULE FK_NAME PK_NAME DEFERRABILITY"
    );
    let expected = ["d|dbo|parent|id|d|dbo|child|b|1|1|1|fk_child|pk_parent|7"];
    assert_eq!(rows(&mut s, "EXEC sp_fkeys @pktable_name = 'parent'"), expected);
    assert_eq!(rows(&mut s, "EXEC sp_fkeys NULL, NULL, NULL, 'child'"), expected);
    // '' is nothing.
    assert_eq!(rows(&mut s, "EXEC sp_fkeys N'', N'', N'', N'child', N'', N''"), expected);
    assert_eq!(rows(&mut s, "EXEC sp_fkeys 'parent', '', 'd', '', '', ''"), expected);
    assert_eq!(numbers(&run(&mut s, "EXEC sp_fkeys")), [15252]);
    assert_eq!(numbers(&run(&mut s, "EXEC sp_fkeys '', '', '', '', '', ''")), [15252]);
    for procedure in ["sp_pkeys", "sp_statistics", "sp_special_columns", "sp_column_privileges"] {
        let without = rows(&mut s, &format!("EXEC {procedure} 'parent'"));
        assert!(!without.is_empty(), "{procedure}");
        assert_eq!(rows(&mut s, &format!("EXEC {procedure} 'parent', '', ''")), without, "{procedure}");
    }
    assert_eq!(
        names(&mut s, "EXEC sp_statistics_100 'child'"),
        "TABLE_QUALIFIER TABLE_OWNER TABLE_NAME NON_UNIQUE INDEX_QUALIFIER INDEX_NAME TYPE SEQ_IN_INDEX COLUMN_NAME COLLATION \
         CARDINALITY PAGES FILTER_CONDITION"
    );
    run(&mut s, "INSERT parent VALUES (1, 'a') INSERT child(b, c) VALUES (1, 'x'), (1, 'y')");
    let seen = run(&mut s, "EXEC sp_statistics 'child'");
    let shown: Vec<String> =
        seen.sets[0].1.iter().map(|r| [3, 5, 6, 7, 8, 9].map(|i| r[i].clone()).join("|")).collect();
    assert_eq!(shown, ["NULL|NULL|0|NULL|NULL|NULL", "0|pk_child|1|1|a|A", "1|ix_c|3|1|c|D"]);
    assert_eq!(run(&mut s, "EXEC sp_statistics 'child', @is_unique = 'Y'").sets[0].1.len(), 2);
    assert_eq!(
        names(&mut s, "EXEC sp_special_columns 'child'"),
        "SCOPE COLUMN_NAME DATA_TYPE TYPE_NAME PRECISION LENGTH SCALE PSEUDO_COLUMN"
    );
    assert_eq!(rows(&mut s, "EXEC sp_special_columns 'child'"), ["1|a|4|int identity|10|4|0|1"]);
    assert_eq!(
        rows(&mut s, "EXEC sp_special_columns_100 'child', @col_type = 'V'"),
        ["NULL|v|-2|timestamp|8|8|NULL|1"]
    );
    assert_eq!(rows(&mut s, "EXEC sp_special_columns 'types'"), [""; 0]);
    assert_eq!(numbers(&run(&mut s, "EXEC sp_special_columns 'child', @col_type = 'X'")), [15251]);
    // The foreign key knows which unique index it refers to.
    run(&mut s, "CREATE TABLE dbo.other(c varchar(10) CONSTRAINT fk_code REFERENCES dbo.parent(code))");
    assert_eq!(
        rows(
            &mut s,
            "SELECT i.name FROM sys.foreign_keys f JOIN sys.indexes i ON i.object_id = f.referenced_object_id
                      AND i.index_id = f.key_index_id WHERE f.name = 'fk_code'"
        ),
        ["uq_code"]
    );
}

#[test]
fn procedures_parameters_privileges_and_lists() {
    let (_world, mut s) = prepared("sp-others");
    assert_eq!(
        names(&mut s, "EXEC sp_sproc_columns 'p'"),
        "PROCEDURE_QUALIFIER PROCEDURE_OWNER PROCEDURE_NAME COLUMN_NAME COLUMN_TYPE DATA_TYPE TYPE_NAME PRECISION LENGTH SCALE RADIX \
         NULLABLE REMARKS COLUMN_DEF SQL_DATA_TYPE SQL_DATETIME_SUB CHAR_OCTET_LENGTH ORDINAL_POSITION IS_NULLABLE SS_DATA_TYPE"
    );
    let seen = run(&mut s, "EXEC sp_sproc_columns_100 'p;1'");
    let shown: Vec<String> =
        seen.sets[0].1.iter().map(|r| [2, 3, 4, 5, 6, 7, 11, 17].map(|i| r[i].clone()).join("|")).collect();
    assert_eq!(
        shown,
        ["p;1|@RETURN_VALUE|5|4|int|10|0|0", "p;1|@x|1|4|int|10|1|1", "p;1|@y|2|-9|nvarchar|30|1|2"]
    );
    let seen = run(&mut s, "EXEC sp_sproc_columns 'f'");
    assert_eq!(seen.sets[0].1[0][3..5], ["@TABLE_RETURN_VALUE", "3"]);
    assert_eq!(rows(&mut s, "EXEC sp_stored_procedures 'p'"), ["d|dbo|p;1|-1|-1|-1|NULL|2"]);
    assert_eq!(rows(&mut s, "EXEC sp_stored_procedures 'f', 'dbo'"), ["d|dbo|f;0|-1|-1|-1|NULL|2"]);
    assert_eq!(rows(&mut s, "EXEC sp_tables 'ch%', 'dbo', NULL, '''TABLE'''"), ["d|dbo|child|TABLE|NULL"]);
    assert_eq!(
        rows(&mut s, "EXEC sp_tables '', '', '%'").len(),
        rows(&mut s, "SELECT name FROM sys.databases").len()
    );
    assert_eq!(
        rows(&mut s, "EXEC sp_tables '', '', '', '%'"),
        ["NULL|NULL|NULL|SYSTEM TABLE|NULL", "NULL|NULL|NULL|TABLE|NULL", "NULL|NULL|NULL|VIEW|NULL"]
    );
    assert!(rows(&mut s, "EXEC sp_tables '', '%', ''").contains(&"NULL|dbo|NULL|NULL|NULL".to_string()));
    let expected = ["DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"]
        .map(|p| format!("d|dbo|child|dbo|dbo|{p}|YES"));
    assert_eq!(rows(&mut s, "EXEC sp_table_privileges 'child'"), expected);
    let expected =
        ["INSERT", "REFERENCES", "SELECT", "UPDATE"].map(|p| format!("d|dbo|child|b|dbo|dbo|{p}|YES"));
    assert_eq!(rows(&mut s, "EXEC sp_column_privileges 'child', NULL, NULL, 'b'"), expected);
    assert_eq!(
        names(&mut s, "EXEC sp_tablecollations_100 N'.[child]'"),
        "colid name tds_collation collation"
    );
    let collations = rows(&mut s, "EXEC d..sp_tablecollations_100 N'.[child]'");
    assert_eq!(collations[0], "1|a|NULL|NULL");
    // What clients ask for before they copy rows in: columns without rows, and their collations.
    for table in ["[dbo].[child]", "child"] {
        let seen = run(
            &mut s,
            &format!(
                "select @@trancount; SET FMTONLY ON select * from {table} SET FMTONLY OFF exec d..sp_tablecollations_100 N'{}'",
                if table == "child" { ".[child]" } else { "[dbo].[child]" }
            ),
        );
        assert_eq!(seen.messages, []);
        let sizes: Vec<usize> = seen.sets.iter().map(|set| set.1.len()).collect();
        assert_eq!(sizes, [1, 0, collations.len()]);
        assert_eq!(seen.sets[1].0.len(), collations.len(), "each column");
    }
    assert!(collations[2].starts_with("3|c|") && !collations[2].contains("NULL"), "{collations:?}");
    let sizes = rows(&mut s, "EXEC sp_databases");
    let own = sizes.iter().find(|row| row.starts_with("d|")).unwrap();
    assert!(own.split('|').nth(1).unwrap().parse::<i32>().unwrap() > 0, "{own}");
}
