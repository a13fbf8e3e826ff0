//! External sort: sorted runs on disk, merged a few at a time. Stable.

use std::cmp::Ordering;

use engine::{Run, RunReader};
use plan_ir::physical::plan::SortNode;
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use types::{Collation, SqlError, Value};

use super::{Held, codec, row_bytes};
use crate::room::Room;

/// How the values of a key compare, one after the other: collation, descending.
pub(crate) type KeyOrder = Vec<(Collation, bool)>;

/// That of sort keys.
pub(crate) fn key_order(keys: &[SortNode]) -> impl Iterator<Item = (Collation, bool)> + '_ {
    keys.iter().map(|key| (key.collation, key.descending))
}

fn compare(order: &[(Collation, bool)], left: &[Value], right: &[Value]) -> Ordering {
    for ((collation, descending), (a, b)) in order.iter().zip(left.iter().zip(right)) {
        let ordering = types::sort_compare(a, b, *collation);
        if ordering != Ordering::Equal {
            return if *descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}

/// A row and what it is sorted by.
pub(crate) type Keyed = (Vec<Value>, Row);

/// Takes rows in any order.
pub(crate) struct Sorter {
    order: KeyOrder,
    /// Only so many rows are wanted.
    limit: usize,
    rows: Vec<Keyed>,
    held: Held,
    runs: Vec<Run>,
}

/// Gives them in order.
pub(crate) struct Sorted {
    rows: std::vec::IntoIter<Keyed>,
    merge: Option<Merge>,
    _held: Held,
}

impl Sorter {
    pub(crate) fn new(order: KeyOrder, limit: usize, runtime: &Runtime<'_>) -> Sorter {
        Sorter { order, limit, rows: Vec::new(), held: Held::new(runtime), runs: Vec::new() }
    }

    /// One more row.
    pub(crate) fn add(&mut self, runtime: &Runtime<'_>, key: Vec<Value>, row: Row) -> Result<(), SqlError> {
        assert_eq!(key.len(), self.order.len(), "a row has a value for each key");
        let bytes = row_bytes(&key) + row_bytes(&row) + size_of::<Keyed>();
        self.rows.room_for_one()?;
        self.rows.push((key, row));
        // Trim whenever twice the wanted rows have gathered: amortised cost is that of sorting the kept ones.
        let has_too_many = self.rows.len() >= self.limit.saturating_mul(2).max(1024);
        if self.held.add(runtime, bytes)? || has_too_many {
            self.make_room(runtime)?;
        }
        Ok(())
    }

    fn put_in_order(&mut self) -> Result<(), SqlError> {
        let order = &self.order;
        let sorted = os::sort_by(&mut self.rows, |a, b| compare(order, &a.0, &b.0));
        sorted.map_err(|os::Interrupted| plan_ir::errors::cancelled())?;
        self.rows.truncate(self.limit);
        Ok(())
    }

    /// Sorts the buffered rows and spills them, unless the limit leaves at most half of them and those fit.
    fn make_room(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let gathered = self.rows.len();
        self.put_in_order()?;
        if self.rows.len() <= gathered / 2 {
            self.held.clear();
            let mut is_full = false;
            for (key, row) in &self.rows {
                is_full |= self.held.add(runtime, row_bytes(key) + row_bytes(row) + size_of::<Keyed>())?;
            }
            if !is_full {
                return Ok(());
            }
        }
        self.put_out(runtime)
    }

    /// Writes the buffered rows, in order, as a run.
    fn put_out(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        debug_assert!(
            self.rows.is_sorted_by(|a, b| compare(&self.order, &a.0, &b.0).is_le()),
            "a run is in order"
        );
        let mut writer = self.held.workspace().writer(runtime.instance)?;
        let mut record = Vec::new();
        for (key, row) in std::mem::take(&mut self.rows) {
            runtime.check_cancelled()?;
            encode(&key, &row, &mut record);
            writer.push(&record)?;
        }
        self.runs.push(writer.finish()?);
        self.held.clear();
        Ok(())
    }

    /// All have come.
    pub(crate) fn finish(mut self, runtime: &Runtime<'_>) -> Result<Sorted, SqlError> {
        self.put_in_order()?;
        if self.runs.is_empty() {
            return Ok(Sorted { rows: self.rows.into_iter(), merge: None, _held: self.held });
        }
        if !self.rows.is_empty() {
            self.put_out(runtime)?;
        }
        let fan_in = self.held.workspace().fan_in();
        assert!(fan_in > 1, "a merge makes fewer runs of several");
        while self.runs.len() > fan_in {
            // Neighbours only, in their order: what is equal stays as it came.
            let mut runs = std::mem::take(&mut self.runs).into_iter();
            loop {
                let some: Vec<Run> = runs.by_ref().take(fan_in).collect();
                if some.is_empty() {
                    break;
                }
                self.runs.push(self.merged(runtime, some)?);
            }
        }
        let merge = Merge::begin(self.order, self.limit, self.runs)?;
        Ok(Sorted { rows: Vec::new().into_iter(), merge: Some(merge), _held: self.held })
    }

    fn merged(&self, runtime: &Runtime<'_>, runs: Vec<Run>) -> Result<Run, SqlError> {
        let mut merge = Merge::begin(self.order.clone(), self.limit, runs)?;
        let mut writer = self.held.workspace().writer(runtime.instance)?;
        let mut record = Vec::new();
        while let Some((key, row)) = merge.next()? {
            runtime.check_cancelled()?;
            encode(&key, &row, &mut record);
            writer.push(&record)?;
        }
        writer.finish()
    }
}

impl Sorted {
    /// Do rows come from disk? Else all are in memory, and charged.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.merge.is_some()
    }

    /// The next row with its key.
    pub(crate) fn next(&mut self) -> Result<Option<Keyed>, SqlError> {
        match &mut self.merge {
            Some(merge) => merge.next(),
            None => Ok(self.rows.next()),
        }
    }
}

fn encode(key: &[Value], row: &[Value], record: &mut Vec<u8>) {
    record.clear();
    codec::encode_row(key, record);
    codec::encode_row(row, record);
}

/// Several runs as one. `heads` is a heap: the least head is the first.
struct Merge {
    order: KeyOrder,
    left: usize,
    heads: Vec<Head>,
    record: Vec<u8>,
}

struct Head {
    keyed: Keyed,
    /// Among equal heads the row of the earlier run comes first.
    number: usize,
    reader: RunReader<Run>,
    left: u64,
}

impl Merge {
    fn begin(order: KeyOrder, limit: usize, runs: Vec<Run>) -> Result<Merge, SqlError> {
        let mut merge = Merge { order, left: limit, heads: Vec::new(), record: Vec::new() };
        for (number, run) in runs.into_iter().enumerate() {
            let left = run.records();
            let mut head = Head { keyed: Keyed::default(), number, reader: run.into_reader(), left };
            if merge.advance(&mut head)?.is_some() {
                merge.heads.push(head);
            }
        }
        for at in (0..merge.heads.len() / 2).rev() {
            merge.sift(at);
        }
        let mut places = 1..merge.heads.len();
        debug_assert!(places.all(|at| !merge.is_before(at, (at - 1) / 2)), "heads are a heap");
        Ok(merge)
    }

    /// Takes a head's next row; gives the one it had.
    fn advance(&mut self, head: &mut Head) -> Result<Option<Keyed>, SqlError> {
        if head.left == 0 {
            return Ok(None);
        }
        head.left -= 1;
        head.reader.next(&mut self.record)?;
        let mut key = Vec::new();
        codec::decode_row(&self.record, &mut key);
        assert!(key.len() >= self.order.len(), "a record begins with its key");
        let row = key.split_off(self.order.len());
        Ok(Some(std::mem::replace(&mut head.keyed, (key, row))))
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.heads[a], &self.heads[b]);
        compare(&self.order, &a.keyed.0, &b.keyed.0).then(a.number.cmp(&b.number)).is_lt()
    }

    fn sift(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heads.len() && self.is_before(child, least) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heads.swap(at, least);
            at = least;
        }
    }

    fn next(&mut self) -> Result<Option<Keyed>, SqlError> {
        if self.left == 0 || self.heads.is_empty() {
            return Ok(None);
        }
        self.left -= 1;
        let mut head = self.heads.swap_remove(0);
        let keyed = match self.advance(&mut head)? {
            Some(keyed) => {
                // Back to where it was, and the last one to its end.
                self.heads.push(head);
                let last = self.heads.len() - 1;
                self.heads.swap(0, last);
                keyed
            }
            None => head.keyed,
        };
        self.sift(0);
        let is_next = |head: &Head| compare(&self.order, &keyed.0, &head.keyed.0).is_le();
        debug_assert!(self.heads.first().is_none_or(is_next), "the least row is given first");
        Ok(Some(keyed))
    }
}
