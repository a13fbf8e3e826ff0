//! `cargo xtask sim ...`: builds the simulation in release mode and passes the arguments on to it.

use std::process::Command;

/// Runs the simulation's own program (crates/sim/examples/sim.rs: an example, so that plain `cargo run` has one program to start) with `arguments`.
///
/// # Errors
/// A text when it could not be started or found a failure.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command
        .args(["run", "--release", "--quiet", "--package", "hardpan-sim", "--example", "sim", "--"])
        .args(arguments)
        // Every world starts threads of its own; with one arena per thread the C library would use many times the memory.
        .env("MALLOC_ARENA_MAX", "1");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("sim: failed".to_owned()),
        Err(error) => Err(format!("sim: cannot start cargo: {error}")),
    }
}
