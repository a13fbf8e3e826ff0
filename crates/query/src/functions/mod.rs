//! The registry of scalar built-in functions: one table per file, name -> arity, argument rule, result rule, evaluator.
//!
//! To add a function: write `fn name(call: &Call<'_, '_>) -> Result<Value, SqlError>` in the family's file and one line in its table.

pub(crate) mod base64;
pub(crate) mod bits;
pub(crate) mod compress;
pub(crate) mod conversion;
pub(crate) mod datetime;
pub(crate) mod error;
pub(crate) mod format;
pub(crate) mod globals;
pub(crate) mod hash;
pub(crate) mod json;
pub(crate) mod math;
pub(crate) mod metadata;
pub(crate) mod parse;
pub(crate) mod permissions;
mod principals;
mod properties;
pub(crate) mod string;
pub(crate) mod system;
mod text;
pub(crate) mod time_zone;

use std::sync::LazyLock;

use plan_ir::function_def::FunctionDef;
use rustc_hash::FxHashMap;

static REGISTRY: LazyLock<FxHashMap<&'static str, &'static FunctionDef>> = LazyLock::new(|| {
    let tables = [
        string::TABLE,
        math::TABLE,
        datetime::TABLE,
        conversion::TABLE,
        metadata::TABLE,
        permissions::TABLE,
        properties::TABLE,
        principals::TABLE,
        system::TABLE,
        error::TABLE,
        globals::TABLE,
        format::TABLE,
        hash::TABLE,
        compress::TABLE,
        json::TABLE,
        time_zone::TABLE,
        bits::TABLE,
        base64::TABLE,
    ];
    let mut registry = FxHashMap::default();
    for function in tables.into_iter().flatten() {
        let before = registry.insert(function.name, function);
        assert!(before.is_none(), "function {} stands in two tables", function.name);
    }
    registry
});

/// The function of a name in any letter case; `@@` names are included.
pub(crate) fn lookup(name: &str) -> Option<&'static FunctionDef> {
    REGISTRY.get(name.to_ascii_uppercase().as_str()).copied()
}

/// The names of all, in upper case.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.keys().copied()
}
