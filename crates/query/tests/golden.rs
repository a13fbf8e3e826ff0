//! Runs the golden scripts in `tests/scripts` against the crate alone: one statement after the other, each committed.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::World;
use hardpan_query as query;

fn run(name: &str, text: &str) {
    let mut world = World::new();
    let mut failures = Vec::new();
    for record in query::scripts::parse(text).unwrap() {
        let outcome = world.batch(&record.sql);
        if let Err(difference) = query::scripts::judge(&record, &outcome) {
            failures.push(difference);
        }
    }
    assert!(failures.is_empty(), "{name}: {} failures\n{}", failures.len(), failures.join("\n----------\n"));
}

macro_rules! script {
    ($name:ident) => {
        #[test]
        fn $name() {
            run(stringify!($name), include_str!(concat!("scripts/", stringify!($name), ".test")));
        }
    };
}

script!(expressions);
script!(functions);
script!(builtin);
script!(select);
script!(joins);
script!(aggregates);
script!(changes);
script!(views);
script!(seeds);
script!(like_seek);
script!(predicates_below);

/// Functions that are refused by name: backups come later.
const REFUSED: [&str; 1] = ["fn_dump_dblog"];

/// Every system view can be read: its rows have its columns, of its types.
#[test]
fn every_view_reads() {
    let mut world = World::new();
    for view in query::sysviews::all().iter().filter(|view| !REFUSED.contains(&view.name)) {
        let arguments = match view.parameters {
            0 => String::new(),
            count if view.name == "STRING_SPLIT" => format!("('a b', ' '{})", ", 1".repeat(count - 2)),
            count => format!("({})", vec!["NULL"; count].join(", ")),
        };
        let sql = format!("SELECT * FROM {}.[{}]{arguments}", view.schema, view.name);
        let batch = tsql::parse_batch(&sql, &tsql::ParseOptions::default()).unwrap();
        let sink =
            world.statement(&batch.statements[0], &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(sink.columns.len(), view.columns().len(), "{sql}");
        for row in &sink.rows {
            for (value, column) in row.iter().zip(view.columns()) {
                assert!(column.nullable || !value.is_null(), "{sql}: {} is NULL", column.name);
            }
        }
    }
}
