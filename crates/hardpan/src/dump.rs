//! `hardpan log dump` and `hardpan page dump`: closed or copied files as text, by the server's own decoders; damage is reported.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use log::{DumpOptions, dump_files};
use os::Os;

/// `hardpan log ...`
#[derive(Subcommand, Debug)]
pub enum LogCommand {
    /// Print a log; says where damage begins. Exit status 2 when there is any.
    Dump(LogDumpArguments),
}

/// Arguments of `hardpan log dump`.
#[derive(Args, Debug)]
pub struct LogDumpArguments {
    /// The closed or copied log file, or all files of the log, in any order.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// From this record on, as 00000025:000001a8:0003.
    #[arg(long, value_name = "LSN")]
    from: Option<String>,
    /// Each record, not only the blocks.
    #[arg(long)]
    records: bool,
}

/// `hardpan page ...`
#[derive(Subcommand, Debug)]
pub enum PageCommand {
    /// Print one page of a data file.
    Dump(PageDumpArguments),
}

/// Arguments of `hardpan page dump`.
#[derive(Args, Debug)]
pub struct PageDumpArguments {
    /// A closed or copied data file.
    file: PathBuf,
    /// Page number in the file, from 0.
    page: u32,
}

/// Status of a dump that found damage.
const EXIT_DAMAGED: u8 = 2;

/// Runs `hardpan log dump`.
pub fn log(os: &Os, command: &LogCommand) -> ExitCode {
    let LogCommand::Dump(arguments) = command;
    let from = match arguments.from.as_deref().map(str::parse::<log::Lsn>).transpose() {
        Ok(from) => from.unwrap_or(log::Lsn::NULL),
        Err(error) => return fail(&error.to_string()),
    };
    let options = DumpOptions { from, records: arguments.records };
    let files: Vec<&Path> = arguments.files.iter().map(PathBuf::as_path).collect();
    match dump_files(os, &files, &options, &mut |line| print(&format!("{line}\n"))) {
        Ok(summary) => match summary.damage {
            Some(damage) => {
                print(&format!("DAMAGED: {damage}\n"));
                ExitCode::from(EXIT_DAMAGED)
            }
            None => ExitCode::SUCCESS,
        },
        Err(error) => fail(&error.to_string()),
    }
}

/// Runs `hardpan page dump`.
pub fn page(os: &Os, command: &PageCommand) -> ExitCode {
    let PageCommand::Dump(arguments) = command;
    match pages::read_page_of_file(os, &arguments.file, arguments.page) {
        Ok((id, page)) => {
            let text = pages::dump_page(id, &page);
            print(&text);
            if text.contains("DAMAGED") { ExitCode::from(EXIT_DAMAGED) } else { ExitCode::SUCCESS }
        }
        Err(error) => fail(&error.to_string()),
    }
}

/// Prints; if the reader has closed the pipe, the process ends without an error.
pub(crate) fn print(text: &str) {
    if std::io::stdout().lock().write_all(text.as_bytes()).is_err() {
        std::process::exit(0);
    }
}

fn fail(problem: &str) -> ExitCode {
    eprintln!("hardpan: {problem}");
    ExitCode::FAILURE
}
