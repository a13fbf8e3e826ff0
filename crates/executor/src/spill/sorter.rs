//! External sort: sorted runs on disk, merged a few at a time. Stable. Rows in memory are compared by the first bytes of their keys, and by all
//! values where those are the same.

use std::cmp::Ordering;
use std::mem::Discriminant;

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

/// A row, and behind its values those that it is sorted by: one piece of memory holds both.
#[derive(Default)]
pub(crate) struct Keyed {
    values: Row,
    /// Where the key begins.
    width: usize,
}

impl Keyed {
    /// A row of so many values, whose others are its key.
    pub(crate) fn new(values: Row, width: usize) -> Keyed {
        assert!(width <= values.len(), "a key is behind the row");
        Keyed { values, width }
    }

    fn key(&self) -> &[Value] {
        &self.values[self.width..]
    }

    /// The row.
    pub(crate) fn into_row(self) -> Row {
        let mut row = self.values;
        row.truncate(self.width);
        row
    }

    /// The key, and the row.
    pub(crate) fn into_parts(self) -> (Vec<Value>, Row) {
        let mut row = self.values;
        let key = row.split_off(self.width);
        (key, row)
    }
}

/// A row in memory.
#[derive(Default)]
struct Entry {
    /// Never greater than that of a row that comes later.
    prefix: u64,
    keyed: Keyed,
}

/// Takes rows in any order.
pub(crate) struct Sorter {
    order: KeyOrder,
    /// Only so many rows are wanted.
    limit: usize,
    /// The key of a row behind which no row is wanted.
    bound: Option<Vec<Value>>,
    prefixes: Prefixes,
    rows: Vec<Entry>,
    held: Held,
    runs: Vec<Run>,
}

/// Gives them in order.
pub(crate) struct Sorted {
    rows: std::vec::IntoIter<Entry>,
    merge: Option<Merge>,
    _held: Held,
}

impl Sorter {
    pub(crate) fn new(order: KeyOrder, limit: usize, runtime: &Runtime<'_>) -> Sorter {
        let (prefixes, held) = (Prefixes::default(), Held::new(runtime));
        Sorter { order, limit, bound: None, prefixes, rows: Vec::new(), held, runs: Vec::new() }
    }

    /// Is a row with this key among the first ones of those that have come?
    #[inline]
    pub(crate) fn wants(&self, key: &[Value]) -> bool {
        self.bound.as_ref().is_none_or(|bound| compare(&self.order, key, bound).is_lt())
    }

    /// One more row.
    pub(crate) fn add(&mut self, runtime: &Runtime<'_>, keyed: Keyed) -> Result<(), SqlError> {
        assert_eq!(keyed.key().len(), self.order.len(), "a row has a value for each key");
        let bytes = row_bytes(&keyed.values) + size_of::<Entry>();
        self.rows.room_for_one()?;
        let prefix = self.prefixes.of(keyed.key(), &self.order);
        self.rows.push(Entry { prefix, keyed });
        // Trim whenever twice the wanted rows have gathered: amortised cost is that of sorting the kept ones.
        let has_too_many = self.rows.len() >= self.limit.saturating_mul(2).max(1024);
        if self.held.add(runtime, bytes)? || has_too_many {
            self.make_room(runtime)?;
        }
        Ok(())
    }

    fn put_in_order(&mut self) -> Result<(), SqlError> {
        let (order, has_prefixes) = (&self.order, self.prefixes.are_comparable());
        let of_keys = |a: &Entry, b: &Entry| compare(order, a.keyed.key(), b.keyed.key());
        let sorted = match has_prefixes {
            true => os::sort_by(&mut self.rows, |a, b| a.prefix.cmp(&b.prefix).then_with(|| of_keys(a, b))),
            false => os::sort_by(&mut self.rows, of_keys),
        };
        sorted.map_err(|os::Interrupted| plan_ir::errors::cancelled())?;
        debug_assert!(
            self.rows.is_sorted_by(|a, b| of_keys(a, b).is_le()),
            "a prefix says what its key says"
        );
        self.rows.truncate(self.limit);
        // So many rows come before the last of these, or are equal to it and have come earlier.
        if let Some(last) =
            self.rows.get(self.limit.wrapping_sub(1)).filter(|last| self.wants(last.keyed.key()))
        {
            self.bound = Some(last.keyed.key().to_vec());
        }
        Ok(())
    }

    /// Sorts the buffered rows and spills them, unless the limit leaves at most half of them and those fit.
    fn make_room(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let gathered = self.rows.len();
        self.put_in_order()?;
        if self.rows.len() <= gathered / 2 {
            self.held.clear();
            let mut is_full = false;
            for entry in &self.rows {
                is_full |= self.held.add(runtime, row_bytes(&entry.keyed.values) + size_of::<Entry>())?;
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
            self.rows.is_sorted_by(|a, b| compare(&self.order, a.keyed.key(), b.keyed.key()).is_le()),
            "a run is in order"
        );
        let mut writer = self.held.workspace().writer(runtime.instance)?;
        let mut record = Vec::new();
        for entry in std::mem::take(&mut self.rows) {
            runtime.check_cancelled()?;
            encode(&entry.keyed, &mut record);
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
        while let Some(keyed) = merge.next()? {
            runtime.check_cancelled()?;
            encode(&keyed, &mut record);
            writer.push(&record)?;
        }
        writer.finish()
    }
}

/// Makes prefixes: numbers that are in the order of the first values of keys, as far as eight bytes tell.
#[derive(Default)]
struct Prefixes {
    /// The kind of the values so far.
    kind: Option<Discriminant<Value>>,
    /// Values of several kinds have come: their bytes do not compare.
    are_mixed: bool,
    bytes: Vec<u8>,
}

impl Prefixes {
    fn of(&mut self, key: &[Value], order: &[(Collation, bool)]) -> u64 {
        let (Some(value), Some((collation, descending))) = (key.first(), order.first()) else { return 0 };
        let mut prefix = 0;
        if !value.is_null() && !self.are_mixed {
            let kind = std::mem::discriminant(value);
            self.are_mixed = *self.kind.get_or_insert(kind) != kind;
            self.bytes.clear();
            collation.key(value, &mut self.bytes);
            // Behind the first byte, which says that it is not NULL.
            self.bytes.resize(self.bytes.len().max(9), 0);
            prefix = self.bytes[1..].first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        }
        if *descending { !prefix } else { prefix }
    }

    fn are_comparable(&self) -> bool {
        !self.are_mixed
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
            None => Ok(self.rows.next().map(|entry| entry.keyed)),
        }
    }
}

fn encode(keyed: &Keyed, record: &mut Vec<u8>) {
    record.clear();
    codec::encode_row(&keyed.values, record);
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
        let mut values = Row::new();
        codec::decode_row(&self.record, &mut values);
        assert!(values.len() >= self.order.len(), "a record ends with its key");
        let width = values.len() - self.order.len();
        Ok(Some(std::mem::replace(&mut head.keyed, Keyed::new(values, width))))
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.heads[a], &self.heads[b]);
        compare(&self.order, a.keyed.key(), b.keyed.key()).then(a.number.cmp(&b.number)).is_lt()
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
        let is_next = |head: &Head| compare(&self.order, keyed.key(), head.keyed.key()).is_le();
        debug_assert!(self.heads.first().is_none_or(is_next), "the least row is given first");
        Ok(Some(keyed))
    }
}
