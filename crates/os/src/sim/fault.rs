//! Faults of the simulated disk.

use crate::error::IoError;

/// What a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads.
    Read,
    /// Writes and changes of length.
    Write,
    /// Writes that are durable when they return; as what a fault strikes: these and syncs.
    Harden,
    /// Syncs of files and directories.
    Sync,
    /// Creating, renaming, removing.
    Name,
    /// All of them.
    Any,
}

impl Operation {
    /// Does a fault for `self` strike an operation of the kind `actual`?
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

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// EIO. A failed write leaves some of its sectors; a failed sync may drop what was dirty, for good.
    Fail,
    /// ENOSPC.
    NoSpace,
    /// It takes this much longer.
    Delay(u64),
    /// A read or write moves at most so many bytes in this call; what is left is asked for again.
    Short(usize),
    /// The power goes off in the middle of it.
    PowerOff,
    /// It takes this much longer, and then the power goes off in the middle of it: what others did meanwhile has happened.
    LatePowerOff(u64),
}

/// A fault: of the operations that match, the first `skip` are spared, the next `times` are struck.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What it strikes.
    pub operation: Operation,
    /// Only files whose path contains this (empty: all).
    pub path_contains: String,
    /// Matching operations before the first that is struck.
    pub skip: u64,
    /// Operations that are struck (`u64::MAX`: for ever).
    pub times: u64,
    /// What happens to them.
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

    /// What strikes this operation, if anything does.
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
