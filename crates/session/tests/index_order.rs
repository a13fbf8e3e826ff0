//! Index order: TOP, ORDER BY, OFFSET, MIN and MAX give the results that they give without an index, forward and backward, and read few
//! pages.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, run};
use hardpan_session::Session;

const ROWS: u32 = 3000;

fn make(session: &mut Session, indexes: &str) {
    run(
        session,
        &format!(
            "DROP TABLE IF EXISTS t;
             CREATE TABLE t (id int NOT NULL, a int NULL, b int NOT NULL, s varchar(20) NULL, d decimal(9, 2) NOT NULL, pad char(200) NOT NULL);
             DECLARE @i int = 0;
             BEGIN TRAN;
             WHILE @i < {ROWS} BEGIN
                INSERT t VALUES (@i, NULLIF(@i * 7 % 53, 0), @i * 31 % 1009, CASE WHEN @i % 11 = 0 THEN NULL ELSE SUBSTRING('bAcaBCdD', @i % 7 + 1, 2) END, @i * 17 % 501 - 250, 'x');
                SET @i += 1;
             END;
             COMMIT;
             {indexes}"
        ),
    );
}

/// The rows, without the message about NULLs: a plan that follows an index may meet none.
fn answer(session: &mut Session, query: &str) -> Vec<String> {
    let seen = run(session, query);
    assert_eq!(seen.sets.len(), 1, "{query}: {:?}", seen.messages);
    seen.sets[0].1.iter().map(|row| row.join("|")).collect()
}

/// Queries whose answer is one and only one, whatever the plan.
fn queries() -> Vec<String> {
    let orders = [
        "id",
        "id DESC",
        "a, id",
        "a DESC, id",
        "a DESC, id DESC",
        "b, id",
        "b DESC, id DESC",
        "s, id",
        "s DESC, id DESC",
        "d, b, id",
        "d DESC, b DESC, id DESC",
        "a, b, id",
        "b, a, id",
        "d + 1, id",
    ];
    let filters = [
        "",
        "WHERE a = 5",
        "WHERE a IS NULL",
        "WHERE b BETWEEN 100 AND 300",
        "WHERE s = 'AB' AND d > 0",
        "WHERE a IN (3, 9) AND b < 700",
        "WHERE d = 7",
        "WHERE id > 2900",
        "WHERE id = 17",
        "WHERE s LIKE 'b%'",
    ];
    let mut queries = Vec::new();
    for filter in filters {
        for order in orders {
            queries.push(format!("SELECT TOP (7) id, a, b, s, d FROM t {filter} ORDER BY {order}"));
            queries.push(format!("SELECT id FROM t {filter} ORDER BY {order}"));
            queries.push(format!(
                "SELECT id, b FROM t {filter} ORDER BY {order} OFFSET 3 ROWS FETCH NEXT 5 ROWS ONLY"
            ));
            queries.push(format!(
                "SELECT x, y FROM (SELECT TOP (9) a AS x, id AS y FROM t {filter} ORDER BY {order}) q ORDER BY y DESC"
            ));
        }
        for column in ["id", "a", "b", "s", "d", "a + 1"] {
            queries.push(format!("SELECT UPPER(MIN({column})), UPPER(MAX({column})) FROM t {filter}"));
            queries.push(format!("SELECT UPPER(MIN({column})) FROM t {filter}"));
            queries.push(format!("SELECT UPPER(MAX({column})) FROM t {filter}"));
            queries.push(format!("SELECT UPPER(MAX(q.c)) FROM (SELECT {column} AS c FROM t {filter}) q"));
        }
    }
    queries
}

#[test]
fn an_index_changes_no_answer() {
    let world = World::new("index-order");
    let mut session = world.session();
    let mut plain: Option<Vec<Vec<String>>> = None;
    for indexes in [
        "",
        "ALTER TABLE t ADD PRIMARY KEY (id)",
        "ALTER TABLE t ADD PRIMARY KEY (id DESC); CREATE INDEX ia ON t (a) INCLUDE (b); CREATE INDEX ib ON t (b, a); CREATE INDEX ist ON t (s)",
        "CREATE CLUSTERED INDEX c ON t (d, b DESC); CREATE UNIQUE INDEX u ON t (id); CREATE INDEX ia ON t (a DESC, id)",
        "CREATE UNIQUE INDEX u ON t (id) INCLUDE (a, b, s, d); CREATE INDEX ist ON t (s DESC, id DESC); CREATE INDEX id2 ON t (d, b, id)",
    ] {
        make(&mut session, indexes);
        let answers: Vec<Vec<String>> = queries().iter().map(|query| answer(&mut session, query)).collect();
        let Some(plain) = &plain else {
            plain = Some(answers);
            continue;
        };
        for ((query, expected), found) in queries().iter().zip(plain).zip(&answers) {
            assert_eq!(found, expected, "{indexes}: {query}");
        }
    }
    session.close();
}

/// Logical reads of a query.
fn pages(session: &mut Session, query: &str) -> u32 {
    let seen = run(session, &format!("SET STATISTICS IO ON; {query}; SET STATISTICS IO OFF"));
    let told = seen.messages.iter().find(|message| message.0 == 3615).unwrap();
    let (_, rest) = told.2.split_once("logical reads ").unwrap();
    rest.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn the_first_rows_by_an_index_cost_a_few_pages() {
    let world = World::new("index-order-pages");
    let mut session = world.session();
    make(
        &mut session,
        "ALTER TABLE t ADD PRIMARY KEY (id); CREATE INDEX ia ON t (a); CREATE INDEX ib ON t (b)",
    );
    assert!(pages(&mut session, "SELECT MAX(pad) FROM t") > 80, "the whole table");
    for query in [
        "SELECT TOP (5) * FROM t ORDER BY id",
        "SELECT TOP (5) * FROM t ORDER BY id DESC",
        "SELECT TOP (5) * FROM t ORDER BY b",
        "SELECT TOP (5) * FROM t ORDER BY b DESC, id DESC",
        "SELECT TOP (5) * FROM t WHERE a = 9 ORDER BY id DESC",
        "SELECT * FROM t ORDER BY id OFFSET 10 ROWS FETCH NEXT 5 ROWS ONLY",
        "SELECT MIN(b) FROM t",
        "SELECT MAX(b) FROM t",
        "SELECT MAX(a) FROM t",
        "SELECT MAX(id) FROM t WHERE a = 9",
        "SELECT MIN(x) FROM (SELECT b AS x FROM t WHERE b > 50) q",
    ] {
        let read = pages(&mut session, query);
        assert!(read <= 30, "{query}: {read} pages");
    }
    session.close();
}
