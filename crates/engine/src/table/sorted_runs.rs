//! [`SortedRuns`], external merge sort: any number of keys with their values, added in any order, read once in key order: a run in memory, and when
//! that is full sorted runs on disk, which are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::rc::Rc;
use std::sync::Arc;

use super::run::KeyedRun;
use super::stop::stop_if_asked;
use crate::error::SqlResult;
use crate::workspace::Workspaces;
use crate::workspace::spill::{Run, RunReader, RunWriter, SpillFile};

/// The most runs merged at once; each has a block in memory meanwhile.
const RUNS_MAX: usize = 32;
/// Bytes of records from disk that are passed on together.
const SOME_BYTES_MAX: usize = 256 << 10;
/// A record begins with the length of its key.
const LENGTH_BYTES: usize = 2;

/// See the heading.
pub(super) struct SortedRuns {
    workspaces: Arc<Workspaces>,
    /// The most memory of the run in memory.
    bytes_max: usize,
    run: KeyedRun,
    behind: Vec<Run>,
    file: Option<Rc<SpillFile>>,
}

impl SortedRuns {
    pub(super) fn new(workspaces: Arc<Workspaces>, bytes_max: usize) -> SortedRuns {
        SortedRuns { workspaces, bytes_max, run: KeyedRun::default(), behind: Vec::new(), file: None }
    }

    /// As [`KeyedRun::add`].
    pub(super) fn add(&mut self, write: impl FnOnce(&mut Vec<u8>) -> SqlResult<usize>) -> SqlResult<()> {
        let is_full = self.run.len() >= self.workspaces.rows_in_memory_max();
        if is_full || !self.run.has_room(self.bytes_max) {
            self.put_out()?;
        }
        self.run.add(write)
    }

    /// Is there room in memory for one more?
    pub(super) fn has_room(&mut self) -> bool {
        self.run.has_room(self.bytes_max)
    }

    /// The peak memory of runs.
    pub(super) fn peak_bytes(&self) -> usize {
        self.run.taken_bytes()
    }

    /// The memory limit of a run.
    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Sets the memory limit of a run.
    pub(super) fn allow(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// Was a run written to disk?
    pub(super) fn has_spilled(&self) -> bool {
        self.file.is_some()
    }

    /// Sorts the run in memory and writes it to disk.
    fn put_out(&mut self) -> SqlResult<()> {
        self.run.sort()?;
        let mut writer = self.writer()?;
        let mut record = Vec::new();
        for at in 0..self.run.len() {
            stop_if_asked(at)?;
            let (key, rest) = self.run.get(at);
            push(&mut writer, &mut record, key, rest)?;
        }
        self.behind.push(writer.finish()?);
        self.run.clear();
        if self.behind.len() >= RUNS_MAX {
            let runs = std::mem::take(&mut self.behind);
            let mut writer = self.writer()?;
            merge(runs, &mut |key, rest| push(&mut writer, &mut record, key, rest))?;
            self.behind.push(writer.finish()?);
        }
        Ok(())
    }

    fn writer(&mut self) -> SqlResult<RunWriter> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(SpillFile::create(&self.workspaces)?),
        };
        Ok(file.writer())
    }

    /// Passes all on in key order, equal keys in input order, and empties it.
    pub(super) fn drain(&mut self, work: &mut dyn FnMut(&[u8], &[u8]) -> SqlResult<()>) -> SqlResult<()> {
        if self.behind.is_empty() {
            self.run.sort()?;
            for at in 0..self.run.len() {
                stop_if_asked(at)?;
                let (key, rest) = self.run.get(at);
                work(key, rest)?;
            }
        } else {
            self.put_out()?;
            // Its memory is free for the receiver.
            self.run = KeyedRun::default();
            merge(std::mem::take(&mut self.behind), work)?;
        }
        self.run = KeyedRun::default();
        Ok(())
    }
}

impl SortedRuns {
    /// Passes them on in groups of limited size.
    pub(super) fn drain_many(
        &mut self,
        most: usize,
        work: &mut dyn FnMut(&[(&[u8], &[u8])]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        if self.behind.is_empty() {
            self.run.sort()?;
            self.run.hand_out(most, work)?;
            self.run = KeyedRun::default();
            return Ok(());
        }
        let mut some = KeyedRun::default();
        self.drain(&mut |key, rest| {
            if some.len() >= most || !some.has_room(SOME_BYTES_MAX) {
                some.hand_out(most, work)?;
                some.clear();
            }
            some.add(|out| {
                out.extend_from_slice(key);
                out.extend_from_slice(rest);
                Ok(key.len())
            })
        })?;
        some.hand_out(most, work)
    }
}

fn push(writer: &mut RunWriter, record: &mut Vec<u8>, key: &[u8], rest: &[u8]) -> SqlResult<()> {
    record.clear();
    record.extend_from_slice(&u16::try_from(key.len()).expect("a key fits on a page").to_le_bytes());
    record.extend_from_slice(key);
    record.extend_from_slice(rest);
    writer.push(record)
}

/// The current record of a run. Heads compare by key, then by the age of their runs.
struct Head {
    record: Vec<u8>,
    number: usize,
    reader: RunReader<Run>,
    left: u64,
}

impl Head {
    /// Key and rest of the record.
    fn parts(&self) -> (&[u8], &[u8]) {
        let (length, bytes) = self.record.split_first_chunk::<LENGTH_BYTES>().expect("written by `push`");
        bytes.split_at(usize::from(u16::from_le_bytes(*length)))
    }

    /// The next record; false after the last.
    fn advance(&mut self) -> SqlResult<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        self.reader.next(&mut self.record)?;
        Ok(true)
    }

    fn order(&self) -> (&[u8], usize) {
        (self.parts().0, self.number)
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

fn merge(runs: Vec<Run>, work: &mut dyn FnMut(&[u8], &[u8]) -> SqlResult<()>) -> SqlResult<()> {
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (number, run) in runs.into_iter().enumerate() {
        let left = run.records();
        let mut head = Head { record: Vec::new(), number, reader: run.into_reader(), left };
        if head.advance()? {
            heads.push(Reverse(head));
        }
    }
    let mut handed_out = 0;
    while let Some(mut least) = heads.peek_mut() {
        stop_if_asked(handed_out)?;
        handed_out += 1;
        let (key, rest) = least.0.parts();
        work(key, rest)?;
        if !least.0.advance()? {
            PeekMut::pop(least);
        }
    }
    Ok(())
}
