//! [`Partition`]: the rows of one partition of a window, each by its number, in memory or in blocks on disk with a cache of the last few
//! blocks read. Window functions read their rows forward, from a few places at once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Deref;
use std::rc::Rc;

use engine::Run;
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use types::{SqlError, Value};

use super::room::Room;
use super::spill::{Held, codec, row_bytes};

/// Bytes of rows in a block: what one block of the spill file takes.
const BLOCK_BYTES: usize = engine::SPILL_BLOCK_BYTES;
/// Cached blocks.
const BLOCKS_AT_HAND: usize = 8;

/// A row with its partition and order keys.
pub(super) struct Keyed {
    /// Partition keys first, then order keys.
    pub(super) key: Vec<Value>,
    /// How many values are of the partition.
    pub(super) partition: usize,
    pub(super) row: Row,
}

impl Keyed {
    pub(super) fn partition(&self) -> &[Value] {
        &self.key[..self.partition]
    }

    pub(super) fn order(&self) -> &[Value] {
        &self.key[self.partition..]
    }

    fn bytes(&self) -> usize {
        row_bytes(&self.key) + row_bytes(&self.row)
    }
}

/// See the heading.
///
/// ```text
/// IN MEMORY ──push: no more fit──► BEING WRITTEN ──finish──► ON DISK
/// ```
pub(super) struct Partition {
    /// All of them; those of the last block while it is being written.
    rows: Vec<Keyed>,
    /// Bytes of the buffered rows while they are being written.
    bytes: usize,
    blocks: Vec<Block>,
    is_on_disk: bool,
    count: usize,
    /// None: the rows are charged elsewhere.
    held: Option<Held>,
    at_hand: RefCell<VecDeque<(usize, Rc<Vec<Keyed>>)>>,
}

struct Block {
    /// The number of its first row.
    first: usize,
    run: Rc<Run>,
}

/// A row of a partition.
pub(super) enum RowAt<'a> {
    Memory(&'a Keyed),
    Block(Rc<Vec<Keyed>>, usize),
}

impl Deref for RowAt<'_> {
    type Target = Keyed;

    fn deref(&self) -> &Keyed {
        match self {
            RowAt::Memory(keyed) => keyed,
            RowAt::Block(block, at) => &block[*at],
        }
    }
}

impl Partition {
    /// An empty one. `is_charged`: its rows come from memory that is charged already, and leave it.
    pub(super) fn new(runtime: &Runtime<'_>, is_charged: bool) -> Partition {
        Partition {
            rows: Vec::new(),
            bytes: 0,
            blocks: Vec::new(),
            is_on_disk: false,
            count: 0,
            held: (!is_charged).then(|| Held::new(runtime)),
            at_hand: RefCell::default(),
        }
    }

    /// How many rows it has.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, runtime: &Runtime<'_>, keyed: Keyed) -> Result<(), SqlError> {
        let bytes = keyed.bytes();
        self.rows.room_for_one()?;
        self.rows.push(keyed);
        self.count += 1;
        if self.is_on_disk {
            self.bytes += bytes;
            return if self.bytes >= BLOCK_BYTES { self.put_block(runtime) } else { Ok(()) };
        }
        let is_full = match &mut self.held {
            Some(held) => held.add(runtime, bytes)?,
            None => false,
        };
        if is_full { self.put_out(runtime) } else { Ok(()) }
    }

    /// No more fit into memory: what is there goes to disk, block by block.
    #[cold]
    fn put_out(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        self.is_on_disk = true;
        self.count = 0;
        for keyed in std::mem::take(&mut self.rows) {
            self.push(runtime, keyed)?;
        }
        self.held.as_mut().expect("what is full was charged").clear();
        Ok(())
    }

    fn put_block(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        runtime.check_cancelled()?;
        let held = self.held.as_ref().expect("what goes to disk was charged");
        let mut writer = held.workspace().writer(runtime.instance)?;
        let mut record = Vec::new();
        for Keyed { key, row, .. } in &self.rows {
            record.clear();
            codec::encode_row(key, &mut record);
            codec::encode_row(row, &mut record);
            writer.push(&record)?;
        }
        assert!(!self.rows.is_empty() && self.count >= self.rows.len(), "rows are at hand");
        let first = self.count - self.rows.len();
        self.blocks.push(Block { first, run: Rc::new(writer.finish()?) });
        self.rows.clear();
        self.bytes = 0;
        Ok(())
    }

    /// All rows have come.
    pub(super) fn finish(mut self, runtime: &Runtime<'_>) -> Result<Partition, SqlError> {
        if self.is_on_disk && !self.rows.is_empty() {
            self.put_block(runtime)?;
        }
        let written: u64 = self.blocks.iter().map(|block| block.run.records()).sum();
        assert_eq!(self.rows.len() + written as usize, self.count, "every row is in one place");
        assert!(self.is_on_disk || self.blocks.is_empty(), "in memory or on disk");
        Ok(self)
    }

    /// A row. `keys`: how many values the keys of the partition and of the order have.
    pub(super) fn row(&self, at: usize, keys: (usize, usize)) -> Result<RowAt<'_>, SqlError> {
        assert!(at < self.count, "a row of the partition");
        if !self.is_on_disk {
            return Ok(RowAt::Memory(&self.rows[at]));
        }
        let block = self.blocks.partition_point(|block| block.first <= at) - 1;
        let place = at - self.blocks[block].first;
        assert!(place < self.blocks[block].run.records() as usize, "a block has the row");
        let mut at_hand = self.at_hand.borrow_mut();
        if let Some((_, rows)) = at_hand.iter().find(|known| known.0 == block) {
            return Ok(RowAt::Block(rows.clone(), place));
        }
        let rows = Rc::new(self.blocks[block].read(keys)?);
        at_hand.truncate(BLOCKS_AT_HAND - 1);
        at_hand.push_front((block, rows.clone()));
        Ok(RowAt::Block(rows, place))
    }

    /// A row that is not read again.
    pub(super) fn take_row(&mut self, at: usize, keys: (usize, usize)) -> Result<Row, SqlError> {
        match self.is_on_disk {
            true => Ok(self.row(at, keys)?.row.clone()),
            false => Ok(std::mem::take(&mut self.rows[at].row)),
        }
    }
}

impl Block {
    fn read(&self, (partition, order): (usize, usize)) -> Result<Vec<Keyed>, SqlError> {
        let mut reader = self.run.reader();
        let mut record = Vec::new();
        let mut rows = Vec::with_capacity(self.run.records() as usize);
        for _ in 0..self.run.records() {
            reader.next(&mut record)?;
            let mut key = Vec::new();
            codec::decode_row(&record, &mut key);
            assert!(key.len() >= partition + order, "a record begins with its keys");
            let row = key.split_off(partition + order);
            rows.push(Keyed { key, partition, row });
        }
        Ok(rows)
    }
}
