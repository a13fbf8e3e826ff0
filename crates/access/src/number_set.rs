//! `NumberSet`: a set of integers that a column's value must belong to, such as the keys of one side of a join. It is tested for each row before the
//! row is copied. Like a Bloom filter it has false positives, but no false negatives.

/// A dense set, with at least one number in so many, has one bit for each number of its range.
const SPARSEST: u64 = 64;
/// Bits per number of a sparse set, at least.
const BITS_EACH: usize = 12;
/// The most bits of a set.
const BITS_MAX: usize = 1 << 26;

/// A set of numbers.
#[derive(Clone, Debug)]
pub struct NumberSet {
    words: Vec<u64>,
    places: Places,
}

/// How a number maps to its bit.
#[derive(Clone, Copy, Debug)]
enum Places {
    /// By its distance from the lowest number.
    Distance { low: i64, bits: u64 },
    /// By the upper bits of its hash.
    Hash { shift: u32 },
}

impl NumberSet {
    /// The set of these numbers. Duplicates are allowed.
    pub fn of(numbers: &[i64]) -> NumberSet {
        let (low, high) = numbers
            .iter()
            .fold((i64::MAX, i64::MIN), |(low, high), number| (low.min(*number), high.max(*number)));
        let distance = if low > high { 0 } else { high.abs_diff(low) };
        let is_dense =
            distance < SPARSEST * (numbers.len() as u64).max(SPARSEST) && distance < BITS_MAX as u64;
        let bits = match is_dense {
            true => distance as usize + 1,
            false => (numbers.len() * BITS_EACH).next_power_of_two().clamp(64, BITS_MAX),
        };
        assert!(bits > 0 && bits <= BITS_MAX, "{bits} bits");
        let places = match is_dense {
            true => Places::Distance { low, bits: bits as u64 },
            false => Places::Hash { shift: 64 - bits.ilog2() },
        };
        let mut set = NumberSet { words: vec![0; bits.div_ceil(64)], places };
        for number in numbers {
            let bit = set.bit_of(*number).expect("the bits reach from the lowest to the highest");
            set.words[bit / 64] |= 1 << (bit % 64);
        }
        assert!(
            numbers.first().is_none_or(|number| set.may_have(*number)),
            "it never says no of what is in it"
        );
        set
    }

    /// How many bytes a set of so many numbers takes, at most.
    pub fn bytes_for(numbers: usize) -> usize {
        numbers.saturating_mul(SPARSEST as usize).clamp(SPARSEST as usize * SPARSEST as usize, BITS_MAX) / 8
    }

    /// May the number be in the set?
    #[inline]
    pub fn may_have(&self, number: i64) -> bool {
        self.bit_of(number).is_some_and(|bit| self.words[bit / 64] & 1 << (bit % 64) != 0)
    }

    #[inline]
    fn bit_of(&self, number: i64) -> Option<usize> {
        match self.places {
            Places::Distance { low, bits } => {
                let distance = (number as u64).wrapping_sub(low as u64);
                (distance < bits).then_some(distance as usize)
            }
            // Fibonacci hashing: the upper bits of a product with 2^64 divided by the golden ratio.
            Places::Hash { shift } => {
                Some(((number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_little_else() {
        let spread = |step: i64, from: i64| {
            (0..1_000).map(|at| from.wrapping_add(step.wrapping_mul(at))).collect::<Vec<i64>>()
        };
        let lists = [
            vec![],
            vec![7],
            vec![i64::MIN, i64::MAX],
            vec![-3, -3, 5],
            spread(1, -500),
            spread(63, i64::MAX - 63 * 1_000),
            spread(1 << 40, 17),
            spread(0x0123_4567_89AB_CDEF, 3),
        ];
        for numbers in lists {
            let set = NumberSet::of(&numbers);
            assert!(numbers.iter().all(|number| set.may_have(*number)), "{numbers:?}");
            assert!(
                set.words.len() * 8 <= NumberSet::bytes_for(numbers.len()).max(8),
                "{} numbers",
                numbers.len()
            );
            let others = (0..10_000i64)
                .map(|at| at.wrapping_mul(0x5DEE_CE66_D123_4567) ^ 0x55)
                .filter(|other| !numbers.contains(other));
            let (mut asked, mut wrong) = (0, 0);
            for other in others {
                asked += 1;
                wrong += usize::from(set.may_have(other));
            }
            assert!(
                wrong * 5 < asked,
                "{wrong} of {asked} numbers that are not in {} are taken",
                numbers.len()
            );
        }
    }
}
