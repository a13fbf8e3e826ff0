//! A data directory that cannot be written gives a clear error at start, whether it exists or would have to be created.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;

use hardpan_engine::{Instance, InstanceOptions};
use os::Os;

#[test]
fn a_directory_that_cannot_be_written_is_refused_plainly() {
    // No user can create files there.
    for folder in ["/sys", "/sys/hardpan-data"] {
        let error = Instance::open(&Os::real(), &InstanceOptions::new(Path::new(folder))).err().unwrap();
        let text = error.to_string();
        assert!(text.contains(&format!("the data directory {folder} cannot be written")), "{text}");
    }
}
