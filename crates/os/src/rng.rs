//! Randomness: named streams from one seed (xoshiro256++, seeded by splitmix64), so that a new draw in one stream does
//! not shift the others. For secrets use [`crate::Os::fill_random`].

/// A stream of pseudo-random numbers. Not for secrets.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream that `seed` names.
    pub fn from_seed(seed: u64) -> Rng {
        let mut mixer = seed;
        let mut state = [0; 4];
        for word in &mut state {
            *word = splitmix64(&mut mixer);
        }
        Rng { state }
    }

    /// The stream `name` under `seed`.
    pub fn named(seed: u64, name: &str) -> Rng {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng::from_seed(seed ^ hash.rotate_left(17))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let shifted = b << 17;
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ shifted, d.rotate_left(45)];
        result
    }

    /// A number in `0..bound`. `bound` must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a number below 0 does not exist");
        // The bias of one part in 2^64 / bound does not matter here.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "an empty range has no number");
        match (high - low).checked_add(1) {
            Some(count) => low + self.below(count),
            None => self.next_u64(),
        }
    }

    /// True with a probability of `numerator` in `denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// One step of splitmix64: a good mixer of 64 bits.
pub(crate) fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
