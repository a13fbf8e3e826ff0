//! Back-off of an address after failed logins: each failure beyond the first few doubles the wait before the next attempt.

use core::net::IpAddr;

use os::{Latch, LatchRank};
use rustc_hash::FxHashMap;

/// Failures without a wait, for typing errors.
const FREE_FAILURES: u32 = 3;
/// Wait after the first failure beyond them, in ns; it doubles from there.
const FIRST_WAIT_NS: u64 = 100_000_000;
/// Longest wait, in ns.
const LONGEST_WAIT_NS: u64 = 3_000_000_000;
/// After so long without failures the count of an address is reset, in ns.
const FORGET_AFTER_NS: u64 = 60_000_000_000;
/// Addresses kept; beyond it the oldest are forgotten first.
const ADDRESSES_MAX: usize = 10_000;

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last_ns: u64,
}

/// Failed logins by address.
pub struct LoginThrottle {
    failures: Latch<FxHashMap<IpAddr, Failures>>,
}

impl LoginThrottle {
    /// Without failures.
    pub fn new() -> Self {
        LoginThrottle { failures: Latch::new(LatchRank::Server, FxHashMap::default()) }
    }

    /// How long an attempt from `address` must wait, in ns. `now_ns` is monotonic time.
    pub fn wait_ns(&self, address: IpAddr, now_ns: u64) -> u64 {
        let failures = self.failures.lock();
        failures
            .get(&address)
            .map_or(0, |entry| (entry.last_ns + penalty_ns(entry.count)).saturating_sub(now_ns))
    }

    /// An attempt failed.
    pub fn failed(&self, address: IpAddr, now_ns: u64) {
        let mut failures = self.failures.lock();
        if failures.len() >= ADDRESSES_MAX {
            failures.retain(|_, entry| now_ns < entry.last_ns + FORGET_AFTER_NS / 2);
        }
        if failures.len() >= ADDRESSES_MAX {
            failures.clear();
        }
        let entry = failures.entry(address).or_insert(Failures { count: 0, last_ns: now_ns });
        let forgotten = now_ns >= entry.last_ns + FORGET_AFTER_NS;
        entry.count = if forgotten { 1 } else { entry.count + 1 };
        entry.last_ns = now_ns;
    }

    /// An attempt succeeded.
    pub fn succeeded(&self, address: IpAddr) {
        self.failures.lock().remove(&address);
    }
}

impl Default for LoginThrottle {
    fn default() -> Self {
        LoginThrottle::new()
    }
}

fn penalty_ns(count: u32) -> u64 {
    match count.checked_sub(FREE_FAILURES + 1) {
        None => 0,
        Some(doublings) => FIRST_WAIT_NS.saturating_mul(1 << doublings.min(20)).min(LONGEST_WAIT_NS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_cost_more_and_more_and_are_forgotten() {
        let throttle = LoginThrottle::new();
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        for _ in 0..FREE_FAILURES {
            throttle.failed(one, 1_000);
        }
        assert_eq!(throttle.wait_ns(one, 1_000), 0);
        throttle.failed(one, 1_000);
        assert_eq!(throttle.wait_ns(one, 1_000), FIRST_WAIT_NS);
        throttle.failed(one, 1_000);
        assert_eq!(throttle.wait_ns(one, 1_000), 2 * FIRST_WAIT_NS);
        assert_eq!(throttle.wait_ns(one, 1_000 + FIRST_WAIT_NS), FIRST_WAIT_NS);
        for _ in 0..100 {
            throttle.failed(one, 1_000);
        }
        assert_eq!(throttle.wait_ns(one, 1_000), LONGEST_WAIT_NS);
        assert_eq!(throttle.wait_ns(other, 1_000), 0);
        throttle.failed(one, 1_000 + FORGET_AFTER_NS);
        assert_eq!(throttle.wait_ns(one, 1_000 + FORGET_AFTER_NS), 0);
        throttle.succeeded(one);
        assert_eq!(throttle.wait_ns(one, 1_000 + FORGET_AFTER_NS), 0);
    }

    #[test]
    fn the_table_of_addresses_is_bounded() {
        let throttle = LoginThrottle::new();
        for i in 0..3 * ADDRESSES_MAX as u32 {
            throttle.failed(IpAddr::from(i.to_be_bytes()), u64::from(i));
        }
        assert!(throttle.failures.lock().len() <= ADDRESSES_MAX);
    }
}
