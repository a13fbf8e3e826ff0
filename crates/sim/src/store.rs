//! A small database built directly from log, pages, locks, transactions and access methods: the bank's tables without
//! catalog and SQL, so that recovery is also tested below the engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use access::{
    AccessError, AccessMethods, AccessOptions, BTree, BTreeDef, BTreeKind, Heap, HeapDef, Inserted, KeyRange,
    Logging, RowLock, ScanOptions, UnitId, UnitKind, UnitToVerify,
};
use log::{FlushReason, Growth, Log, LogOptions, Lsn};
use os::{Latch, LatchRank, Os};
use pages::{BufferPool, CreateSpace, FileSpace, LazyWriter, NewFile, OpenSpace, PageId, PoolOptions};
use txn::{
    CommitMode, LockManager, LockMode, LockWait, Resource, Transaction, TxnManager, TxnManagerOptions,
    TxnOptions, recovery,
};

use crate::sql_ledger::{ACCOUNTS, Found, OPENING_BALANCE, Transfer};
use crate::survival;

const DIRECTORY: &str = "/data";
const DATABASE: u16 = 5;
/// A small buffer pool, so that dirty pages must be written during the workload.
const POOL_BYTES: u64 = 64 * 8192;
const SCRAPS: UnitId = UnitId(5);

/// The error is any failure of the access methods.
pub(crate) type StoreResult<T> = Result<T, AccessError>;

/// The addresses of the tables, as a catalog would keep them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roots {
    accounts: PageId,
    history: PageId,
    by_amount: PageId,
    heap: PageId,
    /// `None` in some worlds.
    scraps: Option<PageId>,
}

/// The database, open.
pub(crate) struct Store {
    log: Arc<Log>,
    space: Arc<FileSpace>,
    txns: Arc<TxnManager>,
    access: Arc<AccessMethods>,
    lazy_writer: Option<LazyWriter>,
    newest_commit: Latch<Lsn>,
    /// Held by the running checkpoint.
    checkpointing: Latch<()>,
    roots: Roots,
    accounts: BTree,
    history: BTree,
    by_amount: BTree,
    heap: Heap,
    scraps: Option<BTree>,
}

impl Store {
    /// Creates the database with its accounts and, if asked for, a tree for scraps; returns the tables' addresses.
    pub(crate) fn create(os: &Os, has_scraps: bool) -> StoreResult<Roots> {
        os.disk().create_dir_all(DIRECTORY.as_ref()).expect("a healthy disk");
        os.disk().sync_dir("/".as_ref()).expect("a healthy disk");
        let pool = BufferPool::new(os, PoolOptions { memory_bytes: POOL_BYTES });
        let files = vec![NewFile::new(data_path(), "bank")];
        let create = CreateSpace { database_guid: [7; 16], files, volatile: false };
        let space = FileSpace::create(&pool, &create)?;
        let log = Arc::new(Log::create(os, &log_options())?);
        os.disk().sync_dir(DIRECTORY.as_ref()).expect("a healthy disk");
        let (txns, access) = assemble(os, &space, &log, 1);
        let txn = txns.begin(TxnOptions::default());
        let roots = Roots {
            accounts: access.create_btree(&txn, UnitId(1), BTreeKind::Clustered)?,
            history: access.create_btree(&txn, UnitId(2), BTreeKind::Clustered)?,
            by_amount: access.create_btree(&txn, UnitId(3), BTreeKind::Nonclustered)?,
            heap: access.create_heap(&txn, UnitId(4))?,
            scraps: match has_scraps {
                true => Some(access.create_btree(&txn, SCRAPS, BTreeKind::Clustered)?),
                false => None,
            },
        };
        let store = Store::with(log, space, txns, access, roots);
        store.lock_tables(&txn)?;
        for id in 0..ACCOUNTS {
            let inserted = store.accounts.insert(&txn, &account_key(id), &account_value(OPENING_BALANCE))?;
            assert_eq!(inserted, Inserted::Done);
        }
        txn.commit(CommitMode::Full).expect("a healthy disk");
        drop(txn);
        store.close()?;
        Ok(roots)
    }

    /// Opens and recovers the database.
    pub(crate) fn open(os: &Os, roots: Roots, log_cache_folder: Option<PathBuf>) -> StoreResult<Store> {
        let options = LogOptions {
            surviving_folder: log_cache_folder.map(|root| survival::caches_of_data(&root)),
            ..log_options()
        };
        let (log, tail) = Log::open(os, &options)?;
        let log = Arc::new(log);
        let pool = BufferPool::new(os, PoolOptions { memory_bytes: POOL_BYTES });
        let analysis = recovery::analyze(&log, tail.checkpoint)?;
        let space =
            FileSpace::open(&pool, &OpenSpace { files: vec![(1, data_path())], was_closed: tail.clean })?;
        let (txns, access) = assemble(os, &space, &log, analysis.max_txn.0 + 1);
        recovery::redo(&log, &*access, analysis.redo_start)?;
        recovery::undo(&txns, &analysis.losers, &mut |_| ())?;
        access.sweep_pending_frees()?;
        let mut store = Store::with(log, space, txns, access, roots);
        store.checkpoint()?;
        store.lazy_writer = Some(LazyWriter::start(&pool));
        Ok(store)
    }

    fn with(
        log: Arc<Log>,
        space: Arc<FileSpace>,
        txns: Arc<TxnManager>,
        access: Arc<AccessMethods>,
        roots: Roots,
    ) -> Store {
        let tree = |object, unit, root| access.btree(BTreeDef { object, unit: UnitId(unit), root });
        Store {
            accounts: tree(101, 1, roots.accounts),
            history: tree(102, 2, roots.history),
            by_amount: tree(102, 3, roots.by_amount),
            scraps: roots.scraps.map(|root| tree(104, SCRAPS.0, root)),
            heap: access.heap(HeapDef { object: 103, unit: UnitId(4), first_page: roots.heap }),
            lazy_writer: None,
            newest_commit: Latch::new(LatchRank::Leaf, Lsn::NULL),
            checkpointing: Latch::new(LatchRank::Checkpoint, ()),
            roots,
            log,
            space,
            txns,
            access,
        }
    }

    /// Begins a transaction with intent locks on the tables.
    pub(crate) fn begin(&self) -> StoreResult<Transaction> {
        let txn = self.txns.begin(TxnOptions::default());
        self.lock_tables(&txn)?;
        Ok(txn)
    }

    fn lock_tables(&self, txn: &Transaction) -> StoreResult<()> {
        for object in [101, 102, 103, 104] {
            let table = Resource::Object { database: DATABASE, object };
            txn.lock(table, LockMode::IX, LockWait::Forever)?;
        }
        Ok(())
    }

    /// Adds to an account's balance.
    pub(crate) fn add(&self, txn: &Transaction, id: i64, change: i64) -> StoreResult<()> {
        let key = account_key(id);
        let options =
            ScanOptions { row_lock: RowLock::Update, wait: LockWait::Forever, ..ScanOptions::default() };
        let mut value = Vec::new();
        let found = self.accounts.get(txn, &key, &options, &mut value)?;
        assert!(found, "account {id} is there");
        self.accounts.update(txn, &key, &account_value(number_at(&value, 0) + change))
    }

    /// Inserts a transfer into the history and its index.
    pub(crate) fn note(
        &self,
        txn: &Transaction,
        number: i64,
        transfer: &Transfer,
        padding: usize,
    ) -> StoreResult<()> {
        let mut value = Vec::new();
        for part in [transfer.from, transfer.to, transfer.amount, transfer.heap_rows] {
            value.extend_from_slice(&part.to_le_bytes());
        }
        value.resize(32 + padding, number as u8);
        let inserted = self.history.insert(txn, &number.to_be_bytes(), &value)?;
        assert_eq!(inserted, Inserted::Done, "numbers are used once");
        let entry = [transfer.amount.to_be_bytes(), number.to_be_bytes()].concat();
        assert_eq!(self.by_amount.insert(txn, &entry, &[])?, Inserted::Done);
        Ok(())
    }

    /// Deletes a transfer from the history and its index.
    pub(crate) fn unnote(&self, txn: &Transaction, number: i64, transfer: &Transfer) -> StoreResult<()> {
        self.history.delete(txn, &number.to_be_bytes())?;
        self.by_amount.delete(txn, &[transfer.amount.to_be_bytes(), number.to_be_bytes()].concat())
    }

    /// Inserts a row into the heap.
    pub(crate) fn pile(&self, txn: &Transaction, number: i64, padding: usize) -> StoreResult<()> {
        let mut row = number.to_le_bytes().to_vec();
        row.resize(8 + padding, number as u8);
        self.heap.insert(txn, &row).map(|_| ())
    }

    /// Inserts a batch of wide rows into the scraps.
    pub(crate) fn add_scraps(&self, txn: &Transaction, batch: i64, widths: &[usize]) -> StoreResult<()> {
        let scraps = self.scraps.as_ref().expect("a world with scraps");
        for (at, width) in widths.iter().enumerate() {
            let inserted = scraps.insert(txn, &scrap_key(batch, at as u64), &vec![batch as u8; *width])?;
            assert_eq!(inserted, Inserted::Done, "batches are added once");
        }
        Ok(())
    }

    /// Deletes a batch of `rows` rows.
    pub(crate) fn remove_scraps(&self, txn: &Transaction, batch: i64, rows: u64) -> StoreResult<()> {
        let scraps = self.scraps.as_ref().expect("a world with scraps");
        (0..rows).try_for_each(|at| scraps.delete(txn, &scrap_key(batch, at)))
    }

    /// Rows of the scraps by batch, and the id of the transaction that counted them.
    pub(crate) fn show_scraps(&self) -> Result<(BTreeMap<i64, u64>, u64), String> {
        let mut shown = BTreeMap::new();
        let mut count = || -> StoreResult<u64> {
            let txn = self.begin()?;
            if let Some(scraps) = &self.scraps {
                let mut cursor = scraps.scan(KeyRange::all(), ScanOptions::default());
                while cursor.next(&txn)? {
                    let batch = i64::from_be_bytes(*cursor.key().first_chunk().expect("a batch's number"));
                    *shown.entry(batch).or_default() += 1;
                }
            }
            txn.commit(CommitMode::Full)?;
            Ok(txn.id().0)
        };
        let xact = count().map_err(|error| format!("read: {error}"))?;
        Ok((shown, xact))
    }

    /// Commits a transaction.
    pub(crate) fn commit(&self, txn: &Transaction, is_full: bool) -> StoreResult<()> {
        let outcome = txn.commit(if is_full { CommitMode::Full } else { CommitMode::Delayed })?;
        let mut newest = self.newest_commit.lock();
        *newest = (*newest).max(outcome.lsn);
        Ok(())
    }

    /// Makes every commit so far durable.
    pub(crate) fn flush_log(&self) -> StoreResult<()> {
        let newest = *self.newest_commit.lock();
        self.log.harden(newest, FlushReason::FlushLogProc)?;
        Ok(())
    }

    /// A complete checkpoint, as the engine does it.
    pub(crate) fn checkpoint(&self) -> StoreResult<()> {
        let _one_at_a_time = self.checkpointing.lock();
        let begin = self.txns.begin_checkpoint(recovery::CheckpointPayment::Margin)?;
        self.space.write_out_dirty(begin)?;
        let dirty = self.space.dirty_pages()?.into_iter();
        let dirty: Vec<log::Lsn> = dirty.map(|(_, recovery)| recovery).collect();
        assert!(dirty.iter().all(|recovery| *recovery > begin), "a checkpoint writes what is older");
        let image =
            recovery::write_checkpoint(&self.txns, begin, &dirty, recovery::CheckpointPayment::Margin)?;
        self.log.harden(image.end, FlushReason::Quiesce)?;
        self.log.record_checkpoint(begin, image.min)?;
        self.txns.oldest_begin();
        self.log.truncate()?;
        Ok(())
    }

    /// Removes ghosts, as the background task does.
    pub(crate) fn clean(&self) -> StoreResult<()> {
        self.access.clean_ghosts(&self.txns, 16).map(|_| ())
    }

    /// An orderly stop.
    pub(crate) fn close(mut self) -> StoreResult<()> {
        if let Some(lazy_writer) = self.lazy_writer.take() {
            lazy_writer.stop();
        }
        self.checkpoint()?;
        self.log.close()?;
        Ok(())
    }

    /// Reads the state that the oracle checks; the error describes structural damage.
    pub(crate) fn show(&self) -> Result<Found, String> {
        let units = [
            (1, UnitKind::BTree, self.roots.accounts),
            (2, UnitKind::BTree, self.roots.history),
            (3, UnitKind::BTree, self.roots.by_amount),
            (4, UnitKind::Heap, self.roots.heap),
        ];
        let units = units.map(|(unit, kind, page)| UnitToVerify { unit: UnitId(unit), kind, page });
        let scraps = self.roots.scraps.map(|page| UnitToVerify { unit: SCRAPS, kind: UnitKind::BTree, page });
        let units: Vec<UnitToVerify> = units.into_iter().chain(scraps).collect();
        let report = self.access.verify(&units, true).map_err(|error| format!("verify: {error}"))?;
        if !report.problems.is_empty() {
            return Err(format!("STRUCTURE: {}", report.text()));
        }
        self.read_tables().map_err(|error| format!("read: {error}"))
    }

    fn read_tables(&self) -> StoreResult<Found> {
        let txn = self.begin()?;
        let mut found = Found::default();
        let mut cursor = self.accounts.scan(KeyRange::all(), ScanOptions::default());
        while cursor.next(&txn)? {
            let id = u32::from_be_bytes(*cursor.key().first_chunk().expect("account keys have 4 bytes"));
            found.balances.insert(i64::from(id), number_at(cursor.value(), 0));
        }
        let mut cursor = self.history.scan(KeyRange::all(), ScanOptions::default());
        while cursor.next(&txn)? {
            let number = i64::from_be_bytes(*cursor.key().first_chunk().expect("numbers have 8 bytes"));
            let [from, to, amount, heap_rows] = [0, 8, 16, 24].map(|at| number_at(cursor.value(), at));
            found.history.insert(number, Transfer { from, to, amount, heap_rows });
        }
        let mut cursor = self.by_amount.scan(KeyRange::all(), ScanOptions::default());
        while cursor.next(&txn)? {
            found.indexed += 1;
        }
        let mut cursor = self.heap.scan(ScanOptions::default());
        while cursor.next(&txn)? {
            *found.heap_rows.entry(number_at(cursor.row(), 0)).or_default() += 1;
        }
        txn.commit(CommitMode::Full)?;
        Ok(found)
    }
}

fn assemble(
    os: &Os,
    space: &Arc<FileSpace>,
    log: &Arc<Log>,
    first_txn: u64,
) -> (Arc<TxnManager>, Arc<AccessMethods>) {
    space.attach_log(Arc::clone(log));
    let locks = LockManager::new(os);
    let options = TxnManagerOptions { database_name: "bank".to_owned(), first_txn };
    let txns = TxnManager::new(os, Arc::clone(log), Arc::clone(&locks), options);
    let access = AccessMethods::new(AccessOptions {
        os: os.clone(),
        space: Arc::clone(space),
        database: DATABASE,
        logging: Logging::Full,
        cleanup_locks: locks.new_space(0),
    });
    txns.attach(access.clone());
    (txns, access)
}

fn log_options() -> LogOptions {
    LogOptions {
        size_bytes: 1 << 20,
        growth: Growth::Bytes(512 * 1024),
        ..LogOptions::new(format!("{DIRECTORY}/bank.ldf"), "bank")
    }
}

fn data_path() -> PathBuf {
    PathBuf::from(format!("{DIRECTORY}/bank.mdf"))
}

fn scrap_key(batch: i64, row: u64) -> Vec<u8> {
    [batch.to_be_bytes(), row.to_be_bytes()].concat()
}

fn account_key(id: i64) -> [u8; 4] {
    (id as u32).to_be_bytes()
}

/// A balance with so much padding that the accounts need more than one page.
fn account_value(balance: i64) -> Vec<u8> {
    let mut value = balance.to_le_bytes().to_vec();
    value.resize(900, 0x20);
    value
}

fn number_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(*bytes[at..].first_chunk().expect("rows are as long as they were written"))
}
