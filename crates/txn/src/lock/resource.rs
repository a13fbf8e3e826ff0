//! Lockable resources, lock owners, waits, and the reasons why a lock was refused.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

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
    /// An application lock (`sp_getapplock`), its name hashed.
    Application {
        /// Database id.
        database: u16,
        /// Hash of principal and name.
        hash: u64,
    },
}

/// The hash that represents the key after the last one of an index.
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

    /// The instance names of the counters of object `Locks`, by kind of resource.
    pub const COUNTER_INSTANCES: [&'static str; 7] =
        ["Database", "Object", "Page", "RID", "Key", "Metadata", "Application"];

    /// Its index there.
    pub(crate) fn counter_index(&self) -> usize {
        match self {
            Resource::Database { .. } => 0,
            Resource::Object { .. } => 1,
            Resource::Page { .. } => 2,
            Resource::Rid { .. } => 3,
            Resource::Key { .. } => 4,
            Resource::Metadata { .. } => 5,
            Resource::Application { .. } => 6,
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

    /// Does it protect data or definitions of its database, rather than the database itself or an application's name?
    pub fn protects_data(&self) -> bool {
        !matches!(self, Resource::Database { .. } | Resource::Application { .. })
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
}

/// A resource with its hash: computed once per request, used by the lock table's partition, its map and the owner's own map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceKey {
    pub(crate) hash: u64,
    pub(crate) resource: Resource,
}

impl ResourceKey {
    #[inline]
    pub(crate) fn new(resource: Resource) -> ResourceKey {
        // Two words that hold every field (several may share bits: equality decides), mixed as in splitmix64.
        let kind_word = |kind: u64, database: u16, object: u32| {
            kind << 56 | u64::from(database) << 32 | u64::from(object)
        };
        let (high, low) = match resource {
            Resource::Database { database } => (kind_word(1, database, 0), 0),
            Resource::Object { database, object } => (kind_word(2, database, object), 0),
            Resource::Page { database, object, file, page } => {
                (kind_word(3, database, object), u64::from(file) << 48 | u64::from(page) << 16)
            }
            // The slot is added below.
            Resource::Rid { database, object, file, page, .. } => {
                (kind_word(4, database, object), u64::from(file) << 48 | u64::from(page) << 16)
            }
            Resource::Key { database, object, hobt, hash } => {
                (kind_word(5, database, object), hash ^ hobt.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            }
            Resource::Metadata { database, class, id } => (kind_word(6, database, class), id),
            Resource::Application { database, hash } => (kind_word(7, database, 0), hash),
        };
        let mut hash = (high ^ low.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ low;
        hash = (hash ^ hash >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ResourceKey { hash: beside(hash ^ hash >> 29, resource), resource }
    }
}

/// The rows of a page get adjacent buckets in one map, in page order: successive insertions find the lock table in
/// the processor's cache, however large it once was. The map takes the bucket from the lowest bits and distinguishes neighbours by the highest seven;
/// where every second bucket is free, it finds at once that a row is missing, also after many removals.
#[inline]
fn beside(hash: u64, resource: Resource) -> u64 {
    let Resource::Rid { slot, .. } = resource else { return hash };
    hash.wrapping_add(2 * u64::from(slot)) ^ u64::from(slot) << 57
}

impl PartialEq for ResourceKey {
    #[inline]
    fn eq(&self, other: &ResourceKey) -> bool {
        self.hash == other.hash && self.resource == other.resource
    }
}

impl Eq for ResourceKey {}

impl Hash for ResourceKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A hasher that returns the hash stored in a [`ResourceKey`].
#[derive(Clone, Copy, Default)]
pub(crate) struct CarriedHash(u64);

impl Hasher for CarriedHash {
    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only resource keys are hashed");
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A map by resource.
pub(crate) type ResourceMap<V> = HashMap<ResourceKey, V, BuildHasherDefault<CarriedHash>>;

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

/// The owner of a lock inside a lock space: one transaction, the session itself (database locks, application locks), or one of its
/// statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockOwner {
    /// A transaction, by its number (`TxnId`).
    Transaction(u64),
    /// The session; released at its end or on request.
    Session,
    /// A statement of the session that needs exclusive use of a database; separate from the session's own lock on it.
    Workspace,
}

/// How long to wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// The session's setting (`SET LOCK_TIMEOUT`).
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
    /// The database has failed: the data under the lock may never have been committed. Error 9001.
    DatabaseFailed,
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockError::Deadlock => "chosen as deadlock victim",
            LockError::Timeout => "lock request time-out",
            LockError::Interrupted => "interrupted while waiting for a lock",
            LockError::DatabaseFailed => {
                "the database has failed; what was locked may never have been committed"
            }
        })
    }
}

impl std::error::Error for LockError {}
