//! The states of a database's row versioning; the heading of `versioning.rs` draws the transitions.

use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};

use crate::options::DatabaseOptions;

/// The name of the RCSI option.
pub const COMMITTED_SNAPSHOT_SWITCH: &str = "READ_COMMITTED_SNAPSHOT";
/// The name of the SNAPSHOT option.
pub const SNAPSHOT_SWITCH: &str = "ALLOW_SNAPSHOT_ISOLATION";
/// ALLOW_SNAPSHOT_ISOLATION; numbers as in `snapshot_isolation_state` of sys.databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SnapshotState {
    /// Not allowed.
    Off = 0,
    /// Allowed.
    On = 1,
    /// No transaction may begin in it; running ones continue.
    ToOff = 2,
    /// Writers leave versions; those that began before are waited for.
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

/// The row versioning in force.
pub(crate) struct RowVersioning {
    pub(crate) committed_snapshot: AtomicBool,
    pub(crate) state: AtomicU8,
    /// Since when ALLOW_SNAPSHOT_ISOLATION has been ON (monotonic, ns); 0: since the database was opened.
    pub(crate) on_since_ns: AtomicU64,
}

/// Is the option on?
pub(crate) fn is_on(options: &DatabaseOptions, switch: &str) -> bool {
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

    pub(crate) fn state(&self) -> SnapshotState {
        SnapshotState::from_number(self.state.load(Acquire))
    }

    pub(crate) fn change_state(&self, from: SnapshotState, to: SnapshotState) -> bool {
        let allowed = matches!(
            (from, to),
            (SnapshotState::Off | SnapshotState::On, SnapshotState::ToOn | SnapshotState::ToOff)
                | (SnapshotState::ToOn | SnapshotState::ToOff, SnapshotState::On | SnapshotState::Off)
        );
        assert!(allowed, "{from:?} to {to:?}");
        self.state.compare_exchange(from as u8, to as u8, AcqRel, Acquire).is_ok()
    }
}
