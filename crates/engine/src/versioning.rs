//! Row versioning of a database: READ_COMMITTED_SNAPSHOT, and ALLOW_SNAPSHOT_ISOLATION with its states.
//!
//! ```text
//!  Off ──begin_change(on)──► ToOn ──await_writers──► On ──begin_change(off)──► ToOff ──await_snapshots──► Off
//!   ▲ ◄── interrupted ────────┘                       ▲ ◄──── interrupted ───────┘
//! ```
//! Writers leave versions in every state but Off, and under READ_COMMITTED_SNAPSHOT. The options are stored and put in force
//! when the database is opened; a change that was interrupted by a stop of the server has no effect.

use std::sync::atomic::Ordering::{Acquire, Release};

use os::WaitType;
use txn::{LockMode, LockOwner, Resource, SnapshotKind};
use types::SqlError;

use crate::database::Database;
use crate::error::{SqlResult, interrupted};
use crate::options::DatabaseOptions;
use crate::snapshot_state::{COMMITTED_SNAPSHOT_SWITCH, SnapshotState, is_on};

/// The poll interval while transactions are waited for.
const PAUSE_NS: u64 = 10_000_000;

impl Database {
    /// The state of ALLOW_SNAPSHOT_ISOLATION.
    pub fn snapshot_state(&self) -> SnapshotState {
        self.versioning.state()
    }

    /// Did the database allow SNAPSHOT at this moment (monotonic, ns), given that it does now?
    pub(crate) fn allowed_snapshots_at(&self, moment_ns: u64) -> bool {
        self.versioning.on_since_ns.load(Acquire) <= moment_ns
    }

    /// READ_COMMITTED_SNAPSHOT.
    pub fn reads_committed_snapshot(&self) -> bool {
        self.versioning.committed_snapshot.load(Acquire)
    }

    /// Sets whether writers leave versions, by the options in force.
    pub(crate) fn keep_versions(&self) {
        let keeps = self.reads_committed_snapshot() || self.snapshot_state() != SnapshotState::Off;
        assert!(!(keeps && self.is_volatile()), "what is lost at each start has no versions");
        self.txns.versions().keep(keeps);
    }

    /// Options have changed. The caller has made sure that no other session is in the database when READ_COMMITTED_SNAPSHOT changes.
    pub(crate) fn apply_versioning(&self, options: &DatabaseOptions) {
        self.versioning.committed_snapshot.store(is_on(options, COMMITTED_SNAPSHOT_SWITCH), Release);
        self.keep_versions();
    }

    /// The first half of ALLOW_SNAPSHOT_ISOLATION: returns when all blocking transactions have ended. `end_snapshot_change` follows once
    /// the option is stored. Does nothing in the wanted state.
    ///
    /// # Errors
    /// 5061 while another session changes it; an interrupt: the state is then unchanged.
    pub fn begin_snapshot_change(&self, on: bool) -> SqlResult<()> {
        let (from, through) = match on {
            true => (SnapshotState::Off, SnapshotState::ToOn),
            false => (SnapshotState::On, SnapshotState::ToOff),
        };
        if self.snapshot_state() == if on { SnapshotState::On } else { SnapshotState::Off } {
            return Ok(());
        }
        if !self.versioning.change_state(from, through) {
            return Err(SqlError::new(5061, &[&self.name()]));
        }
        self.keep_versions();
        let waited = if on { self.await_writers() } else { self.await_snapshots() };
        if waited.is_err() {
            self.versioning.change_state(through, from);
            self.keep_versions();
        }
        waited
    }

    /// The second half: the option is stored, or (`is_kept` false) could not be.
    pub fn end_snapshot_change(&self, on: bool, is_kept: bool) {
        let through = if on { SnapshotState::ToOn } else { SnapshotState::ToOff };
        let to = if on == is_kept { SnapshotState::On } else { SnapshotState::Off };
        if self.snapshot_state() == through {
            if through == SnapshotState::ToOn {
                self.versioning.on_since_ns.store(self.os.clock().monotonic_ns(), Release);
            }
            self.versioning.change_state(through, to);
            self.keep_versions();
        }
    }

    /// Waits for the writers that may have changed rows without leaving versions: transactions that have a table locked for changes now, or have
    /// written. Later ones lock their table after this check, and so find that versions are kept.
    fn await_writers(&self) -> SqlResult<()> {
        let newest = self.txns.max_txn();
        let mut others = self.writing_owners();
        while !others.is_empty() || self.txns.oldest_active_id() <= newest {
            self.os.sleep(PAUSE_NS, WaitType::ENABLE_VERSIONING).map_err(|_| interrupted())?;
            let present = self.writing_owners();
            others.retain(|owner| present.contains(owner));
        }
        Ok(())
    }

    fn writing_owners(&self) -> Vec<LockOwner> {
        let rows = self.txns.lock_manager().snapshot().into_iter();
        let of_this = |resource: Resource| matches!(resource, Resource::Object { database, .. } if database == self.number);
        let writes = |mode: LockMode| !matches!(mode, LockMode::SchS | LockMode::IS | LockMode::S);
        let rows = rows.filter(|row| !row.is_waiting() && of_this(row.resource) && writes(row.mode));
        rows.map(|row| row.owner).collect()
    }

    /// Whole seconds from then to now.
    pub fn seconds_since(&self, then: log::records::LogTime) -> i64 {
        let elapsed_100ns = self.os.clock().utc_100ns().saturating_sub(then.to_utc_100ns().cast_signed());
        elapsed_100ns.max(0) / 10_000_000
    }

    fn await_snapshots(&self) -> SqlResult<()> {
        let is_open = || {
            let open = self.txns.versions().open_snapshots();
            open.iter().any(|snapshot| snapshot.kind == SnapshotKind::Transaction)
        };
        while is_open() {
            self.os.sleep(PAUSE_NS, WaitType::DISABLE_VERSIONING).map_err(|_| interrupted())?;
        }
        Ok(())
    }
}
