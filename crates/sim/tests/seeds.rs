//! A fixed budget of seeds for each change: the corpus, some fresh seeds twice, and the planted bugs, which must be found.

use hardpan_sim::{Scenario, run_seed};
use os::sim::Bug;

/// Claims 1, 2, 4 to 6 and 54: promises of many clients judged after crashes at any point.
#[test]
fn corpus_and_first_seeds_pass_and_repeat() {
    for scenario in Scenario::ALL {
        let is_cheap = matches!(scenario, Scenario::Log | Scenario::Store | Scenario::Schema);
        let fresh = if is_cheap { 60 } else { 20 };
        let mut pending_commits = 0;
        for seed in scenario.corpus().into_iter().chain(0..fresh) {
            let outcome = run_seed(scenario, seed, None);
            pending_commits += outcome.pending_commits;
            assert!(
                outcome.violations.is_empty(),
                "{} seed {seed}: {:?}",
                scenario.name(),
                outcome.violations
            );
            if seed < 5 {
                assert_eq!(
                    outcome,
                    run_seed(scenario, seed, None),
                    "{} seed {seed} repeats",
                    scenario.name()
                );
            }
        }
        let leaves_pending = matches!(scenario, Scenario::Log | Scenario::Sql);
        assert_eq!(
            pending_commits > 0,
            leaves_pending,
            "{}: {pending_commits} left pending",
            scenario.name()
        );
    }
}

/// The first seed below 2,000 that finds `bug`.
fn first_condemned(scenario: Scenario, bug: Bug) -> Option<u64> {
    (0..2000).find(|&seed| !run_seed(scenario, seed, Some(bug)).violations.is_empty())
}

/// Claims 3 and 16: a server that acknowledges before the log is durable, or writes a page before its log, is found.
#[test]
fn planted_bugs_are_found_within_2000_seeds() {
    for scenario in Scenario::ALL {
        for bug in [
            Bug::AcknowledgeBeforeHarden,
            Bug::HardenedJumpsOverHole,
            Bug::PageBeforeLog,
            Bug::DecideBeforePrepared,
            Bug::ReservationTooSmall,
            Bug::VlfReusedUnderPin,
            Bug::HandOutBeforeHarden,
            Bug::CountedBeforeStored,
            Bug::CacheTakeoverSkipped,
            Bug::BuiltPageNotChained,
            Bug::AcknowledgedBeforeFence,
            Bug::BufferNotCopied,
            Bug::TicketBeforeHardened,
            Bug::LossBoundIgnored,
            Bug::UsedBeforeNoted,
            Bug::GivenUpBeforeCheckpoint,
            Bug::GivenUpAfterOneCheckpoint,
            Bug::AnnouncementIgnored,
            Bug::SeenBeforeHarden,
            Bug::VersionFreedTooEarly,
            Bug::SnapshotSeesLaterCommit,
            Bug::LostUpdateUnderSnapshot,
            Bug::ManyReservedAsOne,
            Bug::ManyLeaveOneVersion,
            Bug::NeededByCommitOrder,
            Bug::ConflictsForgotten,
            Bug::OwnInsertOpensGap,
            Bug::DamagedMapIsFree,
            Bug::YoungHeapIsDropped,
            Bug::MapsJudgedAfterCheckpoint,
            Bug::EmptyPageIsNew,
            Bug::DecisionForgottenEarly,
            Bug::AheadNotHardened,
        ] {
            if !scenario.can_see(bug) {
                continue;
            }
            let found = first_condemned(scenario, bug);
            println!("{}: {bug:?} at seed {found:?}", scenario.name());
            assert!(found.is_some(), "{bug:?} was not seen in 2000 seeds of scenario {}", scenario.name());
        }
    }
}
