//! The number of an incarnation: the time between two openings of a database, in which its commits get tickets.
//!
//! Incarnations are numbered, and each has a random half: after older copies of the files are restored, the next incarnation gets a number that
//! an earlier incarnation had, and must not be confused with it.

/// Names an incarnation of one database. Ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation {
    number: u32,
    /// 0 for incarnations of versions without random halves.
    random: u32,
}

impl Incarnation {
    /// The first one of a log.
    pub(crate) fn first(random: u32) -> Incarnation {
        Incarnation { number: 0, random: 0 }.next(random)
    }

    /// The random half for an incarnation that begins with the recovery of this run.
    pub(crate) fn random_of(run_id: u64) -> u32 {
        let random = (run_id >> 32) as u32 | 1;
        assert!(random != 0, "0 says that there is none");
        random
    }

    /// The next incarnation, with that random half.
    pub fn next(self, random: u32) -> Incarnation {
        let next = Incarnation { number: self.number + 1, random };
        assert!(next > self, "incarnations are counted");
        next
    }

    /// As one number, which rises with age.
    pub fn raw(self) -> u64 {
        if self.random == 0 {
            return u64::from(self.number);
        }
        let raw = u64::from(self.number) << 32 | u64::from(self.random);
        debug_assert!(raw >> 32 != 0, "a number without 0 in front");
        raw
    }

    /// The incarnation of that number.
    pub fn from_raw(raw: u64) -> Incarnation {
        let one = match (raw >> 32) as u32 {
            0 => Incarnation { number: raw as u32, random: 0 },
            number => Incarnation { number, random: raw as u32 },
        };
        assert!(one.raw() == raw || one.random == 0, "{raw:x} reads as {one:?}");
        one
    }

    /// Number and random half, little endian.
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        (u64::from(self.number) | u64::from(self.random) << 32).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Incarnation {
        let word = u64::from_le_bytes(bytes);
        Incarnation { number: word as u32, random: (word >> 32) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_with_age_also_from_before_there_was_a_random_half() {
        let old = Incarnation::from_bytes(7u64.to_le_bytes());
        let (one, other) = (old.next(9), old.next(77));
        assert!(one != other && Incarnation::random_of(5) != 0);
        assert!(old.raw() == 7 && old < one && old.raw() < one.raw() && one.raw() < one.next(1).raw());
        for each in [old, one, other, one.next(1), Incarnation::first(3)] {
            assert_eq!(Incarnation::from_raw(each.raw()), each);
            assert_eq!(Incarnation::from_bytes(each.to_bytes()), each);
        }
    }
}
