//! What is known of each `*` in the text at hand: `stars.rs` says what is done with it.

use std::sync::Arc;

use engine::KeptStar;

/// What is known of the text at hand.
#[derive(Default)]
pub struct Stars {
    /// What the catalog has kept of it.
    pub(super) kept: Arc<[KeptStar]>,
    /// What there is to be kept, when the module is being made.
    pub(super) noted: Option<Vec<KeptStar>>,
    /// It is the text of an EXISTS.
    pub(super) is_of_exists: bool,
}

impl Stars {
    /// Of a module that is being made.
    pub fn noting() -> Stars {
        Stars { noted: Some(Vec::new()), ..Stars::default() }
    }

    /// What is to be kept of it.
    pub fn into_noted(self) -> Vec<KeptStar> {
        self.noted.unwrap_or_default()
    }
}
