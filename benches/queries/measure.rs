//! One work on one server: its preparation and cleanup, its time and its answer.

use std::time::Instant;

use crate::answer::Rows;
use crate::server::Server;
use crate::shapes::Shape;

/// The result of a work.
pub enum Outcome {
    /// Its time (of one run of several) and the rows of the last.
    Answer { milliseconds: f64, rows: Rows },
    /// No result, and the reason.
    None(String),
}

/// Runs a work; an error of the statement itself is a result, one of its preparation or cleanup is an error.
pub fn measure(server: &mut Server, work: &Shape) -> Result<Outcome, String> {
    around(server, work, work.before, "before")?;
    let text = server.dialect().text(work.text);
    let mut outcome = None;
    // With many runs the first is not timed: it compiles the statement.
    if work.times > 1
        && let Err(why) = server.ask(&text)
    {
        return Ok(Outcome::None(first_line(&why)));
    }
    let began = Instant::now();
    for _ in 0..work.times {
        match server.ask(&text) {
            Ok(rows) => outcome = Some(rows),
            Err(why) => return Ok(Outcome::None(first_line(&why))),
        }
    }
    let milliseconds = began.elapsed().as_secs_f64() * 1e3 / f64::from(work.times);
    around(server, work, work.after, "after")?;
    let rows = outcome.ok_or("a work runs at least once")?;
    Ok(Outcome::Answer { milliseconds, rows })
}

fn around(server: &mut Server, work: &Shape, template: &str, when: &str) -> Result<(), String> {
    if template.is_empty() {
        return Ok(());
    }
    let text = server.dialect().text(template);
    let done = server.ask(&text);
    done.map_err(|why| format!("{}: {when} {}: {why}", server.name(), work.name)).map(|_| ())
}

fn first_line(why: &str) -> String {
    why.lines().next().unwrap_or_default().chars().take(160).collect()
}
