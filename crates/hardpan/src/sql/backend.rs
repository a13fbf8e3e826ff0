//! Where batches are run: what a server on the wire and an instance in this process have in common.

use super::printer::Printer;

/// Where batches are run.
pub(super) trait Backend {
    /// Runs one batch and prints what comes. `interrupts` counts how often Ctrl-C has come: once more cancels the batch.
    fn batch(&mut self, text: &str, printer: &mut Printer, interrupts: &dyn Fn() -> u32) -> BatchEnd;
    /// The server's name in messages.
    fn server_name(&self) -> String;
    /// Ends the conversation.
    fn close(self: Box<Self>);
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchEnd {
    /// The next one may follow.
    Next,
    /// The connection is gone.
    Closed,
}
