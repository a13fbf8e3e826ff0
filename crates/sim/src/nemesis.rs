//! Nemeses: how a run of a world is ended or hurt. Drawn from the seed, armed before the run.

use os::Rng;
use os::sim::World;

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

    /// Prepares the world's next run; takes back what an earlier run left armed.
    pub fn arm(self, world: &World) {
        world.disarm();
        match self {
            Nemesis::None => {}
            Nemesis::PowerOffAtIo(count) => world.power_off_after_ios(count),
            Nemesis::PowerOffAtSwitch(count) => world.power_off_after_switches(count),
            Nemesis::KillAtSwitch(count) => world.kill_after_switches(count),
        }
    }
}
