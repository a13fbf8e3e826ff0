//! `hardpan sql`: runs T-SQL in the manner of sqlcmd, over the wire (`-S`) or in this process on a data directory.

mod arguments;
mod backend;
mod directives;
mod interrupts;
mod local;
mod printer;
mod prompt;
mod remote;
mod runner;
mod variables;

use std::process::ExitCode;

use os::Os;

pub use arguments::Arguments;

use backend::Backend;
use interrupts::Interrupts;
use runner::{Next, Runner};

/// Runs the subcommand.
pub fn run(os: &Os, arguments: &Arguments) -> ExitCode {
    match run_inner(os, arguments) {
        Ok(status) => ExitCode::from(status),
        Err(problem) => {
            eprintln!("hardpan sql: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run_inner(os: &Os, arguments: &Arguments) -> Result<u8, String> {
    let interrupts = Interrupts::install(os)?;
    let backend: Box<dyn Backend> = match &arguments.server {
        Some(server) => Box::new(remote::Remote::connect(os, server, arguments)?),
        None => Box::new(local::Local::open(os, arguments)?),
    };
    let mut runner = Runner::new(os, backend, arguments, interrupts)?;
    let outcome = run_all(&mut runner);
    runner.backend.close();
    outcome.map(|()| runner.status)
}

/// Runs the scripts of the arguments, else standard input.
fn run_all(runner: &mut Runner) -> Result<(), String> {
    if let Some(query) = runner.arguments.query.clone() {
        runner.script("-Q", &query);
        return Ok(());
    }
    let files = runner.arguments.input.clone();
    if files.is_empty() {
        return prompt::run(runner);
    }
    for file in &files {
        if runner.file(file)? == Next::Stop {
            break;
        }
    }
    Ok(())
}
