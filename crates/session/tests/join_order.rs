//! Joins: the chosen order, inferred equalities, outer joins that are simplified to inner ones; and that neither order nor indexes nor sizes
//! change a result.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::random::{Random, seed};
use crate::common::{World, run};
use hardpan_session::Session;

/// A shop: 2,000 customers in 25 nations, 10,000 orders, 30,000 items, of 500 parts.
const SHOP: &str = "CREATE TABLE nation (nk int NOT NULL PRIMARY KEY, nname varchar(20) NOT NULL)
     CREATE TABLE customer (ck int NOT NULL PRIMARY KEY, nk int NOT NULL, cname varchar(30) NOT NULL)
     CREATE TABLE orders (ok int NOT NULL PRIMARY KEY, ck int NOT NULL, day int NOT NULL)
     CREATE TABLE part (pk int NOT NULL PRIMARY KEY, kind int NOT NULL)
     CREATE TABLE item (ok int NOT NULL, line int NOT NULL, pk int NOT NULL, qty int NOT NULL, CONSTRAINT pkitem PRIMARY KEY (ok, line))
     INSERT nation SELECT number, 'nation' + STR(number, 3) FROM master..spt_values WHERE type = 'P' AND number < 25
     SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 300) a
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) b
     INSERT customer SELECT n, n % 25, 'customer' + STR(n, 5) FROM numbers WHERE n < 2000
     INSERT orders SELECT n, n * 7 % 2000, n % 365 FROM numbers WHERE n < 10000
     INSERT part SELECT n, n % 10 FROM numbers WHERE n < 500
     INSERT item SELECT n / 3, n % 3, n * 11 % 500, n % 50 FROM numbers
     CREATE INDEX icustomer ON orders (ck) CREATE INDEX ipart ON item (pk) CREATE INDEX ination ON customer (nk)";

/// The tables in the order in which a plan reads them, outermost first, with how: `seek` or `scan`.
fn shape(session: &mut Session, statement: &str) -> String {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, statement);
    run(session, "SET SHOWPLAN_TEXT OFF");
    let mut found: Vec<String> = Vec::new();
    for line in seen.sets.iter().flat_map(|set| &set.1).map(|row| &row[0]) {
        let kind = match () {
            () if line.contains("Hash Match(") && line.contains("Join") => "hash".to_string(),
            () if line.contains("Merge Join(") => "merge".to_string(),
            () if line.contains("Nested Loops(") => "loop".to_string(),
            () if line.contains("Constant Scan") => "nothing".to_string(),
            () if line.contains("Seek(OBJECT") => "seek".to_string(),
            () if line.contains("Scan(OBJECT") => "scan".to_string(),
            () => continue,
        };
        match line.split("OBJECT:([").nth(1) {
            Some(object) => {
                let table =
                    object.split(')').next().unwrap().split("].[").nth(2).unwrap().trim_end_matches(']');
                found.push(format!("{kind} {table}"));
            }
            None => found.push(kind),
        }
    }
    found.join(", ")
}

#[test]
fn shapes() {
    let world = World::new("join-order");
    let mut session = world.session();
    assert!(crate::common::numbers(&run(&mut session, SHOP)).iter().all(|number| *number == 0));
    let mut wrong: Vec<String> = Vec::new();
    for (statement, expected) in [
        // One customer: its orders by the index, their items by key; in whatever order the joins are written.
        (
            "SELECT SUM(i.qty) FROM item i JOIN orders o ON o.ok = i.ok JOIN customer c ON c.ck = o.ck WHERE c.ck = 77",
            "loop, loop, seek orders, seek customer, seek item",
        ),
        // What is said of the orders' customer is said of the customer.
        (
            "SELECT SUM(i.qty) FROM item i, customer c, orders o WHERE i.ok = o.ok AND o.ck = c.ck AND o.ck = 77",
            "loop, hash, seek customer, seek orders, seek item",
        ),
        (
            "DECLARE @c int = 77 SELECT MAX(cname), COUNT(*) FROM orders o JOIN customer c ON c.ck = o.ck WHERE o.ck = @c",
            "loop, seek orders, seek customer",
        ),
        // From the small end through the indexes.
        (
            "SELECT COUNT(*) FROM orders o, customer c, nation n WHERE o.ck = c.ck AND c.nk = n.nk AND n.nk = 3",
            "loop, hash, seek nation, seek customer, seek orders",
        ),
        // What each of many rows asks for is computed once; for one row it is looked up.
        (
            "SELECT SUM(n) FROM (SELECT (SELECT COUNT(*) FROM item i WHERE i.ok = o.ok) AS n FROM orders o) x",
            "hash, scan item, scan orders",
        ),
        (
            "SELECT SUM(n) FROM (SELECT (SELECT COUNT(*) FROM item i WHERE i.pk = p.pk) AS n FROM part p WHERE p.pk = 7) x",
            "loop, seek part, seek item",
        ),
        // All of it: what comes in one order by two indexes is merged, what does not is hashed, the smaller side built.
        (
            "SELECT COUNT(*) FROM item i JOIN orders o ON o.ok = i.ok JOIN customer c ON c.ck = o.ck",
            "hash, merge, scan orders, scan customer, scan item",
        ),
        (
            "SELECT MAX(o.day) FROM item i JOIN orders o ON o.ok = i.ok JOIN customer c ON c.ck = o.ck",
            "hash, hash, scan customer, scan orders, scan item",
        ),
        (
            // 50 parts with 60 items each: 3,000 look-ups cost more than all 30,000 items.
            "SELECT p.kind, SUM(i.qty) FROM item i JOIN part p ON p.pk = i.pk WHERE p.kind = 3 GROUP BY p.kind",
            "hash, scan part, scan item",
        ),
        (
            "SELECT SUM(i.qty) FROM item i JOIN part p ON p.pk = i.pk WHERE p.pk = 3",
            "hash, seek part, loop, seek item, seek item",
        ),
        // An outer join whose missing side no condition lets through is an inner one.
        (
            "SELECT COUNT(*) FROM item i LEFT JOIN orders o ON o.ok = i.ok WHERE o.ck = 77",
            "loop, seek orders, seek item",
        ),
        (
            "SELECT COUNT(*) FROM orders o LEFT JOIN customer c ON c.ck = o.ck WHERE c.cname IS NULL",
            "merge, scan orders, scan customer",
        ),
        // No row can be both.
        (
            "SELECT COUNT(*) FROM orders o JOIN customer c ON c.ck = o.ck WHERE o.ck = 5 AND c.ck = 6",
            "nothing",
        ),
        // The common part of an OR joins.
        (
            "SELECT SUM(qty) FROM item i, part p WHERE (p.pk = i.pk AND p.kind = 1 AND qty < 10) OR (p.pk = i.pk AND p.kind = 2 AND qty > 40)",
            "hash, scan part, scan item",
        ),
        // Each branch says something of each nation.
        (
            "SELECT COUNT(*) FROM nation a, nation b, customer c, orders o WHERE c.nk = a.nk AND o.ck = c.ck AND o.day = b.nk AND ((a.nk = 1 AND b.nk = 2) OR (a.nk = 2 AND b.nk = 1))",
            "loop, loop, loop, seek nation, seek nation, seek nation, seek nation, seek customer, loop, seek orders, seek orders",
        ),
        (
            "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT * FROM item i WHERE i.ok = o.ok AND i.qty > 48) AND o.ck = 5",
            "loop, seek orders, seek item",
        ),
        (
            "SELECT COUNT(*) FROM customer c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.ck = c.ck)",
            "loop, scan customer, seek orders",
        ),
    ] {
        let found = shape(&mut session, statement);
        if found != expected {
            wrong.push(format!("{statement}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    session.close();
}

/// The rows, without the message about NULLs in aggregates: it depends on whether the plan meets a NULL.
fn answer(session: &mut Session, query: &str) -> Vec<String> {
    let seen = run(session, query);
    assert_eq!(seen.sets.len(), 1, "{query}: {:?}", seen.messages);
    seen.sets[0].1.iter().map(|row| row.join("|")).collect()
}

/// One drawn join over the tables of `make`, with its conditions.
fn drawn(random: &mut Random) -> String {
    let count = 2 + random.below(4);
    let column = |random: &mut Random| *random.one_of(&["a", "b", "c"]);
    let mut text = format!("t{} x0", random.below(3));
    let mut conditions: Vec<String> = Vec::new();
    for at in 1..count {
        let table = random.below(3);
        let with = random.below(at);
        let mut on = format!("x{at}.{} = x{with}.{}", column(random), column(random));
        if random.below(3) == 0 {
            let more = format!(
                "x{at}.{} {} x{}.{}",
                column(random),
                random.one_of(&["=", "<", ">="]),
                random.below(at),
                column(random)
            );
            on = format!("{on} AND {more}");
        }
        if random.below(6) == 0 {
            on = format!("({on}) OR (x{at}.a = x{with}.a AND x{at}.b = {})", random.below(9));
        }
        match random.below(5) {
            0 => text = format!("{text} LEFT JOIN t{table} x{at} ON {on}"),
            1 => {
                text = format!("{text} CROSS JOIN t{table} x{at}");
                conditions.push(format!("({on})"));
            }
            _ => text = format!("{text} JOIN t{table} x{at} ON {on}"),
        }
    }
    for _ in 0..random.below(4) {
        let (of, value) = (random.below(count), random.below(12));
        conditions.push(match random.below(8) {
            0 => format!("x{of}.{} = {value}", column(random)),
            1 => format!("x{of}.{} > {value}", column(random)),
            2 => format!("x{of}.{} IN ({value}, 3, 5)", column(random)),
            3 => format!("x{of}.{} IS NULL", column(random)),
            4 => format!("x{of}.{} = x{}.{}", column(random), random.below(count), column(random)),
            5 => format!(
                "((x{of}.a = {value} AND x{of}.b < 6) OR (x{of}.a = {value} AND x{}.c = 2) OR (x{of}.a = {value} AND x0.a > 3))",
                random.below(count)
            ),
            6 => format!("EXISTS (SELECT 1 FROM t{} e WHERE e.{} = x{of}.{})", random.below(3), column(random), column(random)),
            _ => format!("((x{of}.b = 1 AND x0.c = 2) OR (x{of}.b = 2 AND x0.c = 1))"),
        });
    }
    let filter =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let sums: Vec<String> =
        (0..count).map(|at| format!("SUM(CAST(x{at}.c AS bigint)), COUNT(x{at}.a)")).collect();
    format!("SELECT COUNT_BIG(*), {} FROM {text}{filter}", sums.join(", "))
}

/// The same query with each column of its conditions inside an expression: nothing can be concluded from them, nor sought.
fn blunt(query: &str) -> String {
    let (head, rest) = query.split_once(" FROM ").unwrap();
    let mut text = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, text: &mut String| {
        let is_column = word.contains('.') && !word.ends_with(".") && word.starts_with(['x', 'e']);
        text.push_str(&if is_column { format!("({word} + 0)") } else { word.clone() });
        word.clear();
    };
    for letter in rest.chars() {
        if letter.is_ascii_alphanumeric() || letter == '.' {
            word.push(letter);
            continue;
        }
        flush(&mut word, &mut text);
        text.push(letter);
    }
    flush(&mut word, &mut text);
    format!("{head} FROM {text}")
}

fn make(session: &mut Session, sizes: [u64; 3], indexes: &str) {
    for (at, size) in sizes.iter().enumerate() {
        run(
            session,
            &format!(
                "DROP TABLE IF EXISTS t{at}; CREATE TABLE t{at} (id int NOT NULL, a int, b int, c int)
                 INSERT t{at} SELECT number, NULLIF(number * 7 % 23, 4), NULLIF(number % 11, 3), number * 3 % 17 FROM master..spt_values
                 WHERE type = 'P' AND number < {size}"
            ),
        );
    }
    let seen = run(session, indexes);
    assert!(crate::common::numbers(&seen).is_empty(), "{indexes}");
}

/// The same answers with every set of indexes as for a query of which nothing can be concluded.
#[test]
fn no_order_and_no_index_changes_an_answer() {
    let world = World::new("join-answers");
    let mut session = world.session();
    let first = seed(1);
    for seed in first..first + 4 {
        let mut random = Random::new(seed);
        let queries: Vec<String> = (0..60).map(|_| drawn(&mut random)).collect();
        let sizes = [20 + random.below(20), 10 + random.below(30), 5 + random.below(10)];
        let mut plain: Option<Vec<Vec<String>>> = None;
        for indexes in [
            "",
            "CREATE UNIQUE CLUSTERED INDEX c0 ON t0 (id); CREATE INDEX a0 ON t0 (a) INCLUDE (b, c); CREATE INDEX a1 ON t1 (a); CREATE INDEX b2 ON t2 (b, a)",
            "CREATE CLUSTERED INDEX c0 ON t0 (a, b); CREATE CLUSTERED INDEX c1 ON t1 (b); CREATE INDEX c2 ON t2 (c) INCLUDE (a, b); CREATE INDEX b0 ON t0 (b)",
            "CREATE INDEX x0 ON t0 (c, a); CREATE INDEX x1 ON t1 (c DESC); CREATE INDEX y1 ON t1 (a, c); CREATE CLUSTERED INDEX x2 ON t2 (a DESC)",
        ] {
            make(&mut session, sizes, indexes);
            let answers: Vec<Vec<String>> = queries.iter().map(|query| answer(&mut session, query)).collect();
            let plain = plain.get_or_insert_with(|| {
                queries.iter().map(|query| answer(&mut session, &blunt(query))).collect()
            });
            for ((query, expected), found) in queries.iter().zip(plain.iter()).zip(&answers) {
                assert_eq!(found, expected, "seed {seed}: {indexes}: {query}");
            }
            // Nor does it change when hardly a row may be kept in memory.
            world.instance.workspaces().keep_no_more_than(1 + random.below(12) as usize);
            for (query, expected) in queries.iter().zip(plain.iter()) {
                assert_eq!(
                    &answer(&mut session, query),
                    expected,
                    "seed {seed}: {indexes}: {query}, spilled"
                );
            }
            world.instance.workspaces().keep_no_more_than(usize::MAX);
        }
    }
    session.close();
}

/// A way down the tree of a large table ends at a page that is not near: a few thousand of them cost more than to read all of it and look its rows up among
/// the others'; a few hundred do not. A small table is near.
#[test]
fn many_ways_down_a_large_table_cost_more_than_all_of_it() {
    let world = World::new("join-far");
    let mut session = world.session();
    let made = "SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 300) a
             CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) b
         CREATE TABLE large (k int NOT NULL PRIMARY KEY, v int NOT NULL) INSERT large SELECT n, n % 10 FROM numbers
         CREATE TABLE small (k int NOT NULL PRIMARY KEY, v int NOT NULL) INSERT small SELECT n, n % 10 FROM numbers WHERE n < 5000
         CREATE TABLE few (id int NOT NULL PRIMARY KEY, k int NOT NULL) INSERT few SELECT n, n * 7919 % 60000 FROM numbers WHERE n < 900
         CREATE TABLE many (id int NOT NULL PRIMARY KEY, k int NOT NULL) INSERT many SELECT n, n * 7919 % 60000 FROM numbers WHERE n < 4000
         CREATE TABLE near (id int NOT NULL PRIMARY KEY, k int NOT NULL) INSERT near SELECT n, n * 7919 % 5000 FROM numbers WHERE n < 900";
    assert!(crate::common::numbers(&run(&mut session, made)).iter().all(|number| *number == 0));
    for (statement, expected) in [
        ("SELECT SUM(v) FROM few JOIN large ON large.k = few.k", "loop, scan few, seek large"),
        ("SELECT SUM(v) FROM many JOIN large ON large.k = many.k", "hash, scan many, scan large"),
        ("SELECT SUM(v) FROM near JOIN small ON small.k = near.k", "loop, scan near, seek small"),
    ] {
        assert_eq!(shape(&mut session, statement), expected, "{statement}");
        let hidden = statement.replace("= ", "= 0 + ");
        assert_eq!(
            run(&mut session, statement).sets[0].1,
            run(&mut session, &hidden).sets[0].1,
            "{statement}"
        );
    }
    session.close();
}

/// Subqueries of a select list, each computed once for all rows, give what they give row by row.
#[test]
fn what_a_select_list_asks_for_may_be_computed_once() {
    let world = World::new("select-list-once");
    let mut session = world.session();
    assert!(crate::common::numbers(&run(&mut session, SHOP)).iter().all(|number| *number == 0));
    run(
        &mut session,
        "CREATE TABLE asked (id int NOT NULL PRIMARY KEY, ok int NULL) INSERT asked SELECT n, NULLIF(n * 3, 30) FROM numbers WHERE n < 50",
    );
    for items in [
        // Orders without items, and an order that is NULL.
        "(SELECT COUNT(*) FROM item i WHERE i.ok = a.ok), (SELECT MAX(qty) FROM item i WHERE i.ok = a.ok AND qty > 20)",
        "(SELECT COUNT(qty) + 1 FROM item i WHERE a.ok = i.ok AND i.line = 1) * 2, ok",
        "CASE WHEN id % 2 = 0 THEN (SELECT MIN(pk) FROM item i WHERE i.ok = a.ok) ELSE -1 END, ISNULL((SELECT MAX(line) FROM item i WHERE i.ok = a.ok), 99)",
        // One that may fail for a row stays where it is.
        "CASE WHEN id > 1000 THEN (SELECT SUM(10 / (qty - qty)) FROM item i WHERE i.ok = a.ok) ELSE 0 END",
    ] {
        let of = |hint: &str, session: &mut Session| {
            let seen = run(
                session,
                &format!("SELECT id, {items} FROM asked a ORDER BY id OPTION (USE HINT ('{hint}'))"),
            );
            assert!(seen.messages.is_empty(), "{items}: {:?}", seen.messages);
            seen.sets[0].1.clone()
        };
        let each = of("HARDPAN_DISABLE_RULE_DECORRELATION", &mut session);
        assert_eq!(each.len(), 50);
        assert_eq!(of("HARDPAN_PREFER_RULE_DECORRELATION", &mut session), each, "{items}");
    }
}
