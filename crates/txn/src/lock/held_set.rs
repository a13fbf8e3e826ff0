//! The locks of one owner by resource: a few in a list, so that most transactions neither allocate nor hash; more in a map.
//!
//! ```text
//!  few ──entry, the list is full──► many ──drain, settle──► few
//! ```

use smallvec::SmallVec;

use super::resource::{ResourceKey, ResourceMap};

/// Most locks in the list.
const FEW: usize = 4;

/// An owner's value for each resource that it has locked.
pub(super) struct HeldSet<V> {
    /// In the order of the requests; empty once there are many.
    few: SmallVec<[(ResourceKey, V); FEW]>,
    many: ResourceMap<V>,
}

impl<V> Default for HeldSet<V> {
    fn default() -> Self {
        HeldSet { few: SmallVec::new(), many: ResourceMap::default() }
    }
}

impl<V> HeldSet<V> {
    pub(super) fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn position(&self, key: &ResourceKey) -> Option<usize> {
        self.few.iter().position(|(known, _)| known == key)
    }

    #[inline]
    pub(super) fn get(&self, key: &ResourceKey) -> Option<&V> {
        match self.position(key) {
            Some(at) => Some(&self.few[at].1),
            None => self.many.get(key),
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: &ResourceKey) -> Option<&mut V> {
        match self.position(key) {
            Some(at) => Some(&mut self.few[at].1),
            None => self.many.get_mut(key),
        }
    }

    /// The value of the resource; inserts `new` if there is none.
    pub(super) fn entry(&mut self, key: ResourceKey, new: V) -> &mut V {
        if let Some(at) = self.position(&key) {
            return &mut self.few[at].1;
        }
        if self.many.is_empty() && self.few.len() < FEW {
            self.few.push((key, new));
            return &mut self.few.last_mut().expect("pushed").1;
        }
        assert!(self.many.is_empty() || self.few.is_empty(), "few or many");
        self.many.extend(self.few.drain(..));
        self.assert_state();
        self.many.entry(key).or_insert(new)
    }

    pub(super) fn remove(&mut self, key: &ResourceKey) -> Option<V> {
        assert!(self.few.is_empty() || self.many.is_empty(), "few or many");
        let removed = match self.position(key) {
            Some(at) => Some(self.few.remove(at).1),
            None => self.many.remove(key),
        };
        debug_assert!(self.get(key).is_none(), "a resource is listed once");
        removed
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ResourceKey, &V)> {
        self.few.iter().map(|(key, held)| (key, held)).chain(&self.many)
    }

    /// Many were removed: moves the few that are left back to the list. A map that was large once is slow in unsuccessful lookups.
    pub(super) fn settle(&mut self) {
        if self.few.is_empty() && self.many.len() <= FEW {
            self.few.extend(std::mem::take(&mut self.many));
        }
        self.assert_state();
    }

    /// Removes everything.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = ResourceKey> {
        self.assert_state();
        self.few.drain(..).map(|(key, _)| key).chain(self.many.drain().map(|(key, _)| key))
    }

    fn assert_state(&self) {
        assert!(self.few.is_empty() || self.many.is_empty(), "few or many");
        assert!(!self.few.spilled(), "few are few");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Resource;

    fn key(object: u32) -> ResourceKey {
        ResourceKey::new(Resource::Object { database: 1, object })
    }

    #[test]
    fn few_and_many_hold_the_same() {
        for count in 0..3 * FEW as u32 {
            let mut held = HeldSet::default();
            (0..count).for_each(|object| assert_eq!(*held.entry(key(object), object), object));
            (0..count).for_each(|object| assert_eq!(*held.entry(key(object), 99), object, "known already"));
            assert_eq!((held.len(), held.is_empty()), (count as usize, count == 0));
            assert_eq!(held.iter().map(|(_, object)| *object).sum::<u32>(), (0..count).sum());
            assert_eq!(held.get(&key(count)), None);
            for object in (0..count).step_by(2) {
                *held.get_mut(&key(object)).expect("held") += 100;
                assert_eq!(held.get(&key(object)), Some(&(object + 100)));
                assert_eq!(
                    (held.remove(&key(object)), held.remove(&key(object))),
                    (Some(object + 100), None)
                );
            }
            held.settle();
            assert_eq!(held.many.is_empty(), held.len() <= FEW, "few again");
            let mut left: Vec<ResourceKey> = held.drain().collect();
            left.sort_by_key(|key| key.resource);
            assert_eq!(left, (0..count).skip(1).step_by(2).map(key).collect::<Vec<_>>());
            assert!(held.is_empty());
            held.entry(key(7), 7);
            assert_eq!(held.few.len(), 1, "few again");
        }
    }
}
