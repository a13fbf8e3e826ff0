//! The programs of recently run texts, shared by all sessions, so that a text sent again is neither parsed nor bound again.

use std::fmt::Write;
use std::sync::Arc;

use os::{Latch, LatchRank};
use query::{SetOptions, VariableDef};
use rustc_hash::FxHashMap;

use crate::program::Program;

/// When the cached programs together are larger than this, the ones not used since the last sweep go.
const CACHE_BYTES_MAX: usize = 32 << 20;
/// Larger texts are not kept at all.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// What a text's meaning hangs on, besides the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProgramConditions {
    database_id: i16,
    quoted_identifier: bool,
    ansi_nulls: bool,
}

impl ProgramConditions {
    pub(crate) fn new(database_id: i16, options: &SetOptions) -> ProgramConditions {
        let SetOptions { quoted_identifier, ansi_nulls, .. } = *options;
        ProgramConditions { database_id, quoted_identifier, ansi_nulls }
    }
}

/// What makes two texts the same program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProgramKey {
    text: Box<str>,
    conditions: ProgramConditions,
    /// Parameters as declared.
    parameters: Box<str>,
}

impl ProgramKey {
    /// For the text of a stored module, which as a batch would mean something else: it would create the module.
    pub(crate) fn module(text: &str, conditions: ProgramConditions) -> ProgramKey {
        ProgramKey { text: text.into(), conditions, parameters: "module".into() }
    }

    pub(crate) fn new(text: &str, conditions: ProgramConditions, parameters: &[VariableDef]) -> ProgramKey {
        let mut declared = String::new();
        for parameter in parameters {
            write!(declared, "{} {:?},", parameter.name, parameter.sql_type).expect("a String takes all");
        }
        ProgramKey { text: text.into(), conditions, parameters: declared.into() }
    }
}

/// The cache. One latch; nothing is called while it is held.
pub(crate) struct ProgramCache {
    kept: Latch<Kept>,
}

#[derive(Default)]
struct Kept {
    programs: FxHashMap<ProgramKey, Entry>,
    bytes: usize,
}

struct Entry {
    program: Arc<Program>,
    used: bool,
}

impl Default for ProgramCache {
    fn default() -> Self {
        ProgramCache { kept: Latch::new(LatchRank::PlanCache, Kept::default()) }
    }
}

impl ProgramCache {
    pub(crate) fn get(&self, key: &ProgramKey) -> Option<Arc<Program>> {
        let mut kept = self.kept.lock();
        let entry = kept.programs.get_mut(key)?;
        entry.used = true;
        Some(entry.program.clone())
    }

    pub(crate) fn put(&self, key: ProgramKey, program: Arc<Program>) {
        if program.text.len() > TEXT_BYTES_MAX {
            return;
        }
        let mut kept = self.kept.lock();
        kept.bytes += program.size_bytes();
        if let Some(old) = kept.programs.insert(key, Entry { program, used: true }) {
            kept.bytes -= old.program.size_bytes();
        }
        if kept.bytes > CACHE_BYTES_MAX {
            kept.sweep();
        }
    }
}

impl Kept {
    /// Drops what was not used since the last sweep; everything when all was used.
    fn sweep(&mut self) {
        self.programs.retain(|_, entry| std::mem::take(&mut entry.used));
        self.bytes = self.programs.values().map(|e| e.program.size_bytes()).sum();
        if self.bytes > CACHE_BYTES_MAX {
            self.programs.clear();
            self.bytes = 0;
        }
    }
}
