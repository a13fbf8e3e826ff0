//! Page counts and content of a table's heap and indexes.

use access::{LookAt, UnitFigures, UnitId, UnitKind, UnitToVerify, UnitUsage};
use rustc_hash::FxHashMap;

use super::{Base, Table};
use crate::database::Database;
use crate::error::SqlResult;
use crate::schema::IndexDef;

impl Database {
    /// How many pages each allocation unit has, large values included.
    ///
    /// # Errors
    /// 823, 824 when a map cannot be read.
    pub fn pages_of_units(&self) -> SqlResult<FxHashMap<u32, u64>> {
        self.access.pages_of_units().map_err(|error| crate::error::sql_error(&error.into(), self.name(), 0))
    }
}

impl Table {
    /// The content of the pages of its heap or of an index; `pages` is their number from [`Database::pages_of_units`]. Exact while no transaction
    /// changes it.
    ///
    /// # Errors
    /// 823, 824 when a page cannot be read.
    pub fn usage(&self, index: &IndexDef, pages: u64) -> SqlResult<UnitUsage> {
        let database = &self.inner.database;
        let found = database.access.usage(&self.unit_of(index), pages, self.may_have_lobs(index));
        found.map_err(|error| crate::error::sql_error(&error.into(), database.name(), 0))
    }

    /// The order and content of the pages of its heap or of an index; `pages` as above.
    ///
    /// # Errors
    /// 823, 824 when a page cannot be read or its links are wrong; 596 and related errors when the statement is interrupted.
    pub fn unit_figures(&self, index: &IndexDef, pages: u64, look: LookAt) -> SqlResult<UnitFigures> {
        let database = &self.inner.database;
        let found =
            database.access.unit_figures(&self.unit_of(index), pages, self.may_have_lobs(index), look);
        found.map_err(|error| crate::error::sql_error(&error.into(), database.name(), 0))
    }

    fn unit_of(&self, index: &IndexDef) -> UnitToVerify {
        let is_base = index.index_id == self.inner.definition.base().index_id;
        let is_heap = is_base && matches!(self.inner.base, Base::Heap(_));
        let kind = if is_heap { UnitKind::Heap } else { UnitKind::BTree };
        UnitToVerify { unit: UnitId(index.unit), kind, page: index.root }
    }

    /// May rows of its heap or of an index have values out of row?
    pub fn may_have_lobs(&self, index: &IndexDef) -> bool {
        let of_secondary = (0..self.inner.secondary.len())
            .find(|at| self.inner.index_of(*at).index_id == index.index_id)
            .map(|at| self.inner.secondary[at].format.may_have_lobs());
        of_secondary.unwrap_or_else(|| self.inner.format.may_have_lobs())
    }
}
