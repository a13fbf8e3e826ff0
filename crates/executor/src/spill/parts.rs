//! Spilled rows, partitioned by the hash of a key, so that one part at a time fits into memory.

use std::hash::Hasher;

use engine::Run;
use plan_ir::runtime::Runtime;
use plan_ir::workspace::Workspace;
use rustc_hash::FxHasher;
use types::{SqlError, Value};

use super::{RowWriter, RunRows};

/// How many parts rows are put into at once.
pub(crate) const PARTS: usize = 16;

/// Which part a key belongs to. Each level has a hash of its own: what was one part is many on the next.
pub(crate) fn part_of(key: &[u8], level: u32) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write_u32(level);
    hasher.write(key);
    let hash = hasher.finish();
    // The hash's low bits are its worst.
    let mixed = (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 59) as usize % PARTS
}

/// Parts that are being written.
pub(crate) struct Parts {
    writers: Vec<RowWriter>,
}

impl Parts {
    pub(crate) fn new(workspace: &Workspace, runtime: &Runtime<'_>) -> Result<Parts, SqlError> {
        let writers: Result<_, _> = (0..PARTS).map(|_| RowWriter::new(workspace, runtime)).collect();
        Ok(Parts { writers: writers? })
    }

    pub(crate) fn put(&mut self, part: usize, row: &[Value]) -> Result<(), SqlError> {
        debug_assert!(part < self.writers.len(), "a key has a part");
        self.writers[part].push(row)
    }

    /// All of them, empty ones too.
    pub(crate) fn finish(self) -> Result<Vec<Run>, SqlError> {
        self.writers.into_iter().map(RowWriter::finish).collect()
    }
}

/// Deferred rows, for an operator that finishes as many keys at a time as fit into memory. The key of a deferred row is one that
/// the operator has not kept, so each pass finishes some keys.
#[derive(Default)]
pub(crate) struct Later {
    /// The level of the current part.
    level: u32,
    put_off: Option<Parts>,
    waiting: Vec<(Run, u32)>,
}

impl Later {
    /// Puts a row off.
    pub(crate) fn put(
        &mut self,
        runtime: &Runtime<'_>,
        workspace: &Workspace,
        key: &[u8],
        row: &[Value],
    ) -> Result<(), SqlError> {
        let parts = match &mut self.put_off {
            Some(parts) => parts,
            None => self.put_off.insert(Parts::new(workspace, runtime)?),
        };
        parts.put(part_of(key, self.level), row)
    }

    /// The next part; the one before has been read to its end.
    pub(crate) fn next_part(&mut self) -> Result<Option<RunRows<Run>>, SqlError> {
        if let Some(parts) = self.put_off.take() {
            let runs = parts.finish()?;
            let level = self.level + 1;
            self.waiting.extend(runs.into_iter().filter(|run| run.records() > 0).map(|run| (run, level)));
        }
        let Some((run, level)) = self.waiting.pop() else { return Ok(None) };
        debug_assert!(run.records() > 0 && level > 0, "what waits was put off");
        self.level = level;
        Ok(Some(RunRows::new(run.into_reader())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part whose keys all went to one part on the level above falls apart on the next.
    #[test]
    fn each_level_has_a_hash_of_its_own() {
        let keys: Vec<[u8; 5]> = (0..20_000_u32)
            .map(|number| {
                let [a, b, c, d] = number.to_be_bytes();
                [1, a, b, c, d]
            })
            .collect();
        let first: Vec<_> = keys.iter().filter(|key| part_of(*key, 0) == 3).collect();
        for level in 1..5 {
            let mut counts = [0; PARTS];
            first.iter().for_each(|key| counts[part_of(*key, level)] += 1);
            let most = first.len() / PARTS * 3;
            assert!(counts.iter().all(|count| (1..most).contains(count)), "level {level}: {counts:?}");
        }
    }
}
