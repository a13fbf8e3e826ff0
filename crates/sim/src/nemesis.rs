//! Nemeses: how a run of a world is ended or hurt. Drawn from the seed, armed before the run.

use os::Rng;
use os::sim::{Effect, Fault, Operation, World};

/// Part of the paths of data files of users and of their doublewrite files.
const DATA_FILES: &str = ".mdf";

/// How a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nemesis {
    /// By itself: an orderly stop.
    None,
    /// The power goes off in the middle of the n-th disk operation.
    PowerOffAtIo(u64),
    /// The power goes off at the n-th switch of tasks.
    PowerOffAtSwitch(u64),
    /// The process is killed at the n-th switch; the page cache survives.
    KillAtSwitch(u64),
    /// The process is killed before its n-th store into memory that outlives it.
    KillAtStore(u64),
    /// The power goes off there.
    PowerOffAtStore(u64),
}

impl Nemesis {
    /// Draws one for a run that would do about `ios` disk operations and `switches` switches.
    pub fn draw(rng: &mut Rng, ios: u64, switches: u64) -> Nemesis {
        match rng.below(10) {
            0 => Nemesis::None,
            1 | 2 => Nemesis::KillAtSwitch(1 + rng.below(switches)),
            3..=5 => Nemesis::PowerOffAtSwitch(1 + rng.below(switches)),
            _ => Nemesis::PowerOffAtIo(1 + rng.below(ios)),
        }
    }

    /// Draws a store of a run that may do few or many: below any power of two alike, so that the first ones, which say whose the memory is,
    /// have their share.
    pub fn draw_store(rng: &mut Rng) -> u64 {
        let within = 16 << rng.below(9);
        1 + rng.below(within)
    }

    /// Prepares the world's next run; takes back what an earlier run left armed.
    pub fn arm(self, world: &World) {
        world.disarm();
        match self {
            Nemesis::None => {}
            Nemesis::PowerOffAtIo(count) => world.power_off_after_ios(count),
            Nemesis::PowerOffAtSwitch(count) => world.power_off_after_switches(count),
            Nemesis::KillAtSwitch(count) => world.kill_after_switches(count),
            Nemesis::KillAtStore(count) => world.kill_after_stores(count),
            Nemesis::PowerOffAtStore(count) => world.power_off_after_stores(count),
        }
    }
}

/// What is wrong with the device during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// A write fails, once, and what comes after works again.
    FailedWrite(u64),
    /// A sync fails, once: the data may be dropped although later syncs succeed.
    FailedSync(u64),
    /// So many bytes more, then the disk is full.
    FullAfter(u64),
    /// A write or sync stalls for a second.
    Stall(u64),
    /// A read fails, once.
    FailedRead(u64),
    /// A write to a data file or its doublewrite file takes so many nanoseconds, and then the power goes off in the middle of it.
    SlowPages(u64, u64),
}

impl Trouble {
    /// Mostly none.
    pub fn draw(rng: &mut Rng, ios: u64) -> Trouble {
        match rng.below(16) {
            0 => Trouble::FailedWrite(rng.below(ios)),
            1 => Trouble::FailedSync(rng.below(ios / 20 + 1)),
            2 => Trouble::FullAfter(rng.below(1 << 20)),
            3 => Trouble::Stall(rng.below(ios)),
            _ => Trouble::None,
        }
    }

    /// Reads may fail, too; apart from `draw`, so that the seeds of the other scenarios keep their meaning.
    pub fn draw_any(rng: &mut Rng, ios: u64) -> Trouble {
        match rng.below(12) {
            0 => Trouble::FailedRead(rng.below(ios / 4 + 1)),
            _ => Trouble::draw(rng, ios),
        }
    }

    /// A write of pages in which the power goes off, long after it began.
    pub fn draw_slow_pages(rng: &mut Rng, writes: u64) -> Trouble {
        Trouble::SlowPages(rng.below(writes), 1_000_000 + rng.below(400_000_000))
    }

    /// Whether errors of the device are to be expected.
    pub fn makes_errors(self) -> bool {
        !matches!(self, Trouble::None | Trouble::Stall(_) | Trouble::SlowPages(..))
    }

    /// Prepares the world's next run.
    pub fn arm(self, world: &World) {
        Trouble::heal(world);
        match self {
            Trouble::None => {}
            Trouble::FailedWrite(k) => world.inject(Fault::fail_once(Operation::Write, k)),
            Trouble::FailedSync(k) => world.inject(Fault::fail_once(Operation::Sync, k)),
            Trouble::FullAfter(bytes) => world.set_capacity_bytes(Some(world.used_bytes() + bytes)),
            Trouble::FailedRead(k) => world.inject(Fault::fail_once(Operation::Read, k)),
            Trouble::SlowPages(k, ns) => {
                let fault = Fault::fail_once(Operation::Write, k).on(DATA_FILES);
                world.inject(Fault { effect: Effect::LatePowerOff(ns), ..fault });
            }
            Trouble::Stall(k) => {
                let effect = Effect::Delay(1_000_000_000);
                world.inject(Fault { effect, ..Fault::fail_once(Operation::Any, k) });
            }
        }
    }

    /// The device is healthy again.
    pub fn heal(world: &World) {
        world.clear_faults();
        world.set_capacity_bytes(None);
    }
}
