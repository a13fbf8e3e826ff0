//! The values that columns have, and other constants that they are compared with.
//!
//! Values come in classes: the spellings of a class are equal under some collation ('a', 'A ', 'á').

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

/// One of several.
pub(super) fn pick<'a, T>(rng: &mut Rng, list: &'a [T]) -> &'a T {
    &list[rng.below(list.len() as u64) as usize]
}

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
    &["'a-b'", "'A-B'"],
    &["'-a'"],
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
const OTHER_TEXTS: [&str; 18] = [
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
    "N'-b'",
    "N'a-'",
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

/// The classes of a family: the spellings of one are equal under some collation.
pub(super) fn classes(family: Family) -> &'static [&'static [&'static str]] {
    match family {
        Family::Number => NUMBERS,
        Family::Text => TEXTS,
        Family::Binary => BINARIES,
        Family::Moment => MOMENTS,
        Family::Time => TIMES,
        Family::Guid => GUIDS,
    }
}

/// A constant a little beside a value: with more digits, finer or longer than a column of the type has room for.
pub(super) fn near(
    rng: &mut Rng,
    (family, declared, length): (Family, &str, usize),
    spelling: &str,
) -> String {
    let plain = spelling.trim_matches('\'');
    match family {
        Family::Number => {
            let point = if plain.contains('.') { "" } else { "." };
            let digits = pick(rng, &["004", "0000001", "006", "5", "00049"]);
            format!("{plain}{point}{digits}")
        }
        Family::Moment => {
            let of_type = match declared.split('(').next() {
                Some("datetime2") => "datetime2(7)",
                Some("datetimeoffset") => "datetimeoffset(7)",
                _ => *pick(rng, &["datetime2(7)", "datetimeoffset(7)", "datetime"]),
            };
            let shift = pick(rng, &["100", "-100", "400000", "600000", "2000000", "-600000000"]);
            format!("CAST(DATEADD(ns, {shift}, CAST('{plain}' AS datetime2(7))) AS {of_type})")
        }
        Family::Time => {
            let fraction = if plain.contains('.') { "0004" } else { ".0004" };
            format!("CAST('{plain}{fraction}' AS time(7))")
        }
        Family::Text => format!("'{plain:<length$}{}'", pick(rng, &["a", " ", "-", "zzzz"])),
        Family::Binary => {
            format!("{plain}{}01", "00".repeat((2 + 2 * length).saturating_sub(plain.len()) / 2))
        }
        Family::Guid => spelling.to_owned(),
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
pub(super) fn quoted(family: Family, spelling: &str) -> String {
    let is_national = family == Family::Text && !spelling.is_ascii();
    if is_national { format!("N{spelling}") } else { spelling.to_owned() }
}
