//! How a run ended, and its figures.

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The root task returned; other tasks were unwound. Unsynced data is still in the (simulated) page cache.
    Returned,
    /// `kill_process`: as `Returned`, at an arbitrary moment.
    Killed,
    /// `power_off`: unconfirmed sectors, lengths and directory entries were kept, lost or torn.
    PowerOff,
    /// A failure; see [`Report::failures`].
    Failed,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The world's seed.
    pub seed: u64,
    /// How it ended.
    pub end: End,
    /// Equal for equal seeds: over each scheduling decision and disk operation.
    pub trace_hash: u64,
    /// Hand-overs of the baton.
    pub switches: u64,
    /// Virtual time at the end.
    pub now_ns: u64,
    /// Disk operations since the world began.
    pub io_total: u64,
    /// Panics, deadlocks, `never!`s, exceeded limits.
    pub failures: Vec<String>,
    /// The last lines that the server reported.
    pub log: Vec<String>,
}

impl Report {
    /// Panics with the seed and the failures, if there were any.
    #[track_caller]
    pub fn assert_ok(&self) {
        if !self.failures.is_empty() || self.end == End::Failed {
            panic!(
                "simulation failed, seed {}:\n{}\nlog:\n{}",
                self.seed,
                self.failures.join("\n"),
                self.log.join("\n")
            );
        }
    }
}
