//! FOR XML and FOR JSON as plans hold them: how the rows of a query become one text.

use types::SqlType;

/// How the rows of a query become one text.
#[derive(Debug)]
pub struct RowsFormat {
    /// The form of the text.
    pub shape: RowsShape,
    /// The types of the rows' columns.
    pub types: Vec<SqlType>,
    /// The text goes to the client in rows of [`PIECE_UNITS_MAX`], no row for no input. Otherwise it is one value, NULL for no input.
    pub in_pieces: bool,
}

/// The UTF-16 units of a row of text that is sent in pieces.
pub const PIECE_UNITS_MAX: usize = 2_033;

/// The form of the text.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum RowsShape {
    Json(JsonFormat),
    Xml(XmlFormat),
}

/// FOR JSON.
#[derive(Debug)]
pub struct JsonFormat {
    /// ROOT: the property around the array.
    pub root: Option<String>,
    /// WITHOUT_ARRAY_WRAPPER.
    pub is_bare: bool,
    /// INCLUDE_NULL_VALUES.
    pub keeps_nulls: bool,
    /// The levels of nested arrays from the outside: of AUTO one for each table, of PATH a single one.
    pub levels: Vec<JsonLevel>,
}

/// The objects of one level of FOR JSON.
#[derive(Debug, Default)]
pub struct JsonLevel {
    /// The property of the outer object that holds the array; unused for the outermost level.
    pub name: String,
    /// What an object consists of.
    pub members: Vec<JsonMember>,
    /// The columns whose change begins a new object.
    pub columns: Vec<usize>,
}

/// A property.
#[derive(Debug)]
pub enum JsonMember {
    /// A column.
    Value {
        /// The property's name.
        name: String,
        /// The position in the row.
        column: usize,
        /// The value is JSON: it is written as it is.
        is_json: bool,
    },
    /// Columns whose names begin with the same path.
    Object {
        /// The property's name.
        name: String,
        /// Its properties.
        members: Vec<JsonMember>,
    },
}

/// FOR XML.
#[derive(Debug)]
pub struct XmlFormat {
    /// ROOT: the element around all.
    pub root: Option<String>,
    /// TYPE: a value of type xml.
    pub is_typed: bool,
    /// ELEMENTS XSINIL: an element stands for a NULL.
    pub keeps_nulls: bool,
    /// Declarations of namespaces as attributes: they stand in each outermost element.
    pub declarations: String,
    /// EXPLICIT: the tag that each element of `levels` has. The first two columns of a row are its tag and that of the element around it.
    pub tags: Vec<i64>,
    /// The levels of nested elements from the outside: of AUTO one for each table, of EXPLICIT one for each tag, otherwise a single one.
    pub levels: Vec<XmlElement>,
}

/// An element with what it makes of a row.
#[derive(Debug, Default)]
pub struct XmlElement {
    /// Its name; an outermost element may have none: its content stands alone.
    pub name: String,
    /// Names and columns.
    pub attributes: Vec<(String, usize)>,
    /// Elements and text, in order.
    pub content: Vec<XmlNode>,
    /// Of a level: the columns whose change begins a new element.
    pub columns: Vec<usize>,
    /// It stands for a NULL: elementxsinil of EXPLICIT.
    pub keeps_null: bool,
}

/// What stands in an element.
#[derive(Debug)]
pub enum XmlNode {
    /// An element.
    Element(XmlElement),
    /// A column's value: text, or nodes where it is xml.
    Value {
        /// The position in the row.
        column: usize,
        /// The column's name, for messages.
        name: String,
    },
    /// A column's value that is not escaped: the directive `xml` of EXPLICIT.
    Raw(usize),
    /// The directive `cdata`.
    Cdata(usize),
    /// `data()`: an item of a list, with a blank before each but the first.
    Item(usize),
    /// `comment()`.
    Comment(usize),
    /// `processing-instruction(target)`.
    Instruction(String, usize),
}
