//! All built-in functions and system views together, and the binder that knows them.

use std::sync::LazyLock;

use binder::{Binder, not_here};
use engine::Database;
use plan_ir::built_ins::{BuiltIns, JsonRows, UnnamedFunction, XmlRows};
use plan_ir::context::BindContext;
use plan_ir::function_def::FunctionDef;
use plan_ir::view::View;
use rustc_hash::FxHashMap;

/// All functions by their names.
static FUNCTIONS: LazyLock<FxHashMap<&'static str, &'static FunctionDef>> = LazyLock::new(|| {
    let tables = executor::functions::TABLES.iter().chain(sysviews::functions::TABLES);
    let mut registry = FxHashMap::default();
    for function in tables.copied().flatten() {
        let before = registry.insert(function.name, function);
        assert!(before.is_none(), "function {} stands in two tables", function.name);
    }
    registry
});

/// The tables of all crates.
struct Registry;

impl BuiltIns for Registry {
    fn function(&self, name: &str) -> Option<&'static FunctionDef> {
        FUNCTIONS.get(name.to_ascii_uppercase().as_str()).copied()
    }

    fn unnamed(&self, function: UnnamedFunction) -> &'static FunctionDef {
        executor::functions::unnamed(function)
    }

    fn json_rows(&self, rows: JsonRows) -> &'static View {
        sysviews::json_rows(rows)
    }

    fn xml_rows(&self, rows: XmlRows) -> &'static View {
        sysviews::xml_rows(rows)
    }

    fn view(&self, database: &Database, schema: Option<&str>, name: &str) -> Option<&'static View> {
        sysviews::find_in(database, schema, name)
    }
}

/// A binder of one statement that knows all of them.
pub(crate) fn binder<'a>(context: &'a BindContext<'a>) -> Binder<'a> {
    Binder::new(context, &Registry)
}

/// The names of all functions that are done or refused by name, in upper case, but for those that have a binder of their own.
pub fn function_names() -> Vec<&'static str> {
    FUNCTIONS.keys().copied().chain(not_here::NAMES.iter().copied()).collect()
}
