//! `cargo xtask`: the project's chores as one program.
#![allow(clippy::disallowed_methods, reason = "a chore of the build, not part of the product")]

mod mutants;
mod sim;
mod tidy;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Hardpan's chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check the rules of the house: layers, bans, headings, sizes, flush call sites, assertions, claims and their tests.
    Tidy {
        /// Print the dependency path between two crates instead of checking.
        #[arg(long, num_args = 2, value_names = ["FROM", "TO"])]
        explain: Option<Vec<String>>,
        /// Rewrite the list of tolerated long functions; it may only shrink.
        #[arg(long)]
        update_ratchet: bool,
    },
    /// Plant known bugs, one at a time, and say which ring of tests finds each (two hours; `--simulation-alone`: a third of that).
    Mutants {
        /// Seeds of each scenario.
        #[arg(long, default_value_t = 300)]
        seeds: u64,
        /// Only bugs whose name contains this; may be given several times.
        #[arg(long)]
        only: Vec<String>,
        /// A sample: one bug of so many.
        #[arg(long, default_value_t = 1)]
        every: usize,
        /// Do not ask the crates' tests.
        #[arg(long, conflicts_with = "tests_alone")]
        simulation_alone: bool,
        /// Do not ask the simulation.
        #[arg(long)]
        tests_alone: bool,
    },
    /// Run seeds of the simulation: workloads, crashes, recoveries, oracles (`--help` for its arguments).
    #[command(disable_help_flag = true)]
    Sim {
        /// Handed on: --seeds N, --seed S, --scenario NAME, --plant BUG, --twice, --minutes M.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> std::process::ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Tidy { explain: Some(pair), .. } => tidy::layers::explain(&pair[0], &pair[1]),
        Chore::Tidy { update_ratchet, .. } => tidy::run(update_ratchet),
        Chore::Mutants { seeds, only, every, simulation_alone, tests_alone } => {
            let (asks_simulation, asks_tests) = (!tests_alone, !simulation_alone);
            mutants::run(&mutants::Choice { seeds, only, every, asks_simulation, asks_tests })
        }
        Chore::Sim { arguments } => sim::run(&arguments),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            std::process::ExitCode::FAILURE
        }
    }
}
