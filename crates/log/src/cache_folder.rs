//! Where log caches that outlive the process lie: one folder for each data directory.
//!
//! ```text
//!  /dev/shm/                            all users may write here
//!    hardpan-data-<device>-<inode>/     of this data directory: made with the first cache, gone with the last
//!      log-<log id>-<device>-<inode>    of this log
//!    hardpan-log-<...>                  of a log, by a version without such folders
//! ```
//! A folder that another user owns or has access to is not used.

use std::path::{Path, PathBuf};

use os::{IoError, IoErrorKind, Os, SurvivingLayout, SurvivingMemory};

/// How the names of the folders begin, and those of the caches in them.
const FOLDER_PREFIX: &str = "hardpan-data-";
pub(crate) const CACHE_PREFIX: &str = "log-";
/// The prefix of the name of a cache that lies outside such a folder.
const FORMER_PREFIX: &str = "hardpan-";
/// How often a folder is made again when another process removes it before the cache is in it.
const TRIES: u32 = 20;

/// The folder of a data directory's caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFolder {
    /// The folder that contains it and those of other data directories.
    root: PathBuf,
    own: PathBuf,
}

impl CacheFolder {
    /// The folder of a data directory, named by its device and inode; nothing is created yet.
    pub fn of(root: &Path, (device, inode): (u64, u64)) -> CacheFolder {
        let own = root.join(format!("{FOLDER_PREFIX}{device:x}-{inode:x}"));
        assert_eq!(own.parent(), Some(root), "a folder beside those of others");
        assert!(begins_with(&own, FOLDER_PREFIX), "a sweep finds it");
        CacheFolder { root: root.to_owned(), own }
    }

    /// Errors when another user has made a file or folder of this name: no cache can be made there.
    pub fn check(&self, os: &Os) -> Result<(), IoError> {
        match os.check_surviving_folder(&self.own) {
            Err(error) if error.kind != IoErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Creates a cache of that name and replaces an existing one.
    pub(crate) fn create(
        &self,
        os: &Os,
        name: &str,
        layout: SurvivingLayout,
    ) -> Result<SurvivingMemory, IoError> {
        let path = self.own.join(name);
        assert_eq!(path.parent(), Some(&*self.own), "the name is one");
        assert!(begins_with(&path, CACHE_PREFIX), "a sweep finds it");
        let mut tries = 0;
        let made = loop {
            tries += 1;
            let folder = os.make_surviving_folder(&self.own);
            match folder.and_then(|()| os.create_surviving_memory(&path, layout)) {
                // A sweep has removed the folder, which was empty.
                Err(error) if error.kind == IoErrorKind::NotFound && tries < TRIES => {}
                made => break made,
            }
        };
        assert!((1..=TRIES).contains(&tries), "{tries} tries");
        if made.is_err() {
            os.remove_surviving_folder(&self.own);
        }
        for other in self.elsewhere(os, name) {
            self.remove_one(os, &other);
        }
        made
    }

    /// The possible paths of a cache of that name: a log may have been opened from another data directory before, or by a former version.
    pub(crate) fn places<'a>(&'a self, os: &'a Os, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        let own = Some(self.own.join(name)).filter(|_| os.check_surviving_folder(&self.own).is_ok());
        // Other folders are searched only when the iterator gets there.
        own.into_iter().chain(std::iter::once_with(move || self.elsewhere(os, name)).flatten())
    }

    fn elsewhere(&self, os: &Os, name: &str) -> Vec<PathBuf> {
        assert!(name.starts_with(CACHE_PREFIX), "{name} is the name of a cache");
        let folders = folders_in(os, &self.root).unwrap_or_default();
        let others = folders.iter().filter(|folder| **folder != self.own).map(|folder| folder.join(name));
        others.chain([self.root.join(format!("{FORMER_PREFIX}{name}"))]).collect()
    }

    /// Removes the caches of that name.
    pub(crate) fn remove(&self, os: &Os, name: &str) {
        for place in self.places(os, name) {
            self.remove_one(os, &place);
        }
    }

    /// Removes a cache, if it exists, and the folder after its last cache.
    fn remove_one(&self, os: &Os, path: &Path) {
        assert!(path.starts_with(&self.root) && *path != self.own, "{} is no cache", path.display());
        match os.remove_surviving_memory(path) {
            Ok(true) => {
                if let Some(folder) = path.parent().filter(|folder| *folder != self.root) {
                    os.remove_surviving_folder(folder);
                }
            }
            Ok(false) => {}
            Err(error) => os::report::warn("log", &format!("a log cache that nobody needs stays: {error}")),
        }
    }
}

/// The folders of data directories that only our user owns and has access to.
pub(crate) fn folders_in(os: &Os, root: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut folders = os.surviving_memory_in(root)?;
    folders.retain(|path| begins_with(path, FOLDER_PREFIX) && os.check_surviving_folder(path).is_ok());
    assert!(folders.iter().all(|folder| folder.parent() == Some(root)), "its names are listed");
    Ok(folders)
}

/// The caches in such a folder.
pub(crate) fn caches_in(os: &Os, folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut caches = os.surviving_memory_in(folder)?;
    caches.retain(|path| begins_with(path, CACHE_PREFIX));
    assert!(caches.iter().all(|cache| cache.parent() == Some(folder)), "its names are listed");
    Ok(caches)
}

/// The caches next to these folders, made by a former version.
pub(crate) fn former_caches_in(os: &Os, root: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut caches = os.surviving_memory_in(root)?;
    caches.retain(|path| begins_with(path, &format!("{FORMER_PREFIX}{CACHE_PREFIX}")));
    assert!(caches.iter().all(|cache| cache.parent() == Some(root)), "its names are listed");
    Ok(caches)
}

fn begins_with(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
}
