//! Writes handed to the device and not yet part of the hardened prefix, and the limits on how many and how much.

use std::collections::VecDeque;

use crate::block::BlockState;
use crate::cache::CachedBlock;
use crate::limits::LogLimits;
use crate::lsn::Lsn;

/// One write, in issue order, which is LSN order.
struct Issued {
    /// Its block's newest record.
    last: Lsn,
    bytes: u64,
    /// The block, once its write is confirmed.
    done: Option<CachedBlock>,
}

/// Everything in flight of one log, oldest first.
pub(crate) struct InFlight {
    limits: LogLimits,
    writes: VecDeque<Issued>,
    /// Number of the oldest write in `writes`.
    first_number: u64,
    outstanding_ios: u32,
    outstanding_bytes: u64,
    /// A write was refused since the last one was issued (so that one wait counts once).
    refused: bool,
    pub(crate) ios_high_water: u64,
    pub(crate) bytes_high_water: u64,
    pub(crate) ios_limit_reached_total: u64,
    pub(crate) bytes_limit_reached_total: u64,
}

impl InFlight {
    pub(crate) fn new(limits: LogLimits) -> InFlight {
        assert!(limits.outstanding_ios_max > 0 && limits.outstanding_bytes_max > 0);
        InFlight {
            limits,
            writes: VecDeque::new(),
            first_number: 0,
            outstanding_ios: 0,
            outstanding_bytes: 0,
            refused: false,
            ios_high_water: 0,
            bytes_high_water: 0,
            ios_limit_reached_total: 0,
            bytes_limit_reached_total: 0,
        }
    }

    /// What holds between calls: nothing at the front is complete, the sums are those of the writes.
    fn assert_state(&self) {
        assert!(self.writes.front().is_none_or(|oldest| oldest.done.is_none()), "the prefix was passed on");
        assert!(self.outstanding_ios as usize <= self.writes.len());
        assert_eq!(self.outstanding_ios == 0, self.outstanding_bytes == 0, "writes have bytes");
        assert!(self.outstanding_ios <= self.limits.outstanding_ios_max, "the limit of writes in flight");
        let is_within = self.outstanding_bytes <= self.limits.outstanding_bytes_max;
        assert!(is_within || self.outstanding_ios == 1, "the limit of bytes in flight");
    }

    /// Writes that the device has not confirmed.
    pub(crate) fn outstanding_ios(&self) -> u32 {
        self.outstanding_ios
    }

    /// Whether one more write of `bytes` may be issued; counts a refusal. A single block may always go.
    pub(crate) fn admits(&mut self, bytes: u64) -> bool {
        if self.outstanding_ios == 0 {
            return true;
        }
        let again = std::mem::replace(&mut self.refused, true);
        if self.outstanding_ios >= self.limits.outstanding_ios_max {
            self.ios_limit_reached_total += u64::from(!again);
            return false;
        }
        if self.outstanding_bytes + bytes > self.limits.outstanding_bytes_max {
            self.bytes_limit_reached_total += u64::from(!again);
            return false;
        }
        self.refused = false;
        true
    }

    /// Notes that the block ending at `last` goes to the device; returns the write's number.
    pub(crate) fn issue(&mut self, last: Lsn, bytes: u64) -> u64 {
        assert!(self.writes.back().is_none_or(|newest| newest.last < last), "blocks are issued in LSN order");
        assert!(bytes > 0 && last.slot() > 0, "a block holds a record");
        self.refused = false;
        self.writes.push_back(Issued { last, bytes, done: None });
        self.outstanding_ios += 1;
        self.outstanding_bytes += bytes;
        self.ios_high_water = self.ios_high_water.max(u64::from(self.outstanding_ios));
        self.bytes_high_water = self.bytes_high_water.max(self.outstanding_bytes);
        self.assert_state();
        self.first_number + self.writes.len() as u64 - 1
    }

    /// Notes that write `number` is durable. Returns the new end of the contiguous prefix, if it moved, and the blocks
    /// that now belong to it. Completions come in any order; a hole holds back what lies behind it.
    pub(crate) fn complete(&mut self, number: u64, block: CachedBlock) -> (Option<Lsn>, Vec<CachedBlock>) {
        block.state.assert_state(BlockState::Issued);
        let at = number.checked_sub(self.first_number).expect("the write is in flight") as usize;
        let write = &mut self.writes[at];
        assert!(write.done.is_none() && write.last == block.last());
        assert!(self.outstanding_ios > 0 && self.outstanding_bytes >= write.bytes, "it was counted");
        self.outstanding_ios -= 1;
        self.outstanding_bytes -= write.bytes;
        write.done = Some(block);
        let (mut prefix, mut hardened) = (None, Vec::new());
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
    use crate::lsn::TxnId;

    fn block(sector: u32) -> CachedBlock {
        CachedBlock {
            state: BlockState::Issued,
            start: Lsn::new(1, sector, 0),
            file_offset: 0,
            buffer: AlignedBuf::new(512),
            used_bytes: 70,
            capacity_bytes: 512,
            padded_bytes: 512,
            offsets: vec![64],
            base_txn: TxnId::NULL,
            parity: 0x40,
            reason: Some(FlushReason::FlushLogProc),
        }
    }

    #[test]
    fn a_hole_holds_back_what_lies_behind_it() {
        let mut flight = InFlight::new(LogLimits::sql2008());
        let numbers: Vec<u64> = (16..19).map(|sector| flight.issue(block(sector).last(), 512)).collect();
        assert_eq!(flight.complete(numbers[1], block(17)).0, None);
        assert_eq!(flight.complete(numbers[2], block(18)).0, None);
        let (prefix, hardened) = flight.complete(numbers[0], block(16));
        assert_eq!((prefix, hardened.len()), (Some(Lsn::new(1, 18, 1)), 3));
        assert_eq!(flight.outstanding_ios(), 0);
    }

    #[test]
    fn the_limits_of_the_profile_hold_and_are_counted() {
        // Claims of seed 002: 8 writes and 480 KB, 32 and 3,840 KB.
        let mut flight = InFlight::new(LogLimits::sql2005());
        for sector in 0..8 {
            assert!(flight.admits(512));
            flight.issue(block(16 + sector).last(), 512);
        }
        assert!(!flight.admits(512));
        assert_eq!((flight.ios_high_water, flight.ios_limit_reached_total), (8, 1));
        let mut flight = InFlight::new(LogLimits::sql2008());
        for index in 0..64 {
            // 64 blocks of 60 KB would fit 3,840 KB, but 32 is the most writes.
            let admitted = flight.admits(61_440);
            assert_eq!(admitted, index < 32);
            if admitted {
                flight.issue(block(16 + index).last(), 61_440);
            }
        }
        assert_eq!(flight.bytes_high_water, 32 * 61_440);
        let mut flight = InFlight::new(LogLimits { outstanding_ios_max: 200, ..LogLimits::sql2008() });
        (0..64)
            .for_each(|index| assert_eq!(flight.issue(block(16 + index).last(), 61_440), u64::from(index)));
        assert!(!flight.admits(512));
        assert_eq!(flight.bytes_limit_reached_total, 1);
    }
}
