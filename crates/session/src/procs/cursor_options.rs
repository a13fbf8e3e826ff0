//! The bits of scrollopt and ccopt of the API cursor procedures (sp-cursoropen-transact-sql): what they ask for, and what comes back in them.

use types::{SqlError, SqlResult};

use crate::batch::cursor::{Properties, Sensitivity};
use crate::cursors::Cursor;

pub(super) const KEYSET: i32 = 0x01;
pub(super) const DYNAMIC: i32 = 0x02;
pub(super) const FORWARD_ONLY: i32 = 0x04;
pub(super) const STATIC: i32 = 0x08;
pub(super) const FAST_FORWARD: i32 = 0x10;
const TYPES: i32 = 0x1F;
pub(super) const PARAMETERIZED_STMT: i32 = 0x1000;
const AUTO_FETCH: i32 = 0x2000;
const AUTO_CLOSE: i32 = 0x4000;
const CHECK_ACCEPTED: i32 = 0x8000;
/// The bit that accepts a type or concurrency is so far to the left of that which asks for it.
const ACCEPTABLE_SHIFT: u32 = 16;

const READ_ONLY: i32 = 0x01;
const SCROLL_LOCKS: i32 = 0x02;
const OPTIMISTIC: i32 = 0x04;
const CONCURRENCIES: i32 = 0x0F;
const ALLOW_DIRECT: i32 = 0x2000;
const UPDT_IN_PLACE: i32 = 0x4000;

/// Rows of a fetch when the call does not say how many.
pub(super) const ROWS_DEFAULT: i32 = 20;

/// What a call asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) scroll: i32,
    pub(super) concurrency: i32,
}

impl Options {
    /// Error 16902 for two types or two concurrencies at once.
    pub(super) fn new(scroll: Option<i32>, concurrency: Option<i32>, procedure: &str) -> SqlResult<Options> {
        let (scroll, concurrency) = (scroll.unwrap_or(KEYSET), concurrency.unwrap_or(OPTIMISTIC));
        for (bits, name) in [(scroll & TYPES, "scrollopt"), (concurrency & CONCURRENCIES, "ccopt")] {
            if bits.count_ones() > 1 {
                return Err(SqlError::new(16902, &[&procedure, &name]));
            }
        }
        // Without a type it is a keyset cursor, without a concurrency an optimistic one.
        let scroll = if scroll & TYPES == 0 { scroll | KEYSET } else { scroll };
        let concurrency =
            if concurrency & CONCURRENCIES == 0 { concurrency | OPTIMISTIC } else { concurrency };
        Ok(Options { scroll, concurrency })
    }

    fn cursor_type(self) -> i32 {
        self.scroll & TYPES
    }

    fn is_read_only(self) -> bool {
        self.concurrency & READ_ONLY != 0 || matches!(self.cursor_type(), STATIC | FAST_FORWARD)
    }

    pub(super) fn is_parameterized(self) -> bool {
        self.scroll & PARAMETERIZED_STMT != 0
    }

    /// A statement that can have no cursor is executed as it is.
    pub(super) fn allows_direct(self) -> bool {
        self.concurrency & ALLOW_DIRECT != 0
    }

    pub(super) fn updates_in_place(self) -> bool {
        self.concurrency & UPDT_IN_PLACE != 0
    }

    /// The first rows come with the answer.
    pub(super) fn fetches(self) -> bool {
        self.scroll & AUTO_FETCH != 0 && self.cursor_type() == FAST_FORWARD
    }

    pub(super) fn closes_itself(self) -> bool {
        self.scroll & AUTO_CLOSE != 0 && self.cursor_type() == FAST_FORWARD
    }

    pub(super) fn properties(self) -> Properties {
        let is_read_only = self.is_read_only();
        Properties {
            sensitivity: match self.cursor_type() {
                KEYSET => Sensitivity::Keyset,
                STATIC => Sensitivity::Static,
                DYNAMIC => Sensitivity::Dynamic,
                FORWARD_ONLY if !is_read_only => Sensitivity::Dynamic,
                _ => Sensitivity::FastForward,
            },
            scrolls: !matches!(self.cursor_type(), FORWARD_ONLY | FAST_FORWARD),
            is_read_only,
            locks: self.concurrency & SCROLL_LOCKS != 0 && !is_read_only,
            warns: false,
            is_global: Some(true),
            updatable: Vec::new(),
            is_for_update: false,
        }
    }

    /// The bits of the open cursor. Error 16955 when the call does not accept what it has become.
    pub(super) fn result(self, cursor: &Cursor) -> SqlResult<(i32, i32)> {
        let opened = cursor.opened.as_ref();
        let is_copy = opened.is_none_or(|opened| opened.keyed.is_none());
        let cursor_type = match self.cursor_type() {
            KEYSET | DYNAMIC if is_copy => STATIC,
            DYNAMIC if cursor.is_converted() => KEYSET,
            own => own,
        };
        let concurrency =
            if is_copy || self.is_read_only() { READ_ONLY } else { self.concurrency & CONCURRENCIES };
        let accepts =
            |asked: i32, got: i32| asked & CHECK_ACCEPTED == 0 || asked & (got << ACCEPTABLE_SHIFT) != 0;
        if accepts(self.scroll, cursor_type) && accepts(self.concurrency, concurrency) {
            return Ok((cursor_type, concurrency));
        }
        Err(SqlError::new(16955, &[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_exclusive_bits() {
        let options = Options::new(None, None, "sp_cursoropen").expect("nothing is asked for");
        assert_eq!((options.scroll, options.concurrency), (KEYSET, OPTIMISTIC));
        let options = Options::new(Some(0x1000), Some(0x2000), "p").expect("no type");
        assert_eq!((options.cursor_type(), options.is_parameterized()), (KEYSET, true));
        assert!(options.allows_direct() && !options.is_read_only() && !options.updates_in_place());
        assert_eq!(Options::new(Some(3), None, "p").map_err(|error| error.number).unwrap_err(), 16902);
        assert_eq!(Options::new(None, Some(5), "p").map_err(|error| error.number).unwrap_err(), 16902);
    }

    #[test]
    fn copies_are_read_only_and_only_fast_forward_fetches_by_itself() {
        let asked = |scroll| Options::new(Some(scroll), Some(OPTIMISTIC), "p").expect("one type");
        assert!(asked(STATIC).properties().is_read_only && asked(FAST_FORWARD).properties().is_read_only);
        assert!(!asked(FORWARD_ONLY).properties().is_read_only);
        assert!(!asked(FORWARD_ONLY).properties().scrolls && asked(DYNAMIC).properties().scrolls);
        assert!(asked(FAST_FORWARD | AUTO_FETCH).fetches() && !asked(KEYSET | AUTO_FETCH).fetches());
        assert!(
            asked(FAST_FORWARD | AUTO_CLOSE).closes_itself() && !asked(STATIC | AUTO_CLOSE).closes_itself()
        );
    }
}
