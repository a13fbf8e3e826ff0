//! The first line of the answer: what limits commits, that is the wait that took most of the time.

use super::judgement::{Judgement, Severity};
use super::rules::HEALTHY_WRITE_NS;
use super::sample::Observation;
use super::words::{percent, rate, time};

/// A wait with a smaller share of the time limits nothing.
const LIMITING_SHARE: f64 = 0.1;

/// Something that commits can wait for.
struct Suspect {
    /// Its share of the time, over all sessions.
    share: f64,
    verdict: String,
    severity: Severity,
}

/// One sentence on what limits commits.
pub(super) fn judge(seen: &Observation) -> Judgement {
    let judgement = |severity: Severity, verdict: String| Judgement {
        severity,
        verdict,
        evidence: evidence(seen),
        advice: "",
    };
    if seen.suspect.is_some() {
        return judgement(Severity::Critical, "Commits are refused: the database is suspect.".into());
    }
    if seen.is_volatile {
        let verdict = "The log does not limit commits: nothing of this database is made durable.";
        return judgement(Severity::Ok, verdict.into());
    }
    let is_stuck =
        seen.first.log.outstanding_ios > 0 && seen.last.log.outstanding_ios > 0 && seen.flushes() == 0;
    if is_stuck {
        return judgement(Severity::Critical, "The log device: it does not answer.".into());
    }
    let most = suspects(seen).into_iter().max_by(|a, b| a.share.total_cmp(&b.share));
    match most {
        Some(suspect) if suspect.share >= LIMITING_SHARE => judgement(suspect.severity, suspect.verdict),
        _ if seen.commits() == 0 => {
            judgement(Severity::Ok, "Nothing limits commits: there were none.".into())
        }
        _ => judgement(
            Severity::Ok,
            "The log does not limit commits: the work of the statements does, or nobody asks for more."
                .into(),
        ),
    }
}

/// The waits, with their share of the time. Waits of blocks for a limit and waits for growth are also part of WRITELOG: they are
/// named before it, as its cause, when they have a tenth of the time.
fn suspects(seen: &Observation) -> Vec<Suspect> {
    let limits = seen.last.log.limits;
    let causes = [
        Suspect {
            share: seen.share(seen.log_since(|log| log.outstanding_ios_limit_ns_total)),
            verdict: format!(
                "The limit of {} log writes in flight limits commits: the log waits for the device before it writes more.",
                limits.outstanding_ios_max
            ),
            severity: Severity::Warning,
        },
        Suspect {
            share: seen.share(seen.log_since(|log| log.outstanding_bytes_limit_ns_total)),
            verdict: format!(
                "The limit of {} KB of log in flight limits commits: the log waits for the device before it writes more.",
                limits.outstanding_bytes_max / 1024
            ),
            severity: Severity::Warning,
        },
        Suspect {
            share: if seen.log_since(|log| log.growths_total) == 0 {
                0.0
            } else {
                seen.share(seen.waits(|waits| waits.growth).ns)
            },
            verdict: "Growth of the log file limits commits: sessions wait until it has grown.".into(),
            severity: Severity::Warning,
        },
    ];
    let is_caused = causes.iter().any(|cause| cause.share >= LIMITING_SHARE);
    if is_caused {
        return causes.into();
    }
    vec![write_log(seen), log_buffer(seen), locks(seen), page_io(seen)]
}

fn write_log(seen: &Observation) -> Suspect {
    let write_ns = seen.write_mean_ns();
    let at_most = rate(1, write_ns);
    let (verdict, severity) = if write_ns > HEALTHY_WRITE_NS {
        let text =
            format!("The log device limits commits, and it is slow: a write takes {}.", time(write_ns));
        (text, Severity::Warning)
    } else {
        let text = format!(
            "The log device limits commits, and it is healthy: a write takes {}, so one session can commit {at_most} at most.",
            time(write_ns)
        );
        (text, Severity::Ok)
    };
    Suspect { share: seen.share(seen.write_log().ns), verdict, severity }
}

fn log_buffer(seen: &Observation) -> Suspect {
    let is_ours = seen.flushes() > 0;
    Suspect {
        share: if is_ours { seen.share(seen.waits(|waits| waits.log_buffer).ns) } else { 0.0 },
        verdict: "The throughput of the log device limits commits: sessions wait for room in the log cache."
            .into(),
        severity: Severity::Warning,
    }
}

fn locks(seen: &Observation) -> Suspect {
    Suspect {
        share: seen.share(seen.waits(|waits| waits.locks).ns),
        verdict: "Locks limit commits, not the log: sessions wait for each other (LCK_M_*).".into(),
        severity: Severity::Note,
    }
}

fn page_io(seen: &Observation) -> Suspect {
    Suspect {
        share: seen.share(seen.waits(|waits| waits.page_io).ns),
        verdict: "Reading pages limits commits, not the log (PAGEIOLATCH_*).".into(),
        severity: Severity::Note,
    }
}

fn evidence(seen: &Observation) -> String {
    let of = |ns: u64| percent(seen.share(ns));
    format!(
        "{} commits in {}; part of the time that sessions waited, summed over them: WRITELOG {}, LOGBUFFER {}, growth {}, locks {}, reading pages {}",
        rate(seen.commits(), seen.window_ns()),
        time(seen.window_ns()),
        of(seen.write_log().ns),
        of(seen.waits(|waits| waits.log_buffer).ns),
        of(seen.waits(|waits| waits.growth).ns),
        of(seen.waits(|waits| waits.locks).ns),
        of(seen.waits(|waits| waits.page_io).ns),
    )
}
