//! Scalar built-in functions: one table a file, name -> arity, argument rule, result rule, evaluator.
//!
//! To add a function: write `fn name(call: &Call<'_, '_>) -> Result<Value, SqlError>` in the family's file and one line in its table.

mod base64;
mod bits;
mod compress;
mod conversion;
mod datetime;
mod error;
mod format;
mod hash;
mod json;
mod json_made;
mod math;
mod parse;
mod string;
mod text;
mod time_zone;
mod trigger;
mod xml;

use plan_ir::built_ins::UnnamedFunction;
use plan_ir::function_def::FunctionDef;

pub use math::RAND_OF_PLACE;

/// All of them, a table a family.
pub static TABLES: &[&[FunctionDef]] = &[
    string::TABLE,
    math::TABLE,
    datetime::TABLE,
    conversion::TABLE,
    error::TABLE,
    format::TABLE,
    hash::TABLE,
    compress::TABLE,
    json::TABLE,
    time_zone::TABLE,
    bits::TABLE,
    base64::TABLE,
    trigger::TABLE,
];

/// Functions that have no name in SQL.
pub fn unnamed(function: UnnamedFunction) -> &'static FunctionDef {
    match function {
        UnnamedFunction::JsonScalar => &json::JSON_SCALAR,
        UnnamedFunction::JsonPart => &json::JSON_PART,
        UnnamedFunction::JsonModifyByJson => &json::JSON_MODIFY_BY_JSON,
        UnnamedFunction::JsonObject => &json_made::OBJECT,
        UnnamedFunction::JsonArray => &json_made::ARRAY,
        UnnamedFunction::XmlValue => &xml::VALUE,
        UnnamedFunction::XmlQuery => &xml::QUERY,
        UnnamedFunction::XmlExist => &xml::EXIST,
        UnnamedFunction::XmlModify => &xml::MODIFY,
        UnnamedFunction::XmlColumn => &xml::COLUMN,
        UnnamedFunction::Parse => &parse::PARSE,
        UnnamedFunction::TryParse => &parse::TRY_PARSE,
        UnnamedFunction::ColumnSet => &trigger::COLUMN_SET,
        UnnamedFunction::RandOfPlace => &RAND_OF_PLACE,
    }
}
