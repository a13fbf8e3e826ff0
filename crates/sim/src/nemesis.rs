//! Nemeses: faults that end or disturb a run of a world. They are drawn from the seed and armed before the run.

use os::Rng;
use os::sim::{Effect, Fault, Operation, World};

/// Occurs in the paths of user databases' data files and of their doublewrite files.
const DATA_FILES: &str = ".mdf";

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nemesis {
    /// With an orderly stop.
    None,
    /// The power goes off in the middle of the n-th disk operation.
    PowerOffAtIo(u64),
    /// The power goes off at the n-th switch of tasks.
    PowerOffAtSwitch(u64),
    /// The process is killed at the n-th switch; the page cache survives.
    KillAtSwitch(u64),
    /// The process is killed before its n-th store into memory that survives the process.
    KillAtStore(u64),
    /// The power goes off before that store.
    PowerOffAtStore(u64),
}

impl Nemesis {
    /// Draws one for a run of about `ios` disk operations and `switches` task switches.
    pub fn draw(rng: &mut Rng, ios: u64, switches: u64) -> Nemesis {
        match rng.below(10) {
            0 => Nemesis::None,
            1 | 2 => Nemesis::KillAtSwitch(1 + rng.below(switches)),
            3..=5 => Nemesis::PowerOffAtSwitch(1 + rng.below(switches)),
            _ => Nemesis::PowerOffAtIo(1 + rng.below(ios)),
        }
    }

    /// Draws a store of a run with few or many stores: every power of two is an equally likely upper bound, so that the first stores, which name the
    /// owner of the memory, are hit often enough.
    pub fn draw_store(rng: &mut Rng) -> u64 {
        let within = 16 << rng.below(9);
        1 + rng.below(within)
    }

    /// Arms it for the world's next run; disarms that of an earlier run.
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

/// A fault of the disk during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// One write fails; later ones succeed.
    FailedWrite(u64),
    /// One sync fails: the data may be lost although later syncs succeed.
    FailedSync(u64),
    /// After so many bytes the disk is full.
    FullAfter(u64),
    /// A write or sync stalls for a second.
    Stall(u64),
    /// One read fails.
    FailedRead(u64),
    /// A write to a data file or its doublewrite file takes so many nanoseconds; the power goes off in the middle of it.
    SlowPages(u64, u64),
}

impl Trouble {
    /// Draws a fault, mostly none.
    pub fn draw(rng: &mut Rng, ios: u64) -> Trouble {
        match rng.below(16) {
            0 => Trouble::FailedWrite(rng.below(ios)),
            1 => Trouble::FailedSync(rng.below(ios / 20 + 1)),
            2 => Trouble::FullAfter(rng.below(1 << 20)),
            3 => Trouble::Stall(rng.below(ios)),
            _ => Trouble::None,
        }
    }

    /// Like `draw`, also with read failures. A function of its own, so that the seeds of other scenarios keep their meaning.
    pub fn draw_any(rng: &mut Rng, ios: u64) -> Trouble {
        match rng.below(12) {
            0 => Trouble::FailedRead(rng.below(ios / 4 + 1)),
            _ => Trouble::draw(rng, ios),
        }
    }

    /// A slow page write in the middle of which the power goes off.
    pub fn draw_slow_pages(rng: &mut Rng, writes: u64) -> Trouble {
        Trouble::SlowPages(rng.below(writes), 1_000_000 + rng.below(400_000_000))
    }

    /// Can it cause disk errors?
    pub fn makes_errors(self) -> bool {
        !matches!(self, Trouble::None | Trouble::Stall(_) | Trouble::SlowPages(..))
    }

    /// Arms it for the world's next run.
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

    /// Removes all faults of the disk.
    pub fn heal(world: &World) {
        world.clear_faults();
        world.set_capacity_bytes(None);
    }
}
