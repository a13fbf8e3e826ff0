//! `hardpan`: the command line; each subcommand is a module of its own. Without one it runs `serve`.

mod check;
mod doctor;
mod dump;
mod files;
mod remote;
mod serve;
mod sql;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A database server that speaks T-SQL over TDS, with an open-book transaction log.
#[derive(Parser)]
#[command(name = "hardpan", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve SQL Server clients (the default).
    Serve(serve::ServeArguments),
    /// Run T-SQL, on a server (-S) or on a data directory in this process.
    Sql(sql::Arguments),
    /// Ask a server what limits the commits of a database: a few sentences, and status 1 when something is wrong.
    Doctor(doctor::Arguments),
    /// Parse scripts without running them.
    Check(check::CheckArguments),
    /// Look into log files.
    #[command(subcommand)]
    Log(dump::LogCommand),
    /// Look into data files.
    #[command(subcommand)]
    Page(dump::PageCommand),
}

fn main() -> ExitCode {
    let os = os::Os::real();
    match Arguments::parse().command.unwrap_or_else(|| Command::Serve(serve::ServeArguments::default())) {
        Command::Serve(arguments) => serve::run(&os, &arguments),
        Command::Sql(arguments) => sql::run(&os, &arguments),
        Command::Doctor(arguments) => doctor::run(&os, &arguments),
        Command::Check(arguments) => check::run(&os, &arguments),
        Command::Log(command) => dump::log(&os, &command),
        Command::Page(command) => dump::page(&os, &command),
    }
}
