//! What can be locked, who locks it, and why a lock was refused.

use std::fmt;

/// A lockable thing. Row, key and page resources carry the object they belong to, so that escalation can count per object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// A whole database; each session that uses it holds S.
    Database {
        /// Database id.
        database: u16,
    },
    /// A table, view, procedure, ... .
    Object {
        /// Database id.
        database: u16,
        /// Object id.
        object: u32,
    },
    /// A page of a heap or index.
    Page {
        /// Database id.
        database: u16,
        /// Object id of its table.
        object: u32,
        /// File number.
        file: u16,
        /// Page number in the file.
        page: u32,
    },
    /// A row of a heap.
    Rid {
        /// Database id.
        database: u16,
        /// Object id of its table.
        object: u32,
        /// File number.
        file: u16,
        /// Page number in the file.
        page: u32,
        /// Slot on the page.
        slot: u16,
    },
    /// A key of an index, known by the hash of its bytes; with `HASH_END` the end of the index.
    Key {
        /// Database id.
        database: u16,
        /// Object id of its table.
        object: u32,
        /// The index's heap-or-B-tree id.
        hobt: u64,
        /// Hash of the key bytes.
        hash: u64,
    },
    /// A piece of the catalog: a name, a sequence, a principal.
    Metadata {
        /// Database id.
        database: u16,
        /// Which kind of metadata (engine's numbering).
        class: u32,
        /// Which one, a hash of its name or its id.
        id: u64,
    },
    /// A name of the application's own (`sp_getapplock`), hashed.
    Application {
        /// Database id.
        database: u16,
        /// Hash of principal and name.
        hash: u64,
    },
}

/// The hash that stands for the key after the last one of an index.
pub const HASH_END: u64 = u64::MAX;

impl Resource {
    /// `sys.dm_tran_locks.resource_type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Resource::Database { .. } => "DATABASE",
            Resource::Object { .. } => "OBJECT",
            Resource::Page { .. } => "PAGE",
            Resource::Rid { .. } => "RID",
            Resource::Key { .. } => "KEY",
            Resource::Metadata { .. } => "METADATA",
            Resource::Application { .. } => "APPLICATION",
        }
    }

    /// The instance name of the counters of object `Locks`.
    pub fn counter_instance(&self) -> &'static str {
        match self {
            Resource::Database { .. } => "Database",
            Resource::Object { .. } => "Object",
            Resource::Page { .. } => "Page",
            Resource::Rid { .. } => "RID",
            Resource::Key { .. } => "Key",
            Resource::Metadata { .. } => "Metadata",
            Resource::Application { .. } => "Application",
        }
    }

    /// The database it is in.
    pub fn database(&self) -> u16 {
        match *self {
            Resource::Database { database }
            | Resource::Object { database, .. }
            | Resource::Page { database, .. }
            | Resource::Rid { database, .. }
            | Resource::Key { database, .. }
            | Resource::Metadata { database, .. }
            | Resource::Application { database, .. } => database,
        }
    }

    /// The object lock above a page, row or key; `None` for everything else.
    pub fn parent_object(&self) -> Option<Resource> {
        match *self {
            Resource::Page { database, object, .. }
            | Resource::Rid { database, object, .. }
            | Resource::Key { database, object, .. } => Some(Resource::Object { database, object }),
            _ => None,
        }
    }

    /// `sys.dm_tran_locks.resource_associated_entity_id`: object id for objects, heap-or-B-tree id (or object id) below.
    pub fn associated_entity(&self) -> u64 {
        match *self {
            Resource::Object { object, .. }
            | Resource::Page { object, .. }
            | Resource::Rid { object, .. } => u64::from(object),
            Resource::Key { hobt, .. } => hobt,
            _ => 0,
        }
    }
}

/// `sys.dm_tran_locks.resource_description`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Resource::Database { .. } | Resource::Object { .. } => Ok(()),
            Resource::Page { file, page, .. } => write!(f, "{file}:{page}"),
            Resource::Rid { file, page, slot, .. } => write!(f, "{file}:{page}:{slot}"),
            Resource::Key { hash: HASH_END, .. } => write!(f, "(ffffffffffff)"),
            Resource::Key { hash, .. } => write!(f, "({:012x})", hash & 0xffff_ffff_ffff),
            Resource::Metadata { class, id, .. } => write!(f, "class = {class}, id = {id}"),
            Resource::Application { hash, .. } => write!(f, "{hash:016x}"),
        }
    }
}

/// Who holds a lock inside a lock space: one transaction, or the session itself (database locks, application locks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockOwner {
    /// A transaction, by its number (`TxnId`).
    Transaction(u64),
    /// The session; released when it ends or asks.
    Session,
}

/// How long to wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// As the session says (`SET LOCK_TIMEOUT`).
    Session,
    /// Not at all (hint NOWAIT, `SET LOCK_TIMEOUT 0`).
    NoWait,
    /// Until it is granted.
    Forever,
    /// At most so many milliseconds.
    Milliseconds(u32),
}

/// Why a lock was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockError {
    /// Chosen as deadlock victim: error 1205.
    Deadlock,
    /// The time-out passed: error 1222.
    Timeout,
    /// Attention, KILL or shutdown.
    Interrupted,
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockError::Deadlock => "chosen as deadlock victim",
            LockError::Timeout => "lock request time-out",
            LockError::Interrupted => "interrupted while waiting for a lock",
        })
    }
}

impl std::error::Error for LockError {}
