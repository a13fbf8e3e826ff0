//! The state of the simulated disk: names, contents, and their durable parts; contract in `disk.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::fault::{Faults, full_error};
use super::inode::Inode;
use super::names::Names;
use super::profile::Profile;
use super::survival::Survival;
use super::trace::WriteTrace;
use crate::error::IoError;
use crate::rng::Rng;

/// A disk's content, to begin a world with. Everything in it counts as durable.
#[derive(Clone, Default)]
pub struct DiskImage {
    pub(super) names: Names,
    pub(super) inodes: BTreeMap<u64, Inode>,
}

pub(super) struct DiskState {
    pub(super) names: Names,
    pub(super) inodes: BTreeMap<u64, Inode>,
    pub(super) next_inode: u64,
    pub(super) next_ticket: u64,
    pub(super) locks: BTreeSet<PathBuf>,
    pub(super) rng: Rng,
    pub(super) profile: Profile,
    pub(super) power_off_at: Option<u64>,
    pub(super) faults: Faults,
    pub(super) capacity_bytes: Option<u64>,
    pub(super) io_total: u64,
    pub(super) hash: u64,
    pub(super) trace: WriteTrace,
}

impl DiskState {
    pub(super) fn new(image: DiskImage, rng: Rng, profile: &Profile) -> DiskState {
        let next_inode = image.inodes.last_key_value().map_or(1, |(&inode, _)| inode + 1);
        DiskState {
            names: image.names,
            inodes: image.inodes,
            next_inode,
            next_ticket: 1,
            locks: BTreeSet::new(),
            rng,
            profile: profile.clone(),
            power_off_at: None,
            faults: Faults::default(),
            capacity_bytes: None,
            io_total: 0,
            hash: 0,
            trace: WriteTrace::default(),
        }
    }

    /// A new process: releases the locks of the old one.
    pub(super) fn release_locks(&mut self) {
        self.locks.clear();
    }

    pub(super) fn power_off_after(&mut self, count: u64) {
        self.power_off_at = Some(self.io_total + count);
    }

    pub(super) fn power_loss(&mut self) {
        let newest = self.next_ticket;
        let survival = match self.rng.below(10) {
            0 => Survival::KeepAll,
            1 | 2 => Survival::LoseAll,
            3 | 4 => Survival::UpTo(newest.saturating_sub(self.rng.below(64))),
            _ => Survival::Each(1 + self.rng.below(15)),
        };
        self.names.lose_power(self.profile.lossy_names, &mut self.rng);
        let named: BTreeSet<u64> = self.names.files().map(|(_, inode)| inode).collect();
        self.inodes.retain(|inode, _| named.contains(inode));
        for inode in self.inodes.values_mut() {
            inode.lose_power(&survival, self.profile.torn_sectors, &mut self.rng);
        }
        self.power_off_at = None;
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.names
            .files()
            .filter_map(|(_, inode)| self.inodes.get(&inode))
            .map(|inode| inode.bytes.len() as u64)
            .sum()
    }

    pub(super) fn corrupt(&mut self, path: &Path, offset: u64, bytes: &[u8]) {
        let inode = self.names.file(path).expect("the file to corrupt exists");
        let content = &mut self.inode(inode).bytes;
        let start = offset as usize;
        assert!(start + bytes.len() <= content.len(), "corrupting beyond the end of {}", path.display());
        content[start..start + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn file_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let inode = self.names.file(path).ok()?;
        self.inodes.get(&inode).map(|inode| inode.bytes.clone())
    }

    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.names.files().map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn image(&self) -> DiskImage {
        let mut image = DiskImage { names: self.names.clone(), inodes: self.inodes.clone() };
        image.names.settle();
        for inode in image.inodes.values_mut() {
            inode.settle();
        }
        image
    }

    pub(super) fn inode(&mut self, inode: u64) -> &mut Inode {
        self.inodes.entry(inode).or_default()
    }

    pub(super) fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    pub(super) fn check_room(
        &self,
        inode: u64,
        end: u64,
        what: impl FnOnce() -> String,
    ) -> Result<(), IoError> {
        let Some(capacity) = self.capacity_bytes else { return Ok(()) };
        let len = self.inodes.get(&inode).map_or(0, |inode| inode.bytes.len() as u64);
        let growth = end.saturating_sub(len);
        if growth > 0 && self.used_bytes() + growth > capacity { Err(full_error(what())) } else { Ok(()) }
    }

    pub(super) fn mix(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }

    pub(super) fn drawn_ns(&mut self, range: (u64, u64), bytes: usize) -> u64 {
        self.rng.between(range.0, range.1) + self.profile.ns_per_kib * (bytes as u64).div_ceil(1024)
    }
}
