//! Execution statistics of a program's statements: the counters of a frame, and the sums of its program.
//!
//! A frame counts for itself and adds its sums to the program's at its end: sessions that run the same text synchronise once per call, not
//! once per statement. Reading a clock costs more than counting in a loop of small statements. So a statement's start time is the end of the
//! statement before it, if only assignments and conditions lie between, and no more than one loop round ([`StatementStatistics::goes_round`]).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use os::task::PageUses;
use os::{Latch, LatchRank};
use query::query_store::PlanRuns;
use query::{Measure, MemoryUse};

use crate::batch::cell::Cell;

/// The execution statistics of a program.
pub(crate) struct ProgramStatistics {
    /// Number of the program in the cache; 0: not in the cache.
    pub(crate) number: AtomicU64,
    pub(crate) made_ticks: AtomicU64,
    pub(crate) sums: Latch<Sums>,
}

#[derive(Default)]
pub(crate) struct Sums {
    pub(crate) runs: u64,
    /// Sums over whole runs of the program.
    pub(crate) whole: StatementSums,
    pub(crate) statements: Vec<StatementSums>,
}

/// Sums of one statement; times in nanoseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct StatementSums {
    pub(crate) executions: u64,
    /// How often it was bound.
    pub(crate) bound: u64,
    /// Its last start time: in a frame's sums by the monotonic clock, in a program's as a date.
    pub(crate) last_began: u64,
    pub(crate) elapsed: Measure,
    pub(crate) working: Measure,
    pub(crate) rows: Measure,
    pub(crate) spills: Measure,
    pub(crate) grants: Grants,
    pub(crate) logical_reads: Measure,
    pub(crate) physical_reads: Measure,
}

/// Memory grants of operators, in bytes. Counting begins with the first execution that has a grant: few statements ever have one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Grants {
    pub(crate) granted: Measure,
    pub(crate) ideal: Measure,
    pub(crate) used: Measure,
}

/// The cost of one execution of a statement.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) elapsed_ns: u64,
    pub(crate) waited_ns: u64,
    pub(crate) rows: u64,
    pub(crate) memory: MemoryUse,
    /// Pages accessed since it began.
    pub(crate) pages: PageUses,
}

/// One execution of a statement, with its start time by the monotonic clock.
pub(crate) struct Execution {
    pub(crate) cell: Cell,
    pub(crate) began_ns: u64,
    pub(crate) taken: Taken,
}

/// The counters of one frame that have not been added to the program's yet.
#[derive(Default)]
pub(crate) struct StatementStatistics {
    /// Start of the first statement by both clocks: the date is read once per frame.
    pub(crate) first: Option<(u64, u64)>,
    /// The only execution so far, as most frames have only one; the second execution starts the sums.
    only: Option<Execution>,
    statements: Vec<StatementSums>,
    /// End time of the last statement, by the monotonic clock, if the next statement may start there.
    ended_ns: Option<u64>,
    /// Loop rounds since then.
    rounds: u64,
}

impl Default for ProgramStatistics {
    fn default() -> ProgramStatistics {
        let sums = Latch::new(LatchRank::PlanCache, Sums::default());
        ProgramStatistics { number: AtomicU64::new(0), made_ticks: AtomicU64::new(0), sums }
    }
}

impl ProgramStatistics {
    /// Records that the program has been compiled now.
    pub(crate) fn made(&self, now_ticks: u64) {
        self.made_ticks.store(now_ticks, Relaxed);
    }

    /// Sets the number that the cache has assigned.
    pub(crate) fn numbered(&self, number: u64) {
        self.number.store(number, Relaxed);
    }

    /// Its number in the cache.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// Counts a binding of a cell, the first or a later one.
    pub(crate) fn note_bound(&self, cell: Cell) {
        self.sums.lock().at(cell).bound += 1;
    }

    /// Adds the statistics of a frame that has ended.
    pub(crate) fn add(&self, of_frame: StatementStatistics) {
        // The request that compiles the program begins before the compilation.
        let made_ticks = self.made_ticks.load(Relaxed);
        let date_of = |moment_ns| of_frame.date_of(moment_ns).max(made_ticks);
        let mut sums = self.sums.lock();
        sums.runs += 1;
        let mut run = Taken::default();
        if let Some(Execution { cell, began_ns, taken }) = &of_frame.only {
            sums.at(*cell).note(date_of(*began_ns), taken);
            run = Taken { rows: 0, ..*taken };
        }
        for (cell, one) in of_frame.statements.iter().enumerate().filter(|(_, one)| one.executions > 0) {
            sums.at(cell).add(&StatementSums { last_began: date_of(one.last_began), ..*one });
            run.add(one);
        }
        let began = of_frame.first.map_or(made_ticks, |(_, ticks)| ticks.max(made_ticks));
        sums.whole.note(began, &run);
    }
}

impl Sums {
    fn at(&mut self, cell: Cell) -> &mut StatementSums {
        if self.statements.len() <= cell {
            self.statements.resize(cell + 1, StatementSums::default());
        }
        &mut self.statements[cell]
    }
}

impl Taken {
    /// Adds the executions of a statement to the whole; memory is left out, since the statements' grants are not held at the same time.
    fn add(&mut self, sums: &StatementSums) {
        self.elapsed_ns += sums.elapsed.total;
        self.waited_ns += sums.elapsed.total.saturating_sub(sums.working.total);
        self.memory.spills += sums.spills.total;
        self.pages.logical += sums.logical_reads.total;
        self.pages.physical += sums.physical_reads.total;
    }
}

impl StatementSums {
    /// Adds one execution.
    fn note(&mut self, began: u64, taken: &Taken) {
        self.grants.note(self.executions, &taken.memory);
        self.executions += 1;
        self.last_began = self.last_began.max(began);
        self.elapsed.note(taken.elapsed_ns);
        self.working.note(taken.elapsed_ns.saturating_sub(taken.waited_ns));
        self.rows.note(taken.rows);
        self.spills.note(taken.memory.spills);
        self.logical_reads.note(taken.pages.logical);
        self.physical_reads.note(taken.pages.physical);
    }

    /// Adds later sums.
    fn add(&mut self, other: &StatementSums) {
        self.grants.add(self.executions, &other.grants, other.executions);
        self.executions += other.executions;
        self.last_began = self.last_began.max(other.last_began);
        self.elapsed.add(&other.elapsed);
        self.working.add(&other.working);
        self.rows.add(&other.rows);
        self.spills.add(&other.spills);
        self.logical_reads.add(&other.logical_reads);
        self.physical_reads.add(&other.physical_reads);
    }
}

impl Grants {
    /// Adds one execution, which `before` others precede.
    #[inline]
    fn note(&mut self, before: u64, memory: &MemoryUse) {
        if memory.granted_bytes > 0 || self.granted.maximum > 0 {
            self.begin(before);
            self.granted.note(memory.granted_bytes);
            self.ideal.note(memory.ideal_bytes);
            self.used.note(memory.used_bytes);
        }
    }

    /// Begins to count after `before` executions without a grant.
    fn begin(&mut self, before: u64) {
        if before > 0 && self.granted.minimum.is_none() {
            self.granted.note(0);
            self.ideal.note(0);
            self.used.note(0);
        }
    }

    /// Adds the grants of `executions` later executions.
    fn add(&mut self, before: u64, other: &Grants, executions: u64) {
        if other.granted.minimum.is_some() {
            self.begin(before);
            self.granted.add(&other.granted);
            self.ideal.add(&other.ideal);
            self.used.add(&other.used);
        } else if executions > 0 {
            self.note(before, &MemoryUse::default());
        }
    }
}

impl StatementStatistics {
    /// Converts a monotonic time, at which a statement began, to a date.
    fn date_of(&self, moment_ns: u64) -> u64 {
        let (first_ns, first_ticks) = self.first.expect("the first statement has noted the date");
        first_ticks + moment_ns.saturating_sub(first_ns) / 100
    }

    /// The time from here to the next statement belongs to no statement.
    #[inline]
    pub(crate) fn forget_end(&mut self) {
        self.ended_ns = None;
    }

    /// The figures of its statements.
    pub(crate) fn executed(&self) -> impl Iterator<Item = (Cell, PlanRuns)> + '_ {
        let only = self.only.iter().map(|execution| {
            let mut one = StatementSums::default();
            one.note(execution.began_ns, &execution.taken);
            (execution.cell, one)
        });
        let summed = self.statements.iter().copied().enumerate().filter(|(_, one)| one.executions > 0);
        only.chain(summed).map(|(cell, one)| {
            let runs = PlanRuns {
                executions: one.executions,
                last_ticks: self.date_of(one.last_began),
                elapsed_ns: one.elapsed,
                working_ns: one.working,
                rows: one.rows,
                logical_reads: one.logical_reads,
                physical_reads: one.physical_reads,
            };
            (cell, runs)
        })
    }

    /// Counts a loop round: at most one between two statements of the loop's body, more if the loop only computes.
    #[inline]
    pub(crate) fn goes_round(&mut self) {
        self.rounds += 1;
    }

    /// Start time of the next statement.
    pub(crate) fn begin_ns(&mut self, now_ns: impl FnOnce() -> u64) -> u64 {
        match self.ended_ns.take() {
            Some(ended_ns) if self.rounds <= 1 => ended_ns,
            _ => now_ns(),
        }
    }

    /// Records the end time of a statement.
    pub(crate) fn end_at(&mut self, now_ns: u64) {
        (self.ended_ns, self.rounds) = (Some(now_ns), 0);
    }

    /// Records an execution that has ended.
    pub(crate) fn note(&mut self, execution: Execution) {
        if self.statements.is_empty() {
            let Some(before) = self.only.replace(execution) else { return };
            let last = self.only.take().expect("it has been put there");
            self.sum(&before);
            self.sum(&last);
        } else {
            self.sum(&execution);
        }
        assert!(self.only.is_none(), "what is summed up is not counted again");
    }

    fn sum(&mut self, execution: &Execution) {
        let Execution { cell, began_ns, taken } = execution;
        if self.statements.len() <= *cell {
            self.statements.resize(cell + 1, StatementSums::default());
        }
        self.statements[*cell].note(*began_ns, taken);
    }
}

#[cfg(test)]
mod tests {
    use super::{Execution, Grants, MemoryUse, PageUses, ProgramStatistics, StatementStatistics, Taken};

    /// Frames of one execution, which are not summed up before they are handed on, count as those of more do.
    #[test]
    fn one_execution_counts_as_much_as_one_of_many() {
        let execution = |cell, began_ns, elapsed_ns| {
            let taken = Taken {
                elapsed_ns,
                waited_ns: 2,
                rows: 3,
                memory: MemoryUse::default(),
                pages: PageUses::default(),
            };
            Execution { cell, began_ns, taken }
        };
        let counted = |frames: &[&[(usize, u64, u64)]]| {
            let statistics = ProgramStatistics::default();
            for frame in frames {
                let mut of_frame = StatementStatistics {
                    first: Some((frame[0].1, 1000 + frame[0].1 / 100)),
                    ..StatementStatistics::default()
                };
                frame
                    .iter()
                    .for_each(|(cell, began, elapsed)| of_frame.note(execution(*cell, *began, *elapsed)));
                statistics.add(of_frame);
            }
            let sums = statistics.sums.lock();
            let shown = |one: &super::StatementSums| {
                (one.executions, one.last_began, one.elapsed, one.working.total, one.rows.total)
            };
            (sums.runs, sums.statements.iter().map(shown).collect::<Vec<_>>())
        };
        let (runs, apart) = counted(&[&[(1, 100, 7)], &[(0, 200, 5)], &[(1, 300, 9)]]);
        let (run, together) = counted(&[&[(1, 100, 7), (0, 200, 5), (1, 300, 9)]]);
        assert_eq!((runs, run), (3, 1));
        assert_eq!(apart, together);
        let (executions, last_began, elapsed, working_ns, rows) = apart[1];
        assert_eq!((executions, last_began, working_ns, rows), (2, 1003, 12, 6));
        assert_eq!((elapsed.total, elapsed.last, elapsed.minimum, elapsed.maximum), (16, 9, Some(7), 9));
    }

    /// What is counted from the first grant on is as if it had been counted from the beginning; in one frame or in several.
    #[test]
    fn executions_without_a_grant_count_as_such() {
        let memory =
            |bytes| MemoryUse { granted_bytes: bytes, ideal_bytes: 2 * bytes, ..MemoryUse::default() };
        for executions in [&[0, 0, 7, 0][..], &[0, 5], &[5, 9], &[0, 0], &[3, 0, 8]] {
            for cut in 0..=executions.len() {
                let noted = |some: &[u64]| {
                    let mut grants = Grants::default();
                    some.iter().zip(0..).for_each(|(bytes, before)| grants.note(before, &memory(*bytes)));
                    grants
                };
                let (mut first, last) = (noted(&executions[..cut]), noted(&executions[cut..]));
                first.add(cut as u64, &last, (executions.len() - cut) as u64);
                let mut expected = super::Measure::default();
                executions.iter().for_each(|bytes| expected.note(*bytes));
                let shown =
                    |one: &super::Measure| (one.total, one.last, one.minimum.unwrap_or(0), one.maximum);
                assert_eq!(shown(&first.granted), shown(&expected), "{executions:?} cut at {cut}");
                assert_eq!(first.ideal.total, 2 * expected.total);
            }
        }
    }

    #[test]
    fn nothing_runs_before_it_is_made() {
        let statistics = ProgramStatistics::default();
        statistics.made(2000);
        let taken = Taken {
            elapsed_ns: 1,
            waited_ns: 0,
            rows: 0,
            memory: MemoryUse::default(),
            pages: PageUses::default(),
        };
        let mut of_frame = StatementStatistics { first: Some((100, 1000)), ..StatementStatistics::default() };
        of_frame.note(Execution { cell: 0, began_ns: 100, taken });
        statistics.add(of_frame);
        assert_eq!(statistics.sums.lock().statements[0].last_began, 2000);
    }

    #[test]
    fn a_statement_begins_where_the_last_one_ended_if_little_lies_between() {
        let mut of_frame = StatementStatistics::default();
        assert_eq!(of_frame.begin_ns(|| 10), 10, "the first one asks");
        of_frame.end_at(15);
        of_frame.goes_round();
        assert_eq!(of_frame.begin_ns(|| 20), 15, "once round the loop");
        assert_eq!(of_frame.begin_ns(|| 21), 21, "a statement that failed has no end");
        of_frame.end_at(25);
        of_frame.goes_round();
        of_frame.goes_round();
        assert_eq!(of_frame.begin_ns(|| 30), 30, "a loop that computes is nobody's time");
        of_frame.end_at(35);
        of_frame.forget_end();
        assert_eq!(of_frame.begin_ns(|| 40), 40, "nor is what waits or writes on its own");
        of_frame.end_at(45);
        assert_eq!(of_frame.begin_ns(|| 50), 45, "the next one behind it");
    }
}
