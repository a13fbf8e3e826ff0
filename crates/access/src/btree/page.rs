//! Keys and children on a tree page. Its rows are in the format of `pages/tree_rows.rs`, and in order: a read refuses any other page.
//!
//! The first entry of an interior page covers everything below the second, whatever key it has.

use std::cmp::Ordering;

pub(crate) use pages::tree_rows::{CHILD_BYTES, KEY_LENGTH_BYTES, split_row};
use pages::{PageBytes, PageGuard, PageId, SLOT_BYTES, header, slots};

use crate::error::{AccessError, AccessResult};

/// A page with at least so many slots is searched by interpolation.
pub(crate) const GUESS_SLOTS_MIN: u16 = 16;

/// The key in a slot; empty for a slot that does not exist.
#[inline]
pub(crate) fn key_at(page: &PageBytes, slot: u16) -> &[u8] {
    slots::row(page, slot).map_or(&[], |row| split_row(row).0)
}

/// The bounds of a page's keys, from the pages above it: at or above `lower`, below `upper`; empty: no bound.
#[derive(Default)]
pub(crate) struct Fences {
    pub(crate) lower: Vec<u8>,
    pub(crate) upper: Vec<u8>,
}

impl Fences {
    /// The bounds of the child in a slot.
    pub(crate) fn go_below(&mut self, page: &PageBytes, slot: u16) {
        if slot > 0 {
            self.lower.clear();
            self.lower.extend_from_slice(key_at(page, slot));
        }
        if slot + 1 < header::slot_count(page) {
            self.upper.clear();
            self.upper.extend_from_slice(key_at(page, slot + 1));
        }
    }
}

/// The slot of `key`, or the slot where it would be inserted.
#[inline]
pub(crate) fn search(page: &PageBytes, key: &[u8]) -> Result<u16, u16> {
    let count = header::slot_count(page);
    // The first key of an interior page counts as below all others, whatever its bytes: its left neighbour may have been removed.
    let start = u16::from(header::level(page) > 0);
    let found = if count < GUESS_SLOTS_MIN {
        search_between(page, key, start.min(count), count)
    } else {
        search_many(page, key, start, count)
    };
    debug_assert!(is_place_of(page, key, start, found), "{found:?} is the place of the key");
    found
}

/// Is it the slot of `key`, or the place between the key before and the key behind it? Slots before `start` do not count.
fn is_place_of(page: &PageBytes, key: &[u8], start: u16, found: Result<u16, u16>) -> bool {
    match found {
        Ok(slot) => key_at(page, slot) == key,
        Err(slot) => {
            (slot <= start || key_at(page, slot - 1) < key)
                && (slot < start || slot >= header::slot_count(page) || key < key_at(page, slot))
        }
    }
}

fn search_between(page: &PageBytes, key: &[u8], mut low: u16, mut high: u16) -> Result<u16, u16> {
    debug_assert!(low <= high && high <= header::slot_count(page), "a key is searched among the slots");
    while low < high {
        let middle = low + (high - low) / 2;
        match key_at(page, middle).cmp(key) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
        }
    }
    Err(low)
}

/// Interpolation search in a page of many rows. Binary search would read a dozen cache lines one after the other; a guess from the first
/// and the last key, which is good where keys are evenly spread, reads few. Rising keys go behind the last at once.
fn search_many(page: &PageBytes, key: &[u8], start: u16, count: u16) -> Result<u16, u16> {
    let (first, last) = (key_at(page, start), key_at(page, count - 1));
    if key < first {
        return Err(start);
    }
    match last.cmp(key) {
        Ordering::Less => return Err(count),
        Ordering::Equal => return Ok(count - 1),
        Ordering::Greater => {}
    }
    match guess(first, last, key, count - start) {
        Some(guess) => search_around(page, key, guess + start, (start, count - 1)),
        None => search_between(page, key, start, count),
    }
}

/// Interpolation search in a leaf whose keys lie from `lower` on and below `upper`, by its parent: the guess uses these bounds, so the
/// first and the last key of the page are not read.
#[inline]
pub(crate) fn search_within(page: &PageBytes, key: &[u8], lower: &[u8], upper: &[u8]) -> Result<u16, u16> {
    let count = header::slot_count(page);
    let guess = if count < GUESS_SLOTS_MIN { None } else { guess(lower, upper, key, count) };
    match guess {
        Some(guess) => search_around(page, key, guess, (0, count)),
        None => search(page, key),
    }
}

/// Searches from a guess; the key lies between two slots: every slot before the first is lower, and none at or behind the last is.
fn search_around(page: &PageBytes, key: &[u8], guess: u16, (start, end): (u16, u16)) -> Result<u16, u16> {
    let (mut low, mut high) = (start, end);
    assert!(start <= guess && guess < high, "a guess lies among the slots");
    // From the guess outward in doubling steps, until the key is between two slots that were read.
    let (mut at, mut step) = (guess, 1);
    loop {
        match key_at(page, at).cmp(key) {
            Ordering::Equal => return Ok(at),
            Ordering::Less => {
                low = at + 1;
                if at >= guess && low + step < high {
                    at = low + step - 1;
                } else {
                    break;
                }
            }
            Ordering::Greater => {
                high = at;
                if at <= guess && high > low + step {
                    at = high - step;
                } else {
                    break;
                }
            }
        }
        step *= 2;
    }
    assert!(start <= low && low <= high && high <= end, "the key lies between two slots looked at");
    search_between(page, key, low, high)
}

/// The slot where `key` should be if the keys from `first` to `last` were evenly spread; `None` when it is not between.
pub(crate) fn guess(first: &[u8], last: &[u8], key: &[u8], count: u16) -> Option<u16> {
    let shared = first.iter().zip(last).take_while(|(one, other)| one == other).count();
    if key.get(..shared)? != &first[..shared] {
        return None;
    }
    let (low, high, at) = (number(&first[shared..]), number(&last[shared..]), number(&key[shared..]));
    if at < low || at > high || low == high {
        return None;
    }
    debug_assert!(count > 1, "a guess is made among several slots");
    let guess = u128::from(at - low) * u128::from(count - 1) / u128::from(high - low);
    Some((guess as u16).min(count - 2))
}

/// The first eight bytes as a number with the same order.
#[inline]
fn number(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
                << (8 * (8 - bytes.len()) % 64)
        }
    }
}

/// The slot of an interior page under which `key` lies; `strictly_below`: under which the keys just below it lie.
#[inline]
pub(crate) fn child_slot(page: &PageBytes, key: &[u8], strictly_below: bool) -> u16 {
    debug_assert!(header::level(page) > 0, "a leaf has no children");
    match search(page, key) {
        Ok(slot) if !strictly_below => slot,
        Ok(slot) | Err(slot) => slot.saturating_sub(1),
    }
}

/// The child in a slot of an interior page.
pub(crate) fn child_at(page: &PageBytes, slot: u16) -> AccessResult<PageId> {
    let row = slots::row(page, slot).map(|row| split_row(row).1);
    match row.and_then(|rest| rest.first_chunk::<CHILD_BYTES>()) {
        Some(child) => Ok(PageId::from_bytes(*child)),
        None => Err(AccessError::corrupt(header::id(page), format!("slot {slot} names no child"))),
    }
}

/// A tree page has a forwarding address: rows of trees do not move away.
pub(crate) fn stub_in_tree(page: &PageGuard, slot: u16) -> AccessError {
    AccessError::corrupt(page.id(), format!("slot {slot} of a tree page is a forwarding address"))
}

/// Bytes that a row with this key and rest takes, its slot included.
pub(crate) fn entry_bytes(key: &[u8], rest: usize) -> usize {
    KEY_LENGTH_BYTES + key.len() + rest + SLOT_BYTES
}

/// The shortest bytes that are above `below` and not above `above`: a separator for an interior page.
pub(crate) fn separator<'a>(below: &[u8], above: &'a [u8]) -> &'a [u8] {
    assert!(below < above, "keys ascend");
    let shared = below.iter().zip(above).take_while(|(one, other)| one == other).count();
    assert!(shared < above.len(), "what is above goes on where they differ");
    &above[..shared + 1]
}

#[cfg(test)]
mod tests {
    use pages::{PAGE_BYTES, PageType};

    use super::*;

    /// Checks every key of a page, and keys between, below and above, against a linear search.
    fn check_search(keys: &[Vec<u8>], probes: &[Vec<u8>]) {
        let mut page = [0; PAGE_BYTES];
        header::format(&mut page, PageId { file: 1, page: 9 }, PageType::BTree, 0, 1);
        for (slot, key) in keys.iter().enumerate() {
            slots::insert(&mut page, slot as u16, &[&(key.len() as u16).to_le_bytes(), key], 0);
        }
        for probe in probes.iter().chain(keys) {
            let expected = keys.binary_search(probe).map(|at| at as u16).map_err(|at| at as u16);
            assert_eq!(search(&page, probe), expected, "{probe:?} among {} keys", keys.len());
            let bounds = [&probe[..], &probe[..probe.len() / 2], &[][..], &[255; 9][..]];
            for (lower, upper) in bounds.iter().flat_map(|lower| bounds.map(|upper| (*lower, upper))) {
                assert_eq!(
                    search_within(&page, probe, lower, upper),
                    expected,
                    "{probe:?}: {lower:?} {upper:?}"
                );
            }
        }
    }

    /// The first key of an interior page may be left from the removal of its left neighbour: it may lie above the second.
    #[test]
    fn the_first_key_of_an_interior_page_counts_as_below_all() {
        for count in [2_u16, 5, 40] {
            let mut page = [0; PAGE_BYTES];
            header::format(&mut page, PageId { file: 1, page: 9 }, PageType::BTree, 1, 1);
            for slot in 0..count {
                let key = [if slot == 0 { 15 } else { 5 * slot as u8 }];
                slots::insert(&mut page, slot, &[&1u16.to_le_bytes(), &key, &[0; CHILD_BYTES]], 0);
            }
            for key in 0..=255u8 {
                let expected = (1..count).rev().find(|slot| 5 * (*slot as u8) <= key).unwrap_or(0);
                assert_eq!(child_slot(&page, &[key], false), expected, "{key} among {count}");
            }
        }
    }

    #[test]
    fn a_search_finds_what_a_look_at_each_slot_finds() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let key = |number: u64| number.to_be_bytes()[3..].to_vec();
        for count in [0, 1, 2, 15, 16, 17, 40, 250] {
            let spread: Vec<u64> = (0..count).map(|number| 1000 + number * 5).collect();
            let mut skewed: Vec<u64> = (0..count).map(|_| 1 << random(39)).collect();
            let mut uneven: Vec<u64> = (0..count).map(|_| random(60) * random(70) * random(80)).collect();
            for numbers in [&mut skewed, &mut uneven] {
                numbers.sort_unstable();
                numbers.dedup();
            }
            for numbers in [spread, skewed, uneven] {
                let around = |number: &u64| [number.saturating_sub(1), number + 1, number * 2];
                let mut probes: Vec<Vec<u8>> = numbers.iter().flat_map(around).map(key).collect();
                probes.extend([vec![], vec![0], vec![0xFF; 9], key(1000)[..4].to_vec()]);
                check_search(&numbers.into_iter().map(key).collect::<Vec<_>>(), &probes);
            }
            // Keys of different lengths with a common prefix, the first one empty as in interior pages.
            let mut texts: Vec<Vec<u8>> = (0..count)
                .map(|n| format!("ab{}", "xy".repeat(random(9) as usize) + &n.to_string()).into())
                .collect();
            texts.push(vec![]);
            texts.sort();
            check_search(&texts, &[b"ab".to_vec(), b"abxyx".to_vec(), b"b".to_vec(), b"a".to_vec()]);
        }
    }

    #[test]
    fn separators_are_short_and_between() {
        for (below, above, expected) in [
            (&b"abc"[..], &b"abd"[..], &b"abd"[..]),
            (b"a", b"zebra", b"z"),
            (b"", b"x", b"x"),
            (b"ab", b"abc", b"abc"),
        ] {
            let found = separator(below, above);
            assert_eq!(found, expected);
            assert!(below < found && found <= above);
        }
    }
}
