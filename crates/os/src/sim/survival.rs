//! How a power loss treats unconfirmed writes.

use crate::rng::Rng;

/// How one power loss treats unconfirmed versions; drawn once per loss, so that extremes occur.
pub(super) enum Survival {
    KeepAll,
    LoseAll,
    /// Versions up to a moment survive, none after it.
    UpTo(u64),
    /// Each independently, with this chance in 1/16.
    Each(u64),
}

impl Survival {
    /// Which of `versions` (ticket first, oldest first) survives; `None`: the durable one.
    pub(super) fn draw(&self, versions: &[(u64, u64)], rng: &mut Rng) -> Option<usize> {
        match *self {
            Survival::KeepAll => versions.len().checked_sub(1),
            Survival::LoseAll => None,
            Survival::UpTo(ticket) => versions.iter().rposition(|version| version.0 <= ticket),
            Survival::Each(chance) if versions.is_empty() || !rng.chance(chance, 16) => None,
            Survival::Each(_) => Some(rng.below(versions.len() as u64) as usize),
        }
    }
}
