//! The prompt: `1>`, `2>`, a batch runs at GO; history and line editing on a terminal, plain lines from a pipe.

use std::io::{BufRead, IsTerminal};

use super::interrupts::{Activity, STATUS_INTERRUPTED};
use super::runner::{Next, Runner};

/// What lines from standard input are called in messages.
const STANDARD_INPUT: &str = "standard input";

/// Reads lines from standard input until EXIT, QUIT or its end.
pub(super) fn run(runner: &mut Runner) -> Result<(), String> {
    if std::io::stdin().is_terminal() { interactive(runner) } else { piped(runner) }
}

fn piped(runner: &mut Runner) -> Result<(), String> {
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    for number in 1.. {
        line.clear();
        let read = runner.interrupts.during(Activity::Reading, || input.read_line(&mut line));
        if read.map_err(|error| format!("{STANDARD_INPUT}: {error}"))? == 0 {
            break;
        }
        let text = if number == 1 { line.trim_start_matches('\u{FEFF}') } else { &line };
        if runner.line_of(STANDARD_INPUT, number, text) == Next::Stop {
            return Ok(());
        }
    }
    runner.finish(STANDARD_INPUT);
    Ok(())
}

fn interactive(runner: &mut Runner) -> Result<(), String> {
    let mut editor = rustyline::DefaultEditor::new().map_err(|error| error.to_string())?;
    runner.interrupts.take_again()?;
    runner.is_interactive = true;
    let mut is_leaving = false;
    loop {
        let prompt = format!("{}> ", runner.waiting().lines().count() + 1);
        let mut line = match editor.readline(&prompt) {
            Ok(line) => line,
            // The first one drops what has been typed, the second one in a row leaves.
            Err(rustyline::error::ReadlineError::Interrupted) if is_leaving => {
                runner.status = STATUS_INTERRUPTED;
                return Ok(());
            }
            Err(rustyline::error::ReadlineError::Interrupted) => {
                is_leaving = true;
                runner.reset();
                println!("(Ctrl-C again, or EXIT, leaves)");
                continue;
            }
            Err(rustyline::error::ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        is_leaving = false;
        if !line.trim().is_empty() {
            // A history that cannot be kept is no reason to stop.
            drop(editor.add_history_entry(line.as_str()));
        }
        line.push('\n');
        // What is pasted comes as one text of several lines.
        for line in line.split_inclusive('\n') {
            match runner.line("the prompt", line) {
                Ok(Next::Line) => {}
                Ok(Next::Stop) => return Ok(()),
                Err(problem) => println!("{problem}"),
            }
        }
    }
}
