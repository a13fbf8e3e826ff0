//! A measured quantity over executions: the sum, the last, the least and the greatest value.

/// Sum, last, least and greatest of what was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Sum.
    pub total: u64,
    /// The last one.
    pub last: u64,
    /// The least one; `None` before the first.
    pub minimum: Option<u64>,
    /// The greatest one.
    pub maximum: u64,
}

impl Measure {
    /// One more.
    #[inline]
    pub fn note(&mut self, amount: u64) {
        self.total += amount;
        self.last = amount;
        self.minimum = Some(self.minimum.map_or(amount, |least| least.min(amount)));
        self.maximum = self.maximum.max(amount);
    }

    /// Adds the executions of a later measure.
    pub fn add(&mut self, other: &Measure) {
        let Some(least) = other.minimum else { return };
        self.total += other.total;
        self.last = other.last;
        self.minimum = Some(self.minimum.map_or(least, |own| own.min(least)));
        self.maximum = self.maximum.max(other.maximum);
    }
}

/// The memory of a statement's operators in one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// How often an operator had more than fits.
    pub spills: u64,
    /// The memory grant; 0: it kept so little that it requested no grant.
    pub granted_bytes: u64,
    /// The ideal memory grant.
    pub ideal_bytes: u64,
    /// The peak use of the grant.
    pub used_bytes: u64,
}
