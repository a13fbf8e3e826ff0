//! The store of cells: numbers with an LSN each, written out under the WAL rule to a "disk" that outlives the world.

use std::sync::Arc;

use hardpan_txn::{
    LockError, LockMode, LockWait, Resource, ResourceManager, Transaction, TxnError, TxnResult, UndoBytes,
};
use log::{FlushReason, Log, LogContext, LogOp, Lsn, RecordBuf, RecordHeader};
use os::sim::{Bug, is_planted};
use os::{Latch, LatchRank, Rng};

/// Workers, each with a cell of its own.
pub const WORKERS: usize = 4;
/// Accounts, in the cells after the workers'.
pub const ACCOUNTS: usize = 6;
/// The start balance of each account.
pub const START_BALANCE: i64 = 1_000;

/// A cell as it is in memory or on disk.
#[derive(Clone, Copy)]
pub struct Cell {
    value: i64,
    lsn: Lsn,
    /// The first change that the disk lacks.
    recovery: Lsn,
}

/// The state that survives a crash.
pub struct Disk {
    cells: Latch<Vec<Cell>>,
}

impl Disk {
    /// Worker cells at 0, accounts at their start.
    pub fn new() -> Arc<Disk> {
        let cell = |value| Cell { value, lsn: Lsn::NULL, recovery: Lsn::NULL };
        let cells = (0..WORKERS).map(|_| cell(0)).chain((0..ACCOUNTS).map(|_| cell(START_BALANCE))).collect();
        Arc::new(Disk { cells: Latch::new(LatchRank::Leaf, cells) })
    }
}

/// The cells in memory.
pub struct Cells {
    log: Arc<Log>,
    disk: Arc<Disk>,
    cells: Vec<Latch<Cell>>,
}

/// The lock of an account.
pub fn account_resource(account: usize) -> Resource {
    Resource::Key { database: 5, object: 1, hobt: 1, hash: account as u64 }
}

impl Cells {
    /// The cells as on disk.
    pub fn load(log: &Arc<Log>, disk: &Arc<Disk>) -> Arc<Cells> {
        let cells = disk.cells.lock().iter().map(|cell| Latch::new(LatchRank::BTreePage, *cell)).collect();
        Arc::new(Cells { log: Arc::clone(log), disk: Arc::clone(disk), cells })
    }

    /// All values.
    pub fn values(&self) -> Vec<i64> {
        self.cells.iter().map(|cell| cell.lock().value).collect()
    }

    /// Locks an account to the end of the transaction.
    pub fn lock_account(&self, transaction: &Transaction, account: usize) -> Result<(), LockError> {
        transaction.lock(account_resource(account), LockMode::X, LockWait::Forever)
    }

    /// Sets a cell, logged.
    pub fn set(&self, transaction: &Transaction, cell: usize, value: i64) -> TxnResult<()> {
        self.change(cell, |_| value, |record| transaction.append(record, UndoBytes::one(32)))
    }

    /// Adds to a cell, logged.
    pub fn add(&self, transaction: &Transaction, cell: usize, amount: i64) -> TxnResult<()> {
        self.change(cell, |value| value + amount, |record| transaction.append(record, UndoBytes::one(32)))
    }

    /// Writes out every cell with a change below `up_to`, its log first.
    pub fn write_out(&self, up_to: Lsn) {
        for cell in 0..self.cells.len() {
            let recovery = self.cells[cell].lock().recovery;
            if !recovery.is_null() && recovery <= up_to {
                self.write_cell(cell);
            }
        }
    }

    /// Writes out some cells, as a lazy writer would.
    pub fn write_out_some(&self, rng: &mut Rng) {
        for cell in 0..self.cells.len() {
            if rng.chance(1, 2) {
                self.write_cell(cell);
            }
        }
    }

    /// For each dirty cell the oldest record that it may lack on disk.
    pub fn dirty(&self) -> Vec<Lsn> {
        self.cells.iter().map(|cell| cell.lock().recovery).filter(|recovery| !recovery.is_null()).collect()
    }

    fn write_cell(&self, number: usize) {
        let lsn = self.cells[number].lock().lsn;
        let breaks_rule = is_planted(Bug::PageBeforeLog);
        if !breaks_rule && self.log.harden(lsn, FlushReason::WriteAhead).is_err() {
            return;
        }
        let mut cell = self.cells[number].lock();
        if cell.lsn > self.log.hardened() && !breaks_rule {
            return;
        }
        cell.recovery = Lsn::NULL;
        let mut disk = self.disk.cells.lock();
        disk[number] = *cell;
    }

    fn change(
        &self,
        number: usize,
        new_value: impl FnOnce(i64) -> i64,
        append: impl FnOnce(&mut RecordBuf) -> TxnResult<Lsn>,
    ) -> TxnResult<()> {
        let mut cell = self.cells[number].lock();
        let value = new_value(cell.value);
        let mut record = RecordBuf::new();
        let header = RecordHeader { context: LogContext::Heap, ..RecordHeader::new(LogOp::ModifyRow) };
        let payload = record.start(header);
        payload.extend_from_slice(&(number as u64).to_le_bytes());
        payload.extend_from_slice(&cell.value.to_le_bytes());
        payload.extend_from_slice(&value.to_le_bytes());
        let lsn = append(&mut record)?;
        cell.put(value, lsn);
        Ok(())
    }
}

impl Cell {
    fn put(&mut self, value: i64, lsn: Lsn) {
        self.value = value;
        self.lsn = lsn;
        if self.recovery.is_null() {
            self.recovery = lsn;
        }
    }
}

fn decode(payload: &[u8]) -> TxnResult<(usize, i64, i64)> {
    let number =
        |at: usize| payload.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(i64::from_le_bytes);
    match (number(0), number(8), number(16)) {
        (Some(cell), Some(before), Some(after)) if payload.len() == 24 => Ok((cell as usize, before, after)),
        _ => Err(TxnError::Corrupt { what: "a cell record".into() }),
    }
}

impl ResourceManager for Cells {
    fn redo(&self, lsn: Lsn, _header: &RecordHeader, payload: &[u8]) -> TxnResult<()> {
        let (number, before, after) = decode(payload)?;
        let mut cell = self.cells[number].lock();
        if cell.lsn < lsn {
            assert_eq!(cell.value, before, "redo repeats history: cell {number} at {lsn}");
            cell.put(after, lsn);
        }
        Ok(())
    }

    fn undo(
        &self,
        transaction: &Transaction,
        _lsn: Lsn,
        header: &RecordHeader,
        payload: &[u8],
    ) -> TxnResult<()> {
        let (number, before, after) = decode(payload)?;
        let undo_next = header.prev;
        let restore = |value: i64| {
            assert_eq!(value, after, "undo finds what was done: cell {number}");
            before
        };
        self.change(number, restore, |record| transaction.append_compensation(record, undo_next))
    }
}
