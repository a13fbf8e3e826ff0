//! Collations: how character values compare, sort, hash and match.

/// A collation by its number in the table of those known; `DEFAULT` is SQL_Latin1_General_CP1_CI_AS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Collation(u8);

impl Default for Collation {
    fn default() -> Self {
        Collation::DEFAULT
    }
}

impl Collation {
    /// SQL_Latin1_General_CP1_CI_AS
    pub const DEFAULT: Collation = Collation(0);

    /// Appends the memcomparable key of `value`: byte order of keys is the order of [`crate::sort_compare`] under this
    /// collation, NULL first, and no key is a prefix of another, so that keys of several columns may be joined.
    pub fn key(self, value: &crate::Value, out: &mut Vec<u8>) {
        let _ = (value, out);
        todo!("next landing")
    }

    /// The collation of a name, in any letter case.
    pub fn by_name(name: &str) -> Option<Collation> {
        let _ = name;
        todo!("next landing")
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        todo!("next landing")
    }

    /// The five bytes of the wire: LCID and flags (4, little-endian), sort id.
    pub fn tds_bytes(self) -> [u8; 5] {
        todo!("next landing")
    }

    /// The collation of five wire bytes; the default when they name none that is known.
    pub fn from_tds_bytes(bytes: [u8; 5]) -> Collation {
        let _ = bytes;
        todo!("next landing")
    }

    /// Does `text` match the LIKE pattern (`%`, `_`, `[a-z]`, `[^a]`, escape character)? Both are Char or NChar values; NULL gives
    /// `None`.
    pub fn like(self, text: &crate::Value, pattern: &crate::Value, escape: Option<u16>) -> Option<bool> {
        let _ = (text, pattern, escape);
        todo!("next landing")
    }

    /// Do two identifiers name the same object under this collation?
    pub fn same_name(self, left: &str, right: &str) -> bool {
        let _ = (left, right);
        todo!("next landing")
    }

    /// An identifier folded so that [`Collation::same_name`] is equality of folded names (keys of name maps).
    pub fn fold_name(self, name: &str) -> String {
        let _ = name;
        todo!("next landing")
    }
}
