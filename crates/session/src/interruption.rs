//! How instructions and requests end: with the next step, with an error, or by an interruption.

use os::task;
use types::SqlError;

use crate::errors::Origin;

/// How a request ended, for the connection's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// All statements were run or an error ended the batch; everything has been sent to the sink.
    Finished,
    /// The client's attention (or KILL) stopped it.
    Attention,
    /// A fatal error: the connection must be closed.
    Close,
}

/// Why a frame ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// An error that a TRY block of an outer frame will catch; not yet reported.
    Raised(Box<Failure>),
    /// The batch has ended; everything has been reported.
    Batch,
    /// The connection must be closed; everything has been reported.
    Connection,
    /// The client sent an attention.
    Attention,
}

/// An error and where it came from.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: SqlError,
    pub(crate) origin: Origin,
}

/// How an instruction ends when it does not succeed.
#[derive(Debug)]
pub(crate) enum Interruption {
    Failed(Failure),
    Stopped(Stop),
}

impl Interruption {
    /// The plan has become stale: bind again.
    pub(crate) fn is_stale_plan(&self) -> bool {
        matches!(self, Interruption::Failed(failure) if failure.error.is_stale_plan())
    }
}

impl From<SqlError> for Interruption {
    fn from(error: SqlError) -> Self {
        Interruption::Failed(Failure { error, origin: Origin::Runtime })
    }
}

impl From<Stop> for Interruption {
    fn from(stop: Stop) -> Self {
        Interruption::Stopped(stop)
    }
}

/// What follows an instruction.
pub(crate) enum Next {
    Step,
    Jump(usize),
    /// The following instructions are compiled only, not run.
    CompileOnly,
    Return(i32),
}

/// A database could not be entered: with an error, or because the wait for it was interrupted.
pub(crate) fn refused_entry(error: SqlError) -> Interruption {
    if task::current().is_interrupted() { Stop::Attention.into() } else { error.into() }
}
