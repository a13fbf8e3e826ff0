//! The measured works, their sizes, one measurement, and the interface of an engine.

/// Rows of the table `keyed`, with keys from 1 on.
pub const KEYS: u32 = 100_000;

/// The statements of network sessions, prepared, one per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    Insert,
    InsertMany,
    Select,
    Update,
}

impl Statement {
    /// The number of parameters.
    pub fn parameters(self) -> usize {
        if self == Statement::InsertMany { 100 } else { 1 }
    }

    /// Its text for both languages; `parameter` writes a parameter, counted from 1.
    pub fn text(self, parameter: impl Fn(usize) -> String) -> String {
        match self {
            Statement::Insert | Statement::InsertMany => {
                let rows: Vec<String> =
                    (1..=self.parameters()).map(|number| format!("({})", parameter(number))).collect();
                format!("insert into t1 values {}", rows.join(","))
            }
            Statement::Select => format!("select name from keyed where id = {}", parameter(1)),
            Statement::Update => format!("update keyed set a = a + 1 where id = {}", parameter(1)),
        }
    }

    /// Does it need the table `keyed`?
    pub fn is_by_key(self) -> bool {
        matches!(self, Statement::Select | Statement::Update)
    }

    /// Its name in the table.
    fn name(self, is_delayed: bool) -> String {
        let what = match self {
            Statement::Insert => "inserts",
            Statement::InsertMany => "inserts of 100 rows",
            Statement::Select => return "SELECT by key, prepared".into(),
            Statement::Update => "updates by key",
        };
        format!("{} {what}", if is_delayed { "delayed" } else { "durable" })
    }
}

/// One kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// 512 bytes made durable, one after another, below any database.
    RawDevice,
    /// One session, a loop in the server of one-row transactions, each durable when it ends.
    Durable,
    /// Such a loop, durable a little later.
    Delayed,
    /// Such a loop, durable when the batch ends (COMMIT_ACK = BATCH); an engine without such an option makes each commit durable as it ends.
    Batch,
    /// One transaction of single-row inserts in a loop.
    OneTransaction,
    /// A loop that only counts.
    EmptyLoop,
    /// This many sessions over the network, each one such statement after another.
    Sessions(Statement, usize),
    /// Process start to first answer.
    Start,
    /// Restart after kill -9 with many small transactions in the log, to the first answer.
    Restart,
}

impl Work {
    /// All of them, in the order of the table.
    pub const ALL: [Work; 21] = [
        Work::RawDevice,
        Work::Durable,
        Work::Delayed,
        Work::Batch,
        Work::OneTransaction,
        Work::EmptyLoop,
        Work::Sessions(Statement::Insert, 1),
        Work::Sessions(Statement::Insert, 8),
        Work::Sessions(Statement::Insert, 64),
        Work::Sessions(Statement::Insert, 256),
        Work::Sessions(Statement::InsertMany, 1),
        Work::Sessions(Statement::InsertMany, 8),
        Work::Sessions(Statement::InsertMany, 64),
        Work::Sessions(Statement::Select, 1),
        Work::Sessions(Statement::Select, 8),
        Work::Sessions(Statement::Select, 64),
        Work::Sessions(Statement::Update, 1),
        Work::Sessions(Statement::Update, 8),
        Work::Sessions(Statement::Update, 64),
        Work::Start,
        Work::Restart,
    ];

    /// Its name in the table.
    pub fn name(self, scale: &Scale) -> String {
        match self {
            Work::RawDevice => "device: durable writes of 512 bytes".into(),
            Work::Durable => format!("loop: {} durable commits of one row", scale.durable),
            Work::Delayed => format!("loop: {} delayed commits of one row", scale.delayed),
            Work::Batch => {
                format!("loop: {} commits of one row, waited for once (others: each)", scale.delayed)
            }
            Work::OneTransaction => format!("loop: {} inserts in one transaction", scale.rows),
            Work::EmptyLoop => format!("loop: {} empty iterations", scale.iterations),
            Work::Sessions(statement, count) => {
                let plural = if count == 1 { "" } else { "s" };
                format!("driver: {}, {count} session{plural}", statement.name(scale.is_delayed))
            }
            Work::Start => "process start to first answer".into(),
            Work::Restart => format!("restart after kill -9, {} transactions to redo", scale.restart),
        }
    }
}

/// The size of each work.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub durable: u64,
    pub delayed: u64,
    pub rows: u64,
    pub iterations: u64,
    pub restart: u64,
    /// Length of a measurement with sessions.
    pub seconds: f64,
    /// Commits of sessions do not wait for the device.
    pub is_delayed: bool,
}

impl Scale {
    /// The sizes of the published tables.
    pub const FULL: Scale = Scale {
        durable: 50_000,
        delayed: 1_000_000,
        rows: 1_000_000,
        iterations: 10_000_000,
        restart: 1_000_000,
        seconds: 5.0,
        is_delayed: false,
    };
    /// Small sizes, for a run of about a minute.
    pub const QUICK: Scale = Scale {
        durable: 5_000,
        delayed: 100_000,
        rows: 100_000,
        iterations: 1_000_000,
        restart: 100_000,
        seconds: 1.0,
        is_delayed: false,
    };
}

/// The results of all sessions together.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Statements a second.
    pub rate: f64,
    /// Median and 99th percentile of the time from request to answer, in milliseconds.
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// A rate a second (more is better) or seconds (less is better).
    pub value: f64,
    pub is_seconds: bool,
    /// With sessions: median and 99th percentile of the response time, in ms.
    pub latency_ms: Option<(f64, f64)>,
    /// With a start: resident memory, in MB.
    pub memory_mb: Option<f64>,
}

impl Sample {
    /// A rate per second.
    pub fn rate(value: f64) -> Sample {
        Sample { value, is_seconds: false, latency_ms: None, memory_mb: None }
    }

    /// A time in seconds.
    pub fn seconds(value: f64) -> Sample {
        Sample { is_seconds: true, ..Sample::rate(value) }
    }

    /// The results of many sessions.
    pub fn load(load: Load) -> Sample {
        Sample { latency_ms: Some((load.p50_ms, load.p99_ms)), ..Sample::rate(load.rate) }
    }
}

/// An engine that can do some of the work.
pub trait Engine {
    /// Its name in the table.
    fn name(&self) -> &'static str;
    /// Measures once; `None` when it does not support this work.
    fn measure(&mut self, work: Work, scale: &Scale) -> Option<Result<Sample, String>>;
}
