//! Suspect pages: read errors and damaged pages of one database for msdb.dbo.suspect_pages. Kept in memory, so it covers the time since
//! the database was opened.

use std::collections::BTreeMap;

use os::{IoErrorKind, Latch, LatchRank};

use crate::error::PageError;
use crate::page_id::PageId;

/// Most pages kept; others are not recorded, as documented for the table.
const PAGES_MAX: usize = 1000;

/// The kind of error, by the numbers of `event_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspectEvent {
    /// 1: reading it failed (823), or a valid page with another address was read (824).
    Unreadable = 1,
    /// 2: its checksum is wrong (824).
    BadChecksum = 2,
}

/// One page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectPage {
    /// The page.
    pub page: PageId,
    /// The last error.
    pub event: SuspectEvent,
    /// Number of errors.
    pub errors: u32,
    /// Time of the last error: 100 ns since the year 1, UTC.
    pub last_utc_100ns: i64,
}

/// The list.
pub(crate) struct SuspectPages {
    pages: Latch<BTreeMap<PageId, SuspectPage>>,
}

impl SuspectPages {
    pub(crate) fn new() -> SuspectPages {
        SuspectPages { pages: Latch::new(LatchRank::Stats, BTreeMap::new()) }
    }

    /// Notes a failed read, unless the error is not about the page.
    pub(crate) fn note(&self, page: PageId, error: &PageError, utc_100ns: i64) {
        let event = match error {
            PageError::Corrupt { bad_checksum: true, .. } => SuspectEvent::BadChecksum,
            PageError::Corrupt { .. } => SuspectEvent::Unreadable,
            PageError::Io(error) if error.kind != IoErrorKind::Interrupted => SuspectEvent::Unreadable,
            _ => return,
        };
        // An address stored in a page may name no file: then nothing was read, and that is no event.
        assert!(page.file > 0, "{page} was read, so its file is there");
        let mut pages = self.pages.lock();
        let errors = pages.get(&page).map_or(0, |known| known.errors);
        if errors > 0 || pages.len() < PAGES_MAX {
            let errors = errors.saturating_add(1);
            pages.insert(page, SuspectPage { page, event, errors, last_utc_100ns: utc_100ns });
        }
        assert!(pages.len() <= PAGES_MAX, "a damaged disk does not fill the memory");
    }

    pub(crate) fn all(&self) -> Vec<SuspectPage> {
        self.pages.lock().values().copied().collect()
    }
}
