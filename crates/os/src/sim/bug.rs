//! Planted bugs of the crates above, and code coverage points of a world.

use crate::seat::{any_world, baton};

/// Planted bugs of the crates above, active only in a world that asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// A commit is acknowledged without waiting for its log.
    AcknowledgeBeforeHarden,
    /// The hardened position jumps to a completed block although one before it is still in flight.
    HardenedJumpsOverHole,
    /// A dirty page is written although its log is not hardened.
    PageBeforeLog,
    /// A commit over several databases is decided although it is not hardened that each of them is prepared.
    DecideBeforePrepared,
    /// A change reserves half the log that its undo needs.
    ReservationTooSmall,
    /// A VLF is reused although a transaction still needs it.
    VlfReusedUnderPin,
    /// Values of a sequence are returned although the record of their range is not hardened.
    HandOutBeforeHarden,
    /// The status of a commit is reported as HARDENED as soon as its record is in the log's cache.
    TicketBeforeHardened,
    /// Delayed commits are acknowledged whatever MAX_DELAY and MAX_LOSS say.
    LossBoundIgnored,
    /// tempdb's log drains by time like that of delayed commits elsewhere.
    TempdbDrains,
    /// A full commit makes its changes visible, by its locks and by its versions, before it is durable.
    SeenBeforeHarden,
    /// Row versions are dropped with the newest commit, whatever snapshot is open.
    VersionFreedTooEarly,
    /// A snapshot sees later commits.
    SnapshotSeesLaterCommit,
    /// A change under SNAPSHOT overwrites later commits of other transactions.
    LostUpdateUnderSnapshot,
    /// A change after its snapshot was given up does not check for dropped versions.
    ConflictsForgotten,
    /// REPEATABLE READ releases the lock on a row with the next row.
    ReadLockReleasedEarly,
    /// The log doctor has forgotten its rules.
    DoctorWithoutRules,
    /// Surviving memory of an earlier run or boot is taken over without checks.
    CacheOfFormerBoot,
    /// A record in memory that outlives the process counts before its bytes are stored.
    CountedBeforeStored,
    /// A log file joins its log before it is durable.
    JoinBeforeHard,
    /// A log file leaves its log although VLFs of it are active.
    LeaveWhileNeeded,
    /// A log file is removed before master notes that it leaves.
    LeaveBeforeNoted,
    /// A data file is used although master does not note that it belongs to its database.
    UsedBeforeNoted,
    /// A data file, or its end, is removed although redo may still read pages there.
    GivenUpBeforeCheckpoint,
    /// One checkpoint is enough to remove pages, wherever redo starts after it.
    GivenUpAfterOneCheckpoint,
    /// Redo may start before the redo start of the checkpoint before.
    RedoStartGoesBack,
    /// A checkpoint ignores appends that are announced and not noted yet.
    AnnouncementIgnored,
    /// A log file is cut before its header says that it is smaller.
    ShrinkBeforeNoted,
    /// A log file's header counts added VLFs before they are durable.
    GrowBeforeHard,
    /// Log that is being zeroed is used before the zeros are there.
    UseBeforeZeroed,
    /// A commit is acknowledged although its record in the persisted log buffer is still in the processor's caches.
    AcknowledgedBeforeFence,
    /// The contents of the persisted log buffer are not written to the log when it is opened.
    BufferNotCopied,
    /// The contents of a persisted log buffer are taken over without a check of its log and opening.
    BufferOfFormerLife,
    /// The surviving cache of a dead process is read, but not written to the log.
    CacheTakeoverSkipped,
    /// A damaged or lost allocation map counts as a map of free pages.
    DamagedMapIsFree,
    /// Pages of a heap that an older allocation map does not know are taken for those of a dropped one, and given away.
    YoungHeapIsDropped,
    /// Recovery makes its result the next starting point before it has judged the allocation maps that it came to.
    MapsJudgedAfterCheckpoint,
    /// Redo formats a page of zeros that its record does not format, and goes on.
    EmptyPageIsNew,
    /// A decision about a commit over several databases is deleted although its outcome is not durable in each of them.
    DecisionForgottenEarly,
    /// Values of a range that a sequence has reserved ahead are returned although the record is not durable.
    AheadNotHardened,
    /// A key that a transaction inserts into a gap that it has locked leaves half of the gap unlocked.
    OwnInsertOpensGap,
    /// Redo of a split panics.
    RedoOfSplitPanics,
    /// Redo of a page of an index build does not link it to its left sibling.
    BuiltPageNotChained,
    /// Rows that are deleted together reserve log for the undo of only one of them.
    ManyReservedAsOne,
    /// Rows that are deleted together store a version of the first one only.
    ManyLeaveOneVersion,
    /// Ghosts are kept for the writer that has committed first, not for the one that has begun first.
    NeededByCommitOrder,
}

/// True in a world with this bug planted. A checker must detect each of these bugs.
#[inline]
pub fn is_planted(bug: Bug) -> bool {
    any_world() && is_planted_here(bug)
}

#[cold]
fn is_planted_here(bug: Bug) -> bool {
    baton().is_some_and(|seat| seat.is_planted(bug as u8))
}

/// Notes that a world has reached this point (code coverage): oracles cannot check code that a workload never reaches. Free outside a world.
#[inline]
pub fn reach(what: impl FnOnce() -> String) {
    if !any_world() {
        return;
    }
    if let Some(seat) = baton() {
        seat.reached(what());
    }
}
