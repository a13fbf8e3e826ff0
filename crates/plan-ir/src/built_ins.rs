//! The binder's interface to built-in functions and system views: a trait, since the crates with their tables are above the binder.

use engine::Database;

use crate::function_def::FunctionDef;
use crate::view::View;

/// Not to be called by name: a name has no spaces.
pub const AT_TIME_ZONE: &str = "AT TIME ZONE";

/// Functions that have no name in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnnamedFunction {
    /// A column of OPENJSON ... WITH that is a scalar.
    JsonScalar,
    /// One that is a part of JSON.
    JsonPart,
    /// JSON_MODIFY whose new value comes from a function that gives JSON.
    JsonModifyByJson,
    /// JSON_OBJECT and JSON_ARRAY, whose first argument tells of the others.
    JsonObject,
    JsonArray,
    /// The methods of the xml type: the value, a node's number in it or NULL, the text, and what the text names.
    XmlValue,
    XmlQuery,
    XmlExist,
    /// Behind the text: the name of what is changed.
    XmlModify,
    /// A column of OPENXML: the document, a node's number, pattern or NULL, name, declarations of namespaces, flags, 1 for xml, all patterns.
    XmlColumn,
    /// PARSE: text and, if one was given, culture; the binder says the result's type.
    Parse,
    /// TRY_PARSE.
    TryParse,
    /// RAND() where it is written: its argument is the number of the place.
    RandOfPlace,
    /// `UPDATE(column)` in a trigger.
    ColumnSet,
}

/// The rows of OPENJSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonRows {
    /// Without WITH: key, value and type of each member.
    Members,
    /// With it: the objects whose members become columns.
    Objects,
}

/// The rows of xml.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmlRows {
    /// The method `nodes`.
    Nodes,
    /// OPENXML with columns: the document, a node's number, and the declarations of namespaces.
    Prepared,
    /// OPENXML without columns: the edge table.
    Edges,
}

/// All built-in functions and system views.
pub trait BuiltIns: Sync {
    /// The function of a name in any case; `@@` names are here too.
    fn function(&self, name: &str) -> Option<&'static FunctionDef>;

    /// One without a name of its own.
    fn unnamed(&self, function: UnnamedFunction) -> &'static FunctionDef;

    /// The view that gives the rows of OPENJSON.
    fn json_rows(&self, rows: JsonRows) -> &'static View;

    /// The view that gives rows of xml.
    fn xml_rows(&self, rows: XmlRows) -> &'static View;

    /// A system view by schema and name, in any letter case, as a database shows it.
    fn view(&self, database: &Database, schema: Option<&str>, name: &str) -> Option<&'static View>;
}
