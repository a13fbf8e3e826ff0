//! Profiles: the speed of a simulated device and its treatment of unconfirmed data.

use crate::rng::Rng;

/// A kind of device and its faults.
#[derive(Clone, Debug)]
pub struct Profile {
    /// A read takes this long, from..to.
    pub read_ns: (u64, u64),
    /// A write into the cache takes this long.
    pub cached_write_ns: (u64, u64),
    /// A durable write takes this long.
    pub durable_write_ns: (u64, u64),
    /// A sync takes this long.
    pub sync_ns: (u64, u64),
    /// Nanoseconds more for each KiB moved.
    pub ns_per_kib: u64,
    /// A power loss may leave garbage or a mixture of old and new inside a 512-byte sector that was being written.
    pub torn_sectors: bool,
    /// Unsynced directory entries may be lost.
    pub lossy_names: bool,
    /// Files opened `direct` are direct (and refuse unaligned requests).
    pub direct: bool,
    /// Of a hundred reads and writes, so many are cut short at a random byte.
    pub short_transfers_percent: u64,
    /// Whether the file system can preallocate space without writing it (`File::reserve`).
    pub reserves: bool,
    /// A run with more switches than this fails (it makes no progress).
    pub switches_max: u64,
}

impl Profile {
    /// A fast device with a power-safe sector: what most tests want.
    pub fn nvme() -> Profile {
        Profile {
            read_ns: (10_000, 90_000),
            cached_write_ns: (2_000, 10_000),
            durable_write_ns: (20_000, 200_000),
            sync_ns: (50_000, 400_000),
            ns_per_kib: 300,
            torn_sectors: false,
            lossy_names: true,
            direct: true,
            short_transfers_percent: 0,
            reserves: true,
            switches_max: 2_000_000,
        }
    }

    /// A slow disk whose sectors may be torn.
    pub fn disk_drive() -> Profile {
        Profile {
            read_ns: (500_000, 8_000_000),
            cached_write_ns: (2_000, 20_000),
            durable_write_ns: (1_000_000, 9_000_000),
            sync_ns: (2_000_000, 16_000_000),
            ns_per_kib: 8_000,
            torn_sectors: true,
            direct: false,
            ..Profile::nvme()
        }
    }

    /// The device of the seed articles' experiments: 170 to 212 us for a durable write, whatever its size.
    pub fn constant_latency() -> Profile {
        Profile { durable_write_ns: (170_000, 212_000), ns_per_kib: 0, ..Profile::nvme() }
    }

    /// One of the above, drawn from `seed` (a swarm of worlds sees all of them).
    pub fn drawn(seed: u64) -> Profile {
        let mut rng = Rng::named(seed, "profile");
        let mut profile = match rng.below(4) {
            0 => Profile::disk_drive(),
            1 => Profile::constant_latency(),
            _ => Profile::nvme(),
        };
        profile.torn_sectors |= rng.chance(1, 4);
        profile.reserves = !rng.chance(1, 4);
        profile
    }
}

impl Default for Profile {
    fn default() -> Profile {
        Profile::nvme()
    }
}
