//! The order of writes as the simulated device saw it: input for an oracle of write-ahead logging.

use std::path::{Path, PathBuf};

/// One step in the life of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteEvent {
    /// The file.
    pub path: PathBuf,
    /// Offset in the file.
    pub offset: u64,
    /// How many bytes.
    pub len: usize,
    /// The step.
    pub step: WriteStep,
}

/// The steps of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteStep {
    /// It was issued, with these bytes.
    Issued(Vec<u8>),
    /// It succeeded, and its caller is about to get the result.
    Completed,
}

/// Events since tracing was turned on; none are kept while it is off.
#[derive(Default)]
pub(super) struct WriteTrace {
    events: Option<Vec<WriteEvent>>,
}

impl WriteTrace {
    pub(super) fn begin(&mut self) {
        self.events = Some(Vec::new());
    }

    pub(super) fn take(&mut self) -> Vec<WriteEvent> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn note_issued(&mut self, path: &Path, offset: u64, bytes: &[u8]) {
        if let Some(events) = &mut self.events {
            let step = WriteStep::Issued(bytes.to_vec());
            events.push(WriteEvent { path: path.to_owned(), offset, len: bytes.len(), step });
        }
    }

    pub(super) fn note_completed(&mut self, path: &Path, offset: u64, len: usize) {
        if let Some(events) = &mut self.events {
            events.push(WriteEvent { path: path.to_owned(), offset, len, step: WriteStep::Completed });
        }
    }
}
