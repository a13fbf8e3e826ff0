//! The Windows rules for nvarchar (and for varchar under Windows collations), by levels: letters, then accents, then case, kana and
//! width, then hyphens and apostrophes, which the word sort ignores at first (`coop` < `co-op` < `cork`).
//!
//! Latin letters to U+017F have weights by table, with ligatures taken apart (ß = ss, æ = ae, þ = th); combining accents join the
//! letter before them; every other character orders by its lower-case code. That is an approximation of Windows' tables for scripts
//! other than Latin (equality by case is right, the order within a script is by code), and deliberately differs from version 80 of
//! them, which gives no weight at all to characters unknown in 1999, so that all emoji are equal to nothing. See
//! docs/decisions for why no library is behind it.

use std::cmp::Ordering;
use std::hash::Hasher;

use super::alike::{Unit, against_blanks, alike, behind_blanks};
use crate::codepage::decode_units;

/// Which levels count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Levels {
    pub case: bool,
    pub accent: bool,
    pub kana: bool,
    pub width: bool,
}

/// The weights of one character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Weight {
    /// Letter; 0 when the character has none of its own.
    primary: u32,
    /// Accent; `PLAIN` without.
    secondary: u8,
    /// Case, kana and width bits over `PLAIN`.
    tertiary: u8,
}

const PLAIN: u8 = 2;
const UPPER: u8 = 1;
const KATAKANA: u8 = 4;
const WIDE: u8 = 8;

// Bands of primary weights.
const BLANK: u32 = 0x0101;
const PUNCTUATION: u32 = 0x0110;
const GENERAL_PUNCTUATION: u32 = 0x0180;
const SYMBOLS: u32 = 0x0200;
const CURRENCY: u32 = 0x0D10;
const DIGITS: u32 = 0x0E00;
const LATIN: u32 = 0x0F00;
const OTHERS: u32 = 0x1000;

/// ASCII and Latin-1 punctuation in the order of Windows' tables: white space, punctuation, then signs of arithmetic.
const PUNCTUATION_ORDER: &[u16] = &[
    0x09,
    0x0A,
    0x0B,
    0x0C,
    0x0D,
    0x85,
    0xA0,
    b'_' as u16,
    b'!' as u16,
    0xA1,
    b'"' as u16,
    b'#' as u16,
    b'%' as u16,
    b'&' as u16,
    b'(' as u16,
    b')' as u16,
    b'*' as u16,
    b',' as u16,
    b'.' as u16,
    b'/' as u16,
    b':' as u16,
    b';' as u16,
    b'?' as u16,
    0xBF,
    b'@' as u16,
    b'[' as u16,
    b'\\' as u16,
    b']' as u16,
    b'^' as u16,
    b'`' as u16,
    b'{' as u16,
    b'|' as u16,
    b'}' as u16,
    b'~' as u16,
    0xA6,
    0xA8,
    0xAF,
    0xB4,
    0xB8,
    0xB7,
    0xAB,
    0xBB,
    0xA7,
    0xA9,
    0xAC,
    0xAE,
    0xB0,
    0xB5,
    0xB6,
    b'+' as u16,
    0xB1,
    b'<' as u16,
    b'=' as u16,
    b'>' as u16,
    0xD7,
    0xF7,
];

/// Base letter, then its accented forms in lower case as (unit, accent); upper case is found by its pair.
const ACCENTED: &[(u8, &[(u16, u8)])] = &[
    (
        b'a',
        &[
            (0xE1, 14),
            (0xE0, 15),
            (0xE2, 18),
            (0xE4, 19),
            (0xE3, 25),
            (0xE5, 26),
            (0x101, 23),
            (0x103, 21),
            (0x105, 27),
            (0xAA, 3),
        ],
    ),
    (b'c', &[(0xE7, 28), (0x107, 14), (0x109, 18), (0x10B, 16), (0x10D, 20)]),
    (b'd', &[(0x10F, 20), (0x111, 30), (0xF0, 40)]),
    (
        b'e',
        &[
            (0xE9, 14),
            (0xE8, 15),
            (0xEA, 18),
            (0xEB, 19),
            (0x113, 23),
            (0x115, 21),
            (0x117, 16),
            (0x119, 27),
            (0x11B, 20),
        ],
    ),
    (b'g', &[(0x11D, 18), (0x11F, 21), (0x121, 16), (0x123, 28)]),
    (b'h', &[(0x125, 18), (0x127, 30)]),
    (
        b'i',
        &[
            (0xED, 14),
            (0xEC, 15),
            (0xEE, 18),
            (0xEF, 19),
            (0x129, 25),
            (0x12B, 23),
            (0x12D, 21),
            (0x12F, 27),
            (0x131, 3),
        ],
    ),
    (b'j', &[(0x135, 18)]),
    (b'k', &[(0x137, 28)]),
    (b'l', &[(0x13A, 14), (0x13C, 28), (0x13E, 20), (0x140, 17), (0x142, 30)]),
    (b'n', &[(0xF1, 25), (0x144, 14), (0x146, 28), (0x148, 20)]),
    (
        b'o',
        &[
            (0xF3, 14),
            (0xF2, 15),
            (0xF4, 18),
            (0xF6, 19),
            (0xF5, 25),
            (0xF8, 30),
            (0x14D, 23),
            (0x14F, 21),
            (0x151, 29),
            (0xBA, 3),
        ],
    ),
    (b'r', &[(0x155, 14), (0x157, 28), (0x159, 20)]),
    (b's', &[(0x15B, 14), (0x15D, 18), (0x15F, 28), (0x161, 20), (0x17F, 3)]),
    (b't', &[(0x163, 28), (0x165, 20), (0x167, 30)]),
    (
        b'u',
        &[
            (0xFA, 14),
            (0xF9, 15),
            (0xFB, 18),
            (0xFC, 19),
            (0x169, 25),
            (0x16B, 23),
            (0x16D, 21),
            (0x16F, 26),
            (0x171, 29),
            (0x173, 27),
        ],
    ),
    (b'w', &[(0x175, 18)]),
    (b'y', &[(0xFD, 14), (0xFF, 19), (0x177, 18)]),
    (b'z', &[(0x17A, 14), (0x17C, 16), (0x17E, 20)]),
];

const TABLE_END: usize = 0x180;
static TABLE: [Weight; TABLE_END] = build();

const fn build() -> [Weight; TABLE_END] {
    let none = Weight { primary: 0, secondary: PLAIN, tertiary: PLAIN };
    let mut table = [none; TABLE_END];
    table[0x20].primary = BLANK;
    let mut index = 0;
    while index < PUNCTUATION_ORDER.len() {
        table[PUNCTUATION_ORDER[index] as usize].primary = PUNCTUATION + index as u32;
        index += 1;
    }
    let currencies = [0xA4u16, 0xA2, b'$' as u16, 0xA3, 0xA5];
    index = 0;
    while index < currencies.len() {
        table[currencies[index] as usize].primary = CURRENCY - 0x10 + index as u32;
        index += 1;
    }
    index = 0;
    while index < 10 {
        table[0x30 + index].primary = DIGITS + 8 * index as u32;
        index += 1;
    }
    let raised: [(usize, u32); 6] = [(0xB9, 1), (0xB2, 2), (0xB3, 3), (0xBC, 0), (0xBD, 0), (0xBE, 0)];
    index = 0;
    while index < raised.len() {
        let (unit, digit) = raised[index];
        table[unit].primary = DIGITS + 8 * digit + if unit > 0xBB { 1 + (unit - 0xBB) as u32 } else { 0 };
        table[unit].secondary = PLAIN + 1;
        index += 1;
    }
    index = 0;
    while index < 26 {
        table[0x61 + index].primary = LATIN + 8 * index as u32;
        table[0x41 + index].primary = LATIN + 8 * index as u32;
        table[0x41 + index].tertiary = PLAIN + UPPER;
        index += 1;
    }
    index = 0;
    while index < ACCENTED.len() {
        let (base, forms) = ACCENTED[index];
        let mut form = 0;
        while form < forms.len() {
            let (unit, accent) = forms[form];
            let weight =
                Weight { primary: table[base as usize].primary, secondary: PLAIN + accent, tertiary: PLAIN };
            table[unit as usize] = weight;
            let upper = upper_of(unit);
            if upper != unit {
                table[upper as usize] = Weight { tertiary: PLAIN + UPPER, ..weight };
            }
            form += 1;
        }
        index += 1;
    }
    // Dotted capital I, Y with diaeresis: their pairs do not follow the rule.
    table[0x130] = Weight { primary: table[0x69].primary, secondary: PLAIN + 16, tertiary: PLAIN + UPPER };
    table[0x178] = Weight { primary: table[0x79].primary, secondary: PLAIN + 19, tertiary: PLAIN + UPPER };
    // Letters of their own: kra, n preceded by apostrophe, eng.
    table[0x138].primary = LATIN + 8 * 10 + 4;
    table[0x149] = Weight { primary: table[0x6E].primary, secondary: PLAIN + 41, tertiary: PLAIN };
    table[0x14B].primary = LATIN + 8 * 13 + 4;
    table[0x14A] = Weight { primary: LATIN + 8 * 13 + 4, secondary: PLAIN, tertiary: PLAIN + UPPER };
    table
}

const fn upper_of(unit: u16) -> u16 {
    match unit {
        0xE0..=0xFE => unit - 0x20,
        0xAA | 0xBA | 0xFF | 0x131 | 0x17F => unit,
        // In Latin Extended-A pairs are (even, odd), but (odd, even) from U+0139 and from U+0179.
        0x13A..=0x148 | 0x17A..=0x17E => unit - 1,
        _ => unit - 1,
    }
}

/// Ligatures and digraphs: the two letters that they sort as.
fn expansion(unit: u16) -> Option<(u8, u8)> {
    Some(match unit {
        0xDF => (b's', b's'),
        0xE6 => (b'a', b'e'),
        0xC6 => (b'A', b'E'),
        0x153 => (b'o', b'e'),
        0x152 => (b'O', b'E'),
        0xFE => (b't', b'h'),
        0xDE => (b'T', b'H'),
        0x133 => (b'i', b'j'),
        0x132 => (b'I', b'J'),
        _ => return None,
    })
}

/// Ignored at the main levels, distinguished at the last.
fn special(unit: u16) -> Option<u8> {
    Some(match unit {
        0x27 => 1,
        0x2D => 2,
        0xAD => 3,
        0x2010 => 4,
        0x2011 => 5,
        _ => return None,
    })
}

/// Characters without any weight: controls and joiners.
fn is_ignorable(unit: u16) -> bool {
    matches!(unit, 0..=8 | 0x0E..=0x1F | 0x7F..=0x84 | 0x86..=0x9F | 0x200B..=0x200F | 0xFEFF)
}

/// The accent that a combining character adds to the letter before it.
fn combining(unit: u16) -> Option<u8> {
    if !(0x300..=0x36F).contains(&unit) {
        return None;
    }
    Some(match unit {
        0x301 => 14,
        0x300 => 15,
        0x307 => 16,
        0x302 => 18,
        0x308 => 19,
        0x30C => 20,
        0x306 => 21,
        0x304 => 23,
        0x303 => 25,
        0x30A => 26,
        0x328 => 27,
        0x327 => 28,
        0x30B => 29,
        0x335..=0x338 => 30,
        _ => 50 + (unit & 0x3F) as u8,
    })
}

fn weigh(unit: u16) -> Weight {
    if usize::from(unit) < TABLE_END {
        return TABLE[usize::from(unit)];
    }
    let plain = |primary| Weight { primary, secondary: PLAIN, tertiary: PLAIN };
    match unit {
        0x2000..=0x200A | 0x3000 => plain(BLANK + 1 + u32::from(unit & 7)),
        0x2012..=0x206F => plain(GENERAL_PUNCTUATION + u32::from(unit - 0x2000)),
        0x20A0..=0x20CF => plain(CURRENCY + u32::from(unit - 0x20A0)),
        0x2100..=0x2BFF => plain(SYMBOLS + u32::from(unit - 0x2100)),
        0xFF01..=0xFF5E => {
            let narrow = TABLE[usize::from(unit - 0xFEE0)];
            let primary = if narrow.primary == 0 { u32::from(unit) } else { narrow.primary };
            Weight { primary, tertiary: narrow.tertiary | WIDE, ..narrow }
        }
        0x30A1..=0x30F6 => Weight { tertiary: PLAIN | KATAKANA, ..plain(OTHERS + u32::from(unit - 0x60)) },
        _ => {
            let lower = lower_unit(unit);
            let tertiary = if lower == unit { PLAIN } else { PLAIN + UPPER };
            let inside = if usize::from(lower) < TABLE_END {
                TABLE[usize::from(lower)]
            } else {
                plain(OTHERS + u32::from(lower))
            };
            Weight { tertiary, ..inside }
        }
    }
}

/// The lower-case form of a unit by Unicode's simple mapping.
pub fn lower_unit(unit: u16) -> u16 {
    let Some(c) = char::from_u32(u32::from(unit)) else { return unit };
    match c.to_lowercase().collect::<Vec<_>>().as_slice() {
        [one] => u16::try_from(u32::from(*one)).unwrap_or(unit),
        _ => unit,
    }
}

/// The characters of a string as weights: ignorables left out, ligatures taken apart, accents joined.
struct Elements<'a> {
    rest: &'a [u16],
    pending: Option<Weight>,
}

impl<'a> Elements<'a> {
    fn new(text: &'a [u16]) -> Self {
        Elements { rest: text, pending: None }
    }
}

impl Iterator for Elements<'_> {
    type Item = Weight;

    #[inline]
    fn next(&mut self) -> Option<Weight> {
        if let Some(weight) = self.pending.take() {
            return Some(weight);
        }
        loop {
            let (first, rest) = self.rest.split_first()?;
            self.rest = rest;
            if *first < 0x80 && rest.first().is_none_or(|next| *next < 0x80) {
                let weight = TABLE[usize::from(*first)];
                if weight.primary == 0 {
                    continue;
                }
                return Some(weight);
            }
            if is_ignorable(*first) || special(*first).is_some() {
                continue;
            }
            if let Some((one, two)) = expansion(*first) {
                self.pending = Some(TABLE[usize::from(two)]);
                return Some(TABLE[usize::from(one)]);
            }
            let mut weight = match combining(*first) {
                // An accent with no letter before it: a character of its own.
                Some(_) => Weight { primary: OTHERS + u32::from(*first), secondary: PLAIN, tertiary: PLAIN },
                None => weigh(*first),
            };
            while let Some(accent) = self.rest.first().and_then(|unit| combining(*unit)) {
                weight.secondary = weight.secondary.saturating_add(accent);
                self.rest = &self.rest[1..];
            }
            return Some(weight);
        }
    }
}

impl Levels {
    fn tertiary_mask(self) -> u8 {
        if !(self.case || self.kana || self.width) {
            return 0;
        }
        // PLAIN (2) and UPPER (3) differ in the lowest bit.
        (u8::from(self.case) * UPPER)
            | PLAIN
            | (u8::from(self.kana) * KATAKANA)
            | (u8::from(self.width) * WIDE)
    }
}

pub(super) fn compare(left: &[u16], right: &[u16], levels: Levels) -> Ordering {
    let is_combining = |unit: &u16| combining(*unit).is_some();
    let mut alike = alike(left, right, !levels.case);
    // An accent belongs to the letter before it.
    if [left, right].iter().any(|text| text.get(alike).is_some_and(is_combining)) {
        alike = left[..alike].iter().rposition(|unit| !is_combining(unit)).unwrap_or(0);
    }
    let (left, right) = (&left[alike..], &right[alike..]);
    match compare_ascii(left, right, levels.tertiary_mask()) {
        Prefix::Decided(order) => order,
        Prefix::Alike(skip, tertiary) => compare_elements(&left[skip..], &right[skip..], levels, tertiary),
    }
}

/// Compares varchar strings, which have no combining accents.
pub(super) fn compare_bytes(left: &[u8], right: &[u8], levels: Levels) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    let alike = alike(left, right, !levels.case);
    let (left, right) = (&left[alike..], &right[alike..]);
    match compare_ascii(left, right, levels.tertiary_mask()) {
        Prefix::Decided(order) => order,
        Prefix::Alike(skip, tertiary) => {
            compare_elements(&decode_units(&left[skip..]), &decode_units(&right[skip..]), levels, tertiary)
        }
    }
}

/// Compares the rests behind the characters that are equal on the first levels; `tertiary` is the order of those by case.
fn compare_elements(left: &[u16], right: &[u16], levels: Levels, mut tertiary: Ordering) -> Ordering {
    let mask = levels.tertiary_mask();
    let (mut a, mut b) = (Elements::new(left), Elements::new(right));
    let mut secondary = Ordering::Equal;
    let blank = Weight { primary: BLANK, secondary: PLAIN, tertiary: PLAIN };
    loop {
        let (one, two) = match (a.next(), b.next()) {
            (None, None) => break,
            (one, two) => (one.unwrap_or(blank), two.unwrap_or(blank)),
        };
        if one == two {
            continue;
        }
        if one.primary != two.primary {
            return one.primary.cmp(&two.primary);
        }
        if levels.accent {
            secondary = secondary.then(one.secondary.cmp(&two.secondary));
        }
        tertiary = tertiary.then((one.tertiary & mask).cmp(&(two.tertiary & mask)));
    }
    secondary.then(tertiary).then_with(|| specials(left).cmp(specials(right)))
}

/// The result of comparing the plain ASCII at the beginning of two strings.
enum Prefix {
    /// The prefix decides the order.
    Decided(Ordering),
    /// So many units are alike on the first levels; the order of their cases.
    Alike(usize, Ordering),
}

/// Compares ASCII characters that have weight, unit by unit; stops at anything else, and one before it, since an accent may follow.
#[inline]
fn compare_ascii<T: Unit>(left: &[T], right: &[T], mask: u8) -> Prefix {
    let mut tertiary = Ordering::Equal;
    let mut index = 0usize;
    for (a, b) in left.iter().zip(right) {
        let (a, b): (u16, u16) = ((*a).into(), (*b).into());
        if (a | b) >= 0x80 {
            return Prefix::Alike(index.saturating_sub(1), tertiary);
        }
        let (one, two) = (&TABLE[usize::from(a)], &TABLE[usize::from(b)]);
        if one.primary == 0 || two.primary == 0 {
            return Prefix::Alike(index, tertiary);
        }
        if one.primary != two.primary {
            return Prefix::Decided(one.primary.cmp(&two.primary));
        }
        tertiary = tertiary.then((one.tertiary & mask).cmp(&(two.tertiary & mask)));
        index += 1;
    }
    let (left, right) = (&left[index..], &right[index..]);
    let primary = |unit: T| TABLE.get(usize::from(unit.into())).map_or(0, |weight| weight.primary);
    let is_plain = |unit: &T| (*unit).into() < 0x80 && primary(*unit) != 0;
    let is_known = |rest: &[T]| behind_blanks(rest).first().is_none_or(is_plain);
    if is_known(left) && is_known(right) {
        return Prefix::Decided(against_blanks(left, right, primary).then(tertiary));
    }
    let accent_follows =
        [left, right].iter().any(|rest| rest.first().is_some_and(|unit| (*unit).into() >= 0x80));
    Prefix::Alike(if accent_follows { index.saturating_sub(1) } else { index }, tertiary)
}

/// Hyphens and apostrophes with their places, counted in characters that have weight.
fn specials(text: &[u16]) -> impl Iterator<Item = (u32, u8)> {
    let mut place = 0u32;
    text.iter().filter_map(move |unit| match special(*unit) {
        Some(rank) => Some((place, rank)),
        None => {
            place += match *unit {
                unit if is_ignorable(unit) || combining(unit).is_some() => 0,
                unit if expansion(unit).is_some() => 2,
                _ => 1,
            };
            None
        }
    })
}

pub(super) fn key(text: &[u16], levels: Levels, out: &mut Vec<u8>) {
    if text.iter().all(|unit| *unit < 0x80 && TABLE[usize::from(*unit)].primary != 0) {
        return key_ascii(text, levels, out);
    }
    let weights: Vec<Weight> = Elements::new(text).collect();
    let end = weights.iter().rposition(|weight| weight.primary != BLANK).map_or(0, |last| last + 1);
    let trimmed = &weights[..end];
    let mut below = false;
    let mut marks = Vec::new();
    // Blanks inside a string sort below its end when what follows their run is below a blank (see `sql_order`).
    for weight in trimmed.iter().rev() {
        if weight.primary != BLANK {
            below = weight.primary < BLANK;
        }
        marks.push(below);
    }
    for (weight, below) in trimmed.iter().zip(marks.iter().rev()) {
        match (weight.primary, below) {
            (BLANK, true) => push_primary(BLANK - 1, out),
            (BLANK, false) => push_primary(BLANK + 1, out),
            (primary @ 0..BLANK, _) => push_primary(primary, out),
            (primary, _) => push_primary(primary + 1, out),
        }
    }
    push_primary(BLANK, out);
    // Lower levels go up to the last weight that is not plain; 1 ends them, below every weight.
    let mut level = |weight: &dyn Fn(&Weight) -> u8| {
        let end = weights.iter().rposition(|item| weight(item) != PLAIN).map_or(0, |last| last + 1);
        out.extend(weights[..end].iter().map(weight));
        out.push(1);
    };
    if levels.accent {
        level(&|item| item.secondary);
    }
    let mask = levels.tertiary_mask();
    if mask != 0 {
        level(&|item| item.tertiary & mask);
    }
    for (place, rank) in specials(text) {
        out.push(2);
        out.extend_from_slice(&place.to_be_bytes());
        out.push(rank);
    }
    out.push(1);
}

/// The first level of ASCII letters and digits, with which the keys of all strings begin that start with them: marks behind a letter
/// change its lower levels only.
pub(super) fn prefix_key(text: &[u16], out: &mut Vec<u8>) {
    for unit in text {
        push_primary(weigh(*unit).primary + 1, out);
    }
}

/// The same key for ASCII without hyphens, apostrophes and controls, none of which is below a blank.
fn key_ascii(text: &[u16], levels: Levels, out: &mut Vec<u8>) {
    let end = text.iter().rposition(|unit| *unit != 0x20).map_or(0, |last| last + 1);
    let text = &text[..end];
    out.reserve(2 * text.len() + 5);
    for unit in text {
        let primary = TABLE[usize::from(*unit)].primary as u16 + 1;
        out.extend_from_slice(&primary.to_be_bytes());
    }
    push_primary(BLANK, out);
    if levels.accent {
        out.push(1);
    }
    let mask = levels.tertiary_mask();
    if mask != 0 {
        let weight = |unit: &u16| TABLE[usize::from(*unit)].tertiary & mask;
        let end = text.iter().rposition(|unit| weight(unit) != PLAIN).map_or(0, |last| last + 1);
        out.extend(text[..end].iter().map(weight));
        out.push(1);
    }
    out.push(1);
}

/// Two bytes below 0xF000, four above: order kept.
fn push_primary(primary: u32, out: &mut Vec<u8>) {
    if primary < 0xF000 {
        out.extend_from_slice(&(primary as u16).to_be_bytes());
    } else {
        out.push(0xF0);
        out.extend_from_slice(&primary.to_be_bytes()[1..]);
    }
}

pub(super) fn hash<H: Hasher>(text: &[u16], _levels: Levels, state: &mut H) {
    // The first level alone: equal strings agree on it. Blanks are held back until something follows them.
    let mut blanks = 0;
    for weight in Elements::new(text) {
        if weight.primary == BLANK {
            blanks += 1;
            continue;
        }
        (0..blanks).for_each(|_| state.write_u32(BLANK));
        blanks = 0;
        state.write_u32(weight.primary);
    }
}

/// A number for one character whose equality and order are those of the character alone.
pub(super) fn single_weight(unit: u16, levels: Levels) -> u32 {
    if is_ignorable(unit) || special(unit).is_some() {
        // Below everything that has weight (places below 0x101 are free), and unlike each other.
        return if unit < 0x100 { u32::from(unit) << 12 } else { u32::from(unit) };
    }
    if combining(unit).is_some() {
        return u32::from(unit);
    }
    if let Some((one, _)) = expansion(unit) {
        // After every accented form of its first letter.
        let upper = levels.case && one.is_ascii_uppercase();
        let rank = 0x700 + u32::from(expansion_lower(unit) & 0x7F);
        return TABLE[usize::from(one)].primary << 12 | rank << 1 | u32::from(upper);
    }
    let weight = weigh(unit);
    let secondary = if levels.accent { u32::from(weight.secondary & 0x7F) } else { 0 };
    weight.primary << 12 | secondary << 4 | u32::from(weight.tertiary & levels.tertiary_mask())
}

fn expansion_lower(unit: u16) -> u16 {
    match unit {
        0xC6 => 0xE6,
        0x152 => 0x153,
        0xDE => 0xFE,
        0x132 => 0x133,
        other => other,
    }
}
