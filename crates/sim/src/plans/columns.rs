//! Kinds of columns, the values that their rows have, and the constants that they are compared with.
//!
//! Values come in classes: the spellings of a class are equal under some collation ('a', 'A ', 'á'). A column has one spelling of each class, so that
//! DISTINCT and GROUP BY have one answer; two columns may spell a class differently.

use os::Rng;

/// Which types are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Number,
    Text,
    Binary,
    Moment,
    Time,
    Guid,
}

/// A type and the collations that a column of it may have.
pub(super) struct Kind {
    pub(super) declared: &'static str,
    pub(super) family: Family,
    /// The longest value, of texts and binaries.
    length: usize,
    /// Equal values are the same in every respect.
    pub(super) has_one_form: bool,
    pub(super) is_integer: bool,
}

const fn number(declared: &'static str, is_integer: bool) -> Kind {
    Kind { declared, family: Family::Number, length: 0, has_one_form: true, is_integer }
}

const fn sized(declared: &'static str, family: Family, length: usize) -> Kind {
    Kind { declared, family, length, has_one_form: false, is_integer: false }
}

const fn plain(declared: &'static str, family: Family, has_one_form: bool) -> Kind {
    Kind { declared, family, length: 0, has_one_form, is_integer: false }
}

/// What columns and variables are declared as.
pub(super) const KINDS: [Kind; 31] = [
    number("bit", false),
    number("tinyint", true),
    number("smallint", true),
    number("int", true),
    number("bigint", true),
    number("decimal(5,2)", false),
    number("decimal(9,0)", false),
    number("decimal(18,6)", false),
    number("money", false),
    number("smallmoney", false),
    plain("real", Family::Number, false),
    plain("float", Family::Number, false),
    sized("char(4)", Family::Text, 4),
    sized("varchar(3)", Family::Text, 3),
    sized("varchar(6)", Family::Text, 6),
    sized("nchar(3)", Family::Text, 3),
    sized("nvarchar(4)", Family::Text, 4),
    sized("nvarchar(6)", Family::Text, 6),
    sized("varchar(3)", Family::Text, 3),
    sized("binary(2)", Family::Binary, 2),
    sized("varbinary(3)", Family::Binary, 3),
    plain("date", Family::Moment, true),
    plain("datetime", Family::Moment, true),
    plain("smalldatetime", Family::Moment, true),
    plain("datetime2(0)", Family::Moment, true),
    plain("datetime2(3)", Family::Moment, true),
    plain("datetime2(7)", Family::Moment, true),
    plain("datetimeoffset(3)", Family::Moment, false),
    plain("time(0)", Family::Time, true),
    plain("time(3)", Family::Time, true),
    plain("uniqueidentifier", Family::Guid, true),
];

/// Of text columns: the database's own, and others.
const COLLATIONS: [&str; 7] = [
    "",
    "",
    "Latin1_General_CI_AS",
    "Latin1_General_CS_AS",
    "Latin1_General_CI_AI",
    "Latin1_General_BIN2",
    "SQL_Latin1_General_CP1_CS_AS",
];

const NUMBERS: &[&[&str]] = &[
    &["0"],
    &["1"],
    &["-1"],
    &["2"],
    &["3"],
    &["10"],
    &["127"],
    &["255"],
    &["1.5"],
    &["2.25"],
    &["0.01"],
    &["99.99"],
    &["100"],
    &["-40"],
];
const TEXTS: &[&[&str]] = &[
    &["''", "' '"],
    &["'a'", "'A'", "'a '", "'á'", "'Á '"],
    &["'aa'", "'AA'", "'Aa '"],
    &["'ab'", "'AB'", "'aB'"],
    &["'abc'", "'ABC'", "'abc '"],
    &["'abcd'", "'ABCD'"],
    &["'b'", "'B'", "'b  '"],
    &["'z'", "'Z '"],
    &["'1'"],
    &["'10'"],
    &["'-'"],
    &["'ss'", "'SS'"],
    &["'ac'", "'AC'"],
];
const BINARIES: &[&[&str]] =
    &[&["0x", "0x00"], &["0x01", "0x0100"], &["0x0102", "0x010200"], &["0xFF"], &["0x010203"], &["0x80"]];
const MOMENTS: &[&[&str]] = &[
    &["'2020-01-01'"],
    &["'2020-01-01T12:00:00'"],
    &["'2020-01-01T12:00:00.003'"],
    &["'2020-06-15T23:59:59'"],
    &["'1999-12-31'"],
    &["'2020-01-01T11:59:59.997'"],
    &["'2020-01-02'"],
];
const TIMES: &[&[&str]] = &[
    &["'00:00:00'"],
    &["'12:00:00'"],
    &["'23:59:59'"],
    &["'23:59:59.997'"],
    &["'12:00:00.5'"],
    &["'12:00:01'"],
];
const GUIDS: &[&[&str]] = &[
    &["'00000000-0000-0000-0000-000000000000'"],
    &["'6F9619FF-8B86-D011-B42D-00C04FC964FF'"],
    &["'0E984725-C51C-4BF4-9960-E1C80E27ABA0'"],
];

/// Constants beside the values themselves: of other types, out of range, between two values, longer than any value.
const OTHER_NUMBERS: [&str; 22] = [
    "256",
    "-129",
    "32768",
    "2147483648",
    "9999999999999999999",
    "1.005",
    "0.999999",
    "1e0",
    "1.5e0",
    "2e10",
    "'1'",
    "' 2 '",
    "CAST(2 AS bit)",
    "CAST(1 AS money)",
    "CAST(1.5 AS float)",
    "CAST(0.1 AS real)",
    "CAST(3 AS tinyint)",
    "1.50",
    "99.995",
    "-0.5",
    "CAST(10 AS bigint)",
    "2.250001",
];
const OTHER_TEXTS: [&str; 16] = [
    "'abcde'",
    "'abcdefgh'",
    "'ab '",
    "'a  '",
    "N'a'",
    "N'AB'",
    "N'abcd '",
    "'ä'",
    "N'á'",
    "CAST('ab' AS char(8))",
    "CAST('abc' AS varchar(2))",
    "'aaaaaaaa'",
    "'zzzz'",
    "N'a-b'",
    "CAST('a' AS nchar(5))",
    "N'ß'",
];
const OTHER_BINARIES: [&str; 6] =
    ["0x01020304", "0x0000", "0x010000", "0xFFFFFFFF", "CAST(1 AS binary(2))", "0x02"];
const OTHER_MOMENTS: [&str; 12] = [
    "CAST('2020-01-01T12:00:00.0000001' AS datetime2(7))",
    "CAST('2020-01-01T12:00:00.0034' AS datetime2(7))",
    "CAST('2020-01-01' AS date)",
    "CAST('2020-01-01T12:00:00.003' AS datetime)",
    "CAST('2020-01-01T12:00:00' AS smalldatetime)",
    "CAST('2020-01-01T14:00:00+02:00' AS datetimeoffset(0))",
    "CAST('0001-01-01' AS datetime2(0))",
    "CAST('9999-12-31' AS date)",
    "'2020-01-01 12:00'",
    "'20200102'",
    "CAST('1753-01-01' AS datetime)",
    "CAST('2020-06-15T23:59:59.5' AS datetime2(1))",
];
const OTHER_TIMES: [&str; 5] = [
    "CAST('23:59:59.9999999' AS time(7))",
    "CAST('12:00:00.4999' AS time(4))",
    "'12:00'",
    "CAST('12:00' AS time(0))",
    "'23:59:59.999'",
];
const OTHER_GUIDS: [&str; 2] = [
    "'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'",
    "CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier)",
];

/// One of several.
pub(super) fn pick<'a, T>(rng: &mut Rng, list: &'a [T]) -> &'a T {
    &list[rng.below(list.len() as u64) as usize]
}

fn classes(family: Family) -> &'static [&'static [&'static str]] {
    match family {
        Family::Number => NUMBERS,
        Family::Text => TEXTS,
        Family::Binary => BINARIES,
        Family::Moment => MOMENTS,
        Family::Time => TIMES,
        Family::Guid => GUIDS,
    }
}

/// A column of a table.
#[derive(Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: &'static Kind,
    pub(super) collation: &'static str,
    is_nullable: bool,
    /// A spelling of each class that its type has room for.
    spellings: Vec<&'static str>,
}

impl Column {
    /// One of any kind.
    pub(super) fn draw(rng: &mut Rng, number: usize) -> Column {
        let kind = pick(rng, &KINDS);
        let collation = match kind.family {
            Family::Text => pick(rng, &COLLATIONS),
            _ => "",
        };
        let has_room = |spelling: &&&str| match kind.family {
            Family::Text => spelling.chars().count() - 2 <= kind.length,
            Family::Binary => (spelling.len() - 2) / 2 <= kind.length,
            _ => true,
        };
        let mut spellings = Vec::new();
        for class in classes(kind.family) {
            let fitting: Vec<&&str> = class.iter().filter(has_room).collect();
            // Some columns have few values.
            if !fitting.is_empty() && rng.chance(3, 4) {
                spellings.push(**pick(rng, &fitting));
            }
        }
        if spellings.is_empty() {
            spellings.push(classes(kind.family)[0][0]);
        }
        Column { name: format!("c{number}"), kind, collation, is_nullable: rng.chance(2, 3), spellings }
    }

    /// An integer that nothing is NULL in.
    pub(super) fn integer(name: &str) -> Column {
        let spellings = vec!["0", "1", "2", "3", "10"];
        Column { name: name.to_owned(), kind: &KINDS[3], collation: "", is_nullable: false, spellings }
    }

    /// Its definition in CREATE TABLE.
    pub(super) fn definition(&self) -> String {
        let collate =
            if self.collation.is_empty() { String::new() } else { format!(" COLLATE {}", self.collation) };
        let null = if self.is_nullable { "NULL" } else { "NOT NULL" };
        format!("{} {}{collate} {null}", self.name, self.kind.declared)
    }

    /// A value of it.
    pub(super) fn value(&self, rng: &mut Rng) -> String {
        if self.is_nullable && rng.chance(1, 6) {
            return "NULL".to_owned();
        }
        let (prefix, declared) = (self.prefix(), self.kind.declared);
        let spelling = pick(rng, &self.spellings);
        let first = self.spellings[0];
        match self.kind.family {
            Family::Number => {
                format!("COALESCE(TRY_CAST({spelling} AS {declared}), TRY_CAST({first} AS {declared}), 0)")
            }
            _ => format!("CAST({prefix}{spelling} AS {declared})"),
        }
    }

    fn prefix(&self) -> &'static str {
        if self.kind.family == Family::Text && self.kind.declared.starts_with('n') { "N" } else { "" }
    }

    /// What it is compared with: one of its values, of the same class in another spelling, or anything else of its family.
    pub(super) fn constant(&self, rng: &mut Rng) -> String {
        constant(rng, self.kind.family, Some(&self.spellings))
    }
}

/// A constant of a family; one of these values in every second case.
pub(super) fn constant(rng: &mut Rng, family: Family, own: Option<&[&'static str]>) -> String {
    if rng.chance(1, 30) {
        return "NULL".to_owned();
    }
    if let Some(own) = own.filter(|_| rng.chance(1, 2)) {
        let spelling: &&str = pick(rng, own);
        return quoted(family, spelling);
    }
    if rng.chance(1, 2) {
        let class: &&[&str] = pick(rng, classes(family));
        let spelling: &&str = pick(rng, class);
        return quoted(family, spelling);
    }
    let others: &[&str] = match family {
        Family::Number => &OTHER_NUMBERS,
        Family::Text => &OTHER_TEXTS,
        Family::Binary => &OTHER_BINARIES,
        Family::Moment => &OTHER_MOMENTS,
        Family::Time => &OTHER_TIMES,
        Family::Guid => &OTHER_GUIDS,
    };
    (*pick(rng, others)).to_owned()
}

/// Letters beyond ASCII need the prefix of national texts.
fn quoted(family: Family, spelling: &str) -> String {
    let is_national = family == Family::Text && !spelling.is_ascii();
    if is_national { format!("N{spelling}") } else { spelling.to_owned() }
}

/// A type of a family, for a variable.
pub(super) fn declared(rng: &mut Rng, family: Family) -> &'static str {
    let own: Vec<&Kind> = KINDS.iter().filter(|kind| kind.family == family).collect();
    pick(rng, &own).declared
}
