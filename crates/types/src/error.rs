//! [`SqlError`]: a message to the user with SQL Server's number, severity and state. Made from the catalogue in
//! [`crate::messages`], so that number, severity and text are defined once.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::messages;

/// An error (severity 11 and above) or an informational message (0..=10).
///
/// One word, since nearly every function returns a `Result` with it: the fields are boxed, so that results without an error stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError(Box<ErrorFields>);

/// The fields of [`SqlError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFields {
    /// SQL Server's message number; 50000 for RAISERROR with a text.
    pub number: i32,
    /// Severity class, 0..=25.
    pub severity: u8,
    /// State: distinguishes the places that raise one number.
    pub state: u8,
    /// Line in the batch or procedure, from 1; 0 while not known.
    pub line: u32,
    /// The procedure in which it was raised.
    pub procedure: Option<String>,
    /// The text, arguments filled in.
    pub message: String,
    /// Errors reported before it, in this order: "could not create the constraint" comes after the reason. Only the last one is
    /// caught and stays in `@@ERROR`, as in SQL Server.
    pub earlier: Vec<SqlError>,
    /// The recipient.
    pub kind: ErrorKind,
}

/// The recipient of an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user.
    #[default]
    Reported,
    /// The caller that runs a plan: the plan was made for a definition that another session has changed. It binds again; no client is told.
    StalePlan,
}

impl SqlError {
    /// The catalogue's error `number` with its arguments in the catalogue's order, and the severity and state that it is raised with. A number
    /// that the catalogue lacks is a bug of ours and gives a message that says so.
    pub fn new(number: i32, args: &[&dyn fmt::Display]) -> SqlError {
        match messages::lookup(number) {
            Some(entry) => {
                let severity = messages::raised::severity(number).unwrap_or(entry.severity);
                let state = messages::raised::state(number);
                SqlError::custom(number, severity, state, messages::fill(entry.text, args))
            }
            None => {
                SqlError::custom(number, 16, 1, format!("Error {number} (text missing in the catalogue)."))
            }
        }
    }

    /// A message with its own text: RAISERROR, THROW, PRINT.
    pub fn custom(number: i32, severity: u8, state: u8, message: String) -> SqlError {
        let (line, procedure, earlier, kind) = (0, None, Vec::new(), ErrorKind::Reported);
        SqlError(Box::new(ErrorFields { number, severity, state, line, procedure, message, earlier, kind }))
    }

    /// A plan is stale: see [`ErrorKind::StalePlan`].
    pub fn stale_plan() -> SqlError {
        let mut error = SqlError::custom(
            0,
            16,
            1,
            "The object has changed since the statement was compiled.".to_string(),
        );
        error.kind = ErrorKind::StalePlan;
        error
    }

    /// Is the plan to be made again?
    #[inline]
    pub fn is_stale_plan(&self) -> bool {
        self.kind == ErrorKind::StalePlan
    }

    /// The same error with another state.
    pub fn with_state(mut self, state: u8) -> SqlError {
        self.state = state;
        self
    }

    /// The same error at a line, unless it already has one.
    pub fn at_line(mut self, line: u32) -> SqlError {
        if self.line == 0 {
            self.line = line;
        }
        self.earlier.iter_mut().filter(|earlier| earlier.line == 0).for_each(|earlier| earlier.line = line);
        self
    }

    /// The same error, reported after another one and its predecessors.
    pub fn after(mut self, mut cause: SqlError) -> SqlError {
        self.earlier.append(&mut cause.earlier);
        self.earlier.push(cause);
        self
    }

    /// The same error, reported after all these.
    pub fn after_all(mut self, causes: Vec<SqlError>) -> SqlError {
        self.earlier = causes;
        self
    }

    /// The same error, raised in a procedure, unless it already has one.
    pub fn in_procedure(mut self, procedure: Option<&str>) -> SqlError {
        for error in &mut self.earlier {
            error.procedure = error.procedure.take().or_else(|| procedure.map(str::to_string));
        }
        self.procedure = self.procedure.take().or_else(|| procedure.map(str::to_string));
        self
    }

    /// All reported errors, in order; this one last.
    pub fn told(&self) -> impl Iterator<Item = &SqlError> {
        self.earlier.iter().chain(std::iter::once(self))
    }

    /// The first reported error: the cause.
    pub fn first(&self) -> &SqlError {
        self.earlier.first().unwrap_or(self)
    }

    /// Is it only information (severity 10 or less)?
    pub fn is_information(&self) -> bool {
        self.severity <= 10
    }
}

impl Deref for SqlError {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.0
    }
}

impl DerefMut for SqlError {
    fn deref_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: {}",
            self.number, self.severity, self.state, self.line, self.message
        )
    }
}

impl std::error::Error for SqlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<SqlError>(), size_of::<usize>());
        assert_eq!(size_of::<Result<(), SqlError>>(), size_of::<usize>());
    }
}
