//! The doctor's rules, one row each: subject, threshold, source of the threshold, and the function that judges.
//!
//! A rule is a pure function of an observation. Each has a test at both sides of its threshold (`tests.rs`), a scripted situation on a
//! simulated machine (`session/tests/log_doctor.rs`), and its row in `docs/doctor.md`, which a test compares with this table.

use log::LogReuseWait;

use super::judgement::{Judgement, Severity};
use super::sample::Observation;
use super::words::{percent, rate, size, time};

/// One rule.
pub struct Rule {
    /// Its number in the answer.
    pub number: u32,
    /// Its subject.
    pub area: &'static str,
    /// The condition for a finding.
    pub threshold: &'static str,
    /// The source of the threshold: a claim of the articles, SQL Server's documentation, or a reason of our own.
    pub source: &'static str,
    /// Gives a finding or none.
    pub judge: fn(&Observation) -> Option<Judgement>,
}

/// A log write should take up to this long on average (claim 257).
pub(super) const HEALTHY_WRITE_NS: u64 = 5_000_000;
/// A write is a spike from 2^13 us = 8.2 ms on, the first histogram class entirely beyond the healthy range.
const SPIKE_CLASS: usize = 13;
/// Spikes are reported when they are this share of the writes: the average then hides them (claim 280).
const SPIKES_PART: f64 = 0.01;
/// Waits are reported when they are this share of the time: an average may hide them.
pub(super) const NOTABLE_SHARE: f64 = 0.01;
/// Padding as a share of the written bytes: article 001's small transactions had half (claim 207).
const PADDING_PART: f64 = 0.5;
/// Fewer flushes are too few for a judgement.
const FLUSHES_MIN: u64 = 20;
/// Commits queue when their wait is so many times a write: one for the running write and one for their own is normal.
const QUEUE_FACTOR: u64 = 3;
/// A checkpoint disturbs when log writes take so many times as long during it ...
const DISTURBANCE_FACTOR: u64 = 2;
/// ... and at least this long, where the healthy range is no longer excellent (claim 257).
const DISTURBED_WRITE_NS: u64 = 1_000_000;
/// SQL Server's start warns of more VLFs (9017).
const VLFS_MAX: u64 = 1_000;
/// An automatic checkpoint frees log from this share on (SQL Server's documentation); log used beyond it is held.
const USED_PART: f64 = 0.7;
/// From this share on, without room to grow, 9002 is near.
const FULL_PART: f64 = 0.9;
/// A transaction open for this long holds log that no other transaction needs.
const OLD_TRANSACTION_NS: u64 = 60_000_000_000;
/// More delayed commits at risk than a log cache drains quickly: 8 full blocks, and a hundred times EAGER's age.
const AT_RISK_BYTES: u64 = 480 << 10;
const AT_RISK_NS: u64 = 100_000_000;

/// The table.
pub const RULES: &[Rule] = &[
    Rule {
        number: 1,
        area: "database",
        threshold: "the database is suspect",
        source: "error 9001",
        judge: suspect,
    },
    Rule {
        number: 2,
        area: "device",
        threshold: "log writes in flight at the begin and at the end, none ended between",
        source: "claim 261",
        judge: stalled_device,
    },
    Rule {
        number: 3,
        area: "device",
        threshold: "a log write takes more than 5 ms on average",
        source: "claim 257",
        judge: slow_device,
    },
    Rule {
        number: 4,
        area: "device",
        threshold: "1 % of at least 20 log writes take 8.2 ms or longer, and the average 5 ms at most",
        source: "claims 257 and 280",
        judge: spikes,
    },
    Rule {
        number: 5,
        area: "limits",
        threshold: "log writes wait 1 % of the time for the limit of writes in flight",
        source: "claims 261 and 274",
        judge: limit_of_writes,
    },
    Rule {
        number: 6,
        area: "limits",
        threshold: "log writes wait 1 % of the time for the limit of bytes in flight",
        source: "claims 261 and 279",
        judge: limit_of_bytes,
    },
    Rule {
        number: 7,
        area: "flushes",
        threshold: "at least one log write",
        source: "claims 273 and 275",
        judge: flushes,
    },
    Rule {
        number: 8,
        area: "flushes",
        threshold: "half of what at least 20 log writes wrote is padding and headers of blocks",
        source: "claim 207",
        judge: padding,
    },
    Rule {
        number: 9,
        area: "waits",
        threshold: "at least 20 waits for a flush (WRITELOG) take three times as long as a log write on average",
        source: "claims 246 and 272",
        judge: queueing,
    },
    Rule {
        number: 10,
        area: "waits",
        threshold: "sessions wait 1 % of the time for room in a log cache (LOGBUFFER)",
        source: "claim 272",
        judge: log_buffer,
    },
    Rule {
        number: 11,
        area: "checkpoint",
        threshold: "at least 20 log writes beside writes of pages take 1 ms and twice as long as at least 20 others",
        source: "claims 257, 276 and 277",
        judge: checkpoint,
    },
    Rule {
        number: 12,
        area: "VLFs",
        threshold: "more than 1,000 VLFs",
        source: "claim 317, SQL Server's message 9017",
        judge: vlfs,
    },
    Rule {
        number: 13,
        area: "truncation",
        threshold: "70 % of the log are used, and somebody else than a checkpoint keeps the oldest of it",
        source: "SQL Server's automatic checkpoint frees log at 70 %",
        judge: held_log,
    },
    Rule {
        number: 14,
        area: "truncation",
        threshold: "a transaction that has written is open for 60 s and keeps the oldest log, of which less than 70 % are used",
        source: "a minute is far beyond the time of small transactions",
        judge: old_transaction,
    },
    Rule {
        number: 15,
        area: "space",
        threshold: "90 % of the log are used, and it may grow by less than a tenth of its size",
        source: "error 9002 is what comes next",
        judge: nearly_full,
    },
    Rule {
        number: 16,
        area: "growth",
        threshold: "the log grew; a warning when sessions waited 1 % of the time for it",
        source: "claim 317",
        judge: growth,
    },
    Rule {
        number: 17,
        area: "durability",
        threshold: "delayed commits; a warning when 480 KB or 100 ms of them were at risk",
        source: "8 full blocks, 100 times the age at which EAGER drains",
        judge: at_risk,
    },
    Rule {
        number: 18,
        area: "durability",
        threshold: "1 % of the commits waited for MAX_DELAY or MAX_LOSS",
        source: "whoever sets a bound pays for it with waits",
        judge: loss_bounds,
    },
];

fn say(severity: Severity, verdict: String, evidence: String, advice: &'static str) -> Option<Judgement> {
    Some(Judgement { severity, verdict, evidence, advice })
}

fn suspect(seen: &Observation) -> Option<Judgement> {
    let reason = seen.suspect.as_ref()?;
    say(
        Severity::Critical,
        format!("The database {} is suspect: nothing is committed any more.", seen.database),
        reason.clone(),
        "Put right what failed, then start the server again: the database is recovered from its log.",
    )
}

fn stalled_device(seen: &Observation) -> Option<Judgement> {
    let (before, now) = (seen.first.log.outstanding_ios, seen.last.log.outstanding_ios);
    if before == 0 || now == 0 || seen.flushes() > 0 || seen.suspect.is_some() {
        return None;
    }
    say(
        Severity::Critical,
        "The log device does not answer: no write has ended while it was watched.".into(),
        format!(
            "{now} writes, {} in flight for at least {}",
            size(seen.last.log.outstanding_bytes),
            time(seen.window_ns())
        ),
        "Look at the device and at what lies between: every commit waits for it.",
    )
}

fn slow_device(seen: &Observation) -> Option<Judgement> {
    let mean_ns = seen.write_mean_ns();
    if mean_ns <= HEALTHY_WRITE_NS {
        return None;
    }
    say(
        Severity::Warning,
        format!(
            "The log device is slow: a write takes {}, and should take less than 1 to 5 ms.",
            time(mean_ns)
        ),
        format!(
            "{} log writes, {} each on average, {} each",
            seen.flushes(),
            time(mean_ns),
            size(seen.flush_mean_bytes())
        ),
        "Move the log file to a faster device of its own, or look for what else uses this one (replication of the storage, backups, other files).",
    )
}

fn spikes(seen: &Observation) -> Option<Judgement> {
    let (slow, all) = (seen.writes_from_class(SPIKE_CLASS), seen.flushes());
    let is_notable = all >= FLUSHES_MIN && slow as f64 >= all as f64 * SPIKES_PART;
    if !is_notable || seen.write_mean_ns() > HEALTHY_WRITE_NS {
        return None;
    }
    say(
        Severity::Note,
        "The log device is healthy on average, but has spikes, in which commits wait and limits are reached."
            .into(),
        format!(
            "{slow} of {all} log writes took 8.2 ms or longer, the average is {}",
            time(seen.write_mean_ns())
        ),
        "Look for what else uses the device at times: checkpoints, backups, other machines.",
    )
}

fn limit_of_writes(seen: &Observation) -> Option<Judgement> {
    let ns = seen.log_since(|log| log.outstanding_ios_limit_ns_total);
    let times = seen.log_since(|log| log.outstanding_ios_limit_reached_total);
    let limits = seen.last.log.limits;
    let share = seen.share(ns);
    if share < NOTABLE_SHARE {
        return None;
    }
    let in_flight = u64::from(limits.outstanding_ios_max) * seen.flush_mean_bytes();
    say(
        Severity::Warning,
        format!("The limit of {} log writes in flight is reached.", limits.outstanding_ios_max),
        format!(
            "{times} times, {} of {} ({}); {} writes of {} are {}, of {} allowed",
            time(ns),
            time(seen.window_ns()),
            percent(share),
            limits.outstanding_ios_max,
            size(seen.flush_mean_bytes()),
            size(in_flight),
            bytes_limit(limits.outstanding_bytes_max),
        ),
        "A device that answers sooner needs fewer writes at once. ALTER DATABASE ... SET LOG_LIMITS = SQL2012 allows 112; several databases have a limit each.",
    )
}

fn limit_of_bytes(seen: &Observation) -> Option<Judgement> {
    let ns = seen.log_since(|log| log.outstanding_bytes_limit_ns_total);
    let times = seen.log_since(|log| log.outstanding_bytes_limit_reached_total);
    let limits = seen.last.log.limits;
    let share = seen.share(ns);
    if share < NOTABLE_SHARE {
        return None;
    }
    let writes = limits.outstanding_bytes_max / seen.flush_mean_bytes().max(1);
    say(
        Severity::Warning,
        format!("The limit of {} of log in flight is reached.", bytes_limit(limits.outstanding_bytes_max)),
        format!(
            "{times} times, {} of {} ({}); at {} each these are {writes} writes, of {} allowed",
            time(ns),
            time(seen.window_ns()),
            percent(share),
            size(seen.flush_mean_bytes()),
            limits.outstanding_ios_max,
        ),
        "A device that answers sooner needs less in flight. Log less in a transaction, or spread the data over several databases; LOG_LIMITS = SQL2012 allows 3,840 KB.",
    )
}

fn bytes_limit(bytes: u64) -> String {
    if bytes == u64::MAX { "any number".into() } else { format!("{} KB", bytes / 1024) }
}

fn flushes(seen: &Observation) -> Option<Judgement> {
    let flushes = seen.flushes();
    if flushes == 0 {
        return None;
    }
    let window_ns = seen.window_ns();
    let per_flush = seen.commits() as f64 / flushes as f64;
    say(
        Severity::Ok,
        format!("A log write carries {per_flush:.1} commits and {}.", size(seen.flush_mean_bytes())),
        format!(
            "{} commits, {} log writes, {} in a second, {} a write; at most {} writes in flight",
            rate(seen.commits(), window_ns),
            rate(flushes, window_ns),
            size(
                (seen.log_since(|log| log.flushed_bytes_total) as f64 * 1e9 / window_ns.max(1) as f64) as u64
            ),
            time(seen.write_mean_ns()),
            seen.in_flight_most.max(1),
        ),
        "",
    )
}

fn padding(seen: &Observation) -> Option<Judgement> {
    let written = seen.log_since(|log| log.flushed_bytes_total);
    let records = seen.log_since(|log| log.record_bytes_total).min(written);
    let part = (written - records) as f64 / written.max(1) as f64;
    if seen.flushes() < FLUSHES_MIN || part < PADDING_PART {
        return None;
    }
    say(
        Severity::Note,
        "Transactions are so small that most of each log write is padding.".into(),
        format!(
            "{} of {} written are padding and headers ({}); {} of records in a write of {}",
            size(written - records),
            size(written),
            percent(part),
            size(records / seen.flushes().max(1)),
            size(seen.flush_mean_bytes()),
        ),
        "Change more rows in a transaction, or let commits share a write: SET COMMIT_ACK = BATCH, more sessions at once, delayed durability.",
    )
}

fn queueing(seen: &Observation) -> Option<Judgement> {
    let wait = seen.write_log();
    let mean_ns = wait.ns.checked_div(wait.count).unwrap_or(0);
    let write_ns = seen.write_mean_ns();
    if wait.count < FLUSHES_MIN || write_ns == 0 || mean_ns < QUEUE_FACTOR * write_ns {
        return None;
    }
    say(
        Severity::Note,
        "Commits wait longer than a log write takes: they queue for the device.".into(),
        format!(
            "{} waits for a flush (WRITELOG) of {} each, a write takes {}",
            wait.count,
            time(mean_ns),
            time(write_ns)
        ),
        "A faster device, less log in large transactions beside the small ones, or several databases.",
    )
}

fn log_buffer(seen: &Observation) -> Option<Judgement> {
    let wait = seen.waits(|waits| waits.log_buffer);
    let share = seen.share(wait.ns);
    if share < NOTABLE_SHARE || seen.flushes() == 0 {
        return None;
    }
    say(
        Severity::Warning,
        "Log is made faster than the device takes it: sessions wait for room in a log cache.".into(),
        format!(
            "{} waits (LOGBUFFER, of the whole server), {} of {} ({}); {} of log in a second",
            wait.count,
            time(wait.ns),
            time(seen.window_ns()),
            percent(share),
            size(
                (seen.log_since(|log| log.flushed_bytes_total) as f64 * 1e9 / seen.window_ns().max(1) as f64)
                    as u64
            ),
        ),
        "A device with more throughput, or less log: change fewer and narrower rows and indexes.",
    )
}

fn checkpoint(seen: &Observation) -> Option<Judgement> {
    let (calm, disturbed) = (&seen.calm, &seen.disturbed);
    let has_both = calm.flushes >= FLUSHES_MIN && disturbed.flushes >= FLUSHES_MIN;
    let mean_ns = disturbed.mean_ns();
    if !has_both || mean_ns < DISTURBED_WRITE_NS || mean_ns < DISTURBANCE_FACTOR * calm.mean_ns() {
        return None;
    }
    let pages = seen.last.page_bytes_total.saturating_sub(seen.first.page_bytes_total);
    say(
        Severity::Warning,
        "Checkpoints disturb the log: its writes take longer while pages are written.".into(),
        format!(
            "{} a log write beside {} of pages, {} at other times",
            time(mean_ns),
            size(pages),
            time(calm.mean_ns())
        ),
        "Put the log file on a device that shares nothing with the data files, its controller included.",
    )
}

fn vlfs(seen: &Observation) -> Option<Judgement> {
    let log = &seen.last.log;
    if log.vlf_count <= VLFS_MAX {
        return None;
    }
    say(
        Severity::Warning,
        format!("The log has {} VLFs, which makes recovery and some changes slower.", log.vlf_count),
        format!(
            "{} VLFs in {}, {} each",
            log.vlf_count,
            size(log.size_bytes),
            size(log.size_bytes / log.vlf_count)
        ),
        "Let the log grow in large steps (FILEGROWTH), and give it its size at once (ALTER DATABASE ... MODIFY FILE); those that there are stay.",
    )
}

/// The used share of the log.
fn used_part(seen: &Observation) -> f64 {
    seen.last.log.used_bytes as f64 / seen.last.log.size_bytes.max(1) as f64
}

fn held_log(seen: &Observation) -> Option<Judgement> {
    let holder = seen.holder.as_ref().filter(|holder| holder.reason != LogReuseWait::Checkpoint)?;
    if used_part(seen) < USED_PART || seen.is_volatile {
        return None;
    }
    say(
        Severity::Warning,
        format!("The log cannot be used again: {} keeps it.", who(seen)),
        format!(
            "{} of {} are used ({}), log_reuse_wait {}, oldest log is kept for {}",
            size(seen.last.log.used_bytes),
            size(seen.last.log.size_bytes),
            percent(used_part(seen)),
            seen.reuse_wait.name(),
            holder.reason.name(),
        ),
        "End that transaction (DBCC OPENTRAN shows it, KILL ends it) or what else holds the log: sys.dm_db_log_holders.",
    )
}

/// The holder of the oldest log.
fn who(seen: &Observation) -> String {
    match &seen.holder {
        Some(holder) if holder.session_id > 0 => {
            format!("a transaction of session {}, open for {},", holder.session_id, time(holder.age_ns))
        }
        Some(holder) => holder.owner.clone(),
        None => "nobody".into(),
    }
}

fn old_transaction(seen: &Observation) -> Option<Judgement> {
    let holder = seen.holder.as_ref()?;
    if holder.age_ns < OLD_TRANSACTION_NS || used_part(seen) >= USED_PART || seen.is_volatile {
        return None;
    }
    say(
        Severity::Note,
        format!(
            "{} has kept the log from being used again since then.",
            capital(&who(seen)).trim_end_matches(',')
        ),
        format!(
            "{} of {} are used ({})",
            size(seen.last.log.used_bytes),
            size(seen.last.log.size_bytes),
            percent(used_part(seen))
        ),
        "DBCC OPENTRAN shows it; transactions that wait for people are better kept short.",
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn nearly_full(seen: &Observation) -> Option<Judgement> {
    let log = &seen.last.log;
    if used_part(seen) < FULL_PART || seen.growth_left_bytes >= log.size_bytes / 10 {
        return None;
    }
    say(
        Severity::Critical,
        "The log is nearly full and may not grow: changes will be refused with error 9002.".into(),
        format!(
            "{} of {} are used ({}), it may grow by {}; log_reuse_wait {}",
            size(log.used_bytes),
            size(log.size_bytes),
            percent(used_part(seen)),
            size(seen.growth_left_bytes),
            seen.reuse_wait.name(),
        ),
        "Let it grow (ALTER DATABASE ... MODIFY FILE with MAXSIZE or FILEGROWTH), or end what keeps the log.",
    )
}

fn growth(seen: &Observation) -> Option<Judgement> {
    let growths = seen.log_since(|log| log.growths_total);
    if growths == 0 {
        return None;
    }
    let wait = seen.waits(|waits| waits.growth);
    let share = seen.share(wait.ns);
    let evidence = format!(
        "grew {growths} times from {} to {}; {} waits for growth, {} of {} ({})",
        size(seen.first.log.size_bytes),
        size(seen.last.log.size_bytes),
        wait.count,
        time(wait.ns),
        time(seen.window_ns()),
        percent(share),
    );
    let advice = "Give the log the size that it needs before it needs it: ALTER DATABASE ... MODIFY FILE (NAME = ..., SIZE = ...).";
    if share < NOTABLE_SHARE {
        return say(
            Severity::Note,
            "The log file grew, and nobody had to wait for it.".into(),
            evidence,
            advice,
        );
    }
    say(Severity::Warning, "Sessions waited until the log file had grown.".into(), evidence, advice)
}

fn at_risk(seen: &Observation) -> Option<Judgement> {
    let (commits, most) = (seen.delayed_commits(), seen.at_risk_most);
    if commits == 0 && most.commits == 0 || seen.is_volatile {
        return None;
    }
    let bounds = seen.last.loss.bounds;
    let bound = |bound: Option<String>| bound.unwrap_or_else(|| "none".into());
    let evidence = format!(
        "{commits} delayed commits; at most {} commits, {}, {} old were at risk; MAX_DELAY {}, MAX_LOSS {}",
        most.commits,
        size(most.bytes),
        time(most.age_ns),
        bound(bounds.delay_ns_max.map(time)),
        bound(bounds.bytes_max.map(size)),
    );
    let advice = "ALTER DATABASE ... SET DELAYED_DURABILITY = ... (MAX_DELAY = n MS, MAX_LOSS = n KB) bounds it; a power loss takes what is at risk.";
    if most.bytes < AT_RISK_BYTES && most.age_ns < AT_RISK_NS {
        return say(
            Severity::Note,
            "Commits are acknowledged before they are hard (delayed durability).".into(),
            evidence,
            advice,
        );
    }
    let verdict = format!("A power loss would take up to {} of acknowledged commits.", time(most.age_ns));
    say(Severity::Warning, verdict, evidence, advice)
}

fn loss_bounds(seen: &Observation) -> Option<Judgement> {
    let commits = seen.commits();
    let waits = seen.last.loss.waits_total.saturating_sub(seen.first.loss.waits_total);
    if waits == 0 || (waits as f64) < commits as f64 * NOTABLE_SHARE {
        return None;
    }
    say(
        Severity::Note,
        "Delayed commits wait because no more may be at risk (MAX_DELAY, MAX_LOSS).".into(),
        format!("{waits} of {commits} commits waited, a log write takes {}", time(seen.write_mean_ns())),
        "Allow more to be at risk, or give the log a faster device.",
    )
}
