//! Symbolic links of Linux: resolving paths, and opening and removing files without following links.
//!
//! A checked path must not change its meaning before it is used: another user may replace a folder by a
//! link in between. `openat2(RESOLVE_NO_SYMLINKS)` lets the kernel check that in one step. Where the call is missing (kernels
//! before 5.6, some sandboxes) only the last component is protected (`O_NOFOLLOW`).

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::OpenOptions;

/// Access rights of a file that is made.
pub(super) fn mode_of(options: &OpenOptions) -> u32 {
    if options.private { 0o600 } else { 0o640 }
}

/// See [`super::Disk::canonical`].
pub(super) fn canonical(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let mut there = absolute.as_path();
    let mut rest: Vec<&OsStr> = Vec::new();
    loop {
        match fs::symlink_metadata(there) {
            Ok(_) => {
                let real = fs::canonicalize(there)?;
                return Ok(rest.iter().rev().fold(real, |path, part| path.join(part)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match (there.parent(), there.file_name()) {
            (Some(above), Some(name)) => {
                rest.push(name);
                there = above;
            }
            // `..` behind a missing component: it cannot be resolved.
            _ => return Err(io::Error::from_raw_os_error(libc::ENOENT)),
        }
    }
}

/// Opens (and makes) a file as `options` say; no component of its path may be a link.
pub(super) fn open(path: &Path, options: &OpenOptions, flags: i32) -> io::Result<fs::File> {
    let mut flags = flags | if options.read_only { libc::O_RDONLY } else { libc::O_RDWR };
    if !options.read_only && (options.create || options.create_new) {
        flags |= libc::O_CREAT;
    }
    if !options.read_only && options.create_new {
        flags |= libc::O_EXCL;
    }
    let mode = if flags & libc::O_CREAT == 0 { 0 } else { mode_of(options) };
    open_no_links(path, flags, mode).map(fs::File::from)
}

/// Removes a file; if the file is a link, the link is removed; a link as a directory above it is refused.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    let (Some(name), Some(above)) = (path.file_name(), path.parent()) else {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    };
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let directory = open_no_links(above, libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)?;
    let name = c_string(name)?;
    // SAFETY: an open directory and a C string that live through the call.
    match unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn open_no_links(path: &Path, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    let name = c_string(path.as_os_str())?;
    // SAFETY: `open_how` is plain data; all zero is its default.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = flags as u64;
    how.mode = u64::from(mode);
    how.resolve = libc::RESOLVE_NO_SYMLINKS;
    loop {
        // SAFETY: a C string and an `open_how` of the size given, both alive through the call.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_openat2,
                libc::AT_FDCWD,
                name.as_ptr(),
                &how as *const libc::open_how,
                size_of::<libc::open_how>(),
            )
        };
        if opened >= 0 {
            // SAFETY: the call has just made this descriptor; nobody else has it.
            return Ok(unsafe { OwnedFd::from_raw_fd(opened as RawFd) });
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR | libc::EAGAIN) => {}
            // Old sandboxes answer calls they do not know with EPERM.
            Some(libc::ENOSYS | libc::EPERM) => return open_plain(&name, flags | libc::O_NOFOLLOW, mode),
            _ => return Err(error),
        }
    }
}

fn open_plain(name: &CString, flags: i32, mode: u32) -> io::Result<OwnedFd> {
    // SAFETY: a C string that lives through the call.
    match unsafe { libc::open(name.as_ptr(), flags, mode) } {
        opened if opened >= 0 => {
            // SAFETY: the call has just made this descriptor; nobody else has it.
            Ok(unsafe { OwnedFd::from_raw_fd(opened) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test prepares its folders itself")]
mod tests {
    use super::super::{OpenOptions, real};
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let folder = std::env::temp_dir().canonicalize().unwrap();
            let folder = folder.join(format!("hardpan-os-{name}-{}", std::process::id()));
            drop(fs::remove_dir_all(&folder));
            fs::create_dir_all(&folder).unwrap();
            Scratch(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn a_path_leads_where_its_links_lead() {
        let scratch = Scratch::new("canonical");
        let (inside, outside) = (scratch.0.join("in"), scratch.0.join("out"));
        fs::create_dir_all(&inside).unwrap();
        fs::create_dir_all(&outside).unwrap();
        symlink(&outside, inside.join("link")).unwrap();
        symlink(outside.join("nobody"), inside.join("dangling")).unwrap();
        let disk = real();
        assert_eq!(disk.canonical(&inside.join("new/x.mdf")).unwrap(), inside.join("new/x.mdf"));
        assert_eq!(disk.canonical(&inside.join("link/new/x.mdf")).unwrap(), outside.join("new/x.mdf"));
        assert!(disk.canonical(&inside.join("dangling")).is_err(), "it leads nowhere");
        assert!(disk.canonical(&inside.join("new/../x")).is_err(), "nobody knows where that is");
    }

    #[test]
    fn no_link_is_followed_by_open_and_remove() {
        let scratch = Scratch::new("no-links");
        let (inside, outside) = (scratch.0.join("in"), scratch.0.join("out"));
        fs::create_dir_all(&inside).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("precious"), "x").unwrap();
        symlink(&outside, inside.join("folder")).unwrap();
        symlink(outside.join("precious"), inside.join("file")).unwrap();
        symlink(outside.join("new"), inside.join("dangling")).unwrap();
        let disk = real();
        let how = OpenOptions { no_links: true, ..OpenOptions::create() };
        for name in ["folder/precious", "folder/other", "file", "dangling"] {
            let refused = disk.open(&inside.join(name), &how).map(|_| ()).unwrap_err();
            assert_eq!(refused.os_code, libc::ELOOP, "{name}: {refused}");
        }
        assert!(!outside.join("other").exists() && !outside.join("new").exists());
        assert!(disk.remove(&inside.join("folder/precious")).is_err());
        disk.remove(&inside.join("file")).unwrap();
        assert!(outside.join("precious").exists(), "only the link went");
        let made = disk.open(&inside.join("plain"), &how).unwrap();
        made.write_at(b"abc", 0, super::super::WriteMode::Cached).unwrap();
        disk.remove(&inside.join("plain")).unwrap();
        assert!(!inside.join("plain").exists());
    }

    #[test]
    fn a_private_directory_is_its_owners() {
        let scratch = Scratch::new("private");
        let disk = real();
        let made = scratch.0.join("data");
        disk.create_private_dir(&made).unwrap();
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
        disk.create_private_dir(&made).unwrap();
    }
}
