//! Row versioning of a database: READ_COMMITTED_SNAPSHOT, and ALLOW_SNAPSHOT_ISOLATION with its states.
//!
//! ```text
//!  Off ──begin_change(on)──► ToOn ──await_writers──► On ──begin_change(off)──► ToOff ──await_snapshots──► Off
//!   ▲ ◄── interrupted ────────┘                       ▲ ◄──── interrupted ───────┘
//! ```
//! Writers leave versions in every state but Off, and under READ_COMMITTED_SNAPSHOT. What the options say is kept with them and put in force
//! when the database is opened; a change that was under way when the server stopped has not happened.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};

use os::WaitType;
use txn::{LockMode, LockOwner, Resource, SnapshotKind};
use types::SqlError;

use crate::database::Database;
use crate::error::{SqlResult, interrupted};
use crate::options::DatabaseOptions;

/// The switch of RCSI among the options.
pub const COMMITTED_SNAPSHOT_SWITCH: &str = "READ_COMMITTED_SNAPSHOT";
/// The switch of SNAPSHOT among the options.
pub const SNAPSHOT_SWITCH: &str = "ALLOW_SNAPSHOT_ISOLATION";
/// How often it is looked whether those who are waited for have ended.
const PAUSE_NS: u64 = 10_000_000;

/// ALLOW_SNAPSHOT_ISOLATION; numbers as in `snapshot_isolation_state` of sys.databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SnapshotState {
    /// Not allowed.
    Off = 0,
    /// Allowed.
    On = 1,
    /// No transaction may begin in it; those that have go on.
    ToOff = 2,
    /// Writers leave versions; those from before are waited for.
    ToOn = 3,
}

impl SnapshotState {
    fn from_number(number: u8) -> SnapshotState {
        [SnapshotState::Off, SnapshotState::On, SnapshotState::ToOff, SnapshotState::ToOn]
            [usize::from(number)]
    }

    /// `snapshot_isolation_state_desc` of sys.databases.
    pub fn description(self) -> &'static str {
        match self {
            SnapshotState::Off => "OFF",
            SnapshotState::On => "ON",
            SnapshotState::ToOff => "IN_TRANSITION_TO_OFF",
            SnapshotState::ToOn => "IN_TRANSITION_TO_ON",
        }
    }
}

/// What is in force.
pub(crate) struct RowVersioning {
    committed_snapshot: AtomicBool,
    state: AtomicU8,
    /// Since when ALLOW_SNAPSHOT_ISOLATION has been ON (monotonic, ns); 0: since the database was opened.
    on_since_ns: AtomicU64,
}

fn is_on(options: &DatabaseOptions, switch: &str) -> bool {
    options.switches.get(switch).copied().unwrap_or(false)
}

impl RowVersioning {
    pub(crate) fn new(options: &DatabaseOptions) -> RowVersioning {
        RowVersioning {
            committed_snapshot: AtomicBool::new(is_on(options, COMMITTED_SNAPSHOT_SWITCH)),
            state: AtomicU8::new(u8::from(is_on(options, SNAPSHOT_SWITCH))),
            on_since_ns: AtomicU64::new(0),
        }
    }

    fn state(&self) -> SnapshotState {
        SnapshotState::from_number(self.state.load(Acquire))
    }

    fn change_state(&self, from: SnapshotState, to: SnapshotState) -> bool {
        let allowed = matches!(
            (from, to),
            (SnapshotState::Off | SnapshotState::On, SnapshotState::ToOn | SnapshotState::ToOff)
                | (SnapshotState::ToOn | SnapshotState::ToOff, SnapshotState::On | SnapshotState::Off)
        );
        assert!(allowed, "{from:?} to {to:?}");
        self.state.compare_exchange(from as u8, to as u8, AcqRel, Acquire).is_ok()
    }
}

impl Database {
    /// ALLOW_SNAPSHOT_ISOLATION as it stands.
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

    /// Writers leave versions as the options in force ask for.
    pub(crate) fn keep_versions(&self) {
        let keeps = self.reads_committed_snapshot() || self.snapshot_state() != SnapshotState::Off;
        assert!(!(keeps && self.is_volatile()), "what is lost at each start has no versions");
        self.txns.versions().keep(keeps);
    }

    /// Options have changed. Nobody else is in the database when READ_COMMITTED_SNAPSHOT changes: the caller has seen to that.
    pub(crate) fn apply_versioning(&self, options: &DatabaseOptions) {
        self.versioning.committed_snapshot.store(is_on(options, COMMITTED_SNAPSHOT_SWITCH), Release);
        self.keep_versions();
    }

    /// The first half of ALLOW_SNAPSHOT_ISOLATION: returns when everybody has ended who is in the way. `end_snapshot_change` follows once
    /// the option is kept. Nothing to do in the state that is wanted.
    ///
    /// # Errors
    /// 5061 while another changes it; an interrupt: it is then as it was.
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

    /// The second half: the option is kept, or (`is_kept` false) could not be.
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

    /// Waits for the writers that may have changed rows without leaving versions: whoever has a table locked for changes now, or has written.
    /// Later ones lock their table after this look, and so find that versions are kept.
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
