//! What becomes of log caches that dead processes have left and nobody takes over, because their logs are gone: a sweep at the server's start.
//!
//! A cache is needed as long as its log can be opened. That its log is not where it was says little: the folder may have been renamed, or lie on
//! a device that is not mounted now. So such a cache is noted as missed, and goes when a later sweep misses the log still, a day after.
//!
//! ```text
//!  in use ──the process dies──► left ──fate: not of this boot──► removed          (nobody can take it over any more)
//!                                │ ▲
//!              fate: log missed  ▼ │  fate: the log is there again
//!                              missed ──fate: still, GRACE_NS later──► removed
//! ```
//! Whoever looks at a cache claims it: what a living process has is not touched, and none begins to use it meanwhile. The claim of one that
//! is in use fails; what another version of the server has made, or what does not yet say whose it is, is left alone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use os::{OpenOptions, Os, SurvivingClaim};

use crate::place::checksum_of;
use crate::surviving::{
    FILE_PREFIX, LAYOUT, MAGIC, MISSED_AT, OWNER_WORDS, PATH_AT, PATH_WORDS, checksum_of_place,
};

/// How long a log may be missing until its cache goes: time for whoever moves a folder, or mounts a device, to start a server there.
pub const GRACE_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// Words of the owner that tell where the log was: the device of its folder, the bytes of its path, a checksum of both and the path.
const PLACE_AT: usize = 8;

const _: () = assert!(MISSED_AT < OWNER_WORDS && PATH_AT + PATH_WORDS == LAYOUT.words);

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Caches that are gone.
    pub removed: u32,
    /// Caches whose logs are missed, and which stay for now.
    pub missed: u32,
}

/// Where the log of a cache was.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LogPlace {
    folder_device: u64,
    path: PathBuf,
}

impl LogPlace {
    fn of(words: &[u64]) -> Option<LogPlace> {
        let [folder_device, count, checksum] = *words[PLACE_AT..].first_chunk::<3>()?;
        let count = usize::try_from(count).ok().filter(|count| (1..=PATH_WORDS * 8).contains(count))?;
        let path = &words[PATH_AT..PATH_AT + count.div_ceil(8)];
        if checksum_of_place([folder_device, count as u64], path) != checksum {
            return None;
        }
        let mut bytes: Vec<u8> = path.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(count);
        Some(LogPlace { folder_device, path: OsStr::from_bytes(&bytes).into() })
    }

    /// Is the log not there, though its file system is? What cannot be looked at may be there.
    fn is_missed(&self, os: &Os, identity: (u64, u64)) -> bool {
        let options = OpenOptions::read_only();
        match os.disk().open(&self.path, &options) {
            Ok(file) => file.identity() != identity,
            Err(error) if error.kind == os::IoErrorKind::NotFound => {
                let nearest = self.path.ancestors().skip(1).find(|folder| os.disk().exists(folder));
                let device = nearest.and_then(|folder| os.disk().device_of(folder).ok());
                device == Some(self.folder_device)
            }
            Err(_) => false,
        }
    }
}

/// What is to become of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Leave,
    /// Since when it is missed: now for the first time, or no more (0).
    Note(u64),
    Remove,
}

/// What is to become of a cache with these words that no process has, `now_ns` after the system's start.
fn fate(os: &Os, words: &[u64], boot_id: [u8; 16], now_ns: u64) -> Fate {
    if words[0] != MAGIC || words[7] != checksum_of(&words[..7]) {
        return Fate::Leave;
    }
    let boot = u128::from_be_bytes(boot_id);
    if words[1..3] != [(boot >> 64) as u64, boot as u64] {
        return Fate::Remove;
    }
    let since_ns = words[MISSED_AT];
    let Some(place) = LogPlace::of(words) else { return Fate::Leave };
    match (place.is_missed(os, (words[5], words[6])), since_ns) {
        (false, 0) => Fate::Leave,
        (false, _) => Fate::Note(0),
        (true, since_ns) if since_ns == 0 || since_ns > now_ns => Fate::Note(now_ns.max(1)),
        (true, since_ns) if now_ns - since_ns >= GRACE_NS => Fate::Remove,
        (true, _) => Fate::Leave,
    }
}

/// Removes the caches in the folder that nobody can need any more, and notes those whose logs are missed.
pub fn sweep_left_caches(os: &Os, folder: &Path) -> Swept {
    let mut swept = Swept::default();
    let Some(boot_id) = os.boot_id() else { return swept };
    let names = os.surviving_memory_in(folder).unwrap_or_else(|error| {
        os::report::warn("log", &format!("log caches that nobody needs are not looked for: {error}"));
        Vec::new()
    });
    let is_ours = |name: &&PathBuf| {
        name.file_name().is_some_and(|name| name.as_bytes().starts_with(FILE_PREFIX.as_bytes()))
    };
    for name in names.iter().filter(is_ours) {
        // Of another user, or another layout: not ours to judge.
        let Ok(Some(claim)) = os.claim_surviving_memory(name, LAYOUT) else { continue };
        if let Err(error) = sweep_one(os, claim, boot_id, &mut swept) {
            os::report::warn("log", &format!("a log cache that nobody needs stays: {error}"));
        }
    }
    if swept.removed > 0 {
        let what = format!("{} log caches of logs that are gone were removed", swept.removed);
        os::report::info("log", &what);
    }
    swept
}

fn sweep_one(
    os: &Os,
    claim: SurvivingClaim,
    boot_id: [u8; 16],
    swept: &mut Swept,
) -> Result<(), os::IoError> {
    let now_ns = os.clock().monotonic_ns();
    let words = claim.image().words();
    assert_eq!(words.len(), LAYOUT.words, "what is claimed has the layout");
    let fate = fate(os, words, boot_id, now_ns);
    match fate {
        Fate::Remove => {
            claim.remove()?;
            swept.removed += 1;
            return Ok(());
        }
        Fate::Note(since_ns) => claim.set_word(MISSED_AT, since_ns)?,
        Fate::Leave => {}
    }
    let since_ns = if let Fate::Note(since_ns) = fate { since_ns } else { words[MISSED_AT] };
    let is_known = words[0] == MAGIC;
    swept.missed += u32::from(is_known && since_ns != 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a cache of boot 7 whose log was at `path`.
    fn words_of(path: &str, folder_device: u64, inode: u64) -> Vec<u64> {
        let mut words = vec![0; LAYOUT.words];
        let bytes = path.as_bytes();
        let path: Vec<u64> = bytes
            .chunks(8)
            .map(|part| part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
            .collect();
        words[..7].copy_from_slice(&[MAGIC, 0, 7, 1, 1, 0, inode]);
        words[7] = checksum_of(&words[..7]);
        let place = [folder_device, bytes.len() as u64];
        words[PLACE_AT..PLACE_AT + 3].copy_from_slice(&[place[0], place[1], checksum_of_place(place, &path)]);
        words[PATH_AT..PATH_AT + path.len()].copy_from_slice(&path);
        words
    }

    #[test]
    fn only_what_is_surely_gone_goes() {
        let boot = 7u128.to_be_bytes();
        let world = os::sim::World::new(1, os::sim::Profile::constant_latency());
        let run = move |os: &Os| {
            os.disk().create_dir_all(Path::new("/data")).expect("a folder");
            let file = os.disk().open(Path::new("/data/there.ldf"), &OpenOptions::create()).expect("a file");
            let (device, inode) = file.identity();
            assert_eq!(device, 0, "a simulated disk has one device");
            let of = |words: &[u64], now_ns| fate(os, words, boot, now_ns);
            let there = words_of("/data/there.ldf", 0, inode);
            assert_eq!(of(&there, 5), Fate::Leave, "it can be recovered");
            assert_eq!(of(&words_of("/data/there.ldf", 0, inode + 1), 5), Fate::Note(5), "another file");
            for path in ["/data/gone.ldf", "/data/deep/down/gone.ldf", "/elsewhere/gone.ldf"] {
                let mut gone = words_of(path, 0, inode);
                assert_eq!(of(&gone, 5), Fate::Note(5), "{path}");
                gone[MISSED_AT] = 5;
                assert_eq!(of(&gone, 4 + GRACE_NS), Fate::Leave);
                assert_eq!(of(&gone, 5 + GRACE_NS), Fate::Remove);
                assert_eq!(of(&gone, 4), Fate::Note(4), "a clock that began anew");
            }
            assert_eq!(
                of(&words_of("/data/gone.ldf", 3, inode), 5),
                Fate::Leave,
                "its device is not mounted"
            );
            let mut back = there.clone();
            back[MISSED_AT] = 5;
            assert_eq!(of(&back, 5 + GRACE_NS), Fate::Note(0), "it is there again");
            let mut unknown = words_of("/data/gone.ldf", 0, inode);
            unknown[PATH_AT] ^= 1;
            assert_eq!(of(&unknown, 5), Fate::Leave, "nobody knows where its log was");
            unknown[PLACE_AT + 1] = u64::MAX;
            assert_eq!(of(&unknown, 5), Fate::Leave);
            let begun = vec![0; LAYOUT.words];
            assert_eq!(of(&begun, 5), Fate::Leave, "it does not say yet whose it is");
            assert_eq!(fate(os, &there, 8u128.to_be_bytes(), 5), Fate::Remove, "of a former boot");
            assert_eq!(fate(os, &begun, 8u128.to_be_bytes(), 5), Fate::Leave);
        };
        world.run(run).assert_ok();
    }
}
