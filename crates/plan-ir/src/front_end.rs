//! The interface of running statements to the front end (binder, planner, the list of system views), a trait that a crate above implements.
//! Views that describe texts bind them again; `session` passes the only front end to each statement that it runs.

use std::sync::Arc;

use engine::{Database, Lookup, ModuleDef, ObjectDef, TableDef};
use types::SqlError;

use crate::context::{BindContext, ColumnDescription, VariableDef};
use crate::view_shape::{ViewColumn, ViewShape};

/// A view or inline function that could be bound.
pub struct BoundModule {
    pub object_id: i32,
    pub is_schema_bound: bool,
    pub columns: Vec<ViewColumn>,
    /// The objects that its text names, each once, in order of appearance.
    pub objects: Vec<(Arc<Database>, ObjectDef)>,
    /// The columns that it refers to: position in `objects`, name; each once.
    pub used: Vec<(usize, String)>,
}

/// The references of a module's text, one per object.
#[derive(Default)]
pub struct Reference {
    /// The parts of its name as they are written.
    pub server: Option<String>,
    pub database: Option<String>,
    pub schema: Option<String>,
    pub name: String,
    /// The object that the name resolves to, if any.
    pub object: Option<ObjectDef>,
    /// EXECUTE calls it.
    pub is_called: bool,
    pub is_selected: bool,
    pub is_updated: bool,
    /// `*` takes all its columns.
    pub takes_all: bool,
    /// INSERT without a list of columns.
    pub takes_all_into: bool,
    /// A statement that names it cannot be bound: there may be more columns.
    pub is_incomplete: bool,
    /// The columns that are named, in the order in which they appear.
    pub columns: Vec<ColumnUse>,
}

impl Reference {
    pub fn object_id(&self) -> Option<i32> {
        self.object.as_ref().map(ObjectDef::object_id)
    }
}

/// A column of a reference.
pub struct ColumnUse {
    pub name: String,
    pub is_selected: bool,
    pub is_updated: bool,
}

/// The front end as those below it see it.
pub trait BindAnew: Sync {
    /// All system views.
    fn views(&self) -> Vec<&'static ViewShape>;

    /// A view or inline function, bound anew; none when it is something else or no longer binds.
    fn module(&self, context: &BindContext<'_>, module: &ModuleDef) -> Option<BoundModule>;

    /// Can calls of the scalar function be inlined?
    fn is_inlineable(&self, context: &BindContext<'_>, module: &Arc<ModuleDef>) -> bool;

    /// The references in the text of a view, an inline function or a procedure.
    fn references(&self, context: &BindContext<'_>, module: &ModuleDef) -> Vec<Reference>;

    /// Numbers of the columns that the text of a CHECK or of a computed column names, in the order of the table.
    fn named_columns(
        &self,
        context: &BindContext<'_>,
        database: &Arc<Database>,
        table: &Arc<TableDef>,
        text: &str,
    ) -> Vec<i32>;

    /// The parameters that a text declares.
    fn declared_parameters(
        &self,
        text: &str,
        database: &Arc<Database>,
        lookup: Lookup<'_>,
    ) -> Result<Vec<VariableDef>, SqlError>;

    /// The columns of the first result set of a batch; none when it gives none.
    fn first_result_set(
        &self,
        text: &str,
        context: &BindContext<'_>,
    ) -> Result<Option<Vec<ColumnDescription>>, SqlError>;
}

/// The front end in a statement's hands.
#[derive(Clone, Copy)]
pub struct FrontEnd(pub &'static dyn BindAnew);
