//! `cargo bench --bench tpcc`: the transactions of TPC-C compared with PostgreSQL, as stored procedures without hints, terminals without pauses.
//!
//! Both servers have the same rows and indexes; for each number of terminals they run alternately. The table shows new orders a minute, the
//! ratio of Hardpan's to PostgreSQL's, latencies of an order and deadlocks (a victim is repeated). Afterwards the specification's first
//! four consistency conditions are checked on both; a violation makes the run fail. No audited result: no pauses, no think times.
//!
//!     cargo bench --bench tpcc                            # 2 warehouses, 1 and 8 terminals, five minutes each
//!     cargo bench --bench tpcc -- --seconds 20            # for a look
//!     cargo bench --bench tpcc -- --delayed               # for what the processors do: the device sets no pace
//!     cargo bench --bench tpcc -- --versions              # Hardpan with READ_COMMITTED_SNAPSHOT

// A benchmark program is outside of the simulated world.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod procedures;
#[allow(dead_code, reason = "each bench uses its part")]
#[path = "../shared/mod.rs"]
mod shared;
mod tables;
mod terminal;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use shared::machine::Directory;
use shared::random::Random;
use shared::server::Server;
use shared::{dialect, machine, random, server};
use tables::Warehouses;
use terminal::{Tally, Terminal};

/// TPC-C's transactions beside PostgreSQL.
#[derive(Parser)]
struct Arguments {
    /// Warehouses
    #[arg(long, default_value_t = 2)]
    warehouses: u64,
    /// Numbers of terminals, one measurement each
    #[arg(long, value_delimiter = ',', default_value = "1,8")]
    terminals: Vec<u64>,
    /// Seconds of a measurement
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// Hardpan's database has READ_COMMITTED_SNAPSHOT ON
    #[arg(long)]
    versions: bool,
    /// Commits do not wait for the device, on neither server
    #[arg(long)]
    delayed: bool,
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

/// Statements that return a row for each violation of a condition (clause 3.3.2, conditions 1 to 4).
const CONDITIONS: [(&str, &str); 4] = [
    (
        "1: a warehouse's sum is that of its districts",
        "select w_id from warehouse join (select d_w_id, sum(d_ytd) as ytd from district group by d_w_id) as d \
         on d_w_id = w_id where w_ytd <> ytd",
    ),
    (
        "2: the next order of a district follows its last one, which is its last new one",
        "select d_w_id, d_id from district \
         join (select o_w_id, o_d_id, max(o_id) as newest from orders group by o_w_id, o_d_id) as o \
         on o_w_id = d_w_id and o_d_id = d_id \
         left join (select no_w_id, no_d_id, max(no_o_id) as newest_new from new_order group by no_w_id, no_d_id) \
         as n on no_w_id = d_w_id and no_d_id = d_id \
         where d_next_o_id - 1 <> newest or newest_new <> newest",
    ),
    (
        "3: the new orders of a district have no gap",
        "select no_w_id, no_d_id from new_order group by no_w_id, no_d_id \
         having max(no_o_id) - min(no_o_id) + 1 <> count(*)",
    ),
    (
        "4: a district has as many lines as its orders say",
        "select o_w_id, o_d_id from \
         (select o_w_id, o_d_id, sum(o_ol_cnt) as said from orders group by o_w_id, o_d_id) as o \
         join (select ol_w_id, ol_d_id, count(*) as there from order_line group by ol_w_id, ol_d_id) as l \
         on ol_w_id = o_w_id and ol_d_id = o_d_id where said <> there",
    ),
];

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("bench: a consistency condition does not hold: see above");
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
    let directory = Directory::create(parent.join(format!("hardpan-tpcc-{}", std::process::id())))?;
    println!("machine: {}", machine::describe(&directory.0));
    let limit = Duration::from_secs(120);
    let mut servers = [Server::hardpan(&directory.0, limit)?, Server::postgres(&directory.0, limit)?];
    for server in &mut servers {
        server.load(&Warehouses(arguments.warehouses))?;
        for text in procedures::texts(server.dialect()) {
            server.ask(text)?;
        }
    }
    if arguments.versions {
        servers[0].ask("alter database current set read_committed_snapshot on with rollback immediate")?;
    }
    if arguments.delayed {
        servers[0].ask("alter database current set delayed_durability = forced")?;
        servers[1].ask("alter system set synchronous_commit = off")?;
        servers[1].ask("select pg_reload_conf()")?;
    }
    println!(
        "\n| terminals | server | new orders a minute | ratio | all a minute | order p50, p95 (ms) | deadlocks | \
        medians of the calls (ms) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for &terminals in &arguments.terminals {
        let mut rates = Vec::new();
        for server in &mut servers {
            machine::settle(Duration::from_secs(arguments.settle));
            let (mut tally, minutes) = measure(server, terminals, arguments)?;
            let rate = tally.orders as f64 / minutes;
            rates.push(rate);
            let ratio = rates.get(1).map_or(String::new(), |other| format!("{:.2}", rates[0] / other));
            let medians = tally.medians_ms().into_iter().map(|(name, ms)| format!("{name} {ms:.2}"));
            let medians = medians.collect::<Vec<_>>().join(", ");
            println!(
                "| {terminals} | {} | {rate:.0} | {ratio} | {:.0} | {:.2}, {:.2} | {} | {medians} |",
                server.name(),
                tally.transactions as f64 / minutes,
                tally.order_ms_at(0.5),
                tally.order_ms_at(0.95),
                tally.deadlocks,
            );
        }
    }
    let mut hold = true;
    for server in &mut servers {
        for (name, text) in CONDITIONS {
            let broken = server.ask(text)?;
            if let Some(first) = broken.first() {
                hold = false;
                println!("{}: condition {name}: {} places, the first {first:?}", server.name(), broken.len());
            }
        }
    }
    if hold {
        println!("\nConsistency conditions 1 to 4 hold on both servers.");
    }
    Ok(hold)
}

/// Runs this many terminals at once; returns their results, and the minutes.
fn measure(server: &Server, terminals: u64, arguments: &Arguments) -> Result<(Tally, f64), String> {
    let mut all = Vec::new();
    for number in 0..terminals {
        all.push(Terminal {
            session: server.connect()?,
            dialect: server.dialect(),
            random: Random(4_711 + number * 7 + terminals),
            warehouses: arguments.warehouses,
            warehouse: number % arguments.warehouses + 1,
        });
    }
    let began = Instant::now();
    let until = began + Duration::from_secs(arguments.seconds);
    let tallies: Vec<Result<Tally, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            all.iter_mut().map(|terminal| scope.spawn(move || terminal.run(until))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a terminal does not panic")).collect()
    });
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let mut sum = Tally::default();
    for tally in tallies {
        sum.add(tally?);
    }
    Ok((sum, minutes))
}
