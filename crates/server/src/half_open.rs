//! Half-open connections (before a successful login): their limits, per address and in all, the choice of a victim, and the time-out.

use core::net::{IpAddr, Ipv6Addr};
use std::collections::BTreeMap;
use std::sync::Arc;

use os::{Latch, LatchRank};
use rustc_hash::FxHashMap;

/// A connection before the end of its login.
pub trait Abandon: Send + Sync {
    /// Gives up its login.
    fn abandon(&self);
}

/// Half-open connections. One beyond the limit replaces the oldest, preferably one that has sent nothing.
pub struct HalfOpen {
    in_all_max: usize,
    of_address_max: usize,
    timeout_ns: u64,
    known: Latch<Known>,
}

#[derive(Default)]
struct Known {
    /// By number: the oldest first.
    entries: BTreeMap<u64, Waiting>,
    counts: FxHashMap<IpAddr, usize>,
}

struct Waiting {
    entry: Arc<dyn Abandon>,
    origin: IpAddr,
    until_ns: u64,
    /// A whole message has come.
    has_spoken: bool,
    /// Its password is being checked, for an unknown time.
    is_checked: bool,
}

impl HalfOpen {
    /// Without connections; each has `timeout_ns` for its login.
    pub fn new(in_all_max: usize, of_address_max: usize, timeout_ns: u64) -> HalfOpen {
        let known = Latch::new(LatchRank::Server, Known::default());
        HalfOpen { in_all_max: in_all_max.max(1), of_address_max: of_address_max.max(1), timeout_ns, known }
    }

    /// Adds one from `address`. True when it is the only one: no thread watches the time yet.
    pub fn add(&self, number: u64, entry: Arc<dyn Abandon>, address: IpAddr, now_ns: u64) -> bool {
        let origin = origin_of(address);
        let mut known = self.known.lock();
        let given_up = if known.counts.get(&origin).is_some_and(|count| *count >= self.of_address_max) {
            known.take_oldest(Some(origin))
        } else if known.entries.len() >= self.in_all_max {
            known.take_oldest_of_most()
        } else {
            None
        };
        let until_ns = now_ns.saturating_add(self.timeout_ns);
        let waiting = Waiting { entry, origin, until_ns, has_spoken: false, is_checked: false };
        known.entries.insert(number, waiting);
        *known.counts.entry(origin).or_default() += 1;
        let is_only = known.entries.len() == 1;
        drop(known);
        given_up.into_iter().for_each(|entry| entry.abandon());
        is_only
    }

    /// A whole message of it has come.
    pub fn has_spoken(&self, number: u64) {
        if let Some(waiting) = self.known.lock().entries.get_mut(&number) {
            waiting.has_spoken = true;
        }
    }

    /// Its password is being checked.
    pub fn is_checked(&self, number: u64) {
        if let Some(waiting) = self.known.lock().entries.get_mut(&number) {
            waiting.is_checked = true;
        }
    }

    /// It is logged in, or closed.
    pub fn remove(&self, number: u64) {
        drop(self.known.lock().take(number));
    }

    /// The system has no more descriptors: closes the oldest connection.
    pub fn give_way(&self) {
        let oldest = self.known.lock().take_oldest_of_most();
        oldest.into_iter().for_each(|entry| entry.abandon());
    }

    /// Ends those whose time is over; returns when the next one's is.
    pub fn end_late(&self, now_ns: u64) -> Option<u64> {
        let mut known = self.known.lock();
        let timed = |known: &Known| {
            known.entries.iter().find(|(_, one)| !one.is_checked).map(|(n, one)| (*n, one.until_ns))
        };
        let mut late = Vec::new();
        let next = loop {
            match timed(&known) {
                Some((number, until_ns)) if until_ns <= now_ns => late.extend(known.take(number)),
                other => break other.map(|(_, until_ns)| until_ns),
            }
        };
        drop(known);
        late.into_iter().for_each(|entry| entry.abandon());
        next
    }
}

impl Known {
    fn take(&mut self, number: u64) -> Option<Arc<dyn Abandon>> {
        let Waiting { entry, origin, .. } = self.entries.remove(&number)?;
        let count = self.counts.get_mut(&origin).expect("each address is counted");
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&origin);
        }
        Some(entry)
    }

    /// The oldest one of an address, or of all; connections that have sent nothing first, those with a running password check last.
    fn take_oldest(&mut self, origin: Option<IpAddr>) -> Option<Arc<dyn Abandon>> {
        let of_origin =
            self.entries.iter().filter(|(_, one)| origin.is_none_or(|origin| one.origin == origin));
        let (number, _) = of_origin.min_by_key(|(number, one)| (one.is_checked, one.has_spoken, **number))?;
        self.take(*number)
    }

    /// The oldest one of the address with the most connections.
    fn take_oldest_of_most(&mut self) -> Option<Arc<dyn Abandon>> {
        let (origin, _) = self.counts.iter().max_by_key(|(_, count)| **count)?;
        self.take_oldest(Some(*origin))
    }
}

/// Groups the addresses that one client can have: for IPv6 the 64-bit network.
fn origin_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::origin_of;

    #[test]
    fn addresses_of_one_network_are_one() {
        let origin = |text: &str| origin_of(text.parse().expect("an address")).to_string();
        assert_eq!(origin("10.0.0.1"), "10.0.0.1");
        assert_eq!(origin("::ffff:10.0.0.1"), "10.0.0.1");
        assert_eq!(origin("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(origin("::1"), "::1");
    }
}
