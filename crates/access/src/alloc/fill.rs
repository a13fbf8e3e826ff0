//! The file that a new page comes from: proportional fill, the search for a free page, growth; and the last used page of a file.

use pages::{PageError, PageId};
use rustc_hash::FxHashSet;

use crate::error::AccessResult;
use crate::map_page::{FreePage, INTERVAL_PAGES, MAP_INDEX, PENDING, entries, is_system_page, map_of, owner};
use crate::methods::AccessMethods;
use crate::turns::{FileNumbers, Turn};

/// Units below this number belong to the catalog.
pub const SYSTEM_UNITS_END: u32 = 256;

/// The used pages at the end of a file.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// The page behind the last used page and its map; 0 in a file without used pages.
    pub end: u32,
    /// Units with pages at or behind the given page.
    pub units: FxHashSet<u32>,
}

impl AccessMethods {
    /// Finds a free page and latches its map page and then itself exclusively: the caller logs the allocation, calls [`set_owner`] and
    /// formats it. Grows a file when none is free. `unit`: the new owner.
    pub(crate) fn find_free_page(&self, unit: u32) -> AccessResult<FreePage> {
        assert!(unit != 0, "a page of nobody is free");
        loop {
            let files = self.files_in_turn(unit)?;
            assert!(!files.is_empty(), "a database has a file");
            for &file in &files {
                if let Some(found) = self.find_free_in(file)? {
                    let page = found.guard.id();
                    assert!(page.file == file && map_of(page) == found.map.id(), "a page comes with its map");
                    self.allocator.turns.lock().note_taken(file);
                    return Ok(found);
                }
                self.allocator.turns.lock().note_full(file);
            }
            self.grow_one_of(&files)?;
        }
    }

    /// All files are full: grows the first that may grow. If none may, lifts the limits of files that are only being shrunk.
    fn grow_one_of(&self, files: &[u16]) -> AccessResult<()> {
        let mut refusal = None;
        let (growing, limited): (Vec<u16>, Vec<u16>) =
            files.iter().partition(|file| self.space.grows_for_allocation(**file));
        for file in growing {
            let pages = self.space.file_pages(file);
            match self.space.grow_to_hold(file, pages + 1) {
                Ok(()) => return Ok(()),
                Err(error @ PageError::SpaceFull { .. }) => refusal = Some(error),
                // The file was removed after it was listed.
                Err(PageError::NoSuchPage(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Another thread that needs a page, or the one that set the limits, may have lifted them meanwhile.
        let are_lifted = || limited.iter().any(|file| self.space.grows_for_allocation(*file));
        match refusal {
            _ if self.space.lift_limits() || are_lifted() => Ok(()),
            Some(error) => Err(error.into()),
            None if self.space.file_numbers::<FileNumbers>() != sorted(files) => Ok(()),
            None => {
                let first = self.space.files().swap_remove(0).path;
                let what = "every file that could be filled is being emptied".to_owned();
                Err(PageError::SpaceFull { path: first, what }.into())
            }
        }
    }

    /// The files in the order of the search for a page.
    fn files_in_turn(&self, unit: u32) -> AccessResult<FileNumbers> {
        let numbers: FileNumbers = self.space.file_numbers();
        // The catalog stays in the first file while that has room, so that the other files can be emptied and removed.
        if numbers.len() == 1 || unit < SYSTEM_UNITS_END {
            return Ok(numbers);
        }
        // A count is known if it was made at the present size of the file. Maps are latched one by one, without the latch of the turns.
        let mut counted: Vec<Turn> = Vec::new();
        for &number in &numbers {
            let pages = self.space.allocation_end(number);
            let known = self.allocator.turns.lock().file(number).copied();
            counted.push(match known {
                Some(known) if known.pages == pages => known,
                Some(known) if known.pages < pages && known.pages > 0 => {
                    Turn { pages, free: known.free + (pages - known.pages), ..known }
                }
                other => {
                    let free = pages.saturating_sub(self.used_pages(number)? as u32);
                    Turn { number, pages, free, credit: other.map_or(0, |known| known.credit) }
                }
            });
        }
        assert!(counted.is_sorted_by_key(|file| file.number), "files ascend, as their numbers do");
        let mut turns = self.allocator.turns.lock();
        if turns
            .files
            .iter()
            .map(|file| (file.number, file.pages))
            .ne(counted.iter().map(|file| (file.number, file.pages)))
        {
            turns.files = counted;
            turns.run_left = 0;
        }
        Ok(turns.order())
    }

    fn find_free_in(&self, file: u16) -> AccessResult<Option<FreePage>> {
        let pages = self.space.allocation_end(file);
        let seen = self.allocator.hint(file);
        let mut from = seen.first_free;
        let mut passed_over = None;
        while from < pages {
            let map_id = map_of(PageId::new(file, from));
            if map_id.page >= pages {
                break;
            }
            let Some(map) = self.map_if_there(map_id)? else { break };
            // Read under the map's latch: a thread that removes pages sets the limit first, then reads their maps.
            let interval_end = (map_id.page - MAP_INDEX + INTERVAL_PAGES).min(pages);
            let end = interval_end.min(self.space.allocation_end(file));
            for number in from..end {
                let page = PageId::new(file, number);
                if owner(map.page(), page) != 0 || is_system_page(page) {
                    continue;
                }
                assert!(map.is_exclusive() && number >= seen.first_free, "nobody else takes {page}");
                self.compare_with_pages(&map)?;
                // A map may lie: a page that somebody has latched, the caller perhaps, is not waited for. It may still be free.
                let Some(guard) = self.space.try_fix_new(page)? else {
                    passed_over = passed_over.or(Some(number));
                    continue;
                };
                // The hint stays at this page: if the caller fails to log the allocation, the page stays free.
                assert_eq!(guard.id(), page, "the page that the map says is free");
                self.refuse_if_changed(&map, &guard)?;
                self.allocator.raise_hint(file, seen, passed_over.unwrap_or(number));
                return Ok(Some(FreePage { map, guard }));
            }
            if end < interval_end {
                break;
            }
            from = end;
        }
        // Pages whose map page does not exist yet (`from` is before them) become free when it does; those beyond a limit, when
        // it is lifted.
        let end = self.space.allocation_end(file);
        self.allocator.raise_hint(file, seen, passed_over.unwrap_or(from).min(end.max(seen.first_free)));
        Ok(None)
    }

    /// How many pages may be allocated without growth.
    pub fn free_pages(&self) -> AccessResult<u64> {
        let mut total = 0;
        self.for_each_map(|map| {
            let map_id = map.id();
            let end = self.space.allocation_end(map_id.file);
            let is_free =
                |page: &PageId| page.page < end && owner(map.page(), *page) == 0 && !is_system_page(*page);
            total += entries(map_id).iter().filter(|page| is_free(page)).count() as u64;
            Ok(())
        })?;
        Ok(total)
    }

    /// The file was removed: drops all hints about its pages, because another file may get its number.
    pub fn forget_file(&self, file: u16) {
        assert!(file > 1, "the first file stays");
        self.allocator.with_hint(file, |hint| *hint = Default::default());
        self.allocator.turns.lock().files.retain(|turn| turn.number != file);
        let mut looked = self.allocator.looked.lock();
        looked.asked.retain(|map| map.file != file);
        looked.compared.retain(|map| map.file != file);
    }

    /// Checks, before the file is truncated at page `from`, that the pages which their maps call free are not in use.
    pub fn check_free_from(&self, file: u16, from: u32) -> AccessResult<()> {
        self.for_each_map_of(file, |map| {
            let end = map.id().page - MAP_INDEX + INTERVAL_PAGES;
            if end > from { self.compare_with_pages(&map) } else { Ok(()) }
        })
    }

    /// The last page of a file that has an owner; of the system pages, the last that the owned pages or the file itself need. Also
    /// the units that have pages from `from` on.
    pub fn tail_of(&self, file: u16, from: u32) -> AccessResult<Tail> {
        let mut tail = Tail::default();
        self.for_each_map_of(file, |map| {
            let map_id = map.id();
            for page in entries(map_id).into_iter().filter(|page| owner(map.page(), *page) != 0) {
                tail.end = tail.end.max(page.page + 1).max(map_id.page + 1);
                if page.page >= from {
                    tail.units.insert(owner(map.page(), page) & !PENDING);
                }
            }
            Ok(())
        })?;
        assert!(tail.units.is_empty() || tail.end > from, "who has pages there is seen there");
        Ok(tail)
    }
}

fn sorted(numbers: &[u16]) -> FileNumbers {
    let mut sorted = FileNumbers::from_slice(numbers);
    sorted.sort_unstable();
    sorted
}
