//! Statements that graphical tools and sqlcmd send while they connect and browse (`tools/*.sql`): each runs without an error, and the
//! result reflects the database.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, run};

const DATABASE: &[&str] = &[
    "CREATE DATABASE sold",
    "USE sold",
    "CREATE TYPE phone FROM varchar(20)",
    "CREATE TABLE Customers (id int NOT NULL CONSTRAINT pk_customers PRIMARY KEY, name nvarchar(50) NOT NULL CONSTRAINT uq_name UNIQUE, call phone)",
    "CREATE TABLE Orders (id int IDENTITY NOT NULL CONSTRAINT pk_orders PRIMARY KEY, customer int NOT NULL CONSTRAINT fk_customer
        REFERENCES Customers(id) ON DELETE CASCADE, amount decimal(9, 2) CONSTRAINT df_amount DEFAULT (0) CONSTRAINT ck_amount CHECK (amount >= 0),
        twice AS amount * 2)",
    "CREATE INDEX ix_customer ON Orders (customer DESC) INCLUDE (amount)",
    "CREATE VIEW open_orders AS SELECT id FROM Orders WHERE amount > 0",
    "CREATE PROCEDURE place_order @customer int AS INSERT Orders (customer) VALUES (@customer)",
    "CREATE FUNCTION orders_of (@customer int) RETURNS TABLE AS RETURN SELECT id FROM Orders WHERE customer = @customer",
    "EXEC sp_addextendedproperty 'MS_Description', 'what was sold', 'SCHEMA', 'dbo', 'TABLE', 'Orders'",
];

/// Runs the statements of a file, each as a batch of one session.
fn ask(tool: &str, script: &str) {
    let world = World::new(&format!("tool-{tool}"));
    let mut session = world.session();
    DATABASE.iter().for_each(|text| drop(run(&mut session, text)));
    let mut asked = 0;
    for batch in script.split("\nGO\n").skip(1) {
        let text = batch.replace("OBJECT_ID('dbo.t')", "OBJECT_ID('dbo.Orders')");
        // Changes of the database are undone: the other statements query `sold`.
        let seen = run(&mut session, &text);
        let errors: Vec<_> =
            seen.messages.iter().filter(|message| !matches!(message.0, 0 | 5701 | 5703)).collect();
        assert!(errors.is_empty(), "{tool}: {text}\n{errors:?}");
        for wanted in batch.lines().filter_map(|line| line.strip_prefix("-- gives: ")) {
            let cells = seen.sets.iter().flat_map(|set| &set.1).flatten();
            assert!(
                cells.clone().any(|cell| cell.contains(wanted)),
                "{tool}: {text}\ngave no {wanted}: {:?}",
                seen.sets
            );
        }
        asked += 1;
        run(&mut session, "USE sold");
    }
    assert!(asked > 1, "{tool}: the file has statements");
}

#[test]
fn sqlcmd() {
    ask("sqlcmd", include_str!("tools/sqlcmd.sql"));
}

#[test]
fn management_studio() {
    ask("ssms", include_str!("tools/ssms.sql"));
}

#[test]
fn dbeaver() {
    ask("dbeaver", include_str!("tools/dbeaver.sql"));
}

#[test]
fn azure_data_studio() {
    ask("azure_data_studio", include_str!("tools/azure_data_studio.sql"));
}

/// Properties of files and of old versions, and the errors of procedures that tools call.
#[test]
fn files_servers_and_people() {
    let world = World::new("tool-procedures");
    let mut session = world.session();
    DATABASE.iter().for_each(|text| drop(run(&mut session, text)));
    let one =
        |session: &mut hardpan_session::Session, text: &str| crate::common::rows(session, text).remove(0);
    let facts = "SELECT FILEPROPERTY('sold', 'IsPrimaryFile'), FILEPROPERTY('sold_log', 'IsLogFile'), FILEPROPERTY('sold', 'IsReadOnly'),
                 FILEPROPERTY('none', 'SpaceUsed'), FILEPROPERTY('sold', 'none'), DATABASEPROPERTY('sold', 'IsReadOnly'),
                 DATABASEPROPERTY('sold', 'IsTruncLog'), DATABASEPROPERTY('none', 'IsReadOnly')";
    assert_eq!(one(&mut session, facts), "1|1|0|NULL|NULL|0|1|NULL");
    let used = "SELECT FILEPROPERTY('sold', 'SpaceUsed')";
    let before: i32 = one(&mut session, used).parse().unwrap();
    run(
        &mut session,
        "CREATE TABLE large (v char(8000)) INSERT large SELECT TOP 400 'x' FROM master..spt_values",
    );
    let after: i32 = one(&mut session, used).parse().unwrap();
    assert!(after >= before + 400, "{before} {after}");
    for (text, expected) in [
        ("EXEC sp_helpfile 'none'", 15325),
        ("EXEC sp_helpuser 'none'", 15198),
        ("EXEC sp_helprole 'none'", 15409),
        ("EXEC sp_helplogins 'none'", 15007),
        ("EXEC sp_helpserver 'none'", 15015),
    ] {
        assert_eq!(crate::common::numbers(&run(&mut session, text)), [expected], "{text}");
    }
    assert_eq!(
        crate::common::rows(
            &mut session,
            "SELECT COUNT(*), SUM(IIF(mirroring_guid IS NULL, 0, 1)) FROM sys.database_mirroring"
        ),
        ["5|0"]
    );
}
