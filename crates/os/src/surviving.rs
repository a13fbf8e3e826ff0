//! Memory that outlives the process: a file mapped for sharing, in an in-memory file system; its simulated half is `sim/surviving.rs`.
//!
//! Stores into it stay when the process dies, in the order in which the program made them; they do not outlive the system. A process that finds
//! such memory compares [`crate::Os::boot_id`] with the one noted in it. See docs/decisions/0030.
//!
//! It has two parts: words, each stored whole and after everything stored before it, and places, which are lent out as buffers. The
//! bytes that a buffer's owner has stored count from the moment a word says so.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::disk::{AlignedBuf, Lender};
use crate::error::{IoError, IoErrorKind};

/// The unit of mapping and allocation.
const PAGE_BYTES: usize = 4096;

/// The layout of such memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurvivingLayout {
    /// Number of words.
    pub words: usize,
    /// Number of places.
    pub places: u32,
    /// Size of each: whole pages of 4096 bytes.
    pub place_bytes: usize,
}

impl SurvivingLayout {
    fn words_bytes(self) -> usize {
        (self.words * 8).next_multiple_of(PAGE_BYTES)
    }

    fn len_bytes(self) -> usize {
        self.words_bytes() + self.places as usize * self.place_bytes
    }

    fn offset_of(self, place: u32) -> usize {
        assert!(
            place < self.places && self.place_bytes.is_multiple_of(PAGE_BYTES),
            "place {place} of {self:?}"
        );
        self.words_bytes() + place as usize * self.place_bytes
    }
}

/// The simulated half of a piece of such memory.
pub(crate) trait SurvivingStore: Send + Sync {
    /// Stores a word.
    fn set_word(&self, index: usize, word: u64);
    /// Stores words in a row.
    fn fill_words(&self, first: usize, words: &[u64]);
    /// Stores bytes of a place.
    fn store(&self, place: u32, at: usize, bytes: &[u8]);
    /// Gives a place memory, if it has none.
    fn allocate(&self, place: u32) -> Result<(), IoError>;
    /// Frees a place's memory.
    fn give_up(&self, place: u32);
    /// Removes the piece, if it still has that name.
    fn remove(&self, path: &Path);
}

/// A piece of such memory that this process writes.
pub struct SurvivingMemory {
    layout: SurvivingLayout,
    half: Half,
}

enum Half {
    Mapped(Arc<Mapping>),
    Simulated(Box<dyn SurvivingStore>),
}

impl SurvivingMemory {
    /// Makes a new, zeroed one, and replaces an existing one of that name.
    pub(crate) fn create(path: &Path, layout: SurvivingLayout) -> Result<SurvivingMemory, IoError> {
        Ok(SurvivingMemory { layout, half: Half::Mapped(Arc::new(Mapping::create(path, layout)?)) })
    }

    pub(crate) fn simulated(memory: Box<dyn SurvivingStore>, layout: SurvivingLayout) -> SurvivingMemory {
        SurvivingMemory { layout, half: Half::Simulated(memory) }
    }

    /// Stores a word, after all that was stored before.
    #[inline]
    pub fn set_word(&self, index: usize, word: u64) {
        assert!(index < self.layout.words, "word {index} of {}", self.layout.words);
        match &self.half {
            Half::Mapped(mapping) => mapping.words()[index].store(word, Ordering::Release),
            Half::Simulated(memory) => memory.set_word(index, word),
        }
    }

    /// Stores words that do not count yet, because the word that makes them count is stored later.
    pub fn fill_words(&self, first: usize, words: &[u64]) {
        assert!(first + words.len() <= self.layout.words, "{} words at {first}", words.len());
        match &self.half {
            Half::Mapped(mapping) => {
                for (at, word) in mapping.words()[first..].iter().zip(words) {
                    at.store(*word, Ordering::Relaxed);
                }
            }
            Half::Simulated(memory) => memory.fill_words(first, words),
        }
    }

    /// Notes that the owner of the buffer of `place` has stored `bytes` at `at` in it; the next word may count them.
    #[inline]
    pub fn note_stored(&self, place: u32, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.layout.place_bytes, "{} bytes at {at}", bytes.len());
        match &self.half {
            // The buffer is the memory.
            Half::Mapped(mapping) => debug_assert!(mapping.is_at(place, at, bytes)),
            Half::Simulated(memory) => memory.store(place, at, bytes),
        }
    }

    /// The buffer of a place that is not lent out: stores into it are stores into the place. Errors when there is no memory for it.
    pub fn lend(&self, place: u32) -> Result<AlignedBuf, IoError> {
        match &self.half {
            Half::Mapped(mapping) => Mapping::lend(mapping, place),
            Half::Simulated(memory) => {
                memory.allocate(place)?;
                Ok(AlignedBuf::new(self.layout.place_bytes))
            }
        }
    }

    /// Returns the memory of a place to the system; its buffer must have been dropped.
    pub fn give_up(&self, place: u32) {
        match &self.half {
            Half::Mapped(mapping) => mapping.give_up(place),
            Half::Simulated(memory) => memory.give_up(place),
        }
    }
}

/// The contents that a dead process has left in such memory.
pub struct SurvivingImage {
    layout: SurvivingLayout,
    words: Vec<u64>,
    places: ImagePlaces,
}

enum ImagePlaces {
    File(File, PathBuf),
    Simulated(BTreeMap<u32, Vec<u8>>),
}

impl SurvivingImage {
    /// Errors when there is none, when it has another size, and when another user could have written it.
    pub(crate) fn read(path: &Path, layout: SurvivingLayout) -> Result<SurvivingImage, IoError> {
        let file = open(path, File::options().read(true))?;
        SurvivingImage::of_file(file, path, layout)
    }

    fn of_file(file: File, path: &Path, layout: SurvivingLayout) -> Result<SurvivingImage, IoError> {
        let what = || format!("read {}", path.display());
        let failed = |error: std::io::Error| IoError::from_std(&error, what());
        let metadata = file.metadata().map_err(failed)?;
        // SAFETY: takes nothing, cannot fail.
        let own = unsafe { libc::geteuid() };
        if !metadata.is_file()
            || metadata.uid() != own
            || metadata.mode() & 0o077 != 0
            || metadata.nlink() != 1
        {
            return Err(IoError::new(IoErrorKind::Permission, format!("{}: it is not ours alone", what())));
        }
        if metadata.len() != layout.len_bytes() as u64 {
            return Err(IoError::new(IoErrorKind::Invalid, format!("{}: another size", what())));
        }
        let mut bytes = vec![0; layout.words * 8];
        file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        let (words, _) = bytes.as_chunks::<8>();
        let words = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Ok(SurvivingImage { layout, words, places: ImagePlaces::File(file, path.to_owned()) })
    }

    pub(crate) fn simulated(
        words: Vec<u64>,
        places: BTreeMap<u32, Vec<u8>>,
        layout: SurvivingLayout,
    ) -> SurvivingImage {
        SurvivingImage { layout, words, places: ImagePlaces::Simulated(places) }
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The first `len` bytes of a place.
    pub fn place(&self, place: u32, len: usize) -> Result<Vec<u8>, IoError> {
        assert!(len <= self.layout.place_bytes, "{len} bytes of a place");
        let offset = self.layout.offset_of(place);
        let mut bytes = vec![0; len];
        match &self.places {
            ImagePlaces::File(file, path) => file
                .read_exact_at(&mut bytes, offset as u64)
                .map_err(|error| IoError::from_std(&error, format!("read {}", path.display())))?,
            ImagePlaces::Simulated(places) => {
                if let Some(kept) = places.get(&place) {
                    bytes.copy_from_slice(&kept[..len]);
                }
            }
        }
        Ok(bytes)
    }
}

/// A piece of such memory that no living process writes, nor begins to write as long as this is held.
pub struct SurvivingClaim {
    image: SurvivingImage,
    half: ClaimHalf,
}

enum ClaimHalf {
    /// The image's file is locked.
    File(PathBuf),
    Simulated(Box<dyn SurvivingStore>, PathBuf),
}

impl SurvivingClaim {
    /// `None` when a process uses it, or it was removed meanwhile.
    pub(crate) fn take(path: &Path, layout: SurvivingLayout) -> Result<Option<SurvivingClaim>, IoError> {
        let file = open(path, File::options().read(true).write(true))?;
        if !try_lock(&file) || !is_name_of(path, &file) {
            return Ok(None);
        }
        let image = SurvivingImage::of_file(file, path, layout)?;
        Ok(Some(SurvivingClaim { image, half: ClaimHalf::File(path.to_owned()) }))
    }

    pub(crate) fn simulated(
        image: SurvivingImage,
        memory: Box<dyn SurvivingStore>,
        path: &Path,
    ) -> SurvivingClaim {
        SurvivingClaim { image, half: ClaimHalf::Simulated(memory, path.to_owned()) }
    }

    /// What is in it.
    pub fn image(&self) -> &SurvivingImage {
        &self.image
    }

    /// Stores a word into it.
    pub fn set_word(&self, index: usize, word: u64) -> Result<(), IoError> {
        assert!(index < self.image.layout.words, "word {index} of {}", self.image.layout.words);
        match (&self.half, &self.image.places) {
            (ClaimHalf::File(path), ImagePlaces::File(file, _)) => file
                .write_all_at(&word.to_le_bytes(), index as u64 * 8)
                .map_err(|error| IoError::from_std(&error, format!("write {}", path.display()))),
            (ClaimHalf::Simulated(memory, _), _) => {
                memory.set_word(index, word);
                Ok(())
            }
            (ClaimHalf::File(_), ImagePlaces::Simulated(_)) => unreachable!("a file is claimed by its file"),
        }
    }

    /// Removes it.
    pub fn remove(self) -> Result<(), IoError> {
        match &self.half {
            // A process that replaces the file waits for the lock first: the name still means this file.
            ClaimHalf::File(path) => remove(path).map(drop),
            ClaimHalf::Simulated(memory, path) => {
                memory.remove(path);
                Ok(())
            }
        }
    }
}

/// Opens the file of a piece of such memory, never through a link.
fn open(path: &Path, how: &mut fs::OpenOptions) -> Result<File, IoError> {
    let opened = how.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path);
    opened.map_err(|error| IoError::from_std(&error, format!("read {}", path.display())))
}

/// A process has its pieces locked from the moment they are made until it dies.
fn try_lock(file: &File) -> bool {
    // SAFETY: flock on an open descriptor.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

fn is_name_of(path: &Path, file: &File) -> bool {
    let (Ok(named), Ok(own)) = (fs::symlink_metadata(path), file.metadata()) else { return false };
    (named.dev(), named.ino()) == (own.dev(), own.ino())
}

/// Attempts to take a lock that a sweeping process may hold for a moment, and the pause between them, in ms.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE_MS: u64 = 2;

/// Waits for a sweeping process; false when the lock is still held, so that another process uses the file.
fn lock_patiently(file: &File) -> bool {
    (0..LOCK_TRIES).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(std::time::Duration::from_millis(LOCK_PAUSE_MS));
        }
        try_lock(file)
    })
}

/// Removes such memory; false if it did not exist.
pub(crate) fn remove(path: &Path) -> Result<bool, IoError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(IoError::from_std(&error, format!("remove {}", path.display()))),
    }
}

/// A file mapped for sharing: its pages belong to the file, not to the process.
struct Mapping {
    start: NonNull<u8>,
    layout: SurvivingLayout,
    file: File,
    path: PathBuf,
    /// Which places are lent out, and which have memory.
    lent: Box<[AtomicBool]>,
    allocated: Box<[AtomicBool]>,
}

// SAFETY: the mapping belongs to this value; it is no more bound to a thread than a `Box<[u8]>`.
unsafe impl Send for Mapping {}
// SAFETY: the words are atomic; each place is reached through the one buffer that is lent of it.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn create(path: &Path, layout: SurvivingLayout) -> Result<Mapping, IoError> {
        let what = || format!("make {}", path.display());
        let failed = |error: &std::io::Error| IoError::from_std(error, what());
        // Not while a sweeping process decides on the old file: it would remove the new one.
        let former = open(path, File::options().read(true)).ok();
        let is_ours = former.as_ref().is_none_or(lock_patiently);
        remove(path)?;
        let mut how = File::options();
        how.read(true).write(true).create_new(true).mode(0o600);
        let file = how.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path).map_err(|e| failed(&e))?;
        drop(former);
        // A sweeping process leaves files without an owner alone.
        if !lock_patiently(&file) || !is_ours {
            crate::report::warn("os", &format!("{} could not be locked", path.display()));
        }
        let made = Mapping::map(file, path, layout);
        if made.is_err() {
            let _ = fs::remove_file(path);
        }
        made
    }

    fn map(file: File, path: &Path, layout: SurvivingLayout) -> Result<Mapping, IoError> {
        let (words_bytes, len_bytes) = (layout.words_bytes(), layout.len_bytes());
        let what = || format!("map {len_bytes} bytes of {}", path.display());
        file.set_len(len_bytes as u64).map_err(|error| IoError::from_std(&error, what()))?;
        allocate(&file, path, 0, words_bytes)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the system chooses, of a file that is open and so long.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), len_bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        let start = NonNull::new(address.cast::<u8>()).filter(|_| address != libc::MAP_FAILED);
        let start = start.ok_or_else(|| IoError::last(what()))?;
        let flags = || (0..layout.places).map(|_| AtomicBool::new(false)).collect();
        Ok(Mapping { start, layout, file, path: path.to_owned(), lent: flags(), allocated: flags() })
    }

    #[inline]
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins with so many words, aligned to a page; they are reached as atomics only.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast::<AtomicU64>(), self.layout.words) }
    }

    fn is_at(&self, place: u32, at: usize, bytes: &[u8]) -> bool {
        self.start.as_ptr() as usize + self.layout.offset_of(place) + at == bytes.as_ptr() as usize
    }

    fn lend(mapping: &Arc<Mapping>, place: u32) -> Result<AlignedBuf, IoError> {
        let (at, count) = (mapping.layout.offset_of(place), mapping.layout.place_bytes);
        let number = place as usize;
        if !mapping.allocated[number].load(Ordering::Acquire) {
            // Without memory for all of it a later store would kill the process (SIGBUS).
            allocate(&mapping.file, &mapping.path, at, count)?;
            mapping.allocated[number].store(true, Ordering::Release);
        }
        assert!(!mapping.lent[number].swap(true, Ordering::AcqRel), "place {place} has a buffer already");
        // SAFETY: the place lies in the mapping, which the buffer keeps; nobody else has it, as `lent` says.
        Ok(unsafe {
            let start = mapping.start.add(at);
            AlignedBuf::lent(start, count, Arc::clone(mapping) as Arc<dyn Lender>, place)
        })
    }

    fn give_up(&self, place: u32) {
        let (at, count) = (self.layout.offset_of(place), self.layout.place_bytes);
        assert!(!self.lent[place as usize].load(Ordering::Acquire), "place {place} is in use");
        self.allocated[place as usize].store(false, Ordering::Release);
        let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // Should the file system not do this, the memory stays with the file.
        // SAFETY: a descriptor that is open and numbers; nobody refers to the place.
        unsafe { libc::fallocate(self.file.as_raw_fd(), how, at as libc::off_t, count as libc::off_t) };
    }
}

impl Lender for Mapping {
    fn take_back(&self, place: u32) {
        let was_lent = self.lent[place as usize].swap(false, Ordering::AcqRel);
        debug_assert!(was_lent, "a buffer is dropped once");
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made, whole; every buffer in it keeps `self` alive.
        let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.layout.len_bytes()) };
        debug_assert_eq!(result, 0, "what was mapped can be unmapped");
    }
}

pub(crate) fn allocate(file: &File, path: &Path, at: usize, count: usize) -> Result<(), IoError> {
    loop {
        // SAFETY: a descriptor that is open and two numbers.
        let code =
            unsafe { libc::posix_fallocate(file.as_raw_fd(), at as libc::off_t, count as libc::off_t) };
        match code {
            0 => return Ok(()),
            libc::EINTR => {}
            code => {
                return Err(IoError::from_code(
                    code,
                    format!("allocate {count} bytes of {}", path.display()),
                ));
            }
        }
    }
}

/// The system's boot id.
pub(crate) fn system_boot_id() -> Option<[u8; 16]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits = text.trim().replace('-', "");
    u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32).map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: SurvivingLayout = SurvivingLayout { words: 20, places: 3, place_bytes: 2 * PAGE_BYTES };

    #[test]
    fn what_is_stored_outlives_the_mapping() {
        let path = std::env::temp_dir().join(format!("hardpan-surviving-{}", std::process::id()));
        let memory = SurvivingMemory::create(&path, LAYOUT).expect("room for a small file");
        let mut buffer = memory.lend(1).expect("room for a place");
        assert!(buffer.len() == LAYOUT.place_bytes && (buffer.as_ptr() as usize).is_multiple_of(PAGE_BYTES));
        buffer[4_090..4_101].copy_from_slice(b"over a page");
        memory.note_stored(1, 4_090, &buffer[4_090..4_101]);
        memory.set_word(19, 7);
        // The buffer keeps the mapping.
        drop(memory);
        buffer[0] = 9;
        drop(buffer);
        let image = SurvivingImage::read(&path, LAYOUT).expect("the file is there");
        assert_eq!((image.words()[19], image.words()[18]), (7, 0));
        let place = image.place(1, 4_101).expect("a place");
        assert_eq!((&place[4_090..], place[0]), (&b"over a page"[..], 9));
        assert_eq!(image.place(2, 8).expect("a place nobody has used"), [0; 8]);
        let other = SurvivingLayout { places: 4, ..LAYOUT };
        assert!(SurvivingImage::read(&path, other).is_err(), "another size is another file");
        remove(&path).expect("it is ours");
        assert!(SurvivingImage::read(&path, LAYOUT).is_err(), "no file, no memory");
        assert!(!remove(&path).expect("what is not there need not be removed"));
    }

    #[test]
    fn what_others_could_have_written_is_not_read() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("hardpan-surviving-others-{}", std::process::id()));
        drop(SurvivingMemory::create(&path, LAYOUT).expect("room for a small file"));
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "for its owner alone");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).expect("it is ours");
        let refused = SurvivingImage::read(&path, LAYOUT).map(|_| ()).map_err(|error| error.kind);
        assert_eq!(refused, Err(IoErrorKind::Permission));
        remove(&path).expect("it is ours");
        let target = path.with_extension("target");
        fs::write(&target, b"somebody's").expect("a file");
        std::os::unix::fs::symlink(&target, &path).expect("a link");
        assert!(SurvivingImage::read(&path, LAYOUT).is_err(), "links are not followed");
        drop(SurvivingMemory::create(&path, LAYOUT).expect("the link is replaced"));
        assert_eq!(fs::read(&target).expect("it is still there"), b"somebody's");
        let _ = (fs::remove_file(&path), fs::remove_file(&target));
    }

    #[test]
    fn only_what_no_process_has_is_claimed() {
        let path = std::env::temp_dir().join(format!("hardpan-surviving-claim-{}", std::process::id()));
        let take = || SurvivingClaim::take(&path, LAYOUT).expect("it is ours");
        let memory = SurvivingMemory::create(&path, LAYOUT).expect("room for a small file");
        memory.fill_words(3, &[5, 6]);
        let buffer = memory.lend(0).expect("room for a place");
        assert!(take().is_none(), "it is in use");
        drop(memory);
        assert!(take().is_none(), "a buffer of it is");
        drop(buffer);
        let claim = take().expect("nobody has it");
        assert!(take().is_none(), "somebody has claimed it");
        assert_eq!(claim.image().words()[3..6], [5, 6, 0]);
        claim.set_word(5, 7).expect("a word");
        drop(claim);
        assert_eq!(SurvivingImage::read(&path, LAYOUT).expect("it stays").words()[5], 7);
        // A process that makes a new file of that name waits until the claim ends, and keeps the new file.
        let claim = take().expect("nobody has it");
        let name = path.clone();
        let maker = std::thread::spawn(move || SurvivingMemory::create(&name, LAYOUT).is_ok());
        std::thread::sleep(std::time::Duration::from_millis(20));
        claim.remove().expect("it is ours");
        assert!(maker.join().expect("no panic"), "a new one is made");
        assert_eq!(SurvivingImage::read(&path, LAYOUT).expect("and stays").words()[5], 0);
        assert!(remove(&path).expect("it is ours"), "and is named");
        assert!(SurvivingClaim::take(&path, LAYOUT).is_err(), "no file, no claim");
    }

    #[test]
    fn a_place_is_lent_once_and_can_be_given_up() {
        let path = std::env::temp_dir().join(format!("hardpan-surviving-lent-{}", std::process::id()));
        let memory = SurvivingMemory::create(&path, LAYOUT).expect("room for a small file");
        let blocks = || fs::metadata(&path).expect("it is there").blocks();
        let empty = blocks();
        let mut buffer = memory.lend(0).expect("room");
        buffer.fill(3);
        assert!(blocks() > empty, "a place that is lent has memory");
        drop(buffer);
        memory.give_up(0);
        assert_eq!(blocks(), empty, "what is given up takes none");
        assert_eq!(memory.lend(0).expect("room")[5], 0);
        let first = memory.lend(2).expect("room");
        let twice = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| memory.lend(2).is_ok()));
        assert!(twice.is_err(), "two buffers of one place");
        drop(first);
        remove(&path).expect("it is ours");
    }

    #[test]
    fn this_boot_has_a_name() {
        assert!(system_boot_id().is_some_and(|id| id != [0; 16]));
        assert_eq!(system_boot_id(), system_boot_id());
    }
}
