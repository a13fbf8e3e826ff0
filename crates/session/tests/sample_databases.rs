//! Install scripts like those of sample databases: run unchanged, twice, and then queried.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// Runs a script batch by batch, as its client would at each GO; nothing may go wrong. Gives what was said.
fn install(session: &mut Session, script: &str) -> Vec<String> {
    let mut said = Vec::new();
    let mut batch = String::new();
    for line in script.lines().chain(["GO"]) {
        if !line.trim().eq_ignore_ascii_case("go") {
            batch.push_str(line);
            batch.push('\n');
            continue;
        }
        let seen = run(session, &batch);
        for (number, _, message) in seen.messages {
            match number {
                // What USE and CREATE DATABASE tell.
                5701 | 5703 | 1802 => {}
                50000 => said.push(message),
                _ => panic!("{number} {message}\n{batch}"),
            }
        }
        batch.clear();
    }
    said
}

#[test]
fn traders_install_and_answer() {
    let world = World::new("traders");
    let mut s = world.session();
    let script = include_str!("samples/traders.sql");
    install(&mut s, script);
    // The second time it drops what the first has made.
    install(&mut s, script);
    assert_eq!(rows(&mut s, "SELECT DB_NAME()"), ["Traders"]);
    assert_eq!(
        rows(
            &mut s,
            "SELECT BuyerName, Salesperson, GoodName, ExtendedPrice, Freight FROM Invoices ORDER BY OrderID, GoodName"
        ),
        [
            "Alfa Kantine|Ada Moor|Chef's pepper|73.50|32.38",
            "Alfa Kantine|Ada Moor|Green tea|168.00|32.38",
            "Bon Temps|Cy Brook|Water|18.60|0.00",
            "Bon Temps|Cy Brook|Green tea|106.00|65.83"
        ]
    );
    assert_eq!(
        rows(&mut s, "EXEC [Staff Sales by Country] '7/1/1996', '7/12/1996'")
            .iter()
            .map(|r| r.split('|').nth(1).unwrap())
            .collect::<Vec<_>>(),
        ["Brook"]
    );
    assert_eq!(
        rows(
            &mut s,
            "SELECT e.LastName, m.LastName FROM Staff e LEFT JOIN Staff m ON m.StaffID = e.ReportsTo ORDER BY 1"
        ),
        ["Brook|Field", "Field|NULL", "Moor|Field"]
    );
    assert_eq!(
        rows(&mut s, "SELECT DATALENGTH(Picture), Description FROM Kinds WHERE KindID = 1"),
        ["20|Tea, juice and water"]
    );
    for (text, expected) in [
        ("INSERT Staff(LastName, FirstName, ReportsTo) VALUES ('x', 'y', 99)", 547),
        ("INSERT Staff(LastName, FirstName, BirthDate) VALUES ('x', 'y', '1/1/2999')", 547),
        ("UPDATE [Order Lines] SET Quantity = 0", 547),
        ("DELETE Buyers", 547),
        ("DELETE Staff WHERE StaffID = 2", 547),
    ] {
        assert_eq!(numbers(&run(&mut s, text))[0], expected, "{text}");
    }
}

#[test]
fn publishers_install_and_answer() {
    let world = World::new("publishers");
    let mut s = world.session();
    let script = include_str!("samples/publishers.sql");
    let said = install(&mut s, script);
    assert_eq!(said, ["Now at the create table section ....", "Now at the inserts ...."]);
    assert_eq!(install(&mut s, script).len(), 3);
    assert_eq!(
        rows(&mut s, "SELECT title, au_lname, price FROM titleview ORDER BY title, au_ord"),
        [
            "Secrets of the Valley|Green|20.00",
            "The Busy Clerk's Guide|Bennet|19.99",
            "The Busy Clerk's Guide|Green|19.99"
        ]
    );
    assert_eq!(rows(&mut s, "EXEC byroyalty 40"), ["213-46-8915"]);
    assert_eq!(
        rows(&mut s, "DECLARE @p money, @r int EXEC @r = title_price 'PC8888', @p OUTPUT SELECT @r, @p"),
        ["0|20.00"]
    );
    assert_eq!(rows(&mut s, "SELECT phone, state FROM authors WHERE contract = 0"), ["UNKNOWN     |NULL"]);
    assert_eq!(
        rows(&mut s, "SELECT lname, job_id, job_lvl, house_id FROM employee WHERE emp_id = 'A-R89858F'"),
        ["Roulet|1|10|9952"]
    );
    assert_eq!(
        rows(&mut s, "SELECT OBJECT_NAME(c.object_id), c.name FROM sys.columns c JOIN sys.types t ON t.user_type_id = c.user_type_id
                      WHERE t.name = 'tid' ORDER BY 1"),
        ["titleauthor|title_id", "titles|title_id"]
    );
    for (text, expected) in [
        ("INSERT authors VALUES ('1', 'a', 'b', 'c', NULL, NULL, 1)", 547),
        ("INSERT houses(house_id) VALUES ('1234')", 547),
        ("INSERT employee(emp_id, lname) VALUES ('X', 'y')", 547),
        ("INSERT titleauthor(au_id, title_id) VALUES ('409-56-7008', 'PC8889')", 547),
        ("INSERT titles(title) VALUES ('x')", 515),
        ("EXEC sp_droptype 'id'", 15180),
    ] {
        assert_eq!(numbers(&run(&mut s, text))[0], expected, "{text}");
    }
    assert_eq!(
        rows(
            &mut s,
            "SELECT CAST(value AS varchar(20)) FROM fn_listextendedproperty(NULL, 'schema', 'dbo', 'table', 'authors', NULL, NULL)"
        ),
        ["Who writes"]
    );
}
