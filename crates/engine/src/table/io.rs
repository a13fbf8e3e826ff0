//! Page and scan counts per table for SET STATISTICS IO: the methods of [`Table`](super::Table) and of its cursors count their
//! page requests while a measurement is on.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use os::task::{PageUses, page_uses};

use crate::schema::{ObjectId, TableDef};

/// The counts of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIo {
    /// Its name.
    pub name: Arc<str>,
    object_id: ObjectId,
    /// Scans and seeks begun.
    pub scans: u64,
    /// Pages.
    pub pages: PageUses,
}

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static TABLES: RefCell<Vec<TableIo>> = const { RefCell::new(Vec::new()) };
}

/// Starts to count the calling thread's use of tables, until [`take_io`].
pub fn measure_io() {
    TABLES.take();
    IS_ON.set(true);
}

/// The counts, tables in the order of their first use.
pub fn take_io() -> Vec<TableIo> {
    IS_ON.set(false);
    TABLES.take()
}

/// Counts while it lives; nested charges count once.
pub(crate) struct Charge {
    at: usize,
    before: PageUses,
}

/// Begins to count for a table, if a measurement is on.
#[inline]
pub(crate) fn charge(definition: &TableDef, scans: u64) -> Option<Charge> {
    if IS_ON.get() && !definition.is_system { Charge::begin(definition, scans) } else { None }
}

impl Charge {
    #[cold]
    fn begin(definition: &TableDef, scans: u64) -> Option<Charge> {
        // The outer charge counts nested calls.
        IS_ON.set(false);
        let at = TABLES.with_borrow_mut(|tables| {
            let known = tables.iter().position(|table| table.object_id == definition.object_id);
            let at = known.unwrap_or_else(|| {
                let (name, object_id) = (definition.name.clone(), definition.object_id);
                tables.push(TableIo { name, object_id, scans: 0, pages: PageUses::default() });
                tables.len() - 1
            });
            tables[at].scans += scans;
            at
        });
        Some(Charge { at, before: page_uses() })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let (before, now) = (self.before, page_uses());
        TABLES.with_borrow_mut(|tables| {
            let pages = &mut tables[self.at].pages;
            let more = now.since(&before);
            pages.logical += more.logical;
            pages.physical += more.physical;
            pages.lob_logical += more.lob_logical;
            pages.lob_physical += more.lob_physical;
        });
        IS_ON.set(true);
    }
}
