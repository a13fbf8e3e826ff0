//! `hardpan sql`: runs T-SQL in the manner of sqlcmd, over the wire (`-S`) or in this process on a data directory.

mod local;
mod printer;
mod prompt;
mod remote;
mod variables;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use os::Os;

use printer::{Layout, Printer};
use variables::Variables;

/// Arguments of `hardpan sql`, named as sqlcmd names them.
#[derive(Args, Debug)]
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
    #[arg(short = 'Q', value_name = "TEXT")]
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
    /// -1: no headers.
    #[arg(short = 'h', value_name = "ROWS", allow_hyphen_values = true)]
    headers: Option<i32>,
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
}

/// Where batches are run.
trait Backend {
    /// Runs one batch and prints what comes.
    fn batch(&mut self, text: &str, printer: &mut Printer) -> BatchEnd;
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

/// A batch with how often to run it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Work {
    text: String,
    count: u64,
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
    let mut variables = Variables::default();
    for argument in &arguments.variable {
        variables.set_from_argument(argument)?;
    }
    let layout = Layout {
        separator: arguments.separator.clone(),
        trim: arguments.trim,
        headers: arguments.headers != Some(-1),
    };
    let mut scripts = Vec::new();
    for path in &arguments.input {
        scripts.push(crate::files::read_text(os, path)?);
    }
    scripts.extend(arguments.query.clone());
    let backend: Box<dyn Backend> = match &arguments.server {
        Some(server) => Box::new(remote::Remote::connect(os, server, arguments)?),
        None => Box::new(local::Local::open(os, arguments)?),
    };
    let mut runner = Runner {
        server: backend.server_name(),
        backend,
        layout,
        variables,
        stop_on_error: arguments.stop_on_error,
        status: 0,
    };
    if scripts.is_empty() {
        prompt::run(&mut runner)?;
    }
    for script in &scripts {
        if !runner.script(script) {
            break;
        }
    }
    let status = runner.status;
    runner.backend.close();
    Ok(status)
}

/// Runs scripts against a back end.
struct Runner {
    backend: Box<dyn Backend>,
    server: String,
    layout: Layout,
    variables: Variables,
    stop_on_error: bool,
    status: u8,
}

impl Runner {
    /// Runs a whole script; false when the rest must not be run.
    fn script(&mut self, script: &str) -> bool {
        let script = match self.directives(script) {
            Ok(script) => script,
            Err(problem) => {
                eprintln!("{problem}");
                self.status = 1;
                return false;
            }
        };
        tsql::split_go(&script)
            .into_iter()
            .all(|batch| self.work(&Work { text: batch.text, count: batch.count }))
    }

    /// Takes `:setvar` lines out and expands variables.
    fn directives(&mut self, script: &str) -> Result<String, String> {
        let mut kept = String::with_capacity(script.len());
        for line in script.split_inclusive('\n') {
            let mut words = line.split_whitespace();
            match words.next() {
                Some(word) if word.eq_ignore_ascii_case(":setvar") => {
                    let name = words.next().ok_or(":setvar wants a name")?;
                    let value = line.trim().splitn(3, char::is_whitespace).nth(2).map(str::trim);
                    match value {
                        Some(value) => self.variables.set(name, value.trim_matches('"')),
                        None => self.variables.unset(name),
                    }
                    kept.push('\n');
                }
                Some(word) if word.starts_with(':') && word.len() > 1 && !word.starts_with("::") => {
                    kept.push('\n')
                }
                _ => kept.push_str(&self.variables.expand(line)?),
            }
        }
        Ok(kept)
    }

    /// Runs one batch as often as asked; false when the rest must not be run.
    fn work(&mut self, work: &Work) -> bool {
        let stdout = std::io::stdout();
        let mut out = std::io::BufWriter::new(stdout.lock());
        if work.count > 1 {
            println_to(&mut out, "Beginning execution loop");
        }
        for _ in 0..work.count {
            let mut printer = Printer::new(&self.layout, &self.server, &mut out);
            let end = self.backend.batch(&work.text, &mut printer);
            let (failed, broken) = (printer.severity_max() > 10, printer.is_broken());
            if failed && self.stop_on_error {
                self.status = 1;
                flush(&mut out);
                return false;
            }
            if end == BatchEnd::Closed || broken {
                self.status = 1;
                flush(&mut out);
                return false;
            }
        }
        if work.count > 1 {
            println_to(&mut out, &format!("Batch execution completed {} times.", work.count));
        }
        flush(&mut out);
        true
    }
}

/// A closed pipe is the reader's business, not an error of ours.
fn println_to(out: &mut dyn Write, text: &str) {
    drop(writeln!(out, "{text}"));
}

fn flush(out: &mut dyn Write) {
    drop(out.flush());
}
