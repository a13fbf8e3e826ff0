//! Runs the golden scripts in `tests/scripts` against the crate alone: one statement after the other, each committed.

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
