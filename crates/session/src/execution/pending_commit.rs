//! Commits that a request leaves pending: where that may happen, and how they are settled.
//!
//! ```text
//!  request ──last act: a full commit that another thread writes──► pending ──waker──► settle_commit ──► answer complete, session idle
//!                                                                     └─ any other call of the session: settled first, blocking
//! ```
//! Only where no TRY block could catch the failure of the commit. Inside one, the commit blocks as without `allow_pending_commits`, because the
//! end of the block follows it. Until it is settled, locks are held and nothing is acknowledged; the session counts as running, in WRITELOG.

use std::task::Waker;

use engine::CommitRequest;
use types::{SqlError, SqlResult};

use crate::batch::commit_site::{CommitSite, PendingStatement};
use crate::batch::frame::Frame;
use crate::errors::Origin;
use crate::interruption::RequestEnd;
use crate::interruption::{Failure, Stop};
use crate::session::Session;
use crate::sink::{Done, DoneKind, EnvironmentChange, ResultSink};

impl Session {
    /// From now on a request may end while its commit is pending, so that no thread waits for it: see [`Session::is_commit_pending`].
    /// The waker is called, on any thread, when the commit can be settled; spurious calls are possible.
    pub fn allow_pending_commits(&mut self, waker: Waker) {
        assert!(!self.is_commit_pending(), "the pending commit rings the old waker");
        self.commit_waker = Some(waker);
    }

    /// Has the last request ended except for its commit? Then its answer must not be sent before `settle_commit`.
    #[inline]
    pub fn is_commit_pending(&self) -> bool {
        self.pending_statement.is_some()
    }

    /// Ends the request that has left a commit pending; waits if the commit is not hardened yet. The sink is the request's own, or one that
    /// contains its withheld output. The returned result replaces that of the request.
    pub fn settle_commit(&mut self, sink: &mut dyn ResultSink) -> RequestEnd {
        assert!(self.is_commit_pending(), "there is a commit to settle");
        let outcome = self.settle_before_more(sink);
        let end = self.conclude(outcome, sink);
        let end = self.harden_answer(end, sink);
        self.request_ended();
        end
    }

    /// May the commit of this instruction be left pending?
    pub(crate) fn may_leave_pending(&self, frame: &Frame, at: usize) -> bool {
        self.commit_waker.is_some()
            && self.guards == 0
            && !self.inside_insert_execute
            && frame.program.region_of(at).is_none()
    }

    /// Commits; leaves the commit pending if there is a `site` for that.
    pub(crate) fn commit_at(
        &mut self,
        request: &CommitRequest,
        site: Option<CommitSite>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let (Some(site), Some(waker)) = (site, &self.commit_waker) else {
            return self.transactions.commit(*request);
        };
        let descriptor = Some(self.transactions.descriptor()).filter(|&descriptor| descriptor != 0);
        self.transactions.commit_later(*request, waker)?;
        if self.transactions.is_commit_pending() {
            self.pending_statement = Some(PendingStatement { site, descriptor, in_call: false });
            sink.commit_pends();
        }
        Ok(())
    }

    /// Called before the end of a remote procedure call is reported.
    pub(crate) fn note_call_ends(&mut self) {
        if let Some(pending_statement) = &mut self.pending_statement {
            pending_statement.in_call = true;
        }
    }

    /// Settles a pending commit, if there is one, before anything else happens. A failure is reported to the sink as the failure of its
    /// statement; returns an error if it ends more than the statement.
    pub(crate) fn settle_before_more(&mut self, sink: &mut dyn ResultSink) -> Result<(), Stop> {
        let Some(pending_statement) = self.pending_statement.take() else { return Ok(()) };
        let settled = self.transactions.settle_commit();
        sink.commit_settled(settled.is_ok());
        settled.or_else(|error| self.commit_failed(pending_statement, error, sink))
    }

    /// Reports what the statement would have reported had it waited for the commit.
    fn commit_failed(
        &mut self,
        pending_statement: PendingStatement,
        error: SqlError,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Stop> {
        let PendingStatement { site, descriptor, in_call } = pending_statement;
        if let Err(error) = self.transactions.rollback() {
            sink.message(&error);
        }
        self.state.row_count = 0;
        if let Some(descriptor) = descriptor {
            sink.environment(EnvironmentChange::RollbackTransaction(descriptor));
        }
        let mut error = error.at_line(site.line);
        error.procedure = site.procedure.as_deref().map(str::to_string);
        self.state.last_error = error.number;
        let done = |kind, command| Done { kind, row_count: None, error: true, command };
        if !site.in_program {
            sink.message(&error);
            sink.done(done(DoneKind::Statement, site.command));
            return Ok(());
        }
        let failure = Failure { error, origin: Origin::Runtime };
        let reported = self.report_failure(&site, &failure, sink);
        if in_call {
            sink.done(done(DoneKind::Procedure, crate::done_command::EXECUTE));
        }
        reported.map(|_| ())
    }
}
