//! `Turns`: the order of a database's files for the next new page.

use smallvec::SmallVec;

/// Numbers of files; few databases have more than fit inline.
pub(crate) type FileNumbers = SmallVec<[u16; 8]>;

/// Proportional fill: each of several files gets new pages in proportion to its free pages, in runs of [`RUN_PAGES`], so that they become
/// full at the same time. The free pages of a file are counted once, at its first use.
#[derive(Default)]
pub(crate) struct Turns {
    /// Of the files in the order of their numbers.
    pub(crate) files: Vec<Turn>,
    /// Index of the current file, and the pages left of its run.
    pub(crate) current: usize,
    pub(crate) run_left: u32,
}

/// The fill state of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) number: u16,
    /// Its pages, and its free pages approximately: a thread may be about to take one.
    pub(crate) pages: u32,
    pub(crate) free: u32,
    /// How far it is behind its share.
    pub(crate) credit: i64,
}

/// Pages that one file gets in a row: an extent.
const RUN_PAGES: u32 = 8;

impl Turns {
    /// Chooses the file that is furthest behind.
    fn pass_on(&mut self) {
        let total: i64 = self.files.iter().map(|file| i64::from(file.free)).sum();
        for file in &mut self.files {
            file.credit += i64::from(file.free);
        }
        let furthest = self.files.iter().enumerate().max_by_key(|(at, file)| (file.credit, usize::MAX - at));
        self.current = furthest.map_or(0, |(at, _)| at);
        if let Some(file) = self.files.get_mut(self.current) {
            file.credit -= total;
        }
        assert!(self.files.is_empty() || self.current < self.files.len(), "it is the turn of one of them");
        self.run_left = RUN_PAGES;
    }

    /// The files in the order of the search for the next page.
    pub(crate) fn order(&mut self) -> FileNumbers {
        if self.run_left == 0 || self.files.get(self.current).is_none_or(|file| file.free == 0) {
            self.pass_on();
        }
        let (before, rest) = self.files.split_at(self.current.min(self.files.len()));
        let order: FileNumbers = rest.iter().chain(before).map(|file| file.number).collect();
        assert_eq!(order.len(), self.files.len(), "each file once");
        assert!(self.run_left > 0, "somebody has the turn");
        order
    }

    /// The search found no free page in the file.
    pub(crate) fn note_full(&mut self, number: u16) {
        if let Some(file) = self.file(number) {
            file.free = 0;
        }
    }

    /// A page of the file has become free.
    pub(crate) fn note_freed(&mut self, number: u16) {
        if let Some(file) = self.file(number) {
            file.free += 1;
        }
    }

    pub(crate) fn file(&mut self, number: u16) -> Option<&mut Turn> {
        self.files.iter_mut().find(|file| file.number == number)
    }

    /// A page of the file is about to be taken.
    pub(crate) fn note_taken(&mut self, number: u16) {
        assert!(self.run_left <= RUN_PAGES, "a run is no longer than an extent");
        self.run_left = self.run_left.saturating_sub(1);
        if let Some(file) = self.file(number) {
            file.free = file.free.saturating_sub(1);
        }
    }
}
