//! `hardpan serve`: opens the data directory, listens, prints how to connect, stops on SIGTERM or SIGINT.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use engine::{Instance, InstanceOptions};
use os::{Os, TerminationWatcher};
use server::seam::SessionSource;
use server::{CONNECTIONS_MAX, Config, Server, Sockets};
use session::SessionShared;

use crate::files::absolute;

const DATA_DIR: &str = "./hardpan-data";
const LISTEN: &str = "127.0.0.1:1433";
const PASSWORD_VARIABLE: &str = "HARDPAN_SA_PASSWORD";
/// The value of --admin-listen for no such port.
const OFF: &str = "OFF";
/// The least and the greatest memory for pages, in MB.
const MEMORY_MB_MIN: u64 = 16;
const MEMORY_MB_MAX: u64 = 16 << 20;
/// Descriptors reserved for files and other uses of a server, beside connections; at most half of all.
const DESCRIPTORS_KEPT: u64 = 1_024;
/// The least memory of all requests together, in bytes.
const REQUESTS_BYTES_MIN: u64 = 64 << 20;
/// Exit codes: stopped at once by a second signal; a broken invariant.
const EXIT_AT_ONCE: i32 = 130;
const EXIT_BROKEN: i32 = 70;
/// Crates whose assertions protect durable data.
const STORAGE_CRATES: [&str; 6] = ["os", "log", "pages", "txn", "access", "engine"];

/// Form of the server's log lines on standard error.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Flags of `hardpan serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArguments {
    /// Data directory; made at first start
    #[arg(long, value_name = "DIR", default_value = DATA_DIR)]
    data: PathBuf,
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = LISTEN, value_parser = parse_address)]
    listen: String,
    /// Address and port of the dedicated administrator connection (hardpan sql -S admin:HOST,PORT), or OFF; without it the port after
    /// --listen's on 127.0.0.1, or another one when that is taken
    #[arg(long, value_name = "ADDR:PORT|OFF", value_parser = parse_address_or_off)]
    admin_listen: Option<String>,
    /// File with the password for sa (else HARDPAN_SA_PASSWORD, else one is generated at first start)
    #[arg(long, value_name = "FILE")]
    sa_password_file: Option<PathBuf>,
    /// Folder for a drive letter in scripts' paths, as in D=/srv/sql (repeatable)
    #[arg(long, value_name = "LETTER=DIR", value_parser = parse_drive)]
    drive: Vec<(char, PathBuf)>,
    /// Folder in which database files may lie besides the data directory and the drives (repeatable)
    #[arg(long, value_name = "DIR")]
    allow_path: Vec<PathBuf>,
    /// Folder in a file system of memory for log caches that outlive the process, or OFF
    #[arg(long, value_name = "DIR|OFF", default_value = engine::LOG_CACHE_FOLDER)]
    log_cache: PathBuf,
    /// For tests: persisted log buffers may lie in a file system of memory, where a loss of power takes them
    #[arg(long)]
    persistent_memory_test: bool,
    /// Most connections that are logged in at once
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS_MAX, value_parser = parse_connections)]
    max_connections: usize,
    /// Take logins without encryption from other machines, too
    #[arg(long)]
    allow_plaintext_login: bool,
    /// Certificate chain (PEM) instead of the self-signed one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key (PEM) of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Memory for pages, in MB; requests may use as much again (at least 64)
    #[arg(long, value_name = "MB", default_value_t = 256, value_parser = parse_memory)]
    memory: u64,
    /// Trace flag at start, as in -T272: identity values are noted one by one (repeatable)
    #[arg(short = 'T', value_name = "FLAG")]
    trace_flag: Vec<i32>,
    /// Form of log lines on standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

impl Default for ServeArguments {
    fn default() -> Self {
        ServeArguments {
            data: DATA_DIR.into(),
            listen: LISTEN.into(),
            admin_listen: None,
            sa_password_file: None,
            drive: Vec::new(),
            allow_path: Vec::new(),
            log_cache: engine::LOG_CACHE_FOLDER.into(),
            persistent_memory_test: false,
            max_connections: CONNECTIONS_MAX,
            allow_plaintext_login: false,
            tls_cert: None,
            tls_key: None,
            memory: 256,
            trace_flag: Vec::new(),
            log_format: LogFormat::Text,
        }
    }
}

fn parse_drive(text: &str) -> Result<(char, PathBuf), String> {
    match text.split_once('=') {
        Some((letter, folder))
            if letter.len() == 1 && letter.as_bytes()[0].is_ascii_alphabetic() && !folder.is_empty() =>
        {
            Ok((letter.as_bytes()[0].to_ascii_uppercase().into(), folder.into()))
        }
        _ => Err("expected a drive letter and a folder, as in D=/srv/sql".into()),
    }
}

fn parse_address(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.into()),
        _ => Err("expected an address and a port, as in 127.0.0.1:1433, or 0.0.0.0:1433 for all addresses of this machine".into()),
    }
}

fn parse_address_or_off(text: &str) -> Result<String, String> {
    if text.eq_ignore_ascii_case(OFF) { Ok(OFF.into()) } else { parse_address(text) }
}

fn parse_memory(text: &str) -> Result<u64, String> {
    let within = text.parse().ok().filter(|mb| (MEMORY_MB_MIN..=MEMORY_MB_MAX).contains(mb));
    within.ok_or_else(|| {
        format!("expected a number of MB, at least {MEMORY_MB_MIN} and at most {MEMORY_MB_MAX}")
    })
}

fn parse_connections(text: &str) -> Result<usize, String> {
    let within = text.parse().ok().filter(|count| (1..=CONNECTIONS_MAX).contains(count));
    within.ok_or_else(|| format!("expected a number from 1 to {CONNECTIONS_MAX}"))
}

/// Serves until it is told to stop.
pub fn run(os: &Os, arguments: &ServeArguments) -> ExitCode {
    os::report::set_format(match arguments.log_format {
        LogFormat::Text => os::report::Format::Text,
        LogFormat::Json => os::report::Format::Json,
    });
    os::memory::keep_little();
    crash_on_broken_storage();
    match serve(os, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("hardpan: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Logs panics. A panic in a storage crate means that an invariant of the data on disk is broken: the process must not
/// continue, so it ends and recovery repairs the data. A panic elsewhere ends its connection.
fn crash_on_broken_storage() {
    std::panic::set_hook(Box::new(|panic| {
        let place =
            panic.location().map(|place| format!("{}:{}", place.file(), place.line())).unwrap_or_default();
        let text = panic.payload_as_str().unwrap_or("without a message");
        let trace = std::backtrace::Backtrace::capture();
        os::report::error("Server", &format!("panic at {place}: {text}\n{trace}"));
        // A database that is being recovered becomes suspect; nothing of it is written.
        if os::is_panic_contained() {
            return;
        }
        if STORAGE_CRATES.iter().any(|name| place.contains(&format!("crates/{name}/"))) {
            os::process::exit(EXIT_BROKEN);
        }
    }));
}

/// Turns on the trace flags of -T.
fn start_trace_flags(instance: &Arc<Instance>, flags: &[i32]) -> Result<(), String> {
    for flag in flags {
        let done = match flag {
            272 => instance.set_identity_uncached(true).map_err(|error| error.to_string()),
            other => Err(format!("trace flag {other} is not known here")),
        };
        if let Err(why) = done {
            instance.shutdown();
            return Err(why);
        }
    }
    Ok(())
}

fn serve(os: &Os, arguments: &ServeArguments) -> Result<(), String> {
    let watcher = TerminationWatcher::install().map_err(|error| error.to_string())?;
    let password = given_password(os, arguments)?;
    let config = configuration(arguments);
    // Before the data directory and a password are created: a failed start on an occupied port leaves nothing behind.
    let may_move = arguments.admin_listen.is_none();
    let sockets = Sockets::bind(os, &config, may_move).map_err(|error| error.to_string())?;
    let mut options = InstanceOptions::new(absolute(&arguments.data));
    options.buffer_pool_bytes = arguments.memory << 20;
    options.drives = arguments.drive.iter().map(|(letter, folder)| (*letter, absolute(folder))).collect();
    options.allowed_paths = arguments.allow_path.iter().map(|folder| absolute(folder)).collect();
    options.log_cache_folder = crate::files::log_cache_folder(&arguments.log_cache);
    if arguments.persistent_memory_test {
        options.persistent_volume = os::PersistentVolume::Test;
        os::report::warn(
            "serve",
            "--persistent-memory-test: a persisted log buffer may lie in a file system of memory; a loss of power takes what is in it",
        );
    }
    options.answers_while_opening = true;
    let instance = Instance::open(os, &options).map_err(|error| error.to_string())?;
    start_trace_flags(&instance, &arguments.trace_flag)?;
    limit_memory(options.buffer_pool_bytes);
    instance.budget_requests();
    let sessions =
        SessionShared::new(instance.clone(), &config.server_name, os.clock().utc_100ns().max(0) as u64);
    let source: Box<dyn SessionSource> = Box::new(sessions);
    let started =
        Server::start(os, config, sockets, password.as_ref().map(|given| given.text.as_str()), source);
    let server = started.map_err(|error| {
        instance.shutdown();
        error.to_string()
    })?;
    print_greeting(arguments, &server, password.as_ref());
    // Frees buffers of a megabyte for new files, and the log that recovery has read.
    os::memory::give_back_all();

    watcher.wait(0, None);
    os::report::info("Server", "stopping; a second signal stops at once");
    os.spawn("SECOND SIGNAL", move || {
        watcher.wait(1, None);
        os::process::exit(EXIT_AT_ONCE);
    });
    server.stop();
    instance.shutdown();
    os::report::info("Server", "stopped");
    Ok(())
}

fn configuration(arguments: &ServeArguments) -> Config {
    let mut config = Config::new(arguments.data.clone());
    config.listen = arguments.listen.clone();
    config.listen_for_administrators = match &arguments.admin_listen {
        Some(address) => Some(address.clone()).filter(|address| address != OFF),
        None => Some(format!("127.0.0.1:{}", port_after(&arguments.listen))),
    };
    let descriptors = os::process::raise_open_file_limit();
    let room = usize::try_from(descriptors - DESCRIPTORS_KEPT.min(descriptors / 2)).unwrap_or(usize::MAX);
    config.connections_max = arguments.max_connections.min(room);
    config.half_open_max = config.half_open_max.min(room / 4).max(1);
    config.half_open_of_address_max = config.half_open_of_address_max.min(config.half_open_max / 2).max(1);
    // The default is the most possible, so a lower limit is no reason for a message.
    if config.connections_max < arguments.max_connections && arguments.max_connections < CONNECTIONS_MAX {
        os::report::warn(
            "Server",
            &format!(
                "at most {room} connections at once: the system lets this process open {descriptors} files (ulimit -n)"
            ),
        );
    }
    config.allow_plaintext_login = arguments.allow_plaintext_login;
    config.tls_pair = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
    config
}

/// The administrators' port: the next one; any when the user's port is any or the last.
fn port_after(listen: &str) -> u16 {
    let port = listen.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(0_u16);
    if port == 0 { 0 } else { port.checked_add(1).unwrap_or(0) }
}

/// All requests together may use as much memory as the pages, one of them three quarters of it. Cached plans and the descriptors of the
/// pages come on top. (Decision 0014.)
fn limit_memory(pool_bytes: u64) {
    let requests_bytes = pool_bytes.max(REQUESTS_BYTES_MIN);
    let beside_bytes = session::PROGRAM_CACHE_BYTES_MAX + pool_bytes / 32;
    os::memory::set_limits(requests_bytes + beside_bytes, requests_bytes / 4 * 3);
}

/// A password for sa, and its source.
struct GivenPassword {
    text: String,
    place: String,
}

/// The password for sa from the file or the environment.
fn given_password(os: &Os, arguments: &ServeArguments) -> Result<Option<GivenPassword>, String> {
    let place = match &arguments.sa_password_file {
        Some(path) => path.display().to_string(),
        None => PASSWORD_VARIABLE.into(),
    };
    let password = match &arguments.sa_password_file {
        Some(path) => {
            let bytes = os.disk().read_file(path).map_err(|error| error.to_string())?;
            let text = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))?;
            Some(text.trim_end_matches(['\r', '\n']).to_string())
        }
        None => os::process::environment(PASSWORD_VARIABLE),
    };
    if password.as_deref() == Some("") {
        return Err(format!("the password given for sa in {place} is empty"));
    }
    Ok(password.map(|text| GivenPassword { text, place }))
}

fn print_greeting(arguments: &ServeArguments, server: &Server, given: Option<&GivenPassword>) {
    let address = server.local_address();
    let (host, port) = host_and_port(&address);
    println!("Hardpan {}", env!("CARGO_PKG_VERSION"));
    println!("  listening on  {address}");
    if let Some(address) = server.administrator_address() {
        let (host, port) = host_and_port(&address);
        println!(
            "  administrator hardpan sql -S admin:{host},{port}   (one at a time, also when all else is taken)"
        );
    }
    println!("  data in       {}", absolute(&arguments.data).display());
    let shown = match (server.generated_password(), given) {
        (Some(password), _) => {
            println!("  login         sa, password {password}   (shown only now, kept only as a hash)");
            password
        }
        (None, Some(given)) => {
            println!("  login         sa, with the password in {}", given.place);
            "PASSWORD"
        }
        (None, None) => {
            println!("  login         sa, with the password given at an earlier start");
            "PASSWORD"
        }
    };
    println!("  connect with  sqlcmd -C -S {host},{port} -U sa -P {shown}");
}

/// The version as clients see it.
fn host_and_port(address: &str) -> (&str, &str) {
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "1433"));
    match host {
        "0.0.0.0" | "[::]" => ("127.0.0.1", port),
        other => (other.trim_matches(['[', ']']), port),
    }
}
