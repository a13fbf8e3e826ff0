//! Recovery in worlds in which only the disk survives a crash: restarts until one recovery completes.

use std::sync::Arc;

use os::sim::World;
use os::{Latch, LatchRank, Os, Rng};

use crate::nemesis::Nemesis;
use crate::{Outcome, survival};

/// How often the power fails during a recovery.
pub(crate) struct Disturbance {
    /// One recovery in so many.
    pub(crate) one_in: u64,
    /// The power fails after at most so many disk operations.
    pub(crate) ios_max: u64,
}

/// Restarts, at most three times with a crash in the middle of recovery, and returns the result of `show`. `None`: the disk was unreadable, which is
/// a violation, or the run failed.
pub(crate) fn recover<T: Send + 'static>(
    world: &World,
    rng: &mut Rng,
    disturbance: &Disturbance,
    outcome: &mut Outcome,
    show: fn(&Os) -> Result<T, String>,
) -> Option<T> {
    for attempt in 0..4 {
        let is_disturbed = attempt < 3 && rng.chance(1, disturbance.one_in);
        let nemesis = match is_disturbed {
            true => Nemesis::PowerOffAtIo(1 + rng.below(disturbance.ios_max)),
            false => Nemesis::None,
        };
        nemesis.arm(world);
        outcome.log.push(format!("recovery {attempt} {nemesis:?}"));
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let answer = Arc::clone(&found);
        let report = world.run(move |os| {
            let shown = show(os);
            *answer.lock() = Some(shown);
        });
        outcome.note(&report);
        match survival::told_to_the_end(report.end, &found) {
            None if survival::is_crash(report.end) => {}
            None => return None,
            Some(Err(text)) => {
                outcome.violations.push(format!("UNREADABLE: {text}"));
                return None;
            }
            Some(Ok(shown)) => return Some(shown),
        }
    }
    None
}
