//! Bugs that the code above contains on demand, and the places of it that a world has come by.

use crate::seat::{any_world, baton};

/// Bugs that the code above contains on demand, and only in a world that asks for one.
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
    /// A VLF is given up for reuse although a transaction still needs it.
    VlfReusedUnderPin,
    /// Values of a sequence are handed out although the note of their range is not hardened.
    HandOutBeforeHarden,
    /// The status of a commit is told as HARDENED as soon as its record is in the log's cache.
    TicketBeforeHardened,
    /// Delayed commits are acknowledged whatever MAX_DELAY and MAX_LOSS say.
    LossBoundIgnored,
    /// tempdb's log drains by time like that of delayed commits elsewhere.
    TempdbDrains,
    /// A full commit lets others see what it has changed, by its locks and by its versions, before it is hard.
    SeenBeforeHarden,
    /// Row versions go with the newest commit, whatever snapshot is open.
    VersionFreedTooEarly,
    /// A snapshot sees what is committed after it.
    SnapshotSeesLaterCommit,
    /// A change under SNAPSHOT goes over what others have committed since.
    LostUpdateUnderSnapshot,
    /// Whoever changes rows after its snapshot was given up does not ask what has gone with it.
    ConflictsForgotten,
    /// A lock that REPEATABLE READ keeps on a row it has read is given back with the next row.
    ReadLockReleasedEarly,
    /// The log doctor has forgotten its rules.
    DoctorWithoutRules,
    /// What an earlier run or boot has left in memory that outlives the process is taken, whoever left it and whatever it continues.
    CacheOfFormerBoot,
    /// A record in memory that outlives the process counts before its bytes are there.
    CountedBeforeStored,
    /// A log file joins its log although nothing of it is durable.
    JoinBeforeHard,
    /// A log file leaves its log although VLFs of it are active.
    LeaveWhileNeeded,
    /// A log file is removed before master notes that it leaves.
    LeaveBeforeNoted,
    /// A data file is used although master does not note that it belongs to its database.
    UsedBeforeNoted,
    /// A data file, or its end, is given up although redo may still come to pages there.
    GivenUpBeforeCheckpoint,
    /// One checkpoint is enough to give pages up, wherever redo starts after it.
    GivenUpAfterOneCheckpoint,
    /// Redo may start before where the checkpoint before let it start.
    RedoStartGoesBack,
    /// A checkpoint takes no notice of appends that are announced and not noted yet.
    AnnouncementIgnored,
    /// A log file is cut before its header says that it is smaller.
    ShrinkBeforeNoted,
    /// A log file's header counts what has been added to it before that is durable.
    GrowBeforeHard,
    /// Log that is being zeroed is used before the zeros are there.
    UseBeforeZeroed,
    /// A commit is acknowledged although its record in the persisted log buffer is still in the processor's caches.
    AcknowledgedBeforeFence,
    /// What the persisted log buffer has kept is not written to the log when that is opened.
    BufferNotCopied,
    /// What a persisted log buffer holds is taken whatever log and opening it was written for.
    BufferOfFormerLife,
    /// What a dead process has left in memory that outlives it is looked at, and not written to the log.
    CacheTakeoverSkipped,
    /// An allocation map that is damaged or lost says that all of its pages are free, and is believed.
    DamagedMapIsFree,
    /// Pages of a heap that an older allocation map does not know are taken for those of a dropped one, and given away.
    YoungHeapIsDropped,
    /// Recovery makes its result the next starting point before it has judged the allocation maps that it came to.
    MapsJudgedAfterCheckpoint,
    /// Redo formats a page of zeros that its record does not format, and goes on.
    EmptyPageIsNew,
    /// A decision about a commit over several databases is forgotten although it is not hard in each of them how that has ended.
    DecisionForgottenEarly,
    /// Values of a range that a sequence has noted ahead are handed out although the note is not hard.
    AheadNotHardened,
    /// A key that its transaction puts into a gap that it keeps leaves half of the gap to others.
    OwnInsertOpensGap,
    /// Redo of a split panics.
    RedoOfSplitPanics,
    /// Redo of a page that a tree was built of leaves its left neighbour ending there.
    BuiltPageNotChained,
    /// Rows that are deleted together reserve the log that the undo of one of them needs.
    ManyReservedAsOne,
    /// Rows that are deleted together leave a version of the first one only.
    ManyLeaveOneVersion,
    /// Ghosts stay for the writer that has committed first, not for the one that has begun first.
    NeededByCommitOrder,
}

/// True in a world that wants this bug. The places that ask are the ones a checker must be able to condemn.
#[inline]
pub fn is_planted(bug: Bug) -> bool {
    any_world() && is_planted_here(bug)
}

#[cold]
fn is_planted_here(bug: Bug) -> bool {
    baton().is_some_and(|seat| seat.is_planted(bug as u8))
}

/// Says that the code of a world came by here: what a workload never reaches, its oracles never judge. Costs nothing outside a world.
#[inline]
pub fn reach(what: impl FnOnce() -> String) {
    if !any_world() {
        return;
    }
    if let Some(seat) = baton() {
        seat.reached(what());
    }
}
