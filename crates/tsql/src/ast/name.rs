//! Names and data types as written.

use super::{Expr, Span};

/// An identifier: `x`, `[x]` or `"x"`, without its quotes and with doubled closing quotes undone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Ident {
    /// The name, in the case it was written.
    pub value: String,
    /// Whether it stood in brackets or double quotes (then it can never be a keyword).
    pub quoted: bool,
}

impl Ident {
    /// An unquoted identifier.
    pub fn new(value: impl Into<String>) -> Ident {
        Ident { value: value.into(), quoted: false }
    }
    /// Whether the name equals `other`, ignoring ASCII case.
    pub fn is(&self, other: &str) -> bool {
        self.value.eq_ignore_ascii_case(other)
    }
}

/// A name of one to four parts: `server.database.schema.name`; `db..t` leaves `schema` empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObjectName {
    /// First of four parts.
    pub server: Option<Ident>,
    /// First of three parts.
    pub database: Option<Ident>,
    /// First of two parts; for a login trigger's or a type's name, too.
    pub schema: Option<Ident>,
    /// The last part.
    pub name: Ident,
    /// Its position.
    pub span: Span,
}

impl ObjectName {
    /// A one-part name.
    pub fn simple(name: impl Into<String>) -> ObjectName {
        ObjectName { name: Ident::new(name), ..ObjectName::default() }
    }
    /// Whether it has one part only.
    pub fn is_simple(&self) -> bool {
        self.schema.is_none() && self.database.is_none() && self.server.is_none()
    }
}

/// A data type as written: `int`, `decimal(10, 2)`, `nvarchar(max)`, `dbo.phone`, `float(24)`,
/// `double precision`, `xml(CONTENT dbo.c)`.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    /// The name; multi-word names are folded (`double precision`, `national char varying`) with one blank.
    pub name: ObjectName,
    /// Length, precision, scale or dimensions.
    pub args: Vec<TypeArgument>,
    /// Schema collection of `xml(CONTENT|DOCUMENT collection)`; `true` for DOCUMENT.
    pub xml_schema: Option<Box<(Option<bool>, ObjectName)>>,
    /// `VARYING` after `cursor`.
    pub varying: bool,
}

/// A number or MAX in the parentheses of a data type.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeArgument {
    /// `max`
    Max,
    /// A number; may exceed what the type allows.
    Number(u64),
    /// A word, as the base type in `vector(3, float16)`.
    Word(Ident),
}

/// `name = value` or a bare `NAME` inside a WITH list that no structure is kept for.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedOption {
    /// Option name, words joined by `_` exactly as written or by one blank when several words.
    pub name: Ident,
    /// What follows `=` (or stands in parentheses).
    pub value: Option<OptionValue>,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// `ON` or `OFF`, with the nested list of `= ON (..)`.
    Switch(bool, Vec<NamedOption>),
    /// A word or several (`NONE`, `PAGE`, `PER PARTITION`).
    Word(Ident),
    /// A literal, variable or other expression, with a unit word behind it (`10 MS`, `480 KB`, `50 PERCENT`).
    Value(Expr, Option<Ident>),
    /// `PAGE ON PARTITIONS (1, 3 TO 5)`
    OnPartitions(Ident, Vec<(Expr, Option<Expr>)>),
    /// A qualified name.
    Name(ObjectName),
    /// A list in parentheses.
    List(Vec<NamedOption>),
    /// A list of expressions or ranges in parentheses (`(1, 3 TO 5)`): `(from, to)`.
    Ranges(Vec<(Expr, Option<Expr>)>),
}
