//! The log doctor: what limits the commits of a database, found as article 002 finds it on a live server.
//!
//! The figures of the log, the waits and the device are cumulative, so they are looked at twice, some seconds apart ([`Sample`]); between
//! the two, short looks tell times at which pages were written from times at which they were not, and how much was in flight or at risk at
//! most. The result is an [`Observation`]; what follows from it is decided by the pure functions of `rules.rs`, and what limits commits by
//! `limiter.rs`. The memory it takes does not depend on how long it looks.
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
    /// What it is about.
    pub area: &'static str,
    /// What it says.
    pub judgement: Judgement,
}

/// Everything that can be said of an observation: first what limits commits, then what the rules find, the worst first.
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
