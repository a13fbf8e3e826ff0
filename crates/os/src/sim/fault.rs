//! Faults of the simulated disk.

use crate::error::IoError;

/// The operations that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads.
    Read,
    /// Writes and changes of length.
    Write,
    /// Writes that are durable when they return; a fault of this kind affects these and syncs.
    Harden,
    /// Syncs of files and directories.
    Sync,
    /// Creating, renaming, removing.
    Name,
    /// All of them.
    Any,
}

impl Operation {
    /// Does a fault for `self` affect an operation of the kind `actual`?
    fn covers(self, actual: Operation) -> bool {
        self == actual
            || match self {
                Operation::Any => true,
                Operation::Write => actual == Operation::Harden,
                Operation::Harden => actual == Operation::Sync,
                _ => false,
            }
    }
}

/// The effect of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// EIO. A failed write leaves some of its sectors; a failed sync may drop dirty data for ever.
    Fail,
    /// ENOSPC.
    NoSpace,
    /// It takes this much longer.
    Delay(u64),
    /// A read or write moves at most so many bytes in this call; the caller requests the rest again.
    Short(usize),
    /// The power goes off in the middle of it.
    PowerOff,
    /// It takes this much longer, and then the power goes off in the middle of it: other tasks' operations meanwhile have happened.
    LatePowerOff(u64),
}

/// A fault: of the matching operations, the first `skip` succeed, the next `times` are affected.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The affected operations.
    pub operation: Operation,
    /// Only files whose path contains this (empty: all).
    pub path_contains: String,
    /// Matching operations before the first affected one.
    pub skip: u64,
    /// Number of affected operations (`u64::MAX`: all).
    pub times: u64,
    /// The effect.
    pub effect: Effect,
}

impl Fault {
    /// EIO for the `k`-th operation (from 0), once.
    pub fn fail_once(operation: Operation, k: u64) -> Fault {
        Fault { operation, path_contains: String::new(), skip: k, times: 1, effect: Effect::Fail }
    }

    /// EIO for the `k`-th operation (from 0) and all after it.
    pub fn fail_from(operation: Operation, k: u64) -> Fault {
        Fault { times: u64::MAX, ..Fault::fail_once(operation, k) }
    }

    /// Only on files whose path contains `part`.
    pub fn on(mut self, part: &str) -> Fault {
        self.path_contains = part.to_owned();
        self
    }
}

#[derive(Default)]
pub(super) struct Faults {
    active: Vec<Fault>,
    pub(super) hits_total: u64,
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.active.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.active.clear();
    }

    /// The effect on this operation, if any.
    pub(super) fn strike(&mut self, operation: Operation, path: &str) -> Option<Effect> {
        let mut struck = None;
        for fault in &mut self.active {
            let matches = fault.operation.covers(operation);
            if !matches || fault.times == 0 || !path.contains(&fault.path_contains) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
            } else {
                fault.times = if fault.times == u64::MAX { u64::MAX } else { fault.times - 1 };
                struck = struck.or(Some(fault.effect));
            }
        }
        self.hits_total += u64::from(struck.is_some());
        struck
    }
}

pub(super) fn device_error(what: String) -> IoError {
    IoError::from_code(libc::EIO, what)
}

pub(super) fn full_error(what: String) -> IoError {
    IoError::from_code(libc::ENOSPC, what)
}
