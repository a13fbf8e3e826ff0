//! `cargo bench`: Hardpan, the raw device and the databases installed here, with the same work in the same run.
//!
//! Works and engines alternate within each round, so that other load of the machine affects all of them; the table
//! shows medians of the rounds, and ratios that were computed within a round before the median was taken.
//!
//!     cargo bench --bench peers                      # everything, three rounds, about a quarter of an hour
//!     cargo bench --bench peers -- --quick           # a tenth of the work, one round, a minute
//!     cargo bench --bench peers -- --only driver     # works whose name contains the word
//!     cargo bench --bench peers -- --only driver --delayed   # for what the processors do: the device sets no pace
//!     cargo bench --bench peers -- --log             # what the log's features cost, Hardpan alone

// A benchmark program is outside of the simulated world.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod device;
mod log_rows;
mod mariadb;
mod readers;
#[allow(dead_code, reason = "each bench uses its part")]
mod shared;
mod sqlite;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use shared::machine::Directory;
use shared::work::{Engine, Scale, Work};
use shared::{connection, hardpan, machine, postgres, sessions, work};
use table::Table;

/// Log size of the database of the loops: no checkpoint is necessary in a loop.
const LOG_MB: u32 = 1024;

/// Hardpan beside what else is installed.
#[derive(Parser)]
struct Arguments {
    /// A tenth of the work, one round
    #[arg(long)]
    quick: bool,
    /// Rounds; the table shows medians
    #[arg(long)]
    rounds: Option<usize>,
    /// Only works whose name contains this text
    #[arg(long)]
    only: Option<String>,
    /// Engines to leave out, by name
    #[arg(long)]
    without: Vec<String>,
    /// Instead of the peers: what features of the log cost Hardpan
    #[arg(long)]
    log: bool,
    /// Commits of the driver's works do not wait for the device (PostgreSQL's, ours)
    #[arg(long)]
    delayed: bool,
    /// Seconds to wait at most for an idle machine before each measurement
    #[arg(long, default_value_t = 10)]
    settle: u64,
    /// Directory for the data; a real disk, not memory
    #[arg(long)]
    dir: Option<PathBuf>,
    /// What cargo passes
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let parent = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let directory = Directory::create(parent.join(format!("hardpan-bench-{}", std::process::id())))?;
    if matches!(machine::file_system(&directory.0).as_str(), "tmpfs" | "ramfs") {
        return Err(format!("{} is in memory; --dir names a directory on a disk", directory.0.display()));
    }
    let scale = if arguments.quick { Scale::QUICK } else { Scale::FULL };
    let scale = Scale { is_delayed: arguments.delayed, ..scale };
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 1 } else { 3 });
    println!("machine: {}", machine::describe(&directory.0));
    if arguments.log {
        let settle = Duration::from_secs(arguments.settle);
        return log_rows::run(&directory.0, &scale, rounds, settle, arguments.only.as_deref());
    }
    let mut engines = engines(arguments, &directory, &scale)?;
    let names = engines.iter().map(|engine| engine.name()).collect();
    let wanted =
        |work: &Work| arguments.only.as_ref().is_none_or(|text| work.name(&scale).contains(text.as_str()));
    let works: Vec<Work> = Work::ALL.into_iter().filter(wanted).collect();
    let mut table = Table::new(names, works.clone());
    for round in 0..rounds {
        for (row, work) in works.iter().enumerate() {
            for (column, engine) in engines.iter_mut().enumerate() {
                let busy = machine::settle(Duration::from_secs(arguments.settle));
                let Some(result) = engine.measure(*work, &scale) else { continue };
                let sample =
                    result.map_err(|why| format!("{}, {}: {why}", engine.name(), work.name(&scale)))?;
                let name = work.name(&scale);
                eprintln!("round {}: {name}: {}: {}", round + 1, engine.name(), table::show(&sample));
                table.note(row, column, round, sample, busy);
            }
        }
    }
    table.print(&scale);
    Ok(())
}

fn engines(
    arguments: &Arguments,
    directory: &Directory,
    scale: &Scale,
) -> Result<Vec<Box<dyn Engine>>, String> {
    let left_out = |name: &str| arguments.without.iter().any(|other| other.eq_ignore_ascii_case(name));
    let mut engines: Vec<Box<dyn Engine>> =
        vec![Box::new(device::Device::open(&directory.0, scale.durable)?)];
    match postgres::Postgres::installed().filter(|_| !left_out("PostgreSQL")) {
        Some(folder) => {
            println!("PostgreSQL: {}", postgres::Postgres::version(&folder));
            engines.push(Box::new(postgres::Postgres::start(&folder, &directory.0, "postgres", false)?));
        }
        None => println!("PostgreSQL: not installed (or left out); its column is missing"),
    }
    match mariadb::Mariadb::installed().filter(|_| !left_out("MariaDB")) {
        Some(program) => {
            println!("MariaDB: {}", mariadb::Mariadb::version(&program));
            engines.push(Box::new(mariadb::Mariadb::start(&program, &directory.0, "mariadb")?));
        }
        None => println!("MariaDB: not installed (or left out); its column is missing"),
    }
    match sqlite::Sqlite::installed(&directory.0).filter(|_| !left_out("SQLite")) {
        Some(sqlite) => engines.push(Box::new(sqlite)),
        None => println!("SQLite: not installed (or left out); its column is missing"),
    }
    engines.push(Box::new(hardpan::Hardpan::start(&directory.0, "hardpan", LOG_MB)?));
    Ok(engines)
}
