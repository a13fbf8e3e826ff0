//! `hardpan sql`: runs T-SQL in the manner of sqlcmd, over the wire (`-S`) or in this process on a data directory.

mod directives;
mod interrupts;
mod local;
mod printer;
mod prompt;
mod remote;
mod runner;
mod variables;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use os::Os;

use interrupts::Interrupts;
use printer::{Layout, Printer};
use runner::{Next, Runner};

/// Arguments of `hardpan sql`, named as sqlcmd names them.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Server as HOST or HOST,PORT; without it the data directory is opened in this process.
    #[arg(short = 'S', value_name = "HOST,PORT")]
    server: Option<String>,
    /// Login.
    #[arg(short = 'U', default_value = "sa")]
    user: String,
    /// Password.
    #[arg(short = 'P', env = "HARDPAN_SA_PASSWORD", hide_env_values = true, default_value = "")]
    password: String,
    /// Database to start in.
    #[arg(short = 'd', value_name = "DATABASE")]
    database: Option<String>,
    /// Script to run; may be given more than once.
    #[arg(short = 'i', value_name = "FILE")]
    input: Vec<PathBuf>,
    /// Text to run, then exit.
    #[arg(short = 'Q', value_name = "TEXT", conflicts_with = "input")]
    query: Option<String>,
    /// Stop at the first error of severity above 10 and exit with status 1.
    #[arg(short = 'b')]
    stop_on_error: bool,
    /// Scripting variable.
    #[arg(short = 'v', value_name = "NAME=VALUE")]
    variable: Vec<String>,
    /// Between columns.
    #[arg(short = 's', value_name = "SEPARATOR", default_value = " ")]
    separator: String,
    /// No padding of columns.
    #[arg(short = 'W')]
    trim: bool,
    /// Rows between two headers; 0: one header only, -1: none.
    #[arg(short = 'h', value_name = "ROWS", allow_hyphen_values = true, default_value_t = 0, value_parser = clap::value_parser!(i64).range(-1..))]
    headers: i64,
    /// Trust the certificate of a server on another machine, whoever made it. Without -C such a server is refused, since certificates are not
    /// checked; on the loopback address -C changes nothing.
    #[arg(short = 'C')]
    trust_certificate: bool,
    /// Data directory to open without -S.
    #[arg(long, value_name = "DIR", default_value = "hardpan-data")]
    data: PathBuf,
    /// Folder for a drive letter of scripts' paths, without -S.
    #[arg(long, value_name = "LETTER=DIR")]
    drive: Vec<String>,
    /// Folder in which database files may lie besides, without -S.
    #[arg(long, value_name = "DIR")]
    allow_path: Vec<PathBuf>,
    /// Folder of the log caches that a server has left which died, or OFF (with --data)
    #[arg(long, value_name = "DIR|OFF", default_value = engine::LOG_CACHE_FOLDER)]
    log_cache: PathBuf,
    /// For tests: operators keep no more rows in memory than this, the others go to disk (with --data)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "server")]
    rows_in_memory_test: Option<u32>,
}

/// Where batches are run.
trait Backend {
    /// Runs one batch and prints what comes. `interrupts` counts how often Ctrl-C has come: once more cancels the batch.
    fn batch(&mut self, text: &str, printer: &mut Printer, interrupts: &dyn Fn() -> u32) -> BatchEnd;
    /// The server's name in messages.
    fn server_name(&self) -> String;
    /// Ends the conversation.
    fn close(self: Box<Self>);
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchEnd {
    /// The next one may follow.
    Next,
    /// The connection is gone.
    Closed,
}

impl Arguments {
    /// How results look.
    fn layout(&self) -> Layout {
        Layout { separator: self.separator.clone(), trim: self.trim, rows_per_header: self.headers }
    }
}

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

/// Runs what the arguments name, else what standard input brings.
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
