//! The loss window: delayed commits that are acknowledged and not yet durable, and the bounds on them (MAX_DELAY, MAX_LOSS).
//!
//! A delayed commit counts from before its acknowledgement until it is durable. One that would exceed a bound waits first
//! (`Shared::delay`); the LOG WRITER drains at half of a bound, so that commits seldom wait while the device keeps up.

use std::collections::VecDeque;

use os::sim::{Bug, is_planted};

use crate::lsn::Lsn;

/// How much may be at risk at once; the default is without bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossBounds {
    /// MAX_DELAY, ns: no commit is acknowledged while one acknowledged longer ago is at risk. So all commits that a crash loses were
    /// acknowledged within that time.
    pub delay_ns_max: Option<u64>,
    /// MAX_LOSS, bytes of log of the transactions at risk.
    pub bytes_max: Option<u64>,
}

/// Commits at risk: their number, the log bytes that their transactions have written, and the age of the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossFigures {
    /// Commits.
    pub commits: u64,
    /// Bytes of log records.
    pub bytes: u64,
    /// Age of the oldest, ns.
    pub age_ns: u64,
}

/// The loss window as views show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossWindowInfo {
    /// At this moment.
    pub now: LossFigures,
    /// The most of each since the log was opened.
    pub highest: LossFigures,
    /// The bounds in force.
    pub bounds: LossBounds,
    /// Delayed commits so far.
    pub commits_total: u64,
    /// How many of them had to wait because of a bound.
    pub waits_total: u64,
    /// The log at risk now outlives the process: it is lost only if the system crashes, too.
    pub survives_process: bool,
}

/// The delayed commits of one block, which become durable together.
#[derive(Debug)]
struct Group {
    /// Its block.
    block: Lsn,
    /// The newest of them.
    last: Lsn,
    commits: u64,
    bytes: u64,
    /// When the first was acknowledged.
    since_ns: u64,
}

/// The delayed commits at risk. Guarded by the queue latch. At most as many groups as the cache has blocks.
#[derive(Debug, Default)]
pub(crate) struct LossWindow {
    bounds: LossBounds,
    groups: VecDeque<Group>,
    commits: u64,
    bytes: u64,
    highest: LossFigures,
    commits_total: u64,
    waits_total: u64,
}

impl LossWindow {
    /// Invariants between calls.
    fn assert_state(&self) {
        assert_eq!(self.groups.is_empty(), self.commits == 0, "a group has commits");
        assert!(self.commits >= self.groups.len() as u64, "{} commits", self.commits);
        assert!(self.highest.commits >= self.commits, "the most is no less than what is");
        assert!(self.highest.bytes >= self.bytes, "the most is no less than what is");
        assert!(self.commits_total >= self.commits, "each was counted once");
        debug_assert_eq!(
            self.groups.iter().map(|group| group.bytes).sum::<u64>(),
            self.bytes,
            "what is at risk is the sum of its groups"
        );
        debug_assert_eq!(
            self.groups.iter().map(|group| group.commits).sum::<u64>(),
            self.commits,
            "each commit at risk is in a group"
        );
        let (oldest, newest) = (self.groups.front(), self.groups.back());
        assert!(oldest.map(|group| group.block) <= newest.map(|group| group.block), "groups in order");
    }

    pub(crate) fn set_bounds(&mut self, bounds: LossBounds) {
        assert!(bounds.delay_ns_max != Some(0) && bounds.bytes_max != Some(0), "no bound is none, not 0");
        self.bounds = bounds;
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.bounds != LossBounds::default()
    }

    /// Is so much log at risk that it should drain whatever the policy says?
    pub(crate) fn is_half_full(&self) -> bool {
        self.bounds.bytes_max.is_some_and(|most| self.bytes > 0 && self.bytes >= most / 2)
    }

    /// The age, in ns, at which delayed commits should drain whatever the policy says.
    pub(crate) fn due_age_ns(&self) -> Option<u64> {
        assert!(self.bounds.delay_ns_max != Some(0), "no bound is none, not 0");
        self.bounds.delay_ns_max.map(|most| most / 2)
    }

    /// The record that must be durable before the commit at `lsn` of a transaction that wrote `bytes` may be at risk, too; none: it may be now.
    pub(crate) fn obstacle(&mut self, lsn: Lsn, bytes: u64, now_ns: impl FnOnce() -> u64) -> Option<Lsn> {
        assert!(lsn.slot() > 0, "a commit is a record");
        if !self.is_bounded() || is_planted(Bug::LossBoundIgnored) {
            return None;
        }
        let too_much = self.bounds.bytes_max.is_some_and(|most| self.bytes + bytes > most);
        let oldest = self.groups.iter().min_by_key(|group| group.since_ns);
        let too_old = match (self.bounds.delay_ns_max, oldest) {
            (Some(most), Some(oldest)) => now_ns().saturating_sub(oldest.since_ns) >= most,
            _ => false,
        };
        let obstacle = match oldest {
            Some(oldest) if too_old && !too_much => Some(oldest.last),
            Some(_) if too_much => self.groups.back().map(|newest| newest.last),
            // The commit alone exceeds the bound.
            None if too_much => Some(lsn),
            _ => None,
        };
        self.waits_total += u64::from(obstacle.is_some());
        obstacle
    }

    /// The commit at `lsn` is about to be acknowledged.
    pub(crate) fn add(&mut self, lsn: Lsn, bytes: u64, now_ns: impl FnOnce() -> u64) {
        let block = lsn.block_start();
        assert!(lsn > block, "a commit is a record");
        match self.groups.iter_mut().rev().find(|group| group.block <= block) {
            Some(group) if group.block == block => {
                group.last = group.last.max(lsn);
                group.commits += 1;
                group.bytes += bytes;
            }
            _ => {
                let at = self.groups.partition_point(|group| group.block < block);
                let group = Group { block, last: lsn, commits: 1, bytes, since_ns: now_ns() };
                self.groups.insert(at, group);
            }
        }
        self.commits += 1;
        self.bytes += bytes;
        self.commits_total += 1;
        self.highest.commits = self.highest.commits.max(self.commits);
        self.highest.bytes = self.highest.bytes.max(self.bytes);
        self.assert_state();
    }

    /// Everything up to `hardened` is durable.
    pub(crate) fn note_hardened(&mut self, hardened: Lsn, now_ns: impl FnOnce() -> u64) {
        if self.groups.front().is_none_or(|oldest| oldest.last > hardened) {
            return;
        }
        let now_ns = now_ns();
        while let Some(oldest) = self.groups.front()
            && oldest.last <= hardened
        {
            let was_at_risk = self.commits >= oldest.commits && self.bytes >= oldest.bytes;
            assert!(was_at_risk, "what becomes durable was counted as at risk");
            self.commits -= oldest.commits;
            self.bytes -= oldest.bytes;
            self.highest.age_ns = self.highest.age_ns.max(now_ns.saturating_sub(oldest.since_ns));
            self.groups.pop_front();
        }
        assert!(!self.groups.is_empty() || self.bytes == 0, "the sum of no groups");
        assert!(self.groups.iter().all(|group| group.last > hardened), "what is hard is not at risk");
        self.assert_state();
    }

    pub(crate) fn info(&self, now_ns: u64) -> LossWindowInfo {
        let oldest_ns = self.groups.iter().map(|group| group.since_ns).min();
        let age_ns = oldest_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        let now = LossFigures { commits: self.commits, bytes: self.bytes, age_ns };
        let highest = LossFigures { age_ns: self.highest.age_ns.max(age_ns), ..self.highest };
        let (commits_total, waits_total) = (self.commits_total, self.waits_total);
        LossWindowInfo {
            now,
            highest,
            bounds: self.bounds,
            commits_total,
            waits_total,
            survives_process: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lsn(block: u32, slot: u16) -> Lsn {
        Lsn::new(1, block, slot)
    }

    #[test]
    fn what_is_hard_is_not_at_risk_and_the_most_is_remembered() {
        let mut window = LossWindow::default();
        window.add(lsn(16, 3), 100, || 1_000);
        window.add(lsn(16, 7), 50, || unreachable!("one look at the clock a block"));
        window.add(lsn(20, 1), 10, || 3_000);
        let info = window.info(5_000);
        assert_eq!(info.now, LossFigures { commits: 3, bytes: 160, age_ns: 4_000 });
        window.note_hardened(lsn(16, 6), || unreachable!("the block is hard as a whole"));
        window.note_hardened(lsn(16, 9), || 6_000);
        assert_eq!(window.info(6_500).now, LossFigures { commits: 1, bytes: 10, age_ns: 3_500 });
        window.note_hardened(lsn(20, 1), || 7_000);
        let info = window.info(9_000);
        assert_eq!(info.now, LossFigures::default());
        assert_eq!(info.highest, LossFigures { commits: 3, bytes: 160, age_ns: 5_000 });
        assert_eq!((info.commits_total, info.waits_total), (3, 0));
    }

    #[test]
    fn a_commit_beyond_a_bound_has_an_obstacle() {
        let mut window = LossWindow::default();
        window.set_bounds(LossBounds { delay_ns_max: Some(1_000), bytes_max: Some(100) });
        assert_eq!(window.obstacle(lsn(16, 1), 101, || 0), Some(lsn(16, 1)), "it alone is too much");
        assert_eq!(window.obstacle(lsn(16, 1), 60, || 0), None);
        window.add(lsn(16, 1), 60, || 0);
        assert!(window.is_half_full());
        assert_eq!(window.obstacle(lsn(16, 2), 41, || 0), Some(lsn(16, 1)));
        assert_eq!(window.obstacle(lsn(16, 2), 40, || 999), None);
        assert_eq!(window.obstacle(lsn(16, 2), 40, || 1_000), Some(lsn(16, 1)), "something is too old");
        window.note_hardened(lsn(16, 1), || 1_100);
        assert_eq!(window.obstacle(lsn(16, 2), 40, || 1_100), None);
        assert_eq!(window.info(1_200).waits_total, 3);
    }
}
