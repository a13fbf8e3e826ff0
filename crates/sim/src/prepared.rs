//! Initial disks of scenarios: each is made in a world of its own, without faults.

use std::sync::Arc;

use engine::Instance;
use os::Os;
use os::sim::{DiskImage, Profile, World};
use session::SessionShared;

use crate::client::{Client, shared};

/// The disk of a server that `open` started for the first time, on which `fill` ran, and that was stopped. `fill` receives a session
/// in master, and returns it closed.
pub(crate) fn disk(
    open: impl FnOnce(&Os) -> Result<Arc<Instance>, String> + Send + 'static,
    fill: impl FnOnce(Client, &SessionShared) + Send + 'static,
) -> DiskImage {
    let world = World::new(0, Profile::nvme());
    let report = world.run(move |os| {
        let instance = open(os).expect("a first start on a healthy disk");
        let sessions = shared(&instance);
        fill(Client::connect(&sessions, "master").expect("master"), &sessions);
        instance.shutdown();
    });
    report.assert_ok();
    world.disk_image()
}
