//! [`Frame`]: one running batch or procedure.

use std::rc::Rc;
use std::sync::Arc;

use query::MemoryUse;
use query::context::RunningTrigger;
use types::Value;

use crate::batch::cell::{Cell, Compiled};
use crate::batch::program::Program;
use crate::batch::statement_statistics::StatementStatistics;
use crate::sink::DoneKind;

/// One running batch or procedure.
pub(crate) struct Frame<'p> {
    /// Borrowed from the owner: sessions that run the same text do not update a shared reference count on each run.
    pub(crate) program: &'p Program,
    pub(crate) variables: Vec<Value>,
    /// Bound cells of this frame, so that a loop does not read the shared ones.
    pub(crate) local: Vec<Option<Arc<Compiled>>>,
    /// The settings have changed: from here on cells are bound under other settings than those of the program.
    pub(crate) own_settings: bool,
    pub(crate) statistics: StatementStatistics,
    /// Memory use of the statement that ran last.
    pub(crate) memory: MemoryUse,
    /// Number of errors that outer frames handle; those of this frame follow.
    pub(crate) caught_base: usize,
    /// Name for error messages, when it is a procedure.
    pub(crate) procedure: Option<Arc<str>>,
    /// The trigger whose body it runs.
    pub(crate) trigger: Option<Rc<RunningTrigger>>,
    pub(crate) done_kind: DoneKind,
    /// Severity of the worst error that was reported in this frame; at most `MESSAGE_SEVERITY_MAX` without one.
    worst_severity: u8,
}

/// The highest severity of an informational message.
const MESSAGE_SEVERITY_MAX: u8 = 10;

impl<'p> Frame<'p> {
    /// SET ANSI_NULLS takes effect from the next statement on: cells are bound again.
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
            trigger: None,
            done_kind,
            worst_severity: MESSAGE_SEVERITY_MAX,
        }
    }

    /// Records a reported error after which the frame may go on.
    pub(crate) fn note_error(&mut self, severity: u8) {
        self.worst_severity = self.worst_severity.max(severity);
    }

    /// The return status without an explicit RETURN value: ten minus the severity of the worst error, 0 without an error (documented in KB Q96237
    /// and Q100830).
    pub(crate) fn own_status(&self) -> i32 {
        i32::from(MESSAGE_SEVERITY_MAX) - i32::from(self.worst_severity)
    }

    /// Drops the frame's binding of the cell, so that its next use binds it again.
    pub(crate) fn forget(&mut self, cell: Cell) {
        self.local[cell] = None;
        self.program.forget_stale_cell(cell);
    }
}
