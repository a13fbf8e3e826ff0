//! The collations known by name, with their numbers on the wire.

use super::Rules;
use super::sql_order::Sensitivity;
use super::unicode::Levels;

/// How a collation treats varchar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Sql,
    Windows,
    Bin,
    Bin2,
}

/// The facts of a collation: `sys.fn_helpcollations`, COLLATIONPROPERTY, the wire.
#[derive(Clone, Copy, Debug)]
pub struct CollationInfo {
    /// The name, as SQL Server spells it.
    pub name: &'static str,
    /// Windows locale id.
    pub lcid: u32,
    /// Sort order number of the old SQL collations, 0 for Windows collations.
    pub sort_id: u8,
    /// 0: the first Windows collations; 1: `_90_`; 2: `_100_`; 3: `_140_`.
    pub version: u8,
    /// Upper and lower case differ.
    pub case_sensitive: bool,
    /// Accents matter.
    pub accent_sensitive: bool,
    /// Hiragana and katakana differ.
    pub kana_sensitive: bool,
    /// Half and full width differ.
    pub width_sensitive: bool,
    kind: Kind,
}

const fn sql(name: &'static str, sort_id: u8, case_sensitive: bool, accent_sensitive: bool) -> CollationInfo {
    CollationInfo {
        name,
        lcid: 0x0409,
        sort_id,
        version: 0,
        case_sensitive,
        accent_sensitive,
        kana_sensitive: false,
        width_sensitive: false,
        kind: Kind::Sql,
    }
}

const fn windows(
    name: &'static str,
    version: u8,
    case: bool,
    accent: bool,
    kana: bool,
    width: bool,
) -> CollationInfo {
    CollationInfo {
        name,
        lcid: 0x0409,
        sort_id: 0,
        version,
        case_sensitive: case,
        accent_sensitive: accent,
        kana_sensitive: kana,
        width_sensitive: width,
        kind: Kind::Windows,
    }
}

const fn binary(name: &'static str, version: u8, kind: Kind) -> CollationInfo {
    let mut info = windows(name, version, true, true, true, true);
    info.kind = kind;
    info
}

/// Append only: positions are stored as collation numbers.
const KNOWN: &[CollationInfo] = &[
    sql("SQL_Latin1_General_CP1_CI_AS", 52, false, true),
    binary("Latin1_General_BIN2", 0, Kind::Bin2),
    sql("SQL_Latin1_General_CP1_CS_AS", 51, true, true),
    sql("SQL_Latin1_General_CP1_CI_AI", 54, false, false),
    sql("SQL_Latin1_General_Pref_CP1_CI_AS", 53, false, true),
    binary("Latin1_General_BIN", 0, Kind::Bin),
    windows("Latin1_General_CI_AS", 0, false, true, false, false),
    windows("Latin1_General_CS_AS", 0, true, true, false, false),
    windows("Latin1_General_CI_AI", 0, false, false, false, false),
    windows("Latin1_General_CS_AI", 0, true, false, false, false),
    windows("Latin1_General_CI_AS_KS", 0, false, true, true, false),
    windows("Latin1_General_CI_AS_WS", 0, false, true, false, true),
    windows("Latin1_General_CI_AS_KS_WS", 0, false, true, true, true),
    windows("Latin1_General_CS_AS_KS", 0, true, true, true, false),
    windows("Latin1_General_CS_AS_WS", 0, true, true, false, true),
    windows("Latin1_General_CS_AS_KS_WS", 0, true, true, true, true),
    binary("Latin1_General_100_BIN2", 2, Kind::Bin2),
    binary("Latin1_General_100_BIN", 2, Kind::Bin),
    windows("Latin1_General_100_CI_AS", 2, false, true, false, false),
    windows("Latin1_General_100_CS_AS", 2, true, true, false, false),
    windows("Latin1_General_100_CI_AI", 2, false, false, false, false),
    windows("Latin1_General_100_CS_AI", 2, true, false, false, false),
    windows("Latin1_General_100_CI_AS_KS_WS", 2, false, true, true, true),
    windows("Latin1_General_100_CS_AS_KS_WS", 2, true, true, true, true),
    windows("Latin1_General_100_CI_AS_SC", 2, false, true, false, false),
    windows("Latin1_General_100_CS_AS_SC", 2, true, true, false, false),
    windows("Latin1_General_100_CI_AI_SC", 2, false, false, false, false),
    windows("Latin1_General_100_CS_AI_SC", 2, true, false, false, false),
];

/// Every collation known, in the order of their numbers.
pub fn all() -> &'static [CollationInfo] {
    KNOWN
}

impl CollationInfo {
    /// `_BIN` or `_BIN2`?
    pub fn is_binary(&self) -> bool {
        matches!(self.kind, Kind::Bin | Kind::Bin2)
    }

    /// COLLATIONPROPERTY(..., 'ComparisonStyle'): bit 0 case, 1 accent, 16 kana, 17 width ignored.
    pub fn comparison_style(&self) -> i32 {
        if self.is_binary() {
            return 0;
        }
        i32::from(!self.case_sensitive)
            | i32::from(!self.accent_sensitive) << 1
            | i32::from(!self.kana_sensitive) << 16
            | i32::from(!self.width_sensitive) << 17
    }

    /// The description in the form of `sys.fn_helpcollations`.
    pub fn description(&self) -> String {
        if self.is_binary() {
            return "Latin1-General, binary sort".to_owned();
        }
        let word = |on: bool, what: &str| format!("{what}-{}", if on { "sensitive" } else { "insensitive" });
        format!(
            "Latin1-General, {}, {}, {}, {}",
            word(self.case_sensitive, "case"),
            word(self.accent_sensitive, "accent"),
            word(self.kana_sensitive, "kanatype"),
            word(self.width_sensitive, "width"),
        )
    }

    pub(super) fn tds_bytes(&self) -> [u8; 5] {
        let mut word = self.lcid | u32::from(self.version) << 28;
        if !self.is_binary() {
            word |= u32::from(!self.case_sensitive) << 20
                | u32::from(!self.accent_sensitive) << 21
                | u32::from(!self.kana_sensitive) << 22
                | u32::from(!self.width_sensitive) << 23;
        }
        word |= u32::from(self.kind == Kind::Bin) << 24 | u32::from(self.kind == Kind::Bin2) << 25;
        let [a, b, c, d] = word.to_le_bytes();
        [a, b, c, d, self.sort_id]
    }

    pub(super) fn char_rules(&self) -> Rules {
        match self.kind {
            Kind::Sql if self.case_sensitive => Rules::Sql(Sensitivity::CaseAndAccent),
            Kind::Sql if self.accent_sensitive => Rules::Sql(Sensitivity::Accent),
            Kind::Sql => Rules::Sql(Sensitivity::Base),
            _ => self.nchar_rules(),
        }
    }

    pub(super) fn nchar_rules(&self) -> Rules {
        match self.kind {
            Kind::Bin => Rules::BinaryFirstUnit,
            Kind::Bin2 => Rules::Binary,
            Kind::Sql | Kind::Windows => Rules::Unicode(Levels {
                case: self.case_sensitive,
                accent: self.accent_sensitive,
                kana: self.kana_sensitive,
                width: self.width_sensitive,
            }),
        }
    }
}
