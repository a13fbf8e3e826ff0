//! Performance counters, as `sys.dm_os_performance_counters` shows them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::stripe::{self, STRIPES};

/// How a reader is to understand a counter's value (`cntr_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum CounterType {
    /// The present value (PERF_COUNTER_LARGE_RAWCOUNT).
    RawCount = 65_792,
    /// A sum since start; a rate is the difference of two readings by their seconds (PERF_COUNTER_BULK_COUNT).
    BulkCount = 272_696_576,
    /// Numerator of a percentage (PERF_LARGE_RAW_FRACTION).
    RawFraction = 537_003_264,
    /// The base of a percentage or average (PERF_LARGE_RAW_BASE).
    RawBase = 1_073_939_712,
    /// Numerator of an average: difference of values by difference of bases (PERF_AVERAGE_BULK).
    AverageBulk = 1_073_874_176,
}

/// One line of the processor's caches.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line(AtomicI64);

/// One counter. An addition writes a cache line that few other threads write, usually none; the value is the sum.
#[derive(Debug, Default)]
pub struct Counter {
    stripes: [Line; STRIPES],
}

impl Counter {
    /// Adds `amount` (negative to take away).
    #[inline]
    pub fn add(&self, amount: i64) {
        match stripe::owned() {
            Some(own) => stripe::add_alone(&self.stripes[own].0, amount),
            None => self.add_slowly(amount),
        }
    }

    #[cold]
    fn add_slowly(&self, amount: i64) {
        let own = stripe::any();
        stripe::add_in(own, &self.stripes[own].0, amount);
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Sets the value, for raw counts such as sizes, without concurrent additions.
    #[inline]
    pub fn set(&self, value: i64) {
        let [first, others @ ..] = &self.stripes;
        first.0.store(value, Relaxed);
        for other in others.iter().filter(|other| other.0.load(Relaxed) != 0) {
            other.0.store(0, Relaxed);
        }
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> i64 {
        self.stripes.iter().map(|stripe| stripe.0.load(Relaxed)).fold(0, i64::wrapping_add)
    }
}

/// `N` counters of one object: the cells of a stripe are adjacent, and are allocated with the first addition.
#[derive(Default)]
pub struct CounterSet<const N: usize> {
    stripes: [OnceLock<Box<Cells<N>>>; STRIPES],
}

/// Lines of the processor's caches.
#[repr(align(64))]
struct Cells<const N: usize>([AtomicI64; N]);

impl<const N: usize> CounterSet<N> {
    /// The cells that only the calling thread writes, if there are any.
    #[inline]
    fn owned(&self) -> Option<&Cells<N>> {
        self.stripes[stripe::owned()?].get().map(|cells| &**cells)
    }

    /// The thread has no cells of its own, or has none here yet.
    #[cold]
    fn add_slowly<const K: usize>(&self, places: [usize; K], amount: i64, noted: Option<(usize, i64)>) {
        let own = stripe::any();
        let empty = || Box::new(Cells(std::array::from_fn(|_| AtomicI64::new(0))));
        let cells = self.stripes[own].get_or_init(empty);
        for at in places {
            stripe::add_in(own, &cells.0[at], amount);
        }
        if let Some((at, value)) = noted {
            cells.0[at].store(value, Relaxed);
        }
    }

    /// Adds to the counter at a place.
    #[inline]
    pub fn add(&self, at: usize, amount: i64) {
        match self.owned() {
            Some(cells) => stripe::add_alone(&cells.0[at], amount),
            None => self.add_slowly([at], amount, None),
        }
    }

    /// Adds one to the counter at each of these places.
    #[inline]
    pub fn count_each<const K: usize>(&self, places: [usize; K]) {
        match self.owned() {
            Some(cells) => places.into_iter().for_each(|at| stripe::add_alone(&cells.0[at], 1)),
            None => self.add_slowly(places, 1, None),
        }
    }

    /// Adds one to the counter at a place, and notes at another one a value that does not fall, such as a time.
    #[inline]
    pub fn count_at(&self, at: usize, (noted, value): (usize, i64)) {
        match self.owned() {
            Some(cells) => {
                stripe::add_alone(&cells.0[at], 1);
                cells.0[noted].store(value, Relaxed);
            }
            None => self.add_slowly([at], 1, Some((noted, value))),
        }
    }

    /// The sum of what was added at a place.
    pub fn sum(&self, at: usize) -> i64 {
        self.each(at).fold(0, i64::wrapping_add)
    }

    /// The highest value noted at a place; 0 for none.
    pub fn latest(&self, at: usize) -> i64 {
        self.each(at).max().unwrap_or(0)
    }

    /// Has anything been added or noted?
    pub fn is_used(&self) -> bool {
        self.stripes.iter().any(|stripe| stripe.get().is_some())
    }

    fn each(&self, at: usize) -> impl Iterator<Item = i64> + '_ {
        self.stripes.iter().filter_map(OnceLock::get).map(move |cells| cells.0[at].load(Relaxed))
    }
}

/// One row of `sys.dm_os_performance_counters` (not blank-padded).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRow {
    /// `SQLServer:Databases` ...
    pub object_name: String,
    /// `Log Flushes/sec` ...
    pub counter_name: String,
    /// A database's name, `_Total` or empty.
    pub instance_name: String,
    /// The value.
    pub cntr_value: i64,
    /// How to understand it.
    pub cntr_type: i32,
}

/// All counters of an instance.
#[derive(Default)]
pub struct CounterRegistry {
    rows: Mutex<BTreeMap<(String, String, String), Entry>>,
}

struct Entry {
    counter: Arc<Counter>,
    counter_type: CounterType,
}

impl CounterRegistry {
    /// The counter of that name, made at first use: `counter("SQLServer:Databases", "Log Flushes/sec", "hk")`.
    /// Its type follows from the name: `.../sec` accumulates, `... Base` is a base, anything else is a raw value.
    pub fn counter(&self, object: &str, counter: &str, instance: &str) -> Arc<Counter> {
        self.counter_of_type(object, counter, instance, type_by_name(counter))
    }

    /// The counter with an explicit type (which the first caller decides).
    pub fn counter_of_type(
        &self,
        object: &str,
        counter: &str,
        instance: &str,
        counter_type: CounterType,
    ) -> Arc<Counter> {
        let key = (object.to_owned(), counter.to_owned(), instance.to_owned());
        let mut rows = self.rows();
        let entry = rows.entry(key).or_insert_with(|| Entry { counter: Arc::default(), counter_type });
        Arc::clone(&entry.counter)
    }

    /// Removes the counters of an instance (a dropped database).
    pub fn remove_instance(&self, object: &str, instance: &str) {
        self.rows().retain(|key, _| !(key.0 == object && key.2 == instance));
    }

    /// Renames the counters of an instance (a renamed database); existing ones of the new name are removed.
    pub fn rename_instance(&self, object: &str, old: &str, new: &str) {
        let mut rows = self.rows();
        rows.retain(|key, _| !(key.0 == object && key.2 == new));
        let renamed: Vec<(String, String, String)> =
            rows.keys().filter(|key| key.0 == object && key.2 == old).cloned().collect();
        for key in renamed {
            if let Some(entry) = rows.remove(&key) {
                rows.insert((key.0, key.1, new.to_string()), entry);
            }
        }
    }

    /// All rows, ordered by object, counter and instance.
    pub fn snapshot(&self) -> Vec<CounterRow> {
        let rows = self.rows();
        let row = |(key, entry): (&(String, String, String), &Entry)| CounterRow {
            object_name: key.0.clone(),
            counter_name: key.1.clone(),
            instance_name: key.2.clone(),
            cntr_value: entry.counter.get(),
            cntr_type: entry.counter_type as i32,
        };
        rows.iter().map(row).collect()
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<(String, String, String), Entry>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn type_by_name(counter: &str) -> CounterType {
    let lower = counter.to_ascii_lowercase();
    if lower.ends_with(" base") {
        CounterType::RawBase
    } else if lower.ends_with(" ratio") {
        CounterType::RawFraction
    } else if lower.starts_with("average ") || lower.starts_with("avg ") {
        CounterType::AverageBulk
    } else if lower.ends_with("/sec") || lower == "lock wait time (ms)" {
        CounterType::BulkCount
    } else {
        CounterType::RawCount
    }
}
