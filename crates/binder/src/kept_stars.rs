//! The known expansion of each `*` in the current text; `stars.rs` uses it.

use std::sync::Arc;

use engine::KeptStar;

/// The known expansions in the current text.
#[derive(Default)]
pub struct Stars {
    /// The expansions in the catalog.
    pub(super) kept: Arc<[KeptStar]>,
    /// The expansions to be stored, when the module is being created.
    pub(super) noted: Option<Vec<KeptStar>>,
    /// It is the text of an EXISTS.
    pub(super) is_of_exists: bool,
}

impl Stars {
    /// The expansions of a module that is being created.
    pub fn noting() -> Stars {
        Stars { noted: Some(Vec::new()), ..Stars::default() }
    }

    /// The expansions to be stored.
    pub fn into_noted(self) -> Vec<KeptStar> {
        self.noted.unwrap_or_default()
    }
}
