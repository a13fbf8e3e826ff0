//! The content of a database's query store, as its views show it. `session` gathers it, in memory.

use std::sync::Arc;

use crate::measure::Measure;

/// The settings of ALTER DATABASE ... SET QUERY_STORE (...).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// OPERATION_MODE = READ_ONLY: it is shown and takes nothing in.
    pub is_read_only: bool,
    /// MAX_STORAGE_SIZE_MB, in bytes.
    pub bytes_max: u64,
    /// INTERVAL_LENGTH_MINUTES.
    pub interval_minutes: u32,
    /// QUERY_CAPTURE_MODE: ALL, or NONE: only queries that it knows already.
    pub takes_new_queries: bool,
    /// MAX_PLANS_PER_QUERY; 0: any number.
    pub plans_max: u32,
    /// SIZE_BASED_CLEANUP_MODE = AUTO: what was not run for longest makes room; OFF: it becomes read-only when it is full.
    pub cleans_up: bool,
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        StoreSettings {
            is_read_only: false,
            bytes_max: 10 << 20,
            interval_minutes: 60,
            takes_new_queries: true,
            plans_max: 200,
            cleans_up: true,
        }
    }
}

/// A row of `sys.query_store_query_text`.
#[derive(Clone, Debug)]
pub struct StoredText {
    /// `query_text_id`.
    pub id: u64,
    /// The statement.
    pub text: Arc<str>,
}

/// A row of `sys.query_store_query`: a text in its module or batch.
#[derive(Clone, Debug)]
pub struct StoredQuery {
    /// `query_id`.
    pub id: u64,
    /// Its text.
    pub text_id: u64,
    /// The module that has it; 0: a batch.
    pub object_id: i32,
    /// It has parameters that the client declared.
    pub has_parameters: bool,
    /// How often a plan was made for it.
    pub compiles: u64,
    /// When it came, 100 ns since 0001-01-01.
    pub first_ticks: u64,
    /// When a plan was made last.
    pub compiled_ticks: u64,
    /// When it ran last.
    pub last_ticks: u64,
}

/// A row of `sys.query_store_plan`.
#[derive(Clone, Debug)]
pub struct StoredPlan {
    /// `plan_id`.
    pub id: u64,
    /// The query of the plan.
    pub query_id: u64,
    /// As SHOWPLAN_XML writes it.
    pub document: Arc<str>,
    /// The number of what it does (`query::showplan::Operator::hash`).
    pub plan_hash: u64,
    /// COMPATIBILITY_LEVEL of the database when it was made.
    pub compatibility_level: u8,
    /// How often it was made.
    pub compiles: u64,
    /// When it was made first.
    pub first_ticks: u64,
    /// When it was made last.
    pub compiled_ticks: u64,
    /// When it ran last.
    pub last_ticks: u64,
}

/// A row of `sys.query_store_runtime_stats_interval`.
#[derive(Clone, Copy, Debug)]
pub struct StoredInterval {
    /// `runtime_stats_interval_id`.
    pub id: u64,
    /// Its begin.
    pub start_ticks: u64,
    /// Its end, which is not in it.
    pub end_ticks: u64,
}

/// A row of `sys.query_store_runtime_stats`: what a plan's runs took in an interval.
#[derive(Clone, Copy, Debug)]
pub struct StoredRuns {
    /// `runtime_stats_id`.
    pub id: u64,
    /// The plan.
    pub plan_id: u64,
    /// The interval.
    pub interval_id: u64,
    /// When the first began.
    pub first_ticks: u64,
    /// The figures.
    pub runs: PlanRuns,
}

/// Resource use of a plan's runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanRuns {
    /// How many.
    pub executions: u64,
    /// When the last began.
    pub last_ticks: u64,
    /// From begin to end, ns.
    pub elapsed_ns: Measure,
    /// The same without the waits, ns.
    pub working_ns: Measure,
    /// Rows returned or changed.
    pub rows: Measure,
    /// Pages asked for.
    pub logical_reads: Measure,
    /// Pages read from a file.
    pub physical_reads: Measure,
}

impl PlanRuns {
    /// Those of another, which came later.
    pub fn add(&mut self, other: &PlanRuns) {
        self.executions += other.executions;
        self.last_ticks = self.last_ticks.max(other.last_ticks);
        self.elapsed_ns.add(&other.elapsed_ns);
        self.working_ns.add(&other.working_ns);
        self.rows.add(&other.rows);
        self.logical_reads.add(&other.logical_reads);
        self.physical_reads.add(&other.physical_reads);
    }
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct StoredQueries {
    /// Its settings.
    pub settings: StoreSettings,
    /// The memory that it uses.
    pub bytes: u64,
    /// It has no room, and may not make any.
    pub is_full: bool,
    /// Texts by their number, and so the rest.
    pub texts: Vec<StoredText>,
    /// Queries.
    pub queries: Vec<StoredQuery>,
    /// Plans.
    pub plans: Vec<StoredPlan>,
    /// Intervals.
    pub intervals: Vec<StoredInterval>,
    /// Runs.
    pub runs: Vec<StoredRuns>,
}
