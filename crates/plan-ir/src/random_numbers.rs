//! The numbers of RAND: one generator per session, restarted by RAND(seed), so that a seed gives SQL Server's own sequence.
//!
//! Two linear congruential generators are combined (P. L'Ecuyer, "Efficient and Portable Combined Random Number Generators", 1988). A seed
//! is the state of the first; the second begins at a constant.

use std::cell::Cell;

const FIRST: (i64, i64) = (40_014, 2_147_483_563);
const SECOND: (i64, i64) = (40_692, 2_147_483_399);
/// What the first begins at when the seed is 0, and the second always.
const BEGINNING: (i64, i64) = (12_345, 67_890);
/// A whole number's share of one.
const SHARE: f64 = 4.656_613e-10;

/// A session's generator; none before the first number.
#[derive(Debug, Default)]
pub struct RandomNumbers(Cell<Option<(i64, i64)>>);

impl RandomNumbers {
    /// Begins anew.
    pub fn seed(&self, seed: i64) {
        let first = (seed.unsigned_abs() % FIRST.1 as u64) as i64;
        self.0.set(Some((if first == 0 { BEGINNING.0 } else { first }, BEGINNING.1)));
    }

    /// The next number, above 0 and below 1. `draw` gives the seed of a session that has none yet.
    pub fn next(&self, draw: impl FnOnce() -> i64) -> f64 {
        if self.0.get().is_none() {
            self.seed(draw());
        }
        let (first, second) = self.0.get().expect("there is a seed");
        let (first, second) = (first * FIRST.0 % FIRST.1, second * SECOND.0 % SECOND.1);
        self.0.set(Some((first, second)));
        let difference = first - second;
        (if difference < 1 { difference + FIRST.1 - 1 } else { difference }) as f64 * SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_documented_sequence() {
        let numbers = RandomNumbers::default();
        numbers.seed(100);
        let next = || format!("{:.15}", numbers.next(|| unreachable!("there is a seed")));
        assert_eq!([next(), next(), next()], ["0.715436657367485", "0.284633807679820", "0.013103908285036"]);
        for (seed, number) in [(1, "0.713591993212924"), (0, "0.943597390424144"), (-1, "0.713591993212924")]
        {
            numbers.seed(seed);
            assert_eq!(next(), number, "{seed}");
        }
    }

    #[test]
    fn numbers_lie_between_nought_and_one_whatever_the_seed() {
        let numbers = RandomNumbers::default();
        for seed in [0, 1, -1, 2_147_483_562, 2_147_483_563, 2_147_483_647, -2_147_483_648, i64::MIN] {
            numbers.seed(seed);
            for _ in 0..1_000 {
                let number = numbers.next(|| 0);
                assert!(number > 0.0 && number < 1.0, "{seed}: {number}");
            }
        }
    }
}
