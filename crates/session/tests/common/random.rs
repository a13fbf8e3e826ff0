//! Random numbers for tests, reproducible by seed.

/// A generator (splitmix64).
pub struct Random {
    state: u64,
}

/// The seed of a run: `HARDPAN_TEST_SEED`, or the test's own.
pub fn seed(own: u64) -> u64 {
    std::env::var("HARDPAN_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(own)
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `limit - 1`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    pub fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }
}
