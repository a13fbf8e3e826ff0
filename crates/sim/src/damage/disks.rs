//! Damaged disks of scenario `damage`: what is done to their pages, and how the server that starts on them is judged.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use os::sim::{Bug, DiskImage, End, Profile, World};
use os::{Latch, LatchRank, Rng};

use super::tables::{Shown, Table, open, show};
use crate::nemesis::Nemesis;
use crate::{Outcome, survival};

/// The data files, with their numbers; the last one is added in some lives.
pub(super) const FILES: [(&str, u16); 3] =
    [("/data/works.mdf", 1), ("/data/works2.ndf", 3), ("/data/works3.ndf", 4)];
/// The files that the prepared disk has.
const PREPARED_FILES: u64 = 2;
const PAGE_BYTES: usize = 8_192;
/// Which page of a file is its first allocation map.
const MAP: u64 = 1;
/// Recoveries of one disk that are cut off, at most.
const CUTS_MAX: u64 = 3;

/// A disk with damage.
pub(super) struct Damaged {
    seed: u64,
    image: DiskImage,
    /// File and page, with what was done.
    pages: BTreeMap<(u16, u64), &'static str>,
}

impl Damaged {
    /// Pages of one kind: an allocation map, one that was changed since the life began, or any that has something on it.
    pub(super) fn draw(seed: u64, before: &DiskImage, world: &World, rng: &mut Rng) -> Damaged {
        let hurt = World::with_disk(seed, Profile::nvme(), world.disk_image());
        let begun = World::with_disk(seed, Profile::nvme(), before.clone());
        let mut pages = BTreeMap::new();
        let kind = rng.below(4);
        for _ in 0..if rng.chance(2, 3) { 1 } else { 1 + rng.below(3) } {
            let (path, file) = FILES[rng.below(PREPARED_FILES) as usize];
            let path = PathBuf::from(path);
            let (Some(bytes), old) = (hurt.file_bytes(&path), begun.file_bytes(&path).unwrap_or_default())
            else {
                continue;
            };
            let is_used = |page: &[u8]| page.iter().any(|byte| *byte != 0);
            let candidates: Vec<u64> = (0..(bytes.len() / PAGE_BYTES) as u64)
                .filter(|page| match (kind, *page) {
                    // The file's header and the boot page are what opening begins with: nothing is recovered without them.
                    (_, 0 | 9) => false,
                    (0, page) => page == MAP,
                    (1, page) => {
                        let range = page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES;
                        is_used(&bytes[range.clone()]) && old.get(range.clone()) != Some(&bytes[range])
                    }
                    (_, page) => {
                        is_used(&bytes[page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES])
                    }
                })
                .collect();
            if candidates.is_empty() {
                continue;
            }
            let page = candidates[rng.below(candidates.len() as u64) as usize];
            let mut damage = vec![0; PAGE_BYTES];
            let what = if rng.chance(2, 3) { "zeros" } else { "noise" };
            if what == "noise" {
                rng.fill(&mut damage);
            }
            hurt.corrupt(&path, page * PAGE_BYTES as u64, &damage);
            pages.insert((file, page), what);
        }
        Damaged { seed, image: hurt.disk_image(), pages }
    }

    /// An allocation map as it was at one of these times, zeros where its file was not there yet. None where all are as they were.
    pub(super) fn with_older_map(
        seed: u64,
        times: &[DiskImage],
        world: &World,
        rng: &mut Rng,
    ) -> Option<Damaged> {
        let hurt = World::with_disk(seed, Profile::nvme(), world.disk_image());
        let earlier = times[rng.below(times.len() as u64) as usize].clone();
        let begun = World::with_disk(seed, Profile::nvme(), earlier);
        let map = MAP as usize * PAGE_BYTES..(MAP as usize + 1) * PAGE_BYTES;
        let older = |(path, file): (&str, u16)| {
            let path = PathBuf::from(path);
            let now = hurt.file_bytes(&path)?.get(map.clone())?.to_vec();
            let then = begun.file_bytes(&path).and_then(|bytes| Some(bytes.get(map.clone())?.to_vec()));
            let then = then.unwrap_or_else(|| vec![0; PAGE_BYTES]);
            (then != now).then_some((path, file, then))
        };
        let mut candidates: Vec<_> = FILES.into_iter().filter_map(older).collect();
        if candidates.is_empty() {
            return None;
        }
        // One of a file that was added since is filled by redo.
        let is_last = rng.chance(1, 2);
        let drawn = rng.below(candidates.len() as u64) as usize;
        let (path, file, then) = candidates.swap_remove(if is_last { candidates.len() - 1 } else { drawn });
        hurt.corrupt(&path, MAP * PAGE_BYTES as u64, &then);
        Some(Damaged { seed, image: hurt.disk_image(), pages: BTreeMap::from([((file, MAP), "older")]) })
    }

    /// Starts the server on it and judges what that shows. Returns which operations on the disk are of the recovery.
    pub(super) fn look(&self, bug: Option<Bug>, tables: &[Table], outcome: &mut Outcome) -> Range<u64> {
        let world = self.world(bug);
        let recovering = self.look_at(&world, tables, 0, outcome);
        count(&world, outcome);
        recovering
    }

    /// The same behind recoveries that are cut off in the middle of an operation, mostly one of these or a few behind; then once more behind an
    /// orderly stop.
    pub(super) fn look_behind_cuts(
        &self,
        bug: Option<Bug>,
        tables: &[Table],
        (ios, rng): (Range<u64>, &mut Rng),
        outcome: &mut Outcome,
    ) {
        let world = self.world(bug);
        for _ in 0..1 + rng.below(CUTS_MAX) {
            let at = match rng.chance(1, 8) {
                true => rng.below(ios.end + 1),
                false => ios.start + rng.below(ios.end - ios.start + 8),
            };
            Nemesis::PowerOffAtIo(1 + at).arm(&world);
            let before = world.reached();
            let report = world.run(|os| {
                // Suspect or not, or cut off: the next one says what that has left.
                drop(open(os).map(|instance| instance.shutdown()));
            });
            outcome.note(&report);
            let times = |what: &str| {
                let now = world.reached();
                now.get(what).copied().unwrap_or_default() - before.get(what).copied().unwrap_or_default()
            };
            let compared = times("a map that redo comes to is compared with its pages");
            let is_in_redo = compared > times("redo has explained what an allocation map did not know");
            let word = match report.end {
                End::PowerOff if is_in_redo && times("redo begins an allocation map") > 0 => {
                    "a recovery is cut off while it fills an allocation map"
                }
                End::PowerOff if compared > 0 => {
                    "a recovery is cut off after it has compared an allocation map"
                }
                End::PowerOff => "a recovery is cut off elsewhere",
                _ => "a recovery ends before it is cut off",
            };
            *outcome.reached.entry(format!("damage: {word}")).or_default() += 1;
        }
        world.disarm();
        for time in 0..2 {
            self.look_at(&world, tables, time, outcome);
        }
        count(&world, outcome);
    }

    fn world(&self, bug: Option<Bug>) -> World {
        let world = World::with_disk(self.seed, Profile::nvme(), self.image.clone());
        world.plant(bug);
        world
    }

    fn look_at(&self, world: &World, tables: &[Table], time: usize, outcome: &mut Outcome) -> Range<u64> {
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let (told, shown_tables, device) = (Arc::clone(&found), tables.to_vec(), world.clone());
        let report = world.run(move |os| {
            let shown = show(os, &shown_tables, time, &|| device.io_total());
            *told.lock() = Some(shown);
        });
        outcome.note(&report);
        let Some((shown, recovering)) = survival::told_to_the_end(report.end, &found) else { return 0..1 };
        let word = match &shown {
            Shown::Suspect(_) => "suspect, and the page is named",
            Shown::Told => "a statement or CHECKDB tells",
            Shown::Right => "nothing is wrong",
            Shown::Wrong(_) => "wrong",
        };
        let kind =
            if self.pages.values().any(|what| *what == "older") { ", behind an older map" } else { "" };
        *outcome.reached.entry(format!("damage: {word}{kind}")).or_default() += 1;
        let is_named = |reason: &str| self.pages.keys().any(|(file, page)| names(reason, *file, *page));
        match shown {
            Shown::Suspect(reason) if !is_named(&reason) => {
                outcome.violations.push(format!("UNNAMED: {:?} damaged, suspect: {reason}", self.pages));
            }
            Shown::Wrong(text) => {
                outcome.violations.push(format!("WRONG: {:?} damaged, time {time}: {text}", self.pages));
            }
            Shown::Suspect(_) | Shown::Told | Shown::Right => {}
        }
        recovering
    }
}

fn count(world: &World, outcome: &mut Outcome) {
    for (place, count) in world.reached() {
        *outcome.reached.entry(place).or_default() += count;
    }
}

/// Does a text name a page, and not only one whose number begins so?
fn names(text: &str, file: u16, page: u64) -> bool {
    let name = format!("{file}:{page}");
    text.match_indices(&name).any(|(at, _)| {
        let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        !is_digit(text.as_bytes().get(at + name.len())) && (at == 0 || !is_digit(text.as_bytes().get(at - 1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_by_all_of_its_number() {
        assert!(names("page 1:12: is empty", 1, 12) && names("(1:1)", 1, 1));
        assert!(!names("page 1:12: is empty", 1, 1) && !names("page 11:2", 1, 2));
    }
}
