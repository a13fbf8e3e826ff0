//! Clocks: monotonic nanoseconds for durations, UTC in 100 ns ticks for what users see.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// 100 ns ticks in a second.
pub const TICKS_PER_SECOND: i64 = 10_000_000;

/// Ticks from 0001-01-01T00:00:00 to 1970-01-01T00:00:00 (719,162 days).
pub const UNIX_EPOCH_TICKS: i64 = 719_162 * 86_400 * TICKS_PER_SECOND;

/// The time. No durability or ordering decision may rest on `utc_100ns` (it can jump).
pub trait Clock: Send + Sync {
    /// Nanoseconds since some fixed moment; never goes back. Virtual in simulation.
    fn monotonic_ns(&self) -> u64;
    /// UTC as 100 ns ticks since 0001-01-01T00:00:00 (the zero of `datetime2`).
    fn utc_100ns(&self) -> i64;
    /// A cheap, approximate `utc_100ns` for times that are noted often and seldom read. Late by some milliseconds, or as old as the value that
    /// `keep_about` cached.
    fn about_utc_100ns(&self) -> i64;
    /// Updates the cached time; a thread that wakes up several times a second calls this until it ends (`is_kept` false).
    fn keep_about(&self, is_kept: bool);
    /// Minutes that local time is ahead of UTC now (GETDATE, SYSDATETIMEOFFSET); 0 in simulation.
    fn local_offset_minutes(&self) -> i32;
    /// Processor time that the calling thread has used, nanoseconds; in simulation, where computing takes no time, 0.
    fn thread_cpu_ns(&self) -> u64;
}

/// The cached UTC time. One for the process: if several threads update it and one ends, the next update of another restores it.
static ABOUT: AtomicI64 = AtomicI64::new(NOT_KEPT);
const NOT_KEPT: i64 = 0;

/// This machine's clocks.
pub(crate) struct RealClock;

impl Clock for RealClock {
    fn monotonic_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn utc_100ns(&self) -> i64 {
        utc_ticks(&read(libc::CLOCK_REALTIME))
    }

    #[inline]
    fn about_utc_100ns(&self) -> i64 {
        match ABOUT.load(Relaxed) {
            NOT_KEPT => coarse_utc_100ns(),
            kept => kept,
        }
    }

    fn keep_about(&self, is_kept: bool) {
        ABOUT.store(if is_kept { coarse_utc_100ns() } else { NOT_KEPT }, Relaxed);
    }

    fn local_offset_minutes(&self) -> i32 {
        let seconds = read(libc::CLOCK_REALTIME).tv_sec;
        // SAFETY: `tm` is plain data, for which all-zero bytes are valid; both pointers live through the call.
        let offset = unsafe {
            let mut local: libc::tm = std::mem::zeroed();
            libc::localtime_r(&seconds, &mut local);
            local.tm_gmtoff
        };
        (offset / 60) as i32
    }

    fn thread_cpu_ns(&self) -> u64 {
        let time = read(libc::CLOCK_THREAD_CPUTIME_ID);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

#[cold]
fn coarse_utc_100ns() -> i64 {
    utc_ticks(&read(libc::CLOCK_REALTIME_COARSE))
}

#[inline]
fn utc_ticks(time: &libc::timespec) -> i64 {
    UNIX_EPOCH_TICKS + time.tv_sec * TICKS_PER_SECOND + time.tv_nsec / 100
}

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let time = read(libc::CLOCK_MONOTONIC);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[inline]
fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec for the duration of the call.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0, "clock_gettime of a clock that every Linux has");
    time
}
