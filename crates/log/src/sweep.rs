//! The sweep at the server's start: removes log caches that dead processes have left and no log will take over, because the logs are gone or
//! continued without them.
//!
//! A cache is needed as long as its log can be opened, and has not been opened since: each opening begins another run, and takes over
//! what the last one has left, or never does (a server without log caches). When its log is not in its old location, although its device is mounted,
//! the folder or the database is gone, and the cache is removed. (A server started first in a renamed folder takes its caches over before a sweep.)
//!
//! ```text
//!  in use ──the process dies──► left ──fate: not of this boot, or the log is gone or in another run──► removed
//! ```
//! The sweep claims a cache before it reads it: caches of living processes are not touched, and no process begins to use it meanwhile. The claim of a
//! cache in use fails; a cache of another version of the server, or one without an owner yet, is left alone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use os::{AlignedBuf, File, OpenOptions, Os};

use crate::cache_folder::{caches_in, folders_in, former_caches_in};
use crate::file::FileHeader;
use crate::limits::FILE_HEADER_BYTES;
use crate::place::checksum_of;
use crate::surviving::{LAYOUT, MAGIC, PATH_AT, PATH_WORDS, RUN_AT, checksum_of_place, run_words};

/// Words of the owner with the location of the log: the device of its folder, the bytes of its path, a checksum of both and the path.
const PLACE_AT: usize = 8;

const _: () = assert!(PATH_AT + PATH_WORDS == LAYOUT.words);

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

    /// Is the log missing, though its file system is mounted, or of another run? A log that cannot be read may be there.
    fn is_gone(&self, os: &Os, identity: (u64, u64), run: [u64; 2]) -> bool {
        let options = OpenOptions::read_only();
        match os.disk().open(&self.path, &options) {
            Ok(file) => file.identity() != identity || is_of_another_run(&*file, run),
            Err(error) if error.kind == os::IoErrorKind::NotFound => {
                let nearest = self.path.ancestors().skip(1).find(|folder| os.disk().exists(folder));
                let device = nearest.and_then(|folder| os.disk().device_of(folder).ok());
                device == Some(self.folder_device)
            }
            Err(_) => false,
        }
    }
}

/// Does the header of a log name another run in both its copies, so that no opening takes over what that run has left?
///
/// Nothing is lost although another server may be opening the log at this moment. An opening writes the number of its run into the header
/// only when what it has taken over is durable in the file; before that, both copies name the run that has left the cache, or one of
/// them does, and that one may count yet. When it is over it looks for that cache only to put a new one in its place. A log that is
/// open is only read here, and no header of it ever names a former run again.
fn is_of_another_run(file: &dyn File, run: [u64; 2]) -> bool {
    let mut page = AlignedBuf::new(FILE_HEADER_BYTES as usize);
    // Too short, or not readable: not known.
    if file.read_exact_at(&mut page, 0).is_err() {
        return false;
    }
    let (first, second) = page.split_at(page.len() / 2);
    assert_eq!(first.len(), second.len(), "both copies have the same room");
    let is_of_another = |copy| FileHeader::decode(copy).is_ok_and(|header| run_words(&header) != run);
    is_of_another(first) && is_of_another(second)
}

/// Is a cache with these words, which no process uses, useless?
fn is_needless(os: &Os, words: &[u64], boot_id: [u8; 16]) -> bool {
    if words[0] != MAGIC || words[7] != checksum_of(&words[..7]) {
        return false;
    }
    let boot = u128::from_be_bytes(boot_id);
    if words[1..3] != [(boot >> 64) as u64, boot as u64] {
        return true;
    }
    let run = [words[RUN_AT], words[RUN_AT + 1]];
    LogPlace::of(words).is_some_and(|place| place.is_gone(os, (words[5], words[6]), run))
}

/// Removes the useless caches below the folder, and empty folders of data directories; returns the number of removed
/// caches.
pub fn sweep_left_caches(os: &Os, root: &Path) -> u32 {
    let Some(boot_id) = os.boot_id() else { return 0 };
    let listed = folders_in(os, root).and_then(|folders| Ok((folders, former_caches_in(os, root)?)));
    let (folders, former) = listed.unwrap_or_else(|error| {
        os::report::warn("log", &format!("log caches that nobody needs are not looked for: {error}"));
        Default::default()
    });
    let mut removed = sweep(os, &former, boot_id);
    for folder in folders {
        // A folder that is missing by now was empty.
        let caches = caches_in(os, &folder).unwrap_or_default();
        removed += sweep(os, &caches, boot_id);
        os.remove_surviving_folder(&folder);
    }
    if removed > 0 {
        os::report::info(
            "log",
            &format!("{removed} log caches that nobody can take over any more were removed"),
        );
    }
    removed
}

fn sweep(os: &Os, caches: &[PathBuf], boot_id: [u8; 16]) -> u32 {
    assert!(caches.is_sorted(), "listed by name");
    let mut removed = 0;
    for name in caches {
        // Of another user, or another layout: left alone.
        let Ok(Some(claim)) = os.claim_surviving_memory(name, LAYOUT) else { continue };
        assert_eq!(claim.image().words().len(), LAYOUT.words, "what is claimed has the layout");
        if !is_needless(os, claim.image().words(), boot_id) {
            continue;
        }
        match claim.remove() {
            Ok(()) => removed += 1,
            Err(error) => os::report::warn("log", &format!("a log cache that nobody needs stays: {error}")),
        }
    }
    assert!(removed as usize <= caches.len(), "each is removed once");
    removed
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
            let of = |words: &[u64]| is_needless(os, words, boot);
            let there = words_of("/data/there.ldf", 0, inode);
            assert!(!of(&there), "it can be recovered");
            assert!(of(&words_of("/data/there.ldf", 0, inode + 1)), "another file");
            for path in ["/data/gone.ldf", "/data/deep/down/gone.ldf", "/elsewhere/gone.ldf"] {
                assert!(of(&words_of(path, 0, inode)), "{path}");
            }
            assert!(!of(&words_of("/data/gone.ldf", 3, inode)), "its device is not mounted");
            let mut unknown = words_of("/data/gone.ldf", 0, inode);
            unknown[PATH_AT] ^= 1;
            assert!(!of(&unknown), "nobody knows where its log was");
            unknown[PLACE_AT + 1] = u64::MAX;
            assert!(!of(&unknown));
            let begun = vec![0; LAYOUT.words];
            assert!(!of(&begun), "it does not say yet whose it is");
            assert!(is_needless(os, &there, 8u128.to_be_bytes()), "of a former boot");
            assert!(!is_needless(os, &begun, 8u128.to_be_bytes()));
        };
        world.run(run).assert_ok();
    }

    /// As long as one copy of the header is not sound, or names the run, that run may yet be the one that counts.
    #[test]
    fn a_run_is_over_when_both_copies_of_the_header_name_another() {
        let world = os::sim::World::new(1, os::sim::Profile::constant_latency());
        let run = |os: &Os| {
            os.disk().create_dir_all(Path::new("/data")).expect("a folder");
            let path = Path::new("/data/test.ldf");
            let options = crate::LogOptions::new(path, "test");
            crate::Log::create(os, &options).expect("a log").close().expect("closed");
            let file = os.disk().open(path, &OpenOptions::default()).expect("it is there");
            let mut page = AlignedBuf::new(FILE_HEADER_BYTES as usize);
            file.read_exact_at(&mut page, 0).expect("a header");
            let header = FileHeader::decode_page(&page).expect("a header");
            let next = FileHeader { epoch: header.epoch + 1, run_id: !header.run_id, ..header };
            let other_log = FileHeader { log_id: !header.log_id, ..header };
            let run = run_words(&header);
            let is_over = |first: &[u8], second: &[u8]| {
                let mut page = AlignedBuf::new(FILE_HEADER_BYTES as usize);
                let half = page.len() / 2;
                page[..half].copy_from_slice(first);
                page[half..].copy_from_slice(second);
                file.write_at(&page, 0, os::WriteMode::Durable).expect("written");
                is_of_another_run(&*file, run)
            };
            let own = page[..page.len() / 2].to_vec();
            let (next, other_log) = (next.encode(), other_log.encode());
            let unsound = vec![0; own.len()];
            assert!(!is_over(&own, &own) && !is_over(&next, &own) && !is_over(&own, &next));
            assert!(!is_over(&next, &unsound) && !is_over(&unsound, &next) && !is_over(&unsound, &unsound));
            assert!(is_over(&next, &next) && is_over(&other_log, &other_log));
        };
        world.run(run).assert_ok();
    }
}
