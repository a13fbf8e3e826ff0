//! `hardpan doctor`: asks a server's `sp_log_doctor` what limits commits, and prints its answer as text.
//!
//! Status: 0 no finding, 1 a warning or worse, 2 the server gave no answer (wrong arguments as well).

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use os::Os;
use tds::client::Token;
use types::Value;

use crate::remote::{Connection, ConnectionOptions, address_of, password_for};

/// Something is wrong with the log.
const STATUS_WRONG: u8 = 1;
/// There is no answer.
const STATUS_NO_ANSWER: u8 = 2;

/// Arguments of `hardpan doctor`, named as those of `hardpan sql`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Server as HOST or HOST,PORT.
    #[arg(short = 'S', value_name = "HOST,PORT", default_value = "127.0.0.1")]
    server: String,
    /// Login.
    #[arg(short = 'U', default_value = "sa")]
    user: String,
    /// Password; without it, and without HARDPAN_SA_PASSWORD, it is asked for at the terminal.
    #[arg(short = 'P', env = "HARDPAN_SA_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Database to look at; without it the login's own.
    #[arg(short = 'd', value_name = "DATABASE")]
    database: Option<String>,
    /// How long to look.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Trust the certificate of a server on another machine, whoever made it.
    #[arg(short = 'C')]
    trust_certificate: bool,
}

/// One line of the answer.
struct Finding {
    number: i32,
    severity: String,
    area: String,
    verdict: String,
    evidence: String,
    advice: String,
}

impl Finding {
    fn of_row(row: &[Value]) -> Option<Finding> {
        let [Value::Int(number), severity, area, verdict, evidence, advice] = row else { return None };
        Some(Finding {
            number: *number,
            severity: severity.as_text()?,
            area: area.as_text()?,
            verdict: verdict.as_text()?,
            evidence: evidence.as_text()?,
            advice: advice.as_text()?,
        })
    }

    fn is_complaint(&self) -> bool {
        !matches!(self.severity.as_str(), "ok" | "note")
    }
}

/// Runs the subcommand.
pub fn run(os: &Os, arguments: &Arguments) -> ExitCode {
    match ask(os, arguments) {
        Ok(findings) => {
            print(&findings, &mut std::io::stdout().lock());
            ExitCode::from(if findings.iter().any(Finding::is_complaint) { STATUS_WRONG } else { 0 })
        }
        Err(problem) => {
            eprintln!("hardpan doctor: {problem}");
            ExitCode::from(STATUS_NO_ANSWER)
        }
    }
}

fn ask(os: &Os, arguments: &Arguments) -> Result<Vec<Finding>, String> {
    let options = ConnectionOptions {
        address: address_of(&arguments.server)?,
        user: arguments.user.clone(),
        password: password_for(arguments.password.as_deref(), &arguments.user)?,
        database: arguments.database.clone().unwrap_or_default(),
        application: "hardpan doctor".into(),
        trust_certificate: arguments.trust_certificate,
    };
    let mut errors = Vec::new();
    let mut note_error = |token: &Token| {
        if let Token::Message { error, .. } = token
            && !error.is_information()
        {
            errors.push(error.message.clone());
        }
    };
    let connection = Connection::open(os, &options, &mut note_error);
    let mut connection = connection.map_err(|problem| told(&errors, problem))?;
    let mut findings = Vec::new();
    let mut is_understood = true;
    let text = format!("EXEC sp_log_doctor @seconds = {}", arguments.seconds);
    let outcome = connection.batch(&text, &|| 0, &mut |token| match token {
        Token::Row(row) => match Finding::of_row(row) {
            Some(finding) => findings.push(finding),
            None => is_understood = false,
        },
        Token::Message { error, .. } if !error.is_information() => errors.push(error.message.clone()),
        _ => {}
    });
    match outcome {
        Ok(()) if errors.is_empty() && is_understood && !findings.is_empty() => Ok(findings),
        Ok(()) => Err(told(&errors, "the server's answer is not that of sp_log_doctor".into())),
        Err(problem) => Err(told(&errors, problem)),
    }
}

/// The server's errors, or else the problem of this program.
fn told(errors: &[String], problem: String) -> String {
    if errors.is_empty() { problem } else { errors.join(" ") }
}

/// Prints the answer. A closed pipe is no error.
fn print(findings: &[Finding], out: &mut dyn Write) {
    let mut text = String::new();
    for finding in findings {
        let heading = match finding.number {
            0 => format!("What limits commits? [{}]", finding.severity),
            number => format!("{}: {} (rule {number})", finding.severity, finding.area),
        };
        text.push_str(&format!("{heading}\n    {}\n    ({})\n", finding.verdict, finding.evidence));
        if !finding.advice.is_empty() {
            text.push_str(&format!("    What to do: {}\n", finding.advice));
        }
        text.push('\n');
    }
    drop(out.write_all(text.trim_end().as_bytes()));
    drop(out.write_all(b"\n"));
}
