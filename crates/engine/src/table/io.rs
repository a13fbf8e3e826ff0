//! What a statement asks for of each table's pages, for SET STATISTICS IO: the doors of [`Table`](super::Table) and of its cursors count what
//! happens behind them while somebody measures.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use os::task::{PageUses, page_uses};

use crate::schema::{ObjectId, TableDef};

/// What a statement has asked for of one table.
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

/// From here on the calling thread's use of tables is counted, until [`take_io`].
pub fn measure_io() {
    TABLES.take();
    IS_ON.set(true);
}

/// What has been counted, tables in the order in which they were first used.
pub fn take_io() -> Vec<TableIo> {
    IS_ON.set(false);
    TABLES.take()
}

/// Counts what happens while it lives; doors within doors count once.
pub(crate) struct Charge {
    at: usize,
    before: PageUses,
}

/// Begins to count for a table, if anybody measures.
#[inline]
pub(crate) fn charge(definition: &TableDef, scans: u64) -> Option<Charge> {
    if IS_ON.get() && !definition.is_system { Charge::begin(definition, scans) } else { None }
}

impl Charge {
    #[cold]
    fn begin(definition: &TableDef, scans: u64) -> Option<Charge> {
        // What is inside belongs to this one.
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
