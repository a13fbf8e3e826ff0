//! The disks with which scenarios begin: each made in a world of its own, in which nothing goes wrong.

use std::sync::Arc;

use engine::Instance;
use os::Os;
use os::sim::{DiskImage, Profile, World};
use session::SessionShared;

use crate::client::{Client, shared};

/// The disk of a server that `open` has started for the first time and that has done what `fill` says, and was stopped. `fill` gets a session
/// in master, and gives it back closed.
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
