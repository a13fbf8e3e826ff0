//! The arguments of `hardpan sql`.

use std::path::PathBuf;

use clap::Args;

use super::printer::Layout;

/// Arguments of `hardpan sql`, named as sqlcmd names them.
#[derive(Args, Clone, Debug)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    pub(super) help: Option<bool>,
    /// Server as HOST or HOST,PORT, or admin:HOST,PORT for the dedicated administrator connection; without it the data directory is opened in this process.
    #[arg(short = 'S', value_name = "HOST,PORT")]
    pub(super) server: Option<String>,
    /// Login.
    #[arg(short = 'U', default_value = "sa")]
    pub(super) user: String,
    /// Password; with -S, without this and without HARDPAN_SA_PASSWORD it is asked for at the terminal.
    #[arg(short = 'P', env = "HARDPAN_SA_PASSWORD", hide_env_values = true)]
    pub(super) password: Option<String>,
    /// Database to start in.
    #[arg(short = 'd', value_name = "DATABASE")]
    pub(super) database: Option<String>,
    /// Script to run; may be given more than once.
    #[arg(short = 'i', value_name = "FILE")]
    pub(super) input: Vec<PathBuf>,
    /// Text to run, then exit.
    #[arg(short = 'Q', value_name = "TEXT", conflicts_with = "input")]
    pub(super) query: Option<String>,
    /// Stop at the first error of severity above 10 and exit with status 1.
    #[arg(short = 'b')]
    pub(super) stop_on_error: bool,
    /// Scripting variable.
    #[arg(short = 'v', value_name = "NAME=VALUE")]
    pub(super) variable: Vec<String>,
    /// Between columns.
    #[arg(short = 's', value_name = "SEPARATOR", default_value = " ")]
    pub(super) separator: String,
    /// No padding of columns.
    #[arg(short = 'W')]
    pub(super) trim: bool,
    /// Rows between two headers; 0: one header only, -1: none.
    #[arg(short = 'h', value_name = "ROWS", allow_hyphen_values = true, default_value_t = 0, value_parser = clap::value_parser!(i64).range(-1..))]
    pub(super) headers: i64,
    /// Trust the certificate of a server on another machine, whoever made it. Without -C such a server is refused, since certificates are not
    /// checked; on the loopback address -C changes nothing.
    #[arg(short = 'C')]
    pub(super) trust_certificate: bool,
    /// Data directory to open without -S.
    #[arg(long, value_name = "DIR", default_value = "hardpan-data")]
    pub(super) data: PathBuf,
    /// Folder for a drive letter of scripts' paths, without -S.
    #[arg(long, value_name = "LETTER=DIR")]
    pub(super) drive: Vec<String>,
    /// Folder in which database files may lie besides, without -S.
    #[arg(long, value_name = "DIR")]
    pub(super) allow_path: Vec<PathBuf>,
    /// Folder of the log caches that a server has left which died, or OFF (with --data)
    #[arg(long, value_name = "DIR|OFF", default_value = engine::LOG_CACHE_FOLDER)]
    pub(super) log_cache: PathBuf,
    /// For tests: operators keep no more rows in memory than this, the others go to disk (with --data)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "server")]
    pub(super) rows_in_memory_test: Option<u32>,
}

impl Arguments {
    /// How results look.
    pub(super) fn layout(&self) -> Layout {
        Layout { separator: self.separator.clone(), trim: self.trim, rows_per_header: self.headers }
    }
}
