//! Memory grants of queries: from one budget, first come, first served, and temporary files for rows that do not fit.
//!
//! ```text
//!  a statement keeps little ──► asks for nothing
//!  it keeps more ──grant()──► GRANTED, as much as is free, at least what is required
//!                       └───► WAITING (RESOURCE_SEMAPHORE), behind those who came before ──a grant ends──► GRANTED
//!                                     └─ query wait (s) is over: 8645; attention, KILL: cancelled
//!  required is more than anybody may have: 8657
//! ```
//!
//! A grant is a promise of its holder, not reserved memory: `os::memory` counts the real allocations, and its limits are the last
//! resort. A holder of a grant never waits for another grant, so memory waits alone make no cycle; a cycle with locks ends by error 8645.

pub mod spill;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use os::{Condition, Latch, LatchRank, Os, WaitOutcome, WaitType};
use types::SqlError;

use crate::error::{SqlResult, interrupted};

/// The share of the budget that one grant is at most: SQL Server's default of 25 percent.
const SHARE_OF_ONE: u64 = 4;

/// The budget and its grants.
pub struct Workspaces {
    os: Os,
    /// The data directory: spill files are created here.
    folder: PathBuf,
    state: Latch<State>,
    has_changed: Condition,
    /// For tests: the most rows that an operator keeps in memory, whatever memory there is. `usize::MAX`: no such limit.
    rows_in_memory_max: AtomicUsize,
    /// The number of spill files created so far; it names the next one.
    files_total: AtomicU64,
}

#[derive(Default)]
struct State {
    granted_bytes: u64,
    /// Grants and waiters, oldest first.
    requests: VecDeque<GrantRow>,
    next_number: u64,
    timeouts_total: u64,
}

/// One grant, or one waiter, as views show it.
#[derive(Clone, Debug)]
pub struct GrantRow {
    number: u64,
    /// `session_id`.
    pub session_id: i16,
    /// The memory that it would like to have.
    pub requested_bytes: u64,
    /// The least memory, for which it waits.
    pub required_bytes: u64,
    /// 0: waiting.
    pub granted_bytes: u64,
    /// UTC, 100 ns ticks.
    pub request_ticks: i64,
    /// UTC, 100 ns ticks; 0: waiting.
    pub grant_ticks: i64,
    /// How long it may wait, s.
    pub timeout_s: u64,
}

/// The budget as views show it.
#[derive(Clone, Debug, Default)]
pub struct WorkspaceFigures {
    /// The most that all grants together may be; `None`: no limit.
    pub total_bytes: Option<u64>,
    /// The sum of all grants.
    pub granted_bytes: u64,
    /// The number of grants.
    pub grantees: usize,
    /// The number of waiters.
    pub waiters: usize,
    /// Errors 8645 so far.
    pub timeouts_total: u64,
}

/// A request for memory.
#[derive(Clone, Copy, Debug)]
pub struct GrantRequest {
    /// The session.
    pub session_id: i16,
    /// `min memory per query (KB)`.
    pub required_bytes: u64,
    /// `query wait (s)`.
    pub timeout_s: u64,
}

/// A part of the budget, until it is dropped.
pub struct Grant {
    of: Arc<Workspaces>,
    number: u64,
    bytes: u64,
    requested_bytes: u64,
}

impl Grant {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The requested size.
    pub fn requested_bytes(&self) -> u64 {
        self.requested_bytes
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let mut state = self.of.state.lock();
        state.granted_bytes -= self.bytes;
        state.leave(self.number);
        state.assert_state();
        drop(state);
        self.of.has_changed.notify_all();
    }
}

impl State {
    fn leave(&mut self, number: u64) {
        self.requests.retain(|request| request.number != number);
    }

    /// Is no waiter older?
    fn is_next(&self, number: u64) -> bool {
        self.requests
            .iter()
            .find(|request| request.granted_bytes == 0)
            .is_some_and(|one| one.number == number)
    }

    fn assert_state(&self) {
        let sum: u64 = self.requests.iter().map(|request| request.granted_bytes).sum();
        assert_eq!(sum, self.granted_bytes, "what is granted is what grants have");
    }
}

impl Workspaces {
    pub(crate) fn new(os: &Os, data_dir: &Path) -> Arc<Workspaces> {
        Arc::new(Workspaces {
            os: os.clone(),
            folder: data_dir.to_path_buf(),
            state: Latch::new(LatchRank::QueryMemory, State::default()),
            has_changed: Condition::new(),
            rows_in_memory_max: AtomicUsize::new(usize::MAX),
            files_total: AtomicU64::new(0),
        })
    }

    /// The most that all grants together may be: the memory limit of requests. None without a limit; then no grant is needed.
    pub fn total_bytes() -> Option<u64> {
        os::memory::request_bytes_max()
    }

    /// A grant: the free memory, a quarter of the budget at most, at least the required memory; waits for that. `None`: there is no limit.
    ///
    /// # Errors
    /// 8645 when it waited too long, 8657 when the required memory is more than any grant; cancelled.
    pub fn grant(self: &Arc<Self>, request: GrantRequest) -> SqlResult<Option<Grant>> {
        let Some(total_bytes) = Workspaces::total_bytes() else { return Ok(None) };
        let most_bytes = total_bytes / SHARE_OF_ONE;
        if request.required_bytes > most_bytes {
            return Err(SqlError::new(8657, &[&(request.required_bytes / 1024), &(most_bytes / 1024)]));
        }
        let deadline_ns =
            self.os.clock().monotonic_ns().saturating_add(request.timeout_s.saturating_mul(1_000_000_000));
        let mut state = self.state.lock();
        state.next_number += 1;
        let number = state.next_number;
        state.requests.push_back(GrantRow {
            number,
            session_id: request.session_id,
            requested_bytes: most_bytes,
            required_bytes: request.required_bytes,
            granted_bytes: 0,
            request_ticks: self.os.clock().utc_100ns(),
            grant_ticks: 0,
            timeout_s: request.timeout_s,
        });
        loop {
            let free_bytes = total_bytes.saturating_sub(state.granted_bytes);
            if state.is_next(number) && free_bytes >= request.required_bytes {
                let bytes = most_bytes.min(free_bytes).max(1);
                state.granted_bytes += bytes;
                let grant_ticks = self.os.clock().utc_100ns();
                let own = state.requests.iter_mut().find(|one| one.number == number).expect("queued above");
                (own.granted_bytes, own.grant_ticks) = (bytes, grant_ticks);
                state.assert_state();
                drop(state);
                // The next waiter may be served, too.
                self.has_changed.notify_all();
                return Ok(Some(Grant { of: self.clone(), number, bytes, requested_bytes: most_bytes }));
            }
            let left_ns = deadline_ns.saturating_sub(self.os.clock().monotonic_ns());
            let outcome;
            (state, outcome) =
                self.has_changed.wait(state, WaitType::RESOURCE_SEMAPHORE, Some(left_ns.max(1)));
            let is_late = self.os.clock().monotonic_ns() >= deadline_ns;
            let error = match outcome {
                WaitOutcome::Interrupted => interrupted(),
                _ if is_late => SqlError::new(8645, &[&"default"]),
                _ => continue,
            };
            state.timeouts_total += u64::from(outcome != WaitOutcome::Interrupted);
            state.leave(number);
            drop(state);
            self.has_changed.notify_all();
            return Err(error);
        }
    }

    /// A grant without a wait, for a caller that can work with less: a quarter of the budget at most, of the free memory,
    /// and only while there are no waiters. `None`: there is no limit.
    pub(crate) fn grant_what_is_free(self: &Arc<Self>, session_id: i16) -> Option<Grant> {
        let total_bytes = Workspaces::total_bytes()?;
        let most_bytes = total_bytes / SHARE_OF_ONE;
        let mut state = self.state.lock();
        let is_waited_for = state.requests.iter().any(|request| request.granted_bytes == 0);
        let free_bytes = if is_waited_for { 0 } else { total_bytes.saturating_sub(state.granted_bytes) };
        state.next_number += 1;
        let number = state.next_number;
        // A grant of 0 bytes would count as a waiter.
        let bytes = most_bytes.min(free_bytes).max(1);
        state.granted_bytes += bytes;
        let now = self.os.clock().utc_100ns();
        state.requests.push_back(GrantRow {
            number,
            session_id,
            requested_bytes: most_bytes,
            required_bytes: 0,
            granted_bytes: bytes,
            request_ticks: now,
            grant_ticks: now,
            timeout_s: 0,
        });
        state.assert_state();
        Some(Grant { of: self.clone(), number, bytes, requested_bytes: most_bytes })
    }

    /// All grants and waiters, oldest first.
    pub fn grants(&self) -> Vec<GrantRow> {
        self.state.lock().requests.iter().cloned().collect()
    }

    /// The budget.
    pub fn figures(&self) -> WorkspaceFigures {
        let state = self.state.lock();
        let grantees = state.requests.iter().filter(|one| one.granted_bytes > 0).count();
        WorkspaceFigures {
            total_bytes: Workspaces::total_bytes(),
            granted_bytes: state.granted_bytes,
            grantees,
            waiters: state.requests.len() - grantees,
            timeouts_total: state.timeouts_total,
        }
    }

    /// The most rows that an operator keeps in memory.
    pub fn rows_in_memory_max(&self) -> usize {
        self.rows_in_memory_max.load(Relaxed)
    }

    /// For tests: operators keep so many rows in memory and write the others to disk, whatever memory there is.
    pub fn keep_no_more_than(&self, rows: usize) {
        self.rows_in_memory_max.store(rows, Relaxed);
    }
}
