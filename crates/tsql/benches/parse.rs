//! Speed of the lexer and the parser in MB/s: `cargo bench -p hardpan-tsql [-- FILE.. | -- --once]`.
//! The corpus is the test scripts of `tsql` and `query` and the system procedures of `session`, or the files named.
//! Batches are split beforehand; the time includes dropping the trees. `--once` parses the corpus fifty times and
//! prints nothing, to count instructions with `valgrind --tool=callgrind`.
#![allow(clippy::disallowed_methods)] // a measurement needs a clock

use std::hint::black_box;
use std::time::Instant;

use hardpan_tsql::{Lexer, ParseOptions, ScriptBatch, parse_batch, split_go};

/// Scripts of many lines: batches split at GO.
const SCRIPTS: [(&str, &str); 13] = [
    ("shop_schema", include_str!("../tests/scripts/shop_schema.sql")),
    ("modules", include_str!("../tests/scripts/modules.sql")),
    ("queries", include_str!("../tests/scripts/queries.sql")),
    ("batches", include_str!("../tests/scripts/batches.sql")),
    ("administration", include_str!("../tests/scripts/administration.sql")),
    ("sp_columns", include_str!("../../session/src/system_procedures/sql/sp_columns.sql")),
    ("sp_datatype_info", include_str!("../../session/src/system_procedures/sql/sp_datatype_info.sql")),
    ("sp_helpdb", include_str!("../../session/src/system_procedures/sql/sp_helpdb.sql")),
    ("sp_pkeys", include_str!("../../session/src/system_procedures/sql/sp_pkeys.sql")),
    ("sp_statistics", include_str!("../../session/src/system_procedures/sql/sp_statistics.sql")),
    (
        "sp_stored_procedures",
        include_str!("../../session/src/system_procedures/sql/sp_stored_procedures.sql"),
    ),
    ("sp_tables", include_str!("../../session/src/system_procedures/sql/sp_tables.sql")),
    ("sp_who", include_str!("../../session/src/system_procedures/sql/sp_who.sql")),
];

/// Golden scripts of `query`: one small batch a record.
const GOLDEN: [(&str, &str); 6] = [
    ("golden aggregates", include_str!("../../query/tests/scripts/aggregates.test")),
    ("golden builtin", include_str!("../../query/tests/scripts/builtin.test")),
    ("golden changes", include_str!("../../query/tests/scripts/changes.test")),
    ("golden joins", include_str!("../../query/tests/scripts/joins.test")),
    ("golden seeds", include_str!("../../query/tests/scripts/seeds.test")),
    ("golden select", include_str!("../../query/tests/scripts/select.test")),
];

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let once = arguments.first().is_some_and(|word| word == "--once");
    arguments.retain(|word| word != "--once");
    let sources = if arguments.is_empty() { own_corpus() } else { files(&arguments) };
    let batches: Vec<ScriptBatch> = sources.iter().flat_map(|(_, batches)| batches.clone()).collect();
    if once {
        (0..50).for_each(|_| parse_all(&batches));
        return;
    }
    let refused = batches.iter().filter(|batch| parse_batch(&batch.text, &ParseOptions::default()).is_err());
    println!("{} batches, {} bytes, {} refused", batches.len(), bytes(&batches), refused.count());
    for (name, batches) in &sources {
        measure(name, bytes(batches), || parse_all(batches));
    }
    measure("lexer, all", bytes(&batches), || {
        for batch in &batches {
            black_box(Lexer::new(black_box(&batch.text), true).count());
        }
    });
    measure("parser, all", bytes(&batches), || parse_all(&batches));
}

fn own_corpus() -> Vec<(String, Vec<ScriptBatch>)> {
    let scripts = SCRIPTS.iter().map(|(name, text)| (name.to_string(), split_go(text)));
    let golden = GOLDEN.iter().map(|(name, text)| (name.to_string(), golden_batches(text)));
    scripts.chain(golden).collect()
}

/// The SQL of a golden script: the text between a record's first line and `----` or a blank line.
fn golden_batches(text: &str) -> Vec<ScriptBatch> {
    let records = text.split("\n\n").filter_map(|record| record.trim().split_once('\n'));
    let sql = records.map(|(_, body)| body.split("\n----").next().unwrap_or(body));
    sql.flat_map(split_go).collect()
}

fn files(names: &[String]) -> Vec<(String, Vec<ScriptBatch>)> {
    let read = |name: &String| {
        let bytes = std::fs::read(name).expect("the file can be read");
        (name.clone(), split_go(&String::from_utf8_lossy(&bytes)))
    };
    names.iter().map(read).collect()
}

fn bytes(batches: &[ScriptBatch]) -> usize {
    batches.iter().map(|batch| batch.text.len()).sum()
}

fn parse_all(batches: &[ScriptBatch]) {
    for batch in batches {
        let _ = black_box(parse_batch(black_box(&batch.text), &ParseOptions::default()));
    }
}

/// The best pass within 300 ms, and the median one: passes are so short that some run undisturbed on a busy machine.
fn measure(what: &str, bytes: usize, mut work: impl FnMut()) {
    let mut passes = Vec::new();
    let begin = Instant::now();
    while begin.elapsed().as_millis() < 300 {
        let start = Instant::now();
        work();
        passes.push(start.elapsed().as_secs_f64());
    }
    passes.sort_by(f64::total_cmp);
    let speed = |seconds: f64| bytes as f64 / seconds / 1e6;
    let (best, middle) = (speed(passes[0]), speed(passes[passes.len() / 2]));
    println!("{what:<24} {bytes:>8} bytes  best {best:>4.0} MB/s, middle {middle:>4.0} MB/s");
}
