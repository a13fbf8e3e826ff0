//! System views: each consists of a name, a column list in the documentation's notation, and a function that makes its rows.
//!
//! To add a view: one `SystemView` in the table of its family's file. Columns that a row does not set are NULL, or 0 for `bit`.

mod absent;
mod binding;
mod cached_plans;
mod columns;
mod compatibility;
mod databases;
mod dblog;
mod dblog_columns;
mod dependencies;
mod describe;
mod dm_exec;
mod dm_os;
mod empty;
mod file_rowsets;
pub mod functions;
mod index_pages;
mod index_uses;
mod information_schema;
mod information_schema_sql;
mod keys;
mod lock_resources;
mod logs;
mod machine;
mod missing_indexes;
mod msdb;
mod objects;
mod odbc;
mod open_xml;
mod permission_classes;
mod permissions;
mod principals;
mod properties;
mod query_store;
mod rowsets;
mod sequences;
mod server;
mod shown;
mod statistics;
mod storage;
mod transaction_ids;
mod transactions;
mod triggers;
mod type_columns;
mod type_list;
mod versions;
mod waits;
mod xml_nodes;

use std::sync::{Arc, LazyLock};

use engine::Database;
use plan_ir::built_ins::{JsonRows, XmlRows};
use plan_ir::view::{SystemView, View};
use plan_ir::view_shape::ViewColumn;
use rustc_hash::FxHashMap;
use types::Value;

use crate::msdb::MSDB_SCHEMA;

pub(crate) use databases::io_totals;
pub use databases::{DatabaseFile, database_files};
pub(crate) use dependencies::bound_columns;
pub use describe::tds_type;
pub use objects::module_parameters;
pub use properties::{PropertyLevel, property_targets};
pub(crate) use statistics::statistics_date;
pub(crate) use storage::count_rows;

/// All views in the order of their tables, and an index by name.
struct Registry {
    views: Vec<View>,
    places: FxHashMap<String, usize>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let views: Vec<View> =
        TABLES.iter().copied().flatten().map(|def| View::new(def, keys::of(def))).collect();
    let mut places = FxHashMap::default();
    for (place, view) in views.iter().enumerate() {
        let before = places.insert(format!("{}.{}", view.schema, view.name).to_ascii_lowercase(), place);
        assert!(before.is_none(), "two system views are named {view:?}");
    }
    Registry { views, places }
});

impl Registry {
    fn get(&self, name: &str) -> Option<&View> {
        self.places.get(name).map(|place| &self.views[*place])
    }
}

/// All system views.
pub fn all() -> &'static [View] {
    &REGISTRY.views
}

/// All system views, one table per family.
static TABLES: &[&[SystemView]] = &[
    objects::VIEWS,
    columns::VIEWS,
    databases::VIEWS,
    dblog::VIEWS,
    dm_os::VIEWS,
    machine::VIEWS,
    waits::VIEWS,
    transactions::VIEWS,
    versions::VIEWS,
    statistics::VIEWS,
    dm_exec::VIEWS,
    cached_plans::VIEWS,
    query_store::VIEWS,
    information_schema::VIEWS,
    sequences::VIEWS,
    triggers::VIEWS,
    absent::VIEWS,
    empty::VIEWS,
    file_rowsets::VIEWS,
    rowsets::VIEWS,
    xml_nodes::VIEWS,
    open_xml::VIEWS,
    compatibility::VIEWS,
    dependencies::VIEWS,
    describe::VIEWS,
    permissions::VIEWS,
    properties::VIEWS,
    storage::VIEWS,
    index_pages::VIEWS,
    index_uses::VIEWS,
    missing_indexes::VIEWS,
    server::VIEWS,
    msdb::VIEWS,
    odbc::VIEWS,
    information_schema_sql::VIEWS,
];

/// A system view by schema and name, in any letter case. The compatibility views (`sysobjects` and similar) and the functions `fn_..` are
/// found without a schema and in `dbo`, too; without a schema, no other views are found except those of `dbo`.
pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<&'static View> {
    let name = name.to_ascii_lowercase();
    let schema = schema.unwrap_or("dbo").to_ascii_lowercase();
    if schema == MSDB_SCHEMA {
        return None;
    }
    let found = REGISTRY.get(&format!("{schema}.{name}"));
    found.or_else(|| {
        let is_old = schema == "dbo" && (name.starts_with("sys") || name.starts_with("fn_"));
        if is_old { REGISTRY.get(&format!("sys.{name}")) } else { None }
    })
}

/// The columns of sys.fn_dblog, for DBCC LOG.
pub fn log_columns() -> &'static [ViewColumn] {
    find(Some("sys"), "fn_dblog").map_or(&[], View::columns)
}

/// The same, in a database: msdb has tables of its own in `dbo`.
pub fn find_in(database: &Database, schema: Option<&str>, name: &str) -> Option<&'static View> {
    let is_dbo = schema.is_none_or(|schema| schema.eq_ignore_ascii_case("dbo"));
    let own = || REGISTRY.get(&format!("{MSDB_SCHEMA}.{}", name.to_ascii_lowercase()));
    let of_msdb = if is_dbo && database.id() == engine::MSDB as i16 { own() } else { None };
    of_msdb.or_else(|| find(schema, name))
}

/// The view that gives the rows of OPENJSON.
pub fn json_rows(rows: JsonRows) -> &'static View {
    let name = match rows {
        JsonRows::Members => rowsets::JSON_MEMBERS,
        JsonRows::Objects => rowsets::JSON_OBJECTS,
    };
    find(None, name).expect("it stands in the table of rowsets")
}

/// The view that gives rows of xml.
pub fn xml_rows(rows: XmlRows) -> &'static View {
    let name = match rows {
        XmlRows::Nodes => xml_nodes::NODES,
        XmlRows::Prepared => open_xml::PREPARED,
        XmlRows::Edges => open_xml::EDGES,
    };
    find(None, name).expect("it stands in its table")
}

/// A property of a database for DATABASEPROPERTYEX.
pub(crate) fn database_property(database: &Arc<Database>, property: &str) -> Value {
    databases::property(database, property)
}

/// A system view by its object id.
pub(crate) fn by_object_id(id: i32) -> Option<&'static View> {
    if id >= 0 {
        return None;
    }
    all().iter().find(|view| view.shape().object_id() == id)
}
