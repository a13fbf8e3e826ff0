//! Counts the use of a table's indexes by statements; `index_uses.rs` has the counters.

use access::UnitUses;

use super::{Base, Table};
use crate::index_uses::IndexUse;
use crate::schema::{IndexDef, IndexKind};

impl Table {
    /// A user's statement reads an index, with or without look-ups of the rows. `now` in UTC ticks of 100 ns since 0001-01-01.
    pub fn note_read(&self, index_id: i32, is_seek: bool, looks_up: bool, now: i64) {
        let definition = &self.inner.definition;
        if definition.is_system {
            return;
        }
        if let Some(index) = definition.index(index_id) {
            index.uses.note(if is_seek { IndexUse::Seek } else { IndexUse::Scan }, now);
        }
        if looks_up {
            definition.base().uses.note(IndexUse::Lookup, now);
        }
    }

    /// A user's statement inserts or deletes rows: counts for every structure with entries.
    #[inline]
    pub fn note_use_by_rows(&self, now: i64) {
        let definition = &self.inner.definition;
        if definition.is_system {
            return;
        }
        match self.inner.secondary.is_empty() {
            true => definition.base().uses.note(IndexUse::Update, now),
            false => self.note_use_of_all(now),
        }
    }

    #[inline(never)]
    fn note_use_of_all(&self, now: i64) {
        let definition = &self.inner.definition;
        definition.base().uses.note(IndexUse::Update, now);
        for secondary in &self.inner.secondary {
            definition.indexes[secondary.position].uses.note(IndexUse::Update, now);
        }
    }

    /// A user's statement sets these columns of rows.
    #[inline]
    pub fn note_use_by_update(&self, columns: &[usize], now: i64) {
        let definition = &self.inner.definition;
        if definition.is_system {
            return;
        }
        match self.inner.secondary.is_empty() {
            true => definition.base().uses.note(IndexUse::Update, now),
            false => self.note_use_of_some(columns, now),
        }
    }

    #[inline(never)]
    fn note_use_of_some(&self, columns: &[usize], now: i64) {
        let definition = &self.inner.definition;
        let base = definition.base();
        base.uses.note(IndexUse::Update, now);
        let is_moved = self.moves_entries(base, columns);
        for secondary in &self.inner.secondary {
            let index = &definition.indexes[secondary.position];
            if is_moved || self.moves_entries(index, columns) {
                index.uses.note(IndexUse::Update, now);
            }
        }
    }

    /// Does a change of these columns change entries of the index? For a clustered one: the key that other indexes' entries store.
    fn moves_entries(&self, index: &IndexDef, columns: &[usize]) -> bool {
        let is_key = |column: &usize| index.key.iter().any(|key| key.ordinal == *column);
        let is_part = |column: &usize| is_key(column) || index.included.contains(column);
        columns.iter().any(is_part) || index.filter.as_ref().is_some_and(|filter| filter.is_about(columns))
    }

    /// The server itself reads an index: for statistics.
    pub(crate) fn note_own_scan(&self, index_id: i32) {
        if let Some(index) = self.inner.definition.index(index_id) {
            index.uses.note_own(IndexUse::Scan, self.inner.database.os.clock().utc_100ns());
        }
    }

    /// The operation counters of its heap or of an index; none for a disabled one.
    pub fn unit_uses(&self, index: &IndexDef) -> Option<&UnitUses> {
        if index.kind == IndexKind::Nonclustered {
            let found = self.inner.secondary.iter().find(|secondary| secondary.index_id == index.index_id)?;
            return Some(found.tree.uses());
        }
        Some(match &self.inner.base {
            Base::Heap(heap) => heap.uses(),
            Base::Tree(tree) => tree.uses(),
        })
    }
}
