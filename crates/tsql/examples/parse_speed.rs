//! Measures the lexer and the parser: `cargo run --release -p hardpan-tsql --example parse_speed [FILE..]`.
//! Without files it reads the test scripts. Batches are cut beforehand; trees are dropped within the time.
#![allow(clippy::disallowed_methods)] // a measurement needs a clock

use std::hint::black_box;
use std::time::Instant;

use hardpan_tsql::{Lexer, ParseOptions, parse_batch, split_go};

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let mut script = String::new();
    for file in &files {
        script.push_str(&std::fs::read_to_string(file).expect("the file can be read"));
        script.push_str("\nGO\n");
    }
    if files.is_empty() {
        for text in [
            include_str!("../tests/scripts/shop_schema.sql"),
            include_str!("../tests/scripts/modules.sql"),
            include_str!("../tests/scripts/queries.sql"),
            include_str!("../tests/scripts/batches.sql"),
            include_str!("../tests/scripts/administration.sql"),
        ] {
            script.push_str(text);
        }
    }
    let batches = split_go(&script);
    let bytes: usize = batches.iter().map(|batch| batch.text.len()).sum();
    let options = ParseOptions::default();
    let refused = batches.iter().filter(|batch| parse_batch(&batch.text, &options).is_err()).count();
    println!("{} batches, {bytes} bytes, {refused} refused", batches.len());
    measure("split_go", script.len(), || {
        black_box(split_go(black_box(&script)));
    });
    measure("lexer", bytes, || {
        for batch in &batches {
            black_box(Lexer::new(black_box(&batch.text), true).count());
        }
    });
    measure("parser", bytes, || {
        for batch in &batches {
            let _ = black_box(parse_batch(black_box(&batch.text), &options));
        }
    });
}

/// Best of five rounds of at least 200 ms each.
fn measure(what: &str, bytes: usize, mut work: impl FnMut()) {
    let mut best = 0.0_f64;
    for _ in 0..5 {
        let start = Instant::now();
        let mut rounds = 0;
        while start.elapsed().as_millis() < 200 {
            work();
            rounds += 1;
        }
        best = best.max(bytes as f64 * f64::from(rounds) / start.elapsed().as_secs_f64() / 1e6);
    }
    println!("{what}: {best:.0} MB/s");
}
