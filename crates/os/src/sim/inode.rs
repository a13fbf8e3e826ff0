//! One simulated file's bytes: the content for readers, and for each unconfirmed sector its whole history since it was durable.

use std::collections::BTreeMap;

use super::survival::Survival;
use crate::disk::WriteMode;
use crate::rng::Rng;

pub(super) const SECTOR_BYTES: usize = 512;

type Sector = Box<[u8; SECTOR_BYTES]>;

#[derive(Clone, Default)]
pub(super) struct Inode {
    /// The content for readers.
    pub(super) bytes: Vec<u8>,
    /// The durable length.
    durable_len: u64,
    /// Lengths since, oldest first.
    pending_lens: Vec<(u64, u64)>,
    /// Sectors with unconfirmed writes.
    unconfirmed: BTreeMap<u64, History>,
}

#[derive(Clone)]
struct History {
    durable: Sector,
    versions: Vec<Version>,
}

#[derive(Clone)]
struct Version {
    ticket: u64,
    data: Sector,
    /// A `Durable` write: a failed sync of the page cache does not affect it.
    write_through: bool,
    /// A sync failed while this was dirty: no later sync makes it durable (the kernel has dropped it).
    doomed: bool,
}

impl Inode {
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let start = (offset as usize).min(self.bytes.len());
        let count = buffer.len().min(self.bytes.len() - start);
        buffer[..count].copy_from_slice(&self.bytes[start..start + count]);
        count
    }

    /// Readers see the bytes at once; a power loss may lose each sector until `confirm`.
    pub(super) fn write(&mut self, data: &[u8], offset: u64, ticket: u64, mode: WriteMode) {
        if data.is_empty() {
            return;
        }
        let end = offset as usize + data.len();
        if end > self.bytes.len() {
            self.set_len(end as u64, ticket);
        }
        let sectors = offset / SECTOR_BYTES as u64..=(end as u64 - 1) / SECTOR_BYTES as u64;
        // Zeros over durable zeros change nothing, whether they are kept, lost or torn between the two.
        let is_known = self.unconfirmed.range(sectors.clone()).next().is_some();
        let range = offset as usize..end;
        if !is_known && data.iter().chain(&self.bytes[range]).all(|&byte| byte == 0) {
            return;
        }
        for sector in sectors.clone() {
            if !self.unconfirmed.contains_key(&sector) {
                let history = History { durable: self.sector(sector), versions: Vec::new() };
                self.unconfirmed.insert(sector, history);
            }
        }
        self.bytes[offset as usize..end].copy_from_slice(data);
        for sector in sectors {
            let data = self.sector(sector);
            let history = self.unconfirmed.get_mut(&sector).expect("inserted just above");
            history.versions.push(Version {
                ticket,
                data,
                write_through: mode == WriteMode::Durable,
                doomed: false,
            });
        }
    }

    pub(super) fn set_len(&mut self, len: u64, ticket: u64) {
        self.bytes.resize(len as usize, 0);
        self.pending_lens.push((ticket, len));
    }

    /// Zeros over a range, durable at once (the caller has let the time for it pass).
    pub(super) fn zero_durably(&mut self, from: u64, to: u64, ticket: u64) {
        if self.bytes.len() < to as usize {
            self.bytes.resize(to as usize, 0);
        }
        self.bytes[from as usize..to as usize].fill(0);
        let inside: Vec<u64> =
            self.unconfirmed.range(from / 512..to / 512).map(|(&sector, _)| sector).collect();
        for sector in inside {
            self.unconfirmed.remove(&sector);
        }
        self.confirm_len(ticket);
        self.durable_len = self.durable_len.max(to);
    }

    /// All writes up to `ticket` are durable, as after a sync.
    pub(super) fn confirm_all(&mut self, ticket: u64) {
        self.unconfirmed.retain(|_, history| history.confirm(ticket));
        self.confirm_len(ticket);
    }

    /// The sectors of one durable write are durable. False when a sync that failed meanwhile has dropped some of them: the
    /// write must fail too (its own sync would have seen the error).
    pub(super) fn confirm_range(&mut self, offset: u64, len: usize, ticket: u64) -> bool {
        if len == 0 {
            return true;
        }
        let mut whole = true;
        let sectors = offset / SECTOR_BYTES as u64..=(offset + len as u64 - 1) / SECTOR_BYTES as u64;
        let inside: Vec<u64> = self.unconfirmed.range(sectors).map(|(&sector, _)| sector).collect();
        for sector in inside {
            let history = self.unconfirmed.get_mut(&sector).expect("found just above");
            whole &= !history.versions.iter().any(|version| version.ticket == ticket && version.doomed);
            if !history.confirm(ticket) {
                self.unconfirmed.remove(&sector);
            }
        }
        if self.durable_len < offset + len as u64 {
            self.confirm_len(ticket);
        }
        whole
    }

    /// A sync failed: dirty data may be dropped for ever.
    pub(super) fn doom(&mut self, rng: &mut Rng) {
        for version in self.unconfirmed.values_mut().flat_map(|history| &mut history.versions) {
            version.doomed |= !version.write_through && rng.chance(1, 2);
        }
    }

    /// The bytes as they are after a power loss; all of them are durable then.
    pub(super) fn lose_power(&mut self, survival: &Survival, torn_sectors: bool, rng: &mut Rng) {
        let lens: Vec<u64> = self.pending_lens.iter().map(|&(_, len)| len).collect();
        let kept_len = survival.draw(&self.pending_lens, rng).map_or(self.durable_len, |at| lens[at]);
        let unconfirmed = std::mem::take(&mut self.unconfirmed);
        for (sector, history) in unconfirmed {
            let survivor = history.survivor(survival, torn_sectors, rng);
            let start = sector as usize * SECTOR_BYTES;
            if start >= self.bytes.len() {
                continue;
            }
            let end = (start + SECTOR_BYTES).min(self.bytes.len());
            self.bytes[start..end].copy_from_slice(&survivor[..end - start]);
        }
        self.bytes.resize(kept_len as usize, 0);
        self.durable_len = kept_len;
        self.pending_lens.clear();
    }

    /// Makes everything durable (the state of an image).
    pub(super) fn settle(&mut self) {
        self.unconfirmed.clear();
        self.pending_lens.clear();
        self.durable_len = self.bytes.len() as u64;
    }

    fn confirm_len(&mut self, ticket: u64) {
        if let Some(at) = self.pending_lens.iter().rposition(|&(other, _)| other <= ticket) {
            self.durable_len = self.pending_lens[at].1;
            self.pending_lens.drain(..=at);
        }
    }

    fn sector(&self, sector: u64) -> Sector {
        let mut data = Box::new([0; SECTOR_BYTES]);
        let start = sector as usize * SECTOR_BYTES;
        if start < self.bytes.len() {
            let end = (start + SECTOR_BYTES).min(self.bytes.len());
            data[..end - start].copy_from_slice(&self.bytes[start..end]);
        }
        data
    }
}

impl History {
    /// Makes the newest version up to `ticket` the durable one; false when nothing unconfirmed is left.
    fn confirm(&mut self, ticket: u64) -> bool {
        if let Some(at) =
            self.versions.iter().rposition(|version| version.ticket <= ticket && !version.doomed)
        {
            self.durable = self.versions[at].data.clone();
            self.versions.drain(..=at);
        }
        !self.versions.is_empty()
    }

    fn survivor(&self, survival: &Survival, torn_sectors: bool, rng: &mut Rng) -> Sector {
        let tickets: Vec<(u64, u64)> = self.versions.iter().map(|version| (version.ticket, 0)).collect();
        let Some(at) = survival.draw(&tickets, rng) else {
            return self.durable.clone();
        };
        let mut data = self.versions[at].data.clone();
        if torn_sectors && rng.chance(1, 8) {
            let before = if at == 0 { &self.durable } else { &self.versions[at - 1].data };
            let cut = rng.below(SECTOR_BYTES as u64) as usize;
            if rng.chance(1, 2) {
                data[cut..].copy_from_slice(&before[cut..]);
            } else {
                rng.fill(&mut data[cut..]);
            }
        }
        data
    }
}
