//! The query store: execution figures of a database's queries by plan and interval, for `sys.query_store_*`.
//!
//! It is kept in memory. The setting ON lasts as long as the database; gathered figures and other settings last until the server stops. A
//! frame that ends adds its sums, if its database has the option; a plan is described when it first appears. MAX_STORAGE_SIZE_MB limits the
//! memory.

use std::any::Any;
use std::sync::{Arc, Weak};

use os::{Latch, LatchRank};
use query::query_store::{
    PlanRuns, StoreSettings, StoredInterval, StoredPlan, StoredQueries, StoredQuery, StoredRuns, StoredText,
};
use rustc_hash::FxHashMap;

/// Size that an entry of any kind counts for, besides its text.
const ENTRY_BYTES: u64 = 200;
/// Size that the figures of a plan in one interval count for.
const RUNS_BYTES: u64 = 400;
/// Limit of compiled statements that the store recognises by their address.
const KNOWN_MAX: usize = 4096;
const TICKS_PER_MINUTE: u64 = 600_000_000;

/// A compiled statement; the store only compares its identity.
type Compiled = Arc<dyn Any + Send + Sync>;

fn place(compiled: &Compiled) -> usize {
    Arc::as_ptr(compiled).cast::<()>().addr()
}

/// The stores of all databases, by incarnation.
pub(crate) struct QueryStores {
    stores: Latch<FxHashMap<u64, Store>>,
}

#[derive(Default)]
struct Store {
    stored: StoredQueries,
    /// Maps the address of a compiled statement to its plan. The weak reference prevents another statement from reusing the address.
    known: FxHashMap<usize, (Weak<dyn Any + Send + Sync>, u64)>,
    /// The last id given to any entry.
    numbered: u64,
}

/// A statement that the store does not know yet.
pub(crate) struct Described {
    pub(crate) text: String,
    pub(crate) document: String,
    pub(crate) plan_hash: u64,
    /// Object id of its module; 0: a batch.
    pub(crate) object_id: i32,
    pub(crate) has_parameters: bool,
    pub(crate) compatibility_level: u8,
}

impl Default for QueryStores {
    fn default() -> QueryStores {
        QueryStores { stores: Latch::new(LatchRank::PlanCache, FxHashMap::default()) }
    }
}

impl QueryStores {
    /// The contents of a database's store, for the views.
    pub(crate) fn shown(&self, incarnation: u64) -> StoredQueries {
        self.stores.lock().get(&incarnation).map(|store| store.stored.clone()).unwrap_or_default()
    }

    /// ALTER DATABASE ... SET QUERY_STORE (...).
    pub(crate) fn set(&self, incarnation: u64, change: impl FnOnce(&mut StoreSettings)) {
        let mut stores = self.stores.lock();
        let stored = &mut stores.entry(incarnation).or_default().stored;
        change(&mut stored.settings);
        stored.is_full = false;
    }

    /// ALTER DATABASE ... SET QUERY_STORE CLEAR. Ids continue, so that no id is reused.
    pub(crate) fn clear(&self, incarnation: u64) {
        if let Some(store) = self.stores.lock().get_mut(&incarnation) {
            let settings = store.stored.settings.clone();
            let stored = StoredQueries { settings, ..StoredQueries::default() };
            *store = Store { stored, numbered: store.numbered, ..Store::default() };
        }
    }

    /// Drops the stores of databases that have been dropped or closed.
    pub(crate) fn forget_all_but(&self, present: &[u64]) {
        self.stores.lock().retain(|incarnation, _| present.contains(incarnation));
    }

    /// Adds runs of a known plan. False: the plan must be described first.
    pub(crate) fn add_known(&self, incarnation: u64, compiled: &Compiled, runs: &PlanRuns, now: u64) -> bool {
        let mut stores = self.stores.lock();
        let store = stores.entry(incarnation).or_default();
        if !store.takes_in() {
            return true;
        }
        let Some((_, plan_id)) = store.known.get(&place(compiled)) else { return false };
        let plan_id = *plan_id;
        store.add_runs(plan_id, runs, now);
        true
    }

    /// Adds runs of a plan that may be new.
    pub(crate) fn add(
        &self,
        incarnation: u64,
        compiled: &Compiled,
        described: &Described,
        runs: &PlanRuns,
        now: u64,
    ) {
        let mut stores = self.stores.lock();
        let store = stores.entry(incarnation).or_default();
        let Some(plan_id) = store.plan_of(described, now) else { return };
        if store.known.len() >= KNOWN_MAX {
            store.known.clear();
        }
        store.known.insert(place(compiled), (Arc::downgrade(compiled), plan_id));
        store.add_runs(plan_id, runs, now);
    }
}

impl Store {
    fn takes_in(&self) -> bool {
        !self.stored.settings.is_read_only && !self.stored.is_full
    }

    fn number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered
    }

    /// Is there room, also after a clean-up?
    fn has_room(&mut self, bytes: u64) -> bool {
        let max = self.stored.settings.bytes_max;
        if self.stored.bytes + bytes > max {
            if !self.stored.settings.cleans_up {
                self.stored.is_full = true;
                return false;
            }
            self.clean_up((max - max / 5).saturating_sub(bytes));
        }
        self.stored.bytes + bytes <= max
    }

    /// The plan's id; `None` if the plan is not captured.
    fn plan_of(&mut self, described: &Described, now: u64) -> Option<u64> {
        let known_text = |text: &&StoredText| *text.text == *described.text;
        let text_id = self.stored.texts.iter().find(known_text).map(|text| text.id);
        let own = |query: &&StoredQuery| {
            Some(query.text_id) == text_id
                && (query.object_id, query.has_parameters) == (described.object_id, described.has_parameters)
        };
        let query_id = self.stored.queries.iter().find(own).map(|query| query.id);
        let of_query = |plan: &&StoredPlan| Some(plan.query_id) == query_id;
        let mut plans = self.stored.plans.iter().filter(of_query);
        let plan_id = plans.find(|plan| *plan.document == *described.document).map(|plan| plan.id);
        let Some(plan_id) = plan_id else {
            let settings = &self.stored.settings;
            let plans = self.stored.plans.iter().filter(of_query).count();
            let is_refused = match query_id {
                None => !settings.takes_new_queries,
                Some(_) => settings.plans_max > 0 && plans >= settings.plans_max as usize,
            };
            return if is_refused { None } else { self.new_plan(described, now) };
        };
        let plan = self.stored.plans.iter_mut().find(|plan| plan.id == plan_id)?;
        (plan.compiles, plan.compiled_ticks) = (plan.compiles + 1, now);
        let query = self.stored.queries.iter_mut().find(|query| Some(query.id) == query_id)?;
        (query.compiles, query.compiled_ticks) = (query.compiles + 1, now);
        Some(plan_id)
    }

    fn new_plan(&mut self, described: &Described, now: u64) -> Option<u64> {
        let bytes = 3 * ENTRY_BYTES + RUNS_BYTES + (described.text.len() + described.document.len()) as u64;
        if !self.has_room(bytes) {
            return None;
        }
        // Making room may have removed the text and the query.
        let text = self.stored.texts.iter().find(|text| *text.text == *described.text).map(|text| text.id);
        let text_id = text.unwrap_or_else(|| {
            let id = self.number();
            self.stored.texts.push(StoredText { id, text: described.text.as_str().into() });
            id
        });
        let (object_id, has_parameters) = (described.object_id, described.has_parameters);
        let own = |query: &&mut StoredQuery| {
            (query.text_id, query.object_id, query.has_parameters) == (text_id, object_id, has_parameters)
        };
        let query_id = if let Some(query) = self.stored.queries.iter_mut().find(own) {
            (query.compiles, query.compiled_ticks) = (query.compiles + 1, now);
            query.id
        } else {
            let id = self.number();
            self.stored.queries.push(StoredQuery {
                id,
                text_id,
                object_id,
                has_parameters,
                compiles: 1,
                first_ticks: now,
                compiled_ticks: now,
                last_ticks: now,
            });
            id
        };
        let id = self.number();
        self.stored.plans.push(StoredPlan {
            id,
            query_id,
            document: described.document.as_str().into(),
            plan_hash: described.plan_hash,
            compatibility_level: described.compatibility_level,
            compiles: 1,
            first_ticks: now,
            compiled_ticks: now,
            last_ticks: now,
        });
        self.count_bytes();
        Some(id)
    }

    /// Id of the current interval.
    fn interval(&mut self, now: u64) -> u64 {
        let length = u64::from(self.stored.settings.interval_minutes) * TICKS_PER_MINUTE;
        let start_ticks = now - now % length;
        let end_ticks = start_ticks + length;
        let mut intervals = self.stored.intervals.iter().rev();
        let same = |one: &&StoredInterval| (one.start_ticks, one.end_ticks) == (start_ticks, end_ticks);
        intervals.find(same).map(|one| one.id).unwrap_or_else(|| {
            let id = self.number();
            self.stored.intervals.push(StoredInterval { id, start_ticks, end_ticks });
            id
        })
    }

    fn add_runs(&mut self, plan_id: u64, runs: &PlanRuns, now: u64) {
        let interval_id = self.interval(now);
        let own = |one: &&mut StoredRuns| (one.plan_id, one.interval_id) == (plan_id, interval_id);
        if let Some(one) = self.stored.runs.iter_mut().rev().find(own) {
            one.runs.add(runs);
        } else {
            if !self.has_room(RUNS_BYTES) || !self.stored.plans.iter().any(|plan| plan.id == plan_id) {
                return;
            }
            let (id, first_ticks) = (self.number(), runs.last_ticks);
            // Making room may have removed the interval.
            let interval_id = self.interval(now);
            self.stored.runs.push(StoredRuns { id, plan_id, interval_id, first_ticks, runs: *runs });
            self.count_bytes();
        }
        let Some(plan) = self.stored.plans.iter_mut().find(|plan| plan.id == plan_id) else { return };
        plan.last_ticks = runs.last_ticks;
        let query_id = plan.query_id;
        if let Some(query) = self.stored.queries.iter_mut().find(|query| query.id == query_id) {
            query.last_ticks = runs.last_ticks;
        }
    }

    /// Removes the least recently run queries with all their entries, until the rest takes at most `bytes_max`.
    fn clean_up(&mut self, bytes_max: u64) {
        let mut order: Vec<(u64, u64)> =
            self.stored.queries.iter().map(|query| (query.last_ticks, query.id)).collect();
        order.sort_unstable();
        let mut going = 0;
        while self.stored.bytes > bytes_max && going < order.len() {
            // A tenth of them at a time, because each round scans everything.
            going = (going + (order.len() / 10).max(1)).min(order.len());
            let gone: rustc_hash::FxHashSet<u64> = order[..going].iter().map(|(_, id)| *id).collect();
            let stored = &mut self.stored;
            stored.queries.retain(|query| !gone.contains(&query.id));
            stored.texts.retain(|text| stored.queries.iter().any(|query| query.text_id == text.id));
            stored.plans.retain(|plan| !gone.contains(&plan.query_id));
            stored.runs.retain(|runs| stored.plans.iter().any(|plan| plan.id == runs.plan_id));
            stored.intervals.retain(|one| stored.runs.iter().any(|runs| runs.interval_id == one.id));
            self.count_bytes();
        }
        self.known.clear();
    }

    fn count_bytes(&mut self) {
        let stored = &mut self.stored;
        let texts: usize = stored.texts.iter().map(|text| text.text.len()).sum();
        let plans: usize = stored.plans.iter().map(|plan| plan.document.len()).sum();
        let entries = stored.texts.len() + stored.queries.len() + stored.plans.len() + stored.intervals.len();
        let runs = stored.runs.len() as u64 * RUNS_BYTES;
        stored.bytes = (texts + plans) as u64 + entries as u64 * ENTRY_BYTES + runs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> Described {
        Described {
            text: text.to_string(),
            document: "x".repeat(10_000),
            plan_hash: 0,
            object_id: 0,
            has_parameters: false,
            compatibility_level: 160,
        }
    }

    fn run_at(store: &mut Store, text: &str, ticks: u64) {
        let runs = PlanRuns { executions: 1, last_ticks: ticks, ..PlanRuns::default() };
        if let Some(plan) = store.plan_of(&described(text), ticks) {
            store.add_runs(plan, &runs, ticks);
        }
    }

    #[test]
    fn what_was_not_run_for_longest_makes_room_and_nothing_points_to_it() {
        let mut store = Store::default();
        store.stored.settings.bytes_max = 1 << 20;
        for at in 0..1000 {
            run_at(&mut store, &format!("query {at}"), 1 + at * TICKS_PER_MINUTE);
            run_at(&mut store, "often", 2 + at * TICKS_PER_MINUTE);
            assert!(store.stored.bytes <= 1 << 20);
        }
        let stored = &store.stored;
        let has = |text: &str| stored.texts.iter().any(|one| *one.text == *text);
        assert!(has("often") && has("query 999") && !has("query 0"));
        assert!(stored.queries.len() > 50 && stored.texts.len() == stored.queries.len());
        assert!(stored.runs.iter().all(|runs| stored.plans.iter().any(|plan| plan.id == runs.plan_id)
            && stored.intervals.iter().any(|interval| interval.id == runs.interval_id)));
    }

    #[test]
    fn a_full_store_that_may_not_clean_up_takes_nothing_in() {
        let mut store = Store::default();
        (store.stored.settings.bytes_max, store.stored.settings.cleans_up) = (50_000, false);
        (0..20).for_each(|at| run_at(&mut store, &format!("query {at}"), at));
        assert!(store.stored.is_full && !store.takes_in());
        assert!(store.stored.bytes <= 50_000 && store.stored.queries.len() == 4);
    }

    #[test]
    fn intervals_begin_at_whole_multiples_of_their_length() {
        let mut store = Store::default();
        let hour = 60 * TICKS_PER_MINUTE;
        [hour + 5, 2 * hour - 1, 2 * hour].iter().for_each(|at| run_at(&mut store, "q", *at));
        let starts: Vec<u64> = store.stored.intervals.iter().map(|one| one.start_ticks).collect();
        assert_eq!(starts, [hour, 2 * hour]);
        let executions: Vec<u64> = store.stored.runs.iter().map(|one| one.runs.executions).collect();
        assert_eq!(executions, [2, 1]);
    }
}
