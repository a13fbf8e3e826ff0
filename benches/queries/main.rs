//! `cargo bench --bench queries`: reads and bulk changes compared with PostgreSQL, on the same generated rows and indexes.
//!
//! Each statement runs on both servers alternately within a round; the table shows medians in milliseconds and the ratio
//! PostgreSQL's time / Hardpan's (above 1: Hardpan is faster), against PostgreSQL without parallel workers; the time
//! with its defaults is beside. Answers are compared; a difference is shown and makes the run fail.
//!
//!     cargo bench --bench queries                        # a million line items, three rounds
//!     cargo bench --bench queries -- --scale 0.01        # sixty thousand, for a look
//!     cargo bench --bench queries -- --only Q17          # statements whose name contains the word

// A benchmark program is outside of the simulated world.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod measure;
mod schema;
mod shapes;
#[allow(dead_code, reason = "each bench uses its part")]
#[path = "../shared/mod.rs"]
mod shared;
mod tables;
mod tpch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use measure::Outcome;
use shared::machine::Directory;
use shared::server::Server;
use shared::{answer, machine, random, server};

/// Queries beside PostgreSQL.
#[derive(Parser)]
struct Arguments {
    /// Scale factor of TPC-H; 0.167 has a million line items
    #[arg(long, default_value_t = 0.167)]
    scale: f64,
    /// Rounds; the table shows medians
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only statements whose name contains this text
    #[arg(long)]
    only: Option<String>,
    /// Seconds that a statement may take
    #[arg(long, default_value_t = 60)]
    limit: u64,
    /// Seconds to wait at most for an idle machine before each measurement
    #[arg(long, default_value_t = 5)]
    settle: u64,
    /// Directory for the data; a real disk, not memory
    #[arg(long)]
    dir: Option<PathBuf>,
    /// What cargo passes
    #[arg(long, hide = true)]
    bench: bool,
}

/// A statement and its times on each server.
struct Row {
    name: String,
    /// Hardpan, PostgreSQL without workers, PostgreSQL with its defaults; one figure per round.
    milliseconds: [Vec<f64>; 3],
    remarks: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("bench: an answer differs or did not come: see the table");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let parent = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let directory = Directory::create(parent.join(format!("hardpan-queries-{}", std::process::id())))?;
    println!("machine: {}", machine::describe(&directory.0));
    let limit = Duration::from_secs(arguments.limit);
    let mut ours = Server::hardpan(&directory.0, limit)?;
    let mut theirs = Server::postgres(&directory.0, limit)?;
    for server in [&mut ours, &mut theirs] {
        server.load(&tables::Sizes::of(arguments.scale))?;
    }
    let mut rows: Vec<Row> = Vec::new();
    for round in 0..arguments.rounds.max(1) {
        let works = tpch::QUERIES
            .iter()
            .map(|(name, text)| shapes::Shape { name, before: "", text, after: "", times: 1 })
            .chain(shapes::SHAPES);
        for work in
            works.filter(|work| arguments.only.as_ref().is_none_or(|only| work.name.contains(only.as_str())))
        {
            if round == 0 {
                let milliseconds = [Vec::new(), Vec::new(), Vec::new()];
                rows.push(Row { name: work.name.into(), milliseconds, remarks: Vec::new() });
            }
            let row = rows.iter_mut().find(|row| row.name == work.name).expect("made in the first round");
            measure_both(&work, arguments, &mut ours, &mut theirs, row)?;
            let last =
                |place: usize| row.milliseconds[place].last().map_or("-".into(), |ms| format!("{ms:.2} ms"));
            eprintln!(
                "round {}: {}: {} | {}  {}",
                round + 1,
                work.name,
                last(0),
                last(1),
                row.remarks.join("; ")
            );
        }
    }
    print(&rows);
    Ok(rows.iter().all(|row| row.remarks.is_empty()))
}

/// Runs one work on each server and compares the answers.
fn measure_both(
    work: &shapes::Shape,
    arguments: &Arguments,
    ours: &mut Server,
    theirs: &mut Server,
    row: &mut Row,
) -> Result<(), String> {
    machine::settle(Duration::from_secs(arguments.settle));
    let mut answers = Vec::new();
    for (place, workers) in [(0, false), (1, false), (2, true)] {
        let server = if place == 0 { &mut *ours } else { &mut *theirs };
        server.allow_workers(workers)?;
        match measure::measure(server, work)? {
            Outcome::Answer { milliseconds, rows } => {
                row.milliseconds[place].push(milliseconds);
                answers.push((place, rows));
            }
            Outcome::None(why) => row.remarks.push(format!("{}: {why}", server.name())),
        }
    }
    if let [(0, mine), (1, other), ..] = &answers[..]
        && let Some(difference) = answer::difference(mine, other)
    {
        row.remarks.push(difference);
    }
    row.remarks.dedup();
    Ok(())
}

fn print(rows: &[Row]) {
    println!("\n| statement | Hardpan, ms | PostgreSQL, ms | with its workers, ms | ratio | remarks |");
    println!("|---|---|---|---|---|---|");
    let mut ratios = Vec::new();
    for row in rows {
        let medians: Vec<Option<f64>> = row.milliseconds.iter().map(|figures| median(figures)).collect();
        let show = |figure: Option<f64>| figure.map_or("-".into(), |ms| format!("{ms:.3}"));
        let ratio = medians[0].zip(medians[1]).map(|(mine, other)| other / mine);
        if row.name.starts_with('Q') {
            ratios.extend(ratio);
        }
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            row.name,
            show(medians[0]),
            show(medians[1]),
            show(medians[2]),
            ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
            row.remarks.join("; "),
        );
    }
    if let Some(middle) = median(&ratios) {
        println!("\nMedian ratio of {} queries of TPC-H: {middle:.2}", ratios.len());
    }
}

fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
