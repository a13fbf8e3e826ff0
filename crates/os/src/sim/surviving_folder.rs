//! Simulated folders of memory that outlives the process. They are as durable as the memory in them.

use std::path::{Path, PathBuf};

use super::surviving_state::{Folder, SurvivingState};
use super::world::World;
use crate::error::{IoError, IoErrorKind};

impl SurvivingState {
    /// Does the folder exist in which a file of this name would be?
    pub(super) fn has_folder_of(&self, path: &Path) -> bool {
        let folder = path.parent().and_then(|folder| self.folders.get(folder));
        folder != Some(&Folder::Removed)
    }
}

impl World {
    /// Another user makes a folder, or a link, of that name.
    pub fn make_surviving_folder_of_others(&self, folder: &Path) {
        self.surviving().folders.insert(folder.to_owned(), Folder::Others);
    }

    /// The folders that were made for memory which outlives the process, and exist.
    pub fn surviving_folders(&self) -> Vec<PathBuf> {
        let state = self.surviving();
        let there = state.folders.iter().filter(|(_, folder)| **folder != Folder::Removed);
        there.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn surviving_names_in(&self, folder: &Path) -> Result<Vec<PathBuf>, IoError> {
        if self.surviving().folders.get(folder) == Some(&Folder::Removed) {
            return Err(missing(folder));
        }
        let mut names = self.surviving_names();
        names.extend(self.surviving_folders());
        names.retain(|name| name.parent() == Some(folder));
        names.sort();
        Ok(names)
    }

    pub(super) fn make_folder_of_surviving(&self, folder: &Path) -> Result<(), IoError> {
        let mut state = self.surviving();
        let is_missing = matches!(state.folders.get(folder), None | Some(Folder::Removed));
        if is_missing && !self.inner.sched.is_over() {
            state.folders.insert(folder.to_owned(), Folder::Ours);
        }
        drop(state);
        self.check_folder_of_surviving(folder)
    }

    pub(super) fn check_folder_of_surviving(&self, folder: &Path) -> Result<(), IoError> {
        match self.surviving().folders.get(folder) {
            Some(Folder::Ours) => Ok(()),
            Some(Folder::Others) => {
                let what = format!("look at {}: it is not a folder of ours alone", folder.display());
                Err(IoError::new(IoErrorKind::Permission, what))
            }
            None | Some(Folder::Removed) => Err(missing(folder)),
        }
    }

    pub(super) fn remove_folder_of_surviving(&self, folder: &Path) -> bool {
        let mut state = self.surviving();
        let is_empty = !state.pieces.keys().any(|piece| piece.parent() == Some(folder));
        let is_ours = state.folders.get(folder) == Some(&Folder::Ours);
        if is_empty && is_ours && !self.inner.sched.is_over() {
            state.folders.insert(folder.to_owned(), Folder::Removed);
        }
        is_empty && is_ours
    }
}

fn missing(folder: &Path) -> IoError {
    IoError::new(IoErrorKind::NotFound, format!("look at {}", folder.display()))
}
