//! The loop that fails each I/O of a body in turn.

use super::fault::{Fault, Operation};
use super::profile::Profile;
use super::report::Report;
use super::world::World;

/// Runs `body` on fresh worlds in which the k-th I/O fails, first once, then always, for k = 0, 1, 2 ... until a
/// world ends without a failed I/O. `body` runs and restarts the world and checks it; its reports must be ok.
/// Returns the number of worlds.
pub fn for_each_io_failure(seed: u64, operation: Operation, body: impl Fn(&World) -> Report) -> u64 {
    let mut worlds = 0;
    for forever in [false, true] {
        for k in 0.. {
            let world = World::new(seed, Profile::nvme());
            let fault = if forever { Fault::fail_from(operation, k) } else { Fault::fail_once(operation, k) };
            world.inject(fault);
            body(&world).assert_ok();
            worlds += 1;
            if world.faults_hit_total() == 0 {
                break;
            }
        }
    }
    worlds
}
