//! All built-in functions and system views together, and the binder that knows them.

use engine::Database;
use plan_ir::built_ins::{BuiltIns, UnnamedFunction};
use plan_ir::context::BindContext;
use plan_ir::function_def::FunctionDef;
use plan_ir::view::View;

use crate::bind::{Binder, not_here};
use crate::functions::{self, json, math, parse};

/// The tables of all crates.
struct Registry;

impl BuiltIns for Registry {
    fn function(&self, name: &str) -> Option<&'static FunctionDef> {
        functions::lookup(name)
    }

    fn unnamed(&self, function: UnnamedFunction) -> &'static FunctionDef {
        match function {
            UnnamedFunction::JsonScalar => &json::JSON_SCALAR,
            UnnamedFunction::JsonPart => &json::JSON_PART,
            UnnamedFunction::JsonModifyByJson => &json::JSON_MODIFY_BY_JSON,
            UnnamedFunction::Parse => &parse::PARSE,
            UnnamedFunction::TryParse => &parse::TRY_PARSE,
            UnnamedFunction::RandOfPlace => &math::RAND_OF_PLACE,
        }
    }

    fn view(&self, database: &Database, schema: Option<&str>, name: &str) -> Option<&'static View> {
        crate::sysviews::find_in(database, schema, name)
    }
}

/// A binder of one statement that knows all of them.
pub(crate) fn binder<'a>(context: &'a BindContext<'a>) -> Binder<'a> {
    Binder::new(context, &Registry)
}

/// The names of all functions that are done or refused by name, in upper case, but for those that have a binder of their own.
pub fn function_names() -> Vec<&'static str> {
    functions::names().chain(not_here::NAMES.iter().copied()).collect()
}
