//! Each rule of the doctor at both sides of its threshold; claims 246, 256, 257, 261, 272 to 275, 279, 280 and 317.

use log::{LogReuseWait, LossBounds, LossFigures};

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const MS_NS: u64 = 1_000_000;

/// Ten seconds in which 1,000 log writes of 4 KB took 1 ms each, full of the records of 2,800 commits, in a log of 100 MB of which 10 are
/// used: no finding.
fn healthy() -> Observation {
    let mut seen = Observation {
        database: "db".into(),
        is_volatile: false,
        suspect: None,
        first: Sample { at_ns: SECOND_NS, ..Sample::default() },
        last: Sample { at_ns: 11 * SECOND_NS, ..Sample::default() },
        calm: Pace { flushes: 1_000, write_ns: 1_000 * MS_NS },
        disturbed: Pace::default(),
        at_risk_most: LossFigures::default(),
        in_flight_most: 2,
        holder: None,
        reuse_wait: LogReuseWait::Nothing,
        growth_left_bytes: 1 << 30,
    };
    for log in [&mut seen.first.log, &mut seen.last.log] {
        log.size_bytes = 100 << 20;
        log.used_bytes = 10 << 20;
        log.vlf_count = 8;
    }
    let log = &mut seen.last.log;
    log.flushes_total = 1_000;
    log.flush_write_ns_total = 1_000 * MS_NS;
    log.flush_writes_by_time_total[10] = 1_000;
    log.flushed_bytes_total = 4_096 * 1_000;
    log.record_bytes_total = 4_000 * 1_000;
    log.flush_waits_total = 500;
    log.flush_wait_ns_total = 500 * MS_NS;
    seen.last.commits_total = 2_800;
    seen
}

fn numbers(seen: &Observation) -> Vec<u32> {
    findings(seen).iter().map(|finding| finding.number).collect()
}

/// The finding of a rule.
fn of_rule(seen: &Observation, number: u32) -> Option<Judgement> {
    findings(seen).into_iter().find(|finding| finding.number == number).map(|finding| finding.judgement)
}

/// A rule gives no finding on this side of its threshold, and this one on that side.
fn speaks(number: u32, change: impl Fn(&mut Observation, bool), severity: Severity) -> Judgement {
    let (mut below, mut beyond) = (healthy(), healthy());
    change(&mut below, false);
    change(&mut beyond, true);
    assert_eq!(of_rule(&below, number), None, "rule {number} speaks too early");
    let judgement = of_rule(&beyond, number).unwrap_or_else(|| panic!("rule {number} is silent"));
    assert_eq!(judgement.severity, severity, "{judgement:?}");
    judgement
}

fn either<T>(is_beyond: bool, below: T, beyond: T) -> T {
    if is_beyond { beyond } else { below }
}

/// Claims 273 and 275: bytes and commits of a flush.
#[test]
fn a_healthy_server_gets_its_figures_and_no_complaint() {
    let seen = healthy();
    assert_eq!(numbers(&seen), [0, 7]);
    let told = of_rule(&seen, 7).unwrap();
    assert_eq!(told.verdict, "A log write carries 2.8 commits and 4.0 KB.");
    assert!(findings(&seen).iter().all(|finding| finding.judgement.severity == Severity::Ok));
    let mut idle = healthy();
    idle.last.log = idle.first.log;
    idle.last.commits_total = 0;
    assert_eq!(numbers(&idle), [0]);
    assert_eq!(of_rule(&idle, 0).unwrap().verdict, "Nothing limits commits: there were none.");
}

/// Claim 257.
#[test]
fn the_database_and_its_device() {
    speaks(1, |seen, beyond| seen.suspect = beyond.then(|| "EIO".into()), Severity::Critical);
    // Writes are in flight, and some have ended; or none has.
    let stalled = |seen: &mut Observation, beyond: bool| {
        (seen.first.log.outstanding_ios, seen.last.log.outstanding_ios) = (1, 1);
        seen.last.log.flushes_total = either(beyond, 1, 0);
    };
    speaks(2, stalled, Severity::Critical);
    let slow = |seen: &mut Observation, beyond: bool| {
        seen.last.log.flush_write_ns_total = 1_000 * 5 * MS_NS + either(beyond, 0, 1_000);
    };
    let told = speaks(3, slow, Severity::Warning);
    assert!(told.verdict.contains("5.0 ms"), "{told:?}");
    let spikes = |seen: &mut Observation, beyond: bool| {
        seen.last.log.flush_writes_by_time_total[14] = either(beyond, 9, 10);
        seen.last.log.flush_writes_by_time_total[13] = 900;
    };
    speaks(4, spikes, Severity::Note);
}

/// Claims 274 and 279, with the figures of article 002.
#[test]
fn the_limits_of_the_log() {
    let writes = |seen: &mut Observation, beyond: bool| {
        seen.last.log.limits = log::LogLimits::sql2008();
        seen.last.log.flushed_bytes_total = 1_946 * 1_000;
        seen.last.log.record_bytes_total = 1_900 * 1_000;
        seen.last.log.outstanding_ios_limit_ns_total = either(beyond, 99, 100) * MS_NS;
    };
    let told = speaks(5, writes, Severity::Warning);
    // Claim 274: 32 writes of 1.9 KB are 60 KB, far below the limit of bytes.
    assert!(told.evidence.contains("32 writes of 1.9 KB are 60.8 KB, of 3840 KB allowed"), "{told:?}");
    let bytes = |seen: &mut Observation, beyond: bool| {
        seen.last.log.limits = log::LogLimitsProfile::Sql2005X64.limits();
        seen.last.log.flushed_bytes_total = 39_177 * 1_000;
        seen.last.log.record_bytes_total = 39_000 * 1_000;
        seen.last.log.outstanding_bytes_limit_ns_total = either(beyond, 99, 100) * MS_NS;
    };
    let told = speaks(6, bytes, Severity::Warning);
    // Claim 279: 12 writes of 39,177 bytes are near 480 KB.
    assert!(told.evidence.contains("at 38.3 KB each these are 12 writes"), "{told:?}");
}

#[test]
fn flushes_and_waits() {
    speaks(7, |seen, beyond| seen.last.log.flushes_total = either(beyond, 0, 1), Severity::Ok);
    let padding = |seen: &mut Observation, beyond: bool| {
        seen.last.log.flushed_bytes_total = 512_000;
        seen.last.log.record_bytes_total = either(beyond, 256_001, 256_000);
    };
    let told = speaks(8, padding, Severity::Note);
    assert!(told.evidence.contains("50 %"), "{told:?}");
    // Waits are three times a write of 1 ms.
    let queueing = |seen: &mut Observation, beyond: bool| {
        seen.last.log.flush_wait_ns_total = 500 * 3 * MS_NS - either(beyond, 500, 0);
    };
    speaks(9, queueing, Severity::Note);
    let buffer = |seen: &mut Observation, beyond: bool| {
        seen.last.waits.log_buffer = Wait { count: 7, ns: either(beyond, 99, 100) * MS_NS };
    };
    speaks(10, buffer, Severity::Warning);
}

#[test]
fn what_stands_beside_the_log() {
    let checkpoint = |seen: &mut Observation, beyond: bool| {
        seen.disturbed = Pace { flushes: 100, write_ns: 200 * MS_NS - either(beyond, 100, 0) };
    };
    speaks(11, checkpoint, Severity::Warning);
    let on_a_fast_device = |seen: &mut Observation, beyond: bool| {
        seen.calm.write_ns = 1_000 * MS_NS / 10;
        seen.disturbed = Pace { flushes: 100, write_ns: 100 * MS_NS - either(beyond, 100, 0) };
    };
    speaks(11, on_a_fast_device, Severity::Warning);
    let too_few = |seen: &mut Observation, beyond: bool| {
        seen.disturbed = Pace { flushes: either(beyond, 19, 20), write_ns: 200 * MS_NS };
    };
    speaks(11, too_few, Severity::Warning);
    // Claim 317.
    let vlfs = |seen: &mut Observation, beyond: bool| seen.last.log.vlf_count = either(beyond, 1_000, 1_001);
    speaks(12, vlfs, Severity::Warning);
    let growth = |seen: &mut Observation, beyond: bool| seen.last.log.growths_total = either(beyond, 0, 1);
    speaks(16, growth, Severity::Note);
    let mut stalls = healthy();
    stalls.last.log.growths_total = 1;
    for (ms, severity) in [(99, Severity::Note), (100, Severity::Warning)] {
        stalls.last.waits.growth = Wait { count: 1, ns: ms * MS_NS };
        assert_eq!(of_rule(&stalls, 16).unwrap().severity, severity, "{ms} ms");
    }
}

#[test]
fn who_holds_the_log() {
    let holder = |age_ns: u64| {
        Some(Holder {
            reason: LogReuseWait::ActiveTransaction,
            owner: "oldest transaction".into(),
            session_id: 51,
            age_ns,
        })
    };
    let held = |seen: &mut Observation, beyond: bool| {
        seen.holder = holder(SECOND_NS);
        seen.last.log.used_bytes = (70 << 20) - either(beyond, 1, 0);
    };
    let told = speaks(13, held, Severity::Warning);
    assert!(told.verdict.contains("session 51"), "{told:?}");
    let by_a_checkpoint = |seen: &mut Observation, beyond: bool| {
        held(seen, true);
        let reason = either(beyond, LogReuseWait::Checkpoint, LogReuseWait::LogScan);
        seen.holder = Some(Holder { reason, owner: "reader".into(), session_id: 0, age_ns: 0 });
    };
    let told = speaks(13, by_a_checkpoint, Severity::Warning);
    assert!(told.verdict.contains("reader keeps it"), "{told:?}");
    let old =
        |seen: &mut Observation, beyond: bool| seen.holder = holder(60 * SECOND_NS - either(beyond, 1, 0));
    speaks(14, old, Severity::Note);
    let full = |seen: &mut Observation, beyond: bool| {
        seen.last.log.used_bytes = (90 << 20) - either(beyond, 1, 0);
        seen.growth_left_bytes = 10 << 19;
    };
    speaks(15, full, Severity::Critical);
    let may_grow = |seen: &mut Observation, beyond: bool| {
        seen.last.log.used_bytes = 95 << 20;
        seen.growth_left_bytes = (10 << 20) - either(beyond, 0, 1);
    };
    speaks(15, may_grow, Severity::Critical);
}

#[test]
fn delayed_commits() {
    let delayed = |seen: &mut Observation, beyond: bool| seen.last.loss.commits_total = either(beyond, 0, 1);
    speaks(17, delayed, Severity::Note);
    let mut seen = healthy();
    seen.last.loss.commits_total = 1;
    let small = LossFigures { commits: 1, bytes: (480 << 10) - 1, age_ns: 100 * MS_NS - 1 };
    for (most, severity) in [
        (small, Severity::Note),
        (LossFigures { bytes: 480 << 10, ..small }, Severity::Warning),
        (LossFigures { age_ns: 100 * MS_NS, ..small }, Severity::Warning),
    ] {
        seen.at_risk_most = most;
        assert_eq!(of_rule(&seen, 17).unwrap().severity, severity, "{most:?}");
    }
    let bound = |seen: &mut Observation, beyond: bool| {
        seen.last.loss.bounds = LossBounds { delay_ns_max: Some(10 * MS_NS), bytes_max: None };
        seen.last.loss.waits_total = either(beyond, 27, 28);
    };
    speaks(18, bound, Severity::Note);
}

#[test]
fn what_limits_commits_is_what_is_waited_for_most() {
    let first = |change: &dyn Fn(&mut Observation)| {
        let mut seen = healthy();
        change(&mut seen);
        of_rule(&seen, 0).unwrap().verdict
    };
    let waits_ms = |ms: u64| move |seen: &mut Observation| seen.last.log.flush_wait_ns_total = ms * MS_NS;
    assert!(first(&waits_ms(999)).starts_with("The log does not limit commits"));
    let device = first(&waits_ms(1_000));
    assert!(
        device.contains("it is healthy: a write takes 1.0 ms, so one session can commit 1000/s"),
        "{device}"
    );
    let slow = |seen: &mut Observation| {
        seen.last.log.flush_write_ns_total = 6_000 * MS_NS;
        seen.last.log.flush_wait_ns_total = 9_000 * MS_NS;
    };
    assert!(first(&slow).contains("it is slow"));
    let limit = |seen: &mut Observation| {
        slow(seen);
        seen.last.log.outstanding_ios_limit_ns_total = 1_000 * MS_NS;
    };
    assert!(first(&limit).contains("limit of 112 log writes"), "the cause is named before the wait");
    let bytes = |seen: &mut Observation| seen.last.log.outstanding_bytes_limit_ns_total = 2_000 * MS_NS;
    assert!(first(&bytes).contains("limit of 3840 KB"));
    let growth = |seen: &mut Observation| {
        seen.last.log.growths_total = 1;
        seen.last.waits.growth.ns = 5_000 * MS_NS;
    };
    assert!(first(&growth).starts_with("Growth of the log file"));
    assert!(first(&|seen| seen.last.waits.locks.ns = 5_000 * MS_NS).starts_with("Locks"));
    assert!(first(&|seen| seen.last.waits.page_io.ns = 5_000 * MS_NS).starts_with("Reading pages"));
    assert!(first(&|seen| seen.last.waits.log_buffer.ns = 5_000 * MS_NS).contains("room in the log cache"));
    assert!(first(&|seen| seen.is_volatile = true).contains("nothing of this database is made durable"));
    assert!(first(&|seen| seen.suspect = Some("EIO".into())).contains("suspect"));
    let stuck = |seen: &mut Observation| {
        (seen.first.log.outstanding_ios, seen.last.log.outstanding_ios) = (1, 1);
        seen.last.log.flushes_total = 0;
    };
    assert!(first(&stuck).contains("does not answer"));
}

/// `docs/doctor.md` has the table as it is.
#[test]
fn the_page_tells_every_rule() {
    let page = include_str!("../../../../docs/doctor.md");
    for (at, rule) in RULES.iter().enumerate() {
        assert_eq!(rule.number as usize, at + 1, "rules are numbered in their order");
        let row = format!("| {} | {} | {} | {} |", rule.number, rule.area, rule.threshold, rule.source);
        assert!(page.contains(&row), "docs/doctor.md lacks: {row}");
    }
}
