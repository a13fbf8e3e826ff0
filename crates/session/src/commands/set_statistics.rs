//! SET STATISTICS IO and TIME: page requests per table and elapsed time of a statement, reported after its end (3615, 3612), and the time
//! to parse and compile a batch, reported before it runs (3613).
//!
//! The figures are measured: the thread that runs the statement counts pages where tables are read (`engine::measure_io`). There is no
//! read-ahead, so its counts are 0.

use types::SqlError;

use crate::batch::instruction::InstructionKind;
use crate::session::Session;
use crate::sink::ResultSink;

/// Start times in nanoseconds: wall clock and processor clock.
#[derive(Clone, Copy)]
pub(crate) struct Beginning {
    elapsed_ns: u64,
    cpu_ns: u64,
}

/// The running measurement of a statement.
pub(crate) struct Measured {
    time: Option<Beginning>,
    io: bool,
}

/// Is it a statement with a plan or a definition, for which figures are reported?
fn is_measured(kind: &InstructionKind) -> bool {
    matches!(
        kind,
        InstructionKind::Query { .. }
            | InstructionKind::InsertExecute { .. }
            | InstructionKind::Execute(_)
            | InstructionKind::Definition(_)
            | InstructionKind::SetVariable { .. }
            | InstructionKind::JumpUnless { .. }
    )
}

impl Session {
    fn beginning(&self) -> Beginning {
        let clock = self.instance.os().clock();
        Beginning { elapsed_ns: clock.monotonic_ns(), cpu_ns: clock.thread_cpu_ns() }
    }

    /// Begins to measure compiling, if SET STATISTICS TIME is ON.
    pub(crate) fn compiling_begins(&self) -> Option<Beginning> {
        self.options.statistics_time.then(|| self.beginning())
    }

    /// Reports the time to compile: 3613.
    pub(crate) fn tell_compiling(&self, began: Option<Beginning>, sink: &mut dyn ResultSink) {
        if let Some(began) = began {
            sink.message(&self.times(3613, began));
        }
    }

    /// Begins to measure a statement. EXECUTE itself is not measured, since its procedure's statements are.
    pub(crate) fn measuring_begins(&self, kind: &InstructionKind) -> Option<Measured> {
        let options = &self.options;
        if !(options.statistics_io || options.statistics_time) || !is_measured(kind) {
            return None;
        }
        let is_call = matches!(kind, InstructionKind::Execute(_));
        let has_time =
            !matches!(kind, InstructionKind::SetVariable { .. } | InstructionKind::JumpUnless { .. });
        let io = options.statistics_io && !is_call;
        if io {
            engine::measure_io();
        }
        let time = (options.statistics_time && has_time).then(|| self.beginning());
        Some(Measured { time, io })
    }

    /// Reports the figures of a statement.
    pub(crate) fn tell_measured(&self, measured: Option<Measured>, line: u32, sink: &mut dyn ResultSink) {
        let Some(Measured { time, io }) = measured else { return };
        let tables = if io { engine::take_io() } else { Vec::new() };
        for table in tables {
            let pages = table.pages;
            let (logical, physical) =
                (pages.logical - pages.lob_logical, pages.physical - pages.lob_physical);
            let message = SqlError::new(
                3615,
                &[
                    &table.name,
                    &table.scans,
                    &logical,
                    &physical,
                    &0,
                    &pages.lob_logical,
                    &pages.lob_physical,
                    &0,
                ],
            );
            sink.message(&message.at_line(line));
        }
        if let Some(began) = time {
            sink.message(&self.times(3612, began).at_line(line));
        }
    }

    fn times(&self, number: i32, began: Beginning) -> SqlError {
        let now = self.beginning();
        let milliseconds = |from: u64, to: u64| to.saturating_sub(from) / 1_000_000;
        let cpu_ms = milliseconds(began.cpu_ns, now.cpu_ns);
        SqlError::new(number, &[&cpu_ms, &milliseconds(began.elapsed_ns, now.elapsed_ns)])
    }
}
