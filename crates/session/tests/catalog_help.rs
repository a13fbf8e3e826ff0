//! Informational procedures: sp_help and similar, user-defined messages, descriptions of a text's result set.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};

const SCHEMA: &str = "
CREATE TABLE dbo.parent(id int NOT NULL CONSTRAINT pk_parent PRIMARY KEY, code varchar(10) NOT NULL CONSTRAINT uq_code UNIQUE)
CREATE TABLE dbo.child(a int IDENTITY(5, 2) NOT NULL, b int NULL CONSTRAINT df_b DEFAULT (7), c nvarchar(20), d AS a + 1,
    CONSTRAINT pk_child PRIMARY KEY (a), CONSTRAINT fk_child FOREIGN KEY (b) REFERENCES dbo.parent(id), CONSTRAINT ck_child CHECK (a > 0))
CREATE INDEX ix_c ON dbo.child(c DESC, b)";

fn names(seen: &crate::common::Seen, set: usize) -> String {
    assert!(seen.sets.len() > set, "{:?} {:?}", seen.sets, seen.messages);
    seen.sets[set].0.join(" ")
}

#[test]
fn sp_help_and_its_kin() {
    let (_world, mut s) = World::in_database("sp-help");
    run(&mut s, SCHEMA);
    run(&mut s, "CREATE PROCEDURE dbo.p @x int, @y nvarchar(30) OUTPUT AS\n  SET @y = N'a'\n");
    let seen = run(&mut s, "EXEC sp_help 'dbo.child'");
    assert_eq!(names(&seen, 0), "Name Owner Type Created_datetime");
    assert_eq!(
        names(&seen, 1),
        "Column_name Type Computed Length Prec Scale Nullable TrimTrailingBlanks FixedLenNullInSource Collation"
    );
    assert_eq!(seen.sets[1].1[0][..7], ["a", "int", "no", "4", "10   ", "0    ", "no"]);
    assert_eq!(seen.sets[1].1[3][..3], ["d", "int", "yes"]);
    assert_eq!(seen.sets[2].1, [["a", "5", "2", "0"]]);
    assert_eq!(names(&seen, 3), "RowGuidCol");
    assert_eq!(names(&seen, 4), "Data_located_on_filegroup");
    assert_eq!(names(&seen, 5), "index_name index_description index_keys");
    assert_eq!(numbers(&seen), [15470]);
    let seen = run(&mut s, "EXEC sp_help 'p'");
    assert_eq!(
        seen.sets[1].1,
        [["@x", "int", "4", "10", "0", "1", "NULL"].map(String::from).to_vec(), {
            let row = seen.sets[1].1[1].clone();
            assert_eq!(row[..6], ["@y", "nvarchar", "60", "30", "NULL", "2"]);
            row
        }]
    );
    assert!(run(&mut s, "EXEC sp_help").sets[0].1.len() > 100);
    assert_eq!(
        rows(&mut s, "EXEC sp_helpindex 'child'"),
        [
            "ix_c|nonclustered located on PRIMARY|c(-), b",
            "pk_child|clustered, unique, primary key located on PRIMARY|a"
        ]
    );
    let seen = run(&mut s, "EXEC sp_helpconstraint 'child'");
    assert_eq!(names(&seen, 0), "Object Name");
    assert_eq!(
        names(&seen, 1),
        "constraint_type constraint_name delete_action update_action status_enabled status_for_replication constraint_keys"
    );
    let shown: Vec<String> = seen.sets[1].1.iter().map(|r| format!("{}:{}:{}", r[0], r[1], r[6])).collect();
    assert!(shown.contains(&"FOREIGN KEY:fk_child:b".to_string()), "{shown:?}");
    assert!(shown.contains(&"PRIMARY KEY (clustered):pk_child:a".to_string()), "{shown:?}");
    assert!(shown.iter().any(|row| row.starts_with("DEFAULT on column b:df_b:((7))")), "{shown:?}");
    assert!(shown.iter().any(|row| row.ends_with("REFERENCES d.dbo.parent (id)")), "{shown:?}");
    assert_eq!(numbers(&seen), [15470]);
    let seen = run(&mut s, "EXEC sp_helpconstraint 'parent'");
    assert_eq!(seen.sets[2].1, [["d.dbo.child: fk_child"]]);
    let text: Vec<String> =
        run(&mut s, "EXEC sp_helptext 'dbo.p'").sets[0].1.iter().map(|r| r[0].clone()).collect();
    assert_eq!(text, ["CREATE PROCEDURE dbo.p @x int, @y nvarchar(30) OUTPUT AS\n", "  SET @y = N'a'\n"]);
    assert_eq!(rows(&mut s, "EXEC sp_helptext 'ck_child'"), ["([a]>(0))"]);
    assert_eq!(rows(&mut s, "EXEC sp_helptext 'child', 'd'"), ["([a]+(1))"]);
    for (text, expected) in [
        ("EXEC sp_help 'missing'", 15009),
        ("EXEC sp_helptext 'missing'", 15009),
        ("EXEC sp_helptext 'child'", 15197),
        ("EXEC sp_helptext 'child', 'a'", 15646),
        ("EXEC sp_helpindex 'missing'", 15009),
        ("EXEC sp_helpindex 'p'", 15472),
        ("EXEC sp_helpdb 'missing'", 15010),
    ] {
        assert_eq!(numbers(&run(&mut s, text)), [expected], "{text}");
    }
    let seen = run(&mut s, "EXEC sp_helpdb 'd'");
    assert_eq!(seen.sets[0].1[0][0], "d");
    assert!(
        seen.sets[0].1[0][1].ends_with(" MB") && seen.sets[0].1[0][1].trim() != "0.00 MB",
        "{:?}",
        seen.sets[0].1
    );
    assert_eq!(names(&seen, 1), "name fileid filename filegroup size maxsize growth usage");
    assert_eq!(seen.sets[1].1.len(), 2);
    let seen = run(&mut s, "EXEC sp_who2");
    assert_eq!(
        names(&seen, 0),
        "SPID Status Login HostName BlkBy DBName Command CPUTime DiskIO LastBatch ProgramName SPID  REQUESTID"
    );
    assert!(seen.messages.is_empty() && !seen.sets[0].1.is_empty());
    assert_eq!(
        names(&run(&mut s, "EXEC sp_who"), 0),
        "spid ecid status loginame hostname blk dbname cmd request_id"
    );
    let seen = run(&mut s, "BEGIN TRAN UPDATE parent SET code = code EXEC sp_lock ROLLBACK");
    assert_eq!(names(&seen, 0), "spid dbid ObjId IndId Type Resource Mode Status");
    assert!(seen.sets[0].1.iter().any(|r| r[4].trim() == "TAB" && r[6] == "IX"), "{:?}", seen.sets[0].1);
    run(&mut s, "EXEC sp_addtype birthday, datetime, 'NULL' EXEC sp_addtype id, 'varchar(11)', 'NOT NULL'");
    assert_eq!(
        rows(
            &mut s,
            "SELECT name, max_length, is_nullable FROM sys.types WHERE is_user_defined = 1 ORDER BY name"
        ),
        ["birthday|8|1", "id|11|0"]
    );
    run(&mut s, "CREATE TABLE people(n id, b birthday)");
    assert_eq!(numbers(&run(&mut s, "EXEC sp_droptype 'id'")), [15180]);
    run(&mut s, "DROP TABLE people EXEC sp_droptype 'id'");
    assert_eq!(numbers(&run(&mut s, "EXEC sp_droptype 'id'")), [15036]);
    assert_eq!(numbers(&run(&mut s, "EXEC sp_addtype x, 'nothing(3)'")), [15036]);
}

#[test]
fn messages_of_users() {
    let mut world = World::new("user-messages");
    let mut s = world.session();
    run(&mut s, "EXEC sp_addmessage 50001, 14, N'Part %d of %s.'");
    let seen = run(&mut s, "RAISERROR(50001, -1, 3, 7, N'it')");
    assert_eq!(seen.messages[0], (50001, 1, "Part 7 of it.".to_string()));
    let caught = "BEGIN TRY RAISERROR(50001, -1, -1, 1, 'x') END TRY BEGIN CATCH SELECT ERROR_SEVERITY(), ERROR_STATE() END CATCH";
    assert_eq!(rows(&mut s, caught), ["14|1"]);
    assert_eq!(
        rows(&mut s, "SELECT severity, is_event_logged, text FROM sys.messages WHERE message_id = 50001"),
        ["14|0|Part %d of %s."]
    );
    for (text, expected) in [
        ("EXEC sp_addmessage 50001, 16, 'again'", 15043),
        ("EXEC sp_addmessage 50000, 16, 'low'", 15040),
        ("EXEC sp_addmessage 50002, 26, 'severe'", 15041),
        ("EXEC sp_addmessage 50002", 15071),
        ("EXEC sp_addmessage 50002, 16, 'x', 'Klingon'", 15033),
        ("EXEC sp_dropmessage 50009", 15179),
        ("EXEC sp_altermessage 50009, 'WITH_LOG', 'true'", 15179),
        ("RAISERROR(60000, 16, 1)", 18054),
    ] {
        assert_eq!(numbers(&run(&mut s, text)), [expected], "{text}");
    }
    run(
        &mut s,
        "EXEC sp_addmessage 50001, 10, 'Only told.', @replace = 'replace' EXEC sp_altermessage 50001, 'WITH_LOG', 'true'",
    );
    run(&mut s, "BEGIN TRAN EXEC sp_addmessage 50005, 16, 'undone' ROLLBACK");
    drop(s);
    world.restart();
    let mut s = world.session();
    assert_eq!(
        rows(
            &mut s,
            "SELECT message_id, severity, is_event_logged FROM sys.messages WHERE message_id > 50000"
        ),
        ["50001|10|1"]
    );
    run(&mut s, "EXEC sp_dropmessage 50001");
    assert_eq!(numbers(&run(&mut s, "RAISERROR(50001, 16, 1)")), [18054]);
}

#[test]
fn what_a_text_would_return() {
    let world = World::new("describe");
    let mut s = world.session();
    run(&mut s, SCHEMA);
    run(
        &mut s,
        "CREATE PROCEDURE dbo.p @x int AS SET NOCOUNT ON DECLARE @n decimal(9,2) = 1 IF @x > 1 SELECT @n AS n, a FROM child",
    );
    let list = "SELECT column_ordinal, name, system_type_name, is_nullable, is_identity_column, is_updateable, is_computed_column
                FROM sys.dm_exec_describe_first_result_set";
    assert_eq!(
        rows(&mut s, &format!("{list}(N'SELECT a, c, a + 1, d FROM child', NULL, 0)")),
        ["1|a|int|0|1|0|0", "2|c|nvarchar(20)|1|0|1|0", "3|NULL|int|1|0|0|1", "4|d|int|1|0|1|0"]
    );
    assert_eq!(
        rows(&mut s, &format!("{list}(N'SELECT @v AS v', N'@v datetime2(3)', 0)")),
        ["1|v|datetime2(3)|1|0|0|1"]
    );
    let seen = run(&mut s, "EXEC sp_describe_first_result_set N'EXEC dbo.p 1'");
    let shown: Vec<String> = seen.sets[0].1.iter().map(|r| format!("{} {} {}", r[1], r[2], r[5])).collect();
    assert_eq!(shown, ["1 n decimal(9,2)", "2 a int"]);
    assert_eq!(seen.sets[0].0.len(), 39);
    assert_eq!(seen.sets[0].1[1][35..37], ["56", "4"]);
    assert_eq!(rows(&mut s, "EXEC sp_describe_first_result_set N'UPDATE child SET c = 1'"), [""; 0]);
    assert_eq!(numbers(&run(&mut s, "EXEC sp_describe_first_result_set N'SELECT * FROM missing'")), [208]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT error_number FROM sys.dm_exec_describe_first_result_set('SELECT nope FROM child', '', 0)"
        ),
        ["207"]
    );
    // Nothing has run.
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM child"), ["0"]);
    run(&mut s, "EXEC sp_describe_first_result_set N'INSERT parent OUTPUT inserted.id VALUES (1, ''x'')'");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM parent"), ["0"]);
}

#[test]
fn dbcc_useroptions_follows_the_set_options() {
    let world = World::new("useroptions");
    let mut s = world.session();
    let options = |s: &mut _| -> Vec<String> {
        let seen = run(s, "DBCC USEROPTIONS");
        assert_eq!(numbers(&seen), [2528]);
        assert_eq!(seen.sets[0].0, ["Set Option", "Value"]);
        seen.sets[0].1.iter().map(|row| row.join("=")).collect()
    };
    let before = options(&mut s);
    assert!(before.contains(&"isolation level=read committed".to_string()), "{before:?}");
    assert!(
        before.contains(&"ansi_nulls=SET".to_string()) && before.contains(&"datefirst=7".to_string()),
        "{before:?}"
    );
    run(
        &mut s,
        "SET ANSI_NULLS OFF SET DATEFIRST 1 SET LOCK_TIMEOUT 100 SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    );
    let after = options(&mut s);
    for expected in ["isolation level=serializable", "datefirst=1", "lock_timeout=100"] {
        assert!(after.contains(&expected.to_string()), "{after:?}");
    }
    assert!(!after.contains(&"ansi_nulls=SET".to_string()), "{after:?}");
}
