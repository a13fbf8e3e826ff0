//! The locks of one owner: the owner's own list, so that a repeated request is cheap and releasing all needs no search; lock
//! escalation from many row locks to one object lock.

use std::sync::Arc;

use smallvec::SmallVec;

use super::held_set::HeldSet;
use super::manager::LockManager;
use super::modes::LockMode;
use super::resource::{LockError, LockOwner, LockWait, Resource, ResourceKey};
use super::space::LockSpace;

/// Number of row, key and page locks of one object at which they are escalated to an object lock.
pub const ESCALATION_THRESHOLD_LOCKS: u32 = 5_000;
/// After a refused escalation, the next try comes so many locks later.
pub const ESCALATION_RETRY_LOCKS: u32 = 1_250;

/// The threshold when the session uses much of the server's memory and little is left for others.
const PRESSED_THRESHOLD_LOCKS: u32 = 64;
/// Approximate memory of one lock, in the lock table and in the owner's list.
pub const LOCK_BYTES: usize = 320;

#[derive(Clone, Copy, Debug)]
struct Held {
    mode: LockMode,
    /// Requests for it that were not released.
    count: u32,
    /// When it was first granted, in the owner's own counting.
    serial: u64,
}

/// A point in the order in which an owner got its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockMark(u64);

impl LockMark {
    /// Before the first lock.
    pub const START: LockMark = LockMark(0);
}

#[derive(Clone, Copy, Debug)]
struct ObjectLocks {
    object: Resource,
    rows: u32,
    next_escalation: u32,
}

/// The locks of one owner (a transaction or a session). Used by one task at a time.
pub struct HeldLocks {
    manager: Arc<LockManager>,
    pub(super) space: Arc<LockSpace>,
    owner: LockOwner,
    held: HeldSet<Held>,
    /// One entry per object with row locks: few, so a list.
    per_object: SmallVec<[ObjectLocks; 1]>,
    /// Objects held in a mode that covers row locks; usually none.
    covering_objects: u32,
    /// One of them that covers all row locks and has no row locks of its own: a shortcut for statements that lock many rows one by one.
    whole: Option<Resource>,
    /// The serial of the next lock.
    next_serial: u64,
}

impl HeldLocks {
    /// An owner without locks.
    pub fn new(manager: Arc<LockManager>, space: Arc<LockSpace>, owner: LockOwner) -> HeldLocks {
        HeldLocks {
            manager,
            space,
            owner,
            held: HeldSet::default(),
            per_object: SmallVec::new(),
            covering_objects: 0,
            whole: None,
            next_serial: 0,
        }
    }

    /// The counts match the locks held, and serials were all assigned. Reads all locks: called rarely.
    fn assert_state(&self) {
        let rows = self.held.iter().filter(|(key, _)| key.resource.parent_object().is_some()).count();
        let counted: u32 = self.per_object.iter().map(|locks| locks.rows).sum();
        assert_eq!(rows, counted as usize, "row locks are counted per object");
        let is_object = |key: &ResourceKey| matches!(key.resource, Resource::Object { .. });
        let covering = self.held.iter().filter(|(key, held)| is_object(key) && is_covering(held.mode));
        assert_eq!(covering.count(), self.covering_objects as usize, "covering objects are counted");
        let is_whole = |object| self.mode(object).is_some_and(covers_all_rows) && self.rows_of(object) == 0;
        assert!(self.whole.as_ref().is_none_or(is_whole), "rows are locked beside their object");
        assert!(self.held.iter().all(|(_, held)| held.serial < self.next_serial && held.count > 0));
    }

    /// The present point in the order of its locks.
    pub fn mark(&self) -> LockMark {
        LockMark(self.next_serial)
    }

    /// Releases locks that were first granted after the mark. A lock that was held before stays, in its present mode; so does
    /// the object lock that row locks were escalated to, and the lock that keeps a database from being
    /// dropped, which does not belong to the transaction.
    pub fn unlock_since(&mut self, mark: LockMark) {
        assert!(mark.0 <= self.next_serial, "a mark of this owner");
        let is_kept = |key: &ResourceKey| matches!(key.resource, Resource::Database { .. });
        let newer = self.held.iter().filter(|(key, held)| held.serial >= mark.0 && !is_kept(key));
        let mut newer: Vec<(u64, ResourceKey)> = newer.map(|(key, held)| (held.serial, *key)).collect();
        // The newest first: rows before the intents above them.
        newer.sort_unstable_by_key(|(serial, _)| std::cmp::Reverse(*serial));
        for (_, key) in newer {
            self.forget(&key);
            self.manager.release_hashed(&self.space, self.owner, &key);
        }
        self.held.settle();
        assert!(
            self.held.iter().all(|(key, held)| held.serial < mark.0 || is_kept(key)),
            "newer locks are gone"
        );
        self.assert_state();
    }

    /// Locks `resource` in `mode` (in addition to what is held), waiting as `wait` says.
    pub fn lock(&mut self, resource: Resource, mode: LockMode, wait: LockWait) -> Result<(), LockError> {
        let key = ResourceKey::new(resource);
        if self.note_again(&key, mode) {
            return Ok(());
        }
        let granted = self.manager.acquire_hashed(&self.space, self.owner, key, mode, wait)?;
        self.note_granted(key, granted);
        debug_assert!(self.has_lock(&resource, mode), "what was granted is held");
        Ok(())
    }

    /// Repeats a request for a lock that is held already, or covered. False, without effect, when it is neither.
    pub fn lock_again(&mut self, resource: &Resource, mode: LockMode) -> bool {
        self.note_again(&ResourceKey::new(*resource), mode)
    }

    /// Undoes one `lock` of a resource that was requested more than once, and so stays locked. False, without effect, when it was not.
    pub fn unlock_again(&mut self, resource: &Resource) -> bool {
        let Some(held) = self.held.get_mut(&ResourceKey::new(*resource)) else { return false };
        assert!(held.count > 0, "a held lock was asked for");
        let is_again = held.count > 1;
        held.count -= u32::from(is_again);
        is_again
    }

    /// Locks without waiting; false when another request conflicts.
    pub fn try_lock(&mut self, resource: Resource, mode: LockMode) -> bool {
        if self.whole.is_some() && resource.parent_object() == self.whole {
            debug_assert!(self.has_lock(&resource, mode), "the object's lock covers all its rows");
            return true;
        }
        let key = ResourceKey::new(resource);
        if self.note_again(&key, mode) {
            return true;
        }
        match self.manager.try_acquire_hashed(&self.space, self.owner, key, mode) {
            Some(granted) => {
                self.note_granted(key, granted);
                true
            }
            None => false,
        }
    }

    /// Undoes one `lock` of the resource in `mode`. The lock is released when it was not requested again and was not converted since.
    /// Does nothing for a row that the object's lock covers.
    pub fn unlock(&mut self, resource: &Resource, mode: LockMode) {
        let key = ResourceKey::new(*resource);
        let Some(held) = self.held.get_mut(&key) else { return };
        assert!(held.count > 0, "a held lock was asked for");
        if held.count > 1 || held.mode != mode {
            held.count = (held.count - 1).max(1);
            return;
        }
        self.forget(&key);
        self.manager.release_hashed(&self.space, self.owner, &key);
    }

    /// Does a lock on the object make row locks of `mode` unnecessary?
    pub fn covers_rows(&self, object: &Resource, mode: LockMode) -> bool {
        self.covering_objects > 0 && self.mode(object).is_some_and(|held| covers_rows(held, mode))
    }

    /// Would `lock` be granted without waiting? Leaves nothing behind.
    pub fn could_lock(&self, resource: &Resource, mode: LockMode) -> bool {
        self.has_lock(resource, mode)
            || self.manager.could_acquire_hashed(&self.space, &ResourceKey::new(*resource), mode)
    }

    /// Is the resource held in a mode that includes `mode`, or covered by the object's lock?
    pub(crate) fn has_lock(&self, resource: &Resource, mode: LockMode) -> bool {
        self.mode(resource).is_some_and(|held| held.covers(mode))
            || resource.parent_object().is_some_and(|object| self.covers_rows(&object, mode))
    }

    /// Releases everything.
    pub fn unlock_all(&mut self) {
        #[cfg(debug_assertions)]
        self.assert_state();
        self.manager.count_requests(self.held.iter().map(|(key, _)| key));
        for key in self.held.drain() {
            self.manager.release_hashed(&self.space, self.owner, &key);
        }
        assert!(self.held.is_empty(), "what is given back is not held");
        self.per_object.clear();
        self.covering_objects = 0;
        self.whole = None;
    }

    /// The mode in which the resource is held.
    pub fn mode(&self, resource: &Resource) -> Option<LockMode> {
        self.held.get(&ResourceKey::new(*resource)).map(|held| held.mode)
    }

    /// How many requests for the resource were not released.
    pub fn count(&self, resource: &Resource) -> u32 {
        self.held.get(&ResourceKey::new(*resource)).map_or(0, |held| held.count)
    }

    /// Number of resources held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// True when nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// True when the lock is held already, or covered by the object's lock.
    pub(crate) fn note_again(&mut self, key: &ResourceKey, mode: LockMode) -> bool {
        if let Some(held) = self.held.get_mut(key)
            && held.mode.covers(mode)
        {
            held.count += 1;
            return true;
        }
        self.covering_objects > 0
            && key.resource.parent_object().is_some_and(|object| self.covers_rows(&object, mode))
    }

    /// Notes a grant of the lock manager.
    pub(crate) fn note_granted(&mut self, key: ResourceKey, granted: LockMode) {
        let serial = self.next_serial;
        let entry = self.held.entry(key, Held { mode: granted, count: 0, serial });
        let is_new = entry.count == 0;
        assert!(is_new || entry.serial < serial, "a lock that is held was granted before");
        self.next_serial += u64::from(is_new);
        let was_covering = !is_new && is_covering(entry.mode);
        assert!(is_new || granted.covers(entry.mode), "a lock only becomes stronger");
        entry.mode = granted;
        entry.count += 1;
        if let Resource::Object { .. } = key.resource {
            self.covering_objects += u32::from(is_covering(granted) && !was_covering);
            if covers_all_rows(granted) && self.rows_of(&key.resource) == 0 {
                self.whole = Some(key.resource);
            }
        } else if is_new && let Some(object) = key.resource.parent_object() {
            debug_assert!(
                !self.covers_rows(&object, granted),
                "a row that the object's lock covers is not locked"
            );
            let locks = self.object_locks(object);
            locks.rows += 1;
            let threshold =
                if os::memory::is_pressed() { PRESSED_THRESHOLD_LOCKS } else { ESCALATION_THRESHOLD_LOCKS };
            if locks.rows >= threshold.max(locks.next_escalation) {
                locks.next_escalation = locks.rows + ESCALATION_RETRY_LOCKS;
                self.escalate(object);
            }
        }
    }

    /// Row locks of an object.
    fn rows_of(&self, object: &Resource) -> u32 {
        self.per_object.iter().find(|locks| locks.object == *object).map_or(0, |locks| locks.rows)
    }

    fn object_locks(&mut self, object: Resource) -> &mut ObjectLocks {
        assert!(matches!(object, Resource::Object { .. }), "row locks are counted at their object");
        let known = self.per_object.iter().position(|locks| locks.object == object);
        let at = known.unwrap_or_else(|| {
            self.per_object.push(ObjectLocks { object, rows: 0, next_escalation: 0 });
            self.per_object.len() - 1
        });
        &mut self.per_object[at]
    }

    /// Tries to lock the object in the mode that covers all its row locks, without waiting; then releases the row locks.
    fn escalate(&mut self, object: Resource) {
        let rows = || self.held.iter().filter(|(key, _)| key.resource.parent_object() == Some(object));
        let target = rows().map(|(_, held)| held.mode.escalates_to()).fold(LockMode::S, LockMode::combine);
        let object_key = ResourceKey::new(object);
        let Some(granted) = self.manager.try_acquire_hashed(&self.space, self.owner, object_key, target)
        else {
            return;
        };
        assert!(granted.covers(target), "the object's lock covers its rows'");
        let covered: Vec<ResourceKey> = rows().map(|(key, _)| *key).collect();
        self.note_granted(object_key, granted);
        for key in covered {
            self.forget(&key);
            self.manager.release_hashed(&self.space, self.owner, &key);
        }
        self.held.settle();
        assert_eq!(self.object_locks(object).rows, 0, "the rows are under their object's lock now");
        if covers_all_rows(granted) {
            self.whole = Some(object);
        }
        self.assert_state();
        self.manager.count_escalation();
    }

    fn forget(&mut self, key: &ResourceKey) {
        let held = self.held.remove(key).expect("only a held lock is forgotten");
        if let Resource::Object { .. } = key.resource {
            assert!(
                self.covering_objects >= u32::from(is_covering(held.mode)),
                "covering objects are counted"
            );
            self.covering_objects -= u32::from(is_covering(held.mode));
            self.whole = self.whole.filter(|object| *object != key.resource);
        } else if let Some(object) = key.resource.parent_object() {
            let locks = self.object_locks(object);
            assert!(locks.rows > 0, "row locks are counted per object");
            locks.rows -= 1;
        }
    }
}

/// Does an object held in `mode` make any row lock unnecessary?
fn is_covering(mode: LockMode) -> bool {
    matches!(mode, LockMode::S | LockMode::SIX | LockMode::SIU | LockMode::X | LockMode::SchM)
}

/// Does an object held in `mode` make every row lock unnecessary?
fn covers_all_rows(mode: LockMode) -> bool {
    matches!(mode, LockMode::X | LockMode::SchM)
}

fn covers_rows(object_mode: LockMode, row_mode: LockMode) -> bool {
    match object_mode {
        mode if covers_all_rows(mode) => true,
        LockMode::S | LockMode::SIX | LockMode::SIU => row_mode.is_read_only(),
        _ => false,
    }
}
