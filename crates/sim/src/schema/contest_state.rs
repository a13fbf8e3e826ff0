//! The table name that authors of scenario `schema` compete for: its state as the ledger knows it.

/// The known state of the table.
#[derive(Debug, Default)]
pub(crate) struct Contest {
    is_there: bool,
    /// Commits that have ended.
    decided_total: u64,
    /// Commits that were requested and not answered.
    deciding: u64,
}

impl Contest {
    /// Whether it exists, and the count of commits then; `None` while a commit is in progress.
    pub(super) fn look(&self) -> Option<(bool, u64)> {
        (self.deciding == 0).then_some((self.is_there, self.decided_total))
    }

    /// A commit is requested.
    pub(super) fn deciding(&mut self) {
        self.deciding += 1;
    }

    /// It has ended.
    pub(super) fn decided(&mut self, is_there: bool) {
        assert!(self.deciding > 0, "a commit ends that was asked for");
        self.deciding -= 1;
        self.decided_total += 1;
        self.is_there = is_there;
    }

    /// Judges whether a recovered server has the table, and takes its answer as the known state.
    pub(crate) fn judge(&mut self, is_shown: bool) -> Option<String> {
        let is_wrong = self.look().is_some_and(|(is_there, _)| is_there != is_shown);
        *self = Contest { is_there: is_shown, ..Contest::default() };
        is_wrong.then(|| format!("NAME: after recovery the table of all is {}", presence(is_shown)))
    }
}

/// The words for it in violations.
pub(super) fn presence(is_there: bool) -> &'static str {
    if is_there { "there" } else { "not there" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_decided_may_go_either_way() {
        let mut contest = Contest::default();
        assert_eq!(contest.look(), Some((false, 0)));
        assert!(contest.judge(true).is_some(), "nobody has made it");
        contest.deciding();
        assert_eq!(contest.look(), None);
        assert!(contest.judge(false).is_none());
        contest.deciding();
        contest.decided(true);
        assert_eq!(contest.look(), Some((true, 1)));
        assert!(contest.judge(false).is_some(), "it was made for good");
        assert!(contest.judge(false).is_none(), "what was shown counts");
    }
}
