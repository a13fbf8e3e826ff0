//! ROWGUIDCOL and NOT FOR REPLICATION: where they are allowed, which views show them, and that they persist (restart, rollback, loss of power).
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::simulated::after_power_loss;
use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// With each property in each place where it may be written.
const SCHEMA: &str = "
CREATE TABLE p (id int IDENTITY NOT FOR REPLICATION CONSTRAINT pk PRIMARY KEY, v int)
CREATE TABLE t (id int IDENTITY(5, 5) NOT FOR REPLICATION NOT NULL, g uniqueidentifier ROWGUIDCOL NOT NULL DEFAULT NEWID(),
    a int CONSTRAINT ck1 CHECK NOT FOR REPLICATION (a > 0), b int CONSTRAINT fk1 REFERENCES p (id) NOT FOR REPLICATION,
    CONSTRAINT ck2 CHECK NOT FOR REPLICATION (b > 0), CONSTRAINT fk2 FOREIGN KEY (b) REFERENCES p (id) ON DELETE CASCADE NOT FOR REPLICATION,
    CONSTRAINT ck3 CHECK (a < 100), CONSTRAINT fk3 FOREIGN KEY (b) REFERENCES p (id))
CREATE TABLE late (x int)
ALTER TABLE late ADD id int IDENTITY NOT FOR REPLICATION, g uniqueidentifier ROWGUIDCOL, CONSTRAINT ck4 CHECK NOT FOR REPLICATION (x > 0),
    CONSTRAINT fk4 FOREIGN KEY (x) REFERENCES p (id) NOT FOR REPLICATION
CREATE TABLE plain (id int IDENTITY, g uniqueidentifier)";

/// Everything that shows the properties, a line each.
const SHOWN: &str = "
SELECT CONCAT(OBJECT_NAME(object_id), '.', name, ' ', is_not_for_replication, ' ', COLUMNPROPERTY(object_id, name, 'IsIdNotForRepl')) FROM sys.identity_columns WHERE OBJECT_NAME(object_id) IN ('p', 't', 'late', 'plain')
UNION ALL SELECT CONCAT(name, ' ', is_not_for_replication, ' ', is_not_trusted, ' ', OBJECTPROPERTY(object_id, 'CnstIsNotRepl')) FROM sys.check_constraints
UNION ALL SELECT CONCAT(name, ' ', is_not_for_replication, ' ', is_not_trusted, ' ', OBJECTPROPERTY(object_id, 'CnstIsNotRepl')) FROM sys.foreign_keys
UNION ALL SELECT CONCAT(OBJECT_NAME(object_id), '.', name, ' rowguidcol ', COLUMNPROPERTY(object_id, name, 'IsRowGuidCol'), ' ', OBJECTPROPERTY(object_id, 'TableHasRowGuidCol')) FROM sys.columns WHERE is_rowguidcol = 1
ORDER BY 1";

const EXPECTED: [&str; 14] = [
    "ck1 1 1 1",
    "ck2 1 1 1",
    "ck3 0 0 0",
    "ck4 1 1 1",
    "fk1 1 1 1",
    "fk2 1 1 1",
    "fk3 0 0 0",
    "fk4 1 1 1",
    "late.g rowguidcol 1 1",
    "late.id 1 1",
    "p.id 1 1",
    "plain.id 0 0",
    "t.g rowguidcol 1 1",
    "t.id 1 1",
];

#[test]
fn what_was_said_is_shown_and_stays() {
    let (mut world, mut s) = World::in_database("column-properties");
    assert_eq!(numbers(&run(&mut s, SCHEMA)), Vec::<i32>::new());
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    // They hold for every session: there is no replication agent.
    assert_eq!(numbers(&run(&mut s, "INSERT t (a) VALUES (-1)")), [547, 3621]);
    assert_eq!(numbers(&run(&mut s, "INSERT t (b) VALUES (7)")), [547, 3621]);
    assert_eq!(rows(&mut s, "INSERT p (v) OUTPUT inserted.id VALUES (1)"), ["1"]);
    // Other changes of the table keep them.
    run(
        &mut s,
        "ALTER TABLE t ADD more int CREATE INDEX ix ON t (a) ALTER TABLE t REBUILD EXEC sp_rename 'ck1', 'ck9' EXEC sp_rename 'ck9', 'ck1'",
    );
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    // A constraint that replication may bypass is not trusted after a check of the rows, nor does it lose the property while disabled.
    run(
        &mut s,
        "ALTER TABLE t NOCHECK CONSTRAINT ALL ALTER TABLE t WITH CHECK CHECK CONSTRAINT ALL ALTER INDEX pk ON p DISABLE ALTER INDEX ALL ON p REBUILD ALTER TABLE t WITH CHECK CHECK CONSTRAINT ALL ALTER TABLE late CHECK CONSTRAINT ALL",
    );
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    run(
        &mut s,
        "BEGIN TRAN ALTER TABLE t ALTER COLUMN g DROP ROWGUIDCOL ALTER TABLE t ALTER COLUMN id DROP NOT FOR REPLICATION
         ALTER TABLE plain ALTER COLUMN g ADD ROWGUIDCOL DROP TABLE late ROLLBACK",
    );
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
    drop(s);
    world.restart();
    let mut s = world.session();
    run(&mut s, "USE d");
    assert_eq!(rows(&mut s, SHOWN), EXPECTED);
}

#[test]
fn altered_columns_show_it() {
    let (_world, mut s) = World::in_database("column-properties-alter");
    run(&mut s, SCHEMA);
    let seen = run(
        &mut s,
        "ALTER TABLE t ALTER COLUMN g DROP ROWGUIDCOL ALTER TABLE t ALTER COLUMN id DROP NOT FOR REPLICATION
         ALTER TABLE plain ALTER COLUMN g ADD ROWGUIDCOL ALTER TABLE plain ALTER COLUMN id ADD NOT FOR REPLICATION",
    );
    assert_eq!(numbers(&seen), Vec::<i32>::new());
    let shown = rows(&mut s, SHOWN);
    assert!(shown.contains(&"plain.g rowguidcol 1 1".to_string()), "{shown:?}");
    assert!(
        shown.contains(&"plain.id 1 1".to_string()) && shown.contains(&"t.id 0 0".to_string()),
        "{shown:?}"
    );
    assert!(!shown.iter().any(|line| line.starts_with("t.g")), "{shown:?}");
    for (statement, error) in [
        ("ALTER TABLE t ALTER COLUMN a ADD ROWGUIDCOL", 2761),
        ("ALTER TABLE t ALTER COLUMN g DROP ROWGUIDCOL", 4926),
        (
            "ALTER TABLE t ADD g2 uniqueidentifier ALTER TABLE t ALTER COLUMN g ADD ROWGUIDCOL ALTER TABLE t ALTER COLUMN g2 ADD ROWGUIDCOL",
            4925,
        ),
        ("ALTER TABLE t ADD g3 uniqueidentifier ROWGUIDCOL", 8196),
        ("ALTER TABLE t ALTER COLUMN missing ADD ROWGUIDCOL", 4924),
        ("ALTER TABLE t ALTER COLUMN a ADD NOT FOR REPLICATION", 4991),
        ("CREATE TABLE x (a int ROWGUIDCOL)", 2761),
        ("CREATE TABLE x (a AS NEWID() ROWGUIDCOL)", 156),
        ("CREATE TABLE x (a uniqueidentifier ROWGUIDCOL, b uniqueidentifier ROWGUIDCOL)", 8196),
        ("CREATE TABLE x (a int NOT FOR REPLICATION)", 156),
        ("ALTER TABLE t ALTER COLUMN g varchar(40)", 4928),
    ] {
        assert_eq!(numbers(&run(&mut s, statement)).first(), Some(&error), "{statement}");
    }
}

#[test]
fn the_columns_have_names_of_their_own() {
    let (_world, mut s) = World::in_database("column-properties-names");
    run(&mut s, SCHEMA);
    let one = "'00000000-0000-0000-0000-000000000001'";
    run(
        &mut s,
        &format!(
            "INSERT t (g, a) VALUES ({one}, 1) INSERT t ($ROWGUID, a) VALUES ('00000000-0000-0000-0000-000000000002', 2)"
        ),
    );
    assert_eq!(rows(&mut s, &format!("SELECT $IDENTITY, a FROM t WHERE $ROWGUID = {one}")), ["5|1"]);
    assert_eq!(
        rows(
            &mut s,
            &format!("SELECT IDENTITYCOL FROM t AS u WHERE ROWGUIDCOL = {one} AND u.$ROWGUID = {one}")
        ),
        ["5"]
    );
    assert_eq!(run(&mut s, "SELECT $ROWGUID, $IDENTITY FROM t").sets[0].0, ["g", "id"]);
    run(&mut s, "UPDATE t SET $ROWGUID = '00000000-0000-0000-0000-000000000003' WHERE a = 2");
    assert_eq!(rows(&mut s, "SELECT RIGHT(g, 1) FROM t ORDER BY g"), ["1", "3"]);
    assert_eq!(numbers(&run(&mut s, "SELECT $ROWGUID FROM plain")), [207]);
    // SELECT INTO copies values and the identity, no other property.
    run(&mut s, "SELECT * INTO copy FROM t");
    assert_eq!(
        rows(
            &mut s,
            "SELECT CONCAT(is_rowguidcol, is_identity) FROM sys.columns WHERE object_id = OBJECT_ID('copy') AND name IN ('g', 'id')"
        ),
        ["01", "00"]
    );
}

/// The properties as the log records them.
#[test]
fn properties_after_a_loss_of_power() {
    for seed in 0..4 {
        let make = "CREATE TABLE plain (id int IDENTITY, g uniqueidentifier)";
        let cut = "ALTER TABLE plain ALTER COLUMN g ADD ROWGUIDCOL ALTER TABLE plain ALTER COLUMN id ADD NOT FOR REPLICATION
                   ALTER TABLE plain ADD CONSTRAINT ck CHECK NOT FOR REPLICATION (id > 0)
                   BEGIN TRAN ALTER TABLE plain ALTER COLUMN g DROP ROWGUIDCOL ALTER TABLE plain ALTER COLUMN id DROP NOT FOR REPLICATION
                   ALTER TABLE plain DROP CONSTRAINT ck";
        let make = move |session: &mut Session| drop(run(session, make));
        let cut = move |session: &mut Session, _: &os::sim::World| {
            assert_eq!(numbers(&run(session, cut)), Vec::<i32>::new());
        };
        after_power_loss(seed, None, make, cut, move |session| {
            let shown = rows(session, SHOWN);
            assert_eq!(shown, ["ck 1 1 1", "plain.g rowguidcol 1 1", "plain.id 1 1"], "seed {seed}");
        });
    }
}
