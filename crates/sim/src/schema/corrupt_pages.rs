//! The pages of a data file that is corrupted, with their owners in the allocation map; the kinds of corruption.

use os::Rng;
use pages::{HEADER_BYTES, PageBytes, PageId, header};

/// The allocation map of the file's first interval.
const MAP_PAGE: usize = 1;

/// The kind of a corruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Owner,
    Header,
    Slot,
    Chain,
    Child,
    Row,
    Stub,
    Piece,
    Boot,
    /// Keys of length 0, longer than their row, or out of order.
    Keys,
    /// An LSN that the log has not reached.
    Future,
    /// Pages whose links form a circle.
    Circle,
    /// A system page that the map assigns to a table.
    System,
    /// A page that the map shows as free while every change of its table needs it.
    Given,
}

/// Kinds that change one field of one page.
pub(super) const SIMPLE: &[Kind] = KINDS.split_at(9).0;
/// All kinds, also those whose pages are valid on their own, which assume a consistent file.
pub(super) const KINDS: &[Kind] = &[
    Kind::Owner,
    Kind::Header,
    Kind::Slot,
    Kind::Chain,
    Kind::Child,
    Kind::Row,
    Kind::Stub,
    Kind::Piece,
    Kind::Boot,
    Kind::Keys,
    Kind::Future,
    Kind::Circle,
    Kind::System,
    Kind::Given,
];

/// The pages of a data file.
#[derive(Clone)]
pub(super) struct Pages(pub(super) Vec<PageBytes>);

impl Pages {
    fn entry(page: usize) -> std::ops::Range<usize> {
        let at = HEADER_BYTES + 4 * page;
        at..at + 4
    }

    pub(super) fn owner(&self, page: usize) -> u32 {
        u32::from_le_bytes(self.0[MAP_PAGE][Pages::entry(page)].try_into().expect("four bytes"))
    }

    /// Draws one of the pages that belong to a table and satisfy `is_it`.
    pub(super) fn draw(&self, rng: &mut Rng, is_it: impl Fn(&PageBytes) -> bool) -> Option<usize> {
        let found = |page: &usize| self.owner(*page) != 0 && is_it(&self.0[*page]);
        let all: Vec<usize> = (2..self.0.len()).filter(found).collect();
        (!all.is_empty()).then(|| all[rng.below(all.len() as u64) as usize])
    }

    pub(super) fn set_owner(&mut self, page: usize, owner: u32) {
        self.0[MAP_PAGE][Pages::entry(page)].copy_from_slice(&owner.to_le_bytes());
    }

    /// The address of a page of the same table (or, one time in four, of any table): a wrong link as a bug in the server could write it.
    pub(super) fn draw_neighbour(&self, rng: &mut Rng, of: usize) -> [u8; 6] {
        let unit = header::unit(&self.0[of]);
        let anywhere = rng.below(4) == 0;
        let page = self.draw(rng, |page| anywhere || header::unit(page) == unit).unwrap_or(of);
        if rng.below(8) == 0 { [0; 6] } else { PageId::new(1, page as u32).to_bytes() }
    }
}
