//! The prompt: `1>`, `2>`, a batch runs at GO; history and line editing on a terminal, plain lines from a pipe.

use std::io::{BufRead, IsTerminal};

use super::Runner;

/// Reads batches from standard input until EXIT, QUIT or its end.
pub(super) fn run(runner: &mut Runner) -> Result<(), String> {
    if std::io::stdin().is_terminal() { interactive(runner) } else { piped(runner) }
}

fn piped(runner: &mut Runner) -> Result<(), String> {
    let mut script = String::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| format!("standard input: {error}"))?;
        if is_exit(&line) {
            break;
        }
        script.push_str(&line);
        script.push('\n');
    }
    runner.script(&script);
    Ok(())
}

fn interactive(runner: &mut Runner) -> Result<(), String> {
    let mut editor = rustyline::DefaultEditor::new().map_err(|error| error.to_string())?;
    let mut batch = String::new();
    loop {
        let prompt = format!("{}> ", batch.lines().count() + 1);
        let line = match editor.readline(&prompt) {
            Ok(line) => line,
            Err(rustyline::error::ReadlineError::Interrupted) => {
                batch.clear();
                continue;
            }
            Err(rustyline::error::ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        if is_exit(&line) {
            return Ok(());
        }
        if !line.trim().is_empty() {
            // A history that cannot be kept is no reason to stop.
            drop(editor.add_history_entry(line.as_str()));
        }
        if line.trim().eq_ignore_ascii_case("reset") {
            batch.clear();
            continue;
        }
        batch.push_str(&line);
        batch.push('\n');
        if ends_with_go(&batch) {
            let script = std::mem::take(&mut batch);
            if !runner.script(&script) {
                return Ok(());
            }
        }
    }
}

fn is_exit(line: &str) -> bool {
    let word = line.trim().trim_end_matches(';');
    word.eq_ignore_ascii_case("exit") || word.eq_ignore_ascii_case("quit")
}

/// Is the last line a separator, outside of strings and comments? A text that GO does not end keeps its last line.
fn ends_with_go(batch: &str) -> bool {
    let last = batch.lines().last().unwrap_or("").trim();
    let looks_like_go = last.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("go"));
    looks_like_go
        && tsql::split_go(batch)
            .last()
            .is_none_or(|b| !b.text.trim_end().to_lowercase().ends_with(&last.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_ends_a_batch_but_not_inside_a_string() {
        assert!(ends_with_go("select 1\ngo\n"));
        assert!(ends_with_go("select 1\nGO 5\n"));
        assert!(!ends_with_go("select 'a\ngo\n"));
        assert!(!ends_with_go("select 1\n"));
    }

    #[test]
    fn exit_words() {
        assert!(is_exit(" QUIT "));
        assert!(is_exit("exit;"));
        assert!(!is_exit("select exit"));
    }
}
