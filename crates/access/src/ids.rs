//! Identifiers of allocation units and heap rows.

use pages::PageId;

/// An allocation unit: one heap or one index with its large values. Numbered by the catalog, 1..2^31, unique in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId(pub u32);

/// The address of a heap row; it never changes while the row lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rid {
    /// The page.
    pub page: PageId,
    /// The slot on it.
    pub slot: u16,
}

impl Rid {
    /// Bytes of a row address in an index entry.
    pub const BYTES: usize = 8;

    /// The encoding in index entries and forwarding stubs.
    pub fn to_bytes(self) -> [u8; Rid::BYTES] {
        let mut bytes = [0; Rid::BYTES];
        bytes[..6].copy_from_slice(&self.page.to_bytes());
        bytes[6..].copy_from_slice(&self.slot.to_le_bytes());
        debug_assert_eq!(Rid::from_bytes(&bytes), Some(self), "what is written can be read back");
        bytes
    }

    /// The inverse, of the first 8 bytes; `None` when there are fewer.
    pub fn from_bytes(bytes: &[u8]) -> Option<Rid> {
        let [a, b, c, d, e, f, g, h] = *bytes.first_chunk::<{ Rid::BYTES }>()?;
        Some(Rid { page: PageId::from_bytes([a, b, c, d, e, f]), slot: u16::from_le_bytes([g, h]) })
    }
}
