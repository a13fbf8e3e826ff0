//! `cargo xtask`: the project's maintenance tasks as one program.
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
    /// Plant known bugs, one at a time, and say which ring of tests finds each (two hours; `--simulation-alone`: half an hour).
    Mutants(mutants::Choice),
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
        Chore::Mutants(choice) => mutants::run(&choice),
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
