//! Fast paths of comparisons: skip the common prefix of two strings, and blanks, many characters at a time.

use std::cmp::Ordering;

/// So many characters are compared at once.
const STEP: usize = 8;

/// A unit of a string: a byte of varchar, 16 bits of nvarchar.
pub(super) trait Unit: Copy + Eq + From<u8> + Into<u16> {
    /// Are they the same ASCII characters, but for the case of letters?
    fn are_same_letters(left: &[Self; STEP], right: &[Self; STEP]) -> bool;
}

impl Unit for u8 {
    #[inline]
    fn are_same_letters(left: &[u8; STEP], right: &[u8; STEP]) -> bool {
        let (left, right) = (u64::from_ne_bytes(*left), u64::from_ne_bytes(*right));
        are_same::<{ u64::MAX / 0xFF }>(left, right)
    }
}

impl Unit for u16 {
    #[inline]
    fn are_same_letters(left: &[u16; STEP], right: &[u16; STEP]) -> bool {
        let packed = |four: &[u16]| four.iter().fold(0, |all, unit| all << 16 | u64::from(*unit));
        let halves = left.chunks_exact(STEP / 2).zip(right.chunks_exact(STEP / 2));
        halves
            .map(|(one, other)| (packed(one), packed(other)))
            .all(|(one, other)| are_same::<{ u64::MAX / 0xFFFF }>(one, other))
    }
}

/// As `are_same_letters`, for units packed in a 64-bit number; `ONES` has a 1 in each unit.
#[inline]
fn are_same<const ONES: u64>(left: u64, right: u64) -> bool {
    const CASE: u64 = 0x20;
    let ascii = ONES * 0x7F;
    // The difference of an ASCII letter's two cases, in each unit that has one.
    let case_of_letters = |units: u64| {
        let lower = units | (ONES * CASE);
        let from_a = lower + ONES * (0x80 - u64::from(b'a'));
        let behind_z = lower + ONES * (0x7F - u64::from(b'z'));
        (from_a & !behind_z & (ONES * 0x80)) >> 2
    };
    (left | right) & !ascii == 0 && (left ^ right) & !case_of_letters(left) == 0
}

/// So many units at the beginning of both strings, or some more, are the same; where `is_folded` ASCII letters are in either case.
#[inline]
pub(super) fn alike<T: Unit>(left: &[T], right: &[T], is_folded: bool) -> usize {
    let steps = left.as_chunks::<STEP>().0.iter().zip(right.as_chunks::<STEP>().0);
    let is_alike = |(one, other): &(&[T; STEP], &[T; STEP])| {
        one == other || is_folded && T::are_same_letters(one, other)
    };
    steps.take_while(is_alike).count() * STEP
}

/// A string without its leading blanks.
#[inline]
pub(super) fn behind_blanks<T: Unit>(text: &[T]) -> &[T] {
    let blank = T::from(b' ');
    let steps = text.as_chunks::<STEP>().0.iter().take_while(|step| **step == [blank; STEP]).count();
    let rest = &text[steps * STEP..];
    let blanks = rest.iter().take_while(|unit| **unit == blank).count();
    &rest[blanks..]
}

/// The order of the rests of two strings of which one has ended and is padded with blanks. `weigh` orders units; only a blank equals a blank.
#[inline]
pub(super) fn against_blanks<T: Unit, W: Ord>(left: &[T], right: &[T], weigh: impl Fn(T) -> W) -> Ordering {
    let order = |rest: &[T]| match behind_blanks(rest).first() {
        Some(unit) => weigh(*unit).cmp(&weigh(T::from(b' '))),
        None => Ordering::Equal,
    };
    assert!(left.is_empty() || right.is_empty(), "one of them has ended");
    order(left).then_with(|| order(right).reverse())
}

#[cfg(test)]
mod tests {
    use super::{STEP, Unit, alike, behind_blanks};

    #[test]
    fn letters_are_the_same_in_either_case_and_nothing_else_is() {
        for one in 0..=u8::MAX {
            for other in 0..=u8::MAX {
                let is_same = one.is_ascii() && other.is_ascii() && one.eq_ignore_ascii_case(&other);
                for at in 0..STEP {
                    let (mut left, mut right) = ([b'q'; STEP], [b'Q'; STEP]);
                    (left[at], right[at]) = (one, other);
                    assert_eq!(u8::are_same_letters(&left, &right), is_same, "{one} {other}");
                    let (left, right) = (left.map(u16::from), right.map(u16::from));
                    assert_eq!(u16::are_same_letters(&left, &right), is_same, "{one} {other}");
                }
            }
        }
        for wide in [0x100, 0x141, 0x2061, 0x8041, 0xFF41, 0xFFFF] {
            let mut left = [u16::from(b'a'); STEP];
            left[3] = wide;
            let mut right = left;
            right[3] = wide ^ 0x20;
            assert!(!u16::are_same_letters(&left, &right), "{wide:x}");
        }
    }

    #[test]
    fn steps_are_passed_over() {
        let (left, right) = (b"Zo\xEB 12345678 abc d".as_slice(), b"Zo\xEB 12345678 ABC e".as_slice());
        assert_eq!((alike(left, right, true), alike(left, right, false)), (16, 8));
        assert_eq!(alike(b"abcdefg", b"abcdefg", true), 0);
        let blanks = |count: usize, rest: &str| format!("{}{rest}", " ".repeat(count));
        for count in 0..3 * STEP {
            assert_eq!(behind_blanks(blanks(count, "").as_bytes()), b"");
            assert_eq!(behind_blanks(blanks(count, "x  y").as_bytes()), b"x  y");
        }
    }
}
