//! The oracle of commit durability: checks commit modes, tickets, and the bounds on loss.
//!
//! Acknowledgements are kept outside the world. After each recovery the rows and the status of every ticket ever given are compared
//! with them. A commit exists and is HARDENED, or is missing and LOST, and its status never changes again. Every commit that was promised to be
//! durable exists. The delayed commits that a crash lost total at most MAX_LOSS and were acknowledged at most MAX_DELAY before; losses are a suffix.

use std::collections::{BTreeMap, BTreeSet};

/// The requested durability of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Fully durable, on its own or with its batch (COMMIT_ACK = BATCH).
    Full,
    /// DELAYED_DURABILITY = ON.
    Delayed,
    /// MAX_WAIT: durable when it is reported so, otherwise at risk; the bounds do not hold it back.
    Within,
}

/// One commit.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) database: usize,
    pub(crate) mode: Mode,
    /// Lower bound of the log bytes that it wrote.
    pub(crate) bytes: u64,
    pub(crate) began_ns: u64,
    /// Latest time at which its client received the acknowledgement; `None` before.
    pub(crate) told_ns: Option<u64>,
    pub(crate) life: i64,
    pub(crate) ticket: Option<String>,
    /// The server has promised that it survives.
    pub(crate) is_hard: bool,
    /// A recovery has shown that it was lost.
    pub(crate) is_lost: bool,
}

/// A client's query for a commit's status. The server answers later, and the answer arrives later still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) number: i64,
    /// Before the query the commit had already been promised to survive.
    pub(crate) was_hard: bool,
}

/// MAX_DELAY and MAX_LOSS of a database during one life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) delay_ms: Option<u64>,
    pub(crate) loss_kb: Option<u64>,
}

/// All commits and acknowledgements, by number.
#[derive(Default)]
pub(crate) struct Promises {
    commits: BTreeMap<i64, Commit>,
    /// Bounds of the current life, by database.
    pub(crate) bounds: Vec<Bounds>,
    pub(crate) life: i64,
    /// Acknowledged delayed commits that crashes lost.
    pub(crate) lost_total: u64,
}

/// The observed state of a recovered server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// Numbers of each database's rows.
    pub(crate) rows: Vec<BTreeSet<i64>>,
    /// The status of each ticket.
    pub(crate) status: BTreeMap<String, String>,
}

impl Promises {
    /// A client begins a commit.
    pub(crate) fn begin(&mut self, number: i64, commit: Commit) {
        let before = self.commits.insert(number, commit);
        assert!(before.is_none(), "numbers are used once");
    }

    /// The commit was acknowledged.
    pub(crate) fn told(&mut self, number: i64, told_ns: u64, ticket: Option<String>) {
        let commit = self.commits.get_mut(&number).expect("it has begun");
        commit.told_ns = Some(told_ns);
        commit.is_hard |= commit.mode == Mode::Full;
        commit.ticket = ticket;
    }

    /// A status or a wait has reported the commit as durable.
    pub(crate) fn is_hard(&mut self, number: i64) {
        self.commits.get_mut(&number).expect("it has begun").is_hard = true;
    }

    /// An orderly stop: all acknowledged commits are durable.
    pub(crate) fn drained(&mut self) {
        for commit in self.commits.values_mut().filter(|commit| !commit.is_lost) {
            commit.is_hard |= commit.told_ns.is_some();
        }
    }

    /// Acknowledged commits of this life.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.commits.values().filter(|commit| commit.life == self.life && commit.told_ns.is_some()).count()
            as u64
    }

    /// Every ticket that was given.
    pub(crate) fn tickets(&self) -> Vec<String> {
        self.commits.values().filter_map(|commit| commit.ticket.clone()).collect()
    }

    /// Some ticket that was given, with what is known of it before the server is asked.
    pub(crate) fn some_ticket(&self, draw: u64) -> Option<(Question, String)> {
        let given: Vec<_> = self.commits.iter().filter(|(_, commit)| commit.ticket.is_some()).collect();
        let (number, commit) = given.get(draw as usize % given.len().max(1))?;
        commit.ticket.clone().map(|ticket| (Question { number: **number, was_hard: commit.is_hard }, ticket))
    }

    /// Checks a status that a running server reports. The error describes a contradiction.
    pub(crate) fn hear(&mut self, asked: Question, status: &str) -> Result<(), String> {
        let Question { number, was_hard } = asked;
        let commit = self.commits.get_mut(&number).expect("it has begun");
        let fits = match status {
            "HARDENED" => !commit.is_lost,
            "LOST" => commit.is_lost,
            // Another client may have learned meanwhile that it is durable: only what was known before the query binds the answer.
            "PENDING" => !commit.is_lost && !was_hard,
            _ => false,
        };
        commit.is_hard |= status == "HARDENED";
        if fits { Ok(()) } else { Err(format!("STATUS: commit {number} is said to be {status}: {commit:?}")) }
    }

    /// Judges what recovery shows: an existing commit is durable from now on, a missing one is lost for ever.
    pub(crate) fn judge(&mut self, shown: &Shown) -> Vec<String> {
        let mut violations = Vec::new();
        for (number, commit) in &self.commits {
            self.judge_one(*number, commit, shown, &mut violations);
        }
        for (database, rows) in shown.rows.iter().enumerate() {
            let of_here =
                |number: &&i64| self.commits.get(number).is_none_or(|commit| commit.database != database);
            violations.extend(
                rows.iter().filter(of_here).map(|number| format!("PHANTOM: {number} was never begun")),
            );
            self.judge_bounds(database, rows, &mut violations);
        }
        for (number, commit) in &mut self.commits {
            let is_there = shown.rows[commit.database].contains(number);
            self.lost_total += u64::from(!is_there && !commit.is_lost && commit.told_ns.is_some());
            (commit.is_hard, commit.is_lost) = (is_there, !is_there);
        }
        violations
    }

    fn judge_one(&self, number: i64, commit: &Commit, shown: &Shown, violations: &mut Vec<String>) {
        let is_there = shown.rows[commit.database].contains(&number);
        if commit.is_hard && !is_there {
            violations.push(format!("LOST: commit {number} was hard: {commit:?}"));
        }
        if commit.is_lost && is_there {
            violations.push(format!("PHANTOM: commit {number} was lost: {commit:?}"));
        }
        let Some(ticket) = &commit.ticket else { return };
        let expected = if is_there { "HARDENED" } else { "LOST" };
        match shown.status.get(ticket) {
            Some(status) if status == expected => {}
            status => {
                violations.push(format!("STATUS: commit {number} is {expected}, said to be {status:?}"))
            }
        }
    }

    /// Checks the lost delayed commits that the last life acknowledged: total size, age, and that all follow the surviving ones.
    fn judge_bounds(&self, database: usize, rows: &BTreeSet<i64>, violations: &mut Vec<String>) {
        let of_life =
            self.commits.iter().filter(|(_, commit)| commit.life == self.life && commit.database == database);
        let (kept, gone): (Vec<_>, Vec<_>) = of_life.partition(|(number, _)| rows.contains(number));
        let gone: Vec<&Commit> = gone
            .into_iter()
            .map(|(_, commit)| commit)
            .filter(|commit| commit.mode == Mode::Delayed && commit.told_ns.is_some())
            .collect();
        let last_begin_ns = kept.iter().map(|(_, commit)| commit.began_ns).max().unwrap_or(0);
        let oldest_ns = gone.iter().filter_map(|commit| commit.told_ns).min().unwrap_or(u64::MAX);
        if oldest_ns < last_begin_ns {
            violations.push(format!(
                "HOLE: a commit told at {oldest_ns} ns is lost, one begun at {last_begin_ns} ns is there"
            ));
        }
        let bounds = self.bounds.get(database).copied().unwrap_or_default();
        let bytes: u64 = gone.iter().map(|commit| commit.bytes).sum();
        if bounds.loss_kb.is_some_and(|most| bytes > most << 10) {
            violations.push(format!(
                "BOUND: more than {bytes} bytes of {} commits are lost, {bounds:?}",
                gone.len()
            ));
        }
        let newest_ns = gone.iter().map(|commit| commit.began_ns).max().unwrap_or(0);
        let span_ns = newest_ns.saturating_sub(oldest_ns);
        if bounds.delay_ms.is_some_and(|most| span_ns > most * 1_000_000) {
            violations.push(format!("BOUND: commits of {span_ns} ns are lost, {bounds:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(mode: Mode, began_ns: u64) -> Commit {
        Commit {
            database: 0,
            mode,
            bytes: 600,
            began_ns,
            told_ns: None,
            life: 0,
            ticket: None,
            is_hard: false,
            is_lost: false,
        }
    }

    /// 1 full, 2 and 3 delayed, 4 with MAX_WAIT, 5 not acknowledged; the bounds are one kilobyte and one millisecond.
    fn five() -> Promises {
        let mut promises = Promises::default();
        promises.bounds.push(Bounds { delay_ms: Some(1), loss_kb: Some(1) });
        let modes = [Mode::Full, Mode::Delayed, Mode::Delayed, Mode::Within, Mode::Full];
        for (number, mode) in (1..).zip(modes) {
            promises.begin(number, commit(mode, number as u64 * 100));
            if number < 5 {
                promises.told(number, number as u64 * 100 + 50, Some(format!("0x0{number}")));
            }
        }
        promises
    }

    fn shown(numbers: &[i64]) -> Shown {
        let is_there = |number: i64| if numbers.contains(&number) { "HARDENED" } else { "LOST" };
        let status = (1..=4).map(|number| (format!("0x0{number}"), is_there(number).to_owned())).collect();
        Shown { rows: vec![numbers.iter().copied().collect()], status }
    }

    fn kinds(violations: &[String]) -> Vec<&str> {
        violations.iter().filter_map(|text| text.split(':').next()).collect()
    }

    #[test]
    fn what_was_promised_is_there_and_losses_are_a_suffix() {
        for fine in [&[1, 2][..], &[1, 2, 3], &[1, 2, 3, 4], &[1, 2, 3, 4, 5]] {
            assert_eq!(five().judge(&shown(fine)), Vec::<String>::new(), "{fine:?}");
        }
        assert_eq!(kinds(&five().judge(&shown(&[2, 3]))), ["LOST"]);
        assert_eq!(kinds(&five().judge(&shown(&[1, 2, 4]))), ["HOLE"]);
        assert_eq!(kinds(&five().judge(&shown(&[1, 2, 3, 7]))), ["PHANTOM"]);
        assert_eq!(kinds(&five().judge(&shown(&[1]))), ["BOUND"], "1,200 bytes of two commits");
        let mut promises = five();
        promises.drained();
        assert_eq!(kinds(&promises.judge(&shown(&[1, 2, 3]))), ["LOST"], "an orderly stop");
    }

    #[test]
    fn losses_are_no_older_than_the_bound() {
        let mut promises = five();
        promises.bounds[0].loss_kb = None;
        promises.commits.get_mut(&3).unwrap().began_ns = 1_000_000 + 250;
        assert_eq!(promises.judge(&shown(&[1])), Vec::<String>::new());
        let mut promises = five();
        promises.bounds[0].loss_kb = None;
        promises.commits.get_mut(&3).unwrap().began_ns = 1_000_000 + 251;
        assert_eq!(kinds(&promises.judge(&shown(&[1]))), ["BOUND"]);
    }

    #[test]
    fn a_status_is_true_and_stays_so() {
        let mut promises = five();
        let known = |promises: &Promises, number: i64| Question {
            number,
            was_hard: promises.commits[&number].is_hard,
        };
        let asked = known(&promises, 2);
        assert_eq!(promises.hear(asked, "PENDING"), Ok(()));
        assert_eq!(promises.hear(asked, "HARDENED"), Ok(()));
        assert_eq!(
            promises.hear(asked, "PENDING"),
            Ok(()),
            "answered before another one heard that it is hard"
        );
        let asked = known(&promises, 2);
        assert!(promises.hear(asked, "PENDING").is_err(), "it was hard");
        let (full, delayed) = (known(&promises, 1), known(&promises, 3));
        assert!(promises.hear(full, "PENDING").is_err(), "a full commit");
        assert!(promises.hear(delayed, "LOST").is_err() && promises.hear(delayed, "NULL").is_err());
        let mut lies = shown(&[1, 2, 3]);
        lies.status.insert("0x04".into(), "PENDING".into());
        assert_eq!(kinds(&five().judge(&lies)), ["STATUS"], "nothing is pending after a restart");
        let mut promises = five();
        assert!(promises.judge(&shown(&[1, 2, 3])).is_empty());
        assert_eq!(promises.lost_total, 1);
        let lost = known(&promises, 4);
        assert_eq!(promises.hear(lost, "LOST"), Ok(()));
        assert_eq!(
            kinds(&promises.judge(&shown(&[1, 2, 3, 4]))),
            ["PHANTOM"],
            "what is lost does not come back"
        );
    }
}
