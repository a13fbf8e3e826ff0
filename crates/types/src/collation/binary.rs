//! `_BIN` and `_BIN2`: order by code, the shorter string filled with blanks.

use std::cmp::Ordering;

use super::alike::{Unit, against_blanks};

const BLANK: u16 = 0x20;

pub(super) fn trim_bytes(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

pub(super) fn trim_units(text: &[u16]) -> &[u16] {
    let end = text.iter().rposition(|unit| *unit != BLANK).map_or(0, |last| last + 1);
    &text[..end]
}

pub(super) fn compare_bytes(left: &[u8], right: &[u8]) -> Ordering {
    compare(left, right)
}

pub(super) fn compare_units(left: &[u16], right: &[u16]) -> Ordering {
    compare(left, right)
}

fn compare<T: Unit + Ord>(left: &[T], right: &[T]) -> Ordering {
    let common = left.len().min(right.len());
    let order = left[..common].cmp(&right[..common]);
    order.then_with(|| against_blanks(&left[common..], &right[common..], |unit| unit))
}

/// `_BIN`: the first unit as a number, all others as their two bytes in storage (little-endian) order.
pub(super) fn compare_units_old(left: &[u16], right: &[u16]) -> Ordering {
    let unit = |text: &[u16], index: usize| text.get(index).copied().unwrap_or(BLANK);
    if left.is_empty() && right.is_empty() {
        return Ordering::Equal;
    }
    unit(left, 0).cmp(&unit(right, 0)).then_with(|| {
        (1..left.len().max(right.len()))
            .map(|index| unit(left, index).swap_bytes().cmp(&unit(right, index).swap_bytes()))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

/// Turns a trimmed string of symbols into a key in which the end represents infinitely many blanks: a blank sorts below the end when the
/// character behind its run is below a blank, above it otherwise.
fn key_symbols(
    symbols: impl ExactSizeIterator<Item = u16> + Clone,
    blank: u16,
    mut emit: impl FnMut(Symbol),
) {
    let mut rest = symbols;
    while let Some(symbol) = rest.next() {
        if symbol != blank {
            emit(Symbol::Other(symbol));
            continue;
        }
        let next = rest.clone().find(|later| *later != blank).unwrap_or(blank);
        emit(if next < blank { Symbol::BlankBelow } else { Symbol::BlankAbove });
    }
    emit(Symbol::End);
}

enum Symbol {
    Other(u16),
    BlankBelow,
    End,
    BlankAbove,
}

pub(super) fn key_bytes(text: &[u8], out: &mut Vec<u8>) {
    key_symbols(trim_bytes(text).iter().map(|byte| u16::from(*byte)), BLANK, |symbol| match symbol {
        Symbol::Other(byte @ ..BLANK) => out.push(byte as u8),
        Symbol::BlankBelow => out.push(0x20),
        Symbol::End => out.push(0x21),
        Symbol::BlankAbove => out.push(0x22),
        Symbol::Other(byte @ ..0xFD) => out.push(byte as u8 + 2),
        Symbol::Other(byte) => out.extend_from_slice(&[0xFF, byte as u8]),
    });
}

pub(super) fn key_units(text: &[u16], out: &mut Vec<u8>) {
    key_numbers(trim_units(text).iter().copied(), BLANK, out);
}

pub(super) fn key_units_old(text: &[u16], out: &mut Vec<u8>) {
    let text = trim_units(text);
    let Some((first, rest)) = text.split_first() else {
        // An empty string is a first blank followed by blanks.
        key_number(Symbol::Other(BLANK), out);
        key_number(Symbol::End, out);
        return;
    };
    key_number(Symbol::Other(*first), out);
    key_numbers(rest.iter().map(|unit| unit.swap_bytes()), BLANK.swap_bytes(), out);
}

fn key_numbers(symbols: impl ExactSizeIterator<Item = u16> + Clone, blank: u16, out: &mut Vec<u8>) {
    key_symbols(symbols, blank, |symbol| match symbol {
        Symbol::Other(unit) => {
            let shifted = if unit > blank { u32::from(unit) + 2 } else { u32::from(unit) };
            push_number(shifted, out);
        }
        Symbol::BlankBelow => push_number(u32::from(blank), out),
        Symbol::End => push_number(u32::from(blank) + 1, out),
        Symbol::BlankAbove => push_number(u32::from(blank) + 2, out),
    });
}

fn key_number(symbol: Symbol, out: &mut Vec<u8>) {
    match symbol {
        Symbol::Other(unit) => push_number(u32::from(unit), out),
        _ => push_number(u32::from(BLANK.swap_bytes()) + 1, out),
    }
}

/// Two bytes below 0xFF00, four above: order kept.
fn push_number(number: u32, out: &mut Vec<u8>) {
    if number < 0xFF00 {
        out.extend_from_slice(&(number as u16).to_be_bytes());
    } else {
        out.push(0xFF);
        out.extend_from_slice(&number.to_be_bytes()[1..]);
    }
}
