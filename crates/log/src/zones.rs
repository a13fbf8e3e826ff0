//! Zone map of the log: which ranges may have records of which transactions, so that a scan for one transaction skips the others.
//!
//! A zone is a range of whole blocks with the least and the greatest id of the transactions that have written there. There are at most
//! [`ZONES_MAX`]: when there would be more, neighbours become one, and zones are made larger from then on. They live in memory: the log of
//! an earlier run may have records of any transaction.
//!
//! Invariants:
//! 1. Zones follow each other without a gap, the first from `Lsn::NULL`.
//! 2. A record of a transaction is in a zone with the transaction's id between its least and its greatest.

use std::collections::VecDeque;

use crate::lsn::{Lsn, TxnId};

/// Most zones of one log.
const ZONES_MAX: usize = 512;
/// Bytes of records after which a zone ends, at first.
const ZONE_BYTES_FIRST: u64 = 64 * 1024;

#[derive(Clone, Copy, Debug)]
struct Zone {
    /// Its first block, slot 0.
    start: Lsn,
    least: TxnId,
    greatest: TxnId,
    record_bytes: u64,
}

impl Zone {
    fn empty(start: Lsn) -> Zone {
        Zone { start, least: TxnId(u64::MAX), greatest: TxnId::NULL, record_bytes: 0 }
    }

    fn may_have(&self, txn: TxnId) -> bool {
        self.least <= txn && txn <= self.greatest
    }

    fn with(self, behind: Zone) -> Zone {
        assert!(self.start < behind.start, "zones are in the order of the log");
        Zone {
            start: self.start,
            least: self.least.min(behind.least),
            greatest: self.greatest.max(behind.greatest),
            record_bytes: self.record_bytes + behind.record_bytes,
        }
    }
}

/// The zones of one log, oldest first; never empty.
#[derive(Debug)]
pub(crate) struct Zones {
    zones: VecDeque<Zone>,
    zone_bytes: u64,
}

impl Zones {
    /// The zones of a log of which nothing is known yet.
    pub(crate) fn new() -> Zones {
        let anybody = Zone { least: TxnId::NULL, greatest: TxnId(u64::MAX), ..Zone::empty(Lsn::NULL) };
        // Full from the start: the next block begins a zone.
        let unknown = Zone { record_bytes: ZONE_BYTES_FIRST, ..anybody };
        Zones { zones: VecDeque::from([unknown]), zone_bytes: ZONE_BYTES_FIRST }
    }

    /// A block begins at `start`.
    pub(crate) fn begin_block(&mut self, start: Lsn) {
        assert!(start.slot() == 0 && !start.is_null(), "{start} names a block");
        let last = self.zones.back().expect("there is always a zone");
        // A block that was discarded empty begins again elsewhere.
        if last.record_bytes < self.zone_bytes || last.start >= start {
            return;
        }
        self.zones.push_back(Zone::empty(start));
        if self.zones.len() > ZONES_MAX {
            self.halve();
        }
        self.assert_state();
    }

    /// A record of `txn` has joined the newest block.
    #[inline]
    pub(crate) fn note(&mut self, txn: TxnId, record_bytes: usize) {
        assert!(record_bytes > 0, "a record has bytes");
        let zone = self.zones.back_mut().expect("there is always a zone");
        zone.record_bytes += record_bytes as u64;
        if !txn.is_null() {
            zone.least = zone.least.min(txn);
            zone.greatest = zone.greatest.max(txn);
        }
    }

    /// Nothing is read below `min` any more.
    pub(crate) fn forget_below(&mut self, min: Lsn) {
        while self.zones.len() > 1 && self.zones[1].start <= min {
            self.zones.pop_front();
            self.zones[0].start = Lsn::NULL;
        }
        self.assert_state();
    }

    /// The first position at or behind `from` where records of `txn` may be; `None`: there are none.
    pub(crate) fn next_place_of(&self, txn: TxnId, from: Lsn) -> Option<Lsn> {
        assert!(!txn.is_null(), "records of nobody lie everywhere");
        let ends = self.zones.iter().skip(1).map(|zone| zone.start).chain([Lsn::MAX]);
        let found = self.zones.iter().zip(ends).find(|(zone, end)| from < *end && zone.may_have(txn))?;
        assert!(found.0.start < found.1, "a zone ends behind its start");
        Some(found.0.start.max(from))
    }

    /// The end of the zone of `place`: the next one's first block.
    pub(crate) fn end_of(&self, place: Lsn) -> Lsn {
        let end = self.zones.iter().map(|zone| zone.start).find(|start| *start > place).unwrap_or(Lsn::MAX);
        assert!(end > place, "a place lies before the end of its zone");
        end
    }

    /// Merges zones in pairs. The oldest stays as it is: it may be the one of which nothing is known.
    fn halve(&mut self) {
        assert!(self.zones.len() > ZONES_MAX, "few zones stay as they are");
        let zones: Vec<Zone> = self.zones.drain(1..).collect();
        self.zones.extend(zones.chunks(2).map(|two| match two {
            [one, behind] => one.with(*behind),
            _ => two[0],
        }));
        self.zone_bytes *= 2;
        assert!(self.zones.len() <= ZONES_MAX / 2 + 2, "half of them are gone");
    }

    fn assert_state(&self) {
        assert!((1..=ZONES_MAX).contains(&self.zones.len()), "{} zones", self.zones.len());
        assert!(self.zones[0].start.is_null(), "the first zone has all that is oldest");
        let newest = self.zones.len().saturating_sub(2);
        assert!(
            newest == 0 || self.zones[newest].start < self.zones[newest + 1].start,
            "zones are in the order of the log"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u32) -> Lsn {
        Lsn::new(1, 16 + number, 0)
    }

    /// 5,000 blocks of zone size, transaction n in blocks n and n + 3.
    fn long_log() -> Zones {
        let mut zones = Zones::new();
        for number in 0..5_000u32 {
            zones.begin_block(block(number));
            zones.note(TxnId(1 + u64::from(number)), ZONE_BYTES_FIRST as usize / 2);
            zones.note(TxnId(1 + u64::from(number.saturating_sub(3))), ZONE_BYTES_FIRST as usize / 2);
        }
        zones
    }

    #[test]
    fn a_transactions_records_are_found_and_most_of_the_log_is_left_out() {
        let mut zones = long_log();
        assert!(zones.zones.len() <= ZONES_MAX);
        for number in (0..5_000u32).step_by(7) {
            let txn = TxnId(1 + u64::from(number));
            for has in [number, number + 3].into_iter().filter(|has| *has < 5_000) {
                // From its own block, and from any before it, the block is not passed over.
                assert_eq!(zones.next_place_of(txn, block(has).with_slot(1)), Some(block(has).with_slot(1)));
            }
            // The log before the first block may have records of any transaction; behind it little is to be read.
            assert_eq!(zones.next_place_of(txn, Lsn::NULL), Some(Lsn::NULL));
            let found = zones.next_place_of(txn, block(0)).expect("it has written");
            assert!(
                found <= block(number) && block(number).block() - found.block() < 48,
                "{found} for {number}"
            );
            assert!(zones.end_of(found) > found);
        }
        assert_eq!(zones.next_place_of(TxnId(6_000), block(0)), None, "it has not written");

        zones.forget_below(block(4_000));
        assert!(zones.zones.len() < 300);
        let found = zones.next_place_of(TxnId(4_500), Lsn::NULL).expect("it has written");
        assert!(found > block(4_400), "the unknown is gone with what was truncated: {found}");
    }
}
