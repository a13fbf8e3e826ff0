//! The server's interface to sessions, as a trait, so that the wire protocol can be tested without an engine.

use std::task::Waker;

use types::SqlResult;

pub use session::Acknowledgement;
pub use session::{
    BulkRows, BulkSource, ColumnDescription, ColumnOrigin, Done, DoneKind, EnvironmentChange, Flow,
    LoginInfo, RequestEnd, RequestedIsolation, ResultSink, RpcCall, RpcParameter, RpcTarget, SentTable,
    TransactionRequest,
};
use session::{PacketCounts, Session, SessionShared};

/// Opens sessions for accepted logins.
pub trait SessionSource: Send + Sync {
    /// Opens a session in the requested database.
    ///
    /// # Errors
    /// 4060 when the database does not exist or cannot be opened.
    fn open(&self, login: LoginInfo) -> SqlResult<Box<dyn ClientSession>>;
}

/// One session, used by one thread at a time.
pub trait ClientSession: Send {
    /// `@@SPID`.
    fn id(&self) -> u16;
    /// Name of the current database.
    fn database_name(&self) -> String;
    /// Runs a batch.
    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink) -> RequestEnd;
    /// Runs one remote procedure call.
    fn execute_rpc(&mut self, call: RpcCall, sink: &mut dyn ResultSink) -> RequestEnd;
    /// Runs a transaction manager request.
    fn transaction_request(&mut self, request: &TransactionRequest, sink: &mut dyn ResultSink) -> RequestEnd;
    /// Loads the rows that follow an INSERT BULK.
    fn bulk_load(&mut self, source: &mut dyn BulkSource, sink: &mut dyn ResultSink) -> RequestEnd;
    /// From now on a request may end with its last commit pending: then `is_commit_pending` is true, and
    /// `waker` is called when `settle_commit` would not wait any more (sometimes also earlier). A session that
    /// waits for its commits can ignore this.
    fn allow_pending_commits(&mut self, _waker: Waker) {}
    /// It is one of a connection with several (MARS): a transaction that a batch begins ends with it.
    fn rolls_back_batches(&mut self) {}
    /// The function that KILL calls, on any thread, to end the session's connection.
    fn hang_up_with(&self, _hang_up: std::sync::Arc<dyn Fn() + Send + Sync>) {}
    /// The packet counters of the session's connection.
    fn count_packets(&self, _packets: std::sync::Arc<PacketCounts>) {}
    /// The commits to harden before the client learns of them; `None`: the session waits for everything itself.
    fn acknowledgement(&self) -> Option<std::sync::Arc<Acknowledgement>> {
        None
    }
    /// The last request has left its commit to `settle_commit`; its answer must not be sent before.
    fn is_commit_pending(&self) -> bool {
        false
    }
    /// Waits for the commit and ends the request. When the commit has failed, the sink removes the tokens after it.
    fn settle_commit(&mut self, _sink: &mut dyn ResultSink) -> RequestEnd {
        RequestEnd::Finished
    }
    /// Resets it to the state after login.
    fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink);
    /// Ends it.
    fn close(self: Box<Self>);
}

impl SessionSource for SessionShared {
    fn open(&self, login: LoginInfo) -> SqlResult<Box<dyn ClientSession>> {
        Ok(Box::new(Session::new(self, login)?))
    }
}

impl ClientSession for Session {
    fn id(&self) -> u16 {
        Session::id(self).unsigned_abs()
    }

    fn database_name(&self) -> String {
        Session::database_name(self)
    }

    fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink) -> RequestEnd {
        Session::execute_batch(self, text, sink)
    }

    fn execute_rpc(&mut self, call: RpcCall, sink: &mut dyn ResultSink) -> RequestEnd {
        Session::execute_rpc(self, call, sink)
    }

    fn transaction_request(&mut self, request: &TransactionRequest, sink: &mut dyn ResultSink) -> RequestEnd {
        Session::transaction_request(self, request, sink)
    }

    fn bulk_load(&mut self, source: &mut dyn BulkSource, sink: &mut dyn ResultSink) -> RequestEnd {
        Session::bulk_load(self, source, sink)
    }

    fn allow_pending_commits(&mut self, waker: Waker) {
        Session::allow_pending_commits(self, waker);
    }

    fn rolls_back_batches(&mut self) {
        Session::rolls_back_batches(self);
    }

    fn hang_up_with(&self, hang_up: std::sync::Arc<dyn Fn() + Send + Sync>) {
        Session::hang_up_with(self, hang_up);
    }

    fn count_packets(&self, packets: std::sync::Arc<PacketCounts>) {
        Session::count_packets(self, packets);
    }

    fn acknowledgement(&self) -> Option<std::sync::Arc<Acknowledgement>> {
        Some(Session::acknowledgement(self))
    }

    fn is_commit_pending(&self) -> bool {
        Session::is_commit_pending(self)
    }

    fn settle_commit(&mut self, sink: &mut dyn ResultSink) -> RequestEnd {
        Session::settle_commit(self, sink)
    }

    fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink) {
        Session::reset(self, keep_transaction, sink);
    }

    fn close(self: Box<Self>) {
        Session::close(*self);
    }
}
