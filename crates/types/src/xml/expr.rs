//! The tree of a compiled XQuery expression.

use super::atom::{Arithmetic, Atom, AtomType};
use super::tree::Name;

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    Constant(Box<Atom>),
    /// A variable of FOR, LET, SOME, EVERY by its place.
    Variable(usize),
    /// `sql:variable`, `sql:column` by its place among the arguments.
    External(usize),
    /// `.`
    Context,
    /// `/`: the root of the tree of the context.
    Root,
    Sequence(Vec<Expr>),
    Or(Vec<Expr>),
    And(Vec<Expr>),
    /// `=`, `<` ..: true for any pair.
    General(Comparison, Box<(Expr, Expr)>),
    /// `eq`, `lt` ..: of one value each.
    Single(Comparison, Box<(Expr, Expr)>),
    /// `is`, `<<`, `>>`: of the places of two nodes; `<` and `>` stand for the latter.
    Place(Comparison, Box<(Expr, Expr)>),
    Arithmetic(Arithmetic, Box<(Expr, Expr)>),
    Negate(Box<Expr>),
    Path(Box<Expr>, Vec<Step>),
    Filter(Box<Expr>, Vec<Expr>),
    If(Box<(Expr, Expr, Expr)>),
    Flwor(Box<Flwor>),
    Quantified {
        is_every: bool,
        bindings: Vec<(usize, Expr)>,
        test: Box<Expr>,
    },
    Call(Function, Vec<Expr>),
    Cast(AtomType, Box<Expr>),
    InstanceOf(Box<(Expr, InstanceType)>),
    Element(Box<Constructor>),
    /// A computed attribute.
    Attribute(Box<(Name, Expr)>),
    /// A computed text node.
    Text(Box<Expr>),
    Comment(String),
    /// Target and data.
    Instruction(Box<(String, String)>),
}

/// The comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub fn accepts(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// A step of a path.
#[derive(Clone, Debug)]
pub struct Step {
    pub axis: Axis,
    pub test: Test,
    pub predicates: Vec<Expr>,
}

/// The axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Attribute,
    Own,
    Parent,
}

/// Which nodes of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// `node()`
    Any,
    Text,
    Comment,
    /// With a target or any.
    Instruction(Option<String>),
    /// A name, each part of which may be any; of the axis's own kind of nodes.
    Name {
        uri: Option<String>,
        local: Option<String>,
    },
    /// `element(name)`, `attribute(name)`.
    Element(Option<Name>),
    Attribute(Option<Name>),
    Document,
}

/// FOR and LET, WHERE, ORDER BY, RETURN.
#[derive(Clone, Debug)]
pub struct Flwor {
    pub bindings: Vec<Binding>,
    pub condition: Option<Expr>,
    /// Keys; descending.
    pub order: Vec<(Expr, bool)>,
    pub result: Expr,
}

/// `for $v in`, `let $v :=`
#[derive(Clone, Debug)]
pub struct Binding {
    pub is_for: bool,
    pub slot: usize,
    pub source: Expr,
}

/// What `instance of` asks for.
#[derive(Clone, Debug)]
pub struct InstanceType {
    pub kind: ItemType,
    pub may_be_empty: bool,
    pub may_be_many: bool,
}

/// A type of items.
#[derive(Clone, Debug)]
pub enum ItemType {
    Atom(AtomType),
    Node(Test),
    Item,
    Empty,
}

/// `<name attribute="..">..</name>` or `element name {..}`
#[derive(Clone, Debug)]
pub struct Constructor {
    pub name: Name,
    /// Declarations in the tag: prefix, URI.
    pub namespaces: Vec<(String, String)>,
    pub attributes: Vec<(Name, Vec<Part>)>,
    pub content: Vec<Part>,
}

/// A part of an attribute's value or an element's content.
#[derive(Clone, Debug)]
pub enum Part {
    Text(String),
    /// `{..}`, or a constructor.
    Expr(Expr),
}

/// The functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Average,
    Ceiling,
    Concat,
    Contains,
    Count,
    Data,
    DistinctValues,
    Empty,
    False,
    Floor,
    Last,
    LocalName,
    LowerCase,
    Maximum,
    Minimum,
    NamespaceUri,
    Not,
    Number,
    Position,
    Round,
    String,
    StringLength,
    Substring,
    Sum,
    True,
    UpperCase,
    /// Of XPath 1.0 alone.
    StartsWith,
    Name,
    NormalizeSpace,
}

impl Function {
    /// The functions that only patterns of OPENXML have.
    pub fn of_patterns(name: &str) -> Option<(Function, usize, usize)> {
        Some(match name {
            "starts-with" => (Function::StartsWith, 2, 2),
            "name" => (Function::Name, 0, 1),
            "normalize-space" => (Function::NormalizeSpace, 0, 1),
            _ => return None,
        })
    }

    /// The function of a name with the least and greatest number of its arguments.
    pub fn named(name: &str) -> Option<(Function, usize, usize)> {
        Some(match name {
            "avg" => (Function::Average, 1, 1),
            "ceiling" => (Function::Ceiling, 1, 1),
            "concat" => (Function::Concat, 2, usize::MAX),
            "contains" => (Function::Contains, 2, 2),
            "count" => (Function::Count, 1, 1),
            "data" => (Function::Data, 1, 1),
            "distinct-values" => (Function::DistinctValues, 1, 1),
            "empty" => (Function::Empty, 1, 1),
            "false" => (Function::False, 0, 0),
            "floor" => (Function::Floor, 1, 1),
            "last" => (Function::Last, 0, 0),
            "local-name" => (Function::LocalName, 0, 1),
            "lower-case" => (Function::LowerCase, 1, 1),
            "max" => (Function::Maximum, 1, 1),
            "min" => (Function::Minimum, 1, 1),
            "namespace-uri" => (Function::NamespaceUri, 0, 1),
            "not" => (Function::Not, 1, 1),
            "number" => (Function::Number, 0, 1),
            "position" => (Function::Position, 0, 0),
            "round" => (Function::Round, 1, 1),
            "string" => (Function::String, 0, 1),
            "string-length" => (Function::StringLength, 0, 1),
            "substring" => (Function::Substring, 2, 3),
            "sum" => (Function::Sum, 1, 1),
            "true" => (Function::True, 0, 0),
            "upper-case" => (Function::UpperCase, 1, 1),
            _ => return None,
        })
    }
}

/// `sql:variable("@name")`, `sql:column("name")`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// A column, not a variable.
    pub is_column: bool,
    /// As it is written.
    pub name: String,
}

/// A statement of XML DML.
#[derive(Clone, Debug)]
pub enum Change {
    Insert { source: Expr, place: Placement, target: Expr },
    Delete(Expr),
    Replace { target: Expr, value: Expr },
}

/// Where INSERT puts nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    Into,
    First,
    Last,
    Before,
    After,
}

/// A compiled text.
#[derive(Clone, Debug)]
pub struct Query {
    /// What it does.
    pub body: Body,
    /// How many variables it has.
    pub variables: usize,
    /// What its arguments are, each once, in order of appearance.
    pub externals: Vec<External>,
}

/// What a text is.
#[derive(Clone, Debug)]
pub enum Body {
    Expr(Expr),
    Change(Change),
}
