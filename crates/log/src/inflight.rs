//! Writes issued and not yet part of the hardened prefix, and the limits on their number and bytes.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::block::BlockState;
use crate::cached_block::CachedBlock;
use crate::limits::{BLOCK_BYTES_MAX, LogLimits};
use crate::lsn::Lsn;

/// One write, in issue order, which is LSN order.
struct Issued {
    /// Its block's newest record.
    last: Lsn,
    bytes: u64,
    /// The block, once its write is confirmed.
    done: Option<CachedBlock>,
}

/// Blocks that have become part of the hardened prefix: usually only the block of the completed write.
pub(crate) type HardenedBlocks = SmallVec<[CachedBlock; 1]>;

/// One of the two limits: how often and how long it held writes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) times_total: u64,
    pub(crate) ns_total: u64,
}

/// How the limits held one session back: the limit of writes, and that of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Met {
    pub(crate) ios: Reached,
    pub(crate) bytes: Reached,
}

impl Met {
    fn of(&mut self, by_bytes: bool) -> &mut Reached {
        if by_bytes { &mut self.bytes } else { &mut self.ios }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Met::default()
    }

    pub(crate) fn add(&mut self, other: Met) {
        for (sum, more) in [(&mut self.ios, other.ios), (&mut self.bytes, other.bytes)] {
            sum.times_total += more.times_total;
            sum.ns_total += more.ns_total;
        }
    }
}

/// The counts of the limits when a caller began to wait for a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitMark {
    until_then: Met,
    /// A limit held writes back at that moment: that of bytes (true) or of writes (false).
    refused: Option<bool>,
}

/// Everything in flight of one log, oldest first.
pub(crate) struct InFlight {
    limits: LogLimits,
    /// The limits, or the writes in flight when they were lowered, as long as those are more.
    ceiling: LogLimits,
    writes: VecDeque<Issued>,
    /// Number of the oldest write in `writes`.
    first_number: u64,
    outstanding_ios: u32,
    outstanding_bytes: u64,
    /// Writes have been refused since this time, by the limit of bytes (true) or of writes (false): one wait counts once.
    refused: Option<(bool, u64)>,
    pub(crate) ios_high_water: u64,
    pub(crate) bytes_high_water: u64,
    pub(crate) ios_limit: Reached,
    pub(crate) bytes_limit: Reached,
}

impl InFlight {
    pub(crate) fn new(limits: LogLimits) -> InFlight {
        assert!(limits.outstanding_ios_max > 0 && limits.outstanding_bytes_max > 0);
        InFlight {
            limits,
            ceiling: limits,
            writes: VecDeque::new(),
            first_number: 0,
            outstanding_ios: 0,
            outstanding_bytes: 0,
            refused: None,
            ios_high_water: 0,
            bytes_high_water: 0,
            ios_limit: Reached::default(),
            bytes_limit: Reached::default(),
        }
    }

    /// Sets limits for later writes; writes in flight are not affected.
    pub(crate) fn set_limits(&mut self, limits: LogLimits) {
        assert!(limits.outstanding_ios_max > 0 && limits.outstanding_bytes_max > 0);
        self.limits = limits;
        self.lower_ceiling();
        self.assert_state();
    }

    fn lower_ceiling(&mut self) {
        self.ceiling = LogLimits {
            outstanding_ios_max: self.limits.outstanding_ios_max.max(self.outstanding_ios),
            outstanding_bytes_max: self.limits.outstanding_bytes_max.max(self.outstanding_bytes),
        };
        assert!(self.outstanding_ios <= self.ceiling.outstanding_ios_max, "what is on its way stays there");
        assert!(self.outstanding_bytes <= self.ceiling.outstanding_bytes_max, "and all of its bytes");
    }

    pub(crate) fn limits(&self) -> LogLimits {
        self.limits
    }

    /// Bytes that the device has not confirmed.
    pub(crate) fn outstanding_bytes(&self) -> u64 {
        self.outstanding_bytes
    }

    /// Invariants between calls: no write at the front is complete, the sums are those of the writes.
    fn assert_state(&self) {
        assert!(self.writes.front().is_none_or(|oldest| oldest.done.is_none()), "the prefix was passed on");
        assert!(self.outstanding_ios as usize <= self.writes.len());
        assert_eq!(self.outstanding_ios == 0, self.outstanding_bytes == 0, "writes have bytes");
        assert!(self.outstanding_ios <= self.ceiling.outstanding_ios_max, "the limit of writes in flight");
        let is_within = self.outstanding_bytes <= self.ceiling.outstanding_bytes_max;
        assert!(is_within || self.outstanding_ios == 1, "the limit of bytes in flight");
        debug_assert_eq!(
            self.writes.iter().filter(|write| write.done.is_none()).count(),
            self.outstanding_ios as usize,
            "the writes that are not confirmed are counted"
        );
        debug_assert_eq!(
            self.writes.iter().filter(|write| write.done.is_none()).map(|write| write.bytes).sum::<u64>(),
            self.outstanding_bytes,
            "and so are their bytes"
        );
    }

    /// Writes that the device has not confirmed.
    pub(crate) fn outstanding_ios(&self) -> u32 {
        self.outstanding_ios
    }

    /// Whether one more write of `bytes` may be issued; counts a refusal, from `now_ns` on. A single block is always admitted.
    pub(crate) fn admits(&mut self, bytes: u64, now_ns: impl FnOnce() -> u64) -> bool {
        let by_bytes = match self.obstacle(bytes) {
            None => return true,
            Some(by_bytes) => by_bytes,
        };
        if self.refused.is_none() {
            self.refused = Some((by_bytes, now_ns()));
            self.reached(by_bytes).times_total += 1;
        }
        false
    }

    /// What forbids a write of `bytes`: the limit of bytes (true) or of writes (false).
    fn obstacle(&self, bytes: u64) -> Option<bool> {
        assert!(bytes > 0, "a write moves something");
        if self.outstanding_ios == 0 {
            return None;
        }
        if self.outstanding_ios >= self.limits.outstanding_ios_max {
            return Some(false);
        }
        (self.outstanding_bytes.saturating_add(bytes) > self.limits.outstanding_bytes_max).then_some(true)
    }

    /// The counts of the limits until now, a current wait included.
    fn held_back(&self, now_ns: impl FnOnce() -> u64) -> Met {
        let mut met = Met { ios: self.ios_limit, bytes: self.bytes_limit };
        if let Some((by_bytes, since_ns)) = self.refused {
            assert!(met.of(by_bytes).times_total > 0, "a wait that goes on was counted when it began");
            met.of(by_bytes).ns_total += now_ns().saturating_sub(since_ns);
        }
        met
    }

    /// The mark for a caller that begins to wait for a write.
    pub(crate) fn mark(&self, now_ns: impl FnOnce() -> u64) -> LimitMark {
        LimitMark { until_then: self.held_back(now_ns), refused: self.refused.map(|(by_bytes, _)| by_bytes) }
    }

    /// How often and how long the limits have held that caller back since then.
    pub(crate) fn met_since(&self, mark: &LimitMark, now_ns: impl FnOnce() -> u64) -> Met {
        let mut met = self.held_back(now_ns);
        let before = mark.until_then;
        for (now, then) in [(&mut met.ios, before.ios), (&mut met.bytes, before.bytes)] {
            assert!(now.times_total >= then.times_total && now.ns_total >= then.ns_total, "totals only grow");
            now.times_total -= then.times_total;
            now.ns_total -= then.ns_total;
        }
        if let Some(by_bytes) = mark.refused {
            met.of(by_bytes).times_total += 1;
        }
        met
    }

    fn reached(&mut self, by_bytes: bool) -> &mut Reached {
        if by_bytes { &mut self.bytes_limit } else { &mut self.ios_limit }
    }

    /// A write has ended: a refused writer may continue when the limits admit a block again.
    fn end_refusal(&mut self, now_ns: impl FnOnce() -> u64) {
        let Some((by_bytes, since_ns)) = self.refused else { return };
        if self.obstacle(BLOCK_BYTES_MAX as u64).is_none() {
            self.refused = None;
            assert!(self.reached(by_bytes).times_total > 0, "a wait that ends was counted when it began");
            self.reached(by_bytes).ns_total += now_ns().saturating_sub(since_ns);
        }
    }

    /// Notes that the block ending at `last` is issued; returns the write's number.
    pub(crate) fn issue(&mut self, last: Lsn, bytes: u64) -> u64 {
        assert!(self.writes.back().is_none_or(|newest| newest.last < last), "blocks are issued in LSN order");
        assert!(bytes > 0 && last.slot() > 0, "a block holds a record");
        self.writes.push_back(Issued { last, bytes, done: None });
        self.outstanding_ios += 1;
        self.outstanding_bytes += bytes;
        self.ios_high_water = self.ios_high_water.max(u64::from(self.outstanding_ios));
        self.bytes_high_water = self.bytes_high_water.max(self.outstanding_bytes);
        self.assert_state();
        self.first_number + self.writes.len() as u64 - 1
    }

    /// Notes that write `number` is durable. Returns the new end of the contiguous prefix, if it moved, and the blocks
    /// that now belong to it. Completions come in any order; later writes do not count before an earlier one that is not complete.
    pub(crate) fn complete(
        &mut self,
        number: u64,
        block: CachedBlock,
        now_ns: impl FnOnce() -> u64,
    ) -> (Option<Lsn>, HardenedBlocks) {
        block.state.assert_state(BlockState::Issued);
        let at = number.checked_sub(self.first_number).expect("the write is in flight") as usize;
        let write = &mut self.writes[at];
        assert!(write.done.is_none() && write.last == block.last());
        assert!(self.outstanding_ios > 0 && self.outstanding_bytes >= write.bytes, "it was counted");
        self.outstanding_ios -= 1;
        self.outstanding_bytes -= write.bytes;
        write.done = Some(block);
        self.lower_ceiling();
        self.end_refusal(now_ns);
        let (mut prefix, mut hardened) = (None, HardenedBlocks::new());
        while let Some(front) = self.writes.front_mut() {
            let Some(mut block) = front.done.take() else { break };
            block.state.advance(BlockState::Hardened);
            prefix = Some(front.last);
            hardened.push(block);
            self.writes.pop_front();
            self.first_number += 1;
        }
        assert_eq!(prefix.is_some(), !hardened.is_empty());
        self.assert_state();
        (prefix, hardened)
    }
}

#[cfg(test)]
mod tests {
    use os::AlignedBuf;

    use super::*;
    use crate::flush_reason::FlushReason;
    use crate::limits::LogLimitsProfile;
    use crate::lsn::TxnId;

    fn block(sector: u32) -> CachedBlock {
        CachedBlock {
            state: BlockState::Issued,
            start: Lsn::new(1, sector, 0),
            file: 2,
            file_offset: 0,
            buffer: AlignedBuf::new(512),
            used_bytes: 70,
            capacity_bytes: 512,
            padded_bytes: 512,
            offsets: vec![64],
            base_txn: TxnId::NULL,
            parity: 0x40,
            reason: Some(FlushReason::FlushLogProc),
            place: None,
            records_hash: 0,
            previous_checksum: 0,
            kept: crate::cached_block::CachedPart::default(),
        }
    }

    #[test]
    fn a_hole_holds_back_what_lies_behind_it() {
        let mut flight = InFlight::new(LogLimits::sql2008());
        let numbers: Vec<u64> = (16..19).map(|sector| flight.issue(block(sector).last(), 512)).collect();
        assert_eq!(flight.complete(numbers[1], block(17), || 0).0, None);
        assert_eq!(flight.complete(numbers[2], block(18), || 0).0, None);
        let (prefix, hardened) = flight.complete(numbers[0], block(16), || 0);
        assert_eq!((prefix, hardened.len()), (Some(Lsn::new(1, 18, 1)), 3));
        assert_eq!(flight.outstanding_ios(), 0);
    }

    /// Claims 264, 265, 267, 268, 269 and 270: 8 writes and 480 KB, 32 and 3,840 KB; blocks of a sector meet the first, full ones either.
    #[test]
    fn the_limits_of_the_profile_hold_and_are_counted() {
        let mut flight = InFlight::new(LogLimits::sql2005());
        for sector in 0..8 {
            assert!(flight.admits(512, || 7));
            flight.issue(block(16 + sector).last(), 512);
        }
        assert!(!flight.admits(512, || 7));
        assert_eq!((flight.ios_high_water, flight.ios_limit.times_total), (8, 1));
        let mut flight = InFlight::new(LogLimits::sql2008());
        for index in 0..64 {
            // 64 blocks of 60 KB would fit 3,840 KB, but 32 is the most writes.
            let admitted = flight.admits(61_440, || 7);
            assert_eq!(admitted, index < 32);
            if admitted {
                flight.issue(block(16 + index).last(), 61_440);
            }
        }
        assert_eq!(flight.bytes_high_water, 32 * 61_440);
        let mut flight = InFlight::new(LogLimits { outstanding_ios_max: 200, ..LogLimits::sql2008() });
        (0..64)
            .for_each(|index| assert_eq!(flight.issue(block(16 + index).last(), 61_440), u64::from(index)));
        assert!(!flight.admits(512, || 7));
        assert_eq!(flight.bytes_limit.times_total, 1);
    }

    /// Claim 261.
    #[test]
    fn a_wait_at_a_limit_counts_once_and_lasts_until_there_is_room_for_a_block() {
        let mut flight = InFlight::new(LogLimitsProfile::Sql2005X86.limits());
        let numbers: Vec<u64> = (16..24).map(|sector| flight.issue(block(sector).last(), 512)).collect();
        assert!(!flight.admits(512, || 100));
        assert!(!flight.admits(512, || unreachable!("the wait has begun")));
        flight.complete(numbers[3], block(19), || 350);
        assert_eq!(flight.ios_limit, Reached { times_total: 1, ns_total: 250 });
        assert!(flight.admits(512, || unreachable!("there is room")));
        assert_eq!(flight.bytes_limit, Reached::default());
    }

    #[test]
    fn whoever_waits_meets_what_the_limits_hold_back_meanwhile() {
        let mut flight = InFlight::new(LogLimitsProfile::Sql2005X86.limits());
        let early = flight.mark(|| unreachable!("nothing is held back"));
        assert!(flight.met_since(&early, || unreachable!()).is_nothing());
        let numbers: Vec<u64> = (16..24).map(|sector| flight.issue(block(sector).last(), 512)).collect();
        assert!(!flight.admits(512, || 100));
        let late = flight.mark(|| 150);
        let met = flight.met_since(&early, || 180);
        assert_eq!((met.ios, met.bytes), (Reached { times_total: 1, ns_total: 80 }, Reached::default()));
        flight.complete(numbers[3], block(19), || 350);
        let none = || unreachable!("nothing is held back any more");
        assert_eq!(flight.met_since(&early, none).ios, Reached { times_total: 1, ns_total: 250 });
        assert_eq!(flight.met_since(&late, none).ios, Reached { times_total: 1, ns_total: 200 });
        assert!(flight.met_since(&flight.mark(none), none).is_nothing(), "who comes later has met nothing");
        // The other limit, later: each has its own figures.
        flight.set_limits(LogLimits { outstanding_ios_max: 99, outstanding_bytes_max: 8 * 512 });
        assert!(!flight.admits(61_440, || 400));
        let met = flight.met_since(&late, || 410);
        assert_eq!((met.ios.times_total, met.bytes), (1, Reached { times_total: 1, ns_total: 10 }));
    }

    /// Claim 266: the oldest profile has no limit of bytes.
    #[test]
    fn limits_that_are_lowered_hold_for_what_comes_next() {
        let mut flight = InFlight::new(LogLimits::sql2012());
        let numbers: Vec<u64> = (16..36).map(|sector| flight.issue(block(sector).last(), 512)).collect();
        flight.set_limits(LogLimitsProfile::Sql2000.limits());
        let mut admitted_at = None;
        for (index, number) in numbers.iter().enumerate() {
            flight.complete(*number, block(16 + index as u32), || 0);
            if flight.admits(512, || 0) {
                admitted_at = admitted_at.or(Some(flight.outstanding_ios()));
            }
        }
        assert_eq!(admitted_at, Some(7), "eight may be on their way");
        // No limit of bytes.
        for sector in 36..44 {
            assert!(flight.admits(u64::MAX, || 0));
            flight.issue(block(sector).last(), 61_440);
        }
        assert!(!flight.admits(512, || 0));
    }
}
