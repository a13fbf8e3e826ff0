//! Where files lie: the data directory, and Windows paths of scripts mapped below folders of ours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use os::{Disk, IoError};
use types::SqlError;

use crate::error::SqlResult;

/// Makes a directory with all above it, so that a power loss does not take it away again.
pub(crate) fn make_directory(disk: &dyn Disk, directory: &Path) -> Result<(), IoError> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !disk.exists(path);
    let missing: Vec<&Path> = directory.ancestors().take_while(is_missing).collect();
    disk.create_dir_all(directory)?;
    for made in missing {
        let above = made.parent().filter(|path| !path.as_os_str().is_empty());
        disk.sync_dir(above.unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// From paths as scripts write them to paths of this machine.
#[derive(Clone, Debug, Default)]
pub struct DriveMap {
    /// Folder for each mapped drive letter, upper case.
    drives: BTreeMap<char, PathBuf>,
    /// Where other drives lie: `drives/d` below it.
    data_dir: PathBuf,
}

impl DriveMap {
    /// With the folders of `--drive C=DIR`.
    pub fn new(data_dir: &Path, drives: impl IntoIterator<Item = (char, PathBuf)>) -> DriveMap {
        let drives =
            drives.into_iter().map(|(letter, folder)| (letter.to_ascii_uppercase(), folder)).collect();
        DriveMap { drives, data_dir: data_dir.to_path_buf() }
    }

    /// The path of this machine for a path in a script. `D:\SQLLog\x.ldf` lies below the folder of drive D, with its own folders in lower
    /// case; a path without a drive must be absolute or lies in the data directory. Steps upwards (`..`) are refused.
    ///
    /// # Errors
    /// 5105 for a path that cannot be meant.
    pub fn resolve(&self, written: &str) -> SqlResult<PathBuf> {
        let refuse = || SqlError::new(5105, &[&written]);
        let trimmed = written.trim();
        let parts: Vec<&str> = trimmed.split(['\\', '/']).filter(|p| !p.is_empty() && *p != ".").collect();
        if parts.is_empty() || parts.contains(&"..") || trimmed.contains('\0') {
            return Err(refuse());
        }
        let mut first = parts[0].chars();
        let drive = match (first.next(), first.as_str()) {
            (Some(letter), ":") if letter.is_ascii_alphabetic() => Some(letter.to_ascii_uppercase()),
            _ => None,
        };
        match drive {
            Some(letter) if parts.len() > 1 => {
                let root = self.drives.get(&letter).cloned();
                let root = root.unwrap_or_else(|| {
                    self.data_dir.join("drives").join(letter.to_ascii_lowercase().to_string())
                });
                let (name, folders) = parts[1..].split_last().ok_or_else(refuse)?;
                let folders = folders.iter().map(|f| f.to_lowercase());
                Ok(folders.fold(root, |path, folder| path.join(folder)).join(name))
            }
            Some(_) => Err(refuse()),
            None if trimmed.starts_with('/') => Ok(PathBuf::from(trimmed)),
            None => Ok(parts.iter().fold(self.data_dir.clone(), |path, part| path.join(part))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_paths_lie_below_the_drives_folder() {
        let map = DriveMap::new(Path::new("/d"), [('e', PathBuf::from("/fast"))]);
        let resolve = |path: &str| map.resolve(path).map(|p| p.display().to_string());
        assert_eq!(resolve(r"C:\SQLData\dd1.mdf").unwrap(), "/d/drives/c/sqldata/dd1.mdf");
        assert_eq!(resolve(r"E:\Log\x.ldf").unwrap(), "/fast/log/x.ldf");
        assert_eq!(resolve("/var/x.mdf").unwrap(), "/var/x.mdf");
        assert_eq!(resolve("x.mdf").unwrap(), "/d/x.mdf");
        assert_eq!(resolve(r"C:\a\..\..\x").unwrap_err().number, 5105);
        assert_eq!(resolve("C:").unwrap_err().number, 5105);
        assert_eq!(resolve("").unwrap_err().number, 5105);
    }
}
