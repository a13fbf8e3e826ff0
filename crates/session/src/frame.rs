//! [`Frame`]: one running batch or procedure.

use std::sync::Arc;

use query::MemoryUse;
use types::Value;

use crate::cell::{Cell, Compiled};
use crate::program::Program;
use crate::sink::DoneKind;
use crate::statement_statistics::StatementStatistics;

/// One running batch or procedure.
pub(crate) struct Frame<'p> {
    /// Borrowed from who has it: sessions that run the same text do not count each other's runs of it.
    pub(crate) program: &'p Program,
    pub(crate) variables: Vec<Value>,
    /// Bound cells, so that a loop does not ask the shared ones.
    pub(crate) local: Vec<Option<Arc<Compiled>>>,
    /// What is bound from here on is bound under other settings than the program was made for.
    pub(crate) own_settings: bool,
    pub(crate) statistics: StatementStatistics,
    /// Of the statement that ran last.
    pub(crate) memory: MemoryUse,
    /// Errors that outer frames handle; this frame's come above.
    pub(crate) caught_base: usize,
    /// Name for error messages, when it is a procedure.
    pub(crate) procedure: Option<Arc<str>>,
    pub(crate) done_kind: DoneKind,
    /// Severity of the worst error that was reported here, or what is no error.
    worst_severity: u8,
}

/// The highest severity of a message that is no error.
const MESSAGE_SEVERITY_MAX: u8 = 10;

impl<'p> Frame<'p> {
    /// SET ANSI_NULLS holds from the next statement on.
    pub(crate) fn bind_anew(&mut self) {
        self.local.fill(None);
        self.own_settings = true;
    }

    pub(crate) fn new(
        program: &'p Program,
        mut variables: Vec<Value>,
        caught_base: usize,
        done_kind: DoneKind,
    ) -> Frame<'p> {
        variables.resize(program.variables.len(), Value::Null);
        let local = vec![None; program.sources.len()];
        Frame {
            program,
            variables,
            local,
            own_settings: false,
            statistics: StatementStatistics::default(),
            memory: MemoryUse::default(),
            caught_base,
            procedure: None,
            done_kind,
            worst_severity: MESSAGE_SEVERITY_MAX,
        }
    }

    /// An error has been reported that the frame may outlive.
    pub(crate) fn note_error(&mut self, severity: u8) {
        self.worst_severity = self.worst_severity.max(severity);
    }

    /// What it returns without a RETURN that says so: ten less the severity of its worst error, 0 without one (documented in KB Q96237 and
    /// Q100830).
    pub(crate) fn own_status(&self) -> i32 {
        i32::from(MESSAGE_SEVERITY_MAX) - i32::from(self.worst_severity)
    }

    /// The cell is bound again before it is used again.
    pub(crate) fn forget(&mut self, cell: Cell) {
        self.local[cell] = None;
        self.program.forget_stale_cell(cell);
    }
}
