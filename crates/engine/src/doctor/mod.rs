//! The log doctor: what limits the commits of a database, found as article 002 finds it on a live server.
//!
//! The figures of the log, the waits and the device are cumulative, so they are read twice, some seconds apart ([`Sample`]); between
//! the two, short samples separate times with page writes from times without, and record the peaks of writes in flight and of data at risk.
//! The result is an [`Observation`]; the pure functions of `rules.rs` derive findings from it, and `limiter.rs` what limits
//! commits. The memory does not depend on the duration.
//!
//! The whole table, with thresholds and their sources: `docs/doctor.md`.

mod judgement;
mod limiter;
mod rules;
mod sample;
mod words;

#[cfg(test)]
mod tests;

pub use judgement::{Judgement, Severity};
pub use rules::{RULES, Rule};
pub use sample::{Holder, Observation, Pace, Sample, Wait, Waits};

use os::sim::{Bug, is_planted};

/// One line of the doctor's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The number of its rule; 0 is what limits commits.
    pub number: u32,
    /// Its subject.
    pub area: &'static str,
    /// Its judgement.
    pub judgement: Judgement,
}

/// All findings of an observation: first what limits commits, then those of the rules, the worst first.
pub fn findings(observation: &Observation) -> Vec<Finding> {
    let first = Finding { number: 0, area: "what limits commits", judgement: limiter::judge(observation) };
    let mut found = Vec::new();
    for rule in RULES {
        if is_planted(Bug::DoctorWithoutRules) {
            break;
        }
        let judgement = (rule.judge)(observation);
        found.extend(judgement.map(|judgement| Finding { number: rule.number, area: rule.area, judgement }));
    }
    found.sort_by_key(|finding| (std::cmp::Reverse(finding.judgement.severity), finding.number));
    found.insert(0, first);
    found
}
