//! Collations: how character values compare, sort, hash and match.
//!
//! Three kinds. *SQL* collations order varchar by a table of 256 weights ([`sql_order`]) and nvarchar by the Windows rules; *Windows*
//! collations order both by those ([`unicode`]); *binary* ones by code. All ignore trailing blanks: the shorter string is compared
//! as if filled with blanks (claimed by the documentation of `=`, after ANSI SQL-92).

use std::cmp::Ordering;
use std::hash::Hasher;

use crate::Value;

mod alike;
mod binary;
mod known;
pub mod like;
mod sql_order;
pub mod unicode;

pub use known::{CollationInfo, all};
pub use like::LikePattern;

/// A collation by its number in the table of those known; `DEFAULT` is SQL_Latin1_General_CP1_CI_AS. The number is stable: it may
/// be stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Collation(u8);

impl Default for Collation {
    fn default() -> Self {
        Collation::DEFAULT
    }
}

/// The rules that a collation follows for one of the two kinds of string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rules {
    /// The weight table of the SQL collations (varchar only).
    Sql(sql_order::Sensitivity),
    /// Windows rules by levels.
    Unicode(unicode::Levels),
    /// By code.
    Binary,
    /// By code, but the old `_BIN` way for nvarchar: the first unit as a number, the rest as bytes.
    BinaryFirstUnit,
}

/// How the keys of varchar strings agree with comparisons of the same strings as nvarchar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyFit {
    /// Equal strings have equal keys, of either kind, and the order is the same.
    OneOrder,
    /// Strings that are equal as nvarchar are equal as varchar.
    OneEquality,
    /// Strings that are equal as nvarchar may differ as varchar (`ss` and `ß` under the SQL collations).
    Different,
}

impl Collation {
    /// SQL_Latin1_General_CP1_CI_AS
    pub const DEFAULT: Collation = Collation(0);
    /// Latin1_General_BIN2: by code; for catalogue columns and where order must not depend on language.
    pub const BIN2: Collation = Collation(1);

    /// The collation of a name, in any letter case; `None`: error 448.
    pub fn by_name(name: &str) -> Option<Collation> {
        all().iter().position(|info| info.name.eq_ignore_ascii_case(name)).map(|index| Collation(index as u8))
    }

    /// The collation of a stored number.
    pub fn by_id(id: u8) -> Option<Collation> {
        (usize::from(id) < all().len()).then_some(Collation(id))
    }

    /// The number under which it may be stored.
    pub fn id(self) -> u8 {
        self.0
    }

    /// Everything known of it.
    pub fn info(self) -> &'static CollationInfo {
        &all()[usize::from(self.0)]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Does it distinguish upper and lower case?
    pub fn is_case_sensitive(self) -> bool {
        self.info().case_sensitive || self.info().is_binary()
    }

    /// The five bytes of the wire: LCID and flags (4, little-endian), sort id.
    pub fn tds_bytes(self) -> [u8; 5] {
        self.info().tds_bytes()
    }

    /// How keys of varchar strings agree with comparisons with nvarchar.
    pub(crate) fn key_fit(self) -> KeyFit {
        match (self.info().char_rules(), self.info().nchar_rules()) {
            (Rules::Unicode(own), Rules::Unicode(wide)) if own == wide => KeyFit::OneOrder,
            (Rules::Sql(_), _) => KeyFit::Different,
            _ => KeyFit::OneEquality,
        }
    }

    /// Orders two varchar strings.
    #[inline]
    pub fn compare_bytes(self, left: &[u8], right: &[u8]) -> Ordering {
        match self.info().char_rules() {
            Rules::Sql(sensitivity) => sql_order::compare(left, right, sensitivity),
            Rules::Unicode(levels) => unicode::compare_bytes(left, right, levels),
            Rules::Binary | Rules::BinaryFirstUnit => binary::compare_bytes(left, right),
        }
    }

    /// Orders two nvarchar strings.
    #[inline]
    pub fn compare_units(self, left: &[u16], right: &[u16]) -> Ordering {
        match self.info().nchar_rules() {
            Rules::Unicode(levels) => unicode::compare(left, right, levels),
            Rules::BinaryFirstUnit => binary::compare_units_old(left, right),
            Rules::Binary | Rules::Sql(_) => binary::compare_units(left, right),
        }
    }

    /// ASCII letters and digits as keys of varchar strings have them.
    pub(crate) fn prefix_key_bytes(self, prefix: &[u8], out: &mut Vec<u8>) -> bool {
        match self.info().char_rules() {
            Rules::Sql(sensitivity) => sql_order::prefix_key(prefix, sensitivity, out),
            Rules::Unicode(_) => unicode::prefix_key(&widen(prefix), out),
            Rules::Binary | Rules::BinaryFirstUnit => return false,
        }
        true
    }

    /// ASCII letters and digits as keys of nvarchar strings have them.
    pub(crate) fn prefix_key_units(self, prefix: &[u16], out: &mut Vec<u8>) -> bool {
        match self.info().nchar_rules() {
            Rules::Unicode(_) => unicode::prefix_key(prefix, out),
            Rules::Sql(_) | Rules::Binary | Rules::BinaryFirstUnit => return false,
        }
        true
    }

    /// Appends the key of a varchar string (self-delimiting).
    pub(crate) fn key_bytes(self, text: &[u8], out: &mut Vec<u8>) {
        match self.info().char_rules() {
            Rules::Sql(sensitivity) => sql_order::key(text, sensitivity, out),
            Rules::Unicode(levels) => unicode::key(&widen(text), levels, out),
            Rules::Binary | Rules::BinaryFirstUnit => binary::key_bytes(text, out),
        }
    }

    /// Appends the key of an nvarchar string (self-delimiting).
    pub(crate) fn key_units(self, text: &[u16], out: &mut Vec<u8>) {
        match self.info().nchar_rules() {
            Rules::Unicode(levels) => unicode::key(text, levels, out),
            Rules::BinaryFirstUnit => binary::key_units_old(text, out),
            Rules::Binary | Rules::Sql(_) => binary::key_units(text, out),
        }
    }

    /// Hashes a varchar string: equal strings hash alike.
    pub(crate) fn hash_bytes<H: Hasher>(self, text: &[u8], state: &mut H) {
        match self.info().char_rules() {
            Rules::Sql(sensitivity) => sql_order::hash(text, sensitivity, state),
            Rules::Unicode(levels) => unicode::hash(&widen(text), levels, state),
            Rules::Binary | Rules::BinaryFirstUnit => state.write(binary::trim_bytes(text)),
        }
    }

    /// Hashes an nvarchar string: equal strings hash alike.
    pub(crate) fn hash_units<H: Hasher>(self, text: &[u16], state: &mut H) {
        match self.info().nchar_rules() {
            Rules::Unicode(levels) => unicode::hash(text, levels, state),
            _ => binary::trim_units(text).iter().for_each(|unit| state.write_u16(*unit)),
        }
    }

    /// A number for one varchar character such that equality and order of numbers are those of single characters: LIKE, CHARINDEX,
    /// REPLACE and ranges work with it.
    #[inline]
    pub fn byte_weight(self, byte: u8) -> u32 {
        match self.info().char_rules() {
            Rules::Sql(sensitivity) => sql_order::weight(byte, sensitivity),
            Rules::Unicode(levels) => unicode::single_weight(crate::codepage::decode_byte(byte), levels),
            Rules::Binary | Rules::BinaryFirstUnit => u32::from(byte),
        }
    }

    /// As [`Collation::byte_weight`], for a UTF-16 unit.
    #[inline]
    pub fn unit_weight(self, unit: u16) -> u32 {
        match self.info().nchar_rules() {
            Rules::Unicode(levels) => unicode::single_weight(unit, levels),
            _ => u32::from(unit),
        }
    }

    /// Does `text` match the LIKE pattern (`%`, `_`, `[a-z]`, `[^a]`, escape character)? Both are Char or NChar values; `None` when
    /// either is NULL. A pattern used many times is better compiled once: [`LikePattern::new`].
    pub fn like(self, text: &Value, pattern: &Value, escape: Option<u16>) -> Option<bool> {
        LikePattern::new(self, pattern, escape)?.matches(text)
    }

    /// Do two identifiers name the same object under this collation?
    pub fn same_name(self, left: &str, right: &str) -> bool {
        let (left, right) = (left.trim_end_matches(' '), right.trim_end_matches(' '));
        if self.is_case_sensitive() {
            return left == right;
        }
        left.eq_ignore_ascii_case(right)
            || (!(left.is_ascii() && right.is_ascii()) && left.to_lowercase() == right.to_lowercase())
    }

    /// An identifier folded so that [`Collation::same_name`] is equality of folded names (keys of name maps).
    pub fn fold_name(self, name: &str) -> String {
        let name = name.trim_end_matches(' ');
        if self.is_case_sensitive() { name.to_owned() } else { name.to_lowercase() }
    }
}

fn widen(text: &[u8]) -> Vec<u16> {
    crate::codepage::decode_units(text)
}
