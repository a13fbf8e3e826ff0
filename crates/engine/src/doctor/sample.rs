//! The doctor's measurements: the figures of one database at two moments, and short samples between them.

use std::sync::Arc;

use log::{Growth, LogReuseWait, LogStats, LossFigures, LossWindowInfo, Lsn};
use os::{Interrupted, WaitType};

use crate::database::Database;
use crate::instance::Instance;

/// The length of a short sample.
const SLICE_NS: u64 = 100_000_000;

/// Waits of one kind: how many began, and the time of those that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Begun.
    pub count: u64,
    /// Time, ns.
    pub ns: u64,
}

impl Wait {
    fn plus(self, other: Wait) -> Wait {
        Wait { count: self.count + other.count, ns: self.ns + other.ns }
    }

    /// The difference to `earlier`; statistics cleared meanwhile count from 0.
    pub fn since(self, earlier: Wait) -> Wait {
        if self.count < earlier.count || self.ns < earlier.ns {
            return self;
        }
        Wait { count: self.count - earlier.count, ns: self.ns - earlier.ns }
    }
}

/// Waits of the whole server that affect its commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// LOGBUFFER: all blocks of a log cache wait for the device.
    pub log_buffer: Wait,
    /// PREEMPTIVE_OS_WRITEFILEGATHER and LOGMGR_RESERVE_APPEND: a thread waits until a log has grown.
    pub growth: Wait,
    /// LCK_M_*: locks.
    pub locks: Wait,
    /// PAGEIOLATCH_*: page reads.
    pub page_io: Wait,
}

impl Waits {
    fn take(instance: &Instance) -> Waits {
        let mut waits = Waits::default();
        for row in instance.os().wait_stats().snapshot() {
            let wait = Wait { count: row.waiting_tasks_count, ns: row.wait_time_ns };
            let name = row.wait_type.name();
            let kind = match row.wait_type {
                WaitType::LOGBUFFER => &mut waits.log_buffer,
                WaitType::PREEMPTIVE_OS_WRITEFILEGATHER | WaitType::LOGMGR_RESERVE_APPEND => {
                    &mut waits.growth
                }
                _ if name.starts_with("LCK_M_") => &mut waits.locks,
                _ if name.starts_with("PAGEIOLATCH_") => &mut waits.page_io,
                _ => continue,
            };
            *kind = kind.plus(wait);
        }
        waits
    }
}

/// The figures of a database at one moment; those named `_total` only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at_ns: u64,
    /// Those of its log.
    pub log: LogStats,
    /// Commits of transactions with changes.
    pub commits_total: u64,
    /// Delayed commits.
    pub loss: LossWindowInfo,
    /// Waits of the server.
    pub waits: Waits,
    /// Bytes written to data files of all databases, which may share the log's device.
    pub page_bytes_total: u64,
}

impl Sample {
    fn take(instance: &Instance, database: &Database) -> Sample {
        Sample {
            at_ns: instance.os().clock().monotonic_ns(),
            log: database.log().stats(),
            commits_total: database.transactions().commits_total(),
            loss: database.log().loss_window(),
            waits: Waits::take(instance),
            page_bytes_total: page_bytes(instance),
        }
    }
}

fn page_bytes(instance: &Instance) -> u64 {
    let of = |database: &Arc<Database>| -> u64 {
        database.space().files().iter().map(|file| file.stats.write_bytes_total).sum()
    };
    instance.databases().iter().map(of).sum()
}

/// Log writes in the short samples of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Writes.
    pub flushes: u64,
    /// Time in them, ns.
    pub write_ns: u64,
}

impl Pace {
    /// The mean time of one write, ns; 0 without any.
    pub fn mean_ns(&self) -> u64 {
        self.write_ns.checked_div(self.flushes).unwrap_or(0)
    }
}

/// The holder of the oldest log, which prevents its reuse, at the end of the observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The reason.
    pub reason: LogReuseWait,
    /// The holder: `oldest transaction`, `checkpoint` ...
    pub owner: String,
    /// The session of a transaction; 0 for none.
    pub session_id: u32,
    /// Age of a transaction, ns; 0 for others.
    pub age_ns: u64,
}

/// The input of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The database's name.
    pub database: String,
    /// It is never durable (tempdb).
    pub is_volatile: bool,
    /// The reason why it no longer acknowledges commits, if so.
    pub suspect: Option<String>,
    /// At the begin.
    pub first: Sample,
    /// At the end.
    pub last: Sample,
    /// Short samples without page writes.
    pub calm: Pace,
    /// Short samples with page writes.
    pub disturbed: Pace,
    /// The peak of each figure of data at risk.
    pub at_risk_most: LossFigures,
    /// The peak of writes in flight.
    pub in_flight_most: u64,
    /// The holder of the oldest log.
    pub holder: Option<Holder>,
    /// log_reuse_wait at the end.
    pub reuse_wait: LogReuseWait,
    /// The bytes that the log file may still grow by itself.
    pub growth_left_bytes: u64,
}

impl Observation {
    /// Observes a database for `window_ns`.
    ///
    /// # Errors
    /// When the task is interrupted meanwhile (attention, KILL).
    pub fn make(
        instance: &Instance,
        database: &Database,
        window_ns: u64,
    ) -> Result<Observation, Interrupted> {
        let first = Sample::take(instance, database);
        let mut observation = Observation {
            database: database.name().to_owned(),
            is_volatile: database.is_volatile(),
            suspect: None,
            first,
            last: first,
            calm: Pace::default(),
            disturbed: Pace::default(),
            at_risk_most: LossFigures::default(),
            in_flight_most: 0,
            holder: None,
            reuse_wait: LogReuseWait::Nothing,
            growth_left_bytes: 0,
        };
        let end_ns = first.at_ns + window_ns;
        while observation.last.at_ns < end_ns {
            let slice_ns = (end_ns - observation.last.at_ns).min(SLICE_NS);
            instance.os().sleep(slice_ns, WaitType::WAITFOR)?;
            observation.look(Sample::take(instance, database));
        }
        observation.suspect = database.suspect_reason();
        observation.holder = holder_of(instance, database);
        observation.reuse_wait = database.log().reuse_wait();
        let (growth, bytes_max) = database.log().growth();
        if growth != Growth::None {
            observation.growth_left_bytes = bytes_max.saturating_sub(observation.last.log.size_bytes);
        }
        Ok(observation)
    }

    /// Adds a short sample.
    fn look(&mut self, now: Sample) {
        let is_disturbed = now.page_bytes_total > self.last.page_bytes_total;
        let pace = if is_disturbed { &mut self.disturbed } else { &mut self.calm };
        pace.flushes += now.log.flushes_total - self.last.log.flushes_total;
        pace.write_ns += now.log.flush_write_ns_total - self.last.log.flush_write_ns_total;
        let (most, risk) = (&mut self.at_risk_most, now.loss.now);
        most.commits = most.commits.max(risk.commits);
        most.bytes = most.bytes.max(risk.bytes);
        most.age_ns = most.age_ns.max(risk.age_ns);
        self.in_flight_most = self.in_flight_most.max(now.log.outstanding_ios);
        self.last = now;
    }

    /// The duration.
    pub fn window_ns(&self) -> u64 {
        self.last.at_ns - self.first.at_ns
    }

    /// `ns` as a share of the duration: 1.0 is the whole time, more means several sessions at once.
    pub fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.window_ns().max(1) as f64
    }

    /// The increase of a cumulative figure of the log.
    pub fn log_since(&self, of: impl Fn(&LogStats) -> u64) -> u64 {
        of(&self.last.log).saturating_sub(of(&self.first.log))
    }

    /// Log writes.
    pub fn flushes(&self) -> u64 {
        self.log_since(|log| log.flushes_total)
    }

    /// Commits of transactions with changes.
    pub fn commits(&self) -> u64 {
        self.last.commits_total.saturating_sub(self.first.commits_total)
    }

    /// The delayed ones of them.
    pub fn delayed_commits(&self) -> u64 {
        self.last.loss.commits_total.saturating_sub(self.first.loss.commits_total)
    }

    /// WRITELOG of this database: waits for a flush.
    pub fn write_log(&self) -> Wait {
        Wait {
            count: self.log_since(|log| log.flush_waits_total),
            ns: self.log_since(|log| log.flush_wait_ns_total),
        }
    }

    /// Waits of the server of one kind.
    pub fn waits(&self, of: impl Fn(&Waits) -> Wait) -> Wait {
        of(&self.last.waits).since(of(&self.first.waits))
    }

    /// The mean time of one log write, ns; 0 without any.
    pub fn write_mean_ns(&self) -> u64 {
        self.log_since(|log| log.flush_write_ns_total).checked_div(self.flushes()).unwrap_or(0)
    }

    /// Log writes that took `2^class` microseconds or longer.
    pub fn writes_from_class(&self, class: usize) -> u64 {
        assert!(class < log::WRITE_TIMES, "a class of writes");
        let from = class + 1;
        (from..log::WRITE_TIMES)
            .map(|class| self.log_since(|log| log.flush_writes_by_time_total[class]))
            .sum()
    }

    /// The mean size of one log write; 0 without any.
    pub fn flush_mean_bytes(&self) -> u64 {
        self.log_since(|log| log.flushed_bytes_total).checked_div(self.flushes()).unwrap_or(0)
    }
}

/// The pin or transaction that needs the oldest log. The transactions' own pin moves only at a truncation: the transaction table is more precise.
fn holder_of(instance: &Instance, database: &Database) -> Option<Holder> {
    let active =
        database.transactions().active().into_iter().filter(|row| !row.begin.is_null() && !row.is_ended);
    let oldest = active.min_by_key(|row| row.begin).map(|row| {
        let now = instance.os().clock().utc_100ns().max(0).cast_unsigned();
        let began = if row.begin_time.0 == 0 { now } else { row.begin_time.to_utc_100ns() };
        let holder = Holder {
            reason: LogReuseWait::ActiveTransaction,
            owner: "oldest transaction".to_owned(),
            session_id: row.session_id,
            age_ns: now.saturating_sub(began) * 100,
        };
        (row.begin, holder)
    });
    let others = database.log().pins().into_iter();
    let others = others.filter(|pin| pin.lsn != Lsn::MAX && pin.reason != LogReuseWait::ActiveTransaction);
    let others = others
        .map(|pin| (pin.lsn, Holder { reason: pin.reason, owner: pin.owner, session_id: 0, age_ns: 0 }));
    // A checkpoint moves by itself: of two holders of the same VLF, the other one is named.
    others
        .chain(oldest)
        .min_by_key(|(lsn, holder)| (lsn.vlf(), holder.reason == LogReuseWait::Checkpoint, *lsn))
        .map(|(_, holder)| holder)
}
