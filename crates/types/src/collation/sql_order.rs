//! The varchar order of the SQL_Latin1_General_CP1 collations (sort orders 51, 52, 54): a table of 256 weights.
//!
//! Controls come first, then the blank, punctuation and symbols in code order, digits, letters. An accented letter follows its base
//! letter as one of its own (sort order 52 compares `e` < `é` < `f` letter by letter, without levels), hyphens count like any other
//! symbol. The order *among* symbols and among the accented forms of one letter is our choice where no document defines it; equality
//! does not depend on it.

use std::cmp::Ordering;
use std::hash::Hasher;

use super::alike::{against_blanks, alike};
use super::binary::trim_bytes;

/// The differences that a SQL collation distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sensitivity {
    /// `CS_AS`
    CaseAndAccent,
    /// `CI_AS`
    Accent,
    /// `CI_AI`
    Base,
}

/// Weight of the blank; the two beside it mark blanks inside keys, so that the end of a string sorts between them.
const BLANK: u8 = 34;
const BLANK_BELOW: u8 = 33;
const END: u8 = 34;
const BLANK_ABOVE: u8 = 35;

/// Letters in order; each item is one weight, `/` starts the next base letter.
const LETTERS: &[&[u8]] = &[
    b"aA",
    b"\xAA",
    b"\xE1\xC1",
    b"\xE0\xC0",
    b"\xE2\xC2",
    b"\xE4\xC4",
    b"\xE3\xC3",
    b"\xE5\xC5",
    b"\xE6\xC6",
    b"/",
    b"bB",
    b"/",
    b"cC",
    b"\xE7\xC7",
    b"/",
    b"dD",
    b"\xF0\xD0",
    b"/",
    b"eE",
    b"\xE9\xC9",
    b"\xE8\xC8",
    b"\xEA\xCA",
    b"\xEB\xCB",
    b"/",
    b"fF",
    b"\x83",
    b"/",
    b"gG",
    b"/",
    b"hH",
    b"/",
    b"iI",
    b"\xED\xCD",
    b"\xEC\xCC",
    b"\xEE\xCE",
    b"\xEF\xCF",
    b"/",
    b"jJ",
    b"/",
    b"kK",
    b"/",
    b"lL",
    b"/",
    b"mM",
    b"/",
    b"nN",
    b"\xF1\xD1",
    b"/",
    b"oO",
    b"\xBA",
    b"\xF3\xD3",
    b"\xF2\xD2",
    b"\xF4\xD4",
    b"\xF6\xD6",
    b"\xF5\xD5",
    b"\xF8\xD8",
    b"\x9C\x8C",
    b"/",
    b"pP",
    b"/",
    b"qQ",
    b"/",
    b"rR",
    b"/",
    b"sS",
    b"\x9A\x8A",
    b"\xDF",
    b"/",
    b"tT",
    b"/",
    b"uU",
    b"\xFA\xDA",
    b"\xF9\xD9",
    b"\xFB\xDB",
    b"\xFC\xDC",
    b"/",
    b"vV",
    b"/",
    b"wW",
    b"/",
    b"xX",
    b"/",
    b"yY",
    b"\xFD\xDD",
    b"\xFF\x9F",
    b"/",
    b"zZ",
    b"\x9E\x8E",
    b"/",
    b"\xFE\xDE",
];

/// Digits with their superscripts.
const DIGITS: &[u8] = b"01\xB92\xB23\xB3456789";

struct Table {
    accent: [u8; 256],
    base: [u8; 256],
}

static TABLE: Table = build();

const fn build() -> Table {
    let mut accent = [0u8; 256];
    let mut base = [0u8; 256];
    let mut next = 1u8;
    let mut byte = 0usize;
    while byte < 0x20 {
        accent[byte] = next;
        next += 1;
        byte += 1;
    }
    accent[0x20] = BLANK;
    next = BLANK_ABOVE + 1;
    // Letters and digits are marked first, so that the rest are symbols.
    let mut named = [false; 256];
    let mut group = 0;
    while group < LETTERS.len() {
        let mut index = 0;
        while index < LETTERS[group].len() {
            if LETTERS[group][0] != b'/' {
                named[LETTERS[group][index] as usize] = true;
            }
            index += 1;
        }
        group += 1;
    }
    let mut digit = 0;
    while digit < DIGITS.len() {
        named[DIGITS[digit] as usize] = true;
        digit += 1;
    }
    byte = 0x21;
    while byte < 256 {
        if !named[byte] {
            accent[byte] = next;
            next += 1;
        }
        byte += 1;
    }
    digit = 0;
    while digit < DIGITS.len() {
        accent[DIGITS[digit] as usize] = next;
        next += 1;
        digit += 1;
    }
    byte = 0;
    while byte < 256 {
        base[byte] = accent[byte];
        byte += 1;
    }
    group = 0;
    let mut base_weight = next;
    while group < LETTERS.len() {
        if LETTERS[group][0] == b'/' {
            base_weight = next;
        } else {
            let mut index = 0;
            while index < LETTERS[group].len() {
                accent[LETTERS[group][index] as usize] = next;
                base[LETTERS[group][index] as usize] = base_weight;
                index += 1;
            }
            next += 1;
        }
        group += 1;
    }
    Table { accent, base }
}

fn weights(sensitivity: Sensitivity) -> &'static [u8; 256] {
    if sensitivity == Sensitivity::Base { &TABLE.base } else { &TABLE.accent }
}

/// 1 for an upper-case letter, 2 for anything else: in the case-sensitive order `A` comes before `a`.
fn case_rank(byte: u8) -> u8 {
    let upper =
        byte.is_ascii_uppercase() || matches!(byte, 0xC0..=0xD6 | 0xD8..=0xDE | 0x8A | 0x8C | 0x8E | 0x9F);
    if upper { 1 } else { 2 }
}

pub(super) fn weight(byte: u8, sensitivity: Sensitivity) -> u32 {
    let weight = u32::from(weights(sensitivity)[usize::from(byte)]) << 8;
    if sensitivity == Sensitivity::CaseAndAccent { weight | u32::from(case_rank(byte)) } else { weight }
}

#[inline]
pub(super) fn compare(left: &[u8], right: &[u8], sensitivity: Sensitivity) -> Ordering {
    let table = weights(sensitivity);
    // Most strings differ in their first letters.
    if let (Some(a), Some(b)) = (left.first(), right.first()) {
        let order = table[usize::from(*a)].cmp(&table[usize::from(*b)]);
        if order.is_ne() {
            return order;
        }
    }
    if left == right { Ordering::Equal } else { compare_all(left, right, sensitivity) }
}

fn compare_all(left: &[u8], right: &[u8], sensitivity: Sensitivity) -> Ordering {
    let table = weights(sensitivity);
    let alike = alike(left, right, sensitivity != Sensitivity::CaseAndAccent);
    let (left, right) = (&left[alike..], &right[alike..]);
    let common = left.len().min(right.len());
    for (a, b) in left[..common].iter().zip(&right[..common]) {
        if a != b {
            let order = table[usize::from(*a)].cmp(&table[usize::from(*b)]);
            if order.is_ne() {
                return order;
            }
        }
    }
    let order = against_blanks(&left[common..], &right[common..], |byte| table[usize::from(byte)]);
    if order.is_ne() || sensitivity != Sensitivity::CaseAndAccent {
        return order;
    }
    // The rest of either string is blanks, which have no case.
    let rank = |byte: &u8| case_rank(*byte);
    left[..common].iter().map(rank).cmp(right[..common].iter().map(rank))
}

pub(super) fn key(text: &[u8], sensitivity: Sensitivity, out: &mut Vec<u8>) {
    let table = weights(sensitivity);
    let text = trim_bytes(text);
    let start = out.len();
    out.extend(text.iter().map(|byte| table[usize::from(*byte)]));
    if out[start..].contains(&BLANK) {
        mark_blanks(&mut out[start..]);
    }
    out.push(END);
    if sensitivity == Sensitivity::CaseAndAccent {
        // One byte a character up to the last upper-case letter; 2 (not upper) also ends the list, and represents the omitted characters.
        let end = text.iter().rposition(|byte| case_rank(*byte) == 1).map_or(0, |last| last + 1);
        out.extend(text[..end].iter().map(|byte| case_rank(*byte)));
        out.push(3);
    }
}

/// The mark of a blank depends on the first character behind the run of blanks: the end of a string sorts between the two marks.
fn mark_blanks(weights: &mut [u8]) {
    let mut is_below = false;
    for weight in weights.iter_mut().rev() {
        match *weight {
            BLANK if is_below => *weight = BLANK_BELOW,
            BLANK => *weight = BLANK_ABOVE,
            other => is_below = other < BLANK,
        }
    }
}

/// The weights of letters and digits, with which the keys of all strings begin that start with them.
pub(super) fn prefix_key(text: &[u8], sensitivity: Sensitivity, out: &mut Vec<u8>) {
    let table = weights(sensitivity);
    out.extend(text.iter().map(|byte| table[usize::from(*byte)]));
}

pub(super) fn hash<H: Hasher>(text: &[u8], sensitivity: Sensitivity, state: &mut H) {
    let table = weights(sensitivity);
    trim_bytes(text).iter().for_each(|byte| state.write_u8(table[usize::from(*byte)]));
}
