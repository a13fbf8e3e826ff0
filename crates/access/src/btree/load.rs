//! [`TreeLoader`], bulk load: an empty tree is built from ascending keys, page by page from the leaves upward. Each page is logged once, whole,
//! when its rows are known; the root is written last. Rows are not locked or undone one by one: a rollback frees the unit.
//!
//! ```text
//! push ──row has no room──► put_page: page allocated, logged, linked to its left neighbour ──► its parent's row, a level higher
//! finish ──► the page of each level that is still open, the highest in the root's place
//! ```
//! Between the first page and the root, a reader that descends from the root finds the tree empty, and the pages belong to its unit: after a crash
//! there, the undo of the unit's creation frees them, by their owner.

use std::sync::atomic::Ordering::Relaxed;

use log::bulk_records::TreePage;
use log::page_records::MovedRow;
use log::{LogContext, LogOp};
use pages::{BODY_BYTES, LatchMode, PageBytes, PageId, PageType, SLOT_BYTES, header, slots};
use txn::Transaction;

use super::page::{CHILD_BYTES, KEY_LENGTH_BYTES, entry_bytes, separator};
use super::split::put_rows;
use super::{BTree, Inserted, LEVELS_MAX};
use crate::error::{AccessError, AccessResult};
use crate::key::KEY_BYTES_MAX;
use crate::map_page::{FreePage, set_owner};
use crate::row_change::CLUSTERED_FLAG;

/// The fill factor of a tree's pages at its build; a page has at least one row, one above the leaves at least two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildFill {
    /// Of the leaves, 1 to 100.
    pub leaf: u8,
    /// Of the pages above them, 1 to 100.
    pub above: u8,
}

impl BuildFill {
    /// Whole pages.
    pub const WHOLE: BuildFill = BuildFill { leaf: 100, above: 100 };

    /// The bytes to fill of a page's body, and the least number of rows of a page.
    fn limits(self, level: usize) -> (usize, usize) {
        let (percent, rows) = if level == 0 { (self.leaf, 1) } else { (self.above, 2) };
        assert!((1..=100).contains(&percent), "a percentage");
        (BODY_BYTES * usize::from(percent) / 100, rows)
    }
}

/// See the heading.
pub struct TreeLoader {
    tree: BTree,
    fill: BuildFill,
    flags: u8,
    /// From the leaves upward.
    levels: Vec<Level>,
    last_key: Vec<u8>,
}

/// The rows of a page that is not full yet, and what is known of its place.
#[derive(Default)]
struct Level {
    /// Concatenated, as they will be on the page.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// Its key in its parent: above all keys to its left, not above its own. Empty for the first page of a level.
    separator: Vec<u8>,
    /// The page before it on its level.
    previous: PageId,
}

impl Level {
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes.len() + self.ends.len() * SLOT_BYTES + bytes <= BODY_BYTES
    }

    /// May a page with these `limits` take the row?
    fn takes(&self, bytes: usize, (limit, rows): (usize, usize)) -> bool {
        let used = self.bytes.len() + self.ends.len() * SLOT_BYTES + bytes;
        self.has_room(bytes) && (used <= limit || self.ends.len() < rows)
    }

    fn push(&mut self, key: &[u8], rest: &[u8]) {
        assert!(self.has_room(entry_bytes(key, rest.len())), "a row has room on its page");
        self.bytes.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(rest);
        self.ends.push(self.bytes.len());
    }

    fn rows(&self) -> Vec<MovedRow<'_>> {
        let end = self.ends.last().copied().unwrap_or(0);
        assert_eq!(end, self.bytes.len(), "the last row ends with the bytes");
        let mut begin = 0;
        let row = |end: &usize| {
            let row = &self.bytes[begin..*end];
            begin = *end;
            (row, 0)
        };
        self.ends.iter().map(row).collect()
    }

    /// Begins the next page of the level.
    fn begin_next(&mut self, previous: PageId, separator: &[u8]) {
        assert!(!previous.is_null() && !self.ends.is_empty(), "the page before has rows and a place");
        self.bytes.clear();
        self.ends.clear();
        self.previous = previous;
        self.separator.clear();
        self.separator.extend_from_slice(separator);
    }
}

impl BTree {
    /// Begins to fill an empty tree that `txn` has created: the rollback of the creation frees its unit.
    ///
    /// # Errors
    /// A tree that is not empty is damaged.
    pub fn loader(&self, fill: BuildFill) -> AccessResult<TreeLoader> {
        let root = self.fix_page(self.def.root, LatchMode::Shared)?;
        if header::level(root.page()) != 0 || header::slot_count(root.page()) != 0 {
            return Err(AccessError::corrupt(root.id(), "is not the root of an empty tree"));
        }
        let flags = header::flags(root.page());
        Ok(TreeLoader {
            tree: self.clone(),
            fill,
            flags,
            levels: vec![Level::default()],
            last_key: Vec::new(),
        })
    }
}

impl TreeLoader {
    /// Adds the next row; its key is not below the one before.
    ///
    /// # Errors
    /// A row or a key that is too large; those of storage.
    pub fn push(&mut self, txn: &Transaction, key: &[u8], value: &[u8]) -> AccessResult<Inserted> {
        if key.len() > KEY_BYTES_MAX {
            return Err(AccessError::KeyTooLarge { bytes: key.len() });
        }
        if key.is_empty() {
            // Key bytes may come from pages, too, so a bad one is damage.
            return Err(AccessError::corrupt(self.tree.def.root, "is to get a row without a key"));
        }
        let bytes = entry_bytes(key, value.len());
        if bytes > BODY_BYTES {
            return Err(AccessError::RowTooLarge { bytes, limit: BODY_BYTES });
        }
        if self.last_key == key {
            return Ok(Inserted::Duplicate);
        }
        assert!(self.last_key.as_slice() < key, "keys ascend");
        if !self.levels[0].takes(bytes, self.fill.limits(0)) {
            let separator = separator(&self.last_key, key).to_vec();
            self.put_page(txn, 0, &separator)?;
        }
        self.levels[0].push(key, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(Inserted::Done)
    }

    /// Writes the open pages and the root: the tree is complete.
    ///
    /// # Errors
    /// Those of storage.
    pub fn finish(mut self, txn: &Transaction) -> AccessResult<()> {
        let mut level = 0;
        while level + 1 < self.levels.len() {
            self.put_page(txn, level, &[])?;
            level += 1;
        }
        if !self.levels[0].ends.is_empty() || level > 0 {
            self.put_root()?;
        }
        self.tree.state.rightmost.store(0, Relaxed);
        Ok(())
    }

    /// Writes the page of a level, and adds its entry to the parent level. `next`: the separator of the page that follows it; empty if
    /// there is none.
    fn put_page(&mut self, txn: &Transaction, level: usize, next: &[u8]) -> AccessResult<()> {
        let page = self.write_page(txn, level)?;
        if self.levels.len() == level + 1 {
            self.levels.push(Level::default());
        }
        let key = std::mem::take(&mut self.levels[level].separator);
        let limits = self.fill.limits(level + 1);
        if !self.levels[level + 1].takes(entry_bytes(&key, CHILD_BYTES), limits) {
            self.put_page(txn, level + 1, &key)?;
        }
        self.levels[level + 1].push(&key, &page.to_bytes());
        self.levels[level].begin_next(page, next);
        Ok(())
    }

    /// Allocates the page of a level, logs it with its rows and fills it.
    fn write_page(&self, txn: &Transaction, at: usize) -> AccessResult<PageId> {
        let methods = &self.tree.methods;
        let level = &self.levels[at];
        assert!(!level.ends.is_empty(), "no page is put down empty");
        let mut previous = match level.previous.is_null() {
            true => None,
            false => Some(self.tree.fix_page(level.previous, LatchMode::Exclusive)?),
        };
        let FreePage { mut map, guard: mut page } = methods.find_free_page(self.tree.def.unit.0)?;
        let page_id = page.id();
        assert!(page_id != level.previous && page_id != self.tree.def.root, "a free page is of no tree");
        let built = TreePage {
            unit: self.tree.def.unit.0,
            page: page_id.pack(),
            previous: level.previous.pack(),
            is_root: false,
            level: level_number(at),
            flags: self.flags,
            rows: level.rows(),
        };
        let lsn = methods.append_allocation(txn, LogOp::FormatPage, self.context(at), |out| {
            self.encode(&built, out);
        })?;
        let map_id = map.id();
        set_owner(map.page_mut(), map_id, page_id, built.unit);
        map.set_lsn(lsn);
        apply_built_page(page.page_mut(), &built);
        page.set_lsn(lsn);
        if let Some(previous) = &mut previous {
            assert!(header::next(previous.page()).is_null(), "the page before was the last of its level");
            header::set_next(previous.page_mut(), page_id);
            previous.set_lsn(lsn);
        }
        Ok(page_id)
    }

    /// Writes the rows of the highest level to the root. From here on readers see the rows.
    fn put_root(&self) -> AccessResult<()> {
        let at = self.levels.len() - 1;
        let mut root = self.tree.fix_page(self.tree.def.root, LatchMode::Exclusive)?;
        let is_empty = header::level(root.page()) == 0 && header::slot_count(root.page()) == 0;
        assert!(is_empty && self.levels[at].previous.is_null(), "nobody else fills the tree");
        assert!(!self.levels[at].ends.is_empty(), "the highest level has rows");
        let built = TreePage {
            unit: self.tree.def.unit.0,
            page: root.id().pack(),
            previous: 0,
            is_root: true,
            level: level_number(at),
            flags: self.flags,
            rows: self.levels[at].rows(),
        };
        let methods = &self.tree.methods;
        let lsn = methods.append_structural(false, LogOp::FormatPage, self.context(at), |out| {
            self.encode(&built, out);
        })?;
        apply_built_page(root.page_mut(), &built);
        root.set_lsn(lsn);
        Ok(())
    }

    fn encode(&self, built: &TreePage<'_>, out: &mut Vec<u8>) {
        match self.tree.methods.undo_only {
            // In a database that is never redone the images need not be in the log.
            true => TreePage { rows: Vec::new(), ..built.clone() }.encode(out),
            false => built.encode(out),
        }
    }

    fn context(&self, level: usize) -> LogContext {
        match (level, self.flags & CLUSTERED_FLAG != 0) {
            (0, true) => LogContext::Clustered,
            (0, false) => LogContext::IndexLeaf,
            _ => LogContext::IndexInterior,
        }
    }
}

fn level_number(at: usize) -> u8 {
    assert!(at <= usize::from(LEVELS_MAX), "a page of level {at} could not be read");
    u8::try_from(at).expect("a tree has few levels")
}

/// Formats a built page; its right neighbour sets the link to itself later.
pub(crate) fn apply_built_page(page: &mut PageBytes, built: &TreePage<'_>) {
    header::format(page, PageId::unpack(built.page), PageType::BTree, built.level, built.unit);
    header::set_flags(page, built.flags);
    put_rows(page, &built.rows);
    header::set_prev(page, PageId::unpack(built.previous));
    assert_eq!(header::ghosts(page), 0, "no row of a new tree was deleted");
    let bytes: usize = built.rows.iter().map(|(row, _)| row.len() + SLOT_BYTES).sum();
    assert!(built.rows.iter().all(|(row, _)| row.len() >= KEY_LENGTH_BYTES), "a row has a key");
    assert_eq!(slots::room(page), BODY_BYTES - bytes, "a page has its rows and nothing else");
}
