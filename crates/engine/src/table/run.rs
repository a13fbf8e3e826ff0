//! [`KeyedRun`]: keys of a tree with their values, added in any order and read in key order, so that each leaf is touched once.

use super::stop::stop_if_asked;
use crate::error::SqlResult;

/// The prefix of a key, after the bytes common to all keys, that is stored for comparisons, so that most comparisons read nothing else.
const PREFIX_BYTES: usize = 8;
/// The most bytes of an added record; see [`KeyedRun::has_room`].
const RECORD_BYTES_MAX: usize = 16 << 10;

/// See the heading.
#[derive(Default)]
pub(super) struct KeyedRun {
    /// Keys and their values, concatenated.
    bytes: Vec<u8>,
    places: Vec<KeyAddress>,
}

/// The position of a key.
#[derive(Clone, Copy, Default)]
struct KeyAddress {
    prefix: u64,
    start: u32,
    key_bytes: u16,
    rest_bytes: u16,
}

impl KeyedRun {
    /// May one more be added, within `bytes_max` and the memory of the request? The first one always may.
    pub(super) fn has_room(&mut self, bytes_max: usize) -> bool {
        assert!(
            bytes_max + RECORD_BYTES_MAX < u32::MAX as usize,
            "places name what they are about by 32 bits"
        );
        let taken = self.bytes.len() + self.places.len() * size_of::<KeyAddress>();
        let fits = taken < bytes_max && self.can_grow(bytes_max);
        fits || self.places.is_empty()
    }

    /// Lists double when they are full, within `bytes_max`: this checks that before.
    fn can_grow(&mut self, bytes_max: usize) -> bool {
        let left = bytes_max.saturating_sub(self.taken_bytes());
        let is_full = self.bytes.capacity() - self.bytes.len() < RECORD_BYTES_MAX;
        if is_full {
            let more = self.bytes.capacity().min(left).max(4 * RECORD_BYTES_MAX);
            if more > left && !self.places.is_empty() || !is_granted(more, &mut self.bytes) {
                return false;
            }
        }
        if self.places.len() == self.places.capacity() {
            let left = bytes_max.saturating_sub(self.taken_bytes());
            let more = self.places.capacity().min(left / size_of::<KeyAddress>()).max(1024);
            if more * size_of::<KeyAddress>() > left && !self.places.is_empty()
                || !is_granted(more, &mut self.places)
            {
                return false;
            }
        }
        true
    }

    /// Adds the record that `write` appends: a key, whose length it returns, and a value. Adds nothing when it fails.
    pub(super) fn add<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<usize, E>) -> Result<(), E> {
        let start = self.bytes.len();
        let key_bytes = match write(&mut self.bytes) {
            Ok(key_bytes) => key_bytes,
            Err(error) => {
                self.bytes.truncate(start);
                return Err(error);
            }
        };
        let (key, rest) = self.bytes[start..].split_at(key_bytes);
        let short = |bytes: usize| u16::try_from(bytes).expect("an entry fits on a page");
        let place = KeyAddress {
            prefix: prefix_of(key),
            start: u32::try_from(start).expect("a run is short"),
            key_bytes: short(key.len()),
            rest_bytes: short(rest.len()),
        };
        self.places.push(place);
        Ok(())
    }

    /// Its allocated memory; it keeps the memory when it is emptied.
    pub(super) fn taken_bytes(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<KeyAddress>()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Sorts the keys: afterwards `get` and `keys` return them in key order; equal ones in input order.
    pub(super) fn sort(&mut self) -> SqlResult<()> {
        let common = self.common_bytes();
        let KeyedRun { bytes, places } = self;
        let key = |place: &KeyAddress| &bytes[place.start as usize..][..usize::from(place.key_bytes)];
        if common > 0 {
            places.iter_mut().for_each(|place| place.prefix = prefix_of(&key(place)[common..]));
        }
        os::sort_by(places, |a, b| {
            a.prefix.cmp(&b.prefix).then_with(|| key(a).cmp(key(b))).then_with(|| a.start.cmp(&b.start))
        })
        .map_err(|os::Interrupted| crate::error::interrupted())
    }

    /// The length of the common prefix of all keys, which does not affect the order.
    fn common_bytes(&self) -> usize {
        let Some((first, others)) = self.places.split_first() else { return 0 };
        let key = |place: &KeyAddress| &self.bytes[place.start as usize..][..usize::from(place.key_bytes)];
        let mut common = key(first);
        for place in others {
            let same = common.iter().zip(key(place)).take_while(|(one, other)| one == other).count();
            common = &common[..same];
            if common.is_empty() {
                break;
            }
        }
        common.len()
    }

    /// A key and its value.
    pub(super) fn get(&self, at: usize) -> (&[u8], &[u8]) {
        let place = self.places[at];
        let (key, rest) = self.bytes[place.start as usize..].split_at(usize::from(place.key_bytes));
        (key, &rest[..usize::from(place.rest_bytes)])
    }

    /// The positions of all in the present order, sorted by input order.
    pub(super) fn as_they_came(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.len()).collect();
        all.sort_unstable_by_key(|at| self.places[*at].start);
        all
    }

    pub(super) fn keys(&self) -> Vec<&[u8]> {
        (0..self.len()).map(|at| self.get(at).0).collect()
    }

    /// Passes all on in their present order, in groups of limited size.
    pub(super) fn hand_out(
        &self,
        most: usize,
        work: &mut dyn FnMut(&[(&[u8], &[u8])]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        assert!(most > 0, "one at least");
        let mut some = Vec::with_capacity(most.min(self.len()));
        for begin in (0..self.len()).step_by(most) {
            stop_if_asked(0)?;
            some.clear();
            some.extend((begin..self.len().min(begin + most)).map(|at| self.get(at)));
            work(&some)?;
        }
        Ok(())
    }

    /// Empties it; its memory is reused.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }
}

/// Grows a list, if the request's memory allows it.
fn is_granted<T>(more: usize, list: &mut Vec<T>) -> bool {
    os::memory::ask(more * size_of::<T>()).is_ok() && list.try_reserve_exact(more).is_ok()
}

/// The first bytes of a key as a number with the same order; a short key is padded with zeros.
fn prefix_of(key: &[u8]) -> u64 {
    let mut first = [0; PREFIX_BYTES];
    let bytes = key.len().min(PREFIX_BYTES);
    first[..bytes].copy_from_slice(&key[..bytes]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_their_order_and_equal_ones_as_they_came() {
        let keys: [&[u8]; 9] = [
            b"beta",
            b"",
            b"\0",
            b"alphabetical",
            b"alphabet",
            b"beta",
            b"alphabets",
            b"\0\0",
            b"alphabetical",
        ];
        let mut run = KeyedRun::default();
        for (number, key) in keys.iter().enumerate() {
            assert!(run.has_room(1 << 20));
            run.add(|out| {
                out.extend_from_slice(key);
                out.push(number as u8);
                Ok::<usize, ()>(key.len())
            })
            .expect("added");
        }
        assert_eq!(
            run.add(|out| {
                out.push(9);
                Err::<usize, &str>("no")
            }),
            Err("no")
        );
        run.sort().expect("nobody interrupts");
        let mut expected: Vec<(&[u8], u8)> =
            keys.iter().zip(0..).map(|(key, number)| (*key, number)).collect();
        expected.sort();
        let found: Vec<(&[u8], u8)> = (0..run.len()).map(|at| (run.get(at).0, run.get(at).1[0])).collect();
        assert_eq!(found, expected);
        assert_eq!(run.keys(), expected.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        assert!(!run.has_room(4), "it is full");
        run.clear();
        assert!(run.has_room(4) && run.len() == 0, "one may always come");
    }

    /// The common prefix of all keys is excluded from the comparison prefix: keys longer than it, shorter, or equal to it.
    #[test]
    fn keys_that_begin_alike_come_in_their_order() {
        for (common, tails) in [
            (
                &b"alphabetical "[..],
                &[&b"zeta"[..], b"", b"\0", b"eta beyond eight", b"eta beyond eighth", b"\0\0"][..],
            ),
            (&b"same"[..], &[b""]),
            (&b"ab"[..], &[b"ab", b"abababab", b"abababaa", b""]),
        ] {
            let mut run = KeyedRun::default();
            for tail in tails {
                assert!(run.has_room(1 << 20));
                let key = [common, tail].concat();
                let added: Result<(), ()> = run.add(|out| {
                    out.extend_from_slice(&key);
                    Ok(key.len())
                });
                added.expect("added");
            }
            run.sort().expect("nobody interrupts");
            let mut expected: Vec<Vec<u8>> = tails.iter().map(|tail| [common, tail].concat()).collect();
            expected.sort();
            assert_eq!(run.keys(), expected);
        }
    }

    /// Doubled lists would take twice the memory limit of a run.
    #[test]
    fn what_a_run_takes_stays_within_what_it_may() {
        for (bytes_max, record) in [(1 << 20, 40), (4 << 20, 9_000), (300 << 10, 200)] {
            let mut run = KeyedRun::default();
            while run.has_room(bytes_max) {
                run.add(|out| {
                    out.extend(std::iter::repeat_n(7, record));
                    Ok::<usize, ()>(4)
                })
                .expect("added");
            }
            let taken = run.bytes.capacity() + run.places.capacity() * size_of::<KeyAddress>();
            let used = run.bytes.len() + run.places.len() * size_of::<KeyAddress>();
            assert!(
                taken <= bytes_max && used * 2 > bytes_max,
                "{used} of {taken} bytes, {bytes_max} allowed"
            );
        }
    }
}
