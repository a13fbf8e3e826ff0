//! The prompt: `1>`, `2>`; GO runs a batch; history and line editing on a terminal, plain lines from a pipe.

use std::cell::RefCell;
use std::io::{BufRead, IsTerminal};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Editor, Helper};

use super::interrupts::{Activity, STATUS_INTERRUPTED};
use super::runner::{Next, Runner};

/// The name of standard input in messages.
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

/// Keeps the content of the line, which the editor does not return for an interrupted line.
#[derive(Default)]
struct Typed(RefCell<String>);

impl Hinter for Typed {
    type Hint = String;

    fn hint(&self, line: &str, _position: usize, _context: &rustyline::Context<'_>) -> Option<String> {
        line.clone_into(&mut self.0.borrow_mut());
        None
    }
}

impl Completer for Typed {
    type Candidate = String;
}

impl Highlighter for Typed {}
impl Validator for Typed {}
impl Helper for Typed {}

fn interactive(runner: &mut Runner) -> Result<(), String> {
    let mut editor: Editor<Typed, DefaultHistory> = Editor::new().map_err(|error| error.to_string())?;
    editor.set_helper(Some(Typed::default()));
    runner.interrupts.take_again()?;
    runner.is_interactive = true;
    let mut is_leaving = false;
    loop {
        let prompt = format!("{}> ", runner.waiting().lines().count() + 1);
        let is_fresh = runner.waiting().is_empty();
        editor.helper().into_iter().for_each(|typed| typed.0.borrow_mut().clear());
        let mut line = match editor.readline(&prompt) {
            Ok(line) => line,
            // It drops the typed text, if there is any; the second one in a row ends the client.
            Err(ReadlineError::Interrupted) => {
                let is_empty = editor.helper().is_none_or(|typed| typed.0.borrow().is_empty());
                if is_leaving && is_fresh && is_empty {
                    runner.status = STATUS_INTERRUPTED;
                    return Ok(());
                }
                is_leaving = true;
                runner.reset();
                println!("(Ctrl-C again, or EXIT, leaves)");
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        if !line.trim().is_empty() {
            // A history that cannot be saved is no reason to stop.
            drop(editor.add_history_entry(line.as_str()));
        }
        line.push('\n');
        let interrupts_before = runner.interrupts.count();
        // Pasted text arrives as one text of several lines.
        for line in line.split_inclusive('\n') {
            match runner.line("the prompt", line) {
                Ok(Next::Line) => {}
                Ok(Next::Stop) => return Ok(()),
                Err(problem) => println!("{problem}"),
            }
        }
        // A Ctrl-C that has cancelled a batch counts as the first.
        is_leaving = runner.interrupts.count() > interrupts_before;
    }
}
