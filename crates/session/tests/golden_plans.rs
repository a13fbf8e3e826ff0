//! The plans of many queries, by their shape: which operators, in which order, through which indexes. `golden_plans.txt` lists them; with
//! `HARDPAN_WRITE_PLANS=1` the test writes the file again, for review before it is committed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

#[allow(dead_code, reason = "the bench speaks both dialects")]
#[path = "../../../benches/shared/dialect.rs"]
mod dialect;
#[path = "../../../benches/queries/schema.rs"]
mod schema;
#[path = "../../../benches/queries/tpch.rs"]
mod tpch;

/// What the bench's definitions are made of.
mod server {
    pub struct TableDefinition {
        pub name: &'static str,
        pub columns: &'static str,
    }
}

use common::{World, numbers, rows, run};
use dialect::Dialect;
use hardpan_session::Session;

const PLANS: &str = include_str!("golden_plans.txt");

/// A fiftieth of the specification's rows, as its generator would make them but for the texts: sparse order keys, a third of the customers
/// without orders, dates of seven years.
const ROWS: &str = "SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers
         FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 400) a
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 300) b
     INSERT region SELECT n, SUBSTRING('AFRICA     AMERICA    ASIA       EUROPE     MIDDLE EAST', n * 11 + 1, 11), 'a region' FROM numbers WHERE n < 5
     INSERT nation SELECT n, CASE n WHEN 3 THEN 'CANADA' WHEN 6 THEN 'FRANCE' WHEN 7 THEN 'GERMANY' WHEN 2 THEN 'BRAZIL' WHEN 20 THEN 'SAUDI ARABIA'
         ELSE 'NATION' + STR(n, 3) END, n % 5, 'a nation' FROM numbers WHERE n < 25
     INSERT supplier SELECT n + 1, 'Supplier#' + STR(n, 9), 'street', n * 7 % 25, '12-345', n * 37 % 9999, 'comment' FROM numbers WHERE n < 200
     INSERT customer SELECT n + 1, 'Customer#' + STR(n, 9), 'street', n * 11 % 25, STR(n * 11 % 25 + 10, 2) + '-345', n * 41 % 9999 - 900,
         SUBSTRING('AUTOMOBILE BUILDING   FURNITURE  MACHINERY  HOUSEHOLD  ', n % 5 * 11 + 1, 10), 'comment' FROM numbers WHERE n < 3000
     INSERT part SELECT n + 1, SUBSTRING('forest green almond azure  blush  brown  coral  cream  cyan   dark   honey  ivory  ', n % 12 * 7 + 1, 7) + ' linen',
         'Manufacturer', 'Brand#' + STR(n % 5 * 10 + n / 5 % 5 + 11, 2),
         SUBSTRING('STANDARD SMALL    MEDIUM   LARGE    ECONOMY  PROMO    ', n % 6 * 9 + 1, 9) + SUBSTRING('TIN   NICKELBRASS STEEL COPPER', n / 6 % 5 * 6 + 1, 6), n % 50 + 1,
         SUBSTRING('SM CASELG BOX MED BAGJUMBO JWRAP PK', n / 7 % 5 * 7 + 1, 7), n % 1000 + 900, 'comment' FROM numbers WHERE n < 4000
     INSERT partsupp SELECT n / 4 + 1, (n / 4 + n % 4 * 53) % 200 + 1, n * 13 % 9999, n * 17 % 1000, 'comment' FROM numbers WHERE n < 16000
     INSERT orders SELECT n / 8 * 32 + n % 8 + 1, n * 7 % 1000 * 3 + n % 2 + 1, SUBSTRING('FOP', n % 3 + 1, 1), n * 19 % 400000, DATEADD(day, n * 31 % 2406, '1992-01-01'),
         STR(n % 5 + 1, 1) + '-LEVEL', 'Clerk', 0, 'comment' FROM numbers WHERE n < 30000
     INSERT lineitem SELECT n / 4 / 8 * 32 + n / 4 % 8 + 1, n * 7919 % 4000 + 1, (n * 7919 % 4000 + n % 4 * 53) % 200 + 1, n % 4 + 1, n % 50 + 1, n * 23 % 90000, n % 11 * 0.01,
         n % 9 * 0.01, SUBSTRING('RAN', n % 3 + 1, 1), SUBSTRING('OF', n % 2 + 1, 1), DATEADD(day, n / 4 * 31 % 2406 + n % 121 + 1, '1992-01-01'),
         DATEADD(day, n / 4 * 31 % 2406 + n % 61 + 30, '1992-01-01'), DATEADD(day, n / 4 * 31 % 2406 + n % 121 + n % 30 + 2, '1992-01-01'),
         SUBSTRING('DELIVER IN PERSONCOLLECT COD      NONE             TAKE BACK RETURN ', n % 4 * 17 + 1, 17),
         SUBSTRING('REG AIRAIR    RAIL   SHIP   TRUCK  MAIL   FOB    ', n % 7 * 7 + 1, 7), 'comment' FROM numbers";

/// What is there beside TPC-H.
const MORE: &str = "CREATE TABLE job (id int NOT NULL PRIMARY KEY, state varchar(10) NOT NULL, owner int NULL, priority int NOT NULL, due date NOT NULL, note varchar(50) NULL)
     INSERT job SELECT n, CASE WHEN n % 500 = 7 THEN 'open' ELSE 'done' END, NULLIF(n % 40, 0), n * 7 % 1000, DATEADD(day, n % 3000, '2015-01-01'), NULL FROM numbers WHERE n < 40000
     CREATE INDEX job_open ON job (due) WHERE state = 'open'
     CREATE INDEX job_owner ON job (owner, priority)
     CREATE INDEX job_priority ON job (priority) INCLUDE (due)";

struct Golden {
    name: String,
    statement: String,
    shape: String,
}

fn golden() -> Vec<Golden> {
    let blocks =
        PLANS.split("\n\n").map(str::trim).filter(|block| !block.is_empty() && !block.starts_with('#'));
    blocks
        .map(|block| {
            let (head, shape) = block.split_once("\n=>").unwrap_or((block, ""));
            let (name, statement) = head.split_once('\n').unwrap_or((head, ""));
            let of_bench = tpch::QUERIES.iter().find(|query| query.0 == name);
            let text = match (of_bench, statement) {
                (Some(query), "") => Dialect::TransactSql.text(query.1),
                (None, text) if !text.is_empty() => text.to_string(),
                _ => panic!("{name} is a query of TPC-H, or has a statement"),
            };
            assert!(text.len() > 10, "{name}: {text}");
            Golden { name: name.to_string(), statement: text, shape: shape.trim_matches('\n').to_string() }
        })
        .collect()
}

/// Operators with the tables and indexes that they read, one a line, inputs below and further in.
fn shape(session: &mut Session, statement: &str) -> String {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, statement);
    run(session, "SET SHOWPLAN_TEXT OFF");
    assert!(seen.messages.is_empty(), "{statement}: {:?}", seen.messages);
    let lines = seen.sets.iter().flat_map(|set| &set.1).map(|row| row[0].as_str());
    let operators: Vec<String> = lines.filter_map(|line| line.split_once("|--").map(operator)).collect();
    assert!(!operators.is_empty(), "{statement} has no plan");
    operators.join("\n")
}

fn operator((before, text): (&str, &str)) -> String {
    let (name, arguments) = text.split_once('(').unwrap_or((text, ""));
    let mut shown = "  ".repeat(before.len() / 5) + name;
    let logical = arguments.split([',', ')']).next().unwrap_or_default();
    let is_logical = !logical.is_empty() && logical.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    if is_logical {
        shown += &format!(" ({logical})");
    }
    if let Some(object) = arguments.split_once("OBJECT:([") {
        let mut names: Vec<&str> = object.1.split("])").next().unwrap().split("].[").skip(2).collect();
        if names[1..].iter().any(|index| index.starts_with("PK__")) {
            names[1] = "key";
        }
        shown += &format!(" {}", names.join("."));
    }
    for mark in ["LOOKUP", "ORDERED BACKWARD", "TOP EXPRESSION", "WITH TIES"] {
        if text.contains(mark) {
            shown += &format!(" {}", mark.to_lowercase());
        }
    }
    shown
}

fn prepared() -> (World, Session) {
    let (world, mut session) = World::in_database("golden-plans");
    let mut batches: Vec<String> = schema::TABLES
        .iter()
        .map(|table| format!("CREATE TABLE {} ({})", table.name, table.columns))
        .collect();
    batches.push(ROWS.into());
    batches.extend(schema::INDEXES.iter().map(|index| index.to_string()));
    batches.push(MORE.into());
    for batch in batches {
        let seen = run(&mut session, &batch);
        assert!(numbers(&seen).iter().all(|number| *number == 0), "{batch}: {:?}", seen.messages);
    }
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM lineitem"), ["120000"]);
    (world, session)
}

#[test]
fn plans_have_their_shapes() {
    let (_world, mut session) = prepared();
    let golden = golden();
    assert!(golden.len() >= 60, "{} plans", golden.len());
    let mut wrong = Vec::new();
    let mut written = String::new();
    for Golden { name, statement, shape: expected } in &golden {
        let found = shape(&mut session, statement);
        let text = if tpch::QUERIES.iter().any(|query| query.0 == name) { "" } else { statement };
        let head = [name, text].join("\n");
        written += &format!("\n{}\n=>\n{found}\n", head.trim_end());
        if found != *expected {
            wrong.push(format!("{name}\n{found}\nnot\n{expected}\n"));
        }
    }
    if std::env::var("HARDPAN_WRITE_PLANS").is_ok() {
        let heading = PLANS.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n"));
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden_plans.txt");
        std::fs::write(file, heading.collect::<String>() + &written).unwrap();
    }
    assert!(wrong.is_empty(), "{} of {} plans:\n{}", wrong.len(), golden.len(), wrong.join("\n"));
    session.close();
}
