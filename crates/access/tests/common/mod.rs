//! A small database for tests: one heap, one clustered tree whose values name heap rows, opened and recovered as the engine does.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::PathBuf;
use std::sync::Arc;

use hardpan_access::{
    AccessMethods, AccessOptions, AccessResult, BTree, BTreeDef, BTreeKind, Heap, HeapDef, KeyRange, Logging,
    ScanOptions, UnitId, UnitKind, UnitToVerify,
};
use log::{FlushReason, Log, LogOptions};
use os::Os;
use pages::{BootPage, BufferPool, CreateSpace, FileSpace, NewFile, OpenSpace, PageId, PoolOptions};
use txn::recovery::{CheckpointPayment, analyze, redo, undo, write_checkpoint};
use txn::{
    CommitMode, LockManager, LockMode, LockWait, Resource, ResourceManager, Transaction, TxnManager,
    TxnManagerOptions, TxnOptions,
};

pub const HEAP: UnitId = UnitId(1);
pub const TREE: UnitId = UnitId(2);
const OBJECT: u32 = 100;

pub struct Db {
    pub os: Os,
    pub pool: Arc<BufferPool>,
    pub space: Arc<FileSpace>,
    pub log: Arc<Log>,
    pub locks: Arc<LockManager>,
    pub manager: Arc<TxnManager>,
    pub access: Arc<AccessMethods>,
    pub heap: Heap,
    pub tree: BTree,
    pub roots: (PageId, PageId),
}

#[derive(Clone)]
pub struct Place {
    pub directory: PathBuf,
    pub pool_bytes: u64,
    pub volatile: bool,
}

impl Place {
    pub fn new(directory: &str) -> Place {
        Place { directory: directory.into(), pool_bytes: 1 << 20, volatile: false }
    }

    pub fn data(&self) -> PathBuf {
        self.directory.join("t.mdf")
    }

    pub fn log_options(&self) -> LogOptions {
        let path = self.directory.join("t.ldf");
        LogOptions { size_bytes: 1 << 20, volatile: self.volatile, ..LogOptions::new(path, "t") }
    }
}

/// A transaction with the table's intent lock, as the engine begins a statement.
pub fn begin(db: &Db) -> Transaction {
    let txn = db.begin();
    let object = Resource::Object { database: 5, object: OBJECT };
    txn.lock(object, LockMode::IX, LockWait::Forever).expect("nobody locks the table");
    txn
}

/// The keys of a range, as a scan gives them.
pub fn keys(db: &Db, txn: &Transaction, range: KeyRange, options: ScanOptions) -> AccessResult<Vec<u32>> {
    let mut cursor = db.tree.scan(range, options);
    let mut keys = Vec::new();
    while cursor.next(txn)? {
        keys.push(u32::from_be_bytes(cursor.key().try_into().expect("four bytes")));
    }
    Ok(keys)
}

/// Makes the database; everything is durable when it returns.
pub fn create(os: &Os, place: &Place) -> Db {
    os.disk().create_dir_all(&place.directory).expect("a healthy disk");
    for above in place.directory.ancestors().skip(1) {
        os.disk().sync_dir(above).expect("a healthy disk");
    }
    let pool = BufferPool::new(os, PoolOptions { memory_bytes: place.pool_bytes });
    let guid = [7; 16];
    let options = CreateSpace {
        database_guid: guid,
        files: vec![NewFile::new(place.data(), "t")],
        volatile: place.volatile,
    };
    let space = FileSpace::create(&pool, &options).expect("a healthy disk");
    let log = Arc::new(Log::create(os, &place.log_options()).expect("a healthy disk"));
    os.disk().sync_dir(&place.directory).expect("a healthy disk");
    let (locks, manager, access) = assemble(os, place, &space, &log, 1);
    let txn = manager.begin(TxnOptions::default());
    let first = access.create_heap(&txn, HEAP).expect("room");
    let root = access.create_btree(&txn, TREE, BTreeKind::Clustered).expect("room");
    txn.commit(if place.volatile { CommitMode::Volatile } else { CommitMode::Full }).expect("a healthy disk");
    let mut payload = first.to_bytes().to_vec();
    payload.extend_from_slice(&root.to_bytes());
    let boot = BootPage { database_guid: guid, checkpoint_lsn: 0, payload };
    space.write_boot(&boot).expect("a healthy disk");
    Db::new(os, pool, space, log, locks, manager, access, (first, root))
}

/// Opens and recovers.
pub fn open(os: &Os, place: &Place) -> Db {
    try_open(os, place).expect("recovery")
}

pub fn try_open(os: &Os, place: &Place) -> Result<Db, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let pool = BufferPool::new(os, PoolOptions { memory_bytes: place.pool_bytes });
    let space = FileSpace::open(&pool, &OpenSpace { files: vec![(1, place.data())], was_closed: false })
        .map_err(|e| text(&e))?;
    let (log, tail) = Log::open(os, &place.log_options()).map_err(|e| text(&e))?;
    let log = Arc::new(log);
    let analysis = analyze(&log, tail.checkpoint).map_err(|e| text(&e))?;
    let (locks, manager, access) = assemble(os, place, &space, &log, analysis.max_txn.0 + 1);
    redo(&log, &*access, analysis.redo_start).map_err(|e| text(&e))?;
    undo(&manager, &analysis.losers, &mut |_| ()).map_err(|e| text(&e))?;
    access.sweep_pending_frees().map_err(|e| text(&e))?;
    let payload = space.boot().payload;
    let id = |at: usize| PageId::from_bytes(payload[at..at + 6].try_into().expect("six bytes"));
    let db = Db::new(os, pool, space, log, locks, manager, access, (id(0), id(6)));
    db.checkpoint()?;
    Ok(db)
}

fn assemble(
    os: &Os,
    place: &Place,
    space: &Arc<FileSpace>,
    log: &Arc<Log>,
    first_txn: u64,
) -> (Arc<LockManager>, Arc<TxnManager>, Arc<AccessMethods>) {
    space.attach_log(Arc::clone(log));
    let locks = LockManager::new(os);
    let options = TxnManagerOptions { database_name: "t".into(), first_txn };
    let manager = TxnManager::new(os, Arc::clone(log), Arc::clone(&locks), options);
    let access = AccessMethods::new(AccessOptions {
        os: os.clone(),
        space: Arc::clone(space),
        database: 5,
        logging: if place.volatile { Logging::UndoOnly } else { Logging::Full },
        cleanup_locks: locks.new_space(0),
    });
    manager.attach(Arc::clone(&access) as Arc<dyn ResourceManager>);
    (locks, manager, access)
}

impl Db {
    #[allow(clippy::too_many_arguments, reason = "puts the parts together")]
    fn new(
        os: &Os,
        pool: Arc<BufferPool>,
        space: Arc<FileSpace>,
        log: Arc<Log>,
        locks: Arc<LockManager>,
        manager: Arc<TxnManager>,
        access: Arc<AccessMethods>,
        roots: (PageId, PageId),
    ) -> Db {
        let heap = access.heap(HeapDef { object: OBJECT, unit: HEAP, first_page: roots.0 });
        let tree = access.btree(BTreeDef { object: OBJECT, unit: TREE, root: roots.1 });
        Db { os: os.clone(), pool, space, log, locks, manager, access, heap, tree, roots }
    }

    pub fn begin(&self) -> txn::Transaction {
        self.manager.begin(TxnOptions::default())
    }

    pub fn checkpoint(&self) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let begin = self.manager.begin_checkpoint(CheckpointPayment::Margin).map_err(|e| text(&e))?;
        self.space.write_out_dirty(begin).map_err(|e| text(&e))?;
        let dirty: Vec<log::Lsn> = self
            .space
            .dirty_pages()
            .map_err(|e| text(&e))?
            .into_iter()
            .map(|(_, recovery)| recovery)
            .collect();
        let image = write_checkpoint(&self.manager, begin, &dirty, CheckpointPayment::Margin)
            .map_err(|e| text(&e))?;
        self.log.harden(image.end, FlushReason::Quiesce).map_err(|e| text(&e))?;
        self.log.record_checkpoint(begin, image.min).map_err(|e| text(&e))?;
        self.manager.oldest_begin();
        self.log.truncate().map_err(|e| text(&e))?;
        Ok(())
    }

    /// The structure check must find nothing.
    pub fn verify(&self) -> Result<u64, String> {
        let units = [
            UnitToVerify { unit: HEAP, kind: UnitKind::Heap, page: self.roots.0 },
            UnitToVerify { unit: TREE, kind: UnitKind::BTree, page: self.roots.1 },
        ];
        let report = self.access.verify(&units, true).map_err(|error| error.to_string())?;
        if report.problems.is_empty() { Ok(report.rows) } else { Err(report.text()) }
    }
}
