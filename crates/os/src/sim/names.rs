//! The simulated directory tree: names now, names that are durable, and the unsynced operations between the two.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::disk::DirectoryEntry;
use crate::error::{IoError, IoErrorKind};
use crate::rng::Rng;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    File(u64),
}

type Tree = BTreeMap<PathBuf, Node>;

#[derive(Clone, Default)]
pub(super) struct Names {
    now: Tree,
    durable: Tree,
    pending: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Add(PathBuf, Node),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf, Node),
}

impl Change {
    /// The directory whose sync makes this durable.
    fn directory(&self) -> &Path {
        let path = match self {
            Change::Add(path, _) | Change::Remove(path) | Change::Rename(_, path, _) => path,
        };
        parent(path)
    }

    fn apply(&self, tree: &mut Tree) {
        match self {
            Change::Add(path, node) => {
                tree.insert(path.clone(), *node);
            }
            Change::Remove(path) => {
                tree.remove(path);
            }
            Change::Rename(from, to, node) => {
                tree.remove(from);
                tree.insert(to.clone(), *node);
            }
        }
    }
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<Node> {
        if path.as_os_str().is_empty() || path == Path::new("/") || path == Path::new(".") {
            return Some(Node::Directory);
        }
        self.now.get(path).copied()
    }

    pub(super) fn file(&self, path: &Path) -> Result<u64, IoError> {
        match self.get(path) {
            Some(Node::File(inode)) => Ok(inode),
            Some(Node::Directory) => {
                Err(IoError::new(IoErrorKind::Invalid, format!("{} is a directory", path.display())))
            }
            None => Err(missing(path)),
        }
    }

    pub(super) fn add(&mut self, path: &Path, node: Node) -> Result<(), IoError> {
        if self.get(parent(path)) != Some(Node::Directory) {
            return Err(missing(parent(path)));
        }
        self.change(Change::Add(path.to_owned(), node));
        Ok(())
    }

    pub(super) fn add_directories(&mut self, path: &Path) -> Result<(), IoError> {
        let mut above: Vec<&Path> = path.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
        above.reverse();
        for part in above {
            match self.get(part) {
                Some(Node::Directory) => {}
                Some(Node::File(_)) => {
                    return Err(IoError::new(IoErrorKind::AlreadyExists, part.display().to_string()));
                }
                None => self.change(Change::Add(part.to_owned(), Node::Directory)),
            }
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<(), IoError> {
        let node = self.get(path).ok_or_else(|| missing(path))?;
        if node == Node::Directory && !self.list(path).is_empty() {
            return Err(IoError::new(IoErrorKind::AlreadyExists, format!("{} is not empty", path.display())));
        }
        self.change(Change::Remove(path.to_owned()));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), IoError> {
        let inode = self.file(from)?;
        if self.get(parent(to)) != Some(Node::Directory) {
            return Err(missing(parent(to)));
        }
        self.change(Change::Rename(from.to_owned(), to.to_owned(), Node::File(inode)));
        Ok(())
    }

    pub(super) fn list(&self, path: &Path) -> Vec<DirectoryEntry> {
        let inside = self.now.iter().filter(|(name, _)| parent(name) == path);
        let entry = |(name, node): (&PathBuf, &Node)| DirectoryEntry {
            name: name.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            is_directory: *node == Node::Directory,
        };
        inside.map(entry).collect()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&PathBuf, u64)> {
        self.now.iter().filter_map(|(path, node)| match node {
            Node::File(inode) => Some((path, *inode)),
            Node::Directory => None,
        })
    }

    /// Makes the changes in `directory` durable.
    pub(super) fn sync(&mut self, directory: &Path) {
        let (synced, rest) =
            std::mem::take(&mut self.pending).into_iter().partition(|c: &Change| c.directory() == directory);
        self.pending = rest;
        for change in synced {
            change.apply(&mut self.durable);
        }
    }

    /// After a power loss each directory has a prefix of its unsynced changes.
    pub(super) fn lose_power(&mut self, lossy: bool, rng: &mut Rng) {
        let mut directories: Vec<PathBuf> =
            self.pending.iter().map(|change| change.directory().to_owned()).collect();
        directories.sort();
        directories.dedup();
        for directory in directories {
            let count = self.pending.iter().filter(|change| change.directory() == directory).count();
            let kept = if lossy { rng.below(count as u64 + 1) as usize } else { count };
            for change in self.pending.iter().filter(|change| change.directory() == directory).take(kept) {
                change.apply(&mut self.durable);
            }
        }
        self.pending.clear();
        self.drop_orphans();
        self.now = self.durable.clone();
    }

    /// Makes everything durable.
    pub(super) fn settle(&mut self) {
        self.pending.clear();
        self.durable = self.now.clone();
    }

    /// Entries whose directory was lost are lost with it.
    fn drop_orphans(&mut self) {
        let paths: Vec<PathBuf> = self.durable.keys().cloned().collect();
        for path in paths {
            let above = parent(&path);
            let at_root = above.as_os_str().is_empty() || above == Path::new("/") || above == Path::new(".");
            if !at_root && self.durable.get(above) != Some(&Node::Directory) {
                self.durable.remove(&path);
            }
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.pending.push(change);
    }
}

/// The directory of a path; of a plain name the working directory, under the name that a sync of it uses.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(super) fn missing(path: &Path) -> IoError {
    let mut error = IoError::from_code(libc::ENOENT, path.display().to_string());
    error.kind = IoErrorKind::NotFound;
    error
}
