//! The shared cache of programs for recently run texts, so that a repeated text is neither parsed nor bound again.

use std::sync::Arc;

use os::{Counter, Latch, LatchRank};
use rustc_hash::FxHashMap;

use crate::batch::program::Program;
use crate::batch::program_key::ProgramKey;

/// When the cached programs together exceed this size, those not used since the last sweep are evicted; earlier when requests need the memory.
pub(crate) const CACHE_BYTES_MAX: usize = 32 << 20;
/// Larger texts are not kept at all.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// After so many new programs the sizes of all are measured again: programs grow when cells are bound at their first run.
const PROGRAMS_PER_WEIGHING: u64 = 64;

/// The cache. One latch guards it; no other code is called while it is held.
pub(crate) struct ProgramCache {
    kept: Latch<CachedPrograms>,
    compilations: Arc<Counter>,
    recompilations: Arc<Counter>,
}

#[derive(Default)]
struct CachedPrograms {
    programs: FxHashMap<ProgramKey, Arc<Program>>,
    bytes: usize,
    /// Number of programs ever added; each gets the next number.
    numbered: u64,
    /// Number of evictions of closed databases: a program that was being compiled during one is not added.
    era: u64,
}

impl Default for ProgramCache {
    fn default() -> Self {
        ProgramCache {
            kept: Latch::new(LatchRank::PlanCache, CachedPrograms::default()),
            compilations: Arc::default(),
            recompilations: Arc::default(),
        }
    }
}

impl ProgramCache {
    /// A cache whose counters belong to object `SQL Statistics`.
    pub(crate) fn counted(counters: &os::CounterRegistry) -> ProgramCache {
        let counter = |name: &str| counters.counter("SQLServer:SQL Statistics", name, "");
        ProgramCache {
            compilations: counter("SQL Compilations/sec"),
            recompilations: counter("SQL Re-Compilations/sec"),
            ..ProgramCache::default()
        }
    }

    /// Counts a compilation.
    pub(crate) fn note_compiled(&self) {
        self.compilations.increment();
    }

    /// Counts a binding of a statement: the first, as part of its text, or `again`, because its plan was stale.
    pub(crate) fn note_bound(&self, again: bool) {
        self.compilations.add(i64::from(again));
        self.recompilations.add(i64::from(again));
    }

    /// DBCC FREEPROCCACHE. Numbers continue, so that a handle never denotes another program.
    pub(crate) fn clear(&self) {
        let cleared = {
            let mut kept = self.kept.lock();
            let CachedPrograms { numbered, era, .. } = *kept;
            std::mem::replace(&mut *kept, CachedPrograms { numbered, era, ..CachedPrograms::default() })
        };
        drop(cleared);
    }

    /// Frees memory for requests: programs not used lately first, then the others.
    pub(crate) fn give_way(&self) {
        let swept = {
            let mut kept = self.kept.lock();
            if kept.programs.is_empty() {
                return;
            }
            kept.sweep()
        };
        // Dropped after the latch is released.
        drop(swept);
        if !os::memory::has_room_for(0) {
            self.clear();
        }
    }

    /// Evicts programs of one database: that of a module's text, or all.
    pub(crate) fn forget_of(&self, incarnation: u64, module: Option<&str>) {
        let mut kept = self.kept.lock();
        kept.programs.retain(|key, _| {
            let is_it = module.is_none_or(|text| key.is_module(text));
            key.incarnation() != incarnation || !is_it
        });
        kept.weigh();
    }

    /// All programs for the views.
    pub(crate) fn shown(&self) -> Vec<query::CachedPlan> {
        let kept: Vec<(ProgramKey, Arc<Program>)> = {
            let kept = self.kept.lock();
            kept.programs.iter().map(|(key, program)| (key.clone(), program.clone())).collect()
        };
        kept.iter().map(|(key, program)| program.as_cached_plan(key)).collect()
    }

    /// The plan of the program with that number.
    pub(crate) fn plan_document(&self, number: u64) -> Option<String> {
        let programs: Vec<Arc<Program>> = self.kept.lock().programs.values().cloned().collect();
        let found = programs.into_iter().find(|program| program.statistics.number() == number);
        found.map(|program| program.plan_document())
    }

    /// Larger texts are not looked up at all.
    pub(crate) fn may_keep(text: &str) -> bool {
        text.len() <= TEXT_BYTES_MAX
    }

    pub(crate) fn get(&self, key: &ProgramKey) -> Option<Arc<Program>> {
        let program = self.kept.lock().programs.get(key).cloned();
        program.inspect(|program| program.note_used())
    }

    /// Read this before compiling a program that is to be `put`.
    pub(crate) fn era(&self) -> u64 {
        self.kept.lock().era
    }

    pub(crate) fn put(&self, key: ProgramKey, program: Arc<Program>, era: u64) {
        let bytes = program.size_bytes();
        if !ProgramCache::may_keep(&program.text) || bytes > CACHE_BYTES_MAX || program.uses_alias_types {
            return;
        }
        let mut kept = self.kept.lock();
        if kept.era != era {
            return;
        }
        if kept.numbered.is_multiple_of(PROGRAMS_PER_WEIGHING) {
            kept.weigh();
        }
        let mut swept = Vec::new();
        if kept.bytes + bytes > CACHE_BYTES_MAX {
            swept = kept.sweep();
        }
        if kept.bytes + bytes > CACHE_BYTES_MAX {
            swept.extend(kept.programs.drain().map(|(_, program)| program));
            kept.bytes = 0;
        }
        kept.bytes += bytes;
        kept.numbered += 1;
        program.statistics.numbered(kept.numbered);
        if let Some(old) = kept.programs.insert(key, program) {
            // It may have grown since its size was measured.
            kept.bytes = kept.bytes.saturating_sub(old.size_bytes());
        }
        drop(kept);
    }

    /// A database has been closed: evicts programs of databases that are not in `present`, and drops cells of other programs bound to it.
    pub(crate) fn forget_all_but(&self, present: &[u64]) {
        let programs: Vec<Arc<Program>> = {
            let mut kept = self.kept.lock();
            kept.era += 1;
            kept.programs.retain(|key, _| present.contains(&key.incarnation()));
            kept.weigh();
            kept.programs.values().cloned().collect()
        };
        programs.iter().for_each(|program| program.forget_stale());
    }
}

impl CachedPrograms {
    /// Removes programs that were not used since the last sweep.
    fn sweep(&mut self) -> Vec<Arc<Program>> {
        let unused = self.programs.extract_if(|_, program| !program.take_used());
        let unused = unused.map(|(_, program)| program).collect();
        self.weigh();
        unused
    }

    /// Measures sizes again: programs grow while their cells are bound.
    fn weigh(&mut self) {
        self.bytes = self.programs.values().map(|program| program.size_bytes()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::program_key::ProgramConditions;
    use query::SetOptions;

    fn program(text: &str) -> Arc<Program> {
        Arc::new(
            crate::batch::compile::compile(text.into(), &[], Vec::new(), false, None).expect("no statements"),
        )
    }

    #[test]
    fn what_is_asked_for_again_survives_a_sweep_and_the_rest_is_freed() {
        let cache = ProgramCache::default();
        let conditions = ProgramConditions::new(1, &SetOptions::default());
        let key = |text: &str| ProgramKey::new(text, conditions, &[]);
        let put = |text: &str| {
            let program = program(text);
            cache.put(key(text), program.clone(), 0);
            Arc::downgrade(&program)
        };
        let (asked, run, idle) = (put("asked for"), put("run by its handle"), put("idle"));
        cache.get(&key("asked for")).expect("kept");
        run.upgrade().expect("kept").note_used();
        let large = |at: usize| put(&format!("{at}{}", " ".repeat(TEXT_BYTES_MAX / 2)));
        let count = CACHE_BYTES_MAX / large(0).upgrade().expect("kept").size_bytes();
        (1..count).for_each(|at| drop(large(at)));
        assert!(idle.upgrade().is_some(), "there is room for that");
        let newest = large(count);
        assert!(idle.upgrade().is_none(), "never asked for again");
        assert!(asked.upgrade().is_some() && run.upgrade().is_some() && newest.upgrade().is_some());
        // Neither is used any more.
        (0..count).for_each(|at| drop(large(at)));
        assert!(asked.upgrade().is_none() && run.upgrade().is_none() && newest.upgrade().is_none());
        assert!(cache.kept.lock().bytes <= CACHE_BYTES_MAX);
    }

    #[test]
    fn programs_of_a_closed_database_go_and_what_was_being_made_is_not_kept() {
        let cache = ProgramCache::default();
        let of = |incarnation: u64| {
            ProgramKey::new("", ProgramConditions::new(incarnation, &SetOptions::default()), &[])
        };
        let began = cache.era();
        cache.put(of(1), program(""), began);
        cache.put(of(2), program(""), began);
        cache.forget_all_but(&[2, 3]);
        assert!(cache.get(&of(1)).is_none() && cache.get(&of(2)).is_some());
        assert_eq!(cache.kept.lock().bytes, program("").size_bytes());
        cache.put(of(3), program(""), began);
        assert!(cache.get(&of(3)).is_none(), "it may hold what has been forgotten");
        cache.put(of(3), program(""), cache.era());
        assert!(cache.get(&of(3)).is_some());
    }

    #[test]
    fn a_program_larger_than_the_cache_is_not_kept() {
        let cache = ProgramCache::default();
        let conditions = ProgramConditions::new(1, &SetOptions::default());
        let text = "RETURN ".repeat(140_000);
        let batch = tsql::parse_batch(&text, &tsql::ParseOptions::default()).expect("sound");
        let program =
            crate::batch::compile::compile(text.as_str().into(), &batch.statements, Vec::new(), false, None);
        let program = Arc::new(program.expect("sound"));
        assert!(text.len() <= TEXT_BYTES_MAX && program.size_bytes() > CACHE_BYTES_MAX);
        let key = ProgramKey::new(&text, conditions, &[]);
        cache.put(key.clone(), program, 0);
        assert!(cache.get(&key).is_none() && cache.kept.lock().bytes == 0);
    }

    /// Memory of later bindings counts when programs are measured again, at the latest after 64 more programs.
    #[test]
    fn programs_that_grow_are_weighed_again() {
        let cache = ProgramCache::default();
        let conditions = ProgramConditions::new(1, &SetOptions::default());
        let put = |at: u64| {
            let text = format!("{at}");
            let program = program(&text);
            cache.put(ProgramKey::new(&text, conditions, &[]), program.clone(), 0);
            program
        };
        let grown = put(0);
        let before = os::memory::thread_bytes();
        let bound = vec![1_u8; CACHE_BYTES_MAX];
        grown.note_made(before);
        drop(bound);
        assert!(grown.size_bytes() > CACHE_BYTES_MAX);
        (1..=PROGRAMS_PER_WEIGHING).for_each(|at| drop(put(at)));
        let kept = cache.kept.lock();
        assert!(
            kept.bytes <= CACHE_BYTES_MAX
                && !kept.programs.values().any(|program| Arc::ptr_eq(program, &grown))
        );
    }

    #[test]
    fn hot_programs_that_fill_the_cache_make_room() {
        let cache = ProgramCache::default();
        let conditions = ProgramConditions::new(1, &SetOptions::default());
        for at in 0..40 {
            let text = format!("{at}{}", " ".repeat(TEXT_BYTES_MAX / 2));
            let key = ProgramKey::new(&text, conditions, &[]);
            cache.put(key.clone(), program(&text), 0);
            assert!(cache.get(&key).is_some(), "the newest is kept");
            assert!(cache.kept.lock().bytes <= CACHE_BYTES_MAX);
        }
    }
}
