//! `max server memory (MB)`: the common memory limit of requests follows it as soon as RECONFIGURE has installed it, and after a restart. In a
//! process of its own, since the limits are the process's.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{World, numbers, run};

const MB: u64 = 1 << 20;

fn request_mb() -> Option<u64> {
    os::memory::request_bytes_max().map(|bytes| bytes / MB)
}

/// A request may use three quarters of the common limit: 96 MB of 128, 1,536 of 2,048.
#[test]
fn the_budget_of_requests_follows_the_configuration() {
    let mut world = World::new("server-memory");
    let mut session = world.session();
    assert_eq!(request_mb(), None, "nobody has set a limit");
    run(&mut session, "EXEC sp_configure 'show advanced options', 1 RECONFIGURE");
    assert_eq!(request_mb(), None, "another option is none of its business");
    assert_eq!(numbers(&run(&mut session, "EXEC sp_configure 'max server memory (MB)', 128")), [15457]);
    assert_eq!(request_mb(), None, "configured, not installed");
    run(&mut session, "RECONFIGURE");
    assert_eq!(request_mb(), Some(96));
    let large =
        "DECLARE @v varchar(max) = REPLICATE(CAST('x' AS varchar(max)), 60000000) SELECT LEN(@v + @v)";
    assert_eq!(numbers(&run(&mut session, large)), [701]);
    run(&mut session, "EXEC sp_configure 'max server memory (MB)', 2048 RECONFIGURE");
    assert_eq!(request_mb(), Some(1_536));
    assert_eq!(common::rows(&mut session, large), ["120000000"]);
    let total = "SELECT SUM(target_memory_kb) / 1024 FROM sys.dm_exec_query_resource_semaphores WHERE resource_semaphore_id = 0";
    assert_eq!(common::rows(&mut session, total), ["1536"], "grants are given of it");
    assert_eq!(numbers(&run(&mut session, "EXEC sp_configure 'max server memory (MB)', 64")), [15129]);
    run(&mut session, "EXEC sp_configure 'max server memory (MB)', 320 RECONFIGURE");
    drop(session);
    os::memory::set_requests(1024 * MB);
    world.restart();
    assert_eq!(request_mb(), Some(240), "kept");
}
