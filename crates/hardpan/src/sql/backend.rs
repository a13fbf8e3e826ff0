//! The interface to run batches: implemented over the wire and by an instance in this process.

use super::printer::Printer;

/// Runs batches.
pub(super) trait Backend {
    /// Runs one batch and prints its results. `interrupts`: the number of Ctrl-C so far; one more cancels the batch.
    fn batch(&mut self, text: &str, printer: &mut Printer, interrupts: &dyn Fn() -> u32) -> BatchEnd;
    /// The server's name in messages.
    fn server_name(&self) -> String;
    /// Ends the session.
    fn close(self: Box<Self>);
}

/// The outcome of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchEnd {
    /// The next batch may follow.
    Next,
    /// The connection is lost.
    Closed,
}
