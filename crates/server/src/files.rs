//! Small private files of the server: keys and password hashes, readable by their owner only.

use std::path::Path;

use os::{IoError, OpenOptions, Os, WriteMode};

/// Replaces `path` durably and atomically by a file that only its owner can read at any moment of its life.
pub(crate) fn write_private(os: &Os, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let disk = os.disk();
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = Path::new(&temporary);
    let file = disk.open(temporary, &OpenOptions { private: true, ..OpenOptions::create() })?;
    disk.restrict_to_owner(temporary)?;
    file.set_len(0)?;
    file.write_at(bytes, 0, WriteMode::Cached)?;
    file.sync()?;
    drop(file);
    disk.rename(temporary, path)?;
    disk.sync_dir(path.parent().unwrap_or(Path::new(".")))
}
