//! The holders of a resource: a list, with an index once there are many, so that the thousandth grant costs as much as the tenth.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::modes::LockMode;
use super::resource::LockOwner;

/// From this number of holders on there is an index, until the resource is free.
const CROWD_MIN: usize = 24;

#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub(super) space: u64,
    pub(super) session_id: u32,
    pub(super) owner: LockOwner,
    pub(super) mode: LockMode,
}

/// The grants of one resource, an owner at most once. The first is kept in place: most locks have one holder, and so cost no allocation.
#[derive(Default)]
pub(super) struct Grants {
    first: Option<Grant>,
    more: Vec<Grant>,
    crowd: Option<Box<Crowd>>,
}

/// The index over many grants.
struct Crowd {
    /// The positions of each space's grants.
    places: FxHashMap<u64, SmallVec<[u32; 2]>>,
    /// How many grants there are of each mode.
    modes: [u32; LockMode::ALL.len()],
    /// The components of all those modes.
    parts: u16,
}

impl Crowd {
    fn of<'a>(grants: impl Iterator<Item = &'a Grant>) -> Box<Crowd> {
        let mut crowd =
            Box::new(Crowd { places: FxHashMap::default(), modes: [0; LockMode::ALL.len()], parts: 0 });
        grants.enumerate().for_each(|(at, grant)| crowd.enter(at, grant));
        assert!(crowd.parts != 0, "many hold it in some mode");
        crowd
    }

    fn enter(&mut self, at: usize, grant: &Grant) {
        let places = self.places.entry(grant.space).or_default();
        assert!(!places.contains(&(at as u32)), "place {at} is one grant's");
        places.push(at as u32);
        self.count(grant.mode);
    }

    fn leave(&mut self, at: usize, grant: &Grant) {
        let places = self.places.get_mut(&grant.space).expect("a space with a grant has its places");
        let index = places.iter().position(|&place| place as usize == at).expect("each grant has its place");
        places.swap_remove(index);
        if places.is_empty() {
            self.places.remove(&grant.space);
        }
        self.discount(grant.mode);
    }

    fn count(&mut self, mode: LockMode) {
        self.modes[mode as usize] += 1;
        self.parts |= mode.parts();
        assert!(mode.parts() != 0, "{mode:?} is made of something");
    }

    fn discount(&mut self, mode: LockMode) {
        let count = &mut self.modes[mode as usize];
        assert!(*count > 0, "modes are counted");
        *count -= 1;
        if *count == 0 {
            self.parts = self.held_modes().fold(0, |parts, held| parts | held.parts());
        }
    }

    fn held_modes(&self) -> impl Iterator<Item = LockMode> {
        LockMode::ALL.into_iter().filter(|held| self.modes[*held as usize] > 0)
    }
}

impl Grants {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.first.iter().chain(&self.more)
    }

    /// Is this owner's grant the only one?
    #[inline]
    pub(super) fn is_only(&self, space: u64, owner: LockOwner) -> bool {
        self.more.is_empty()
            && self.first.as_ref().is_some_and(|grant| grant.space == space && grant.owner == owner)
    }

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    pub(super) fn at(&self, at: usize) -> &Grant {
        let grant = if at == 0 { self.first.as_ref() } else { self.more.get(at - 1) };
        grant.expect("a position found a moment ago")
    }

    pub(super) fn position(&self, space: u64, owner: LockOwner) -> Option<usize> {
        let Some(crowd) = &self.crowd else {
            return self.iter().position(|grant| grant.space == space && grant.owner == owner);
        };
        let places = crowd.places.get(&space)?;
        places.iter().map(|&at| at as usize).find(|&at| self.at(at).owner == owner)
    }

    pub(super) fn is_held_by(&self, space: u64) -> bool {
        match &self.crowd {
            Some(crowd) => crowd.places.contains_key(&space),
            None => self.iter().any(|grant| grant.space == space),
        }
    }

    /// Does another space hold a conflicting mode?
    pub(super) fn is_in_the_way(&self, space: u64, mode: LockMode) -> bool {
        let is_other = |held: &LockMode| !mode.is_compatible_with(*held);
        let Some(crowd) = &self.crowd else {
            return self.iter().any(|grant| grant.space != space && is_other(&grant.mode));
        };
        if crowd.parts & mode.conflicting_parts() == 0 {
            return false;
        }
        let held = crowd.held_modes().filter(is_other);
        let all: u32 = held.map(|held| crowd.modes[held as usize]).sum();
        let places = crowd.places.get(&space).map_or(&[][..], |places| places);
        let own = places.iter().filter(|&&at| is_other(&self.at(at as usize).mode)).count();
        assert!(own <= all as usize, "modes are counted");
        all as usize > own
    }

    /// Replaces the owner's grant at position `own`, or adds a new one.
    pub(super) fn set(&mut self, own: Option<usize>, grant: Grant) {
        if let Some(at) = own {
            let before = *self.at(at);
            assert!(before.space == grant.space && before.owner == grant.owner, "an owner's own grant");
            if let Some(crowd) = &mut self.crowd {
                crowd.discount(before.mode);
                crowd.count(grant.mode);
            }
            *self.at_mut(at) = grant;
            return;
        }
        assert!(self.position(grant.space, grant.owner).is_none(), "an owner has one grant");
        let at = self.len();
        match &mut self.first {
            Some(_) => self.more.push(grant),
            first => *first = Some(grant),
        }
        match &mut self.crowd {
            Some(crowd) => crowd.enter(at, &grant),
            None if at + 1 >= CROWD_MIN => self.crowd = Some(Crowd::of(self.iter())),
            None => {}
        }
    }

    /// The last grant moves to its position.
    pub(super) fn remove(&mut self, at: usize) {
        let (last, gone) = (self.len() - 1, *self.at(at));
        assert!(at <= last, "place {at} of {last}");
        let moved = *self.at(last);
        if let Some(crowd) = &mut self.crowd {
            crowd.leave(at, &gone);
            if at != last {
                crowd.leave(last, &moved);
                crowd.enter(at, &moved);
            }
        }
        *self.at_mut(at) = moved;
        match last {
            0 => self.first = None,
            _ => drop(self.more.pop()),
        }
        self.assert_state();
    }

    fn at_mut(&mut self, at: usize) -> &mut Grant {
        let grant = if at == 0 { self.first.as_mut() } else { self.more.get_mut(at - 1) };
        grant.expect("a position found a moment ago")
    }

    /// The first grant is in place, and the index has the same number of grants as the list.
    pub(super) fn assert_state(&self) {
        assert!(self.first.is_some() || self.more.is_empty(), "the first grant stands in its place");
        assert!(self.crowd.is_some() || self.len() < CROWD_MIN, "many have an index");
        if let Some(crowd) = &self.crowd {
            assert!(crowd.places.len() <= self.len(), "each space in the index has a grant");
        }
        #[cfg(debug_assertions)]
        self.assert_index();
    }

    /// The index agrees with the list. Reads all grants.
    #[cfg(debug_assertions)]
    fn assert_index(&self) {
        let Some(crowd) = &self.crowd else { return };
        let placed: usize = crowd.places.values().map(SmallVec::len).sum();
        assert_eq!(placed, self.len(), "each grant has its place");
        for (at, grant) in self.iter().enumerate() {
            assert_eq!(self.position(grant.space, grant.owner), Some(at), "an owner has one grant, there");
        }
        for (mode, count) in LockMode::ALL.iter().zip(crowd.modes) {
            assert_eq!(self.iter().filter(|grant| grant.mode == *mode).count(), count as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random changes of a list and of the grants: both give the same answers, for few and for many.
    #[test]
    fn an_index_changes_no_answer() {
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for round in 0..20 {
            let (mut grants, mut model) = (Grants::default(), Vec::<Grant>::new());
            for step in 0..600 {
                let space = random(60);
                let owner = if random(3) == 0 { LockOwner::Session } else { LockOwner::Transaction(space) };
                let mode = LockMode::ALL[random(LockMode::ALL.len() as u64) as usize];
                let known = model.iter().position(|g| g.space == space && g.owner == owner);
                let own = grants.position(space, owner);
                assert_eq!(own.is_some(), known.is_some());
                // More come than go, then the other way round.
                if let (Some(own), Some(known)) = (own, known)
                    && random(if step < 300 { 4 } else { 2 }) == 0
                {
                    grants.remove(own);
                    model.swap_remove(known);
                } else {
                    let grant = Grant { space, session_id: 1, owner, mode };
                    grants.set(own, grant);
                    match known {
                        Some(known) => model[known] = grant,
                        None => model.push(grant),
                    }
                }
                grants.assert_state();
                let asked = random(62);
                assert_eq!(grants.is_held_by(asked), model.iter().any(|g| g.space == asked));
                for mode in LockMode::ALL {
                    let expected = model.iter().any(|g| g.space != asked && !mode.is_compatible_with(g.mode));
                    assert_eq!(grants.is_in_the_way(asked, mode), expected, "round {round}, {mode:?}");
                }
                assert_eq!(grants.iter().count(), model.len());
                assert_eq!(grants.is_empty(), model.is_empty());
            }
        }
    }
}
