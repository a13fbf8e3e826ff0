//! The places where database files may be: below the data directory, a mapped drive or an allowed folder, and nowhere else.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use os::{Disk, IoError, IoErrorKind};
use types::SqlError;

use crate::error::SqlResult;

/// Creates a directory with all its parents, durably.
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

/// Creates the data directory, which only its owner may enter; missing parents are created as ordinary directories.
pub(crate) fn make_data_directory(disk: &dyn Disk, directory: &Path) -> Result<(), IoError> {
    if disk.exists(directory) {
        return Ok(());
    }
    let above = directory.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_directory(disk, above)?;
    disk.create_private_dir(directory)?;
    disk.sync_dir(above)
}

/// The folders in which database files may be, and the conversion of paths in scripts to paths of this machine.
///
/// The target of a path decides, not its spelling: links are followed first, the result must be below one of the folders (whose own
/// links are followed, too), and the files are then opened by that result without following any link (`OpenOptions::no_links`).
#[derive(Clone, Debug, Default)]
pub struct FilePlaces {
    /// Folder for each mapped drive letter, upper case.
    drives: BTreeMap<char, PathBuf>,
    /// The folder of paths without a drive; unmapped drives are in `drives/d` below it.
    data_dir: PathBuf,
    /// Further folders.
    allowed: Vec<PathBuf>,
}

/// Endings of names in the data directory that the server uses for its own files.
const OWN_ENDINGS: [&str; 6] = [".new", ".pem", ".json", ".lock", ".instance", ".creating"];

impl FilePlaces {
    /// With the folders of `--drive C=DIR` and `--allow-path DIR`.
    pub fn new(
        data_dir: &Path,
        drives: impl IntoIterator<Item = (char, PathBuf)>,
        allowed: impl IntoIterator<Item = PathBuf>,
    ) -> FilePlaces {
        let drives =
            drives.into_iter().map(|(letter, folder)| (letter.to_ascii_uppercase(), folder)).collect();
        FilePlaces { drives, data_dir: data_dir.to_path_buf(), allowed: allowed.into_iter().collect() }
    }

    /// The path of this machine for a path in a script. `D:\SQLLog\x.ldf` is below the folder of drive D, where names are case-insensitive:
    /// an existing folder or file is found in any case, a new folder gets lower case. Other paths are absolute or relative to the data
    /// directory. Steps upwards (`..`) are refused.
    ///
    /// # Errors
    /// 5105 for an invalid path, 5133 for one outside the allowed folders.
    pub fn resolve(&self, disk: &dyn Disk, written: &str) -> SqlResult<PathBuf> {
        let path = self.on_this_machine(disk, written.trim())?;
        let real = self
            .admit(disk, &path)
            .map_err(|why| SqlError::new(5133, &[&written.trim(), &shown_as_system_error(&why)]))?;
        let is_in_data_dir =
            disk.canonical(&self.data_dir).is_ok_and(|dir| real.parent() == Some(dir.as_path()));
        if is_in_data_dir && is_servers_own(&real) {
            return Err(SqlError::new(5105, &[&written.trim()]));
        }
        Ok(real)
    }

    /// The target of a file's path, when that is allowed.
    ///
    /// # Errors
    /// `Permission` when it is not; those of following links.
    pub(crate) fn admit(&self, disk: &dyn Disk, path: &Path) -> Result<PathBuf, IoError> {
        self.check(disk, disk.canonical(path)?)
    }

    /// Like `admit`, for a file to be removed: of a link, the link itself.
    pub(crate) fn admit_removal(&self, disk: &dyn Disk, path: &Path) -> Result<PathBuf, IoError> {
        let (above, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
        self.check(disk, disk.canonical(above)?.join(name))
    }

    fn check(&self, disk: &dyn Disk, real: PathBuf) -> Result<PathBuf, IoError> {
        let folders = [&self.data_dir].into_iter().chain(self.drives.values()).chain(&self.allowed);
        for folder in folders {
            // A folder whose links cannot be followed admits nothing.
            let Ok(folder) = disk.canonical(folder) else { continue };
            if real.starts_with(&folder) && real != folder {
                return Ok(real);
            }
        }
        let what = format!(
            "{} lies outside the data directory, the mapped drives and the folders of --allow-path",
            real.display()
        );
        Err(IoError::new(IoErrorKind::Permission, what))
    }

    fn on_this_machine(&self, disk: &dyn Disk, written: &str) -> SqlResult<PathBuf> {
        let refuse = || SqlError::new(5105, &[&written]);
        let is_share = written.starts_with(r"\\") || written.starts_with("//");
        let parts: Vec<&str> = written.split(['\\', '/']).filter(|p| !p.is_empty() && *p != ".").collect();
        let ends_in_folder = written.ends_with(['\\', '/']);
        if parts.is_empty() || parts.contains(&"..") || is_share || ends_in_folder {
            return Err(refuse());
        }
        if written.chars().any(char::is_control) {
            return Err(refuse());
        }
        if written.starts_with('/') {
            return Ok(Path::new(written).components().filter(|c| *c != Component::CurDir).collect());
        }
        let drive = match parts[0].as_bytes() {
            [letter, b':'] if letter.is_ascii_alphabetic() => Some(char::from(letter.to_ascii_uppercase())),
            _ => None,
        };
        let names = if drive.is_some() { &parts[1..] } else { &parts[..] };
        // `C:x.mdf`, and streams of NTFS.
        if names.is_empty() || names.iter().any(|name| name.contains(':')) {
            return Err(refuse());
        }
        match drive {
            Some(letter) => Ok(below_drive(disk, self.drive_folder(letter), names)),
            None => Ok(names.iter().fold(self.data_dir.clone(), |path, name| path.join(name))),
        }
    }

    /// The inverse of `resolve` for paths below a drive: `D:\\folder\\name`. Other paths are shown as they are.
    pub fn shown(&self, disk: &dyn Disk, path: &Path) -> String {
        let own = self.data_dir.join("drives");
        let below = |folder: &Path| match path.strip_prefix(folder) {
            Ok(rest) => Some(rest.to_path_buf()),
            // Stored paths have their links followed.
            Err(_) => path.strip_prefix(disk.canonical(folder).ok()?).ok().map(Path::to_path_buf),
        };
        let mapped = self.drives.iter().filter_map(|(letter, folder)| Some((*letter, below(folder)?)));
        // Of nested folders the innermost.
        let mapped = mapped.min_by_key(|(_, rest)| rest.components().count());
        let found = mapped.or_else(|| {
            let rest = below(&own)?;
            let mut parts = rest.components();
            let letter = parts.next()?.as_os_str().to_str()?.chars().next()?;
            Some((letter.to_ascii_uppercase(), parts.as_path().to_path_buf()))
        });
        let Some((letter, rest)) = found.filter(|(_, rest)| rest.components().next().is_some()) else {
            return path.display().to_string();
        };
        let names: Vec<_> = rest.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        format!("{letter}:\\{}", names.join("\\"))
    }

    fn drive_folder(&self, letter: char) -> PathBuf {
        let ours = || self.data_dir.join("drives").join(letter.to_ascii_lowercase().to_string());
        self.drives.get(&letter).cloned().unwrap_or_else(ours)
    }
}

/// Has the file a name that the server may need for a file of its own?
fn is_servers_own(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    OWN_ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Names below a drive's folder: an existing name in any case; otherwise folders in lower case and the file as written.
fn below_drive(disk: &dyn Disk, root: PathBuf, names: &[&str]) -> PathBuf {
    let mut path = root;
    for (at, name) in names.iter().enumerate() {
        let there = disk.list(&path).unwrap_or_default();
        let folded = name.to_lowercase();
        let same = there
            .iter()
            .find(|e| e.name == **name)
            .or_else(|| there.iter().find(|e| e.name.to_lowercase() == folded));
        let is_file = at + 1 == names.len();
        match same {
            Some(entry) => path.push(&entry.name),
            None if is_file => path.push(name),
            None => path.push(folded),
        }
    }
    path
}

/// A system error in SQL Server's form: number and text.
pub(crate) fn shown_as_system_error(error: &IoError) -> String {
    match error.kind {
        IoErrorKind::Permission => format!("5(Access is denied: {})", error.what),
        IoErrorKind::NotFound => format!("3(The system cannot find the path: {})", error.what),
        _ => format!("{}({error})", error.os_code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_paths_lie_below_the_drives_folder() {
        let os = os::Os::real();
        let places =
            FilePlaces::new(Path::new("/d"), [('e', PathBuf::from("/fast"))], [PathBuf::from("/srv/sql")]);
        let resolve = |path: &str| places.resolve(os.disk(), path).map(|p| p.display().to_string());
        assert_eq!(resolve(r"C:\SQLData\dd1.mdf").unwrap(), "/d/drives/c/sqldata/dd1.mdf");
        assert_eq!(resolve(r"E:\Log\x.ldf").unwrap(), "/fast/log/x.ldf");
        assert_eq!(resolve("/srv/sql/./x.mdf").unwrap(), "/srv/sql/x.mdf");
        assert_eq!(resolve("/d/own/x.mdf").unwrap(), "/d/own/x.mdf");
        assert_eq!(resolve("x.mdf").unwrap(), "/d/x.mdf");
        let impossible = [
            r"C:\a\..\..\x",
            "C:",
            "C:x.mdf",
            r"C:\x.mdf:stream",
            "",
            "  ",
            ".",
            "../x.mdf",
            "/d/../etc/x.mdf",
            r"\\server\share\x.mdf",
            "//etc/x.mdf",
            "/d/",
            "x\0.mdf",
            "logins.json.new",
            "Server-Key.PEM",
            "/d/hardpan.creating",
        ];
        for path in impossible {
            assert_eq!(resolve(path).unwrap_err().number, 5105, "{path}");
        }
        // Siblings of allowed folders are not below them, nor are the folders themselves.
        for path in ["/etc/x.mdf", "/dd/x.mdf", "/srv/sqlx/x.mdf", "/srv/x.mdf", "/srv/sql", "/x.mdf"] {
            let refused = resolve(path).unwrap_err();
            assert_eq!(refused.number, 5133, "{path}");
            assert!(refused.message.contains("--allow-path"), "{}", refused.message);
        }
    }
}
