//! The target table of a data change statement: the resolution of its name, and the table that was found.

use std::sync::Arc;

use engine::Database;
use plan_ir::bound::change::ChangedRows;
use plan_ir::bound::tree::Rel;
use plan_ir::kinds::{ColumnId, ScanHints};
use plan_ir::names::same_name;
use plan_ir::table::TableSource;
use tsql::ast::ObjectName;

use super::seen_through::Through;

/// The target looked for while a FROM clause is bound.
pub struct TargetRequest {
    /// Which of the clause's own sources it is, counted from the left; `None`: it stands beside them.
    pub position: Option<usize>,
    /// Sources met so far.
    pub seen: usize,
    /// It stands beside the sources.
    pub beside: Option<Named>,
    /// What becomes of it, for a target that is a query.
    pub access: Access,
    pub found: Option<FoundTarget>,
    /// Hints written behind the target's name.
    pub hints: ScanHints,
}

/// How a statement changes the query that it names.
#[derive(Clone, Debug)]
pub enum Access {
    Delete,
    /// Sets or fills the columns of these names.
    Columns(Vec<String>),
    /// INSERT without a list: fills all columns that take a value.
    AllColumns,
}

/// The target with its columns in the statement's rows.
#[derive(Clone)]
pub struct FoundTarget {
    pub source: Arc<TableSource>,
    pub columns: Vec<ColumnId>,
    pub locator: ColumnId,
    /// The query through which it is reached.
    pub through: Option<Arc<Through>>,
}

impl FoundTarget {
    /// The columns of it that OUTPUT shows.
    pub fn changed(&self) -> ChangedTable<'_> {
        let hidden = match &self.through {
            Some(through) => through.columns.iter().map(|column| column.id).collect(),
            None => self.columns.clone(),
        };
        ChangedTable { source: &self.source, through: self.through.as_deref(), hidden, may_be_missing: false }
    }

    /// Its rows that the query finds.
    pub fn changed_rows(self, rel: Rel, has_top: bool) -> ChangedRows {
        ChangedRows { source: self.source, rel, locator: self.locator, columns: self.columns, has_top }
    }
}

/// A changed table as OUTPUT sees it.
pub struct ChangedTable<'t> {
    pub source: &'t Arc<TableSource>,
    pub through: Option<&'t Through>,
    /// The columns under which FROM sees it.
    pub hidden: Vec<ColumnId>,
    /// A row may be without its inserted or its deleted half: all their columns may be NULL.
    pub may_be_missing: bool,
}

impl ChangedTable<'_> {
    /// The same of a statement that inserts and deletes, too.
    pub fn with_missing_rows(self) -> Self {
        ChangedTable { may_be_missing: true, ..self }
    }
}

/// Where an INSERT goes: a table, perhaps behind a query.
pub struct InsertTarget {
    pub source: Arc<TableSource>,
    pub through: Option<Arc<Through>>,
}

/// The object that a target's name resolves to.
#[derive(Clone)]
pub enum Named {
    Table(Arc<TableSource>),
    /// A view.
    View(ObjectName, Arc<Database>, engine::ObjectId),
    CommonTable(ObjectName),
}

impl Named {
    pub(super) fn is_same(&self, other: &Named) -> bool {
        match (self, other) {
            (Named::Table(one), Named::Table(other)) => {
                one.def.object_id == other.def.object_id && Arc::ptr_eq(&one.database, &other.database)
            }
            (Named::View(_, database, id), Named::View(_, other_database, other_id)) => {
                id == other_id && Arc::ptr_eq(database, other_database)
            }
            (Named::CommonTable(one), Named::CommonTable(other)) => {
                same_name(&one.name.value, &other.name.value)
            }
            _ => false,
        }
    }
}
