//! Folders for memory that outlives the process, in a folder that all users may write to; their simulated half is `sim/surviving_folder.rs`.
//!
//! Another user may have made a folder or link of that name. Only a folder that no other user can access is used. Any process that finds it
//! empty removes it; a process that makes a file in it then makes the folder again.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::{IoError, IoErrorKind};

/// Makes a folder, if it does not exist.
pub(crate) fn make(folder: &Path) -> Result<(), IoError> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(IoError::from_std(&error, format!("make {}", folder.display())))
        }
        _ => check(folder),
    }
}

/// Errors when it does not exist, and when another user could have made it, or can change its contents.
pub(crate) fn check(folder: &Path) -> Result<(), IoError> {
    let what = || format!("look at {}", folder.display());
    let metadata = fs::symlink_metadata(folder).map_err(|error| IoError::from_std(&error, what()))?;
    // SAFETY: takes nothing, cannot fail.
    let own = unsafe { libc::geteuid() };
    if metadata.is_dir() && metadata.uid() == own && metadata.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(IoError::new(IoErrorKind::Permission, format!("{}: it is not a folder of ours alone", what())))
    }
}

/// Removes an empty folder; false when it is not empty, or does not exist.
pub(crate) fn remove(folder: &Path) -> bool {
    fs::remove_dir(folder).is_ok()
}

/// The names in a folder, including folders.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let failed = |error: std::io::Error| IoError::from_std(&error, format!("list {}", folder.display()));
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.push(entry.map_err(failed)?.path());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_a_folder_of_ours_alone_is_used() {
        let root = std::env::temp_dir().join(format!("hardpan-surviving-folder-{}", std::process::id()));
        make(&root).expect("a folder");
        let folder = root.join("folder");
        let kind = |checked: Result<(), IoError>| checked.map_err(|error| error.kind);
        assert_eq!(kind(check(&folder)), Err(IoErrorKind::NotFound));
        make(&folder).expect("a folder");
        let mode = fs::metadata(&folder).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "for its owner alone");
        make(&folder).expect("the same again");
        fs::write(folder.join("piece"), b"").expect("a file");
        assert!(!remove(&folder), "it is not empty");
        assert_eq!(names_in(&folder).expect("its names"), [folder.join("piece")]);
        assert_eq!(names_in(&root).expect("its names"), std::slice::from_ref(&folder));
        for mode in [0o710, 0o702, 0o755] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("it is ours");
            let found = [kind(make(&folder)), kind(check(&folder))];
            assert_eq!(found, [Err(IoErrorKind::Permission); 2], "mode {mode:o}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("it is ours");
        let link = root.join("link");
        symlink(&folder, &link).expect("a link");
        assert_eq!(kind(make(&link)), Err(IoErrorKind::Permission), "links are not followed");
        assert!(!remove(&link), "a link is no folder");
        assert_eq!(kind(make(&folder.join("piece"))), Err(IoErrorKind::Permission), "nor is a file");
        assert_eq!(kind(make(&root.join("none/deep"))), Err(IoErrorKind::NotFound), "parents are not made");
        fs::remove_file(folder.join("piece")).expect("it is ours");
        fs::remove_file(&link).expect("it is ours");
        assert!(remove(&folder) && !remove(&folder), "once");
        assert!(remove(&root), "nothing is left");
    }
}
