//! Writes in flight of a log: the device never sees more than the limits of its profile; either limit alone holds writes back (claims 264 to
//! 271 and 279).
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;

use common::{commit, small_options};
use hardpan_log::{FlushReason, Log, LogLimitsProfile, LogOptions};
use os::sim::{Profile, World};
use os::{Os, WaitType};

/// A durable write takes so long: nothing is confirmed while a test issues.
const WRITE_NS: u64 = 200_000_000;

/// Commits of so many bytes, each requested as soon as it is appended, while the device completes no write; returns the most writes and bytes
/// in flight at once, and how often each limit was reached.
fn stalled(profile: LogLimitsProfile, commit_bytes: usize) -> (u64, u64, u64, u64) {
    let told = std::sync::Arc::new(os::Latch::new(os::LatchRank::Leaf, (0, 0, 0, 0)));
    let into = std::sync::Arc::clone(&told);
    let device = Profile {
        durable_write_ns: (WRITE_NS, WRITE_NS),
        ns_per_kib: 0,
        switches_max: 40_000_000,
        ..Profile::nvme()
    };
    let body = move |os: &Os| {
        os.disk().create_dir_all(Path::new("/data")).unwrap();
        let options = LogOptions { limits: profile.limits(), ..small_options("/data/test.ldf", 16 << 20) };
        let log = Log::create(os, &options).unwrap();
        let seen = |log: &Log| {
            let pending = log.files().remove(0).pending;
            let bytes: u64 = pending.iter().map(|io| io.bytes).sum();
            let stats = log.stats();
            assert!(stats.outstanding_ios >= pending.len() as u64, "the gauge counts what the device has");
            assert!(
                pending.len() as u64 <= u64::from(stats.limits.outstanding_ios_max),
                "{} writes",
                pending.len()
            );
            assert!(bytes <= stats.limits.outstanding_bytes_max, "{bytes} bytes");
            (pending.len() as u64, bytes)
        };
        let mut most = (0, 0);
        // Fewer than the cache has buffers, so that no append has to wait.
        for txn in 1..=120 {
            let lsn = commit(&log, txn, commit_bytes);
            log.request_flush(lsn, FlushReason::Commit).unwrap();
            os.sleep(10_000, WaitType::WAITFOR).unwrap();
            let now = seen(&log);
            most = (most.0.max(now.0), most.1.max(now.1));
        }
        while log.stats().outstanding_ios > 0 {
            os.sleep(WRITE_NS / 4, WaitType::WAITFOR).unwrap();
            let now = seen(&log);
            most = (most.0.max(now.0), most.1.max(now.1));
        }
        let stats = log.stats();
        assert_eq!(
            (most.0, most.1),
            (stats.outstanding_ios_high_water, stats.outstanding_bytes_high_water),
            "seen from outside as by the log itself"
        );
        let reached =
            (stats.outstanding_ios_limit_reached_total, stats.outstanding_bytes_limit_reached_total);
        *into.lock() = (most.0, most.1, reached.0, reached.1);
        log.close().unwrap();
    };
    World::new(264, device).run(body).assert_ok();
    *told.lock()
}

/// Commits that come while a write is in flight gather in the block behind it: small ones alone never reach a limit; only full
/// blocks do, and single-sector blocks in the unit tests of inflight.rs.
#[test]
fn tiny_commits_gather_instead_of_flying() {
    for profile in LogLimitsProfile::ALL {
        let (ios, bytes, by_count, by_bytes) = stalled(profile, 20);
        assert!((1..=2).contains(&ios) && bytes <= 120_000, "{profile:?}: {ios} writes, {bytes} bytes");
        assert_eq!((by_count, by_bytes), (0, 0), "{profile:?}");
    }
}

/// Claims 264 to 271: full blocks stall at the bytes of the profile, or at the count when that comes first; without a limit of bytes (266)
/// only at the count.
#[test]
fn full_blocks_stall_at_the_bytes() {
    for profile in LogLimitsProfile::ALL {
        let limits = profile.limits();
        let (ios, bytes, by_count, by_bytes) = stalled(profile, 59_000);
        let by_size = limits.outstanding_bytes_max / 59_392;
        let expected = by_size.min(u64::from(limits.outstanding_ios_max));
        assert!((expected - 1..=expected).contains(&ios), "{profile:?}: {ios} writes, {bytes} bytes");
        let is_counted = u64::from(limits.outstanding_ios_max) <= by_size;
        assert_eq!((by_count > 0, by_bytes > 0), (is_counted, !is_counted), "{profile:?}");
    }
}

/// Claim 279: with 39,177 bytes a flush, as the article's second example has them, the limit of 2005 is reached at 12 writes, far from the 32.
#[test]
fn the_second_example_is_throttled_by_bytes() {
    let (ios, bytes, by_count, by_bytes) = stalled(LogLimitsProfile::Sql2005X64, 38_900);
    assert!((11..=12).contains(&ios) && bytes <= 480 * 1024, "{ios} writes, {bytes} bytes");
    assert!(by_bytes > 0 && by_count == 0);
}

/// Claim 271: where one record leaves no space for the next in its block, exactly as many blocks are in flight as 2012 allows, far below its
/// bytes. With smaller profiles the count limits, too, unless the bytes do first.
#[test]
fn blocks_of_half_a_size_fly_up_to_the_count() {
    for profile in LogLimitsProfile::ALL {
        let limits = profile.limits();
        let (ios, bytes, by_count, by_bytes) = stalled(profile, 31_000);
        let by_size = limits.outstanding_bytes_max.saturating_sub(60 * 1024) / 31_232 + 1;
        let expected = by_size.min(u64::from(limits.outstanding_ios_max));
        assert_eq!(ios, expected, "{profile:?}: {bytes} bytes");
        let is_counted = u64::from(limits.outstanding_ios_max) <= by_size;
        assert_eq!((by_count > 0, by_bytes > 0), (is_counted, !is_counted), "{profile:?}");
        if profile == LogLimitsProfile::Sql2012 {
            assert_eq!(ios, 112);
        }
    }
}
