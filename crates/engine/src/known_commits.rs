//! Log positions that are known to hold a commit record: the status of such a commit needs no read of the log.
//!
//! A position is known once its ticket was given to a session, or once the log was read there. Only positions of the present incarnation are noted
//! without a read, and durable log does not change: a known position holds the same record while the database is open. The newest replace others.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use log::Lsn;

/// The number of remembered positions: 32 KB, allocated with the first.
const PLACES: usize = 4096;

/// The positions, each at the one index computed from its number; 0: none.
#[derive(Debug, Default)]
pub(crate) struct KnownCommits {
    places: OnceLock<Box<[AtomicU64]>>,
}

fn index_of(lsn: Lsn) -> usize {
    // Multiplied by the golden ratio of 64 bits, whose upper bits are even for slots of one block and for blocks of one slot.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    (lsn.raw().wrapping_mul(SPREAD) >> (u64::BITS - PLACES.trailing_zeros())) as usize
}

impl KnownCommits {
    pub(crate) fn note(&self, lsn: Lsn) {
        assert!(!lsn.is_null(), "a commit record has a place");
        let places = self.places.get_or_init(|| (0..PLACES).map(|_| AtomicU64::new(0)).collect());
        places[index_of(lsn)].store(lsn.raw(), Relaxed);
    }

    pub(crate) fn has(&self, lsn: Lsn) -> bool {
        let places = self.places.get();
        !lsn.is_null() && places.is_some_and(|places| places[index_of(lsn)].load(Relaxed) == lsn.raw())
    }
}

const _: () = assert!(PLACES.is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_last_is_known_and_nothing_else() {
        let known = KnownCommits::default();
        assert!(!known.has(Lsn::NULL) && !known.has(Lsn::new(1, 40, 9)));
        let of_a_block = |block| (1..=600).map(move |slot| Lsn::new(3, block, slot));
        (16..20).for_each(|block| of_a_block(block).for_each(|lsn| known.note(lsn)));
        assert!(known.has(Lsn::new(3, 19, 600)));
        let kept = (16..20).flat_map(of_a_block).filter(|lsn| known.has(*lsn)).count();
        assert!(kept > 1_500, "{kept} of 2,400 kept");
        assert!(!(16..20).flat_map(of_a_block).any(|lsn| known.has(lsn.with_slot(lsn.slot() + 600))));
        assert!(!known.has(Lsn::NULL), "an empty index is no place");
    }
}
